"""Every operator as a function: input slots first, in lower case, then attributes by name.

The functions are made from the registry, so the list is complete; ``help(relu)`` shows formula,
slots and attributes. Gradient operators are called by `dygraph.run_op`. The module also has
functions that combine operators, from `dygraph.functions.images`, `dygraph.functions.losses` and
other modules of that room.

Examples
--------
>>> import dygraph.ops as F
>>> import dygraph
>>> F.relu(dygraph.to_variable([-1.0, 2.0])).numpy()
array([0., 2.], dtype=float32)
"""

import keyword
import re

from dygraph import _core
from dygraph.core.lazily import find, names_of
from dygraph.errors import did_you_mean
from dygraph.functions import (
    borders,
    creation,
    extent,
    manipulation,
    matrices,
    pieces,
    products,
    random,
    sets,
    sorting,
)

_gradient = re.compile(r"_grad2?($|_)")
# Functions in Paddle 2's manner, which take the place of operators of the same name.
COMPOSED = {
    borders: "pad",
    creation: "arange empty empty_like full full_like linspace ones ones_like zeros zeros_like",
    extent: "broadcast_tensors broadcast_to expand expand_as repeat_interleave tile",
    manipulation: "cumsum flatten flip moveaxis roll squeeze swapaxes t unsqueeze",
    matrices: "diag eye tril triu",
    pieces: "chunk concat split stack unbind unstack",
    products: "cdist cross einsum lerp mm mv norm outer trace",
    random: "bernoulli multinomial normal poisson rand randint randn randperm uniform",
    sets: "allclose unique",
    sorting: "argsort sort topk",
}
_CUMULATIVE = "cummax cummin cumprod logcumsumexp"
_ELEMENTS = "deg2rad fmax fmin frac gcd heaviside isclose lcm nan_to_num rad2deg"
_COMPLEX = "angle as_complex as_real complex is_complex"
_COUNTING = "bincount bucketize histc unique_consecutive"
_DIAGONALS = "diagonal rot90 tril_indices triu_indices"
_ORDER = "kthvalue median mode nanmedian"
ELEMENTS = f"{_CUMULATIVE} {_ELEMENTS} {_COMPLEX} {_COUNTING} {_DIAGONALS} {_ORDER}"
# Modules that load at the first use of one of their functions.
_LAZY = {
    "choices": "where",
    "complex_numbers": _COMPLEX,
    "counting": _COUNTING,
    "cumulative": _CUMULATIVE,
    "diagonals": _DIAGONALS,
    "elements": _ELEMENTS,
    "order_statistics": _ORDER,
    "searching": "index_add",
    "fluid_functions": "argmax argmin elementwise_equal gaussian_random_batch_size_like has_inf "
    "has_nan hsigmoid l2_normalize lod_append meshgrid nonzero rank reduce_all reduce_any "
    "reduce_max reduce_mean reduce_min reduce_prod reduce_sum scatter_nd sequence_first_step "
    "sequence_last_step uniform_random_batch_size_like",
    "fluid_images": "adaptive_pool2d adaptive_pool3d fsp_matrix image_resize image_resize_short "
    "resize_bilinear resize_nearest resize_trilinear",
    "images": "conv1d conv1d_transpose interpolate local_response_norm",
    "losses": "binary_cross_entropy binary_cross_entropy_with_logits cosine_embedding_loss "
    "cosine_similarity ctc_greedy_decoder ctc_loss dice_loss gaussian_nll_loss "
    "hinge_embedding_loss l1_loss margin_ranking_loss mse_loss npair_loss "
    "poisson_nll_loss sampled_softmax_with_cross_entropy smooth_l1 soft_margin_loss "
    "softmax_cross_entropy square_error_cost triplet_margin_loss",
    "pools": "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d "
    "adaptive_max_pool2d adaptive_max_pool3d avg_pool1d avg_pool2d avg_pool3d max_pool1d "
    "max_pool2d max_pool3d",
    "unpools": "max_unpool1d max_unpool2d max_unpool3d",
}
# Made by functions of `static.layers` of their own.
_OF_PROGRAMS = {
    "conditional_block", "conditional_block_infer", "delete_var", "feed", "fetch", "load",
    "load_combine", "print", "py_func", "recurrent", "save", "save_combine", "while",
}  # fmt: skip
_OF_FLUID = {"addcmul", "clamp", "sums"}
_LAZY_NAMES = names_of(_LAZY)
__all__ = []


def _spelling(name):
    """An operator named like a keyword gets an underscore: ``assert_``."""
    return name + "_" if keyword.iskeyword(name) else name


def _add_operators():
    """Add the operators of the registry; called again after a library is loaded."""
    names = [n for n in dir(_core.ops) if not n.startswith("_") and not _gradient.search(n)]
    _operators.update({_spelling(n): n for n in names if n not in _OF_PROGRAMS})
    __all__[:] = sorted({*_operators, *_composed, *_LAZY_NAMES})


_operators = {}  # Python's name -> the operator's
_composed = {name: getattr(m, name) for m, own in COMPOSED.items() for name in own.split()}
_add_operators()
globals().update(_composed)


def __getattr__(name):
    """What is used first is kept: a call may take 0.1 us, and this function takes 0.5."""
    if name in _LAZY_NAMES:
        globals()[name] = find(f"dygraph.functions.{_LAZY_NAMES[name]}", name)
        return globals()[name]
    if name in _operators:
        globals()[name] = getattr(_core.ops, _operators[name])
        return globals()[name]
    hint = "" if name.startswith("__") else did_you_mean(name, __all__)
    if name in _OF_FLUID:
        hint = f" Fluid's is dygraph.static.layers.{name}"
    raise AttributeError(f"dygraph.ops has no operator '{name}'.{hint}")


def __dir__():
    return list(__all__)
