"""Methods that bring a Variable's values to another place."""

from dygraph import _core
from dygraph.functions.arguments import cuda_place_of, place_and_type

__all__ = ["METHODS"]


def to(self, place=None, dtype=None):
    """The values on another place or of another type; the variable itself if it has both.

    Parameters
    ----------
    place : Place, dtype or Variable, optional
        A type stands for `dtype`, a Variable for its place and type, as in torch.
    dtype : dtype, optional

    Examples
    --------
    >>> import dygraph
    >>> dygraph.zeros(2).to(dygraph.int64).dtype.name
    'int64'
    """
    place, dtype = place_and_type(place, dtype)
    if dtype is not None and self.dtype != _core.dtype_of(dtype):
        self = self.astype(dtype)
    if place is None or place == self.place:
        return self
    return _core.to_place(self, place)


def cpu(self):
    """The values in host memory; the variable itself if it is there."""
    return to(self, _core.CPUPlace())


def cuda(self, device=None):
    """The values on a CUDA device; the variable itself if it is there.

    Parameters
    ----------
    device : int, str or CUDAPlace, optional
        None: the current device, or the first one.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.zeros(2)
    >>> y = x.cuda() if dygraph.is_compiled_with_cuda() else x
    >>> y.is_cuda == dygraph.is_compiled_with_cuda()
    True
    """
    return to(self, cuda_place_of(device, "cuda"))


def pin_memory(self):
    """The values in page-locked memory of the host, from which a device copies quickly.

    Operators take such a variable as one of the host. PreconditionNotMetError without a device.
    """
    return to(self, _core.CUDAPinnedPlace())


def is_pinned(self):
    """Whether the values lie in page-locked memory; see `pin_memory`."""
    return self.place.kind == "CUDAPinnedPlace"


def is_cuda(self):
    """Whether the values lie on a CUDA device."""
    return self.place.kind == "CUDAPlace"


METHODS = {
    "to": to,
    "cpu": cpu,
    "cuda": cuda,
    "pin_memory": pin_memory,
    "is_pinned": is_pinned,
    "is_cuda": property(is_cuda, doc=is_cuda.__doc__),
}
