"""Layer functions without parameters: what a program computes has the bits of the eager call."""

import importlib

import numpy as np
import pytest

import dygraph
from dygraph import static, unique_name
from dygraph.static import layers

_draw = np.random.default_rng(5)


def floats(*shape):
    return _draw.uniform(0.1, 0.9, shape).astype("float32")


def signed(*shape):
    return _draw.uniform(-3, 3, shape).astype("float32")


def ints(high, *shape, dtype="int64"):
    return _draw.integers(0, high, shape).astype(dtype)


class Lod:
    """An array with a level of detail."""

    def __init__(self, array, *lod):
        self.array, self.lod = array, [list(level) for level in lod]


X, Y = signed(3, 4), signed(3, 4)
POSITIVE = floats(3, 4)
IMAGE, VOLUME = signed(2, 4, 6, 6), signed(1, 2, 4, 4, 4)
ROWS = Lod(signed(5, 4), [0, 2, 5])
TAGS = Lod(ints(4, 5, 1), [0, 2, 5])
BOOLS = ints(2, 3, 4) > 0
ONE_INPUT = (
    "abs acos asin atan ceil cos erf exp floor logsigmoid reciprocal round sigmoid sign sin "
    "softplus softsign square tanh tanh_shrink relu brelu elu gelu hard_shrink hard_sigmoid "
    "hard_swish leaky_relu mish relu6 selu soft_relu softshrink stanh swish thresholded_relu "
    "isfinite is_empty mean ones_like zeros_like shape"
).split()

