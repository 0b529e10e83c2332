"""Memory in use, by place."""

from dygraph import _core
from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.inspect.saved import human

__all__ = ["peak", "release_free", "reset_peak", "stats", "summary", "used"]


def _place(place):
    if place is None:
        return _core.current_place()
    if not isinstance(place, _core.Place):
        raise ArgumentTypeError(
            f"memory: place must be a place such as dygraph.CPUPlace(), got {kind_of(place)}"
        )
    return place


def used(place=None):
    """Bytes in use by variables and scratch memory.

    Parameters
    ----------
    place : Place, optional
        None: the current one.

    Returns
    -------
    int
        Bytes.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> before = dygraph.memory.used()
    >>> x = dygraph.to_variable(np.zeros(1024, "float32"))
    >>> dygraph.memory.used() - before >= 4096
    True
    """
    return _core.memory.used(_place(place))


def peak(place=None):
    """The maximum of bytes in use since the start or `reset_peak`.

    Parameters
    ----------
    place : Place, optional
        None: the current one.

    Returns
    -------
    int
        Bytes.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.zeros([1024])
    >>> dygraph.memory.peak() >= dygraph.memory.used() >= 4096
    True
    """
    return _core.memory.stats(_place(place))["peak"]


def stats(place=None):
    """All figures as a dict.

    Parameters
    ----------
    place : Place, optional
        None: the current one.

    Returns
    -------
    dict
        ``used``, ``peak``, ``reserved`` and ``largest_free`` in bytes; ``live_blocks``,
        ``total_allocs`` and ``arenas`` as counts.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.zeros([1024])
    >>> figures = dygraph.memory.stats()
    >>> figures["used"] >= 4096 and figures["live_blocks"] >= 1
    True
    """
    return _core.memory.stats(_place(place))


def reset_peak(place=None):
    """Reset `peak` to the bytes in use now.

    Parameters
    ----------
    place : Place, optional
        None: the current one.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.zeros([100_000])
    >>> del x
    >>> dygraph.memory.reset_peak()
    >>> dygraph.memory.peak() == dygraph.memory.used()
    True
    """
    _core.memory.reset_peak(_place(place))


def release_free(place=None):
    """Return empty arenas to the system; gives their number of bytes.

    Empty pages of the host's other arenas are returned too, uncounted: the arenas stay reserved,
    and the resident memory of the process falls.

    Parameters
    ----------
    place : Place, optional
        None: the current one.

    Returns
    -------
    int
        How many bytes were given back.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.zeros([1 << 22])
    >>> del x
    >>> before = dygraph.memory.stats()["reserved"]
    >>> freed = dygraph.memory.release_free()
    >>> dygraph.memory.stats()["reserved"] == before - freed
    True
    """
    return _core.memory.release_free(_place(place))


def summary(place=None):
    """The figures as readable text.

    Parameters
    ----------
    place : Place, optional
        None: the current one.

    Returns
    -------
    str

    Examples
    --------
    >>> import dygraph
    >>> dygraph.memory.summary().split(":")[0]
    'CPUPlace()'
    """
    place = _place(place)
    s = _core.memory.stats(place)
    return (
        f"{place}: {human(s['used'])} in use in {s['live_blocks']} blocks, "
        f"peak {human(s['peak'])}, "
        f"{human(s['reserved'])} reserved in {s['arenas']} arenas, "
        f"largest free block {human(s['largest_free'])}"
    )
