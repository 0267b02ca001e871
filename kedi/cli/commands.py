"""From a command line to the command that runs."""

from __future__ import annotations

from collections.abc import Sequence

from kedi.cli.options import Invocation, UsageError, help_command, help_text, parse, usage_text
from kedi.repl import output as terminal


def dispatch(arguments: Sequence[str]) -> int:
    """Run one command line and give its exit status. Errors of Kedi come out as they are."""
    try:
        invocation = parse(arguments)
        for token in invocation.ignored:
            terminal.note(f"`{token}` is ignored: arguments of a program read `--name value`")
        return _run(invocation)
    except UsageError as error:
        if not arguments:
            terminal.err(usage_text(error.topic))
        terminal.complain(str(error), error.hint or f"see `{help_command(error.topic)}`")
        return 2


def _run(invocation: Invocation) -> int:
    match invocation.command:
        case "run":
            from kedi.cli.programs import run_program

            return run_program(invocation)
        case "idle":
            from kedi.cli.idle import run_idle

            return run_idle(invocation)
        case "parse":
            from kedi.cli.parsing import show_statements

            return show_statements(invocation)
        case "test":
            from kedi.cli.suites import test_program

            return test_program(invocation)
        case "eval":
            from kedi.cli.suites import eval_program

            return eval_program(invocation)
        case "install":
            from kedi.cli.packages import install_package

            return install_package(invocation.source)
        case "model install":
            from kedi.cli.model import install_model

            return install_model()
        case "help":
            terminal.out(help_text(invocation.topic))
            return 0
        case "version":
            from kedi._version import __version__

            terminal.out(f"kedi {__version__}")
            return 0
