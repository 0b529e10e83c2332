"""DataFeeder, create_lod_tensor and create_random_int_lodtensor."""

import types

import numpy as np
import pytest

import dygraph

SAMPLES = [([1, 2, 3], [0.5, 1.5], 0), ([4], [2.5, 3.5], 1)]


def test_fields_by_name_shape_and_depth():
    feeder = dygraph.DataFeeder(
        [
            {"name": "words", "lod_level": 1, "dtype": "int64"},
            {"name": "x", "shape": [None, 2], "dtype": "float32"},
            "y",
        ]
    )
    feed = feeder.feed(SAMPLES)
    assert list(feed) == ["words", "x", "y"]
    assert feed["words"].tolist() == [[1], [2], [3], [4]] and feed["words"].lod() == [[0, 3, 4]]
    assert feed["x"].tolist() == [[0.5, 1.5], [2.5, 3.5]] and str(feed["x"].dtype) == "float32"
    assert feed["y"].tolist() == [[0], [1]] and str(feed["y"].dtype) == "int64"
    assert feed["y"].lod() == []


def test_images_are_reshaped_and_variables_of_programs_describe_fields():
    var = types.SimpleNamespace(name="image", shape=(-1, 1, 2, 2), dtype="float32", lod_level=0)
    feed = dygraph.DataFeeder([var]).feed([(np.arange(4),), (np.arange(4, 8),)])
    assert feed["image"].shape == (2, 1, 2, 2) and feed["image"].numpy()[1, 0, 1, 1] == 7
    assert dygraph.DataFeeder([var]).feed([])["image"].shape == (0, 1, 2, 2)


def test_two_levels():
    field = {"name": "x", "lod_level": 2, "shape": [-1, 1], "dtype": "int64"}
    feed = dygraph.DataFeeder([field]).feed([([[1, 2], [3]],), ([[4]],)])
    assert feed["x"].tolist() == [[1], [2], [3], [4]]
    assert feed["x"].lod() == [[0, 2, 3], [0, 2, 3, 4]]
    assert feed["x"].recursive_sequence_lengths() == [[2, 1], [2, 1, 1]]


def test_sequences_of_vectors_and_floats():
    feed = dygraph.DataFeeder([{"name": "x", "lod_level": 1, "shape": [-1, 2]}, "f"]).feed(
        [([[1.0, 2.0]], 0.5), ([[3.0, 4.0], [5.0, 6.0]], 1.5)]
    )
    assert feed["x"].shape == (3, 2) and feed["x"].lod() == [[0, 1, 3]]
    assert str(feed["f"].dtype) == "float32" and str(feed["x"].dtype) == "float32"


def test_a_decorated_reader():
    feeder = dygraph.DataFeeder(["x"], place=dygraph.CPUPlace())
    feeds = list(feeder.decorate_reader(lambda: iter([[1, 2], [3]]))())
    assert [f["x"].tolist() for f in feeds] == [[[1], [2]], [[3]]]


@pytest.mark.parametrize(
    "fields, samples, text",
    [
        ([], [], "feed_list must be a list of fields"),
        ([3], [], "names, dicts or variables .* got int 3 at 0"),
        ([{"shape": [1]}], [], "a field must have a name"),
        ([{"name": "x", "shap": [1]}], [], r"got \['name', 'shap'\]"),
        ([{"name": 3}], [], "a name must be a string"),
        (["x", "y"], [(1,)], "must have 2 parts, got 1 in sample 0"),
        ([{"name": "x", "shape": [-1, 3]}], [([1, 2],)], r"'x' must have shape \[3\], got \[2\]"),
        (["x"], [([1],), ([1, 2],)], "'x' must have rows of one shape .* need lod_level"),
        ([{"name": "x", "lod_level": 1}], [(3,)], "1 sequences deep, got int 3 at level 0"),
        ([{"name": "x", "dtype": "int64"}], [("a",)], "'x' must have rows of .* int64"),
    ],
)
def test_mistakes_are_named(fields, samples, text):
    with pytest.raises((TypeError, ValueError), match=text):
        dygraph.DataFeeder(fields).feed(samples)


def test_create_lod_tensor():
    x = dygraph.create_lod_tensor([[1, 2], [3, 4, 5]], [[2, 3]], dygraph.CPUPlace())
    assert x.tolist() == [[1], [2], [3], [4], [5]] and x.lod() == [[0, 2, 5]]
    assert str(x.dtype) == "int64"
    y = dygraph.create_lod_tensor(np.ones((3, 2), "float32"), [[1, 1], [1, 2]])
    assert y.lod() == [[0, 1, 2], [0, 1, 3]] and str(y.dtype) == "float32"
    z = dygraph.create_lod_tensor(y, [[3]])
    assert z.lod() == [[0, 3]] and y.lod() == [[0, 1, 2], [0, 1, 3]]
    for data, lengths, text in [
        ([[1, 2]], [[3]], r"have the lengths \[3\], got \[2\]"),
        (np.ones(3), [[1, 1]], r"the rows of data of shape \[3\], got \[1, 1\]"),
        (np.ones(2), [[3], [1, 1]], r"got \[3\] above 2 sequences"),
        (np.ones(2), [2], "a list of lists of lengths, got int 2"),
        (np.ones(2), [[-2]], "at least 0"),
        (np.ones(2), [], "a list of lists"),
        ("ab", [[2]], "data must be an array"),
    ]:
        with pytest.raises((TypeError, ValueError), match=text):
            dygraph.create_lod_tensor(data, lengths)


def test_create_random_int_lodtensor():
    x = dygraph.create_random_int_lodtensor([[2, 30]], [4], dygraph.CPUPlace(), low=-1, high=1)
    assert x.shape == (32, 4) and x.lod() == [[0, 2, 32]] and str(x.dtype) == "int64"
    assert set(np.unique(x.numpy())) == {-1, 0, 1}
    with pytest.raises(ValueError, match="high must be at least low, got 2 and 1"):
        dygraph.create_random_int_lodtensor([[2]], [1], None, 2, 1)
