"""A disk that fails at a chosen access: the n-th write, sync, rename, link or new file.

SQLite reaches the disk through a table of functions, its VFS, which is wrapped here by means of ctypes; files that
Python writes are reached through ``os``.
"""

import _sqlite3
import ctypes
import errno
import gc
import io
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

KINDS = ("write", "sync", "rename", "make")
_FULL = 13
_IOERR = {"write": 10 | 3 << 8, "sync": 10 | 4 << 8, "make": 14}
"""SQLite's codes for a full disk, and for a failure of each kind."""


@dataclass
class Disk:
    """A count of the accesses to the disk; from the ``failing``-th time on, or only then, it fails."""

    failing: int = 0
    """The number of the access that fails, from 1; 0 for none."""
    lasting: bool = False
    error: int = errno.EIO
    kinds: tuple[str, ...] = KINDS
    count: int = 0
    failed: int = 0

    def fails(self, kind: str) -> bool:
        """Count one access, and return whether it is to fail."""
        if kind not in self.kinds or not self.failing:
            return False
        self.count += 1
        failing = self.count >= self.failing if self.lasting else self.count == self.failing
        self.failed += failing
        return failing

    @contextmanager
    def fail(
        self, time: int, error: int = errno.EIO, kinds: tuple[str, ...] = KINDS, lasting: bool = False
    ) -> Iterator[None]:
        """Fail in the block, and in no other."""
        self.failing, self.error, self.kinds, self.lasting = time, error, kinds, lasting
        self.count = self.failed = 0
        try:
            yield
        finally:
            self.failing = 0

    def code(self, kind: str) -> int:
        """Return SQLite's code for the failure."""
        return _FULL if kind == "write" and self.error == errno.ENOSPC else _IOERR[kind]

    def refusal(self) -> OSError:
        """Return the error of Python for the failure."""
        return OSError(self.error, os.strerror(self.error))


@contextmanager
def failing_disk() -> Iterator[Disk]:
    """Yield a disk that can be made to fail, for all catalogs and files of the block.

    Skips the test if the SQLite that Python uses cannot be reached.
    """
    disk = Disk()
    with pytest.MonkeyPatch.context() as patch, _wrapped_sqlite(disk):
        for name, kind in {"fsync": "sync", "replace": "rename", "rename": "rename", "link": "rename"}.items():
            patch.setattr(os, name, _checked(disk, kind, getattr(os, name)))
        for name, kind in {"mkdir": "make", "pwrite": "write"}.items():
            patch.setattr(os, name, _checked(disk, kind, getattr(os, name)))
        patch.setattr(os, "open", _opening(disk, os.open))
        patch.setattr(os, "fdopen", lambda descriptor, mode: io.BufferedWriter(_File(disk, descriptor, mode)))
        patch.setattr(io, "open", _opening_files(disk, io.open))
        yield disk


def _checked(disk: Disk, kind: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def checked(*arguments: Any, **options: Any) -> Any:
        if disk.fails(kind):
            raise disk.refusal()
        return real(*arguments, **options)

    return checked


def _opening(disk: Disk, real: Callable[..., int]) -> Callable[..., int]:
    making = _checked(disk, "make", real)

    def opened(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        return (making if flags & os.O_CREAT else real)(path, flags, *rest, **options)

    return opened


def _opening_files(disk: Disk, real: Callable[..., Any]) -> Callable[..., Any]:
    def opened(file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
        return io.BufferedRandom(_File(disk, file, mode)) if mode == "rb+" else real(file, mode, *rest, **options)

    return opened


class _File(io.FileIO):
    """A file that is written piece by piece."""

    def __init__(self, disk: Disk, file: Any, mode: str) -> None:
        super().__init__(file, mode)
        self._disk = disk

    def write(self, data: Any, /) -> int:
        """Write, unless this access is to fail."""
        if self._disk.fails("write"):
            raise self._disk.refusal()
        return super().write(data)


class _Vfs(ctypes.Structure):
    """sqlite3_vfs."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("iVersion", "szOsFile", "mxPathname")),
        ("pNext", ctypes.c_void_p),
        ("zName", ctypes.c_char_p),
        *((name, ctypes.c_void_p) for name in ("pAppData", "xOpen")),
        ("others", ctypes.c_void_p * 15),
    )


class _Methods(ctypes.Structure):
    """sqlite3_io_methods."""

    _fields_ = (
        ("iVersion", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("xClose", "xRead", "xWrite", "xTruncate", "xSync")),
        ("others", ctypes.c_void_p * 13),
    )


_Open = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
_Write = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int64)
_Truncate = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64)
_Sync = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_alive: list[Any] = []
"""Objects that SQLite keeps pointers to, for as long as the process lives."""


@contextmanager
def _wrapped_sqlite(disk: Disk) -> Iterator[None]:
    """Let connections that are opened in the block reach the disk through ``disk``."""
    library = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
    if not hasattr(library, "sqlite3_vfs_find"):
        pytest.skip("the SQLite in this Python cannot be reached from outside")
    library.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
    real = library.sqlite3_vfs_find(None)
    vfs, methods = _Vfs.from_buffer_copy(real.contents), dict[int, _Methods]()
    really_open = _Open(real.contents.xOpen)

    def opened(_vfs: int, name: int, file: int, flags: int, out: int) -> int:
        code: int = really_open(ctypes.addressof(real.contents), name, file, flags, out)
        place = ctypes.c_void_p.from_address(file)
        if code == 0 and place.value:
            if place.value not in methods:
                methods[place.value] = _failing_methods(disk, _Methods.from_address(place.value))
            place.value = ctypes.addressof(methods[place.value])
        return code

    callback = _Open(opened)
    vfs.zName, vfs.xOpen = b"failing", ctypes.cast(callback, ctypes.c_void_p).value
    _alive.append((vfs, methods, callback))
    library.sqlite3_vfs_register(ctypes.byref(vfs), 1)
    try:
        yield
    finally:
        library.sqlite3_vfs_unregister(ctypes.byref(vfs))
        library.sqlite3_vfs_register(real, 1)


def _failing_methods(disk: Disk, real: _Methods) -> _Methods:
    def failing(kind: str, function: Any, pointer: int) -> int | None:
        really = function(pointer)
        callback = function(lambda *arguments: disk.code(kind) if disk.fails(kind) else really(*arguments))
        _alive.append(callback)
        return ctypes.cast(callback, ctypes.c_void_p).value

    made = _Methods.from_buffer_copy(real)
    made.xWrite = failing("write", _Write, real.xWrite)
    made.xTruncate = failing("write", _Truncate, real.xTruncate)
    made.xSync = failing("sync", _Sync, real.xSync)
    return made


SmallDisk = Callable[[Path], AbstractContextManager[Callable[[], AbstractContextManager[None]]]]


@contextmanager
def small_disk(folder: Path) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Mount a small file system at a folder, and yield a function that fills it for a block."""
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)]
    if subprocess.run(["mount", *options], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small file system")

    @contextmanager
    def full() -> Iterator[None]:
        gc.collect()  # files that no object holds any more give their room back now
        with (folder / "filler").open("wb", buffering=0) as filler, suppress(OSError):
            for size in (1 << 20, 1 << 12, 1):
                with suppress(OSError):
                    while True:
                        filler.write(bytes(size))
        yield
        (folder / "filler").unlink()

    try:
        yield full
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
