"""Losses of ``fluid.layers`` without an operator of that name."""

from dygraph import _core
from dygraph.core import check
from dygraph.core.size_lists import beside, matching, sizes_of
from dygraph.errors import InvalidArgumentError
from dygraph.functions.creation import arange

__all__ = [
    "hsigmoid", "sigmoid_focal_loss",
]  # fmt: skip

ops = _core.ops


def hsigmoid(
    input, label, weight, bias=None, num_classes=2, path_table=None, path_code=None,
    is_sparse=False,
):  # fmt: skip
    """Hierarchical sigmoid loss: a class is a path through a binary tree (Morin and Bengio, 2005).

    `static.layers.hsigmoid` and `dygraph.nn.HSigmoid` make the parameters; here they are arguments.

    Parameters
    ----------
    input : Variable
        ``[rows, width]``; float32 or float64.
    label : Variable
        int64 ``[rows, 1]``.
    weight : Variable
        ``[num_classes - 1, width]``, of the type of `input`.
    bias : Variable, optional
        ``[num_classes - 1, 1]``; None: no bias.
    num_classes : int, default 2
        The number of classes, at least 2.
    path_table, path_code : Variable, optional
        int64 ``[rows, longest path]``: the inner nodes on the path of each row, and the turn at
        each; -1 after the end. None: a complete tree.
    is_sparse : bool, default False
        Whether the gradient of the weight is SelectedRows.

    Returns
    -------
    Variable
        ``[rows, 1]``, of the type of `input`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> x, weight = dygraph.ones([1, 3]), dygraph.zeros([1, 3])
    >>> loss = dygraph.ops.hsigmoid(x, to_variable([[1]]), weight)
    >>> round(loss.item(), 4)  # one turn, even chances: log(2)
    0.6931
    """
    return ops.hierarchical_sigmoid(
        input, weight, label, path_table=path_table, path_code=path_code, bias=bias,
        num_classes=check.integer(num_classes, "hsigmoid: num_classes", 2),
        is_sparse=bool(is_sparse),
    )  # fmt: skip


def sigmoid_focal_loss(x, label, fg_num, gamma=2.0, alpha=0.25):
    """Focal loss of detection, element by element (Lin and others, 2017).

    ``-alpha * (1 - p)^gamma * log(p) / fg_num`` where the column, counted from 1, is the row's
    label, else ``-(1 - alpha) * p^gamma * log(1 - p) / fg_num``, with ``p = sigmoid(x)``. Rows
    labelled -1 do not count.

    Parameters
    ----------
    x : Variable
        Scores ``[rows, classes]``; float32 or float64.
    label : Variable
        ``[rows, 1]`` of integers: 0 for the background, -1 to ignore a row.
    fg_num : Variable
        The number of foreground rows: one integer.
    gamma : float, default 2.0
        How much easy rows count less; at least 0.
    alpha : float, default 0.25
        The weight of the right class.

    Returns
    -------
    Variable
        ``[rows, classes]``, of the type of `x`.

    Raises
    ------
    InvalidArgumentError
        The shapes do not fit.

    Examples
    --------
    >>> import dygraph
    >>> one = dygraph.to_variable([[1]])
    >>> loss = dygraph.ops.sigmoid_focal_loss(dygraph.zeros([1, 1]), one, one)
    >>> round(loss.item(), 4)  # 0.25 * 0.5^2 * log(2)
    0.0433
    """
    for name, value in (("x", x), ("label", label), ("fg_num", fg_num)):
        check.variable(value, f"sigmoid_focal_loss: {name}")
    fits = x.ndim == label.ndim == 2 and check.may_be_equal(label.shape[0], x.shape[0])
    if not (fits and check.may_be_equal(label.shape[1], 1)):
        raise InvalidArgumentError(
            "sigmoid_focal_loss: x must be [rows, classes] and label [rows, 1], got "
            f"{list(x.shape)} and {list(label.shape)}"
        )
    gamma = check.number(gamma, "sigmoid_focal_loss: gamma", 0)
    alpha = check.number(alpha, "sigmoid_focal_loss: alpha")
    label = matching(x[:, :1].astype(label.dtype), label)
    with beside(x):
        columns = arange(1, sizes_of(x)[1] + 1).astype(label.dtype)
    hit = ops.equal(label, columns).astype(x.dtype)
    counts = ops.not_equal(label, _core.literal(-1, label.dtype)).astype(x.dtype)
    many = ops.elementwise_max(fg_num, _core.literal(1, fg_num.dtype)).astype(x.dtype)
    p = ops.sigmoid(x)
    right = (1.0 - p) ** gamma * ops.logsigmoid(x) * alpha
    wrong = p**gamma * ops.logsigmoid(-x) * (1.0 - alpha)
    return -(hit * right + (1.0 - hit) * counts * wrong) / many
