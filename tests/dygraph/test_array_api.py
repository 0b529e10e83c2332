"""The top level of dygraph follows the Python array API standard, but for docs/array_api.md.

Names and signatures are those of array-api-strict, values are NumPy's. More than 600 lines because
each function of the standard has cases of its own.
"""

import inspect
import itertools
import re
import warnings
from pathlib import Path

import array_api_strict as standard
import numpy as np
import pytest

import dygraph

PAGE = (Path(__file__).parents[2] / "docs/array_api.md").read_text(encoding="utf-8")
# Of array-api-strict itself, and of later versions of the standard.
NOT_IN_2024 = {
    "ArrayAPIStrictFlags", "Device", "ModuleType", "get_array_api_strict_flags",
    "reset_array_api_strict_flags", "set_array_api_strict_flags", "broadcast_shapes", "isin",
    "fft",
}  # fmt: skip
NAMES = [n for n in dir(standard) if not n.startswith("_") and n not in NOT_IN_2024]
FUNCTIONS = [n for n in NAMES if inspect.isfunction(getattr(standard, n))]
SECTION = PAGE.partition("## Names that are missing")[2].partition("\n## ")[0]
LACKING = re.findall(r"^\| `(\w+)` \| (.+) \|$", SECTION, re.M)
MISSING = {name for name, _ in LACKING}


def test_page_counts_what_is_here():
    here = [n for n in FUNCTIONS if n not in MISSING]
    text = f"{len(here)} of the {len(FUNCTIONS)} functions"
    assert text in PAGE


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    assert hasattr(dygraph, name) != (name in MISSING)
    assert name in MISSING or name in dir(dygraph)


def test_page_names_what_the_standard_has():
    assert MISSING <= set(NAMES) and all(len(reason) > 20 for _, reason in LACKING)


def test_page_and_file_name_the_same_tests_of_the_suite():
    lines = (Path(__file__).parent / "array_api_xfails.txt").read_text(encoding="utf-8").split("\n")
    table = PAGE.partition("## The standard's test suite")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`test_.+`) \| (.+) \|$", table, re.M)
    named = [name for row, _ in rows for name in re.findall(r"`(test_[^`]+)`", row)]
    assert named == [line for line in lines if line and not line.startswith("#")]
    assert all(len(reason) > 20 for _, reason in rows)


LINALG = (
    "cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank "
    "matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm"
).split()


def test_linalg():
    """Of 2024.12; array-api-strict has eig and eigvals of the version after it."""
    assert "The extension `linalg` is `dygraph.linalg`" in PAGE
    theirs = {n for n in dir(standard.linalg) if inspect.isfunction(getattr(standard.linalg, n))}
    assert set(LINALG) <= theirs and set(LINALG) <= set(dir(dygraph.linalg))
    for name in LINALG:
        ours = inspect.signature(getattr(dygraph.linalg, name)).parameters
        for p in inspect.signature(getattr(standard.linalg, name)).parameters.values():
            if p.kind is inspect.Parameter.KEYWORD_ONLY:
                assert p.name in ours and ours[p.name].default == p.default, (name, p)


POSITION = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in MISSING])
def test_signatures(name):
    ours = list(inspect.signature(getattr(dygraph, name)).parameters.values())
    named = {p.name: p for p in ours}
    places = [p for p in ours if p.kind in POSITION]
    asked = list(inspect.signature(getattr(standard, name)).parameters.values())
    for i, p in enumerate(q for q in asked if q.kind in POSITION):
        if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            assert places[i].name == p.name
        if p.default is not p.empty and name != "arange":
            assert places[i].default == p.default or name == "squeeze"
    for p in asked:
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            assert any(q.kind is p.kind for q in ours)
        elif p.kind is inspect.Parameter.KEYWORD_ONLY:
            undefined = "UNDEF" in repr(p.default)
            assert p.name in named
            if name != "meshgrid":  # whose indexing must be given, says the page
                assert undefined or named[p.name].default == p.default
    taken = {p.name for p in asked} | {p.name for p in places[: len(asked)]}
    variadic = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    for p in ours:  # what is ours may be left out
        assert p.name in taken or p.default is not p.empty or p.kind in variadic


# Values -------------------------------------------------------------------------------------------

FLOATS = ("float32", "float64")
INTS = ("int8", "int16", "int32", "int64", "uint8")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 1e-8, 1e-3, 0.9, -0.9,
           20.0, -30.0, 1e4, -1e4, 3e7, np.inf, -np.inf, np.nan]  # fmt: skip
WHOLE = [0, 1, 2, 3, 5, 7, 11, 100, 127]


