"""The stub of a package of classes: layers, optimizers, data sets, schedules.

Types of arguments and attributes are those of the docstrings. A class has the methods and
attributes of its private bases as its own.
"""

import ast
import importlib
import inspect
import re
import sys
import textwrap

from dygraph.stubs.signatures import (
    HEAD,
    IMPORTS,
    USED,
    WORDS,
    definition,
    documented,
    function_text,
    masks,
    written_types,
)

__all__ = ["classes_stub"]

_TYPES = """\
from typing import Generic, ParamSpec, Protocol

from typing_extensions import Self

_Attr = ParamAttr | Initializer | str | bool
_Rate = _Float | Callable[..., Any]
_Decay = _Float | Callable[..., Any] | None
_Parameters = Layer | Iterable[Variable | tuple[str, Variable] | Mapping[str, Any]]

class _Samples(Protocol):
    def __getitem__(self, index: Any, /) -> Any: ...
    def __len__(self) -> int: ...

class _Metric(Protocol):
    def reset(self) -> Any: ...
    def eval(self) -> Any: ...
    @property
    def update(self) -> Callable[..., Any]: ...

_Data = _Samples | Iterable[Any] | Callable[[], Iterable[Any]]
"""
_HOMES = {
    "Callback": "dygraph.callbacks",
    "Checkpoint": "dygraph.checkpoint",
    "Initializer": "dygraph.initializer",
    "Layer": "dygraph.nn",
    "Optimizer": "dygraph.optimizer",
    "ParamAttr": "dygraph.nn.param_attr",
    "Parameter": "dygraph.core.variable",
}
# A layer takes and gives what its forward does.
_CALL = """
_P = ParamSpec("_P")
_R = TypeVar("_R", covariant=True)
_Pooled = TypeVar("_Pooled")

class _Forward(Protocol[_P, _R]):
    def forward(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
"""
_LAYER = """\
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def __getattr__(self, name: str, /) -> Any: ...
"""
_WORDS = {
    **WORDS,
    "(int,)": "_Ints",
    "(int, int)": "_Ints",
    "(int, int, int)": "_Ints",
    "(int, int, int, int)": "_Ints",
    "(str, layer)": "tuple[str, Layer]",
    "list of layers": "list[Layer] | list[tuple[str, Layer]]",
    "dict of layers": "Mapping[str, Layer]",
    "dict of str to variable or array": "Mapping[str, Any]",
    "0": "_Int",
    "1": "_Int",
    "{0, 1, 2}": "int",
    "array": "_Array",
    "array or list of arrays": "_Data",
    "callback or list of callback": "Callback | Sequence[Callback]",
    "dict of str to float": "dict[str, float]",
    "false": "bool",
    "function": "Callable[..., Any]",
    "history": "History",
    "initializer": "Initializer",
    "layer": "Layer",
    "list": "Sequence[Any]",
    "list of 2": "Sequence[Any]",
    "list of float": "Sequence[_Float] | np.ndarray[Any, Any]",
    "list of metrics": "list[_Metric]",
    "list of parameter": "Sequence[Parameter]",
    "metric": "_Metric",
    "metric or list of metrics": "_Metric | Sequence[_Metric]",
    "optimizer": "Optimizer",
    "paramattr": "ParamAttr",
    "parameter": "Parameter",
    "sequence of float": "Sequence[_Float] | np.ndarray[Any, Any]",
}
# Arguments whose type is the same wherever they stand.
_ARGUMENTS = {
    "act": "str | None",
    "dataset": "_Samples | Iterable[Any]",
    "dtype": "_DType | None",
    "eval_data": "_Data",
    "learning_rate": "_Rate",
    "name": "str | None",
    "parameter_list": "_Parameters | None",
    "regularization": "Callable[..., Any] | None",
    "train_data": "_Data",
    "validation_data": "_Data",
}
# Those without a type in the docstring.
_USUAL = {
    "batch": "Any",
    "batch_size": "_Int | None",
    "epoch": "int",
    "logs": "dict[str, float]",
    "num_workers": "_Int",
    "path": "str | os.PathLike[str]",
    "step": "int",
    "steps": "int | None",
    "test_data": "_Data",
    "verbose": "int",
}
_RESULTS = {
    name: type
    for type, names in {
        "Self": "Layer.apply Layer.eval append extend requires_grad_ to train",
        "None": "__delitem__ __init__ __setitem__ add_metric clear clear_grad clear_gradients "
        "close insert load_state_dict on_batch_end on_epoch_begin on_epoch_end on_train_begin "
        "on_train_end prepare reset set_dict set_epoch set_lr set_state_dict step update "
        "zero_grad Model.save LearningRateDecay.load",
        "bool": "__contains__",
        "int": "__len__",
        "str": "extra_repr full_name",
        "float": "get_lr Accuracy.eval Auc.eval Precision.eval Recall.eval Model.train_batch "
        "LearningRateDecay.__call__ LRScheduler.__call__ LambdaDecay.__call__ "
        "MultiStepDecay.__call__ ReduceLROnPlateau.__call__ StepDecay.__call__",
        "list[float]": "get_last_lr",
        "tuple[float, float]": "EditDistance.eval",
        "tuple[float, float, float]": "ChunkEvaluator.eval",
        "list[Any]": "CompositeMetric.eval",
        "History": "History.history Model.fit",
        "dict[str, float]": "Model.evaluate",
        # A checker cannot tell how many outputs the network has.
        "np.ndarray[Any, Any] | Any": "Model.predict",
        "Checkpoint": "Model.load",
        "Any": "Layer.load_state_dict Layer.set_dict Layer.set_state_dict",
        "Variable": "forward create_variable",
        "list[Parameter]": "parameters",
        "list[Variable]": "buffers",
        "list[Layer]": "sublayers",
        "Iterator[Layer]": "children",
        "Iterator[tuple[str, Parameter]]": "named_parameters",
        "Iterator[tuple[str, Variable]]": "named_buffers",
        "Iterator[tuple[str, Layer]]": "named_children named_sublayers",
        "dict[str, Any]": "state_dict",
    }.items()
    for name in names.split()
}
_FORWARDS = {
    name: type
    for type, names in {
        "Any": "Layer RNNCellBase",
        "tuple[Variable, Any]": "BiRNN GRU GRUCell LSTM LSTMCell RNN SimpleRNN SimpleRNNCell",
        "tuple[Variable, Variable, Variable]": "GRUUnit",
    }.items()
    for name in names.split()
}
_BASES = {"History": "dict[str, list[float]]"}  # other libraries' classes
_SPECIAL = {f"__{n}__" for n in "call contains delitem getitem init iter len next setitem".split()}
_PLAIN = (bool, str, int, float, type(None))


