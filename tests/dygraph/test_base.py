"""guard, to_variable, seed, grad, saved and the switches of recording."""

import threading

import numpy as np
import pytest

import dygraph


def leaf(values, dtype="float32"):
    x = dygraph.to_variable(np.array(values, dtype))
    x.stop_gradient = False
    return x


class TestGuard:
    def test_dtype_casts_incoming_float64_and_is_restored(self):
        with dygraph.guard(dtype="float32"):
            assert dygraph.to_variable(np.ones(2)).dtype == dygraph.float32
            assert dygraph.to_variable(np.ones(2, "int64")).dtype == dygraph.int64
            with dygraph.guard(dtype="float64"):
                assert dygraph.to_variable(np.ones(2, "float32")).dtype == dygraph.float64
            assert dygraph.to_variable(np.ones(2)).dtype == dygraph.float32
        assert dygraph.to_variable(np.ones(2)).dtype == dygraph.float64

    def test_restores_on_exception(self):
        with pytest.raises(KeyError):
            with dygraph.guard(dygraph.CPUPlace(), dtype="float16"):
                raise KeyError("x")
        assert dygraph.to_variable(np.ones(2)).dtype == dygraph.float64

    def test_one_guard_nests_with_itself(self):
        g = dygraph.guard(dtype="float32")
        with g, g:
            pass
        assert dygraph.to_variable(np.ones(2)).dtype == dygraph.float64

    def test_seed_repeats_and_outer_numbers_go_on(self):
        def draw():
            return dygraph.ops.uniform_random(shape=[4]).numpy()

        dygraph.seed(3)
        first, second = draw(), draw()
        dygraph.seed(3)
        assert np.array_equal(draw(), first)
        with dygraph.guard(seed=3):
            assert np.array_equal(draw(), first)
        assert np.array_equal(draw(), second)

    def test_is_per_thread(self):
        seen = []
        with dygraph.guard(dtype="float32"):
            t = threading.Thread(target=lambda: seen.append(dygraph.to_variable(np.ones(1)).dtype))
            t.start()
            t.join()
        assert seen == [dygraph.float64]

    @pytest.mark.parametrize(
        "kwargs", [{"place": 3}, {"seed": "a"}, {"seed": 1.5}, {"dtype": "int32"}, {"dtype": "x"}]
    )
    def test_bad_input(self, kwargs):
        with pytest.raises((TypeError, ValueError)):
            dygraph.guard(**kwargs)

    def test_place_whose_backend_is_not_built(self):
        place = dygraph.CUDAPlace(0)
        if not place.available:
            with pytest.raises(dygraph.errors.DygraphError):
                with dygraph.guard(place):
                    pass
        assert dygraph.to_variable([1.0]).place == dygraph.CPUPlace()


class TestToVariable:
    def test_keeps_type_shape_values(self):
        for dtype in ("bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float64"):
            a = np.array([[0, 1], [1, 0]], dtype)
            v = dygraph.to_variable(a)
            assert str(v.dtype) == dtype
            assert v.shape == (2, 2)
            assert np.array_equal(v.numpy(), a)

    @pytest.mark.parametrize("zero_copy", [None, False])
    def test_copies(self, zero_copy):
        a = np.zeros(3)
        v = dygraph.to_variable(a, zero_copy=zero_copy)
        a[0] = 5
        assert v.numpy()[0] == 0

    @pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float16", "float64"])
    def test_zero_copy_shares(self, dtype):
        a = np.zeros((2, 3), dtype)
        v = dygraph.to_variable(a, "mine", zero_copy=True, lod=[[0, 2]])
        a[1, 2] = 1
        assert v.numpy().tolist() == [[0, 0, 0], [0, 0, 1]] and str(v.dtype) == dtype
        assert v.name == "mine" and v.lod() == [[0, 2]] and v.stop_gradient
        v.fill_(1)
        assert a.sum() == 1  # a write to the Variable is its own
        again = dygraph.to_variable(v, zero_copy=True)
        assert again is v

    def test_zero_copy_where_it_would_be_a_copy(self):
        a = np.zeros((2, 3))
        for value, options in [
            (a.T, {}), (a[:, ::2], {}), ([0.0, 1.0], {}), (2.0, {}), (a, {"dtype": "float32"}),
            (np.zeros(3, ">f8"), {}), (np.zeros(3, "uint16"), {}),
        ]:  # fmt: skip
            with pytest.raises(ValueError, match="with zero_copy=True value must be a row-major"):
                dygraph.to_variable(value, zero_copy=True, **options)
        with dygraph.guard(dtype="float32"), pytest.raises(ValueError, match="float32 on CPUPlace"):
            dygraph.to_variable(a, zero_copy=True)

    def test_variable_passes_through(self):
        v = dygraph.to_variable([1.0])
        assert dygraph.to_variable(v) is v
        assert dygraph.to_variable(v, dtype="float32").dtype == dygraph.float32

    def test_zero_size_and_0d(self):
        assert dygraph.to_variable(np.zeros((0, 3))).shape == (0, 3)
        assert dygraph.to_variable(2.5).shape == ()
        assert dygraph.to_variable(np.float32(2.5)).item() == 2.5

    def test_lod(self):
        v = dygraph.to_variable(np.zeros((5, 1)), lod=[[0, 2, 5]])
        assert v.lod() == [[0, 2, 5]]
        assert v.recursive_sequence_lengths() == [[2, 3]]
        with pytest.raises(ValueError):
            dygraph.to_variable(np.zeros((5, 1)), lod=[[0, 2, 6]])

    @pytest.mark.parametrize("value", [None, "abc", b"abc", [None], ["a"], object(), [1, "a"]])
    def test_what_is_no_array(self, value):
        with pytest.raises(TypeError):
            dygraph.to_variable(value)

    def test_ragged_list_points_to_lod(self):
        with pytest.raises(ValueError, match="lod"):
            dygraph.to_variable([[1.0, 2.0], [3.0]])

    def test_name(self):
        assert dygraph.to_variable([1.0], name="x").name == "x"
        with pytest.raises(TypeError):
            dygraph.to_variable([1.0], name=3)


