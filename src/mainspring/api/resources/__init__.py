"""One file for each resource. A new one is written beside these and listed in `catalogue.py`.

Nothing is imported here: a command beside its database loads what it asks for and no more.
"""
