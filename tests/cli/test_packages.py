"""``kedi install``: what is installed, what is refused, and that it is all or nothing."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kedi._version import __version__
from kedi.cli import registry
from kedi.cli.dependencies import parse_version, unmet
from tests.cli.conftest import Run

Write = Callable[[str, str], Path]
MANIFEST = "> package: greeting:\n  version: 1.2.0\n  source: src\n"
MAIN = "> import: more/words\n@greet() -> str:\n  = hello, <word()>\n> export: *\n"
WORDS = "@word() -> str:\n  = world\n> export: *\n"


def home() -> Path:
    return Path(os.environ["KEDI_HOME"])


def place(name: str = "greeting") -> Path:
    return home() / "registry" / name


def installed() -> list[str]:
    """Everything in the registry, hidden entries included."""
    folder = home() / "registry"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def tree(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


@pytest.fixture(autouse=True)
def _package(write: Write) -> None:
    write("pkg/package.kedi", MANIFEST)
    write("pkg/src/main.kedi", MAIN)
    write("pkg/src/more/words.kedi", WORDS)


def test_installed_packages_can_be_imported(process: Run, write: Write) -> None:
    status, out, err = process("install", cwd="pkg")
    assert (status, out, err) == (0, f"Installed greeting 1.2.0 in {place()}\n", "")
    write("use.kedi", "> import: greeting\n= <greet()>\n")
    assert process("use.kedi") == (0, "hello, world\n", "")


@pytest.mark.parametrize("manifest", ["pkg", "pkg/package.kedi", "pkg/src/../package.kedi"])
def test_the_receipt(kedi: Run, manifest: str) -> None:
    assert kedi("install", manifest).status == 0
    assert tree(place()) == {
        ".kedi-install.json",
        "package.kedi",
        "src/main.kedi",
        "src/more/words.kedi",
    }
    receipt: dict[str, Any] = json.loads((place() / ".kedi-install.json").read_bytes())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", receipt.pop("installed_at"))
    assert Path(receipt.pop("source_path")).resolve() == Path("pkg").resolve()
    assert receipt == {
        "format": 1,
        "name": "greeting",
        "version": "1.2.0",
        "source_kind": "local",
        "kedi_version": __version__,
        "files": {
            name: "sha256:" + hashlib.sha256((place() / name).read_bytes()).hexdigest()
            for name in ("package.kedi", "src/main.kedi", "src/more/words.kedi")
        },
    }


def test_a_newer_one_replaces_an_older_one_whole(kedi: Run, write: Write) -> None:
    write("pkg/src/old.kedi", WORDS)
    assert kedi("install", "pkg").status == 0
    Path("pkg/src/old.kedi").unlink()
    write("pkg/package.kedi", MANIFEST.replace("1.2.0", "2.0"))
    assert kedi("install", "pkg").out.startswith("Installed greeting 2.0 ")
    assert "src/old.kedi" not in tree(place())
    assert installed() == ["greeting"]


def test_replacing_without_an_exchange(
    kedi: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_exchange", lambda first, second: False)
    test_a_newer_one_replaces_an_older_one_whole(kedi, write)


def test_a_replacement_that_fails_leaves_the_old_one(
    kedi: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kedi("install", "pkg").status == 0
    before = tree(place())
    write("pkg/src/new.kedi", WORDS)
    monkeypatch.setattr(registry, "_exchange", lambda first, second: False)
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if Path(target) == place() and self.name == "greeting":
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    status, out, err = kedi("install", "pkg")
    assert (status, out) == (1, "")
    assert "Input/output error" in err
    assert tree(place()) == before
    assert installed() == ["greeting"]


def test_a_copy_that_fails_changes_nothing(kedi: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kedi("install", "pkg").status == 0
    before = tree(place())

    def full(*_: object) -> tuple[str, int]:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(registry, "_copy", full)
    status, _, err = kedi("install", "pkg")
    assert status == 1
    assert "No space left on device" in err
    assert tree(place()) == before
    assert installed() == ["greeting"]


def test_installations_at_the_same_time(write: Write) -> None:
    from kedi.cli.packages import install_package

    for index in range(30):
        write(f"pkg/src/file{index}.txt", "x" * 1000)
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.append(install_package("pkg"))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [0] * 6
    assert len(tree(place())) == 34
    assert installed() == ["greeting"]


def test_what_is_left_out(kedi: Run, write: Write) -> None:
    for name in (
        ".git/config", ".env", ".hidden/x", "__pycache__/m.pyc", "m.pyc", "node_modules/p/i.js",
        "sub/.secret",
    ):  # fmt: skip
        write(f"pkg/src/{name}", "secret")
    write("pkg/outside.txt", "not in the source")
    write("pkg/src/data/kept.txt", "kept")
    write("pkg/src/.kedi-install.json", "{}")
    assert kedi("install", "pkg").status == 0
    assert tree(place()) == {
        ".kedi-install.json",
        "package.kedi",
        "src/data/kept.txt",
        "src/main.kedi",
        "src/more/words.kedi",
    }


def test_the_folder_itself_as_source(kedi: Run, write: Write) -> None:
    write("flat/package.kedi", "> package: flat:\n  source: .\n")
    write("flat/main.kedi", WORDS)
    assert kedi("install", "flat").status == 0
    assert tree(place("flat")) == {".kedi-install.json", "main.kedi", "package.kedi"}


def test_links_inside_the_package_become_copies(kedi: Run, write: Write) -> None:
    write("pkg/common/text.kedi", WORDS)
    Path("pkg/src/link.kedi").symlink_to("../common/text.kedi")
    Path("pkg/src/folder").symlink_to("../common")
    assert kedi("install", "pkg").status == 0
    assert {"src/link.kedi", "src/folder/text.kedi"} <= tree(place())
    assert not any(path.is_symlink() for path in place().rglob("*"))


@pytest.mark.parametrize(
    ("link", "target", "said"),
    [
        ("src/leak", "/etc/hostname", "leads out of the package"),
        ("src/leak", "../../outside", "leads out of the package"),
        ("src/leak", "/", "leads out of the package"),
        ("src/nothing", "missing", "cannot be read"),
        ("src/self", "self", "cannot be read"),
        ("src/loop", ".", "a directory it is in"),
        ("src/more/loop", "..", "a directory it is in"),
        ("src/sideways", "../../pkg", "a directory it is in"),
    ],
)
def test_links_that_are_refused(kedi: Run, write: Write, link: str, target: str, said: str) -> None:
    write("outside", "secret")
    Path("pkg", link).symlink_to(target)
    status, out, err = kedi("install", "pkg")
    assert (status, out) == (1, "")
    assert said in err
    assert not place().exists()
    assert installed() == []


def test_a_source_or_main_module_that_leads_out(kedi: Run, write: Write) -> None:
    write("elsewhere/main.kedi", WORDS)
    Path("pkg/linked").symlink_to("../elsewhere")
    write("pkg/package.kedi", MANIFEST.replace("src", "linked"))
    status, _, err = kedi("install", "pkg")
    assert status == 1
    assert "package.kedi, line 3" in err
    write("pkg/package.kedi", MANIFEST)
    Path("pkg/src/main.kedi").unlink()
    Path("pkg/src/main.kedi").symlink_to("../../elsewhere/main.kedi")
    assert kedi("install", "pkg").status == 1
    assert not place().exists()


def test_a_manifest_that_is_a_link(kedi: Run, write: Write) -> None:
    Path("pkg/package.kedi").rename("real.kedi")
    Path("pkg/package.kedi").symlink_to("../real.kedi")
    status, _, err = kedi("install", "pkg")
    assert status == 1
    assert "is a link" in err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system")
def test_special_files(kedi: Run) -> None:
    os.mkfifo("pkg/src/pipe")
    status, _, err = kedi("install", "pkg")
    assert status == 1
    assert "neither a file nor a directory" in err


@pytest.mark.parametrize(
    ("bound", "value", "said"),
    [
        ("MAX_FILES", 2, "more than 2 files"),
        ("MAX_BYTES", 100, "larger than 100 bytes"),
        ("MAX_DEPTH", 2, "more than 2 directories deep"),
    ],
)
def test_bounds(
    kedi: Run, write: Write, monkeypatch: pytest.MonkeyPatch, bound: str, value: int, said: str
) -> None:
    write("pkg/src/a/b/c/d.txt", "x" * 200)
    monkeypatch.setattr(registry, bound, value)
    status, _, err = kedi("install", "pkg")
    assert status == 1
    assert said in err
    assert not place().exists()


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ("> package: BadName:\n  source: src\n", "package name"),
        (MANIFEST.replace("1.2.0", "one"), "PEP 440"),
        (MANIFEST.replace("src", "../pkg/src"), "source"),
        (MANIFEST.replace("src", "/etc"), "source"),
        (MANIFEST.replace("src", "missing"), "no directory `missing`"),
        (MANIFEST.replace("src", "src/more"), "holds no `main.kedi`"),
        ("= no manifest\n", "> package"),
        ("", "> package"),
        (MANIFEST + MANIFEST, "one package"),
        (MANIFEST + "  python_dependencies:\n    >=1\n", "PEP 508"),
        (MANIFEST + "  python: python@2\n", "python"),
    ],
)
def test_manifests_that_are_refused(kedi: Run, write: Write, manifest: str, said: str) -> None:
    write("pkg/package.kedi", manifest)
    status, out, err = kedi("install", "pkg")
    assert (status, out) == (1, "")
    assert said in err
    assert "package.kedi, line" in err
    assert not place().exists()


def test_the_running_python_must_do(kedi: Run, write: Write) -> None:
    major, minor = sys.version_info[:2]
    write("pkg/package.kedi", f"{MANIFEST}  python: python@{major}.{minor + 1}\n")
    status, _, err = kedi("install", "pkg")
    assert status == 1
    assert f"runs on Python {major}.{minor + 1}, and this is Python {major}.{minor}" in err
    write("pkg/package.kedi", f"{MANIFEST}  python: python@3.0-{major}.{minor}\n")
    assert kedi("install", "pkg").status == 0


def test_a_main_module_with_errors_replaces_nothing(kedi: Run, write: Write) -> None:
    assert kedi("install", "pkg").status == 0
    write("pkg/src/main.kedi", "= <")
    status, _, err = kedi("install", "pkg")
    assert status == 1
    assert "main.kedi, line 1" in err
    assert (place() / "src/main.kedi").read_text(encoding="utf-8") == MAIN


def test_missing_manifests(kedi: Run) -> None:
    for arguments in (["install"], ["install", "nowhere"], ["install", "pkg/src"]):
        status, _, err = kedi(*arguments)
        assert status == 2
        assert "there is no package manifest" in err


def test_a_place_that_is_taken(kedi: Run, write: Write) -> None:
    place().mkdir(parents=True)
    write(str(place() / "mine.txt"), "precious")
    status, _, err = kedi("install", "pkg")
    assert status == 1
    assert "was not put there by `kedi install`" in err
    assert tree(place()) == {"mine.txt"}


def test_a_home_that_cannot_be_used(
    kedi: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEDI_HOME", "relative")
    assert "absolute" in kedi("install", "pkg").err
    write("file", "")
    monkeypatch.setenv("KEDI_HOME", str(Path("file").absolute()))
    status, _, err = kedi("install", "pkg")
    assert status == 1
    assert "cannot be written" in err
    monkeypatch.setenv("KEDI_HOME", str(Path("pkg/src/home").absolute()))
    assert "lies inside the package" in kedi("install", "pkg").err


def test_remains_of_killed_installations_go(kedi: Run) -> None:
    old = home() / "registry" / ".install-old"
    young = home() / "registry" / ".install-young"
    for folder in (old, young):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    assert kedi("install", "pkg").status == 0
    assert not old.exists()
    assert young.exists()


# ── Python requirements ───────────────────────────────────────────────────────


def test_requirements_that_are_not_met_are_reported(kedi: Run, write: Write) -> None:
    write(
        "pkg/package.kedi",
        f"{MANIFEST}  python_dependencies:\n    lark>=1\n"
        "    no-such-thing[x]>=2; python_version >= '3'\n",
    )
    status, out, err = kedi("install", "pkg")
    assert status == 0
    assert out.startswith("Installed greeting")
    command = err.splitlines()[-1]
    assert "-m pip install" in command
    assert "no-such-thing" in command
    assert "lark" not in command
    import shlex

    assert shlex.split(command)[-1] == "no-such-thing[x]>=2; python_version >= '3'"


@pytest.mark.parametrize(
    ("requirement", "met"),
    [
        ("demo", True),
        ("Demo [extra]", True),
        ("demo>=1.2", True),
        ("demo >= 1.2 , < 2", True),
        ("demo>=1.3", False),
        ("demo==1.2.3", True),
        ("demo==1.2.3.0", True),
        ("demo==1.2.*", True),
        ("demo==1.0.*", False),
        ("demo!=1.2.*", False),
        ("demo~=1.2", True),
        ("demo~=1.2.4", False),
        ("demo~=1.0.0", False),
        ("demo>1.2.3", False),
        ("demo<1.2.3", False),
        ("demo>1.2.3rc1", True),
        ("other", False),
        ("other; python_version < '3'", True),
        ("other; sys_platform == 'nowhere'", True),
        ("other; sys_platform != 'nowhere'", False),
        ("other; extra == 'x'", True),
        ("demo @ https://example.org/demo.zip", True),
    ],
)
def test_requirements(monkeypatch: pytest.MonkeyPatch, requirement: str, met: bool) -> None:
    from importlib.metadata import PackageNotFoundError

    def version(name: str) -> str:
        if name.lower() != "demo":
            raise PackageNotFoundError(name)
        return "1.2.3"

    monkeypatch.setattr("kedi.cli.dependencies.version", version)
    assert (unmet([requirement]) == []) is met


def test_versions_compare_as_pep_440_says() -> None:
    ordered = [
        *("1.0.dev1", "1.0a1.dev1", "1.0a1", "1.0a2", "1.0b1", "1.0rc1", "1.0", "1.0.post1.dev1"),
        *("1.0.post1", "1.0.1", "1.1.dev1", "1.1", "1.10", "2", "1!0.1"),
    ]
    versions = [parse_version(text) for text in ordered]
    assert None not in versions
    assert versions == sorted(versions, key=lambda item: item or ())
    assert len(set(versions)) == len(ordered)
    assert parse_version("1.0") == parse_version("v1") == parse_version("1.0.0+local")
    assert parse_version("nonsense") is None
