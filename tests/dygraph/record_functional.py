"""What PyTorch and Paddle 2 compute for the lines below, which run here as they stand.

    python tests/dygraph/record_functional.py torch    # in an environment with torch
    python tests/dygraph/record_functional.py paddle   # in one with paddle

write ``functional_torch.json``, ``layers_torch.json`` and ``functional_paddle.json`` beside this
file; all are kept, 150 kB together. A line is an
expression of `F`, the module of functions, and of the arrays below; or a pair, the peer's line and
ours, where they differ for a reason.
"""

import json
import math
import pathlib
import re
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent


def wave(*shape, start=0.0):
    """Values between -2 and 2 without a pattern, none of them twice."""
    i = np.arange(math.prod(shape), dtype="float64") + start
    return (2 * np.sin(i * 1.7 + 0.3 * np.sqrt(i + 1))).reshape(shape)


def chances(*shape):
    e = np.exp(wave(*shape))
    return e / e.sum(axis=1, keepdims=True)


ARRAYS = {
    "x": wave(3, 4), "y": wave(3, 4, start=5), "z": wave(3, 4, start=11),
    "q": 1 / (1 + np.exp(-wave(3, 4))), "p": chances(3, 4), "t": chances(3, 4)[::-1].copy(),
    "bits": (wave(3, 4) > 0).astype("float64"), "signs": np.sign(wave(3, 4, start=2)),
    "sign3": np.array([1.0, -1.0, 1.0]),
    "big": wave(3, 4) * 40, "v": np.exp(wave(3, 4)), "w4": np.exp(wave(4)),
    "c": np.array([1, 3, 0]), "ci": np.array([1, -100, 0]),
    "line": wave(2, 4, 7), "image": wave(2, 4, 5, 6), "volume": wave(1, 2, 3, 4, 3),
    "cl": np.array([[0, 1, 2, 3, 1, 0, 2], [3, 3, 1, 0, 2, 2, 1]]),
    "cimg": (np.arange(60).reshape(2, 5, 6) * 7) % 4,
    "k1": wave(6, 4, 3), "k2": wave(6, 4, 3, 2), "k3": wave(2, 2, 2, 2, 2), "g2": wave(4, 2, 3, 3),
    "u1": wave(4, 3, 3), "u2": wave(4, 3, 3, 2), "u3": wave(2, 3, 2, 2, 2),
    "b3": wave(3), "b4": wave(4), "b6": wave(6), "b2": wave(2),
    "mean4": wave(4) / 4, "var4": np.exp(wave(4)), "slopes": np.abs(wave(4)),
    "wide": wave(5, 4), "square": wave(4, 4), "o5": wave(5), "three": wave(5, 4, 4, start=3),
    "ids": np.array([[1, 0], [4, 2]]), "n": np.array([1, 3, 2]),
    "grid": wave(2, 3, 2, 2) * 0.6, "theta": wave(2, 2, 3),
    "qq": wave(2, 2, 3, 4), "kk": wave(2, 2, 5, 4), "vv": wave(2, 2, 5, 3),
    "seen": np.tril(np.ones((3, 5), bool), 1),
    "steps": np.log(chances(30, 4)).reshape(15, 2, 4), "words": np.array([[1, 2, 3], [3, 1, 2]]),
    "long": np.array([15, 12]), "short": np.array([3, 2]),
}  # fmt: skip

