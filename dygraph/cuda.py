"""CUDA devices: which there are, their memory and streams, what computes on them and what does not.

``with dygraph.guard(dygraph.CUDAPlace(0)):`` or ``dygraph.set_device("gpu")`` computes on one.
Calls queue their work on the device's stream and return; reading a value waits. An operator without
a kernel for the device runs on the host, with copies there and back; `fallbacks` counts such calls.
"""

from dygraph import _core, memory
from dygraph.errors import ArgumentTypeError, NotFoundError, OutOfRangeError, kind_of

__all__ = [
    "Event",
    "Stream",
    "counts",
    "current_device",
    "current_stream",
    "device_count",
    "device_kernels",
    "empty_cache",
    "fallbacks",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "graph",
    "is_available",
    "max_memory_allocated",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "set_device",
    "share_memory_with_cupy",
    "synchronize",
    "syncs",
]


def _place(device):
    """The CUDAPlace that a number, a place or None, the current one, stands for."""
    if isinstance(device, _core.Place):
        if device.kind != "CUDAPlace":
            raise ArgumentTypeError(f"cuda: device must be a CUDAPlace or its number, got {device}")
        return device
    if device is None:
        here = _core.current_place()
        return here if here.kind == "CUDAPlace" else _core.CUDAPlace(0)
    if isinstance(device, bool) or not hasattr(device, "__index__"):
        raise ArgumentTypeError(
            f"cuda: device must be a CUDAPlace or its number, got {kind_of(device)}"
        )
    return _core.CUDAPlace(device.__index__())


def is_available():
    """Whether a CUDA device can be used.

    Returns
    -------
    bool

    Examples
    --------
    >>> import dygraph
    >>> dygraph.cuda.is_available() == (dygraph.cuda.device_count() > 0)
    True
    """
    return _core.CUDAPlace(0).available


def device_count():
    """The number of CUDA devices that can be used; 0 without a CUDA backend.

    Returns
    -------
    int
    """
    return _core.device.count()


def current_device():
    """The number of the device on which new Variables are made.

    Returns
    -------
    int

    Raises
    ------
    OutOfRangeError
        The current place is the host.
    """
    here = _core.current_place()
    if here.kind != "CUDAPlace":
        raise OutOfRangeError(
            f"current_device: the current place must be a CUDAPlace, got {here}. "
            "dygraph.set_device('gpu') makes it one"
        )
    return here.device_id


def set_device(device):
    """New Variables of this thread are made on that device.

    Parameters
    ----------
    device : int or CUDAPlace
        The device; ``dygraph.set_device('cpu')`` goes back to the host.
    """
    _core.set_current_place(_place(device))


def synchronize(device=None):
    """Wait until all work that is queued on a device has been done.

    Parameters
    ----------
    device : int or CUDAPlace, optional
        None: the current device, or the first one.

    Raises
    ------
    OutOfRangeError
        A kernel met a bad index.
    PreconditionNotMetError
        The device reports an error.
    """
    _core.wait(_place(device))


def get_device_properties(device=None):
    """What is known of a device.

    Parameters
    ----------
    device : int or CUDAPlace, optional
        None: the current device, or the first one.

    Returns
    -------
    dict
        ``name``, ``major``, ``minor`` (compute capability), ``multi_processor_count``,
        ``total_memory`` and ``free_memory`` in bytes, versions of ``driver`` and ``runtime``.
    """
    return _core.device.facts(_place(device))


def get_device_name(device=None):
    """The name of a device, as its vendor spells it.

    Parameters
    ----------
    device : int or CUDAPlace, optional
        None: the current device, or the first one.

    Returns
    -------
    str
    """
    return get_device_properties(device)["name"]


def get_device_capability(device=None):
    """The compute capability of a device.

    Parameters
    ----------
    device : int or CUDAPlace, optional
        None: the current device, or the first one.

    Returns
    -------
    tuple of int
        Major and minor number.
    """
    facts = get_device_properties(device)
    return facts["major"], facts["minor"]


def mem_get_info(device=None):
    """Free and total memory of a device, for all processes.

    Parameters
    ----------
    device : int or CUDAPlace, optional
        None: the current device, or the first one.

    Returns
    -------
    tuple of int
        Bytes that are free, bytes in all.
    """
    facts = get_device_properties(device)
    return facts["free_memory"], facts["total_memory"]


