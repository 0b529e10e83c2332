"""Matrix products, einsum, attention."""

import numpy as np

from dygraph.onnx.export_graph import operator


def swapped(c, value, rank):
    """The last two axes exchanged."""
    return c.transpose(value, [*range(rank - 2), rank - 1, rank - 2])


@operator("matmul_v2")
def _matmul_v2(c):
    x, y = c["X"], c["Y"]
    if c.attr("trans_x") and c.rank("X") > 1:
        x = swapped(c, x, c.rank("X"))
    if c.attr("trans_y") and c.rank("Y") > 1:
        y = swapped(c, y, c.rank("Y"))
    if c.dtype not in ("float32", "float64", "float16", "bfloat16", "int32", "int64"):
        return c.cast(c.MatMul(c.cast(x, "int32"), c.cast(y, "int32")), c.dtype)
    return c.MatMul(x, y)


@operator("matmul")
def _matmul(c):
    c.require(
        not c.attr("fused_reshape_Out") and not c.attr("fused_transpose_Out")
        and c.attr("head_number") == 1,
        "its fused forms are oneDNN's",
    )  # fmt: skip
    x, y, rank_x, rank_y = c["X"], c["Y"], c.rank("X"), c.rank("Y")
    both = rank_x == 1 and rank_y == 1
    if rank_x == 1:
        x = c.Unsqueeze(x, axes=[1 if c.attr("transpose_X") else 0])
    elif c.attr("transpose_X"):
        x = swapped(c, x, rank_x)
    if rank_y == 1:
        y = c.Unsqueeze(y, axes=[0 if c.attr("transpose_Y") else 1])
    elif c.attr("transpose_Y"):
        y = swapped(c, y, rank_y)
    out = c.MatMul(x, y)
    if c.attr("alpha") != 1:
        out = c.Mul(out, c.attr("alpha"))
    shape = c.block.program.var_recursive(c.op.output("Out")[0]).shape
    rank = max(rank_x, rank_y, 2)
    if both and len(shape) == 1:
        return c.Reshape(out, np.array([-1]))
    if rank_x == 1 and len(shape) < rank:
        return c.Squeeze(out, axes=[rank - 2])
    if rank_y == 1 and len(shape) < rank:
        return c.Squeeze(out, axes=[rank - 1])
    return out


def flat_product(c, x, w, columns, rows=1):
    """x flattened to a matrix at `columns` times w flattened at `rows`, in x's leading axes.

    `x` and `w` are slots.
    """
    left, right = c[x], c[w]
    rank, other = c.rank(x), c.rank(w)
    if rank == columns + 1 and other == 2 and rows == 1:
        return c.MatMul(left, right)
    lead, tail = c.sizes(x)[:columns], c.sizes(w)[rows:]
    if other != 2 or rows != 1:
        right = c.Flatten(right, axis=rows)
    out = c.MatMul(c.Flatten(left, axis=columns) if (rank, columns) != (2, 1) else left, right)
    if columns == 1 and len(tail) == 1:
        return out
    return c.reshape(out, [*lead, *tail])


@operator("mul")
def _mul(c):
    return flat_product(c, "X", "Y", c.attr("x_num_col_dims"), c.attr("y_num_col_dims"))


def activated(c, value, name):
    """`value` through the activation of this name."""
    if name in ("", "identity", "linear"):
        return value
    return c.node({"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh"}[name], value)


@operator("fc")
def _fc(c):
    c.require(not c.attr("padding_weights"), "its weights are padded")
    out = flat_product(c, "Input", "W", c.attr("in_num_col_dims"))
    if c.has("Bias"):
        out = c.Add(out, c.Reshape(c["Bias"], np.array([-1])))
    return activated(c, out, c.attr("activation_type"))


@operator("bmm")
def _bmm(c):
    return c.MatMul(c["X"], c["Y"])


@operator("dot")
def _dot(c):
    return c.ReduceSum(c.Mul(c["X"], c["Y"]), axes=[c.rank() - 1], keepdims=0)


@operator("addmm")
def _addmm(c):
    out = c.MatMul(c["X"], c["Y"])
    alpha, beta = c.attr("Alpha"), c.attr("Beta")
    out = out if alpha == 1 else c.Mul(out, alpha)
    rest = c["Input"] if beta == 1 else c.Mul(c["Input"], beta)
    return c.Add(out, rest)


@operator("multi_dot")
def _multi_dot(c):
    values = c.list("X")
    out = values[0]
    for value in values[1:]:
        out = c.MatMul(out, value)
    return out


