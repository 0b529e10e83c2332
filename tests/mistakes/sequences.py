"""Level of detail."""

import dygraph
from mistakes.common import floats, ids, ragged

F = dygraph.ops


def sequence_pool_without_lod():
    F.sequence_pool(floats(5, 2), pooltype="SUM")


def sequence_softmax_without_lod():
    F.sequence_softmax(floats(5, 1))


def sequence_pool_of_an_unknown_kind():
    F.sequence_pool(ragged(5, [0, 2, 5]), pooltype="MEAN")


def sequence_expand_without_lod():
    F.sequence_expand(floats(2, 2), floats(4, 2))


def sequence_expand_of_another_count():
    F.sequence_expand(floats(3, 2), ragged(5, [0, 2, 5]), ref_level=0)


def lod_with_two_levels_where_one_is_taken():
    F.sequence_reverse(ragged(5, [0, 1, 2], [0, 2, 6]))


def offsets_that_do_not_reach_the_end():
    floats(5, 2).set_lod([[0, 2, 4]])


def offsets_that_fall():
    floats(5, 2).set_lod([[0, 3, 2, 5]])


def lengths_where_offsets_are_expected():
    floats(5, 2).set_lod([[2, 3]])


def lod_that_is_no_list_of_lists():
    floats(5, 2).set_lod([0, 2, 5])


def lengths_of_another_sum():
    dygraph.create_lod_tensor(floats(5, 2).numpy(), [[2, 2]], dygraph.CPUPlace())


def sequence_pad_with_a_value_of_another_size():
    F.sequence_pad(ragged(5, [0, 2, 5]), floats(3), padded_length=4)


def sequence_pad_that_is_too_short():
    F.sequence_pad(ragged(5, [0, 2, 5]), floats(1), padded_length=2)


def sequence_conv_with_a_wrong_filter():
    F.sequence_conv(ragged(5, [0, 2, 5]), filter=floats(4, 8), contextLength=3, contextStart=-1)


def sequence_slice_beyond_the_end():
    F.sequence_slice(ragged(5, [0, 2, 5]), ids([1], [1]), ids([1], [3]))


def sequence_concat_of_other_counts():
    F.sequence_concat([ragged(5, [0, 2, 5]), ragged(3, [0, 3])])


def sequence_enumerate_of_floats():
    F.sequence_enumerate(ragged(5, [0, 2, 5]), win_size=2)


def sequence_unpad_with_a_length_too_large():
    F.sequence_unpad(floats(2, 3, 2), ids(3, 4))


def dynamic_lstm_with_a_wrong_weight():
    F.lstm(ragged(5, [0, 2, 5]), weight=floats(2, 8), bias=floats(1, 8))
