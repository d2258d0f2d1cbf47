"""Files: bounded reads, durable writes that replace a whole file or create a new one, and errors in words."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

MAX_BYTES = 64 << 20
"""Largest number of bytes in a file that is read as a whole."""


def read_bytes(path: Path) -> bytes:
    """Read a file that may be anybody's; raise `ValueError` for one longer than `MAX_BYTES`, as a device is.

    A pipe reads as empty, so nobody waits for its other end.
    """
    data = bytearray()
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as opened:
        while chunk := opened.read(1 << 16):
            data += chunk
            if len(data) > MAX_BYTES:
                raise ValueError(f"{path} exceeds the maximum of {MAX_BYTES >> 20} MiB")
    return bytes(data)


def read_text(path: Path) -> str:
    """Read a file that people write; raise `ValueError` if it cannot be read."""
    try:
        return io.StringIO(read_bytes(path).decode("utf-8-sig"), newline=None).read()
    except UnicodeDecodeError as error:
        line = 1 + error.object.count(b"\n", 0, error.start)
        raise ValueError(f"{path}: line {line}: not UTF-8 text: save the file as UTF-8") from None
    except IsADirectoryError:
        raise ValueError(f"{path} is a folder: choose a file") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None


def atomic_write(path: Path, data: bytes, *, new: bool = False) -> None:
    """Atomically replace `path` with `data`, and fsync the file and the folder. An error leaves nothing half-written.

    With `new`, claim `path` first; raise `FileExistsError` if it exists.
    """
    if new:
        path.open("xb").close()
    try:
        with replacing(path) as draft, draft.open("wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
    except BaseException:
        if new:
            path.unlink(missing_ok=True)
        raise
    fsync_folder(path.parent)


def write_json(path: Path, data: object) -> None:
    """Atomically replace `path` with data as indented JSON."""
    atomic_write(path, msgspec.json.format(msgspec.json.encode(data)) + b"\n")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a draft that replaces `path` once it is written; after an error, which names `path`, no draft stays."""
    draft = path.with_name(f"{path.name}.tmp")
    try:
        draft.unlink(missing_ok=True)  # in somebody else's folder, it may be a link to one of the user's files
        yield draft
        draft.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None  # a full disk's error has no name
    finally:
        draft.unlink(missing_ok=True)


def open_itself(file: Path, flags: int, mode: int) -> int:
    """Open a file and return its descriptor; raise `OSError` for a link, which may lead to a file elsewhere, and for a
    pipe or device, which may never end."""
    try:
        opened = os.open(file, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), mode)
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise OSError(error.errno, why, str(file)) from None
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise OSError(errno.EINVAL, "it is not a regular file", str(file))
    return opened


def open_for_append(file: Path) -> int:
    """Open a file, which may be new, for appending, as `open_itself` does."""
    return open_itself(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


def append(path: Path, data: bytes) -> None:
    """Append to a file in one write, so that lines from several processes do not mix, and sync it; an error names the
    file."""
    out = open_for_append(path)
    try:
        written = os.write(out, data)
        try:
            while written < len(data):  # as when the disk fills up partway: the next write says so
                written += os.write(out, data[written:])
        except OSError:
            if (end := os.lseek(out, 0, os.SEEK_CUR)) == os.fstat(out).st_size:  # nobody else wrote after it
                os.ftruncate(out, end - written)
            raise
        os.fsync(out)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        os.close(out)


def is_in_place(path: Path, opened: os.stat_result) -> bool:
    """Return True if a path still leads to the file or folder that was opened there."""
    try:
        return os.path.samestat(path.stat(), opened)
    except OSError:
        return False


def check_in_place(path: Path, opened: os.stat_result, written: int | None = None) -> None:
    """Raise `OSError` unless a path still leads to the file or folder that was opened there, with as many bytes as were
    `written` to it (None: any number)."""
    if not is_in_place(path, opened):
        raise FileNotFoundError(errno.ENOENT, "was deleted, moved or replaced while it was being written", str(path))
    if written is not None and (size := path.stat().st_size) != written:
        how = "cut" if size < written else "changed"
        raise OSError(errno.EIO, f"was {how} by another program while it was being written", str(path))


@contextmanager
def private_files() -> Iterator[None]:
    """Make files and folders created inside accessible only to the user (0600 and 0700), because they hold what people
    said."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def notebooks() -> Path:
    """Return the folder of notebooks: inside the package in a wheel, at the top of a checkout."""
    package = Path(__file__).parents[1]
    shipped = package / "notebooks"
    return shipped if shipped.is_dir() else package.parent / "notebooks"


def fsync_folder(folder: Path) -> None:
    """Fsync a folder; otherwise, a replaced file can be the old one again after a power failure."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def error_sentence(error: Exception) -> str:
    """Return an error's message; for an operating system's error, it begins with the file and says what to do."""
    if not isinstance(error, OSError) or error.filename is None or error.strerror is None:
        return str(error)
    if error.errno == errno.ELOOP:
        return f"{error.filename} is a symbolic link, which negolab does not follow here; remove it"
    if isinstance(error, FileExistsError | NotADirectoryError):
        return f"{error.filename} is a file, but a folder is needed: choose another name"
    return f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}"
