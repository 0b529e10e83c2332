"""Passes, which rewrite whole programs, by name. ``docs/new_pass.md`` adds one in C++."""

from dygraph import _core
from dygraph.errors import ArgumentTypeError, NotFoundError, kind_of
from dygraph.inspect.watch import user_line
from dygraph.static.graph import Graph
from dygraph.static.program import Program
from dygraph.static.scope import Scope

__all__ = ["DEFAULT", "about", "add", "apply", "describe", "graph", "names"]

# Passes that keep every bit of what is fetched, in the order in which they help each other.
DEFAULT = (
    "fold_constants", "cancel_moves", "common_subexpressions", "dead_code", "early_updates",
)  # fmt: skip


def names():
    """The names of all passes, sorted, with those of loaded libraries.

    Returns
    -------
    list of str
        For `about` and `apply`.

    Examples
    --------
    >>> from dygraph import static
    >>> {"fold_inference", "prune", "recompute"} <= set(static.passes.names())
    True
    """
    return _core.pass_names()


def about(name):
    r"""The description and the options of a pass, as text.

    Parameters
    ----------
    name : str
        The name of a pass.

    Returns
    -------
    str
        A line for the pass, and one for each option.

    Raises
    ------
    NotFoundError
        (a KeyError) There is no such pass; the message has near names.

    Examples
    --------
    >>> from dygraph import static
    >>> print("\n".join(static.passes.about("prune").splitlines()[1:]))
        feeds: a list of strings, default []; the variables that are given
        fetches: a list of strings, default []; the variables that are wanted, at least one
        states: a list of strings, default []; variables whose values the next run reads
    """
    what, options = _core.pass_info(_require(name, "about"))
    lines = [f"{name}: {what}"]
    lines += [f"    {o}: {kind}, default {value!r}; {text}" for o, kind, value, text in options]
    return "\n".join(lines)


def describe():
    """What each pass does, one line for each.

    Returns
    -------
    str
        ``name: text`` for each of `names()`.

    Examples
    --------
    >>> from dygraph import static
    >>> [line for line in static.passes.describe().splitlines() if line.startswith("dead_code")]
    ['dead_code: Operators whose results nothing reads are left out, in all blocks.']
    """
    return "\n".join(f"{name}: {_sentence(_core.pass_info(name)[0])}" for name in names())


def _sentence(text):
    first, dot, _ = text.partition(". ")
    return first + dot.strip()


def graph(program, keep=()):
    """A copy of a program as an SSA graph, in which every write of a variable is a new version.

    Parameters
    ----------
    program : Program
        Not changed.
    keep : list of str
        Variables that are fetched. Where neither they nor fetch operators say what is wanted,
        everything is that no operator reads.

    Returns
    -------
    Graph
        With ``nodes`` and ``versions``, each with ``inputs`` and ``outputs``; ``replace`` and
        ``remove`` edit it, ``to_program()`` writes it down, ``draw()`` draws it.

    Raises
    ------
    ArgumentTypeError
        `program` is no Program.
    InvalidArgumentError
        `keep` names no variable of the program.

    Examples
    --------
    >>> from dygraph import static
    >>> main = static.Program()
    >>> with static.program_guard(main), static.unique_name.guard():
    ...     x = static.data("x", [4])
    ...     y = static.layers.exp(x)
    ...     again = static.layers.assign(y, x)
    >>> print(static.passes.graph(main))
    block 0
    0: exp_0.tmp_0:1 = exp(x:0)
    1: x:1 = assign(exp_0.tmp_0:1)
    <BLANKLINE>
    """
    if not isinstance(program, Program):
        raise ArgumentTypeError(
            f"passes.graph: program must be a static.Program, got {kind_of(program)}"
        )
    if isinstance(keep, str) or not all(isinstance(name, str) for name in keep):
        raise ArgumentTypeError(f"passes.graph: keep must be a list of names, got {keep!r}")
    return Graph(program, keep)


def apply(name, program, scope=None, **options):
    """A copy of a program, rewritten by a pass, or by a list of passes.

    ``apply(program, passes)`` applies several, one after another; ``apply(name, program)`` one.

    Parameters
    ----------
    name : str
        One of `names()`; `about` lists its options.
    program : Program
        Not changed.
    passes : list
        Names, or pairs of a name and a dict of the pass's options. `DEFAULT` holds the passes that
        keep every bit.
    scope : Scope, optional
        The scope with the values of its variables, for passes that read or write them.
    options
        Options of the pass; of a list, those of every pass that has an option of this name:
        ``keep`` names what is fetched.

    Returns
    -------
    Program

    Raises
    ------
    NotFoundError
        (a KeyError) No pass or option has this name; the message has near names.
    ArgumentTypeError, InvalidArgumentError, PreconditionNotMetError
        An option has the wrong type, or the pass itself raises it. The program given is as it was.

    Examples
    --------
    >>> from dygraph import static
    >>> main = static.Program()
    >>> with static.program_guard(main):
    ...     x = static.data("x", [None, 4])
    ...     y = static.layers.exp(x)
    ...     z = static.layers.sqrt(y)
    >>> less = static.passes.apply("prune", main, feeds=["x"], fetches=[y.name])
    >>> [op.type for op in less.global_block().ops]
    ['feed', 'exp', 'fetch']
    >>> less = static.passes.apply(main, static.passes.DEFAULT, keep=[y.name])
    >>> [op.type for op in less.global_block().ops]
    ['exp']
    """
    if isinstance(name, Program):
        return _apply_all(name, program, scope, options)
    _require(name, "apply")
    if not isinstance(program, Program):
        raise ArgumentTypeError(
            f"passes.apply: program must be a static.Program, got {kind_of(program)}"
        )
    copy = program.clone()
    run(name, copy, scope, **options)
    return copy


