"""Loops in programs: a block that runs while a condition holds."""

import contextlib

from dygraph import _core, unique_name
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, PreconditionNotMetError, kind_of
from dygraph.inspect.shown import Shown
from dygraph.static import bodies, nested
from dygraph.static.program import Variable

__all__ = ["While", "while_loop"]


class While(Shown):
    """A loop in a program: its block runs while `cond` is true.

    The block must update `cond`. Variables made before the loop keep the values that the block
    writes to them; variables made in the block end with each iteration. A loop without iterations
    changes no variable.

    Parameters
    ----------
    cond : Variable
        One bool of the program, written before the loop.
    is_test : bool
        True: no gradient will be computed, so the turns keep no values for it.
    name : str, optional
        Accepted as in Fluid; not used.

    Raises
    ------
    ArgumentTypeError
        `cond` is not a bool of a program. For an eager Variable write Python's ``while``.
    InvalidArgumentError
        `cond` does not hold exactly one element, or belongs to another program; or the block
        changes the shape of a variable made before the loop.
    PreconditionNotMetError
        The block does not write `cond`, or `block()` is called twice.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program()):
    ...     i = layers.fill_constant([1], "int64", 0)
    ...     total = layers.fill_constant([1], "float32", 0.0)
    ...     x = static.data("x", [1], "float32")
    ...     more = layers.less_than(i, layers.fill_constant([1], "int64", 3))
    ...     with layers.While(more).block():
    ...         _ = layers.assign(total + x, total)
    ...         _ = layers.increment(i)
    ...         _ = layers.less_than(i, layers.fill_constant([1], "int64", 3), cond=more)
    ...     feed = {"x": np.array([1.5], "float32")}
    ...     static.Executor().run(feed=feed, fetch_list=[total])
    [array([4.5], dtype=float32)]
    """

    def __init__(self, cond, is_test=False, name=None):
        self.program = bodies.program_of(
            cond, "While", "Write Python's own loop: while cond: ... cond = ..."
        )
        bodies.condition(cond, "While: cond")
        self.cond_var, self.is_test, self._described = cond, bool(is_test), False

    @contextlib.contextmanager
    def block(self):
        """The block of one iteration, for a single ``with`` statement."""
        if self._described:
            raise PreconditionNotMetError(
                "While: block() describes the iteration once, but was called again. Make another "
                "While"
            )
        program = self.program
        with bodies.taken_back(program) as moment:
            self._described = True
            try:
                with bodies.body(program, "While") as body:
                    yield
                self._complete(body, moment)
            except BaseException:
                self._described = False
                raise

    def _complete(self, body, moment):
        cond, parent = self.cond_var, self.program.current_block()
        if not any(cond.name in op.output_arg_names for op in body.ops):
            raise PreconditionNotMetError(
                f"While: the block must write the condition '{cond.name}', made at "
                f"{bodies.made_at(cond)}, or the loop would never end. End the block with "
                "layers.less_than(..., cond=...) or layers.assign(..., output=cond)"
            )
        reads, writes = bodies.outside_uses(body, [cond.name])
        bodies.joined(self.program, moment, "While", loop=True)
        parent.append_op(
            "while",
            {"X": reads, "Condition": cond},
            {"Out": writes, "StepScopes": bodies.steps(parent)},
            {"sub_block": body, "is_test": self.is_test},
        )


def while_loop(cond, body, loop_vars, is_test=False, name=None):
    """Run ``loop_vars = body(*loop_vars)`` while ``cond(*loop_vars)`` is true.

    Given variables of a program, it adds the loop to the program. `cond` and `body` are then called
    to describe one iteration, and called again if the iteration changes a size or which variables
    need a gradient. Given eager Variables, it is Python's ``while``. The variables passed in keep
    their values; arrays, like lists, change in place.

    Parameters
    ----------
    cond : callable
        Takes the variables, returns one bool.
    body : callable
        Takes the variables, returns new ones in the same structure.
    loop_vars : list or tuple
        Variables, or lists, tuples and dicts of them; at least one.
    is_test : bool
        True: no gradient will be computed, so the turns keep no values for it.
    name : str, optional
        Accepted as in Fluid; not used.

    Returns
    -------
    list or tuple
        The variables after the last iteration, in the structure of `loop_vars`.

    Raises
    ------
    ArgumentTypeError
        An argument has the wrong type, or an iteration changes the type of a variable.
    InvalidArgumentError
        `loop_vars` is empty, `cond` does not return exactly one element, or `body` returns another
        structure or rank.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> double = lambda i, x: [i + 1, x * 2]
    >>> i, x = layers.while_loop(
    ...     lambda i, x: i < 3, double, [dygraph.to_variable([0]), dygraph.to_variable([1.0])]
    ... )
    >>> x.tolist()
    [8.0]
    >>> with static.program_guard(static.Program()):
    ...     start = [layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "float32", 1)]
    ...     i, x = layers.while_loop(lambda i, x: i < 3, double, start)
    ...     static.Executor().run(fetch_list=[x])
    [array([8.], dtype=float32)]
    """
    for function, what in ((cond, "cond"), (body, "body")):
        if not callable(function):
            raise ArgumentTypeError(
                f"while_loop: {what} must be a function, got {kind_of(function)}"
            )
    if not isinstance(loop_vars, (list, tuple)):
        raise ArgumentTypeError(
            f"while_loop: loop_vars must be a list of Variables, got {kind_of(loop_vars)}"
        )
    given = _variables(loop_vars)
    if not any(isinstance(v, Variable) for v in given):
        return _python(cond, body, loop_vars)
    for value in given:
        program = bodies.program_of(value, "while_loop", "Give variables of one kind")
    with bodies.taken_back(program):
        return _Loop(program, cond, body, loop_vars, bool(is_test)).described()


