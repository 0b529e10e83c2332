"""Layers of ``fluid.contrib``: fused operators, text matching, trees of nodes and of items."""

import numpy as np

from dygraph import initializer, ops
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.static.layers.learnt import known, parameter
from dygraph.static.layers.making import activated, layer, run

__all__ = [
    "fused_elemwise_activation", "fused_embedding_seq_pool", "match_matrix_tensor", "tdm_child",
    "tdm_sampler", "tree_conv", "var_conv_2d",
]  # fmt: skip


@layer
def fused_elemwise_activation(
    x, y, functor_list, axis=-1, scale=0.0, save_intermediate_out=True
):  # fmt: skip
    """``f(b(x, y))``, or ``b(x, f(y))`` where ``b`` stands first in `functor_list`.

    Parameters
    ----------
    x, y : Variable
        float32 or float64. Shapes broadcast as NumPy's.
    functor_list : list of str
        The outer function first: ``"elementwise_add"`` or ``"elementwise_mul"``, and ``"scale"``,
        ``"relu"``, ``"tanh"``, ``"sigmoid"`` or ``"gelu"``.
    axis : int, default -1
        The axis of `x` along which `y` begins; -1: NumPy's rule.
    scale : float, default 0.0
        The factor of ``"scale"``.
    save_intermediate_out : bool, default True
        Whether the operator keeps what the outer function is given.

    Returns
    -------
    Variable
        The common shape.

    Raises
    ------
    InvalidArgumentError
        `functor_list` holds anything else.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static.contrib import layers
    >>> x, y = to_variable([1.0, -3.0]), to_variable([0.5, 1.0])
    >>> layers.fused_elemwise_activation(x, y, ["relu", "elementwise_add"]).tolist()
    [1.5, 0.0]
    """
    attrs = {
        "axis": axis, "scale": scale, "save_intermediate_out": bool(save_intermediate_out),
        "functor_list": list(functor_list),
    }  # fmt: skip
    return run("fused_elemwise_activation", {"X": x, "Y": y}, attrs)["Out"]


@layer(parameters=True)
def fused_embedding_seq_pool(
    input, size, is_sparse=False, padding_idx=None, combiner="sum", param_attr=None,
    dtype="float32",
):  # fmt: skip
    """The sum of the rows of a table over each sequence of ids.

    Parameters
    ----------
    input : Variable
        int64 or int32 ids ``[rows, 1]`` with LoD.
    size : list of int
        ``[height, width]`` of the table.
    is_sparse : bool, default False
        Whether the gradient of the table is selected rows.
    padding_idx : int, optional
        The id that adds zeros; negative ones count from the end.
    combiner : str, default "sum"
        How rows are joined; ``"sum"`` is all there is.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the table.
    dtype : str, default "float32"
        The type of the table.

    Returns
    -------
    Variable
        ``[sequences, width]``.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> from dygraph.static.contrib import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     words = static.data("words", [None, 1], "int64", lod_level=1)
    ...     one = static.initializer.Constant(1.0)
    ...     out = layers.fused_embedding_seq_pool(words, [10, 2], param_attr=one)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     ids = dygraph.to_variable([[4], [4], [7]], lod=[[0, 2, 3]])
    ...     exe.run(feed={"words": ids}, fetch_list=[out])[0].tolist()
    [[2.0, 2.0], [1.0, 1.0]]
    """
    check.variable(input, "fused_embedding_seq_pool: input")
    check.choice(combiner, ("sum",), "fused_embedding_seq_pool: combiner")
    rows, columns = check.integers(size, 2, "fused_embedding_seq_pool: size", 1)
    padding = -1
    if padding_idx is not None:
        owner = "fused_embedding_seq_pool: padding_idx"
        padding = check.integer(padding_idx, owner, -rows, rows - 1) % rows
    table = parameter([rows, columns], dtype, param_attr)
    attrs = {"combiner": combiner, "is_sparse": bool(is_sparse), "padding_idx": padding}
    return run("fused_embedding_seq_pool", {"W": table, "Ids": input}, attrs)["Out"]


