"""A program as C text: slots for its variables, a call for each operator."""

from dataclasses import dataclass, field

import numpy as np

from dygraph import _core
from dygraph.codegen import lod, registry, runtime
from dygraph.errors import UnimplementedError

RANK = 8
_PREFIX = "net"


@dataclass
class Slot:
    """A variable: its number, its element type (None before it is written), its declaration."""

    number: int
    dtype: str | None
    var: object
    block: int
    kind: str = "tensor"


class Call:
    """An operator as its emitter sees it: slots, attributes with their defaults."""

    def __init__(self, emitter, block, op, number):
        self.emitter, self.block, self.op, self.number = emitter, block, op, number
        self.type = op.type
        self.info = emitter.info(op.type)
        self._attrs = {a["name"]: a["default"] for a in self.info["attrs"]}
        self._attrs.update(op.attrs)

    def attr(self, name, default=None):
        return self._attrs.get(name, default)

    def names(self, slot):
        op = self.op
        for has, get in ((op.input_names, op.input), (op.output_names, op.output)):
            if slot in has:
                return [n for n in get(slot) if n]
        return []

    def has(self, slot):
        return bool(self.names(slot))

    def inputs(self, slot):
        return [self.emitter.read(self.block, n, self) for n in self.names(slot)]

    def input(self, slot):
        found = self.inputs(slot)
        if len(found) != 1:
            self.refuse(f"{slot} must be one variable, got {len(found)}")
        return found[0]

    def optional(self, slot):
        return self.input(slot) if self.has(slot) else None

    def outputs(self, slot):
        return [self.emitter.slot(self.block, n, self) for n in self.names(slot)]

    def output(self, slot):
        found = self.outputs(slot)
        if len(found) != 1:
            self.refuse(f"{slot} must be one variable, got {len(found)}")
        return found[0]

    def optional_output(self, slot):
        return self.output(slot) if self.has(slot) else None

    def refuse(self, reason):
        raise Refused(self.type, reason)


class Refused(Exception):
    """An operator that has no C text, and why."""

    def __init__(self, op, reason):
        super().__init__(f"{op}: {reason}")
        self.op, self.reason = op, reason


