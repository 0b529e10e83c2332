"""Basic functions: `guard`, `to_variable`, `seed`, `grad`."""

import numpy as np

from dygraph import _core
from dygraph.autograd import passes
from dygraph.autograd.recording import modes
from dygraph.core import check, exchange
from dygraph.core.compat import BackwardStrategy
from dygraph.core.promotion import default_float
from dygraph.errors import (
    ArgumentTypeError,
    DygraphError,
    InvalidArgumentError,
    PreconditionNotMetError,
    UnimplementedError,
    kind_of,
)
from dygraph.functions.arguments import named_place
from dygraph.inspect.shown import Shown

__all__ = [
    "Generator",
    "get_default_dtype",
    "get_rng_state",
    "grad",
    "guard",
    "in_dygraph_mode",
    "seed",
    "set_default_dtype",
    "set_rng_state",
    "to_variable",
]

Variable = _core.Variable


class guard(Shown):  # noqa: N801 - Fluid's name
    """Set the default place, and optionally the seed and the float type, for this thread.

    All three are restored at the end of the block, also after an exception. Guards nest; calls
    outside any guard also compute, on the default place. Inside a guard, functions of
    ``static.layers`` that take no Variable (``zeros``, ``fill_constant``, ``create_array``, ...)
    compute too, unless a ``static.program_guard`` was entered since.

    Parameters
    ----------
    place : Place or str, optional
        Where new variables go, also as ``"cpu"``, ``"gpu"`` or ``"gpu:1"``. None keeps the current
        one.
    seed : int, optional
        Seed of the random numbers in the block; the earlier sequence continues after it.
    dtype : dtype, optional
        A float type to which arrays of other float types are cast, and the default type of
        ``zeros``, ``rand`` and similar functions: ``guard(dtype='float32')`` casts NumPy's float64
        to float32. See `set_default_dtype`.

    Raises
    ------
    ArgumentTypeError
        For an argument that is no place, no int, or no float type.
    PreconditionNotMetError, UnimplementedError
        For a place whose backend is not built.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> with dygraph.guard(seed=1, dtype="float32"):
    ...     x = dygraph.to_variable(np.array([1.0, 2.0]))
    >>> x.dtype
    dygraph.float32
    """

    def __init__(self, place=None, seed=None, dtype=None):
        if place is not None and not isinstance(place, (_core.Place, str)):
            raise ArgumentTypeError(
                f"guard: place must be a place such as dygraph.CPUPlace(), got {kind_of(place)}"
            )
        if seed is not None:
            seed = check.integer(seed, "guard: seed", 0)
        if dtype is not None:
            dtype = _float_type(dtype, "guard: dtype")
        self._place, self._seed, self._dtype = named_place(place), seed, dtype
        self._saved = []

    def __enter__(self):
        state = (
            _core.current_place(),
            _core.cast_floats_to(),
            None if self._seed is None else _core.generator_state(),
            modes.computes,
        )
        if self._place is not None:
            _core.set_current_place(self._place)
        if self._dtype is not None:
            _core.set_cast_floats_to(self._dtype)
        if self._seed is not None:
            _core.seed(self._seed)
        modes.computes = True
        self._saved.append(state)
        return self

    def __exit__(self, *_):
        place, dtype, generator, modes.computes = self._saved.pop()
        _core.set_current_place(place)
        _core.set_cast_floats_to(dtype)
        if generator is not None:
            _core.set_generator_state(*generator)
        return False


def _float_type(dtype, what):
    dtype = _core.dtype_of(dtype)
    if not dtype.is_floating:
        raise ArgumentTypeError(f"{what} must be a float type, got {dtype}")
    return dtype


def set_default_dtype(dtype):
    """Set this thread's float type.

    Python's floats and converted float arrays have it, and ``zeros``, ``rand``, the parameters of
    layers and the like by default. ``guard(dtype=...)`` does so for a block.
    ``layer.to(dtype=...)`` changes a layer.

    Parameters
    ----------
    dtype : dtype or None
        A float type. None: the initial state, in which arrays keep their own float type and
        Python's floats, ``zeros`` and layers have float32.

    Raises
    ------
    ArgumentTypeError
        For an argument that is no float type.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.set_default_dtype("float64")
    >>> dygraph.zeros([2]).dtype
    dygraph.float64
    >>> dygraph.set_default_dtype(None)
    """
    _core.set_cast_floats_to(None if dtype is None else _float_type(dtype, "set_default_dtype"))


