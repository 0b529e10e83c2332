"""Operators on sequences of different lengths, which read a LoD.

Examples
--------
>>> import dygraph
>>> from dygraph import static
>>> x = dygraph.to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])
>>> static.layers.sequence_pool(x, "sum").tolist()
[[3.0], [3.0]]
"""

from dygraph import _core, nets
from dygraph.core import check
from dygraph.static.layers.learnt import biased, known, parameter
from dygraph.static.layers.making import activated, layer, operator, run
from dygraph.static.program import Variable


@operator(input="X")
def sequence_concat(input, name=None):
    """Sequences of several inputs, concatenated."""


@operator(input="X")
def sequence_enumerate(input, win_size, pad_value=0, name=None):
    """Each number with the next ones, `win_size` in all."""


@operator()
def sequence_expand(x, y, ref_level=-1, name=None):
    """Each sequence of x, repeated by the lengths of a level of y."""


@operator()
def sequence_expand_as(x, y, name=None):
    """Each row of x, repeated by y's lengths."""


@operator(input="X")
def sequence_reshape(input, new_dim):
    """Rows of another width, with the lengths adapted."""


@operator()
def sequence_reverse(x, name=None):
    """Each sequence from its last row to its first."""


@operator(input="X", index="Ids")
def sequence_scatter(input, index, updates, name=None):
    """`input` with a sequence of `updates` added to each row, at the positions `index`."""


@operator(input="X")
def sequence_slice(input, offset, length, name=None):
    """A part of each sequence."""


@operator(input="X")
def sequence_softmax(input, use_cudnn=False, name=None):
    """softmax within each sequence."""


@operator()
def sequence_unpad(x, length, name=None):
    """Sequences of rows of a padded batch."""


@operator(input="X")
def add_position_encoding(input, alpha, beta, name=None):
    """alpha input + beta sinusoids of the position."""


def with_levels(out, count):
    """The result; in a program, declared with this number of levels of detail."""
    if isinstance(out, Variable):
        out.lod_level = count
    return out


@layer
def sequence_pool(input, pool_type, is_test=False, pad_value=0.0):
    """One row for each sequence: its average, sum, sqrt, max, first or last.

    >>> import dygraph
    >>> from dygraph import static
    >>> x = dygraph.to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])
    >>> static.layers.sequence_pool(x, "average").tolist()
    [[1.5], [3.0]]
    """
    allowed = ("average", "sum", "sqrt", "max", "first", "last")
    check.choice(str(pool_type).lower(), allowed, "sequence_pool: pool_type")
    attrs = {"pooltype": pool_type.upper(), "is_test": bool(is_test), "pad_value": pad_value}
    return run("sequence_pool", {"X": input}, attrs)["Out"]


@layer
def sequence_first_step(input):
    """The first row of each sequence.

    >>> import dygraph
    >>> from dygraph import static
    >>> x = dygraph.to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])
    >>> static.layers.sequence_first_step(x).tolist()
    [[1.0], [3.0]]
    """
    return run("sequence_pool", {"X": input}, {"pooltype": "FIRST"})["Out"]


@layer
def sequence_last_step(input):
    """The last row of each sequence.

    >>> import dygraph
    >>> from dygraph import static
    >>> x = dygraph.to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])
    >>> static.layers.sequence_last_step(x).tolist()
    [[2.0], [3.0]]
    """
    return run("sequence_pool", {"X": input}, {"pooltype": "LAST"})["Out"]


@layer
def sequence_mask(x, maxlen=None, dtype="int64", name=None):
    """1 at positions below the length, else 0; None: up to the greatest length.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.sequence_mask(dygraph.to_variable([1, 2]), maxlen=3).tolist()
    [[1, 0, 0], [1, 1, 0]]
    """
    inputs, attrs = {"X": x}, {"out_dtype": dtype, "maxlen": -1}
    if isinstance(maxlen, _core.Variable):
        inputs["MaxLenTensor"] = maxlen
    elif maxlen is not None:
        attrs["maxlen"] = check.integer(maxlen, "sequence_mask: maxlen")
    return run("sequence_mask", inputs, attrs)["Y"]


@layer
def sequence_pad(x, pad_value, maxlen=None, name=None):
    """(A batch with sequences as rows, padded with `pad_value`; the length of each.)

    >>> import dygraph
    >>> from dygraph import static
    >>> x = dygraph.to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])
    >>> batch, length = static.layers.sequence_pad(x, dygraph.to_variable([0.0]))
    >>> batch.tolist(), length.tolist()
    ([[[1.0], [2.0]], [[3.0], [0.0]]], [2, 1])
    """
    attrs = {"padded_length": -1 if maxlen is None else maxlen}
    found = run("sequence_pad", {"X": x, "PadValue": pad_value}, attrs)
    return found["Out"], found["Length"]


@layer
def lod_reset(x, y=None, target_lod=None):
    """``x`` with another LoD: that of `y`, the elements of `y`, or the list `target_lod`.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.lod_reset(dygraph.ones([3, 1]), target_lod=[0, 1, 3]).lod()
    [[0, 1, 3]]
    """
    attrs = {"target_lod": None if y is not None or target_lod is None else list(target_lod)}
    return run("lod_reset", {"X": x, "Y": y}, attrs)["Out"]


