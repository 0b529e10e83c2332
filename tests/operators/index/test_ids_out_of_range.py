"""Ids, labels and indices out of range: IndexError with the id and the bound, everywhere."""

import numpy as np
import pytest

import dygraph
from dygraph import _core, nn

F32, I64 = "float32", "int64"


def f(*shape):
    return np.full(shape, 0.5, F32)


def i(*values):
    return np.array(values, I64)


def lod(array, offsets):
    return array, [offsets]


# operator: (inputs, attributes, slot of the ids, position of the id, least, one above the largest)
CASES = {
    "bpr_loss": ({"X": f(2, 4), "Label": i([1], [2])}, {}, "Label", 1, 0, 4),
    "center_loss": (
        {"X": f(2, 3), "Label": i([1], [2]), "Centers": f(4, 3), "CenterUpdateRate": f(1)},
        {"cluster_num": 4, "need_update": True}, "Label", 1, 0, 4,
    ),
    "chunk_eval": (
        {"Inference": lod(i([0], [1]), [0, 2]), "Label": lod(i([0], [1]), [0, 2])},
        {"num_chunk_types": 2, "chunk_scheme": "IOB"}, "Label", 1, 0, 5,
    ),
    "crf_decoding": (
        {"Emission": f(1, 2, 3), "Transition": f(5, 3), "Label": i([[0], [1]]), "Length": i(2)},
        {}, "Label", 1, 0, 3,
    ),
    "cross_entropy": ({"X": f(2, 4), "Label": i([1], [2])}, {}, "Label", 1, 0, 4),
    "cross_entropy2": ({"X": f(2, 4), "Label": i([1], [2])}, {}, "Label", 1, 0, 4),
    "gather": ({"X": f(4, 2), "Index": i(1, 2)}, {}, "Index", 1, -4, 4),
    "gather_nd": ({"X": f(4, 2), "Index": i([1], [2])}, {}, "Index", 1, -4, 4),
    "gather_tree": (
        {"Ids": i([[1, 2]], [[3, 4]]), "Parents": i([[0, 1]], [[1, 0]])}, {}, "Parents", 3, 0, 2,
    ),
    "hierarchical_sigmoid": (
        {"X": f(2, 3), "W": f(5, 3), "Label": i([1], [2])}, {"num_classes": 6}, "Label", 1, 0, 6,
    ),
    "index_add": (
        {"X": f(4, 2), "Index": i(1, 2), "AddValue": f(2, 2)}, {}, "Index", 1, -4, 4,
    ),
    "index_sample": ({"X": f(2, 4), "Index": i([1], [2])}, {}, "Index", 1, -4, 4),
    "index_select": ({"X": f(4, 2), "Index": i(1, 2)}, {}, "Index", 1, -4, 4),
    "linear_chain_crf": (
        {"Emission": f(1, 2, 3), "Transition": f(5, 3), "Label": i([[0], [1]]), "Length": i(2)},
        {}, "Label", 1, 0, 3,
    ),
    "lookup_table": ({"W": f(4, 2), "Ids": i([1], [2])}, {}, "Ids", 1, 0, 4),
    "lookup_table_v2": ({"W": f(4, 2), "Ids": i(1, 2)}, {}, "Ids", 1, 0, 4),
    "mean_iou": (
        {"Predictions": i(0, 1), "Labels": i(0, 1)}, {"num_classes": 4}, "Labels", 1, 0, 4,
    ),
    "multiplex": ({"Ids": i([0], [1]), "X": [f(2, 3), f(2, 3)]}, {}, "Ids", 1, 0, 2),
    "nce": (
        {"Input": f(2, 3), "Label": i([1], [2]), "Weight": f(6, 3)},
        {"num_total_classes": 6, "num_neg_samples": 2}, "Label", 1, 0, 6,
    ),
    "nll_loss": ({"X": f(2, 4), "Label": i(1, 2)}, {}, "Label", 1, 0, 4),
    "one_hot": ({"X": i([1], [2])}, {"depth": 4}, "X", 1, 0, 4),
    "one_hot_v2": ({"X": i(1, 2)}, {"depth": 4}, "X", 1, 0, 4),
    "precision_recall": (
        {"MaxProbs": f(2, 1), "Indices": i([0], [1]), "Labels": i([0], [1])},
        {"class_number": 4}, "Labels", 1, 0, 4,
    ),
    "put_along_axis": (
        {"Input": f(4, 2), "Index": i([1, 2]), "Value": f(1, 2)},
        {"Axis": 0, "Reduce": "assign"}, "Index", 1, -4, 4,
    ),
    "rnn": (
        {"Input": f(3, 2, 4), "PreState": [f(1, 2, 5)], "SequenceLength": i(1, 2),
         "WeightList": [f(5, 4), f(5, 5), f(5), f(5)]},
        {"mode": "RNN_TANH", "input_size": 4, "hidden_size": 5}, "SequenceLength", 1, 0, 4,
    ),
    "sample_logits": (
        {"Logits": f(2, 5), "Labels": i([1], [2])}, {"num_samples": 2}, "Labels", 1, 0, 5,
    ),
    "scatter": ({"X": f(4, 2), "Ids": i(1, 2), "Updates": f(2, 2)}, {}, "Ids", 1, -4, 4),
    "scatter_nd_add": (
        {"X": f(4, 2), "Index": i([1], [2]), "Updates": f(2, 2)}, {}, "Index", 1, -4, 4,
    ),
    "segment_pool": (
        {"X": f(2, 2), "SegmentIds": i(0, 1), "Rows": i(3)}, {}, "SegmentIds", 1, 0, 3,
    ),
    "sequence_scatter": (
        {"X": f(1, 4), "Ids": lod(i([1], [2]), [0, 2]), "Updates": lod(f(2, 1), [0, 2])},
        {}, "Ids", 1, 0, 4,
    ),
    "sequence_unpad": ({"X": f(2, 3, 2), "Length": i(1, 2)}, {}, "Length", 1, 0, 4),
    "softmax_with_cross_entropy": (
        {"Logits": f(2, 4), "Label": i([1], [2])}, {}, "Label", 1, 0, 4,
    ),
    "take_along_axis": ({"Input": f(4, 2), "Index": i([1, 2])}, {"Axis": 0}, "Index", 1, -4, 4),
    "unpool": (
        {"X": f(1, 1, 1, 2), "Indices": np.array([[[[0, 1]]]], "int32")},
        {"ksize": [2, 2], "strides": [2, 2], "unpooling_type": "max"}, "Indices", 1, 0, 8,
    ),
    "unpool3d": (
        {"X": f(1, 1, 1, 1, 2), "Indices": np.array([[[[[0, 1]]]]], "int32")},
        {"ksize": [1, 2, 2], "strides": [1, 2, 2]}, "Indices", 1, 0, 8,
    ),
    "viterbi_decode": (
        {"Input": f(2, 3, 4), "Transition": f(4, 4), "Length": i(1, 2)}, {}, "Length", 1, 0, 4,
    ),
    "warpctc": (
        {"Logits": f(4, 1, 3), "Label": i([1, 2]), "LogitsLength": i(4), "LabelLength": i(2)},
        {}, "Label", 1, 0, 3,
    ),
}  # fmt: skip
# Integers of these are not positions in something: any value is right, or another rule is checked.
OTHERS = {
    "accuracy", "auc", "bce_loss", "beam_search_decode", "crop", "crop_tensor", "ctc_align",
    "edit_distance", "hinge_loss", "log_loss", "margin_rank_loss", "rank_loss", "sequence_slice",
    "sigmoid_cross_entropy_with_logits", "teacher_student_sigmoid_loss",
    # no place in memory depends on them
    "deformable_conv", "deformable_conv_v1", "mine_hard_examples", "retinanet_target_assign",
    "positive_negative_pair", "sigmoid_focal_loss",
    # calls lookup_table_v2, which says so in its own name
    "fused_embedding_seq_pool",
    # tests/operators/detection has what is out of range
    "detection_map", "generate_mask_labels", "target_assign", "yolov3_loss",
}  # fmt: skip
WORDS = ("Id", "Index", "Indices", "Label", "Length", "Offset", "Path")


