"""Cases of operators on complex numbers.

`check_grads` compares gradients of any complex inputs and outputs with differences, of first and
second order: it makes a function of real numbers of the operator, since a complex number is two.
"""

import numpy as np

import dygraph
import op_test
from dygraph import _core

ops = _core.ops


def randc(*shape, dtype="complex128"):
    """Complex numbers with parts from -1 to 1, from NumPy's global generator."""
    return (op_test.rand(*shape) + 1j * op_test.rand(*shape)).astype(dtype)


def real_form(function, arrays):
    """(function of real Variables that gives real ones, its inputs) for one of complex ones."""
    leaves = []
    for a in arrays:
        pairs = np.stack([a.real, a.imag], -1) if a.dtype.kind == "c" else a
        leaf = dygraph.to_variable(pairs)
        leaf.stop_gradient = False
        leaves.append(leaf)

    def of_real(*given):
        kinds = [a.dtype.kind for a in arrays]
        values = [ops.as_complex(v) if k == "c" else v for v, k in zip(given, kinds, strict=True)]
        found = function(*values)
        found = found if isinstance(found, (list, tuple)) else [found]
        return [ops.as_real(v) if v.dtype.is_complex else v for v in found]

    return of_real, leaves


def check_gradients(function, *arrays, order=2, **options):
    """The gradients of a function of Variables against differences."""
    assert dygraph.check_grad(*real_form(function, arrays), order=order, **options)


class ComplexCase:
    """Beside OpTest, which takes complex inputs for values without a gradient."""

    def check_grads(self, order=2, **options):
        names = list(self.inputs)

        def run(*values):
            given = dict(zip(names, values, strict=True))
            return list(dygraph.run_op(self.op_type, given, self.attrs or {}).values())

        check_gradients(run, *self.inputs.values(), order=order, **options)
