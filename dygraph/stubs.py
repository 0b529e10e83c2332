"""Types for editors and mypy, written from the registry: ``python -m dygraph.stubs [DIR]``.

The core and the operators exist only at run time, so their signatures are written to ``.pyi`` files
beside the modules when the package is built: ``_core.pyi``, ``ops.pyi`` and the
``__init__.pyi`` of the packages whose names load lazily. They are not kept in the repository.
"""

import inspect
import math
import re
import sys
from pathlib import Path

from dygraph import _core, functions, ops
from dygraph.core import spellings

__all__ = ["generate", "write"]

Variable = _core.Variable
_HEAD = '"""Written by dygraph.stubs from what is registered; do not edit."""\n\n'
_IMPORTS = """\
import builtins
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, SupportsFloat, SupportsIndex

import numpy as np
"""
_ALIASES = """
_Int = SupportsIndex
_Float = SupportsFloat | SupportsIndex
_Ints = Sequence[SupportsIndex] | np.ndarray[Any, Any]
_Number = float | np.number[Any] | np.bool_
_Array = _Number | np.ndarray[Any, Any] | list[Any] | tuple[Any, ...]  # no str
"""
_DTYPE = "_DType = dtype | str | type | np.dtype[Any]\n"

# Properties and special methods of Variable: their slots have no signature.
_VARIABLE = """\
class Variable:
    \"\"\"An eager variable: values, and a gradient where stop_gradient is False.\"\"\"

    stop_gradient: bool
    requires_grad: bool
    persistable: bool
    name: str
    grad: Variable | None
    __array_priority__: float
    __dict__: dict[str, Any]
    def __init__(
        self,
        value: Any = None,
        lod: Any = None,
        dtype: _DType | None = None,
        stop_gradient: bool = True,
        name: str | None = None,
    ) -> None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> _core_dtype: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def place(self) -> Place: ...
    @property
    def is_leaf(self) -> bool: ...
    @property
    def grad_fn(self) -> Any: ...
    @property
    def grad_name(self) -> str: ...
    @property
    def device(self) -> Place: ...
    @property
    def mT(self) -> Variable: ...
    @property
    def lod_level(self) -> int: ...
    @property
    def T(self) -> Variable: ...
    def numpy(self) -> np.ndarray[Any, Any]: ...
    def detach(self) -> Variable: ...
    def clear_gradient(self) -> None: ...
    def reshape(self, *shape: _Int | Sequence[Any] | Variable | _Array) -> Variable: ...
    def mean(self, axis: Any = None, keepdims: bool = False, **spellings: Any) -> Variable: ...
    def sum(
        self,
        axis: Any = None,
        keepdims: bool = False,
        *,
        dtype: _DType | None = None,
        **spellings: Any,
    ) -> Variable: ...
    def _repr_html_(self) -> str: ...
    def __abs__(self) -> Variable: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]: ...
    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any: ...
    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __array_function__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __bool__(self) -> bool: ...
    def __complex__(self) -> complex: ...
    def __contains__(self, value: Any) -> bool: ...
    def __copy__(self) -> Variable: ...
    def __dir__(self) -> list[str]: ...
    def __format__(self, spec: str) -> str: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> Variable: ...
    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __float__(self) -> float: ...
    def __getitem__(self, index: Any) -> Variable: ...
    def item(self, *index: int | tuple[int, ...]) -> Any: ...
    def __hash__(self) -> int: ...
    def __index__(self) -> int: ...
    def __int__(self) -> int: ...
    def __invert__(self) -> Variable: ...
    def __iter__(self) -> Iterator[Variable]: ...
    def __len__(self) -> int: ...
    def __neg__(self) -> Variable: ...
    def __pos__(self) -> Variable: ...
    def __reduce_ex__(self, protocol: SupportsIndex = 2) -> Any: ...
    def __round__(self, digits: int | None = None) -> Variable: ...
    def __setitem__(self, index: Any, value: Variable | _Array) -> None: ...
"""
_BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
_COMPARED = "eq ne lt le gt ge".split()