@dataclass
class Emitter:
    """Collects the text. `source` is a Model."""

    source: object
    prefix: str = _PREFIX
    exact: bool = False
    cuda: bool = False
    needed: dict = field(default_factory=dict)  # names of functions, in order
    arrays: dict = field(default_factory=dict)  # (type, numbers) -> name
    slots: dict = field(default_factory=dict)  # (block, name) -> Slot
    lines: list = field(default_factory=list)
    problems: dict = field(default_factory=dict)
    infos: dict = field(default_factory=dict)
    late: dict = field(default_factory=dict)  # arrays that the runner alone needs
    locals: int = 0
    where: int = 0  # the number of the operator

    # What emitters of operators use -----------------------------------------------------------

    def line(self, text):
        self.lines.append("  " + text)

    def use(self, name):
        """The name of a function of the library, which comes along."""
        self.need(name)
        return name

    def call(self, name, *args):
        """A call that returns a status, with the run as its first argument."""
        self.need(name)
        self.line(f"TRY({name}({', '.join(['c', *map(str, args)])}));")

    def ref(self, slot):
        return "NULL" if slot is None else f"v + {slot.number}"

    def ints(self, values):
        """The name of an array of int64; NULL for an empty one."""
        values = [int(v) for v in values]
        if not values:
            return "NULL"
        for v in values:
            if not -(2**62) < v < 2**62:
                raise Refused("attributes", f"a number must be below 2^62, got {v}")
        return self.array("int64_t", tuple(str(v) for v in values))

    def par(self, *numbers):
        """Numbers that a kernel takes, as a struct."""
        given = [double(n) for n in numbers] + ["0"] * (6 - len(numbers))
        return self.array("Par", ("{{" + ", ".join(given) + "}}",)) + "[0]"

    def array(self, ctype, texts):
        key = (ctype, texts)
        if key not in self.arrays:
            self.arrays[key] = f"k{len(self.arrays)}"
        return self.arrays[key]

    def refs(self, slots):
        """The name of an array of numbers of slots, and its length."""
        return self.array("int32_t", tuple(str(s.number) for s in slots)) if slots else "NULL"

    def set_type(self, slot, dtype):
        if dtype not in registry.TYPES:
            raise Refused("types", f"{dtype} has no C type here")
        slot.dtype = dtype

    def fresh(self, stem):
        """A name for a local variable."""
        self.locals += 1
        return f"{stem}{self.locals}"

    # Variables --------------------------------------------------------------------------------

    def info(self, op_type):
        if op_type not in self.infos:
            self.infos[op_type] = _core.describe_op(op_type)
        return self.infos[op_type]

    def find(self, block, name):
        while block >= 0:
            if (block, name) in self.slots:
                return self.slots[block, name]
            block = self.source.parents[block]
        return None

    def slot(self, block, name, call=None):
        found = self.find(block, name)
        if found is None:
            call.refuse("a variable is not declared")
        return found

    def read(self, block, name, call):
        found = self.slot(block, name, call)
        if found.kind == "tensor" and found.dtype is None:
            call.refuse("reads a variable that no operator has written")
        return found

    # The text ---------------------------------------------------------------------------------

    def need(self, name):
        name = registry.home_of(name)
        if name in self.needed or name in self._open:
            return
        found = registry.text_of(name, self.cuda)
        if found is None:
            return
        text, words = found
        self._open.add(name)
        for word in words:
            self.need(word)
        self._open.discard(name)
        self.needed[name] = text

    def __post_init__(self):
        self._open = set()
        number = 0
        for index, block in enumerate(self.source.blocks):
            for name, var in block.items():
                kind = "array" if str(var.type) == "LOD_TENSOR_ARRAY" else "tensor"
                self.slots[index, name] = Slot(number, None, var, index, kind)
                number += 1
        self.count = number

    def declare(self):
        for name, array in self.source.weights.items():
            self.declared(name, str(array.dtype), array.ndim)
        for name in self.source.feeds:
            var = self.slots[0, name].var
            self.declared(name, str(var.dtype), len(var.shape or ()))

    def declared(self, name, dtype, rank):
        """The type of an input or a weight."""
        slot = self.slots[0, name]
        slot.dtype = dtype if dtype in registry.TYPES else "float32"  # go on, to find all
        if dtype not in registry.TYPES:
            self.problems["types"] = f"{plain(name)} is {dtype}, which has no C type here"
        if rank > RANK:
            self.problems["feed"] = f"{plain(name)} has {rank} axes, of at most {RANK}"

    def block(self, index, first=0):
        """The calls of a block's operators, with drops after last uses."""
        ops = self.source.ops[index]
        last = self.source.last_uses[index]
        for number, op in enumerate(ops):
            if op.type in ("feed", "fetch"):
                continue
            self.operator(index, op, number)
            for name in last.get(number, ()):
                slot = self.slots[index, name]
                self.line(f"drop(c, v + {slot.number});")

    def operator(self, block, op, number):
        emit = registry.OPERATORS.get(op.type)
        try:
            if emit is None:
                raise Refused(op.type, "has no C text")
            call = Call(self, block, op, number)
            if self.exact:
                reason = exactness(self, call)
                if reason:
                    raise Refused(op.type, f"not the same bits as the Executor: {reason}")
            self.where += 1
            self.line(f"c->where = {self.where}; /* {op.type} */")
            emit(self, call)
            lod.pass_lod(self, call)
        except Refused as e:
            self.problems.setdefault(e.op, e.reason)
            for name in op.output_arg_names:  # go on, to find all
                slot = self.find(block, name)
                if slot is not None and slot.dtype is None and name:
                    dtype = str(slot.var.dtype)
                    slot.dtype = dtype if dtype in registry.TYPES else "float32"

    def text(self):
        """The whole file."""
        self.declare()
        self.block(0)
        for name in self.source.fetches:
            slot = self.slots[0, name]
            if slot.dtype is None and not self.problems:
                self.problems["fetch"] = "an output is written by no operator"
        if self.problems:
            listed = "; ".join(f"{op} ({why})" for op, why in sorted(self.problems.items()))
            mode = " with exact=True" if self.exact else ""
            raise UnimplementedError(
                f"compile: a C file{mode} cannot have these operators of the program: {listed}. "
                "dygraph.inference runs all of them"
            )
        return _assemble(self)


