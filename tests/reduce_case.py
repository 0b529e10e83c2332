"""The cases every reduction over axes owes, against the NumPy function it stands for."""

import numpy as np

from op_test import OpTest, rand

# Name of the case: shape of X, attributes. Without `dim` axis 0 is reduced; an empty list means
# all axes.
CASES = {
    "": ((3, 4), {}),
    "LastAxis": ((2, 3, 4), {"dim": [-1]}),
    "OuterAxesKept": ((2, 3, 2, 2), {"dim": [2, 0], "keep_dim": True}),
    "All": ((2, 3), {"reduce_all": True}),
    "EmptyList": ((2, 3), {"dim": []}),
}


def reduce_cases(op_type, function):
    """Test classes by name: for a test module's globals()."""
    stem = "Test" + "".join(part.title() for part in op_type.split("_"))
    return {stem + name: _case(stem + name, op_type, function, *CASES[name]) for name in CASES}


def _case(name, op_type, function, shape, attrs):
    def set_up(self):
        self.op_type = op_type
        self.inputs = {"X": rand(*shape)}
        self.attrs = dict(attrs)

    def reference(self, inputs, attrs):
        axes = tuple(attrs.get("dim", [0])) or None
        if attrs.get("reduce_all", False):
            axes = None
        keep = attrs.get("keep_dim", False)
        return {"Out": np.asarray(function(inputs["X"], axis=axes, keepdims=keep))}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")

    tests = (test_check_output, test_check_grad)
    body = {"setUp": set_up, "reference": reference, **{t.__name__: t for t in tests}}
    return type(name, (OpTest,), body)
