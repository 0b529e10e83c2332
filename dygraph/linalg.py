"""Linear algebra with gradients: the extension `linalg` of the Python array API standard, and more.

Matrices lie along the last two axes, of float32 or float64; the axes before them are stacks. Names,
arguments and results are the standard's; where NumPy, PyTorch and Paddle agree on more, that is
taken too. Operators with their slots are in `dygraph.ops`.

>>> import dygraph
>>> dygraph.linalg.inv(dygraph.asarray([[4.0]])).tolist()
[[0.25]]
"""

from dygraph.core.lazily import find as _find
from dygraph.core.lazily import names_of as _names_of
from dygraph.core.spellings import refuse as _refuse
from dygraph.errors import did_you_mean as _did_you_mean

_ROOMS = {
    "decompositions": "cholesky eig eigh eigvals eigvalsh lu lu_factor lu_unpack qr svd svdvals",
    "linear": "matmul matrix_transpose tensordot vecdot",
    "linear_systems": "cholesky_solve det inv lstsq matrix_exp matrix_power multi_dot pinv slogdet "
    "solve solve_triangular triangular_solve",
    "matrix_norms": "cond cross diagonal matrix_norm matrix_rank norm outer trace vector_norm",
}
_NAMES = _names_of(_ROOMS)
__all__ = sorted(_NAMES)
_HINTS = {
    "LinAlgError": "dygraph.errors.InvalidArgumentError is raised for singular matrices",
    "LinAlgWarning": "dygraph.errors.InvalidArgumentError is raised for singular matrices",
    "inverse": "dygraph.linalg.inv",
    "expm": "dygraph.linalg.matrix_exp",
    "dot": "x @ y, or dygraph.linalg.vecdot(x, y)",
    "ldl_factor": "dygraph.linalg.lu_factor",
    "lu_solve": "dygraph.linalg.solve",
    "inv_ex": "dygraph.linalg.inv; dygraph.ops.lu(x)[2] tells which matrices are singular",
    "cholesky_ex": "dygraph.linalg.cholesky raises and names the matrix",
    "solve_ex": "dygraph.linalg.solve raises and names the matrix",
}


def __getattr__(name):
    """Functions load at the first use."""
    if name in _NAMES:
        return _find(f"dygraph.functions.{_NAMES[name]}", name)
    hint = "" if name.startswith("_") else _did_you_mean(name, __all__)
    if name in _HINTS:
        hint = f" {_HINTS[name]}"
    raise _refuse("dygraph.linalg", name, hint)


def __dir__():
    return __all__
