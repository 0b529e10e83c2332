"""Layer functions: the program for their operators, and the names of the results.

A call whose arguments hold a program's variables appends, one on eager Variables computes. One that
takes no Variable at all computes directly inside `dygraph.guard` and appends elsewhere. The results
of layer function ``f`` are named ``f_0.tmp_0``, ``f_0.tmp_1``, ..., those of ``f(..., name="foo")``
are ``foo.tmp_0`` and so on.
"""

import functools
import inspect

import dygraph
from dygraph import _core, unique_name
from dygraph.core.variable import Parameter as EagerParameter
from dygraph.errors import (
    AlreadyExistsError,
    ArgumentTypeError,
    DygraphError,
    InvalidArgumentError,
    did_you_mean_or_all,
)
from dygraph.nn.activation import activation
from dygraph.static.program import Variable, computes, default_main_program, default_startup_program

__all__ = ["activated", "into", "layer", "operator", "run"]


def _variables(values):
    for value in values:
        if isinstance(value, _core.Variable):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _variables(value)


def _program(owner, values):
    """The program of a call; None if it is eager."""
    eager, enters, found = False, False, None
    for value in values:
        if isinstance(value, (list, tuple)):
            values = _variables(values)
            break
    for value in values:
        if isinstance(value, Variable):
            found = found or value.block.program
        elif isinstance(value, EagerParameter):
            enters = True  # a program where there is one
        elif isinstance(value, _core.Variable):
            eager = True
    if found is not None and eager:
        raise ArgumentTypeError(
            f"{owner}: its Variables must all be of the program or all eager, got both. Write an "
            "array into the program with static.layers.assign(array)"
        )
    if found is None and not (eager or enters or computes()):
        return default_main_program()
    return found


def _bound(signature, owner, args, kwargs):
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        unknown = next((k for k in kwargs if k not in signature.parameters), "")
        hint = did_you_mean_or_all(unknown, signature.parameters) if unknown else ""
        raise ArgumentTypeError(f"{owner}: {error}.{hint}".rstrip()) from None


def _take_back(program, version, blocks):
    program.take_back((version, blocks, program.desc))
    default_startup_program().global_block().core.take_back(version)


def layer(function=None, *, parameters=False, named=None):
    """Make a function a layer function.

    `parameters`: it makes parameters, so it cannot compute eagerly. `named`: the name for its
    results in Fluid, if that is not the function's.
    """
    if function is None:
        return functools.partial(layer, parameters=parameters, named=named)
    owner, signature = function.__name__, inspect.signature(function)
    at = list(signature.parameters).index("name") if "name" in signature.parameters else 99

    @functools.wraps(function)
    def described(*args, **kwargs):
        program = _program(owner, (*args, *kwargs.values()) if kwargs else args)
        if program is None:
            if parameters:
                raise ArgumentTypeError(
                    f"{owner}: its variables must be of a program, as its parameters, got an eager "
                    f"Variable. Use a layer of dygraph.nn for those"
                )
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                if type(error) is TypeError:
                    _bound(signature, owner, args, kwargs)
                raise
        name = args[at] if len(args) > at else kwargs.get("name")
        if name is not None and not isinstance(name, str):
            raise ArgumentTypeError(f"{owner}: name must be a string, got {name!r}")
        before = _core.last_version(), program.num_blocks
        try:
            with program.layer(name or unique_name.generate(named or owner)):
                return function(*args, **kwargs)
        except Exception as error:
            _take_back(program, *before)
            if type(error) is TypeError:  # Python's own, if it is about this call
                _bound(signature, owner, args, kwargs)
            text = str(error.args[0] if error.args else error)
            if not isinstance(error, DygraphError) or text.startswith(f"{owner}:"):
                raise
            raise type(error)(f"{owner}: {text}") from error

    described.__signature__ = signature
    return described


def run(type, inputs, attrs=None, counts=None):
    """The results of an operator by slot. Inputs and attributes that are None are left out."""
    slots = {slot: value for slot, value in inputs.items() if value is not None}
    given = {key: value for key, value in (attrs or {}).items() if value is not None}
    return _core.run_op(type, slots, given, counts or {})


