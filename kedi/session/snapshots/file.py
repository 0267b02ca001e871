"""The file of a snapshot: its frame with the integrity hash, and writing and reading it safely.

``docs/snapshots.md`` describes the format and the guarantees.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import secrets
import stat
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

import orjson

from kedi._version import __version__
from kedi.errors import SessionDumpError, SessionLoadError
from kedi.runtime.directory import working_directory

FORMAT = "kedi-session"
VERSION = 1
"""The version of the format. Readers refuse every other one."""

MAX_BYTES = 1 << 30
"""The largest snapshot that is written or read."""

_MIDDLE = b',"sha256":"'
_END = b'"}\n'
_TAIL = len(_MIDDLE) + 64 + len(_END)
_CHUNK = 1 << 24


def source_digest(source: str) -> str:
    """SHA-256 of a source, of its UTF-8 form (lone surrogates as if they could be encoded)."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


# ── the frame ─────────────────────────────────────────────────────────────────


def frame(content: bytes) -> list[bytes]:
    """The document around its content, in pieces.

    Raises :class:`SessionDumpError` for one beyond the bound.
    """
    head = (
        b'{"format":"'
        + FORMAT.encode()
        + b'","version":'
        + str(VERSION).encode()
        + b',"kedi":'
        + orjson.dumps(__version__)
        + b',"content":'
    )
    size = len(head) + len(content) + _TAIL
    if size > MAX_BYTES:
        raise SessionDumpError(
            f"the session cannot be saved: it would take {size:,} bytes, and a snapshot may have "
            f"{MAX_BYTES:,}"
        )
    digest = hashlib.sha256(head)
    digest.update(content)
    return [head, content, _MIDDLE + digest.hexdigest().encode() + _END]


def unframe(data: bytes) -> dict[str, Any]:
    """The content of a document, once everything around it has been verified.

    The order of the checks: JSON, format version, integrity, keys, Kedi version.
    """
    try:
        document = orjson.loads(data)
    except (orjson.JSONDecodeError, RecursionError) as error:
        raise SessionLoadError(f"this is no snapshot: it is not valid JSON ({error})") from None
    if type(document) is not dict or cast("dict[str, Any]", document).get("format") != FORMAT:
        raise SessionLoadError("this is no snapshot of a Kedi session")
    document = cast("dict[str, Any]", document)
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        known = type(version) is int and version < VERSION
        raise SessionLoadError(
            f"the snapshot has format version {_short(version)}, and this Kedi reads {VERSION}: "
            + ("save the session again with a newer Kedi" if known else "use a newer Kedi")
        )
    _verify(data)
    if list(document) != ["format", "version", "kedi", "content", "sha256"]:
        raise SessionLoadError("the snapshot does not have the parts that one has")
    _check_keys(data, document)
    _check_kedi(document["kedi"])
    content = document["content"]
    if type(content) is not dict:
        raise SessionLoadError("the snapshot is malformed: its content is not an object")
    return cast("dict[str, Any]", content)


def _short(value: Any) -> str:
    return str(value) if type(value) is int and abs(value) < 10**9 else "unknown"


def _verify(data: bytes) -> None:
    tail = data[-_TAIL:]
    digest = tail[len(_MIDDLE) : -len(_END)]
    if not (tail.startswith(_MIDDLE) and tail.endswith(_END)):
        raise SessionLoadError("the snapshot does not end as one does: it was cut or reformatted")
    if hashlib.sha256(memoryview(data)[:-_TAIL]).hexdigest().encode() != digest:
        raise SessionLoadError("the snapshot is damaged or was edited: its hash does not fit")


