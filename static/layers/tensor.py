"""Constants, copies, ranges, and properties of variables."""

import numpy as np

from dygraph import _core, ops, unique_name
from dygraph.core import check, size_lists
from dygraph.core.files import path_of
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.static.layers.making import into, layer, operator, run
from dygraph.static.program import Variable, computes, default_main_program
from dygraph.static.unknown_sizes import Unknown, numbers, variables


@operator()
def shape(input):
    """The sizes of the variable while the program runs, int32."""


@operator()
def size(input):
    """The number of elements, one int64."""


@operator()
def get_tensor_from_selected_rows(x, name=None):
    """The value of SelectedRows, a row for each index."""


@operator()
def merge_selected_rows(x, name=None):
    """SelectedRows with the rows of equal index added."""


@operator(input="X")
def argsort(input, axis=-1, descending=False, name=None):
    """The sorted elements along `axis`, and their indices."""


@operator(input="X")
def one_hot(input, depth, allow_out_of_range=False):
    """Rows that are 1 at the index in `input` and 0 elsewhere; its last size is 1."""


@operator(diagonal="Diagonal")
def diag(diagonal):
    """A matrix with `diagonal` on its diagonal."""


def _text(value, dtype, owner):
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
        attrs["str_value"] = _text(value, dtype, owner)
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
def fill_constant(shape, dtype, value, force_cpu=False, out=None):
    """A variable filled with `value`; `out`, if given, is set to it.

    `shape` may be or hold Variables; `value` may be a Variable.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.layers.fill_constant([2, 3], "float32", 1.5).shape
    (2, 3)
    """
    return into(out, filled(shape, dtype, value, "fill_constant", force_cpu), "fill_constant")


@layer
def fill_constant_batch_size_like(
    input, shape, dtype, value, input_dim_idx=0, output_dim_idx=0, force_cpu=False
):
    """`fill_constant` with the size `input_dim_idx` of `input` as its size `output_dim_idx`.

    >>> import dygraph
    >>> from dygraph import static
    >>> x = dygraph.ones([4, 2])
    >>> static.layers.fill_constant_batch_size_like(x, [-1, 1], "int64", 7).tolist()
    [[7], [7], [7], [7]]
    """
    attrs = {
        "shape": numbers(list(shape)), "dtype": dtype, "input_dim_idx": input_dim_idx,
        "output_dim_idx": output_dim_idx, "value": float(value),
        "str_value": _text(value, dtype, "fill_constant_batch_size_like"),
    }  # fmt: skip
    return run("fill_constant_batch_size_like", {"Input": input}, attrs)["Out"]


@layer
def zeros(shape, dtype, force_cpu=False):
    """Zeros.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.layers.zeros([2], "int64").name[-5:]
    'tmp_0'
    """
    return filled(shape, dtype, 0, "zeros")


@layer
def ones(shape, dtype, force_cpu=False):
    """Ones.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.layers.ones([2], "int64").shape
    (2,)
    """
    return filled(shape, dtype, 1, "ones")


@layer
def zeros_like(x, out=None):
    """Zeros of the shape and type of ``x``; `out`, if given, is set to them.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.zeros_like(dygraph.to_variable([1.0, 2.0])).tolist()
    [0.0, 0.0]
    """
    return into(out, run("fill_any_like", {"X": x}, {"value": 0.0})["Out"], "zeros_like")


@layer
def ones_like(x, out=None):
    """Ones of the shape and type of ``x``; `out`, if given, is set to them.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.ones_like(dygraph.to_variable([3, 2])).tolist()
    [1, 1]
    """
    return into(out, run("fill_any_like", {"X": x}, {"value": 1.0})["Out"], "ones_like")


