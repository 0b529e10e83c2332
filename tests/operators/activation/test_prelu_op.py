"""prelu: a slope below zero that is learnt, for all, each channel or each element."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, away_from, rand


class TestPrelu(OpTest):
    def setUp(self):
        self.op_type = "prelu"
        self.inputs = {"X": away_from(0, rand(2, 3, 2, 2)), "Alpha": rand(1, low=0.1)}

    def reference(self, inputs, attrs):
        x, alpha = inputs["X"], inputs["Alpha"]
        mode = attrs.get("mode", "all")
        if mode == "channel" and attrs.get("data_format") == "NHWC":
            alpha = alpha.reshape(-1)
        elif mode == "channel":
            alpha = alpha.reshape(1, -1, *[1] * (x.ndim - 2))
        elif mode == "element":
            alpha = alpha.reshape(1, *x.shape[1:])
        else:
            alpha = alpha.reshape(())
        return {"Out": np.where(x > 0, x, alpha * x)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Alpha"], "Out")


class TestPreluChannel(TestPrelu):
    def setUp(self):
        self.op_type = "prelu"
        self.inputs = {"X": away_from(0, rand(2, 3, 4)), "Alpha": rand(3)}
        self.attrs = {"mode": "channel"}


class TestPreluChannelLast(TestPrelu):
    def setUp(self):
        self.op_type = "prelu"
        self.inputs = {"X": away_from(0, rand(2, 3, 2, 4)), "Alpha": rand(4)}
        self.attrs = {"mode": "channel", "data_format": "NHWC"}


class TestPreluVolumeLast(TestPrelu):
    def setUp(self):
        self.op_type = "prelu"
        self.inputs = {"X": away_from(0, rand(2, 2, 1, 2, 3)), "Alpha": rand(1, 1, 1, 1, 3)}
        self.attrs = {"mode": "channel", "data_format": "NHWC"}


class TestPreluElementLast(TestPrelu):
    def setUp(self):
        self.op_type = "prelu"
        self.inputs = {"X": away_from(0, rand(2, 3, 4)), "Alpha": rand(1, 3, 4)}
        self.attrs = {"mode": "element", "data_format": "NHWC"}


class TestPreluElement(TestPrelu):
    def setUp(self):
        self.op_type = "prelu"
        self.inputs = {"X": away_from(0, rand(2, 3, 4)), "Alpha": rand(1, 3, 4)}
        self.attrs = {"mode": "element"}


def test_slopes_that_do_not_fit_are_refused():
    x, alpha = _core.to_variable(rand(2, 3, 4)), _core.to_variable(rand(2))
    with pytest.raises(ValueError, match=r"prelu: Alpha must hold.*got shape \[2\]"):
        _core.ops.prelu(x, alpha, mode="channel")
    with pytest.raises(ValueError, match=r"each element of \[4\] where mode is 'channel'"):
        _core.ops.prelu(x, alpha, mode="channel", data_format="NHWC")
    with pytest.raises(ValueError, match="mode"):
        _core.ops.prelu(x, alpha, mode="some")
    with pytest.raises(ValueError, match=r"at least 2 axes where mode is 'channel'"):
        _core.ops.prelu(_core.to_variable(rand(3)), alpha, mode="channel")
