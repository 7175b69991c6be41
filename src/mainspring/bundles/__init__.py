"""Where dag code comes from: a folder or repository, its snapshots, and the dags found in it.

git        the folder of dags in a branch of a repository
tree       which files of a folder belong to the bundle
snapshot   the digest of a tree, and its copy in a cache
pack       a tree as bytes, for the database
read       the dags of a folder; user code is imported in child processes only
reader     that child
sources    which files of a folder concern a dag
report     what the two say to each other and to the caller
"""