@layer
def lod_append(x, level):
    """``x`` with one more level of detail below its last.

    >>> import dygraph
    >>> from dygraph import static
    >>> x = dygraph.to_variable([[1.0], [2.0]], lod=[[0, 2]])
    >>> static.layers.lod_append(x, [0, 1, 2]).lod()
    [[0, 2], [0, 1, 2]]
    """
    return nets.lod_append(x, level)


@layer
def im2sequence(
    input, filter_size=1, stride=1, padding=0, input_image_size=None, out_stride=1, name=None
):
    """The windows of images as rows, one sequence for each image.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.im2sequence(dygraph.ones([1, 1, 2, 2]), filter_size=1).lod()
    [[0, 4]]
    """
    sides = padding if isinstance(padding, (list, tuple)) else [padding] * 4
    sides = [*sides, *sides] if len(sides) == 2 else list(sides)
    attrs = {
        "kernels": check.integers(filter_size, 2, "im2sequence: filter_size", 1),
        "strides": check.integers(stride, 2, "im2sequence: stride", 1), "paddings": sides,
        "out_stride": check.integers(out_stride, 2, "im2sequence: out_stride", 1),
    }  # fmt: skip
    return run("im2sequence", {"X": input, "Y": input_image_size}, attrs)["Out"]


@layer(parameters=True)
def sequence_conv(
    input, num_filters, filter_size=3, filter_stride=1, padding=True, padding_start=None,
    bias_attr=None, param_attr=None, act=None, name=None,
):  # fmt: skip
    """Each row with its neighbours in the sequence, `filter_size` in all, times a matrix.

    Parameters
    ----------
    input : Variable
        ``[rows, D]`` with LoD.
    num_filters : int
        Columns of the result.
    filter_size : int
    filter_stride : int
        1.
    padding : bool
        Fluid's; rows outside a sequence always count as 0.
    padding_start : int, optional
        The offset of the first neighbour; None: the row is in the middle.
    bias_attr, param_attr : ParamAttr, str or Initializer, optional
    act : str, optional
    name : str, optional

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.layers.data("x", [16], lod_level=1)
    ...     static.layers.sequence_conv(x, 4).shape
    (-1, 4)
    """
    check.variable(input, "sequence_conv: input")
    size = check.integer(filter_size, "sequence_conv: filter_size", 1)
    count = check.integer(num_filters, "sequence_conv: num_filters", 1)
    width = known(input.shape[1], "sequence_conv", "the width", input)
    weight = parameter([size * width, count], input.dtype, param_attr)
    attrs = {
        "contextLength": size, "contextStride": filter_stride,
        "contextStart": -(size // 2) if padding_start is None else padding_start,
    }  # fmt: skip
    out = run("sequence_conv", {"X": input, "Filter": weight}, attrs)["Out"]
    return activated(biased(out, count, bias_attr, 1), act, "sequence_conv")


@layer
def chunk_eval(
    input, label, chunk_scheme, num_chunk_types, excluded_chunk_types=None, seq_length=None
):
    """Precision, recall and F1 of chunks, and the numbers of found, labelled and correct ones.

    >>> import dygraph
    >>> from dygraph import static
    >>> tags = dygraph.to_variable([[0], [1]], lod=[[0, 2]])
    >>> [v.item() for v in static.layers.chunk_eval(tags, tags, "IOB", 1)]
    [1.0, 1.0, 1.0, 1, 1, 1]
    """
    inputs = {"Inference": input, "Label": label, "SeqLength": seq_length}
    attrs = {
        "num_chunk_types": num_chunk_types, "chunk_scheme": chunk_scheme,
        "excluded_chunk_types": list(excluded_chunk_types or []),
    }  # fmt: skip
    found = run("chunk_eval", inputs, attrs)
    counts = ("NumInferChunks", "NumLabelChunks", "NumCorrectChunks")
    return tuple(found[slot] for slot in ("Precision", "Recall", "F1-Score", *counts))


@layer
def edit_distance(
    input, label, normalized=True, ignored_tokens=None, input_length=None, label_length=None
):
    """(Edit distances of the sequences, ``[sequences, 1]``; the number of sequences.)

    >>> import dygraph
    >>> from dygraph import static
    >>> x = dygraph.to_variable([[1], [2]], lod=[[0, 2]])
    >>> distance, count = static.layers.edit_distance(x, x)
    >>> distance.tolist(), count.item()
    ([[0.0]], 1)
    """
    if ignored_tokens:
        tokens = {"tokens": list(ignored_tokens)}
        input = run("sequence_erase", {"X": input}, tokens)["Out"]
        label = run("sequence_erase", {"X": label}, tokens)["Out"]
    inputs = {
        "Hyps": input, "Refs": label, "HypsLength": input_length, "RefsLength": label_length,
    }  # fmt: skip
    found = run("edit_distance", inputs, {"normalized": bool(normalized)})
    return found["Out"], found["SequenceNum"]


__all__ = [
    "add_position_encoding", "chunk_eval", "edit_distance", "im2sequence", "lod_append",
    "lod_reset", "sequence_concat", "sequence_conv", "sequence_enumerate", "sequence_expand",
    "sequence_expand_as", "sequence_first_step", "sequence_last_step", "sequence_mask",
    "sequence_pad", "sequence_pool", "sequence_reshape", "sequence_reverse", "sequence_scatter",
    "sequence_slice", "sequence_softmax", "sequence_unpad",
]  # fmt: skip