# (function, arguments in order; arrays become variables)
CALLS = [
    *((name, [floats(3, 4) if name in ("acos", "asin") else X], {}) for name in ONE_INPUT),
    *((name, [POSITIVE], {}) for name in ("log", "log1p", "sqrt", "rsqrt")),
    ("hard_shrink", [X], {"threshold": 1.5}),
    ("hash", [np.arange(12).reshape(4, 3), 1000], {"num_hash": 2}),
    ("random_crop", [X, [2, 2], 5], {}),
    ("similarity_focus", [IMAGE, 1, [0]], {}),
    ("softshrink", [X], {"alpha": 1.5}),
    ("pow", [POSITIVE, 2.5], {}),
    ("maxout", [IMAGE, 2], {}),
    ("softmax", [X], {"axis": 0}),
    ("log_softmax", [X], {}),
    ("log_softmax", [X, 0, "float64"], {}),
    ("clip", [X, -1.0, 1.0], {}),
    ("clip_by_norm", [X, 1.0], {}),
    ("scale", [X, 2.0, 1.0, False], {"act": "relu"}),
    *((f"elementwise_{n}", [POSITIVE, floats(3, 4)], {}) for n in
      "add sub mul div max min pow".split()),
    *((f"elementwise_{n}", [ints(20, 3, 4), ints(4, 3, 4) + 1], {}) for n in ("mod", "floordiv")),
    ("elementwise_add", [X, signed(3)], {"axis": 0, "act": "tanh"}),
    *((n, [ints(3, 3, 4), ints(3, 3, 4)], {}) for n in
      "equal not_equal less_than less_equal greater_than greater_equal elementwise_equal".split()),
    *((f"logical_{n}", [BOOLS, ~BOOLS], {}) for n in ("and", "or", "xor")),
    ("logical_not", [BOOLS], {}),
    ("allclose", [X, X], {}),
    ("mul", [X, signed(4, 2)], {}),
    ("matmul", [X, Y], {"transpose_y": True, "alpha": 2.0}),
    ("bmm", [signed(2, 3, 4), signed(2, 4, 2)], {}),
    ("dot", [X, Y], {}),
    ("addmm", [signed(3, 2), X, signed(4, 2)], {"alpha": 2.0, "beta": 0.5}),
    ("kron", [signed(2, 2), signed(2, 3)], {}),
    ("cos_sim", [X, Y], {}),
    ("dist", [X, Y], {"p": 3}),
    ("sum", [[X, Y]], {}),
    ("sums", [[X, Y]], {}),
    ("trace", [signed(3, 3)], {"offset": 1}),
    ("cross", [signed(4, 3), signed(4, 3)], {"dim": 1}),
    ("cumsum", [X], {"axis": 0, "reverse": True}),
    ("logsumexp", [X], {"dim": 1, "keepdim": True}),
    ("logsumexp", [X], {}),
    ("addcmul", [X, Y, X], {"value": 2.0}),
    ("clamp", [X], {"max": 1.0}),
    ("increment", [signed(1), 2.0, False], {}),
    *((f"reduce_{n}", [POSITIVE], {"dim": 1}) for n in "sum mean max min prod".split()),
    *((f"reduce_{n}", [BOOLS], {"dim": -1, "keep_dim": True}) for n in ("all", "any")),
    ("reduce_sum", [X], {}),
    ("has_inf", [X], {}),
    ("has_nan", [X], {}),
    ("argmax", [X], {"axis": 1}),
    ("argmin", [X], {"axis": 1}),
    ("argsort", [X], {"descending": True}),
    ("topk", [X, 2], {}),
    ("l2_normalize", [X, 1], {}),
    ("fsp_matrix", [IMAGE, signed(2, 3, 6, 6)], {}),
    ("continuous_value_model", [POSITIVE, POSITIVE[:, :2]], {}),
    # tensors
    ("cast", [X, "int32"], {}),
    ("assign", [X], {}),
    ("fill_constant_batch_size_like", [X, [-1, 2], "float32", 0.1], {}),
    ("full_like", [X, 2.0], {"dtype": "int64"}),
    ("rank", [X], {}),
    ("size", [X], {}),
    ("tril", [X], {"diagonal": 1}),
    ("triu", [X], {}),
    ("where", [BOOLS], {}),
    ("nonzero", [X], {}),
    ("diag", [signed(3)], {}),
    ("one_hot", [ints(4, 3, 1), 4], {}),
    # shapes
    ("transpose", [X, [1, 0]], {}),
    ("flatten", [IMAGE], {"axis": 2}),
    ("squeeze", [signed(3, 1, 2), [1]], {}),
    ("unsqueeze", [X, [0, 2]], {}),
    ("stack", [[X, Y]], {"axis": 1}),
    ("unstack", [X], {"axis": 1}),
    ("concat", [[X, Y]], {"axis": 1}),
    ("split", [X, [1, -1]], {"dim": 1}),
    ("split", [X, 2], {}),
    ("reshape", [X, [0, 2, -1]], {"act": "relu"}),
    ("slice", [X, [0, 1], [1, -2], [3, 4]], {}),
    ("strided_slice", [X, [1], [0], [4], [2]], {}),
    ("crop", [X, [2, 2], [1, 1]], {}),
    ("crop_tensor", [X, [2, 2], [1, 1]], {}),
    ("expand", [X, [2, 1]], {}),
    ("expand_as", [signed(1, 4), X], {}),
    ("gather", [X, ints(3, 5)], {}),
    ("gather_nd", [X, ints(3, 5, 1)], {}),
    ("index_select", [X, ints(4, 2)], {"dim": 1}),
    ("index_sample", [X, ints(4, 3, 2)], {}),
    ("scatter", [X, np.array([2, 0]), signed(2, 4)], {}),
    ("scatter_nd", [ints(3, 5, 1), signed(5, 4), [3, 4]], {}),
    ("scatter_nd_add", [X, ints(3, 5, 1), signed(5, 4)], {}),
    ("reverse", [X, [0, 1]], {}),
    ("flip", [X, [0]], {}),
    ("roll", [X, 1], {"dims": 1}),
    ("roll", [X, [1, 2]], {"dims": [0, 1]}),
    ("t", [X], {}),
    ("pad", [X, [1, 0, 0, 2]], {"pad_value": 0.5}),
    ("pad2d", [IMAGE, [1, 1, 2, 0]], {"mode": "reflect"}),
    ("pad_constant_like", [signed(4, 5), X], {}),
    ("shard_index", [ints(20, 4, 1), 20, 2, 0], {}),
    ("multiplex", [[X, Y], ints(2, 3, 1, dtype="int32")], {}),
    ("gather_tree", [ints(5, 3, 2, 2), ints(2, 3, 2, 2)], {}),
    ("meshgrid", [[signed(2), signed(3)]], {}),
    ("unique", [ints(3, 6)], {}),
    ("unique_with_counts", [ints(3, 6)], {}),
    # losses
    ("square_error_cost", [X, Y], {}),
    ("mse_loss", [X, Y], {}),
    ("cross_entropy", [POSITIVE, ints(4, 3, 1)], {}),
    ("cross_entropy", [POSITIVE, floats(3, 4)], {"soft_label": True}),
    ("softmax_with_cross_entropy", [X, ints(4, 3, 1)], {"return_softmax": True}),
    ("sigmoid_cross_entropy_with_logits", [X, floats(3, 4)], {}),
    ("bpr_loss", [POSITIVE, ints(4, 3, 1)], {}),
    ("huber_loss", [X, Y, 0.5], {}),
    ("kldiv_loss", [X, POSITIVE], {"reduction": "batchmean"}),
    ("log_loss", [floats(3, 1), floats(3, 1)], {}),
    ("margin_rank_loss", [np.ones((3, 1), "float32"), floats(3, 1), floats(3, 1)], {}),
    ("rank_loss", [np.ones((3, 1), "float32"), floats(3, 1), floats(3, 1)], {}),
    ("teacher_student_sigmoid_loss", [signed(3, 1), floats(3, 1)], {}),
    ("smooth_l1", [X, Y], {"sigma": 2.0}),
    ("dice_loss", [POSITIVE, ints(4, 3, 1)], {}),
    ("npair_loss", [X, Y, ints(3, 3).astype("float32")], {}),
    ("label_smooth", [POSITIVE], {"epsilon": 0.2}),
    ("sigmoid_focal_loss", [X, ints(5, 3, 1, dtype="int32"), np.array([2], "int32")], {}),
    ("warpctc", [signed(4, 2, 3), ints(2, 2, 2, dtype="int32") + 1],
     {"input_length": np.array([4, 3]), "label_length": np.array([2, 1])}),
    ("ctc_greedy_decoder", [Lod(floats(5, 4), [0, 2, 5]), 0], {}),
    # images
    ("pool2d", [IMAGE, 2], {"pool_stride": 2}),
    ("pool2d", [IMAGE], {"global_pooling": True, "pool_type": "avg"}),
    ("pool2d", [IMAGE, 3], {"pool_padding": "SAME", "pool_type": "avg"}),
    ("pool3d", [VOLUME, 2], {"pool_stride": 2}),
    ("adaptive_pool2d", [IMAGE, 3], {"pool_type": "avg"}),
    ("adaptive_pool3d", [VOLUME, 2], {}),
    ("affine_grid", [signed(2, 2, 3), [2, 4, 5, 5]], {}),
    ("grid_sampler", [IMAGE, signed(2, 3, 3, 2)], {}),
    ("pixel_shuffle", [IMAGE, 2], {}),
    ("shuffle_channel", [IMAGE, 2], {}),
    ("space_to_depth", [IMAGE, 2], {}),
    ("temporal_shift", [IMAGE, 2], {}),
    ("unfold", [IMAGE, 2], {"strides": 2}),
    ("im2sequence", [IMAGE, 2], {"stride": 2}),
    ("affine_channel", [IMAGE, signed(4), signed(4)], {"act": "relu"}),
    ("lrn", [IMAGE], {}),
    ("image_resize", [IMAGE], {"out_shape": [9, 7]}),
    ("interpolate", [IMAGE], {"scale": 2}),
    ("resize_bilinear", [IMAGE], {"out_shape": [9, 7], "align_corners": False}),
    ("resize_nearest", [IMAGE], {"out_shape": [3, 3]}),
    ("resize_trilinear", [VOLUME], {"out_shape": [3, 3, 3]}),
    ("image_resize_short", [IMAGE, 8], {}),
    ("dropout", [X, 0.5], {"is_test": True}),
    ("dropout", [X, 0.5], {"seed": 3, "dropout_implementation": "upscale_in_train"}),
    # sequences
    *((f"sequence_{n}", [ROWS], {}) for n in "first_step last_step reverse".split()),
    ("sequence_softmax", [Lod(signed(5, 1), [0, 2, 5])], {}),
    *(("sequence_pool", [ROWS, n], {}) for n in "average sum sqrt max first last".split()),
    ("sequence_concat", [[ROWS, Lod(signed(3, 4), [0, 1, 3])]], {}),
    ("sequence_enumerate", [TAGS, 2], {}),
    ("sequence_expand", [signed(2, 4), ROWS], {}),
    ("sequence_expand_as", [signed(2, 4), ROWS], {}),
    ("sequence_reshape", [ROWS, 2], {}),
    ("sequence_scatter", [signed(2, 6), TAGS, Lod(signed(5, 1), [0, 2, 5])], {}),
    ("sequence_slice", [ROWS, np.array([[0], [1]]), np.array([[1], [2]])], {}),
    ("sequence_mask", [np.array([1, 3, 2])], {"maxlen": 4, "dtype": "float32"}),
    ("sequence_mask", [np.array([1, 3, 2])], {}),
    ("sequence_pad", [ROWS, np.zeros(1, "float32")], {"maxlen": 4}),
    ("sequence_unpad", [signed(2, 3, 4), np.array([2, 3])], {}),
    ("add_position_encoding", [signed(2, 3, 4), 1.0, 0.5], {}),
    ("lod_reset", [X], {"target_lod": [0, 1, 3]}),
    ("lod_reset", [signed(5, 2), ROWS], {}),
    ("lod_append", [ROWS, [0, 1, 2, 3, 4, 5]], {}),
    ("chunk_eval", [TAGS, TAGS, "IOB", 2], {}),
    ("edit_distance", [TAGS, Lod(ints(4, 4, 1), [0, 3, 4])], {"ignored_tokens": [0]}),
    ("accuracy", [POSITIVE, ints(4, 3, 1)], {"k": 2}),
    ("mean_iou", [ints(3, 4, dtype="int32"), ints(3, 4, dtype="int32"), 3], {}),
    # drawn with a seed
    ("sampling_id", [floats(3, 4)], {"seed": 7}),
    ("uniform_random_batch_size_like", [X, [-1, 5]], {"seed": 7}),
    ("gaussian_random_batch_size_like", [X, [-1, 5]], {"seed": 7}),
]  # fmt: skip

