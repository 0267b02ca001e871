"""Launching: arguments, environment, output, and what cannot be launched."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kedi
from tests.dap import client as clients
from tests.dap.client import DapClient, Refused

Program = Callable[..., Path]

SHOW = "```\nimport json, os, sys\nprint(json.dumps({}))\n```\n"


def test_a_program_runs_and_its_output_comes_in_order(dap: DapClient, program: Program) -> None:
    path = program(
        "```\nimport sys\nprint('one')\nprint('two', file=sys.stderr)\nprint('three')\n```\n\n"
        "= `4`\n"
    )
    dap.launch(path)
    assert dap.wait_end() == 0
    assert dap.output() == "one\ntwo\nthree\n4\n"
    assert dap.output("stderr") == "two\n"
    process = dap.events("process")[0]
    assert process["name"] == str(path)
    assert process["startMethod"] == "launch"
    assert process["isLocalProcess"] is True
    assert isinstance(process["systemProcessId"], int)


def test_the_order_of_a_start(stdio: DapClient, program: Program) -> None:
    stdio.launch(program("= `1`\n"))
    stdio.wait_end()
    names = [m.get("event") or m["command"] for m in stdio.timeline]
    assert names[:2] == ["initialize", "initialized"]
    assert names[-2:] == ["exited", "terminated"]
    assert [m["seq"] for m in stdio.timeline] == list(range(1, len(names) + 1))


def test_arguments_of_the_program(stdio: DapClient, program: Program) -> None:
    path = program("= `f'{args.name} {args.dry_run} {args.adapter}'`\n")
    stdio.launch(path, args=["--name", "Ada Łovelace", "--dry-run", "--adapter=x"])
    assert stdio.wait_end() == 0
    assert stdio.output() == "Ada Łovelace True x\n"


def _environment(client: DapClient, program: Program, **arguments: Any) -> dict[str, str]:
    path = program("```\nimport json, os\nprint(json.dumps(dict(os.environ)))\n```\n")
    client.launch(path, **arguments)
    client.wait_end()
    return json.loads(client.output())


def test_the_environment(tmp_path: Path, program: Program) -> None:
    tmp_path.joinpath("given.env").write_text(
        "FROM_FILE=file\nINHERITED=file\nBOTH=file\nbad line\n"
    )
    env = clients.environment(INHERITED="inherited", GONE="here", KEDI_ADAPTER=None)
    with clients.stdio(cwd=tmp_path, env=env) as client:
        shown = _environment(
            client, program, envFile="given.env", env={"BOTH": "env", "GONE": None, "N": 5}
        )
        assert "given.env: line 4" in client.output("console")
    assert (shown["FROM_FILE"], shown["INHERITED"], shown["BOTH"]) == ("file", "file", "env")
    assert shown["N"] == "5"
    assert "GONE" not in shown
    assert not [name for name in shown if name.startswith("KEDI_DAP")]


@pytest.mark.parametrize("where", ["beside", "above", "off"])
def test_the_nearest_env_file(tmp_path: Path, program: Program, where: str) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    at = folder if where == "beside" else tmp_path if where == "above" else folder
    at.joinpath(".env").write_text("FROM_DOTENV=1\nINHERITED=dotenv\nPATH=/nowhere\n")
    env = clients.environment(INHERITED="inherited")
    arguments: dict[str, Any] = {"cwd": str(folder)}
    if where == "off":
        arguments["envFile"] = None
    with clients.stdio(cwd=tmp_path, env=env) as client:
        shown = _environment(client, program, **arguments)
    assert shown.get("FROM_DOTENV") == (None if where == "off" else "1")
    assert shown["INHERITED"] == "inherited"
    assert shown["PATH"] == os.environ["PATH"]


def test_a_variable_that_is_removed_does_not_come_back(tmp_path: Path, program: Program) -> None:
    tmp_path.joinpath(".env").write_text("A=dotenv\nB=dotenv\n")
    with clients.stdio(cwd=tmp_path) as client:
        shown = _environment(client, program, env={"A": None})
    assert "A" not in shown
    assert shown["B"] == "dotenv"


def test_folder_and_interpreter(stdio: DapClient, program: Program, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    path = program(SHOW.format("[os.getcwd(), sys.executable, sys.flags.dev_mode, sys.argv]"))
    stdio.launch(path, cwd=str(inner), python=[sys.executable, "-X", "dev"])
    stdio.wait_end()
    folder, executable, dev, argv = json.loads(stdio.output("stdout"))
    assert (folder, dev, argv[0]) == (str(inner), True, str(path))
    assert Path(executable).samefile(sys.executable)


def test_a_relative_program_is_found_in_the_folder(stdio: DapClient, program: Program) -> None:
    path = program("= `1`\n", "other.kedi")
    stdio.launch("other.kedi", cwd=str(path.parent))
    assert stdio.wait_end() == 0


def test_an_adapter_that_is_not_there(stdio: DapClient, program: Program) -> None:
    stdio.launch(program("= `1`\n"), adapter="nonesuch")
    assert stdio.wait_end() == 2
    assert "nonesuch" in stdio.output("stderr")


def test_a_program_that_does_not_parse(stdio: DapClient, program: Program) -> None:
    path = program("[x = 1\n")
    stdio.launch(path)
    assert stdio.wait_end() == 1
    assert "main.kedi" in stdio.output("stderr")


def test_a_failing_program(stdio: DapClient, program: Program) -> None:
    stdio.launch(program("[x] = `1 / 0`\n"))
    assert stdio.wait_end() == 1
    assert "division by zero" in stdio.output("stderr")


def test_the_exit_status_of_embedded_python(stdio: DapClient, program: Program) -> None:
    stdio.launch(
        program("```\nimport atexit, sys\natexit.register(print, 'bye')\nsys.exit(7)\n```\n")
    )
    assert stdio.wait_end() == 7
    assert stdio.output() == "bye\n"


@pytest.mark.parametrize("what", ["session", "snapshot"])
def test_sessions_wait_for_the_console(stdio: DapClient, tmp_path: Path, what: str) -> None:
    if what == "snapshot":
        with kedi.interactive() as session:
            session.execute("[x] = `41`\n")
            session.dump(tmp_path / "s.kedi-state")
        stdio.start("launch", snapshot=str(tmp_path / "s.kedi-state"))
    else:
        stdio.start("launch", session=True)
    threads = stdio.request("threads")["threads"]
    assert [item["id"] for item in threads] == [1]
    stdio.request("terminate")
    assert stdio.wait_end() == 0


def test_a_snapshot_that_cannot_be_restored(stdio: DapClient, tmp_path: Path) -> None:
    tmp_path.joinpath("s.kedi-state").write_text("nonsense")
    stdio.start("launch", snapshot=str(tmp_path / "s.kedi-state"))
    assert stdio.wait_end() == 1
    assert "s.kedi-state" in stdio.output("stderr")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "runs one of `program`, `session` and `snapshot`: none of them"),
        ({"program": "main.kedi", "session": True}, "`program` and `session` is given"),
        ({"program": 5}, "`program` is text, not a number"),
        ({"program": "none.kedi"}, "there is no file"),
        ({"program": "."}, "is a folder"),
        ({"program": "a\0b"}, "NUL"),
        ({"snapshot": "none.state"}, "there is no file"),
        ({"session": True, "args": ["x"]}, "`args` are the arguments of a `program`"),
        ({"program": "main.kedi", "args": "x"}, "`args` is a list"),
        ({"program": "main.kedi", "args": ["x", 1]}, r"`args\[1\]` is text"),
        ({"program": "main.kedi", "cwd": "nowhere"}, "there is no folder"),
        ({"program": "main.kedi", "env": {"A": []}}, "`env.A` is text, or null"),
        ({"program": "main.kedi", "env": {"A=B": "x"}}, "cannot name a variable"),
        ({"program": "main.kedi", "env": ["A"]}, "`env` is an object"),
        ({"program": "main.kedi", "envFile": "none.env"}, "there is no file"),
        ({"program": "main.kedi", "python": "/no/python"}, "cannot be started"),
        ({"program": "main.kedi", "python": []}, "`python` is the path"),
        ({"program": "main.kedi", "console": "externalTerminal"}, "`console` is one of"),
        ({"program": "main.kedi", "console": "integratedTerminal"}, "use `internalConsole`"),
        ({"program": "main.kedi", "redact": ["("]}, "no regular expression"),
        ({"program": "main.kedi", "cassette": "x.jsonl"}, "`cassette` cannot be used yet"),
        ({"program": "main.kedi", "stopOnEntry": "yes"}, "`stopOnEntry` is true or false"),
    ],
)
def test_what_cannot_be_launched(
    stdio: DapClient, program: Program, arguments: dict[str, Any], said: str
) -> None:
    path = program("= `1`\n")
    stdio.initialize()
    with pytest.raises(Refused, match=said):
        stdio.request("launch", **arguments)
    # And the client may try again.
    stdio.launch(path)
    assert stdio.wait_end() == 0


def test_an_interpreter_without_kedi(stdio: DapClient, program: Program, tmp_path: Path) -> None:
    path = program("= `1`\n")
    stdio.initialize()
    with pytest.raises(Refused, match="pip install 'kedi\\[dap\\]'"):
        stdio.request("launch", program=str(path), python=[sys.executable, "-S", "-I"])


def test_an_interpreter_that_is_none(stdio: DapClient, program: Program, tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho this is no python >&2\nexit 3\n")
    script.chmod(0o755)
    path = program("= `1`\n")
    stdio.initialize()
    with pytest.raises(Refused, match="this is no python"):
        stdio.request("launch", program=str(path), python=str(script))


def test_a_terminal(tmp_path: Path, program: Program) -> None:
    """The client starts the program itself; its output stays in that terminal."""
    import subprocess

    started: list[subprocess.Popen[str]] = []

    def run(arguments: dict[str, Any]) -> dict[str, Any]:
        env = {**os.environ}
        for name, value in arguments["env"].items():
            env.pop(name, None) if value is None else env.__setitem__(name, value)
        started.append(
            subprocess.Popen(
                arguments["args"], cwd=arguments["cwd"], env=env, stdout=subprocess.PIPE, text=True
            )
        )
        return {"processId": started[0].pid}

    path = program("```\nimport os\nprint('in the terminal', os.environ['ADDED'])\n```\n= `5`\n")
    with clients.stdio(cwd=tmp_path) as client:
        client.reverse["runInTerminal"] = run
        client.initialize(supportsRunInTerminalRequest=True)
        client.launch(path, console="integratedTerminal", env={"ADDED": "x"})
        assert client.wait_end() == 0
        assert client.output() == ""
        assert started[0].communicate()[0] == "in the terminal x\n5\n"


def test_a_terminal_that_the_client_refuses(tmp_path: Path, program: Program) -> None:
    with clients.stdio(cwd=tmp_path) as client:
        client.initialize(supportsRunInTerminalRequest=True)
        with pytest.raises(Refused, match="the client did not start it"):
            client.request("launch", program=str(program("= `1`\n")), console="integratedTerminal")


def test_secrets_are_masked_everywhere(tmp_path: Path, program: Program) -> None:
    secret = "sk-9f8e7d6c5b4a-zzz"
    path = program(
        "```\nimport os, sys, time, subprocess\n"
        "s = os.environ['MY_API_KEY']\nprint('key', s)\n"
        "sys.stdout.write(s[:7]); sys.stdout.flush(); time.sleep(0.1); print(s[7:])\n"
        "os.write(1, s[:9].encode()); time.sleep(0.1); os.write(1, s[9:].encode() + b'\\n')\n"
        "subprocess.run(['sh', '-c', 'echo $MY_API_KEY >&2'])\n"
        "print('card-1234 is masked')\n"
        "raise ValueError('with ' + s)\n```\n"
    )
    log = tmp_path / "log"
    with clients.stdio("--log", str(log), cwd=tmp_path) as client:
        client.launch(path, env={"MY_API_KEY": secret}, redact=[r"card-\d+"])
        assert client.wait_end() == 1
        raw = bytes(client.wire.raw)
        shown = client.output()
    for text in (raw, log.read_bytes()):
        assert secret.encode() not in text
        assert secret[9:].encode() not in text
        assert b"card-1234" not in text
    assert shown.count("***") >= 5
    assert log.stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_no_debugging(stdio: DapClient, program: Program) -> None:
    path = program("[x] = `1`\n= `x`\n")
    stdio.launch(path, noDebug=True, stopOnEntry=True)
    assert stdio.wait_end() == 0
    assert not stdio.events("stopped")
