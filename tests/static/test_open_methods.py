"""Methods, operators and indices of Variables in captured functions: eager's results, or refused.

What works eagerly is tried with a batch that is open, and with all axes open. A refusal must name
the line and say what to write instead; no error of Python's may come from within the library.
"""

import collections
import contextlib
import io

import numpy as np
import pytest

import dygraph
import open_axes
from dygraph import _core, jit
from dygraph.errors import DygraphError
from example_calls import leaves
from refusals import unhelpful

RANDOM = np.random.default_rng(3)
ARRAYS = {
    "rows": RANDOM.normal(size=(4, 3)).astype("float32"),
    "vector": RANDOM.normal(size=4).astype("float32"),
    "numbers": RANDOM.integers(0, 3, (4, 3)),
    "mask": RANDOM.normal(size=(4, 3)) > 0,
    "scalar": np.float32(1.5),
}
ARGUMENTS = [
    "", "y", "2", "1", "0", "-1", "0.5", "[4, 3]", "[-1]", "'float64'", "0, 1", "[1, 0]", "2, 1",
    "None", "y, 0", "[1, 1, 2]", "x.shape", "[x.shape[0], 3]", "x.shape[0]", "x.shape[0] - 1",
    "'cpu'", "x > 0", "y, 1.0", "0, 1.0",
]  # fmt: skip
INDICES = [
    "0", "-1", "1:", "::2", "..., 0", "None, 0", "[0, 1]", "[True, False, True, True]", "x > 0",
    "x.shape[0] - 1", ":x.shape[0] - 1", "0, :2", "y", "y, y", "..., y", "y[0]", "x[:, 0] > 0",
    "[0, 2], 1:", "y[:, 0]", "y[:, 0], y[:, 1]", ":, None", "y[:, :1], y",
]  # fmt: skip
# Objects of Python's, draws, and what neither computes nor changes anything.
NO_METHODS = {
    "__class__", "__delattr__", "__dict__", "__dir__", "__doc__", "__getattribute__", "__getitem__",
    "__getstate__", "__hash__", "__init__", "__init_subclass__", "__new__", "__setattr__",
    "__setitem__", "__sizeof__", "__subclasshook__", "name", "normal_", "uniform_",
}  # fmt: skip
MOST = 3  # calls of one method, or with one index, of one array
LEAST_RIGHT = 500


def sources():
    """[(what is tried, an expression in x and y, name of the array that y is)]"""
    found = []
    for name in sorted(set(dir(_core.Variable)) - NO_METHODS):
        if not hasattr(_core.Variable, name):  # another library's, with a hint
            continue
        if not callable(getattr(_core.Variable, name)):
            found.append((name, f"x.{name}", "rows"))
            continue
        for given in ARGUMENTS:
            others = ARRAYS if "y" in given else ["rows"]
            found += [(name, f"x.{name}({given})", other) for other in others]
    for index in INDICES:
        found.append((index, f"x[{index}]", "numbers"))
        found.append((index, f"(z := x * 2).__setitem__(np.s_[{index}], 1), z", "numbers"))
    return found


def outcome(call, *arrays):
    """What a call gives, as text and bits."""
    dygraph.seed(5)
    with dygraph.no_grad(), contextlib.redirect_stdout(io.StringIO()):
        made = call(*map(dygraph.to_variable, arrays))
    bits = [
        open_axes.bits_of(v) if isinstance(v, _core.Variable) else repr(v) for v in leaves(made)
    ]
    return None if "NotImplemented" in bits else bits


def works(function, *arrays):
    """The outcome of an eager call; None where it raises."""
    try:
        return outcome(function, *arrays)
    except Exception:
        return None


@pytest.mark.parametrize("name", ARRAYS)
def test_eagers_results_or_refused(name):
    array, right, wrong, counts = ARRAYS[name], 0, [], collections.Counter()
    for what, source, other in sources():
        if counts[what] == MOST:
            continue
        function = eval(f"lambda x, y: ({source})", {"np": np})
        arrays = array, ARRAYS[other]
        want = works(function, *arrays)
        if want is None:
            continue
        counts[what] += 1
        for spec in (None, [jit.InputSpec([None] * a.ndim, str(a.dtype)) for a in arrays]):
            try:
                got = outcome(jit.to_static(function, input_spec=spec), *arrays)
            except DygraphError as error:
                missing = unhelpful(str(error), "<string>")
                wrong += [f"{source}: {missing}"] * (missing is not None)
            except Exception as error:
                wrong.append(f"{source}: {type(error).__name__}: {error}")
            else:
                right += got == want
                wrong += [f"{source}: {got} instead of {want}"] * (got != want)
    assert not wrong, "\n".join(wrong)
    assert right > LEAST_RIGHT / len(ARRAYS)