# Without a variable among their arguments they are written into the main program always.
MAKERS = {
    "fill_constant": (([2, 3], "float64", 0.1), np.full((2, 3), 0.1)),
    "zeros": (([2], "int64"), np.zeros(2, "int64")),
    "ones": (([2], "bool"), np.ones(2, "bool")),
    "full": (([2], 3.0), np.full(2, 3.0, "float32")),
    "eye": ((2, 3, [2]), np.stack([np.eye(2, 3, dtype="float32")] * 2)),
    "range": ((1, 7, 2, "int32"), np.arange(1, 7, 2, "int32")),
    "arange": ((1, 7, 2), np.arange(1, 7, 2, "float32")),
    "linspace": ((0, 1, 5, "float32"), np.linspace(0, 1, 5, dtype="float32")),
    "assign": ((np.array([[1, 2], [3, 4]]),), np.array([[1, 2], [3, 4]])),
}
DRAWN = {
    "uniform_random": (([1000],), lambda a: -1 <= a.min() and a.max() < 1 and abs(a.mean()) < 0.1),
    "gaussian_random": (([1000], 5.0), lambda a: abs(a.mean() - 5) < 0.2 and 0.9 < a.std() < 1.1),
    "randn": (([1000],), lambda a: abs(a.mean()) < 0.2 and 0.9 < a.std() < 1.1),
    "randint": ((5, 8, [1000]), lambda a: set(a.tolist()) == {5, 6, 7}),
    "randperm": ((50,), lambda a: sorted(a.tolist()) == list(range(50))),
}  # fmt: skip