@operator("einsum")
def _einsum(c):
    equation = c.attr("equation").replace(" ", "")
    given, _, result = equation.partition("->")
    terms = given.split(",")
    ranks = [c.rank("Operands", i) for i in range(len(terms))]
    hidden = [r - len(t.replace("...", "")) for r, t in zip(ranks, terms, strict=True)]
    # '...' as letters, since terms may have it of different ranks.
    free = [x for x in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if x not in equation]
    most = max([h for h, t in zip(hidden, terms, strict=True) if "..." in t], default=0)
    letters = "".join(free[:most])
    terms = [
        t.replace("...", letters[most - h :] if "..." in t else "")
        for t, h in zip(terms, hidden, strict=True)
    ]
    if "->" in equation:
        result = result.replace("...", letters)
    else:
        all_letters = given.replace("...", "").replace(",", "")
        result = letters + "".join(sorted(x for x in set(all_letters)
                                          if all_letters.count(x) == 1))  # fmt: skip
    values = c.list("Operands")
    sizes = {}
    for i, term in enumerate(terms):
        for letter, n in zip(term, c.dims("Operands", i), strict=True):
            sizes.setdefault(letter, set()).add(n)
    for i, term in enumerate(terms):  # sizes of one that repeat along another operand's
        dims = c.dims("Operands", i)
        gone = [k for k, x in enumerate(term) if dims[k] == 1 and len(sizes[x]) > 1]
        values[i] = c.squeeze(values[i], gone)
        terms[i] = "".join(x for k, x in enumerate(term) if k not in gone)
    return {"Out": c.Einsum(*values, equation=",".join(terms) + "->" + result)}


@operator("bilinear_tensor_product")
def _bilinear(c):
    out = c.Einsum(c["X"], c["Weight"], c["Y"], equation="bm,kmn,bn->bk")
    return c.Add(out, c["Bias"]) if c.has("Bias") else out


@operator("kron")
def _kron(c):
    x, y, rank_x, rank_y = c["X"], c["Y"], c.rank("X"), c.rank("Y")
    rank = max(rank_x, rank_y)
    sizes_x = [1] * (rank - rank_x) + c.sizes("X")
    sizes_y = [1] * (rank - rank_y) + c.sizes("Y")
    x = c.unsqueeze(x, list(range(rank - rank_x)))
    y = c.unsqueeze(y, list(range(rank - rank_y)))
    wide = c.Unsqueeze(x, axes=[2 * i + 1 for i in range(rank)]) if rank else x
    other = c.Unsqueeze(y, axes=[2 * i for i in range(rank)]) if rank else y
    sizes = [c.times(pair) for pair in zip(sizes_x, sizes_y, strict=True)]
    return c.reshape(c.Mul(wide, other), sizes)


@operator("cross")
def _cross(c):
    dim = c.attr("dim")
    if dim == 9:
        sizes = c.dims()
        c.require(-1 not in sizes[: sizes.index(3) + 1] if 3 in sizes else False,
                  "the axis of three elements must be known")  # fmt: skip
        dim = sizes.index(3)
    axis = dim % c.rank()

    def turned(value, order):
        return c.Gather(value, np.array(order), axis=axis)

    x, y = c["X"], c["Y"]
    left = c.Mul(turned(x, [1, 2, 0]), turned(y, [2, 0, 1]))
    return c.Sub(left, c.Mul(turned(x, [2, 0, 1]), turned(y, [1, 2, 0])))


@operator("cos_sim")
def _cos_sim(c):
    x, y = c.Flatten(c["X"], axis=1), c.Flatten(c["Y"], axis=1)
    x_norm = c.Sqrt(c.ReduceSumSquare(x, axes=[1], keepdims=1))
    y_norm = c.Sqrt(c.ReduceSumSquare(y, axes=[1], keepdims=1))
    out = c.Div(c.Div(c.ReduceSum(c.Mul(x, y), axes=[1], keepdims=1), x_norm), y_norm)
    return {"Out": out, "XNorm": x_norm, "YNorm": y_norm}


@operator("fsp")
def _fsp(c):
    sizes = c.sizes("X")
    total = c.Einsum(c["X"], c["Y"], equation="nihw,njhw->nij")
    area = c.cast(c.squeeze(c.vector([c.times(sizes[2:])]), [0]), c.dtype)
    return c.Div(total, area)


@operator("fusion_squared_mat_sub")
def _squared_mat_sub(c):
    x, y = c["X"], c["Y"]
    product = c.MatMul(x, y)
    squares = c.MatMul(c.Mul(x, x), c.Mul(y, y))
    return {"Out": c.Mul(c.Sub(c.Mul(product, product), squares), c.attr("scalar"))}


@operator("fusion_repeated_fc_relu")
def _repeated_fc(c):
    x = c["X"] if c.rank("X") == 2 else c.Flatten(c["X"], axis=1)
    made = []
    for weight, bias in zip(c.list("W"), c.list("Bias"), strict=True):
        x = c.Relu(c.Add(c.MatMul(x, weight), c.Reshape(bias, np.array([-1]))))
        made.append(x)
    return {"ReluOut": made[:-1], "Out": x}


