"""Fluid's `memory_optimize` and `release_memory`: variables end after their last use."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.static import passes
from dygraph.static.program import OpRole, Program

__all__ = ["memory_optimize", "release_memory"]


def memory_optimize(input_program, skip_opt_set=None, print_log=False, level=0, skip_grads=True):
    """Insert ``delete_var`` operators after the last uses of variables, in place, as Fluid does.

    Persistable variables, fed ones and results that no operator reads stay. No bit changes. The
    executor frees values after their last use in any case, so its peak stays as it was; the
    operators serve readers of the program and other executors. `static.passes.apply` with the
    pass ``memory_optimize`` gives a changed copy.

    Parameters
    ----------
    input_program : Program
        Complete, with its backward pass and optimizer.
    skip_opt_set : set of str or Variable, optional
        Variables that stay, such as those to fetch.
    print_log : bool
        Print the name and the place of each variable that ends.
    level : int
        Fluid's, 0 or 1; both end the same variables.
    skip_grads : bool
        Leave gradients (names with ``@GRAD``) as they are.

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError
        An argument is of another type, or `level` is another number.

    Examples
    --------
    >>> from dygraph import static
    >>> main = static.Program()
    >>> with static.program_guard(main):
    ...     x = static.data("x", [None, 2])
    ...     y = static.layers.sqrt(static.layers.exp(x))
    >>> static.memory_optimize(main)
    >>> [op.type for op in main.global_block().ops]
    ['exp', 'sqrt', 'delete_var']
    """
    check.integer(level, "memory_optimize: level", 0, 1)
    skip = _names(input_program, skip_opt_set, "memory_optimize")
    _run(input_program, skip, bool(skip_grads), bool(print_log))


def release_memory(input_program, skip_opt_set=None):
    """As `memory_optimize`, with gradients.

    Parameters
    ----------
    input_program : Program
    skip_opt_set : set of str or Variable, optional

    Raises
    ------
    ArgumentTypeError
        An argument is of another type.

    Examples
    --------
    >>> from dygraph import static
    >>> main = static.Program()
    >>> with static.program_guard(main):
    ...     y = static.layers.sqrt(static.layers.exp(static.data("x", [None, 2])))
    >>> static.release_memory(main, skip_opt_set={y.name})
    >>> main.global_block().ops[-1].type
    'delete_var'
    """
    _run(input_program, _names(input_program, skip_opt_set, "release_memory"), False, False)


def _run(program, skip, skip_grads, print_log):
    passes.run("memory_optimize", program, skip=skip, skip_grads=skip_grads, print_log=print_log)


def _names(program, skip, what):
    if not isinstance(program, Program):
        raise ArgumentTypeError(
            f"{what}: input_program must be a static.Program, got {kind_of(program)}"
        )
    if isinstance(skip, (str, _core.Variable)) or not hasattr(skip or (), "__iter__"):
        raise ArgumentTypeError(
            f"{what}: skip_opt_set must be a set of names, got {kind_of(skip)}. Write {{loss.name}}"
        )
    names = [getattr(item, "name", item) for item in skip or ()]
    for name in names:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"{what}: skip_opt_set must hold names, got {kind_of(name)}")
    return sorted(names)


def _optimize(program, scope, skip=(), skip_grads=True, print_log=False):
    """The pass: variables of the first block that an operator makes and another one reads."""
    block = program.global_block()
    made, last, ended = set(), {}, {*skip}
    for i, op in enumerate(block.ops):
        if op.type == "delete_var":
            ended.update(op.input_arg_names)
        for name in op.input_arg_names:
            if name in made:
                last[name] = i
        for name in op.output_arg_names:
            made.add(name)
            if name in last:
                last[name] = i
        if op.type == "fetch":
            ended.update(op.input_arg_names)
    for inner in program.blocks[1:]:  # which variables their loops read in turns, no place shows
        for op in inner.ops:
            ended.update(op.input_arg_names)
            ended.update(op.output_arg_names)
    by_place = {}
    for name, i in last.items():
        variable = block.vars.get(name)
        stays = (
            variable is None or variable.persistable or name in ended or name in program.held
            or (skip_grads and "@GRAD" in name)
        )  # fmt: skip
        if not stays:
            if block.ops[i].role & OpRole.Optimize:  # updates that stand together run together
                i = len(block.ops) - 1
            by_place.setdefault(i, []).append(name)
    for i in sorted(by_place, reverse=True):
        role = block.ops[i].role
        op = block.insert_op(i + 1, "delete_var", {"X": sorted(by_place[i])}, {})
        op.set_attr("op_role", int(role))
        if print_log:
            print(f"memory_optimize: {', '.join(sorted(by_place[i]))} after operator {i}")


passes.add(
    "memory_optimize", _optimize,
    "Inserts delete_var after the last uses of variables; the executor frees them there anyway.",
    [
        ("skip", [], "names of variables that stay"),
        ("skip_grads", True, "gradients stay"),
        ("print_log", False, "print what ends where"),
    ],
)  # fmt: skip
