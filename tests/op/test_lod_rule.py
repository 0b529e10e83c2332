"""Which outputs take the LoD of an input: those whose rows are its rows, in their order.

Each case runs eagerly and in a program, where `lod_level` must say beforehand what the run does.
"""

import numpy as np
import pytest

import dygraph
from dygraph import _core, static

RNG = np.random.default_rng(7)


class Ragged:
    """Rows in two sequences, the first of one row, or the offsets given."""

    def __init__(self, *shape, lod=None, dtype="float64"):
        self.array = RNG.random(shape).astype(dtype)
        self.lod = lod or [[0, 1, shape[0]]]


def some(*shape):
    return RNG.random(shape)


def ints(*values):
    return np.array(values, "int64")


X54, X44 = Ragged(5, 4), Ragged(4, 4)
TRUTH = RNG.random((5, 4)) < 0.5
BOOLS = Ragged(5, 4)
BOOLS.array = TRUTH
WORDS = Ragged(5)
WORDS.array = ints(2, 0, 1, 1, 2)
IMAGES = Ragged(5, 4, 2, 2)

KEEP = [
    ("reshape2", {"X": X54}, {"shape": [0, 2, 2]}),
    ("reshape2", {"X": X54}, {"shape": [-1, 2, 2]}),
    ("reshape", {"X": Ragged(5)}, {"shape": [-1, 1]}),
    ("squeeze2", {"X": Ragged(5, 1, 4)}, {"axes": [1]}),
    ("squeeze", {"X": Ragged(5, 1)}, {"axes": [-1]}),
    ("unsqueeze2", {"X": X54}, {"axes": [1]}),
    ("unsqueeze", {"X": X54}, {"axes": [-1, 1]}),
    ("flatten2", {"X": Ragged(5, 2, 2)}, {"axis": 1}),
    ("flatten", {"X": Ragged(5, 2, 2)}, {"axis": 1}),
    ("flatten_contiguous_range", {"X": Ragged(5, 2, 2)}, {"start_axis": 1, "stop_axis": 2}),
    ("slice", {"Input": X54}, {"axes": [1], "starts": [1], "ends": [3]}),
    ("slice", {"Input": X54}, {"axes": [0], "starts": [0], "ends": [2**31 - 1]}),
    (
        "slice", {"Input": X54},
        {"axes": [1], "starts": [1], "ends": [2], "decrease_axis": [1]},
    ),
    (
        "strided_slice", {"Input": X54},
        {"axes": [1], "starts": [0], "ends": [3], "strides": [2]},
    ),
    ("scatter", {"X": X54, "Ids": ints(3, 0), "Updates": some(2, 4)}, {}),
    ("scatter_nd_add", {"X": X54, "Index": ints([3], [0]), "Updates": some(2, 4)}, {}),
    (
        "put_along_axis",
        {"Input": X54, "Index": ints([0], [1], [2], [3], [0]), "Value": some(5, 1)}, {"Axis": 1},
    ),
    ("where", {"Condition": TRUTH, "X": X54, "Y": some(5, 4)}, {}),
    ("stack", {"X": [X54, X54]}, {"axis": 1}),
    ("stack", {"X": [X54, X54]}, {"axis": -1}),
    ("concat", {"X": [X54, some(5, 3)]}, {"axis": 1}),
    ("huber_loss", {"X": X54, "Y": some(5, 4)}, {"delta": 1.0}),
    ("rank_loss", {"Label": some(5, 1), "Left": Ragged(5, 1), "Right": some(5, 1)}, {}),
    ("smooth_l1_loss", {"X": X54, "Y": some(5, 4)}, {}),
    ("squared_l2_distance", {"X": X54, "Y": some(5, 4)}, {}),
    ("kldiv_loss", {"X": X54, "Target": some(5, 4)}, {"reduction": "none"}),
    ("expand", {"X": X54}, {"expand_times": [1, 2]}),
    ("expand_v2", {"X": Ragged(5, 1)}, {"shape": [-1, 3]}),
    ("tile", {"X": X54}, {"repeat_times": [1, 2]}),
    ("pad", {"X": X54}, {"paddings": [0, 0, 1, 0]}),
    ("crop_tensor", {"X": X54}, {"shape": [-1, 2], "offsets": [0, 1]}),
    ("group_norm", {"X": IMAGES}, {"groups": 2}),
    ("instance_norm", {"X": IMAGES}, {}),
    ("maxout", {"X": IMAGES}, {"groups": 2}),
    ("pixel_shuffle", {"X": IMAGES}, {"upscale_factor": 2}),
    ("nearest_interp", {"X": IMAGES}, {"out_h": 4, "out_w": 4}),
    ("max_pool2d_with_index", {"X": IMAGES}, {"ksize": [2, 2]}),
    ("norm", {"X": X54}, {"axis": 1}),
    ("clip_by_norm", {"X": X54}, {"max_norm": 1.0}),
    ("logical_not", {"X": BOOLS}, {}),
    ("logical_and", {"X": BOOLS, "Y": TRUTH}, {}),
    ("bitwise_or", {"X": BOOLS, "Y": TRUTH}, {}),
    ("isfinite_v2", {"X": X54}, {}),
    ("tril_triu", {"X": X54}, {}),
    ("flip", {"X": X54}, {"dims": [1]}),
    ("reverse", {"X": X54}, {"axis": [-1]}),
    ("roll", {"X": X54}, {"shifts": [1], "dims": [1]}),
    ("cumsum", {"X": X54}, {"axis": 1}),
    ("argsort", {"X": X54}, {"axis": 1}),
    ("top_k", {"X": X54}, {"k": 2}),
    ("top_k_v2", {"X": X54}, {"k": 2}),
    ("index_select", {"X": X54, "Index": ints(2, 0)}, {"dim": 1}),
    ("index_sample", {"X": X54, "Index": ints([0], [1], [2], [3], [0])}, {}),
    ("take_along_axis", {"Input": X54, "Index": ints([0], [1], [2], [3], [0])}, {"Axis": 1}),
    ("multiplex", {"Ids": ints([0], [1], [1], [0], [1]), "X": [X54, X54]}, {}),
    ("split", {"X": X54}, {"num": 2, "axis": 1}),
    ("split", {"X": X54}, {"num": 1, "axis": 0}),
    ("unstack", {"X": X54}, {"axis": 1, "num": 4}),
    ("unbind", {"X": X54}, {"axis": 1}),
    ("transpose2", {"X": Ragged(5, 4, 2)}, {"axis": [0, 2, 1]}),
    ("matmul_v2", {"X": X54, "Y": some(4, 3)}, {}),
    ("matmul", {"X": X54, "Y": some(4, 3)}, {}),
    ("bmm", {"X": Ragged(5, 2, 3), "Y": some(5, 3, 2)}, {}),
    ("addmm", {"Input": X54, "X": some(5, 3), "Y": some(3, 4)}, {}),
    ("dot", {"X": X54, "Y": some(5, 4)}, {}),
    ("cross", {"X": Ragged(5, 3), "Y": some(5, 3)}, {"dim": 1}),
    ("elementwise_add", {"X": X54, "Y": some(4)}, {}),
    ("one_hot_v2", {"X": WORDS}, {"depth": 3}),
    ("lookup_table_v2", {"Ids": WORDS, "W": some(3, 2)}, {}),
    ("arg_max", {"X": X54}, {"axis": 1}),
    ("p_norm", {"X": X54}, {"axis": 1}),
    ("logsumexp", {"X": X54}, {"axis": [1]}),
    ("frobenius_norm", {"X": X54}, {"dim": [1]}),
    ("sampling_id", {"X": X54}, {}),
    # rows of another input than the first
    ("elementwise_sub", {"X": some(5, 4), "Y": X54}, {}),
    ("elementwise_mul", {"X": some(4), "Y": X54}, {}),
    ("elementwise_mul", {"X": some(5, 4), "Y": Ragged(5)}, {"axis": 0}),
    ("greater_than", {"X": some(5, 4), "Y": X54}, {}),
    ("logical_xor", {"X": TRUTH, "Y": BOOLS}, {}),
    ("minus", {"X": some(5, 4), "Y": X54}, {}),
    ("where", {"Condition": BOOLS, "X": some(5, 4), "Y": some(5, 4)}, {}),
    ("where", {"Condition": TRUTH, "X": some(5, 4), "Y": X54}, {}),
    ("sum", {"X": [X54, some(5, 4)]}, {}),
    ("concat", {"X": [some(5, 3), X54]}, {"axis": 1}),
    ("matmul_v2", {"X": some(5, 2, 3), "Y": Ragged(5, 3, 2)}, {}),
    ("addmm", {"Input": some(5, 4), "X": Ragged(5, 3), "Y": some(3, 4)}, {}),
    ("cos_sim", {"X": some(5, 4), "Y": X54}, {}),
    ("squared_l2_distance", {"X": some(5, 4), "Y": X54}, {}),
    ("kldiv_loss", {"X": some(5, 4), "Target": X54}, {"reduction": "none"}),
    ("margin_rank_loss", {"X1": some(5, 1), "X2": some(5, 1), "Label": Ragged(5, 1)}, {}),
    ("log_loss", {"Predicted": some(5, 1), "Labels": Ragged(5, 1)}, {"epsilon": 0.1}),
    ("gather", {"X": X54, "Index": ints(2, 0)}, {"axis": 1}),
    ("gather", {"X": some(3, 2), "Index": WORDS}, {}),
    ("gather_nd", {"X": some(3, 2), "Index": Ragged(5, 1, dtype="int64")}, {}),
    ("index_select", {"X": some(3, 2), "Index": WORDS}, {"dim": 0}),
    ("einsum", {"Operands": [X54, some(4, 3)]}, {"equation": "ij,jk->ik"}),
    ("einsum", {"Operands": [some(4, 3), X54]}, {"equation": "jk,ij->ik"}),
    *[(f"reduce_{f}", {"X": X54}, {"dim": [1]}) for f in ("sum", "mean", "max", "min", "prod")],
    *[(f"reduce_{f}", {"X": BOOLS}, {"dim": [-1]}) for f in ("all", "any")],
]  # fmt: skip

