"""Losses with their own parameters or centers."""

import numpy as np

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.functions import loss_parts
from dygraph.nn.layer import Layer
from dygraph.nn.loss import LossLayer

__all__ = ["CenterLoss", "HSigmoid", "NCE"]

ops = _core.ops


class CenterLoss(LossLayer):
    """Half the squared distance of features to the center of their class (Wen et al., 2016).

    While training each center moves by `alpha` times the mean difference of its samples, the
    number of samples counted one higher. Centers have no gradient.

    Parameters
    ----------
    num_classes, feat_dim : int
    alpha : float
        The step size of the centers.
    param_attr : ParamAttr, str or Initializer, optional
    update_center : bool
    reduction : 'mean', 'sum' or 'none'
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Attributes
    ----------
    centers : Variable
        ``[num_classes, feat_dim]``, a buffer.

    Examples
    --------
    >>> import dygraph
    >>> loss = dygraph.nn.CenterLoss(2, 2, param_attr=dygraph.initializer.Constant(0.0))
    >>> x = dygraph.to_variable([[4.0, 8.0]], dtype="float32")
    >>> loss(x, dygraph.to_variable([1])).item()  # (4^2 + 8^2) / 2
    40.0
    >>> loss.centers.tolist()  # half of half the way
    [[0.0, 0.0], [1.0, 2.0]]
    """

    def __init__(
        self, num_classes, feat_dim, alpha=0.5, param_attr=None, update_center=True,
        reduction="mean", dtype=None,
    ):  # fmt: skip
        super().__init__(reduction)
        self._classes = check.integer(num_classes, "CenterLoss: num_classes", 1)
        feat_dim = check.integer(feat_dim, "CenterLoss: feat_dim", 1)
        self._alpha = check.number(alpha, "CenterLoss: alpha")
        self._update = bool(update_center)
        start = self.create_parameter([self._classes, feat_dim], param_attr, dtype=dtype)
        self.register_buffer("centers", start.detach())

    def forward(self, input, label):
        rate = loss_parts.constant([self._alpha], self.centers)
        update = self._update and self.training
        centers, _, loss = ops.center_loss(
            input, label, self.centers, rate, cluster_num=self._classes, need_update=update
        )
        if update:
            _core.become(self.centers, centers.detach())
        return loss_parts.reduced(loss, self._reduction, "CenterLoss")


SAMPLERS = ("uniform", "log_uniform", "custom_dist")


class NCE(Layer):
    """Noise contrastive estimation for many classes (Gutmann and Hyvarinen, 2010).

    Parameters
    ----------
    num_total_classes, dim : int
        Number of classes, and width of the input.
    sample_weight : Variable, optional
        ``[N, 1]`` factors.
    param_attr, bias_attr : ParamAttr, str, Initializer, None or False
    num_neg_samples : int, optional
        Classes drawn for each row; None is 10.
    sampler : 'uniform', 'log_uniform' or 'custom_dist'
    custom_dist : sequence of float, optional
        The probability of each class, for 'custom_dist'.
    seed : int
        0: other draws in each call.
    is_sparse : bool
        The weight's gradient is SelectedRows.
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Attributes
    ----------
    weight, bias : Parameter
        ``[num_total_classes, dim]`` and ``[num_total_classes, 1]``.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> nce = dygraph.nn.NCE(100, 8, num_neg_samples=5)
    >>> x = dygraph.to_variable(np.ones((4, 8), "float32"))
    >>> nce(x, dygraph.to_variable(np.array([[1], [7], [2], [1]]))).shape
    (4, 1)
    """

    def __init__(
        self, num_total_classes, dim, sample_weight=None, param_attr=None, bias_attr=None,
        num_neg_samples=None, sampler="uniform", custom_dist=None, seed=0, is_sparse=False,
        dtype=None,
    ):  # fmt: skip
        super().__init__(dtype=dtype)
        classes = check.integer(num_total_classes, "NCE: num_total_classes", 1)
        dim = check.integer(dim, "NCE: dim", 1)
        samples = 10 if num_neg_samples is None else num_neg_samples
        sampler = check.choice(sampler, SAMPLERS, "NCE: sampler")
        self._attrs = {
            "num_total_classes": classes,
            "num_neg_samples": check.integer(samples, "NCE: num_neg_samples", 1),
            "sampler": SAMPLERS.index(sampler),
            "seed": check.integer(seed, "NCE: seed"),
            "is_sparse": bool(is_sparse),
        }
        self._sample_weight = sample_weight
        self._tables = {}
        if sampler == "custom_dist":
            self._tables = walker_tables(custom_dist, classes, str(self._dtype))
        self.weight = self.create_parameter([classes, dim], param_attr)
        self.bias = self.create_parameter([classes, 1], bias_attr, is_bias=True)

    def forward(self, input, label, sample_weight=None):
        weights = self._sample_weight if sample_weight is None else sample_weight
        slots = {"bias": self.bias, "sample_weight": weights, **self._tables}
        slots = {name: v for name, v in slots.items() if v is not None}
        cost = ops.nce(input, label, self.weight, **slots, **self._attrs)
        return cost / (self._attrs["num_neg_samples"] + 1)

    def extra_repr(self):
        classes, dim = self.weight.shape
        return f"{classes}, {dim}, num_neg_samples={self._attrs['num_neg_samples']}"