def get_default_dtype():
    """The float type of `zeros`, `rand` and similar functions; see `set_default_dtype`.

    Returns
    -------
    dtype

    Examples
    --------
    >>> import dygraph
    >>> dygraph.get_default_dtype()
    dygraph.float32
    """
    return default_float()


def in_dygraph_mode():
    """Whether calls of `dygraph` compute at once: always, inside `guard` and outside.

    For code written for Fluid. Programs are described with `static`, depending on the type of the
    arguments, not on a mode.

    Returns
    -------
    bool
        True.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.in_dygraph_mode()
    True
    """
    return True


def to_variable(
    value,
    name=None,
    zero_copy=None,
    lod=None,
    dtype=None,
    *,
    stop_gradient=True,
    requires_grad=False,
):
    """Make a Variable of an array, a number or a nested list.

    The values are copied, so later writes to the array do not change the Variable, except with
    `zero_copy`. A Variable is returned unchanged unless `lod` or `dtype` requires another. The
    memory of an array on a CUDA device (CuPy's, torch's) is shared, see `from_dlpack`, except with
    ``zero_copy=False``.

    Parameters
    ----------
    value : array_like or Variable
        bool, int8 to int64, uint8, float16 to float64. Arrays and NumPy's scalars keep their type:
        float64 stays float64 except with `dtype` or ``guard(dtype=...)``. Python's floats, also in
        lists, have the default type, float32 unless set; in a list with arrays or Variables they
        take the type of those. Ints become int64.
    name : str, optional
    zero_copy : bool, optional
        True: share the memory of an array, like `from_dlpack`: writes into the array change the
        Variable; a write to the Variable copies first.
    lod : list of list of int, optional
        Offsets of the sequences in a ragged batch: ``[[0, 2, 5]]`` are two sequences, of 2 and 3
        rows.
    dtype : dtype, optional
        Cast to this type.
    stop_gradient : bool, default True
        False: the Variable gets a gradient.
    requires_grad : bool, default False
        True: as ``stop_gradient=False``.

    Returns
    -------
    Variable
        On the current place.

    Raises
    ------
    ArgumentTypeError
        (a TypeError) for None, strings and arrays of objects.
    OutOfRangeError
        (an IndexError) for a float of Python that the type cannot hold, such as 1e300.
    InvalidArgumentError
        (a ValueError) for a LoD that does not fit the rows, and if `zero_copy` is True but the
        memory cannot be shared.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x = dygraph.to_variable(np.ones((2, 3), "float32"))
    >>> x.shape, x.dtype
    ((2, 3), dygraph.float32)
    >>> dygraph.to_variable([0.5, 1]).dtype, dygraph.to_variable([0.5], dtype="float64").dtype
    (dygraph.float32, dygraph.float64)
    >>> dygraph.to_variable(np.zeros((5, 1)), lod=[[0, 2, 5]]).lod()
    [[0, 2, 5]]
    """
    if requires_grad or not stop_gradient:
        made = to_variable(value, name, zero_copy, lod, dtype)
        return (made.detach() if made is value else made).requires_grad_()
    if zero_copy and not isinstance(value, Variable) and not _is_on_device(value):
        value = _shared(value, dtype)
    elif type(value) is np.ndarray and lod is None and name is None and dtype is None:
        return _core.to_variable(value)
    if name is not None and not isinstance(name, str):
        raise ArgumentTypeError(f"to_variable: name must be a string, got {kind_of(name)}")
    if isinstance(value, Variable):
        if dtype is not None and _core.dtype_of(dtype) != value.dtype:
            value = value.astype(dtype)
        if lod is not None:
            value = value.clone()
            value.set_lod(lod)
        if name is not None:
            value.name = name
        return value
    if _is_on_device(value):
        made = exchange.from_dlpack(value, copy=None if zero_copy is None else not zero_copy)
        return to_variable(made, name, None, lod, dtype)
    if value is None or isinstance(value, (str, bytes)):
        raise ArgumentTypeError(
            "to_variable: value must be an array, a number or a list of numbers, "
            f"got {kind_of(value)}"
        )
    if isinstance(value, (list, tuple)):
        return _of_list(value, lod, dtype, name)
    return _core.to_variable(value, lod, dtype, name)