class TestRecording:
    def test_no_grad_forms(self):
        w = leaf([2.0])

        @dygraph.no_grad
        def bare(x):
            return x * x

        @dygraph.no_grad()
        def called(x):
            return x * x

        assert bare(w).stop_gradient and called(w).stop_gradient
        assert bare.__name__ == "bare"
        with dygraph.no_grad():
            assert (w * w).stop_gradient
            with dygraph.enable_grad():
                assert not (w * w).stop_gradient
            assert (w * w).stop_gradient
        assert not (w * w).stop_gradient

    def test_ends_with_exception(self):
        with pytest.raises(ZeroDivisionError):
            with dygraph.no_grad():
                raise ZeroDivisionError
        assert dygraph.grad_enabled()

    def test_generator_holds_the_mode_while_it_runs(self):
        @dygraph.no_grad
        def numbers():
            while True:
                yield dygraph.grad_enabled()

        g = numbers()
        assert next(g) is False
        assert dygraph.grad_enabled()
        assert next(g) is False

    def test_per_thread(self):
        seen = []
        with dygraph.no_grad():
            t = threading.Thread(target=lambda: seen.append(dygraph.grad_enabled()))
            t.start()
            t.join()
        assert seen == [True]

    def test_backward_tells_why(self):
        w = leaf([2.0])
        with dygraph.no_grad():
            y = w * w
        with pytest.raises(RuntimeError, match="no_grad"):
            y.backward()

    @pytest.mark.parametrize("value", [3, "f", [1]])
    def test_decorates_functions_only(self, value):
        with pytest.raises(TypeError):
            dygraph.no_grad(value)
        with pytest.raises(TypeError):
            dygraph.enable_grad(value)


class TestGrad:
    def test_first_and_second_order(self):
        x = leaf([3.0])
        (g,) = dygraph.grad(x * x * x, x, create_graph=True)
        (h,) = dygraph.grad(g, [x])
        assert g.numpy() == [27.0] and h.numpy() == [18.0]
        assert x.grad is None

    def test_grad_outputs(self):
        x, y = leaf([1.0, 2.0]), leaf([5.0, 7.0])
        dx, dy = dygraph.grad(
            [x * y], [x, y], [dygraph.to_variable(np.array([10, 100], "float32"))]
        )
        assert dx.numpy().tolist() == [50.0, 700.0]
        assert dy.numpy().tolist() == [10.0, 200.0]

    def test_unused(self):
        x, y = leaf([1.0]), leaf([1.0])
        assert dygraph.grad(x * x, [x, y], allow_unused=True)[1] is None
        with pytest.raises(ValueError):
            dygraph.grad(x * x, [y])

    @pytest.mark.parametrize(
        "args",
        [(None, None), ([], []), ("a", "b"), (3.0, 4.0), ([None], [None])],
    )
    def test_bad_input(self, args):
        with pytest.raises((TypeError, ValueError)):
            dygraph.grad(*args)

    def test_grad_outputs_of_another_length_or_shape(self):
        x = leaf([1.0, 2.0])
        one = dygraph.to_variable(np.ones(2, "float32"))
        with pytest.raises(ValueError):
            dygraph.grad(x * x, x, [one, one])
        with pytest.raises(ValueError):
            dygraph.grad(x * x, x, [dygraph.to_variable(np.ones(3, "float32"))])
        with pytest.raises(NotImplementedError):
            dygraph.grad(x * x, x, only_inputs=False)


class TestSaved:
    def test_lists_values_and_total(self):
        x = leaf(np.ones((4, 8)))
        table = dygraph.saved(x * x)
        assert {e.op for e in table} == {"elementwise_mul"}
        assert all(e.shape == (4, 8) and e.bytes == 128 for e in table)
        assert table.total == 128  # both operands are one storage
        assert "elementwise_mul" in repr(table) and "128 B" in repr(table)

    def test_nothing_kept(self):
        assert dygraph.saved(dygraph.to_variable([1.0])).total == 0

    @pytest.mark.parametrize("value", [None, 3, "a", [1.0]])
    def test_bad_input(self, value):
        with pytest.raises(TypeError):
            dygraph.saved(value)


@pytest.mark.parametrize("value", [None, "a", 1.5, -1])
def test_seed_takes_natural_numbers(value):
    with pytest.raises((TypeError, ValueError)):
        dygraph.seed(value)


def test_mode_is_always_dygraph():
    assert dygraph.in_dygraph_mode()