TORCH = [
    # Activations
    "F.relu(x)", "F.relu6(big)", "F.elu(x)", "F.elu(x, 0.5)", "F.elu(x, alpha=2.0)", "F.celu(x)",
    "F.celu(x, 0.5)", "F.selu(x)", "F.leaky_relu(x)", "F.leaky_relu(x, negative_slope=0.25)",
    "F.leaky_relu(x, 0.5)", "F.prelu(x, b4)", "F.prelu(image, b4)", "F.gelu(x)",
    ("F.gelu(x, approximate='tanh')", "F.gelu(x, approximate=True)"),
    "F.silu(x)", "F.mish(x)", "F.sigmoid(x)", "F.logsigmoid(big)", "F.tanh(x)", "F.softplus(x)",
    "F.softplus(x, 2.0, 1.0)", "F.softplus(big, beta=0.5, threshold=3)", "F.softsign(x)",
    "F.softshrink(x)", "F.softshrink(x, lambd=1.0)", "F.hardshrink(x)", "F.hardshrink(x, 1.0)",
    "F.tanhshrink(x)", "F.hardtanh(x)", "F.hardtanh(x, -0.5, 1.5)",
    "F.hardtanh(x, min_val=-0.5, max_val=0.25)", "F.hardsigmoid(big)", "F.hardsigmoid(x)",
    "F.hardswish(x)", "F.threshold(x, 0.1, 20)", "F.glu(x)", "F.glu(image, dim=1)", "F.glu(x, -1)",
    "F.softmax(x, dim=1)", "F.softmax(x, -1)", "F.softmax(x, 0)", "F.softmax(big, dim=-1)",
    "F.log_softmax(big, dim=1)", "F.log_softmax(x, 0)", "F.softmin(x, dim=1)",
    # Classes
    "F.cross_entropy(x, c)", "F.cross_entropy(x, target=c)", "F.cross_entropy(input=x, target=ci)",
    "F.cross_entropy(x, c, w4)", "F.cross_entropy(x, ci, weight=w4)",
    "F.cross_entropy(x, c, reduction='sum')", "F.cross_entropy(x, c, reduction='none')",
    "F.cross_entropy(x, c, label_smoothing=0.1)",
    "F.cross_entropy(x, ci, w4, label_smoothing=0.25)",
    "F.cross_entropy(x, ci, w4, label_smoothing=0.25, reduction='none')",
    "F.cross_entropy(x, c, ignore_index=3)",
    "F.cross_entropy(x, t)", "F.cross_entropy(x, t, w4)", "F.cross_entropy(x, t, reduction='none')",
    "F.cross_entropy(x, t, w4, label_smoothing=0.1)", "F.cross_entropy(line, cl)",
    "F.cross_entropy(image, cimg)", "F.cross_entropy(image, cimg, w4)",
    "F.cross_entropy(image, cimg, reduction='none')", "F.cross_entropy(big, c)",
    "F.nll_loss(F.log_softmax(x, dim=1), c)", "F.nll_loss(x, ci, w4)",
    "F.nll_loss(x, target=ci, reduction='none')", "F.nll_loss(image, cimg, w4)",
    "F.nll_loss(x, c, ignore_index=0, reduction='sum')",
    "F.binary_cross_entropy(q, bits)", "F.binary_cross_entropy(q, p)",
    "F.binary_cross_entropy(q, target=bits, weight=w4, reduction='sum')",
    "F.binary_cross_entropy(bits, q)",
    "F.binary_cross_entropy_with_logits(big, bits)",
    "F.binary_cross_entropy_with_logits(input=x, target=p, reduction='none')",
    "F.binary_cross_entropy_with_logits(x, bits, weight=w4, pos_weight=w4)",
    "F.multilabel_soft_margin_loss(x, bits)",
    "F.multilabel_soft_margin_loss(x, bits, w4, reduction='none')",
    # Differences
    *(f"F.{name}(x, y{more})" for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
      for more in ("", ", reduction='sum'", ", reduction='none'")),
    "F.mse_loss(input=x, target=y)", "F.smooth_l1_loss(x, y, beta=0.5)",
    "F.huber_loss(x, y, delta=0.5)", "F.huber_loss(x, y, 'mean', 2.0)",
    "F.kl_div(x, t)", "F.kl_div(x, t, reduction='batchmean')", "F.kl_div(x, bits)",
    "F.kl_div(x, target=y, log_target=True)", "F.kl_div(x, t, reduction='none')",
    "F.kl_div(x, t, reduction='sum')",
    "F.poisson_nll_loss(x, v)", "F.poisson_nll_loss(v, q, log_input=False)",
    "F.poisson_nll_loss(x, v, full=True)", "F.poisson_nll_loss(x, v, reduction='none')",
    "F.gaussian_nll_loss(x, y, v)", "F.gaussian_nll_loss(x, target=y, var=v, full=True)",
    # Distances and margins
    "F.cosine_similarity(x, y)", "F.cosine_similarity(x, y, dim=0)",
    "F.cosine_similarity(x, y, -1)",
    "F.pairwise_distance(x, y)", "F.pairwise_distance(x, y, p=3, keepdim=True)",
    ("F.pairwise_distance(x1=x, x2=y, eps=0.1)", "F.pairwise_distance(x, y, eps=0.1)"),
    "F.cosine_embedding_loss(x, y, sign3)",
    "F.cosine_embedding_loss(x, y, target=sign3, margin=0.25, reduction='none')",
    "F.margin_ranking_loss(x, y, signs)", "F.margin_ranking_loss(x, y, signs, margin=0.5)",
    "F.margin_ranking_loss(x, y, signs, 0.5, reduction='none')",
    "F.hinge_embedding_loss(x, signs)", "F.hinge_embedding_loss(x, signs, margin=2.0)",
    "F.soft_margin_loss(x, signs)", "F.soft_margin_loss(x, target=signs, reduction='sum')",
    "F.triplet_margin_loss(x, y, z)", "F.triplet_margin_loss(anchor=x, positive=y, negative=z)",
    "F.triplet_margin_loss(x, y, z, 2.0, 3, 1e-3, True, reduction='none')",
    "F.ctc_loss(steps, words, long, short)",
    "F.ctc_loss(steps, targets=words, input_lengths=long, target_lengths=short, reduction='none')",
    "F.ctc_loss(steps, words, long, short, 0, 'sum')",
    # Convolutions
    "F.conv1d(line, k1)", "F.conv1d(line, k1, b6, 2, 1, 2)", "F.conv1d(line, k1, padding='same')",
    "F.conv2d(image, k2)", "F.conv2d(input=image, weight=k2, bias=b6)",
    "F.conv2d(image, k2, b6, 2, 1)", "F.conv2d(image, k2, b6, (2, 1), (0, 1), (1, 2))",
    "F.conv2d(image, g2, b4, padding='same', groups=2)", "F.conv2d(image, g2, b4, 1, 1, 1, 2)",
    "F.conv2d(image, k2, padding='valid')", "F.conv3d(volume, k3)",
    "F.conv3d(volume, k3, b2, 1, 1)", "F.conv3d(volume, k3, b2, stride=(1, 2, 1), padding=1)",
    "F.conv_transpose1d(line, u1)", "F.conv_transpose1d(line, u1, b3, 2, 1, 1)",
    "F.conv_transpose2d(image, u2)", "F.conv_transpose2d(image, u2, b3, 2, 1, 1)",
    "F.conv_transpose2d(image, u2, b3, stride=2, dilation=2)",
    "F.conv_transpose3d(volume, u3)", "F.conv_transpose3d(volume, u3, b3, 2, 1, 1)",
    # Pooling
    "F.max_pool1d(line, 3)", "F.max_pool1d(line, 3, 2, 1)", "F.max_pool2d(image, 2)",
    "F.max_pool2d(image, kernel_size=3, stride=2, padding=1)",
    "F.max_pool2d(image, (3, 2), ceil_mode=True)", "F.max_pool3d(volume, 2)",
    "F.max_pool2d(image, 2, return_indices=True)[1]",
    "F.avg_pool1d(line, 3)", "F.avg_pool2d(image, 2)", "F.avg_pool2d(image, (3, 2), 1)",
    "F.avg_pool2d(image, 3, 2, padding=1, count_include_pad=True)",
    "F.avg_pool2d(image, 3, 2, padding=1, count_include_pad=False)",
    "F.avg_pool2d(image, 2, ceil_mode=True)", "F.avg_pool3d(volume, 2)",
    "F.adaptive_avg_pool1d(line, 3)", "F.adaptive_avg_pool2d(image, 1)",
    "F.adaptive_avg_pool2d(image, (3, 4))", "F.adaptive_avg_pool2d(image, (None, 2))",
    "F.adaptive_avg_pool3d(volume, 2)", "F.adaptive_max_pool1d(line, 3)",
    "F.adaptive_max_pool2d(image, (3, 4))", "F.adaptive_max_pool3d(volume, 2)",
    "F.adaptive_max_pool2d(image, 2, return_indices=True)[1]",
    "F.max_unpool2d(*F.max_pool2d(image, 2, return_indices=True), 2)",
    # Normalisation
    "F.batch_norm(image, mean4, var4)", "F.batch_norm(image, mean4, var4, w4, b4)",
    "F.batch_norm(x, mean4, var4, weight=w4, bias=b4, eps=0.1)",
    "F.batch_norm(image, mean4, var4, w4, b4, True)", "F.layer_norm(x, (4,))",
    "F.layer_norm(image, [6], eps=0.1)", "F.layer_norm(x, [4], w4, b4)",
    "F.layer_norm(three, (4, 4), square, square)", "F.instance_norm(image)",
    "F.instance_norm(line, weight=w4, bias=b4)", "F.group_norm(image, 2)",
    "F.group_norm(image, num_groups=4, weight=w4, bias=b4, eps=0.1)", "F.rms_norm(x, (4,))",
    "F.rms_norm(x, [4], weight=w4)", "F.rms_norm(x, [4], w4, 0.1)",
    "F.rms_norm(three, (4, 4), square)", "F.local_response_norm(image, 3)",
    "F.local_response_norm(image, size=3, alpha=0.5, beta=0.5, k=2.0)", "F.normalize(x)",
    "F.normalize(image, p=2.0, dim=1)", "F.normalize(x, p=1, dim=0)", "F.normalize(x, 3.0, -1)",
    # The rest
    ("F.linear(x, wide)", "F.linear(x, wide.T)"),
    ("F.linear(x, wide, o5)", "F.linear(x, wide.T, o5)"),
    "F.bilinear(x, y, three, o5)", "F.embedding(ids, wide)",
    ("F.one_hot(c)", "F.one_hot(c, dtype='int64')"),
    ("F.one_hot(c, 6)", "F.one_hot(c, 6, dtype='int64')"),
    "F.dropout(x, 0.5, False)", "F.dropout(x, p=0.3, training=False)", "F.dropout(x, 0.0)",
    "F.alpha_dropout(x, 0.5, False)", "F.dropout2d(image, 0.0)", "F.dropout1d(line, 0.5, False)",
    "F.dropout3d(volume, p=0.5, training=False)", "F.feature_alpha_dropout(line, 0.0, True)",
    "F.pad(x, (1, 2))", "F.pad(image, (1, 2, 0, 1))", "F.pad(image, (1, 2), value=3.0)",
    "F.pad(image, (1, 2, 0, 1), mode='reflect')", "F.pad(image, (1, 2, 0, 1), 'replicate')",
    "F.pad(line, (2, 1), mode='reflect')",
    ("F.pad(x, (1, 0, 0, 2))", "F.pad(x, [(0, 2), (1, 0)])"),
    "F.interpolate(image, scale_factor=2)", "F.interpolate(image, size=(3, 4))",
    "F.interpolate(image, size=(7, 9), mode='bilinear')",
    "F.interpolate(image, size=(7, 9), mode='bilinear', align_corners=True)",
    "F.interpolate(image, scale_factor=(2, 1.5), mode='bilinear')",
    "F.interpolate(image, scale_factor=0.5)", "F.interpolate(line, scale_factor=2)",
    "F.interpolate(line, size=5, mode='linear')", "F.interpolate(line, 5, mode='linear')",
    "F.interpolate(volume, size=(2, 5, 4), mode='trilinear', align_corners=True)",
    "F.interpolate(volume, scale_factor=2.0, mode='trilinear')",
    "F.interpolate(image, scale_factor=(1.75, 0.625), mode='bilinear')",
    "F.interpolate(image, scale_factor=1.75, mode='bilinear', recompute_scale_factor=True)",
    "F.interpolate(image, scale_factor=1.75, mode='bicubic')",
    "F.interpolate(image, size=(7, 9), mode='bicubic', align_corners=True)",
    "F.interpolate(image, size=(3, 4), mode='bicubic', align_corners=False)",
    "F.interpolate(line, scale_factor=1.375)",
    "F.interpolate(line, scale_factor=1.375, mode='linear')",
    "F.interpolate(volume, scale_factor=1.625)", "F.interpolate(volume, size=(2, 5, 4))",
    "F.interpolate(volume, scale_factor=(1.625, 0.75, 2), mode='trilinear')",
    "F.interpolate(image, size=(2, 3), mode='area')",
    "F.interpolate(line, scale_factor=0.5, mode='area')",
    "F.pad(image, (1, 2, 0, 1), mode='circular')", "F.pad(line, (2, 1), mode='circular')",
    "F.pad(volume, (1, 2, 0, 1, 1, 2), mode='circular')",
    "F.pad(volume, (1, 2, 0, 1, 1, 2), mode='reflect')",
    "F.pad(volume, (1, 2, 0, 1, 1, 2), mode='replicate')",
    "F.fold(three, (3, 3), 2)", "F.fold(F.unfold(image, 2, padding=1), (5, 6), 2, padding=1)",
    "F.pixel_unshuffle(g2, 3)", "F.pixel_unshuffle(F.interpolate(image, size=(4, 6)), 2)",
    ("F.rrelu(x)", "F.rrelu(x, training=False)"), "F.rrelu(x, 0.1, 0.3, training=False)",
    ("F.max_unpool1d(*F.max_pool1d(line, 2, return_indices=True), 2)",
     "F.max_unpool1d(*F.max_pool1d(line, 2, return_mask=True), 2)"),
    ("F.max_unpool3d(*F.max_pool3d(volume, (2, 2, 1), return_indices=True), (2, 2, 1))",
     "F.max_unpool3d(*F.max_pool3d(volume, (2, 2, 1), return_mask=True), (2, 2, 1))"),
    "F.interpolate(image, 4, mode='bilinear')", "F.upsample(image, scale_factor=2, mode='nearest')",
    "F.pixel_shuffle(image, 2)", ("torch.channel_shuffle(image, 2)", "F.channel_shuffle(image, 2)"),
    "F.unfold(image, 2)", "F.unfold(image, (3, 2), stride=2, padding=1, dilation=1)",
    "F.grid_sample(image, grid, align_corners=True)",
    "F.grid_sample(image, grid, align_corners=False)",
    "F.grid_sample(image, grid, mode='nearest', align_corners=False)",
    "F.grid_sample(image, grid, padding_mode='border', align_corners=False)",
    "F.grid_sample(image, grid, 'bilinear', 'reflection', align_corners=True)",
    "F.affine_grid(theta, [2, 4, 3, 2], align_corners=True)",
    "F.affine_grid(theta, size=(2, 4, 3, 2), align_corners=False)",
    "F.scaled_dot_product_attention(qq, kk, vv)",
    "F.scaled_dot_product_attention(qq, kk, vv, seen)",
    "F.scaled_dot_product_attention(qq, qq, qq, is_causal=True)",
    "F.scaled_dot_product_attention(qq, kk, vv, scale=0.25)",
]  # fmt: skip