def _parts(kind, base):
    """The class and its private bases, the most basic one first."""
    inherited = base.__mro__ if base else ()
    ours = [p for p in kind.__mro__ if p.__module__.startswith("dygraph.") and p not in inherited]
    return [
        p
        for p in reversed(ours)
        if not p.__module__.startswith(("dygraph.core.", "dygraph.inspect."))
    ]


def _documented_attributes(parts):
    """The types in the sections of attributes."""
    return {
        name: re.sub(r"\b_(Int|Float)\b", lambda m: m[1].lower(), documented(text, _WORDS))
        for part in parts
        for name, text in written_types(inspect.getdoc(part), "Attributes").items()
    }


def _attributes(parts, members):
    """Lines of what the class, its methods and its docstring name."""
    types = {}
    for part in parts:
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(part)))):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                if ast.unparse(node.value) == "self" and node.attr[0] != "_":
                    types[node.attr] = "Parameter" if node.attr == "weight" else "Any"
        plain = {n: v for n, v in vars(part).items() if n[0] != "_" and type(v) in _PLAIN}
        types |= {
            n: type(v).__name__ if type(v) in (bool, str) else "Any" for n, v in plain.items()
        }
    types |= _documented_attributes(parts)
    taken = {name for name, value in members.items() if type(value) not in _PLAIN}
    return "".join(f"    {n}: {t}\n" for n, t in types.items() if n not in taken)


