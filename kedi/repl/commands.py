"""The commands of the REPL: one table, from which the help is made too."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kedi.errors import KediError, SessionDumpError

if TYPE_CHECKING:
    from kedi.repl.rules import Command
    from kedi.repl.shell import Shell

#: Files above this many bytes are not loaded, and neither are devices that never end.
MAX_SOURCE = 64_000_000

Takes = Literal["nothing", "expression", "name", "path", "words"]


class Leave(Exception):
    """The REPL is to be left."""


class CommandError(Exception):
    """A command that cannot be done. ``hint`` says what can."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class Spec(NamedTuple):
    """A command: how it is written, what it does, and what its argument is."""

    name: str
    argument: str
    summary: str
    takes: Takes
    run: Callable[[Shell, str], None]


def run_command(shell: Shell, command: Command) -> None:
    """Do it. Raises :class:`CommandError`, :class:`Leave`, and what a session raises."""
    name, argument = command
    if name in ("?", "??"):
        _ask(shell, argument, detailed=name == "??")
        return
    spec = BY_NAME.get(name)
    if spec is None:
        raise _unknown(name)
    if argument and not spec.argument:
        raise CommandError(f"`:{name}` takes no argument")
    if not argument and spec.argument and not spec.argument.startswith("["):
        raise CommandError(f"`:{name}` needs {spec.argument}", f"write `:{name} {spec.argument}`")
    spec.run(shell, argument)


def _unknown(name: str) -> CommandError:
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), BY_NAME, 1)
    hint = f"did you mean `:{near[0]}`?" if near else "`:help` lists the commands"
    return CommandError(f"there is no command `:{name}`", hint)


# ── values ────────────────────────────────────────────────────────────────────


def _show(shell: Shell, argument: str) -> None:
    if argument == _last():
        argument = f"`{argument}`"  # as a text it would say nothing
    value = shell.session.evaluate(argument)
    if _is_rendered(shell, argument):
        shell.console.result(str(value))
    else:
        shell.show(value)
    if argument.isidentifier() and shell.session.binding(argument) is not None:
        shell.console.note(f"this is a text; the value of the name is `:show `{argument}``")


def _is_rendered(shell: Shell, argument: str) -> bool:
    """Whether the form gives text, as opposed to a native value."""
    from kedi.syntax.ast import Return

    text = argument if argument.startswith("=") else f"= {argument}"
    for stmt, _ in shell.session.check(text).program.top_level():
        if isinstance(stmt.node, Return):
            return stmt.node.value.kind not in ("native", "fence")
    return False


def _type(shell: Shell, argument: str) -> None:
    from kedi.repl.rules import is_path
    from kedi.repl.views import type_text

    session = shell.session
    view = session.binding(argument) if argument.isidentifier() else None
    if view is not None:
        shell.console.out(type_text(view.value, view.declared))
        return
    value = session.look_up(argument) if is_path(argument) else _missing()
    if value is _missing():
        value = session.peek(_as_value(shell, argument))
    shell.console.out(type_text(value))


def _as_value(shell: Shell, argument: str) -> str:
    """The argument of ``:type``; what goes on from a known name is no text."""
    from kedi.repl.rules import is_path

    if not is_path(argument):
        return argument
    root = re.split(r"[.\[]", argument, maxsplit=1)[0]
    if shell.session.binding(root) or shell.session.look_up(root) is not _missing():
        return f"`{argument}`"
    if root == _last():
        raise _no_name(shell, root)
    return argument


def _missing() -> Any:
    from kedi.runtime.scopes import MISSING

    return MISSING


def _last() -> str:
    from kedi.repl.live import LAST

    return LAST


def _vars(shell: Shell, argument: str) -> None:
    from kedi.repl.views import names

    shell.console.result(names(shell.session, argument, shell.console.width))


