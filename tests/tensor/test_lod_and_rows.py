"""Level of detail and selected rows: the figures of the documents, and what is refused."""

import numpy as np
import pytest

from dygraph import _core


def test_one_level():
    """Four sentences of 5, 3, 2 and 4 words."""
    words = np.arange(14.0).reshape(14, 1)
    v = _core.to_variable(words, lod=[[0, 5, 8, 10, 14]])
    assert _core.lod(v) == [[0, 5, 8, 10, 14]]
    assert _core.offsets_to_lengths([[0, 5, 8, 10, 14]]) == [[5, 3, 2, 4]]
    assert _core.lengths_to_offsets([[5, 3, 2, 4]]) == [[0, 5, 8, 10, 14]]


def test_two_levels():
    """Three paragraphs of 3, 1 and 2 sentences; sentences of 3, 2, 4, 1, 2 and 3 words."""
    lengths = [[3, 1, 2], [3, 2, 4, 1, 2, 3]]
    offsets = [[0, 3, 4, 6], [0, 3, 5, 9, 10, 12, 15]]
    assert _core.lengths_to_offsets(lengths) == offsets
    assert _core.offsets_to_lengths(offsets) == lengths
    v = _core.to_variable(np.zeros((15, 2)), lod=offsets)
    assert _core.lod(v) == offsets
    assert _core.lod(_core.ops.relu(v)) == offsets


@pytest.mark.parametrize(
    ("lod", "message"),
    [
        ([[5, 8, 10, 14]], "start with 0"),
        ([[]], "start with 0"),
        ([[0, 5, 3, 14]], "must not fall"),
        ([[0, 5, 8, 10, 13]], "end at 14"),
        ([[0, 5, 8, 10, 15]], "end at 14"),
        ([[0, 3, 5], [0, 5, 8, 10, 14]], "end at 4"),
        ([[0, 2, 4], [0, 5, 8, 10, 12]], "end at 14"),
    ],
)
def test_offsets_that_cannot_be(lod, message):
    with pytest.raises(ValueError, match=message):
        _core.to_variable(np.zeros((14, 1)), lod=lod)
    v = _core.to_variable(np.zeros((14, 1)), lod=[[0, 14]])
    with pytest.raises(ValueError, match=message):
        _core.set_lod(v, lod)
    assert _core.lod(v) == [[0, 14]], "a refused LoD changes nothing"


@pytest.mark.parametrize("lod", [3, "text", [3], [["a"]], [[1.5]], [[None]]])
def test_what_is_no_lod(lod):
    with pytest.raises((TypeError, ValueError)):
        _core.to_variable(np.zeros((14, 1)), lod=lod)


def test_empty_sequences_and_empty_tensors():
    v = _core.to_variable(np.zeros((4, 1)), lod=[[0, 0, 4, 4]])
    assert _core.offsets_to_lengths(_core.lod(v)) == [[0, 4, 0]]
    assert _core.lod(_core.to_variable(np.zeros((0, 3)), lod=[[0]])) == [[0]]
    assert _core.lod(_core.to_variable(np.zeros((4, 1)))) == []
    with pytest.raises(ValueError, match="first axis"):
        _core.to_variable(np.float64(3), lod=[[0, 1]])
    with pytest.raises(ValueError, match="negative"):
        _core.lengths_to_offsets([[3, -1]])


def test_lod_does_not_outlive_its_rows():
    """Broadcasting makes other rows, so their LoD would be a lie."""
    x = _core.to_variable(np.ones((2, 3)), lod=[[0, 1, 2]])
    y = _core.to_variable(np.ones((4, 2, 3)))
    assert _core.lod(_core.ops.elementwise_add(x, y)) == []
    assert _core.lod(_core.ops.elementwise_add(x, _core.to_variable(np.ones(3)))) == [[0, 1, 2]]


def rows(numbers, height, value):
    return _core.make_selected_rows(numbers, height, _core.to_variable(np.asarray(value)))


def test_selected_rows():
    """The figure: height 20000, rows 1, 100, 50 and 1 again."""
    value = np.arange(8.0).reshape(4, 2)
    v = rows([1, 100, 50, 1], 20000, value)
    assert _core.is_selected_rows(v)
    assert (_core.rows(v), _core.height(v), v.shape) == ([1, 100, 50, 1], 20000, (20000, 2))
    np.testing.assert_array_equal(_core.rows_value(v).numpy(), value)
    dense = _core.to_dense(v).numpy()
    assert dense.shape == (20000, 2)
    np.testing.assert_array_equal(dense[[1, 50, 100]], [[6.0, 8.0], [4.0, 5.0], [2.0, 3.0]])
    assert np.count_nonzero(dense.any(axis=1)) == 3
    np.testing.assert_array_equal(v.numpy(), dense)


def test_merge_adds_equal_rows():
    merged = _core.merged(rows([3, 1, 3, 0], 4, np.array([[1.0], [2.0], [4.0], [8.0]])))
    assert _core.rows(merged) == [0, 1, 3]
    np.testing.assert_array_equal(_core.rows_value(merged).numpy(), [[8.0], [2.0], [5.0]])
    none = _core.merged(rows([], 4, np.zeros((0, 2))))
    assert _core.rows(none) == []
    np.testing.assert_array_equal(none.numpy(), np.zeros((4, 2)))


@pytest.mark.parametrize("numbers", [[4], [-1], [0, 7]])
def test_rows_beyond_the_height(numbers):
    with pytest.raises(IndexError, match="height"):
        rows(numbers, 4, np.zeros((len(numbers), 2)))


def test_rows_that_do_not_fit():
    with pytest.raises(ValueError, match="one row per row number"):
        rows([1, 2], 4, np.zeros((3, 2)))
    with pytest.raises(ValueError, match="one row per row number"):
        rows([], 4, np.float64(1))


def test_a_tensor_is_asked_for():
    v = rows([1], 4, np.zeros((1, 2)))
    with pytest.raises(TypeError, match="relu: Input.X. must be a tensor, got selected rows"):
        _core.ops.relu(v)
    x = _core.to_variable(np.zeros(3))
    for ask in (_core.rows, _core.height, _core.merged, _core.rows_value):
        with pytest.raises(TypeError, match="SelectedRows"):
            ask(x)


def test_none_is_no_variable():
    for ask in (_core.rows, _core.height, _core.lod, _core.view, _core.to_dense, _core.layout,
                _core.storage_id, _core.data_pointer, _core.merged, _core.rows_value,
                _core.is_selected_rows):  # fmt: skip
        with pytest.raises(TypeError):
            ask(None)
    for call in (
        lambda: _core.to_layout(None, "NHWC"),
        lambda: _core.set_value(None, np.zeros(2)),
        lambda: _core.become(None, None),
        lambda: _core.set_lod(None, [[0]]),
        lambda: _core.make_selected_rows([0], 1, None),
        lambda: _core.to_place(None, _core.CPUPlace()),
        lambda: _core.retain_grad(None),
        lambda: _core.remove_hook(None, 1),
        lambda: _core.add_hook(None, print),
    ):
        with pytest.raises(TypeError):
            call()


def test_a_variable_without_a_value_says_so():
    empty = _core.Variable()
    asks = [
        lambda: empty.shape,
        lambda: empty.dtype,
        lambda: empty.place,
        empty.numpy,
        empty.item,
        lambda: empty + 1.0,
        lambda: float(empty),
        lambda: bool(empty),
        lambda: _core.view(empty),
        lambda: _core.lod(empty),
    ]
    for ask in asks:
        with pytest.raises((TypeError, RuntimeError)) as e:
            ask()
        assert isinstance(e.value, _core.DygraphError)
