"""Branches in programs: one of several functions, and blocks that run if a condition holds.

Examples
--------
>>> import dygraph
>>> from dygraph.static import layers
>>> x = dygraph.to_variable([3.0])
>>> layers.cond(x > 2.0, lambda: x * 10.0, lambda: -x).tolist()
[30.0]
"""

import contextlib
import functools

from dygraph import _core, unique_name
from dygraph.core import check
from dygraph.errors import (
    AlreadyExistsError,
    ArgumentTypeError,
    InvalidArgumentError,
    kind_of,
)
from dygraph.static import bodies, nested
from dygraph.static.layers.comparisons import equal, logical_not, logical_or
from dygraph.static.layers.creation import fill_constant
from dygraph.static.program import Variable

__all__ = ["case", "cond", "switch_case"]


@contextlib.contextmanager
def conditional_block(program, conditions, owner, scalar=True):
    """A block that runs if the condition holds; without `scalar`, if each condition has rows."""
    with bodies.taken_back(program) as moment:
        with bodies.body(program, owner) as body:
            yield body
        parent = program.current_block()
        reads, writes = bodies.outside_uses(body)
        bodies.joined(program, moment, owner, loop=False)
        parent.append_op(
            "conditional_block",
            {"Cond": conditions, "Input": reads},
            {"Out": writes, "Scope": bodies.steps(parent)},
            {"sub_block": body, "is_scalar_condition": scalar},
        )


# One of two functions -----------------------------------------------------------------------------


def cond(pred, true_fn=None, false_fn=None, name=None):
    """The result of `true_fn` if `pred` is true, else that of `false_fn`.

    Given a variable of a program, both functions are called, each to describe a block; a run
    executes one of the two. Given an eager Variable, only the chosen function is called.

    Parameters
    ----------
    pred : Variable
        One bool.
    true_fn, false_fn : callable, optional
        Functions without arguments. Both return Variables in the same structure, or None; without a
        function, that branch does nothing. A size in which the two differ is -1 in the result. A
        result of which the type or rank differs has neither shape nor dtype: it can be fetched, but
        operators refuse it.
    name : str, optional
        Fluid's; not used.

    Returns
    -------
    Variable, or list, tuple or dict of them, or None

    Raises
    ------
    ArgumentTypeError
        `pred` is not a bool, or a function is not callable.
    InvalidArgumentError
        `pred` does not hold exactly one element, or the results differ in structure.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program()):
    ...     x = static.data("x", [2], "float32")
    ...     y = layers.cond(layers.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: x - 1.0)
    ...     for values in ([1, 2], [-1, -2]):
    ...         feed = {"x": np.array(values, "float32")}
    ...         print(static.Executor().run(feed=feed, fetch_list=[y])[0])
    [2. 4.]
    [-2. -3.]
    """
    bodies.condition(pred, "cond: pred")
    for function, what in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if function is not None and not callable(function):
            raise ArgumentTypeError(f"cond: {what} must be a function, got {kind_of(function)}")
    if not isinstance(pred, Variable):
        taken = true_fn if pred else false_fn
        return None if taken is None else taken()
    program = bodies.program_of(pred, "cond", "")
    with bodies.taken_back(program):
        inverse = logical_not(pred) if false_fn is not None else None
        first = second = None
        if true_fn is not None:
            first = _Branch(program, pred, "true_fn", true_fn)
        if false_fn is not None:
            second = _Branch(program, inverse, "false_fn", false_fn, first)
        return _joined(first, second)


class _Branch:
    """The block of one function, which writes its results to variables outside."""

    def __init__(self, program, pred, what, function, other=None):
        self.what = what
        with conditional_block(program, [pred], f"cond, {what}") as body:
            self.results = function()
            self.leaves = nested.leaves(self.results)
            if other is not None:
                _check_structure(other, self)
                self.outside = other.outside
            else:
                self.outside = [_outside(program, body, leaf) for leaf in self.leaves]
            self.facts = [_facts(leaf) for leaf in self.leaves]
            for i, (leaf, outside) in enumerate(zip(self.leaves, self.outside, strict=True)):
                if other is not None:
                    _check_leaf(other, self, i)
                if outside is None:
                    continue
                if _fit(self.facts[i], (other or self).facts[i]):
                    body.hand_on(leaf, outside)
                else:
                    _leave(body, leaf, outside)


def _leave(body, leaf, outside):
    """Assign without changing the variable's declared shape and type."""
    body.check_sees(leaf, "cond")
    desc = _core.Op("assign")
    desc.set_input("X", [leaf.name])
    desc.set_output("Out", [outside.name])
    desc.complete_attrs()
    desc.set_attr("hands_on", True)
    body.put_op(body.take(desc))


