"""Calls of layer functions, indices and NumPy's functions, for programs with open axes.

Each is an array for each input and a function of the variables.
"""

import numpy as np
from test_layers_values import (
    BOOLS,
    IMAGE,
    POSITIVE,
    ROWS,
    TAGS,
    VOLUME,
    X,
    Y,
    floats,
    ints,
    signed,
)  # fmt: skip

import dygraph
from dygraph import static
from dygraph.static import layers, nets

ROW, COLUMN = signed(1, 4), signed(3, 1)
WORDS = ints(7, 3, 4)


def cells(x):
    return layers.rnn(layers.GRUCell(3), x)[0]


def lstm_cells(x):
    return layers.rnn(layers.LSTMCell(3), x, is_reverse=True)[0]


def static_rnn(x):
    step = layers.StaticRNN()
    with step.step():
        word = step.step_input(x)
        memory = step.memory(shape=[-1, 4], batch_ref=word, init_value=0.5)
        total = layers.elementwise_add(word, memory)
        step.update_memory(memory, total)
        step.step_output(total)
    return step()


def dynamic_rnn(x):
    rnn = layers.DynamicRNN()
    with rnn.block():
        word = rnn.step_input(x)
        memory = rnn.memory(shape=[4], value=0.5)
        total = layers.elementwise_add(word, memory)
        rnn.update_memory(memory, total)
        rnn.output(total)
    return rnn()


def if_else(x):
    rows = layers.reduce_sum(x, dim=1, keep_dim=True)
    choice = layers.IfElse(layers.less_than(rows, layers.zeros_like(rows)))
    with choice.true_block():
        choice.output(layers.scale(choice.input(x), 2.0))
    with choice.false_block():
        choice.output(layers.scale(choice.input(x), -1.0))
    return choice()


def loop(x):
    i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 3)
    return layers.while_loop(
        lambda i, v: layers.less_than(i, n), lambda i, v: [i + 1, v * 2.0 + x], [i, x]
    )[1]


def growing(x):
    i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 3)
    return layers.while_loop(
        lambda i, v: layers.less_than(i, n), lambda i, v: [i + 1, layers.concat([v, x])], [i, x]
    )[1]


def chosen(x):
    return layers.cond(
        layers.reduce_sum(x) > layers.zeros([], "float32"), lambda: x * 2.0, lambda: x - 1.0
    )


def cased(x):
    return layers.case(
        [(layers.reduce_sum(x) > 100.0, lambda: x * 2.0)], lambda: layers.concat([x, x])
    )


def switched(x):
    return layers.switch_case(
        layers.fill_constant([1], "int32", 1),
        {0: lambda: x * 2.0, 1: lambda: layers.concat([x, x])},
    )


def arrays(x):
    i = layers.fill_constant([1], "int64", 0)
    made = layers.array_write(x, i)
    layers.array_write(x * 2.0, layers.fill_constant([1], "int64", 1), made)
    return (
        layers.tensor_array_to_tensor(made, axis=0)[0],
        layers.array_read(made, i),
        layers.array_length(made),
    )


def ranked(x):
    table = layers.lod_rank_table(x)
    parts = layers.lod_tensor_to_array(x, table)
    return (
        layers.array_to_lod_tensor(parts, table),
        layers.max_sequence_len(table),
        layers.reorder_lod_tensor_by_rank(x, table),
    )


def split_merged(x):
    mask = layers.reduce_sum(x, dim=1, keep_dim=True) > 0.0
    yes, no = layers.split_lod_tensor(x, mask)
    return layers.merge_lod_tensor(yes * 2.0, no, x, mask), yes, no


def in_place(x):
    made = layers.fill_constant_batch_size_like(x, [-1, 4], "float32", 0.0)
    layers.assign(x, made)
    layers.increment(made.mean().reshape([1]))
    return made


def python(x):
    out = (
        static.default_main_program()
        .current_block()
        .create_var(name="out_of_python", dtype="float32", shape=x.shape)
    )
    return layers.py_func(lambda v: np.asarray(v) * 2, x, out)


def whole(n):
    return layers.fill_constant([1], "int32", n)


def decoded(h):
    def table(i):
        return layers.embedding(i, [5, 4], param_attr="table")

    def out(v):
        return layers.fc(v, 5, param_attr="out")

    start = layers.fill_constant_batch_size_like(h, [-1], "int64", 1)
    helper = layers.GreedyEmbeddingHelper(table, start, 0)
    decoder = layers.BasicDecoder(layers.GRUCell(4), helper, out)
    return layers.dynamic_decode(decoder, h, max_step_num=3)[0].cell_outputs


