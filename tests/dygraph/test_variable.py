"""Methods of Variable."""

import copy
import gc
import pickle
import warnings

import numpy as np
import pytest

import dygraph


def var(values, dtype="float32", grad=False):
    x = dygraph.to_variable(np.array(values, dtype))
    if grad:
        x.stop_gradient = False
    return x


class TestGradients:
    def test_backward_accumulates_and_clears(self):
        w = var([3.0], grad=True)
        assert w.gradient() is None
        (w * w).backward()
        (w * w).backward()
        assert w.gradient().tolist() == [12.0]
        w.clear_gradient()
        assert w.gradient() is None

    def test_backward_takes_a_gradient_and_fluids_none(self):
        w = var([1.0, 2.0], grad=True)
        (w * w).backward(np.array([1.0, 10.0]))
        assert w.gradient().tolist() == [2.0, 40.0]
        w.clear_gradient()
        (w * w).backward(None)
        assert w.gradient().tolist() == [2.0, 4.0]
        with pytest.raises(ValueError):
            (w * w).backward(np.ones(3))

    @pytest.mark.parametrize("bad", [3, "a", [1.0], np.ones(1)])
    def test_grad_takes_variables(self, bad):
        w = var([1.0], grad=True)
        with pytest.raises(TypeError):
            w.grad = bad
        with pytest.raises(ValueError):
            w.grad = var([1.0, 2.0])
        with pytest.raises(TypeError):
            (w * w).backward("a")

    def test_second_pass_needs_retain_graph(self):
        w = var([1.0], grad=True)
        y = w * w
        y.backward(retain_graph=True)
        y.backward()
        with pytest.raises(RuntimeError):
            y.backward()

    def test_hook_fires_once_and_goes(self):
        w = var([3.0], grad=True)
        seen = []

        def double(g):
            seen.append(g.numpy().tolist())
            return g * 2.0

        handle = w.register_hook(double)
        (w * w + w).backward()
        assert seen == [[7.0]] and w.gradient().tolist() == [14.0]
        handle.remove()
        handle.remove()
        w.clear_gradient()
        (w * w).backward()
        assert len(seen) == 1 and w.gradient().tolist() == [6.0]

    def test_hook_must_be_callable_and_wanted(self):
        with pytest.raises(TypeError):
            var([1.0], grad=True).register_hook(3)
        with pytest.raises(RuntimeError):
            var([1.0]).register_hook(lambda g: g)

    def test_retain_grads(self):
        w = var([3.0], grad=True)
        y = w * w
        y.retain_grads()
        (y * y).backward()
        assert y.gradient().tolist() == [18.0]

    def test_sparse_gradient_is_a_pair(self):
        w = var(np.zeros((5, 2)), grad=True)
        rows = dygraph._core.make_selected_rows([3, 1], 5, var([[1.0, 2.0], [3.0, 4.0]]))
        w.grad = rows
        values, numbers = w.gradient()
        assert values.tolist() == [[1.0, 2.0], [3.0, 4.0]] and numbers.tolist() == [3, 1]


class TestLoD:
    def test_offsets_and_lengths(self):
        x = var(np.zeros((5, 1)))
        assert x.lod() == [] and x.recursive_sequence_lengths() == []
        x.set_lod([[0, 1, 3], [0, 2, 2, 5]])
        assert x.recursive_sequence_lengths() == [[1, 2], [2, 0, 3]]
        x.set_recursive_sequence_lengths([[4, 1]])
        assert x.lod() == [[0, 4, 5]]
        x.set_lod(None)
        assert x.lod() == []

    def test_bad_offsets(self):
        x = var(np.zeros((5, 1)))
        for bad in ("a", 3, [1], [["a"]], [[0.5, 5]]):
            with pytest.raises(TypeError):
                x.set_lod(bad)
        for bad in ([[0, 4]], [[1, 5]], [[0, 3, 2, 5]], [[0, 2], [0, 5]]):
            with pytest.raises(ValueError):
                x.set_lod(bad)
        for bad in ("a", 3, [["a"]]):
            with pytest.raises(TypeError):
                x.set_recursive_sequence_lengths(bad)
        with pytest.raises(ValueError):
            x.set_recursive_sequence_lengths([[2, 2]])