def exactness(emitter, call):
    """Why a call's results are not the Executor's bit for bit, or None."""
    rule = registry.EXACT[call.type]
    if rule is True:
        return None
    if rule is False:
        return "its sums or functions are in another order"
    return rule(emitter, call)


def double(x):
    """A C constant of a number, exact."""
    x = float(x)
    if x != x:
        return "NAN"
    if x in (float("inf"), float("-inf")):
        return "INFINITY" if x > 0 else "-INFINITY"
    return repr(x)


def plain(text, most=60):
    """A name for a comment: letters, digits, dots and underlines."""
    kept = "".join(ch if ch.isascii() and (ch.isalnum() or ch in "._") else "_" for ch in text)
    return kept[:most]


def literal(text):
    """A C string of a name: everything but letters, digits and a few signs as octal escapes."""
    out = []
    for byte in text.encode("utf-8", "surrogateescape"):
        ch = chr(byte)
        safe = byte < 128 and (ch.isalnum() or ch in "._@-/ :")
        out.append(ch if safe else f"\\{byte:03o}")
    return '"' + "".join(out) + '"'


def _numbers(array):
    kind = str(array.dtype)
    flat = array.reshape(-1)
    if kind == "float32":
        texts = [_float_text(x) for x in flat]
    elif kind == "float64":
        texts = [double(x) for x in flat]
    elif kind == "int64":
        texts = ["INT64_MIN" if x == -(2**63) else f"INT64_C({x})" for x in flat.tolist()]
    elif kind == "int32":
        texts = ["INT32_MIN" if x == -(2**31) else str(x) for x in flat.tolist()]
    else:
        texts = [str(int(x)) for x in flat]
    return texts


def _float_text(x):
    if np.isfinite(x):
        text = np.format_float_scientific(x, unique=True, trim="0")
        return text + "f"
    return double(float(x))


def _wrapped(items, indent="    "):
    lines, row = [], indent
    for item in items:
        if len(row) + len(item) + 2 > 100:
            lines.append(row.rstrip())
            row = indent
        row += item + ", "
    lines.append(row.rstrip().rstrip(","))
    return "\n".join(lines)


def _assemble(e):
    p, source = e.prefix, e.source
    parts = []
    parts.append(
        f"/* A network as C, made by dygraph. {len(source.feeds)} inputs, {len(source.fetches)} "
        f"outputs.\n   {'The same bits as dygraph' if e.exact else 'Within 1e-5 of dygraph'}; "
        f"see docs/c_file.md of dygraph. The functions are at the end. */"
    )
    parts.append(runtime.HEAD.strip("\n") + ("\n#include <cuda_runtime.h>" if e.cuda else ""))
    parts.append(_arithmetic(e))
    parts.append(runtime.INTERFACE.strip("\n"))
    parts.append(f"#define SLOTS {max(e.count, 1)}")
    parts.append(runtime.CORE.strip("\n"))
    body = [t.rstrip("\n") for t in e.needed.values()]
    parts += body
    constants = []
    for (ctype, texts), name in e.arrays.items():
        constants.append(f"DATA const {ctype} {name}[] = {{\n{_wrapped(texts)}}};")
    parts.append("\n".join(constants))
    parts.append(_weights(e))
    parts.append(_runner(e))
    return "\n\n".join(x for x in parts if x).replace("PREFIX_", f"{p}_") + "\n"


def _arithmetic(e):
    if e.exact:
        rule = "#define MAD(a, b, c) fma(a, b, c)\n#define MADf(a, b, c) fmaf(a, b, c)"
    else:
        rule = "#define MAD(a, b, c) ((a) * (b) + (c))\n#define MADf(a, b, c) ((a) * (b) + (c))"
    text = rule + (
        "\n#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)\n"
        '#pragma GCC optimize("no-trapping-math", "tree-vectorize", "vect-cost-model=dynamic")\n'
        "#endif"
    )
    if e.exact:
        text += "\n#define ORDERED 1"
        text += (
            "\n#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n"
            "#elif defined(__GNUC__) && !defined(__STRICT_ANSI__)\n"
            '#pragma GCC optimize("fp-contract=off")\n#endif'
        )
    return text


def _weights(e):
    out = []
    for number, (name, array) in enumerate(e.source.weights.items()):
        ctype = registry.TYPES[str(array.dtype)][0]
        if not e.source.embedded:
            continue
        numbers = _numbers(array) or ["0"]
        out.append(
            f"static const {ctype} w{number}[] = {{ /* {plain(name)} {list(array.shape)} */\n"
            f"{_wrapped(numbers)}}};"
        )
    return "\n".join(out)