def values(dtype):
    if dtype == "bool":
        return np.array([True, False, True])
    if dtype in FLOATS:
        return np.array(SPECIAL, dtype)
    return np.array(WHOLE if dtype == "uint8" else WHOLE + [-n for n in WHOLE], dtype)


def shapes(x):
    """The values in several shapes: as they are, one, none, and two axes."""
    return x, x[2], x[:0], x[:0].reshape(0, 3), x[: len(x) // 2 * 2].reshape(2, -1), x[:1]


def ours(x):
    return dygraph.asarray(np.asarray(x))


def theirs(function, *args, **kwargs):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def agree(got, expected, ulps=4, dtype=None):
    """Equal shape and type; values within some spacings of the type, NaN where NaN is."""
    expected = np.asarray(expected)
    assert isinstance(got, dygraph.Variable) and got.shape == expected.shape
    assert str(got.dtype) == (dtype or str(expected.dtype)), (got.dtype, expected.dtype)
    if expected.dtype.kind == "f":
        info = np.finfo(str(got.dtype))
        np.testing.assert_allclose(
            got.numpy(), expected.astype(info.dtype), rtol=ulps * info.eps, atol=info.tiny
        )
    else:
        np.testing.assert_array_equal(got.numpy(), expected)


ON_FLOATS = (
    "acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 reciprocal sin sinh "
    "sqrt tan tanh"
).split()
ON_NUMBERS = (
    "abs ceil floor isfinite isinf isnan negative positive round sign square trunc"
).split()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [*ON_FLOATS, *ON_NUMBERS, "signbit"])
def test_elementwise_of_floats(name, dtype):
    for x in shapes(values(dtype)):
        if name == "signbit":
            x = np.where(np.isnan(x), x.dtype.type(1), x)
        agree(getattr(dygraph, name)(ours(x)), theirs(getattr(np, name), x))
        if not x.size:
            continue
        zeros = x[x == 0] if x.ndim else x
        got = getattr(dygraph, name)(ours(zeros)).numpy()
        np.testing.assert_array_equal(  # the sign of zeros
            np.signbit(got), np.signbit(theirs(getattr(np, name), zeros))
        )


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("name", [*ON_NUMBERS, "bitwise_invert"])
def test_elementwise_of_integers(name, dtype):
    for x in shapes(values(dtype)):
        agree(getattr(dygraph, name)(ours(x)), getattr(np, name)(x))


@pytest.mark.parametrize("name", ON_FLOATS)
def test_elementwise_functions_of_integers_give_float32(name):
    x = np.array([1, 1], "int32")
    got = getattr(dygraph, name)(ours(x))
    agree(got, theirs(getattr(np, name), x.astype("float32")))


PAIRS = (
    "add atan2 copysign divide floor_divide hypot logaddexp maximum minimum multiply nextafter "
    "pow remainder subtract equal not_equal less less_equal greater greater_equal"
).split()
OF_FLOATS = {"atan2", "copysign", "hypot", "logaddexp", "nextafter", "divide"}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_floats(name, dtype):
    x = values(dtype)
    function, reference = getattr(dygraph, name), getattr(np, name)
    y = x if name != "copysign" else x[:-1]  # of a NaN the sign is not seen
    agree(function(ours(x[:, None]), ours(y)), theirs(reference, x[:, None], y), 8)
    agree(function(ours(x[:0]), ours(y[:1])), theirs(reference, x[:0], y[:1]))
    agree(function(ours(x[3]), ours(y[4])), theirs(reference, x[3], y[4]))
    agree(function(ours(x), 2.0), theirs(reference, x, x.dtype.type(2)), 8)
    agree(function(2, ours(x[:-1])), theirs(reference, x.dtype.type(2), x[:-1]), 8)


@pytest.mark.parametrize(("a", "b"), [*zip(INTS, INTS, strict=True), ("int8", "uint8"),
                                      ("int16", "int64"), ("uint8", "int32")])  # fmt: skip
