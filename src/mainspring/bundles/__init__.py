"""Where dag code comes from: a folder, its snapshots, and the dags found in it.

tree       which files of a folder belong to the bundle
snapshot   the digest of a tree, and its copy in a cache
read       the dags of a folder; user code is imported in child processes only
reader     that child
report     what the two say to each other and to the caller
"""
