"""The tests of operators can fail: wrong expectations and careless exceptions are reported."""

import unittest

import numpy as np
import pytest

from op_test import OpTest, rand, split_lod


def failures(case, method):
    """What one test method of a case reports."""
    result = unittest.TestResult()
    case(method).run(result)
    return [text for _, text in result.failures + result.errors]


def scale_case(**members):
    """A case of scale by 2 with the given members instead of the right ones."""

    def set_up(self):
        self.op_type = "scale"
        self.inputs = {"X": rand(2, 3)}
        self.attrs = {"scale": 2.0}
        self.outputs = {"Out": 2.0 * self.inputs["X"]}

    return type("Case", (OpTest,), {"setUp": set_up, "test_one": OpTest.check_output, **members})


def test_the_right_case_passes():
    case = scale_case()
    names = [n for n in dir(case) if n.startswith("test_auto_")]
    assert len(names) >= 12
    assert [failures(case, n) for n in [*names, "test_one"]] == [[]] * (len(names) + 1)


def wrong_set_up(**changes):
    def set_up(self):
        self.op_type = "scale"
        self.inputs = {"X": np.array([[1.0, 2.0], [3.0, 4.0]])}
        self.attrs = {"scale": 2.0}
        self.outputs = {"Out": 2.0 * self.inputs["X"]}
        for name, change in changes.items():
            setattr(self, name, change(getattr(self, name)))

    return set_up


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outputs": lambda o: {"Out": o["Out"] + 1e-3}}, "scale: Out"),
        ({"outputs": lambda o: {"Out": o["Out"][:1]}}, "shape of Out"),
        ({"outputs": lambda o: {"Nothing": o["Out"]}}, "gave no Nothing"),
        ({"outputs": lambda o: {"Out": (o["Out"], [[1, 1]])}}, "LoD of Out"),
    ],
)
def test_wrong_outputs_are_reported(changes, message):
    (text,) = failures(scale_case(setUp=wrong_set_up(**changes)), "test_one")
    assert message in text


def test_wrong_gradients_are_reported():
    def check(self):
        self.check_grad(["X"], "Out", user_defined_grads=[np.full((2, 3), 2.0)])  # not 2 / 6

    (text,) = failures(scale_case(test_one=check), "test_one")
    assert "gradient of X" in text


def test_leaving_out_takes_a_reason_and_a_known_name():
    with pytest.raises(TypeError, match="must say why"):
        scale_case(leave_out={"empty": ""})
    with pytest.raises(TypeError, match="names no automatic check"):
        scale_case(leave_out={"emtpy": "a slip of the pen"})
    assert scale_case(leave_out={"empty": "no rows, no meaning"}).test_auto_empty is None


def test_lengths_and_offsets():
    a = np.zeros((14, 1))
    assert split_lod((a, [[5, 3, 2, 4]]))[1] == [[0, 5, 8, 10, 14]]
    assert split_lod((a, [[0, 5, 8, 10, 14]]))[1] == [[0, 5, 8, 10, 14]]
    assert split_lod((a, [[1, 2], [5, 3, 6]]))[1] == [[0, 1, 3], [0, 5, 8, 14]]
    assert split_lod((a, []))[1] is None and split_lod(a)[1] is None