@pytest.mark.parametrize("name", [*PAIRS, "bitwise_and", "bitwise_or", "bitwise_xor"])
def test_pairs_of_integers(name, a, b):
    x, y = values(a), values(b)
    if name in ("pow", "floor_divide", "remainder", "divide"):
        y = y[y > 0]
    if name == "pow":
        y = y[y < 4]
    if name in OF_FLOATS:
        if name == "nextafter":
            with pytest.raises(TypeError, match="nextafter"):
                dygraph.nextafter(ours(x), ours(x))
            return
        x, y = x.astype("float32"), y.astype("float32")
        expected = getattr(np, name)(x[:, None], y)
        agree(getattr(dygraph, name)(ours(values(a)[:, None]), ours(y.astype(b))), expected)
        return
    expected = theirs(getattr(np, name), x[:, None], y)
    agree(getattr(dygraph, name)(ours(x[:, None]), ours(y)), expected)
    agree(getattr(dygraph, name)(ours(x), 3), theirs(getattr(np, name), x, x.dtype.type(3)))


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("name", ["bitwise_left_shift", "bitwise_right_shift"])
def test_shifts(name, dtype):
    x, n = values(dtype), np.arange(np.iinfo(dtype).bits, dtype=dtype)
    agree(getattr(dygraph, name)(ours(x[:, None]), ours(n)), getattr(np, name)(x[:, None], n))
    agree(ours(x) << 2, x << x.dtype.type(2))
    agree(ours(x) >> 1, x >> x.dtype.type(1))
    agree(3 << ours(n), x.dtype.type(3) << n)
    y = kept = ours(x)
    y <<= 1
    assert y is kept and y.tolist() == (x << 1).tolist()
    with pytest.raises(TypeError):
        ours(x) << 1.5


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logic(name):
    x, y = np.array([True, False]), np.array([[True], [False]])
    agree(getattr(dygraph, name)(ours(x), ours(y)), getattr(np, name)(x, y))
    agree(getattr(dygraph, name)(ours(x), True), getattr(np, name)(x, True))
    assert dygraph.logical_not(ours(x)).tolist() == [False, True]
    for bits in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        agree(getattr(dygraph, bits)(ours(x), ours(y)), getattr(np, bits)(x, y))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS])
def test_clip_and_where(dtype):
    x = values(dtype)
    for low, high in ((1, 3), (None, 2), (1, None), (None, None)):
        agree(dygraph.clip(ours(x), low, high), x.clip(low, high) if low or high else x)
    low = np.ones_like(x[:1])
    agree(dygraph.clip(ours(x), min=ours(low), max=ours(low + low)), np.clip(x, low, low + low))
    chosen = x > 1
    agree(dygraph.where(ours(chosen), ours(x), ours(low)), np.where(chosen, x, low))
    agree(dygraph.where(ours(chosen), ours(x), 1), np.where(chosen, x, low))


# Reductions ---------------------------------------------------------------------------------------

AXES = None, 0, -1, (0, 2), (0, 1, 2)
REDUCING = "all any max mean min prod std sum var count_nonzero".split()


@pytest.mark.parametrize("dtype", ["bool", *INTS, *FLOATS])
@pytest.mark.parametrize("name", REDUCING)
def test_reductions(name, dtype):
    if dtype == "bool" and name in ("max", "min"):
        return
    x = (np.arange(24).reshape(2, 3, 4) % 5 - (dtype != "uint8")).astype(dtype)
    for axis, keepdims in itertools.product(AXES, (False, True)):
        expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
        kind = x.dtype.kind
        result = str(expected.dtype)
        if name in ("sum", "prod", "count_nonzero") and kind in "biu":
            result = "int64"  # there is no uint64
        if name in ("mean", "std", "var") and kind in "biu":
            result = "float32"
        got = getattr(dygraph, name)(ours(x), axis=axis, keepdims=keepdims)
        agree(got, expected, 8, result)
        if name not in ("std", "var", "count_nonzero"):
            method = getattr(ours(x), name)
            agree(method(axis=axis, keepdims=keepdims), expected, 8, result)
            if name not in ("max", "min"):
                agree(method(axis, keepdims), expected, 8, result)


@pytest.mark.parametrize("name", ["std", "var"])
def test_correction(name):
    x = np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]])
    for correction, axis in itertools.product((0, 1, 2.5), (None, 1)):
        got = getattr(dygraph, name)(ours(x), axis=axis, correction=correction)
        agree(got, getattr(np, name)(x, axis=axis, ddof=correction), 8)
    agree(getattr(dygraph, name)(ours(x), unbiased=True), getattr(np, name)(x, ddof=1), 8)
    agree(getattr(ours(x), name)(1, unbiased=False), getattr(np, name)(x, 1), 8)
    with pytest.raises(ValueError, match=rf"x.{name}\(correction=1\)"):
        getattr(ours(x), name)()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = getattr(np, name)(x, axis=0, ddof=2)  # over 0
    agree(getattr(dygraph, name)(ours(x), axis=0, correction=2), expected)


def test_reductions_of_nothing_and_nan():
    none = np.zeros((0, 3), "float32")
    for name in ("sum", "prod", "all", "any"):
        agree(getattr(dygraph, name)(ours(none), axis=0), getattr(np, name)(none, axis=0))
    agree(dygraph.mean(ours(none), axis=0), theirs(np.mean, none, axis=0))
    for name in ("max", "min", "sum", "prod", "mean"):
        x = np.array([1.0, np.nan, 2.0])
        agree(getattr(dygraph, name)(ours(x)), getattr(np, name)(x))
    with pytest.raises(ValueError, match="must not be empty"):
        dygraph.max(ours(none), axis=0)


