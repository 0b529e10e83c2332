"""The functions of `dygraph`: the Python array API standard's, and ours in the same manner.

Each has one body, in the module of its family; a module loads at the first use of one of its
functions. `docs/array_api.md` lists the standard's functions and the exceptions.
"""

from dygraph.core.lazily import find as _find
from dygraph.core.lazily import names_of

ROOMS = {
    "choices": "clip where",
    "complex_numbers": "conj imag real",
    "creation": "arange asarray empty empty_like full full_like linspace meshgrid ones ones_like "
    "zeros zeros_like",
    "data_types": "__array_namespace_info__ astype can_cast finfo iinfo isdtype",
    "elementwise": "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert "
    "bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor ceil copysign cos cosh "
    "divide equal exp expm1 floor floor_divide greater greater_equal hypot isfinite isinf isnan "
    "less less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or "
    "logical_xor maximum minimum multiply negative nextafter not_equal positive pow reciprocal "
    "remainder round sign signbit sin sinh sqrt square subtract tan tanh trunc",
    "linear": "matmul matrix_transpose tensordot vecdot",
    "extent": "broadcast_arrays broadcast_to repeat tile",
    "manipulation": "expand_dims flatten flip moveaxis permute_dims reshape roll squeeze swapaxes "
    "transpose unsqueeze",
    "matrices": "diag eye tril triu",
    "pieces": "chunk concat split stack unstack",
    "order_statistics": "median",
    "products": "cross einsum norm outer trace",
    "random": "normal rand randint randn randperm uniform",
    "reductions": "all any count_nonzero cumulative_prod cumulative_sum diff max mean min prod "
    "std sum var",
    "searching": "argmax argmin nonzero searchsorted take take_along_axis",
    "sorting": "argsort sort topk",
    "sets": "allclose unique unique_all unique_counts unique_inverse unique_values",
}
NAMES = names_of(ROOMS)


def find(name):
    """The function of this name."""
    return _find(f"dygraph.functions.{NAMES[name]}", name)


def __getattr__(name):
    if name not in NAMES:
        raise AttributeError(f"module 'dygraph.functions' has no attribute '{name}'")
    return find(name)
