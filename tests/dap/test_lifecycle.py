"""How programs and adapters end: nothing is left behind, nobody waits for ever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.dap import client as clients
from tests.dap.client import LIMIT, DapClient, Refused

Program = Callable[..., Path]

SLEEP = "```\nimport os, time\nprint('pid', os.getpid(), flush=True)\ntime.sleep(60)\n```\n"


def gone(pid: int) -> bool:
    """Whether a process ends soon."""
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def pid_of(client: DapClient) -> int:
    return client.events("process")[-1]["systemProcessId"]


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("import os; os.write(1, b'last'); os._exit(3)", 3, "last"),
        ("print('last'); import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137, "last"),
        ("import ctypes; print('last', flush=True); ctypes.string_at(0)", 139, "last"),
        ("import os; print('last'); os.abort()", 134, "last"),
        ("raise SystemExit('last')", 1, "last"),
        ("print('last'); raise KeyboardInterrupt", 130, "last"),
    ],
)
def test_programs_that_end_by_themselves(
    stdio: DapClient, program: Program, code: str, status: int, said: str
) -> None:
    stdio.launch(program(f"```\n{code}\n```\n"))
    assert stdio.wait_end() == status
    assert said in stdio.output()
    if status > 130:
        assert "was ended by" in stdio.output("important")
    assert gone(pid_of(stdio))


def test_a_program_that_closes_the_connection(stdio: DapClient, program: Program) -> None:
    stdio.launch(program("```\nimport os\nprint('last')\nos.closerange(0, 100)\n```\n"))
    stdio.wait_end()
    assert stdio.output() == "last\n"


def test_requests_after_the_end_are_refused(stdio: DapClient, program: Program) -> None:
    stdio.launch(program("= `1`\n"))
    stdio.wait_end()
    with pytest.raises(Refused, match="the program has ended"):
        stdio.request("threads")
    stdio.request("terminate")
    stdio.disconnect()


def test_requests_under_way_end_with_the_program(stdio: DapClient, program: Program) -> None:
    """A blocked process cannot answer; when it is killed its requests are refused."""
    stdio.launch(program(SLEEP))
    stdio.wait_output("pid")
    os.kill(pid_of(stdio), signal.SIGSTOP)
    seq = stdio.send("threads")
    stdio.request("cancel", requestId=seq)
    os.kill(pid_of(stdio), signal.SIGKILL)
    with pytest.raises(Refused, match="the program has ended"):
        stdio.response(seq)
    assert stdio.wait_end() == 137


@pytest.mark.parametrize("how", ["disconnect", "vanish", "kill", "terminate adapter"])
def test_nothing_is_left_when_the_client_goes(tmp_path: Path, program: Program, how: str) -> None:
    path = program(
        "```\nimport os, subprocess, time\nchild = subprocess.Popen(['sleep', '60'])\n"
        "print('pids', os.getpid(), child.pid, flush=True)\ntime.sleep(60)\n```\n"
    )
    with clients.stdio(cwd=tmp_path) as client:
        client.launch(path)
        pids = list(map(int, client.wait_output("\n").split()[1:]))
        assert client.process is not None
        if how == "disconnect":
            client.disconnect()
        elif how == "vanish":
            client.close()
        elif how == "kill":
            client.process.kill()
        else:
            client.process.terminate()
        assert client.process.wait(LIMIT) is not None
        assert [gone(pid) for pid in pids] == [True, True]


def test_a_tcp_client_that_vanishes(tmp_path: Path, program: Program) -> None:
    with clients.port(cwd=tmp_path) as number:
        client = clients.connect(number)
        client.launch(program(SLEEP))
        client.wait_output("pid")
        client.close()
        assert gone(pid_of(client))
        # The adapter serves the next one.
        other = clients.connect(number)
        other.launch(program("= `1`\n"))
        assert other.wait_end() == 0
        other.disconnect()


def test_two_clients_at_a_port_do_not_meet(tmp_path: Path, program: Program) -> None:
    with clients.port(cwd=tmp_path) as number:
        one, two = clients.connect(number), clients.connect(number)
        one.launch(program(SLEEP, "one.kedi"))
        two.launch(program("= `'two'`\n", "two.kedi"))
        assert two.wait_end() == 0
        assert two.output() == "two\n"
        assert "two" not in one.output()
        one.disconnect()
        two.disconnect()


def test_terminate_interrupts_and_lets_the_program_tidy_up(
    stdio: DapClient, program: Program
) -> None:
    stdio.launch(
        program(
            "```\nimport time\ntry:\n    print('on')\n    time.sleep(60)\n"
            "finally:\n    print('tidied')\n```\n"
        )
    )
    stdio.wait_output("on")
    stdio.request("terminate")
    assert stdio.wait_end() == 130
    assert "tidied" in stdio.output()


def test_the_second_terminate_kills(stdio: DapClient, program: Program) -> None:
    stdio.launch(
        program(
            "```\nimport time\nprint('on')\nwhile True:\n    try:\n        time.sleep(60)\n"
            "    except KeyboardInterrupt:\n        print('no')\n```\n"
        )
    )
    stdio.wait_output("on")
    stdio.request("terminate")
    stdio.wait_output("no")
    stdio.request("terminate")
    assert stdio.wait_end() == 137


@pytest.mark.slow
def test_a_program_that_ignores_terminate_is_killed(stdio: DapClient, program: Program) -> None:
    stdio.launch(
        program(
            "```\nimport signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
            "print('on')\ntime.sleep(60)\n```\n"
        )
    )
    stdio.wait_output("on")
    stdio.request("terminate")
    assert stdio.wait_end() == 137


def test_a_launched_program_may_go_on_alone(tmp_path: Path, program: Program) -> None:
    path = program(
        "```\nimport os, pathlib, sys, time\nprint('pid', os.getpid(), flush=True)\n"
        "while not pathlib.Path('go').exists():\n    time.sleep(0.01)\n"
        "print('nobody reads this'); os.write(1, b'x' * 200000); sys.stderr.write('y')\n"
        "pathlib.Path('done').write_text('done')\n```\n"
    )
    with clients.stdio(cwd=tmp_path) as client:
        client.launch(path)
        client.wait_output("pid")
        client.request("disconnect", terminateDebuggee=False)
        pid = pid_of(client)
        assert client.process is not None
        client.process.wait(LIMIT)
    tmp_path.joinpath("go").touch()
    assert gone(pid)
    assert tmp_path.joinpath("done").read_text() == "done"


def test_restart_runs_the_program_again(stdio: DapClient, program: Program) -> None:
    path = program(SLEEP)
    stdio.launch(path)
    stdio.wait_output("pid")
    first = pid_of(stdio)
    stdio.request("restart")
    assert gone(first)
    second = pid_of(stdio)
    assert second != first
    stdio.wait_output(f"pid {second}")
    assert not stdio.events("terminated")
    assert not stdio.events("exited")
    with pytest.raises(Refused, match="there is no file"):
        stdio.request("restart", arguments={"program": "none.kedi"})
    path.write_text("= `'changed'`\n")
    stdio.request("restart", arguments={"program": str(path), "env": {"X": "1"}})
    assert stdio.wait_end() == 0
    assert "changed" in stdio.output()


def test_a_program_that_has_ended_can_be_restarted(stdio: DapClient, program: Program) -> None:
    stdio.launch(program("= `1`\n"))
    assert stdio.wait_end() == 0
    stdio.request("restart")
    assert stdio.wait_end() == 0
    assert stdio.output() == "1\n1\n"


def test_standard_input_is_empty(stdio: DapClient, program: Program) -> None:
    stdio.launch(
        program(
            "```\nimport os, sys\ntry:\n    input('? ')\nexcept EOFError:\n    print('EOF')\n"
            "print(repr(sys.stdin.read()), os.read(0, 10))\n```\n"
        )
    )
    assert stdio.wait_end() == 0
    assert stdio.output() == "? EOF\n'' b''\n"


def test_forked_children_write_but_are_not_debugged(stdio: DapClient, program: Program) -> None:
    stdio.launch(
        program(
            "```\nimport os, sys\nprint('before')\nfor n in range(3):\n    pid = os.fork()\n"
            "    if pid == 0:\n        print('child', n)\n        sys.stderr.write('oops\\n')\n"
            "        sys.stdout.flush()\n        os._exit(0)\n    os.waitpid(pid, 0)\n"
            "    print('parent', n)\n```\n"
        )
    )
    assert stdio.wait_end() == 0
    assert stdio.output("stdout") == "before\n" + "".join(
        f"child {n}\nparent {n}\n" for n in range(3)
    )
    assert stdio.output("stderr") == "oops\n" * 3


def test_a_child_that_outlives_the_program(stdio: DapClient, program: Program) -> None:
    """Its output pipe stays open, and yet the end of the program is told."""
    stdio.launch(
        program(
            "```\nimport subprocess\nchild = subprocess.Popen(['sleep', '30'])\n"
            "print('child', child.pid)\n```\n"
        )
    )
    assert stdio.wait_end() == 0
    os.kill(int(stdio.output().split()[1]), signal.SIGKILL)


def test_output_of_every_kind_is_in_order(stdio: DapClient, program: Program) -> None:
    stdio.launch(
        program(
            "```\nimport os, subprocess, sys\nfor n in range(20):\n    print('py', n)\n"
            "    os.write(1, b'fd %d\\n' % n)\n"
            "    subprocess.run(['echo', 'sub', str(n)])\n"
            "    sys.stdout.buffer.write(b'buffer %d\\n' % n); sys.stdout.flush()\n"
            "    os.write(2, b'err %d\\n' % n)\n    sys.stderr.write(f'text {n}\\n')\n```\n"
        )
    )
    assert stdio.wait_end() == 0
    kinds = ("py", "fd", "sub", "buffer", "err", "text")
    assert stdio.output() == "".join(f"{kind} {n}\n" for n in range(20) for kind in kinds)
    assert "py" not in stdio.output("stderr")


def test_what_the_captured_streams_can(stdio: DapClient, program: Program) -> None:
    stdio.launch(
        program(
            "```\nimport io, sys\nout = sys.stdout\n"
            "print(out.isatty(), out.fileno(), out.encoding, out.writable(), out.readable())\n"
            "print(isinstance(out, io.TextIOBase), out.errors, out.name, out.closed)\n"
            "out.writelines(['a', 'b\\n'])\nout.write('\\ud800 \\x1b[31mred\\x1b[0m 🎈\\n')\n"
            "out.buffer.write(b'\\xff\\xc3')\nout.buffer.write(b'\\xa9\\n')\n"
            "out.reconfigure(line_buffering=True)\n"
            "try:\n    out.write(5)\nexcept TypeError as error:\n    print(error)\n```\n"
        )
    )
    assert stdio.wait_end() == 0
    assert stdio.output() == (
        "False 1 utf-8 True False\nTrue backslashreplace <stdout> False\nab\n"
        "\\ud800 \x1b[31mred\x1b[0m 🎈\n\\xffé\nwrite() argument must be str, not int\n"
    )


def test_programs_that_replace_or_close_their_streams(stdio: DapClient, program: Program) -> None:
    stdio.launch(
        program(
            "```\nimport contextlib, io, sys\n"
            "with contextlib.redirect_stdout(io.StringIO()) as f:\n    print('hidden')\n"
            "print(f.getvalue().upper(), end='')\n"
            "sys.__stdout__.write('original\\n'); sys.__stdout__.flush()\nsys.stdout.close()\n```\n"
        )
    )
    stdio.wait_end()
    assert "HIDDEN\noriginal\n" in stdio.output()


def test_a_flood_of_output_is_bounded(tmp_path: Path, program: Program) -> None:
    """The client reads slowly: the program waits, and the adapter's memory does not grow."""
    import threading

    path = program(
        "```\nimport os, sys\nline = 'x' * 99 + '\\n'\nfor n in range(200):\n"
        "    sys.stdout.write(line * 1000)\n    os.write(1, b'y' * 1000)\n"
        "print('end')\n```\n"
    )
    with clients.stdio(cwd=tmp_path) as client:
        client.initialize()
        assert client.process is not None
        peak = 0
        done = threading.Event()

        def watch() -> None:
            nonlocal peak
            while not done.wait(0.01):
                text = Path(f"/proc/{client.process.pid}/status").read_text()
                peak = max(peak, int(text.partition("VmRSS:")[2].split()[0]))

        watcher = threading.Thread(target=watch)
        watcher.start()
        client.launch(path)
        assert client.wait_end(limit=60) == 0
        done.set()
        watcher.join()
        shown = client.output()
    assert len(shown) == 200 * (100_000 + 1_000) + 4
    assert shown.endswith("end\n")
    block = ("x" * 99 + "\n") * 1000 + "y" * 1000
    assert shown == block * 200 + "end\n"
    assert peak < 80_000  # KiB; the whole output has 20 MB in several forms


