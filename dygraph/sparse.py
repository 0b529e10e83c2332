"""Selected rows: some rows of a tall matrix, as the gradient of an embedding has them.

A Variable of selected rows has the shape of the whole matrix and holds the rows that `rows` names,
one value for each; a row number may come twice, then the values add. `Embedding(is_sparse=True)`
leaves such a gradient, sgd, momentum, adam, adamw, adagrad, rmsprop and lamb take it, and gradients
of one parameter add whether sparse or not. Every other operator refuses it by name.

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

from dygraph import _core, check
from dygraph.errors import ArgumentTypeError, kind_of

__all__ = ["selected_rows"]


def selected_rows(rows, height, value):
    """A Variable of selected rows.

    Parameters
    ----------
    rows : list of int
        In [0, height); may repeat.
    height : int
        Rows of the matrix it stands for.
    value : Variable or array_like
        One row for each number, of any further sizes.

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
    """The row numbers of selected rows, as they came, a list of int."""
    return _core.rows(_required(self, "rows"))


def height(self):
    """The rows of the whole matrix of which selected rows are a part."""
    return _core.height(_required(self, "height"))


def rows_value(self):
    """The values of selected rows, one row for each of ``rows()``: a Variable."""
    return _core.rows_value(_required(self, "rows_value"))


def merged(self):
    """Selected rows with each row number once, ascending, repeated ones added in order."""
    return _core.merged(_required(self, "merged"))


def to_dense(self):
    """The whole matrix selected rows stand for, zeros where they have no row; a tensor as it is."""
    return _core.to_dense(self) if _core.is_selected_rows(self) else self


for _method in (is_selected_rows, rows, height, rows_value, merged, to_dense):
    _core.set_type_attribute(_method.__name__, _method)
