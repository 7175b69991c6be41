"""Object stores that are there: a folder, and a bucket of a server that speaks S3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pytest

from tests.support.buckets import S3Server


class Shelf(NamedTuple):
    """A place for objects, and how a test looks into it."""

    url: str
    folder: Path | None = None
    server: S3Server | None = None

    def keys(self) -> list[str]:
        if self.server is not None:
            bucket = self.url.removeprefix("s3://").partition("/")[0]
            return [key.removeprefix("some/prefix/") for key in self.server.keys(bucket)]
        assert self.folder is not None
        return sorted(
            str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()
        )


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    server = S3Server(tmp_path_factory.mktemp("s3"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def bucket(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    name = f"bucket-{uuid4().hex[:8]}"
    s3_server.make_bucket(name)
    return Shelf(f"s3://{name}/some/prefix", server=s3_server)


@pytest.fixture(params=["folder", "s3"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Shelf:
    if request.param == "s3":
        bucket: Shelf = request.getfixturevalue("bucket")
        return bucket
    folder = tmp_path / "objects with a space"
    return Shelf(folder.as_uri(), folder=folder)
