"""Operators on selected rows, and the refusal of selected rows by all others."""

import numpy as np
import pytest

from dygraph import _core

ROWS, HEIGHT = [4, 1, 4, 0, 1, 4], 6
VALUES = np.array([[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12]], "float32")


def some_rows(rows=ROWS, values=VALUES, height=HEIGHT):
    return _core.make_selected_rows(list(rows), height, _core.to_variable(np.asarray(values)))


def run(op, x, attrs=None, outputs=None):
    return _core.run_op(op, {"X": x}, attrs or {}, outputs)["Out"]


def dense_of(rows=ROWS, values=VALUES, height=HEIGHT):
    dense = np.zeros((height, *values.shape[1:]), values.dtype)
    np.add.at(dense, rows, values)
    return dense


class TestMerge:
    @pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
    def test_rows_rise_and_add(self, dtype):
        out = run("merge_selected_rows", some_rows(values=VALUES.astype(dtype)))
        assert _core.rows(out) == [0, 1, 4] and _core.height(out) == HEIGHT
        assert _core.rows_value(out).numpy().tolist() == [[7, 8], [12, 14], [17, 20]]
        assert out.shape == (6, 2) and out.dtype.name == dtype

    def test_sums_go_in_order_of_arrival(self):
        # 1e8 + 1 is 1e8 in float32: the order decides
        values = np.array([[1e8], [1.0], [-1e8], [1.0]], "float32")
        first = run("merge_selected_rows", some_rows([2, 2, 2, 2], values))
        assert _core.rows_value(first).numpy().tolist() == [[1.0]]
        second = run("merge_selected_rows", some_rows([2, 2, 2, 2], values[[0, 2, 1, 3]]))
        assert _core.rows_value(second).numpy().tolist() == [[2.0]]

    def test_nothing_to_merge(self):
        out = run("merge_selected_rows", some_rows([], np.zeros((0, 3), "float32")))
        assert _core.rows(out) == [] and out.shape == (6, 3)
        assert _core.rows_value(out).shape == (0, 3)

    def test_a_tensor_is_refused(self):
        for op in ("merge_selected_rows", "get_tensor_from_selected_rows"):
            with pytest.raises(
                TypeError, match=rf"{op}: Input\(X\) must be selected rows, got a tensor"
            ):
                run(op, _core.to_variable(VALUES))


class TestGetTensor:
    def test_values_as_they_are(self):
        x = some_rows()
        out = run("get_tensor_from_selected_rows", x)
        np.testing.assert_array_equal(out.numpy(), VALUES)
        out.fill_(0.0)  # the rows keep theirs
        np.testing.assert_array_equal(_core.rows_value(x).numpy(), VALUES)

    def test_no_rows(self):
        out = run("get_tensor_from_selected_rows", some_rows([], np.zeros((0, 3), "float32")))
        assert out.shape == (0, 3)


class TestSplit:
    def test_sections(self):
        a, b, c = run("split_selected_rows", some_rows(), {"height_sections": [2, 0, 4]})
        assert [_core.height(v) for v in (a, b, c)] == [2, 0, 4]
        assert _core.rows(a) == [1, 0, 1] and _core.rows(b) == [] and _core.rows(c) == [2, 2, 2]
        assert _core.rows_value(a).numpy().tolist() == [[3, 4], [7, 8], [9, 10]]
        assert _core.rows_value(c).numpy().tolist() == [[1, 2], [5, 6], [11, 12]]
        whole = np.concatenate([_core.to_dense(v).numpy() for v in (a, b, c)])
        np.testing.assert_array_equal(whole, dense_of())

    def test_bad_sections(self):
        for sections, message in (
            ([2, 3], "add up to the height of X, 6"),
            ([7, -1], "between 0 and the height"),
            ([], "from 1 to 100000, got 0"),
        ):
            with pytest.raises(ValueError, match=message):
                run("split_selected_rows", some_rows(), {"height_sections": sections})


