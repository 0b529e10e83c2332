"""Devices by name: `set_device`, `get_device`, and lists of places."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import PreconditionNotMetError
from dygraph.functions.arguments import place_of

__all__ = [
    "cpu_places",
    "cuda_pinned_places",
    "cuda_places",
    "get_device",
    "is_compiled_with_cuda",
    "set_device",
]


def set_device(device):
    """Set where this thread makes new Variables; operators run where their inputs lie.

    `dygraph.guard` does so for a block.

    Parameters
    ----------
    device : str or Place
        ``"cpu"``, ``"gpu"`` (the first one), ``"gpu:1"``, ``"cuda"``, ``"cuda:1"``, or a place.

    Returns
    -------
    Place

    Raises
    ------
    ArgumentTypeError
        For what names no device.
    UnimplementedError, PreconditionNotMetError, OutOfRangeError
        For a device that this build or this machine does not have.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.set_device("cpu")
    CPUPlace()
    """
    place = place_of(device, "set_device")
    _core.set_current_place(place)
    return place


def get_device():
    """The name of the device on which this thread makes new Variables; see `set_device`.

    Returns
    -------
    str
        ``"cpu"``, ``"gpu:0"`` and the like.

    Examples
    --------
    >>> import dygraph
    >>> with dygraph.guard(dygraph.CPUPlace()):
    ...     dygraph.get_device()
    'cpu'
    """
    place = _core.current_place()
    names = {"CPUPlace": "cpu", "CUDAPinnedPlace": "pinned"}
    if place.kind == "CUDAPlace":
        return f"gpu:{place.device_id}"
    return names.get(place.kind) or f"{place.kind}:{place.device_id}"


def is_compiled_with_cuda():
    """Whether a CUDA device can be used, so that scripts choose ``CUDAPlace(0)`` where one is.

    Returns
    -------
    bool
        True if there is one.

    Examples
    --------
    >>> import dygraph
    >>> place = dygraph.CUDAPlace(0) if dygraph.is_compiled_with_cuda() else dygraph.CPUPlace()
    >>> place.available
    True
    """
    return _core.CUDAPlace(0).available


def cuda_places(device_ids=None):
    """The places of CUDA devices.

    Parameters
    ----------
    device_ids : list of int, optional
        The numbers of the devices; None: all.

    Returns
    -------
    list of CUDAPlace
        One for each device.

    Raises
    ------
    PreconditionNotMetError
        There is no CUDA device.

    Examples
    --------
    >>> import dygraph
    >>> places = dygraph.cuda_places() if dygraph.is_compiled_with_cuda() else dygraph.cpu_places()
    >>> len(places) > 0
    True
    """
    if not is_compiled_with_cuda():
        raise PreconditionNotMetError(
            "cuda_places: there must be a CUDA device, got none. Use cpu_places() where "
            "is_compiled_with_cuda() is False"
        )
    if device_ids is not None:
        return [_core.CUDAPlace(i) for i in device_ids]
    return [_core.CUDAPlace(i) for i in range(_core.device.count())]


def cuda_pinned_places(device_count=None):
    """Places in host memory that CUDA devices copy from quickly.

    Parameters
    ----------
    device_count : int, optional
        How many; None: one for each CUDA device.

    Returns
    -------
    list of CUDAPinnedPlace
        As many as `device_count`.

    Raises
    ------
    PreconditionNotMetError
        `device_count` is None, and there is no CUDA device.

    Examples
    --------
    >>> import dygraph
    >>> len(dygraph.cuda_pinned_places(2))
    2
    """
    return [_core.CUDAPinnedPlace()] * (len(cuda_places()) if device_count is None else device_count)


def cpu_places(device_count=None):
    """A list of CPU places; one by default, since the processor is one device.

    Parameters
    ----------
    device_count : int, optional
        How many.

    Returns
    -------
    list of CPUPlace
        As many as `device_count`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.cpu_places(2)
    [CPUPlace(), CPUPlace()]
    """
    count = 1 if device_count is None else check.integer(device_count, "cpu_places: count", 1)
    return [_core.CPUPlace()] * count