def _ask(shell: Shell, argument: str, *, detailed: bool) -> None:
    from kedi.repl.views import about, source

    text = about(shell.session, argument)
    if text is None:
        raise _no_name(shell, argument)
    shell.console.result(text)
    if detailed:
        found = source(shell.session, argument)
        if found is not None:
            shell.console.result(found)


def _source(shell: Shell, argument: str) -> None:
    from kedi.repl.views import source

    text = source(shell.session, argument)
    if text is None:
        if shell.session.binding(argument) is not None:
            raise CommandError(f"the source of `{argument}` is not known")
        count = len(shell.session.fragments)
        hint = f"fragments are 1 to {count}" if count else "no fragment was executed yet"
        raise _no_name(shell, argument, hint)
    shell.console.result(text)


def _why(shell: Shell, argument: str) -> None:
    from kedi.repl.views import why

    text = why(shell.session, argument)
    if text is None:
        raise _no_name(shell, argument)
    shell.console.result(text)


def _no_name(shell: Shell, name: str, hint: str | None = None) -> CommandError:
    if name == _last():
        if shell.session.look_up(name) is _missing():
            return CommandError("there is no result yet", f"`{name}` is the last result")
        return CommandError(f"`{name}` is the last result, and no binding", f"`{name}?` shows it")
    from kedi.repl.views import fit

    cls = shell.session.computing_class(name)
    if cls is not None:
        return CommandError(
            f"`{fit(name, 60)}` is computed by the class `{cls}`, which is not done here",
            f"`:show `{name}`` does it",
        )
    from difflib import get_close_matches

    near = get_close_matches(name, [view.name for view in shell.session.bindings()], 1)
    if near:
        hint = f"did you mean `{near[0]}`?"
    return CommandError(f"there is no `{fit(name, 60)}` here", hint or "`:vars` lists the names")


def _calls(shell: Shell, argument: str) -> None:
    from kedi.repl import views

    if not argument:
        shell.console.result(views.calls(shell.session, shell.console.width))
        return
    for call in shell.session.calls:
        if str(call.number) == argument:
            shell.console.result(views.call(call))
            return
    raise CommandError(f"there is no call `{argument}`", "`:calls` lists them")


def _more(shell: Shell, _: str) -> None:
    text = shell.console.rest
    if text is None:
        raise CommandError("nothing was cut", "`:more` shows the whole of a result that was")
    import pydoc

    pydoc.pager(text)


# ── the session ───────────────────────────────────────────────────────────────


def _multiline(shell: Shell, _: str) -> None:
    text = shell.reader.compose()
    if text.strip():
        shell.execute(text)


def _load(shell: Shell, argument: str) -> None:
    from kedi.repl.records import SNAPSHOT_BEGINS

    try:
        path = Path(argument).expanduser()
        with path.open("rb") as file:
            # Read once: what comes from a pipe cannot be read again.
            data = file.read(1)
            if data != SNAPSHOT_BEGINS:
                data += file.read(MAX_SOURCE)
        if data == SNAPSHOT_BEGINS:
            shell.resume(path)
            return
        if len(data) > MAX_SOURCE:
            raise CommandError(f"`{argument}` is larger than {MAX_SOURCE:,} bytes")
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise CommandError(f"`{argument}` is not UTF-8") from None
    except (OSError, ValueError, RuntimeError) as error:
        if isinstance(error, KediError):
            raise
        reason = error.strerror if isinstance(error, OSError) else None
        raise CommandError(
            f"`{argument}` cannot be read: {reason or error}",
            "Tab after `:load ` lists what is there"
            if isinstance(error, FileNotFoundError)
            else None,
        ) from None
    names = {fragment.name for fragment in shell.session.fragments}
    name, number = str(path), 1
    while name in names:
        number += 1
        name = f"{path}#{number}"
    count = len(shell.session.fragments)
    shell.execute(text, source_name=name)
    if shell.failed and len(shell.session.fragments) == count:
        _advise_import(shell, path, text)