# Most accidentally have as many rows as X: 4 by 4.
DROP = [
    ("reshape2", {"X": X54}, {"shape": [-1, 2]}),
    ("reshape", {"X": X54}, {"shape": [-1]}),
    ("squeeze2", {"X": Ragged(1, 5, lod=[[0, 1]])}, {"axes": [0]}),
    ("unsqueeze2", {"X": X54}, {"axes": [0]}),
    ("flatten2", {"X": Ragged(5, 2, 2)}, {"axis": 2}),
    ("flatten2", {"X": X54}, {"axis": 0}),
    ("flatten_contiguous_range", {"X": X54}, {"start_axis": 0, "stop_axis": 1}),
    ("slice", {"Input": X54}, {"axes": [0], "starts": [1], "ends": [3]}),
    ("slice", {"Input": X44}, {"axes": [0], "starts": [2], "ends": [3], "decrease_axis": [0]}),
    (
        "strided_slice", {"Input": X54},
        {"axes": [0], "starts": [4], "ends": [-6], "strides": [-1]},
    ),
    ("gather", {"X": X54, "Index": ints(4, 3, 2, 1, 0)}, {}),
    ("gather_nd", {"X": X54, "Index": ints([4], [3], [2], [1], [0])}, {}),
    ("index_select", {"X": X54, "Index": ints(4, 3, 2, 1, 0)}, {"dim": 0}),
    ("take_along_axis", {"Input": X44, "Index": ints([3, 2, 1, 0]).T}, {"Axis": 0}),
    ("where", {"Condition": TRUTH[:4], "X": Ragged(4), "Y": some(4, 4)}, {}),
    ("stack", {"X": [Ragged(2, 3), Ragged(2, 3)]}, {"axis": 0}),
    ("expand", {"X": X54}, {"expand_times": [2, 1]}),
    ("expand_v2", {"X": Ragged(4)}, {"shape": [4, 4]}),
    ("tile", {"X": Ragged(4)}, {"repeat_times": [4, 1]}),
    ("pad", {"X": X54}, {"paddings": [1, 0, 0, 0]}),
    ("flip", {"X": X54}, {"dims": [0]}),
    ("reverse", {"X": X54}, {"axis": [0, 1]}),
    ("roll", {"X": X54}, {"shifts": [1], "dims": [0]}),
    ("roll", {"X": X54}, {"shifts": [1]}),
    ("argsort", {"X": X54}, {"axis": 0}),
    ("top_k", {"X": Ragged(4)}, {"k": 4}),
    ("top_k_v2", {"X": X44}, {"k": 4, "axis": 0}),
    ("split", {"X": X44}, {"sections": [1, 3], "axis": 0}),
    ("unstack", {"X": X44}, {"axis": 0, "num": 4}),
    ("transpose2", {"X": X44}, {"axis": [1, 0]}),
    ("matmul_v2", {"X": X44, "Y": some(4, 3)}, {"trans_x": True}),
    ("matmul_v2", {"X": Ragged(4), "Y": some(4, 4)}, {}),
    ("matmul", {"X": X44, "Y": some(4, 3)}, {"transpose_X": True}),
    ("elementwise_mul", {"X": Ragged(4), "Y": some(4, 4)}, {}),
    ("cross", {"X": Ragged(3, 3), "Y": some(3, 3)}, {"dim": 0}),
    ("matmul_v2", {"X": some(4, 4), "Y": X44}, {}),
    ("gather", {"X": some(4, 4), "Index": Ragged(4, dtype="int64")}, {"axis": 1}),
    ("einsum", {"Operands": [X44, some(4, 4)]}, {"equation": "ij,jk->ki"}),
    ("sum", {"X": [some(4, 4), X44]}, {}),  # the first decides
    ("cumsum", {"X": X44}, {"axis": 0}),
    ("cumsum", {"X": Ragged(4)}, {"axis": -1}),
    ("softmax", {"X": X44}, {"axis": 0}),
    ("log_softmax", {"X": X44}, {"axis": -2}),
    ("arg_max", {"X": X44}, {"axis": 0}),
    ("arg_max", {"X": X44}, {"axis": 1, "flatten": True}),
    ("p_norm", {"X": X44}, {"axis": 0}),
    ("logsumexp", {"X": X44}, {"axis": [0]}),
    *[(f"reduce_{f}", {"X": X44}, {"dim": [0]}) for f in ("sum", "mean", "max", "min", "prod")],
    ("reduce_sum", {"X": X44}, {"reduce_all": True}),
]  # fmt: skip