@layer(parameters=True)
def match_matrix_tensor(
    x, y, channel_num, act=None, param_attr=None, dtype="float32", name=None
):  # fmt: skip
    """How well each row of a sequence matches each row of another one, by `channel_num` matrices.

    ``x[i] weight[:, t] y[j]^T`` for each pair of sequences (Wan and others, 2016).

    Parameters
    ----------
    x, y : Variable
        ``[rows, width]`` with LoD, equally many sequences; float32 or float64.
    channel_num : int
        How many matrices.
    act : str, optional
        The name of an activation to apply to the result, such as ``"tanh"``.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the weight, ``[width of x, channel_num, width of
        y]``.
    dtype : str, default "float32"
        The type of the weight.
    name : str, optional
        The name of the results and of the parameter.

    Returns
    -------
    (Variable, Variable)
        ``[numbers, 1]``: of each pair ``[channel_num, rows of x, rows of y]``, with their LoD; and
        `x` times the weight.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> from dygraph.static.contrib import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x, y = (static.data(name, [None, 1], lod_level=1) for name in "xy")
    ...     one = static.initializer.Constant(1.0)
    ...     out, _ = layers.match_matrix_tensor(x, y, 1, param_attr=one)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     rows = dygraph.to_variable([[2.0], [3.0]], lod=[[0, 2]])
    ...     exe.run(feed={"x": rows, "y": rows}, fetch_list=[out])[0].tolist()
    [[4.0], [6.0], [6.0], [9.0]]
    """
    first, second = (
        known(
            check.variable(v, f"match_matrix_tensor: {n}").shape[-1], "match_matrix_tensor",
            f"the width of {n}", v,
        )
        for n, v in (("x", x), ("y", y))
    )  # fmt: skip
    channels = check.integer(channel_num, "match_matrix_tensor: channel_num", 1)
    weight = parameter([first, channels, second], dtype, param_attr)
    made = run("match_matrix_tensor", {"X": x, "Y": y, "W": weight}, {"dim_t": channels})
    return activated(made["Out"], act, "match_matrix_tensor"), made["Tmp"]


@layer(parameters=True)
def var_conv_2d(
    input, row, col, input_channel, output_channel, filter_size, stride=1, param_attr=None,
    act=None, dtype="float32", name=None,
):  # fmt: skip
    """Convolutions of images of different sizes, which keep their sizes where `stride` is 1.

    Parameters
    ----------
    input : Variable
        ``[numbers, 1]``: the images, ``[input_channel, rows, columns]``, one after another.
    row, col : Variable
        Their LoD has the rows and the columns of each image.
    input_channel, output_channel : int
        The channels of `input` and of the result.
    filter_size, stride : int or list of int
        Rows and columns of a window, and from one window to the next.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the weight, ``[output_channel, input_channel * rows
        * columns]``.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    dtype : str, default "float32"
        The type of the weight.
    name : str, optional
        The name of the result and of the parameter.

    Returns
    -------
    Variable
        ``[numbers, 1]``: the images, ``[output_channel, rows', columns']``, with their LoD.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> from dygraph.static.contrib import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x, rows, columns = (static.data(n, [None, 1], lod_level=1) for n in ("x", "r", "c"))
    ...     one = static.initializer.Constant(1.0)
    ...     out = layers.var_conv_2d(x, rows, columns, 1, 1, [1, 2], param_attr=one)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     image = dygraph.to_variable([[1.0], [2.0], [4.0]], lod=[[0, 3]])
    ...     line = dygraph.to_variable([[0.0]], lod=[[0, 1]])
    ...     exe.run(feed={"x": image, "r": line, "c": image}, fetch_list=[out])[0].tolist()
    [[1.0], [3.0], [6.0]]
    """
    check.variable(input, "var_conv_2d: input")
    channels = check.integer(input_channel, "var_conv_2d: input_channel", 1)
    made = check.integer(output_channel, "var_conv_2d: output_channel", 1)
    high, wide = check.integers(filter_size, 2, "var_conv_2d: filter_size", 1)
    down, right = check.integers(stride, 2, "var_conv_2d: stride", 1)
    weight = parameter([made, channels * high * wide], dtype, param_attr)
    attrs = {
        "InputChannel": channels, "OutputChannel": made, "StrideH": down, "StrideW": right,
        "KernelH": high, "KernelW": wide,
    }  # fmt: skip
    out = run("var_conv_2d", {"X": input, "ROW": row, "COLUMN": col, "W": weight}, attrs)["Out"]
    return activated(out, act, "var_conv_2d")


