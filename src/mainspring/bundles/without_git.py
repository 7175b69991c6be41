"""What is asked of a repository where the command `git` is not installed, by dulwich.

    python -m mainspring.bundles.without_git CLONE fetch URL BRANCH REFERENCE

The answer is on stdout; what went wrong is on stderr, and the exit status is 1.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dulwich.client import get_transport_and_path
from dulwich.graph import can_fast_forward
from dulwich.index import build_index_from_tree
from dulwich.object_store import iter_tree_contents, tree_lookup_path
from dulwich.objects import Blob, Commit, ObjectID
from dulwich.refs import Ref
from dulwich.repo import Repo

_FOLDER = 0o040000
_SUBMODULE = 0o160000


def main(clone: str, question: str, *arguments: str) -> str:
    if not Path(clone, "HEAD").exists():
        Repo.init_bare(clone, mkdir=not Path(clone).exists())
    with Repo(clone) as repository:
        match question, arguments:
            case "fetch", (url, branch, reference):
                return _fetch(repository, url, branch, reference)
            case "read", (reference,):
                return repository.refs.as_dict().get(Ref(reference.encode()), b"").decode()
            case "write", (reference, commit):
                repository.refs[Ref(reference.encode())] = ObjectID(commit.encode())
            case "leads", (before, after):
                there = ObjectID(before.encode()) in repository.object_store
                leads = there and can_fast_forward(
                    repository, ObjectID(before.encode()), ObjectID(after.encode())
                )
                return "yes" if leads else "no"
            case "measure", (commit, folder):
                sizes = [*_sizes(repository, _tree(repository, commit, folder))]
                return f"{len(sizes)} {sum(sizes)}"
            case "check_out", (commit, folder, target, index):
                tree = _tree(repository, commit, folder)
                build_index_from_tree(target, index, repository.object_store, tree)
            case _:
                raise ValueError(f"no such question: {question}")
    return ""


def _fetch(repository: Repo, url: str, branch: str, reference: str) -> str:
    client, path = get_transport_and_path(url)
    wanted = Ref(b"refs/heads/" + branch.encode())

    def only_it(refs: Mapping[Ref, Any], depth: int | None = None) -> list[ObjectID]:
        if wanted not in refs:
            raise LookupError(f"there is no branch {branch}")
        return [refs[wanted]]

    found = client.fetch(path, repository, determine_wants=only_it)
    commit = found.refs[wanted]
    assert commit is not None
    repository.refs[Ref(reference.encode())] = commit
    return commit.decode()


def _tree(repository: Repo, commit: str, folder: str) -> ObjectID:
    found = repository[ObjectID(commit.encode())]
    assert isinstance(found, Commit)
    root: ObjectID = found.tree
    if not folder:
        return root
    mode, tree = tree_lookup_path(repository.__getitem__, root, os.fsencode(folder))
    if mode != _FOLDER:
        raise LookupError(f"{folder} is no folder")
    return tree


def _sizes(repository: Repo, tree: ObjectID) -> Iterator[int]:
    for entry in iter_tree_contents(repository.object_store, tree):
        assert entry.sha is not None
        content = None if entry.mode == _SUBMODULE else repository[entry.sha]
        yield content.raw_length() if isinstance(content, Blob) else 0


if __name__ == "__main__":
    try:
        print(main(*sys.argv[1:]))
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {error}")
