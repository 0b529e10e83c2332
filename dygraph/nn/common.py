"""Linear, Embedding, Identity."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from dygraph.nn import misfit
from dygraph.nn.activation import activation
from dygraph.nn.layer import Layer

__all__ = ["Embedding", "Identity", "Linear"]

ops = _core.ops
_matmul, _add = ops.matmul_v2, ops.elementwise_add


class Linear(Layer):
    """``act(input @ weight + bias)``.

    Parameters
    ----------
    input_dim, output_dim : int
        Sizes of the last axis before and after.
    param_attr, bias_attr : ParamAttr, str, Initializer, None or False
        ``bias_attr=False``: no bias.
    act : str, optional
        Name of an activation, ``'relu'``.
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Attributes
    ----------
    weight : Parameter
        ``[input_dim, output_dim]``.
    bias : Parameter or None
        ``[output_dim]``.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> fc = dygraph.nn.Linear(3, 2, act="relu")
    >>> fc(dygraph.to_variable(np.ones((5, 3), "float32"))).shape
    (5, 2)
    """

    def __init__(
        self, input_dim, output_dim, param_attr=None, bias_attr=None, act=None, dtype=None
    ):
        super().__init__(dtype=dtype)
        input_dim = check.integer(input_dim, "Linear: input_dim", 1)
        output_dim = check.integer(output_dim, "Linear: output_dim", 1)
        self._act = activation(act, "Linear")
        self._act_name = act
        param_attr = check.weight_attr(param_attr, "Linear")
        self.weight = self.create_parameter([input_dim, output_dim], param_attr)
        self.bias = self.create_parameter([output_dim], bias_attr, is_bias=True)

    def forward(self, input):
        try:
            out = _matmul(input, self.weight)
        except (TypeError, ValueError):
            misfit.of_linear(type(self).__name__, input, self.weight)
            raise
        bias = self.bias
        if bias is not None:
            out = _add(out, bias)
        return out if self._act is None else self._act(out)

    def extra_repr(self):
        rows, columns = self.weight.shape
        bias = "" if self.bias is not None else ", bias_attr=False"
        act = f", act='{self._act_name}'" if self._act_name else ""
        return f"{rows}, {columns}{bias}{act}"


class Embedding(Layer):
    """Rows of a table, by index.

    Parameters
    ----------
    size : (int, int)
        Number of rows, and length of each.
    is_sparse : bool
        The table's gradient is SelectedRows with only the rows that were read.
    is_distributed : bool
        Fluid's; not used.
    padding_idx : int, optional
        A row that reads as zeros and gets no gradient; negative indices count from the end.
    param_attr : ParamAttr, str or Initializer, optional
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> table = dygraph.nn.Embedding([10, 4])
    >>> table(dygraph.to_variable(np.array([[1, 2, 3]]))).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        size,
        is_sparse=False,
        is_distributed=False,
        padding_idx=None,
        param_attr=None,
        dtype=None,
    ):
        super().__init__(dtype=dtype)
        if isinstance(size, int):
            raise ArgumentTypeError(
                f"Embedding: size must be [number of rows, length of a row], got int {size}. Write "
                f"Embedding([{size}, {is_sparse}])"
                if isinstance(is_sparse, int) and is_sparse is not False
                else f"Embedding: size must be [number of rows, length of a row], got int {size}"
            )
        size = check.shape(size, "Embedding: size")
        if len(size) != 2 or min(size) < 1:
            raise InvalidArgumentError(
                f"Embedding: size must be [number of rows, length of a row], got {size}"
            )
        if padding_idx is None:
            padding = -1
        else:
            padding = check.integer(padding_idx, "Embedding: padding_idx")
            if not -size[0] <= padding < size[0]:
                raise InvalidArgumentError(
                    f"Embedding: padding_idx must lie in [-{size[0]}, {size[0]}), got {padding}"
                )
            padding %= size[0]
        self._is_sparse, self._padding_idx = bool(is_sparse), padding
        self._padding_row = padding_idx
        param_attr = check.weight_attr(param_attr, "Embedding")
        self.weight = self.create_parameter(size, param_attr)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, sparse=False):
        """A layer of these rows, which are copied.

        Parameters
        ----------
        embeddings : Variable or array
            ``[rows, length]``.
        freeze : bool
            Whether training leaves the rows as they are.
        padding_idx : int, optional
            Its row must be 0.
        sparse : bool
            As `is_sparse`.

        Raises
        ------
        InvalidArgumentError
            (a ValueError) for a row of `padding_idx` that is not 0.

        Examples
        --------
        >>> import dygraph
        >>> table = dygraph.nn.Embedding.from_pretrained(dygraph.to_variable([[1.0, 2.0]]))
        >>> table(dygraph.to_variable([0])).tolist(), table.weight.trainable
        ([[1.0, 2.0]], False)
        """
        given = isinstance(embeddings, _core.Variable)
        rows = embeddings if given else _core.to_variable(embeddings)
        if rows.ndim != 2:
            raise InvalidArgumentError(
                f"Embedding.from_pretrained: embeddings must be [rows, length], got shape "
                f"{list(rows.shape)}"
            )
        table = cls(list(rows.shape), sparse, padding_idx=padding_idx, dtype=rows.dtype)
        if padding_idx is not None and (rows.detach()[padding_idx] != 0).any():
            raise InvalidArgumentError(
                f"Embedding.from_pretrained: the row padding_idx={padding_idx} must be 0, since "
                "its index gives zeros, where torch gives the row. Set the row to 0, or leave "
                "padding_idx out"
            )
        table.weight.set_value(rows.detach())
        table.weight.stop_gradient = bool(freeze)
        return table

    def forward(self, input):
        return ops.lookup_table_v2(
            self.weight, input, is_sparse=self._is_sparse, padding_idx=self._padding_idx
        )

    def extra_repr(self):
        sparse = ", is_sparse=True" if self._is_sparse else ""
        padding = "" if self._padding_row is None else f", padding_idx={self._padding_row}"
        return f"{list(self.weight.shape)}{sparse}{padding}"


class Identity(Layer):
    """Returns its input: a placeholder for another layer.

    Parameters
    ----------
    *_, **__
        Any arguments, which are ignored.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.nn.Identity()(dygraph.to_variable([-1.0, 2.0])).tolist()
    [-1.0, 2.0]
    """

    def __init__(self, *_, **__):
        super().__init__()

    def forward(self, input):
        return input