def test_types_of_sums():
    x = np.array([100, 100, 100], "int8")
    agree(dygraph.sum(ours(x), dtype=dygraph.float64), np.array(300.0))
    agree(dygraph.sum(ours(x), dtype="int8"), np.sum(x, dtype="int8"))
    agree(dygraph.prod(ours(x), dtype="int32"), np.prod(x, dtype="int32"))
    assert dygraph.sum(ours([1, 2]), dim=0).item() == 3
    assert dygraph.sum(ours([[1, 2]]), 1, keepdim=True).shape == (1, 1)
    with pytest.raises(TypeError, match="unexpected argument 'axes'"):
        dygraph.sum(ours([1, 2]), axes=0)
    with pytest.raises(TypeError, match="'axis' twice"):
        dygraph.sum(ours([1, 2]), 0, dim=0)


@pytest.mark.parametrize("dtype", ["bool", *INTS, *FLOATS])
def test_cumulative(dtype):
    x = (np.arange(15).reshape(3, 5) % 4).astype(dtype)
    for name, axis, initial in itertools.product(
        ("cumulative_sum", "cumulative_prod"), (0, 1, -1), (False, True)
    ):
        expected = getattr(np, name)(x, axis=axis, include_initial=initial)
        got = getattr(dygraph, name)(ours(x), axis=axis, include_initial=initial)
        agree(got, expected, dtype="int64" if x.dtype.kind in "biu" else dtype)
    agree(dygraph.cumulative_sum(ours(x[0])), np.cumsum(x[0], dtype=None if dtype in FLOATS else
                                                        "int64"))  # fmt: skip
    agree(dygraph.cumulative_prod(ours(x[:0]), axis=0, dtype=dygraph.float32),
          np.zeros((0, 5), "float32"))  # fmt: skip
    agree(dygraph.cumulative_sum(ours(x[:, :0]), axis=1, dtype="float32", include_initial=True),
          np.zeros((3, 1), "float32"))  # fmt: skip
    with pytest.raises(ValueError, match="axis must be given"):
        dygraph.cumulative_sum(ours(x))


# Shapes -------------------------------------------------------------------------------------------

CUBE = np.arange(24).reshape(2, 3, 4)
SHAPED = [
    ("broadcast_to", (CUBE[:, :1],), {"shape": (5, 2, 3, 4)}),
    ("expand_dims", (CUBE,), {"axis": 0}),
    ("expand_dims", (CUBE,), {"axis": -1}),
    ("expand_dims", (CUBE,), {"axis": -4}),
    ("expand_dims", (CUBE[0, 0, 0],), {"axis": 0}),
    ("flip", (CUBE,), {}),
    ("flip", (CUBE,), {"axis": -1}),
    ("flip", (CUBE,), {"axis": (0, 2)}),
    ("flip", (np.float32(3),), {}),
    ("matrix_transpose", (CUBE,), {}),
    ("moveaxis", (CUBE, 0, -1), {}),
    ("moveaxis", (CUBE, (0, 1), (-1, 0)), {}),
    ("permute_dims", (CUBE, (2, 0, 1)), {}),
    ("permute_dims", (np.float32(1), ()), {}),
    ("repeat", (CUBE, 2), {}),
    ("repeat", (CUBE, 3), {"axis": 1}),
    ("repeat", (CUBE, np.array([1, 0, 2])), {"axis": 1}),
    ("reshape", (CUBE, (6, 4)), {}),
    ("reshape", (CUBE, (-1,)), {}),
    ("reshape", (CUBE[:0], (3, 0)), {}),
    ("reshape", (np.float32(1), (1, 1)), {}),
    ("reshape", (CUBE[0, 0, :1], ()), {}),
    ("roll", (CUBE, 5), {}),
    ("roll", (CUBE, -1), {"axis": 2}),
    ("roll", (CUBE, 1), {"axis": (0, 1)}),
    ("roll", (CUBE, (1, 2)), {"axis": (0, 2)}),
    ("roll", (np.float32(1), 1), {}),
    ("squeeze", (CUBE[:1], 0), {}),
    ("squeeze", (CUBE[:1, :1], (0, 1)), {}),
    ("tile", (CUBE, (2,)), {}),
    ("tile", (CUBE, (2, 1, 1, 3)), {}),
    ("tile", (CUBE, ()), {}),
    ("take", (CUBE, np.array([2, 0, 2])), {"axis": 1}),
    ("take", (CUBE[0, 0], np.array([-1, 0])), {}),
    ("take", (CUBE, np.array([], "int64")), {"axis": 0}),
    ("take_along_axis", (CUBE, CUBE % 3), {"axis": 1}),
    ("take_along_axis", (CUBE, CUBE[:, :, :2] % 2), {}),
    ("take_along_axis", (CUBE, np.array([[[1], [-1]]])), {"axis": 1}),
    ("tril", (CUBE,), {}),
    ("tril", (CUBE,), {"k": -1}),
    ("triu", (CUBE,), {"k": 1}),
    ("diff", (CUBE * CUBE,), {}),
    ("diff", (CUBE * CUBE,), {"axis": 1, "n": 2}),
    ("diff", (CUBE,), {"axis": 0, "prepend": CUBE[:1], "append": CUBE[:1]}),
    ("argmax", (CUBE % 7,), {}),
    ("argmax", (CUBE % 7,), {"axis": 1, "keepdims": True}),
    ("argmin", (CUBE % 7,), {"axis": -1}),
    ("argmin", (CUBE % 7,), {"keepdims": True}),
    ("argmax", (np.array([1.0, np.nan, 9.0]),), {}),
    ("argmax", (np.array([False, True]),), {}),
    ("tensordot", (CUBE, CUBE), {"axes": ((0, 1), (0, 1))}),
    ("tensordot", (CUBE, np.ones((3, 4, 2), "int64")), {}),
    ("tensordot", (CUBE[0, 0], CUBE[0, 0]), {"axes": 0}),
    ("vecdot", (CUBE, CUBE[0]), {}),
    ("vecdot", (CUBE, CUBE), {"axis": -2}),
    ("matmul", (CUBE, CUBE.transpose(0, 2, 1)), {}),
    ("matmul", (CUBE, CUBE[0, 0]), {}),
    ("matmul", (CUBE[0, 0], CUBE[0, 0]), {}),
    ("searchsorted", (np.array([1.0, 3, 3, 5]), np.array([[3.0, 0], [9, 4]])), {}),
    ("searchsorted", (np.array([1, 3, 3, 5]), np.array([3, 4])), {"side": "right"}),
    ("searchsorted", (np.array([5, 1, 3]), np.array([3])), {"sorter": np.array([1, 2, 0])}),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(SHAPED)), ids=lambda i: f"{SHAPED[i][0]}-{i}")