@layer(parameters=True)
def tree_conv(
    nodes_vector, edge_set, output_size, num_filters=1, max_depth=2, act="tanh", param_attr=None,
    bias_attr=None, name=None,
):  # fmt: skip
    """Convolutions over trees: each node with the nodes below it (Mou and others, 2016).

    Parameters
    ----------
    nodes_vector : Variable
        ``[trees, nodes, features]``, float32 or float64.
    edge_set : Variable
        int32 ``[trees, edges, 2]``: parents and children, numbered from 1; 0 ends the list.
    output_size : int
        The features of the result.
    num_filters : int, default 1
        How many filters.
    max_depth : int, default 2
        The levels that a window has.
    act : str, default "tanh"
        The name of an activation to apply to the result; None: none.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the weight, ``[features, 3, output_size,
        num_filters]``.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias, ``[num_filters]``; None and False: no bias, as in Fluid.
    name : str, optional
        The name of the result and of the parameters.

    Returns
    -------
    Variable
        ``[trees, nodes, output_size, num_filters]``.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static.contrib import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     nodes, edges = static.data("n", [1, 3, 1]), static.data("e", [1, 2, 2], "int32")
    ...     one = static.initializer.Constant(1.0)
    ...     out = layers.tree_conv(nodes, edges, 1, act=None, param_attr=one)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     feed = {"n": [[[1.0], [2.0], [4.0]]], "e": np.array([[[1, 2], [1, 3]]], "int32")}
    ...     exe.run(feed=feed, fetch_list=[out])[0].ravel().tolist()
    [8.0, 2.0, 4.0]
    """
    check.variable(nodes_vector, "tree_conv: nodes_vector")
    features = known(nodes_vector.shape[-1], "tree_conv", "the features", nodes_vector)
    size = check.integer(output_size, "tree_conv: output_size", 1)
    filters = check.integer(num_filters, "tree_conv: num_filters", 1)
    weight = parameter([features, 3, size, filters], nodes_vector.dtype, param_attr)
    slots = {"NodesVector": nodes_vector, "EdgeSet": edge_set, "Filter": weight}
    out = run("tree_conv", slots, {"max_depth": max_depth})["Out"]
    if bias_attr:
        bias = parameter([filters], nodes_vector.dtype, bias_attr, bias=True)
        out = ops.elementwise_add(out, bias, axis=3)
    return activated(out, act, "tree_conv")


def _tree(dtype, attr, shape):
    """An integer parameter that no optimizer changes."""
    made = parameter(shape, dtype, attr, start=initializer.Constant(0))
    made.stop_gradient = True
    return made


@layer(parameters=True)
def tdm_child(x, node_nums, child_nums, param_attr=None, dtype="int32"):
    """The children of nodes of a tree, and which of them are items (Zhu and others, 2018).

    Parameters
    ----------
    x : Variable
        The numbers of the nodes, int32 or int64.
    node_nums, child_nums : int
        How many nodes the tree has, and a node children at most.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the tree, int32 ``[node_nums, 3 + child_nums]``:
        item, layer, parent and children of each node; 0 stands for none.
    dtype : str, default "int32"
        The type of the results, ``"int32"`` or ``"int64"``.

    Returns
    -------
    (Variable, Variable)
        The children, and 1 where they are items, both of the shape of `x` with `child_nums` behind.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static.contrib import layers
    >>> tree = np.array([[0, 0, 0, 0, 0], [0, 0, 0, 2, 3], [7, 1, 1, 0, 0], [0, 1, 1, 0, 0]])
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("x", [None, 1], "int64")
    ...     start = static.initializer.NumpyArrayInitializer(tree.astype("int32"))
    ...     child, leaf = layers.tdm_child(x, 4, 2, static.ParamAttr(initializer=start))
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     found = exe.run(feed={"x": np.array([[1]])}, fetch_list=[child, leaf])
    >>> [v.tolist() for v in found]
    [[[[2, 3]]], [[[1, 0]]]]
    """
    check.variable(x, "tdm_child: x")
    nodes = check.integer(node_nums, "tdm_child: node_nums", 1)
    children = check.integer(child_nums, "tdm_child: child_nums", 1)
    tree = _tree("int32", param_attr, [nodes, 3 + children])
    attrs = {"child_nums": children, "dtype": dtype}
    made = run("tdm_child", {"X": x, "TreeInfo": tree}, attrs)
    return made["Child"], made["LeafMask"]