def test_the_program_does_not_see_the_adapter(stdio: DapClient, program: Program) -> None:
    stdio.launch(
        program(
            "```\nimport os, sys, threading\n"
            "print([n for n in os.environ if 'DAP' in n], sys.argv[1:])\n```\n"
        ),
        args=["--x", "1"],
    )
    assert stdio.wait_end() == 0
    assert stdio.output() == "[] ['--x', '1']\n"


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--help"], 0, "usage: kedi-dap"),
        (["--version"], 0, "kedi-dap "),
        (["--host", "0.0.0.0"], 2, "`--host` needs `--port`"),
        (["--port", "1", "--host", "0.0.0.0"], 2, "needs `--token`"),
        (["--port", "x"], 2, "`--port` is a number"),
        (["--port"], 2, "needs a value"),
        (["--nonsense"], 2, "there is no option"),
        (["--log", "/no/such/folder/log"], 2, "the log cannot be written"),
    ],
)
def test_the_command_line(options: list[str], status: int, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kedi_dap", *options],
        capture_output=True,
        text=True,
        env=clients.environment(),
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == status
    assert said in done.stdout + done.stderr


def test_a_port_with_a_token(tmp_path: Path, program: Program) -> None:
    path = program("= `1`\n")
    with clients.port("--token", "t0ken-of-this-adapter", cwd=tmp_path) as number:
        for given in ({}, {"adapterToken": "wrong"}, {"adapterToken": 5}):
            client = clients.connect(number)
            client.initialize()
            arguments: dict[str, Any] = {"program": str(path), **given}
            with pytest.raises(Refused, match="adapterToken"):
                client.request("launch", **arguments)
            client.disconnect()
        client = clients.connect(number)
        client.launch(path, adapterToken="t0ken-of-this-adapter")
        assert client.wait_end() == 0
        client.disconnect()
