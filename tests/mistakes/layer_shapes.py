"""Shapes that do not fit a layer."""

import dygraph
from dygraph import nn
from mistakes.common import floats, ids


class Net(nn.Layer):
    """Convolutions, then a classifier, as in many tutorials."""

    def __init__(self, features=8 * 12 * 12):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2D(1, 8, 5, act="relu"), nn.Pool2D(2, pool_stride=2))
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(features, 10))

    def forward(self, x):
        return self.head(self.features(x))


def wrong_in_features_in_a_nested_sequential():
    Net(features=8 * 13 * 13)(floats(4, 1, 28, 28))


def images_with_channels_last():
    Net()(floats(4, 28, 28, 1))


def missing_batch_axis():
    Net()(floats(1, 28, 28))


def missing_channel_axis():
    Net()(floats(4, 28, 28))


def forgotten_flatten():
    nn.Sequential(nn.Conv2D(3, 8, 3), nn.Linear(8 * 6 * 6, 10))(floats(2, 3, 8, 8))


def linear_on_a_single_sample_of_another_size():
    nn.Linear(3, 2)(floats(4))


def kernel_larger_than_the_image():
    nn.Conv2D(3, 8, 7)(floats(2, 3, 5, 5))


def groups_that_do_not_divide_the_channels():
    nn.Conv2D(6, 8, 3, groups=4)


def filters_that_groups_do_not_divide():
    nn.Conv2D(6, 8, 3, groups=3)


def pooling_window_larger_than_the_image():
    nn.Sequential(nn.Pool2D(2, pool_stride=2), nn.Pool2D(5))(floats(1, 3, 8, 8))


def pooling_padding_larger_than_half_the_window():
    nn.MaxPool2D(2, pool_padding=2)(floats(1, 3, 8, 8))


def batch_norm_of_another_number_of_channels():
    nn.Sequential(nn.Conv2D(3, 8, 3), nn.BatchNorm(16))(floats(2, 3, 8, 8))


def batch_norm_2d_of_a_matrix():
    nn.BatchNorm2D(8)(floats(4, 8))


def batch_norm_of_one_value_per_channel():
    nn.BatchNorm1D(8)(floats(1, 8))


def layer_norm_of_another_size():
    nn.LayerNorm(16)(floats(2, 5, 8))


def group_norm_with_groups_that_do_not_divide():
    nn.GroupNorm(channels=6, groups=4)


def lstm_of_another_input_size():
    nn.LSTM(16, 32, time_major=False)(floats(4, 10, 8))


def lstm_without_batch_axis():
    nn.LSTM(16, 32, time_major=False)(floats(10, 16))


def lstm_initial_state_of_another_batch():
    nn.LSTM(16, 32, time_major=False)(floats(4, 10, 16), (floats(1, 3, 32), floats(1, 3, 32)))


def lstm_with_one_initial_state():
    nn.LSTM(16, 32, time_major=False)(floats(4, 10, 16), floats(1, 4, 32))


def lstm_with_two_layers_and_the_state_of_one():
    nn.LSTM(16, 32, num_layers=2, time_major=False)(
        floats(4, 10, 16), (floats(1, 4, 32), floats(1, 4, 32))
    )


def sequence_longer_than_time():
    nn.LSTM(16, 32, time_major=False)(floats(2, 10, 16), sequence_length=ids(10, 11))


def sequence_lengths_of_another_batch():
    nn.GRU(16, 32, time_major=False)(floats(2, 10, 16), sequence_length=ids(10, 9, 8))


def lstm_output_taken_for_one_variable():
    nn.Sequential(nn.LSTM(16, 32, time_major=False), nn.Linear(32, 4))(floats(4, 10, 16))


def embed_dim_that_heads_do_not_divide():
    nn.MultiHeadAttention(10, 4)


def attention_mask_of_another_shape():
    nn.MultiHeadAttention(8, 2)(floats(2, 5, 8), attn_mask=floats(2, 1, 4, 4))


def attention_mask_of_integers():
    out = nn.MultiHeadAttention(8, 2)(floats(2, 5, 8), attn_mask=dygraph.ones([5, 5], "int64"))
    return f"where an integer is not 0 a key is seen, output {out.shape}"


def attention_query_of_another_size():
    nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)(floats(2, 5, 6))


def decoder_memory_of_another_size():
    nn.TransformerDecoderLayer(8, 2, 16)(floats(2, 5, 8), floats(2, 7, 6))


def pixel_shuffle_of_channels_it_does_not_divide():
    nn.PixelShuffle(2)(floats(1, 6, 4, 4))


def prelu_of_another_number_of_channels():
    nn.PReLU(4)(floats(2, 3, 5, 5))


def cosine_similarity_of_differing_rows():
    dygraph.ops.cos_sim(floats(4, 8), floats(3, 8))
