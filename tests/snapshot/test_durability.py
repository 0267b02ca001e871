"""Whatever goes wrong, the destination is one complete snapshot: the old one or the new one."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kedi
from kedi.errors import SessionDumpError
from kedi.session.snapshots import file as snapshot_file

ROOT = Path(__file__).parents[2]

# A child that saves over and over: prints a line when it is ready, then saves until it is killed.
LOOP = """
import sys
import kedi
path, mark, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
session = kedi.interactive()
session.execute(f"[mark] = {mark}")
session.execute("[n: int] = `0`")
session.execute(f"[rows] = `[[i, str(i) * 20] for i in range({size})]`")
print("ready", flush=True)
while True:
    session.execute("[n] := `n + 1`")
    kedi.dump_session(session, path)
    if len(sys.argv) > 4 and session.evaluate("`n`") == int(sys.argv[4]):
        break
"""


def child(path: Path, mark: str, size: int, *more: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", LOOP, str(path), mark, str(size), *more],
        cwd=path.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.fixture
def session() -> Iterator[kedi.InteractiveSession]:
    with kedi.interactive() as session:
        session.execute("[a] = new")
        yield session


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A destination that holds an older snapshot."""
    path = tmp_path / "state"
    with kedi.interactive() as session:
        session.execute("[a] = old")
        session.dump(path)
    return path


def loads(path: Path, name: str = "a") -> Any:
    with kedi.load_session(path) as session:
        return session.evaluate(f"`{name}`")


def alone(path: Path) -> bool:
    """Whether nothing but the snapshot is in its folder."""
    return [item.name for item in path.parent.iterdir()] == [path.name]


