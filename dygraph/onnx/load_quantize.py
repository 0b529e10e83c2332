"""Rules for numbers rounded to few bits."""

import numpy as np

import dygraph
from dygraph import _core
from dygraph.core.sizes import Size
from dygraph.errors import InvalidArgumentError, UnimplementedError
from dygraph.onnx.load_conv import convolved
from dygraph.onnx.load_linear import product
from dygraph.onnx.load_rules import dtype_named, rule

ops = _core.ops


def _fitted(call, v, x, axis, block):
    """Scales or zero points beside `x`: of the whole, of an axis, or of blocks along it."""
    if v is None or call.rank(v) == 0:
        return v
    rank = call.rank(x)
    axis = call.axis(axis, rank)
    if call.rank(v) == 1 and not block:
        return ops.reshape2(v, shape=[-1 if i == axis else 1 for i in range(rank)])
    n = call.shape(x)[axis]
    if isinstance(n, Size) or not block:
        raise UnimplementedError("blocks of scales must have block_size and a known axis")
    call.table(n)
    index = np.arange(n) // block
    return ops.gather(v, call.constant(index.astype("int64")), axis=axis)


def quantized(call, x, scale, zero, axis=1, block=0, dtype=None, precision=None):
    dtype = dtype or (str(zero.dtype) if zero is not None else "uint8")
    info = np.iinfo(dtype)
    wide = "float64" if str(x.dtype) == "float64" or "int" in str(x.dtype) else "float32"
    scale = _fitted(call, scale, x, axis, block)
    steps = dygraph.round(x.astype(wide) / scale.astype(wide))
    if zero is not None:
        steps = steps + _fitted(call, zero, x, axis, block).astype(wide)
    return dygraph.clip(steps, float(info.min), float(info.max)).astype(dtype)


@rule("QuantizeLinear")
def quantize_linear(call, x, scale, zero):
    dtype = call.attr("output_dtype", 0)
    dtype = dtype_named(dtype, "output_dtype") if dtype and zero is None else None
    return quantized(call, x, scale, zero, call.attr("axis", 1), call.attr("block_size", 0), dtype)


@rule("DequantizeLinear")
def dequantize_linear(call, x, scale, zero):
    axis, block = call.attr("axis", 1), call.attr("block_size", 0)
    wide = str(scale.dtype) if str(scale.dtype) == "float64" else "float32"
    out = x.astype(wide)
    if zero is not None:
        out = out - _fitted(call, zero, x, axis, block).astype(wide)
    out = out * _fitted(call, scale, x, axis, block).astype(wide)
    dtype = call.attr("output_dtype", 0)
    return out.astype(dtype_named(dtype) if dtype else scale.dtype)


@rule("DynamicQuantizeLinear")
def dynamic_quantize_linear(call, x):
    zero = call.constant(np.zeros([], "float32"))
    low = dygraph.minimum(dygraph.min(x), zero)
    high = dygraph.maximum(dygraph.max(x), zero)
    scale = (high - low) / 255.0
    point = dygraph.clip(dygraph.round(-low / scale), 0.0, 255.0)
    steps = dygraph.clip(dygraph.round(x / scale) + point, 0.0, 255.0)
    return steps.astype("uint8"), scale, point.astype("uint8")


def _less(call, x, zero, rows=False):
    """Integers minus their zero point, as float64, which holds all sums exactly."""
    out = x.astype("float64")
    if zero is None:
        return out
    zero = zero.astype("float64")
    if rows and call.rank(zero) == 1 and call.shape(zero) != [1]:
        zero = ops.unsqueeze2(zero, axes=[1])
    return out - zero


@rule("MatMulInteger")
def matmul_integer(call, a, b, a_zero, b_zero):
    return product(_less(call, a, a_zero, True), _less(call, b, b_zero)).astype("int32")


@rule("ConvInteger")
def conv_integer(call, x, weight, x_zero, w_zero):
    if w_zero is not None and call.rank(w_zero) == 1 and call.shape(w_zero) != [1]:
        w_zero = ops.reshape2(w_zero, shape=[-1, *[1] * (call.rank(weight) - 1)])
    return convolved(call, _less(call, x, x_zero), _less(call, weight, w_zero)).astype("int32")


@rule("QLinearMatMul")
def qlinear_matmul(call, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    if call.rank(a_scale) > 1 or call.rank(b_scale) > 1:
        raise InvalidArgumentError("QLinearMatMul must have scales of at most one axis")
    if call.rank(a_scale) == 1 and call.shape(a_scale) != [1]:
        a_scale = ops.unsqueeze2(a_scale, axes=[1])
    out = product(_less(call, a, a_zero, True), _less(call, b, b_zero))
    out = out * (a_scale.astype("float64") * b_scale.astype("float64"))
    return quantized(call, out, y_scale.astype("float64"), y_zero, -1)


@rule("QLinearConv")
def qlinear_conv(call, x, x_scale, x_zero, weight, w_scale, w_zero, y_scale, y_zero, bias):
    w_zero = _fitted(call, w_zero, weight, 0, 0)
    out = convolved(call, _less(call, x, x_zero), _less(call, weight, w_zero))
    channels = [1, -1, *[1] * (call.rank(x) - 2)]
    if bias is not None:
        out = out + ops.reshape2(bias.astype("float64"), shape=channels)
    w_scale = w_scale.astype("float64")
    if call.rank(w_scale) == 1:
        w_scale = ops.reshape2(w_scale, shape=channels)
    return quantized(
        call, out * (x_scale.astype("float64") * w_scale), y_scale.astype("float64"), y_zero
    )
