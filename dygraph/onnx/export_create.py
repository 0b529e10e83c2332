"""Tensors made from attributes and from other shapes."""

import numpy as np

from dygraph.onnx.export_graph import operator


def _number(c, dtype):
    """The number that str_value or value gives, of this type."""
    text = c.attr("str_value")
    if text:
        if dtype == "bool":
            return bool(float(text))
        return float(text) if "float" in dtype else int(float(text)) if "." in text or "e" in text \
            or "inf" in text or "nan" in text else int(text)  # fmt: skip
    value = c.attr("value")
    return value if "float" in dtype else bool(value) if dtype == "bool" else int(value)


@operator("fill_constant")
def _fill_constant(c):
    dtype = c.dtype_attr()
    shape = c.ints("shape", "ShapeTensor", "ShapeTensorList")
    if c.has("ValueTensor"):
        value = c.cast(c.Reshape(c["ValueTensor"], np.array([], np.int64)), dtype)
        return c.Expand(value, c.vector(shape)) if shape else value
    return c.full(shape, _number(c, dtype), dtype)


@operator("fill_constant_batch_size_like")
def _fill_like_batch(c):
    dtype = c.dtype_attr()
    shape = [int(n) for n in c.attr("shape")]
    axis = c.attr("input_dim_idx")
    if axis == 0 and c.is_ragged("Input"):
        size = c.Shape(c.lengths("Input"))
    else:
        size = c.size(c["Input"], axis, c.dims("Input"))
    shape[c.attr("output_dim_idx")] = size
    return c.full(shape, _number(c, dtype), dtype)


@operator("fill_any_like", "fill_zeros_like", "fill_zeros_like2")
def _fill_any_like(c):
    dtype = c.dtype if c.op.type == "fill_zeros_like" else c.dtype_attr()
    number = _number(c, dtype) if c.op.type == "fill_any_like" else 0
    return c.full(c.sizes(), number, dtype)


@operator("assign")
def _assign(c):
    arrays = c.block.find(c.names("X")[0], "arrays")
    if arrays:
        c.block.arrays[c.op.output("Out")[0]] = arrays
    return c.Identity(c.x) if not arrays else c.x


@operator("rnn_memory_helper")
def _memory_helper(c):
    return c.Identity(c["X"])


@operator("assign_value")
def _assign_value(c):
    dtype = c.dtype_attr()
    slot = {"bool": "bool_values", "int64": "int64_values", "float32": "fp32_values",
            "float64": "fp32_values"}.get(dtype, "int32_values")  # fmt: skip
    return c.value(np.array(c.attr(slot), dtype).reshape([int(n) for n in c.attr("shape")]))


@operator("fill")
def _fill(c):
    dtype = c.dtype_attr()
    return c.value(np.array(c.attr("value"), dtype).reshape([int(n) for n in c.attr("shape")]))


@operator("eye")
def _eye(c):
    rows, columns = c.attr("num_rows"), c.attr("num_columns")
    return c.value(np.eye(rows, rows if columns < 0 else columns, dtype=c.dtype_attr()))


@operator("tril_indices", "triu_indices")
def _triangle(c):
    low = c.op.type == "tril_indices"
    rows, columns = (c.attr(n) for n in (("rows", "cols") if low else ("row", "col")))
    find = np.tril_indices if low else np.triu_indices
    return c.value(np.array(find(rows, c.attr("offset"), columns), c.dtype_attr()))


@operator("shape")
def _shape(c):
    sizes = c.vector(c.sizes("Input"))
    kind = str(c.block.program.var_recursive(c.op.output("Out")[0]).dtype)
    return c.cast(sizes, kind) if kind != "int64" else c.Identity(sizes)


@operator("size")
def _size(c):
    return c.Size(c["Input"])


@operator("matrix_is_tall")
def _is_tall(c):
    rank = c.rank()
    shape = c.Shape(c.x)
    part = lambda i: c.Gather(shape, c.scalar(i, "int64"))  # noqa: E731
    out = c.block.program.var_recursive(c.op.output("Out")[0])
    tall = c.cast(c.Greater(part(rank - 2), part(rank - 1)), str(out.dtype))
    return c.Reshape(tall, np.ones(len(out.shape), np.int64))


def one_number(c, slot, dtype):
    return c.cast(c.Reshape(c[slot], np.array([], np.int64)), dtype)


@operator("range")
def _range(c):
    kind = c.dtype if c.dtype in ("float32", "float64", "int32", "int64") else "int64"
    made = c.Range(*(one_number(c, slot, kind) for slot in ("Start", "End", "Step")))
    return made if kind == c.dtype else c.cast(made, c.dtype)


@operator("linspace")
def _linspace(c):
    dtype = c.dtype_attr()
    start, stop = (one_number(c, slot, "float64") for slot in ("Start", "Stop"))
    if "int" in dtype:
        start, stop = truncated64(c, start), truncated64(c, stop)
    count = one_number(c, "Num", "int64")
    one = c.scalar(1, "int64")
    places = c.cast(c.Range(c.scalar(0, "int64"), count, one), "float64")
    steps = c.cast(c.Max(c.Sub(count, one), one), "float64")
    made = c.Add(start, c.Mul(c.Div(places, steps), c.Sub(stop, start)))
    return c.cast(truncated64(c, made) if "int" in dtype else made, dtype)


def truncated64(c, x):
    return c.Where(c.Less(x, c.scalar(0.0, "float64")), c.Ceil(x), c.Floor(x))


@operator("diag")
def _diag(c):
    size = c.size(c.x, 0, c.dims())
    rows = c.range(size)
    same = c.Equal(c.Unsqueeze(rows, axes=[1]), c.Unsqueeze(rows, axes=[0]))
    return c.Where(same, c.Unsqueeze(c.x, axes=[1]), c.scalar(0))


@operator("add_position_encoding")
def _position_encoding(c):
    from dygraph.onnx.export_sequence import places_in_sequences

    width = c.dims()[-1]
    c.require(width > 0, "the width of X is open")
    half = width // 2
    if c.is_ragged():
        steps = places_in_sequences(c, c.lengths())
    else:
        c.require(c.rank() == 3, "it takes [batch, time, D] or rows with LoD")
        steps = c.range(c.size(c.x, 1, c.dims()))
    rate = 10000.0 ** (-np.arange(half) / (half - 1)) if half > 1 else np.array([1e-4])
    angle = c.Mul(c.Unsqueeze(c.cast(steps, "float64"), axes=[1]), rate[None])
    code = c.Concat(c.Sin(angle), c.Cos(angle), axis=1)
    code = c.cast(code, c.dtype)
    return c.Add(c.Mul(c.x, c.attr("alpha")), c.Mul(code, c.attr("beta")))