class TestShapes:
    def test_reshape(self):
        x = var(np.arange(6.0))
        assert (
            x.reshape(2, 3).shape == x.reshape([2, -1]).shape == x.reshape((2, 3)).shape == (2, 3)
        )
        assert x.reshape(-1, 1).shape == (6, 1)
        assert x.reshape(np.array([3, 2])).shape == (3, 2)
        assert var(2.0).reshape(1).shape == (1,)
        for bad in ((4, 2), (-1, -1), (-2, 3)):
            with pytest.raises(ValueError):
                x.reshape(*bad)
        for bad in (None, "ab", 1.5, [1.5]):
            with pytest.raises(TypeError):
                x.reshape(bad)

    def test_transpose(self):
        a = np.arange(24.0).reshape(2, 3, 4)
        x = var(a)
        assert np.array_equal(x.transpose(2, 0, 1).numpy(), a.transpose(2, 0, 1))
        assert np.array_equal(x.transpose([1, 0, -1]).numpy(), a.transpose(1, 0, 2))
        assert np.array_equal(x.T.numpy(), a.T)
        with pytest.raises(ValueError):
            x.transpose(0, 0, 1)
        with pytest.raises(IndexError):
            x.transpose(0, 1, 3)
        with pytest.raises(TypeError):
            x.transpose("a", 1, 2)

    def test_flatten(self):
        assert var(np.zeros((2, 3))).flatten().shape == (6,)

    def test_astype(self):
        assert var([1.7, -1.7]).astype("int32").numpy().tolist() == [1, -1]
        assert var([0.0, 2.0]).astype(np.bool_).numpy().tolist() == [False, True]
        assert var([1.0]).cast(dygraph.float64).dtype == dygraph.float64
        x = var([1.0])
        assert x.astype("float32") is not x
        w = var([2.0], grad=True)
        (w.astype("float64") * 3.0).backward()
        assert w.gradient().tolist() == [3.0] and w.gradient().dtype == np.float32
        for bad in (None, "floaty", object()):
            with pytest.raises((TypeError, ValueError)):
                x.astype(bad)

    @pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
    def test_reductions(self, name):
        a = np.arange(24, dtype="float32").reshape(2, 3, 4)
        x = var(a)
        method, oracle = getattr(x, name), getattr(a, name)
        if name in ("max", "min"):  # whose axis has a name

            def method(axis=None, **kept):
                return getattr(x, name)(axis=axis, **kept)

        assert method().shape == () and method().item() == oracle()
        assert np.array_equal(method(1).numpy(), oracle(1))
        assert np.array_equal(method([0, -1]).numpy(), oracle((0, 2)))
        assert np.array_equal(method(axis=2, keepdim=True).numpy(), oracle(2, keepdims=True))
        with pytest.raises(IndexError):
            method(3)
        with pytest.raises(ValueError):
            method([])
        with pytest.raises(ValueError):
            method([0, -3])
        with pytest.raises(TypeError):
            method("a")


class TestInPlace:
    def test_values_and_identity(self):
        x = var([1.0, 2.0])
        assert x.add_(var([1.0, 1.0])) is x
        assert x.numpy().tolist() == [2.0, 3.0]
        assert x.subtract_(1.0).numpy().tolist() == [1.0, 2.0]
        assert x.multiply_(np.array([3.0, 4.0], "float32")).numpy().tolist() == [3.0, 8.0]
        assert x.scale_(2.0, 1.0).numpy().tolist() == [7.0, 17.0]
        assert x.fill_(5).numpy().tolist() == [5.0, 5.0]
        assert x.zero_().numpy().tolist() == [0.0, 0.0]

    def test_shape_must_stay(self):
        with pytest.raises(ValueError):
            var([1.0]).add_(var([1.0, 2.0]))
        for bad in (None, "a"):
            with pytest.raises(TypeError):
                var([1.0]).add_(bad)

    def test_leaf_needs_no_grad(self):
        w = var([1.0], grad=True)
        with pytest.raises(RuntimeError, match="no_grad"):
            w.add_(1.0)
        with dygraph.no_grad():
            w.add_(1.0)
        assert w.numpy().tolist() == [2.0] and not w.stop_gradient

    def test_backward_uses_the_values_of_forward(self):
        w = var([3.0], grad=True)
        x = var([2.0])
        y = w * x
        x.fill_(100.0)
        y.backward()
        assert w.gradient().tolist() == [2.0]

    def test_gradient_flows_through_in_place(self):
        w = var([3.0], grad=True)
        y = w * w
        y.multiply_(y)
        y.backward()
        assert w.gradient().tolist() == [4 * 27.0]

    def test_set_value(self):
        x = var([1.0, 2.0])
        y = x.detach()
        x.set_value(np.array([3.0, 4.0]))
        assert x.numpy().tolist() == [3.0, 4.0] and y.numpy().tolist() == [1.0, 2.0]
        with pytest.raises(ValueError):
            x.set_value(np.ones(3, "float32"))
        for bad in (None, "a", np.ones(2, "complex64")):
            with pytest.raises(TypeError):
                x.set_value(bad)


