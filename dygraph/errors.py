"""The errors of dygraph: each is also one of Python's, and all derive from `DygraphError`.

Examples
--------
>>> import dygraph
>>> issubclass(dygraph.errors.InvalidArgumentError, ValueError)
True
>>> issubclass(dygraph.errors.OutOfRangeError, dygraph.errors.DygraphError)
True
"""

from dygraph._core import (
    AlreadyExistsError,
    ArgumentTypeError,
    AssertionFailedError,
    DygraphError,
    FormatError,
    InvalidArgumentError,
    MissingFileError,
    NonFiniteError,
    NotFoundError,
    OutOfRangeError,
    PreconditionNotMetError,
    ResourceExhaustedError,
    UnimplementedError,
    nearest_names,
)

__all__ = [
    "AlreadyExistsError",
    "ArgumentTypeError",
    "AssertionFailedError",
    "DygraphError",
    "EOFException",
    "FormatError",
    "InvalidArgumentError",
    "MissingFileError",
    "NonFiniteError",
    "NotFoundError",
    "OutOfRangeError",
    "PreconditionNotMetError",
    "ResourceExhaustedError",
    "UnimplementedError",
]


class EOFException(DygraphError, EOFError):
    """A reader of a program has given its last batch; Fluid's name, Python's EOFError too.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> main, startup = static.Program(), static.Program()
    >>> with static.program_guard(main, startup):
    ...     reader = static.layers.py_reader(2, [[-1, 1]], ["float32"])
    ...     x = static.layers.read_file(reader)
    >>> reader.decorate_batch_generator(lambda: iter([[np.ones((1, 1), "float32")]]))
    >>> executor = static.Executor()
    >>> _ = executor.run(startup)
    >>> reader.start()
    >>> executor.run(main, fetch_list=[x])
    [array([[1.]], dtype=float32)]
    >>> try:
    ...     executor.run(main, fetch_list=[x])
    ... except static.core.EOFException:
    ...     reader.reset()
    """


def did_you_mean(name, known):
    """Text with the names in `known` nearest to `name`; empty if none is near.

    >>> did_you_mean("rellu", ["relu", "tanh"])
    " Did you mean 'relu'?"
    """
    near = nearest_names(str(name), [str(k) for k in known])
    return " Did you mean " + " or ".join(f"'{n}'" for n in near) + "?" if near else ""


def did_you_mean_or_all(name, known):
    """`did_you_mean`, or all names if none is near and they are few.

    >>> did_you_mean_or_all("axis", ["x", "dim"])
    ' It takes x, dim'
    """
    known = [str(k) for k in known]
    return did_you_mean(name, known) or (f" It takes {', '.join(known)}" if known else "")


def append_text(error, text):
    """Add `text` to an error: to its message, or as a note if it has none.

    >>> error = ValueError("too small")
    >>> append_text(error, "in line 3")
    >>> error
    ValueError('too small\\nin line 3')
    """
    is_text = len(error.args) == 1 and isinstance(error.args[0], str)
    if is_text and (not isinstance(error, KeyError) or isinstance(error, DygraphError)):
        error.args = (f"{error.args[0]}\n{text}",)
    elif hasattr(error, "add_note"):
        error.add_note(text)


def kind_of(value):
    """The text for a wrong value in messages: its type, and the value if it is short."""
    text = (
        repr(value) if isinstance(value, (str, int, float, bool, type(None), tuple, list)) else ""
    )
    name = type(value).__name__
    if value is None:
        return text
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"{name} {text}" if text and len(text) <= 60 else name
