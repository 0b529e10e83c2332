"""Copies, conversions and properties of variables; sorting."""

import numpy as np

from dygraph import _core, ops
from dygraph.core import check, size_lists
from dygraph.core.files import path_of
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.static.layers.making import into, layer, operator, run
from dygraph.static.program import Variable, computes, default_main_program
from dygraph.static.unknown_sizes import Unknown, variables


@operator()
def shape(input):
    """The sizes of a variable, as they are while the program runs.

    Parameters
    ----------
    input : Variable
        Any shape and type.

    Returns
    -------
    Variable
        int32 ``[number of axes]``.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> layers.shape(dygraph.ones([2, 3])).tolist()
    [2, 3]
    """


@operator()
def size(input):
    """The number of elements.

    Parameters
    ----------
    input : Variable
        Any shape and type.

    Returns
    -------
    Variable
        One int64, of shape ``()``.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> layers.size(dygraph.ones([2, 3])).item()
    6
    """


@operator()
def get_tensor_from_selected_rows(x, name=None):
    """The stored rows of SelectedRows, one for each of its row numbers.

    This is not the matrix that `x` stands for, which has rows of zeros as well.

    Parameters
    ----------
    x : Variable
        SelectedRows; float32, float64, int32 or int64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[number of stored rows, ...]``, of the type of `x`.

    Examples
    --------
    >>> import numpy as np
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> table = dygraph.to_variable(np.ones((4, 2), "float32"))
    >>> table.stop_gradient = False
    >>> rows = dygraph.ops.lookup_table_v2(table, to_variable([3, 1]), is_sparse=True)
    >>> rows.sum().backward()
    >>> layers.get_tensor_from_selected_rows(table.grad).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """


@operator()
def merge_selected_rows(x, name=None):
    """SelectedRows with each row number once, in ascending order; repeated rows are added.

    Parameters
    ----------
    x : Variable
        SelectedRows; float32, float64, int32 or int64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        SelectedRows that stand for the same matrix.

    Examples
    --------
    >>> import numpy as np
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> table = dygraph.to_variable(np.ones((4, 2), "float32"))
    >>> table.stop_gradient = False
    >>> rows = dygraph.ops.lookup_table_v2(table, to_variable([3, 1, 3]), is_sparse=True)
    >>> rows.sum().backward()
    >>> layers.get_tensor_from_selected_rows(layers.merge_selected_rows(table.grad)).tolist()
    [[1.0, 1.0], [2.0, 2.0]]
    """


@operator(input="X")
def argsort(input, axis=-1, descending=False, name=None):
    """The elements in order along an axis, and where they stood.

    Equal elements keep their order; NaN counts as the greatest.

    Parameters
    ----------
    input : Variable
        At least one axis; float32, float64 or an integer type.
    axis : int, default -1
        The axis to sort along; negative ones count from the end.
    descending : bool, default False
        Whether the greatest comes first.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    out : Variable
        The sorted elements, in the shape and type of `input`.
    indices : Variable
        Their positions in `input`, int64.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> values, places = layers.argsort(to_variable([3.0, 1.0, 2.0]))
    >>> values.tolist(), places.tolist()
    ([1.0, 2.0, 3.0], [1, 2, 0])
    """


@operator(input="X")
def one_hot(input, depth, allow_out_of_range=False):
    """Rows that are 1 at the number in `input` and 0 elsewhere.

    `static.one_hot` keeps the last axis of `input`.

    Parameters
    ----------
    input : Variable
        int32 or int64 ``[..., 1]``, from 0 to below `depth`.
    depth : int or Variable
        The length of a row; a Variable must have one element.
    allow_out_of_range : bool, default False
        Whether other numbers give a row of zeros; if not, they raise.

    Returns
    -------
    Variable
        float32 ``[..., depth]``.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.one_hot(to_variable([[1], [0]]), depth=3).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """


@operator(diagonal="Diagonal")
def diag(diagonal):
    """A square matrix with `diagonal` on its main diagonal, 0 elsewhere.

    Parameters
    ----------
    diagonal : Variable
        ``[n]``, any type.

    Returns
    -------
    Variable
        ``[n, n]``, of the type of `diagonal`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.diag(to_variable([1, 2])).tolist()
    [[1, 0], [0, 2]]
    """


