"""Everything a snapshot cannot hold is refused: each with its own reason, at its exact path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kedi
from kedi.agent_adapter import AdapterCapabilities
from kedi.errors import DumpProblem, KediExecutionError, SessionDumpError
from tests.snapshot.support import session_with


def refused(session: kedi.InteractiveSession, tmp_path: Path) -> list[DumpProblem]:
    """The problems of saving; the destination stays as it was, and nothing is left behind."""
    target = tmp_path / "old.kedi-state"
    target.write_bytes(b"something older")
    with pytest.raises(SessionDumpError) as caught:
        session.dump(target)
    assert target.read_bytes() == b"something older"
    assert [item.name for item in tmp_path.iterdir()] == ["old.kedi-state"]
    for item in caught.value.problems[:50]:
        assert f"{item.path}: {item.reason}" in str(caught.value)
    return list(caught.value.problems)


def problem(tmp_path: Path, *fragments: str, **config: Any) -> DumpProblem:
    with kedi.interactive(**config) as session:
        for fragment in fragments:
            session.execute(fragment)
        (found,) = refused(session, tmp_path)
        return found


_COROUTINE = "__import__('types').coroutine(lambda: (yield))()"
_ASYNC = "```\nasync def f():\n    yield\nx = f()\n```"


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("lambda: 1", "lambda"),
        ("print", "builtin function"),
        ("'x'.upper", "bound method"),
        ("[].append", "bound method"),
        ("__import__('functools').partial(int, '5')", "callable object"),
        ("__import__('os.path').path.join", "Python function"),
        ("(i for i in range(3))", "generator"),
        ("iter([1])", "iterator"),
        ("zip([1])", "iterator"),
        ("open('/dev/null')", "open resource"),
        ("__import__('socket').socket()", "open resource"),
        ("__import__('tempfile').TemporaryFile()", "open resource"),
        ("__import__('sqlite3').connect(':memory:')", "open resource"),
        ("__import__('threading').Lock()", "threads"),
        ("__import__('threading').RLock()", "threads"),
        ("__import__('threading').Event()", "threads"),
        ("__import__('threading').Thread()", "threads"),
        ("__import__('threading').local()", "threads"),
        ("__import__('queue').Queue()", "threads"),
        ("__import__('concurrent.futures').futures.Future()", "task or future"),
        ("int", "class"),
        ("type('Own', (), {})", "class"),
        ("object()", "instance of `object`"),
        ("type('Own', (), {})()", "instance of"),
        ("memoryview(b'x')", "instance of `memoryview`"),
        ("NotImplemented", "instance of"),
        ("...", "instance of `ellipsis`"),
        ("ValueError('x')", "instance of `ValueError`"),
        ("__import__('math')", "module"),
        ("type('D', (dict,), {})()", "subclass of `dict`"),
        ("type('L', (list,), {})()", "subclass of `list`"),
        ("type('S', (str,), {})('x')", "subclass of `str`"),
        ("type('I', (int,), {})(1)", "subclass of `int`"),
        ("type('S', (set,), {})()", "subclass of `set`"),
        ("__import__('collections').namedtuple('N', 'a')(1)", "subclass of `tuple`"),
        ("__import__('enum').IntEnum('E', 'A').A", "subclass of `int`"),
        ("__import__('enum').Enum('E', 'A').A", "instance of"),
        ("__import__('collections').ChainMap()", "instance of"),
        ("__import__('collections').defaultdict(lambda: 1)", "factory"),
        ("__import__('re').compile('x', __import__('re').DEBUG)", "debugging flag"),
        ("args", "ProgramArguments"),
    ],
)
def test_values(
    expression: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with kedi.interactive() as session:
        session.execute("[other] = 1")
        session.execute(f"[bad] = `{{'retries': [0, 1, 2, {expression}]}}`")
        (found,) = refused(session, tmp_path)
        where = 'bad["retries"][3]'
        assert found.path in (where, f"{where}.default_factory")
        assert reason in found.reason
        assert found.fragment == "<interactive:2>"
        _close(session.evaluate("`bad['retries'][3]`"))


def _close(value: Any) -> None:
    close = getattr(value, "close", None)
    if callable(close):
        close()


def test_a_coroutine_and_an_asynchronous_generator(tmp_path: Path) -> None:
    async def work() -> None:
        pass

    async def items() -> Any:
        yield 1

    running = work()
    with session_with(a=running, b=items()) as session:
        first, second = refused(session, tmp_path)
    running.close()
    assert (first.path, second.path) == ("a", "b")
    assert "coroutine" in first.reason
    assert "async generator" in second.reason


def test_a_promise_that_has_no_value_yet(tmp_path: Path) -> None:
    with session_with(p=[kedi.KediPromise("x")]) as session:
        (found,) = refused(session, tmp_path)
    assert found.path == "p[0]"
    assert "kedi.force" in found.reason


def test_every_problem_is_listed(tmp_path: Path) -> None:
    with kedi.interactive() as session:
        session.execute("[a] = `[print, {'k': (1, len)}]`")
        session.execute("[b] = `{1: {2: iter([])}, (1, 'x'): {3}}`")
        session.execute("[c] = `{len}`")
        session.execute("[d] = `{len: 1}`\n[e: object] = `max`")
        found = refused(session, tmp_path)
    assert [(item.path, item.fragment) for item in found] == [
        ("a[0]", "<interactive:1>"),
        ('a[1]["k"][1]', "<interactive:1>"),
        ("b[1][2]", "<interactive:2>"),
        ("c{…}", "<interactive:3>"),
        ("d.keys()[0]", "<interactive:4>"),
        ("e", "<interactive:4>"),
    ]


def test_many_problems_are_all_there(tmp_path: Path) -> None:
    with kedi.interactive() as session:
        session.execute("[a] = `[object() for _ in range(1000)]`")
        found = refused(session, tmp_path)
        with pytest.raises(SessionDumpError) as caught:
            session.dump(tmp_path / "state")
    assert [item.path for item in found] == [f"a[{index}]" for index in range(1000)]
    assert str(caught.value).endswith("… and 950 more")


@pytest.mark.parametrize(
    ("fragments", "first", "second"),
    [
        (["[a] = `[1]`", "[b] = `a`"], "a", "b"),
        (["[a] = `{'x': {}}`", "[b] = `[[a['x']]]`"], 'a["x"]', "b[0][0]"),
        (["[a] = `[{1}] * 2`"], "a[0]", "a[1]"),
        (["~T(xs: list)", "[t] = `T([1])`", "[b] = `t.xs`"], "t.xs", "b"),
        (["~T(xs: list)", "[t] = `T([1])`", "[u] = `{'t': t}`"], "t", 'u["t"]'),
        (
            ["[a] = `[{'n': [i]} for i in range(50)]`\n`a[9]['n'] = a[3]['n']`"],
            'a[3]["n"]',
            'a[9]["n"]',
        ),
        (["[a] = `([1],)`", "[b] = `a`"], "a", "b"),
    ],
)
def test_shared_objects_name_both_places(
    fragments: list[str], first: str, second: str, tmp_path: Path
) -> None:
    found = problem(tmp_path, *fragments)
    assert found.path == second
    assert f"`{first}`" in found.reason


def test_an_object_in_a_binding_and_in_a_host_value(tmp_path: Path) -> None:
    found = problem(tmp_path, "[mine] = `given`", env={"given": [1]})
    assert found.path == "mine"
    assert '`env["given"]`' in found.reason


def test_an_object_in_a_binding_and_in_a_default(tmp_path: Path) -> None:
    found = problem(
        tmp_path,
        "@f(x: list = `[]`) -> list:\n  = `x`",
        "[mine] = `f()`",
    )
    assert found.path == "mine"
    assert "`f(x)`" in found.reason


def test_an_object_in_a_long_list_and_in_a_setting(tmp_path: Path) -> None:
    found = problem(
        tmp_path,
        "[rows] = `[{'x': [i]} for i in range(50)]`",
        "> settings:\n  stop: `rows[7]['x']`",
    )
    assert found.path == 'rows[7]["x"]'
    assert 'settings["stop"]' in found.reason


def test_an_object_that_contains_itself(tmp_path: Path) -> None:
    found = problem(tmp_path, "[a] = `{'k': []}`\n`a['k'].append(a)`")
    assert found.path == 'a["k"][0]'
    assert "contains itself" in found.reason


@pytest.mark.parametrize(
    ("fragments", "path", "reason"),
    [
        (["@f(x: int = `len('ab')`) -> int:\n  = `x`"], "f", "`len('ab')` of `f(x)` is code"),
        (["[n: int] = `1`\n@f(x: int = `n`) -> int:\n  = `x`"], "f", "`n` of `f(x)` is code"),
        (["~T(x: list = `list('ab')`)"], "T", "`list('ab')` of `T.x` is code"),
        (["@m() -> object:\n  @i() -> str:\n    = x\n  = `i`\n[c] = `m()`"], "c", "top level"),
        (["@m() -> object:\n  ~I(x: int)\n  = `I(1)`\n[c] = `m()`"], "c", "top level"),
        (
            ["[c] = `[]`\n> if: `True`:\n  @i() -> str:\n    = x\n  `c.append(i)`"],
            "c[0]",
            "top level",
        ),
        (["> loop [k]: `[1]`:\n  ~I(x: int)\n  `keep.append(I(k))`"], "keep[0]", "top level"),
        (["@f() -> str:\n  = x\n`f.cache = {}`"], "f", "`cache` was set from outside"),
        (["@f() -> str:\n  = x\n`f.__doc__ = 'new'`"], "f", "docstring was changed"),
        (["@f(x: int) -> int:\n  = `x`\n`f.__defaults__ = (5,)`"], "f", "defaults were changed"),
        (["~T(x: int)\n`T.count = 5`"], "T", "`count` was set from outside"),
        (["~T(x: int)\n[t] = `T(1)`\n`t.__dict__['y'] = 2`"], "t.y", "does not declare"),
        (
            ["~T(x: int)\n[t] = `type('Sub', (T,), {})(x=1)`"],
            "t",
            "Python subclass of the type `T`",
        ),
        (
            ["@f(x: list = `[]`) -> int:\n  `x.append(f)`\n  = `1`\n[n] = `f()`"],
            "f",
            "default of `f(x)` has changed",
        ),
        (
            ["[x: `__import__('enum').Enum`] = `list(__import__('enum').Enum('E', 'A'))[0]`"],
            "x",
            "",
        ),
    ],
)
def test_definitions(fragments: list[str], path: str, reason: str, tmp_path: Path) -> None:
    config = {"env": {"keep": []}} if any("keep" in item for item in fragments) else {}
    with kedi.interactive(**config) as session:
        for fragment in fragments:
            session.execute(fragment)
        found = refused(session, tmp_path)
    assert found[0].path in (path, f'env["{path[:4]}"]{path[4:]}')
    assert reason in found[0].reason


def test_a_refused_type_is_the_reason_against_its_instances(tmp_path: Path) -> None:
    with kedi.interactive() as session:
        session.execute("~T(x: int = `len('a')`)\n~U(t: T)\n@f(t: T) -> T:\n  = `t`")
        session.execute("[t] = `T()`\n[u] = `[U(T())]`\n[d: T] = `T()`")
        found = refused(session, tmp_path)
    assert {item.path for item in found} >= {"T", "U", "f", "t", "u[0]", "d"}
    assert all("is code" in item.reason for item in found)


def test_a_type_or_procedure_of_another_session(tmp_path: Path) -> None:
    with kedi.interactive() as other:
        other.execute("~T(x: int)\n@f() -> str:\n  = x")
        with session_with(t=other.evaluate("`T(1)`"), f=other.evaluate("`f`")) as session:
            found = refused(session, tmp_path)
    assert [item.path for item in found] == ["t", "f"]
    assert all("another session" in item.reason for item in found)


def test_preludes(tmp_path: Path) -> None:
    found = problem(tmp_path, "# first\n\n```\nlimit = 5\n```\n[a] = `limit`")
    assert found.path == 'fragments["<interactive:1>"]'
    assert "prelude" in found.reason
    assert found.fragment == "<interactive:1>"


def test_imports(tmp_path: Path) -> None:
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "helpers.kedi").write_text(
        "> export: *\n[answer: int] = `42`\n@double(x: int) -> int:\n  = `2 * x`\n~T(x: int)\n"
    )
    saved = tmp_path / "saved"
    saved.mkdir()
    with kedi.interactive(cwd=folder) as session:
        session.execute("[a] = 1")
        session.execute("> import: helpers\n[t] = `T(1)`")
        found = refused(session, saved)
    by_path = {item.path: item.reason for item in found}
    assert "line 1 imports `helpers`" in by_path['fragments["<interactive:2>"]']
    assert "helpers.kedi" in by_path["double"]
    assert {"T", "t"} <= by_path.keys()
    assert "answer" not in by_path


def test_an_import_that_never_ran_is_no_problem(tmp_path: Path) -> None:
    with kedi.interactive() as session:
        session.execute("[word] = import")
        session.execute("@f() -> str:\n  = `'import'`")
        session.dump(tmp_path / "state")


# ── configuration ─────────────────────────────────────────────────────────────


def handler(event: Any) -> Any:
    return event


class Handlers:
    @staticmethod
    def of_class(event: Any) -> Any:
        return event

    def bound(self, event: Any) -> Any:
        return event

    def __call__(self, event: Any) -> Any:
        return event


def make_handler() -> Any:
    def inner(event: Any) -> Any:
        return event

    return inner


class Script:
    """A scripted adapter object."""

    kind = "agent-framework"

    def __init__(self, shortname: str = "script", **capabilities: bool) -> None:
        self.shortname = shortname
        self.capabilities = AdapterCapabilities(**capabilities)

    def produce_sync(self, *, template: str, output_schema: dict[str, Any], **_: Any) -> Any:
        return dict.fromkeys(output_schema, "answer")

    def invoke_sync(self, *, prompt: str, **_: Any) -> str:
        return "answer"


def _main_handler() -> Any:
    def main(event: Any) -> Any:
        return event

    main.__module__ = "__main__"
    main.__qualname__ = "main"
    return main


@pytest.mark.parametrize(
    ("config", "path", "reason"),
    [
        ({"approval": handler}, "config.approval", "approval handler"),
        ({"tools": [handler]}, "config.tools[0]", "`handler` is bound to this process"),
        ({"artifacts": True}, "config.artifacts", "artifacts are active"),
        ({"artifacts": {"threshold": "1KB"}}, "config.artifacts", "artifacts are active"),
        ({"conversation": object()}, "config.conversation", "conversation turns"),
        ({"hooks": {"pre_tool_use": lambda e: e}}, 'config.hooks["pre_tool_use"]', "lambda"),
        (
            {"hooks": {"pre_tool_use": [handler, make_handler()]}},
            'config.hooks["pre_tool_use"][1]',
            "inside a function",
        ),
        ({"hooks": {"pre_tool_use": Handlers().bound}}, 'config.hooks["pre_tool_use"]', "bound"),
        ({"hooks": {"pre_tool_use": Handlers()}}, 'config.hooks["pre_tool_use"]', "instance of"),
        ({"hooks": {"pre_tool_use": _main_handler()}}, 'config.hooks["pre_tool_use"]', "__main__"),
        ({"settings": {"metadata": object()}}, 'config.settings["metadata"]', "instance of"),
        ({"skills": {"roots": [open]}}, 'config.skills["roots"][0]', "builtin function"),
        ({"mcp_servers": [{"command": print}]}, 'config.mcp_servers[0]["command"]', "builtin"),
        ({"subagent_usage_limits": object()}, "config.subagent_usage_limits", "instance of"),
    ],
)
def test_configuration(config: dict[str, Any], path: str, reason: str, tmp_path: Path) -> None:
    found = problem(tmp_path, "[a] = 1", **config)
    assert (found.path, found.fragment) == (path, None)
    assert reason in found.reason


def test_a_handler_that_another_one_hides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = handler
    monkeypatch.setitem(globals(), "handler", Handlers.of_class)
    found = problem(tmp_path, "[a] = 1", hooks={"pre_tool_use": old})
    assert "is not this handler" in found.reason


def test_an_adapter_object_of_a_directive(tmp_path: Path) -> None:
    adapter = Script()
    with kedi.interactive(env={"own": adapter}) as session:
        session.execute("> adapter: `own`")
        first, second = refused(session, tmp_path)
    assert first.path == 'env["own"]'
    assert second.path == "directives.adapter"
    assert "belongs to this process" in second.reason


def test_an_adapter_that_keeps_the_conversation_itself(tmp_path: Path) -> None:
    with kedi.interactive(adapter=Script(supports_stateful_history=True)) as session:
        session.execute("[a] = 1")
        session.dump(tmp_path / "before")
        (tmp_path / "before").unlink()
        session.execute(">> say [b]")
        (found,) = refused(session, tmp_path)
    assert found.path == "config.adapter"
    assert "keeps the conversation itself" in found.reason


def test_a_tool_that_is_no_procedure_in_a_profile_in_use(tmp_path: Path) -> None:
    with kedi.interactive(env={"shout": str.upper}) as session:
        session.execute("> use: shout")
        found = refused(session, tmp_path)
    assert [item.path for item in found] == ['env["shout"]', "directives.tools[0]"]


def test_a_pending_name_is_waited_for(tmp_path: Path) -> None:
    promise: kedi.KediPromise[int] = kedi.KediPromise("n")
    with kedi.interactive() as session:
        session.execute("[n: int] = `1`")
        scope = session._scope  # pyright: ignore[reportPrivateUsage]
        scope.pending = {"n": promise}
        dict.pop(scope, "n")
        promise.fulfil(5)
        session.dump(tmp_path / "state")
    with kedi.load_session(tmp_path / "state") as session:
        assert session.evaluate("`n`") == 5


def test_a_pending_name_that_failed_is_refused(tmp_path: Path) -> None:
    promise: kedi.KediPromise[int] = kedi.KediPromise("n")
    promise.fail(KediExecutionError("no answer"))
    with kedi.interactive() as session:
        session.execute("[n: int] = `1`")
        scope = session._scope  # pyright: ignore[reportPrivateUsage]
        scope.pending = {"n": promise}
        dict.pop(scope, "n")
        (found,) = refused(session, tmp_path)
    assert found.path == "n"
    assert "promise" in found.reason


@pytest.mark.parametrize(
    "fragment",
    [
        "```\nprint('hello')\n```",
        "```\n1 / 0\nlimit = 5\n```",
        "```\nraise KeyboardInterrupt\n```",
        "```\nimport sys\ndel sys\n```",
    ],
)
def test_a_prelude_that_bound_nothing_stands_in_no_ones_way(tmp_path: Path, fragment: str) -> None:
    path = tmp_path / "s.kedi-state"
    with kedi.interactive() as session:
        session.execute("[a: int] = `1`")
        try:
            session.execute(fragment)
        except (KediExecutionError, KeyboardInterrupt):
            pass
        session.dump(path)
        fragments = session.fragments
    with kedi.load_session(path) as restored:
        assert restored.execute("= `a`") == 1
        assert restored.fragments[:2] == fragments


def test_a_prelude_whose_names_are_bound_anew_is_restored(tmp_path: Path) -> None:
    path = tmp_path / "s.kedi-state"
    with kedi.interactive() as session:
        session.execute("```\nlimit = 5\ndef f():\n    return 1\n```")
        session.execute("[limit: int] = `6`")
        (found,) = [item for item in refused(session, tmp_path) if item.path.startswith("frag")]
        assert "for `f`:" in found.reason
        session.execute("@f() -> int:\n  = `2`")
        session.dump(path)
    with kedi.load_session(path) as restored:
        assert restored.execute("= `limit + f()`") == 8


def test_a_prelude_that_may_bind_any_name_is_refused(tmp_path: Path) -> None:
    with kedi.interactive() as session:
        session.execute("```\nglobals()['limit'] = 5\n```")
        assert "prelude" in refused(session, tmp_path)[0].reason
