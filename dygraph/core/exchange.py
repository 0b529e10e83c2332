"""Exchange with other array libraries: NumPy's protocols, DLPack, CUDA arrays, single elements."""

import contextlib
import sys

import numpy as np

from dygraph import _core
from dygraph.core import check, promotion
from dygraph.core.lazily import find
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    UnimplementedError,
    kind_of,
)

__all__ = ["from_dlpack"]

Variable = _core.Variable
_HOST = (1, 0)  # DLPack's number of host memory
_CUDA, _CUDA_MANAGED = 2, 13  # and of the memory of CUDA devices
_DEFAULT_STREAM, _NO_STREAM = 1, -1
_MANY_EXPORTED = 64


def array(self, dtype=None, copy=None):
    """For ``np.asarray(x)``: a read-only view, or a copy on request."""
    if dtype is not None and np.dtype(dtype) != _core.view(self).dtype:
        if copy is False:
            raise InvalidArgumentError(
                f"np.asarray: dtype must be {self.dtype} with copy=False, got {np.dtype(dtype)}. "
                "Leave copy out, or convert with astype()"
            )
        return _core.view(self).astype(dtype)
    return self.numpy() if copy else _core.view(self)


def array_ufunc(self, ufunc, method, *inputs, **kwargs):
    """NumPy's elementwise functions on Variables; see `dygraph.core.numpy_protocol`."""
    from dygraph.core import numpy_protocol

    return numpy_protocol.call_ufunc(ufunc, method, tuple(map(promotion.on_device, inputs)), kwargs)


def cupy_kernel(self, kernel, *args, **kwargs):
    """CuPy's elementwise functions on Variables, as NumPy's: ``cupy_array + x`` is a Variable."""
    return array_ufunc(self, kernel, "__call__", *args, **kwargs)


def array_function(self, func, types, args, kwargs):
    """NumPy's other functions on Variables; see `dygraph.core.numpy_protocol`."""
    from dygraph.core import numpy_protocol

    return numpy_protocol.call_array_function(func, args, kwargs)


def element(self, *index):
    """The element at an index, for ``item(*index)``."""
    if len(index) == 1 and isinstance(index[0], tuple):
        index = index[0]
    index = [check.integer(i, "item: an index") for i in index]
    if len(index) == 1:
        number = check.axis(index[0], self.size, "item: the number of an element")
        return self.flatten()[number].item()
    if len(index) != self.ndim:
        raise InvalidArgumentError(
            f"item: the index must have one int for each of the {self.ndim} axes, got {index}"
        )
    return self[tuple(index)].item()


def contains(self, value):
    """``value in x``: whether any element equals it."""
    return bool((_core.view(self) == np.asarray(value)).any())


def dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A DLPack capsule of the values, for another library.

    A consumer that asks for version 1 (``max_version=(1, 0)``) shares the memory, read-only, and
    keeps it alive; a later write to this variable copies first. Other consumers get a copy, since
    older capsules cannot be marked read-only.

    On a CUDA device the host does not wait: the consumer's `stream` waits for what is queued on
    ours. None and 1 are CUDA's default stream, 2 the one of the thread, -1 asks for no wait, other
    numbers are addresses of streams.

    Raises
    ------
    BufferError
        For a device that is neither the variable's nor the host, for ``copy=False`` if a copy is
        needed, and for a stream that is none.
    """
    here = dlpack_device(self)
    wanted = here if dl_device is None else tuple(int(n) for n in dl_device)
    if wanted not in (here, _HOST):
        own = f"{here} or " if here != _HOST else ""
        raise BufferError(
            f"__dlpack__: dl_device must be {own}{_HOST}, host memory, got {dl_device}"
        )
    moves = wanted != here
    if wanted == _HOST and here == _HOST and stream not in (None, _NO_STREAM):
        raise BufferError(f"__dlpack__: stream must be None for host memory, got {stream!r}")
    versioned = max_version is not None and tuple(max_version)[0] >= 1
    if copy is False and moves:
        raise BufferError(f"__dlpack__: dl_device must be {here} with copy=False, got {dl_device}")
    if copy is False and not versioned:
        raise BufferError(
            "__dlpack__: max_version must be at least (1, 0) with copy=False, got "
            f"{max_version}. Older consumers need a copy"
        )
    capsule = _core.to_dlpack(self, versioned, bool(copy), wanted == _HOST)
    if wanted != _HOST and stream != _NO_STREAM:
        if stream is None:
            stream = _DEFAULT_STREAM
        if isinstance(stream, bool) or not hasattr(stream, "__index__") or stream <= 0:
            raise BufferError(
                "__dlpack__: stream must be None, -1, 1, 2 or the address of a stream, got "
                f"{stream!r}"
            )
        _core.device.let_wait(self.place, stream.__index__())
    return capsule


def dlpack_device(self):
    """The device of `__dlpack__`: ``(2, n)``, a CUDA device, or ``(1, 0)``, the host."""
    if _core.is_empty(self) or self.place.kind != "CUDAPlace":
        return _HOST
    return _CUDA, self.place.device_id


def cuda_array_interface(self):
    """How other libraries look at the values on a CUDA device; AttributeError elsewhere.

    The memory is read-only to them; it stays as it is while this variable lives, and a write to the
    variable copies first. `__dlpack__` lets it go as soon as the other array does.
    """
    place = None if _core.is_empty(self) else self.place
    if place is None or place.kind != "CUDAPlace" or self.dtype.name == "bfloat16":
        raise AttributeError(
            f"'{type(self).__name__}' has no attribute '__cuda_array_interface__' for {self.dtype} "
            f"on {place}"
        )
    address, holder = _core.exported(self)
    exported = self.__dict__.setdefault("_exported", [])
    if not exported or exported[-1][0] != address:
        exported.append((address, holder))
    if len(exported) == _MANY_EXPORTED:
        import warnings

        warnings.warn(
            f"__cuda_array_interface__: {_MANY_EXPORTED} values that '{self.name}' had are kept, "
            "since other libraries may look at them. cupy.from_dlpack(x) keeps a value as long as "
            "the array lives",
            RuntimeWarning,
            stacklevel=2,
        )
    return {
        "shape": tuple(self.shape),
        "typestr": np.dtype(self.dtype.name).str,
        "data": (address, True),
        "strides": None,
        "stream": _core.device.stream(place),
        "version": 3,
    }


def of_cuda_array(x, copy=None):
    """A Variable over an object with ``__cuda_array_interface__``; see `from_dlpack`."""
    described = x.__cuda_array_interface__
    shape, dtype = tuple(described["shape"]), np.dtype(described["typestr"])
    if described.get("mask") is not None:
        raise UnimplementedError("from_dlpack: the array must have no mask, got one with a mask")
    strides, step = described.get("strides"), [dtype.itemsize]
    for size in shape[:0:-1]:
        step.insert(0, step[0] * size)
    strides = step[: len(shape)] if strides is None else strides
    if any(s % dtype.itemsize for s in strides):
        raise InvalidArgumentError(
            f"from_dlpack: the strides must be multiples of {dtype.itemsize} bytes, the size of an "
            f"element, got {tuple(strides)}"
        )
    place = _core.CUDAPlace(_number_of(x))
    stream = described.get("stream") if described.get("version", 0) >= 3 else _DEFAULT_STREAM
    if stream == 0:
        raise InvalidArgumentError(
            "from_dlpack: the stream of a __cuda_array_interface__ must not be 0, which says "
            "neither 1, the default stream, nor 2, the thread's"
        )
    if stream is not None:
        _core.device.wait_for(place, stream)
    elements = [s // dtype.itemsize for s in strides]
    made = _core.from_cuda_array(place, described["data"][0], shape, elements, dtype, x, bool(copy))
    return _shared_if(copy is False, made)


def _number_of(x):
    """The number of the device of another library's array: of its `device`, else of the current."""
    device = getattr(x, "device", None)
    for name in ("id", "index", "device_id"):  # CuPy, torch, ours
        number = getattr(device, name, None)
        if isinstance(number, int):
            return number
    here = _core.current_place()
    return here.device_id if here.kind == "CUDAPlace" else 0