def variable(value):
    if isinstance(value, list):
        return [variable(v) for v in value]
    if isinstance(value, tuple):
        return _core.to_variable(value[0], value[1])
    return _core.to_variable(value)


def call(op, bad=None):
    inputs, attrs, slot, at, *_ = CASES[op]
    inputs = dict(inputs)
    if bad is not None:
        given = inputs[slot]
        ids = (given[0] if isinstance(given, tuple) else given).copy()
        ids.reshape(-1)[at] = bad
        inputs[slot] = (ids, given[1]) if isinstance(given, tuple) else ids
    return _core.run_op(op, {s: variable(v) for s, v in inputs.items()}, attrs, None)


def bad_ids(op):
    inputs, _, slot, _, least, end = CASES[op]
    ids = inputs[slot]
    limits = np.iinfo((ids[0] if isinstance(ids, tuple) else ids).dtype)
    return [end, least - 1, end + 1000, limits.max, limits.min]


@pytest.mark.parametrize("op", CASES)
def test_operators(op):
    call(op)  # is right without the bad id
    *_, end = CASES[op]
    for bad in bad_ids(op):
        with pytest.raises(IndexError) as error:
            call(op, bad)
        text = str(error.value)
        assert text.startswith(f"{op}: ")
        bounds = (f"{end})", f"{end - 1}]", f"{end - 1}, the")  # [0, 4) or [0, 3]
        assert f"got {bad}" in text and any(b in text for b in bounds), text


