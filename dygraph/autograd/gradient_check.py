"""Gradients against central differences, for users' own functions and layers."""

import numpy as np

from dygraph import _core
from dygraph.autograd.recording import enable_grad, no_grad
from dygraph.core import check
from dygraph.core.base import grad, to_variable
from dygraph.errors import ArgumentTypeError, DygraphError, InvalidArgumentError, kind_of

__all__ = ["GradientMismatch", "check_grad"]

Variable = _core.Variable


class GradientMismatch(DygraphError, AssertionError):
    """Analytic and numeric gradient differ."""


def _outputs(func, inputs):
    result = func(*inputs)
    outputs = list(result) if isinstance(result, (list, tuple)) else [result]
    for i, y in enumerate(outputs):
        if not isinstance(y, Variable):
            raise ArgumentTypeError(
                f"check_grad: func must give Variables, got {kind_of(y)} as output {i}"
            )
        if y.dtype.is_complex:
            raise ArgumentTypeError(
                f"check_grad: func must give real numbers, got {y.dtype} as output {i}. Give "
                "dygraph.as_real(y)"
            )
    return [y for y in outputs if y.dtype.is_floating]


def _projected(func, inputs, weights):
    with no_grad():
        values = [np.asarray(y.numpy(), "float64") for y in _outputs(func, inputs)]
    return sum(float((v * w).sum()) for v, w in zip(values, weights, strict=True))


def check_grad(func, inputs, eps=1e-6, atol=1e-5, rtol=1e-3, order=1, seed=0, raise_exception=True):
    """Compare the gradients of ``func(*inputs)`` with central differences.

    The outputs are multiplied by fixed random weights and summed to a number L; for each element x
    of each input with ``stop_gradient`` False, dL/dx from backward is compared with
    (L(x + eps) - L(x - eps)) / (2 eps): ``|a - n| <= atol + rtol * |n|``.

    Parameters
    ----------
    func : function of Variables giving a Variable or several, the same when called again
    inputs : Variable or list of Variable
        float64 is needed for such a small `eps`; use larger ones with float32.
    order : 1 or 2
        2 checks the gradients of the gradients as well.
    seed : int
        The seed of the weights.
    raise_exception : bool
        False: return False instead of raising.

    Returns
    -------
    bool
        True if all agree.

    Raises
    ------
    GradientMismatch
        (an AssertionError) naming the input, the element and both numbers.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([0.3, -1.2], dtype="float64")
    >>> x.stop_gradient = False
    >>> dygraph.check_grad(lambda x: dygraph.tanh(x) * x, x, order=2)
    True
    """
    inputs = [inputs] if isinstance(inputs, Variable) else list(inputs)
    for i, x in enumerate(inputs):
        check.variable(x, f"check_grad: inputs[{i}]")
        if x.dtype.is_complex and not x.stop_gradient:
            raise ArgumentTypeError(
                f"check_grad: inputs[{i}] must be real, got {x.dtype}. Give dygraph.as_real(x), "
                "and take as_complex of it inside func"
            )
    if order not in (1, 2):
        raise InvalidArgumentError(f"check_grad: order must be 1 or 2, got {order!r}")
    wanted = [i for i, x in enumerate(inputs) if not x.stop_gradient and x.dtype.is_floating]
    if not wanted:
        raise InvalidArgumentError(
            "check_grad: at least one input must have stop_gradient = False, got none"
        )
    rng = np.random.default_rng(seed)
    problem = _compare(func, inputs, wanted, eps, atol, rtol, rng)
    if problem is None and order == 2:
        problem = _compare(*_gradient_as_function(func, inputs, wanted, rng), eps, atol, rtol, rng)
        problem = problem and f"second order: {problem}"
    if problem is not None and any(inputs[i].dtype != "float64" for i in wanted):
        problem += ". The inputs should be float64: write x.astype('float64')"
    if problem is not None and raise_exception:
        raise GradientMismatch(f"check_grad: {problem}")
    return problem is None


def _weights(func, inputs, rng):
    with no_grad():
        return [np.asarray(rng.uniform(0.5, 1.5, y.shape)) for y in _outputs(func, inputs)]


def _leaves(inputs):
    leaves = []
    for x in inputs:
        y = x.detach()
        if y.dtype.is_floating:
            y.stop_gradient = x.stop_gradient
        leaves.append(y)
    return leaves


def _compare(func, inputs, wanted, eps, atol, rtol, rng):
    """The first disagreement, or None."""
    weights = _weights(func, inputs, rng)
    leaves = _leaves(inputs)
    with enable_grad():
        pairs = [
            (y, to_variable(w.astype(str(y.dtype))))
            for y, w in zip(_outputs(func, leaves), weights, strict=True)
            if not y.stop_gradient
        ]
        asked = [leaves[i] for i in wanted]
        found = (
            grad([y for y, _ in pairs], asked, [w for _, w in pairs], allow_unused=True)
            if pairs
            else [None] * len(asked)
        )
    for i, g in zip(wanted, found, strict=True):
        x = inputs[i]
        if g is None:
            analytic = np.zeros(x.shape)
        else:
            analytic = (_core.to_dense(g) if _core.is_selected_rows(g) else g).numpy()
        values = x.numpy()
        for at in np.ndindex(*x.shape):
            sides = []
            for step in (eps, -eps):
                moved = values.copy()
                moved[at] += step
                trial = list(inputs)
                trial[i] = to_variable(moved)
                sides.append(_projected(func, trial, weights))
            numeric = (sides[0] - sides[1]) / (2 * eps)
            a = float(analytic[at])
            if not abs(a - numeric) <= atol + rtol * abs(numeric):
                return (
                    f"the gradient of input {i} must agree with differences, "
                    f"got {a:.8g} and {numeric:.8g} at {list(at)} of shape {list(x.shape)}"
                )
    return None


def _gradient_as_function(func, inputs, wanted, rng):
    """The gradients as a function of the inputs and of the incoming gradients."""
    weights = _weights(func, inputs, rng)
    with no_grad():
        flows = [to_variable(w.astype(str(y.dtype)))
                 for y, w in zip(_outputs(func, inputs), weights, strict=True)]  # fmt: skip
    for f in flows:
        f.stop_gradient = False
    count = len(inputs)

    def gradients(*args):
        with enable_grad():
            leaves = []
            for x in args[:count]:
                # A separate node, so that gradients with respect to it can be computed.
                leaves.append(x * 1.0 if not x.stop_gradient else x)
            for i in wanted:
                if leaves[i].stop_gradient:
                    leaves[i] = leaves[i].detach()
                    leaves[i].stop_gradient = False
            pairs = [(y, f) for y, f in zip(_outputs(func, leaves), args[count:], strict=True)
                     if not y.stop_gradient]  # fmt: skip
            found = grad([y for y, _ in pairs], [leaves[i] for i in wanted],
                         [f for _, f in pairs], create_graph=True, allow_unused=True)  # fmt: skip
        return [g for g in found if g is not None]

    return gradients, [*inputs, *flows], [*wanted, *range(count, count + len(flows))]