def _check_keys(data: bytes, document: dict[str, Any]) -> None:
    """Refuse an object that has a key twice, of which JSON readers keep any one."""
    try:
        if orjson.dumps(document) == data[:-1]:
            return  # What was read is all there is.
    except TypeError:
        raise SessionLoadError("the snapshot is malformed: it is nested too deeply") from None
    # Written by another program, or with a key twice: look with a reader that tells.
    import json

    try:
        json.loads(data, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise SessionLoadError(f"the snapshot is malformed: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = counts.most_common(1)[0][0]
        raise ValueError(f"an object has the key {twice[:80]!r} twice")


_SERIES = re.compile(r"(\d+)\.(\d+)")


def _check_kedi(version: Any) -> None:
    mine = _SERIES.match(__version__)
    found = _SERIES.match(version) if type(version) is str else None
    assert mine is not None
    if found is None or found.groups() != mine.groups():
        raise SessionLoadError(
            f"the snapshot is of Kedi {version[:40] if type(version) is str else '?'}, and this is "
            f"{__version__}: its sources may mean something else here"
        )


# ── writing ───────────────────────────────────────────────────────────────────


def write(path: str | os.PathLike[str], pieces: list[bytes]) -> None:
    """Replace ``path`` by a file of these bytes, atomically and durably, with mode 0600.

    Raises :class:`SessionDumpError` for a destination that is not a plain file and
    ``OSError`` for what the file system refuses; ``path`` is then as it was.
    """
    target = _target(path)
    folder, name = os.path.split(target)
    _check_destination(target, name)
    temporary = _beside(folder, "tmp")
    try:
        _write_new(temporary, pieces)
        _check_destination(target, name)
        _publish(temporary, target, folder)
    except BaseException:
        _remove(temporary)
        raise
    _remove_stale(folder)


def _target(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    if not isinstance(text, str):
        raise TypeError("the path of a snapshot is text or a path of text")
    if not text or "\0" in text:
        raise SessionDumpError(f"{text!r} cannot name a file")
    # By hand and not normalised: `..` after a symbolic link is not what stands before it.
    return os.path.join(working_directory(), text)  # noqa: PTH118


def _beside(folder: str, ending: str) -> str:
    token = secrets.token_hex(8)
    return f"{folder.rstrip('/')}/.kedi-{_machine()}-{os.getpid()}-{token}.{ending}"


@cache
def _machine() -> str:
    """Names where process numbers mean what they mean here: this boot and process namespace."""
    parts = [platform.node()]
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        pass  # a system without these
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _remove_stale(folder: str) -> None:
    """Remove what writers left that were killed: of this machine, and certainly not alive."""
    if os.name != "posix":
        return  # asking for a process by number could end it elsewhere
    mine = re.compile(rf"\.kedi-{_machine()}-(\d+)-[0-9a-f]{{16}}\.(?:tmp|old)")
    try:
        names = [match for item in Path(folder).iterdir() if (match := mine.fullmatch(item.name))]
    except OSError:
        return  # a folder that may be written to and not listed
    for match in names:
        try:
            os.kill(int(match[1]), 0)
        except ProcessLookupError:
            _remove(f"{folder.rstrip('/')}/{match[0]}")
        except (OSError, OverflowError):
            continue


def _check_destination(target: str, name: str) -> None:
    if not name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    try:
        mode = os.lstat(target).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    if not stat.S_ISREG(mode):
        raise SessionDumpError(f"cannot write {target}: {_kind(mode)}")


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "it is a symbolic link: give the path of the file itself"
    return "it is not a regular file"


def _write_new(temporary: str, pieces: list[bytes]) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(temporary, flags, 0o600)
    try:
        if hasattr(os, "fchmod"):
            # A umask can only take bits away; the owner must keep theirs.
            os.fchmod(descriptor, 0o600)
        for piece in pieces:
            view = memoryview(piece)
            while view:
                view = view[os.write(descriptor, view[:_CHUNK]) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _publish(temporary: str, target: str, folder: str) -> None:
    """Put the new file in place; put back what was there when the folder cannot be synced."""
    backup = _beside(folder, "old")
    undo = _keep(target, backup)
    try:
        Path(temporary).replace(target)
        try:
            _sync_folder(folder)
        except OSError:
            if undo == "restore":
                Path(backup).replace(target)
            elif undo == "remove":
                Path(target).unlink()
            raise
    finally:
        if undo == "restore":
            _remove(backup)


def _keep(target: str, backup: str) -> Literal["restore", "remove", "nothing"]:
    """Give the present file a second name; what can be done to undo its replacement."""
    try:
        os.link(target, backup, follow_symlinks=False)
    except FileNotFoundError:
        return "remove"
    except (OSError, NotImplementedError):
        # A file system without links: the new snapshot stays, complete if perhaps not durable.
        return "nothing"
    return "restore"


def _sync_folder(folder: str) -> None:
    flags = getattr(os, "O_DIRECTORY", None)
    if flags is None:
        return  # Windows has no such thing
    descriptor = os.open(folder or ".", os.O_RDONLY | flags)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems have nothing to sync for a folder and say so.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def _remove(path: str) -> None:
    try:
        Path(path).unlink()
    except OSError:
        pass


# ── reading ───────────────────────────────────────────────────────────────────


def read(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a snapshot: of a regular file up to :data:`MAX_BYTES`.

    Raises ``OSError`` when the file cannot be opened or read, and
    :class:`SessionLoadError` when it is no file to read.
    """
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags)
    except ValueError:
        raise SessionLoadError(f"{str(path)!r} cannot name a file") from None
    except OSError as error:
        if error.errno == errno.ELOOP and Path(path).is_symlink():
            raise SessionLoadError(
                f"cannot read {os.fspath(path)}: {_kind(stat.S_IFLNK)}"
            ) from error
        if error.errno == errno.ENXIO:
            raise SessionLoadError(f"cannot read {os.fspath(path)}: {_kind(0)}") from error
        raise
    try:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(found.st_mode):
            raise SessionLoadError(f"cannot read {os.fspath(path)}: {_kind(found.st_mode)}")
        if found.st_size > MAX_BYTES:
            raise _too_large(found.st_size)
        return _read_all(descriptor)
    finally:
        os.close(descriptor)


def _read_all(descriptor: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while piece := os.read(descriptor, _CHUNK):
        size += len(piece)
        if size > MAX_BYTES:
            raise _too_large(size)
        pieces.append(piece)
    return b"".join(pieces)


def _too_large(size: int) -> SessionLoadError:
    return SessionLoadError(
        f"the snapshot has {size:,} bytes or more, and at most {MAX_BYTES:,} are read"
    )
