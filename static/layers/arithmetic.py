"""Arithmetic of two variables, comparisons, products and sums.

Examples
--------
>>> import dygraph
>>> from dygraph import static
>>> x, y = dygraph.to_variable([[1.0, 2.0], [3.0, 4.0]]), dygraph.to_variable([10.0, 20.0])
>>> static.layers.elementwise_add(x, y, axis=0).tolist()
[[11.0, 12.0], [23.0, 24.0]]
>>> static.layers.less_than(x, x).tolist()
[[False, False], [False, False]]
"""

from dygraph.core import check
from dygraph.static.layers.making import attributes, into, layer, run, table

_BINARY = {
    "add": "x + y", "sub": "x - y", "mul": "x y", "div": "x / y", "max": "The greater of x and y",
    "min": "The lesser of x and y", "pow": "x to the power of y", "mod": "x - floor(x / y) y",
    "floordiv": "floor(x / y)",
}  # fmt: skip
_COMPARISONS = {
    "equal": "x == y", "not_equal": "x != y", "less_equal": "x <= y", "greater_than": "x > y",
    "greater_equal": "x >= y",
}  # fmt: skip
_WITH_COND = "; `cond`, a bool variable, is set to it if given."

_FUNCTIONS = table([
    *(
        (
            f"elementwise_{name}(x, y, axis=-1, act=None, name=None)",
            f"{what}; the first axis of y stands for `axis` of x.",
        )
        for name, what in _BINARY.items()
    ),
    *((f"{name}(x, y, cond=None)", f"{what}{_WITH_COND}") for name, what in _COMPARISONS.items()),
    ("less_than(x, y, force_cpu=None, cond=None)", f"x < y{_WITH_COND}"),
    ("elementwise_equal(x, y, name=None)", "x == y.", "equal"),
    ("logical_and(x, y, out=None, name=None)", "x and y; `out` is set to it if given."),
    ("logical_or(x, y, out=None, name=None)", "x or y; `out` is set to it if given."),
    ("logical_xor(x, y, out=None, name=None)", "Either x or y; `out` is set to it if given."),
    ("logical_not(x, out=None, name=None)", "Not x; `out` is set to it if given."),
    ("is_empty(x, cond=None)", "Whether there are no elements; `cond` is set to it if given."),
    (
        "mul(x, y, x_num_col_dims=1, y_num_col_dims=1, name=None)",
        "The matrix product of x and y, flattened at `x_num_col_dims` and `y_num_col_dims`.",
    ),
    (
        "matmul(x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None)",
        "alpha times the matrix product of x and y.", "",
        "transpose_x=transpose_X transpose_y=transpose_Y",
    ),
    ("bmm(x, y, name=None)", "The products of a batch of matrices."),
    ("dot(x, y, name=None)", "The sum of x y over the last axis."),
    (
        "addmm(input, x, y, alpha=1.0, beta=1.0, name=None)",
        "beta input + alpha x y.", "", "alpha=Alpha beta=Beta",
    ),
    ("kron(x, y, out=None, name=None)", "The Kronecker product; `out` is set to it if given."),
    ("cos_sim(X, Y)", "The cosine of the angle between the rows of X and of Y."),
    ("dist(x, y, p=2)", "The p-norm of x - y."),
    ("mean(x, name=None)", "The mean of all elements."),
    ("sum(x)", "The sum of one variable, or of several of one shape."),
    (
        "trace(input, offset=0, dim1=0, dim2=1, out=None, name=None)",
        "The sum along a diagonal; `out` is set to it if given.",
    ),
])  # fmt: skip
__getattr__ = attributes(_FUNCTIONS, __name__)


@layer
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False, name=None):
    """Whether ``|input - other| <= atol + rtol |other|`` everywhere: one bool.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.allclose(dygraph.ones([2]), dygraph.ones([2])).item()
    True
    """
    attrs = {
        "rtol": repr(check.number(rtol, "allclose: rtol")),
        "atol": repr(check.number(atol, "allclose: atol")), "equal_nan": bool(equal_nan),
    }  # fmt: skip
    return run("allclose", {"Input": input, "Other": other}, attrs)["Out"]


@layer
def cross(input, other, dim=None):
    """The cross product along `dim`; None: the first axis of size 3.

    >>> import dygraph
    >>> from dygraph import static
    >>> x, y = dygraph.to_variable([1.0, 0.0, 0.0]), dygraph.to_variable([0.0, 1.0, 0.0])
    >>> static.layers.cross(x, y).tolist()
    [0.0, 0.0, 1.0]
    """
    return run("cross", {"X": input, "Y": other}, {"dim": dim})["Out"]


@layer(named="sum")
def sums(input, out=None):
    """The sum of a list of variables of one shape; `out`, if given, is set to it.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.sums([dygraph.ones([2]), dygraph.ones([2])]).tolist()
    [2.0, 2.0]
    """
    terms = list(input) if isinstance(input, (list, tuple)) else [input]
    return into(out, run("sum", {"X": terms})["Out"], "sums")


@layer
def cumsum(x, axis=None, exclusive=None, reverse=None):
    """Cumulative sums along `axis`; None: along the last axis.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.cumsum(dygraph.to_variable([1.0, 2.0, 3.0]), exclusive=True).tolist()
    [0.0, 1.0, 3.0]
    """
    attrs = {"axis": axis, "exclusive": exclusive, "reverse": reverse}
    return run("cumsum", {"X": x}, attrs)["Out"]


@layer
def logsumexp(x, dim=None, keepdim=False, out=None, name=None):
    """log(sum(exp(x))) over `dim`: an axis or several; None or none: over all.

    >>> import dygraph
    >>> from dygraph import static
    >>> round(static.layers.logsumexp(dygraph.to_variable([0.0, 0.0])).item(), 4)
    0.6931
    """
    every = dim is None or (isinstance(dim, (list, tuple)) and not dim)
    dims = [0] if every else list(dim) if isinstance(dim, (list, tuple)) else [dim]
    attrs = {"axis": dims, "keepdim": bool(keepdim), "reduce_all": every}
    return into(out, run("logsumexp", {"X": x}, attrs)["Out"], "logsumexp")


@layer
def addcmul(input, tensor1, tensor2, value=1.0, out=None, name=None):
    """``input + value * tensor1 * tensor2``; `out`, if given, is set to it.

    >>> import dygraph
    >>> from dygraph import static
    >>> one = dygraph.ones([2])
    >>> static.layers.addcmul(one, one, one, value=3.0).tolist()
    [4.0, 4.0]
    """
    product = tensor1 * tensor2 * check.number(value, "addcmul: value")
    return into(out, input + product, "addcmul")


@layer
def clamp(input, min=None, max=None, output=None, name=None):
    """Every element clipped to [min, max]; None: no bound. `output` is set to it.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.clamp(dygraph.to_variable([-1.0, 0.5, 2.0]), min=0.0, max=1.0).tolist()
    [0.0, 0.5, 1.0]
    """
    attrs = {"min": min, "max": max}
    return into(output, run("clip", {"X": input}, attrs)["Out"], "clamp")


@layer
def increment(x, value=1.0, in_place=True):
    """``x + value``, written to ``x`` itself unless `in_place` is False.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     i = static.layers.fill_constant([1], "int64", 0)
    ...     static.layers.increment(i) is i
    True
    """
    result = run("increment", {"X": x}, {"step": check.number(value, "increment: value")})["Out"]
    return into(x, result, "increment") if in_place else result


__all__ = sorted([
    *_FUNCTIONS, "addcmul", "allclose", "clamp", "cross", "cumsum", "increment", "logsumexp",
    "sums",
])  # fmt: skip