@layer(parameters=True)
def tdm_sampler(
    x, neg_samples_num_list, layer_node_num_list, leaf_node_num, tree_travel_attr=None,
    tree_layer_attr=None, output_positive=True, output_list=True, seed=0, tree_dtype="int32",
    dtype="int32",
):  # fmt: skip
    """Of each layer of a tree the node on the way to a leaf, and others (Zhu and others, 2018).

    Parameters
    ----------
    x : Variable
        The numbers of the leaves, ``[N, 1]``, int32 or int64.
    neg_samples_num_list : list of int
        How many other nodes are drawn from each layer.
    layer_node_num_list : list of int
        How many nodes each layer has.
    leaf_node_num : int
        How many leaves the tree has.
    tree_travel_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the ways, ``[leaf_node_num, layers]``.
    tree_layer_attr : ParamAttr, str or Initializer, optional
        The same of the nodes, ``[sum(layer_node_num_list), 1]``.
    output_positive : bool, default True
        Whether the node on the way comes first.
    output_list : bool, default True
        Whether the results are lists with a Variable ``[N, samples, 1]`` for each layer.
    seed : int, default 0
        Draw the same nodes in each run; 0: others.
    tree_dtype, dtype : str, default "int32"
        The types of the tree and of the results, ``"int32"`` or ``"int64"``.

    Returns
    -------
    (Variable, Variable, Variable) or (list of Variable, list of Variable, list of Variable)
        Nodes; 1 for those on the way, else 0; 0 where the way has ended, else 1. Without
        `output_list` each ``[N, all samples, 1]``.

    Raises
    ------
    InvalidArgumentError
        The two lists differ in length, or more nodes are asked for than there are.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static.contrib import layers
    >>> ways, nodes = np.array([[1, 3], [2, 4]], "int32"), np.array([[1], [2], [3], [4]], "int32")
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("x", [None, 1], "int64")
    ...     start = static.initializer.NumpyArrayInitializer
    ...     made = layers.tdm_sampler(x, [1, 1], [2, 2], 2, start(ways), start(nodes))
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     first, second = exe.run(feed={"x": np.array([[1]])}, fetch_list=made[0])
    >>> first.ravel().tolist(), second.ravel().tolist()
    ([2, 1], [4, 3])
    """
    check.variable(x, "tdm_sampler: x")
    layers = len(layer_node_num_list)
    if len(neg_samples_num_list) != layers:
        raise InvalidArgumentError(
            "tdm_sampler: neg_samples_num_list must have a number for each of the "
            f"{layers} layers of layer_node_num_list, got {len(neg_samples_num_list)}"
        )
    wanted = check.integers(neg_samples_num_list, layers, "tdm_sampler: neg_samples_num_list", 0)
    nodes = check.integers(layer_node_num_list, layers, "tdm_sampler: layer_node_num_list", 1)
    leaves = check.integer(leaf_node_num, "tdm_sampler: leaf_node_num", 1)
    travel = _tree(tree_dtype, tree_travel_attr, [leaves, layers])
    layer_nodes = _tree(tree_dtype, tree_layer_attr, [sum(nodes), 1])
    attrs = {
        "neg_samples_num_list": wanted, "output_positive": bool(output_positive), "seed": seed,
        "layer_offset_lod": [0, *(int(end) for end in np.cumsum(nodes))], "dtype": dtype,
    }  # fmt: skip
    made = run("tdm_sampler", {"X": x, "Travel": travel, "Layer": layer_nodes}, attrs)
    results = [made[slot] for slot in ("Out", "Labels", "Mask")]
    counts = [count + bool(output_positive) for count in wanted]
    if not output_list:
        return tuple(ops.reshape(v, shape=[-1, sum(counts), 1]) for v in results)
    split = {"sections": counts, "axis": 1}
    parts = [run("split", {"X": v}, split, {"Out": layers})["Out"] for v in results]
    return tuple(
        [ops.reshape(part, shape=[-1, count, 1]) for part, count in zip(some, counts, strict=True)]
        for some in parts
    )