def into(out, result, owner):
    """Make `out` the variable of `result`; with None, `result`."""
    if out is None:
        return result
    if not isinstance(out, _core.Variable):
        raise ArgumentTypeError(f"{owner}: the variable to write must be a Variable, got {out!r}")
    if not isinstance(out, Variable) and _core.is_empty(out):
        return out.set_value(result) or out
    if out.dtype is not None and str(out.dtype) != str(result.dtype):
        raise ArgumentTypeError(
            f"{owner}: the variable to write must be of {result.dtype}, got {out.dtype}"
        )
    if not isinstance(result, Variable):
        return out.set_value(result) or out
    block, op = result.block, result.op
    if not isinstance(out, Variable) or out.block.program is not block.program:
        raise InvalidArgumentError(f"{owner}: the variable to write must be one of the program")
    block.check_sees(out, owner)
    stop, level = out.stop_gradient, result.desc.lod_level
    op.rename_output(result.name, out.name)
    block.forget_var(result.name)
    keeps, before = out.persistable, out.desc.lod_level
    out.desc.describe_value(result)
    out.desc.persistable = keeps
    if level is not None and level > (-1 if before is None else before):
        out.desc.lod_level = level
    out.stop_gradient = stop
    return out


def activated(x, act, owner):
    """``act(x)``; ``x`` for None."""
    function = activation(act, owner)
    return x if function is None else function(x)


# Functions that are an operator with other names --------------------------------------------------

_NOT_READ = ("name", "act", "out", "cond", "output", "use_cudnn", "force_cpu", "inplace", "dtype")


class _Plan:
    """The slot or attribute of each argument, from the operator's declaration."""

    def __init__(self, owner, op, signature, names):
        info = dygraph.op_info(op)
        slots = {slot.name.lower(): slot for slot in info.inputs}
        attrs = {attr.name for attr in info.attrs}
        self.op, self.slots, self.attrs = op, [], []
        for argument, parameter in signature.parameters.items():
            target = names.get(argument, argument)
            if target in attrs:
                self.attrs.append((argument, target))
            if target.lower() in slots:
                slot = slots[target.lower()]
                optional = parameter.default is None
                also = target if target in attrs else None
                self.slots.append((argument, slot.name, slot.duplicable, optional, also))
            elif target not in attrs and argument not in _NOT_READ:
                raise AlreadyExistsError(f"{owner}: {op} has no slot or attribute '{target}'")
        shown = [s for s in info.outputs if not (s.intermediate or s.extra)]
        self.outputs = [slot.name for slot in shown]
        self.out = next((a for a in ("out", "cond", "output") if a in signature.parameters), None)
        self.act = "act" in signature.parameters


def operator(type=None, /, **names):
    """Make a function of a signature and a docstring the operator of its name, or of `type`.

    An argument is the slot or attribute of its name, unless `names` gives another.
    """

    def made(described):
        owner, signature = described.__name__, inspect.signature(described)
        return layer(_function(described, owner, signature, type or owner, names))

    return made


def _function(described, owner, signature, op, names):
    @functools.cache
    def planned():
        return _Plan(owner, op, signature, names)

    parameters = signature.parameters.items()
    arguments = tuple(signature.parameters)
    defaults = {name: p.default for name, p in parameters if p.default is not p.empty}

    @functools.wraps(described)
    def function(*args, **kwargs):
        given = {**defaults, **dict(zip(arguments, args, strict=False)), **kwargs}
        if (
            len(given) != len(arguments)
            or len(args) > len(arguments)
            or (kwargs and not kwargs.keys() <= set(arguments[len(args) :]))
        ):
            signature.bind(*args, **kwargs)  # raises
        plan = planned()
        inputs, attrs = {}, {attr: given[argument] for argument, attr in plan.attrs}
        for argument, slot, many, optional, attr in plan.slots:
            value = given[argument]
            if attr:  # a number, or a variable that holds one
                if not isinstance(value, _core.Variable):
                    continue
                del attrs[attr]
            if value is None and not optional:
                raise ArgumentTypeError(f"{owner}: {argument} must be a Variable, got None")
            if many and value is not None and not isinstance(value, (list, tuple)):
                value = [value]
            inputs[slot] = list(value) if isinstance(value, tuple) else value
        found = run(plan.op, inputs, attrs)
        results = [found[slot] for slot in plan.outputs]
        if len(results) > 1:
            return tuple(results)
        result = into(given[plan.out], results[0], owner) if plan.out else results[0]
        return activated(result, given["act"], owner) if plan.act else result

    function.__signature__ = signature
    return function