# fmt: off
# name: (arrays, function)
CASES = {
    **{f"{n} of a row": ([X, ROW], lambda x, y, n=n: getattr(layers, n)(x, y)) for n in
        "elementwise_add elementwise_sub elementwise_mul elementwise_div elementwise_max "
        "elementwise_min less_than equal".split()},
    "add of a column": ([X, COLUMN], lambda x, y: x + y),
    "add turned": ([ROW, X], lambda x, y: x - y),
    "outer": ([ROW, COLUMN], lambda x, y: x * y),
    "in place add": ([X, ROW], lambda x, y: dygraph.exp(x).add_(y)),
    "iadd": ([X, Y], lambda x, y: x.__iadd__(y)),
    "set rows": ([X, ROW], lambda x, y: layers.assign(y, layers.relu(x))),
    "where": ([BOOLS, X, ROW], lambda c, x, y: dygraph.where(c, x, y)),
    "axis 0": ([X, signed(3)], lambda x, y: layers.elementwise_mul(x, y, axis=0)),
    "axis 0 of images": ([IMAGE, signed(2, 4)], lambda x, y: layers.elementwise_sub(x, y, axis=0)),
    "axis 1 of images": ([IMAGE, signed(4)], lambda x, y: layers.elementwise_add(x, y, axis=1)),
    "mul of three axes": ([signed(2, 3, 4), signed(12, 2)], lambda x, y: layers.mul(x, y)),
    "mul of two and one": ([signed(2, 3, 4), signed(4, 2)],
     lambda x, y: layers.mul(x, y, x_num_col_dims=2)),
    "mul of four": ([signed(2, 3, 4), signed(4, 2, 3)], lambda x, y: layers.mul(x, y, 2, 1)),
    "matmul of batches": ([signed(2, 3, 4), signed(2, 4, 5)], lambda x, y: layers.matmul(x, y)),
    "matmul of a matrix": ([signed(2, 3, 4), signed(4, 5)], lambda x, y: layers.matmul(x, y)),
    "matmul of a vector": ([signed(3, 4), signed(4)], lambda x, y: layers.matmul(x, y)),
    "matmul of vectors": ([signed(4), signed(4)], lambda x, y: layers.matmul(x, y)),
    "matmul one batch": ([signed(1, 3, 4), signed(2, 4, 5)], lambda x, y: layers.matmul(x, y)),
    "matmul turned": ([signed(2, 4, 3), signed(2, 5, 4)],
     lambda x, y: layers.matmul(x, y, True, True)),
    "cross of 3": ([signed(3, 3), signed(3, 3)], lambda x, y: layers.cross(x, y)),
    "cross of 4": ([signed(4, 3), signed(4, 3)], lambda x, y: layers.cross(x, y)),
    "cross last": ([signed(4, 3, 3), signed(4, 3, 3)], lambda x, y: layers.cross(x, y)),
    "kron": ([signed(2, 3), signed(3, 2)], lambda x, y: layers.kron(x, y)),
    "trace": ([signed(3, 4)], lambda x: layers.trace(x, offset=-1)),
    "dist": ([X, ROW], lambda x, y: layers.dist(x, y, 2)),
    "cos_sim of a row": ([X, ROW], lambda x, y: layers.cos_sim(x, y)),
    "reduce_mean 0": ([X], lambda x: layers.reduce_mean(x, dim=0)),
    "reduce_mean all": ([X], lambda x: layers.reduce_mean(x, keep_dim=True)),
    "reduce_mean both": ([IMAGE], lambda x: layers.reduce_mean(x, dim=[2, 3])),
    "reduce_prod": ([X], lambda x: layers.reduce_prod(x)),
    "reduce_max": ([IMAGE], lambda x: layers.reduce_max(x, dim=[0, -1])),
    "logsumexp two": ([IMAGE], lambda x: layers.logsumexp(x, dim=[1, 2])),
    "cumsum all": ([X], lambda x: layers.cumsum(x, exclusive=True)),
    "argmax 0": ([X], lambda x: layers.argmax(x)),
    "argsort 0": ([X], lambda x: layers.argsort(x, axis=0)),
    "topk all": ([X], lambda x: layers.topk(x, 1)),
    "topk by a variable": ([X], lambda x: layers.topk(x, whole(2))),
    "l2_normalize 0": ([X], lambda x: layers.l2_normalize(x, 0)),
    "norm": ([X], lambda x: layers.clip_by_norm(x, 0.5)),
    "softmax of images": ([IMAGE], lambda x: layers.softmax(x, axis=1)),
    "log_softmax 0": ([X], lambda x: layers.log_softmax(x, axis=0)),
    "reshape 0": ([signed(2, 3, 4)], lambda x: layers.reshape(x, [0, -1])),
    "reshape to rows": ([signed(2, 3, 4)], lambda x: layers.reshape(x, [-1, 4])),
    "reshape to columns": ([signed(2, 3, 4)], lambda x: layers.reshape(x, [2, -1])),
    "reshape by variables": ([signed(2, 3, 4)],
     lambda x: layers.reshape(x, [-1, whole(2)])),
    "reshape by a shape": ([X], lambda x: layers.reshape(x, layers.shape(x))),
    "reshape with sizes": ([signed(2, 3, 4)],
     lambda x: layers.reshape(x, [x.shape[0] * x.shape[1], x.shape[2]])),
    "reshape to heads": ([signed(2, 3, 4)],
     lambda x: layers.transpose(layers.reshape(x, [0, 0, 2, 2]), [0, 2, 1, 3])),
    "flatten 0": ([IMAGE], lambda x: layers.flatten(x, axis=0)),
    "flatten all": ([IMAGE], lambda x: layers.flatten(x, axis=4)),
    "squeeze all": ([signed(3, 1, 2)], lambda x: layers.squeeze(x, [])),
    "squeeze last": ([signed(3, 2, 1)], lambda x: layers.squeeze(x, [-1])),
    "stack 0": ([X, Y], lambda x, y: layers.stack([x, y])),
    "unstack 0": ([X], lambda x: layers.unstack(x, axis=0)),
    "unstack num": ([X], lambda x: layers.unstack(x, axis=0, num=3)),
    "concat 0": ([X, Y], lambda x, y: layers.concat([x, y, x], axis=0)),
    "concat by a variable": ([X, Y],
     lambda x, y: layers.concat([x, y], axis=whole(1))),
    "split rest": ([X], lambda x: layers.split(x, [1, -1], dim=0)),
    "split 2": ([signed(4, 6)], lambda x: layers.split(x, 2, dim=0)),
    "split 3": ([signed(4, 6)], lambda x: layers.split(x, 3, dim=1)),
    "split sizes": ([signed(4, 6)], lambda x: layers.split(x, [2, 4], dim=1)),
    "slice from the end": ([X], lambda x: layers.slice(x, [0, 1], [-2, -3], [1000, -1])),
    "slice far": ([X], lambda x: layers.slice(x, [0], [1], [3])),
    "slice by variables": ([X],
     lambda x: layers.slice(x, [0], [whole(1)], [layers.shape(x)[0]])),
    "strided from the end": ([X],
     lambda x: layers.strided_slice(x, [0, 1], [-1, -1], [-100, -100], [-1, -2])),
    "strided": ([X], lambda x: layers.strided_slice(x, [0, 1], [0, 1], [100, 100], [2, 2])),
    "crop all": ([X], lambda x: layers.crop(x)),
    "crop like": ([X, signed(2, 2)], lambda x, y: layers.crop(x, y, [0, 1])),
    "crop_tensor open": ([X], lambda x: layers.crop_tensor(x, [-1, 2], [1, 1])),
    "crop_tensor all": ([X], lambda x: layers.crop_tensor(x)),
    "crop_tensor by a variable": ([X],
     lambda x: layers.crop_tensor(x, layers.fill_constant([2], "int32", 2))),
    "expand by variables": ([X],
     lambda x: layers.expand(x, [whole(2), 1])),
    "expand sizes": ([X],
     lambda x: layers.expand(layers.slice(x, [0], [0], [1]), [x.shape[0], 1])),
    "expand_as column": ([COLUMN, X], lambda x, y: layers.expand_as(x, y)),
    "gather rows": ([X, ints(3, 5, 1)], lambda x, i: layers.gather(x, i)),
    "scatter add": ([X, np.array([2, 0, 2]), signed(3, 4)],
     lambda x, i, u: layers.scatter(x, i, u, overwrite=False)),
    "scatter_nd sizes": ([ints(3, 5, 1), signed(5, 4)],
     lambda i, u: layers.scatter_nd(i, u, [3, 4])),
    "pad 0": ([X], lambda x: layers.pad(x, [1, 2, 0, 0])),
    "pad2d edge": ([IMAGE], lambda x: layers.pad2d(x, [1, 1, 2, 0], "edge")),
    "pad2d NHWC": ([IMAGE], lambda x: layers.pad2d(x, [1, 1, 2, 0], data_format="NHWC")),
    "pad_constant_like": ([signed(4, 5), signed(2, 3)],
     lambda x, y: layers.pad_constant_like(x, y)),
    "transpose 3": ([signed(2, 3, 4)], lambda x: layers.transpose(x, [2, 0, 1])),
    "diag_embed": ([X], lambda x: layers.diag_embed(x, 1)),
    "diag_embed turned": ([X], lambda x: layers.diag_embed(x, 0, 0, 2)),
    "tril": ([X], lambda x: layers.tril(x, -1)),
    "roll all": ([X], lambda x: layers.roll(x, 2)),
    "roll far": ([X], lambda x: layers.roll(x, 7, 0)),
    "meshgrid": ([signed(2), signed(3), signed(2)], lambda *v: layers.meshgrid(list(v))),
    "multiplex": ([X, Y, ints(2, 3, 1, dtype="int32")],
     lambda x, y, i: layers.multiplex([x, y], i)),
    "shape": ([X], lambda x: layers.shape(x)),
    "size": ([X], lambda x: layers.size(x)),
    "rank": ([X], lambda x: layers.rank(x)),
    "zeros_like": ([X], lambda x: layers.zeros_like(x)),
    "full": ([X], lambda x: layers.fill_constant([x.shape[0], 2], "float32", 1.5)),
    "full by variables": ([X],
     lambda x: layers.fill_constant([layers.shape(x)[1], 2], "int64", 3)),
    "full of a shape": ([X], lambda x: layers.fill_constant(layers.shape(x), "int64", 3)),
    "range": ([X], lambda x: layers.range(0, x.shape[0], 1, "int64")),
    "linspace": ([X], lambda x: layers.linspace(0, 1, x.shape[0], "float32")),
    "eye": ([X], lambda x: layers.eye(x.shape[0], 3)),
    "zeros": ([X], lambda x: layers.zeros([x.shape[0], 2], "float32")),
    "ones": ([X], lambda x: layers.ones([2, x.shape[1]], "float32")),
    "full fluid": ([X], lambda x: layers.full([x.shape[0], 2], 3.0)),
    "uniform": ([X], lambda x: layers.uniform_random([x.shape[0], 3], seed=3)),
    "gaussian": ([X], lambda x: layers.gaussian_random([x.shape[0], 3], seed=3)),
    "randn": ([X], lambda x: layers.randn([x.shape[0], 3])),
    "randint": ([X], lambda x: layers.randint(0, 9, [x.shape[0], 3], seed=3)),
    "randperm": ([X], lambda x: layers.randperm(x.shape[0], seed=3)),
    "batch size like 1": ([X],
     lambda x: layers.fill_constant_batch_size_like(x, [2, -1], "float32", 0.5, 1, 1)),
    "uniform like 1": ([X],
     lambda x: layers.uniform_random_batch_size_like(x, [2, -1], "float32", 1, 1, seed=3)),
    "gaussian like": ([X], lambda x: layers.gaussian_random_batch_size_like(x, [-1, 4], seed=3)),
    "one_hot of rows": ([ints(4, 3, 2)], lambda x: static.one_hot(x, 4)),
    "one_hot sizes": ([ints(3, 3, 1), X], lambda i, x: layers.one_hot(i, x.shape[1])),
    "embedding of words": ([WORDS], lambda x: layers.embedding(x, [7, 3])),
    "static embedding": ([WORDS], lambda x: static.embedding(x, [7, 3])),
    "embedding ending in 1": ([ints(7, 3, 4, 1)],
     lambda x: layers.embedding(x, [7, 3], padding_idx=0)),
    "cross_entropy of steps": ([floats(2, 3, 4), ints(4, 2, 3, 1)],
     lambda x, y: layers.cross_entropy(x, y)),
    "softmax_with_cross_entropy 1": ([signed(2, 4, 3), ints(4, 2, 1, 3)],
     lambda x, y: layers.softmax_with_cross_entropy(x, y, axis=1)),
    "softmax_with_cross_entropy soft": ([X, POSITIVE],
     lambda x, y: layers.softmax_with_cross_entropy(x, y, soft_label=True)),
    "sigmoid_cross_entropy normalized": ([X, floats(3, 4)],
     lambda x, y: layers.sigmoid_cross_entropy_with_logits(x, y, normalize=True)),
    "kldiv mean": ([X, POSITIVE], lambda x, y: layers.kldiv_loss(x, y)),
    "kldiv batchmean": ([X, POSITIVE], lambda x, y: layers.kldiv_loss(x, y, "batchmean")),
    "dice_loss": ([floats(3, 2, 4), ints(4, 3, 2, 1)], lambda x, y: layers.dice_loss(x, y)),
    "smooth_l1 weighted": ([X, Y, POSITIVE], lambda x, y, w: layers.smooth_l1(x, y, w, w)),
    "label_smooth prior": ([POSITIVE, floats(1, 4)], lambda x, p: layers.label_smooth(x, p)),
    "npair": ([X, Y, np.array([0, 1, 0])], lambda x, y, z: layers.npair_loss(x, y, z)),
    "square_error": ([X, ROW], lambda x, y: layers.square_error_cost(x, y)),
    "accuracy": ([POSITIVE, ints(4, 3, 1)], lambda x, y: layers.accuracy(x, y)),
    "pool ceil": ([signed(2, 4, 7, 6)], lambda x: layers.pool2d(x, 3, "max", 2, ceil_mode=True)),
    "pool same": ([IMAGE], lambda x: layers.pool2d(x, 3, "avg", 2, "SAME", exclusive=False)),
    "pool NHWC": ([IMAGE], lambda x: layers.pool2d(x, 2, data_format="NHWC")),
    "pool global": ([IMAGE], lambda x: layers.pool2d(x, global_pooling=True)),
    "adaptive max": ([IMAGE], lambda x: layers.adaptive_pool2d(x, [2, 3])),
    "adaptive index": ([IMAGE], lambda x: layers.adaptive_pool2d(x, 2, require_index=True)),
    "adaptive avg 3d": ([VOLUME], lambda x: layers.adaptive_pool3d(x, 2, "avg")),
    "image_resize scale": ([IMAGE], lambda x: layers.image_resize(x, scale=1.5)),

    "image_resize sizes": ([IMAGE, signed(2, 1, 5, 3)],
     lambda x, y: layers.image_resize(x, [y.shape[2], y.shape[3]])),
    "image_resize NHWC": ([IMAGE], lambda x: layers.image_resize(x, [3, 3], data_format="NHWC")),
    "resize_nearest": ([IMAGE],
     lambda x: layers.resize_nearest(x, scale=2.0, align_corners=False)),
    "resize_trilinear": ([VOLUME], lambda x: layers.resize_trilinear(x, scale=0.5)),
    "affine_grid by a variable": ([signed(2, 2, 3), IMAGE],
     lambda t, x: layers.affine_grid(t, layers.shape(x))),
    "affine_grid sizes": ([signed(2, 2, 3), IMAGE],
     lambda t, x: layers.affine_grid(t, list(x.shape))),
    "affine_grid": ([signed(2, 2, 3)], lambda t: layers.affine_grid(t, [2, 3, 4, 5])),
    "grid_sampler": ([IMAGE, signed(2, 3, 5, 2)], lambda x, g: layers.grid_sampler(x, g)),
    "pixel_shuffle": ([signed(1, 8, 2, 3)], lambda x: layers.pixel_shuffle(x, 2)),
    "space_to_depth": ([signed(1, 4, 4, 6)], lambda x: layers.space_to_depth(x, 2)),
    "temporal_shift": ([signed(4, 8, 2, 2)], lambda x: layers.temporal_shift(x, 2)),
    "unfold": ([IMAGE], lambda x: layers.unfold(x, [2, 3], 1, 1)),
    "im2sequence": ([IMAGE], lambda x: layers.im2sequence(x, [2, 1], [1, 2], [1, 0, 0, 1])),
    "maxout": ([IMAGE], lambda x: layers.maxout(x, 2)),
    "maxout last": ([IMAGE], lambda x: layers.maxout(x, 2, axis=3)),
    "lrn NHWC": ([IMAGE], lambda x: layers.lrn(x, data_format="NHWC")),
    "affine_channel NHWC": ([IMAGE, signed(6), signed(6)],
     lambda x, s, b: layers.affine_channel(x, s, b, "NHWC")),
    "fsp": ([IMAGE, signed(2, 3, 6, 6)], lambda x, y: layers.fsp_matrix(x, y)),
    "dropout": ([X], lambda x: layers.dropout(x, 0.5, seed=3)),
    "dropout upscale": ([X],
     lambda x: layers.dropout(x, 0.25, dropout_implementation="upscale_in_train")),
    "random_crop": ([IMAGE], lambda x: layers.random_crop(x, [4, 3, 3], 3)),
    "shuffle_channel": ([IMAGE], lambda x: layers.shuffle_channel(x, 2)),
    "similarity_focus": ([IMAGE], lambda x: layers.similarity_focus(x, 1, [0, 2])),
    "add_position_encoding": ([signed(2, 3, 4)],
     lambda x: layers.add_position_encoding(x, 1.0, 1.0)),
    "position of sequences": ([ROWS], lambda x: layers.add_position_encoding(x, 1.0, 1.0)),
    "sequence_mask": ([np.array([1, 3, 2])], lambda x: layers.sequence_mask(x)),
    "sequence_mask like": ([np.array([1, 3, 2]), X],
     lambda n, x: layers.sequence_mask(n, x.shape[1])),
    "sequence_mask by a variable": ([np.array([1, 3, 2])],
     lambda n: layers.sequence_mask(n, whole(4))),
    "sequence_pad": ([ROWS],
     lambda x: layers.sequence_pad(x, layers.fill_constant([1], "float32", 0.0))),
    "sequence_unpad": ([signed(2, 3, 4), np.array([2, 3])],
     lambda x, n: layers.sequence_unpad(x, n)),
    "sequence_reshape": ([ROWS], lambda x: layers.sequence_reshape(x, 8 // 4)),
    "sequence_expand": ([signed(2, 4), ROWS], lambda x, y: layers.sequence_expand(x, y)),
    "sequence_slice": ([ROWS],
     lambda x: layers.sequence_slice(
         x, layers.fill_constant([2, 1], "int64", 0), layers.fill_constant([2, 1], "int64", 1))),
    "sequence_conv open": ([ROWS], lambda x: layers.sequence_conv(x, 3, padding_start=-2)),
    "sequence_enumerate": ([TAGS], lambda x: layers.sequence_enumerate(x, 3)),
    "lod_append": ([X], lambda x: layers.lod_append(x, [0, 1, 3])),
    "expand_as of sequences": ([signed(2, 4), ROWS],
     lambda x, y: layers.sequence_expand_as(x, y) + y),
    "edit_distance": ([ints(4, 2, 3), ints(4, 2, 4)],
     lambda x, y: layers.edit_distance(
         x, y, input_length=layers.fill_constant([2], "int64", 3),
         label_length=layers.fill_constant([2], "int64", 4))),
    "warpctc": (
     [signed(4, 2, 3), ints(2, 2, 2, dtype="int32") + 1, np.array([4, 3]), np.array([2, 1])],
       lambda x, y, n, m: layers.warpctc(x, y, input_length=n, label_length=m)),
    "ctc_greedy_decoder": ([floats(2, 3, 4), np.array([[3], [2]])],
     lambda x, n: layers.ctc_greedy_decoder(x, 0, n)),
    "beam of ids": ([ints(5, 3, 2, 2), ints(2, 3, 2, 2)], lambda i, p: layers.gather_tree(i, p)),
    "py_func": ([X], python),
    "in place": ([X], in_place),
    "arrays": ([X], arrays),
    "ranked": ([ROWS], ranked),
    "split_merged": ([X], split_merged),
    "cond": ([X], chosen),
    "case": ([X], cased),
    "switch_case": ([X], switched),
    "while_loop": ([X], loop),
    "growing": ([X], growing),
    "if_else": ([X], if_else),
    "static_rnn": ([signed(3, 2, 4)], static_rnn),
    "dynamic_rnn": ([ROWS], dynamic_rnn),
    "rnn": ([signed(2, 3, 4)], cells),
    "rnn of LSTM": ([signed(2, 3, 4)], lstm_cells),
    "rnn lengths": ([signed(2, 3, 4), np.array([3, 2])],
     lambda x, n: layers.rnn(layers.GRUCell(3), x, sequence_length=n)),
    "auc": ([floats(3, 2), ints(2, 3, 1)], lambda p, y: layers.auc(p, y)[:2]),
    "crf_decoding": ([ROWS, TAGS],
     lambda x, y: (layers.linear_chain_crf(x, y, "crf"), layers.crf_decoding(x, "crf"))),
    "crf of lengths": ([signed(2, 3, 4), ints(4, 2, 3), np.array([3, 2])],
     lambda x, y, n: layers.linear_chain_crf(x, y, length=n)),
    "inplace_abn": ([IMAGE], lambda x: layers.inplace_abn(x)),
    "batch_norm of rows": ([X], lambda x: layers.batch_norm(x)),
    "batch_norm NHWC": ([IMAGE], lambda x: layers.batch_norm(x, data_layout="NHWC", is_test=True)),
    "layer_norm last": ([signed(2, 3, 4)], lambda x: layers.layer_norm(x, begin_norm_axis=2)),
    "group_norm of rows": ([X], lambda x: layers.group_norm(x, 2)),
    "instance_norm of rows": ([signed(2, 3, 5)], lambda x: layers.instance_norm(x)),
    "fc of images": ([IMAGE], lambda x: layers.fc(x, 3)),
    "fc of steps": ([signed(2, 3, 4)],
     lambda x: layers.fc(x, 3, num_flatten_dims=2, act="softmax")),
    "fc last": ([signed(2, 3, 4)], lambda x: layers.fc(x, 3, num_flatten_dims=-1)),
    "conv2d same": ([IMAGE], lambda x: layers.conv2d(x, 3, 3, 2, "SAME")),
    "conv2d_transpose": ([IMAGE],
     lambda x: layers.conv2d_transpose(x, 3, filter_size=3, stride=2, padding=1)),
    "conv2d_transpose size": ([IMAGE],
     lambda x: layers.conv2d_transpose(x, 3, output_size=[11, 11], stride=2)),
    "conv2d_transpose of a size": ([IMAGE, signed(2, 1, 12, 12)],
     lambda x, y: layers.conv2d_transpose(x, 3, output_size=[y.shape[2], y.shape[3]], stride=2)),
    "prelu all": ([X], lambda x: layers.prelu(x, "all")),
    "prelu element": ([X], lambda x: layers.prelu(x, "element")),
    "data_norm": ([X], lambda x: layers.data_norm(x)),
    "glu": ([signed(3, 4)], lambda x: nets.glu(x)),
    "glu of rows": ([signed(4, 3)], lambda x: nets.glu(x, 0)),
    "attention": ([signed(2, 3, 4), signed(2, 5, 4), signed(2, 5, 6)],
     lambda q, k, v: nets.scaled_dot_product_attention(q, k, v, 2)),
    "attention one head": ([signed(2, 3, 4), signed(2, 5, 4), signed(2, 5, 6)],
     lambda q, k, v: nets.scaled_dot_product_attention(q, k, v)),
    "sequence_conv_pool": ([ROWS], lambda x: nets.sequence_conv_pool(x, 3, 3)),
    "simple_img_conv_pool": ([IMAGE], lambda x: nets.simple_img_conv_pool(x, 3, 3, 2, 2)),
    "img_conv_group": ([IMAGE],
     lambda x: nets.img_conv_group(x, [3, 3], 2, conv_with_batchnorm=True)),
    "normal": ([signed(3), floats(3)], lambda m, s: layers.Normal(m, s).entropy()),
    "normal log": ([signed(3), floats(3), X],
     lambda m, s, x: layers.Normal(m, s).log_prob(layers.transpose(x, [1, 0]))),
    "normal kl": ([signed(3), floats(3)],
     lambda m, s: layers.Normal(m, s).kl_divergence(layers.Normal(s, m * m))),
    "normal sample": ([signed(3), floats(3)],
     lambda m, s: layers.Normal(m, s).sample([2], seed=3)),
    "uniform entropy": ([signed(3), floats(3)], lambda m, s: layers.Uniform(m, m + s).entropy()),
    "uniform sample": ([signed(3), floats(3)],
     lambda m, s: layers.Uniform(m, m + s).sample([2], seed=3)),
    "uniform log": ([signed(3), floats(3)], lambda m, s: layers.Uniform(m, m + s).log_prob(m)),
    "categorical": ([X], lambda x: layers.Categorical(x).entropy()),
    "categorical kl": ([X, Y],
     lambda x, y: layers.Categorical(x).kl_divergence(layers.Categorical(y))),
    "multivariate": ([signed(3), np.diag(floats(3))],
     lambda m, s: layers.MultivariateNormalDiag(m, s).entropy()),
    "multivariate kl": ([signed(3), np.diag(floats(3))],
     lambda m, s: layers.MultivariateNormalDiag(m, s).kl_divergence(
         layers.MultivariateNormalDiag(m * 2.0, s))),
    "getitem": ([X], lambda x: (x[0], x[-1], x[1:], x[:, -1], x[..., None], x[::2], x[:-1])),
    "getitem by a variable": ([X, ints(3, 2)], lambda x, i: x[i]),
    "getitem by bools": ([X], lambda x: x[x > 0]),
    "sigmoid_focal_loss": ([X, ints(5, 3, 1, dtype="int32"), np.array([2], "int32")],
     lambda x, y, n: layers.sigmoid_focal_loss(x, y, n)),
    "sampled": ([X, ints(4, 3, 1)],
     lambda x, y: layers.sampled_softmax_with_cross_entropy(x, y, 3, seed=3)),
    "mean_iou": ([ints(3, 4, dtype="int32"), ints(3, 4, dtype="int32")],
     lambda x, y: layers.mean_iou(x, y, 3)),
    "unique": ([ints(3, 6)], lambda x: layers.unique(x)),
    "hash": ([ints(9, 4, 2)], lambda x: layers.hash(x, 100, 2)),
    "nce sampled": ([X, ints(9, 3, 1)],
     lambda x, y: layers.nce(x, y, 9, num_neg_samples=3, seed=3, sampler="log_uniform")),
    "gru_unit": ([signed(2, 12), signed(2, 4)], lambda x, h: layers.gru_unit(x, h, 12)),
    "lstm bidirectional": ([signed(3, 2, 4), signed(2, 2, 2), signed(2, 2, 2)],
     lambda x, y, z: layers.lstm(x, y, z, 3, 2, 1, is_bidirec=True)),
    "decode": ([signed(2, 4)],
     decoded),
}
CASES.update({
    **{f"index {n}": (a, f) for n, (a, f) in {
      "i": ([X, ints(3, 2)], lambda x, i: x[i]),
      "i rows": ([X, ints(3, 2, 2)], lambda x, i: x[i]),
      ":, i": ([X, ints(4, 2)], lambda x, i: x[:, i]),
      ":, i rows": ([X, ints(4, 2, 3)], lambda x, i: x[:, i]),
      "i, j": ([X, ints(3, 5), ints(4, 5)], lambda x, i, j: x[i, j]),
      "i, j of one": ([X, ints(3, 5), ints(4, 1)], lambda x, i, j: x[i, j]),
      "i column, j": ([X, ints(3, 5, 1), ints(4, 2)], lambda x, i, j: x[i, j]),
      "i, :, j": ([signed(3, 4, 5), ints(3, 2), ints(4, 2)], lambda x, i, j: x[i, :, j]),
      ":, i, j": ([signed(3, 4, 5), ints(4, 2), ints(4, 2)], lambda x, i, j: x[:, i, j]),
      "i, None": ([X, ints(3, 2)], lambda x, i: x[i, None]),
    "None": ([X], lambda x: x[None]),
    "dots None": ([X], lambda x: x[..., None]),
    ":, None": ([X], lambda x: x[:, None]),
      "1, None": ([signed(3, 4, 5)], lambda x: x[1, None, 1:]),
      "-1, ::2": ([X], lambda x: x[-1, ::2]), "::-1": ([X], lambda x: x[::-1, 1]),
    "numbers": ([X], lambda x: x[[0, 2, 0]]),
    "numbers and i": ([X, ints(4, 3)], lambda x, i: x[[0, 2, 1], i]),
      "mask": ([X], lambda x: x[x > 0]), "mask of rows": ([X, ints(2, 3) > 0], lambda x, m: x[m]),
      "mask and 1": ([X, ints(2, 3) > 0], lambda x, m: x[m, 1]),
      "mask, i": ([X, np.array([True, False, True]), ints(4, 2)], lambda x, m, i: x[m, i]),
      "size": ([X], lambda x: x[: x.shape[0] - 1, x.shape[1] - 1]),
    }.items()},
    "reshape by two sizes": ([signed(2, 3, 4)],
     lambda x: x.reshape([x.shape[0], 1, x.shape[1], x.shape[2]])),
    "reshape turned": ([signed(2, 3, 4)], lambda x: x.reshape([x.shape[1], x.shape[0], 4])),
    "nn attention": ([signed(2, 3, 4), signed(2, 5, 4), signed(2, 5, 6)],
     lambda q, k, v: dygraph.nn.scaled_dot_product_attention(q, k, v)),
    "nn attention of one": ([signed(2, 3, 4), signed(1, 5, 4), signed(1, 5, 6)],
     lambda q, k, v: dygraph.nn.scaled_dot_product_attention(q, k, v)),
    "nn attention of heads": ([signed(2, 2, 3, 4), signed(2, 2, 5, 4), signed(2, 2, 5, 6)],
     lambda q, k, v: dygraph.nn.scaled_dot_product_attention(q, k, v)),
    "eager glu": ([X], lambda x: dygraph.nets.glu(x)),
    "eager attention": ([signed(2, 3, 4), signed(2, 5, 4), signed(2, 5, 6)],
     lambda q, k, v: dygraph.nets.scaled_dot_product_attention(q, k, v, 2)),
    "np.var": ([X], lambda x: np.var(x)),
    "np.mean": ([X], lambda x: np.mean(x, axis=0)),
    "np.std": ([X], lambda x: np.std(x, axis=0)),
    "var": ([X], lambda x: dygraph.var(x)), "std": ([X], lambda x: dygraph.std(x, axis=0)),
    "np.stack": ([X, Y], lambda x, y: np.stack([x, y])),
    "np.where": ([X], lambda x: np.where(x > 0, x, 0 * x)),
    "np.concatenate": ([X, Y], lambda x, y: np.concatenate([x, y])),
    "np.sum": ([X], lambda x: np.sum(x, axis=1)),
    "np.reshape": ([X], lambda x: np.reshape(x, [-1])),
    "np.transpose": ([X], lambda x: np.transpose(x)),
    "np.broadcast_to": ([ROW], lambda x: np.broadcast_to(x, [3, 4])),
    "np.squeeze": ([signed(3, 1, 2)], lambda x: np.squeeze(x)),
    "np.expand_dims": ([X], lambda x: np.expand_dims(x, 0)),
    "np.split": ([signed(4, 6)], lambda x: np.split(x, 2)),
    "np.dot": ([X, signed(4, 2)], lambda x, y: np.dot(x, y)),
    "np.argmax": ([X], lambda x: np.argmax(x)),
    "np.mean all": ([X], lambda x: np.mean(x)),
    "np.tile": ([X], lambda x: np.tile(x, 2)),
    "np.repeat": ([X], lambda x: np.repeat(x, 2)),
    "np.roll": ([X], lambda x: np.roll(x, 1)),
    "np.flip": ([X], lambda x: np.flip(x)),
    "np.prod": ([X], lambda x: np.prod(x)),
    "np.linalg": ([X], lambda x: np.linalg.norm(x)),
    "mean method": ([X], lambda x: x.mean()),
    "T": ([X], lambda x: x.T),
    "size method": ([X], lambda x: x * x.size),
    "ndim": ([X], lambda x: x * x.ndim),
    "flatten method": ([X], lambda x: x.flatten()),
    "sum of shape": ([X], lambda x: x.sum() / x.shape[0]),
})
CASES.update({
    "copy_": ([X, Y], lambda x, y: dygraph.exp(x).copy_(y)),
    "multiply_": ([X, Y], lambda x, y: dygraph.exp(x).multiply_(y)),
    "mask of two axes": ([signed(2, 3, 4), ints(2, 2, 3) > 0], lambda x, m: x[m]),
    "mask behind": ([signed(2, 3, 4), ints(2, 3) > 0], lambda x, m: x[:, m]),
    "fixed mask": ([X], lambda x: x[np.array([True, False, True])]),
})
OF_NUMPY = {
    "array_split": lambda x: np.array_split(x, 2),
    "array_split 1": lambda x: np.array_split(x, 2, axis=1),
    "split at": lambda x: np.split(x, [1, 2]), "diagonal": lambda x: np.diagonal(x),
    "trace": lambda x: np.trace(x), "roll 1": lambda x: np.roll(x, 1, axis=1),
    "tile 2": lambda x: np.tile(x, (2, 1)), "repeat 0": lambda x: np.repeat(x, 2, axis=0),
    "tril": lambda x: np.tril(x), "triu": lambda x: np.triu(x, 1),
    "average": lambda x: np.average(x, axis=0),
    "average weights": lambda x: np.average(x, weights=abs(x)),
    "tensordot": lambda x: np.tensordot(x, x.T, 1),
    "tensordot 2": lambda x: np.tensordot(x, x, 2), "squeeze 0": lambda x: np.squeeze(x[:1], 0),
    "diff": lambda x: np.diff(x), "vstack": lambda x: np.vstack([x, x]),
    "hstack": lambda x: np.hstack([x, x]), "outer": lambda x: np.outer(x, x),
    "inner": lambda x: np.inner(x, x), "take": lambda x: np.take(x, [0, 1]),
    "take 1": lambda x: np.take(x, [0, 1], axis=1), "nonzero": lambda x: np.nonzero(x),
    "argwhere": lambda x: np.argwhere(x), "atleast": lambda x: np.atleast_2d(x),
    "ravel": lambda x: np.ravel(x), "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1), "any": lambda x: np.any(x),
    "cumsum": lambda x: np.cumsum(x, axis=0), "cumsum all": lambda x: np.cumsum(x),
    "clip": lambda x: np.clip(x, 0, 1), "full_like": lambda x: np.full_like(x, 2.0),
    "std": lambda x: np.std(x), "reshape 2": lambda x: np.reshape(x, [1, -1]),
    "fliplr": lambda x: np.fliplr(x), "around": lambda x: np.around(x),
    "norm 1": lambda x: np.linalg.norm(x, axis=1),
}
CASES.update({f"np.{name}": ([X], function) for name, function in OF_NUMPY.items()})