@layer
def full(shape, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """A variable filled with `fill_value`, by default float32.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.layers.full([2], 3, name="three").name
    'three.tmp_0'
    """
    made = into(out, filled(shape, dtype or "float32", fill_value, "full"), "full")
    made.stop_gradient = stop_gradient
    return made


@layer
def full_like(input, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """A variable filled with `fill_value` in the shape of `input`, by default in its type.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.full_like(dygraph.ones([2]), 3.0).tolist()
    [3.0, 3.0]
    """
    value = fill_value if _core.holds_symbol(fill_value) else float(fill_value)
    attrs = {"value": value, "dtype": dtype}
    made = into(out, run("fill_any_like", {"X": input}, attrs)["Out"], "full_like")
    made.stop_gradient = stop_gradient
    return made


@layer
def eye(num_rows, num_columns=None, batch_shape=None, dtype="float32"):
    """Ones on the diagonal, ``batch_shape + [num_rows, num_columns]``.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.layers.eye(2, 3, batch_shape=[4]).shape
    (4, 2, 3)
    """
    columns = num_rows if num_columns is None else num_columns
    attrs = {"num_rows": num_rows, "num_columns": columns, "dtype": dtype}
    made = run("eye", {}, attrs)["Out"]
    if not batch_shape:
        return made
    sizes = check.shape(batch_shape, "eye: batch_shape")
    made = ops.reshape2(made, shape=[1] * len(sizes) + [num_rows, columns])
    return ops.tile(made, repeat_times=[*sizes, 1, 1])


def _scalar(value, dtype):
    """A Variable of one element that holds `value`, of type `dtype`."""
    if isinstance(value, Unknown):
        value = value.tensor()
    if isinstance(value, _core.Variable):
        return value if str(value.dtype) == str(dtype) else ops.cast(value, dtype)
    return filled([1], dtype, value, "range")


@layer
def range(start, end, step, dtype):
    """From `start` to before `end` in steps of `step`; each a number or a Variable of one element.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.layers.range(0, 6, 2, "int32").shape
    (-1,)
    """
    ends = {"Start": start, "End": end, "Step": step}
    return run("range", {slot: _scalar(value, dtype) for slot, value in ends.items()})["Out"]


@layer
def arange(start, end, step=1, dtype=None, name=None):
    """`range`, by default float32.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     str(static.layers.arange(0, 6).dtype)
    'float32'
    """
    ends = {"Start": start, "End": end, "Step": step}
    dtype = dtype or "float32"
    return run("range", {slot: _scalar(value, dtype) for slot, value in ends.items()})["Out"]


@layer
def linspace(start, stop, num, dtype):
    """`num` evenly spaced numbers from `start` to `stop`.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.layers.linspace(0, 1, 5, "float32").dtype == "float32"
    True
    """
    inputs = {
        "Start": _scalar(start, dtype), "Stop": _scalar(stop, dtype), "Num": _scalar(num, "int32"),
    }  # fmt: skip
    return run("linspace", inputs)["Out"]


@layer
def cast(x, dtype):
    """``x`` converted to another type.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.cast(dygraph.to_variable([1.5, -2.5]), "int32").tolist()
    [1, -2]
    """
    return ops.cast(x, dtype)


@layer
def assign(input, output=None):
    """A copy of a Variable, or a variable with the elements of an array; `output` is set to it.

    >>> import numpy as np
    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.layers.assign(np.array([[1.0, 2.0]], "float32")).shape
    (1, 2)
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


def create_tensor(dtype, name=None, persistable=False):
    """A variable of the current block for results; an eager one inside `dygraph.guard`.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.layers.create_tensor("float32", name="total").name
    'total'
    """
    name = name or unique_name.generate("create_tensor")
    if computes():
        made = _core.Variable()  # empty: a write gives it shape and type
        made.name, made.persistable = name, bool(persistable)
        return made
    block = default_main_program().current_block()
    return block.create_var(name=name, dtype=dtype, persistable=persistable)


@layer
def rank(input):
    """The number of axes, one int32.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.rank(dygraph.ones([2, 3])).item()
    2
    """
    return filled([], "int32", len(check.variable(input, "rank: input").shape), "rank")


@layer
def tril(input, diagonal=0, name=None):
    """The elements on and below a diagonal of matrices, and 0 above.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.tril(dygraph.ones([2, 2])).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return run("tril_triu", {"X": input}, {"diagonal": diagonal, "lower": True})["Out"]


@layer
def triu(input, diagonal=0, name=None):
    """The elements on and above a diagonal of matrices, and 0 below.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.triu(dygraph.ones([2, 2])).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return run("tril_triu", {"X": input}, {"diagonal": diagonal, "lower": False})["Out"]


@layer
def where(condition):
    """The indices where `condition` is true: ``[count, axes]``, int64.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.where(dygraph.to_variable([False, True, True])).tolist()
    [[1], [2]]
    """
    if str(check.variable(condition, "where: condition").dtype) != "bool":
        raise InvalidArgumentError(f"where: condition must be bool, got {condition.dtype}")
    return run("where_index", {"Condition": condition})["Out"]


@layer
def topk(input, k, name=None):
    """The `k` greatest along the last axis, and their indices.

    >>> import dygraph
    >>> from dygraph import static
    >>> [v.tolist() for v in static.layers.topk(dygraph.to_variable([1.0, 5.0, 3.0]), 2)]
    [[5.0, 3.0], [1, 2]]
    """
    k = {"K": k} if isinstance(k, _core.Variable) else {"k": check.integer(k, "topk: k", 1)}
    inputs = {"X": input, **({} if "k" in k else k)}
    found = run("top_k", inputs, k if "k" in k else None)
    return found["Out"], found["Indices"]


__all__ = [
    "arange", "argsort", "assign", "cast", "create_tensor", "diag", "eye", "fill_constant",
    "fill_constant_batch_size_like", "full", "full_like", "get_tensor_from_selected_rows",
    "linspace", "load", "merge_selected_rows", "one_hot", "ones", "ones_like", "range", "rank",
    "shape", "size", "topk", "tril", "triu", "where", "zeros", "zeros_like",
]  # fmt: skip
