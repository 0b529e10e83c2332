"""complex64 and complex128: values in and out, files, casts, types that meet."""

import numpy as np
import pytest

import dygraph
from dygraph import _core, static

Z = np.array([[1 + 2j, -0.5j], [3.0, 1e30 - 4j]])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_arrays_come_back_as_they_went(dtype):
    a = Z.astype(dtype)
    v = dygraph.to_variable(a)
    assert v.dtype == getattr(dygraph, dtype) == np.dtype(dtype) and v.dtype.name == dtype
    assert v.dtype.itemsize == a.itemsize and v.dtype.is_complex and not v.dtype.is_floating
    np.testing.assert_array_equal(v.numpy(), a)
    np.testing.assert_array_equal(np.asarray(v), a)
    np.testing.assert_array_equal(dygraph.to_variable(a.T).numpy(), a.T)
    assert v.tolist() == a.tolist()
    assert v[0, 0].item() == 1 + 2j == complex(v[0, 0])
    assert np.from_dlpack(v).dtype == a.dtype
    np.testing.assert_array_equal(dygraph.from_dlpack(a.copy()).numpy(), a)
    np.testing.assert_array_equal(v.cpu().clone().detach().numpy(), a)


def test_texts():
    v = dygraph.to_variable([1 + 2j, 3j])
    assert repr(v).startswith("Variable([1.+2.j, 0.+3.j]") and "dtype=complex64" in repr(v)
    assert (
        str(dygraph.complex128) == "complex128" and repr(dygraph.complex64) == "dygraph.complex64"
    )
    for bad in (float, int):
        with pytest.raises(TypeError):
            bad(v[0])
    assert bool(v[0])


def test_what_python_gives():
    assert dygraph.to_variable(1j).dtype.name == "complex64"
    assert dygraph.to_variable([1, 2.5, 1j]).dtype.name == "complex64"
    assert dygraph.to_variable([1j, np.float64(2)]).dtype.name == "complex128"
    assert dygraph.to_variable([np.complex128(1j)]).dtype.name == "complex128"
    assert dygraph.to_variable([1.0, 2.0], dtype="complex128").tolist() == [1, 2]
    assert dygraph.full([2], 2.0, dtype="complex64").tolist() == [2, 2]
    assert dygraph.zeros([1], dtype=complex).dtype.name == "complex64"
    assert dygraph.eye(2, dtype="complex128").tolist() == [[1, 0], [0, 1]]
    with pytest.raises(IndexError, match="fit into complex64"):
        dygraph.to_variable([1.0]) * 1e300j
    with pytest.raises(TypeError, match=r"array\.real"):
        dygraph.to_variable(np.ones(2, "complex64"), dtype="float32")


@pytest.mark.parametrize("how", ["npz", "states", "stream"])
def test_files(tmp_path, how):
    v = {"a": dygraph.to_variable(Z), "b": dygraph.to_variable(Z.astype("complex64"))}
    if how == "npz":
        dygraph.save(v, tmp_path / "x.npz")
        found = dygraph.load(tmp_path / "x.npz")
    elif how == "states":
        with pytest.raises(dygraph.errors.ArgumentTypeError, match="complex128"):
            dygraph.save(v, tmp_path / "x.safetensors")
        del v["a"]
        dygraph.save(v, tmp_path / "x.safetensors")
        found = dygraph.load(tmp_path / "x.safetensors")
    else:
        dygraph.save_fluid_params(v, tmp_path)
        found = dygraph.load_fluid_params(tmp_path)
    for name, value in v.items():
        got = found[name]
        assert str(got.dtype) == value.dtype.name
        np.testing.assert_array_equal(np.asarray(got), value.numpy())


def test_casts():
    v = dygraph.to_variable([1 + 2j, 0j])
    assert v.astype("complex128").tolist() == [1 + 2j, 0]
    assert v.astype(bool).tolist() == [True, False]
    assert dygraph.to_variable([1.5, 2.0]).astype("complex64").tolist() == [1.5, 2]
    assert dygraph.to_variable([3]).astype("complex128").tolist() == [3]
    for dtype in ("float32", "float64", "int32"):
        with pytest.raises(TypeError, match=r"got " + dtype + r".*x\.real"):
            v.astype(dtype)
        with pytest.raises(TypeError, match=r"x\.real"):
            _core.ops.cast(v, out_dtype=dtype)
    with pytest.raises(TypeError, match=r"x\.real"):
        v.sum(dtype="float32")
    x = dygraph.to_variable([1.0])
    with pytest.raises(dygraph.errors.DygraphError):
        x += 1j
    w = dygraph.to_variable([1.0], dtype="float64")
    w.stop_gradient = False
    (g,) = dygraph.grad([(w.astype("complex128") * (2 + 1j)).real], [w])
    assert g.dtype.name == "float64" and g.tolist() == [2.0]
    (g,) = dygraph.grad([(w.astype("complex64") * (2 + 1j)).imag], [w])
    assert g.dtype.name == "float64" and g.tolist() == [1.0]