class TestCopies:
    def test_clone_passes_gradient(self):
        w = var([2.0], grad=True)
        (w.clone() * 3.0).backward()
        assert w.gradient().tolist() == [3.0]

    def test_deepcopy_and_copy(self):
        w = var([2.0], grad=True)
        w.name, w.note = "w", ["a"]
        w.persistable = True
        for twin in (copy.deepcopy(w), copy.copy(w)):
            assert twin.numpy().tolist() == [2.0] and not twin.stop_gradient and twin.persistable
            assert twin.name == "w" and twin.note == ["a"]
            with dygraph.no_grad():
                twin.add_(1.0)
            assert w.numpy().tolist() == [2.0]
        assert copy.deepcopy(w).note is not w.note

    @pytest.mark.parametrize(
        "dtype", ["bool", "int64", "float16", "bfloat16", "float32", "float64"]
    )
    def test_pickle(self, dtype):
        x = dygraph.to_variable(np.array([[1.0], [0.0]], "float32"), dtype=dtype)
        x.set_lod([[0, 1, 2]])
        y = pickle.loads(pickle.dumps(x))
        assert y.dtype == x.dtype and y.lod() == [[0, 1, 2]]
        assert np.array_equal(x.numpy(), y.numpy())

    def test_pickle_of_a_parameter(self):
        p = dygraph.Parameter([1.0, 2.0], name="p", trainable=False)
        p.learning_rate = 0.5
        q = pickle.loads(pickle.dumps(p))
        assert type(q) is dygraph.Parameter and q.name == "p" and not q.trainable
        assert q.learning_rate == 0.5 and q.numpy().tolist() == [1.0, 2.0]

    def test_to(self):
        x = var([1.0])
        assert x.to(dygraph.CPUPlace()) is x and x.cpu() is x
        with pytest.raises(TypeError):
            x.to(3)


