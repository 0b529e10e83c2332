"""The operators on matrices beside numpy.linalg; vectors of free sign are compared up to it."""

import numpy as np
import pytest

import dygraph
from dygraph import _core
from op_cases import class_name, op_case
from op_test import OpTest, entries, rand

ops = _core.ops
T = "...ij->...ji"


def mt(x):
    return np.swapaxes(x, -1, -2)


def regular(*shape):
    """Matrices with distinct singular values well away from 0."""
    x = rand(*shape)
    n = min(shape[-2:])
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return u * np.linspace(2.5, 0.8, n) @ vh


def positive(*shape):
    x = rand(*shape)
    return x @ mt(x) + 2 * np.eye(shape[-1])


def triangular(upper, unit=False):
    """As it is read: of one triangle, of ones on the diagonal with unit."""

    def form(x):
        x = np.triu(x) if upper else np.tril(x)
        n = x.shape[-1]
        return x * (1 - np.eye(n)) + np.eye(n) if unit else x

    return form


def square(x):
    if x.shape[-1] != x.shape[-2]:
        raise ValueError("not square")
    return x


# What read_paddle.py says of Paddle 2.6.2: inputs, outputs, attributes with defaults.
PADDLE = {
    "svd": ("X", "U S VH", {"full_matrices": False}),
    "qr": ("X", "Q R", {"mode": "reduced"}),
    "eigh": ("X", "Eigenvalues Eigenvectors", {"UPLO": "L"}),
    "eigvalsh": ("X", "Eigenvalues Eigenvectors", {"UPLO": "L", "is_test": False}),
    "cholesky": ("X", "Out", {"upper": False}),
    "cholesky_solve": ("X Y", "Out", {"upper": False}),
    "lu": ("X", "Out Pivots Infos", {"pivots": True}),
    "lu_unpack": ("X Pivots", "Pmat L U", {"unpack_ludata": True, "unpack_pivots": True}),
    "solve": ("X Y", "Out", {}),
    "triangular_solve": (
        "X Y", "Out", {"upper": True, "transpose": False, "unitriangular": False},
    ),
    "lstsq": ("X Y", "Solution Residuals Rank SingularValues", {"rcond": 0.0, "driver": "gels"}),
    "inverse": ("Input", "Output", {}),
    "determinant": ("Input", "Out", {}),
    "slogdeterminant": ("Input", "Out", {}),
    "matrix_power": ("X", "Out", {"n": 1}),
    "matrix_rank": (
        "X TolTensor", "Out", {"tol": 0.0, "use_default_tol": True, "hermitian": False},
    ),
    "multi_dot": ("X", "Out", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", PADDLE)
def test_slots_are_paddles(name):
    inputs, outputs, attrs = PADDLE[name]
    info = _core.describe_op(name)
    assert [s["name"] for s in info["inputs"]] == inputs.split()
    assert [s["name"] for s in info["outputs"]] == outputs.split()
    assert {a["name"]: a["default"] for a in info["attrs"]} == attrs


# Values that are unique ---------------------------------------------------------------------------


def solved(a, b):
    """numpy.linalg.solve, where one axis less is refused."""
    square(a)
    if b.ndim == 1 and a.ndim == 2:
        return np.linalg.solve(a, b)
    if b.ndim < 2 or b.shape == a.shape[:-1]:
        raise ValueError("vectors or a matrix")
    return np.linalg.solve(a, b)


def triangular_solve(inputs, attrs):
    a = triangular(attrs.get("upper", True), attrs.get("unitriangular"))(inputs["X"])
    if inputs["Y"].ndim < 2:
        raise ValueError("no columns")
    return {"Out": np.linalg.solve(mt(a) if attrs.get("transpose") else a, inputs["Y"])}


def cholesky_solve(inputs, attrs):
    upper = attrs.get("upper", False)
    a = triangular(upper)(inputs["Y"])
    if inputs["X"].ndim < 2:
        raise ValueError("no columns")
    return {"Out": np.linalg.solve(mt(a) @ a if upper else a @ mt(a), inputs["X"])}


def slogdet(inputs, attrs):
    return {"Out": np.stack(np.linalg.slogdet(inputs["Input"]))}


def matrix_power(inputs, attrs):
    return {"Out": np.linalg.matrix_power(inputs["X"], attrs.get("n", 1))}


def matrix_exp(inputs, attrs):
    """By the eigenvalues, which are distinct for almost every matrix."""
    w, v = np.linalg.eig(square(inputs["X"]))
    return {"Out": ((v * np.exp(w)[..., None, :]) @ np.linalg.inv(v)).real}


def multi_dot(inputs, attrs):
    return {"Out": np.asarray(np.linalg.multi_dot(inputs["X"]))}


def lstsq(inputs, attrs):
    x, y = inputs["X"], inputs["Y"]
    if x.ndim < 2 or x.ndim != y.ndim or x.shape[:-2] != y.shape[:-2]:
        raise ValueError("stacks do not fit")
    driver, (m, n) = attrs.get("driver", "gels"), x.shape[-2:]
    solution = np.linalg.pinv(x) @ y
    values = np.linalg.svd(x, compute_uv=False)
    rank = np.linalg.matrix_rank(x).astype("int32")
    none = np.zeros(0)
    return {
        "Solution": solution,
        "Residuals": ((x @ solution - y) ** 2).sum(-2) if m > n else none,
        "Rank": np.asarray(rank) if driver != "gels" else none.astype("int32"),
        "SingularValues": values if driver in ("gelsd", "gelss") else none,
    }


def values_of(shape, make=regular, slot="X"):
    return lambda: {slot: make(*shape)}


def pair(x, y, make=regular, names="XY"):
    return lambda: {names[0]: make(*x), names[1]: rand(*y)}


def diagonal_heavy(*shape):
    return rand(*shape) + 3 * np.eye(shape[-1])


CASES = [
    ("inverse", "", values_of((2, 3, 3), slot="Input"), {}, ["Input"], "Output",
     lambda i, a: {"Output": np.linalg.inv(i["Input"])}),
    ("inverse", "One", values_of((4, 4), slot="Input"), {}, ["Input"], "Output",
     lambda i, a: {"Output": np.linalg.inv(i["Input"])}),
    ("determinant", "", values_of((2, 3, 3), slot="Input"), {}, ["Input"], "Out",
     lambda i, a: {"Out": np.asarray(np.linalg.det(i["Input"]))}),
    ("determinant", "One", values_of((4, 4), slot="Input"), {}, ["Input"], "Out",
     lambda i, a: {"Out": np.asarray(np.linalg.det(i["Input"]))}),
    ("slogdeterminant", "", values_of((2, 3, 3), slot="Input"), {}, ["Input"], "Out", slogdet),
    ("slogdeterminant", "One", values_of((4, 4), slot="Input"), {}, ["Input"], "Out", slogdet),
    ("pinv", "Tall", values_of((2, 4, 3)), {}, ["X"], "Out",
     lambda i, a: {"Out": np.linalg.pinv(i["X"])}),
    ("pinv", "Wide", values_of((3, 4)), {}, ["X"], "Out",
     lambda i, a: {"Out": np.linalg.pinv(i["X"])}),
    ("svdvals", "Tall", values_of((2, 4, 3)), {}, ["X"], "Out",
     lambda i, a: {"Out": np.linalg.svd(i["X"], compute_uv=False)}),
    ("svdvals", "Wide", values_of((3, 4)), {}, ["X"], "Out",
     lambda i, a: {"Out": np.linalg.svd(i["X"], compute_uv=False)}),
    ("matrix_exp", "", values_of((2, 3, 3)), {}, ["X"], "Out", matrix_exp),
    ("multi_dot", "", lambda: {"X": [rand(2, 3), rand(3, 4), rand(4, 2)]}, {}, ["X[0]", "X[2]"],
     "Out", multi_dot),
    ("multi_dot", "Vectors", lambda: {"X": [rand(3), rand(3, 4), rand(4, 2), rand(2)]}, {},
     ["X[0]", "X[1]", "X[3]"], "Out", multi_dot),
]  # fmt: skip
for n in (-2, 0, 1, 2, 5):
    name = f"N{n}".replace("-", "Minus")
    CASES.append(("matrix_power", name, values_of((2, 3, 3)), {"n": n}, ["X"], "Out", matrix_power))
for x, y, suffix in [
    ((3, 3), (3, 2), ""), ((2, 3, 3), (2, 3, 1), "Stack"), ((3, 3), (2, 3, 2), "OneMatrix"),
    ((2, 3, 3), (3, 2), "OneSide"), ((3, 3), (3,), "Vector"),
]:  # fmt: skip
    CASES.append(
        ("solve", suffix, pair(x, y), {}, ["X", "Y"], "Out",
         lambda i, a: {"Out": solved(i["X"], i["Y"])})
    )  # fmt: skip
    if suffix == "Vector":
        continue
    for upper in (True, False):
        side = suffix + ("Upper" if upper else "Lower")
        CASES.append(
            ("cholesky_solve", side, pair(y, x, rand, "XY"), {"upper": upper}, ["X", "Y"], "Out",
             cholesky_solve)
        )  # fmt: skip
        for transpose, unit in ((False, False), (True, False), (True, True)):
            attrs = {"upper": upper, "transpose": transpose, "unitriangular": unit}
            CASES.append(
                ("triangular_solve", f"{side}{int(transpose)}{int(unit)}",
                 pair(x, y, diagonal_heavy), attrs, ["X", "Y"], "Out", triangular_solve)
            )  # fmt: skip
for driver in ("gels", "gelsd", "gelsy", "gelss"):
    for x, y, suffix in [((2, 4, 3), (2, 4, 2), "Tall"), ((3, 4), (3, 2), "Wide")]:
        CASES.append(
            ("lstsq", driver.title() + suffix, pair(x, y), {"driver": driver, "rcond": 1e-7},
             ["X", "Y"], "Solution", lstsq)
        )  # fmt: skip
for op, suffix, inputs, attrs, grad, out, reference in CASES:
    members = {}
    if op == "lstsq":  # test_lstsq_refuses_other_gradients
        every = "it asks for the gradients of all outputs, of which Residuals refuses"
        checks = "leaves_inputs_alone", "shapes_before_a_run", "traced_equals_eager"
        members = {"grad_outputs": [out], "leave_out": dict.fromkeys(checks, every)}
    if op == "cholesky_solve":
        inner = inputs

        def inputs(make=inner):
            made = make()
            made["Y"] = made["Y"] + 3 * np.eye(made["Y"].shape[-1])
            return made

    name = class_name(op, suffix)
    globals()[name] = op_case(name, op, inputs, attrs, reference, grad=grad, out=out, **members)


# Vectors whose sign is free -----------------------------------------------------------------------


class SignCase:
    """`vectors`: {output: axis along which its vectors lie}."""

    vectors = {}
    elementwise = False

    def compare(self, run, outputs, rtol, atol, leave=()):
        def fixed(name, array):
            axis = self.vectors.get(name)
            if axis is None or array.size == 0:
                return array
            at = np.argmax(np.abs(array), axis=axis, keepdims=True)
            return array * np.sign(np.take_along_axis(array, at, axis=axis))

        for name, expected in entries(outputs).items():
            got = run.results[name].numpy()
            assert got.shape == expected.shape
            np.testing.assert_allclose(
                fixed(name, got).astype("float64"), fixed(name, expected), rtol=rtol, atol=atol
            )

    def test_check_output(self):
        self.check_output()


class TestSvd(SignCase, OpTest):
    vectors = {"U": -2, "VH": -1}
    shape = 2, 3, 3

    def setUp(self):
        self.op_type = "svd"
        self.inputs = {"X": regular(*self.shape)}

    def reference(self, inputs, attrs):
        return dict(
            zip(("U", "S", "VH"), np.linalg.svd(inputs["X"], full_matrices=False), strict=True)
        )

    def test_check_grad(self):
        for out in ("U", "S", "VH"):
            self.check_grad(["X"], out)


class TestSvdTall(TestSvd):
    shape = 4, 3

    def setUp(self):
        super().setUp()


class TestSvdWide(TestSvd):
    shape = 2, 3, 4

    def setUp(self):
        super().setUp()


class TestQr(SignCase, OpTest):
    vectors = {"Q": -2, "R": -1}
    shape = 2, 3, 3

    def setUp(self):
        self.op_type = "qr"
        self.inputs = {"X": regular(*self.shape)}

    def reference(self, inputs, attrs):
        return dict(zip("QR", np.linalg.qr(inputs["X"]), strict=True))

    def test_check_grad(self):
        for out in "QR":
            self.check_grad(["X"], out)


class TestQrTall(TestQr):
    shape = 4, 3

    def setUp(self):
        super().setUp()


class TestQrWide(TestQr):
    shape = 2, 3, 5

    def setUp(self):
        super().setUp()


def factors(x):
    """Partial pivoting of one matrix by the definition: packed L and U, exchanges from 1."""
    x = x.astype("float64")
    m, n = x.shape
    pivots = []
    for k in range(min(m, n)):
        at = k + int(np.argmax(np.abs(x[k:, k])))
        pivots.append(at + 1)
        x[[k, at]] = x[[at, k]]
        x[k + 1 :, k] /= x[k, k]
        x[k + 1 :, k + 1 :] -= np.outer(x[k + 1 :, k], x[k, k + 1 :])
    return x, np.array(pivots, "int32")


def lu(inputs, attrs):
    x = inputs["X"]
    flat = x.reshape(-1, *x.shape[-2:])
    found = [factors(a) for a in flat]
    k = min(x.shape[-2:])
    return {
        "Out": np.array([a for a, _ in found]).reshape(x.shape),
        "Pivots": np.array([p for _, p in found], "int32").reshape(*x.shape[:-2], k),
        "Infos": np.zeros(x.shape[:-2], "int32"),
    }


def lu_unpack(inputs, attrs):
    x, pivots = inputs["X"], inputs["Pivots"]
    m, n = x.shape[-2:]
    k = min(m, n)
    if pivots.shape != (*x.shape[:-2], k):
        raise ValueError("pivots do not fit")
    p = np.zeros((*x.shape[:-2], m, m))
    for i in np.ndindex(x.shape[:-2]):
        rows = list(range(m))
        for r, with_ in enumerate(pivots[i]):
            rows[r], rows[with_ - 1] = rows[with_ - 1], rows[r]
        p[(*i, rows, range(m))] = 1
    return {
        "Pmat": p,
        "L": np.tril(x[..., :k], -1) + np.eye(m, k),
        "U": np.triu(x[..., :k, :]),
    }


for shape, suffix in [((2, 3, 3), ""), ((4, 3), "Tall"), ((2, 3, 4), "Wide")]:
    name = class_name("lu", suffix)
    globals()[name] = op_case(name, "lu", values_of(shape), {}, lu, grad=["X"])
    name = class_name("lu_unpack", suffix)

    def packed(shape=shape):
        made = lu({"X": regular(*shape)}, {})
        return {"X": made["Out"], "Pivots": made["Pivots"]}

    globals()[name] = op_case(
        name,
        "lu_unpack",
        packed,
        {},
        lu_unpack,
        grad=["X"],
        out=["L", "U"],
        grad_outputs=["L", "U"],
    )


# Operators that read one triangle: gradients are those of symmetric changes -----------------------

ONE_TRIANGLE = {
    check: "it reads one triangle; the gradient is that of symmetric changes, tested below"
    for check in ("gradient", "second_order", "third_order")
}


class TestCholesky(OpTest):
    upper = False
    elementwise = False
    leave_out = ONE_TRIANGLE

    def setUp(self):
        self.op_type = "cholesky"
        self.inputs = {"X": positive(2, 3, 3)}
        self.attrs = {"upper": self.upper}

    def reference(self, inputs, attrs):
        x = triangular(attrs["upper"])(inputs["X"])
        x = x + mt(x) - x * np.eye(x.shape[-1])
        lower = np.linalg.cholesky(x)
        return {"Out": mt(lower) if attrs["upper"] else lower}

    def test_check_output(self):
        self.check_output()


class TestCholeskyUpper(TestCholesky):
    upper = True

    def setUp(self):
        super().setUp()


class TestEigh(SignCase, OpTest):
    vectors = {"Eigenvectors": -2}
    leave_out = ONE_TRIANGLE
    triangle = "L"

    def setUp(self):
        self.op_type = "eigh"
        self.inputs = {"X": rand(2, 3, 3)}
        self.attrs = {"UPLO": self.triangle}

    def reference(self, inputs, attrs):
        w, v = np.linalg.eigh(inputs["X"], attrs["UPLO"])
        return {"Eigenvalues": w, "Eigenvectors": v}


class TestEighUpper(TestEigh):
    triangle = "U"

    def setUp(self):
        super().setUp()


class TestEigvalsh(SignCase, OpTest):
    leave_out = ONE_TRIANGLE

    def setUp(self):
        self.op_type = "eigvalsh"
        self.inputs = {"X": rand(2, 3, 3)}
        self.attrs = {"UPLO": "U"}

    def reference(self, inputs, attrs):
        return {"Eigenvalues": np.linalg.eigvalsh(inputs["X"], attrs["UPLO"])}


class TestMatrixRank(SignCase, OpTest):
    leave_out = {}
    fixed_dtypes = {"Out": "int32"}

    def setUp(self):
        self.op_type = "matrix_rank"
        x = regular(2, 4, 3)
        x[1, :, 2] = x[1, :, 0]
        self.inputs = {"X": x}

    def reference(self, inputs, attrs):
        return {"Out": np.asarray(np.linalg.matrix_rank(inputs["X"]), "int32")}


# Gradients of symmetric changes -------------------------------------------------------------------


def variable(array):
    v = dygraph.to_variable(np.asarray(array))
    v.stop_gradient = False
    return v


def weighted(out, seed):
    weights = np.random.default_rng(seed).uniform(0.5, 1.5, out.shape)
    return dygraph.sum(out * dygraph.to_variable(np.asarray(weights)))


def slopes(f, x, step=1e-6):
    found = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        ends = x.copy(), x.copy()
        ends[0][i] += step
        ends[1][i] -= step
        found[i] = (f(ends[0]) - f(ends[1])) / (2 * step)
    return found


def symmetric(x):
    return (x + ops.einsum([x], equation=T)) * 0.5


@pytest.mark.parametrize(
    "f",
    [
        lambda x: ops.cholesky(ops.matmul_v2(x, x, trans_y=True)),
        lambda x: ops.cholesky(ops.matmul_v2(x, x, trans_y=True), upper=True),
        lambda x: ops.eigh(symmetric(x))[0],
        lambda x: ops.eigh(symmetric(x))[1] ** 2,
        lambda x: ops.eigh(symmetric(x), UPLO="U")[1] ** 2,
        lambda x: ops.eigvalsh(symmetric(x)),
    ],
)
def test_gradients_of_symmetric_changes(f):
    x = np.random.default_rng(0).standard_normal((2, 3, 3))

    def first(array, create_graph=False):
        v = variable(array)
        return v, dygraph.grad([weighted(f(v), 1)], [v], create_graph=create_graph)[0]

    v, gradient = first(x, create_graph=True)
    expected = slopes(lambda a: weighted(f(dygraph.to_variable(a)), 1).item(), x)
    np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-6, atol=1e-7)
    (second,) = dygraph.grad([weighted(gradient, 2)], [v])
    expected = slopes(lambda a: weighted(first(a)[1], 2).item(), x)
    np.testing.assert_allclose(second.numpy(), expected, rtol=1e-5, atol=1e-5)
