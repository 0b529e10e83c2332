"""Derivatives beyond `backward`: Jacobians, Hessians, products with them, hooks on kept values."""

import numpy as np

from dygraph import _core
from dygraph.autograd.recording import enable_grad
from dygraph.core import check
from dygraph.core.base import grad, to_variable
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.inspect.shown import Shown

__all__ = ["hessian", "hvp", "jacobian", "jvp", "recompute", "saved_value_hooks", "vjp"]

Variable = _core.Variable


def _inputs(xs, what):
    """(fresh leaves that want gradients, whether one Variable was given)."""
    single = isinstance(xs, Variable)
    if not single and not isinstance(xs, (list, tuple)):
        raise ArgumentTypeError(f"{what}: xs must be a Variable or a list, got {kind_of(xs)}")
    leaves = []
    for i, x in enumerate([xs] if single else xs):
        x = check.variable(x, f"{what}: xs[{i}]")
        if not x.dtype.is_floating:
            raise ArgumentTypeError(f"{what}: xs[{i}] must hold floats, got {x.dtype}")
        leaves.append(x)
    if not leaves:
        raise InvalidArgumentError(f"{what}: xs must hold at least one Variable, got an empty list")
    return leaves, single


def _fresh(leaves, create_graph):
    """Leaves to differentiate by: copies, or the given ones if their history is needed."""
    fresh = []
    for x in leaves:
        y = x * 1.0 if create_graph and not x.stop_gradient else x.detach()
        y.stop_gradient = False
        fresh.append(y)
    return fresh


def _call(func, leaves, what):
    result = func(*leaves)
    if not isinstance(result, Variable):
        raise ArgumentTypeError(f"{what}: func must give one Variable, got {kind_of(result)}")
    return result


def _one_hot(shape, dtype, i):
    e = np.zeros(shape, str(dtype))
    e.reshape(-1)[i] = 1
    return to_variable(e)


def _rows(y, leaves, create_graph):
    """The block of the Jacobian for each leaf, ``y.shape + x.shape``."""
    count = int(np.prod(y.shape))
    rows = [[] for _ in leaves]
    for i in range(count):
        if y.stop_gradient:  # nothing depends on the leaves
            found = [None] * len(leaves)
        else:
            seed = _one_hot(y.shape, y.dtype, i)
            found = grad(y, leaves, seed, retain_graph=True, create_graph=create_graph,
                         allow_unused=True)  # fmt: skip
        for row, g, x in zip(rows, found, leaves, strict=True):
            row.append(x.detach() * 0.0 if g is None else g)
    blocks = []
    for row, x in zip(rows, leaves, strict=True):
        if not row:
            blocks.append(to_variable(np.zeros((*y.shape, *x.shape), str(x.dtype))))
            continue
        flat = [_core.ops.reshape2(r, [1, *x.shape]) for r in row]
        blocks.append(_core.ops.reshape2(_core.ops.concat(flat, 0), [*y.shape, *x.shape]))
    return blocks