ALL = [(*case, True) for case in KEEP] + [(*case, False) for case in DROP]


# Operators that pass no LoD on, by what stands in the place of X's rows.
NO_ROWS_OF_X = {
    "sequences of the operator's own": """attention_lstm chunk_eval ctc_align edit_distance
        fused_embedding_seq_pool fusion_gru fusion_lstm fusion_seqexpand_concat_fc
        fusion_seqpool_concat fusion_seqpool_cvm_concat gru im2sequence
        linear_chain_crf lod_reset lstm lstmp match_matrix_tensor pyramid_hash rnn sequence_concat
        sequence_erase sequence_expand sequence_expand_as sequence_mask sequence_match
        sequence_pad sequence_pool sequence_reshape sequence_reverse sequence_scatter
        sequence_slice sequence_unpad var_conv_2d warpctc warprnnt""",
    "rows that data choose": """collect_fpn_proposals distribute_fpn_proposals gather_tree
        generate_mask_labels generate_proposal_labels generate_proposals generate_proposals_v2
        locality_aware_nms masked_select matrix_nms mine_hard_examples multiclass_nms
        multiclass_nms2 multiclass_nms3 nms retinanet_detection_output retinanet_target_assign
        rpn_target_assign unique unique_consecutive unique_with_counts where_index""",
    "nodes and edges of a graph": """graph_send_recv graph_send_ue_recv graph_send_uv
        segment_pool""",
    "one row for each image": "bipartite_match target_assign",
    "cells of a map": "anchor_generator density_prior_box prior_box yolo_box",
    "numbers over all rows": """accuracy allclose auc bincount detection_map dist histogram
        is_empty isfinite isinf isnan l1_norm mean mean_iou positive_negative_pair precision_recall
        shape size
        squared_l2_norm""",
    "values that no input holds": """assign_value eye fill fill_constant
        fill_constant_batch_size_like gaussian_random linspace randint randperm range seed
        tril_indices triu_indices truncated_gaussian_random uniform_random""",
    "parameters, gradients and the state of training": """adadelta adagrad adam adamax adamw
        average_accumulates check_finite_and_unscale coalesce_tensor decayed_adagrad dpsgd ftrl
        lamb lars_momentum momentum nadam proximal_adagrad proximal_gd radam rmsprop sgd
        spectral_norm update_loss_scaling""",
    "selected rows, or the tensor made of them": """get_tensor_from_selected_rows
        merge_selected_rows split_selected_rows""",
    "axes put anew: a diagonal, a grid, a product of all with all": """broadcast_tensors diag kron
        meshgrid trace""",
    "steps of a batch, branches of a program, what a search selects": """array_to_lod_tensor
        beam_search beam_search_decode conditional_block conditional_block_infer lod_array_length
        lod_rank_table lod_tensor_to_array max_sequence_len merge_lod_tensor merge_lod_tensor_infer
        recurrent select_input select_output shrink_rnn_memory split_lod_tensor
        tensor_array_to_tensor while""",
    "matrices, whose rows are no items, and what is worked out of them": """cholesky cholesky_solve
        determinant eig eigh eigvals eigvalsh inverse lstsq lu lu_unpack matrix_exp matrix_is_tall
        matrix_power matrix_rank multi_dot pinv qr slogdeterminant solve svd svdvals
        triangular_solve""",
    "states of one time step, which the next one meets as rows": "gru_unit lstm_unit",
    "no output": "assert delete_var save save_combine",
    "what lists and files hold, with a level of detail of its own": "feed load load_combine",
    "what a function of Python gives": "py_func",
}