def _fit(one, two):
    """Whether results have a type and a rank, and the same."""
    shapes = one[2], two[2]
    return None not in shapes and one[1] == two[1] and len(shapes[0]) == len(shapes[1])


def _outside(program, body, leaf):
    """A variable of the enclosing block for a result; None if the result is not a Variable."""
    if not isinstance(leaf, _core.Variable):
        return None
    bodies.program_of(leaf, "cond", "Give variables of the program")
    return program.block(body.parent_idx).create_var(
        name=unique_name.generate("cond.tmp"), type=leaf.type, dtype=leaf.dtype,
        shape=leaf.desc.shape, lod_level=leaf.lod_level or None, stop_gradient=True,
    )  # fmt: skip


def _facts(leaf):
    if not isinstance(leaf, Variable):
        return None
    return leaf.type, str(leaf.dtype), leaf.desc.shape, leaf.lod_level, leaf.stop_gradient


def _described(leaf):
    if isinstance(leaf, Variable):
        shown = f"{leaf.type} of {leaf.dtype} and shape {leaf.desc.shape}"
        return f"{shown}, made at {bodies.made_at(leaf)}"
    return repr(leaf)


def _check_structure(first, second):
    found = nested.different(first.results, second.results)
    if found:
        raise InvalidArgumentError(
            "cond: true_fn and false_fn must give the same structure, got "
            f"{found[0]} and {found[1]}"
        )


def _check_leaf(first, second, i):
    """Check that two results can become one variable, or are equal constants."""
    one, two = first.leaves[i], second.leaves[i]
    both = isinstance(one, Variable), isinstance(two, _core.Variable)
    if all(both):
        bodies.program_of(two, "cond", "Give variables of the program")
        a, b = first.facts[i], second.facts[i]
        if a[0] != b[0] or (a[0] != "LOD_TENSOR" and not _fit(a, b)):
            raise ArgumentTypeError(
                f"cond: true_fn and false_fn must give the same kinds of variables, got "
                f"{_described(one)} and {_described(two)}"
            )
    elif any(both) or type(one) is not type(two) or one != two:
        raise ArgumentTypeError(
            "cond: true_fn and false_fn must give Variables, or values that are equal, got "
            f"{_described(one)} and {_described(two)}. Make a Variable with layers.fill_constant"
        )


def _joined(first, second):
    if first is None or second is None:
        given = first or second
        if given is not None and any(leaf is not None for leaf in given.leaves):
            missing = "true_fn" if first is None else "false_fn"
            raise InvalidArgumentError(
                f"cond: true_fn and false_fn must give the same structure, but {missing} is None "
                f"and {given.what} gives {_described(given.leaves[0])}. Give both, or assign to a "
                "variable that was made before"
            )
        return None
    results = []
    rows = zip(first.outside, first.leaves, first.facts, second.facts, strict=True)
    for outside, leaf, a, b in rows:
        if outside is not None:
            if not _fit(a, b):
                outside.desc.shape = None
                results.append(outside)
                continue
            if outside.type != "LOD_TENSOR_ARRAY":
                pairs = zip(a[2], b[2], strict=True)
                outside.desc.shape = [m if m == n else -1 for m, n in pairs]
            outside.lod_level = max(a[3], b[3])
            outside.stop_gradient = a[4] and b[4]
        results.append(leaf if outside is None else outside)
    return nested.packed(first.results, results)


# One of many --------------------------------------------------------------------------------------


def _function(value, what):
    if not callable(value):
        raise ArgumentTypeError(f"{what} must be a function, got {kind_of(value)}")
    return value


LONGEST_CHAIN = 16  # of conditions nested in each other; a program nests at most 32 blocks


def _chain(pairs, default):
    """Nested `cond`, the first pair outermost; a long list is halved until its parts are short."""
    if len(pairs) > LONGEST_CHAIN:
        half = len(pairs) // 2
        first, rest = pairs[:half], pairs[half:]
        among_first = functools.reduce(logical_or, [pred for pred, _ in first])
        chosen = functools.partial(_chain, first[:-1], first[-1][1])
        return cond(among_first, chosen, functools.partial(_chain, rest, default))
    for pred, function in reversed(pairs):
        default = functools.partial(cond, pred, function, default)
    return default()


