"""The stub of the core: Variable, types of numbers, places, errors."""

import inspect
import re

from dygraph import _core
from dygraph.core import spellings
from dygraph.stubs.signatures import HEAD, IMPORTS, function_text

__all__ = ["core_stub"]

Variable = _core.Variable
_ALIASES = """
_Int = SupportsIndex
_Float = SupportsFloat | SupportsIndex
_Ints = Sequence[SupportsIndex] | np.ndarray[Any, Any]
_Number = float | np.number[Any] | np.bool_
_Array = _Number | np.ndarray[Any, Any] | list[Any] | tuple[Any, ...]  # no str
"""
_DTYPE = "_DType = dtype | str | type | np.dtype[Any]\n"

# x.size, and torch's x.size(0).
_SIZE = """
class _Size(int):
    @overload
    def __call__(self, dim: None = None) -> tuple[int, ...]: ...
    @overload
    def __call__(self, dim: _Int) -> int: ...

"""
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
    def size(self) -> _Size: ...
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
        lines.append("    " + function_text(name, function, method=True))
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


def core_stub():
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
        f"{HEAD}{IMPORTS}{_ALIASES}{_DTYPE_CLASS}{_DTYPE}{_PLACE_CLASS}{_SIZE}{_variable()}\n"
        f"{rest}__version__: str\n"
    )
