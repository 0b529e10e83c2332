"""The errors of dygraph: each is one of Python's own as well, and all share `DygraphError`.

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
    """A reader of a program has given its last batch; Fluid's name, Python's EOFError too."""


def did_you_mean(name, known):
    """Text naming the spellings of `known` nearest to `name`; empty where none is near.

    >>> did_you_mean("rellu", ["relu", "tanh"])
    " Did you mean 'relu'?"
    """
    near = nearest_names(str(name), [str(k) for k in known])
    return " Did you mean " + " or ".join(f"'{n}'" for n in near) + "?" if near else ""


def did_you_mean_or_all(name, known):
    """The same; where none is near, all of them, if they are few.

    >>> did_you_mean_or_all("axis", ["x", "dim"])
    ' It takes x, dim'
    """
    known = [str(k) for k in known]
    return did_you_mean(name, known) or (f" It takes {', '.join(known)}" if known else "")


def append_text(error, text):
    """Let an error say `text` as well: in its message where it has one, else as a note.

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
    """How messages name what came: the type, and the value where it is short."""
    text = (
        repr(value) if isinstance(value, (str, int, float, bool, type(None), tuple, list)) else ""
    )
    name = type(value).__name__
    if value is None:
        return text
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"{name} {text}" if text and len(text) <= 60 else name