def _apply_all(program, passes, scope, options):
    """A copy of the program, rewritten by each pass of a list."""
    if not isinstance(passes, (list, tuple)):
        raise ArgumentTypeError(
            "passes.apply: passes must be a list of names, or of pairs of a name and its options, "
            f"got {kind_of(passes)}"
        )
    steps, known = [], {"keep"}  # which passes that take nothing out do not ask for
    for step in passes:
        name, own = step if isinstance(step, tuple) and len(step) == 2 else (step, {})
        if not isinstance(own, dict):
            raise ArgumentTypeError(
                f"passes.apply: the options of {name!r} must be a dict, got {kind_of(own)}"
            )
        has = {option for option, *_ in _core.pass_info(_require(name, "apply"))[1]}
        known |= has
        steps.append((name, {k: v for k, v in options.items() if k in has} | own))
    for option in options:
        if option not in known:
            raise NotFoundError(
                f"passes.apply: an option must be one of a pass in the list, {sorted(known)}, got "
                f"{option!r}"
            )
    copy = program.clone()
    for name, own in steps:
        run(name, copy, scope, **own)
    return copy


def run(name, program, scope=None, **options):
    """Rewrite a program in place. After an error the program may be partly rewritten."""
    if scope is not None and not isinstance(scope, Scope):
        raise ArgumentTypeError(f"passes.apply: scope must be a static.Scope, got {kind_of(scope)}")
    _core.apply_pass(program.core, name, options, scope)
    program.forget_blocks()
    for held in [held for held in program.held if not program.declares(held)]:
        del program.held[held]


def add(name, function, what, options=()):
    """Add a Python function as a pass.

    Parameters
    ----------
    name : str
        The name of the pass.
    function : callable
        ``function(program, scope, **options)`` edits the program; its result is ignored.
    what : str
        Its description, for `about`.
    options : list of (str, initial value, str)
        Names, defaults and descriptions. The type of the default is the option's: bool, int, float,
        str, or a list of str.

    Raises
    ------
    AlreadyExistsError
        (a ValueError) There is a pass of this name.

    Examples
    --------
    >>> from dygraph import static
    >>> def with_rate(program, scope, rate=0.5):
    ...     for block in program.blocks:
    ...         for op in block.ops:
    ...             if op.type == "dropout":
    ...                 op.set_attr("dropout_prob", rate)
    >>> static.passes.add(
    ...     "with_rate", with_rate, "Gives every dropout one rate.", [("rate", 0.5, "its rate")]
    ... )
    >>> main = static.Program()
    >>> with static.program_guard(main):
    ...     y = static.layers.dropout(static.data("x", [None, 4]), 0.1)
    >>> same = static.passes.apply("with_rate", main, rate=0.25)
    >>> [op.attr("dropout_prob") for op in same.global_block().ops if op.type == "dropout"]
    [0.25]
    """
    _require(name, "add")
    if not callable(function):
        raise ArgumentTypeError(f"passes.add: function must be callable, got {kind_of(function)}")
    if not isinstance(what, str):
        raise ArgumentTypeError(f"passes.add: what must be a text, got {kind_of(what)}")
    for option in options:
        if not isinstance(option, tuple) or [type(option[0]), type(option[-1])] != [str, str]:
            raise ArgumentTypeError(
                f"passes.add: options must be a list of (name, initial value, text), got {option!r}"
            )
    _core.add_pass(name, what, function, list(options), user_line())


def keep_bits(desc, keep, without=()):
    """A program's description after the passes of `DEFAULT`, for what is fetched."""
    for name in DEFAULT:
        if name not in without:
            has_keep = any(option == "keep" for option, *_ in _core.pass_info(name)[1])
            desc = _core.apply_pass(desc, name, {"keep": list(keep)} if has_keep else {})
    return desc


def _require(name, what):
    if not isinstance(name, str):
        raise ArgumentTypeError(f"passes.{what}: name must be a string, got {kind_of(name)}")
    return name