TYPES = [
    "bool",
    "uint8",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@pytest.mark.parametrize("b", ["complex64", "complex128"])
@pytest.mark.parametrize("a", TYPES)
def test_types_that_meet(a, b):
    """NumPy's, but for integers, which never widen a float here."""
    want = "complex64" if a[0] in "bui" and b == "complex64" else np.promote_types(a, b).name
    assert dygraph.promote_types(a, b) == dygraph.promote_types(b, a) == want
    x, y = dygraph.to_variable(np.ones(2, a)), dygraph.to_variable(np.full(2, 2j, b))
    for out in (x + y, y + x):
        assert out.dtype.name == want and out.tolist() == [1 + 2j] * 2
    assert dygraph.multiply(x, y).dtype.name == want


def test_numbers_take_the_type_of_the_variable():
    z = dygraph.to_variable([1 + 2j])
    for v in (z * 2, 2 + z, z - 2.5, 2.5 / z, z * 1j, 1j + z, z / 2):
        assert v.dtype.name == "complex64"
    assert (z * 1j).item() == 1j * (1 + 2j) and (z == 1 + 2j).tolist() == [True]
    for dtype, want in (("float32", "complex64"), ("float64", "complex128")):
        x = dygraph.to_variable(np.ones(1, dtype))
        assert (x * 1j).dtype.name == (1j - x).dtype.name == want
        assert dygraph.add(x, 2j).dtype.name == want == dygraph.result_type(x, 2j)
        assert (x * np.complex64(1j)).dtype.name == want
    for dtype in ("int32", "bool"):
        with pytest.raises(TypeError):
            dygraph.to_variable(np.ones(1, dtype)) * 1j


def test_refusals_name_the_type():
    z = dygraph.to_variable([1 + 2j, 3j])
    calls = {
        "less_than": lambda: z < z, "elementwise_pow": lambda: z**z, "pow": lambda: z**2,
        "sqrt": lambda: dygraph.sqrt(z), "arg_max": lambda: dygraph.argmax(z),
        "relu": lambda: dygraph.nn.functional.relu(z), "argsort": lambda: dygraph.sort(z),
        "reduce_max": lambda: z.max(), "elementwise_floordiv": lambda: z // z,
        "softmax": lambda: dygraph.nn.functional.softmax(z), "round": lambda: dygraph.round(z),
        "abs": lambda: z.abs(),
    }  # fmt: skip
    for name, call in calls.items():
        with pytest.raises(dygraph.errors.DygraphError, match="complex64"):
            call()
            pytest.fail(name)
    with pytest.raises(TypeError, match="complex64"):
        dygraph.finfo(dygraph.complex64)
    with pytest.raises(TypeError, match="complex64"):
        dygraph.set_default_dtype("complex64")


def test_nan_is_found():
    with dygraph.detect_anomaly(), pytest.raises(dygraph.errors.DygraphError, match="NaN"):
        dygraph.to_variable([1j]) * float("nan")


def test_parts_of_variables():
    z, x = dygraph.to_variable([1 + 2j]), dygraph.to_variable([1.5])
    assert z.real.tolist() == [1.0] and z.imag.tolist() == [2.0] and z.conj().tolist() == [1 - 2j]
    assert z.is_complex() and not x.is_complex()
    assert x.real is x and x.conj() is x
    assert dygraph.angle(dygraph.to_variable([-1.0, 2.0])).tolist() == [pytest.approx(np.pi), 0]
    with pytest.raises(TypeError, match="zeros_like"):
        dygraph.imag(x)
    with pytest.raises(TypeError, match="zeros_like"):
        getattr(x, "imag")  # noqa: B009
    with pytest.raises(TypeError, match="must be real"):
        dygraph.complex(z, x)


def test_programs():
    """A program on complex numbers gives what calls do, after a way through bytes."""
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [None, 2], "complex64")
        y = static.data("y", [2], "float32")
        y.stop_gradient = False
        out = (x * x.conj()).real.sum(axis=1) + dygraph.real(y.astype("complex64")).sum()
        (g,) = static.gradients([out.sum()], [y])
    a, b = Z.astype("complex64")[:, :1].repeat(2, 1), np.ones(2, "float32")
    feed = {"x": a, "y": b}
    got, slope = static.Executor().run(main, feed=feed, fetch_list=[out, g])
    np.testing.assert_allclose(got, (np.abs(a) ** 2).sum(1) + 2, rtol=1e-6)
    assert slope.dtype == np.float32 and slope.tolist() == [2.0, 2.0]
    again = static.Program.parse_from_string(main.desc.to_bytes())
    (got2,) = static.Executor().run(again, feed=feed, fetch_list=[out.name])
    np.testing.assert_array_equal(got, got2)
    assert x.dtype == static.core.VarDesc.VarType.COMPLEX64


