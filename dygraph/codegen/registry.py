"""What the C text is made of: functions by name, and emitters by operator type.

A function is a template. In it ``$T`` is a C type and ``$S`` its suffix (``f32``), ``$E`` its
number at run time (``F32``), ``$MAD(a, b, c)`` is a * b + c, rounded once where the library's
kernels round once; ``$U``, ``$R`` and ``$V`` are a second type. ``relu_$S`` names another function;
whatever a text names comes along.
"""

import functools
import re

TYPES = {
    "float32": ("float", "f32", "F32", 4),
    "float64": ("double", "f64", "F64", 8),
    "int32": ("int32_t", "i32", "I32", 4),
    "int64": ("int64_t", "i64", "I64", 8),
    "bool": ("uint8_t", "b8", "B8", 1),
    "uint8": ("uint8_t", "u8", "U8", 1),
}
FLOATS = ("float32", "float64")
INTS = ("int32", "int64")
NUMBERS = FLOATS + INTS
SUFFIX = {name: t[1] for name, t in TYPES.items()}
ENUM = {name: t[2] for name, t in TYPES.items()}
_BY_SUFFIX = {t[1]: t for t in TYPES.values()}
_SUFFIXED = re.compile(r"^(\w+?)((?:_(?:" + "|".join(_BY_SUFFIX) + r")){1,2})$")
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_WORD = re.compile(r"\b[A-Za-z]\w*\b")

_DEFINED = re.compile(r"^static [\w $*]*?(\w+?)(?:_\$S)?(?:_\$R)?\(", re.M)
_INSIDE: dict = {}  # a function that stands in the text of another name -> that name

ON_CUDA = "@cuda"  # behind the name of a function that nvcc gets in place of another
LIBRARY: dict = {}  # name -> function of the types' suffixes that gives the text
OPERATORS: dict = {}  # operator type -> emitter
EXACT: dict = {}  # operator type -> True, or a condition (emitter, call) -> reason why not or None


def operator(*types, exact=False):
    """Registers an emitter, (emitter, call) -> None, for operator types.

    exact : bool or callable
        Whether its results are those of the Executor bit for bit. A callable gets the call and
        answers with the reason why not, or None.
    """

    def add(emit):
        for name in types:
            OPERATORS[name] = emit
            EXACT[name] = exact
        return emit

    return add


def function(name, text):
    """A C function, or several that belong together, as a template."""
    LIBRARY[name] = ("function", text)
    for also in _DEFINED.findall(text):
        _INSIDE.setdefault(also, name)


def kernel(name, params, body):
    """A loop: `body` computes element (or row) i of n independent ones."""
    LIBRARY[name] = ("kernel", params, body)


_LIMITS = {
    "f32": ("-INFINITY", "INFINITY"),
    "f64": ("-INFINITY", "INFINITY"),
    "i32": ("INT32_MIN", "INT32_MAX"),
    "i64": ("INT64_MIN", "INT64_MAX"),
}


def _filled(text, types):
    first = types[0] if types else ("", "", "", 0)
    second = types[1] if len(types) > 1 else first
    mark = "f" if first[1] == "f32" else ""
    for key, value in (
        ("$MAD", "MAD" + mark),
        ("$LOW", _LIMITS.get(first[1], ("0", "1"))[0]),
        ("$HIGH", _LIMITS.get(first[1], ("0", "1"))[1]),
        ("$UNS", {"i32": "uint32_t", "i64": "uint64_t"}.get(first[1], first[0])),
        ("$m", mark),
        ("$L", first[0] if first[1] in ("f32", "f64") else "uint64_t"),
        ("$A", "double" if first[1] in ("f32", "f64") else "uint64_t"),
        ("$T", first[0]), ("$S", first[1]), ("$E", first[2]),
        ("$U", second[0]), ("$R", second[1]), ("$V", second[2]),
    ):  # fmt: skip
        text = text.replace(key, value)
    return text


def home_of(name):
    """The name under which a function's text is known: several may share one."""
    if name in _INSIDE:
        return _INSIDE[name]
    match = _SUFFIXED.match(name)
    return _INSIDE[match[1]] + match[2] if match and match[1] in _INSIDE else name


@functools.cache  # all is registered while the package is imported
def text_of(name, cuda):
    """(text of the function, names it needs), or None for a name that is none of ours."""
    base, types = name, []
    if name not in LIBRARY:
        match = _SUFFIXED.match(name)
        if not match or match[1] not in LIBRARY:
            return None
        base, types = match[1], [_BY_SUFFIX[s] for s in match[2].split("_") if s]
    kind, *parts = LIBRARY[base + ON_CUDA if cuda and base + ON_CUDA in LIBRARY else base]
    if not types and any("$" in part for part in parts):
        return None  # a word that only looks like a function's name
    if kind == "function":
        text = _filled(parts[0], types).strip("\n") + "\n"
    else:
        text = _kernel_text(name, _filled(parts[0], types), _filled(parts[1], types), cuda)
    text = re.sub(r"^static inline ", "INLINE ", text, flags=re.M)
    text = re.sub(r"^static ", "LOCAL ", text, flags=re.M)
    return text, [w for w in dict.fromkeys(_WORD.findall(_COMMENT.sub("", text))) if w != name]


def _kernel_text(name, params, body, cuda):
    names = ", ".join(re.search(r"(\w+)$", p.strip())[1] for p in params.split(","))
    body = "\n".join("  " + line for line in body.strip("\n").split("\n"))
    unused = "  (void)p;\n" if re.search(r"\bPar p$", params) else ""
    if cuda:
        return (
            f"__global__ void {name}_at(int64_t n, {params}) {{\n"
            "  int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;\n"
            f"{unused}  if (i < n) {{\n{body}\n  }}\n}}\n"
            f"static void {name}(int64_t n, {params}) {{\n"
            f"  if (n <= 0) return;\n"
            f"  {name}_at<<<(unsigned)((n + 127) / 128), 128>>>(n, {names});\n"
            "  cudaDeviceSynchronize(); /* the host reads the same memory */\n}\n"
        )
    return (
        f"static void {name}(int64_t n, {params}) {{\n{unused}"
        f"  for (int64_t i = 0; i < n; ++i) {{\n{body}\n  }}\n}}\n"
    )


def table():
    """{operator type: 'exact', 'exact in part' or 'close'}"""
    words = {True: "exact", False: "close"}
    return {
        name: words[rule] if isinstance(rule, bool) else "exact in part"
        for name, rule in sorted(EXACT.items())
    }


def table_text():
    """The table of docs/c_file.md, which docs/c_operators.py writes there."""
    rows = [f"| `{name}` | {how} |" for name, how in table().items()]
    return "\n".join(["| operator | results |", "|---|---|", *rows]) + "\n"