def mapped(function, value):
    """`value` with `function` on each array of it."""
    if isinstance(value, (np.ndarray, Lod)):
        return function(value)
    if isinstance(value, list):
        return [mapped(function, v) for v in value]
    return value


def eager(value):
    if isinstance(value, Lod):
        return dygraph.to_variable(value.array, lod=value.lod)
    return dygraph.to_variable(value)


def flat(results):
    if isinstance(results, (tuple, list)):
        return [v for r in results for v in flat(r)]
    return [results]


def described(name, args, kwargs, unknown):
    """(program, results, feeds) of the call on variables of a program."""
    program, feeds = static.Program(), {}

    def declared(value):
        array = value.array if isinstance(value, Lod) else value
        shape = list(array.shape)
        if unknown and shape and shape[0] != 1:
            shape[0] = -1
        key = f"in{len(feeds)}"
        feeds[key] = eager(value)
        return layers.data(
            key, shape, False, str(array.dtype), len(value.lod) if isinstance(value, Lod) else 0
        )

    with static.program_guard(program), unique_name.guard():
        arguments = [mapped(declared, v) for v in args]
        named = {k: mapped(declared, v) for k, v in kwargs.items()}
        results = flat(getattr(layers, name)(*arguments, **named))
    return program, results, feeds


def check(name, args, kwargs, unknown):
    wanted = flat(
        getattr(layers, name)(
            *(mapped(eager, v) for v in args), **{k: mapped(eager, v) for k, v in kwargs.items()}
        )
    )
    program, results, feeds = described(name, args, kwargs, unknown)
    assert len(results) == len(wanted)
    found = static.Executor().run(program, feeds, results, return_numpy=False)
    for shown, want, got in zip(results, wanted, found, strict=True):
        array, expected = got.numpy(), want.numpy()
        assert array.tobytes() == expected.tobytes() and array.shape == expected.shape
        assert str(shown.dtype) == str(array.dtype)
        assert got.lod() == want.lod() and shown.lod_level == len(got.lod())
        assert len(shown.shape) == array.ndim
        for size, true in zip(shown.shape, array.shape, strict=True):
            assert size in (-1, true), (shown.shape, array.shape)
    owners = {r.name.split(".")[0] for r in results if not r.is_data}
    assert owners <= {"sum_0" if name == "sums" else f"{name}_0"}, owners


