"""Selected rows: some rows of a tall matrix, such as the gradient of an embedding.

A Variable of selected rows has the shape of the whole matrix and holds a value for each index in
`rows`; values of equal indices add. `Embedding(is_sparse=True)` gives such a gradient; sgd,
momentum, adam, adamw, adagrad, rmsprop and lamb accept it, and sparse and dense gradients of one
parameter add. Other operators refuse it by name.

Examples
--------
>>> import dygraph, numpy as np
>>> g = dygraph.selected_rows([2, 0, 2], 4, np.ones((3, 1), "float32"))
>>> g.shape, g.rows(), g.height()
((4, 1), [2, 0, 2], 4)
>>> g.to_dense().numpy()[:, 0]
array([1., 0., 2., 0.], dtype=float32)
>>> g.merged().rows()
[0, 2]
"""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, kind_of

__all__ = ["selected_rows"]


def selected_rows(rows, height, value):
    """A Variable of selected rows.

    Parameters
    ----------
    rows : list of int
        In [0, height); may repeat.
    height : int
        The number of rows of the whole matrix.
    value : Variable or array_like
        One row for each index, of any further sizes.

    Raises
    ------
    OutOfRangeError, InvalidArgumentError, ArgumentTypeError
        For a row outside the height, another number of values, another type.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.selected_rows([1], 3, [[5.0, 6.0]]).to_dense().tolist()
    [[0.0, 0.0], [5.0, 6.0], [0.0, 0.0]]
    """
    if isinstance(rows, str) or not hasattr(rows, "__iter__"):
        raise ArgumentTypeError(
            f"selected_rows: rows must be a list of integers, got {kind_of(rows)}"
        )
    rows = [check.integer(r, "selected_rows: a row number") for r in rows]
    height = check.integer(height, "selected_rows: height", 0)
    if not isinstance(value, _core.Variable):
        value = _core.to_variable(value)
    return _core.make_selected_rows(rows, height, value)


def is_selected_rows(self):
    """Whether the Variable holds selected rows, not a tensor."""
    return _core.is_selected_rows(self)


def _required(self, what):
    if not _core.is_selected_rows(self):
        raise ArgumentTypeError(
            f"{what}() is for selected rows, such as a sparse gradient, got a tensor of shape "
            f"{list(self.shape)}"
        )
    return self


def rows(self):
    """The row indices of selected rows, in their order, a list of int."""
    return _core.rows(_required(self, "rows"))


def height(self):
    """The number of rows of the whole matrix."""
    return _core.height(_required(self, "height"))


def rows_value(self):
    """The values of selected rows, one row for each of ``rows()``: a Variable."""
    return _core.rows_value(_required(self, "rows_value"))


def merged(self):
    """Selected rows with unique, ascending indices; values of repeated ones are added in order."""
    return _core.merged(_required(self, "merged"))


def to_dense(self):
    """Selected rows as a whole matrix, with zeros in missing rows; a tensor unchanged."""
    return _core.to_dense(self) if _core.is_selected_rows(self) else self


for _method in (is_selected_rows, rows, height, rows_value, merged, to_dense):
    _core.set_type_attribute(_method.__name__, _method)