def test_no_operator_that_takes_ids_is_left_out():
    names = [n for n in _core.op_names() if "_grad" not in n]
    takes = {
        n
        for n in names
        if any(w in s["name"] for s in _core.describe_op(n)["inputs"] for w in WORDS)
    }
    assert takes - OTHERS - set(CASES) == set()


LAYERS = {
    "CrossEntropyLoss": lambda bad: nn.CrossEntropyLoss()(variable(f(2, 4)), variable(i(1, bad))),
    "NLLLoss": lambda bad: nn.NLLLoss()(variable(f(2, 4)), variable(i(1, bad))),
    "Embedding": lambda bad: nn.Embedding([4, 2])(variable(i(1, bad))),
    "Embedding, sparse": lambda bad: nn.Embedding([4, 2], is_sparse=True)(variable(i(1, bad))),
    "HSigmoid": lambda bad: nn.HSigmoid(3, 4)(variable(f(2, 3)), variable(i([1], [bad]))),
    "NCE": lambda bad: nn.NCE(4, 3)(variable(f(2, 3)), variable(i([1], [bad]))),
    "CenterLoss": lambda bad: nn.CenterLoss(4, 3)(variable(f(2, 3)), variable(i([1], [bad]))),
    "CTCLoss": lambda bad: nn.CTCLoss()(
        variable(f(5, 1, 4)), variable(i([1, bad])), variable(i(5)), variable(i(2))
    ),
    "index": lambda bad: variable(f(4))[variable(i(1, bad))],
    "index of NumPy": lambda bad: variable(f(4))[i(1, bad)],
    "assignment": lambda bad: variable(f(4)).__setitem__(variable(i(1, bad)), 2.0),
    "dygraph.ops.gather": lambda bad: dygraph.ops.gather(variable(f(4, 2)), variable(i(1, bad))),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    LAYERS[name](3)
    for bad in (4, -5, 2**63 - 1, -(2**63)):
        with pytest.raises(IndexError) as error:
            LAYERS[name](bad)
        text = str(error.value)
        assert str(bad) in text and "4" in text.replace(str(bad), "", 1), text
