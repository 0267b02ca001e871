"""What a ``launch`` asks for, checked before anything is started."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from kedi_dap.masking import BadPattern, Masker, masker_for, secrets_in
from kedi_dap.server.arguments import Arguments, RequestError

Console = Literal["internalConsole", "integratedTerminal"]


def _no_texts() -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Launch:
    """A checked ``launch``: exactly one of ``program``, ``session`` and ``snapshot`` is given.

    Paths are absolute; ``environment`` is the whole environment of the program.
    """

    program: str | None
    session: bool
    snapshot: str | None
    args: list[str]
    cwd: str
    environment: dict[str, str]
    python: list[str]
    stop_on_entry: bool
    no_debug: bool
    adapter: str | None
    model: str | None
    console: Console
    just_my_code: bool
    masker: Masker
    redact: list[str] = field(default_factory=_no_texts)
    notes: list[str] = field(default_factory=_no_texts)

    @property
    def name(self) -> str:
        """What runs, for the client to show."""
        return self.program or self.snapshot or "kedi session"

    def settings(self) -> dict[str, Any]:
        """What the debugged process needs to know of it."""
        return {
            "program": self.program,
            "session": self.session,
            "snapshot": self.snapshot,
            "args": self.args,
            "adapter": self.adapter,
            "model": self.model,
            "stopOnEntry": self.stop_on_entry,
            "noDebug": self.no_debug,
            "justMyCode": self.just_my_code,
            "redact": self.redact,
        }


def read_launch(arguments: dict[str, Any]) -> Launch:
    """Check the arguments of a ``launch``. Raises :class:`RequestError`."""
    given = Arguments(arguments)
    if given.has("cassette"):
        raise RequestError("`cassette` cannot be used yet: recording and replay are not there")
    program, snapshot = given.text("program", None), given.text("snapshot", None)
    session = given.flag("session")
    chosen = [
        name
        for name, on in (("program", program), ("session", session), ("snapshot", snapshot))
        if on not in (None, False)
    ]
    if len(chosen) != 1:
        said = " and ".join(f"`{name}`" for name in chosen) or "none of them"
        raise RequestError(
            f"`launch` runs one of `program`, `session` and `snapshot`: {said} is given"
        )
    cwd = _folder(given.text("cwd", None), program)
    redact = given.texts("redact", None)
    environment, notes = _environment(given, cwd)
    try:
        masker = masker_for(environment, redact)
    except BadPattern as error:
        raise RequestError(str(error)) from None
    args = given.texts("args", None)
    if args and program is None:
        raise RequestError("`args` are the arguments of a `program`")
    return Launch(
        program=_file(program, cwd, "program") if program is not None else None,
        session=session,
        snapshot=_file(snapshot, cwd, "snapshot") if snapshot is not None else None,
        args=args,
        cwd=cwd,
        environment=environment,
        python=_python(given),
        stop_on_entry=given.flag("stopOnEntry"),
        no_debug=given.flag("noDebug"),
        adapter=given.text("adapter", None),
        model=given.text("model", None),
        console=given.one_of(
            "console", ("internalConsole", "integratedTerminal"), "internalConsole"
        ),
        just_my_code=given.flag("justMyCode", True),
        masker=masker,
        redact=redact,
        notes=notes,
    )


def masker_of_request(arguments: dict[str, Any]) -> Masker:
    """A masker for what a request that is not checked yet brings: its variables and tokens."""
    again: Any = arguments.get("arguments")
    values = {**arguments, **(cast("dict[str, Any]", again) if isinstance(again, dict) else {})}
    given: Any = values.get("env")
    environment = dict(os.environ)
    if isinstance(given, dict):
        pairs = cast("dict[str, Any]", given).items()
        environment.update({name: value for name, value in pairs if isinstance(value, str)})
    for name in ("token", "adapterToken"):
        if isinstance(values.get(name), str):
            environment[f"KEDI_{name.upper()}"] = values[name]
    return Masker(secrets_in(environment))


def _folder(cwd: str | None, program: str | None) -> str:
    if cwd is None:
        if program is not None and os.path.isabs(program):
            return os.path.dirname(program)
        return os.getcwd()
    folder = os.path.abspath(os.path.expanduser(cwd))
    if not os.path.isdir(folder):
        raise RequestError(f"`cwd`: there is no folder `{cwd}`")
    return folder


def _file(path: str, cwd: str, name: str) -> str:
    _no_nul(path, name)
    full = os.path.normpath(os.path.join(cwd, os.path.expanduser(path)))
    if os.path.isdir(full):
        raise RequestError(f"`{name}`: `{path}` is a folder, not a file")
    if not os.path.exists(full):
        raise RequestError(f"`{name}`: there is no file `{full}`")
    return full


def _python(given: Arguments) -> list[str]:
    """The command of the interpreter: a path or a name, perhaps with options."""
    value = given.raw("python")
    if value is None:
        return [sys.executable]
    command = given.texts("python") if isinstance(value, list) else [given.text("python")]
    if not command or not command[0]:
        raise RequestError("`python` is the path of an interpreter, or a list that begins with it")
    for item in command:
        _no_nul(item, "python")
    return [os.path.expanduser(command[0]), *command[1:]]


def _environment(given: Arguments, cwd: str) -> tuple[dict[str, str], list[str]]:
    """The program's environment, and what of the env file could not be used.

    A file that is named overrides what the adapter inherited; one that merely lies in the
    folder or above only adds. ``env`` has the last word, and ``null`` in it removes.
    """
    environment = dict(os.environ)
    notes: list[str] = []
    file = given.text("envFile", None)
    if file is not None:
        from kedi.agents.dotenv import parse_env

        path = _file(file, cwd, "envFile")
        try:
            with open(path, encoding="utf-8") as stream:
                found = parse_env(stream.read())
        except (OSError, UnicodeDecodeError) as error:
            raise RequestError(f"`envFile`: `{path}` cannot be read: {error}") from None
        environment.update(found.values)
        notes += [f"{path}: {problem}" for problem in found.problems]
    elif "envFile" not in given:
        folder = _nearest_env(cwd)
        if folder is not None:
            from kedi.agents.dotenv import load_env

            notes += load_env(folder, environment)
    changes = given.section("env", Arguments({}))
    for name in changes:
        value = changes.raw(name)
        if not name or "=" in name or "\0" in name:
            raise RequestError(f"`env`: {name!r} cannot name a variable")
        if value is None:
            environment.pop(name, None)
            continue
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise RequestError(f"`env.{name}` is text, or null to remove the variable")
        _no_nul(str(value), f"env.{name}")
        environment[name] = str(value)
    return environment, notes


def _nearest_env(folder: str) -> str | None:
    """The folder, this one or one above, that has a ``.env``."""
    while not os.path.isfile(os.path.join(folder, ".env")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def _no_nul(text: str, name: str) -> None:
    if "\0" in text:
        raise RequestError(f"`{name}` holds a NUL character")
