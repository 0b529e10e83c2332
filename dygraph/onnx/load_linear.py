"""Rules for products of matrices."""

import dygraph
from dygraph import _core
from dygraph.onnx.load_rules import is_floating, rule

ops = _core.ops


def product(a, b):
    """A product of matrices; of integers exactly, as of float64."""
    if is_floating(a):
        return dygraph.matmul(a, b)
    return dygraph.matmul(a.astype("float64"), b.astype("float64")).astype(a.dtype)


@rule("MatMul")
def matmul(call, a, b):
    return product(a, b)


@rule("Gemm")
def gemm(call, a, b, c):
    a = dygraph.permute_dims(a, [1, 0]) if call.attr("transA", 0) else a
    alpha, beta = call.attr("alpha", 1.0), call.attr("beta", 1.0)
    if call.attr("transB", 0) and is_floating(a):
        out = ops.matmul_v2(a, b, trans_y=True)
    else:
        out = product(a, dygraph.permute_dims(b, [1, 0]) if call.attr("transB", 0) else b)
    out = out if alpha == 1.0 else out * _number(alpha, out)
    if c is None or beta == 0.0:
        return out
    return out + (c if beta == 1.0 else c * _number(beta, c))


def _number(value, x):
    return value if is_floating(x) else int(value)


@rule("Einsum")
def einsum(call, *operands):
    return dygraph.einsum(call.needs("equation").replace(" ", ""), *operands)


@rule("Det")
def det(call, x):
    out = ops.determinant(x)
    return out if call.rank(x) > 2 else out.reshape([])