def test_every_operator_passes_it_or_has_a_reason():
    forward = [n for n in dygraph.op_names() if not n.endswith("_grad2") and "_grad" not in n]
    silent = {n for n in forward if not dygraph.op_info(n).shares_lod_of}
    listed = [n for names in NO_ROWS_OF_X.values() for n in names.split()]
    new = set(silent) - set(listed)
    assert not new, f"{new}: add .ShareLoD(slot), or the name to the table above with its reason"
    assert sorted(silent) == sorted(listed)


def of_each(slots, make):
    """The slots with make(name, value) for each value, lists kept."""
    return {
        slot: [make(f"{slot}{i}", v) for i, v in enumerate(value)]
        if isinstance(value, list)
        else make(slot, value)
        for slot, value in slots.items()
    }


def results(op, slots, attrs):
    """The variables of the first output that Fluid's users see."""
    outputs = dygraph.op_info(op).outputs
    first = next(s.name for s in outputs if not s.intermediate)
    out = _core.run_op(op, slots, attrs)[first]
    return out if isinstance(out, list) else [out]


def ragged_of(slots):
    flat = [v for value in slots.values() for v in (value if isinstance(value, list) else [value])]
    return next(v for v in flat if isinstance(v, Ragged))


def expected(slots, keeps):
    return ragged_of(slots).lod if keeps else []


