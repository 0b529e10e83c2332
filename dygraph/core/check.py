"""Checks of arguments, with one wording for numbers, shapes and Variables."""

import inspect

from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.core.sizes import asking_line
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    OutOfRangeError,
    PreconditionNotMetError,
    did_you_mean_or_all,
    kind_of,
)

Variable = _core.Variable


def integer(value, what, least=None, most=None):
    """`value` as an int of `least` to `most`. ArgumentTypeError, InvalidArgumentError."""
    if type(value) is not int:
        if isinstance(value, bool) or not hasattr(type(value), "__index__"):
            raise ArgumentTypeError(f"{what} must be an integer, got {kind_of(value)}")
        kind = type(value)  # a size in a trace stays one; sizes of programs refuse
        if not hasattr(kind, "followed_value") or hasattr(kind, "as_attribute"):
            value = value.__index__()
    if least is not None and value < least:
        raise InvalidArgumentError(f"{what} must be at least {least}, got {value}")
    if most is not None and value > most:
        raise InvalidArgumentError(f"{what} must be at most {most}, got {value}")
    return value


def number(value, what, least=None, most=None):
    """`value` as a float between `least` and `most`. ArgumentTypeError, InvalidArgumentError."""
    is_number = hasattr(type(value), "__float__") or hasattr(type(value), "__index__")
    if isinstance(value, bool) or isinstance(value, str) or not is_number:
        given = isinstance(value, list | tuple) and any(hasattr(v, "stop_gradient") for v in value)
        hint = ". Parameters are given by name: parameter_list=" if given else ""
        raise ArgumentTypeError(f"{what} must be a number, got {kind_of(value)}{hint}")
    value = float(value)
    if not (least is None or value >= least) or not (most is None or value <= most):
        raise InvalidArgumentError(
            f"{what} must be at least {least}, got {value}"
            if most is None
            else f"{what} must lie between {least} and {most}, got {value}"
        )
    return value


def integers(value, count, what, least=None):
    """`count` ints; one int stands for all."""
    if isinstance(value, (list, tuple)):
        if len(value) != count:
            raise InvalidArgumentError(f"{what} must be an integer or {count} of them, got {value}")
        return [integer(v, what, least) for v in value]
    return [integer(value, what, least)] * count


def shape(value, what="shape"):
    """A list of sizes. ArgumentTypeError for None and strings, InvalidArgumentError below zero."""
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        raise ArgumentTypeError(f"{what} must be a list of integers, got {kind_of(value)}")
    return [integer(v, f"a size in {what}", 0) for v in value]


def variable(value, what):
    """`value` if it is a Variable. ArgumentTypeError."""
    if not isinstance(value, Variable):
        raise ArgumentTypeError(
            f"{what} must be a Variable, got {kind_of(value)}. "
            "Convert arrays and numbers with dygraph.to_variable()"
        )
    return value


def axis(value, rank, what="axis"):
    """An axis as a number from 0. OutOfRangeError names the rank."""
    value = integer(value, what)
    if not -rank <= value < rank:
        raise OutOfRangeError(
            f"{what} must lie in [-{rank}, {rank}) for {rank} axes, got {value}"
            if rank
            else f"{what} must be left out for a 0-d variable, got {value}"
        )
    return value % rank


def axes(value):
    """One axis or several, or a Variable of several, as a list or tuple."""
    if isinstance(value, Variable) and value.ndim == 1:
        return value.tolist()
    return value if isinstance(value, (list, tuple)) else [value]


def axis_tensors(slot, value, what):
    """Arguments of an operator with the slots ``<slot>_tensor`` and ``<slot>_tensor_list``."""
    if isinstance(value, Variable):
        return {f"{slot}_tensor": value}
    each = [
        v if isinstance(v, Variable) else _core.literal([integer(v, what)], "int32") for v in value
    ]
    return {f"{slot}_tensor_list": each}


def known_size(x, axis, owner):
    """The size of an axis as an int. PreconditionNotMetError if it is known only in a run."""
    n = x.shape[axis]
    if type(n) is int and n < 0:
        raise unknown_size(x, axis, owner)
    return n


def unknown_size(x, axis, owner, so=""):
    """The error for Python's use of a size that the run decides; `so` says what follows."""
    return open_size(
        f"{owner}: the size of axis {axis} of '{x.name}', {list(x.shape)}, is known when the "
        f"program runs{so}"
    )


def may_be_equal(a, b):
    """Whether two sizes are equal, or may be when the program runs: -1 is a size it then has."""
    return a == b or any(type(n) is int and n < 0 for n in (a, b))


def open_size(rule, fix="", kind=PreconditionNotMetError):
    """The error for a size that a program must know while it is described, with the user's line."""
    if modes.ways is not None:
        fix = fix or "Declare the size in input_spec"
        return modes.ways.refuse(f"{rule}, at {asking_line()}. {fix}")
    return kind(f"{rule}. {fix or 'Declare the size'} (described at {_core.user_line()})")


def choice(value, allowed, what):
    """`value` if it is one of `allowed`. InvalidArgumentError."""
    if value not in allowed:
        names = ", ".join(repr(a) for a in allowed)
        raise InvalidArgumentError(f"{what} must be one of {names}, got {value!r}")
    return value


_VARKEYWORDS, _VARARGS = 8, 4  # of a code object's co_flags


