"""What the programs of the mistakes share: short names for data, and how an outcome is written."""

import re
import tempfile
import warnings

import numpy as np

import dygraph


def floats(*shape, dtype="float32"):
    """A Variable of ones."""
    return dygraph.to_variable(np.ones(shape, dtype))


def ids(*values, dtype="int64"):
    """A Variable of these integers."""
    return dygraph.to_variable(np.array(values, dtype))


def leaf(*shape):
    """A Variable of ones that requires a gradient."""
    v = floats(*shape)
    v.stop_gradient = False
    return v


def ragged(rows, *lod):
    """A Variable [rows, 2] with level of detail."""
    v = floats(rows, 2)
    v.set_lod([list(level) for level in lod])
    return v


def outcome(program):
    """The messages of a program: its warnings, then its error, or the text it returns."""
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(record=True) as heard,
        dygraph.guard(seed=1),
        dygraph.unique_name.guard(),
    ):
        warnings.simplefilter("always")
        takes = program.__code__.co_argcount
        try:
            lines = [f"no error: {program(folder) if takes else program()}"]
        except Exception as error:
            lines = [f"{kinds(error)}: {error}", *getattr(error, "__notes__", ())]
        lines = [f"{w.category.__name__}: {w.message}" for w in heard] + lines
        return normalised("\n".join(lines), folder)


def kinds(error):
    """``InvalidArgumentError(ValueError)``: the class, and Python's own that it is."""
    kind = type(error)
    own = [b.__name__ for b in kind.__mro__[1:] if b.__module__ == "builtins"]
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__name__}({own[0]})"


def normalised(text, folder):
    """Without what differs from run to run: folders, addresses, line numbers, memory in use."""
    text = text.replace(folder, "FOLDER")
    text = re.sub(r"0x[0-9a-f]+", "0xADDRESS", text)
    text = re.sub(r"(?:[\w./-]*/)?(\w+\.py)(:|\", line )\d+", r"\1\2LINE", text)
    text = re.sub(r"[0-9.]+ [KMG]?B in use", "N B in use", text)
    return re.sub(r"\(peak [^)]*\), .*", "(peak N), ...", text)