def eager(_, value):
    if isinstance(value, Ragged):
        return _core.to_variable(value.array, lod=value.lod)
    return _core.to_variable(value)


@pytest.mark.parametrize("op,slots,attrs,keeps", ALL, ids=lambda v: v if isinstance(v, str) else "")
def test_calls(op, slots, attrs, keeps):
    for out in results(op, of_each(slots, eager), attrs):
        assert _core.lod(out) == expected(slots, keeps)


@pytest.mark.parametrize("op,slots,attrs,keeps", ALL, ids=lambda v: v if isinstance(v, str) else "")
def test_programs(op, slots, attrs, keeps):
    main, startup, feed = static.Program(), static.Program(), {}
    rows = ragged_of(slots).array.shape[0]

    def declared(name, value):
        array = getattr(value, "array", value)
        ragged = isinstance(value, Ragged)
        feed[name] = eager(name, value)
        # as many rows as a batch has
        is_open = op != "squeeze2" or attrs["axes"] != [0]  # whose size decides whether it stays
        shape = [None if i == 0 and n == rows and is_open else n for i, n in enumerate(array.shape)]
        return static.data(name, shape, str(array.dtype), lod_level=int(ragged))

    with static.program_guard(main, startup):
        out = results(op, of_each(slots, declared), attrs)
    assert [v.lod_level for v in out] == [int(keeps)] * len(out)
    for found in static.Executor().run(main, feed, out, return_numpy=False):
        assert found.lod() == expected(slots, keeps)