def _written(kind):
    """The types of a class's arguments; its docstring may say ``As of `Conv2D` ``."""
    doc = inspect.getdoc(kind) or ""
    found = {}
    for name in re.findall(r"\b[Aa]s (?:of |for |in )?`([A-Z]\w+)`", doc):
        found |= written_types(inspect.getdoc(vars(sys.modules[kind.__module__]).get(name)))
    return found | written_types(doc)


def _types(function, parts):
    """Types of the parameters of a method."""
    written = {}
    for part in parts if function.__name__ == "__init__" else ():
        written |= _written(part)
    written |= written_types(inspect.getdoc(function))
    types = {}
    for p in inspect.signature(function).parameters.values():
        type = documented(written[p.name], _WORDS) if p.name in written else "Any"
        needed = p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
        if p.name in _ARGUMENTS:
            type = _ARGUMENTS[p.name]
            type = "str" if p.name == "name" and needed else type
        elif p.name.endswith("_attr"):
            type = f"_Attr | {type}" if "Sequence" in type else "_Attr"
        if type == "Any" and function.__name__ == "forward" and needed:
            type = "Variable"
        elif type == "Any" and isinstance(p.default, (bool, str, float)):
            type = {bool: "bool", str: "str", float: "_Float"}[p.default.__class__]
        if p.default is None and type != "Any" and "None" not in type:
            type += " | None"
        elif type == "Any":
            type = _USUAL.get(p.name, type)
            type += " | None" if p.default is None and type == "int" else ""
        types[p.name] = type
    return types


def _method(kind, name, function, parts):
    function = inspect.unwrap(function)
    types, signature = _types(function, parts), inspect.signature(function)
    if name == "__init__" and {"learning_rate", "parameter_list"} <= set(types):
        return _orders(signature, types)
    if name == "__init__" and "return_mask" in types:
        return _pooling(kind.__name__, signature, types)
    if (kind.__name__, name) == ("MetricBase", "update"):  # each metric takes what it needs
        return "    def update(self, *args: Any, **kwargs: Any) -> None: ...\n"
    result = _RESULTS.get(f"{kind.__name__}.{name}") or _RESULTS.get(name, "Any")
    if name == "forward" and "return_mask" in inspect.signature(kind.__init__).parameters:
        result = "_Pooled"
    elif name == "forward":
        result = "Any" if "cache" in types else _FORWARDS.get(kind.__name__, result)
    elif name in ("__iter__", "__next__"):
        result = "Iterator[Any]" if name == "__iter__" else "Any"
    return "    " + definition(name, signature, types, result, method=True)


def _orders(signature, types):
    """The constructor of an optimizer: Fluid's order, torch's, and the names of Paddle 2."""
    own = list(signature.parameters.values())
    rate = next(p for p in own if p.name == "learning_rate")
    named = {
        n: p
        for n, p in signature.parameters.items()
        if n not in ("self", rate.name, "parameter_list")
    }
    types = {**types, "params": "_Parameters", "parameters": "_Parameters", "lr": "_Rate"}
    rest = [p.replace(kind=p.KEYWORD_ONLY) for p in named.values()]
    keyword = {"kind": rate.KEYWORD_ONLY}
    decay = []
    if not any(n.endswith("weight_decay") for n in named):
        decay = [rate.replace(name="weight_decay", default=None, **keyword)]
        types["weight_decay"] = "_Decay"
    lists = rate.replace(name="params", default=rate.empty)
    orders = [
        [*own, *decay],
        [*own[:2], lists.replace(name="parameters", **keyword), *rest, *decay],
        [own[0], lists, rate.replace(name="lr"), *rest, *decay],
        [own[0], lists, rate.replace(**keyword), *rest, *decay],
    ]
    lines = [
        definition("__init__", signature.replace(parameters=order), types, "None", method=True)
        for order in orders
    ]
    return "".join(f"    @overload\n    {line}" for line in lines)


