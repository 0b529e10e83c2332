"""Values as raw memory: a header of fixed size, then the bytes. Nothing is unpickled.

A header says what the bytes are: a NumPy array, a Variable, or selected rows (row numbers, then one
row of values for each). `opened` compares it with the number of bytes before it trusts it, so a
message that another program sent raises.
"""

import math
import struct
import typing

import numpy as np

from dygraph import _core
from dygraph.core.exchange import from_dlpack
from dygraph.core.sparse import selected_rows
from dygraph.errors import ArgumentTypeError, FormatError, UnimplementedError, kind_of

__all__ = ["HEADER_BYTES", "Packet", "closed", "header", "opened"]

ARRAY, VARIABLE, ROWS, DEVICE = range(4)  # of DEVICE the data go another way
_DTYPES = (
    "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128 bfloat16"
).split()
_HEADER = struct.Struct("<4sBBBBqq8q")  # magic, version, kind, dtype, rank; payload; rows; sizes
_MAGIC, _VERSION, _MOST_AXES = b"DGRW", 1, 8
HEADER_BYTES = _HEADER.size


class Packet(typing.NamedTuple):
    """A value as memory: its kind, the name of its element type, its array, and its row numbers.

    The array of bfloat16 holds float32, since NumPy has no such type. Of selected rows ``height``
    is the number of rows of the whole matrix.
    """

    kind: int
    dtype: str
    array: np.ndarray
    rows: np.ndarray | None = None
    height: int = 0

    def signature(self, name):
        """What all ranks of a call must agree on, as text."""
        if self.kind == ROWS:
            return f"{name} of selected rows, height {self.height}, {self.row_text()}"
        return f"{name} of {self.dtype} {list(self.array.shape)}"

    def row_text(self):
        """Element type and shape of one row."""
        return f"rows of {self.dtype} {list(self.array.shape[1:])}"


def closed(value, what):
    """The packet of a value: memory is shared where it can be, and only read.

    Raises
    ------
    ArgumentTypeError, UnimplementedError
        For other kinds of values, more than 8 axes, a level of detail, or a recorded value.
    """
    if isinstance(value, _core.Variable):
        if value.is_selected_rows():
            values = value.rows_value()
            rows = np.asarray(value.rows(), "int64")
            return Packet(ROWS, str(values.dtype), _array_of(values, what), rows, value.height())
        if value.lod_level:
            raise UnimplementedError(
                f"{what}: a level of detail is not sent, got {value.lod_level} levels. "
                "Send the rows and the offsets (x.lod()) as two values"
            )
        return Packet(VARIABLE, str(value.dtype), _array_of(value, what))
    if isinstance(value, (np.ndarray, np.generic, int, float, complex)):
        array = np.asarray(value)
        if array.dtype.name not in _DTYPES or not array.dtype.isnative:
            raise ArgumentTypeError(
                f"{what}: an array must have one of the types {', '.join(_DTYPES)} in native byte "
                f"order, got {array.dtype}"
            )
        _check_axes(array, what)
        return Packet(ARRAY, array.dtype.name, np.ascontiguousarray(array).reshape(array.shape))
    raise ArgumentTypeError(
        f"{what}: the value must be a Variable, a NumPy array or a number, got {kind_of(value)}"
    )


def _check_axes(array, what):
    if array.ndim > _MOST_AXES:
        raise UnimplementedError(f"{what}: at most {_MOST_AXES} axes are sent, got {array.ndim}")


def _array_of(variable, what):
    if str(variable.dtype) == "bfloat16":
        array = variable.numpy()
    else:
        array = np.from_dlpack(variable.detach())
    _check_axes(array, what)
    return array


def bits(packet):
    """The elements in the form that is sent: bfloat16 as the upper halves of float32."""
    if packet.dtype != "bfloat16":
        return packet.array
    return (packet.array.view("uint32") >> 16).astype("uint16")


