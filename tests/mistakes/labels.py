"""Labels, ids and indices."""

import numpy as np

import dygraph
from dygraph import nn
from mistakes.common import floats, ids

F = dygraph.ops


def labels_as_floats():
    F.softmax_with_cross_entropy(floats(3, 4), dygraph.to_variable(np.array([[0.0], [1.0], [2.0]])))


def labels_as_float32():
    F.softmax_with_cross_entropy(floats(3, 4), floats(3, 1))


def labels_without_their_last_axis():
    loss = F.softmax_with_cross_entropy(floats(3, 4), ids(0, 1, 2))
    return f"[3] is taken as [3, 1], the loss has shape {loss.shape}"


def one_hot_where_ids_are_expected():
    F.softmax_with_cross_entropy(floats(3, 4), dygraph.ones([3, 4], "int64"))


def ids_where_probabilities_are_expected():
    F.softmax_with_cross_entropy(floats(3, 4), ids([0], [1], [2]), soft_label=True)


def label_equal_to_the_number_of_classes():
    F.softmax_with_cross_entropy(floats(3, 4), ids([1], [4], [2]))


def negative_label():
    F.softmax_with_cross_entropy(floats(3, 4), ids([1], [-1], [2]))


def labels_of_another_batch():
    F.softmax_with_cross_entropy(floats(3, 4), ids([1], [2]))


def cross_entropy_label_out_of_range():
    F.cross_entropy(F.softmax(floats(3, 4)), ids([1], [4], [2]))


def loss_layer_label_out_of_range():
    nn.CrossEntropyLoss()(floats(3, 4), ids(1, 4, 2))


def loss_layer_labels_as_floats():
    nn.CrossEntropyLoss()(floats(3, 4), floats(3))


def nll_label_out_of_range():
    nn.NLLLoss()(floats(3, 4), ids(0, 1, 9))


def binary_loss_of_other_shapes():
    nn.BCEWithLogitsLoss()(floats(4, 1), floats(4))


def binary_loss_with_integer_labels():
    nn.BCEWithLogitsLoss()(floats(4), ids(0, 1, 1, 0))


def binary_loss_of_logits():
    nn.BCELoss()(floats(3) * 2, floats(3))


def mean_square_of_other_shapes():
    nn.MSELoss()(floats(4, 1), floats(4))


def embedding_id_out_of_range():
    nn.Sequential(nn.Embedding([10, 4]), nn.Linear(4, 2))(ids([3, 10]))


def embedding_negative_id():
    nn.Embedding([10, 4])(ids(-1))


def embedding_of_floats():
    nn.Embedding([10, 4])(floats(2, 3))


def one_hot_id_out_of_range():
    F.one_hot(ids([1], [5]), depth=5)


def gather_index_out_of_range():
    F.gather(floats(4, 2), ids(0, 4))


def index_of_an_index_select_negative():
    F.index_select(floats(4, 2), ids(-5), dim=0)


def scatter_id_out_of_range():
    F.scatter(floats(4, 2), ids(4), floats(1, 2))


def accuracy_of_other_batches():
    indices = F.top_k(floats(3, 4), k=1)
    F.accuracy(indices[0], indices[1], ids([1], [2]))


def top_k_of_more_than_there_is():
    F.top_k(floats(3, 4), k=5)


def hierarchical_label_out_of_range():
    nn.HSigmoid(8, 6)(floats(2, 8), ids([1], [6]))


def nce_label_out_of_range():
    nn.NCE(20, 8)(floats(2, 8), ids([1], [20]))


def ctc_label_is_the_blank_or_more():
    F.warpctc(floats(5, 1, 4), ids([1, 4]), logits_length=ids(5), label_length=ids(2), blank=0)


def metric_of_classes_for_binary_labels():
    metric = dygraph.metrics.Precision()
    metric.update(np.array([0.3, 0.7]), np.array([0, 2]))


def linear_chain_crf_label_out_of_range():
    F.linear_chain_crf(floats(1, 2, 3), floats(5, 3), ids([[0], [3]]), length=ids([2]))
