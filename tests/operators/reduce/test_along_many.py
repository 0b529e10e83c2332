"""Elements by number, pieces side by side, padding, where and the first of many: shapes that reach
every way through their kernels (whole lines, columns, a line that threads share, long rows,
remainders), on one thread and on several, against plain NumPy. Bits, not tolerances: each sum is
added in the order that NumPy adds it."""

import numpy as np
import pytest

import dygraph
from dygraph import _core, to_variable
from dygraph import ops as F

random = np.random.default_rng(5)


@pytest.fixture(params=[(1, 1), (1, 0), (2, 3), (3, 0), (4, 0)], ids=str, autouse=True)
def way(request):
    """The number of threads, and the instruction set (0: the best there is)."""
    threads, level = request.param
    before = dygraph.num_threads(), dygraph.get_flags("cpu_level")
    dygraph.set_num_threads(threads)
    dygraph.set_flags({"cpu_level": level})
    yield
    dygraph.set_num_threads(before[0])
    dygraph.set_flags(before[1])


def normal(*shape, dtype="float32"):
    return random.standard_normal(shape).astype(dtype)


def numbers(height, *shape, dtype="int64"):
    return random.integers(-height, height, shape).astype(dtype)


def same(ours, expected):
    ours = ours.numpy()
    assert ours.dtype == expected.dtype and ours.shape == expected.shape
    assert ours.tobytes() == np.ascontiguousarray(expected).tobytes()


def added(start, index, values, axis):
    """start[..., index, ...] += values, one after the other in the order of the index."""
    out = start.copy()
    places = list(np.indices(index.shape, sparse=True))
    places[axis] = index
    np.add.at(out, tuple(places), values)
    return out


def taking(x):
    v = to_variable(x)
    v.stop_gradient = False
    return v


# shape of x, axis, size of the index along it
ALONG = {
    "rows": ((300, 70), 1, 333),
    "few rows": ((2, 5000), 1, 40000),
    "one row": ((5000,), 0, 100001),
    "columns": ((40, 1030), 0, 90),
    "few narrow columns": ((3000, 3), 0, 30001),
    "middle": ((3, 50, 300), 1, 77),
    "many in the middle": ((64, 9, 130), 1, 20),
    "longer than a chunk": ((9, 10), 1, 5000),
    "one each": ((70000, 3), 1, 1),
}


@pytest.mark.parametrize("case", ALONG)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("number", ["int32", "int64"])
def test_along(case, dtype, number):
    shape, axis, count = ALONG[case]
    x = taking(normal(*shape, dtype=dtype))
    places = list(shape)
    places[axis] = count
    index = numbers(shape[axis], *places, dtype=number)
    out = F.take_along_axis(x, to_variable(index), Axis=axis)
    same(out, np.take_along_axis(x.numpy(), index, axis))
    g = normal(*places, dtype=dtype)
    (gradient,) = dygraph.grad([out], [x], [to_variable(g)])
    same(gradient, added(np.zeros(shape, dtype), index, g, axis))
    put = F.put_along_axis(x, to_variable(index), to_variable(g), Axis=axis)
    expected = x.numpy()
    np.put_along_axis(expected, index, g, axis)
    same(put, expected)
    more = F.put_along_axis(x, to_variable(index), to_variable(g), Axis=axis, Reduce="add")
    same(more, added(x.numpy(), index, g, axis))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "float16", "int64"])
def test_elements_of_every_size(dtype):
    x, index = (normal(40, 500) * 3).astype(dtype), numbers(500, 40, 900)
    same(F.index_sample(to_variable(x), to_variable(index)), np.take_along_axis(x, index, 1))


def test_integers_wrap():
    x, index = np.full((3, 40), 2**31 - 1, "int32"), np.zeros((3, 30000), "int64")
    out = F.put_along_axis(
        to_variable(x), to_variable(index), to_variable(np.full_like(index, 2, "int32")), Axis=1,
        Reduce="add",
    ).numpy()  # fmt: skip
    assert (out[:, 0] == (2**31 - 1 + 60000) - 2**32).all() and (out[:, 1:] == 2**31 - 1).all()