def header(packet):
    """The header of a packet, `HEADER_BYTES` bytes."""
    shape = packet.array.shape
    sizes = (*shape, *[0] * (_MOST_AXES - len(shape)))
    size = packet.array.size * item_bytes(packet.dtype)
    rows = -1
    if packet.kind == DEVICE:
        size = 0
    if packet.kind == ROWS:
        rows, size = packet.height, size + packet.rows.nbytes
    code = _DTYPES.index(packet.dtype)
    return _HEADER.pack(_MAGIC, _VERSION, packet.kind, code, len(shape), size, rows, *sizes)


def item_bytes(dtype):
    """Bytes of one element as it is sent."""
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize


class Header(typing.NamedTuple):
    """What a header says: kind, element type, shape, height of selected rows, bytes that follow."""

    kind: int
    dtype: str
    shape: tuple
    height: int
    payload: int


def read_header(data, source):
    """The contents of a header, compared with each other.

    Raises
    ------
    FormatError
        The bytes are no header of this version.
    """
    if len(data) < HEADER_BYTES:
        raise FormatError(
            f"recv: a message from rank {source} must begin with {HEADER_BYTES} bytes, "
            f"got {len(data)}"
        )
    magic, version, kind, code, rank, payload, height, *sizes = _HEADER.unpack(data[:HEADER_BYTES])
    if magic != _MAGIC or version != _VERSION:
        raise FormatError(
            f"recv: a message from rank {source} must begin with {_MAGIC!r}, version {_VERSION}, "
            f"got {magic!r} and {version}. All ranks must run the same version of dygraph"
        )
    shape = tuple(sizes[:rank])
    fine = kind <= DEVICE and code < len(_DTYPES) and rank <= _MOST_AXES and min(sizes) >= 0
    if fine:
        size = math.prod(shape) * item_bytes(_DTYPES[code]) * (kind != DEVICE)
        if kind == ROWS:
            fine = rank >= 1 and height >= 0
            size += 8 * shape[0] if fine else 0
        fine = fine and size == payload
    if not fine:
        raise FormatError(
            f"recv: the header of a message from rank {source} contradicts itself: kind {kind}, "
            f"type {code}, sizes {list(sizes)}, {payload} bytes"
        )
    return Header(kind, _DTYPES[code], shape, height, payload)


def opened(head, data):
    """The value of a header and the bytes that follow it: memory of its own.

    Raises
    ------
    FormatError
        Another number of bytes than the header says, or row numbers outside the height.
    """
    data = memoryview(data)
    if len(data) != head.payload:
        raise FormatError(f"recv: the header says {head.payload} bytes, got {len(data)}")
    rows = None
    if head.kind == ROWS:
        rows = np.frombuffer(data[: 8 * head.shape[0]], "int64")
        data = data[8 * head.shape[0] :]
        if rows.size and not (0 <= rows.min() and rows.max() < head.height):
            raise FormatError(f"recv: row numbers must be in [0, {head.height}), got {rows}")
    stored = "uint16" if head.dtype == "bfloat16" else head.dtype
    array = np.frombuffer(data, stored).reshape(head.shape)
    return value_of(head.kind, head.dtype, _from_bits(array, head.dtype), rows, head.height)


def _from_bits(array, dtype):
    return (array.astype("uint32") << 16).view("float32") if dtype == "bfloat16" else array


def from_bytes(data, dtype, shape):
    """The array of elements in the form that is sent; that of bfloat16 holds float32."""
    stored = "uint16" if dtype == "bfloat16" else dtype
    return _from_bits(np.ascontiguousarray(data).view(stored).reshape(shape), dtype)


def value_of(kind, dtype, array, rows=None, height=0):
    """A value of a kind over an array that belongs to it."""
    if kind == ARRAY:
        return array
    made = variable_of(array, dtype)
    return made if kind == VARIABLE else selected_rows(rows.tolist(), height, made)


def variable_of(array, dtype):
    """A Variable over the memory of an array; bfloat16 is rounded from float32."""
    if dtype == "bfloat16":
        return _core.to_variable(array, None, "bfloat16")
    return from_dlpack(array)
