"""NumPy's .npz archives: reading with memory bounded by the file, and writing."""

import os
import warnings
import zipfile

import numpy as np

from dygraph import _core
from dygraph.core import files, foreign
from dygraph.errors import ArgumentTypeError, DygraphError, FormatError, kind_of

__all__ = ["load"]

_MOST_RANK, _MOST_NAME = 16, 1024


_OWN = b"dygraph"  # the comment of an archive of Variables


def load(path, max_bytes=None):
    """Read all arrays of an ``.npz`` file, as ``numpy.savez`` writes them.

    Parameters
    ----------
    path : str or os.PathLike
    max_bytes : int, optional
        The limit for all unpacked arrays together. None: 4 times the file plus 64 MB, which is
        enough for uncompressed archives; compressed ones may need more.

    Returns
    -------
    dict of str to Variable

    Raises
    ------
    MissingFileError
        If the file does not exist.
    FormatError
        For a damaged archive, an array of objects or of an unsupported type, or a duplicate name.
    """
    path = files.path_of(path, "load")
    with files.open_regular(path) as file:
        try:
            return _read(file, path, max_bytes)
        except (DygraphError, MemoryError):
            raise
        except (
            Exception
        ) as error:  # zipfile and NumPy raise a dozen exception types on damaged bytes
            raise FormatError(
                f"damaged archive: '{path}' must be a sound .npz file. {type(error).__name__}: "
                f"{str(error)[:200]}"
            ) from None


def _read(file, path, max_bytes):
    size = os.fstat(file.fileno()).st_size
    _check_directory(file, size)
    file.seek(0)
    most = 4 * size + (64 << 20) if max_bytes is None else max_bytes
    result = {}
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if any(m.filename.endswith("data.pkl") for m in members):
            raise FormatError(
                f"'{path}' must be a safetensors file or an .npz archive, got a PyTorch file, "
                "whose pickle could run code. Save its state with safetensors or numpy.savez"
            )
        total = sum(m.file_size for m in members)
        if total > most:
            raise FormatError(
                f"the arrays of '{path}' must fit into {most} bytes, got {total}. If you trust the "
                "file, dygraph.saving.npz.load takes max_bytes"
            )
        for member in members:
            name = member.filename[:-4] if member.filename.endswith(".npy") else member.filename
            if name in result or len(name) > _MOST_NAME:
                raise FormatError(
                    f"damaged archive: a name must not repeat and must have at most {_MOST_NAME} "
                    f"characters, got '{name[:60]}'"
                )
            with archive.open(member) as stream:
                result[name] = _read_array(stream, name, member.file_size)
        if archive.comment != _OWN:
            for variable in result.values():
                foreign.mark(variable)
    return result


def _check_directory(file, size):
    """The table of contents takes 20 times its size in memory, so it must be a small part."""
    tail = min(size, 22 + 20 + 56 + (1 << 16))
    file.seek(size - tail)
    data = bytearray(tail)
    files.read_exactly(file, data, "the end of an archive")
    at = data.rfind(b"PK\5\6")
    if at < 0 or len(data) - at < 22:
        raise FormatError("damaged archive: there must be a table of contents at the end")
    length = int.from_bytes(data[at + 12 : at + 16], "little")
    if length == 0xFFFFFFFF:  # the numbers are in the 64-bit record before
        wide = data.rfind(b"PK\6\6", 0, at)
        length = int.from_bytes(data[wide + 40 : wide + 48], "little") if wide >= 0 else size
    if length > (1 << 20) + size // 16:
        raise FormatError(
            f"damaged archive: the table of contents must be a small part of its {size} bytes, "
            f"got {length}"
        )


def _read_array(stream, name, size):
    what = f"damaged archive: the array '{name}'"
    version = np.lib.format.read_magic(stream)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise FormatError(f"{what} must be of format 1.0 or 2.0, got {version}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of headers that only Python 2 wrote
        shape, fortran, dtype = readers[version](stream)
    try:
        ours = None if dtype.hasobject else _core.dtype_of(dtype.name)
    except DygraphError:
        ours = None
    if ours is None or str(ours) != dtype.name:
        raise FormatError(f"{what} must be of an element type of dygraph, got {str(dtype)[:60]}")
    count = dtype.itemsize
    for n in shape:
        if n < 0:
            raise FormatError(f"{what} must have sizes from 0, got {shape}")
        count *= n
    if len(shape) > _MOST_RANK or any(n >= 1 << 63 for n in shape):
        raise FormatError(f"{what} must have at most {_MOST_RANK} sizes of 63 bits")
    if count > size:
        raise FormatError(f"{what} must have {count} bytes, got {size} with its header")
    array = np.empty(shape[::-1] if fortran else shape, dtype)
    if array.nbytes:
        files.read_exactly(stream, array.reshape(-1).view(np.uint8), f"the array '{name}'")
    if stream.read(1):
        raise FormatError(f"{what} must end with its data, got more")
    if dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise FormatError(f"{what} must hold bools of 0 and 1, got another byte")
    array = array.astype(dtype.newbyteorder("="), copy=False)
    return _core.to_variable(np.ascontiguousarray(array.T) if fortran else array)


# Writing ------------------------------------------------------------------------------------------


class _Sink:
    """A write-only file whose bytes are removed as they are written."""

    def __init__(self):
        self.parts, self.at = [], 0

    def write(self, data):
        self.parts.append(bytes(data))
        self.at += len(self.parts[-1])
        return len(self.parts[-1])

    def tell(self):
        return self.at

    def flush(self):
        pass

    def take(self):
        parts, self.parts = self.parts, []
        return parts


def chunks_of(arrays):
    """The bytes of an archive of a dict of Variables and arrays, as ``numpy.savez`` writes it.

    All values are checked before the first byte. ArgumentTypeError for unsupported values.
    """
    held = {}
    if not hasattr(arrays, "items"):
        raise ArgumentTypeError(
            f"save: an .npz archive holds a dict of Variables and arrays, got {kind_of(arrays)}"
        )
    for name, value in arrays.items():
        of_ours = isinstance(value, _core.Variable)
        if not of_ours and not isinstance(value, np.ndarray):
            got = kind_of(value)
        elif str(value.dtype) == "bfloat16" or value.dtype == object:
            got = f"one of {value.dtype}"
        elif of_ours and _core.lod(value):
            got = "a Variable with level of detail"
        elif not isinstance(name, str):
            got = f"{kind_of(name)} as a name"
        else:
            held[name] = value.detach() if of_ours else value
            continue
        raise ArgumentTypeError(
            f"save: an .npz archive holds Variables and arrays by name, got {got} for '{name}'. "
            "Save nested data under a name that ends in .safetensors"
        )
    ours = all(isinstance(v, _core.Variable) for v in held.values())
    return _written(held, _OWN if ours else b"")


def _written(held, comment):
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", allowZip64=True) as archive:
        archive.comment = comment
        for name, value in held.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(value), allow_pickle=False)
            yield from sink.take()
    yield from sink.take()
