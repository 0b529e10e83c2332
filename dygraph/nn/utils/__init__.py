"""Gradient clipping between ``backward()`` and ``step()``; parameters as one vector.

Names and arguments are those of PyTorch's and Paddle's ``nn.utils``. Padding of sequences is in
`dygraph.nn.utils.rnn`.
"""

import math

from dygraph import _core
from dygraph.autograd.recording import no_grad
from dygraph.core import check
from dygraph.core.module_hints import OF_NN_UTILS as _OF_NN_UTILS
from dygraph.core.spellings import refuse as _refuse
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    NonFiniteError,
    did_you_mean,
    kind_of,
)
from dygraph.nn.clip import scaled
from dygraph.nn.utils import rnn as rnn

__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "vector_to_parameters",
]  # fmt: skip

ops = _core.ops
Variable = _core.Variable


def _listed(parameters, owner):
    """The parameters as a list, each once: one Variable stands for itself."""
    if isinstance(parameters, Variable):
        return [parameters]
    if hasattr(parameters, "parameters"):
        raise ArgumentTypeError(
            f"{owner}: parameters must be a list, got {type(parameters).__name__}. Write "
            "layer.parameters()"
        )
    if isinstance(parameters, str) or not hasattr(parameters, "__iter__"):
        raise ArgumentTypeError(f"{owner}: parameters must be a list, got {kind_of(parameters)}")
    found = [check.variable(p, f"{owner}: parameters[{i}]") for i, p in enumerate(parameters)]
    return list({id(p): p for p in found}.values())


@no_grad
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    """Scale the gradients by one factor, so that their common norm is at most `max_norm`.

    ``factor = min(1, max_norm / (norm + 1e-6))`` (Pascanu and others, 2013). For a rule that an
    optimizer applies in each step, see `dygraph.nn.ClipGradByGlobalNorm`.

    Parameters
    ----------
    parameters : list of Parameter, or one
        Those without a gradient are left out.
    max_norm : float
    norm_type : float
        ``inf`` is the largest absolute value.
    error_if_nonfinite : bool
        Raise where the norm is infinite or NaN, before a gradient changes.

    Returns
    -------
    Variable
        The norm before, as if all gradients were one vector. 0-d.

    Raises
    ------
    NonFiniteError
        With `error_if_nonfinite`.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([3.0, 4.0])
    >>> (w * w).sum().backward()
    >>> dygraph.nn.utils.clip_grad_norm_([w], 1.0).item()
    10.0
    >>> w.grad.numpy().round(3)
    array([0.6, 0.8], dtype=float32)
    """
    most = check.number(max_norm, "clip_grad_norm_: max_norm", 0)
    p = check.number(norm_type, "clip_grad_norm_: norm_type", 0)
    if p == 0:
        raise InvalidArgumentError("clip_grad_norm_: norm_type must be positive, got 0")
    owners = [v for v in _listed(parameters, "clip_grad_norm_") if v.grad is not None]
    if not owners:
        return ops.fill_constant(shape=[], value=0.0, dtype="float32")
    norms = [_values(v.grad).norm(p) for v in owners]
    widest = max((n.dtype for n in norms), key=str)
    total = ops.stack([n.astype(widest) for n in norms]).norm(p)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise NonFiniteError(f"clip_grad_norm_: the norm must be finite, got {total.item()}")
    factor = (most / (total + 1e-6)).clip(max=1.0)
    for v in owners:
        v.grad = scaled(v.grad, factor)
    return total


def _values(gradient):
    """The elements of a gradient; of sparse rows those that are kept, each once."""
    if not _core.is_selected_rows(gradient):
        return gradient.detach()
    return _core.rows_value(_core.merged(gradient))


@no_grad
def clip_grad_value_(parameters, clip_value):
    """Clip each element of the gradients to ``[-clip_value, clip_value]``.

    For a rule that an optimizer applies in each step, see `dygraph.nn.ClipGradByValue`.

    Parameters
    ----------
    parameters : Variable or list of Variable
    clip_value : float
        At least 0.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([3.0, -0.25])
    >>> (w * w).sum().backward()
    >>> dygraph.nn.utils.clip_grad_value_([w], 1.0)
    >>> w.grad.tolist()
    [1.0, -0.5]
    """
    from dygraph.nn.clip import ClipGradByValue

    rule = ClipGradByValue(check.number(clip_value, "clip_grad_value_: clip_value", 0))
    for v in _listed(parameters, "clip_grad_value_"):
        if v.grad is not None:
            v.grad = rule.one(v.grad)


def parameters_to_vector(parameters):
    """All elements of the parameters as one vector; gradients flow through.

    Parameters
    ----------
    parameters : list of Variable

    Returns
    -------
    Variable
        ``[elements of all parameters]``

    Examples
    --------
    >>> import dygraph
    >>> net = dygraph.nn.Linear(2, 3)
    >>> dygraph.nn.utils.parameters_to_vector(net.parameters()).shape
    (9,)
    """
    found = _listed(parameters, "parameters_to_vector")
    if not found:
        raise InvalidArgumentError("parameters_to_vector: there must be a parameter, got []")
    return ops.concat([v.reshape(-1) for v in found], axis=0)


@no_grad
def vector_to_parameters(vec, parameters):
    """Write the elements of a vector into the parameters, in order.

    InvalidArgumentError if it is not as long as all of them; nothing is written then.

    Parameters
    ----------
    vec : Variable
        ``[elements of all parameters]``
    parameters : list of Variable

    Examples
    --------
    >>> import dygraph
    >>> net = dygraph.nn.Linear(1, 2)
    >>> dygraph.nn.utils.vector_to_parameters(dygraph.arange(4.0), net.parameters())
    >>> net.weight.tolist(), net.bias.tolist()
    ([[0.0, 1.0]], [2.0, 3.0])
    """
    vec = check.variable(vec, "vector_to_parameters: vec").detach()
    found = _listed(parameters, "vector_to_parameters")
    count = sum(int(v.size) for v in found)
    if list(vec.shape) != [count]:
        raise InvalidArgumentError(
            f"vector_to_parameters: vec must have shape [{count}], the elements of the "
            f"parameters, got {list(vec.shape)}"
        )
    start = 0
    for v in found:
        stop = start + int(v.size)
        v.set_value(vec[start:stop].reshape(v.shape).astype(v.dtype))
        start = stop


def __getattr__(name):
    hint = "" if name.startswith("_") else did_you_mean(name, __all__)
    hint = f" {_OF_NN_UTILS[name]}" if name in _OF_NN_UTILS else hint
    raise _refuse("dygraph.nn.utils", name, hint)