@operator("matrix_power")
def _matrix_power(c):
    n, rank = c.attr("n"), c.rank()
    c.require(n >= 0, "ONNX has no inverse of a matrix")
    if n == 0:
        size = c.Shape(c.x, start=rank - 1, end=rank)
        places = c.range(size)
        same = c.Equal(c.Unsqueeze(places, axes=[1]), c.Unsqueeze(places, axes=[0]))
        return c.Expand(c.cast(same, c.dtype), c.Shape(c.x))
    out, square = None, c.x
    while n:
        if n % 2:
            out = square if out is None else c.MatMul(out, square)
        n //= 2
        if n:
            square = c.MatMul(square, square)
    return out if out != c.x else c.Identity(out)


@operator("determinant")
def _determinant(c):
    return c.Det(c.x)


@operator("spectral_norm")
def _spectral_norm(c):
    dim, eps, rank = c.attr("dim"), c.attr("eps"), c.rank("Weight")
    order = [dim, *(i for i in range(rank) if i != dim)]
    matrix = c.transpose(c["Weight"], order)
    if rank > 2:
        matrix = c.Flatten(matrix, axis=1)
    u, v = c.Reshape(c["U"], np.array([-1, 1])), c.Reshape(c["V"], np.array([-1, 1]))

    def unit(value):
        return c.Div(value, c.Add(c.Sqrt(c.ReduceSumSquare(value, keepdims=1)), eps))

    turned = c.Transpose(matrix, perm=[1, 0])
    for _ in range(c.attr("power_iters")):
        v = unit(c.MatMul(turned, u))
        u = unit(c.MatMul(matrix, v))
    sigma = c.ReduceSum(c.Mul(u, c.MatMul(matrix, v)), keepdims=0)
    return c.Div(c["Weight"], sigma)


# Attention ----------------------------------------------------------------------------------------


@operator("scaled_dot_product_attention")
def _attention(c):
    c.require(c.attr("is_test") or not c.attr("dropout_prob"), "it draws random numbers")
    c.require(not c.is_ragged("Query"), "attention over ragged rows has no form in ONNX")
    heads, rank = c.attr("num_heads"), c.rank("Query")
    query, key, value = (parted(c, slot, heads) for slot in ("Query", "Key", "Value"))
    rank = rank + 1 if heads else rank
    width = c.dims("Query")[-1]
    scale = c.attr("scale")
    if not scale:
        if width > 0:
            scale = (width / max(heads, 1)) ** -0.5
        else:
            size = c.cast(c.Shape(query, start=rank - 1, end=rank), c.dtype)
            scale = c.Div(1.0, c.Sqrt(size))
    scores = c.MatMul(c.Mul(query, scale), swapped(c, key, rank))
    hidden = None
    if c.has("Mask"):
        mask = c["Mask"]
        if c.dtype_of("Mask") == "bool":
            hidden = c.Not(mask)
        else:
            scores = c.Add(scores, mask)
            hidden = c.And(c.IsInf(mask), c.Less(mask, 0.0))
    if c.attr("is_causal"):
        rows = c.range(c.Shape(scores, start=rank - 2, end=rank - 1))
        columns = c.range(c.Shape(scores, start=rank - 1, end=rank))
        later = c.Greater(c.Unsqueeze(columns, axes=[0]), c.Unsqueeze(rows, axes=[1]))
        hidden = later if hidden is None else c.Or(hidden, later)
    if hidden is not None:
        lowest = float(np.finfo("float32" if c.dtype != "float16" else "float16").min)
        scores = c.Where(hidden, c.scalar(lowest), scores)
    weights = c.Softmax(scores, axis=rank - 1)
    if hidden is not None:  # zeros, not equal weights, where a query sees no key
        weights = c.Where(hidden, c.scalar(0.0), weights)
    out = c.MatMul(weights, value)
    if not heads:
        return {"Out": out}
    joined = c.Transpose(out, perm=[0, 2, 1, 3])
    last = c.dims("Value")[-1]
    return {"Out": c.Reshape(joined, np.array([0, 0, last if last > 0 else -1]))}


def parted(c, slot, heads):
    """[batch, rows, heads * d] as [batch, heads, rows, d]; the input itself without heads."""
    if not heads:
        return c[slot]
    width = c.dims(slot)[-1]
    last = width // heads if width > 0 else -1
    value = c.Reshape(c[slot], np.array([0, 0, heads, last]))
    return c.Transpose(value, perm=[0, 2, 1, 3])


@operator("trace")
def _trace(c):
    from dygraph.onnx.export_index import diagonal

    line = diagonal(c, c.x, c.attr("offset"), c.attr("dim1"), c.attr("dim2"))
    return c.ReduceSum(line, axes=[c.rank() - 2], keepdims=0)
