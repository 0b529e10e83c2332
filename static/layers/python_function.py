"""Python functions that run as operators of a program."""

import numpy as np

from dygraph import _core
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    append_text,
    kind_of,
)
from dygraph.inspect.watch import user_line
from dygraph.static.program import Variable, default_main_program

__all__ = ["py_func"]


def py_func(func, x, out, backward_func=None, skip_vars_in_backward_input=None):
    """Call a Python function in each run of the program.

    Parameters
    ----------
    func : callable
        ``func(*x)`` is given eager Variables (``numpy.array(v)`` makes arrays of them) and returns
        an array or a Variable for each of `out`, in the declared shapes and types, or None without
        `out`. A number counts as an array of the declared type.
    x : Variable or list of Variable or None
        The arguments of the function.
    out : Variable or list of Variable or None
        Variables of the program for the results, made by ``create_var`` with a shape (-1 for
        unknown sizes) and a type.
    backward_func : callable, optional
        ``backward_func(*x, *out, *gradients)`` with a gradient for each of `out`, or None if it has
        none. It returns a gradient for each of `x`, of its shape and type; gradients that are not
        needed are ignored. Default: no gradient passes.
    skip_vars_in_backward_input : Variable or list of Variable, optional
        Variables of `x` and `out` that are not passed to `backward_func`, so their values are not
        kept.

    Returns
    -------
    Variable or list of Variable or None
        `out`.

    Raises
    ------
    ArgumentTypeError
        An argument has the wrong type.
    InvalidArgumentError
        A variable of `out` declares no shape or type; one to skip is not among `x` and `out`.

    Errors of the functions are raised by ``Executor.run`` with the line that called `py_func`.

    Notes
    -----
    The functions are kept until the process ends. Files hold no code: a program with such an
    operator cannot be saved as an inference model, and one from a file is refused. There is no
    second derivative.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     x = static.data("x", [None, 2], "float32")
    ...     x.stop_gradient = False
    ...     block = static.default_main_program().current_block()
    ...     y = block.create_var(name="y", shape=[-1, 2], dtype="float32")
    ...     y = static.layers.py_func(
    ...         func=np.tanh, x=x, out=y, skip_vars_in_backward_input=x,
    ...         backward_func=lambda y, dy: np.array(dy) * (1 - np.square(np.array(y))),
    ...     )
    ...     (gradient,) = static.gradients(y, x)
    ...     feed = {"x": np.zeros((1, 2), "float32")}
    ...     static.Executor().run(feed=feed, fetch_list=[gradient])
    [array([[1., 1.]], dtype=float32)]
    """
    inputs, results = _variables(x, "x"), _variables(out, "out")
    for function, name in ((func, "func"), (backward_func, "backward_func")):
        if not callable(function) and not (function is None and name == "backward_func"):
            raise ArgumentTypeError(f"py_func: {name} must be callable, got {kind_of(function)}")
    for v in results:
        if v.shape is None or v.dtype is None:
            raise InvalidArgumentError(
                f"py_func: the variable '{v.name}' must declare the shape and the type that func "
                "gives. Make it with create_var(name=..., shape=..., dtype=...)"
            )
    skipped = _skipped(inputs, results, skip_vars_in_backward_input)
    block = next((v.block for v in (*results, *inputs)), default_main_program().current_block())
    block = block.program.current_block()
    line = user_line()
    attrs = {
        "forward_callable_id": _core.add_host_function(_Forward(func, results, line)),
        "backward_callable_id": -1,
        "backward_skip": skipped,
    }
    if backward_func is not None:
        backward = _Backward(backward_func, inputs, len(results), skipped, line)
        attrs["backward_callable_id"] = _core.add_host_function(backward)
    block.append_op("py_func", {"X": inputs}, {"Out": results}, attrs)
    return out


def _variables(value, name):
    values = [] if value is None else value
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    for v in values:
        if isinstance(v, _core.Variable) and not isinstance(v, Variable):
            raise ArgumentTypeError(
                f"py_func: {name} must hold variables of a program, got an eager Variable. Call "
                "the function on that; dygraph.PyLayer gives it a gradient of your own"
            )
        if not isinstance(v, Variable):
            raise ArgumentTypeError(
                f"py_func: {name} must be a variable of the program, a list of them or None, got "
                f"{kind_of(v)}"
            )
    return values


def _skipped(inputs, results, skip):
    """Positions of the variables to skip, in x and then out."""
    names = [v.name for v in (*inputs, *results)]
    places = set()
    for v in _variables(skip, "skip_vars_in_backward_input"):
        if v.name not in names:
            raise InvalidArgumentError(
                f"py_func: the variable to skip must be one of x or out, got '{v.name}'"
            )
        places.update(i for i, name in enumerate(names) if name == v.name)
    return sorted(places)


class _Call:
    """The callable of the operator, with a list of values for each slot."""

    def __init__(self, function, wanted, line):
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        self.wanted = [(v.name, tuple(v.shape), str(v.dtype)) for v in wanted]
        self.line = line

    def results(self, arguments, check):
        """``check(results)``, with one result of the function for each wanted value."""
        try:
            given = self.function(*arguments)
            given = list(given) if isinstance(given, (list, tuple)) else [given]
            if not self.wanted and len(given) == 1 and given[0] is None:
                return []
            if len(given) != len(self.wanted):
                raise InvalidArgumentError(
                    f"py_func: {self.name} must give a value for each of "
                    f"{[wanted[0] for wanted in self.wanted]}, got {len(given)}"
                )
            return check(given)
        except Exception as error:
            append_text(error, f"in {self.name}, called by the py_func of {self.line}")
            raise


class _Forward(_Call):
    def __call__(self, inputs, wanted):
        return self.results(inputs, self.checked)

    def checked(self, given):
        return [
            _value(value, dtype, shape, f"py_func: what {self.name} gives for '{variable}'")
            for value, (variable, shape, dtype) in zip(given, self.wanted, strict=True)
        ]


class _Backward(_Call):
    def __init__(self, function, inputs, count, skipped, line):
        super().__init__(function, inputs, line)
        self.count, self.skipped = count, set(skipped)

    def __call__(self, inputs, outputs, gradients, wanted):
        outputs = outputs or [None] * self.count  # all of them skipped
        values = [v for i, v in enumerate((*inputs, *outputs)) if i not in self.skipped]

        def checked(given):
            rows = zip(given, inputs, wanted, self.wanted, strict=True)
            return [
                _value(value, dtype, x.shape,
                       f"py_func: the gradient that {self.name} gives for '{variable}'")
                if asked else None
                for value, x, asked, (variable, _, dtype) in rows
            ]  # fmt: skip

        return self.results([*values, *gradients], checked)


def _value(value, dtype, shape, what):
    """`value` as an eager Variable of this type and shape, -1 for any size."""
    if not isinstance(value, _core.Variable):
        if value is None:
            raise ArgumentTypeError(f"{what} must be an array or a Variable, got None")
        kept = isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__")
        value = _core.to_variable(np.asarray(value) if kept else np.asarray(value, dtype))
    if str(value.dtype) != dtype:
        raise ArgumentTypeError(
            f"{what} must be {dtype}, got {value.dtype}. Convert with astype('{dtype}')"
        )
    fits = len(value.shape) == len(shape) and all(
        -1 in sizes or sizes[0] == sizes[1] for sizes in zip(value.shape, shape, strict=True)
    )
    if not fits:
        raise InvalidArgumentError(
            f"{what} must have the shape {list(shape)}, got {list(value.shape)}"
        )
    return value
