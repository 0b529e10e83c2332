"""States of PyTorch: Linear weights lie transposed there, and some values have other names.

Those of its attention hold query, key and value in one.
"""

import sys

import numpy as np

from dygraph import _core
from dygraph.core import foreign
from dygraph.errors import InvalidArgumentError
from dygraph.nn.common import Linear

__all__ = ["translated"]

_BUFFERS = {"running_mean": "_mean", "running_var": "_variance"}
_COUNT = "num_batches_tracked"
_PACKED = {"in_proj_weight": "weight", "in_proj_bias": "bias"}
_CROSS = "multihead_attn.", "cross_attn."


def _last(name):
    return str(name).rpartition(".")[2]


def _is_torch(value):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def translated(layer, state, given, from_torch):
    """`given` by our names, Linear weights as ``[in, out]``.

    Parameters
    ----------
    layer : Layer
    state : dict
        The layer's own, by the names that `given` has.
    given : dict
    from_torch : bool or None
        None: torch tensors and torch's names of buffers say it.

    Raises
    ------
    InvalidArgumentError
        Where nothing says which way a square weight lies.
    """
    layers = [layer, *(sublayer for _, sublayer in layer.named_sublayers())]
    weights = {id(each.weight) for each in layers if isinstance(each, Linear)}
    linear = {name for name, value in state.items() if id(value) in weights}
    if from_torch is None:
        from_torch = any(
            _is_torch(value) or (name not in state and _last(name) in (*_BUFFERS, _COUNT, *_PACKED))
            for name, value in given.items()
        )
        if not from_torch:
            _refuse_unclear(type(layer).__name__, state, given, linear)
    if not from_torch:
        return given
    result = {}
    pairs = (pair for name, value in given.items() for pair in _renamed(name, value, state))
    for name, value in pairs:
        value = _array(value)
        if name in linear and value.ndim == 2:
            value = value.T
        elif name in state and state[name].ndim == 1 and value.size == state[name].size:
            value = value.reshape(-1)  # of LayerNorm over several axes
        result[name] = value
    return result


def _renamed(name, value, state):
    """A value by our names: none, itself, or its three parts."""
    if name in state or _last(name) == _COUNT:
        return [(name, value)] if name in state else []
    last = _last(name)
    ours = str(name).replace(*_CROSS)
    if last in _BUFFERS:
        return [(str(name)[: -len(last)] + _BUFFERS[last], value)]
    if last not in _PACKED:
        return [(ours if ours in state else name, value)]
    names = [f"{ours[: -len(last)]}{part}_proj.{_PACKED[last]}" for part in "qkv"]
    value = _array(value)
    if not all(n in state for n in names) or not len(value) or len(value) % 3:
        return [(name, value)]
    size = len(value) // 3
    return [(n, value[i * size : (i + 1) * size]) for i, n in enumerate(names)]


def _array(value):
    """A torch tensor as an array; other values as they are."""
    if not _is_torch(value):
        return value
    value = value.detach().cpu()
    return (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()


def _refuse_unclear(owner, state, given, linear):
    """Raise an error if Linear weights of an unknown origin could lie either way."""
    unclear = None
    for name in sorted(linear.intersection(given)):
        value, own = given[name], tuple(state[name].shape)
        if isinstance(value, _core.Variable) and not foreign.is_marked(value):
            continue
        shape = tuple(np.shape(value)) if not isinstance(value, _core.Variable) else value.shape
        if own[0] == own[1]:
            unclear = name if shape == own and own[0] > 1 else unclear
        elif shape == own:
            return
        elif shape == own[::-1]:
            raise InvalidArgumentError(
                f"{owner}: '{name}' must have shape {list(own)}, [in, out], got {list(shape)}, as "
                "PyTorch has it, and nothing was written. from_torch=True transposes Linear weights"
            )
    if unclear is not None:
        raise InvalidArgumentError(
            f"{owner}: from_torch must be given, as the state does not say which way the square "
            f"Linear weight '{unclear}' {list(state[unclear].shape)} lies; nothing was written. "
            "Write set_state_dict(state, from_torch=True) for a state of PyTorch, [out, in], or "
            "from_torch=False for one of dygraph or Paddle, [in, out]"
        )