def ids():
    return [f"{i}-{call[0]}" for i, call in enumerate(CALLS)]


@pytest.mark.parametrize("call", CALLS, ids=ids())
def test_a_program_gives_the_bits_of_the_eager_call(call):
    check(*call, unknown=False)


@pytest.mark.parametrize("call", CALLS, ids=ids())
def test_and_where_the_batch_is_unknown(call):
    check(*call, unknown=True)


@pytest.mark.parametrize("name", MAKERS)
def test_makers(name):
    args, wanted = MAKERS[name]
    program = static.Program()
    with static.program_guard(program):
        made = getattr(layers, name)(*args)
    assert made.name.startswith(name + "_")
    (got,) = static.Executor().run(program, {}, [made])
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    assert got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", DRAWN)
def test_draws(name):
    args, fits = DRAWN[name]
    program = static.Program()
    with static.program_guard(program):
        made = getattr(layers, name)(*args)
    (got,) = static.Executor().run(program, {}, [made])
    assert made.shape == got.shape and str(made.dtype) == str(got.dtype)
    assert fits(got)


def test_every_function_without_parameters_is_here():
    modules = (
        "batch_normalization convolution learnt normalization reader recurrent schedules "
        "arrays beams cells choices decoding dynamic_rnn helpers if_else loops ranked static_rnn "
        "switch box_codes prior_boxes proposals regions ssd suppression yolo"
    ).split()  # from `arrays` on: tests/static/control; from `box_codes` on: their own files
    with_parameters = {
        name for module in modules
        for name in importlib.import_module(f"dygraph.static.layers.{module}").__all__
    }  # fmt: skip
    elsewhere = {  # tests/static/test_layers_learnt.py, test_layers_in_place.py, test_readers.py
        "data", "create_global_var", "create_parameter", "create_tensor", "center_loss", "nce",
        "hsigmoid", "auc", "sequence_conv", "get_tensor_from_selected_rows", "merge_selected_rows",
        # test_layers_distributions.py, test_print.py, test_py_func.py and below
        "Assert", "Categorical", "MultivariateNormalDiag", "Normal", "Uniform", "Print", "py_func",
        "diag_embed", "load",  # test_program_files.py
    }  # fmt: skip
    tested = {call[0] for call in CALLS} | set(MAKERS) | set(DRAWN)
    assert not set(layers.__all__) - with_parameters - elsewhere - tested