PADDLE = [
    "F.swish(x)", "F.log_sigmoid(x)", "F.thresholded_relu(x)", "F.thresholded_relu(x, 0.25)",
    "F.maxout(image, 2)", "F.gelu(x, approximate=True)", "F.hardsigmoid(x)", "F.softmax(x)",
    "F.log_softmax(x)", "F.softmax(image, axis=1)", "F.selu(x)", "F.hardtanh(x, -0.5, 0.5)",
    "F.square_error_cost(x, y)", "F.cross_entropy(x, c)", "F.cross_entropy(x, label=c, weight=w4)",
    "F.cross_entropy(x, t, soft_label=True)", "F.cross_entropy(x, c.reshape([3, 1]))",
    "F.cross_entropy(image.transpose([0, 2, 3, 1]), cimg)",
    "F.cross_entropy(x, c, None, -100, 'sum')", "F.nll_loss(x, c, w4)",
    "F.cross_entropy(image, cimg, axis=1)", "F.cross_entropy(x, c, label_smoothing=0.1)",
    "F.binary_cross_entropy(q, label=bits)", "F.kl_div(x, t)", "F.mse_loss(input=x, label=y)",
    "F.binary_cross_entropy_with_logits(logit=x, label=bits, weight=None, reduction='sum')",
    "F.smooth_l1_loss(x, y)", "F.smooth_l1_loss(x, label=y, reduction='none')",
    "F.multi_label_soft_margin_loss(x, bits)", "F.cosine_similarity(x, y, axis=0)",
    "F.margin_ranking_loss(x, other=y, label=signs)",
    "F.triplet_margin_loss(input=x, positive=y, negative=z, margin=2.0)",
    "F.ctc_loss(log_probs=steps, labels=words.astype('int32'), input_lengths=long, "
    "label_lengths=short)",
    "F.conv1d(x=line, weight=k1)", "F.conv2d(image, k2, b6, 2, 1, 1, 1)",
    "F.conv2d(image, g2, padding=[1, 1], groups=2)", "F.conv3d(volume, k3, b2)",
    "F.conv1d_transpose(line, u1, b3, 2, 1, 1)", "F.conv2d_transpose(image, u2, b3, 2, 1, 1)",
    "F.conv2d_transpose(image, u2, stride=2, output_size=[11, 12])",
    "F.conv3d_transpose(volume, u3, b3)",
    "F.max_pool2d(x=image, kernel_size=3, stride=2, padding=1)",
    "F.max_pool2d(image, 2, return_mask=True)[1]", "F.max_pool1d(line, 2, 2)",
    "F.avg_pool2d(image, 3, 2, padding=1, exclusive=True)",
    "F.avg_pool2d(image, 3, 2, padding=1, exclusive=False)", "F.avg_pool1d(line, 3, 2)",
    "F.adaptive_avg_pool2d(image, [3, 4])", "F.adaptive_max_pool1d(line, 3)",
    "F.batch_norm(image, mean4, var4, w4, b4)", "F.layer_norm(x, 4, w4, b4, 0.001)",
    "F.batch_norm(image, mean4, var4, w4, b4, True, 0.5)",
    "F.instance_norm(image)", "F.normalize(x, axis=0)", "F.normalize(image, p=3, axis=-1)",
    "F.local_response_norm(image, 3)", "F.local_response_norm(image, 3, 0.5, 0.5, 2.0)",
    "F.linear(x, square)", "F.linear(x, weight=square, bias=b4)", "F.embedding(ids, wide)",
    "F.embedding(ids, wide - wide[4], padding_idx=4)",
    "F.embedding(x=ids, weight=wide - wide[0], padding_idx=-5)",
    "F.one_hot(c, 4)", "F.one_hot(x=c, num_classes=5)", "F.label_smooth(bits)",
    "F.label_smooth(bits, epsilon=0.25)", "F.sequence_mask(n)", "F.sequence_mask(n, maxlen=4)",
    "F.sequence_mask(n, 4, dtype='int32')", "F.dropout(x, training=False)",
    "F.dropout(x, 0.25, training=False, mode='downscale_in_infer')",
    "F.zeropad2d(image, [1, 0, 2, 1])", "F.pad(image, [1, 0, 2, 1], value=0.5)",
    "F.pad(image, [1, 0, 2, 1], mode='reflect')", "F.prelu(image, weight=slopes)",
    "F.interpolate(image, size=[7, 9])", "F.interpolate(x=image, size=[7, 9], mode='bilinear')",
    "F.interpolate(image, size=[10, 12], mode='bilinear', align_corners=False, align_mode=1)",
    "F.upsample(image, size=[7, 9], mode='bilinear', align_corners=True)",
    "F.interpolate(image, scale_factor=[0.5, 2], mode='bilinear')",
    "F.interpolate(image, scale_factor=0.5, mode='bicubic')",
    "F.interpolate(image, size=[9, 11], mode='bicubic', align_corners=True)",
    "F.interpolate(image, scale_factor=1.75)", "F.interpolate(image, size=[2, 3], mode='area')",
    "F.interpolate(line, scale_factor=[0.5], mode='linear', data_format='NCW')",
    "F.interpolate(volume, scale_factor=2, mode='trilinear', data_format='NCDHW')",
    "F.interpolate(volume, scale_factor=0.5, mode='nearest', data_format='NCDHW')",
    "F.pad(image, [1, 0, 2, 1], mode='circular')", "F.celu(x, 0.5)",
    ("F.pad(volume, [1, 0, 2, 1, 1, 2], mode='circular', data_format='NCDHW')",
     "F.pad(volume, [1, 0, 2, 1, 1, 2], mode='circular')"),
    "F.pixel_unshuffle(g2, 3)", "F.rrelu(x, 0.1, 0.3, training=False)",
    "F.fold(three, output_sizes=[3, 3], kernel_sizes=2)",
    "F.pixel_shuffle(image, 2)", "F.channel_shuffle(image, 2)", "F.unfold(image, 2)",
    "F.unfold(image, kernel_sizes=[3, 2], strides=2, paddings=1)", "F.glu(x, axis=-1)",
    "F.grid_sample(image, grid, align_corners=True)", "F.bilinear(x, y, three)",
    "F.affine_grid(theta, [2, 4, 3, 2], align_corners=False)", "F.relu6(big)", "F.mish(x)",
    "F.softshrink(x, threshold=1.0)", "F.tanhshrink(x)", "F.softplus(x, beta=2, threshold=1)",
]  # fmt: skip

