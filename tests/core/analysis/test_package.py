"""The package manifest and the syntax of versions and requirements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from kedi.analysis.package import PythonRange, check_manifest, read_manifest
from kedi.analysis.requirements import is_version, requirement_problem
from kedi.syntax import parse_or_raise

GOOD = """\
> package: reports:
  author: Kedi Team
  contact: team@example.com
  version: 1.2.0rc1
  source: src/reports
  python: python@3.11-3.14
  license: MIT
  python_dependencies:
    pydantic>=2
    httpx[http2]>=0.27 ; python_version < "3.13"
"""


def codes(source: str, directory=None) -> list[str]:
    manifest, found = check_manifest(parse_or_raise(source, "package.kedi"), directory)
    assert (manifest is None) == bool(found)
    return [
        f"{item.code} {item.span.line}:{item.span.column}-{item.span.end_column}" for item in found
    ]


def test_a_whole_manifest():
    manifest, found = check_manifest(parse_or_raise(GOOD, "package.kedi"))
    assert found == ()
    assert manifest is not None
    assert (manifest.name, manifest.source, manifest.version) == (
        "reports",
        "src/reports",
        "1.2.0rc1",
    )
    assert manifest.python == PythonRange((3, 11), (3, 14))
    assert manifest.python.allows((3, 12))
    assert not manifest.python.allows((3, 15))
    assert not manifest.python.allows((3, 2))
    assert str(manifest.python) == "3.11-3.14"
    assert manifest.python_dependencies == (
        "pydantic>=2",
        'httpx[http2]>=0.27 ; python_version < "3.13"',
    )
    assert (manifest.author, manifest.contact, manifest.license) == (
        "Kedi Team",
        "team@example.com",
        "MIT",
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", ["missing-package 1:1-1"]),
        ("[x] = 1\n> package: p:\n  source: s", ["not-metadata 1:1-8"]),
        ("> package: p:\n  source: s\n> package: q:\n  source: s", ["duplicate 3:1-14"]),
        ("> package: p:\n  version: 1", ["missing-field 1:1-14"]),
        ("> package: Bad:\n  source: s", ["bad-package-name 1:12-15"]),
        ("> package: p:\n  source: s\n  version: one", ["bad-version 3:12-15"]),
        ("> package: p:\n  source: s\n  python: 3.11", ["bad-python 3:11-15"]),
        ("> package: p:\n  source: s\n  python: python@3.14-3.11", ["bad-python 3:11-27"]),
        (
            "> package: p:\n  source: s\n  python: python@" + "9" * 99 + ".1",
            ["bad-python 3:11-119"],
        ),
        ("> package: p:\n  source: ../s", ["bad-source 2:11-15"]),
        ("> package: p:\n  source: a/../../s", ["bad-source 2:11-20"]),
        ("> package: p:\n  source: /etc", ["bad-source 2:11-15"]),
        ("> package: p:\n  source: C:/x", ["bad-source 2:11-15"]),
        ("> package: p:\n  source: `path`", ["bad-value 2:11-17"]),
        (
            "> package: p:\n  source: s\n  python_dependencies:\n    a>=1\n    b>>2",
            ["bad-requirement 5:5-9"],
        ),
        ("> package: p:\n  source: s\n  python_dependencies: a", ["bad-value 3:24-25"]),
    ],
)
def test_faults(source, expected):
    assert codes(source) == expected


@pytest.mark.parametrize("source", ["src", "./src", "src/", ".", "a/./b"])
def test_sources_inside_the_package(source):
    assert codes(f"> package: p:\n  source: {source}") == []


def test_the_source_tree_is_looked_at(write):
    root = write({"a/main.kedi": "", "b/x.kedi": "", "file": "", "package.kedi": ""})
    (root / "out").symlink_to(root.parent)
    (root / "a/inner").mkdir()
    (root / "a/inner/main.kedi").symlink_to("/etc/hostname")

    def found(source: str) -> list[str]:
        return codes(f"> package: p:\n  source: {source}", root)

    assert found("a") == []
    for source in ("b", "file", "missing", "out", "a/inner"):
        assert [item.split()[0] for item in found(source)] == ["bad-source"], source


def test_unreadable_manifests(write):
    root = write({"bad/package.kedi": b"\xff", "broken/package.kedi": "> package: p"})
    for path in ("bad", "broken", "missing", "."):
        manifest, found = read_manifest(root / path / "package.kedi")
        assert manifest is None
        assert found


def ours(text: str) -> bool:
    return requirement_problem(text) is None


def theirs(text: str) -> bool:
    try:
        Requirement(text)
    except InvalidRequirement:
        return False
    return True


@pytest.mark.parametrize(
    "text",
    [
        "a", "a.b-c_d", "a>=1", "a >= 1, < 2", "a(>=1)", "a[x]", "a[x,y]>=1", "a[]", "a ~= 1.4.2",
        "a==1.*", "a!=1.0.*", "a===weird", "a==1.0+local", "a>=1;python_version<'3'",
        "a; os_name == 'nt' or (sys_platform == 'linux' and python_version >= '3.8')",
        "a; 'linux' in sys_platform", "a; sys_platform not in 'win32'", "a @ https://x.example/a.zip",
        "a @ https://x.example/a.zip ; os_name == 'nt'", "a; extra == 'x'", "a>=1.0.post1,<2.dev3",
        "a; ((python_version > '3'))", "  a  ",
        "", "-a", "a-", "a >", "a >= ", "a >= one", "a[", "a[x", "a[x y]", "a;", "a; foo == 'x'",
        "a; os_name", "a; os_name ==", "a; os_name == 'x' and", "a; (os_name == 'x'", "a b",
        "a>1 b",
        "a; os_name == 'x')", "a~=1", "a>=1.*", "a>=1+local", "a @", "a,b", "a; os_name = 'x'",
        "a; 'x' == 'y' os_name", "a>=1,,<2", "ä", "a==1.*.0", "a; not os_name == 'x'",
    ],
)  # fmt: skip
def test_requirements_agree_with_packaging(text):
    assert ours(text) == theirs(text)


@given(st.text(alphabet="ab1.*~=<>!,;()[] '@+-", max_size=14))
def test_nothing_valid_is_refused(text):
    if theirs(f"pkg{text}"):
        assert ours(f"pkg{text}")


@given(st.text(alphabet="012.!abcrdevpostalph+-_ v", max_size=12) | st.text(max_size=5))
def test_versions_agree_with_packaging(text):
    try:
        Version(text)
        valid = True
    except InvalidVersion:
        valid = False
    assert is_version(text) == valid


@given(st.text())
def test_any_requirement_text_is_judged(text):
    requirement_problem(text)
    requirement_problem(f"a; {text}")