def _is_on_device(value):
    return hasattr(value, "__cuda_array_interface__")


def _shared(value, dtype):
    """A Variable over the memory of an array. InvalidArgumentError if that needs a copy."""
    rule = "to_variable: with zero_copy=True value must be a row-major array in host memory"
    if not isinstance(value, np.ndarray):
        raise InvalidArgumentError(f"{rule}, got {kind_of(value)}")
    wanted = value.dtype if dtype is None else _core.dtype_of(dtype)
    casts = _core.cast_floats_to()
    if dtype is None and casts is not None and value.dtype.kind == "f":
        wanted = casts
    if str(wanted) != value.dtype.name or _core.current_place() != _core.CPUPlace():
        raise InvalidArgumentError(
            f"{rule} and of the wanted type, {wanted} on {_core.current_place()}, got {value.dtype}"
        )
    try:
        return exchange.from_dlpack(value, copy=False)
    except (BufferError, TypeError) as error:
        raise InvalidArgumentError(f"{rule}, got one of shape {value.shape} ({error})") from None


def _of_list(value, *how):
    try:
        return _core.to_variable(value, *how)
    except DygraphError:
        raise
    except ValueError as error:  # NumPy's
        raise InvalidArgumentError(
            f"to_variable: the rows of a nested list must have equal lengths ({error}). "
            "Concatenate ragged rows and pass their offsets as lod"
        ) from None


def seed(value):
    """Seed all random numbers of dygraph.

    Equal seeds give equal numbers on any number of threads.

    Parameters
    ----------
    value : int
        Not negative.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.seed(7)
    """
    _core.seed(check.integer(value, "seed", 0))


def get_rng_state():
    """The state of dygraph's random numbers: (seed, number of random calls since).

    `dygraph.checkpoint.random_state` covers Python and NumPy as well.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.seed(7)
    >>> dygraph.get_rng_state()
    (7, 0)
    """
    return _core.generator_state()


def set_rng_state(state):
    """Restore the state of a `get_rng_state`: the same numbers follow.

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError
        For anything but a pair of integers that are not negative.

    Examples
    --------
    >>> import dygraph
    >>> state = dygraph.get_rng_state()
    >>> first = dygraph.rand([3]).tolist()
    >>> dygraph.set_rng_state(state)
    >>> dygraph.rand([3]).tolist() == first
    True
    """
    _core.set_generator_state(*_rng_state(state, "set_rng_state"))


def _rng_state(state, owner):
    if not isinstance(state, (list, tuple)) or len(state) != 2:
        raise ArgumentTypeError(
            f"{owner}: state must be a pair (seed, calls), got {kind_of(state)}"
        )
    return tuple(check.integer(v, f"{owner}: state", 0) for v in state)


class Generator:
    """A separate sequence of random numbers, for the calls in its block.

    Parameters
    ----------
    seed : int
        Not negative.

    Examples
    --------
    >>> import dygraph
    >>> ours = dygraph.Generator(7)
    >>> with ours:
    ...     first = dygraph.rand([2])
    >>> other = dygraph.rand([2])
    >>> with ours:
    ...     second = dygraph.rand([2])
    >>> dygraph.seed(7)
    >>> both = [dygraph.rand([2]).tolist(), dygraph.rand([2]).tolist()]
    >>> both == [first.tolist(), second.tolist()]
    True
    """

    def __init__(self, seed=0):
        self._state = (check.integer(seed, "Generator: seed", 0), 0)
        self._outer = None  # the other state when the block began

    def get_state(self):
        """Its state, as of `get_rng_state`."""
        self._require_outside("get_state")
        return self._state

    def set_state(self, state):
        """Restore the state of a `get_state`.

        ArgumentTypeError, InvalidArgumentError as `set_rng_state`.
        """
        self._require_outside("set_state")
        self._state = _rng_state(state, "Generator.set_state")

    def _require_outside(self, what):
        if self._outer is not None:
            raise PreconditionNotMetError(
                f"Generator: {what} must be called outside the generator's own block. Inside it, "
                "dygraph.get_rng_state() and dygraph.set_rng_state() use this generator"
            )

    def __enter__(self):
        self._require_outside("a second block")
        self._outer = _core.generator_state()
        _core.set_generator_state(*self._state)
        return self

    def __exit__(self, *_):
        self._state = _core.generator_state()
        outer, self._outer = self._outer, None
        _core.set_generator_state(*outer)
        return False

    def __repr__(self):
        seed, calls = self._state
        return f"Generator(seed={seed}, {calls} calls)"