def _advise_import(shell: Shell, path: Path, text: str) -> None:
    """Say how to use a file that is no fragment because it is a module."""
    from kedi.analysis.module_files import SUFFIX, path_problem

    found = shell.session.check(text).diagnostics
    if not any(item.code in ("misplaced-directive", "misplaced-suite") for item in found):
        return
    place = shell.session.config.cwd
    try:
        module = path.absolute().relative_to(place).as_posix().removesuffix(SUFFIX)
    except ValueError:
        module = ""
    if path.suffix == SUFFIX and path_problem(module) is None:
        hint = f"`> import: {module}` brings in what it exports"
    else:
        hint = f"imports are relative to {place}: start the session next to the file"
    raise CommandError(f"`{path}` is a module, not a fragment: it defined nothing here", hint)


def _dump(shell: Shell, argument: str) -> None:
    option, _, rest = argument.partition(" ")
    partial = option == "--partial"
    if option.startswith("--") and not partial:
        raise CommandError(f"`:dump` has no option `{option}`", "it has `--partial`")
    path = rest.strip() if partial else argument
    try:
        shell.recorder.save(
            shell.session, Path(path).expanduser().absolute() if path else None, partial=partial
        )
    except SessionDumpError as error:
        if partial or not error.problems:
            raise
        shell.console.error(error)
        raise CommandError(
            "nothing is saved", f"`{f':dump --partial {path}'.rstrip()}` saves the rest"
        ) from None
    except (OSError, ValueError, RuntimeError) as error:
        if isinstance(error, KediError):
            raise
        reason = error.strerror if isinstance(error, OSError) else None
        raise CommandError(
            f"the session is not saved{f' to `{path}`' if path else ''}: {reason or error}",
            "`:dump PATH` saves it elsewhere",
        ) from None
    shell.recorder.tell(shell.session)


def _exit(shell: Shell, _: str) -> None:
    raise Leave


def _help(shell: Shell, _: str) -> None:
    shell.console.out(help_text(shell.reader.keys))


COMMANDS: tuple[Spec, ...] = (
    Spec("show", "EXPRESSION", "its value, or its text for forms like <name>", "expression", _show),
    Spec("type", "EXPRESSION", "its type; of a name also the declared one", "expression", _type),
    Spec("vars", "[PART]", "names with types and values", "words", _vars),
    Spec("why", "NAME", "where its value came from", "name", _why),
    Spec("source", "NAME", "the text of a definition or a fragment", "name", _source),
    Spec("calls", "[NUMBER]", "model calls: prompt, answer, tokens, cost, time", "words", _calls),
    Spec("multiline", "", "an editor: a blank line submits the fragment", "nothing", _multiline),
    Spec("load", "PATH", "run a file as a fragment, or go on with a snapshot", "path", _load),
    Spec("dump", "[--partial] [PATH]", "save the session", "path", _dump),
    Spec("more", "", "the rest of a result that was cut", "nothing", _more),
    Spec("help", "", "this text", "nothing", _help),
    Spec("exit", "", "leave", "nothing", _exit),
)  # fmt: skip

BY_NAME = {spec.name: spec for spec in COMMANDS}


def help_text(keys: str) -> str:
    """The short help; ``keys`` are lines about the keyboard."""
    rows = [(f":{spec.name} {spec.argument}".rstrip(), spec.summary) for spec in COMMANDS]
    rows.append(("NAME?  NAME??", "what a name is; with its source"))
    rows.append(("_", "the last result"))
    width = max(len(left) for left, _ in rows)
    lines = [f"  {left:<{width}}  {right}" for left, right in rows]
    return "\n".join(
        [
            "Type a fragment of Kedi. A complete line runs at once; an open one goes on at `...`",
            "until a blank line. `= value` shows a value, `>> text with [blank]` asks the model.",
            "",
            *lines,
            *(["", keys] if keys else []),
        ]
    )