def _variables(loop_vars):
    """The leaves; a list of eager Variables is an array, and one leaf."""
    given = nested.leaves(loop_vars)
    if not given:
        raise InvalidArgumentError("while_loop: loop_vars must hold a Variable, got none")
    for value in given:
        if not isinstance(value, _core.Variable):
            raise ArgumentTypeError(
                f"while_loop: loop_vars must hold Variables, got {kind_of(value)}. Make one with "
                "layers.fill_constant"
            )
    return given


def _as_list(results, loop_vars):
    results = results if isinstance(results, (list, tuple)) else [results]
    found = nested.different(list(loop_vars), list(results))
    if found:
        raise InvalidArgumentError(
            f"while_loop: body must give what loop_vars hold, got {found[1]} for {found[0]}"
        )
    for value in nested.leaves(list(results)):
        check.variable(value, "while_loop: what body gives")
    return list(results)


def _python(cond, body, loop_vars):
    kind, values = type(loop_vars), list(loop_vars)
    while True:
        holds = cond(*values)
        bodies.condition(holds, "while_loop: what cond gives")
        if not holds:
            return nested.packed(loop_vars, nested.leaves(values)) if kind is not list else values
        values = _as_list(body(*values), loop_vars)


class _Loop:
    """One `while_loop` of a program."""

    def __init__(self, program, cond, body, loop_vars, is_test):
        self.program, self.cond, self.body, self.is_test = program, cond, body, is_test
        self.given = loop_vars
        self.carried = [self._own(v) for v in nested.leaves(loop_vars)]

    def _own(self, given):
        """A variable that the iterations write and that starts with the given value."""
        if given.type == "LOD_TENSOR_ARRAY":
            return given
        return self._copy(given, "while_loop")

    def _copy(self, value, layer):
        name = unique_name.generate(layer)
        with self.program.layer(name):
            copy = _core.ops.assign(value)
        copy.op.set_attr("hands_on", True)
        copy.stop_gradient = value.stop_gradient
        return copy

    def described(self):
        """The variables after the loop."""
        while True:
            moment, names = self.program.moment(), unique_name.taken()
            known = {*self.program.global_block().core.var_names()}
            changed = self._turn()
            if not changed:
                return nested.packed(self.given, self.carried)
            self._take_back(moment, known)
            unique_name.give_back(names)
            for variable, shape, stop_gradient in changed:
                variable.desc.shape = shape
                variable.stop_gradient = stop_gradient

    def _take_back(self, moment, known):
        """Remove the description of the iteration; keep parameters, which the user may hold."""
        block = self.program.global_block()
        made = [v for v in block.vars.values() if v.persistable and v.name not in known]
        self.program.take_back(moment)
        for variable in made:
            block.put_var(variable)

    def _turn(self):
        """Describe the loop.

        If that needs facts on the variables that were not known, returns them.
        """
        program, carried = self.program, self.carried
        before = [(v.desc.shape, v.stop_gradient) for v in carried]
        start = self._condition(nested.packed(list(self.given), carried))
        loop = While(start, self.is_test)
        with (
            bodies.taken_back(program) as moment,
            bodies.body(program, "while_loop") as block,
        ):
            variables = nested.packed(list(self.given), carried)
            results = _as_list(self.body(*variables), self.given)
            holds = self.cond(*results)
            bodies.condition(holds, "while_loop: what cond gives")
            leaves = nested.leaves(results)
            changed = [
                found
                for row in zip(carried, before, leaves, strict=True)
                if (found := _renewed(*row))
            ]
            if changed:
                return changed
            self._write(leaves)
            block.append_op("assign", {"X": holds}, {"Out": start})
        loop._complete(block, moment)
        return []

    def _condition(self, variables):
        """The condition before the first iteration, in the loop's own variable."""
        count = self.program.current_block().core.op_count
        start = self.cond(*variables)
        bodies.condition(start, "while_loop: what cond gives")
        if not isinstance(start, Variable):
            raise ArgumentTypeError(
                "while_loop: cond must give a variable of the program, got an eager Variable"
            )
        ours = start.op is not None and start.block is self.program.current_block()
        if ours and start.op.idx >= count and not start.persistable:
            return start
        return self._copy(start, "while_loop")

    def _write(self, values):
        """The carried variables take the values, all at once."""
        block, carried = self.program.current_block(), self.carried
        pairs = [(v, to) for v, to in zip(values, carried, strict=True) if v is not to]
        targets = {id(to) for _, to in pairs}
        copies = [
            self._copy(v, "while_loop") if id(v) in targets and len(pairs) > 1 else v
            for v, _ in pairs
        ]
        for value, (_, to) in zip(copies, pairs, strict=True):
            block.hand_on(value, to)


def _renewed(variable, before, value):
    """(variable, shape, stop_gradient) if an iteration changes them, or None."""
    shape, stop = before
    if variable.type != value.type or str(variable.dtype) != str(value.dtype):
        raise ArgumentTypeError(
            f"while_loop: an iteration must keep the type of a variable, got {variable.dtype} "
            f"before it "
            f"and {value.dtype} after it, made at {bodies.made_at(value)}. Cast it with layers.cast"
        )
    if variable.type == "LOD_TENSOR_ARRAY":
        return None
    new = value.desc.shape
    if len(new) != len(shape):
        raise InvalidArgumentError(
            f"while_loop: an iteration must keep the rank of a variable, got shape {shape} before "
            f"it and "
            f"{new} after it, made at {bodies.made_at(value)}. Reshape it with layers.reshape"
        )
    joined = tuple(a if a == b else -1 for a, b in zip(shape, new, strict=True))
    stops = stop and value.stop_gradient
    return (variable, list(joined), stops) if (joined, stops) != (tuple(shape), stop) else None