@pytest.mark.parametrize("offset", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("dims", [(-2, -1), (0, 1), (2, 0), (-1, 1)])
def test_diag_embed(offset, dims):
    """Against NumPy's diagonal, and what is not finite stays where it is."""
    x = np.arange(6, dtype="float32").reshape(2, 3) + 1
    x[0, 1] = np.inf
    made = layers.diag_embed(dygraph.to_variable(x), offset, *dims).numpy()
    assert made.shape.count(3 + abs(offset)) >= 2
    diagonal = np.diagonal(made, offset, *dims)
    np.testing.assert_array_equal(diagonal, x)
    assert np.count_nonzero(made) == 6 and np.isfinite(made).sum() == made.size - 1


def test_diag_embed_in_a_program_of_unknown_batch():
    with static.program_guard(static.Program()):
        x = static.data("x", [None, 2], "float32")
        x.stop_gradient = False
        made = layers.diag_embed(x, offset=-1)
        assert made.shape == (-1, 3, 3)
        (gradient,) = static.gradients(made * made, x)
        feed = {"x": np.array([[1, 2]], "float32")}
        made, gradient = static.Executor().run(feed=feed, fetch_list=[made, gradient])
    assert made.tolist() == [[[0, 0, 0], [1, 0, 0], [0, 2, 0]]]
    assert gradient.tolist() == [[2.0, 4.0]]


def test_diag_embed_refuses():
    x = dygraph.ones([2, 3])
    with pytest.raises(ValueError, match="dim1 and dim2 must differ, got 1 and -2"):
        layers.diag_embed(x, 0, 1, -2)
    with pytest.raises(IndexError, match="diag_embed: dim1 must lie in"):
        layers.diag_embed(x, 0, 3, 1)
    with pytest.raises(ValueError, match="last size of input must be known"):
        layers.diag_embed(dygraph.ones([]))


@pytest.mark.parametrize("act", [None, "identity", "leaky_relu", "elu"])
def test_inplace_abn(act):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 3, 2)).astype("float32")
    with (
        static.program_guard(static.Program(), static.Program()),
        static.scope_guard(static.Scope()),
    ):
        out = layers.inplace_abn(static.data("x", [None, 3, 2]), act=act, act_alpha=0.25)
        executor = static.Executor()
        executor.run(static.default_startup_program())
        (got,) = executor.run(feed={"x": x}, fetch_list=[out])
    mean, deviation = x.mean((0, 2), keepdims=True), np.sqrt(x.var((0, 2), keepdims=True) + 1e-5)
    normal = (x - mean) / deviation
    below = {"leaky_relu": 0.25 * normal, "elu": 0.25 * np.expm1(normal)}.get(act, normal)
    np.testing.assert_allclose(got, np.where(normal > 0, normal, below), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="inplace_abn: act must be one of"):
        with static.program_guard(static.Program(), static.Program()):
            layers.inplace_abn(static.data("x", [None, 3, 2]), act="relu")
