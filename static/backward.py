"""The backward pass of a program: operators from the same recipes as the eager tape's."""

from dygraph import _core
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.inspect.watch import user_line
from dygraph.static import passes
from dygraph.static.program import OpRole
from dygraph.static.variable import Variable, as_names

__all__ = ["append_backward", "gradients"]


def append_backward(loss, parameter_list=None, no_grad_set=None, callbacks=None, checkpoints=None):
    """Append the operators that compute the gradients of `loss`.

    Gradient operators follow the newest operator first, and terms of one gradient are added in that
    order, so values have the same bits as those of an eager ``loss.backward()``.

    Parameters
    ----------
    loss : Variable
        A result of the program. Its own gradient is 1 for each element.
    parameter_list : list of Parameter or str, optional
        Only paths to these are differentiated. Default: every trainable parameter.
    no_grad_set : set of Variable or str, optional
        These get and pass no gradient.
    callbacks : list of callable, optional
        Each is called with (block, operator) for every operator that was appended.
    checkpoints : list of Variable or str, optional
        Results of the forward pass that are kept. Other results before the last checkpoint that the
        gradients read are computed again (`static.optimizer.RecomputeOptimizer`).

    Returns
    -------
    list of (Parameter, Variable)
        Parameters that the loss depends on, with their gradients. Empty if gradients reach only
        other variables whose stop_gradient was set to False.

    Raises
    ------
    PreconditionNotMetError
        No input of the loss has a gradient, or an operator between them has none.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("x", [None, 3], "float32")
    ...     loss = static.layers.mean(static.layers.fc(x, size=1))
    ...     pairs = static.append_backward(loss)
    >>> [gradient.shape for _, gradient in pairs]
    [(3, 1), (1,)]
    """
    _require(loss, "append_backward: loss")
    if str(loss.dtype) not in ("float16", "bfloat16", "float32", "float64"):
        raise ArgumentTypeError(
            f"append_backward: loss must be of a floating-point type, got {loss.dtype}"
        )
    program, block = loss.block.program, loss.block
    if parameter_list is None:
        parameters = [p for p in program.all_parameters() if p.trainable]
    else:
        names = names_of(parameter_list, "append_backward: parameter_list")
        parameters = [block.var_recursive(name) for name in names]
    kept = set(as_names(list(checkpoints or ()), "append_backward: checkpoints"))
    others = kept - {name for op in block.ops for name in op.output_arg_names}
    if others:
        raise InvalidArgumentError(
            "append_backward: checkpoints must be results of operators before the loss, got "
            f"'{min(others)}'"
        )
    _check_of_one_program([loss], parameters, "append_backward")
    names_of(no_grad_set, "append_backward: no_grad_set")
    seed = _seed_of(loss)
    grads = _differentiate(
        block, [loss], [seed], no_grad_set,
        [p.name for p in parameters] if parameter_list is not None else [],
        [p.name for p in parameters], True, callbacks, kept,
    )  # fmt: skip
    pairs = [(p, grads[p.name]) for p in parameters if p.name in grads]
    if grads.keys() <= {loss.name}:
        raise PreconditionNotMetError(
            f"append_backward: '{loss.name}' must depend on a trainable parameter, but no gradient "
            f"reaches one. Check stop_gradient of the variables between them"
        )
    _mark(block, pairs)
    return pairs


def gradients(targets, inputs, target_gradients=None, no_grad_set=None):
    """Gradients of `targets` with respect to `inputs`, as variables of the program.

    Parameters
    ----------
    targets, inputs : Variable or list of Variable
        What to derive, and by what.
    target_gradients : Variable or list of Variable or None, optional
        Incoming gradients, in the shapes of the targets. None stands for ones.
    no_grad_set : set of Variable or str, optional
        Variables, or their names, that count as constants.

    Returns
    -------
    list of Variable or None
        One for each input; None if the targets do not depend on it. A derivative that is zero
        everywhere, such as the second one of relu, is a variable of zeros.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     x = static.data("x", [2], "float32")
    ...     x.stop_gradient = False
    ...     (gradient,) = static.gradients(x * x, x)
    >>> gradient.name
    'x@GRAD'
    """
    targets, inputs = _listed(targets, "targets"), _listed(inputs, "inputs")
    given = [None] * len(targets) if target_gradients is None else target_gradients
    given = given if isinstance(given, (list, tuple)) else [given]
    if len(given) != len(targets):
        raise InvalidArgumentError(
            f"gradients: there must be a target gradient for each of the {len(targets)} targets, "
            f"got {len(given)}"
        )
    _check_of_one_program(targets, inputs, "gradients")
    names_of(no_grad_set, "gradients: no_grad_set")
    seeds = []
    for target, gradient in zip(targets, given, strict=True):
        if gradient is None:
            seeds.append(_seed_of(target))
            continue
        _require(gradient, "gradients: target_gradients")
        fits = len(gradient.shape) == len(target.shape) and all(
            -1 in pair or pair[0] == pair[1]
            for pair in zip(gradient.shape, target.shape, strict=True)
        )
        if not fits or gradient.dtype != target.dtype:
            raise InvalidArgumentError(
                f"gradients: the gradient of '{target.name}' must have its shape and type, "
                f"{target.shape} of {target.dtype}, got {gradient.shape} of {gradient.dtype}"
            )
        seeds.append(gradient)
    block = targets[0].block
    names = [v.name for v in inputs]
    grads = _differentiate(block, targets, seeds, no_grad_set, names, names, False, None)
    return [grads.get(v.name) for v in inputs]


