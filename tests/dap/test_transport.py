"""Framing: whatever is on the wire, later messages are found."""

from __future__ import annotations

import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedi_dap import transport
from kedi_dap.transport import Closed, Framer, Malformed, SocketLink, framed


def _all(*pieces: bytes) -> list[bytes | Malformed]:
    framer = Framer()
    return [item for piece in pieces for item in framer.feed(piece)]


@given(st.lists(st.binary(max_size=200), max_size=5), st.data())
def test_messages_come_whole_however_they_are_cut(bodies: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(map(framed, bodies))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    framer = Framer()
    assert [item for piece in pieces for item in framer.feed(piece)] == bodies
    assert not framer.pending


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 2\r\n\r\n",
        b"content-length:2\r\n\r\n",
        b"CONTENT-LENGTH :\t2 \r\n\r\n",
        b"Content-Length: 2\n\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\r\nContent-Type: x\r\n\r\n",
    ],
)
def test_headers_may_be_written_in_several_ways(head: bytes) -> None:
    assert _all(head + b"{}" + framed(b"next")) == [b"{}", b"next"]


@pytest.mark.parametrize(
    "junk",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"hello\r\n\r\n",
        b"\x00\xff\xfe garbage",
        b"Content-Length: minus\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"\r\n\r\n\r\n\r\n",
        b"{}" * 40,
        b"x" * 200_000,
    ],
)
def test_after_garbage_the_next_message_is_found(junk: bytes) -> None:
    found = _all(junk, framed(b"one"), framed(b"two"))
    assert found[-2:] == [b"one", b"two"]
    assert [type(item) for item in found[:-2]] == [Malformed]


@given(st.binary(max_size=300), st.integers(1, 40))
def test_any_garbage_is_survived(junk: bytes, size: int) -> None:
    framer = Framer()
    for start in range(0, len(junk), size):
        list(framer.feed(junk[start : start + size]))
    # Whatever length the garbage promised is used up by then.
    rest = b"\r\n\r\n" + b"".join(framed(b"%d" % n) for n in range(40))
    found = list(framer.feed(rest))
    if not framer.pending:
        assert found[-1] == b"39"


def test_a_header_without_an_end_is_not_collected_for_ever() -> None:
    framer = Framer()
    reports = [item for _ in range(100) for item in framer.feed(b"a" * 10_000)]
    assert len(reports) == 1
    assert len(framer._buffer) <= transport.MAX_HEADER  # pyright: ignore[reportPrivateUsage]
    assert list(framer.feed(b"\r\n\r\n" + framed(b"{}")))[-1] == b"{}"


def test_a_message_that_is_too_large_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_BODY", 1_000)
    found = _all(b"Content-Length: 5000\r\n\r\n", b"x" * 3_000, b"x" * 2_000 + framed(b"{}"))
    assert isinstance(found[0], Malformed)
    assert "5,000 bytes" in found[0].problem
    assert found[1:] == [b"{}"]


@pytest.fixture
def pair() -> tuple[SocketLink, SocketLink]:
    server = socket.create_server(("127.0.0.1", 0))
    near = socket.create_connection(server.getsockname())
    far, _ = server.accept()
    server.close()
    return SocketLink(near), SocketLink(far)


def test_a_link_sends_at_once_and_from_several_threads(
    pair: tuple[SocketLink, SocketLink],
) -> None:
    near, far = pair
    assert near.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    def send(number: int) -> None:
        for _ in range(50):
            near.send(b"%d" % number * 1_000)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    messages = far.messages()
    found = [next(messages) for _ in range(200)]
    for thread in threads:
        thread.join()
    assert sorted(set(found)) == [b"%d" % number * 1_000 for number in range(4)]  # pyright: ignore
    near.close()
    assert list(messages) == []
    far.close()


def test_a_link_that_is_closed_says_so(pair: tuple[SocketLink, SocketLink]) -> None:
    near, far = pair
    far.close()

    def send_much() -> None:
        for _ in range(100):
            near.send(b"x" * 100_000)

    with pytest.raises(Closed):
        send_much()
    near.close()
    near.close()


def test_an_interrupt_leaves_no_half_message(pair: tuple[SocketLink, SocketLink]) -> None:
    """What a signal handler raises while a message is sent comes once it is out."""
    near, far = pair
    body = b"x" * 20_000_000
    found: list[bytes | Malformed] = []

    def read() -> None:
        import time

        time.sleep(0.2)  # the sender waits meanwhile
        found.extend(far.messages())

    class Interrupting:
        """A socket whose ``send`` is interrupted between two parts."""

        def __init__(self) -> None:
            self.calls = 0

        def send(self, data: memoryview) -> int:
            self.calls += 1
            if self.calls == 2:
                raise KeyboardInterrupt
            return near.socket.send(data[:100_000])

    reader = threading.Thread(target=read)
    reader.start()
    with pytest.raises(KeyboardInterrupt):
        transport.write_whole(Interrupting(), framed(body))  # pyright: ignore[reportArgumentType]
    near.send(b"after")
    near.close()
    reader.join()
    assert found == [body, b"after"]
    far.close()
