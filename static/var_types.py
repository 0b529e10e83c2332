"""Fluid's ``core.VarDesc.VarType`` and ``core.SelectedRows``."""

import dygraph
from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError, PreconditionNotMetError
from dygraph.inspect.shown import Shown
from dygraph.static import core

__all__ = ["SelectedRows", "VarDesc"]


class VarType:
    """Fluid's types: element types, which stand for a dtype, and kinds, which stand for ``type``.

    >>> from dygraph import static
    >>> kinds = static.core.VarDesc.VarType
    >>> with static.program_guard(static.Program()):
    ...     x = static.data("x", [None], kinds.INT64)
    >>> x.dtype == kinds.INT64, x.type == kinds.LOD_TENSOR
    (True, True)
    """

    BOOL, UINT8, INT8 = dygraph.bool_, dygraph.uint8, dygraph.int8
    INT16, INT32, INT64 = dygraph.int16, dygraph.int32, dygraph.int64
    FP16, FP32, FP64, BF16 = dygraph.float16, dygraph.float32, dygraph.float64, dygraph.bfloat16
    COMPLEX64, COMPLEX128 = dygraph.complex64, dygraph.complex128
    LOD_TENSOR, LOD_TENSOR_ARRAY = "LOD_TENSOR", "LOD_TENSOR_ARRAY"
    SELECTED_ROWS, LOD_RANK_TABLE = "SELECTED_ROWS", "LOD_RANK_TABLE"
    STEP_SCOPES, READER, RAW = "STEP_SCOPES", "READER", "RAW"
    FEED_MINIBATCH, FETCH_LIST = "FEED_MINIBATCH", "FETCH_LIST"


class VarDesc:
    """The namespace of Fluid's `VarType`. ---

    Examples
    --------
    >>> from dygraph import static
    >>> static.core.VarDesc.VarType.FP32
    dygraph.float32
    """

    VarType = VarType


class _Filled(core.LoDTensor):
    """The tensor of selected rows, which says when it is filled."""

    def set(self, array, place=None):
        super().set(array, place)
        self.changed()


class SelectedRows(Shown):
    """Rows of a tall matrix, filled by `set_rows`, `set_height` and the tensor's `set`.

    `value` is the Variable for operators and feeds. A variable of a scope gives the ones that it
    holds, or empty ones, by ``get_selected_rows()``, and takes what they are set to as soon as
    there is one number for each row.

    Parameters
    ----------
    rows : list of int, default ()
        The numbers of the rows.
    height : int, default 0
        The number of rows of the whole matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> variable = static.Scope().var("g")
    >>> rows = variable.get_selected_rows()
    >>> rows.set_height(4)
    >>> rows.set_rows([0, 2])
    >>> rows.get_tensor().set(np.ones((2, 3), "float32"), static.CPUPlace())
    >>> variable.get().to_dense().shape, variable.get_selected_rows().rows()
    ((4, 3), [0, 2])
    """

    def __init__(self, rows=(), height=0):
        self._variable, self._tensor = None, _Filled()
        self._tensor.changed = self._changed
        self.set_rows(rows)
        self.set_height(height)

    def set_rows(self, rows):
        """Set the numbers of the rows, one for each row of the tensor."""
        self._rows = [check.integer(r, "SelectedRows.set_rows: a row number", 0) for r in rows]
        self._changed()

    def set_height(self, height):
        """Set the number of rows of the whole matrix."""
        self._height = check.integer(height, "SelectedRows.set_height: height", 0)
        self._changed()

    def rows(self):
        """The numbers of the rows."""
        return list(self._rows)

    def height(self):
        """The number of rows of the whole matrix."""
        return self._height

    def get_tensor(self):
        """The tensor of the rows, to be filled by ``set(array, place)``."""
        return self._tensor

    def value(self):
        """The Variable of selected rows, for operators, feeds and a scope's ``set``."""
        if _core.is_empty(self._tensor):
            raise PreconditionNotMetError(
                "SelectedRows: the tensor must be filled by get_tensor().set(array, place), got "
                "nothing"
            )
        if len(self._rows) != self._tensor.shape[0]:
            raise InvalidArgumentError(
                f"SelectedRows: the tensor must have one row for each of the {len(self._rows)} "
                f"numbers of rows, got shape {list(self._tensor.shape)}"
            )
        return dygraph.selected_rows(self._rows, self._height, self._tensor)

    def _changed(self):
        if self._variable is None or _core.is_empty(self._tensor):
            return
        if len(self._rows) == self._tensor.shape[0] and max(self._rows, default=-1) < self._height:
            self._variable.set(self.value())


def get_selected_rows(self):
    """The selected rows that a variable of a scope holds, or is to hold; see `SelectedRows`."""
    value = None if self.is_empty() else self.get()
    rows = SelectedRows()
    if value is not None:
        if not _core.is_selected_rows(value):
            raise PreconditionNotMetError(
                f"get_selected_rows: '{self.name}' must hold selected rows or nothing, got a "
                f"tensor of shape {list(value.shape)}. Use get_tensor()"
            )
        rows.set_rows(value.rows())
        rows.set_height(value.height())
        rows.get_tensor().set(value.rows_value().numpy())
    rows._variable = self
    return rows


_core.ScopeVariable.get_selected_rows = get_selected_rows  # type: ignore[attr-defined]