class TestNumPy:
    def test_view_is_read_only_and_free(self):
        x = var([1.0, 2.0])
        a = np.asarray(x)
        assert not a.flags.writeable
        assert a.__array_interface__["data"][0] == dygraph._core.data_pointer(x)
        del x
        gc.collect()
        assert a.tolist() == [1.0, 2.0]

    def test_copies(self):
        x = var([1.0, 2.0])
        a = np.array(x)
        a[0] = 9
        b = x.numpy()
        b[0] = 9
        assert x.numpy().tolist() == [1.0, 2.0]
        assert np.asarray(x, dtype="float64").dtype == np.float64
        with pytest.raises(ValueError):
            x.__array__("float64", copy=False)

    def test_array_on_the_left_gives_a_variable(self):
        x = var([1.0, 2.0])
        a = np.array([10.0, 20.0], "float32")
        for result in (a + x, x + a):
            assert isinstance(result, dygraph.Variable) and result.numpy().tolist() == [11.0, 22.0]
        assert isinstance(np.float32(2) * x, dygraph.Variable)
        with pytest.raises(TypeError, match="numpy"):
            np.frexp(x)

    def test_tolist_len_iter(self):
        x = var([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        assert x.tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
        assert len(x) == 3 and [r.numpy().tolist() for r in x] == x.tolist()
        with pytest.raises(TypeError):
            len(var(1.0))
        with pytest.raises(TypeError):
            iter(var(1.0))


class TestText:
    def test_repr(self):
        text = repr(var([[1.0, 2.0]]))
        for part in (
            "[[1., 2.]]",
            "shape=(1, 2)",
            "dtype=float32",
            "CPUPlace()",
            "stop_gradient=True",
        ):
            assert part in text
        assert str(var(1.0)) == repr(var(1.0))

    def test_lod_name_large_empty(self):
        x = var(np.zeros((3, 1)))
        x.set_lod([[0, 1, 3]])
        assert "lod=[[0, 1, 3]]" in repr(x)
        assert "name='w'" in repr(dygraph.to_variable([1.0], name="w"))
        assert len(repr(var(np.zeros((100, 100))))) < 1000 and "..." in repr(var(np.zeros(5000)))
        assert "shape=(0, 2)" in repr(var(np.zeros((0, 2))))
        assert "no value" in repr(dygraph.Variable())

    def test_html_has_values_statistics_and_flags_nan(self):
        html = var([[1.0, 2.0], [3.0, np.nan]])._repr_html_()
        for part in ("<td>1</td>", "min 1", "max 3", "mean 2", "1 NaN", "float32"):
            assert part in html
        assert "NaN" not in var([1.0])._repr_html_()
        assert var(np.zeros((50, 50)))._repr_html_().count("<tr>") <= 10
        for x in (var(1.0), var(np.zeros((0, 3))), var([True], "bool"), dygraph.Variable()):
            assert x._repr_html_()


def test_abs():
    assert abs(var([-1.5, 2.0])).numpy().tolist() == [1.5, 2.0]


class TestParameter:
    def test_is_trained_and_kept(self):
        p = dygraph.Parameter(np.ones(2, "float32"), name="p")
        assert p.trainable and not p.stop_gradient and p.persistable and p.name == "p"
        p.trainable = False
        assert p.stop_gradient
        for bad in (None, "a"):
            with pytest.raises(TypeError):
                dygraph.Parameter(bad)

    def test_no_warning_in_ordinary_use(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            p = dygraph.Parameter(np.ones(2, "float32"))
            (p * p).backward()
            repr(p)


class TestNamesOfOtherLibraries:
    def test_requires_grad_is_the_opposite_of_stop_gradient(self):
        w = var([1.0])
        assert w.requires_grad is False
        w.requires_grad = True
        (w * 2).backward()
        assert w.stop_gradient is False and w.gradient().tolist() == [2.0]
        p = dygraph.Parameter([1.0])
        p.requires_grad = False
        assert p.stop_gradient and not p.trainable and (p * 2).stop_gradient
        with pytest.raises(RuntimeError, match="detach"):
            (w * 2).requires_grad = False
        with pytest.raises(ValueError, match="float"):
            var([1], "int64").requires_grad = True

    @pytest.mark.parametrize(
        "name, fix",
        {
            "array": "set_value", "value": "set_value", "flat": "set_value",
            "trainable": "stop_gradient", "require_grad": "stop_gradient",
            "requires_gradient": "stop_gradient", "stop_gradients": "stop_gradient",
        }.items(),
    )  # fmt: skip
    def test_what_would_have_no_effect(self, name, fix):
        for x in (var([1.0]), (var([1.0], grad=True) * 2)):
            with pytest.raises(AttributeError, match=f"'{name}'.*{fix}"):
                setattr(x, name, var([3.0]))
            assert not hasattr(x, name) and name not in dir(x) and x.__dict__ == {}
        x.mine = 3
        assert x.mine == 3
        dygraph.Parameter([1.0]).trainable = False

        class Own(dygraph.Variable):
            value = array = flat = trainable = None
            require_grad = requires_gradient = stop_gradients = None

        own = Own()
        setattr(own, name, 3)
        assert getattr(own, name) == 3


@pytest.mark.parametrize("number", [2**70, 2**32 + 5, 99])
def test_a_number_that_is_no_element_type(number):
    with pytest.raises(ValueError, match="element type"):
        dygraph.to_variable([1.0]).astype(number)


def test_a_power_has_no_modulus():
    with pytest.raises(TypeError):
        pow(dygraph.to_variable([3.0]), 2, 5)


@pytest.mark.parametrize("name", ["persistable", "stop_gradient"])
def test_a_switch_cannot_be_deleted_or_ambiguous(name):
    x = dygraph.to_variable([1.0])
    with pytest.raises(AttributeError, match=f"{name} cannot be deleted"):
        delattr(x, name)
    with pytest.raises(ValueError, match="ambiguous"):
        setattr(x, name, np.ones(2))


class TestQuickCalls:
    """reshape, sum, mean and a basic index, which the type answers without a Python function."""

    def test_many_shapes_and_axes_in_turn(self):
        rng = np.random.default_rng(0)
        a = rng.standard_normal((2, 3, 4, 5)).astype("float32")
        x = var(a)
        shapes = [(n, 120 // n) for n in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 30, 40, 60, 120)]
        shapes += [(n, -1) for n, _ in shapes] + [(-1, n, m) for n in (1, 2, 3) for m in (1, 2, 4)]
        for _ in range(3):
            for shape in shapes:
                np.testing.assert_array_equal(x.reshape(*shape).numpy(), a.reshape(shape))
                np.testing.assert_array_equal(x.reshape(list(shape)).numpy(), a.reshape(shape))
            for axis in (None, *range(-4, 4)):
                for keep in (False, True):
                    for name in ("sum", "mean"):
                        got = getattr(x, name)(axis, keep).numpy()
                        want = getattr(a.astype("float64"), name)(axis=axis, keepdims=keep)
                        assert got.shape == np.shape(want)
                        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)

    def test_indices_drawn_at_random(self):
        rng = np.random.default_rng(1)
        a = rng.standard_normal((4, 5, 6)).astype("float32")
        x = var(a)
        ends = [None, *range(-8, 9)]
        steps = [None, -3, -2, -1, 1, 2, 3]

        def part(size):
            if rng.random() < 0.3:
                return int(rng.integers(-size, size))
            start, stop = (ends[rng.integers(len(ends))] for _ in "ab")
            return slice(start, stop, steps[rng.integers(len(steps))])

        for _ in range(2000):
            index = tuple(part(size) for size in a.shape[: rng.integers(1, 4)])
            np.testing.assert_array_equal(x[index].numpy(), a[index], err_msg=str(index))
            one = index[0]
            np.testing.assert_array_equal(x[one].numpy(), a[one], err_msg=str(one))

    def test_what_is_not_at_once_is_as_before(self):
        a = np.arange(6, dtype="float32").reshape(2, 3)
        x = var(a)
        assert x.sum(axis=1, keepdim=True).shape == (2, 1)
        assert x.sum([0, 1]).item() == 15 and x.sum(np.int64(1)).shape == (2,)
        assert x.mean(keepdim=True).shape == (1, 1)
        assert var([1, 2], "int64").mean().item() == 1.5
        assert var([1.0, 2.0]).sum(-1).shape == ()
        assert x.reshape(np.int64(3), 2).shape == (3, 2)
        assert x.reshape(np.array([6])).shape == (6,)
        assert x[np.int64(1), None].shape == (1, 3) and x[..., 1].shape == (2,)
        assert x[1, ::2].numpy().tolist() == [3.0, 5.0]
        assert x[2**40 :].shape == (0, 3) and x[-(2**40) :].shape == (2, 3)
        for bad, error in [
            (lambda: x.sum(2), IndexError),
            (lambda: x.sum(True), TypeError),
            (lambda: x.sum(0, False, 1), TypeError),
            (lambda: x.sum(axes=1), TypeError),
            (lambda: x.reshape(-2, 3), ValueError),
            (lambda: x.reshape(4), ValueError),
            (lambda: x.reshape(shape=(6,)), TypeError),
            (lambda: x[2], IndexError),
            (lambda: x[0, 3], IndexError),
            (lambda: x[::0], ValueError),
            (lambda: x[2**40], IndexError),
        ]:
            with pytest.raises(error):
                bad()

    def test_gradients_pass(self):
        x = var(np.arange(6).reshape(2, 3), grad=True)
        (x.reshape(3, 2).sum(0)[1] + x[:, ::2].mean() + x[0].sum()).backward()
        want = np.array([[0, 1, 0], [1, 0, 1]]) + np.array([[0.25, 0, 0.25]] * 2)
        want[0] += 1
        np.testing.assert_allclose(x.grad.numpy(), want)

    def test_help_shows_what_they_take(self):
        import inspect

        assert list(inspect.signature(dygraph.Variable.sum).parameters) == [
            "self", "axis", "keepdims", "dtype",
        ]  # fmt: skip
        assert "One size may be -1" in dygraph.Variable.reshape.__doc__
        assert dygraph.Variable.mean.__name__ == "mean"