def jacobian(func, xs, create_graph=False):
    """All partial derivatives of ``func(*xs)``: J[i..., j...] = d y[i...] / d x[j...].

    One backward pass for each element of y.

    Parameters
    ----------
    func : function of Variables giving one Variable
    xs : Variable or list of Variable
    create_graph : bool
        Record the computation, so that the Jacobian can be differentiated again.

    Returns
    -------
    Variable, or list of Variable for a list
        Of shape ``y.shape + x.shape``. Zeros where y does not depend on x.

    Raises
    ------
    ArgumentTypeError
        For an argument that is no Variable or holds no floats.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([1.0, 2.0])
    >>> dygraph.autograd.jacobian(lambda x: x * x, x).numpy()
    array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    leaves, single = _inputs(xs, "jacobian")
    with enable_grad():
        fresh = _fresh(leaves, create_graph)
        blocks = _rows(_call(func, fresh, "jacobian"), fresh, create_graph)
    return blocks[0] if single else blocks


def hessian(func, xs, create_graph=False):
    """Second derivatives of a scalar function: H[i..., j...] = d2 y / (d x[i...] d x[j...]).

    Parameters
    ----------
    func : function of Variables giving one Variable of one element
    xs : Variable or list of Variable
    create_graph : bool
        Record the computation, for third derivatives.

    Returns
    -------
    Variable, or list of lists of Variable for a list
        Block [a][b] has the shape ``xs[a].shape + xs[b].shape``.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([1.0, 2.0])
    >>> dygraph.autograd.hessian(lambda x: (x * x * x).sum(), x).numpy()
    array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)
    """
    leaves, single = _inputs(xs, "hessian")
    with enable_grad():
        fresh = _fresh(leaves, create_graph)
        firsts = _gradients(_scalar(_call(func, fresh, "hessian"), "hessian"), fresh)
        blocks = [_rows(g, fresh, create_graph) for g in firsts]
    return blocks[0][0] if single else blocks


def _scalar(y, what):
    if int(np.prod(y.shape)) != 1:
        raise InvalidArgumentError(
            f"{what}: func must give one number, got shape {list(y.shape)}. Sum it, or use jacobian"
        )
    return y


def _gradients(y, leaves):
    """Recorded gradients of a scalar; zeros for a leaf that it does not depend on."""
    if y.stop_gradient:
        return [x.detach() * 0.0 for x in leaves]
    found = grad(y, leaves, create_graph=True, allow_unused=True)
    return [x.detach() * 0.0 if g is None else g for g, x in zip(found, leaves, strict=True)]


def _directions(v, leaves, single, what):
    given = [v] if single else v
    if not isinstance(given, (list, tuple)) or len(given) != len(leaves):
        raise InvalidArgumentError(
            f"{what}: v must have one entry for each of the {len(leaves)} xs"
        )
    for i, (d, x) in enumerate(zip(given, leaves, strict=True)):
        check.variable(d, f"{what}: v[{i}]")
        if d.shape != x.shape:
            raise InvalidArgumentError(
                f"{what}: v[{i}] must have the shape of xs[{i}], {list(x.shape)}, "
                f"got {list(d.shape)}"
            )
    return given


def vjp(func, xs, v=None):
    """(y, vᵀ J): the value of ``func(*xs)`` and its Jacobian multiplied from the left.

    Parameters
    ----------
    func : function of Variables giving one Variable
    xs : Variable or list of Variable
    v : Variable, optional
        Of y's shape. None: ones.

    Returns
    -------
    tuple
        y, and vᵀ J as `xs`.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([1.0, 2.0])
    >>> y, g = dygraph.autograd.vjp(lambda x: x * x, x)
    >>> g.numpy()
    array([2., 4.], dtype=float32)
    """
    leaves, single = _inputs(xs, "vjp")
    with enable_grad():
        fresh = _fresh(leaves, False)
        y = _call(func, fresh, "vjp")
        if y.stop_gradient:
            found = [None] * len(fresh)
        else:
            found = grad(y, fresh, v, allow_unused=True)
    found = [x.detach() * 0.0 if g is None else g for g, x in zip(found, fresh, strict=True)]
    return y.detach(), found[0] if single else found


def jvp(func, xs, v=None):
    """(y, J v): the value of ``func(*xs)`` and its derivative in the direction `v`.

    Computed by differentiating vᵀJ, which is linear in v, by v.

    Parameters
    ----------
    func : function of Variables giving one Variable
    xs : Variable or list of Variable
    v : as xs, optional
        None: ones.

    Returns
    -------
    tuple
        y, and J v of y's shape.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([1.0, 2.0])
    >>> y, d = dygraph.autograd.jvp(lambda x: x * x, x, dygraph.to_variable([1.0, 0.0]))
    >>> d.numpy()
    array([2., 0.], dtype=float32)
    """
    leaves, single = _inputs(xs, "jvp")
    if v is None:
        v = [x.detach() * 0.0 + 1.0 for x in leaves]
        v = v[0] if single else v
    directions = _directions(v, leaves, single, "jvp")
    with enable_grad():
        fresh = _fresh(leaves, False)
        y = _call(func, fresh, "jvp")
        zeros = y.detach() * 0.0
        if y.stop_gradient:
            return y.detach(), zeros
        weights = y.detach() * 0.0
        weights.stop_gradient = False
        found = grad(y, fresh, weights, create_graph=True, allow_unused=True)
        pairs = [(g, d) for g, d in zip(found, directions, strict=True)
                 if g is not None and not g.stop_gradient]  # fmt: skip
        if not pairs:
            return y.detach(), zeros
        (result,) = grad([g for g, _ in pairs], [weights], [d for _, d in pairs],
                         allow_unused=True)  # fmt: skip
    return y.detach(), zeros if result is None else result


def hvp(func, xs, v):
    """(y, H v): the value of a scalar function and its Hessian times `v`, in two passes.

    Parameters
    ----------
    func : function of Variables giving one number
    xs : Variable or list of Variable
    v : as xs
        The direction.

    Returns
    -------
    tuple
        y, and H v as `xs`.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([1.0, 2.0])
    >>> f = lambda x: (x * x * x).sum()
    >>> dygraph.autograd.hvp(f, x, dygraph.to_variable([1.0, 1.0]))[1].numpy()
    array([ 6., 12.], dtype=float32)
    """
    leaves, single = _inputs(xs, "hvp")
    directions = _directions(v, leaves, single, "hvp")
    with enable_grad():
        fresh = _fresh(leaves, False)
        y = _scalar(_call(func, fresh, "hvp"), "hvp")
        firsts = _gradients(y, fresh)
        pairs = [(g, d) for g, d in zip(firsts, directions, strict=True) if not g.stop_gradient]
        if pairs:
            found = grad([g for g, _ in pairs], fresh, [d for _, d in pairs], allow_unused=True)
        else:
            found = [None] * len(fresh)
    found = [x.detach() * 0.0 if g is None else g for g, x in zip(found, fresh, strict=True)]
    return y.detach(), found[0] if single else found


class saved_value_hooks(Shown):  # noqa: N801 - used like a function
    """Set how the tape keeps values, for calls that this thread records in this block.

    ``pack(variable)`` is called for each value that an operator's gradient will read and may return
    any object; ``unpack(object)`` must return a Variable of the same shape and type when backward
    needs it. Both run without recording. Blocks nest: the innermost one applies.

    Parameters
    ----------
    pack : callable
        From a Variable to what is kept.
    unpack : callable
        From what is kept to a Variable of the same shape and type.

    Examples
    --------
    Kept values in half the memory:

    >>> import dygraph
    >>> x = dygraph.to_variable([1.5, 2.0]); x.stop_gradient = False
    >>> with dygraph.autograd.saved_value_hooks(
    ...     lambda v: v.astype("float16"), lambda h: h.astype("float32")
    ... ):
    ...     y = x * x
    >>> y.sum().backward()
    >>> x.gradient()
    array([3., 4.], dtype=float32)
    """

    def __init__(self, pack, unpack):
        for name, function in (("pack", pack), ("unpack", unpack)):
            if not callable(function):
                raise ArgumentTypeError(
                    f"saved_value_hooks: {name} must be a function, got {kind_of(function)}"
                )
        self._hooks = pack, unpack

    def __enter__(self):
        _core.push_saved_value_hooks(*self._hooks)
        return self

    def __exit__(self, *_):
        _core.pop_saved_value_hooks()
        return False


class _Run:
    """One recomputed call: its arguments, and the values of the latest run."""

    def __init__(self, function, args, kwargs, keep_random_state):
        self.function = function
        # The current values: later writes into the arguments must not change the second run.
        self.args = [_share(a) for a in args]
        self.kwargs = {name: _share(a) for name, a in kwargs.items()}
        self.random = _core.generator_state() if keep_random_state else None
        self.packed = 0
        self.values = {}

    def pack(self, _):
        self.packed += 1
        return self.packed - 1

    def unpack(self, number):
        if number not in self.values:
            self._run_again()
        return self.values.pop(number)

    def _run_again(self):
        found = []

        def refuse(_):
            raise AssertionError("values of the second run are not unpacked")

        now = _core.generator_state()
        if self.random:
            _core.set_generator_state(*self.random)
        try:
            with enable_grad(), saved_value_hooks(lambda v: found.append(v.detach()), refuse):
                self.function(*self.args, **self.kwargs)
        finally:
            if self.random:
                _core.set_generator_state(*now)
        if len(found) != self.packed:
            raise InvalidArgumentError(
                f"recompute: the function must do the same calls again, but backward would read "
                f"{self.packed} values of the first run and {len(found)} of the second"
            )
        self.values = dict(enumerate(found))


def _share(a):
    if not isinstance(a, Variable):
        return a
    twin = a.detach()
    if twin.dtype.is_inexact:
        twin.stop_gradient = a.stop_gradient
    return twin


def recompute(function, *args, preserve_rng_state=True, **kwargs):
    """Call ``function(*args)`` without keeping values for backward, which runs it again.

    It saves memory and costs a second forward pass. Gradients of any order have the same bits as
    those of an ordinary call. Layers that count their calls (the running means of batch_norm) count
    two.

    Parameters
    ----------
    function : callable
        A layer, or a function of Variables, that repeats the same calls.
    *args, **kwargs : object
        Arguments of `function`.
    preserve_rng_state : bool
        Draw the same random numbers again (dropout).

    Returns
    -------
    object
        What `function` gives.

    Raises
    ------
    InvalidArgumentError
        In backward, if the second run differs from the first.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([0.5]); x.stop_gradient = False
    >>> y = dygraph.recompute(lambda v: dygraph.exp(v) * v, x)
    >>> dygraph.saved(y).total
    0
    >>> y.backward()
    """
    if not callable(function):
        raise ArgumentTypeError(f"recompute: function must be callable, got {kind_of(function)}")
    if not _core.grad_enabled():
        return function(*args, **kwargs)
    run = _Run(function, args, kwargs, preserve_rng_state)
    with saved_value_hooks(run.pack, run.unpack):
        return function(*args, **kwargs)