# ── modes and places ──────────────────────────────────────────────────────────


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o777])
def test_only_the_owner_can_read_it_whatever_the_umask(
    mask: int, session: kedi.InteractiveSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    write = os.write

    def spy(descriptor: int, data: Any) -> int:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", spy)
    before = os.umask(mask)
    try:
        session.dump(tmp_path / "state")
    finally:
        os.umask(before)
    assert set(modes) == {0o600}
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o600


def test_a_file_that_others_could_read_is_replaced(
    session: kedi.InteractiveSession, path: Path
) -> None:
    path.chmod(0o666)
    session.dump(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert loads(path) == "new"


def test_kinds_of_paths(session: kedi.InteractiveSession, tmp_path: Path) -> None:
    session.dump(str(tmp_path / "text"))
    session.dump(Path("relative"))
    session.dump(tmp_path / ("n" * 255))
    session.dump(tmp_path / "Ünï 😀\n.kedi-state")
    assert loads(tmp_path / "text") == loads(Path("relative")) == "new"
    with pytest.raises(TypeError):
        session.dump(b"bytes")  # type: ignore[arg-type]
    for name in ("", "a\0b"):
        with pytest.raises(SessionDumpError):
            session.dump(name)
    with pytest.raises(OSError, match="too long"):
        session.dump(tmp_path / ("n" * 256))
    with pytest.raises(FileNotFoundError):
        session.dump(tmp_path / "missing" / "state")


def test_a_folder_is_not_replaced(session: kedi.InteractiveSession, tmp_path: Path) -> None:
    for target in (str(tmp_path), f"{tmp_path}/", f"{tmp_path}/new/"):
        with pytest.raises(OSError, match=r"director|No such"):
            session.dump(target)
    assert list(tmp_path.iterdir()) == []


def test_a_link_and_what_it_points_to_stay(session: kedi.InteractiveSession, path: Path) -> None:
    link, dangling = path.parent / "link", path.parent / "dangling"
    link.symlink_to(path)
    dangling.symlink_to(path.parent / "nowhere")
    before = path.read_bytes()
    for target in (link, dangling):
        with pytest.raises(SessionDumpError, match="symbolic link"):
            session.dump(target)
        assert target.is_symlink()
    assert path.read_bytes() == before
    assert {item.name for item in path.parent.iterdir()} == {"state", "link", "dangling"}


def test_a_fifo_is_not_replaced(session: kedi.InteractiveSession, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(SessionDumpError, match="not a regular file"):
        session.dump(tmp_path / "fifo")
    assert (tmp_path / "fifo").is_fifo()
    assert alone(tmp_path / "fifo")


def test_other_names_of_the_old_file_keep_it(session: kedi.InteractiveSession, path: Path) -> None:
    other = path.parent / "other"
    other.hardlink_to(path)
    session.dump(path)
    assert (loads(path), loads(other)) == ("new", "old")
    assert path.stat().st_nlink == other.stat().st_nlink == 1


# ── failures at every step ────────────────────────────────────────────────────


class Broken:
    """Makes the ``nth`` call of a function of ``os`` fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, nth: int, code: int) -> None:
        self.calls = 0
        real = getattr(os, name)

        def broken(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls == nth:
                raise OSError(code, os.strerror(code))
            return real(*args, **kwargs)

        monkeypatch.setattr(os, name, broken)


@pytest.mark.parametrize("existing", [True, False])
@pytest.mark.parametrize(
    ("name", "nth", "code"),
    [
        ("open", 1, errno.EACCES),
        ("fchmod", 1, errno.EPERM),
        ("write", 1, errno.ENOSPC),
        ("write", 2, errno.ENOSPC),
        ("write", 3, errno.EIO),
        ("fsync", 1, errno.EIO),
        ("fsync", 2, errno.EIO),
        ("replace", 1, errno.EXDEV),
        ("open", 2, errno.EMFILE),
    ],
)
def test_a_failing_step_changes_nothing(
    name: str,
    nth: int,
    code: int,
    existing: bool,
    session: kedi.InteractiveSession,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = path.read_bytes()
    if not existing:
        path.unlink()
    broken = Broken(monkeypatch, name, nth, code)
    with pytest.raises(OSError) as caught:  # noqa: PT011 - the code is checked below
        session.dump(path)
    monkeypatch.undo()
    assert broken.calls >= nth
    assert caught.value.errno == code
    if existing:
        assert path.read_bytes() == before
        assert alone(path)
        assert loads(path) == "old"
    else:
        assert list(path.parent.iterdir()) == []
    session.dump(path)
    assert loads(path) == "new"
    assert alone(path)


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_without_synced_folders_is_fine(
    code: int, session: kedi.InteractiveSession, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Broken(monkeypatch, "fsync", 2, code)
    session.dump(path)
    assert loads(path) == "new"
    assert alone(path)


def test_a_file_system_without_links(
    session: kedi.InteractiveSession, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: Any, **__: Any) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    session.dump(path)
    assert loads(path) == "new"
    Broken(monkeypatch, "fsync", 2, errno.EIO)
    session.execute("[a] := newer")
    with pytest.raises(OSError, match="Input/output"):
        session.dump(path)
    assert loads(path) == "newer"  # nothing to go back to, but what is there is whole
    assert alone(path)


def test_short_writes_go_on(
    session: kedi.InteractiveSession, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))
    session.dump(path)
    assert loads(path) == "new"


@pytest.mark.parametrize("step", ["write", "fsync", "replace", "link"])
def test_an_interrupt_leaves_nothing_behind(
    step: str, session: kedi.InteractiveSession, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()

    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, step, stop)
    with pytest.raises(KeyboardInterrupt):
        session.dump(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert alone(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk(session: kedi.InteractiveSession, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr.decode().strip()}")
    try:
        target = disk / "state"
        session.dump(target)
        before = target.read_bytes()
        session.execute("[big] = `'x' * 1_000_000`")
        with pytest.raises(OSError) as caught:  # noqa: PT011 - the code is checked below
            session.dump(target)
        assert caught.value.errno == errno.ENOSPC
        assert target.read_bytes() == before
        assert alone(target)
        assert loads(target) == "new"
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_folder_one_may_not_write_to(session: kedi.InteractiveSession) -> None:
    """Run as a user whom permissions bind: root may write everywhere."""
    code = (
        "import os, sys, kedi\n"
        "s = kedi.interactive(); s.execute('[a] = newer'); s.dump(sys.argv[2])\n"
        "if os.geteuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try: s.dump(sys.argv[1])\n"
        "except PermissionError: print('refused')\n"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "state"
        session.dump(path)
        folder.chmod(0o555)
        try:
            found = subprocess.run(
                [sys.executable, "-c", code, str(path), "elsewhere"],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                capture_output=True,
                text=True,
            )
        finally:
            folder.chmod(0o755)
        assert found.stdout == "refused\n", found.stderr
        assert loads(path) == "new"
        assert alone(path)


def test_a_session_too_large_for_a_snapshot(
    session: kedi.InteractiveSession, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_file, "MAX_BYTES", 1000)
    session.execute("[big] = `'x' * 1000`")
    with pytest.raises(SessionDumpError, match="bytes"):
        session.dump(path)
    monkeypatch.undo()
    assert loads(path) == "old"


# ── other processes ───────────────────────────────────────────────────────────


def _whole(path: Path) -> bool:
    with kedi.load_session(path) as session:
        rows = session.evaluate("`rows`")
        return all(row == [index, str(index) * 20] for index, row in enumerate(rows))


def _stale(folder: Path) -> list[Path]:
    return [item for item in folder.iterdir() if item.name.startswith(".kedi-")]


def test_killed_at_random_moments(tmp_path: Path) -> None:
    """Hundreds of saves by many processes, each killed without warning."""
    path = tmp_path / "state"
    random_moment = random.Random(7)
    saves = 0
    for attempt in range(12):
        process = child(path, f"attempt {attempt}", 2_000)
        deadline = time.monotonic() + 20
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        for _ in range(random_moment.randint(1, 8)):
            time.sleep(random_moment.random() * 0.05)
            assert _whole(path)  # also while it saves
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
        assert _whole(path)
        with kedi.load_session(path) as session:
            assert session.evaluate("`mark`") in [f"attempt {n}" for n in range(attempt + 1)]
            saves += session.evaluate("`n`")
        for item in _stale(tmp_path):
            assert stat.S_IMODE(item.stat().st_mode) == 0o600
            item.unlink()
    assert saves > 100


@pytest.mark.parametrize("moment", ["write", "fsync", "link", "replace", "unlink"])
def test_killed_in_the_middle_of_each_step(moment: str, path: Path) -> None:
    code = (
        "import os, signal, sys, kedi\n"
        "def die(*a, **k): os.kill(os.getpid(), signal.SIGKILL)\n"
        "s = kedi.interactive(); s.execute('[a] = new')\n"
        f"os.{moment} = die\n"
        "s.dump(sys.argv[1])\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
    )
    assert found.returncode == -9
    assert loads(path) == ("new" if moment == "unlink" else "old")


def test_two_processes_save_to_one_path(tmp_path: Path) -> None:
    path = tmp_path / "state"
    both = [child(path, mark, 3_000, "60") for mark in ("first", "second")]
    seen: set[str] = set()
    while any(process.poll() is None for process in both):
        if path.exists():
            assert _whole(path)
            with kedi.load_session(path) as session:
                seen.add(session.evaluate("`mark`"))
    for process in both:
        assert process.wait() == 0
        assert process.stdout is not None
        process.stdout.close()
    assert _whole(path)
    assert seen <= {"first", "second"}
    assert alone(path)


def test_saving_while_another_process_loads_and_removes(
    session: kedi.InteractiveSession, tmp_path: Path
) -> None:
    path = tmp_path / "state"
    copies = tmp_path / "copies"
    copies.mkdir()
    for number in range(50):
        session.dump(path)
        shutil.move(path, copies / str(number))
    assert all(loads(item) == "new" for item in copies.iterdir())


def test_the_steps_are_in_a_safe_order(
    session: kedi.InteractiveSession, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is synced before it gets its name, and the folder after that."""
    steps: list[str] = []

    def watch(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            what = name
            if name == "fsync":
                what = "sync folder" if stat.S_ISDIR(os.fstat(args[0]).st_mode) else "sync file"
            steps.append(what)
            return real(*args, **kwargs)

        return call

    for name in ("write", "fsync", "replace"):
        monkeypatch.setattr(os, name, watch(name))
    session.dump(path)
    assert steps == ["write"] * 3 + ["sync file", "replace", "sync folder"]


def test_what_killed_writers_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """Their files only: those of living writers and of others stay."""
    code = (
        "import os, signal, kedi\n"
        "from kedi.session.snapshots import file as snapshot_file\n"
        "snapshot_file._publish = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "kedi.interactive().dump('s.kedi-state')\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    living = tmp_path / left.name.replace(left.name.split("-")[2], str(os.getpid()))
    foreign = tmp_path / ".kedi-000000000000-1-0123456789abcdef.tmp"
    for other in (living, foreign, tmp_path / ".kedi-notes.tmp"):
        other.write_text("mine")
    with kedi.interactive() as session:
        session.dump(tmp_path / "s.kedi-state")
    assert not left.exists()
    assert {item.name for item in tmp_path.iterdir()} == {
        "s.kedi-state",
        living.name,
        foreign.name,
        ".kedi-notes.tmp",
    }