def _pooling(kind, signature, types):
    """The constructor of a pooling, whose forward gives a pair with ``return_mask=True``."""
    itself = next(iter(signature.parameters))
    texts = (
        definition(
            "__init__", masked, {**types, "return_mask": choice}, "None", method=True
        ).replace(f"({itself},", f"({itself}: {kind}[{result}],", 1)
        for choice, result, masked in masks(signature)
        if result != "Any"
    )
    return "".join(f"    @overload\n    {text}" for text in texts)


def _class(name, kind, names):
    base = next((b for b in kind.__mro__[1:] if names.get(b.__name__) is b), None)
    parts = _parts(kind, base)
    members = {n: v for part in parts for n, v in vars(part).items()}
    lines = [_attributes(parts, members)]
    for key, value in members.items():
        if key.startswith("_") and key not in _SPECIAL:
            continue
        if isinstance(value, property):
            result = _RESULTS.get(f"{name}.{key}") or _documented_attributes(parts).get(key, "Any")
            lines.append(f"    @property\n    def {key}(self) -> {result}: ...\n")
            if value.fset:
                lines.append(f"    @{key}.setter\n    def {key}(self, value: Any) -> None: ...\n")
        elif isinstance(value, classmethod):
            lines.append(f"    @classmethod\n{_method(kind, key, value.__func__, parts)}")
        elif isinstance(value, staticmethod):
            lines.append(f"    @staticmethod\n    {function_text(key, value.__func__)}")
        elif inspect.isfunction(value):
            lines.append(_method(kind, key, value, parts))
    lines += [_LAYER] if name == "Layer" else []
    masked = "return_mask" in inspect.signature(kind.__init__).parameters
    if masked and "__init__" not in members:
        lines.append(_method(kind, "__init__", kind.__init__, _parts(kind, None)))
    own = masked and "__init__" in members
    base = base.__name__ if base else _BASES.get(name)
    if masked:
        base = f"{base}, Generic[_Pooled]" if own else f"{base}[_Pooled]"
    of_base = f"({base})" if base else ""
    return f"class {name}{of_base}:\n{''.join(lines) or '    ...' + chr(10)}"


def classes_stub(module):
    """The path of the stub of a package or module, and its text."""
    package = importlib.import_module(module)
    values = {name: getattr(package, name) for name in package.__all__}
    for name, value in vars(package).items():  # Fluid's names of the module's own classes
        if name[0] != "_" and inspect.isclass(value) and value.__module__ == module:
            values[name] = value
    kinds = {n: v for n, v in values.items() if inspect.isclass(v) and n == v.__name__}
    lines, definitions = [], []
    for name, home in _HOMES.items():
        if home != module:
            lines.append(f"from {home} import {name}{f' as {name}' if name in values else ''}\n")
    for name, value in sorted(
        values.items(), key=lambda item: len(getattr(item[1], "__mro__", ()))
    ):
        if name in kinds and not issubclass(value, (tuple, BaseException)):
            definitions.append("\n" + _class(name, value, kinds))
        elif name in kinds:
            lines.append(f"from {value.__module__} import {name} as {name}\n")
        elif inspect.isclass(value):
            definitions.append(f"{name} = {value.__name__}\n")
        elif inspect.ismodule(value):
            lines.append(f"from dygraph import {name} as {name}\n")
        else:
            own = value.__name__
            lines.append(f"from {value.__module__} import {own} as {own}\n")
            definitions += [f"{name} = {own}\n"] if name != own else []
    if module == "dygraph.nn":
        lines.append("from dygraph.nn import functional as functional, utils as utils\n")
    call = _CALL if "Layer" in kinds else ""
    path = module.removeprefix("dygraph.").replace(".", "/")
    path += "/__init__.pyi" if hasattr(package, "__path__") else ".pyi"
    return path, (
        f"{HEAD}{IMPORTS}from dygraph._core import {USED}\n"
        f"{''.join(lines)}{_TYPES}{call}{''.join(definitions)}"
    )
