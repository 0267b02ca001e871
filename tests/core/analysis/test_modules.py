"""Finding modules, their exports, cycles, and files that cannot be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kedi.analysis.checks import compile_errors
from kedi.analysis.modules import GraphNames, ModuleGraph, candidates, known_modules, resolve
from kedi.analysis.names import ImportCycle, ModuleBroken, ModuleNotFound
from kedi.syntax import parse_or_raise

MANIFEST = "> package: pkg:\n  source: src\n"


@pytest.fixture
def graph(tmp_path):
    return ModuleGraph(registry_home=tmp_path / "registry")


def test_order_of_candidates(tmp_path, write):
    write({"registry/pkg/package.kedi": MANIFEST, "registry/pkg/src/main.kedi": "[a] = 1"})
    registry = tmp_path / "registry"
    bundled = tmp_path / "bundled"
    base = tmp_path / "here"
    assert candidates("pkg", base, registry, bundled) == [
        base / "pkg.kedi",
        bundled / "pkg.kedi",
        registry / "pkg/src/main.kedi",
    ]
    assert candidates("pkg/sub/x", base, registry, bundled) == [
        base / "pkg/sub/x.kedi",
        bundled / "pkg/sub/x.kedi",
        registry / "pkg/src/sub/x.kedi",
    ]
    assert candidates("other", None, registry, None) == [registry / "other/package.kedi"]


@pytest.mark.parametrize(
    "path", ["", "..", "../x", "a/../x", "/etc/passwd", "~/x", "a//b", "./a", "a/", "a\0b", "a\\b"]
)
def test_paths_never_leave_their_place(path, tmp_path):
    assert candidates(path, tmp_path, tmp_path, tmp_path) == []
    with pytest.raises(ModuleNotFound):
        resolve(path, tmp_path, tmp_path)


def test_the_nearest_file_wins(tmp_path, write):
    write(
        {
            "here/pkg.kedi": "[a] = 1",
            "registry/pkg/package.kedi": MANIFEST,
            "registry/pkg/src/main.kedi": "[a] = 2",
        }
    )
    registry = tmp_path / "registry"
    assert resolve("pkg", tmp_path / "here", registry).parent.name == "here"
    assert resolve("pkg", tmp_path, registry).parent.name == "src"


def test_exports_with_kinds_places_and_signatures(write, graph):
    root = write(
        {
            "m.kedi": "~P(a: int)\n@f(x: P) -> int:\n  ###\n  Doc.\n  ###\n  = `x.a`\n"
            "[v: int] = `1`\n[_hidden] = x\n> profile: p:\n  > model: m\n> export: *\n"
        }
    )
    found = graph.exports("m", root)
    assert {name: (item.kind, item.detail) for name, item in found.names.items()} == {
        "P": ("type", "P(a: int)"),
        "f": ("procedure", "f(x: P) -> int"),
        "v": ("value", "int"),
        "p": ("profile", ""),
    }
    assert found.names["f"].docstring == "Doc."
    assert found.names["f"].span == (str(root / "m.kedi"), 2, 2, 2, 3)
    assert found.private == {"_hidden"}


def test_reexports_keep_the_place_of_the_declaration(write, graph):
    root = write(
        {
            "a.kedi": "> import: lib/b\n> export:\n  x\n",
            "lib/b.kedi": "> import: c:\n  x\n> export: *\n",
            "lib/c.kedi": "[x: int] = `1`\n[y] = 2\n> export: *\n",
        }
    )
    found = graph.exports("a", root)
    assert found.names["x"].span[:3] == (str(root / "lib/c.kedi"), 1, 2)
    assert set(found.names) == {"x"}


def test_prelude_names_are_published_only_when_listed(write, graph):
    root = write(
        {
            "star.kedi": "```\nimport math\n```\n[x] = 1\n> export: *\n",
            "listed.kedi": "```\nimport math\ndef f(): ...\n```\n> export:\n  f\n",
            "silent.kedi": "[x] = 1\n",
        }
    )
    assert set(graph.exports("star", root).names) == {"x"}
    assert {n: i.kind for n, i in graph.exports("listed", root).names.items()} == {"f": "python"}
    assert graph.exports("silent", root).names == {}


def test_missing_modules_list_every_candidate(write, graph):
    root = write({"m.kedi": "[x] = 1"})
    with pytest.raises(ModuleNotFound) as caught:
        graph.exports("nowhere/thing", root)
    tried = [str(path) for path in caught.value.candidates]
    assert tried[0] == str(root / "nowhere/thing.kedi")
    assert tried[-1].endswith("registry/nowhere/package.kedi")
    program = parse_or_raise("[a] = 1\n> import: nowhere/thing", "a.kedi")
    (error,) = compile_errors(program, GraphNames(graph, root))
    assert error.span[1:] == (2, 11, 2, 24)
    assert "nowhere/thing" in error.message
    assert all(path in (error.hint or "") for path in tried)


def test_cycles_print_the_cycle(write, graph):
    root = write(
        {
            "a.kedi": "> import: b\n> export: *\n",
            "b.kedi": "> import: c\n> export: *\n",
            "c.kedi": "> import: b\n> export: *\n",
            "self.kedi": "> import: self\n",
        }
    )
    with pytest.raises(ImportCycle) as caught:
        graph.exports("a", root)
    assert str(caught.value) == "b -> c -> b"
    with pytest.raises(ImportCycle) as caught:
        graph.exports("self", root)
    assert str(caught.value) == "self -> self"
    names = GraphNames(graph, root, root / "c.kedi")
    (error,) = compile_errors(parse_or_raise("> import: b", str(root / "c.kedi")), names)
    assert error.code == "import-cycle"
    assert "c -> b -> c" in error.message


def test_a_cycle_through_a_link_is_seen(write, graph):
    root = write({"a.kedi": "> import: link\n"})
    (root / "link.kedi").symlink_to(root / "a.kedi")
    with pytest.raises(ImportCycle):
        graph.exports("a", root)


@pytest.mark.parametrize(
    ("files", "place", "part"),
    [
        ({"m.kedi": b"[x] = 1\n[y] = \xc3\xa9\xff"}, (2, 8), "not UTF-8"),
        ({"m.kedi": "[x] = <y"}, (1, 7), "not closed"),
        ({"m.kedi": "[x: nope] = 1"}, (1, 5), "unknown type"),
        ({"m.kedi": "> import: n\n", "n.kedi": "\n= <f("}, (1, 11), "`n` cannot be used"),
        ({"m.kedi/x": ""}, (1, 1), "is a directory"),
    ],
)
def test_broken_modules_say_why(write, graph, files, place, part):
    root = write(files)
    with pytest.raises(ModuleBroken) as caught:
        graph.exports("m", root)
    first = caught.value.diagnostics[0]
    assert (first.span.line, first.span.column) == place
    assert part in first.message
    program = parse_or_raise("> import: m\n[x: T] = 1", "a.kedi")
    (error,) = compile_errors(program, GraphNames(graph, root))
    assert (error.code, error.span[1:]) == ("broken-module", (1, 11, 1, 12))
    assert part in error.message


def test_pipes_and_unreadable_files_do_not_block(write, graph):
    root = write({"secret.kedi": "[x] = 1"})
    os.mkfifo(root / "pipe.kedi")
    with pytest.raises(ModuleBroken, match="not a regular file"):
        graph.exports("pipe", root)
    (root / "secret.kedi").chmod(0)
    if os.access(root / "secret.kedi", os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(ModuleBroken, match="cannot be read"):
        graph.exports("secret", root)


def test_links_out_of_a_package_are_refused(write, graph):
    root = write(
        {
            "outside.kedi": "[x] = 1\n> export: *\n",
            "registry/pkg/package.kedi": MANIFEST,
            "registry/pkg/src/main.kedi": "> import: leak\n> export: *\n",
        }
    )
    (root / "registry/pkg/src/leak.kedi").symlink_to(root / "outside.kedi")
    with pytest.raises(ModuleNotFound, match="leads out of"):
        graph.exports("pkg/leak", root)
    with pytest.raises(ModuleBroken, match="leads out of"):
        graph.exports("pkg", root)


def test_changed_files_are_read_again(write, graph):
    root = write({"a.kedi": "> import: b\n> export: *\n", "b.kedi": "[x] = 1\n> export: *\n"})
    assert set(graph.exports("a", root).names) == {"x"}
    unchanged = graph.exports("a", root)
    assert graph.exports("a", root) is unchanged
    write({"b.kedi": "[x] = 1\n[yy] = 2\n> export: *\n"})
    assert set(graph.exports("a", root).names) == {"x", "yy"}
    write({"b.kedi": "[x: nope] = 1\n> export: *\n"})
    with pytest.raises(ModuleBroken):
        graph.exports("a", root)
    write({"b.kedi": "[z] = 3\n> export: *\n"})
    assert set(graph.exports("a", root).names) == {"z"}
    (root / "b.kedi").unlink()
    with pytest.raises(ModuleBroken, match="no module `b`"):
        graph.exports("a", root)


def test_long_import_chains_are_no_matter(write, graph):
    size = 1500
    files: dict[str, str | bytes] = {
        f"m{at}.kedi": f"> import: m{at + 1}\n> export: *\n" for at in range(size)
    }
    files[f"m{size}.kedi"] = "[deep] = 1\n> export: *\n"
    assert set(graph.exports("m0", write(files)).names) == {"deep"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("> import: m:\n  x\n  nope", [("not-exported", 3, 3, 7)]),
        ("> import: m:\n  hidden", [("not-exported", 2, 3, 9)]),
        ("> import: m\n[v: T] = `1`", []),
        ("> import: m\n[v: x] = `1`", [("not-a-type", 2, 5, 6)]),
        ("[v: T] = `1`\n> import: m", [("unknown-type", 1, 5, 6)]),
        ("> import: m\n> use: f\n> export:\n  T\n  f", []),
    ],
)
def test_imports_in_a_program(write, graph, source, expected):
    root = write(
        {
            "m.kedi": "~T(a)\n@f() -> int:\n  = `1`\n@x():\n  = y\n[hidden] = 1\n"
            "> export:\n  T\n  f\n  x\n"
        }
    )
    found = compile_errors(parse_or_raise(source, "a.kedi"), GraphNames(graph, root))
    assert [(e.code, e.span.line, e.span.column, e.span.end_column) for e in found] == expected


def test_advice_for_names_that_are_not_exported(write, graph):
    root = write({"m.kedi": "[helper] = 1\n[hidden] = 2\n> export:\n  helper\n", "e.kedi": ""})

    def hints(source: str) -> list[str | None]:
        program = parse_or_raise(source, "a.kedi")
        return [item.hint for item in compile_errors(program, GraphNames(graph, root))]

    assert hints("> import: m:\n  helpr") == ["did you mean `helper`?"]
    assert hints("> import: m:\n  hidden") == ["add `hidden` to its `> export:` list"]
    assert hints("> import: e:\n  zzz") == [
        "it exports nothing: a module publishes only the names of its `> export:`"
    ]


def test_known_modules(write, tmp_path):
    root = write(
        {
            "a.kedi": "",
            "lib/b.kedi": "",
            ".hidden/c.kedi": "",
            "package.kedi": MANIFEST,
            "notes.txt": "",
            "home/registry/pkg/package.kedi": MANIFEST,
            "home/registry/pkg/src/main.kedi": "",
            "home/registry/pkg/src/sub/x.kedi": "",
        }
    )
    found = known_modules(root, root / "home/registry", None)
    assert {"a", "lib/b", "pkg", "pkg/sub/x"} <= set(found)
    assert not any(path.endswith("c") or "hidden" in path for path in found)
    assert known_modules(Path("/nonexistent"), None, None) == []


def test_an_open_document_stands_for_its_file(write, tmp_path):
    root = write({"m.kedi": "[old] = 1\n> export: *\n"})

    class Open:
        text = "[new] = 1\n> export: *\n"

        def stamp(self, path: Path) -> int:
            return hash(self.text)

        def read(self, path: Path) -> str:
            return self.text

    reader = Open()
    graph = ModuleGraph(reader, registry_home=tmp_path)
    assert set(graph.exports("m", root).names) == {"new"}
    reader.text = "[newer] = 1\n> export: *\n"
    assert set(graph.exports("m", root).names) == {"newer"}


def test_an_installed_package_with_a_broken_manifest_is_broken_not_missing(tmp_path: Path) -> None:
    manifest = tmp_path / "registry" / "pk" / "package.kedi"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("= <\n", encoding="utf-8")
    graph = ModuleGraph(registry_home=tmp_path / "registry")
    with pytest.raises(ModuleBroken) as caught:
        graph.resolve("pk", tmp_path)
    assert caught.value.diagnostics[0].span[:2] == (str(manifest), 1)