# Other libraries' arguments: pairs of an argument of ours and what to write; the first that is
# taken counts.
_FIXES = {
    "activation": [("act", "act='relu' and the like")],
    "alpha": [("rho", "rho="), ("negative_slope", "negative_slope=")],
    "affine": [("param_attr", "param_attr=False, bias_attr=False for affine=False")],
    "amsgrad": [("beta1", "leave it out: there is no AMSGrad")],
    "batch_first": [
        ("time_major", "time_major=False, the default, for batch_first=True"),
        (None, "leave it out: the batch comes first"),
    ],
    "betas": [("beta1", "beta1=, beta2=")],
    "bias": [("bias_attr", "bias_attr=False to leave it out")],
    "bidirectional": [("direction", "direction='bidirectional'")],
    "device": [("dtype", "leave it out, with dygraph.guard(place) around it")],
    "dim": [("axis", "axis=")],
    "embedding_dim": [("size", "size=[num_embeddings, embedding_dim]")],
    "eps": [("epsilon", "epsilon=")],
    "end_factor": [("end_lr", "end_lr=, a rate")],
    "factor": [("decay_rate", "decay_rate=")],
    "gamma": [("decay_rate", "decay_rate=")],
    "in_channels": [("num_channels", "num_channels=")],
    "in_features": [("input_dim", "input_dim=")],
    "inplace": [(None, "leave it out: x = layer(x)")],
    "kernel_size": [("filter_size", "filter_size="), ("pool_size", "pool_size=")],
    "max_lr": [("max_learning_rate", "max_learning_rate=")],
    "momentum": [("learning_rate", "dygraph.optimizer.Momentum(learning_rate, momentum)")],
    "negative_slope": [("alpha", "alpha=")],
    "nesterov": [("use_nesterov", "use_nesterov=")],
    "norm_first": [("normalize_before", "normalize_before=")],
    "num_embeddings": [("size", "size=[num_embeddings, embedding_dim]")],
    "optimizer": [("learning_rate", "learning_rate=, and give the schedule to the optimizer")],
    "out_channels": [("num_filters", "num_filters=")],
    "out_features": [("output_dim", "output_dim=")],
    "padding_mode": [("padding", "nn.Pad2D in front of it")],
    "stride": [("pool_stride", "pool_stride=")],
    "restore_best_weights": [("restore_best", "restore_best=")],
    "save_best_only": [("monitor", "monitor='eval_loss', which keeps the best")],
    "filepath": [("save_dir", "save_dir=, a folder")],
    "units": [("output_dim", "output_dim=")],
    "weight_attr": [("param_attr", "param_attr=")],
}


def weight_attr(value, owner):
    """`param_attr` of a layer whose weight is not optional. ArgumentTypeError for a bool."""
    if isinstance(value, bool):
        raise ArgumentTypeError(
            f"{owner}: param_attr must be a ParamAttr, an initializer or a name, got {value}. "
            "Write bias_attr=False for a layer without a bias"
        )
    return value


def flag(value, what):
    """`value` as a bool. ArgumentTypeError for other numbers, which stand in the wrong place."""
    if type(value) is not bool and (getattr(value, "shape", ()) != () or value not in (0, 1)):
        raise ArgumentTypeError(f"{what} must be True or False, got {kind_of(value)}")
    return bool(value)


def at_most(count):
    """The words for so many positional arguments."""
    if count == 0:
        return "no positional arguments"
    return f"at most {count} positional argument{'' if count == 1 else 's'}"


def _fix(name, names):
    """What to write for another library's argument; empty where nothing is known."""
    fixes = (fix for own, fix in _FIXES.get(name, ()) if own is None or own in names)
    return next(fixes, "")


def _arguments(kind, args, kwargs):
    """Raise Python's error for `kind(*args, **kwargs)`, with the valid arguments."""
    code = getattr(inspect.unwrap(kind.__init__), "__code__", None)
    if code is None:
        return
    named = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[1:named]
    if kwargs and not code.co_flags & _VARKEYWORDS:
        for name in kwargs:
            if name not in names:
                fix = _fix(name, names)
                use = "" if fix.startswith("leave it out") else "use "
                raise ArgumentTypeError(
                    f"{kind.__name__}() got an unexpected argument '{name}'"
                    f"{f'; {use}{fix}' if fix else '.' + did_you_mean_or_all(name, names)}"
                )
    if len(args) >= code.co_argcount and not code.co_flags & _VARARGS:
        fix = ""
        if isinstance(args[0], Variable):
            fix = f". Make the layer first, then call it: {kind.__name__}(...)(input)"
        most = code.co_argcount - 1
        raise ArgumentTypeError(f"{kind.__name__}() takes {at_most(most)}, got {len(args)}{fix}")
    optional = len(inspect.unwrap(kind.__init__).__defaults__ or ())
    required = names[len(args) : code.co_argcount - 1 - optional]
    missing = [name for name in required if name not in kwargs]
    if missing:
        raise ArgumentTypeError(
            f"{kind.__name__}() needs {' and '.join(missing)}. It takes {', '.join(names)}"
        )


class NamedArguments:
    """Base of classes whose constructor lists its arguments after a wrong or missing one.

    Raises ArgumentTypeError (a TypeError) before ``__init__`` is called. It is a separate base so
    that ``inspect.signature`` finds the ``__init__`` of the class first.
    """

    @classmethod
    def _ours(cls, args, kwargs):
        """The arguments by our names, where a class also takes those of other libraries."""
        return args, kwargs

    def __new__(cls, *args, **kwargs):
        if kwargs or args:
            _arguments(cls, *cls._ours(args, kwargs))
        return super().__new__(cls)