class TestScale:
    def test_rows_stay_and_values_scale(self):
        x = some_rows()
        out = run("scale", x, {"scale": -2.0})
        assert _core.rows(out) == ROWS
        np.testing.assert_array_equal(_core.to_dense(out).numpy(), -2 * dense_of())
        np.testing.assert_array_equal(_core.rows_value(x).numpy(), VALUES)

    def test_scale_tensor(self):
        factor = _core.to_variable(np.array([0.5], "float32"))
        out = _core.run_op("scale", {"X": some_rows(), "ScaleTensor": factor})["Out"]
        np.testing.assert_array_equal(_core.to_dense(out).numpy(), 0.5 * dense_of())

    def test_a_bias_would_reach_the_other_rows(self):
        with pytest.raises(ValueError, match="bias must be 0 where X is selected rows"):
            run("scale", some_rows(), {"bias": 1.0})


class TestClipByNorm:
    def test_tensor(self):
        x = np.random.RandomState(0).uniform(-1, 1, (7, 5))
        norm = np.sqrt((x * x).sum())
        out = run("clip_by_norm", _core.to_variable(x), {"max_norm": 0.5}).numpy()
        np.testing.assert_allclose(out, x * 0.5 / norm, rtol=1e-12)
        out = run("clip_by_norm", _core.to_variable(x), {"max_norm": 100.0}).numpy()
        np.testing.assert_array_equal(out, x)
        large = np.full((300, 401), 2.0, "float32")
        out = run("clip_by_norm", _core.to_variable(large), {"max_norm": 1.0}).numpy()
        np.testing.assert_allclose(out, 1 / np.sqrt(300 * 401), rtol=1e-6)

    def test_corner_cases(self):
        def clip(values, max_norm=1.0):
            return run("clip_by_norm", _core.to_variable(values), {"max_norm": max_norm}).numpy()

        assert clip(np.array(-4.0)).tolist() == -1.0
        assert clip(np.zeros((0, 3))).shape == (0, 3)
        assert clip(np.zeros(3)).tolist() == [0.0] * 3
        assert clip(np.array([3.0, 4.0]), 0.0).tolist() == [0.0, 0.0]
        assert np.isnan(clip(np.array([np.nan, 1.0]))[0])
        with pytest.raises(ValueError):
            clip(np.ones(2), -1.0)
        with pytest.raises(NotImplementedError):
            clip(np.ones(2, "int64"))

    def test_rows_are_merged_first(self):
        dense = dense_of()
        norm = np.sqrt((dense.astype("float64") ** 2).sum())
        out = run("clip_by_norm", some_rows(), {"max_norm": 2.0})
        assert _core.rows(out) == [0, 1, 4]
        np.testing.assert_allclose(_core.to_dense(out).numpy(), dense * 2 / norm, rtol=1e-6)


class TestSquaredNorm:
    def test_rows_are_merged_first(self):
        assert run("squared_l2_norm", some_rows()).item() == float((dense_of() ** 2).sum())
        none = some_rows([], np.zeros((0, 3), "float32"))
        assert run("squared_l2_norm", none).item() == 0.0


class TestSum:
    def test_rows_and_rows_stay_rows(self):
        out = run("sum", [some_rows(), some_rows([5], VALUES[:1])])
        assert _core.rows(out) == [*ROWS, 5]
        np.testing.assert_array_equal(
            _core.to_dense(out).numpy(), dense_of() + dense_of([5], VALUES[:1])
        )

    @pytest.mark.parametrize("dense_at", [0, 1, 2])
    def test_a_tensor_among_rows_gives_a_tensor(self, dense_at):
        tensor = np.arange(12, dtype="float32").reshape(6, 2)
        terms = [some_rows(), some_rows([2, 2], VALUES[:2])]
        terms.insert(dense_at, _core.to_variable(tensor))
        out = run("sum", terms)
        assert not _core.is_selected_rows(out)
        expected = tensor + dense_of() + dense_of([2, 2], VALUES[:2])
        np.testing.assert_array_equal(out.numpy(), expected)

    def test_shapes_must_agree(self):
        with pytest.raises(ValueError, match="all X must have one shape"):
            run("sum", [some_rows(), some_rows([0], VALUES[:1], height=5)])