_RETURNS = {
    name: type
    for type, names in {
        "list[Variable]": "broadcast_arrays broadcast_tensors chunk meshgrid split unbind",
        "tuple[Variable, Variable]": "topk unique_counts unique_inverse",
        "tuple[Variable, ...]": "nonzero unique_all unstack",
        "Any": "__array_namespace_info__ finfo iinfo register_hook unique max_pool1d "
        "max_pool2d max_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d "
        "ctc_greedy_decoder gradient tolist",
        "None": "backward clear_gradient retain_grads set_lod set_recursive_sequence_lengths "
        "set_value save save_dygraph save_fluid_params set_flags set_rng_state",
        "bool": "can_cast grad_enabled in_dygraph_mode isdtype is_selected_rows",
        "int": "height num_threads release",
        "list[int]": "rows",
        "list[str]": "load_library op_names",
        "list[list[int]]": "lod recursive_sequence_lengths",
        "Variable": "create_lod_tensor create_random_int_lodtensor from_dlpack selected_rows "
        "to_variable",
    }.items()
    for name in names.split()
}
_WORDS = {
    "variable": "Variable",
    "bool": "bool",
    "int": "_Int",
    "float": "_Float",
    "str": "str",
    "dtype": "_DType",
    "place": "Place",
    "none": "None",
    "list of int": "_Ints",
    "list of str": "Sequence[str]",
    "list of variable": "Sequence[Variable]",
    "os.pathlike": "os.PathLike[str]",
    "callable": "Callable[..., Any]",
    "array_like": "_Array",
    "dict of str to variable": "Mapping[str, Variable]",
}
_ATTRIBUTES = {
    "an int": "_Int",
    "a float": "_Float",
    "a bool": "bool",
    "a string": "str",
    "a list of ints": "_Ints",
    "a list of floats": "Sequence[_Float] | np.ndarray[Any, Any]",
    "a list of strings": "Sequence[str]",
    "a list of bools": "Sequence[bool]",
}
_TENSOR_MODULES = {"dygraph.functions.images", "dygraph.functions.losses"}


# Types --------------------------------------------------------------------------------------------


def _documented(text):
    """The type of ``name : type`` in a docstring; Any if a word is unknown."""
    text = re.sub(r", default .*$", "", text.strip())
    text, optional = re.subn(r",? optional$", "", text)
    found = []
    for word in re.split(r" or |, (?![^(]*\))", text):
        type = "str" if re.fullmatch(r"\{?'.*'\}?", word) else _WORDS.get(word.lower())
        if type is None:
            return "Any"
        found.append(type)
    return " | ".join(dict.fromkeys([*found, *(["None"] if optional else [])]))


def _parameters_section(doc):
    part = re.search(r"\nParameters\n-+\n(.*?)(\n[A-Z][a-z]+\n-+\n|\Z)", doc or "", re.S)
    found = re.findall(r"^([\w*, ]+) : (.*)$", part[1], re.M) if part else []
    return {n.strip("* "): type for names, type in found for n in names.split(",")}


def _python_types(function, name):
    """Types of the parameters and the result of a Python function."""
    doc = inspect.getdoc(function)
    written, types = _parameters_section(doc), {}
    module = function.__module__
    tensors = (
        module in _TENSOR_MODULES
        or name in functions.NAMES
        or module.startswith("dygraph.functions.")
    )
    for p in inspect.signature(function).parameters.values():
        type = _documented(written[p.name]) if p.name in written else "Any"
        if p.kind is p.VAR_KEYWORD or (type == "Variable" and p.default is None):
            type = "Any"
        if type == "Any" and p.name in ("x", "input") and tensors and name != "concat":
            type = "Any" if name in ("stack", "broadcast_tensors") else "Variable"
            type += " | None" if type == "Variable" and p.default is None else ""
        elif type == "Any" and isinstance(p.default, (bool, str)):
            type = "bool" if isinstance(p.default, bool) else "str"
        elif p.default is None and type != "Any" and "None" not in type:
            type += " | None"
        if p.name == "y" and function.__module__ == "dygraph.core.in_place":
            type = "Variable | _Array"
        types[p.name] = type
    result = _RETURNS.get(name)
    if result is None:
        found = re.search(r"\nReturns\n-+\n(?:\w+ : )?(.*)\n", f"{doc}\n")
        known = found and _documented(found[1])
        result = known if known in ("Variable", "bool", "_DType") else None
        result = "dtype" if result == "_DType" else result
    method = function.__module__ in ("dygraph.core.variable", "dygraph.core.in_place")
    return types, result or ("Variable" if tensors or method else "Any")


