"""Shapes and indices of plain tensors."""

import numpy as np

import dygraph
from mistakes.common import floats, ids

F = dygraph.ops


def broadcasting():
    floats(3, 4) + floats(3)


def broadcasting_with_an_array():
    floats(3, 4) * np.ones((2, 4), "float32")


def matmul_of_other_inner_sizes():
    floats(3, 4) @ floats(3, 4)


def matmul_of_other_batches():
    floats(2, 3, 4) @ floats(3, 4, 5)


def concat_of_other_sizes():
    dygraph.concat([floats(2, 3), floats(2, 4)], axis=0)


def concat_of_nothing():
    dygraph.concat([], axis=0)


def concat_of_another_dtype():
    joined = dygraph.concat([floats(2, 3), ids([1, 2, 3])], axis=0)
    return f"the types are promoted, as by x + y, to {joined.dtype}"


def stack_of_other_shapes():
    dygraph.stack([floats(2, 3), floats(2, 4)])


def split_that_does_not_go_up():
    F.split(floats(7, 2), num=3)


def split_sections_of_another_sum():
    F.split(floats(7, 2), sizes=[3, 3])


def reshape_to_another_size():
    floats(4, 3).reshape([5, 2])


def reshape_with_two_unknown_sizes():
    floats(4, 3).reshape([-1, -1])


def reshape_that_does_not_go_up():
    floats(4, 3).reshape([-1, 5])


def transpose_with_too_few_axes():
    floats(2, 3, 4).transpose([1, 0])


def transpose_that_repeats_an_axis():
    floats(2, 3, 4).transpose([0, 1, 1])


def squeeze_of_an_axis_of_three():
    F.squeeze(floats(1, 3), 1)


def unsqueeze_beyond_the_end():
    F.unsqueeze(floats(2, 3), 4)


def axis_out_of_range():
    F.softmax(floats(2, 3), axis=2)


def sum_over_an_axis_out_of_range():
    floats(2, 3).sum(2)


def expand_of_a_size_that_is_not_one():
    F.expand_v2(floats(2, 3), shape=[4, 3])


def index_out_of_range():
    floats(3, 2)[3]


def negative_index_out_of_range():
    floats(3, 2)[:, -3]


def index_list_out_of_range():
    floats(3, 2)[[0, 5]]


def too_many_indices():
    floats(3, 2)[0, 0, 0]


def index_that_is_a_float():
    floats(3, 2)[1.0]


def index_that_is_text():
    floats(3, 2)["a"]


def index_by_a_float_variable():
    floats(3, 2)[floats(2)]


def step_of_zero():
    floats(3)[::0]


def mask_of_another_shape():
    floats(3, 2)[dygraph.to_variable(np.array([True, False]))]


def assignment_of_another_shape():
    floats(3, 2)[0:2] = floats(3, 2)


def assignment_to_a_temporary():
    x = floats(3, 2)
    x.numpy()[0, 0] = 5.0
    return f"numpy() is a copy, the Variable still holds {x[0, 0].item()}: assign to x[0, 0]"


def where_of_other_shapes():
    dygraph.where(floats(2) > 0, floats(2), floats(3))


def condition_that_is_no_bool():
    dygraph.where(floats(2), floats(2), floats(2))


def pad_with_too_few_numbers():
    F.pad(floats(2, 3), [1, 1, 1])


def memory_that_is_not_there():
    dygraph.zeros([1 << 20, 1 << 20], "float64")


def size_that_overflows():
    dygraph.zeros([1 << 40, 1 << 40], "float32")


def negative_size():
    dygraph.zeros([2, -3], "float32")


def einsum_of_an_unknown_letter():
    F.einsum("ij,jk->il", floats(2, 3), floats(3, 4))


def interpolation_of_a_matrix():
    F.interpolate(floats(4, 4), [8, 8])


def clip_with_swapped_bounds():
    F.clip(floats(2), min=1.0, max=0.0)
