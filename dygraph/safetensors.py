"""The safetensors layout: tensors by name after a JSON header, without code.

A file is the length of the header (8 bytes, little-endian), the header, the data. The header gives
the type, shape and position of each tensor::

    {"weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {...}}

Files written here have checksums in their metadata: of the header (with zeros for the checksum
itself) and of each tensor, so every flipped bit is detected. Files of other writers load without
checksums.
"""

import contextlib
import itertools
import json
import os
import re
import zlib

import numpy as np

from dygraph import _core
from dygraph.core import files, foreign
from dygraph.errors import ArgumentTypeError, FormatError, InvalidArgumentError, kind_of

__all__ = ["load_file", "read_metadata", "save_file"]

# Name in the header: our type, and the array it is read into.
_TYPES = {
    "BF16": ("bfloat16", "uint16"),
    "BOOL": ("bool", "uint8"),
    "C64": ("complex64", "complex64"),
    "F16": ("float16", "float16"),
    "F32": ("float32", "float32"),
    "F64": ("float64", "float64"),
    "I8": ("int8", "int8"),
    "I16": ("int16", "int16"),
    "I32": ("int32", "int32"),
    "I64": ("int64", "int64"),
    "U8": ("uint8", "uint8"),
}
_NAMES = {ours: name for name, (ours, _) in _TYPES.items()}
_MOST_RANK, _MOST_NAME, _MOST_HEADER = 16, 1024, 100_000_000
_OWN = "dygraph."  # prefix of our own metadata names
_START = b'{"__metadata__":{"dygraph.header":"%08x"'
_START_LENGTH = len(_START % 0)
_SUMS = "dygraph.checksums"