def from_dlpack(x, *, device=None, copy=None):
    """A Variable over the memory of another library's array, without a copy if possible.

    The memory is shared: writes of its owner change the Variable. The Variable never writes to it:
    a write to the Variable copies first, and so does a call whose values the tape keeps.

    An array on a CUDA device stays there. Its library lets our stream wait for what it has queued,
    and gets the memory back when we have done what we queued.

    Parameters
    ----------
    x : object with __dlpack__() or __cuda_array_interface__, or capsule
        An array in the memory of the host or of a CUDA device. Its type is kept.
    device : Place or str, optional
        Where the Variable should lie; None: where the array does.
    copy : bool, optional
        True: own memory. False: shared, or an error. None: shared if the array is row-major.

    Returns
    -------
    Variable
        With ``stop_gradient`` True.

    Raises
    ------
    ArgumentTypeError
        For an object without a capsule, and for an unsupported element type.
    InvalidArgumentError
        For a capsule that was already consumed.
    UnimplementedError
        For memory of another device.
    BufferError
        For ``copy=False`` if the memory is not row-major, or on another device than asked for.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> a = np.arange(3.0)
    >>> x = dygraph.from_dlpack(a)
    >>> a[0] = 7.0
    >>> x.numpy()
    array([7., 1., 2.])
    """
    wanted = None
    if device is not None:
        from dygraph.functions.arguments import place_of

        wanted = place_of(device, "from_dlpack")
    if not hasattr(x, "__dlpack__") and hasattr(x, "__cuda_array_interface__"):
        made = of_cuda_array(x, copy)
    else:
        capsule = _capsule_of(x) if hasattr(x, "__dlpack__") else x
        made = _shared_if(copy is False, _core.from_dlpack(capsule, bool(copy)))
    if wanted is None or made.place == wanted:
        return made
    if copy is False:
        raise BufferError(
            f"from_dlpack: device must be {made.place}, where the array lies, with copy=False, got "
            f"{device}"
        )
    return made.to(wanted)


def _capsule_of(x):
    kind, number = x.__dlpack_device__() if hasattr(x, "__dlpack_device__") else _HOST
    if kind not in (1, 3, _CUDA, _CUDA_MANAGED):
        raise UnimplementedError(
            "from_dlpack takes arrays in memory of the host or of CUDA devices, got one on device "
            f"{(kind, number)}. Copy it to the host first"
        )
    how = {}
    if kind in (_CUDA, _CUDA_MANAGED):
        how["stream"] = _core.device.stream(_core.CUDAPlace(number))
    try:
        return x.__dlpack__(max_version=(1, 0), **how)
    except TypeError:  # a library from before version 1
        return x.__dlpack__(**how)


def _shared_if(required, made):
    if required and not _core.is_foreign(made):
        raise BufferError("from_dlpack: the array must be row-major to be shared with copy=False")
    return made


_AS_IT_IS = contextlib.nullcontext()


def cupys_stream(values):
    """Lets CuPy compute on our stream in a block, if a value lies on a CUDA device.

    Nothing where CuPy has not been imported.
    """
    cupy = sys.modules.get("cupy")
    if cupy is None:
        return _AS_IT_IS
    for v in values:
        if isinstance(v, Variable) and not _core.is_empty(v) and v.place.kind == "CUDAPlace":
            return _on_our_stream(cupy, v.place)
    return _AS_IT_IS


@contextlib.contextmanager
def _on_our_stream(cupy, place):
    from dygraph.cuda import Stream

    ours = Stream(place)
    if hasattr(getattr(cupy.cuda, "Stream", None), "from_external"):  # CuPy 14
        stream = cupy.cuda.Stream.from_external(ours)
    else:
        stream = cupy.cuda.ExternalStream(ours.cuda_stream, place.device_id)
    with cupy.cuda.Device(place.device_id), stream:
        yield


# The array API standard's protocol ---------------------------------------------------------------


def array_namespace(self, /, *, api_version=None):
    """The module whose functions follow the Python array API standard: `dygraph`.

    >>> import dygraph
    >>> dygraph.zeros(2).__array_namespace__() is dygraph
    True
    """
    import dygraph

    known = ("2021.12", "2022.12", "2023.12", dygraph.__array_api_version__)
    if api_version is not None and api_version not in known:
        raise InvalidArgumentError(
            f"__array_namespace__: api_version must be one of {', '.join(known)}, "
            f"got {api_version!r}"
        )
    return dygraph


def matrices_transposed(self):
    """The matrices of the last two axes transposed."""
    return find("dygraph.functions.linear", "matrix_transpose")(self)


def to_device(self, device, /, *, stream=None):
    """The values on another device, a place of ours; the variable itself if it is there."""
    if stream is not None:
        raise ArgumentTypeError(f"to_device: stream must be None, got {kind_of(stream)}")
    from dygraph.functions.arguments import place_of

    return self.to(place_of(device, "to_device"))


def to_complex(self):
    """Python's complex number of one element, as ``float(x)`` is its float."""
    return complex(self.item())


def refuse_device(self, device):
    """Assignment to ``x.device``."""
    raise AttributeError(
        f"{type(self).__name__} has no attribute 'device' to assign. "
        "x.to(place) gives the values on another place"
    )


def shift(name):
    """``x << y`` or ``x >> y``; NotImplemented for what is no number."""

    def method(x, y):
        function = find("dygraph.functions.elementwise", name)
        for v in (x, y):
            if not isinstance(v, (Variable, np.ndarray, np.generic, int)):
                return NotImplemented
        return function(x, y)

    return method