def test_shaped(case):
    name, args, kwargs = SHAPED[case]

    def given(v):
        return ours(v) if isinstance(v, (np.ndarray, np.generic)) else v

    got = getattr(dygraph, name)(*map(given, args), **{k: given(v) for k, v in kwargs.items()})
    if name == "reshape":
        expected = np.reshape(*args)
    else:
        expected = getattr(np, name)(*args, **kwargs)
    agree(got, expected)


def test_lists_of_arrays():
    a, b = CUBE.astype("int32"), CUBE.astype("int64")
    for axis in (0, -1, None):
        agree(dygraph.concat([ours(a), ours(b)], axis=axis), np.concat([a, b], axis=axis))
    agree(dygraph.concat([ours(a), ours(a[:0])]), a)
    for axis in (0, 1, -1):
        agree(dygraph.stack((ours(a), ours(b)), axis=axis), np.stack([a, b], axis=axis))
    parts = dygraph.unstack(ours(a), axis=1)
    assert isinstance(parts, tuple)
    for got, expected in zip(parts, np.unstack(a, axis=1), strict=True):
        agree(got, expected)
    row, column = np.arange(3), np.arange(2.0)
    for indexing in ("xy", "ij"):
        grids = dygraph.meshgrid(ours(row), ours(column), ours(row), indexing=indexing)
        for got, expected in zip(
            grids, np.meshgrid(row, column, row, indexing=indexing), strict=True
        ):
            agree(got, expected)
    for got, expected in zip(
        dygraph.broadcast_arrays(ours(row), ours(column[:, None])),
        np.broadcast_arrays(row, column[:, None]), strict=True,
    ):  # fmt: skip
        agree(got, expected)
    with pytest.raises(ValueError, match="size 1"):
        dygraph.squeeze(ours(a), 0)
    for none in ((), []):
        agree(dygraph.squeeze(ours(a[:1]), none), a[:1])


