"""isfinite, isinf, isnan (one answer), their elementwise forms, is_empty, allclose."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand

INF, NAN = float("inf"), float("nan")


class TestIsfinite(OpTest):
    op_type = "isfinite"
    bad = INF

    def setUp(self):
        self.inputs = {"X": rand(3, 4)}
        self.outputs = {"Out": np.asarray(self.op_type == "isfinite")}

    def test_check_output(self):
        self.check_output()

    def test_one_element_decides(self):
        for dtype in ("float16", "float32", "float64"):
            x = np.zeros(70000, dtype)
            assert self.answer(x) is (self.op_type == "isfinite")
            x[69999] = self.bad
            assert self.answer(x) is (self.op_type != "isfinite")

    def answer(self, array):
        got = getattr(_core.ops, self.op_type)(_core.to_variable(array))
        assert got.shape == () and got.dtype.name == "bool"
        return got.numpy().item()


class TestIsinf(TestIsfinite):
    op_type = "isinf"


class TestIsnan(TestIsfinite):
    op_type = "isnan"
    bad = NAN


class TestIsfiniteV2(OpTest):
    op_type = "isfinite_v2"
    function = staticmethod(np.isfinite)
    elementwise = True

    def setUp(self):
        self.inputs = {"X": np.where(rand(3, 4) > 0, [1.0, INF, -INF, NAN], 2.0)}

    def reference(self, inputs, attrs):
        return {"Out": self.function(inputs["X"])}

    def test_check_output(self):
        self.check_output()

    def test_integers_are_finite(self):
        got = getattr(_core.ops, self.op_type)(_core.to_variable(np.array([1, 2]))).numpy()
        np.testing.assert_array_equal(got, self.function(np.array([1, 2])))


class TestIsinfV2(TestIsfiniteV2):
    op_type = "isinf_v2"
    function = staticmethod(np.isinf)


class TestIsnanV2(TestIsfiniteV2):
    op_type = "isnan_v2"
    function = staticmethod(np.isnan)


class TestIsEmpty(OpTest):
    op_type = "is_empty"

    def setUp(self):
        self.inputs = {"X": rand(2, 3)}
        self.outputs = {"Out": np.asarray(False)}

    def test_check_output(self):
        self.check_output()

    def test_nothing(self):
        assert _core.ops.is_empty(_core.to_variable(np.zeros((2, 0)))).numpy().item() is True


class TestAllclose(OpTest):
    op_type = "allclose"

    def setUp(self):
        x = rand(3, 4)
        self.inputs = {"Input": x, "Other": x + 1e-9}
        self.outputs = {"Out": np.asarray(True)}

    def test_check_output(self):
        self.check_output()


@pytest.mark.parametrize(
    ("x", "y", "options"),
    [
        ([1.0, 2.0], [1.0, 2.1], {}),
        ([1.0, 2.0], [1.0, 2.1], {"rtol": 0.1}),
        ([1.0], [1.0 + 1e-7], {"rtol": 0.0, "atol": 1e-6}),
        ([1.0], [1.0 + 1e-5], {"rtol": 0.0, "atol": 1e-6}),
        ([INF], [INF], {}),
        ([INF], [-INF], {}),
        ([1.0], [INF], {}),
        ([INF], [1.0], {}),
        ([NAN], [NAN], {}),
        ([NAN], [NAN], {"equal_nan": True}),
        ([[1.0, 1.0], [1.0, 1.0]], [1.0], {}),
    ],
)
def test_allclose_answers_as_numpy(x, y, options):
    texts = {k: str(v) if k != "equal_nan" else v for k, v in options.items()}
    got = _core.ops.allclose(
        _core.to_variable(np.array(x)), _core.to_variable(np.array(y)), **texts
    )
    assert got.numpy().item() is bool(np.allclose(x, y, **options))


def test_allclose_refuses_what_is_no_tolerance():
    x = _core.to_variable(np.ones(2))
    with pytest.raises(ValueError, match="rtol must be a number of at least 0.*'tight'"):
        _core.ops.allclose(x, x, rtol="tight")
    with pytest.raises(ValueError, match="atol must be a number"):
        _core.ops.allclose(x, x, atol="-1")
