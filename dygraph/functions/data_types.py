"""Questions about element types, conversion, and what the array API standard asks of a module."""

from dataclasses import dataclass

import numpy as np

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import result_type
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from dygraph.functions.arguments import on_device, place_of

Variable = _core.Variable
_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8",),
    "real floating": ("float16", "bfloat16", "float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


@dataclass(frozen=True)
class FloatInfo:
    """What `finfo` gives: the limits of a floating type."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: _core.dtype


@dataclass(frozen=True)
class IntegerInfo:
    """What `iinfo` gives: the limits of an integer type."""

    bits: int
    max: int
    min: int
    dtype: _core.dtype


def _type_of(value):
    return value.dtype if isinstance(value, Variable) else _core.dtype_of(value)


def finfo(type, /):
    """The limits of a floating type, or of a Variable's.

    Parameters
    ----------
    type : dtype or Variable

    Returns
    -------
    FloatInfo
        ``bits``, ``eps``, ``max``, ``min``, ``smallest_normal``, ``dtype``.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.finfo("float32").bits, dygraph.finfo(dygraph.float64).eps
    (32, 2.220446049250313e-16)
    """
    dtype = _type_of(type)
    if not dtype.is_floating:
        raise ArgumentTypeError(f"finfo: the type must be a floating one, got {dtype.name}")
    if dtype.name == "bfloat16":
        largest = (2 - 2**-7) * 2.0**127
        return FloatInfo(16, 2.0**-7, largest, -largest, 2.0**-126, dtype)
    info = np.finfo(dtype.name)
    numbers = map(float, (info.eps, info.max, info.min, info.smallest_normal))
    return FloatInfo(info.bits, *numbers, dtype)


def iinfo(type, /):
    """The limits of an integer type, or of a Variable's.

    Parameters
    ----------
    type : dtype or Variable

    Returns
    -------
    IntegerInfo
        ``bits``, ``max``, ``min``, ``dtype``.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.iinfo("uint8").max, dygraph.iinfo(dygraph.int16).min
    (255, -32768)
    """
    dtype = _type_of(type)
    if dtype.name not in _KINDS["integral"]:
        raise ArgumentTypeError(f"iinfo: the type must be an integer one, got {dtype.name}")
    info = np.iinfo(dtype.name)
    return IntegerInfo(info.bits, int(info.max), int(info.min), dtype)


def isdtype(dtype, kind):
    """Whether a type is of a kind.

    Parameters
    ----------
    dtype : dtype
    kind : dtype, str or tuple of them
        A type; or 'bool', 'signed integer', 'unsigned integer', 'integral', 'real floating',
        'complex floating' or 'numeric'; one of a tuple suffices.

    Returns
    -------
    bool

    Examples
    --------
    >>> import dygraph
    >>> dygraph.isdtype(dygraph.float32, ("integral", "real floating"))
    True
    """
    dtype = _core.dtype_of(dtype)
    for one in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(one, str) and one in _KINDS:
            if dtype.name in _KINDS[one]:
                return True
        elif isinstance(one, str) and " " in one:
            check.choice(one, tuple(_KINDS), "isdtype: kind")
        elif dtype == _core.dtype_of(one):
            return True
    return False


def can_cast(from_, to, /):
    """Whether ``promote_types(from_, to)`` is `to`.

    Parameters
    ----------
    from_ : dtype or Variable
    to : dtype

    Returns
    -------
    bool

    Examples
    --------
    >>> import dygraph
    >>> dygraph.can_cast("int32", "int64"), dygraph.can_cast("float64", "float32")
    (True, False)
    """
    return result_type(_type_of(from_), to) == _core.dtype_of(to)


def astype(x, dtype, /, *, copy=True, device=None):
    """The values in another type; gradients flow back through float types.

    Parameters
    ----------
    x : Variable
    dtype : dtype
    copy : bool
        False: `x` itself if it has the type.
    device : Place, optional

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.astype(dygraph.asarray([1.7]), dygraph.int32).tolist()
    [1]
    """
    if check.variable(x, "astype: x").dtype == _core.dtype_of(dtype) and not copy:
        return on_device(x, device, "astype")
    return on_device(x.astype(dtype), device, "astype")


class ArrayNamespaceInfo:
    """What `__array_namespace_info__` gives: abilities, devices and types of this module."""

    def capabilities(self):
        """Indexing by bools and shapes that depend on values work; axes are at most 16."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}

    def default_device(self):
        """The host."""
        return _core.CPUPlace()

    def devices(self):
        """The places of this build."""
        return [_core.CPUPlace()]

    def default_dtypes(self, *, device=None):
        """The types of results whose type nothing else decides."""
        self._check(device, "default_dtypes")
        real = _core.dtype_of(_core.cast_floats_to() or "float32")
        return {"real floating": real, "integral": _core.int64, "indexing": _core.int64}

    def dtypes(self, *, device=None, kind=None):
        """The standard's types of this build by name, all or of a kind as in `isdtype`."""
        self._check(device, "dtypes")
        names = (*_KINDS["bool"], *_KINDS["integral"], "float32", "float64")
        found = {name: _core.dtype_of(name) for name in names}
        return {n: t for n, t in found.items() if kind is None or isdtype(t, kind)}

    @staticmethod
    def _check(device, owner):
        if device is not None and place_of(device, owner) != _core.CPUPlace():
            raise InvalidArgumentError(f"{owner}: the device must be the host, got {device}")


def __array_namespace_info__():
    """Abilities, devices and types of this module, for libraries that take any array API.

    >>> import dygraph
    >>> dygraph.__array_namespace_info__().default_dtypes()["integral"]
    dygraph.int64
    """
    return ArrayNamespaceInfo()