LINES = {"torch": TORCH, "paddle": PADDLE}

# A layer of torch.nn as it is made without further arguments, with the inputs of its call, and
# ours where the line differs. Names of torch's layers of images end in a small d.
LAYERS = [
    *((f"{name}()", "x", None) for name in (
        "Identity", "ReLU", "ReLU6", "LeakyReLU", "ELU", "SELU", "GELU", "SiLU", "Mish",
        "Hardswish", "Hardsigmoid", "Hardshrink", "Softshrink", "Tanhshrink", "Softplus",
        "Softsign", "LogSigmoid", "Sigmoid", "Tanh", "PReLU", "Dropout", "AlphaDropout")),
    ("Softmax(-1)", "x", None), ("LogSoftmax(-1)", "x", None), ("PReLU(4)", "image", None),
    ("ELU(0.5)", "x", None), ("LeakyReLU(0.25)", "x", None), ("Softplus(2.0, 1.0)", "x", None),
    ("GELU('tanh')", "x", None), ("GELU('none')", "x", None),
    ("Linear(4, 5)", "x", None), ("Linear(4, 4)", "x", None), ("Linear(4, 4)", "three", None),
    ("Embedding(5, 4)", "ids", "Embedding([5, 4])"),
    ("Conv1d(4, 6, 3)", "line", None), ("Conv2d(4, 6, 3)", "image", None),
    ("Conv2d(4, 6, (3, 2), 2, 1, 1, 2)", "image", None), ("Conv3d(2, 3, 2)", "volume", None),
    ("ConvTranspose1d(4, 3, 3)", "line", "Conv1DTranspose(4, 3, 3)"),
    ("ConvTranspose2d(4, 3, 3, 2, 1, 1)", "image",
     "Conv2DTranspose(4, 3, 3, stride=2, padding=1, output_padding=1)"),
    ("ConvTranspose3d(2, 3, 2)", "volume", "Conv3DTranspose(2, 3, 2)"),
    ("BatchNorm1d(4)", "x", None), ("BatchNorm1d(4)", "line", None),
    ("BatchNorm2d(4)", "image", None), ("BatchNorm3d(2)", "volume", None),
    ("BatchNorm2d(4).train()", "image", None), ("InstanceNorm1d(4)", "line", None),
    ("InstanceNorm2d(4, affine=True)", "image", "InstanceNorm2D(4)"),
    ("InstanceNorm3d(2)", "volume", None), ("LayerNorm(4)", "x", None),
    ("LayerNorm([5, 6])", "image", None), ("GroupNorm(2, 4)", "image", "GroupNorm(4, 2)"),
    ("RMSNorm(4)", "x", None), ("LocalResponseNorm(3)", "image", None),
    ("MaxPool1d(2)", "line", None), ("MaxPool2d(3, 2, 1)", "image", None),
    ("MaxPool3d(2)", "volume", None), ("AvgPool1d(2)", "line", None),
    ("AvgPool2d((3, 2), 1)", "image", None), ("AvgPool3d(2)", "volume", None),
    ("AvgPool2d(3, 2, 1)", "image", "AvgPool2D(3, 2, 1, exclusive=False)"),
    ("AdaptiveAvgPool1d(3)", "line", None), ("AdaptiveAvgPool2d((3, 4))", "image", None),
    ("AdaptiveAvgPool3d(2)", "volume", None), ("AdaptiveMaxPool1d(3)", "line", None),
    ("AdaptiveMaxPool2d((3, 4))", "image", None), ("AdaptiveMaxPool3d(2)", "volume", None),
    ("Flatten()", "image", None), ("PixelShuffle(2)", "image", None),
    ("Unfold(2)", "image", None), ("Upsample(scale_factor=2)", "image", None),
    ("Fold((3, 3), 2)", "three", None), ("PixelUnshuffle(3)", "g2", None),
    ("ChannelShuffle(2)", "image", None), ("CELU()", "x", None), ("CELU(0.5)", "x", None),
    ("RReLU()", "x", None), ("RReLU(0.1, 0.3)", "x", None),
    ("Upsample(scale_factor=1.5, mode='bicubic')", "image", None),
    ("Upsample(5, mode='linear')", "line", None),
    ("Upsample(size=(7, 9), mode='bilinear')", "image", None),
    ("UpsamplingBilinear2d(scale_factor=2)", "image", None),
    ("UpsamplingNearest2d(scale_factor=2)", "image", None),
    ("ZeroPad2d((1, 2, 0, 1))", "image", "Pad2D([1, 2, 0, 1])"),
    ("ReflectionPad2d((1, 2, 0, 1))", "image", "Pad2D([1, 2, 0, 1], 'reflect')"),
    ("RNN(4, 3, batch_first=True)", "three", "SimpleRNN(4, 3, batch_first=True)"),
    ("LSTM(4, 3, 2, batch_first=True)", "three", None),
    ("GRU(4, 3, batch_first=True, bidirectional=True)", "three",
     "GRU(4, 3, direction='bidirectional', batch_first=True)"),
    ("RNNCell(4, 3)", "x", "SimpleRNNCell(4, 3)"), ("LSTMCell(4, 3)", "x", None),
    ("GRUCell(4, 3)", "x", None),
    *((f"{name}()", args, None) for name, args in (
        ("L1Loss", "x, y"), ("MSELoss", "x, y"), ("SmoothL1Loss", "x, y"), ("HuberLoss", "x, y"),
        ("BCELoss", "q, bits"), ("BCEWithLogitsLoss", "x, bits"), ("CrossEntropyLoss", "x, c"),
        ("CrossEntropyLoss", "x, ci"), ("CrossEntropyLoss", "x, t"),
        ("CrossEntropyLoss", "image, cimg"), ("NLLLoss", "x, ci"), ("NLLLoss", "image, cimg"),
        ("KLDivLoss", "x, t"), ("SoftMarginLoss", "x, signs"),
        ("MarginRankingLoss", "x, y, signs"), ("HingeEmbeddingLoss", "x, signs"),
        ("CosineEmbeddingLoss", "x, y, sign3"), ("TripletMarginLoss", "x, y, z"),
        ("PoissonNLLLoss", "x, v"), ("GaussianNLLLoss", "x, y, v"),
        ("CTCLoss", "steps, words, long, short"))),
    ("CrossEntropyLoss(label_smoothing=0.25)", "x, c", None),
    ("KLDivLoss(reduction='batchmean', log_target=True)", "x, y", None),
    ("SmoothL1Loss(beta=0.5)", "x, y", None), ("HuberLoss('sum', 0.5)", "x, y", None),
    ("MarginRankingLoss(0.5)", "x, y, signs", None),
    ("TripletMarginLoss(2.0, 3.0, 1e-3, True)", "x, y, z", None),
]  # fmt: skip