def _operator_types(name):
    """Types of the parameters and the result of an operator of the registry."""
    info, types = _core.describe_op(name), {}
    for a in info["attrs"]:
        key = f"{a['name']}_" if a["name"] == "lambda" else a["name"]
        types[key] = "_DType | None" if a["is_dtype"] else _ATTRIBUTES[a["type"]]
        if a["may_be_open"] and types[key] == "_Ints":  # numbers take Variables anyway
            types[key] = "_Ints | Variable"
    for s in info["inputs"]:
        parts = ["Variable | Sequence[Variable]" if s["duplicable"] else "Variable"]
        if s["python_name"] in types:
            parts.append(types[s["python_name"]])
        if s["dispensable"]:
            parts.append("None")
        types[s["python_name"]] = " | ".join(parts)
    results = []
    for s in info["outputs"]:
        if not (s["intermediate"] or s["extra"]):
            one = "Any" if s["dispensable"] else "Variable"
            results.append("list[Variable]" if s["duplicable"] else one)
    return types, results[0] if len(results) == 1 else f"tuple[{', '.join(results) or '()'}]"


# Text ---------------------------------------------------------------------------------------------


def _default(value):
    simple = value is None or isinstance(value, (bool, int, str))
    return repr(value) if simple or (type(value) is float and math.isfinite(value)) else "..."


def _definition(name, signature, types, result, method=False):
    parts, starred, slashed = [], False, method
    for i, p in enumerate(signature.parameters.values()):
        if method and i == 0:
            parts.append("self")
            continue
        if p.name == "places":  # they are refused, with the names to write
            continue
        if not slashed and i and p.kind is not p.POSITIONAL_ONLY:
            slashed = True
            if list(signature.parameters.values())[0].kind is p.POSITIONAL_ONLY:
                parts.append("/")
        if p.kind is p.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)
        prefix = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty else f" = {_default(p.default)}"
        parts.append(f"{prefix}{p.name}: {types[p.name]}{default}")
    if not slashed and parts and p.kind is p.POSITIONAL_ONLY:
        parts.append("/")
    return f"def {name}({', '.join(parts)}) -> {result}: ...\n"


def _function(name, function, method=False):
    inner = inspect.unwrap(function)  # a method of Variable may stand for an operator
    if inner is not getattr(_core.ops, inner.__name__, None):
        types, result = _python_types(function, name)
    else:
        types, result = _operator_types(inner.__name__)
    return _definition(name, inspect.signature(function), types, result, method)


def _variable():
    written = set(re.findall(r"^    (?:def )?(\w+)[(:]", _VARIABLE, re.M))
    lines = []
    for name in sorted(vars(Variable)):
        function = vars(Variable)[name]
        if name in written or name.startswith("__") or isinstance(function, spellings.Hint):
            continue
        if isinstance(function, property):
            lines.append(f"    @property\n    def {name}(self) -> Any: ...\n")
            if function.fset:
                lines.append(f"    @{name}.setter\n    def {name}(self, value: Any) -> None: ...\n")
            continue
        lines.append("    " + _function(name, function, method=True))
    for start in ("", "r"):
        for name in _BINARY:
            # [2] * x asks the list first, which would take an integer x for a count.
            hint = "  # type: ignore[misc]" if start + name == "rmul" else ""
            rest = f"{name}__(self, y: Variable | _Array, /) -> Variable: ...{hint}\n"
            lines.append(f"    def __{start}{rest}")
        lines.append(
            f"    def __{start}divmod__(self, y: Any, /) -> tuple[Variable, Variable]: ...\n"
        )
    # state is written in place, any other name gets a new variable
    given = "(self, y: Variable | _Array, /) -> Any: ...\n"
    lines += [f"    def __i{name}__{given}" for name in _BINARY]
    for name in _COMPARED:
        hint = "  # type: ignore[override]" if name in ("eq", "ne") else ""
        lines.append(f"    def __{name}__(self, y: Any, /) -> Variable: ...{hint}\n")
    text = _VARIABLE + "".join(lines)
    # Methods of Variable have names of types: x.float().
    return re.sub(r"(?<!def )\b(bool|float|int)\b(?!\()", r"builtins.\1", text)


_DTYPE_CLASS = """
class dtype:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def is_floating(self) -> bool: ...
    @property
    def wire(self) -> int: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

_core_dtype = dtype
"""
_PLACE_CLASS = """
class Place:
    @property
    def kind(self) -> str: ...
    @property
    def device_id(self) -> int: ...
    @property
    def available(self) -> bool: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
"""


