"""Reading, compiling and running the program of a command line."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedi.cli.options import UsageError
from kedi.errors import KediParseError
from kedi.repl import output as terminal

if TYPE_CHECKING:
    from kedi.cli.options import Invocation
    from kedi.runtime.program import KediRuntime
    from kedi.syntax.ast import Program

#: Sources above this many bytes are refused; a device that never ends is, too.
MAX_SOURCE_BYTES = 64_000_000
COMMAND_NAME = "<command>"
STDIN_NAME = "<stdin>"


class SourceProblem(Exception):
    """A source that cannot be opened. ``hint`` may say what was meant."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def run_program(invocation: Invocation) -> int:
    """Run the program and print what it returns: ``str`` of it, nothing for ``None``."""
    try:
        program = load_program(invocation)
    except SourceProblem as problem:
        terminal.complain(str(problem), problem.hint)
        return 2
    runtime = compile_invocation(program, invocation)
    try:
        value = runtime.run_main()
        return 0 if value is None else _show(value)
    finally:
        runtime.close()


def _show(value: Any) -> int:
    try:
        text = str(value)
    except Exception as error:
        terminal.complain(
            f"the program ran, but its result (a {type(value).__name__}) cannot be shown: "
            f"`str` of it raised {type(error).__name__}",
            "return something that has a text, such as a string",
        )
        return 1
    terminal.out(text)
    return 0


def load_program(invocation: Invocation) -> Program:
    """Read and parse the source. Raises :class:`SourceProblem` and :class:`KediParseError`."""
    from kedi.lang import parse_program

    name, text, path = read_source(invocation)
    return parse_program(text, path, source_name=name)


def compile_invocation(program: Program, invocation: Invocation) -> KediRuntime:
    """Compile with what the command line and ``.env`` configure."""
    import warnings

    from kedi.lang import compile_program
    from kedi.runtime.directory import working_directory

    terminal.load_environment()
    with warnings.catch_warnings():
        # Said above already.
        warnings.simplefilter("ignore", RuntimeWarning)
        runtime = compile_program(
            program, arguments=invocation.arguments, **configuration(invocation)
        )
    gc.enable()
    # Embedded Python may import what lies beside the program, unless the name is taken.
    path = program.source.path
    sys.path.append(str(Path(path).parent if path is not None else working_directory()))
    return runtime


def configuration(invocation: Invocation) -> dict[str, Any]:
    """Keywords for what ``--adapter`` and ``--adapter-model`` choose."""
    config: dict[str, Any] = {}
    if invocation.adapter is not None:
        from kedi.agents.errors import ConfigurationError
        from kedi.agents.registry import ADAPTERS, lookup

        entry = ADAPTERS.get(invocation.adapter)
        kind = "agent-framework" if entry is None else entry.kind
        try:
            lookup(invocation.adapter, kind)
        except ConfigurationError as error:
            raise UsageError(f"`--adapter {invocation.adapter}`: {error.message}") from None
        config["adapter" if kind == "agent-framework" else "agent"] = invocation.adapter
    if invocation.model is not None:
        config["model"] = invocation.model
    return config


def read_source(invocation: Invocation) -> tuple[str, str, str | None]:
    """``(name, text, absolute path or None)`` of the program.

    Raises :class:`SourceProblem` when it cannot be opened, :class:`KediParseError`
    when it is not text in UTF-8.
    """
    if invocation.text is not None:
        return COMMAND_NAME, invocation.text, None
    source = invocation.source
    assert source is not None
    if source == "-":
        return STDIN_NAME, _decoded(_read_stdin(), STDIN_NAME), None
    from kedi.runtime.directory import absolute

    if not source:
        raise SourceProblem("the name of the file is empty")
    data = _read_file(source)
    return source, _decoded(data, source), str(absolute(source))


def _read_stdin() -> bytes:
    stream = sys.stdin
    if stream is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise SourceProblem("standard input is closed")
    try:
        data = stream.buffer.read(MAX_SOURCE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise SourceProblem(f"standard input cannot be read: {error}") from None
    return _bounded(data, STDIN_NAME)


def _read_file(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_SOURCE_BYTES + 1)
    except FileNotFoundError:
        raise SourceProblem(f"there is no file `{path}`", _near(path)) from None
    except IsADirectoryError:
        inner = Path(path, "main.kedi")
        hint = f"did you mean `{inner}`?" if inner.is_file() else None
        raise SourceProblem(f"`{path}` is a directory, not a file", hint) from None
    except OSError as error:
        raise SourceProblem(f"`{path}` cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise SourceProblem(f"`{path}` is not a file name: {error}") from None
    return _bounded(data, path)


def _bounded(data: bytes, name: str) -> bytes:
    if len(data) > MAX_SOURCE_BYTES:
        raise SourceProblem(f"`{name}` is larger than {MAX_SOURCE_BYTES:,} bytes")
    return data


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        from kedi.diagnostics import Diagnostic
        from kedi.source import Span

        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        raise KediParseError(
            [
                Diagnostic(
                    "unreadable",
                    f"this is not UTF-8: byte 0x{data[error.start]:02x}",
                    Span(name, line, column, line, column),
                    hint="save the file as UTF-8",
                )
            ]
        ) from None


def _near(path: str) -> str | None:
    """A file that may have been meant."""
    from difflib import get_close_matches

    wanted = Path(path)
    try:
        stems = {item.stem: item for item in wanted.parent.iterdir() if item.suffix == ".kedi"}
    except (OSError, ValueError):
        return None
    near = get_close_matches(wanted.name.removesuffix(".kedi"), stems, 1)
    return f"did you mean `{stems[near[0]]}`?" if near else None
