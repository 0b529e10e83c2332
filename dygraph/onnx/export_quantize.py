"""Numbers rounded to few bits. What rounds halves to the even number on int8 is written as
QuantizeLinear and DequantizeLinear, which runtimes compute in integers."""

import numpy as np

from dygraph.onnx.export_graph import operator
from dygraph.quantization.signs import never_negative


def levels(c, attr="bit_length"):
    return float(2 ** (int(c.attr(attr)) - 1) - 1)


def half_away(c, x):
    """Rounded, halves away from 0."""
    return c.Mul(c.Sign(x), c.Floor(c.Add(c.Abs(x), 0.5)))


def along(c, scale, axis, rank):
    """Scales of channels laid along an axis."""
    shape = [1] * rank
    shape[axis] = -1
    return c.Reshape(scale, np.array(shape))


def whole(c, x, scale, bits):
    """round(x / scale * bits): even halves are cut at the ends, others where x is."""
    small = c.LessOrEqual(scale, 1e-30)
    inverse = c.Div(1.0, c.Where(small, c.Add(scale, 1e-6), scale))
    if c.attr("round_type") == 0:
        found = c.Round(c.Mul(c.Mul(inverse, bits), x))
        return c.Min(c.Max(found, -bits - 1), bits)
    inside = c.Min(c.Max(x, c.Neg(scale)), scale)
    return half_away(c, c.Mul(c.Mul(inverse, bits), inside))


def most_of(c, x, axis=None):
    """max |x|, [1], or of each channel."""
    size = c.Abs(x)
    if axis is None:
        return c.Reshape(c.ReduceMax(size, keepdims=0), np.array([1]))
    return c.ReduceMax(size, axes=[a for a in range(c.rank()) if a != axis], keepdims=0)


@operator("fake_quantize_abs_max", "fake_quantize_dequantize_abs_max")
def _abs_max(c):
    bits, scale = levels(c), most_of(c, c.x)
    flat = c.Squeeze(scale, axes=[0])
    out = whole(c, c.x, flat, bits)
    if "dequantize" in c.op.type:
        out = c.Div(c.Mul(out, flat), bits)
    return {"Out": out, "OutScale": scale}


@operator("fake_channel_wise_quantize_abs_max", "fake_channel_wise_quantize_dequantize_abs_max")
def _channels(c):
    bits, axis, rank = levels(c), c.attr("quant_axis"), c.rank()
    if "dequantize" not in c.op.type and c.attr("is_test"):
        c.require(c.has("InScale"), "is_test without InScale")
        scale = c["InScale"]
    else:
        scale = most_of(c, c.x, axis)
    wide = along(c, scale, axis, rank)
    out = whole(c, c.x, wide, bits)
    if "dequantize" in c.op.type:
        out = c.Div(c.Mul(out, wide), bits)
    return {"Out": out, "OutScale": c.Identity(scale)}


@operator(
    "fake_quantize_moving_average_abs_max", "fake_quantize_dequantize_moving_average_abs_max",
    "fake_quantize_range_abs_max",
)  # fmt: skip
def _following(c):
    c.require(c.attr("is_test"), "its scale follows the data while training")
    scale = c.Reshape(c["InScale"], np.array([], np.int64))
    out = whole(c, c.x, scale, levels(c))
    if "dequantize" in c.op.type:
        out = c.Div(c.Mul(out, scale), levels(c))
    made = {"Out": out, "OutScale": c.Identity(c["InScale"])}
    for slot, given in (("OutState", "InState"), ("OutAccum", "InAccum"),
                        ("OutScales", "InScales")):  # fmt: skip
        declared = any(s["name"] == given for s in c.info["inputs"])
        if declared and c.has(given):
            made[slot] = c.Identity(c[given])
    return made


@operator("moving_average_abs_max_scale")
def _observer(c):
    made = {"Out": c.Identity(c["X"])}
    if c.attr("is_test") and c.has("InAccum") and c.has("InState"):
        made["OutScale"] = c.Div(c["InAccum"], c["InState"])
        made.update(OutState=c.Identity(c["InState"]), OutAccum=c.Identity(c["InAccum"]))
    return made


@operator("fake_dequantize_max_abs")
def _dequantize_max_abs(c):
    scale = c.Reshape(c["Scale"], np.array([], np.int64))
    return c.Div(c.Mul(c["X"], scale), c.attr("max_range"))


@operator("fake_channel_wise_dequantize_max_abs")
def _dequantize_channels(c):
    scales, bits, rank = c.list("Scales"), c.attr("quant_bits"), c.rank("X")
    two = len(scales) == 2
    axis = c.attr("x_num_col_dims") if two else c.attr("quant_axis")
    out = c.Mul(c["X"], along(c, scales[0], axis, rank))
    total = float(2 ** (bits[0] - 1) - 1)
    if two:
        out = c.Mul(out, c.Reshape(scales[1], np.array([], np.int64)))
        total *= 2 ** (bits[1] - 1) - 1
    return c.Div(out, total)


@operator("dequantize_abs_max")
def _table(c):
    scale = c.Reshape(c["Scale"], np.array([], np.int64))
    wide = c.cast(c["X"], "float32")
    return c.Div(c.Mul(scale, wide), c.scalar(c.attr("max_range"), "float32"))


