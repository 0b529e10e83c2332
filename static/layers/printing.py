"""Values printed while a program runs."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.static import bodies
from dygraph.static.layers.making import layer, run

__all__ = ["Assert", "Print"]


@layer
def Print(
    input, first_n=-1, message=None, summarize=20, print_tensor_name=True, print_tensor_type=True,
    print_tensor_shape=True, print_tensor_lod=True, print_phase="both",
):  # fmt: skip
    """Return `input`; each run of the program prints its name, shape, type and first values.

    The text goes to ``sys.stdout``. The operator runs even if its result is not used. In the
    backward pass it passes the gradient on and prints it.

    Parameters
    ----------
    input : Variable
        Of any shape and type; selected rows print their rows and values.
    first_n : int, default -1
        Print in the first runs only; -1: in every run. A program that is run with another `feed` or
        `fetch_list` counts from the start again, and so does every call on eager Variables.
    message : str, optional
        A text to print as well.
    summarize : int, default 20
        The number of values to print; -1: all.
    print_tensor_name, print_tensor_type, print_tensor_shape, print_tensor_lod : bool, default True
        What to print beside the values.
    print_phase : str, default "both"
        ``"forward"``, ``"backward"`` or ``"both"``.

    Returns
    -------
    Variable
        The values, shape and type of `input`.

    Raises
    ------
    ArgumentTypeError
        `input` is no Variable, or an argument has the wrong type.
    InvalidArgumentError
        `print_phase` has another value.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     x = static.data("x", [None, 2], "float32")
    ...     y = static.layers.Print(x, message="what came in:")
    ...     feed = {"x": np.array([[1.0, 2.5], [3.0, np.inf]], "float32")}
    ...     _ = static.Executor().run(feed=feed, fetch_list=[y])
    Variable: x
      - message: what came in:
      - lod: {}
      - place: CPUPlace
      - shape: [2, 2]
      - dtype: float32
      - data: [1 2.5 3 inf]
    """
    check.variable(input, "Print: input")
    for value, name in ((message, "message"), (print_phase, "print_phase")):
        if not isinstance(value, str) and not (value is None and name == "message"):
            raise ArgumentTypeError(f"Print: {name} must be a string, got {kind_of(value)}")
    attrs = {
        "first_n": check.integer(first_n, "Print: first_n"), "message": message or "",
        "summarize": check.integer(summarize, "Print: summarize"),
        "print_tensor_name": bool(print_tensor_name), "print_tensor_type": bool(print_tensor_type),
        "print_tensor_shape": bool(print_tensor_shape), "print_tensor_lod": bool(print_tensor_lod),
        "print_phase": print_phase.upper(),
    }  # fmt: skip
    return run("print", {"In": input}, attrs)["Out"]


@layer
def Assert(cond, data=None, summarize=20, name=None):
    """Stop the run with an error if `cond` is false.

    Parameters
    ----------
    cond : Variable
        One bool.
    data : list of Variable, optional
        Values for the error message.
    summarize : int
        The number of values of each; -1: all.
    name : str, optional
        Accepted as in Fluid; not used.

    Raises
    ------
    AssertionFailedError
        (an AssertionError) when the program runs, or at once on eager Variables.
    ArgumentTypeError, InvalidArgumentError
        `cond` is not one bool.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     x = static.data("x", [2], "float32")
    ...     static.layers.Assert(static.layers.reduce_sum(x) > 0.0, [x])
    ...     feed = {"x": np.array([1, 2], "float32")}
    ...     static.Executor().run(feed=feed, fetch_list=[x * 2.0])
    [array([2., 4.], dtype=float32)]
    """
    bodies.condition(cond, "Assert: cond")
    data = [] if data is None else [data] if isinstance(data, _core.Variable) else list(data)
    for value in data:
        check.variable(value, "Assert: data")
    summarize = check.integer(summarize, "Assert: summarize", -1)
    getattr(_core.ops, "assert")(cond, data=data or None, summarize=summarize)
