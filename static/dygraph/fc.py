"""Fluid 1.5's layer `FC`, whose weight takes its rows from the first input."""

import math

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.nn import Layer
from dygraph.nn.activation import activation

__all__ = ["FC"]

ops = _core.ops


class FC(Layer):
    """``act(input @ weight + bias)``, with the axes from `num_flatten_dims` on as one row.

    Its parameters are made by the first call, so an optimizer is made without a parameter_list, or
    after it. `dygraph.nn.Linear` knows its sizes at once.

    Parameters
    ----------
    name_scope : str, optional
        Of Fluid; it may be left out.
    size : int
        Columns of the result.
    num_flatten_dims : int
        The number of axes that stay.
    param_attr, bias_attr : ParamAttr, str, Initializer, None or False
        The attributes, name or start values of weight and bias; ``bias_attr=False``: no bias.
    act : str, optional
        The name of an activation to apply to the result.
    is_test : bool
        Of Fluid; not used.
    dtype : dtype, optional
        The type of the parameters; None: the default type.

    Examples
    --------
    >>> import dygraph.static as fluid
    >>> import numpy as np
    >>> with fluid.dygraph.guard():
    ...     fc = fluid.dygraph.FC("fc", 10, num_flatten_dims=2)
    ...     out = fc(fluid.dygraph.to_variable(np.ones((2, 3, 4, 5), "float32")))
    >>> out.shape, fc.weight.shape
    ((2, 3, 10), (20, 10))
    """

    weight = bias = None

    def __init__(
        self, name_scope=None, size=None, num_flatten_dims=1, param_attr=None, bias_attr=None,
        act=None, is_test=False, dtype=None,
    ):  # fmt: skip
        if not isinstance(name_scope, str) and name_scope is not None:
            if size is not None:
                num_flatten_dims = size
            name_scope, size = None, name_scope
        super().__init__(name_scope, dtype)
        self._size = check.integer(size, "FC: size", 1)
        self._num_flatten_dims = check.integer(num_flatten_dims, "FC: num_flatten_dims", 1)
        self._param_attr, self._bias_attr = param_attr, bias_attr
        self._act, self._act_name = activation(act, "FC"), act

    def forward(self, input):
        kept, shape = self._num_flatten_dims, check.variable(input, "FC: input").shape
        if kept >= len(shape):
            raise InvalidArgumentError(
                f"FC: num_flatten_dims must be below the number of axes of input, {list(shape)}, "
                f"got {kept}"
            )
        rows = math.prod(shape[kept:])
        if self.weight is None:
            self.weight = self.create_parameter([rows, self._size], self._param_attr)
            bias = self.create_parameter([self._size], self._bias_attr, is_bias=True)
            if bias is not None:
                self.bias = bias
        if self.weight.shape[0] != rows:
            raise InvalidArgumentError(
                f"FC: the row must have {self.weight.shape[0]} values, as in the first call, got "
                f"{rows} in an input of shape {list(shape)}"
            )
        out = ops.mul(input, self.weight, x_num_col_dims=kept)
        if self.bias is not None:
            out = ops.elementwise_add(out, self.bias)
        return out if self._act is None else self._act(out)

    def extra_repr(self):
        return f"{self._size}, num_flatten_dims={self._num_flatten_dims}"