@operator("dequantize_log")
def _log_table(c):
    x = c.cast(c["X"], "int32")
    below = c.Less(x, c.scalar(0, "int32"))
    index = c.Where(below, c.Add(x, c.scalar(128, "int32")), x)
    found = c.Gather(c.Reshape(c["Dict"], np.array([-1])), index, axis=0)
    return c.Where(below, c.Neg(found), found)


@operator("quantize_linear")
def _quantize_linear(c):
    c.require(c.attr("is_test") and not c.attr("only_observer"), "it observes while training")
    x, axis, rank, bits = c["X"], c.attr("quant_axis"), c.rank("X"), levels(c)
    scale = c.Reshape(c["Scale"], np.array([], np.int64)) if axis < 0 else \
        along(c, c["Scale"], axis, rank)  # fmt: skip
    made = kept(c)
    step, zero = byte_of(c, axis, bits)
    if step and c.attr("round_type") == 0 and c.dtype_of("Scale") == "float32":
        number = c.QuantizeLinear(x, step, zero, axis=axis if axis >= 0 else None)
        made["Y"] = c.cast(number, "float32")
        if axis < 0:
            made["Y"] = c.Sub(made["Y"], c.cast(zero, "float32"))
        c.model.integers[made["Y"]] = number, zero
        return made
    made["Y"] = whole(c, x, scale, bits)
    return made


def byte_of(c, axis, bits):
    """(step, zero point) of an ONNX type of 8 bits with the same numbers; (None, None) for none.

    Activations are uint8: 0 is 128, or 0 where they are never negative and have 255 steps. Runtimes
    join a relu to a product in integers only so.
    """
    flat = c["Scale"] if axis >= 0 else c.Reshape(c["Scale"], np.array([], np.int64))
    step = c.Div(flat, c.scalar(bits, "float32"))
    if axis >= 0 and bits == 127:
        return step, c.full([c.size(step, 0, c.dims("Scale"))], 0, "int8")
    if axis < 0 and bits == 127:
        return step, c.scalar(128, "uint8")
    if axis < 0 and bits == 255 and never_negative(c.block.program, c.names("X")[0]):
        return step, c.scalar(0, "uint8")
    return None, None


def kept(c):
    """The scale and the averages behind it, which stay as they are."""
    made = {"OutScale": c.Identity(c["Scale"])}
    for slot, given in (("OutState", "InState"), ("OutAccum", "InAccum")):
        zero = np.zeros(1, c.dtype_of("Scale"))
        made[slot] = c.Identity(c[given]) if c.has(given) else c.value(zero)
    return made


@operator("dequantize_linear")
def _dequantize_linear(c):
    c.require(c.attr("is_test") and not c.attr("only_observer"), "it observes while training")
    axis, rank, bits = c.attr("quant_axis"), c.rank("X"), levels(c)
    made = kept(c)
    x = c["X"]
    number, zero = c.model.integers.get(x, (None, None))
    if number is None and c.dtype_of("X") == "int8":
        number = x
        zero = c.scalar(0, "int8") if axis < 0 else c.full(c.sizes("Scale"), 0, "int8")
    if number and c.dtype_of("Scale") == "float32":
        flat = c["Scale"] if axis >= 0 else c.Reshape(c["Scale"], np.array([], np.int64))
        step = c.Div(flat, c.scalar(bits, "float32"))
        made["Y"] = c.DequantizeLinear(number, step, zero, axis=axis if axis >= 0 else None)
        return made
    kind = c.dtype_of("Scale")
    x = x if c.dtype_of("X") == kind else c.cast(x, kind)
    scale = c.Reshape(c["Scale"], np.array([], np.int64)) if axis < 0 else \
        along(c, c["Scale"], axis, rank)  # fmt: skip
    made["Y"] = c.Div(c.Mul(x, scale), c.scalar(bits, kind))
    return made


def _ends(unsigned):
    return (0.0, 255.0) if unsigned else (-128.0, 127.0)


def _bytes(c, x, unsigned):
    """Rounded to even and cut off at the ends of a byte."""
    low, high = _ends(unsigned)
    number = lambda v: c.scalar(v, "float32")  # noqa: E731
    inside = c.Min(c.Max(c.Round(x), number(low)), number(high))
    return c.cast(inside, "uint8" if unsigned else "int8")


@operator("quantize")
def _quantize(c):
    x, shift = c["Input"], c.attr("Shift")
    if c.attr("bfloat16"):
        return c.cast(x, "bfloat16")
    unsigned = bool(shift) or not c.attr("is_negative_input")
    return _bytes(c, c.Add(c.Mul(x, c.attr("Scale")), shift), unsigned)


@operator("dequantize")
def _dequantize(c):
    x = c.cast(c["Input"], "float32")
    factor = float(np.float32(1) / np.float32(c.attr("Scale")))
    number = lambda v: c.scalar(v, "float32")  # noqa: E731
    return c.Mul(c.Sub(x, number(c.attr("Shift"))), number(factor))


@operator("requantize")
def _requantize(c):
    unsigned = c.dtype_of("Input") == "uint8"
    factor = np.float32(c.attr("Scale_out")) / np.float32(c.attr("Scale_in"))
    shift = 0.0
    if unsigned:
        moved = np.floor(np.float32(factor) * np.float32(c.attr("Shift_in")))
        shift = float(min(max(c.attr("Shift_out") - moved, 0.0), 255.0))
    number = lambda v: c.scalar(float(v), "float32")  # noqa: E731
    x = c.cast(c["Input"], "float32")
    return _bytes(c, c.Add(c.Mul(x, number(factor)), number(shift)), unsigned)
