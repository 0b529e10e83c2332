"""Arguments by other libraries' names: those that mean the same work, the rest raise with ours."""

import functools

from dygraph.core import check
from dygraph.errors import ArgumentTypeError, did_you_mean_or_all
from dygraph.functions.arguments import given_twice

__all__ = ["other_names", "spelled"]

# Names of PyTorch and Paddle by ours of the same meaning; the first that a function has counts.
_SAME = {
    "alpha": ("negative_slope",),
    "anchor": ("input",),
    "dim": ("axis",),
    "dilations": ("dilation",),
    "eps": ("epsilon",),
    "input": ("x", "logit"),
    "kernel_sizes": ("kernel_size",),
    "lambd": ("threshold",),
    "logits": ("logit",),
    "max_val": ("max",),
    "min_val": ("min",),
    "out_shape": ("size",),
    "output_sizes": ("output_size",),
    "paddings": ("padding",),
    "return_indices": ("return_mask",),
    "strides": ("stride",),
    "target": ("label",),
    "tau": ("temperature",),
    "target_lengths": ("label_lengths",),
    "targets": ("labels",),
    "x": ("input",),
    "var": ("variance",),
}
# Names whose meaning differs or is not there: what to write.
_FIXES = {
    "data_format": "x.transpose(axes) to put the channels second",
    "delta": "huber_loss(input, label, delta=...), or beta= of smooth_l1_loss",
    "divisor_override": "exclusive=False and a factor of the result",
    "enable_gqa": "repeat_interleave for the heads of key and value",
    "inplace": "x = {name}(x)",
    "max_norm": "dygraph.clip on the table before the call",
    "name": "no argument: variables of programs name themselves",
    "norm_by_times": "a factor of the loss, or dygraph.functions.losses.ctc_loss",
    "reduce": "reduction='mean', 'sum' or 'none'",
    "size_average": "reduction='mean', 'sum' or 'none'",
    "use_softmax": "nll_loss(dygraph.log(p), label) for probabilities p",
}


def _renamed(function, names, given):
    """Keyword arguments by the names of `function`. ArgumentTypeError for one that it lacks."""
    ours = {}
    for name, value in given.items():
        own = name
        if name not in names:
            own = next((n for n in _SAME.get(name, ()) if n in names), None)
        if own is None:
            fix = _FIXES.get(name)
            fix = f"; write {fix.format(name=function.__name__)}" if fix else None
            raise ArgumentTypeError(
                f"{function.__name__}() got an unexpected argument '{name}'"
                + (fix or "." + did_you_mean_or_all(name, sorted(names)))
            )
        if own in ours or (own != name and own in given):
            raise given_twice(function.__name__, own, name)
        ours[own] = value
    return ours


def other_names(parameters):
    """{another library's name: ours} of what a function with these parameters takes."""
    found = {}
    for name, ours in _SAME.items():
        own = next((n for n in ours if n in parameters), None)
        if own is not None and name not in parameters:
            found[name] = own
    return found


def spelled(function):
    """`function`, which also takes arguments by the names of `_SAME`."""
    code = function.__code__
    most = code.co_argcount
    order = code.co_varnames[: most + code.co_kwonlyargcount]
    names = frozenset(order)

    @functools.wraps(function)
    def call(*args, **kwargs):
        if kwargs and not names.issuperset(kwargs):
            kwargs = _renamed(function, names, kwargs)
        if len(args) > most:
            by_name = order[most:]
            raise ArgumentTypeError(
                f"{function.__name__}() takes {check.at_most(most)}, got {len(args)}. "
                f"{'It is' if most == 1 else 'They are'} {', '.join(order[:most])}"
                + (f"; by name: {', '.join(by_name)}" if by_name else "")
            )
        return function(*args, **kwargs)

    return call