def test_an_appended_operator_says_so_too():
    main = static.Program()
    block = main.global_block()
    x = block.create_var(name="x", shape=[-1, 4], dtype="float32", lod_level=2)
    shape = {"rows": [0, 2, 2], "flat": [-1]}
    for name, sizes in shape.items():
        out = block.create_var(name=name, dtype="float32")
        block.append_op("reshape2", {"X": x}, {"Out": out}, {"shape": sizes})
    assert (block.var("rows").lod_level, block.var("flat").lod_level) == (2, 0)


def test_only_outputs_with_the_rows_take_it():
    """Statistics of channels, centers of classes: 4 of them, and 4 rows."""
    x = eager("", Ragged(4, 4))
    four = _core.to_variable(some(4))
    given = {"X": x, **dict.fromkeys(("Scale", "Bias", "Mean", "Variance"), four)}
    out = _core.run_op("batch_norm", given, {})
    ragged = {slot for slot, v in out.items() if v is not None and _core.lod(v)}
    assert ragged == {"Y"}
    given = {"X": X44, "Label": ints(0, 1, 2, 3), "Centers": some(4, 4)}
    given["CenterUpdateRate"] = some(1)
    out = _core.run_op("center_loss", of_each(given, eager), {"need_update": True})
    ragged = {slot for slot, v in out.items() if v is not None and _core.lod(v)}
    assert ragged == {"SampleCenterDiff", "Loss"}


def test_sequences_that_differ_are_not_stacked():
    x, y = eager("", X54), eager("", Ragged(5, 4, lod=[[0, 2, 5]]))
    with pytest.raises(ValueError, match=r"X\[0\] and X\[1\] must divide their 5 rows"):
        results("stack", {"X": [x, y]}, {"axis": 1})
    for with_plain in ([x, eager("", some(5, 4))], [eager("", some(5, 4)), x]):
        (out,) = results("stack", {"X": with_plain}, {"axis": 1})
        assert _core.lod(out) == X54.lod


@pytest.mark.parametrize("levels,joined", [((1, 1), 1), ((2, 2), 2), ((1, 0), 0)])
def test_a_description_of_concat_knows_what_all_have(levels, joined):
    with static.program_guard(static.Program(), static.Program()):
        xs = [static.data(f"x{i}", [None, 2], lod_level=n) for i, n in enumerate(levels)]
        assert static.layers.concat(xs, axis=0).lod_level == joined


def test_rows_that_only_a_call_counts():
    """A description with any number of rows cannot say it; calls keep what all rows are."""
    x = eager("", X44)
    parts = results("unbind", {"X": x}, {"axis": 0})
    assert [_core.lod(v) for v in parts] == [[]] * 4
    for op, slots, attrs in (
        ("reshape2", {"X": x}, {"shape": [4, 2, 2]}),
        ("slice", {"Input": x}, {"axes": [0], "starts": [0], "ends": [4]}),
        ("crop", {"X": x}, {"shape": [4, 2], "offsets": [0, 1]}),
        ("split", {"X": x}, {"sections": [4, 0], "axis": 0}),
        ("roll", {"X": x}, {"shifts": [4], "dims": [0]}),
    ):
        assert _core.lod(results(op, slots, attrs)[0]) == X44.lod


def test_what_indexing_keeps():
    x = dygraph.to_variable(some(4, 4), lod=[[0, 1, 4]])
    kept = [x[:, 0], x[:, 1:3], x[:], x[..., None], x.sum(1)]
    lost = [x[0], x[1:], x[::-1], x[None], x.sum(0), x.T]
    assert [v.lod() for v in kept] == [[[0, 1, 4]]] * len(kept)
    assert [v.lod() for v in lost] == [[]] * len(lost)


def test_a_sequence_survives_a_reshape_in_a_network():
    """Pooled by sequences: the sums of rows 0 and 1, and of rows 2 to 4."""
    rows = np.arange(20.0).reshape(5, 4)
    x = dygraph.to_variable(rows, lod=[[0, 2, 5]])
    there = dygraph.ops.reshape2(x, shape=[0, 2, 2])
    back = dygraph.ops.reshape2(there, shape=[0, 4])
    pooled = _core.run_op("sequence_pool", {"X": back}, {"pooltype": "SUM"})["Out"]
    np.testing.assert_array_equal(pooled.numpy(), [rows[:2].sum(0), rows[2:].sum(0)])