@pytest.mark.parametrize("dtype", ["bool", *INTS, *FLOATS])
def test_sorting_and_sets(dtype):
    x = np.array([[3, 1, 2, 1, 0], [0, 0, 5, 5, 1]]).astype(dtype)
    for axis in (0, 1, -1):
        agree(dygraph.sort(ours(x), axis=axis), np.sort(x, axis=axis))
        agree(dygraph.argsort(ours(x), axis=axis), np.argsort(x, axis=axis, kind="stable"))
        down = dygraph.sort(ours(x), axis=axis, descending=True)
        agree(down, np.flip(np.sort(x, axis=axis), axis=axis))
        order = dygraph.argsort(ours(x), axis=axis, descending=True).numpy()
        key = -x.astype("int64")
        np.testing.assert_array_equal(order, np.argsort(key, axis=axis, kind="stable"))
    found, expected = dygraph.unique_all(ours(x)), np.unique_all(x)
    for field in ("values", "indices", "inverse_indices", "counts"):
        agree(getattr(found, field), getattr(expected, field))
    agree(dygraph.unique_values(ours(x)), expected.values)
    agree(dygraph.unique_counts(ours(x)).counts, expected.counts)
    agree(dygraph.unique_inverse(ours(x)).inverse_indices, expected.inverse_indices)
    for got, places in zip(dygraph.nonzero(ours(x)), np.nonzero(x), strict=True):
        agree(got, places)
    none = dygraph.unique_all(ours(x[:, :0]))
    assert none.values.shape == (0,) and none.inverse_indices.shape == (2, 0)


def test_nonzero_of_a_number():
    with pytest.raises(ValueError, match="0-d"):
        dygraph.nonzero(ours(1.0))
    assert dygraph.nonzero(ours([0, 2]), as_tuple=False).tolist() == [[1]]


# Creation -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bool", *INTS, *FLOATS, None])
def test_creation(dtype):
    own = dtype or "float32"
    t = None if dtype is None else getattr(dygraph, dtype)
    for shape in ((2, 3), 4, (), (0, 2)):
        agree(dygraph.zeros(shape, dtype=t), np.zeros(shape, own))
        agree(dygraph.ones(shape, dtype=t), np.ones(shape, own))
        agree(dygraph.full(shape, 1, dtype=t), np.full(shape, 1, dtype))
        assert dygraph.empty(shape, dtype=t).shape == np.empty(shape).shape
        x = np.zeros(shape, own)
        like = "float64" if dtype is None else dtype
        x = x.astype(like)
        agree(dygraph.zeros_like(ours(x)), x)
        agree(dygraph.ones_like(ours(x), dtype=t), np.ones_like(x))
        agree(dygraph.full_like(ours(x), 1), np.ones_like(x))
        assert dygraph.empty_like(ours(x)).dtype == ours(x).dtype
    for k in (0, 1, -1, 5, -5):
        agree(dygraph.eye(2, 3, k=k, dtype=t), np.eye(2, 3, k=k, dtype=own))
        agree(dygraph.eye(3, k=k, dtype=t), np.eye(3, k=k, dtype=own))
    if dtype == "bool":
        return
    for args in ((5,), (1, 6), (1, 10, 3), (4, 0, -1), (3, 3)):
        args = tuple(map(abs, args)) if dtype == "uint8" else args
        agree(dygraph.arange(*args, dtype=t), np.arange(*args, dtype=dtype or "int64"))
    agree(dygraph.full((2,), True), np.full((2,), True))
    agree(dygraph.full((2,), 0.5), np.full((2,), 0.5, "float32"))


def test_ranges():
    agree(dygraph.arange(0.0, 1.0, 0.25), np.arange(0, 1, 0.25, "float32"))
    agree(dygraph.arange(stop=3, start=1), np.arange(1, 3))
    for num, endpoint in itertools.product((0, 1, 2, 5), (True, False)):
        expected = np.linspace(-1, 2, num, endpoint=endpoint, dtype="float64")
        agree(dygraph.linspace(-1, 2, num, endpoint=endpoint, dtype="float64"), expected)
    agree(dygraph.linspace(0, 1, 3), np.linspace(0, 1, 3, dtype="float32"))
    for num in (7, 10, 49):  # the first of one number more, bit by bit
        for dtype in FLOATS:
            some = dygraph.linspace(0, 1, num, dtype=dtype, endpoint=False)
            more = dygraph.linspace(0, 1, num + 1, dtype=dtype)
            assert some.tolist() == more.tolist()[:-1]


def test_asarray_and_devices():
    x = dygraph.asarray([[1, 2], [3, 4]])
    assert x.tolist() == [[1, 2], [3, 4]] and x.dtype == dygraph.int64
    assert dygraph.asarray(x) is x and dygraph.asarray(x, copy=True) is not x
    assert dygraph.asarray(x, dtype=dygraph.float32).dtype == dygraph.float32
    assert dygraph.asarray(True).dtype == dygraph.bool and dygraph.asarray(3).shape == ()
    assert dygraph.asarray(x, copy=False) is x
    for obj, dtype in ((x, "float32"), (np.ones(2), None)):
        with pytest.raises(ValueError, match="copy=False"):
            dygraph.asarray(obj, dtype=dtype, copy=False)
    assert dygraph.zeros(2, device=x.device).device == x.device == dygraph.CPUPlace()
    assert x.to_device(x.device) is x and dygraph.ones(2, device="cpu").tolist() == [1, 1]
    with pytest.raises(TypeError, match="device must be a place"):
        dygraph.zeros(2, device=3)
    assert dygraph.astype(x, x.dtype, copy=False) is x
    agree(dygraph.astype(x, dygraph.float64), np.array([[1.0, 2], [3, 4]]))