@pytest.mark.parametrize("case", ALONG)
@pytest.mark.parametrize("wrong", ["height", "below", "least", "most"])
def test_a_number_outside(case, wrong):
    shape, axis, count = ALONG[case]
    places = list(shape)
    places[axis] = count
    height = shape[axis]
    number = {"height": height, "below": -height - 1, "least": -(2**63), "most": 2**63 - 1}[wrong]
    index = numbers(height, *places)
    index.reshape(-1)[index.size // 3 * 2] = number
    at = str([int(n) for n in np.unravel_index(index.size // 3 * 2, places)])
    index.reshape(-1)[-1] = height  # not the first one
    x, index, v = to_variable(normal(*shape)), to_variable(index), to_variable(normal(*places))
    slots = {"Input": x, "Index": index, "Result@GRAD": v}
    said = rf"in \[{-height}, {height}\), the size of axis {axis} .* got {number} at "
    for call in (
        lambda: F.take_along_axis(x, index, Axis=axis),
        lambda: F.put_along_axis(x, index, v, Axis=axis),
        lambda: _core.run_op("take_along_axis_grad", slots, {"Axis": axis}),
    ):
        with pytest.raises(IndexError, match=said) as error:
            call()
        assert at in str(error.value)


ROWS = [(1, 3), (200, 1), (4000, 3), (37, 1500), (3, 40000), (1000, 128)]


@pytest.mark.parametrize("shape", ROWS)
def test_rows_that_repeat(shape):
    height = shape[0]
    x, index = taking(normal(*shape)), numbers(height, 2 * height + 50)
    out = F.gather(x, to_variable(index))
    same(out, x.numpy()[index])
    g = normal(*out.shape)
    expected = np.zeros(shape, "float32")
    np.add.at(expected, index, g)
    same(dygraph.grad([out], [x], [to_variable(g)])[0], expected)
    written = x.numpy()
    for i, row in zip(index, g, strict=True):
        written[i] = row
    same(F.scatter(x, to_variable(index % height), to_variable(g)), written)


@pytest.mark.parametrize("width", [0, 1, 3, 16, 200])
def test_rows_of_a_table(width):
    table, ids = taking(normal(300, width)), random.integers(0, 300, 20011)
    out = F.lookup_table_v2(table, to_variable(ids), padding_idx=7)
    g = normal(*out.shape)
    expected = np.zeros(table.shape, "float32")
    np.add.at(expected, ids[ids != 7], g[ids != 7])
    same(dygraph.grad([out], [table], [to_variable(g)])[0], expected)


def test_elements_by_several_numbers():
    x, index = taking(normal(30, 40, 5)), np.stack([numbers(30, 50000), numbers(40, 50000)], 1)
    out = F.gather_nd(x, to_variable(index))
    same(out, x.numpy()[index[:, 0], index[:, 1]])
    g = normal(*out.shape)
    expected = np.zeros(x.shape, "float32")
    np.add.at(expected, (index[:, 0], index[:, 1]), g)
    same(dygraph.grad([out], [x], [to_variable(g)])[0], expected)
    index[33333, 1] = 40
    with pytest.raises(IndexError, match=r"\[-40, 40\) in column 1, .* got 40 in row 33333"):
        F.gather_nd(x, to_variable(index))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5,), (3, 67), (300, 401)])
def test_where(shape, dtype):
    odd = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 5e-324, 1e-45], dtype)
    x, y = taking(random.choice(odd, shape)), taking(normal(*shape, dtype=dtype))
    mask = random.random(shape) < 0.5
    out = F.where(to_variable(mask), x, y)
    same(out, np.where(mask, x.numpy(), y.numpy()))
    g = random.choice(odd, shape)
    zero = np.zeros_like(g)
    expected = np.where(mask, g, zero), np.where(mask, zero, g)
    given = [to_variable(g)]
    for ours, theirs in zip(dygraph.grad([out], [x, y], given, True), expected, strict=True):
        same(ours, theirs)
    for operand, theirs in zip((x, y), expected, strict=True):
        same(dygraph.grad([out], [operand], given, True)[0], theirs)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "float16", "int64"])
