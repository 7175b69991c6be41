"""A server that speaks S3, as a process: moto's."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "a-secret-that-nobody-prints",
    "AWS_REGION": "us-east-1",
}


class S3Server:
    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._log = (folder / "moto.log").open("wb")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        return {**ENVIRONMENT, "AWS_ENDPOINT_URL": self.endpoint}

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-p", str(self.port)],
            stdout=self._log,
            stderr=self._log,
        )
        while True:
            assert self._process.poll() is None, "moto has died"
            try:
                urllib.request.urlopen(f"{self.endpoint}/moto-api/")
                return
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.05)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def make_bucket(self, name: str) -> None:
        urllib.request.urlopen(urllib.request.Request(f"{self.endpoint}/{name}", method="PUT"))

    def keys(self, bucket: str) -> list[str]:
        with urllib.request.urlopen(f"{self.endpoint}/{bucket}?list-type=2") as answer:
            text = answer.read().decode()
        return [part.partition("</Key>")[0] for part in text.split("<Key>")[1:]]
