"""Types and text of one function, from its signature, its docstring or the registry."""

import inspect
import math
import re

from dygraph import _core, functions
from dygraph.nn.functional.spelling import other_names

__all__ = [
    "HEAD", "IMPORTS", "USED", "WORDS", "definition", "documented", "function_text", "masks",
    "python_types", "written_types",
]  # fmt: skip

HEAD = '"""Written by dygraph.stubs from the registry and the docstrings; do not edit."""\n\n'
IMPORTS = """\
import builtins
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, SupportsFloat, SupportsIndex, TypeVar, overload

import numpy as np
"""
USED = "_Array, _DType, _Float, _Int, _Ints, _Number, Place, Variable, dtype"

_RETURNS = {
    name: type
    for type, names in {
        "list[Variable]": "broadcast_arrays broadcast_tensors chunk meshgrid split unbind",
        "tuple[Variable, Variable]": "topk unique_counts unique_inverse",
        "tuple[Variable, ...]": "nonzero unique_all unstack",
        "Any": "__array_namespace_info__ finfo iinfo register_hook unique "
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
WORDS = {
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


def documented(text, words=WORDS):
    """The type of ``name : type`` in a docstring; Any if a word is unknown."""
    text = re.sub(r", default .*$", "", text.strip())
    text, optional = re.subn(r",? optional$", "", text)
    found, whole = [], text.lower() in words
    for word in [text] if whole else re.split(r" or |, (?![^(]*\))", text):
        quoted = re.fullmatch(r"\{?(['\"]).*\1\}?", word)
        type = "str" if quoted else words.get(word.lower())
        if type is None:
            return "Any"
        found.append(type)
    return " | ".join(dict.fromkeys([*found, *(["None"] if optional else [])]))


def written_types(doc, section="Parameters"):
    """The types of a section of a docstring, by name."""
    part = re.search(rf"\n{section}\n-+\n(.*?)(\n[A-Z][a-z]+\n-+\n|\Z)", doc or "", re.S)
    found = re.findall(r"^([\w*, ]+) : (.*)$", part[1], re.M) if part else []
    return {n.strip("* "): type for names, type in found for n in names.split(",")}


def python_types(function, name):
    """Types of the parameters and the result of a Python function."""
    doc = inspect.getdoc(function)
    written, types = written_types(doc), {}
    module = function.__module__
    tensors = (
        module in _TENSOR_MODULES
        or name in functions.NAMES
        or module.startswith(("dygraph.functions.", "dygraph.nn.functional."))
    )
    for p in inspect.signature(function).parameters.values():
        type = documented(written[p.name]) if p.name in written else "Any"
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
        known = found and documented(found[1])
        result = known if known in ("Variable", "bool", "_DType") else None
        result = "dtype" if result == "_DType" else result
    method = function.__module__ in ("dygraph.core.variable", "dygraph.core.in_place")
    return types, result or ("Variable" if tensors or method else "Any")


def operator_types(name):
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


def definition(name, signature, types, result, method=False):
    parts, starred, slashed = [], False, method
    for i, p in enumerate(signature.parameters.values()):
        if method and i == 0:
            parts.append("self")
            continue
        if p.name in ("places", "others"):  # they are refused, with the names to write
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


def function_text(name, function, method=False):
    inner = inspect.unwrap(function)  # a method of Variable may stand for an operator
    if inner is not getattr(_core.ops, inner.__name__, None):
        types, result = python_types(function, name)
    else:
        types, result = operator_types(inner.__name__)
    signature = inspect.signature(function)
    if function.__module__.startswith("dygraph.nn.functional.") and inner is not function:
        signature = _with_other_names(signature, types)
    if "return_mask" in types:
        return "".join(
            "@overload\n"
            + definition(name, masked, {**types, **dict.fromkeys(_MASKS, choice)}, result)
            for choice, result, masked in masks(signature)
        )
    return definition(name, signature, types, result, method)


_MASKS = ("return_mask", "return_indices")


def _with_other_names(signature, types):
    """The signature with the other names of its optional arguments, whose types join `types`."""
    parameters = signature.parameters
    more = []
    for name, own in other_names(parameters).items():
        if parameters[own].default is not inspect.Parameter.empty:
            types[name] = types[own]
            kind = inspect.Parameter.KEYWORD_ONLY
            more.append(parameters[own].replace(name=name, kind=kind))
    return signature.replace(parameters=[*parameters.values(), *more])


def masks(signature):
    """(type of return_mask, result, signature) of a pooling, which gives a pair with True."""
    mask, pair = signature.parameters["return_mask"], "tuple[Variable, Variable]"
    own = [p for n, p in signature.parameters.items() if n != "return_indices"]
    yield "Literal[False]", "Variable", signature.replace(parameters=own)
    for name in ("return_mask", *signature.parameters.keys() & {"return_indices"}):
        needed = mask.replace(name=name, kind=mask.KEYWORD_ONLY, default=mask.empty)
        others = [p for p in own if p is not mask]
        yield "Literal[True]", pair, signature.replace(parameters=[*others, needed])
    yield "bool", "Any", signature.replace(parameters=own)