TAKES_ROWS = {
    "adagrad": {"Grad"}, "adam": {"Grad"}, "adamw": {"Grad"}, "assign": {"X"},
    "clip_by_norm": {"X"},
    "get_tensor_from_selected_rows": {"X"}, "lamb": {"Grad"}, "merge_selected_rows": {"X"},
    "delete_var": {"X"}, "momentum": {"Grad"}, "print": {"In"}, "py_func": {"X"},
    "py_func_grad": {"X", "Out", "Out@GRAD"}, "rmsprop": {"Grad"}, "scale": {"X"}, "sgd": {"Grad"},
    "split_selected_rows": {"X"}, "squared_l2_norm": {"X"}, "sum": {"X"},
}  # fmt: skip
# Those that run a block exist in programs alone.
OPERATORS = [
    n for n in dir(_core.ops)
    if not n.startswith("_") and not _core.describe_op(n)["runs_block"]
]  # fmt: skip


@pytest.mark.parametrize("op", OPERATORS)
def test_a_tensor_is_a_tensor(op):
    """Selected rows in any slot that does not take them: TypeError with operator and slot."""
    info = _core.describe_op(op)
    for chosen in info["inputs"]:
        if chosen["name"] in TAKES_ROWS.get(op, ()):
            continue
        inputs = {}
        for slot in info["inputs"]:
            name = slot["name"]
            if name == chosen["name"] or not slot["dispensable"]:
                tensor = _core.to_variable(np.ones((6, 2), "float32"))
                value = some_rows() if name == chosen["name"] else tensor
                inputs[name] = [value] if slot["duplicable"] else value
        lists = {s["name"]: 1 for s in info["outputs"] if s["duplicable"]}
        with pytest.raises(TypeError) as error:
            _core.run_op(op, inputs, {}, lists)
        message = str(error.value)
        assert message.startswith(f"{op}: Input({chosen['name']}) must be a tensor"), message
        assert "selected rows" in message


def test_in_a_program():
    """Recorded, sent through bytes and run by name: the same numbers, kinds written down."""
    arrays = {
        "w": np.arange(12, dtype="float32").reshape(6, 2),
        "ids": np.array([1, 3, 1]),
        "g": np.array([[1, 2], [3, 4], [5, 6]], "float32"),
        "rate": np.array([0.5], "float32"),
    }
    feeds = {name: _core.to_variable(a) for name, a in arrays.items()}
    recorder = _core.Recorder(lambda: "a test")
    for name, variable in feeds.items():
        recorder.add_feed(variable, name)
    recorder.start()
    try:
        slots = {"W": feeds["w"], "Ids": feeds["ids"], "Out@GRAD": feeds["g"]}
        grad = _core.run_op("lookup_table_v2_grad", slots, {"is_sparse": True})["W@GRAD"]
        merged = run("merge_selected_rows", run("sum", [grad, grad]))
        clipped = run("scale", run("clip_by_norm", merged, {"max_norm": 1.0}), {"scale": 4.0})
        slots = {"Param": feeds["w"], "Grad": clipped, "LearningRate": feeds["rate"]}
        out = _core.run_op("sgd", slots)["ParamOut"]
        values = run("get_tensor_from_selected_rows", clipped)
    finally:
        recorder.stop()
    recording = recorder.finish([out, values])
    program = _core.program_from_bytes(recording.program.to_bytes())
    assert program.to_text().count("SELECTED_ROWS") == 5
    prepared = _core.PreparedProgram(
        program, _core.Scope(), recording.feeds, recording.fetches, None
    )
    got = [v.numpy() for v in prepared.run(list(feeds.values()), (0, 0))]
    dense = np.zeros((6, 2))
    np.add.at(dense, arrays["ids"], 2 * arrays["g"])
    dense *= 4 / np.sqrt((dense**2).sum())
    np.testing.assert_allclose(got[0], arrays["w"] - 0.5 * dense, rtol=1e-6)
    np.testing.assert_allclose(got[1], dense[[1, 3]], rtol=1e-6)