def _runner(e):
    source = e.source
    weights = []
    for number, (name, array) in enumerate(source.weights.items()):
        slot = e.slots[0, name]
        place = f"w{number}" if source.embedded else f"c->weights + {source.offsets[name]}"
        enum = registry.ENUM[str(array.dtype)]
        dims = _dims(e, array.shape)
        weights.append(
            f"  TRY(constant(c, v + {slot.number}, {enum}, {array.ndim}, {dims}, {place}));"
        )
    inputs = []
    for i, name in enumerate(source.feeds):
        slot = e.slots[0, name]
        shape = [int(d) for d in slot.var.shape or ()]
        inputs.append(
            f"  TRY(input(c, v + {slot.number}, in + {i}, {registry.ENUM[slot.dtype]}, "
            f"{len(shape)}, {_dims(e, shape)}));"
        )
    outputs = [
        f"  TRY(output(v + {e.slots[0, name].number}, out + {i}));"
        for i, name in enumerate(source.fetches)
    ]
    tables = []
    for key, names in (("input", source.feeds), ("output", source.fetches)):
        shapes = [[int(d) for d in e.slots[0, n].var.shape or ()][:RANK] for n in names]
        rows = ""
        for n, shape in zip(names, shapes, strict=True):
            sizes = ", ".join(map(str, shape)) or "0"
            kind = e.slots[0, n].dtype.upper()
            rows += f"  {{{literal(n)}, PREFIX_{kind}, {len(shape)}, {{{sizes}}}}},\n"
        tables.append(f"static const Described k_{key}s[] = {{\n{rows}  {{NULL, 0, 0, {{0}}}}}};")
    size = 0 if source.embedded else source.weight_bytes
    text = "\n".join(
        [
            "/* Names, types and sizes of inputs and outputs; a size of -1 is any. */",
            "typedef struct {\n  const char *name;\n  int type, rank;\n  int64_t dims[RANK];\n"
            "} Described;",
            *tables,
            "",
            "static int compute(Ctx *c, const PREFIX_tensor *in, PREFIX_tensor *out) {",
            "  Value *v = c->v;",
            *weights,
            *inputs,
            *e.lines,
            "  if (c->dry) return PREFIX_OK;",
            *outputs,
            "  (void)in, (void)out, (void)v;",
            "  return PREFIX_OK;",
            "}",
        ]
    )
    arrays = ""
    if e.late:
        arrays = "\n".join(
            f"static const {t} {n}[] = {{\n{_wrapped(x)}}};" for (t, x), n in e.late.items()
        )
        arrays += "\n"
    return (
        arrays
        + text
        + _PUBLIC.replace("WEIGHT_BYTES", str(size))
        .replace("INPUTS", str(len(source.feeds)))
        .replace("OUTPUTS", str(len(source.fetches)))
    )


def _dims(e, shape):
    if not len(shape):
        return "NULL"
    key = ("int64_t", tuple(str(int(d)) for d in shape))
    if key in e.arrays:
        return e.arrays[key]
    if key not in e.late:
        e.late[key] = f"d{len(e.late)}"
    return e.late[key]


