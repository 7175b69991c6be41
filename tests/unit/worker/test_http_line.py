"""A line to a server comes back, however it broke."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest
import uvloop

from mainspring.worker.http_line import HttpLine, Server

_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"


@pytest.mark.parametrize("rudely", [False, True])
def test_a_connection_that_broke_while_nothing_was_asked_is_made_anew(rudely: bool) -> None:
    """On the loop that workers have, which takes it ill when a closed connection is written to."""

    async def scene() -> None:
        connections: list[asyncio.StreamWriter] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connections.append(writer)
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(_ANSWER)

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        line = HttpLine(Server("127.0.0.1", port, False, "", "token"), name="test")
        assert await line.fetch("GET", "/") == b"hi"
        if rudely:
            ours = connections[0].get_extra_info("socket")
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connections[0].transport.abort()
        assert line._streams is not None
        reader, writer = line._streams
        while True:
            await asyncio.sleep(0)
            if reader.at_eof() or writer.is_closing():
                break
        for _ in range(20):
            await asyncio.sleep(0)  # Until it is closed as well.
        assert await line.fetch("GET", "/") == b"hi"
        assert len(connections) == 2
        await line.close()
        server.close()

    uvloop.run(scene())