def _require(value, what):
    if not isinstance(value, Variable):
        raise ArgumentTypeError(f"{what} must be a variable of a program, got {kind_of(value)}")


def names_of(values, what):
    """Names in a list or set of variables and names; none for None."""
    if values is None or isinstance(values, (str, Variable)):
        return [] if values is None else as_names(values, what)
    if not hasattr(values, "__iter__"):
        raise ArgumentTypeError(f"{what} must be a list of variables, got {kind_of(values)}")
    return as_names(list(values), what)


def _check_of_one_program(targets, inputs, what):
    program = targets[0].block.program
    for v in (*targets, *inputs):
        if v.block.program is not program:
            raise InvalidArgumentError(
                f"{what}: variables must belong to one program, but '{v.name}' and "
                f"'{targets[0].name}' belong to two"
            )
    if all(target.op is None for target in targets):
        raise PreconditionNotMetError(
            f"{what}: '{targets[0].name}' must be the result of an operator, but nothing computes "
            "it"
        )


def _listed(values, what):
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    if not values:
        raise InvalidArgumentError(f"gradients: {what} must hold a variable, got none")
    for value in values:
        _require(value, f"gradients: {what}")
    return values


def _seed_of(target):
    """The variable with the gradient of a target: ones."""
    block = target.block
    if target.op is not None:
        target.op.set_attr("op_role", target.op.role | OpRole.Loss, "INT")
    name = target.grad_name
    for i in range(1 << 62):
        if not block.has_var(name):
            break
        name = f"{target.grad_name}_{i}"
    seed = block.create_var(name=name, shape=target.shape, dtype=target.dtype)
    with block.program.marked(OpRole.Backward | OpRole.Loss):
        if -1 in target.shape:
            attrs = {"value": 1.0, "dtype": target.dtype}
            block.append_op("fill_any_like", {"X": target}, {"Out": seed}, attrs)
        else:
            attrs = {"shape": list(target.shape), "value": 1.0, "dtype": target.dtype}
            op = block.append_op("fill_constant", {}, {"Out": seed}, attrs)
            for name in ("op_role_var", "op_namescope", "str_value"):
                op.desc.remove_attr(name)
    return seed


def _differentiate(
    block, targets, seeds, no_grad_set, inputs, with_zeros, only_flat, callbacks, checkpoints=()
):
    """Append the gradient operators; returns variable name -> variable of its gradient.

    Gradients of `with_zeros` that are zero everywhere are made as well.
    """
    program = block.program
    stopped = set(names_of(no_grad_set, "no_grad_set"))
    end = max(t.op.idx for t in targets if t.op is not None) + 1
    made, names = block.core.make_backward(
        end, [t.name for t in targets], [s.name for s in seeds], stopped, inputs, with_zeros,
        only_flat,
    )  # fmt: skip
    made = [(_as_fluid(desc), source) for desc, source in made]
    first = block.core.op_count
    with program.marked(OpRole.Backward):
        if checkpoints:
            block.core.append_gradients(made, user_line())
            passes.run(
                "recompute", program, checkpoints=sorted(checkpoints), block=block.idx, forward=end,
                backward=first,
            )  # fmt: skip
            if callbacks:  # each sees its operator as the last one
                again = block.ops[first:]
                block.set_ops(block.ops[:first])
                for op in again:
                    block.put_op(op)
                    for callback in callbacks:
                        callback(block, op)
        elif callbacks:
            for desc, source in made:
                block.core.append_gradients([(desc, source)], user_line())
                for callback in callbacks:
                    callback(block, block.ops[-1])
        else:
            block.core.append_gradients(made, user_line())
    program.take_in_blocks()
    return {name: block.var(grad) for name, grad in names.items()}


def _as_fluid(desc):
    """The gradient of split as Fluid writes it, `concat`, where no part lacks its gradient."""
    if desc.type != "split_grad":
        return desc
    parts = desc.inputs.get("Out@GRAD", [])
    if "@EMPTY@" in parts or desc.inputs.get("AxisTensor"):
        return desc
    concat = _core.Op("concat")
    concat.set_input("X", parts)
    concat.set_output("Out", desc.outputs["X@GRAD"])
    concat.set_attr("axis", desc.attrs["axis"], "INT")
    return concat


def _mark(block, pairs):
    """Set `op_role_var` of each operator that makes a parameter's gradient."""
    of = {gradient.name: parameter.name for parameter, gradient in pairs}
    for op in block.ops:
        made = [name for name in op.output_arg_names if name in of]
        if made and op.role & OpRole.Backward:
            op.set_attr("op_role_var", [n for g in made for n in (of[g], g)], "STRINGS")
