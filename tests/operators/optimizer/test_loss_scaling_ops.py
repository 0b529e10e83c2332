"""check_finite_and_unscale, update_loss_scaling, coalesce_tensor, average_accumulates."""

import numpy as np
import pytest

from dygraph import _core

X = [np.array([[1.0, 2.0]], "float32"), np.array(8.0, "float32"), np.zeros((0, 3), "float32")]


def variables(arrays):
    return [_core.to_variable(a) for a in arrays]


def unscale(arrays, scale=None):
    scale = np.array([4.0], "float32") if scale is None else scale
    slots = {"X": variables(arrays), "Scale": _core.to_variable(scale)}
    out = _core.run_op("check_finite_and_unscale", slots)
    return [v.numpy() for v in out["Out"]], out["FoundInfinite"].numpy().tolist()


class TestUnscale:
    def test_divides(self):
        out, found = unscale(X)
        assert [o.tolist() for o in out] == [[[0.25, 0.5]], 2.0, []] and found == [False]
        large = np.ones(300000)
        assert unscale([large], np.array(2.0))[0][0].sum() == 150000

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_finds_what_is_not_finite(self, bad):
        assert unscale([X[0], np.array([1.0, bad], "float32"), X[1]])[1] == [True]
        large = np.ones(300000)
        large[-1] = bad
        assert unscale([large])[1] == [True]
        assert unscale([np.array([3e38, -3e38], "float32")])[1] == [False]

    def test_bad_input(self):
        with pytest.raises(ValueError, match="Scale must hold one number"):
            unscale(X, np.zeros(2, "float32"))
        with pytest.raises(TypeError, match="one type"):
            unscale([X[0], X[1].astype("float64")])


def update(found, scaling=8.0, good=0, bad=0, attrs=None, stop=None):
    slots = {
        "X": variables(X),
        "FoundInfinite": _core.to_variable(np.array([found])),
        "PrevLossScaling": _core.to_variable(np.array([scaling], "float32")),
        "InGoodSteps": _core.to_variable(np.array([good], "int32")),
        "InBadSteps": _core.to_variable(np.array([bad], "int32")),
    }
    if stop is not None:
        slots["StopUpdate"] = _core.to_variable(np.array([stop]))
    every = {"incr_every_n_steps": 3, "decr_every_n_nan_or_inf": 2}
    out = _core.run_op("update_loss_scaling", slots, {**every, **(attrs or {})})
    numbers = [out[n].item() for n in ("LossScaling", "OutGoodSteps", "OutBadSteps")]
    return [v.numpy().tolist() for v in out["Out"]], numbers


class TestUpdateLossScaling:
    def test_good_steps(self):
        values = [x.tolist() for x in X]
        assert update(False, good=1, bad=1) == (values, [8.0, 2, 0])
        assert update(False, good=2) == (values, [16.0, 0, 0])
        assert update(False, scaling=3e38, good=2)[1] == [np.float32(3e38), 0, 0]

    def test_bad_steps(self):
        zeros = [np.zeros_like(x).tolist() for x in X]
        assert update(True, good=2) == (zeros, [8.0, 0, 1])
        assert update(True, bad=1) == (zeros, [4.0, 0, 0])
        assert update(True, scaling=1.5, bad=1)[1] == [1.0, 0, 0]

    def test_stop(self):
        zeros = [np.zeros_like(x).tolist() for x in X]
        assert update(True, bad=1, attrs={"stop_update": True}) == (zeros, [8.0, 0, 1])
        assert update(False, good=2, stop=True)[1] == [8.0, 2, 0]
        assert update(False, good=2, attrs={"stop_update": True}, stop=False)[1] == [16.0, 0, 0]

    def test_bad_input(self):
        with pytest.raises(ValueError, match="incr_ratio must exceed 1"):
            update(True, attrs={"incr_ratio": 1.0})
        with pytest.raises(ValueError):
            update(True, attrs={"incr_every_n_steps": 0})


class TestCoalesce:
    def run(self, arrays, attrs):
        out = _core.run_op("coalesce_tensor", {"Input": variables(arrays)}, attrs)
        return out["Output"], out["FusedOutput"]

    def test_copies(self):
        parts, fused = self.run(X, {"copy_data": True})
        assert [p.numpy().tolist() for p in parts] == [x.tolist() for x in X]
        flat = fused.numpy()  # 256 bytes are 64 float32
        assert flat.shape == (128,) and flat[[0, 1, 64]].tolist() == [1.0, 2.0, 8.0]
        assert np.count_nonzero(flat) == 3
        parts[0].fill_(5.0)
        assert fused.numpy()[0] == 1.0

    def test_constants(self):
        parts, fused = self.run(X, {"set_constant": True, "constant": 3.0})
        assert parts[0].numpy().tolist() == [[3.0, 3.0]] and fused.numpy().tolist() == [3.0] * 128
        parts, _ = self.run(X, {})
        assert parts[1].numpy() == 0.0

    def test_bad_input(self):
        with pytest.raises(TypeError, match="all Input must be of dtype"):
            self.run([np.zeros(2)], {})
        with pytest.raises(ValueError, match="exclude each other"):
            self.run(X, {"copy_data": True, "set_constant": True})


class TestAverageAccumulates:
    COUNTS = ("num_accumulates", "old_num_accumulates", "num_updates")
    SUMS = ("sum_1", "sum_2", "sum_3")

    def start(self, p, counts=(0, 0, 0)):
        state = {f"in_{n}": np.zeros_like(p) for n in self.SUMS}
        return {
            **state,
            **{f"in_{n}": np.array([c]) for n, c in zip(self.COUNTS, counts, strict=True)},
        }

    def step(self, p, state, **attrs):
        slots = {"param": p, **state}
        out = _core.run_op(
            "average_accumulates", {n: _core.to_variable(a) for n, a in slots.items()}, attrs
        )
        return {f"in_{n[4:]}": v.numpy() for n, v in out.items()}

    def test_windows(self):
        """A window of at least 2 updates and half of all, against lists in Python."""
        rng = np.random.RandomState(3)
        state, current, old = self.start(np.zeros((2, 3))), [], []
        for n in range(1, 31):
            p = rng.uniform(-1, 1, (2, 3))
            state = self.step(
                p, state, average_window=0.5, min_average_window=2, max_average_window=8
            )
            current.append(p)
            if len(current) >= 2 and len(current) >= min(8, n // 2):
                current, old = [], current
            window = current + old
            total = sum(state[f"in_{s}"] for s in self.SUMS)
            count = state["in_num_accumulates"] + state["in_old_num_accumulates"]
            assert count == len(window) and state["in_num_updates"] == n
            np.testing.assert_allclose(total, np.sum(window, axis=0), atol=1e-12)

    def test_a_long_sum_moves_on(self):
        p = np.ones(3)
        state = self.step(p, self.start(p, (100, 0, 16383)), average_window=1.0)
        assert state["in_sum_1"].tolist() == [0.0] * 3 and state["in_sum_2"].tolist() == [1.0] * 3

    def test_bad_input(self):
        p = np.ones(3)
        with pytest.raises(ValueError, match="must not exceed max_average_window 5"):
            self.step(p, self.start(p), max_average_window=5, min_average_window=6)
        with pytest.raises(ValueError, match="in_sum_1 must have the shape"):
            self.step(p, {**self.start(p), "in_sum_1": np.ones(2)})
        with pytest.raises(TypeError, match="in_num_updates must be of int64"):
            self.step(p, {**self.start(p), "in_num_updates": np.ones(1)})