def memory_allocated(device=None):
    """Bytes that Variables and working memory hold on a device.

    Parameters
    ----------
    device : int or CUDAPlace, optional
        None: the current device, or the first one.

    Returns
    -------
    int
    """
    return memory.used(_place(device))


def max_memory_allocated(device=None):
    """The maximum of `memory_allocated` since the start or `reset_peak_memory_stats`.

    Parameters
    ----------
    device : int or CUDAPlace, optional
        None: the current device, or the first one.

    Returns
    -------
    int
    """
    return memory.peak(_place(device))


def memory_reserved(device=None):
    """Bytes of arenas that were taken from a device.

    Parameters
    ----------
    device : int or CUDAPlace, optional
        None: the current device, or the first one.

    Returns
    -------
    int
    """
    return memory.stats(_place(device))["reserved"]


def reset_peak_memory_stats(device=None):
    """Let `max_memory_allocated` begin anew.

    Parameters
    ----------
    device : int or CUDAPlace, optional
        None: the current device, or the first one.
    """
    memory.reset_peak(_place(device))


def empty_cache(device=None):
    """Give arenas that hold nothing back to the device.

    Parameters
    ----------
    device : int or CUDAPlace, optional
        None: the current device, or the first one.

    Returns
    -------
    int
        Bytes given back.
    """
    _core.device.forget_ahead()
    return memory.release_free(_place(device))


def counts(device=None):
    """What moved between the host and a device since the process began.

    Parameters
    ----------
    device : int or CUDAPlace, optional
        None: the current device, or the first one.

    Returns
    -------
    dict
        ``waits`` of the host, ``copies_in`` and ``copies_out`` with ``bytes_in`` and ``bytes_out``,
        ``graph_launches``; ``moved_inputs``, inputs of calls that lay elsewhere than the call
        computed.
    """
    return _core.device.counts(_place(device))


def syncs(device=None):
    """How often the host has waited for a device; a training step should not.

    Parameters
    ----------
    device : int or CUDAPlace, optional
        None: the current device, or the first one.

    Returns
    -------
    int
    """
    return counts(device)["waits"]


def fallbacks():
    """Operators that were called on a device and computed on the host, since no kernel was there.

    Returns
    -------
    dict of str to int
        The number of calls of each operator.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.cuda.fallbacks()
    {}
    """
    return dict(_core.device.fallbacks())


def device_kernels():
    """Operators by where they compute on a CUDA device.

    Returns
    -------
    dict of str to list of str
        ``device``: those with kernels of their own there; ``host``: those that the host computes.
    """
    device_count()  # opens the backend
    found = {"device": [], "host": []}
    for name in _core.op_names():
        kernels = _core.describe_op(name)["kernels"]
        if kernels:
            here = any("CUDAPlace" in kernel for kernel in kernels)
            found["device" if here else "host"].append(name)
    return found


def share_memory_with_cupy():
    """Let CuPy take its memory from ours, so that neither keeps what the other could use.

    CuPy's arrays count in `memory_allocated`. Blocks are handed over in the order of CUDA's default
    stream, which is CuPy's, and of the streams that it waits for: with streams that CuPy made
    ``non_blocking``, call their ``synchronize()`` before an array of theirs ends.

    Raises
    ------
    NotFoundError
        CuPy is not installed.
    """
    try:
        import cupy
    except ImportError:
        raise NotFoundError(
            "share_memory_with_cupy: CuPy must be installed, got none. "
            "pip install 'cupy-cuda13x[ctk]'"
        ) from None
    allocator = cupy.cuda.memory.CFunctionAllocator(0, *_core.device.functions_for_cupy(), _core)

    def malloc(size):
        block = allocator.malloc(size)
        if size and not block.ptr:  # CuPy would compute at address 0
            raise cupy.cuda.memory.OutOfMemoryError(size, memory_allocated(block.device_id))
        return block

    cupy.cuda.set_allocator(malloc)