# Types --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*FLOATS, "float16"])
def test_finfo(dtype):
    got, expected = dygraph.finfo(dtype), np.finfo(dtype)
    for field in ("bits", "eps", "max", "min", "smallest_normal"):
        assert getattr(got, field) == getattr(expected, field)
    assert got.dtype == getattr(dygraph, dtype) and type(got.eps) is float
    assert dygraph.finfo(dygraph.ones(1, dtype=dtype)) == got
    with pytest.raises(TypeError):
        dygraph.finfo("int32")


@pytest.mark.parametrize("dtype", INTS)
def test_iinfo(dtype):
    got, expected = dygraph.iinfo(getattr(dygraph, dtype)), np.iinfo(dtype)
    assert (got.bits, got.max, got.min) == (expected.bits, expected.max, expected.min)
    with pytest.raises(TypeError):
        dygraph.iinfo("float32")


TYPES = ("bool", *INTS, *FLOATS)
KINDS = ("bool", "signed integer", "unsigned integer", "integral", "real floating",
         "complex floating", "numeric")  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES)
def test_isdtype_and_can_cast(dtype):
    own, other = getattr(dygraph, dtype), np.dtype(dtype)
    for kind in KINDS:
        assert dygraph.isdtype(own, kind) == np.isdtype(other, kind)
    assert dygraph.isdtype(own, own) and dygraph.isdtype(own, ("complex floating", own))
    with pytest.raises(ValueError, match="kind must be one of"):
        dygraph.isdtype(own, "no kind")
    for to in TYPES:
        same_kind = np.dtype(dtype).kind == np.dtype(to).kind or {dtype, to} <= set(INTS)
        if same_kind:
            assert dygraph.can_cast(own, getattr(dygraph, to)) == np.can_cast(dtype, to)
            both = dygraph.result_type(own, getattr(dygraph, to))
            assert str(both) == str(np.result_type(other, np.dtype(to)))


def test_namespace_info():
    info = dygraph.__array_namespace_info__()
    assert info.default_device() in info.devices() and info.dtypes()["int8"] == dygraph.int8
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
    assert info.default_dtypes()["real floating"] == dygraph.float32
    assert set(info.capabilities()) == {
        "boolean indexing", "data-dependent shapes", "max dimensions"
    }  # fmt: skip


def test_constants():
    assert (dygraph.e, dygraph.pi, dygraph.inf) == (np.e, np.pi, np.inf)
    assert np.isnan(dygraph.nan) and dygraph.newaxis is None
    assert dygraph.__array_api_version__ == "2024.12"


# Variables ----------------------------------------------------------------------------------------

METHODS = [n for n in dir(standard.asarray(1)) if n.startswith("__") or n in
           ("T", "device", "dtype", "mT", "ndim", "shape", "size", "to_device")]  # fmt: skip
OF_ARRAYS_ALONE = {"__buffer__", "__slots__", "__weakref__", "__annotations__"}


@pytest.mark.parametrize("name", sorted({*METHODS} - OF_ARRAYS_ALONE))
def test_variables_have_the_standards_attributes(name):
    assert hasattr(dygraph.Variable, name)


def test_protocol_of_variables():
    x = ours(CUBE)
    assert x.__array_namespace__() is dygraph
    assert x.__array_namespace__(api_version="2024.12") is dygraph
    with pytest.raises(ValueError, match="api_version"):
        x.__array_namespace__(api_version="1999.1")
    agree(x.mT, np.swapaxes(CUBE, 1, 2))
    assert complex(ours(1.5)) == complex(ours([1.5])[0]) == 1.5 and complex(ours(True)) == 1
    with pytest.raises(ValueError, match="one element"):
        complex(x)
    assert x.__dlpack_device__() == (1, 0)
    agree(dygraph.from_dlpack(x), CUBE)


