"""Sequences: rows that a level of detail divides."""

from dygraph.codegen.emitter import double
from dygraph.codegen.lod import own_lod
from dygraph.codegen.operators.create import dtype_of
from dygraph.codegen.operators.linear import floats
from dygraph.codegen.operators.shape import open_ints, typed
from dygraph.codegen.registry import FLOATS, INTS, NUMBERS, SUFFIX, TYPES, operator

_HOW = {"AVERAGE": 0, "SUM": 1, "SQRT": 2, "MAX": 3, "FIRST": 4, "LAST": 5}


@operator("sequence_pool", exact=True)
def sequence_pool(e, call):
    x, out, index = call.input("X"), call.output("Out"), call.optional_output("MaxIndex")
    dtype = floats(call, x)
    how = _HOW[call.attr("pooltype")]
    index = index if how == 3 else None
    e.call(f"sequence_pool_{SUFFIX[dtype]}", e.ref(x), e.ref(out), e.ref(index), how,
           f"({TYPES[dtype][0]}){double(call.attr('pad_value'))}")  # fmt: skip
    e.set_type(out, dtype)
    if index is not None:
        e.set_type(index, "int32")


@operator("sequence_softmax", exact=True)
def sequence_softmax(e, call):
    x, out = call.input("X"), call.output("Out")
    dtype = floats(call, x)
    e.call(f"sequence_softmax_{SUFFIX[dtype]}", e.ref(x), e.ref(out))
    e.set_type(out, dtype)


def _moved(e, call, out, x, *args):
    typed(call, x)
    e.call(call.type, e.ref(x), *args)
    e.set_type(out, x.dtype)


@operator("sequence_expand", "sequence_expand_as", exact=True)
def sequence_expand(e, call):
    x, y, out = call.input("X"), call.input("Y"), call.output("Out")
    typed(call, x)
    same = int(call.type == "sequence_expand_as")
    e.call("sequence_expand", e.ref(x), e.ref(y), e.ref(out), call.attr("ref_level", -1), same)
    e.set_type(out, x.dtype)


@operator("sequence_reverse", exact=True)
def sequence_reverse(e, call):
    out = call.output("Y")
    _moved(e, call, out, call.input("X"), e.ref(out))


@operator("sequence_concat", exact=True)
def sequence_concat(e, call):
    parts, out = call.inputs("X"), call.output("Out")
    typed(call, parts[0])
    e.call("sequence_concat", e.refs(parts), len(parts), e.ref(out))
    e.set_type(out, parts[0].dtype)


@operator("sequence_pad", exact=True)
def sequence_pad(e, call):
    out, lengths = call.output("Out"), call.optional_output("Length")
    _moved(e, call, out, call.input("X"), e.ref(call.input("PadValue")), e.ref(out),
           e.ref(lengths), call.attr("padded_length"))  # fmt: skip
    if lengths is not None:
        e.set_type(lengths, "int64")


@operator("sequence_unpad", exact=True)
def sequence_unpad(e, call):
    out = call.output("Out")
    _moved(e, call, out, call.input("X"), e.ref(call.input("Length")), e.ref(out))


@operator("sequence_slice", exact=True)
def sequence_slice(e, call):
    out = call.output("Out")
    _moved(e, call, out, call.input("X"), e.ref(call.input("Offset")),
           e.ref(call.input("Length")), e.ref(out))  # fmt: skip


@operator("sequence_reshape", exact=True)
def sequence_reshape(e, call):
    out = call.output("Out")
    _moved(e, call, out, call.input("X"), e.ref(out), call.attr("new_dim"))


@operator("lod_reset", exact=True)
def lod_reset(e, call):
    x, y, out = call.input("X"), call.optional("Y"), call.output("Out")
    offsets = call.attr("target_lod")
    if y is None and not offsets:
        call.refuse("without Y and target_lod")
    _moved(e, call, out, x, e.ref(y), e.ref(out), len(offsets), e.ints(offsets),
           int(call.attr("append")))  # fmt: skip


@operator("sequence_conv", exact=True)
def sequence_conv(e, call):
    x, f, out = call.input("X"), call.input("Filter"), call.output("Out")
    dtype = floats(call, x, f)
    if call.attr("contextStride") != 1:
        call.refuse("with contextStride other than 1")
    trainable = int(call.attr("paddingTrainable"))
    e.call(f"sequence_conv_{SUFFIX[dtype]}", e.ref(x), e.ref(f),
           e.ref(call.optional("PaddingData") if trainable else None), e.ref(out),
           call.attr("contextStart"), call.attr("contextLength"), trainable)  # fmt: skip
    e.set_type(out, dtype)


@operator("sequence_enumerate", exact=True)
def sequence_enumerate(e, call):
    x, out = call.input("X"), call.output("Out")
    if x.dtype not in INTS:
        call.refuse(f"of {x.dtype}")
    e.call(f"sequence_enumerate_{SUFFIX[x.dtype]}", e.ref(x), e.ref(out), call.attr("win_size"),
           call.attr("pad_value"))  # fmt: skip
    e.set_type(out, x.dtype)


@operator("sequence_erase", exact=True)
def sequence_erase(e, call):
    x, out, tokens = call.input("X"), call.output("Out"), call.attr("tokens")
    if x.dtype not in INTS:
        call.refuse(f"of {x.dtype}")
    e.call(f"sequence_erase_{SUFFIX[x.dtype]}", e.ref(x), e.ref(out), len(tokens), e.ints(tokens))
    e.set_type(out, x.dtype)


@operator("sequence_mask", exact=True)
def sequence_mask(e, call):
    x, out = call.input("X"), call.output("Y")
    if x.dtype not in NUMBERS:
        call.refuse(f"of {x.dtype}")
    dtype = dtype_of(call, call.attr("out_dtype"))
    most, n = open_ints(e, call, "maxlen", "MaxLenTensor", given=[call.attr("maxlen")])
    if not n.isdigit():
        e.line(f"CHECK({n} == 1 && {most}[0] > 0, BAD_SHAPE);")
    e.call(f"sequence_mask_{SUFFIX[x.dtype]}_{SUFFIX[dtype]}", e.ref(x), e.ref(out), f"{most}[0]")
    e.set_type(out, dtype)


@operator("sequence_scatter", exact=True)
def sequence_scatter(e, call):
    x, ids, out = call.input("X"), call.input("Ids"), call.output("Out")
    if x.dtype not in FLOATS or ids.dtype not in INTS:
        call.refuse(f"of {x.dtype} by {ids.dtype}")
    e.call(f"sequence_scatter_{SUFFIX[x.dtype]}_{SUFFIX[ids.dtype]}", e.ref(x), e.ref(ids),
           e.ref(call.input("Updates")), e.ref(out))  # fmt: skip
    e.set_type(out, x.dtype)


own_lod(
    "sequence_pool", "sequence_softmax", "sequence_expand", "sequence_expand_as",
    "sequence_reverse", "sequence_concat", "sequence_pad", "sequence_unpad", "sequence_slice",
    "sequence_reshape", "lod_reset", "sequence_conv", "sequence_enumerate", "sequence_erase",
    "sequence_mask",
)  # fmt: skip