def weight(name, shape):
    """The value of a parameter or buffer; what ends in var is a variance."""
    made = wave(*shape, start=len(name))
    return np.exp(made) if name.endswith("var") else made


def our_line(line, own):
    return own or re.sub(r"(?<=[123])d\b", "D", line)


def names_in(line):
    import ast

    used = {
        node.id for node in ast.walk(ast.parse(line, mode="eval")) if isinstance(node, ast.Name)
    }
    return sorted(used & set(ARRAYS))


def differentiated(line):
    """The arrays whose gradients are compared: of a loss only its input."""
    names = [n for n in names_in(line) if ARRAYS[n].dtype.kind == "f"]
    if any(part in line for part in ("_loss", "entropy", "kl_div", "square_error")):
        return sorted(names, key=lambda n: re.search(rf"\b{n}\b", line).start())[:1]
    return [n for n in names if n not in ("mean4", "var4")]


def probe(shape):
    """Factors of a result whose gradient is asked for."""
    return np.cos(np.arange(math.prod(shape), dtype="float64")).reshape(shape)


def digest(array):
    """What the record keeps of an array: its sum with two kinds of factors, and twelve elements."""
    flat = np.asarray(array, "float64").ravel()
    i = np.arange(flat.size)
    kept = [flat @ np.cos(i), flat @ np.sin(i * i), *flat[:: max(1, -(-flat.size // 12))]]
    return [float(f"{v:.8g}") for v in kept]


def record(peer):
    if peer == "torch":
        import torch
        import torch.nn.functional as F

        spaces = {"F": F, "torch": torch}

        def leaf(array, grad):
            return torch.tensor(array).requires_grad_(grad)

    else:
        import paddle
        import paddle.nn.functional as F

        spaces = {"F": F, "paddle": paddle}

        def leaf(array, grad):
            return paddle.to_tensor(array, stop_gradient=not grad)

    found = {}
    for pair in LINES[peer]:
        line = pair if isinstance(pair, str) else pair[0]
        wanted = differentiated(line)
        given = {n: leaf(ARRAYS[n].copy(), n in wanted) for n in names_in(line)}
        running = line.startswith("F.batch_norm")
        out = eval(line, {**spaces, **given})
        value = out.detach().numpy()
        entry = {"shape": list(value.shape), "type": str(value.dtype), "value": digest(value)}
        if value.dtype.kind == "f":
            factors = (
                torch.tensor(probe(value.shape))
                if peer == "torch"
                else paddle.to_tensor(probe(value.shape))
            )
            (out * factors).sum().backward()
            grads = {n: v.grad for n, v in given.items() if v.grad is not None}
            entry["grads"] = {n: digest(g.numpy()) for n, g in grads.items()}
        if running and peer == "paddle":
            entry["mean4"], entry["var4"] = (digest(given[n].numpy()) for n in ("mean4", "var4"))
        found[line] = entry
    return found


def record_layers():
    import torch

    found = {}
    for line, names, _ in LAYERS:
        layer = eval(line, vars(torch.nn)).double()
        if not line.endswith("train()"):
            layer.eval()
        state = {n: list(t.shape) for n, t in layer.state_dict().items()}
        layer.load_state_dict(
            {n: torch.tensor(weight(n, shape)) for n, shape in state.items()}, strict=False
        )
        out = layer(*(torch.tensor(ARRAYS[n]) for n in names.split(", ")))
        out = (out[0] if isinstance(out, tuple) else out).detach().numpy()
        found[f"{line} of {names}"] = {
            "state": state, "shape": list(out.shape), "value": digest(out)
        }  # fmt: skip
    return found


def write(name, entries):
    text = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in entries.items())
    (HERE / f"{name}.json").write_text("{\n" + text + "\n}\n")


if __name__ == "__main__":
    which = sys.argv[1]
    write(f"functional_{which}", record(which))
    if which == "torch":
        write("layers_torch", record_layers())
