"""Attaching to this very process, which listens."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kedi
from kedi.debugging import listen
from kedi_dap import endpoints
from kedi_dap.endpoints import Endpoint
from kedi_dap.listener import Listener
from kedi_dap.messages import encode, private
from kedi_dap.transport import SocketLink
from tests.dap import client as clients
from tests.dap.client import LIMIT, DapClient, Refused

Program = Callable[..., Path]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KEDI_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def listening(home: Path) -> Iterator[Listener]:
    made = listen()
    assert isinstance(made, Listener)
    yield made
    made.close()


@pytest.fixture
def attaching(home: Path, tmp_path: Path) -> Iterator[DapClient]:
    with clients.stdio(cwd=tmp_path) as client:
        yield client


def test_only_the_user_reads_the_token(listening: Listener, home: Path) -> None:
    assert listening.token_file is not None
    file = Path(listening.token_file)
    assert file.parent == home / "run"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert json.loads(file.read_text())["token"] == listening.token
    assert len(listening.token) >= 32
    assert listening.host == "127.0.0.1"
    assert listen() is listening
    listening.close()
    listening.close()
    assert not file.exists()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", listening.port), 5)


@pytest.mark.parametrize("how", ["token", "tokenFile", "port only", "pid", "name", "alone"])
def test_ways_to_name_the_process(attaching: DapClient, listening: Listener, how: str) -> None:
    arguments: dict[str, Any] = {
        "token": {"port": listening.port, "token": listening.token},
        "tokenFile": {"tokenFile": listening.token_file},
        "port only": {"port": listening.port},
        "pid": {"pid": os.getpid()},
        "name": {"name": listening.name[:12]},
        "alone": {},
    }[how]
    assert not listening.wait_for_client(0)
    attaching.start("attach", **arguments)
    assert listening.wait_for_client(LIMIT)
    assert listening.connected
    process = attaching.events("process")[0]
    assert process["startMethod"] == "attach"
    assert process["systemProcessId"] == os.getpid()
    assert attaching.request("threads")["threads"][0]["name"] == "MainThread"
    attaching.disconnect()
    wait_until(lambda: not listening.connected)


def wait_until(check: Callable[[], bool]) -> None:
    waited = threading.Event()
    for _ in range(int(LIMIT * 100)):
        if check():
            return
        waited.wait(0.01)
    raise AssertionError("it did not become true")


def test_wrong_tokens_are_refused(attaching: DapClient, listening: Listener) -> None:
    attaching.initialize()
    for token in ("", "x", listening.token[:-1], listening.token + "x", "ü"):
        with pytest.raises(Refused, match="the token is wrong"):
            attaching.request("attach", port=listening.port, token=token)
    assert not listening.connected
    attaching.start("attach", port=listening.port, token=listening.token)


def test_one_client_at_a_time(attaching: DapClient, listening: Listener, tmp_path: Path) -> None:
    attaching.start("attach", pid=os.getpid())
    with clients.stdio(cwd=tmp_path) as other:
        other.initialize()
        with pytest.raises(Refused, match="one at a time"):
            other.request("attach", pid=os.getpid())
        attaching.disconnect()
        wait_until(lambda: not listening.connected)
        other.start("attach", pid=os.getpid())


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"Content-Length: 5\r\n\r\nhello",
        b"Content-Length: 2\r\n\r\n[]",
        b'Content-Length: 15\r\n\r\n{"type":"kedi"}',
        b"x" * 200_000,
        b'Content-Length: 44\r\n\r\n{"type":"kedi","kedi":"attach","token":null}',
    ],
)
def test_strangers_are_sent_away(attaching: DapClient, listening: Listener, sent: bytes) -> None:
    stranger = socket.create_connection(("127.0.0.1", listening.port), 5)
    try:
        stranger.sendall(sent)
        stranger.shutdown(socket.SHUT_WR)
        data = b""
        while piece := stranger.recv(1000):
            data += piece
        assert b"welcome" not in data
    except ConnectionError:
        pass  # sent away while it spoke
    finally:
        stranger.close()
    # Another stranger, who says nothing, does not keep anybody waiting.
    silent = socket.create_connection(("127.0.0.1", listening.port), 5)
    attaching.start("attach", pid=os.getpid())
    silent.close()


def test_the_program_goes_on_when_the_client_vanishes(listening: Listener, tmp_path: Path) -> None:
    written = sys.stdout
    with clients.stdio(cwd=tmp_path) as client:
        client.start("attach", pid=os.getpid())
        assert listening.connected
        assert client.process is not None
        client.process.kill()
        wait_until(lambda: not listening.connected)
        client.close()
    assert sys.stdout is written
    assert "write" not in vars(sys.stdout)


def test_output_is_copied_while_attached(
    attaching: DapClient, listening: Listener, capsys: pytest.CaptureFixture[str]
) -> None:
    print("before")
    attaching.start("attach", pid=os.getpid(), redact=["pass-[0-9]+"])
    print("while attached, pass-1234")
    print("and errors", file=sys.stderr)
    attaching.wait_output("and errors", "stderr")
    attaching.disconnect()
    wait_until(lambda: not listening.connected)
    print("after")
    assert attaching.output("stdout") == "while attached, ***\n"
    shown = capsys.readouterr()
    assert shown.out == "before\nwhile attached, pass-1234\nafter\n"
    assert shown.err == "and errors\n"


def test_later_sessions_are_debugged_too(attaching: DapClient, listening: Listener) -> None:
    with kedi.interactive() as early:
        attaching.start("attach", pid=os.getpid())
        early.execute("[x] = `1`\n", source_name="early.kedi")
        with kedi.interactive() as late:
            late.execute("[x] = `1`\n", source_name="late.kedi")
    for name in ("early.kedi", "late.kedi"):
        attaching.wait_event("loadedSource", lambda body, name=name: body["source"]["name"] == name)


def test_waiting_for_a_client(home: Path, tmp_path: Path) -> None:
    """The program waits until the client has configured."""
    code = (
        "import kedi\nfrom kedi.debugging import listen\n"
        "at = listen(wait=True)\nprint('went on', at.connected, flush=True)\nat.close()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env=clients.environment(), text=True
    ) as process:
        wait_until(lambda: any(e.pid == process.pid for e in endpoints.alive()))
        with clients.stdio(cwd=tmp_path) as client:
            client.initialize()
            begun = client.send("attach", pid=process.pid)
            client.response(begun)
            assert process.poll() is None
            client.request("configurationDone")
            assert process.stdout is not None
            assert process.stdout.readline() == "went on True\n"
            client.wait_end()
    assert process.returncode == 0


def test_terminating_what_is_attached(home: Path, tmp_path: Path) -> None:
    code = "import time\nfrom kedi.debugging import listen\nlisten()\ntime.sleep(60)\n"
    with subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.DEVNULL, env=clients.environment()
    ) as process:
        wait_until(lambda: any(e.pid == process.pid for e in endpoints.alive()))
        with clients.stdio(cwd=tmp_path) as client:
            client.start("attach", pid=process.pid)
            with pytest.raises(Refused, match="only a launched program"):
                client.request("restart")
            client.request("terminate")
            client.wait_end()
        assert process.wait(LIMIT) != 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "no program listens"),
        ({"port": 0}, "`port` is a number"),
        ({"port": "x"}, "`port` is a whole number"),
        ({"port": 1, "token": "x"}, "nothing listens at 127.0.0.1:1"),
        ({"port": 1}, "needs the `token`"),
        ({"tokenFile": "/no/file"}, "`tokenFile`"),
        ({"pid": 1}, "no program listens"),
        ({"host": "nonesuch.invalid", "port": 5, "token": "x"}, "nothing listens"),
    ],
)
def test_what_cannot_be_attached_to(
    attaching: DapClient, arguments: dict[str, Any], said: str
) -> None:
    attaching.initialize()
    with pytest.raises(Refused, match=said):
        attaching.request("attach", **arguments)


def test_something_else_listens(attaching: DapClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            connection.recv(1000)
            connection.sendall(b"220 smtp.example ready\r\n\r\n")
            connection.close()

        threading.Thread(target=answer, daemon=True).start()
        attaching.initialize()
        with pytest.raises(Refused, match="does not answer as a Kedi program"):
            attaching.request("attach", port=server.getsockname()[1], token="x")


def test_several_processes(attaching: DapClient, listening: Listener, home: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        endpoints.write(Endpoint("127.0.0.1", 1, "t", other.pid, "other program"))
        attaching.initialize()
        with pytest.raises(Refused, match=f"several programs fit: .*{other.pid} other program"):
            attaching.request("attach")
        other.kill()
    # A file of a process that is gone says nothing any more.
    assert [item.pid for item in endpoints.alive()] == [os.getpid()]
    assert len(list((home / "run").iterdir())) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"host": "0.0.0.0"}, "give a `token`"),
        ({"host": "0.0.0.0", "token": "short"}, "at least 16 characters"),
        ({"token": ""}, "the `token` is empty"),
    ],
)
def test_where_nobody_may_listen(home: Path, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        listen(**arguments)


def test_a_second_port_is_refused(listening: Listener) -> None:
    with pytest.raises(ValueError, match="already"):
        listen(port=1)


def test_without_the_debugger_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.metadata

    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [])
    with pytest.raises(RuntimeError, match="pip install 'kedi\\[dap\\]'"):
        listen()


def test_a_forked_child_does_not_listen(home: Path, tmp_path: Path) -> None:
    code = (
        "import os\nfrom kedi.debugging import listen\nat = listen()\nat.wait_for_client()\n"
        "if os.fork() == 0:\n    print('child', at.connected)\n    os._exit(0)\n"
        "os.wait()\nprint('parent', at.connected, flush=True)\nat.close()\n"
    )
    with subprocess.Popen([sys.executable, "-uc", code], env=clients.environment()) as process:
        wait_until(lambda: any(e.pid == process.pid for e in endpoints.alive()))
        with clients.stdio(cwd=tmp_path) as client:
            client.start("attach", pid=process.pid)
            client.wait_output("parent True")
            client.wait_end()
    assert process.returncode == 0


def test_a_client_that_leaves_half_way(listening: Listener) -> None:
    """One that shows the token and then says nothing holds the place until it goes."""
    link = SocketLink(socket.create_connection(("127.0.0.1", listening.port)))
    link.send(encode(private("attach", token=listening.token)))
    next(link.messages())
    assert listening.connected
    link.close()
    wait_until(lambda: not listening.connected)
