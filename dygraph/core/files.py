"""Files on disk: opened without following links, replaced atomically."""

import contextlib
import errno
import fcntl
import os
import stat

from dygraph import _core
from dygraph.errors import (
    ArgumentTypeError,
    FormatError,
    InvalidArgumentError,
    MissingFileError,
    kind_of,
)

__all__ = ["open_regular", "path_of", "reading", "write_atomically", "write_together"]

_MARK, _NEXT = ".dygraph.set", ".dygraph.next"  # as in csrc/files/file_set.h


def path_of(path, what):
    """`path` as a string. ArgumentTypeError for other types."""
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentTypeError(f"{what}: path must be a string or a Path, got {kind_of(path)}")
    path = os.fspath(path)
    if not isinstance(path, str) or not path or "\0" in path:
        raise InvalidArgumentError(f"{what}: path must be text and not empty, got {path!r}")
    return path


def open_regular(path):
    """Open a file to read its bytes, unbuffered. Links, directories and pipes are refused.

    Raises
    ------
    MissingFileError
        (a FileNotFoundError) if the file does not exist.
    FormatError
        For anything but a regular file.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        file = os.fdopen(os.open(_current(path), flags), "rb", buffering=0)
    except FileNotFoundError:
        raise MissingFileError(f"the file to read must exist, got '{path}'") from None
    except IsADirectoryError:
        raise FormatError(f"the file must be a regular file, got the directory '{path}'") from None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise FormatError(f"the file must not be a symbolic link, got '{path}'") from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise FormatError(f"the file must be a regular file, got '{path}'")
    return file


def _current(path):
    """The current path of the file: next to its name if a killed process left a committed set."""
    folder, name = os.path.split(path)
    if os.path.lexists(os.path.join(folder, _MARK)):
        waiting = os.path.join(folder, f".{name}{_NEXT}")
        if os.path.lexists(waiting):
            return waiting
    return path


@contextlib.contextmanager
def reading(folder):
    """Inside, no process replaces files of the folder, so files that are read belong together."""
    try:
        fd = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:  # opening a file in it raises
        yield
        return
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(fd, fcntl.LOCK_SH)
        yield
    finally:
        os.close(fd)


def read_exactly(file, buffer, what):
    """Fill `buffer` from `file`. FormatError if the file ends early."""
    view, done = memoryview(buffer).cast("B"), 0
    while done < len(view):
        count = file.readinto(view[done:])
        if not count:
            raise FormatError(f"the file must hold {what} of {len(view)} bytes, got {done}")
        done += count


def write_atomically(path, chunks):
    """Write buffers to a new file that replaces `path` by one rename.

    The file is flushed to disk before the rename, and the directory after it; a killed process
    leaves the old file or the new one. A link at `path` is replaced, not followed. A missing
    directory is made. A device or a pipe, such as /dev/null, is written to and stays what it is.
    """
    if _is_stream(path):
        with open(path, "wb", buffering=0) as stream:
            for chunk in chunks:
                stream.write(chunk)
        return
    folder, name = os.path.split(path)
    _core.write_file(folder, name, chunks)


def _is_stream(path):
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def write_together(folder, contents):
    """Replace several files of a folder together: all of them, or none.

    `contents` gives for each name its buffers, or a list of Variables for Fluid's stream of
    tensors. Our readers see the old files or the new ones, also after a killed process.
    """
    _core.write_files(folder, contents)