def _most_header(data_bytes):
    """The limit for the header: parsed JSON takes up to 50 times its size in memory."""
    return min(_MOST_HEADER, (1 << 20) + data_bytes // 16)


# Writing ------------------------------------------------------------------------------------------


def _stored(name, value):
    """(name of the type, shape, function giving the bytes) of a Variable or an array."""
    if isinstance(value, _core.Variable):
        if _core.is_selected_rows(value) or _core.is_empty(value):
            raise InvalidArgumentError(
                f"save_file: '{name}' must be a tensor with a value, got selected rows or nothing"
            )
        value = value.detach()  # as it is now: a later write copies first
        kind, shape = str(value.dtype), tuple(value.shape)
    elif isinstance(value, (np.ndarray, np.generic)):
        kind, shape = value.dtype.name, value.shape
    else:
        raise ArgumentTypeError(
            f"save_file: '{name}' must be a Variable or an array, got {kind_of(value)}"
        )
    if kind not in _NAMES:
        raise ArgumentTypeError(
            f"save_file: '{name}' must be of one of the types {', '.join(_NAMES)}, got {kind}"
        )

    def data():
        array = value.numpy() if isinstance(value, _core.Variable) else np.asarray(value)
        if kind == "bfloat16":
            array = (np.ascontiguousarray(array).view(np.uint32) >> 16).astype("<u2")
        little = array.dtype.newbyteorder("<")
        return np.ascontiguousarray(array, little).reshape(-1).view(np.uint8)

    return _NAMES[kind], shape, data


def _check_name(name):
    if not isinstance(name, str):
        raise ArgumentTypeError(f"save_file: a name must be a string, got {kind_of(name)}")
    if len(_encoded(name, InvalidArgumentError)) > _MOST_NAME or name == "__metadata__":
        raise InvalidArgumentError(
            f"save_file: a name must have at most {_MOST_NAME} bytes and not be '__metadata__', "
            f"got '{name[:60]}'"
        )


def _encoded(text, error):
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise error(f"safetensors: text must be valid Unicode, got {text[:60]!r}") from None


def save_file(tensors, path, metadata=None):
    """Write tensors to a safetensors file, which replaces `path` in one step.

    Parameters
    ----------
    tensors : dict of str to Variable or array
        Of any of our types. Level of detail is not kept.
    path : str or os.PathLike
    metadata : dict of str to str, optional
        Names may not begin with ``dygraph.``.

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError
        For values that the layout cannot hold; no file is written.

    Examples
    --------
    >>> import dygraph, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "a.safetensors")
    >>> save_file({"x": dygraph.to_variable([1.0, 2.0])}, path, {"made by": "me"})
    >>> load_file(path)["x"].numpy(), read_metadata(path)
    (array([1., 2.], dtype=float32), {'made by': 'me'})
    """
    for key in metadata or {}:
        if isinstance(key, str) and key.startswith(_OWN):
            raise InvalidArgumentError(
                f"save_file: names of metadata must not begin with '{_OWN}', got '{key}'"
            )
    path = files.path_of(path, "save_file")
    files.write_atomically(path, chunks_of(tensors, metadata))


def chunks_of(tensors, metadata=None):
    """The bytes of a file, buffer by buffer; metadata may have names of our own."""
    if not hasattr(tensors, "items"):
        raise ArgumentTypeError(
            f"save_file: tensors must be a dict of names to Variables, got {kind_of(tensors)}"
        )
    for key, text in (metadata or {}).items():
        for part in (key, text):
            if not isinstance(part, str):
                raise ArgumentTypeError(
                    f"save_file: metadata must be names and strings, got {kind_of(part)}"
                )
            _encoded(part, InvalidArgumentError)
    parts = []
    for name, value in tensors.items():
        _check_name(name)
        parts.append((name, *_stored(name, value)))
    # Wide types first: every tensor is aligned to its element.
    parts.sort(key=lambda part: (-np.dtype(_TYPES[part[1]][1]).itemsize, part[0]))
    entries, sums, at = {}, {}, 0
    for name, kind, shape, data in parts:
        array = data()
        sums[name] = zlib.crc32(array)
        entries[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    own = {"dygraph.header": "00000000", _SUMS: _compact(sums), **(metadata or {})}
    header = _compact({"__metadata__": own, **entries}).encode()
    header += b" " * (-len(header) % 8)
    if len(header) > _most_header(at):
        raise InvalidArgumentError(
            f"save_file: the header must have at most {_most_header(at)} bytes beside {at} of "
            f"data, got {len(header)}. Keep long lists as arrays"
        )
    header = _START % zlib.crc32(header) + header[_START_LENGTH:]
    length = len(header).to_bytes(8, "little")
    return itertools.chain([length, header], (part[3]() for part in parts))


def _compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


# Reading ------------------------------------------------------------------------------------------


def _unique(pairs):
    result = dict(pairs)
    if len(result) != len(pairs):
        seen = set()
        name = next(k for k, _ in pairs if k in seen or seen.add(k))
        raise FormatError(f"damaged safetensors file: the name '{name[:60]}' must not repeat")
    return result


def _no_constant(text):
    raise FormatError(f"damaged safetensors file: a number of JSON must be finite, got {text}")


def parse_json(text):
    """Strict JSON: no name twice, no NaN, no nesting without end. FormatError."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except FormatError:
        raise
    except (ValueError, RecursionError) as error:
        reason = str(error)[:100]
        raise FormatError(f"damaged safetensors file: must hold JSON, got {reason}") from None


class _Entry:
    __slots__ = ("begin", "dtype", "end", "name", "shape")

    def __init__(self, name, facts):
        self.name = name
        what = f"damaged safetensors file: the tensor '{name[:60]}'"
        if len(_encoded(name, FormatError)) > _MOST_NAME:
            raise FormatError(f"{what} must have a name of at most {_MOST_NAME} bytes")
        if not isinstance(facts, dict) or set(facts) != {"dtype", "shape", "data_offsets"}:
            raise FormatError(f"{what} must have dtype, shape and data_offsets and nothing else")
        self.dtype, self.shape, offsets = facts["dtype"], facts["shape"], facts["data_offsets"]
        if not isinstance(self.dtype, str) or self.dtype not in _TYPES:
            raise FormatError(
                f"{what} must be of one of the types {', '.join(_TYPES)}, got {self.dtype!r:.60}"
            )
        if not _is_sizes(self.shape) or len(self.shape) > _MOST_RANK:
            raise FormatError(f"{what} must have a shape of at most {_MOST_RANK} sizes")
        if not _is_sizes(offsets) or len(offsets) != 2:
            raise FormatError(f"{what} must have two offsets")
        self.begin, self.end = offsets
        size = np.dtype(_TYPES[self.dtype][1]).itemsize
        for n in self.shape:  # Python's integers do not overflow; ours do
            size *= n
        if any(n >= 1 << 63 for n in self.shape) or size != self.end - self.begin:
            raise FormatError(
                f"{what} must have data_offsets that fit its shape, {size} bytes apart, "
                f"got {self.end - self.begin}"
            )


def _is_sizes(value):
    return isinstance(value, list) and all(type(n) is int and n >= 0 for n in value)


def _read_header(file, path):
    """(entries in order of their data, metadata) of an open file; everything is checked."""
    size = os.fstat(file.fileno()).st_size
    if size < 8:
        raise FormatError(
            f"damaged safetensors file: '{path}' must have 8 bytes and more, got {size}"
        )
    length = bytearray(8)
    files.read_exactly(file, length, "the length of a header")
    first = bytes(length)
    length = int.from_bytes(length, "little")
    if length > size - 8 and first[0] == 0x80:
        raise FormatError(
            f"'{path}' must be a safetensors file, got a pickle, which could run code. Load it "
            "with the library that made it and save its arrays with numpy.savez"
        )
    if length > size - 8:
        raise FormatError(
            f"damaged safetensors file: the header must end within the file's {size} bytes, got a "
            f"length of {length}"
        )
    data_bytes = size - 8 - length
    if length > _most_header(data_bytes):
        raise FormatError(
            f"damaged safetensors file: the header must have at most {_most_header(data_bytes)} "
            f"bytes beside {data_bytes} of data, got {length}"
        )
    header = bytearray(length)
    files.read_exactly(file, header, "a header")
    try:
        text = header.decode()
    except UnicodeDecodeError:
        raise FormatError("damaged safetensors file: the header must be UTF-8") from None
    if not text.startswith("{"):
        raise FormatError("damaged safetensors file: the header must begin with '{'")
    table = parse_json(text)
    metadata = table.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise FormatError("damaged safetensors file: metadata must be an object of strings")
    if any(key.startswith(_OWN) for key in metadata):
        _check_own(header)
    entries = [_Entry(name, facts) for name, facts in table.items()]
    entries.sort(key=lambda e: (e.begin, e.end))
    at = 0
    for e in entries:
        if e.begin != at:
            raise FormatError(
                f"damaged safetensors file: tensors must lie one after another, but "
                f"'{e.name[:60]}' begins at {e.begin} and the one before ends at {at}"
            )
        at = e.end
    if at != data_bytes:
        raise FormatError(
            f"damaged safetensors file: the tensors must fill {data_bytes} bytes of data, got {at}"
        )
    return entries, metadata


def _check_own(header):
    given = re.match(rb'\{"__metadata__":\{"dygraph\.header":"([0-9a-f]{8})"', header)
    expected = int(given[1], 16) if given else None
    if given:
        header[:_START_LENGTH] = _START % 0
    if expected != zlib.crc32(header):
        raise FormatError(
            "damaged safetensors file: the checksum of the header must be the one that it "
            "gives, got another"
        )


def _read_tensor(file, entry):
    kind, raw = _TYPES[entry.dtype]
    array = np.empty(entry.shape, np.dtype(raw).newbyteorder("<"))
    if array.nbytes:
        files.read_exactly(file, array.reshape(-1).view(np.uint8), f"the tensor '{entry.name}'")
    return array, kind


def _to_variable(array, kind, name):
    if kind == "bfloat16":
        return _core.to_variable((array.astype(np.uint32) << 16).view(np.float32), None, "bfloat16")
    if kind == "bool":
        if array.size and array.max() > 1:
            raise FormatError(
                f"damaged safetensors file: '{name}' must hold bools of 0 and 1, got another byte"
            )
        array = array.view(bool)
    return _core.to_variable(array)


@contextlib.contextmanager
def _naming(path):
    """Add the file's name to errors."""
    try:
        yield
    except FormatError as error:
        if str(path) not in str(error):
            raise FormatError(f"{error}\nin the file '{path}'") from None
        raise


def read(path):
    """(tensors by name, all metadata) of a safetensors file."""
    path = files.path_of(path, "load_file")
    with files.open_regular(path) as file, _naming(path):
        entries, metadata = _read_header(file, path)
        sums = parse_json(metadata.get(_SUMS, "{}"))
        if not isinstance(sums, dict) or (sums and set(sums) != {e.name for e in entries}):
            raise FormatError("damaged safetensors file: there must be a checksum for each tensor")
        tensors = {}
        for entry in entries:
            array, kind = _read_tensor(file, entry)
            if sums and zlib.crc32(array.reshape(-1).view(np.uint8)) != sums[entry.name]:
                raise FormatError(
                    f"damaged safetensors file: the checksum of '{entry.name}' must be the one "
                    "that the header gives, got another"
                )
            tensors[entry.name] = _to_variable(array, kind, entry.name)
    if not any(key.startswith(_OWN) for key in metadata):
        for variable in tensors.values():
            foreign.mark(variable)
    return tensors, metadata


def load_file(path):
    """Read all tensors of a safetensors file, written by any library.

    Parameters
    ----------
    path : str or os.PathLike

    Returns
    -------
    dict of str to Variable
        In the order of the data.

    Raises
    ------
    MissingFileError
        (a FileNotFoundError) if the file does not exist.
    FormatError
        (a ValueError) for a damaged file, unsupported types, or a link. Memory use is bounded by
        the size of the file, not by sizes in its header.

    Examples
    --------
    >>> import dygraph, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "a.safetensors")
    >>> save_file({"x": dygraph.to_variable([1.0, 2.0])}, path)
    >>> load_file(path)["x"].tolist()
    [1.0, 2.0]
    """
    return read(path)[0]


def read_metadata(path):
    """The metadata of a safetensors file: strings by name, without our own checksums.

    Parameters
    ----------
    path : str or os.PathLike

    Returns
    -------
    dict of str to str

    Examples
    --------
    >>> import dygraph, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "a.safetensors")
    >>> save_file({"x": dygraph.ones([2])}, path, {"made by": "me"})
    >>> read_metadata(path)
    {'made by': 'me'}
    """
    path = files.path_of(path, "read_metadata")
    with files.open_regular(path) as file, _naming(path):
        _, metadata = _read_header(file, path)
    return {k: v for k, v in metadata.items() if not k.startswith(_OWN)}