def exact_text(value, dtype, owner):
    """A number as fill_constant's str_value, which is exact for float64 and int64."""
    if isinstance(value, (bool, int, np.integer, np.bool_)):
        return str(int(value))
    return repr(check.number(value, f"{owner}: value"))


def sized(result, shape):
    """`result` of an operator with `shape`, declared with its known sizes."""
    if isinstance(shape, (list, tuple)):
        size_lists.declare(result, list(shape))
    return result


def sizes_of(shape, owner):
    """(attribute, tensor, list of tensors) of a shape: numbers, a Variable, or both mixed."""
    if isinstance(shape, _core.Variable):
        return None, shape, None
    if isinstance(shape, str) or not hasattr(shape, "__iter__"):
        raise ArgumentTypeError(
            f"{owner}: shape must be a list of integers or a Variable, got {kind_of(shape)}"
        )
    shape = variables(shape)
    if not any(isinstance(size, _core.Variable) for size in shape):
        return [check.integer(size, f"{owner}: a size in shape") for size in shape], None, None
    parts = [
        size if isinstance(size, _core.Variable)
        else ops.fill_constant(shape=[1], dtype="int32", value=float(size))
        for size in shape
    ]  # fmt: skip
    return [-1 if isinstance(s, _core.Variable) else int(s) for s in shape], None, parts


def filled(shape, dtype, value, owner, force_cpu=False):
    """A new variable filled with `value`."""
    sizes, tensor, parts = sizes_of(shape, owner)
    inputs = {"ShapeTensor": tensor, "ShapeTensorList": parts}
    attrs = {"shape": sizes, "dtype": dtype, "force_cpu": bool(force_cpu)}
    if isinstance(value, Unknown):
        value = value.tensor().astype(dtype)
    if isinstance(value, _core.Variable):
        inputs["ValueTensor"] = value
    else:
        attrs["str_value"] = exact_text(value, dtype, owner)
        attrs["value"] = float(value)
    return sized(run("fill_constant", inputs, attrs)["Out"], parts and shape)


def plain_numbers(values, what):
    """The numbers of a list, with -1 for Variables."""
    return [-1 if isinstance(v, _core.Variable) else check.integer(v, what) for v in values]


def number_tensors(values):
    """A Variable for each number of a list that holds Variables; None without Variables."""
    if not any(isinstance(v, _core.Variable) for v in values):
        return None
    return [v if isinstance(v, _core.Variable) else filled([1], "int32", v, "") for v in values]


@layer
def cast(x, dtype):
    """`x` converted to another type. Fractions are cut off on the way to integers.

    Parameters
    ----------
    x : Variable
        Any shape and type.
    dtype : str or dtype
        The type of the result.

    Returns
    -------
    Variable
        The shape of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.cast(to_variable([1.5, -2.5]), "int32").tolist()
    [1, -2]
    """
    return ops.cast(x, dtype)


@layer
def assign(input, output=None):
    """A copy of a Variable, or a variable with the elements of an array.

    Parameters
    ----------
    input : Variable, ndarray, list or number
        What to copy.
    output : Variable, optional
        A variable of the same type, which the copy is written to and returned.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Raises
    ------
    ArgumentTypeError
        `input` is neither a Variable nor an array, or `output` has another type.

    Examples
    --------
    >>> import numpy as np
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> with dygraph.guard():
    ...     layers.assign(np.array([[1.0, 2.0]], "float32")).tolist()
    [[1.0, 2.0]]
    """
    if isinstance(input, _core.Variable):
        return into(output, run("assign", {"X": input})["Out"], "assign")
    if not isinstance(input, (np.ndarray, list, tuple, int, float, bool, np.generic)):
        raise ArgumentTypeError(
            f"assign: input must be a Variable or an array, got {kind_of(input)}"
        )
    value = _core.to_variable(input)
    if output is not None and not isinstance(output, Variable):
        return into(output, value, "assign")
    if not isinstance(output, Variable) and computes():
        return value
    return into(output, default_main_program().constant(value.numpy()), "assign")