_PUBLIC = """

#ifdef __cplusplus
extern "C" {
#endif
int PREFIX_input_count(void);
int PREFIX_output_count(void);
const char *PREFIX_input_name(int i);
const char *PREFIX_output_name(int i);
int PREFIX_input_type(int i);
int PREFIX_output_type(int i);
int PREFIX_input_rank(int i);
int PREFIX_output_rank(int i);
int64_t PREFIX_input_dim(int i, int axis);
int64_t PREFIX_output_dim(int i, int axis);
int64_t PREFIX_weight_bytes(void);
const char *PREFIX_status_text(int status);
int PREFIX_workspace(const PREFIX_tensor *in, int64_t *bytes, int *where);
int PREFIX_run(const PREFIX_tensor *in, PREFIX_tensor *out, const void *weights, void *workspace,
            int64_t bytes, int *where);
#ifdef __cplusplus
}
#endif

int PREFIX_input_count(void) { return INPUTS; }
int PREFIX_output_count(void) { return OUTPUTS; }

#define DESCRIBED(what, count)                                                            \\
  const char *PREFIX_##what##_name(int i) {                                               \\
    return i >= 0 && i < (count) ? k_##what##s[i].name : NULL;                            \\
  }                                                                                       \\
  int PREFIX_##what##_type(int i) { return i >= 0 && i < (count) ? k_##what##s[i].type : -1; } \\
  int PREFIX_##what##_rank(int i) { return i >= 0 && i < (count) ? k_##what##s[i].rank : -1; } \\
  int64_t PREFIX_##what##_dim(int i, int axis) {                                          \\
    if (i < 0 || i >= (count) || axis < 0 || axis >= k_##what##s[i].rank) return -2;      \\
    return k_##what##s[i].dims[axis];                                                     \\
  }
DESCRIBED(input, INPUTS)
DESCRIBED(output, OUTPUTS)

/* Bytes of the file of weights; 0 where this text has them. */
int64_t PREFIX_weight_bytes(void) { return WEIGHT_BYTES; }

const char *PREFIX_status_text(int status) {
  switch (status) {
    case PREFIX_OK: return "ok";
    case PREFIX_BAD_CALL: return "a pointer is null, or the workspace is not aligned to 8 bytes";
    case PREFIX_BAD_SHAPE: return "an operator or an input does not take these sizes";
    case PREFIX_BAD_TYPE: return "an input has another element type";
    case PREFIX_BAD_INDEX: return "an index or a number is out of range";
    case PREFIX_BAD_LOD: return "offsets do not divide the rows into sequences";
    case PREFIX_NO_SPACE: return "the workspace is too small";
    case PREFIX_UNSET: return "a value is read that no operator has written";
    case PREFIX_DEPENDS: return "the sizes depend on data: try a workspace, then a larger one";
    default: return "unknown status";
  }
}

/* The bytes that a run on inputs of these sizes needs. Data of floating-point inputs are not read,
   nor are null pointers. With PREFIX_DEPENDS `bytes` is what is needed up to an operator whose
   sizes depend on data. */
int PREFIX_workspace(const PREFIX_tensor *in, int64_t *bytes, int *where) {
  enum { NODES = 512 };
  Ctx state, *c = &state;
  Node nodes[NODES + 1];
  int64_t small[2048];
  int status;
  if (where) *where = 0;
  CHECK(bytes && (in || INPUTS == 0), BAD_CALL);
  *bytes = 0;
  memset(c, 0, sizeof *c);
  c->dry = 1;
  c->nodes = nodes + NODES;
  c->most = NODES;
  c->small = (char *)small;
  c->small_room = (int64_t)sizeof small;
  status = compute(c, in, NULL);
  if (where) *where = c->where;
  *bytes = (int64_t)sizeof(Ctx) + 128 + c->peak + (c->made + 1) * (int64_t)sizeof(Node);
  return status;
}

/* Computes the outputs, whose memory is the workspace, an input's or a weight's. `weights` is null
   where this text has them, else the whole file, aligned to 8 bytes. `where`, if not null, gets the
   number of the operator that failed, 0 before the first. */
int PREFIX_run(const PREFIX_tensor *in, PREFIX_tensor *out, const void *weights, void *workspace,
            int64_t bytes, int *where) {
  Ctx *c = (Ctx *)workspace;
  int64_t head = ((int64_t)sizeof(Ctx) + 63) / 64 * 64, shift;
  int status;
  if (where) *where = 0;
  CHECK(workspace && (uintptr_t)workspace % 8 == 0 && (in || INPUTS == 0), BAD_CALL);
  CHECK((out || OUTPUTS == 0) && (weights || WEIGHT_BYTES == 0), BAD_CALL);
  CHECK((uintptr_t)weights % 8 == 0, BAD_CALL);
  CHECK(bytes >= head + 128, NO_SPACE);
  memset(c, 0, sizeof *c);
  shift = (int64_t)((64 - (uintptr_t)((char *)workspace + head) % 64) % 64);
  c->base = (char *)workspace + head + shift;
  c->room = (bytes - head - shift) / 16 * 16;
  c->nodes = (Node *)(void *)(c->base + c->room);
  c->weights = (const unsigned char *)weights;
  status = compute(c, in, out);
  if (where) *where = c->where;
  return status;
}
"""
