"""The command line: one table of options, its parser and the help made from it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

Command = Literal[
    "run", "idle", "parse", "test", "eval", "install", "model install", "help", "version"
]


# Plain classes: making dataclasses costs a start of the command a millisecond each.
class Option:
    """``metavar`` is ``None`` for a switch; ``topics`` are the commands that take it."""

    __slots__ = ("flags", "metavar", "summary", "topics")

    def __init__(
        self,
        flags: tuple[str, ...],
        metavar: str | None,
        summary: str,
        topics: tuple[str, ...] = ("run",),
    ) -> None:
        self.flags = flags
        self.metavar = metavar
        self.summary = summary
        self.topics = topics


OPTIONS: tuple[Option, ...] = (
    Option(("-c", "--command"), "TEXT", "run TEXT as the program"),
    Option(("-p", "--parse"), None, "only parse: print the statements or every syntax error"),
    Option(("--test",), None, "run the `@test` cases instead of the program"),
    Option(("--eval",), None, "run the `@eval` suites instead of the program"),
    Option(("--idle",), None, "start a terminal session instead of a program"),
    Option(("--highlight",), None, "with `--idle`: colour what is typed"),
    Option(("--record",), None, "with `--idle`: save the session at its end"),
    Option(("--load",), "PATH", "with `--idle`: go on with a saved session, and save it again"),
    Option(("--adapter",), "NAME", "adapter or agent that answers templates (KEDI_ADAPTER)"),
    Option(("--adapter-model",), "MODEL", "model it uses (KEDI_ADAPTER_MODEL)"),
    Option(("-h", "--help"), None, "show this help", ("run", "parse", "install", "model")),
    Option(("-V", "--version"), None, "show the version"),
)

#: Options of other versions or of coming parts. As program arguments they would be
#: silently without effect.
_NOT_HERE = {"--optimize": "optimizing prompts is not in this version"}


class Usage:
    """Lines of usage and what the command does."""

    __slots__ = ("about", "lines")

    def __init__(self, lines: tuple[str, ...], about: str) -> None:
        self.lines = lines
        self.about = about


USAGES: dict[str, Usage] = {
    "run": Usage(
        (
            "kedi [OPTIONS] FILE [--NAME VALUE …]",
            "kedi [OPTIONS] -c TEXT [--NAME VALUE …]",
            "kedi --idle [OPTIONS]",
            "kedi parse FILE",
            "kedi install [MANIFEST]",
            "kedi model install",
        ),
        "Run a Kedi program and print what it returns. FILE may be `-` for standard input.\n"
        "Options that are not listed below, and all after `--`, are the program's: it reads\n"
        "`--dry-run` and `--name VALUE` as `args.dry_run` and `args.name`.",
    ),
    "parse": Usage(
        ("kedi parse FILE",),
        "Parse FILE without running it: print its statements, or every syntax error.",
    ),
    "install": Usage(
        ("kedi install [MANIFEST]",),
        "Install the package described by MANIFEST (default: ./package.kedi) for this user,\n"
        "so that `> import: name` finds it. An older installation of it is replaced.",
    ),
    "model": Usage(
        ("kedi model install",),
        "Download the small model that runs on this machine (adapter `local`): 93 MB, once.",
    ),
}

_BY_FLAG = {flag: option for option in OPTIONS for flag in option.flags}


class UsageError(Exception):
    """A command line that cannot be used. ``hint`` says what can."""

    def __init__(self, message: str, hint: str | None = None, topic: str = "run") -> None:
        super().__init__(message)
        self.hint = hint
        self.topic = topic


class Invocation:
    """A parsed command line. ``source`` is a path or ``-``; ``text`` the program of ``-c``.

    ``arguments`` are the program's own; ``ignored`` tokens that mean nothing.
    ``highlight``, ``record`` and ``load`` (a path) belong to the command ``idle``.
    """

    __slots__ = (
        *("adapter", "arguments", "command", "highlight", "ignored", "load", "model", "record"),
        *("source", "text", "topic"),
    )

    def __init__(
        self, command: Command = "run", *, source: str | None = None, topic: str = "run"
    ) -> None:
        self.command: Command = command
        self.source = source
        self.text: str | None = None
        self.adapter: str | None = None
        self.model: str | None = None
        self.arguments: dict[str, str | bool] = {}
        self.ignored: list[str] = []
        self.highlight = False
        self.record = False
        self.load: str | None = None
        self.topic = topic


def parse(arguments: Sequence[str]) -> Invocation:
    """Understand a command line. Raises :class:`UsageError`."""
    if arguments and arguments[0] in ("parse", "install", "model"):
        return _subcommand(arguments[0], list(arguments[1:]))
    return _Parser(arguments).run()


def _subcommand(name: str, rest: list[str]) -> Invocation:
    if "-h" in rest or "--help" in rest:
        return Invocation("help", topic=name)
    if name == "model":
        if rest != ["install"]:
            said = f"`kedi model {' '.join(rest)}`" if rest else "`kedi model` alone"
            raise UsageError(f"{said} is not a command", "write `kedi model install`", name)
        return Invocation("model install", topic=name)
    wrong = next((item for item in rest if item.startswith("-") and item != "-"), None)
    if wrong is not None:
        raise UsageError(f"`kedi {name}` takes no option `{wrong}`", topic=name)
    if len(rest) > 1:
        raise UsageError(f"`kedi {name}` takes one file, not {len(rest)}", topic=name)
    if name == "install":
        return Invocation("install", source=rest[0] if rest else None, topic=name)
    if not rest:
        raise UsageError("`kedi parse` needs a file", topic=name)
    return Invocation("parse", source=rest[0], topic=name)


class _Parser:
    def __init__(self, arguments: Sequence[str]) -> None:
        self.tokens = list(arguments)
        self.at = 0
        self.result = Invocation()
        self.modes: list[str] = []

    def run(self) -> Invocation:
        result = self.result
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if token == "--":
                self.rest()
                break
            if token == "-" or not token.startswith("-"):
                self.positional(token)
            else:
                self.option(token)
            if result.command in ("help", "version"):
                return result
        self.settle()
        return result

    @property
    def idle(self) -> bool:
        """Whether a session is asked for, perhaps further on."""
        return "--idle" in self.tokens

    @property
    def has_program(self) -> bool:
        return self.result.source is not None or self.result.text is not None

    def positional(self, token: str) -> None:
        if self.has_program:
            self.result.ignored.append(token)
        else:
            self.result.source = token

    def rest(self) -> None:
        """After ``--``: the file if there is none yet, then only arguments of the program."""
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if not self.has_program or not _is_option(token):
                self.positional(token)
            else:
                self.argument(token)

    def option(self, token: str) -> None:
        flag, equals, value = token.partition("=")
        if flag in _NOT_HERE:
            advice = "leave it out" if self.idle else _after_dashes(flag)
            raise UsageError(f"`{flag}`: {_NOT_HERE[flag]}", advice)
        option = _BY_FLAG.get(flag)
        if option is None:
            if self.has_program:
                self.argument(token)
                return
            raise UsageError(f"there is no option `{flag}`", self.suggestion(flag))
        if option.metavar is None:
            if equals:
                raise UsageError(f"`{flag}` takes no value")
            self.switch(option.flags[-1])
            return
        if not equals:
            if self.at == len(self.tokens):
                raise UsageError(f"`{flag}` needs {option.metavar}")
            value = self.tokens[self.at]
            self.at += 1
        self.store(option.flags[-1], value)

    def suggestion(self, flag: str) -> str:
        from difflib import get_close_matches

        near = get_close_matches(flag, _BY_FLAG, 1)
        listed = "`kedi --help` lists Kedi's"
        if self.idle:
            return f"did you mean `{near[0]}`?" if near else f"a session takes no others: {listed}"
        if near:
            return f"did you mean `{near[0]}`? The program's own options follow the file"
        return f"the program's own options follow the file; {listed}"

    def switch(self, flag: str) -> None:
        if flag == "--help":
            self.result.command = "help"
        elif flag == "--version":
            self.result.command = "version"
        elif flag == "--highlight":
            self.result.highlight = True
        elif flag == "--record":
            self.result.record = True
        elif flag not in self.modes:
            self.modes.append(flag)

    def store(self, flag: str, value: str) -> None:
        if flag == "--adapter":
            self.result.adapter = value
        elif flag == "--adapter-model":
            self.result.model = value
        elif flag == "--load":
            if not value:
                raise UsageError("`--load` needs the path of a saved session")
            if self.result.load is not None:
                raise UsageError("`--load` is given twice")
            self.result.load = as_typed(value)
        elif self.has_program:
            what = "`-c`" if self.result.source is None else f"`{self.result.source}`"
            raise UsageError(f"one program at a time: {what} is given too", _after_dashes("-c"))
        else:
            self.result.text = as_typed(value)

    def argument(self, token: str) -> None:
        """An option of the program: ``--name value``, ``--name=value`` or a bare ``--name``."""
        flag, equals, text = as_typed(token).partition("=")
        value: str | bool = text
        if not equals:
            value = True
            if self.at < len(self.tokens) and not _is_option(self.tokens[self.at]):
                value = as_typed(self.tokens[self.at])
                self.at += 1
        name = flag.lstrip("-").replace("-", "_")
        if not name or (name.startswith("__") and name.endswith("__")):
            raise UsageError(f"`{flag}` cannot name an argument of the program")
        self.result.arguments.setdefault(name, value)

    def settle(self) -> None:
        result = self.result
        if len(self.modes) > 1:
            raise UsageError(f"{' and '.join(self.modes)} exclude each other")
        if self.modes:
            modes: dict[str, Command] = {
                "--parse": "parse",
                "--test": "test",
                "--eval": "eval",
                "--idle": "idle",
            }
            result.command = modes[self.modes[0]]
        if result.command == "idle":
            if self.has_program:
                given = "`-c`" if result.source is None else f"`{result.source}`"
                raise UsageError(
                    f"`--idle` takes no program and no arguments of one: {given} is given",
                    "`:load FILE` in the session runs a file there",
                )
            return
        for flag, given in (
            *(("--highlight", result.highlight), ("--record", result.record)),
            ("--load", result.load is not None),
        ):
            if given:
                raise UsageError(f"`{flag}` needs `--idle`", _after_dashes(flag))
        if not self.has_program:
            raise UsageError("no program is given", "name a file, or write `-c TEXT`")
        if result.text is not None and result.command in ("test", "eval"):
            raise UsageError(
                f"{self.modes[0]} needs a file: suites belong to whole files, not to `-c`"
            )


def as_typed(text: str) -> str:
    """Text of the command line in UTF-8, also where the locale kept Python from decoding it."""
    if text.isascii():
        return text
    try:
        return os.fsencode(text).decode("utf-8")
    except UnicodeError:
        return text  # no bytes of a terminal: leave it to whoever reads it


def _is_option(token: str) -> bool:
    """Whether a token starts an option; ``-``, ``-5`` and ``-.5`` are values."""
    return len(token) > 1 and token[0] == "-" and not (token[1].isdigit() or token[1] == ".")


def _after_dashes(flag: str) -> str:
    return f"to give the program an argument of this name, write it after `--`: `-- {flag} …`"


def help_command(topic: str) -> str:
    """How to ask for the help of a command."""
    return "kedi --help" if topic == "run" else f"kedi {topic} --help"


def usage_text(topic: str) -> str:
    """The usage lines of a command."""
    first, *others = USAGES[topic].lines
    return "\n".join([f"usage: {first}", *(f"       {line}" for line in others)])


def help_text(topic: str) -> str:
    """The whole help of a command, made from the table."""
    rows = [(_spelled(option), option.summary) for option in OPTIONS if topic in option.topics]
    width = max(len(left) for left, _ in rows)
    options = "\n".join(f"  {left:<{width}}  {right}" for left, right in rows)
    return f"{usage_text(topic)}\n\n{USAGES[topic].about}\n\noptions:\n{options}"


def _spelled(option: Option) -> str:
    flags = ", ".join(option.flags)
    if not option.flags[0].startswith("--"):
        return f"{flags} {option.metavar}" if option.metavar else flags
    return f"    {flags} {option.metavar}" if option.metavar else f"    {flags}"