def test_gradients_of_composed_functions():
    """Against central differences, and at the places where a formula is put together."""
    points = {
        "asinh": [0.0, 0.5, -2.0, 1e12], "acosh": [1.5, 3.0, 1e12], "atanh": [0.0, 0.5, -0.9],
    }  # fmt: skip
    slopes = {
        "asinh": lambda x: 1 / np.hypot(x, 1), "acosh": lambda x: 1 / np.sqrt(x * x - 1),
        "atanh": lambda x: 1 / (1 - x * x),
    }  # fmt: skip
    for name, at in points.items():
        x = dygraph.Parameter(np.array(at))
        dygraph.sum(getattr(dygraph, name)(x)).backward()
        np.testing.assert_allclose(x.gradient(), slopes[name](np.array(at)), rtol=1e-12)
    x, y = (dygraph.Parameter(np.array(v)) for v in ([3.0, 0.0, 2.0, -1.0], [4.0, 2.0, 2.0, 0.0]))
    a, b = x.numpy(), y.numpy()
    for name, gx, gy in (
        ("hypot", a / np.hypot(a, b), b / np.hypot(a, b)),
        ("atan2", b / (a * a + b * b), -a / (a * a + b * b)),
        ("logaddexp", 1 / (1 + np.exp(b - a)), 1 / (1 + np.exp(a - b))),
        ("copysign", np.copysign(1, a) * np.copysign(1, b), np.zeros(4)),
    ):
        x.clear_gradient(), y.clear_gradient()
        dygraph.sum(getattr(dygraph, name)(x, y)).backward()
        np.testing.assert_allclose(x.gradient(), gx, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(0 if y.gradient() is None else y.gradient(), gy, rtol=1e-12)
    z = dygraph.Parameter(np.array([2.0, 0.0, 3.0]))
    dygraph.sum(dygraph.cumulative_prod(z)).backward()
    np.testing.assert_allclose(z.gradient(), [1.0 + 0 + 0, 2 + 2 * 3, 0.0])
    with pytest.raises(ValueError, match="no gradient flows"):
        dygraph.nextafter(z, 1.0)


def test_operators_stay_out_of_the_top():
    assert len(dir(dygraph)) <= 220 and all(hasattr(dygraph, n) for n in dir(dygraph))
    assert all(getattr(dygraph, n).__doc__ for n in dygraph.functions.NAMES)
    with pytest.raises(AttributeError, match=r"dygraph\.ops\.elementwise_add"):
        dygraph.elementwise_add  # noqa: B018


def differs(call):
    """What a call gives: its value, or the kind of its error."""
    try:
        result = call()
    except Exception as error:
        return type(error)
    return result.tolist() if isinstance(result, dygraph.Variable) else result


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: dygraph.sum(dygraph.ones(2, dtype="uint8")).dtype.name, "int64"),
        (lambda: dygraph.divide(ours([1]), ours([2])).dtype.name, "float32"),
        (lambda: dygraph.add(ours([1]), dygraph.ones(1)).dtype.name, "float32"),
        (lambda: dygraph.floor_divide(ours([1]), 0), dygraph.errors.InvalidArgumentError),
        (lambda: dygraph.remainder(ours([1]), 0), dygraph.errors.InvalidArgumentError),
        (lambda: dygraph.pow(ours([2]), -1), dygraph.errors.InvalidArgumentError),
        (lambda: dygraph.add(ours([2]), 0.5), dygraph.errors.ArgumentTypeError),
        (lambda: dygraph.signbit(ours(np.copysign(np.nan, -1.0))), False),
        (lambda: dygraph.unique_values(ours([np.nan, np.nan])).shape, (1,)),
        (lambda: ours(CUBE).T.shape, (4, 3, 2)),
        (lambda: ours(np.ones(2, "int8")) @ ours(np.ones(2, "int8")),
         dygraph.errors.UnimplementedError),
        (lambda: ours(CUBE).reshape(0, -1).shape, (2, 12)),
        (lambda: dygraph.reshape(ours(CUBE), (0, -1)), dygraph.errors.InvalidArgumentError),
        (lambda: dygraph.sum(ours(CUBE), axis=()), dygraph.errors.InvalidArgumentError),
        (lambda: dygraph.meshgrid(ours([1, 2]), ours([3])), dygraph.errors.InvalidArgumentError),
        (lambda: ours([1.0])[ours(np.zeros(0, bool))], dygraph.errors.OutOfRangeError),
        (lambda: dygraph.floor_divide(ours([1.0, -1.0]), ours([-np.inf, np.inf])), [-1, -1]),
        (lambda: bool(dygraph.isnan(dygraph.floor_divide(ours(np.inf), 2.0))), True),
        (lambda: dygraph.asarray(1e39), dygraph.errors.OutOfRangeError),
        (lambda: dygraph.argmax(ours([[1, 9], [3, 4]])), 1),
        (lambda: dygraph.ops.argmax(ours([[1, 9], [3, 4]])), [1, 0]),
        (lambda: dygraph.ops.isnan(ours([1.0, np.nan])), True),
        (lambda: dygraph.repeat(ours([1, 2]), 2), [1, 1, 2, 2]),
    ],
)  # fmt: skip
def test_differences_on_the_page(call, expected):
    assert differs(call) == expected