def _core_stub():
    lines, written = [], {"Variable", "dtype", "Place"}
    for name in sorted(n for n in dir(_core) if not n.startswith("_") and n not in written):
        value = getattr(_core, name)
        if isinstance(value, type) and issubclass(value, BaseException):
            bases = ", ".join(b.__name__ for b in value.__bases__)
            lines.append((value.__mro__.__len__(), f"class {name}({bases}): ...\n"))
        elif isinstance(value, type):
            body = "    def __getattr__(self, name: str) -> Any: ...\n"
            init = "    def __init__(self, *args: Any, **kwargs: Any) -> None: ...\n"
            lines.append((0, f"class {name}:\n{init}{body}"))
        elif isinstance(value, _core.dtype):
            lines.append((0, f"{name}: dtype\n"))
        elif name.endswith("Place"):
            parameters = "device_id: _Int = 0" if name == "CUDAPlace" else ""
            lines.append((0, f"def {name}({parameters}) -> Place: ...\n"))
        elif inspect.ismodule(value):
            lines.append((0, f"{name}: Any\n"))
        else:
            result = {"to_variable": "Variable", "num_threads": "int"}.get(name, "Any")
            lines.append((0, f"def {name}(*args: Any, **kwargs: Any) -> {result}: ...\n"))
    rest = "".join(text for _, text in sorted(lines, key=lambda line: line[0]))
    return (
        f"{_HEAD}{_IMPORTS}{_ALIASES}{_DTYPE_CLASS}{_DTYPE}{_PLACE_CLASS}\n{_variable()}\n"
        f"{rest}__version__: str\n"
    )


_USED = "_Array, _DType, _Float, _Int, _Ints, _Number, Place, Variable, dtype"


def _ops_stub():
    body = "".join(_function(n, getattr(ops, n)) for n in ops.__all__)
    return f"{_HEAD}{_IMPORTS}from dygraph._core import {_USED}\n\n{body}"


def _reexport(name, value):
    """The import line of a class or of another library's object."""
    return f"from {value.__module__} import {name} as {name}\n"


def _package_stub():
    """`dygraph` itself: everything that is reached there."""
    import dygraph
    from dygraph import nn

    shown = {*dir(dygraph), *nn.__all__, *dygraph._MORE, *dygraph._LAZY_NAMES}
    own = {"load_ipython_extension", "unload_ipython_extension"}
    shown |= {n for n, v in vars(dygraph).items() if not inspect.ismodule(v)} - own
    lines, definitions = [], []
    for name in sorted(n for n in shown if not n.startswith("_")):
        value = getattr(dygraph, name)
        if name in functions.NAMES:
            definitions.append(_function(name, value))
        elif value is None or type(value) in (float, _core.dtype):
            definitions.append(f"{name}: {'dtype' if type(value) is _core.dtype else 'Any'}\n")
        elif inspect.ismodule(value):
            inner = value.__name__ != name
            lines.append(
                f"from dygraph import {name} as {name}\n" if inner else f"import {name} as {name}\n"
            )
        elif value is getattr(ops, name, None):
            lines.append(f"from dygraph.ops import {name} as {name}\n")
        elif value is getattr(ops, getattr(value, "__name__", ""), None):
            lines.append(f"from dygraph.ops import {value.__name__} as _{name}\n")
            definitions.append(f"{name} = _{name}\n")
        elif name in nn.__all__:
            lines.append(f"from dygraph.nn import {name} as {name}\n")
        elif value is getattr(_core, name, None):
            lines.append(f"from dygraph._core import {name} as {name}\n")
        elif inspect.isfunction(value) and _python_types(value, name)[1] != "Any":
            definitions.append(_function(name, value))
        else:
            lines.append(_reexport(name, value))
    used = ", ".join(n for n in _USED.split(", ") if n not in dir(dygraph))
    imports = f"from dygraph._core import {used}\n"
    body = re.sub(
        r"(?<!def )\b(bool|float|int)\b(?!\(|: dtype)", r"builtins.\1", "".join(definitions)
    )
    versions = "__version__: str\n__array_api_version__: str\n"
    return f"{_HEAD}{_IMPORTS}{imports}{''.join(lines)}\n{versions}{body}"


def _optimizer_stub():
    from dygraph import optimizer

    names = [n for n in optimizer.__all__ if n != "lr"]
    lines = [_reexport(n, getattr(optimizer, n)) for n in names]
    return f"{_HEAD}from dygraph import lr as lr\n{''.join(lines)}"


def generate():
    """The texts of the stubs by their path inside the package.

    >>> from dygraph import stubs
    >>> "def relu(x: Variable) -> Variable: ..." in stubs.generate()["ops.pyi"]
    True
    """
    return {
        "_core.pyi": _core_stub(),
        "ops.pyi": _ops_stub(),
        "__init__.pyi": _package_stub(),
        "optimizer/__init__.pyi": _optimizer_stub(),
    }


def write(folder):
    """Write the stubs into a folder with the package's modules; returns the paths."""
    paths = []
    for name, text in generate().items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


if __name__ == "__main__":
    for path in write(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent):
        print(path)