class Stream:
    """The stream on which a device runs what we queue, for other libraries.

    It has CUDA's stream protocol, so CuPy takes it:
    ``cupy.cuda.Stream.from_external(dygraph.cuda.current_stream())``.

    Attributes
    ----------
    cuda_stream : int
        The address of the stream.
    place : CUDAPlace
    """

    def __init__(self, place):
        self.place = place
        self.cuda_stream = _core.device.stream(place)

    def __repr__(self):
        return f"Stream({self.place}, {self.cuda_stream:#x})"

    def __cuda_stream__(self):
        """The version of the protocol and the stream's address."""
        return 0, self.cuda_stream

    def synchronize(self):
        """Wait until all that is queued has been done."""
        _core.wait(self.place)

    def wait_stream(self, other):
        """What is queued here later runs after what is queued on another stream now.

        Parameters
        ----------
        other : Stream, int or an object with ``__cuda_stream__``
            The other stream; an int is its address.
        """
        _core.device.wait_for(self.place, _address(other))

    def let_wait(self, other):
        """What is queued on another stream later runs after what is queued here now.

        Parameters
        ----------
        other : Stream, int or an object with ``__cuda_stream__``
            The other stream; an int is its address.
        """
        _core.device.let_wait(self.place, _address(other))

    def record_event(self):
        """A point behind all that is queued.

        Returns
        -------
        Event
        """
        return Event(self.place)


def _address(stream):
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    if isinstance(stream, bool) or not hasattr(stream, "__index__"):
        raise ArgumentTypeError(
            f"cuda: a stream must have __cuda_stream__ or be an address, got {kind_of(stream)}"
        )
    return stream.__index__()


def current_stream(device=None):
    """The stream of a device; all threads share it.

    Parameters
    ----------
    device : int or CUDAPlace, optional
        None: the current device, or the first one.

    Returns
    -------
    Stream
    """
    return Stream(_place(device))


class Event:
    """A point in the work of a device, recorded when it is made.

    Parameters
    ----------
    device : int or CUDAPlace, optional
        None: the current device, or the first one.
    """

    def __init__(self, device=None):
        self.place = _place(device)
        self._event = _core.device.record(self.place)

    def __repr__(self):
        return f"Event({self.place}, {'passed' if self.query() else 'not passed'})"

    def query(self):
        """Whether the device has passed the point.

        Returns
        -------
        bool
        """
        return self._event.done()

    def synchronize(self):
        """Wait until the device has passed the point."""
        self._event.wait()

    def elapsed_time(self, end):
        """Milliseconds from this point to a later one, both of which have been passed.

        Parameters
        ----------
        end : Event
            The later point.

        Returns
        -------
        float
        """
        if not isinstance(end, Event):
            raise ArgumentTypeError(f"elapsed_time: end must be an Event, got {kind_of(end)}")
        return end._event.since(self._event)


# Functions as graphs ------------------------------------------------------------------------------


def graph(function=None, size=8):
    """Make calls of a function run as a graph of the device, which is one launch.

    The first call with arguments of one kind (types, shapes, constants) is an ordinary one, the
    second is recorded, and later ones play the record: arguments are copied to its fixed memory,
    and results out of it, so that a result stays as it is. Weights that the function reads may
    change in place, as optimizers change them; where one lies elsewhere the call is recorded anew.
    Random operators, such as dropout, draw in each call what they would draw in a plain one.

    No gradients are recorded in the function. A whole training step, or a layer whose results want
    gradients, becomes a graph with `dygraph.jit.compile`, which checks more and also repeats what
    this function refuses.

    Parameters
    ----------
    function : callable
        A function of Variables on one CUDAPlace, and of constants. It returns Variables, in lists,
        tuples and dicts or not. What it reads otherwise of Python is read in the first two calls
        alone. None: returns a decorator.
    size : int
        How many graphs are kept, for other arguments; the one that ran longest ago goes first.

    Returns
    -------
    Graph
        ``replays`` and ``recordings`` count.

    Raises
    ------
    ArgumentTypeError
        (a TypeError) `function` is not callable; a call gets an array or a constant without a hash.
    PreconditionNotMetError
        In one of the first two calls, which then has changed nothing: the function reads a value
        (``numpy()``, ``if``), waits for the device, calls an operator that the host computes, draws
        random numbers on the host, or writes to a Variable that it did not make.

    Examples
    --------
    >>> import dygraph
    >>> if dygraph.cuda.is_available():
    ...     with dygraph.guard(dygraph.CUDAPlace(0)):
    ...         fast = dygraph.cuda.graph(dygraph.nn.Linear(4, 2))
    ...         results = [fast(dygraph.ones([3, 4])) for _ in range(4)]
    """
    from dygraph.jit.device_graph import Graph

    if function is None:
        return lambda f: Graph(f, size)
    return Graph(function, size)
