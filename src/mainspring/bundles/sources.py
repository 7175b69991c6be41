"""Which files concern a dag: its own, and all that define no other dag.

A rollback of a dag holds until one of these changes. Whoever edits the file of another dag does
not mean this one; whoever edits a helper may, and nobody can tell.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from mainspring.bundles.report import BundleReport
from mainspring.bundles.tree import files_in


def sources_of(folder: Path, report: BundleReport) -> dict[str, bytes]:
    """For each dag that was found, a digest of its graph and of the files that concern it."""
    dag_files = {*report.files.values(), *(problem.file for problem in report.problems)}
    shared = hashlib.sha256()
    own: dict[str, bytes] = {}
    for file in files_in(folder):
        content = hashlib.sha256(Path(file.absolute).read_bytes()).digest()
        if file.path in dag_files:
            own[file.path] = content
        else:
            shared.update(hashlib.sha256(file.path.encode(errors="surrogateescape")).digest())
            shared.update(content + bytes([file.executable]))
    return {
        dag.name: hashlib.sha256(
            shared.digest() + own[report.files[dag.name]] + dag.digest()
        ).digest()
        for dag in report.dags
    }
