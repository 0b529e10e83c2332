"""Operators that move elements and change nothing in them."""

from dygraph.codegen.lod import own_lod
from dygraph.codegen.registry import SUFFIX, TYPES, operator


def open_ints(e, call, attr, *slots, given=None):
    """(name of an array of ints, its length as text): an attribute, or variables in its place."""
    for slot in slots:
        if call.has(slot):
            name = e.fresh("i")
            e.line(f"int64_t {name}[RANK];")
            e.line(f"int n{name} = 0;")
            for x in call.inputs(slot):
                e.need("ints")
                e.line(f"TRY(ints({e.ref(x)}, {name}, &n{name}));")
            return name, f"n{name}"
    values = call.attr(attr) if given is None else given
    return e.ints(values), str(len(values))


def typed(call, x):
    if x.dtype not in TYPES:
        call.refuse(f"of {x.dtype}")
    return SUFFIX[x.dtype]


def moved(e, call, function_name, x, out, *args):
    e.call(f"{function_name}_{typed(call, x)}", e.ref(x), e.ref(out), *args)
    e.set_type(out, x.dtype)


def renamed(e, call, function_name, *args):
    x, out = call.input("X"), call.output("Out")
    e.call(function_name, e.ref(x), e.ref(out), *args)
    e.set_type(out, x.dtype)


@operator("reshape", "reshape2", exact=True)
def reshape(e, call):
    shape, n = open_ints(e, call, "shape", "ShapeTensor", "Shape")
    renamed(e, call, "reshape", n, shape)


@operator("squeeze", "squeeze2", exact=True)
def squeeze(e, call):
    axes = call.attr("axes")
    renamed(e, call, "squeeze", len(axes), e.ints(axes))


@operator("unsqueeze", "unsqueeze2", exact=True)
def unsqueeze(e, call):
    axes, n = open_ints(e, call, "axes", "AxesTensorList", "AxesTensor")
    renamed(e, call, "unsqueeze", n, axes)


@operator("flatten", "flatten2", exact=True)
def flatten(e, call):
    renamed(e, call, "flatten", call.attr("axis"))


@operator("flatten_contiguous_range", exact=True)
def flatten_range(e, call):
    renamed(e, call, "flatten_range", call.attr("start_axis"), call.attr("stop_axis"))


@operator("transpose", "transpose2", exact=True)
def transpose(e, call):
    order = call.attr("axis")
    moved(e, call, "transpose", call.input("X"), call.output("Out"), len(order), e.ints(order))


@operator("slice", "strided_slice", exact=True)
def slice_(e, call):
    axes, gone = call.attr("axes"), call.attr("decrease_axis") or []
    parts = []
    for attr, tensor in (("starts", "StartsTensor"), ("ends", "EndsTensor"),
                         ("strides", "StridesTensor")):  # fmt: skip
        if call.attr(attr) is None:
            parts.append("NULL")
            continue
        name, n = open_ints(e, call, attr, tensor + "List", tensor)
        if not n.isdigit():
            e.line(f"CHECK({n} == {len(axes)}, BAD_SHAPE);")
        elif int(n) != len(axes):
            call.refuse(f"{attr} must be as many as axes")
        parts.append(name)
    moved(e, call, "slice", call.input("Input"), call.output("Out"), len(axes), e.ints(axes),
          *parts, len(gone), e.ints(gone))  # fmt: skip


def _split(e, call, slot, axis, sections, gone):
    x, outs = call.input("X"), call.outputs(slot)
    s = typed(call, x)
    e.call(f"split_{s}", e.ref(x), e.refs(outs), len(outs), axis, sections, gone)
    for out in outs:
        e.set_type(out, x.dtype)


@operator("split", exact=True)
def split(e, call):
    if call.has("AxisTensor") or call.has("SectionsTensorList"):
        call.refuse("axis or sections given by a variable")
    sections = call.attr("sections")
    if sections and len(sections) != len(call.names("Out")):
        call.refuse("sections must be as many as outputs")
    _split(e, call, "Out", call.attr("axis"), e.ints(sections), 0)


@operator("unstack", "unbind", exact=True)
def unstack(e, call):
    _split(e, call, "Y" if call.has("Y") else "Out", call.attr("axis"), "NULL", 1)


@operator("concat", exact=True)
def concat(e, call):
    if call.has("AxisTensor"):
        call.refuse("axis given by a variable")
    joined(e, call, call.inputs("X"), call.output("Out"), call.attr("axis"), 0)