def _variables(value, what):
    if isinstance(value, Variable):
        return [value]
    if hasattr(value, "__iter__") and not isinstance(value, (str, dict)):
        return [check.variable(v, f"grad: {what}[{i}]") for i, v in enumerate(value)]
    raise ArgumentTypeError(
        f"grad: {what} must be a Variable or a list of them, got {kind_of(value)}"
    )


def grad(
    outputs,
    inputs=None,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=False,
    no_grad_vars=None,
    backward_strategy=None,
):
    """Gradients of `outputs` with respect to `inputs`; the ``grad`` of leaves does not change.

    Computes ``sum_j grad_outputs[j]^T d outputs[j] / d inputs[i]`` for each i.

    Parameters
    ----------
    outputs, inputs : Variable or list of Variable
    grad_outputs : Variable, or list of Variable and None, optional
        The incoming gradient of each output; None stands for ones.
    retain_graph : bool, optional
        Keep the graph for another pass. None: as `create_graph`.
    create_graph : bool
        Record the computation of the gradients, so that they can be differentiated again.
    only_inputs : bool
        Must be True.
    allow_unused : bool
        Return None for an input that no output depends on, instead of raising an error.
    no_grad_vars : Variable or list of Variable, optional
        Treated as constants: no gradient passes through them.
    backward_strategy : BackwardStrategy, optional
        Fluid's; not used: gradients are always added in one order.

    Returns
    -------
    list of Variable
        One for each input, of its shape. Zeros if the derivative is zero everywhere, such as the
        second one of relu.

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError
        For arguments that are no Variables, lengths that differ, and an input that no output
        depends on.
    PreconditionNotMetError
        If nothing was recorded, or an earlier pass freed the graph.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([3.0])
    >>> x.stop_gradient = False
    >>> (g,) = dygraph.grad(x * x * x, x, create_graph=True)
    >>> (h,) = dygraph.grad(g, x)
    >>> g.numpy(), h.numpy()
    (array([27.], dtype=float32), array([18.], dtype=float32))
    """
    if inputs is None:
        raise ArgumentTypeError(
            f"grad: inputs must be Variables, got None beside {kind_of(outputs)}. Compute first: "
            "y = f(x); dygraph.grad(y, x) gives the gradients, y.backward() adds them to x.grad"
        )
    if not only_inputs:
        raise UnimplementedError(
            "grad: only_inputs must be True, got False. Use outputs.backward() to fill the leaves"
        )
    outputs, inputs = _variables(outputs, "outputs"), _variables(inputs, "inputs")
    if grad_outputs is None:
        grad_outputs = []
    elif isinstance(grad_outputs, Variable):
        grad_outputs = [grad_outputs]
    elif isinstance(grad_outputs, (list, tuple)):
        grad_outputs = [
            g
            if g is None or isinstance(g, Variable)
            else check.variable(g, f"grad: grad_outputs[{i}]")
            for i, g in enumerate(grad_outputs)
        ]
    else:
        raise ArgumentTypeError(
            f"grad: grad_outputs must be Variables, got {kind_of(grad_outputs)}"
        )
    constants = [] if no_grad_vars is None else _variables(no_grad_vars, "no_grad_vars")
    BackwardStrategy.check(backward_strategy, "grad")
    retain = bool(create_graph if retain_graph is None else retain_graph)
    create, unused = bool(create_graph), bool(allow_unused)
    return passes.grad(outputs, inputs, grad_outputs, retain, create, unused, constants)
