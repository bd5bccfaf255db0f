"""Who owns a claim, and whether that process still lives.

A process that claims an effect holds a lock on a small file of its own beside the database. The
operating system drops the lock when the process ends, however it ends, so another process can tell
a claim that is being worked on from one that was left behind.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import threading
import uuid
from pathlib import Path


class _Owners:
    """The lock files that this process holds, by folder."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.held: dict[str, tuple[str, int]] = {}


_owners = _Owners()


def own_name(database: str) -> str:
    """The name under which this process claims effects in this database."""
    folder = _folder(database)
    with _owners.lock:
        known = _owners.held.get(str(folder))
        if known is None:
            known = _enrol(folder)
            _owners.held[str(folder)] = known
        return known[0]


def is_own(database: str, name: str) -> bool:
    """True if it is this process that claims under this name."""
    with _owners.lock:
        known = _owners.held.get(str(_folder(database)))
    return known is not None and known[0] == name


def is_alive(database: str, name: str) -> bool:
    """True if the other process behind this name still holds its lock."""
    return not _is_free(_folder(database) / name)


def _folder(database: str) -> Path:
    return Path(f"{Path(database).resolve()}.owners")


def _is_free(file: Path, *, remove: bool = False) -> bool:
    """True if no process holds the lock on this file, or the file is gone."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if remove:
            file.unlink(missing_ok=True)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _enrol(folder: Path) -> tuple[str, int]:
    """Make and lock a file of this process's own, and remove those of processes that ended."""
    while True:
        name = uuid.uuid4().hex
        folder.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            # The last process that left has removed the folder.
            continue
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Another process may have found the file before it was locked, and removed it.
        if (folder / name).exists():
            break
        os.close(descriptor)
    for other in folder.iterdir():
        if other.name != name:
            _is_free(other, remove=True)
    return name, descriptor


def _leave() -> None:
    with _owners.lock:
        for folder, (name, descriptor) in _owners.held.items():
            try:
                os.unlink(os.path.join(folder, name))
                os.rmdir(folder)
            except OSError:
                pass
            finally:
                os.close(descriptor)
        _owners.held.clear()


def _start_anew_in_child() -> None:
    """A forked child owns nothing of its parent's and must not keep the parent's locks alive."""
    inherited = list(_owners.held.values())
    _owners.lock = threading.Lock()
    _owners.held = {}
    for _name, descriptor in inherited:
        os.close(descriptor)


atexit.register(_leave)
os.register_at_fork(after_in_child=_start_anew_in_child)
