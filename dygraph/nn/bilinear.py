"""BilinearTensorProduct and TreeConv: products with a tensor of weights."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from dygraph.nn.activation import activation
from dygraph.nn.layer import Layer

__all__ = ["BilinearTensorProduct", "TreeConv"]

ops = _core.ops


class BilinearTensorProduct(Layer):
    """``out[b, k] = act(x[b] @ weight[k] @ y[b] + bias[k])``.

    Parameters
    ----------
    input1_dim, input2_dim, output_dim : int
        Columns of x, of y and of the result.
    name : str, optional
        Prefix of the layer's name.
    act : str, optional
        Name of an activation.
    param_attr, bias_attr : ParamAttr, str, Initializer, None or False
        ``bias_attr=False``: no bias.
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Attributes
    ----------
    weight : Parameter
        ``[output_dim, input1_dim, input2_dim]``.
    bias : Parameter or None
        ``[1, output_dim]``.

    Examples
    --------
    >>> import dygraph
    >>> layer = dygraph.nn.BilinearTensorProduct(3, 4, 5)
    >>> layer(dygraph.ones([2, 3]), dygraph.ones([2, 4])).shape
    (2, 5)
    """

    def __init__(
        self,
        input1_dim,
        input2_dim,
        output_dim,
        name=None,
        act=None,
        param_attr=None,
        bias_attr=None,
        dtype=None,
    ):
        super().__init__(name, dtype)
        sizes = [
            check.integer(size, f"BilinearTensorProduct: {what}", 1)
            for what, size in (
                ("output_dim", output_dim),
                ("input1_dim", input1_dim),
                ("input2_dim", input2_dim),
            )
        ]
        self._act = activation(act, "BilinearTensorProduct")
        self.weight = self.create_parameter(sizes, param_attr)
        self.bias = self.create_parameter([1, sizes[0]], bias_attr, is_bias=True)

    def forward(self, x, y):
        out = ops.bilinear_tensor_product(x, y, self.weight, bias=self.bias)
        return out if self._act is None else self._act(out)

    def extra_repr(self):
        outputs, first, second = self.weight.shape
        return f"{first}, {second}, {outputs}"


class TreeConv(Layer):
    """Convolution over trees (Mou, Li, Zhang, Wang and Jin, 2016).

    The window of a node is the node and its descendants, `max_depth` levels in all. A node of the
    window is weighted by its place: ``t = 1 - depth / max_depth`` for the top, and of the rest
    ``l = (1 - t) * (i - 1) / (n - 1)`` for the left and ``r = (1 - t) * (1 - l)`` for the right,
    where it is the i-th of n siblings (``1/2`` for an only child). Then

    ``out[v] = act(sum over u in window(v) of (l W_left + r W_right + t W_top) . x[u] + bias)``.

    Parameters
    ----------
    feature_size : int
        Columns of the nodes' vectors.
    output_size, num_filters : int
    max_depth : int
        Levels in a window; 1 is only the node.
    act : str or None
    param_attr, bias_attr : ParamAttr, str, Initializer, None or False
    name : str, optional
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Attributes
    ----------
    weight : Parameter
        ``[feature_size, 3, output_size, num_filters]``: left, right and top.
    bias : Parameter or None
        ``[num_filters]``.

    Notes
    -----
    `forward` takes nodes ``[batch, nodes, feature_size]`` and edges ``[batch, edges, 2]`` of
    integers: (parent, child), nodes counted from 1, children of a node in their order. A pair with
    a 0 ends the list. The result is ``[batch, nodes, output_size, num_filters]``; nodes beyond
    those of the tree give ``act(bias)``. Edges get no gradient.

    Examples
    --------
    >>> import dygraph
    >>> layer = dygraph.nn.TreeConv(feature_size=5, output_size=6)
    >>> edges = dygraph.to_variable([[[1, 2], [1, 3], [0, 0]]])
    >>> layer(dygraph.ones([1, 3, 5]), edges).shape
    (1, 3, 6, 1)
    """

    def __init__(
        self,
        feature_size,
        output_size,
        num_filters=1,
        max_depth=2,
        act="tanh",
        param_attr=None,
        bias_attr=None,
        name=None,
        dtype=None,
    ):
        super().__init__(name, dtype)
        sizes = [
            check.integer(feature_size, "TreeConv: feature_size", 1),
            3,
            check.integer(output_size, "TreeConv: output_size", 1),
            check.integer(num_filters, "TreeConv: num_filters", 1),
        ]
        self._max_depth = check.integer(max_depth, "TreeConv: max_depth", 1)
        self._act = activation(act, "TreeConv")
        self.weight = self.create_parameter(sizes, param_attr)
        self.bias = self.create_parameter([sizes[3]], bias_attr, is_bias=True)

    def forward(self, nodes_vector, edge_set):
        check.variable(nodes_vector, "TreeConv: nodes_vector")
        check.variable(edge_set, "TreeConv: edge_set")
        self._check(nodes_vector, edge_set)
        out = ops.tree_conv(nodes_vector, edge_set, self.weight, max_depth=self._max_depth)
        if self.bias is not None:
            out = ops.elementwise_add(out, self.bias)
        return out if self._act is None else self._act(out)

    def _check(self, nodes, edges):
        shapes = f"got shapes {list(nodes.shape)} and {list(edges.shape)}"
        features = self.weight.shape[0]
        if len(nodes.shape) != 3 or not check.may_be_equal(nodes.shape[2], features):
            raise InvalidArgumentError(
                f"TreeConv: nodes_vector must be [batch, nodes, {features}], {shapes}"
            )
        if len(edges.shape) != 3 or not (
            check.may_be_equal(edges.shape[2], 2)
            and check.may_be_equal(edges.shape[0], nodes.shape[0])
        ):
            raise InvalidArgumentError(
                f"TreeConv: edge_set must be [{nodes.shape[0]}, edges, 2], {shapes}"
            )
        if edges.dtype.is_floating or str(edges.dtype) == "bool":
            raise ArgumentTypeError(f"TreeConv: edge_set must hold integers, got {edges.dtype}")

    def extra_repr(self):
        features, _, outputs, filters = self.weight.shape
        return f"{features}, {outputs}, num_filters={filters}, max_depth={self._max_depth}"