def walker_tables(distribution, classes, dtype):
    """Walker's alias method: each class keeps a part of its draws; the rest go to another class."""
    p = np.asarray(distribution, "float64")
    if p.shape != (classes,) or not (p >= 0).all() or not abs(p.sum() - 1) < 1e-3:
        raise InvalidArgumentError(
            f"NCE: custom_dist must hold {classes} probabilities that add up to 1, got shape "
            f"{list(p.shape)}. Divide them by their sum"
        )
    keep, alias = p * classes, np.full(classes, -1, "int32")
    small = [i for i in range(classes) if keep[i] < 1]
    large = [i for i in range(classes) if keep[i] >= 1]
    while small and large:
        low, high = small.pop(), large[-1]
        alias[low] = high
        keep[high] -= 1 - keep[low]
        if keep[high] < 1:
            small.append(large.pop())
    keep[alias < 0] = 1
    return {
        "custom_dist_probs": _core.to_variable(p.astype(dtype)),
        "custom_dist_alias": _core.to_variable(alias),
        "custom_dist_alias_probs": _core.to_variable(keep.astype(dtype)),
    }


class HSigmoid(Layer):
    """A softmax over many classes as decisions in a binary tree (Morin and Bengio, 2005).

    Parameters
    ----------
    feature_size, num_classes : int
        Width of the input, and number of classes (for a custom tree, of its inner nodes).
    param_attr, bias_attr : ParamAttr, str, Initializer, None or False
    is_custom : bool
        Each call passes the paths, as `path_table` and `path_code`.
    is_sparse : bool
        The weight's gradient is SelectedRows.
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Attributes
    ----------
    weight, bias : Parameter
        A row and a number for each inner node.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> loss = dygraph.nn.HSigmoid(8, 100)
    >>> x = dygraph.to_variable(np.ones((4, 8), "float32"))
    >>> loss(x, dygraph.to_variable(np.array([[1], [7], [2], [1]]))).shape
    (4, 1)
    """

    def __init__(
        self, feature_size, num_classes, param_attr=None, bias_attr=None, is_custom=False,
        is_sparse=False, dtype=None,
    ):  # fmt: skip
        super().__init__(dtype=dtype)
        width = check.integer(feature_size, "HSigmoid: feature_size", 1)
        classes = check.integer(num_classes, "HSigmoid: num_classes", 2)
        self._is_custom, self._classes = bool(is_custom), classes
        self._is_sparse = bool(is_sparse)
        nodes = classes if is_custom else classes - 1
        self.weight = self.create_parameter([nodes, width], param_attr)
        self.bias = self.create_parameter([nodes, 1], bias_attr, is_bias=True)

    def forward(self, input, label, path_table=None, path_code=None):
        if self._is_custom != (path_table is not None) or self._is_custom != (
            path_code is not None
        ):
            raise InvalidArgumentError(
                "HSigmoid: path_table and path_code must be given if and only if is_custom=True, "
                f"got is_custom={self._is_custom}"
            )
        slots = {"bias": self.bias, "path_table": path_table, "path_code": path_code}
        slots = {name: v for name, v in slots.items() if v is not None}
        return ops.hierarchical_sigmoid(
            input,
            self.weight,
            label,
            num_classes=self._classes,
            is_sparse=self._is_sparse,
            **slots,
        )

    def extra_repr(self):
        return f"{self.weight.shape[1]}, {self._classes}"