def test_where_of_every_size(dtype):
    x, y = ((normal(7, 333) * 3).astype(dtype) for _ in range(2))
    mask = random.random(x.shape) < 0.5
    same(F.where(to_variable(mask), to_variable(x), to_variable(y)), np.where(mask, x, y))


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64"])
@pytest.mark.parametrize(
    "shape", [(3,), (1, 40001), (5, 30001), (40, 1), (700, 17), (50, 1200), (6, 5, 4)]
)
def test_pieces_side_by_side(shape, dtype):
    pieces = [(normal(*shape) * 50).astype(dtype) for _ in range(3)]
    given = [to_variable(p) for p in pieces]
    for axis in range(len(shape)):
        thin = np.take(pieces[0], [0], axis)
        same(
            F.concat([*given, to_variable(thin)], axis),
            np.concatenate([*pieces, thin], axis),
        )
        same(F.stack(given, axis=axis), np.stack(pieces, axis))


@pytest.mark.parametrize("shape", [(2, 3, 5, 4), (2, 2, 70, 33), (1, 3, 40, 1100), (4, 1, 1, 16)])
@pytest.mark.parametrize("paddings", [(1, 1, 1, 1), (0, 2, 3, 0), (2, 0, 0, 40), (0, 1, 0, 0)])
def test_pad(shape, paddings):
    x = taking(normal(*shape))
    out = F.pad2d(x, paddings=list(paddings), pad_value=2.5)
    around = (0, 0), (0, 0), paddings[:2], paddings[2:]
    same(out, np.pad(x.numpy(), around, constant_values=2.5))
    g = normal(*out.shape)
    inside = g[:, :, paddings[0] :, paddings[2] :][:, :, : shape[2], : shape[3]]
    same(dygraph.grad([out], [x], [to_variable(g)])[0], inside)


def test_crop_flip_and_roll_back():
    x = taking(normal(3, 50, 60))
    out = F.crop(x, shape=[2, 20, 30], offsets=[1, 7, 9])
    g = normal(*out.shape)
    expected = np.zeros(x.shape, "float32")
    expected[1:3, 7:27, 9:39] = g
    same(dygraph.grad([out], [x], [to_variable(g)])[0], expected)
    g = normal(*x.shape)
    flipped = F.flip(x, axis=[0, 2])
    same(dygraph.grad([flipped], [x], [to_variable(g)])[0], g[::-1, :, ::-1])
    rolled = F.roll(x, shifts=[7, -3], axis=[1, 2])
    same(rolled, np.roll(x.numpy(), (7, -3), (1, 2)))
    same(dygraph.grad([rolled], [x], [to_variable(g)])[0], np.roll(g, (-7, 3), (1, 2)))


@pytest.mark.parametrize("begin", [0, 1, 3, 16])
@pytest.mark.parametrize("width", [15, 16, 17, 100, 1030, 5001])
def test_slices_of_long_rows(begin, width):
    x = normal(9, width + 20)
    same(to_variable(x)[:, begin : begin + width], x[:, begin : begin + width])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("shape, axis", [((60, 257), 1), ((300, 11), 0), ((3, 2000), -1)])
def test_the_first_few(shape, axis, largest, dtype):
    x = (normal(*shape) * 9).round().astype(dtype)  # with equals: the first comes first
    if x.dtype.kind == "f":
        x[random.random(shape) < 0.02] = np.nan
        x[random.random(shape) < 0.02] = -np.inf
        x[random.random(shape) < 0.05] = -0.0
    if x.dtype.kind == "f":
        order = np.where(np.isnan(x), np.inf, np.clip(x, -1e30, 1e30))
    else:
        order = x.astype("float64")
    expected = np.argsort(-order if largest else order, axis, kind="stable")
    expected = np.take(expected, range(4), axis)
    values, indices = F.top_k_v2(to_variable(x), k=4, axis=axis, largest=largest)
    assert (indices.numpy() == expected).all()
    same(values, np.take_along_axis(x, expected, axis))