def case(pred_fn_pairs, default=None, name=None):
    """The result of the function beside the first true condition, or of `default` if none is true.

    Parameters
    ----------
    pred_fn_pairs : list or tuple of (Variable, callable)
        Conditions of one bool each, and functions without arguments.
    default : callable, optional
        None: the last function is the default.
    name : str, optional
        Accepted as in Fluid; not used.

    Returns
    -------
    Variable, or list, tuple or dict of them, or None
        As `cond` returns.

    Raises
    ------
    ArgumentTypeError
        `pred_fn_pairs` is not a list of pairs, a condition is not a bool, or a function is not
        callable.
    InvalidArgumentError
        `pred_fn_pairs` is empty, or the results differ in structure or rank.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> x = dygraph.to_variable([3.0])
    >>> layers.case([(x < 1.0, lambda: x), (x < 5.0, lambda: x * 2.0)], lambda: x * 3.0).tolist()
    [6.0]
    """
    if not isinstance(pred_fn_pairs, (list, tuple)):
        raise ArgumentTypeError(
            f"case: pred_fn_pairs must be a list of pairs, got {kind_of(pred_fn_pairs)}"
        )
    if not pred_fn_pairs:
        raise InvalidArgumentError("case: pred_fn_pairs must hold a pair, got none")
    pairs = []
    for pair in pred_fn_pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ArgumentTypeError(
                f"case: pred_fn_pairs must hold pairs (condition, function), got {pair!r}"
            )
        bodies.condition(pair[0], "case: a condition")
        pairs.append((pair[0], _function(pair[1], "case: the function beside a condition")))
    if default is None:
        default = pairs.pop()[1]
    return _chain(pairs, _function(default, "case: default"))


def switch_case(branch_index, branch_fns, default=None, name=None):
    """The result of the function numbered `branch_index`, or of `default` if there is none.

    Parameters
    ----------
    branch_index : Variable
        One int32, int64 or uint8.
    branch_fns : dict of int to callable, or list of callable or of (int, callable)
        Functions without arguments. A list without numbers counts from 0.
    default : callable, optional
        None: the function with the greatest number is the default.
    name : str, optional
        Accepted as in Fluid; not used.

    Returns
    -------
    Variable, or list, tuple or dict of them, or None
        As `cond` returns.

    Raises
    ------
    ArgumentTypeError
        `branch_index` is not an integer Variable, a number is not an int, or a function is not
        callable.
    InvalidArgumentError
        `branch_index` does not hold exactly one element, `branch_fns` is empty, or the results
        differ in structure or rank.
    AlreadyExistsError
        Two functions have the same number.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> x, one = dygraph.to_variable([3.0]), dygraph.to_variable([1])
    >>> layers.switch_case(one, {0: lambda: x, 1: lambda: x * 2.0}, lambda: x * 3.0).tolist()
    [6.0]
    """
    if not isinstance(branch_index, _core.Variable) or str(branch_index.dtype) not in (
        "int32", "int64", "uint8",
    ):  # fmt: skip
        given = getattr(branch_index, "dtype", kind_of(branch_index))
        raise ArgumentTypeError(
            f"switch_case: branch_index must be a Variable of one int32, int64 or uint8, "
            f"got {given}"
        )
    symbolic = isinstance(branch_index, Variable)
    shape = tuple(branch_index.desc.shape if symbolic else branch_index.shape)
    if any(n != 1 for n in shape):
        raise check.open_size(
            f"switch_case: branch_index must hold one number, got shape {shape}",
            "Declare or reduce it to one element",
            InvalidArgumentError,
        )
    functions = _numbered(branch_fns)
    if default is None:
        default = functions[-1][1]
        functions = functions[:-1]
    _function(default, "switch_case: default")
    if not symbolic:
        return dict(functions).get(branch_index.item(), default)()
    program = bodies.program_of(branch_index, "switch_case", "")
    with bodies.taken_back(program):
        dtype = str(branch_index.dtype)
        pairs = [
            (equal(branch_index, fill_constant([1], dtype, number)), function)
            for number, function in functions
        ]
        return _chain(pairs, default)


def _numbered(branch_fns):
    """[(number, function)], in ascending order of the numbers."""
    if not isinstance(branch_fns, (list, tuple, dict)):
        raise ArgumentTypeError(
            f"switch_case: branch_fns must be a dict or list of functions, got "
            f"{kind_of(branch_fns)}"
        )
    if isinstance(branch_fns, dict):
        branch_fns = list(branch_fns.items())
    elif all(callable(item) for item in branch_fns):
        branch_fns = list(enumerate(branch_fns))
    if not branch_fns:
        raise InvalidArgumentError("switch_case: branch_fns must hold a function, got none")
    found = {}
    for item in branch_fns:
        if not isinstance(item, tuple) or len(item) != 2 or type(item[0]) is not int:
            raise ArgumentTypeError(
                f"switch_case: branch_fns must hold pairs (int, function), got {item!r}"
            )
        number, function = item
        if number in found:
            raise AlreadyExistsError(
                f"switch_case: the numbers of branch_fns must differ, got {number} twice"
            )
        found[number] = _function(function, f"switch_case: the function for {number}")
    return sorted(found.items())