def test_functions_of_numpy():
    z = dygraph.to_variable(Z)
    for name in ("absolute", "exp", "square", "conjugate", "add", "multiply", "negative"):
        args = (z, z) if name in ("add", "multiply") else (z[0],)
        want = getattr(np, name)(*(a.numpy() for a in args))
        np.testing.assert_allclose(getattr(np, name)(*args).numpy(), want, rtol=1e-15)
    with pytest.raises(dygraph.errors.DygraphError, match="complex128"):
        np.sqrt(z)


def test_functions_that_would_read_it_otherwise():
    """vecdot conjugates, as the standard asks; var would need |z|^2, nan_to_num two parts."""
    a, b = Z, Z[::-1]
    got = dygraph.vecdot(dygraph.to_variable(a), dygraph.to_variable(b))
    np.testing.assert_allclose(got.numpy(), np.vecdot(a, b))
    z = dygraph.to_variable(a.astype("complex64"))
    for call in (
        lambda: dygraph.var(z), lambda: z.std(correction=0), lambda: dygraph.nan_to_num(z),
        lambda: dygraph.norm(z), lambda: dygraph.linalg.vector_norm(z), lambda: z.norm(),
        lambda: dygraph.median(z, mode="min"), lambda: dygraph.prod(z),
        lambda: dygraph.cumulative_sum(z[0]),
        lambda: dygraph.isclose(z, z), lambda: dygraph.allclose(z, z), lambda: dygraph.sign(z),
        lambda: dygraph.maximum(z, z), lambda: dygraph.clip(z, 0, 1), lambda: dygraph.unique(z),
        lambda: dygraph.linalg.inv(z), lambda: dygraph.linalg.solve(z, z),
        lambda: dygraph.linalg.eigh(z), lambda: dygraph.linalg.svd(z), lambda: dygraph.hypot(z, z),
        lambda: dygraph.nn.functional.mse_loss(z, z), lambda: dygraph.nn.functional.l1_loss(z, z),
        lambda: dygraph.einsum("ij,jk->ik", z, z), lambda: dygraph.signbit(z),
        lambda: dygraph.copysign(z, z), lambda: dygraph.nextafter(z, z), lambda: dygraph.std(z),
        lambda: dygraph.nn.functional.normalize(z), lambda: dygraph.logaddexp(z, z),
        lambda: dygraph.remainder(z, z), lambda: dygraph.floor(z), lambda: dygraph.lerp(z, z, 0.5),
        lambda: dygraph.nn.functional.cosine_similarity(z, z), lambda: dygraph.trace(z),
        lambda: dygraph.bitwise_and(z, z), lambda: z > 0,
        lambda: dygraph.nn.Linear(2, 2)(z),
        lambda: dygraph.ops.mean(z), lambda: dygraph.special.erf(z), lambda: dygraph.topk(z, 1),
        lambda: dygraph.linalg.det(z), lambda: dygraph.linalg.matrix_norm(z), lambda: z.log(),
    ):  # fmt: skip
        with pytest.raises(dygraph.errors.DygraphError, match="complex64|complex"):
            pytest.fail(f"{call.__code__.co_names}: {call()}")


def test_constants():
    assert dygraph.full([2], 1 + 2j, dtype="complex64").tolist() == [1 + 2j] * 2
    z = dygraph.to_variable([1j])
    assert dygraph.zeros_like(z).tolist() == [0] and dygraph.ones_like(z).dtype == z.dtype
    assert dygraph.where(z == 1j, z, 2j).tolist() == [1j]
    assert dygraph.full_like(z, 3.0).tolist() == [3]
    assert dygraph.full([1], 1j).dtype.name == "complex64"
    with pytest.raises(TypeError, match="float32"):
        dygraph.full([1], 1j, dtype="float32")


def test_batches():
    data = [(np.array([1j, 2], "complex64"), i) for i in range(4)]
    for x, _ in dygraph.io.DataLoader(data, batch_size=2):
        assert x.dtype.name == "complex64" and x.shape == (2, 2)