def joined(e, call, parts, out, axis, fresh):
    if len({p.dtype for p in parts}) != 1:
        call.refuse("of different types")
    s = typed(call, parts[0])
    e.call(f"concat_{s}", e.refs(parts), len(parts), axis, fresh, e.ref(out))
    e.set_type(out, parts[0].dtype)


@operator("stack", exact=True)
def stack(e, call):
    joined(e, call, call.inputs("X"), call.output("Y"), call.attr("axis"), 1)


@operator("expand_v2", exact=True)
def expand_v2(e, call):
    shape, n = open_ints(e, call, "shape", "expand_shapes_tensor", "Shape")
    moved(e, call, "expand", call.input("X"), call.output("Out"), n, shape)


@operator("expand", "tile", exact=True)
def tile(e, call):
    attr = "expand_times" if call.type == "expand" else "repeat_times"
    slots = {"expand": ("expand_times_tensor", "ExpandTimes")}.get(
        call.type, ("repeat_times_tensor", "RepeatTimes")
    )
    times, n = open_ints(e, call, attr, *slots)
    padded = int(call.type == "tile")
    moved(e, call, "tile", call.input("X"), call.output("Out"), n, times, padded)


@operator("expand_as", exact=True)
def expand_as(e, call):
    x, y = call.input("X"), call.input("target_tensor")
    name = f"t{e.where}"
    e.line(f"int64_t {name}[RANK];")
    e.line(f"CHECK((v + {y.number})->set && (v + {y.number})->rank == (v + {x.number})->rank, "
           "BAD_SHAPE);")  # fmt: skip
    e.line(f"for (int i = 0; i < (v + {y.number})->rank; ++i) {{")
    e.line(f"  int64_t n = v[{x.number}].dims[i];")
    e.line(f"  CHECK(n > 0 && v[{y.number}].dims[i] % n == 0, BAD_SHAPE);")
    e.line(f"  {name}[i] = v[{y.number}].dims[i] / n;")
    e.line("}")
    moved(e, call, "tile", x, call.output("Out"), f"v[{y.number}].rank", name, 0)


@operator("flip", "reverse", exact=True)
def flip(e, call):
    axes = call.attr("dims") if call.type == "flip" else call.attr("axis")
    moved(e, call, "flip", call.input("X"), call.output("Out"), len(axes), e.ints(axes))


@operator("roll", exact=True)
def roll(e, call):
    shifts, n = open_ints(e, call, "shifts", "ShiftsTensor")
    axes = call.attr("dims")
    moved(e, call, "roll", call.input("X"), call.output("Out"), n, shifts, len(axes), e.ints(axes))


@operator("pad", exact=True)
def pad(e, call):
    pairs = call.attr("paddings")
    moved(e, call, "pad", call.input("X"), call.output("Out"), 0, len(pairs) // 2, e.ints(pairs), 0,
          _value(call.attr("pad_value")))  # fmt: skip


def _value(x):
    from dygraph.codegen.emitter import double

    return double(x)


_MODES = {"constant": 0, "reflect": 1, "edge": 2, "replicate": 2, "circular": 3}


@operator("pad2d", exact=True)
def pad2d(e, call):
    if call.has("Paddings"):
        call.refuse("paddings given by a variable")
    first = 2 if call.attr("data_format") == "NCHW" else 1
    moved(e, call, "pad", call.input("X"), call.output("Out"), first, 2,
          e.ints(call.attr("paddings")), _MODES[call.attr("mode")],
          _value(call.attr("pad_value")))  # fmt: skip


@operator("pad3d", exact=True)
def pad3d(e, call):
    if call.has("Paddings"):
        call.refuse("paddings given by a variable")
    first = 2 if call.attr("data_format") == "NCDHW" else 1
    p = call.attr("paddings")
    if len(p) != 6:
        call.refuse("paddings must be 6 numbers")
    pairs = [*p[4:6], *p[2:4], *p[0:2]]
    moved(e, call, "pad", call.input("X"), call.output("Out"), first, 3, e.ints(pairs),
          _MODES[call.attr("mode")], _value(call.attr("value")))  # fmt: skip


@operator("tril_triu", exact=True)
def tril_triu(e, call):
    moved(e, call, "tril_triu", call.input("X"), call.output("Out"), call.attr("diagonal"),
          int(call.attr("lower")))  # fmt: skip


own_lod()
