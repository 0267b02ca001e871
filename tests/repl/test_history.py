"""The history file: what it keeps, how it is kept private, and what is no history."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedi.repl import history
from kedi.repl.history import HistoryFile, history_path
from kedi.repl.secrets import looks_secret


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_entries_come_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "history"
    kept = HistoryFile(path)
    entries = ["[x] = 1", "@f():\n  = 1\n", "= `'+'`\n+ plus\n# hash", "日本 é"]
    for entry in entries:
        kept.append(entry)
    assert HistoryFile(path).load() == entries
    assert _mode(path) == 0o600


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)))
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, entries: list[str]) -> None:
    path = tmp_path_factory.mktemp("h") / "history"
    kept = HistoryFile(path)
    expected: list[str] = []
    for entry in entries:
        kept.append(entry)
        skipped = not entry.strip() or entry in expected[-1:] or looks_secret(entry)
        expected += [] if skipped else [entry]
    assert HistoryFile(path).load() == expected


def test_repeats_blanks_and_huge_inputs_are_left_out(tmp_path: Path) -> None:
    kept = HistoryFile(tmp_path / "history")
    for entry in ["a", "a", "  ", "", "x" * (history.MAX_ENTRY + 1), "b", "a"]:
        kept.append(entry)
    again = HistoryFile(kept.path)
    assert again.load() == ["a", "b", "a"]
    again.append("a")
    assert again.load() == ["a", "b", "a"]


def test_a_file_that_others_can_read_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text("\n# long ago\n+[x] = 1\n")
    path.chmod(0o644)
    HistoryFile(path).append("[y] = 2")
    assert _mode(path) == 0o600
    assert HistoryFile(path).load() == ["[x] = 1", "[y] = 2"]


def test_a_wide_umask_changes_nothing(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        HistoryFile(tmp_path / "history").append("a")
    finally:
        os.umask(before)
    assert _mode(tmp_path / "history") == 0o600


def test_a_large_file_keeps_its_newer_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MAX_BYTES", 4_000)
    kept = HistoryFile(tmp_path / "history")
    for number in range(400):
        kept.append(f"[x] = {number}")
    again = HistoryFile(kept.path)
    loaded = again.load()
    assert loaded[-1] == "[x] = 399"
    assert loaded == [f"[x] = {number}" for number in range(400 - len(loaded), 400)]
    assert kept.path is not None
    assert kept.path.stat().st_size < 4_000
    assert _mode(kept.path) == 0o600
    assert list(tmp_path.iterdir()) == [kept.path]
    assert HistoryFile(kept.path).load() == loaded[len(loaded) // 2 :]


@pytest.mark.parametrize("kind", ["directory", "missing folder", "fifo", "device", "closed"])
def test_what_cannot_be_used_is_left_alone(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "history"
    match kind:
        case "directory":
            path.mkdir()
        case "missing folder":
            path = tmp_path / "no" / "history"
        case "fifo":
            os.mkfifo(path)
        case "device":
            path = Path(os.devnull)
        case _:
            path = tmp_path / "nul\0"
    kept = HistoryFile(path)
    assert kept.load() == []
    kept.append("[x] = 1")
    kept.append("[y] = 1")
    if kind != "device":
        assert kept.problem is not None
        assert "no history is kept" in kept.problem


def test_damaged_files_give_what_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(b"\xff\xfe junk\n+ok\n\0\n+\xe9\n+two\nnoise")
    assert HistoryFile(path).load() == ["ok", "\ufffd\ntwo"]


def test_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEDI_HISTORY", "~/some/where")
    assert history_path() == Path.home() / "some/where"
    monkeypatch.setenv("KEDI_HISTORY", "")
    assert history_path() is None
    monkeypatch.delenv("KEDI_HISTORY")
    assert history_path() == Path.home() / ".kedi_history"


@pytest.mark.parametrize(
    "text",
    [
        "[password] = hunter22",
        "[api_key: str] = `'abc123'`",
        '`password = "x12345"`',
        "[token] = abcdef",
        "[db_password] := sEcret1",
        "`connect(host, password='pw')`".replace("pw", "pw123"),
        "`config = {'secret': 'zzz1'}`",
        "`os.environ['X_API_KEY'] = 'abcde'`",
        "Authorization: Bearer abcdefghijklmnop",
        "x --password hunter2",
        "[url] = postgres://me:pw1@host/db",
        "[k] = sk-abcdefghijklmnopqrstuvwxyz0123",
        "[k] = ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "[k] = AKIAABCDEFGHIJKLMNOP",
        "@f():\n  [k] = a\n  ```\n  passwd = 'geheim'\n  ```",
    ],
)
def test_secrets_are_kept_out(tmp_path: Path, text: str) -> None:
    kept = HistoryFile(tmp_path / "history")
    kept.append("[x] = 1")
    kept.append(text)
    assert kept.withheld == 1
    assert HistoryFile(kept.path).load() == ["[x] = 1"]


@pytest.mark.parametrize(
    "text",
    [
        "[max_tokens: int] = `100`",
        "[tokens] = many words",
        "[token_count: int] = `5`",
        "[token: str] = `tokens[0]`",
        "[password] = <typed>",
        "`password = os.environ['DB_PASSWORD']`",
        "@login(user: str, password: str) -> bool:\n  = `True`",
        "~User(name, password: str)",
        "[key] = abc",
        "[monkey] = abcdef",
        ">> What is the [token]?",
        "= `len(secret)`",
    ],
)
def test_other_inputs_are_kept(text: str) -> None:
    assert not looks_secret(text)


def test_looking_for_secrets_takes_linear_time() -> None:
    for text in [
        "password" * 20_000,
        "a_" * 50_000,
        "x://" * 30_000,
        "key:" * 30_000,
        "--" * 90_000,
    ]:
        looks_secret(text)
