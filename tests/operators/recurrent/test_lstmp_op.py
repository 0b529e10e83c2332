"""lstmp: an LSTM whose hidden state is projected."""

import numpy as np
import pytest

import recurrent_reference
from dygraph import _core
from op_test import OpTest, rand


class LstmpCase(OpTest):
    """A case over a LoD; subclasses set what differs."""

    lod = [[0, 3, 4, 9]]
    d, p = 3, 2
    with_state = False
    attrs_of_case = {}

    def setUp(self):
        self.op_type = "lstmp"
        d, p, attrs = self.d, self.p, self.attrs_of_case
        n = len(self.lod[-1]) - 1
        self.inputs = {
            "Input": (rand(self.lod[-1][-1], 4 * d), self.lod),
            "Weight": rand(p, 4 * d),
            "ProjWeight": rand(d, p),
            "Bias": rand(1, (7 if attrs.get("use_peepholes", True) else 4) * d),
        }
        if self.with_state:
            self.inputs.update(H0=rand(n, p), C0=rand(n, d))
        self.attrs = attrs

    def reference(self, inputs, attrs):
        x, lod = inputs["Input"]
        weights = (inputs[name] for name in ("Weight", "ProjWeight", "Bias"))
        states = inputs.get("H0"), inputs.get("C0")
        projection, cell = recurrent_reference.lstmp(x, lod, *weights, *states, attrs)
        return {"Projection": (projection, lod), "Cell": (cell, lod)}

    def test_check_output(self):
        self.check_output()


class TestLstmp(LstmpCase):
    def test_check_grad(self):
        self.check_grad(["Input", "Weight", "ProjWeight", "Bias"], ["Projection", "Cell"])


class TestLstmpState(LstmpCase):
    with_state = True
    attrs_of_case = {"use_peepholes": False}

    def test_check_grad(self):
        self.check_grad(["Input", "H0", "C0", "Weight", "ProjWeight"], ["Projection"])


class TestLstmpReverse(LstmpCase):
    with_state = True
    attrs_of_case = {"is_reverse": True}


class TestLstmpOtherActivations(LstmpCase):
    attrs_of_case = {
        "gate_activation": "tanh",
        "cell_activation": "identity",
        "candidate_activation": "sigmoid",
        "proj_activation": "identity",
    }


class TestLstmpClipped(LstmpCase):
    attrs_of_case = {"cell_clip": 0.25, "proj_clip": 0.125}

    def test_some_are_clipped(self):
        out = self.reference(self.inputs, self.attrs)
        for name, clip in (("Cell", 0.25), ("Projection", 0.125)):
            at_bound = np.abs(out[name][0]) == clip
            assert at_bound.any() and not at_bound.all()

    def test_check_grad(self):
        self.check_grad(["Input", "Weight", "ProjWeight", "Bias"], ["Projection", "Cell"])


class TestLstmpEmptySequences(LstmpCase):
    lod = [[0, 0, 4, 4, 5, 5]]
    with_state = True


def call(**changes):
    d, p = 2, 3
    slots = {
        "Input": _core.to_variable(np.zeros((3, 4 * d)), lod=[[0, 2, 3]]),
        "Weight": _core.to_variable(np.zeros((p, 4 * d))),
        "ProjWeight": _core.to_variable(np.zeros((d, p))),
        "Bias": _core.to_variable(np.zeros((1, 7 * d))),
    }
    attrs = changes.pop("attrs", {})
    slots.update({k: _core.to_variable(v) for k, v in changes.items()})
    return _core.run_op("lstmp", slots, attrs)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Input": np.zeros((3, 8))}, "Input must have a level of detail"),
        ({"Weight": np.zeros((2, 8))}, r"Weight must have shape \[P, 4 \* D\]"),
        ({"ProjWeight": np.zeros((3, 3))}, r"ProjWeight must have shape \[D, P\]"),
        ({"ProjWeight": np.zeros(3)}, r"ProjWeight must have shape \[D, P\]"),
        ({"Bias": np.zeros((1, 8))}, r"Bias must have shape \[1, 7 \* D\] with use_peepholes"),
        ({"H0": np.zeros((2, 3))}, "H0 and C0 must be given together"),
        ({"H0": np.zeros((2, 2)), "C0": np.zeros((2, 2))}, r"H0 must have shape \[sequences, P\]"),
        ({"attrs": {"proj_activation": "softmax"}}, "proj_activation"),
        ({"attrs": {"proj_clip": -1.0}}, "proj_clip"),
    ],
)
def test_what_does_not_fit(changes, message):
    with pytest.raises(ValueError, match=message):
        call(**changes)


def test_without_a_projection_it_is_lstm():
    np.random.seed(3)
    d, lod = 2, [[0, 2, 3]]
    shared = {"Weight": rand(d, 4 * d), "Bias": rand(1, 7 * d)}
    shared = {k: _core.to_variable(v) for k, v in shared.items()}
    shared["Input"] = _core.to_variable(rand(3, 4 * d), lod=lod)
    eye = {"ProjWeight": _core.to_variable(np.eye(d))}
    plain = _core.run_op("lstm", shared, {})
    projected = _core.run_op("lstmp", {**shared, **eye}, {"proj_activation": "identity"})
    np.testing.assert_allclose(projected["Projection"].numpy(), plain["Hidden"].numpy(), rtol=1e-12)
    np.testing.assert_allclose(projected["Cell"].numpy(), plain["Cell"].numpy(), rtol=1e-12)
