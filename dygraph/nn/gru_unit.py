"""GRUUnit: one step of Fluid's GRU."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.nn.layer import Layer

__all__ = ["GRUUnit"]

_ACTIVATIONS = {"identity": 0, "sigmoid": 1, "tanh": 2, "relu": 3}


class GRUUnit(Layer):
    """Fluid's GRU step: ``hidden, reset_hidden, gate = unit(input, hidden)``.

    The reset gate acts before the product, unlike in `GRUCell`; see the operator ``gru_unit``.

    Parameters
    ----------
    size : int
        Three times the width D of the hidden state.
    param_attr, bias_attr : ParamAttr, optional
        Of ``weight [D, 3 * D]`` and ``bias [1, 3 * D]``.
    activation, gate_activation : str, default "tanh" and "sigmoid"
        ``'identity'``, ``'sigmoid'``, ``'tanh'`` or ``'relu'``.
    origin_mode : bool, default False
        The update gate keeps the past.
    dtype : str or dtype, optional
        The type of the parameters; None: the default type.

    Raises
    ------
    InvalidArgumentError
        `size` is no multiple of 3.

    Examples
    --------
    >>> import dygraph
    >>> unit = dygraph.nn.GRUUnit(3 * 4)
    >>> hidden, reset, gate = unit(dygraph.ones([2, 12]), dygraph.zeros([2, 4]))
    >>> hidden.shape, reset.shape, gate.shape
    ((2, 4), (2, 4), (2, 12))
    """

    def __init__(
        self, size, param_attr=None, bias_attr=None, activation="tanh", gate_activation="sigmoid",
        origin_mode=False, dtype=None,
    ):  # fmt: skip
        super().__init__(dtype=dtype)
        size = check.integer(size, "GRUUnit: size", 3)
        if size % 3:
            raise InvalidArgumentError(f"GRUUnit: size must be a multiple of 3, got {size}")
        self._attrs = {
            "activation": _ACTIVATIONS[
                check.choice(activation, tuple(_ACTIVATIONS), "GRUUnit: activation")
            ],
            "gate_activation": _ACTIVATIONS[
                check.choice(gate_activation, tuple(_ACTIVATIONS), "GRUUnit: gate_activation")
            ],
            "origin_mode": bool(origin_mode),
        }
        self.weight = self.create_parameter([size // 3, size], param_attr)
        self.bias = self.create_parameter([1, size], bias_attr, is_bias=True)

    def forward(self, input, hidden):
        slots = {"Input": input, "HiddenPrev": hidden, "Weight": self.weight}
        if self.bias is not None:
            slots["Bias"] = self.bias
        out = _core.run_op("gru_unit", slots, self._attrs)
        return out["Hidden"], out["ResetHiddenPrev"], out["Gate"]
