"""Exchange with other array libraries: NumPy's protocols, DLPack, single elements."""

import numpy as np

from dygraph import _core
from dygraph.core import check
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

    return numpy_protocol.call_ufunc(ufunc, method, inputs, kwargs)


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

    Raises
    ------
    BufferError
        For another device than the host, and for ``copy=False`` if a copy is needed.
    """
    if dl_device is not None and tuple(dl_device) != _HOST:
        raise BufferError(f"__dlpack__: dl_device must be {_HOST}, host memory, got {dl_device}")
    if stream not in (None, -1):
        raise BufferError(f"__dlpack__: stream must be None for host memory, got {stream!r}")
    versioned = max_version is not None and tuple(max_version)[0] >= 1
    if copy is False and not versioned:
        raise BufferError(
            "__dlpack__: max_version must be at least (1, 0) with copy=False, got "
            f"{max_version}. Older consumers need a copy"
        )
    return _core.to_dlpack(self, versioned, bool(copy))


def dlpack_device(self):
    """The device of `__dlpack__`: ``(1, 0)``, the host."""
    return _HOST


def from_dlpack(x, *, device=None, copy=None):
    """A Variable over the memory of another library's array, without a copy if possible.

    The memory is shared: writes of its owner change the Variable. The Variable never writes to it:
    a write to the Variable copies first, and so does a call whose values the tape keeps.

    Parameters
    ----------
    x : object with __dlpack__() or capsule
        An array in host memory. Its type is kept.
    device : None
        Only the host.
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
        For memory of a device.
    BufferError
        For ``copy=False`` if the memory is not row-major.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> a = np.arange(3.0)
    >>> x = dygraph.from_dlpack(a)
    >>> a[0] = 7.0
    >>> x.numpy()
    array([7., 1., 2.])
    """
    if device is not None and str(device).lower() != "cpu" and device != _core.CPUPlace():
        raise UnimplementedError(f"from_dlpack: the device must be the host, got {kind_of(device)}")
    capsule = x
    if hasattr(x, "__dlpack__"):
        if hasattr(x, "__dlpack_device__") and x.__dlpack_device__()[0] not in (1, 3):
            raise UnimplementedError(
                "from_dlpack takes arrays in host memory, got one on device "
                f"{tuple(x.__dlpack_device__())}. Copy it to the host first"
            )
        try:
            capsule = x.__dlpack__(max_version=(1, 0))
        except TypeError:  # a library from before version 1
            capsule = x.__dlpack__()
    made = _core.from_dlpack(capsule, bool(copy))
    if copy is False and not _core.is_foreign(made):
        raise BufferError("from_dlpack: the array must be row-major to be shared with copy=False")
    return made


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