def load(out, file_path, load_as_fp16=None):
    """Read `out` from a file in each run of the program, in the format of `static.io.save_vars`.

    The program runs only with ``static.Executor(files=directory)``, which names the directory of
    its files.

    Parameters
    ----------
    out : Variable
        Of a program; it takes the shape and type from the file.
    file_path : str or os.PathLike
        The file, within that directory.
    load_as_fp16 : bool, optional
        Floating point numbers become float16.

    Raises
    ------
    TypeError
        `out` is no variable of a program, or `file_path` no path.

    Examples
    --------
    >>> import os, tempfile
    >>> import dygraph
    >>> from dygraph import static
    >>> folder = tempfile.mkdtemp()
    >>> attrs = {"file_path": os.path.join(folder, "w")}
    >>> _ = dygraph.run_op("save", {"X": dygraph.to_variable([1.0, 2.0])}, attrs)
    >>> with static.program_guard(static.Program()):
    ...     w = static.layers.create_tensor("float32")
    ...     static.layers.load(w, "w")
    ...     static.Executor(files=folder).run(fetch_list=[w])
    [array([1., 2.], dtype=float32)]
    """
    if not isinstance(out, Variable):
        raise ArgumentTypeError(f"load: out must be a variable of a program, got {kind_of(out)}")
    attrs = {"file_path": path_of(file_path, "load"), "load_as_fp16": bool(load_as_fp16)}
    out.block.append_op("load", {}, {"Out": out}, attrs)


@layer
def rank(input):
    """The number of axes.

    Parameters
    ----------
    input : Variable
        Any shape and type.

    Returns
    -------
    Variable
        One int32, of shape ``()``.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> layers.rank(dygraph.ones([2, 3])).item()
    2
    """
    return filled([], "int32", len(check.variable(input, "rank: input").shape), "rank")


@layer
def tril(input, diagonal=0, name=None):
    """The lower triangle of matrices: 0 above a diagonal.

    Parameters
    ----------
    input : Variable
        ``[..., rows, columns]``, any type.
    diagonal : int, default 0
        The diagonal: 0 for the main one, positive above it, negative below.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.tril(to_variable([[1, 2], [3, 4]])).tolist()
    [[1, 0], [3, 4]]
    """
    return run("tril_triu", {"X": input}, {"diagonal": diagonal, "lower": True})["Out"]


@layer
def triu(input, diagonal=0, name=None):
    """The upper triangle of matrices: 0 below a diagonal.

    Parameters
    ----------
    input : Variable
        ``[..., rows, columns]``, any type.
    diagonal : int, default 0
        The diagonal: 0 for the main one, positive above it, negative below.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.triu(to_variable([[1, 2], [3, 4]])).tolist()
    [[1, 2], [0, 4]]
    """
    return run("tril_triu", {"X": input}, {"diagonal": diagonal, "lower": False})["Out"]


@layer
def where(condition):
    """The indices of the elements that are true, in order.

    Parameters
    ----------
    condition : Variable
        bool, at least one axis.

    Returns
    -------
    Variable
        int64 ``[count, axes]``.

    Raises
    ------
    InvalidArgumentError
        `condition` is not bool.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.where(to_variable([[False, True], [True, False]])).tolist()
    [[0, 1], [1, 0]]
    """
    if str(check.variable(condition, "where: condition").dtype) != "bool":
        raise InvalidArgumentError(f"where: condition must be bool, got {condition.dtype}")
    return run("where_index", {"Condition": condition})["Out"]


@layer
def topk(input, k, name=None):
    """The `k` greatest elements along the last axis, and where they stand.

    Parameters
    ----------
    input : Variable
        At least one axis; float32, float64, int32 or int64.
    k : int or Variable
        How many, at most the last size; a Variable must have one element.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    values : Variable
        ``[..., k]``, the greatest first, of the type of `input`.
    indices : Variable
        int64 ``[..., k]``.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> values, places = layers.topk(to_variable([1.0, 5.0, 3.0]), 2)
    >>> values.tolist(), places.tolist()
    ([5.0, 3.0], [1, 2])
    """
    k = {"K": k} if isinstance(k, _core.Variable) else {"k": check.integer(k, "topk: k", 1)}
    inputs = {"X": input, **({} if "k" in k else k)}
    found = run("top_k", inputs, k if "k" in k else None)
    return found["Out"], found["Indices"]


__all__ = [
    "argsort", "assign", "cast", "diag", "get_tensor_from_selected_rows", "load",
    "merge_selected_rows", "one_hot", "rank", "shape", "size", "topk", "tril", "triu", "where",
]  # fmt: skip
