"""Layer functions take Fluid's arguments, in its order and with its defaults."""

import ast
import inspect

import pytest

from dygraph.static import layers, nets

# Of Fluid 1.8.5; `fc` has the documents' is_test as well.
SIGNATURES = """
Assert(cond, data=None, summarize=20, name=None)
BasicDecoder(cell, helper, output_fn=None)
BeamSearchDecoder(cell, start_token, end_token, beam_size, embedding_fn=None, output_fn=None)
DynamicRNN(name=None)
GRUCell(hidden_size, param_attr=None, bias_attr=None, gate_activation=None, activation=None,
    dtype="float32", name="GRUCell")
GreedyEmbeddingHelper(embedding_fn, start_tokens, end_token)
IfElse(cond, name=None)
LSTMCell(hidden_size, param_attr=None, bias_attr=None, gate_activation=None, activation=None,
    forget_bias=1.0, dtype="float32", name="LSTMCell")
SampleEmbeddingHelper(embedding_fn, start_tokens, end_token, softmax_temperature=None, seed=None)
StaticRNN(name=None)
Switch(name=None)
TrainingHelper(inputs, sequence_length, time_major=False)
While(cond, is_test=False, name=None)
array_length(array)
array_read(array, i)
array_to_lod_tensor(x, table)
array_write(x, i, array=None)
beam_search(pre_ids, pre_scores, ids, scores, beam_size, end_id, level=0, is_accumulated=True,
    name=None, return_parent_idx=False)
beam_search_decode(ids, scores, beam_size, end_id, name=None)
case(pred_fn_pairs, default=None, name=None)
cond(pred, true_fn=None, false_fn=None, name=None)
create_array(dtype)
dynamic_decode(decoder, inits=None, max_step_num=None, output_time_major=False,
    impute_finished=False, is_test=False, return_length=False)
load(out, file_path, load_as_fp16=None)
lod_rank_table(x, level=0)
lod_tensor_to_array(x, table)
max_sequence_len(rank_table)
merge_lod_tensor(in_true, in_false, x, mask, level=0)
reorder_lod_tensor_by_rank(x, rank_table)
rnn(cell, inputs, initial_states=None, sequence_length=None, time_major=False, is_reverse=False)
shrink_memory(x, i, table)
split_lod_tensor(input, mask, level=0)
switch_case(branch_index, branch_fns, default=None, name=None)
tensor_array_to_tensor(input, axis=1, name=None, use_stack=False)
while_loop(cond, body, loop_vars, is_test=False, name=None)
abs(x, name=None)
Categorical(logits)
MultivariateNormalDiag(loc, scale)
Normal(loc, scale)
Print(input, first_n=-1, message=None, summarize=20, print_tensor_name=True,
    print_tensor_type=True, print_tensor_shape=True, print_tensor_lod=True, print_phase="both")
Uniform(low, high)
accuracy(input, label, k=1, correct=None, total=None)
acos(x, name=None)
adaptive_pool2d(input, pool_size, pool_type="max", require_index=False, name=None)
adaptive_pool3d(input, pool_size, pool_type="max", require_index=False, name=None)
add_position_encoding(input, alpha, beta, name=None)
addcmul(input, tensor1, tensor2, value=1.0, out=None, name=None)
addmm(input, x, y, alpha=1.0, beta=1.0, name=None)
affine_channel(x, scale=None, bias=None, data_layout="NCHW", name=None, act=None)
affine_grid(theta, out_shape, name=None)
allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False, name=None)
arange(start, end, step=1, dtype=None, name=None)
argmax(x, axis=0)
argmin(x, axis=0)
argsort(input, axis=-1, descending=False, name=None)
asin(x, name=None)
assign(input, output=None)
atan(x, name=None)
auc(input, label, curve="ROC", num_thresholds=4095, topk=1, slide_steps=1)
autoincreased_step_counter(counter_name=None, begin=1, step=1)
batch_norm(input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None,
    bias_attr=None, data_layout="NCHW", in_place=False, name=None, moving_mean_name=None,
    moving_variance_name=None, do_model_average_for_mean_and_var=True, use_global_stats=False)
bilinear_tensor_product(x, y, size, act=None, name=None, param_attr=None, bias_attr=None)
bmm(x, y, name=None)
bpr_loss(input, label, name=None)
brelu(x, t_min=0.0, t_max=24.0, name=None)
cast(x, dtype)
ceil(x, name=None)
center_loss(input, label, num_classes, alpha, param_attr, update_center=True)
chunk_eval(input, label, chunk_scheme, num_chunk_types, excluded_chunk_types=None,
    seq_length=None)
clamp(input, min=None, max=None, output=None, name=None)
clip(x, min, max, name=None)
clip_by_norm(x, max_norm, name=None)
concat(input, axis=0, name=None)
continuous_value_model(input, cvm, use_cvm=True)
conv2d(input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None,
    param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None, data_format="NCHW")
conv2d_transpose(input, num_filters, output_size=None, filter_size=None, padding=0, stride=1,
    dilation=1, groups=None, param_attr=None, bias_attr=None, use_cudnn=True, act=None,
    name=None, data_format="NCHW")
conv3d(input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None,
    param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None, data_format="NCDHW")
conv3d_transpose(input, num_filters, output_size=None, filter_size=None, padding=0, stride=1,
    dilation=1, groups=None, param_attr=None, bias_attr=None, use_cudnn=True, act=None,
    name=None, data_format="NCDHW")
cos(x, name=None)
cos_sim(X, Y)
cosine_decay(learning_rate, step_each_epoch, epochs)
create_global_var(shape, value, dtype, persistable=False, force_cpu=False, name=None)
create_parameter(shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None)
create_py_reader_by_data(capacity, feed_list, name=None, use_double_buffer=True)
create_tensor(dtype, name=None, persistable=False)
crf_decoding(input, param_attr, label=None, length=None)
crop(x, shape=None, offsets=None, name=None)
crop_tensor(x, shape=None, offsets=None, name=None)
cross(input, other, dim=None)
cross_entropy(input, label, soft_label=False, ignore_index=-100)
ctc_greedy_decoder(input, blank, input_length=None, padding_value=0, name=None)
cumsum(x, axis=None, exclusive=None, reverse=None)
data(name, shape, append_batch_size=True, dtype="float32", lod_level=0, type="LOD_TENSOR",
    stop_gradient=True)
data_norm(input, act=None, epsilon=1e-05, param_attr=None, data_layout="NCHW", in_place=False,
    name=None, moving_mean_name=None, moving_variance_name=None,
    do_model_average_for_mean_and_var=True, slot_dim=-1, sync_stats=False,
    summary_decay_rate=0.9999999, enable_scale_and_shift=False)
diag(diagonal)
diag_embed(input, offset=0, dim1=-2, dim2=-1)
dice_loss(input, label, epsilon=1e-05, name=None)
dist(x, y, p=2)
dot(x, y, name=None)
double_buffer(reader, place=None, name=None)
dropout(x, dropout_prob, is_test=False, seed=None, name=None,
    dropout_implementation="downgrade_in_infer")
dynamic_gru(input, size, param_attr=None, bias_attr=None, is_reverse=False,
    gate_activation="sigmoid", candidate_activation="tanh", h_0=None, origin_mode=False)
dynamic_lstm(input, size, h_0=None, c_0=None, param_attr=None, bias_attr=None,
    use_peepholes=True, is_reverse=False, gate_activation="sigmoid", cell_activation="tanh",
    candidate_activation="tanh", dtype="float32", name=None)
dynamic_lstmp(input, size, proj_size, param_attr=None, bias_attr=None, use_peepholes=True,
    is_reverse=False, gate_activation="sigmoid", cell_activation="tanh",
    candidate_activation="tanh", proj_activation="tanh", dtype="float32", name=None, h_0=None,
    c_0=None, cell_clip=None, proj_clip=None)
edit_distance(input, label, normalized=True, ignored_tokens=None, input_length=None,
    label_length=None)
elementwise_add(x, y, axis=-1, act=None, name=None)
elementwise_div(x, y, axis=-1, act=None, name=None)
elementwise_equal(x, y, name=None)
elementwise_floordiv(x, y, axis=-1, act=None, name=None)
elementwise_max(x, y, axis=-1, act=None, name=None)
elementwise_min(x, y, axis=-1, act=None, name=None)
elementwise_mod(x, y, axis=-1, act=None, name=None)
elementwise_mul(x, y, axis=-1, act=None, name=None)
elementwise_pow(x, y, axis=-1, act=None, name=None)
elementwise_sub(x, y, axis=-1, act=None, name=None)
elu(x, alpha=1.0, name=None)
embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None,
    dtype="float32")
equal(x, y, cond=None)
erf(x)
exp(x, name=None)
expand(x, expand_times, name=None)
expand_as(x, target_tensor, name=None)
exponential_decay(learning_rate, decay_steps, decay_rate, staircase=False)
eye(num_rows, num_columns=None, batch_shape=None, dtype="float32")
fc(input, size, num_flatten_dims=1, param_attr=None, bias_attr=None, act=None, is_test=False,
    name=None)
fill_constant(shape, dtype, value, force_cpu=False, out=None)
fill_constant_batch_size_like(input, shape, dtype, value, input_dim_idx=0, output_dim_idx=0,
    force_cpu=False)
flatten(x, axis=1, name=None)
flip(input, dims, name=None)
floor(x, name=None)
fsp_matrix(x, y)
full(shape, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None)
full_like(input, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None)
gather(input, index, overwrite=True)
gather_nd(input, index, name=None)
gather_tree(ids, parents)
gaussian_random(shape, mean=0.0, std=1.0, seed=0, dtype="float32")
gaussian_random_batch_size_like(input, shape, input_dim_idx=0, output_dim_idx=0, mean=0.0,
    std=1.0, seed=0, dtype="float32")
gelu(x, approximate=False)
get_tensor_from_selected_rows(x, name=None)
greater_equal(x, y, cond=None)
greater_than(x, y, cond=None)
grid_sampler(x, grid, name=None)
group_norm(input, groups, epsilon=1e-05, param_attr=None, bias_attr=None, act=None,
    data_layout="NCHW", name=None)
gru_unit(input, hidden, size, param_attr=None, bias_attr=None, activation="tanh",
    gate_activation="sigmoid", origin_mode=False)
hard_shrink(x, threshold=None)
hard_sigmoid(x, slope=0.2, offset=0.5, name=None)
hard_swish(x, threshold=6.0, scale=6.0, offset=3.0, name=None)
has_inf(x)
has_nan(x)
hash(input, hash_size, num_hash=1, name=None)
hsigmoid(input, label, num_classes, param_attr=None, bias_attr=None, name=None, path_table=None,
    path_code=None, is_custom=False, is_sparse=False)
huber_loss(input, label, delta)
im2sequence(input, filter_size=1, stride=1, padding=0, input_image_size=None, out_stride=1,
    name=None)
image_resize(input, out_shape=None, scale=None, name=None, resample="BILINEAR",
    actual_shape=None, align_corners=True, align_mode=1, data_format="NCHW")
image_resize_short(input, out_short_len, resample="BILINEAR")
increment(x, value=1.0, in_place=True)
index_sample(x, index)
index_select(input, index, dim=0)
inplace_abn(input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None,
    bias_attr=None, data_layout="NCHW", name=None, moving_mean_name=None,
    moving_variance_name=None, do_model_average_for_mean_and_var=True, use_global_stats=False,
    act_alpha=1.0)
instance_norm(input, epsilon=1e-05, param_attr=None, bias_attr=None, name=None)
interpolate(input, out_shape=None, scale=None, name=None, resample="BILINEAR",
    actual_shape=None, align_corners=True, align_mode=1, data_format="NCHW")
inverse_time_decay(learning_rate, decay_steps, decay_rate, staircase=False)
is_empty(x, cond=None)
isfinite(x)
kldiv_loss(x, target, reduction="mean", name=None)
kron(x, y, out=None, name=None)
l2_normalize(x, axis, epsilon=1e-12, name=None)
label_smooth(label, prior_dist=None, epsilon=0.1, dtype="float32", name=None)
layer_norm(input, scale=True, shift=True, begin_norm_axis=1, epsilon=1e-05, param_attr=None,
    bias_attr=None, act=None, name=None)
leaky_relu(x, alpha=0.02, name=None)
less_equal(x, y, cond=None)
less_than(x, y, force_cpu=None, cond=None)
linear_chain_crf(input, label, param_attr=None, length=None)
linear_lr_warmup(learning_rate, warmup_steps, start_lr, end_lr)
linspace(start, stop, num, dtype)
lod_append(x, level)
lod_reset(x, y=None, target_lod=None)
log(x, name=None)
log1p(x, out=None, name=None)
log_loss(input, label, epsilon=0.0001, name=None)
log_softmax(input, axis=None, dtype=None, name=None)
logical_and(x, y, out=None, name=None)
logical_not(x, out=None, name=None)
logical_or(x, y, out=None, name=None)
logical_xor(x, y, out=None, name=None)
logsigmoid(x, name=None)
logsumexp(x, dim=None, keepdim=False, out=None, name=None)
lrn(input, n=5, k=1.0, alpha=0.0001, beta=0.75, name=None, data_format="NCHW")
lstm(input, init_h, init_c, max_len, hidden_size, num_layers, dropout_prob=0.0,
    is_bidirec=False, is_test=False, name=None, default_initializer=None, seed=-1)
lstm_unit(x_t, hidden_t_prev, cell_t_prev, forget_bias=0.0, param_attr=None, bias_attr=None,
    name=None)
margin_rank_loss(label, left, right, margin=0.1, name=None)
matmul(x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None)
maxout(x, groups, name=None, axis=1)
mean(x, name=None)
mean_iou(input, label, num_classes)
merge_selected_rows(x, name=None)
meshgrid(input, name=None)
mish(x, threshold=20, name=None)
mse_loss(input, label)
mul(x, y, x_num_col_dims=1, y_num_col_dims=1, name=None)
multiplex(inputs, index)
natural_exp_decay(learning_rate, decay_steps, decay_rate, staircase=False)
nce(input, label, num_total_classes, sample_weight=None, param_attr=None, bias_attr=None,
    num_neg_samples=None, name=None, sampler="uniform", custom_dist=None, seed=0,
    is_sparse=False)
noam_decay(d_model, warmup_steps, learning_rate=1.0)
nonzero(input, as_tuple=False)
not_equal(x, y, cond=None)
npair_loss(anchor, positive, labels, l2_reg=0.002)
one_hot(input, depth, allow_out_of_range=False)
ones(shape, dtype, force_cpu=False)
ones_like(x, out=None)
pad(x, paddings, pad_value=0.0, name=None)
pad2d(input, paddings=[0, 0, 0, 0], mode="constant", pad_value=0.0, data_format="NCHW",
    name=None)
pad_constant_like(x, y, pad_value=0.0, name=None)
piecewise_decay(boundaries, values)
pixel_shuffle(x, upscale_factor)
polynomial_decay(learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False)
pool2d(input, pool_size=-1, pool_type="max", pool_stride=1, pool_padding=0,
    global_pooling=False, use_cudnn=True, ceil_mode=False, name=None, exclusive=True,
    data_format="NCHW")
pool3d(input, pool_size=-1, pool_type="max", pool_stride=1, pool_padding=0,
    global_pooling=False, use_cudnn=True, ceil_mode=False, name=None, exclusive=True,
    data_format="NCDHW")
pow(x, factor=1.0, name=None)
prelu(x, mode, param_attr=None, name=None)
py_func(func, x, out, backward_func=None, skip_vars_in_backward_input=None)
py_reader(capacity, shapes, dtypes, lod_levels=None, name=None, use_double_buffer=True)
randint(low, high=None, shape=None, out=None, dtype=None, device=None, stop_gradient=False,
    seed=0, name=None)
randn(shape, out=None, dtype=None, device=None, stop_gradient=True, name=None)
randperm(n, out=None, dtype="int64", device=None, stop_gradient=True, seed=0)
random_crop(x, shape, seed=None)
range(start, end, step, dtype)
rank(input)
rank_loss(label, left, right, name=None)
read_file(reader)
reciprocal(x, name=None)
reduce_all(input, dim=None, keep_dim=False, name=None)
reduce_any(input, dim=None, keep_dim=False, name=None)
reduce_max(input, dim=None, keep_dim=False, name=None)
reduce_mean(input, dim=None, keep_dim=False, name=None)
reduce_min(input, dim=None, keep_dim=False, name=None)
reduce_prod(input, dim=None, keep_dim=False, name=None)
reduce_sum(input, dim=None, keep_dim=False, name=None)
relu(x, name=None)
relu6(x, threshold=6.0, name=None)
reshape(x, shape, actual_shape=None, act=None, inplace=False, name=None)
resize_bilinear(input, out_shape=None, scale=None, name=None, actual_shape=None,
    align_corners=True, align_mode=1, data_format="NCHW")
resize_nearest(input, out_shape=None, scale=None, name=None, actual_shape=None,
    align_corners=True, data_format="NCHW")
resize_trilinear(input, out_shape=None, scale=None, name=None, actual_shape=None,
    align_corners=True, align_mode=1, data_format="NCDHW")
reverse(x, axis)
roll(input, shifts, dims=None)
round(x, name=None)
row_conv(input, future_context_size, param_attr=None, act=None)
rsqrt(x, name=None)
sampled_softmax_with_cross_entropy(logits, label, num_samples, num_true=1,
    remove_accidental_hits=True, use_customized_samples=False, customized_samples=None,
    customized_probabilities=None, seed=0)
sampling_id(x, min=0.0, max=1.0, seed=0, dtype="float32")
scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None)
scatter(input, index, updates, name=None, overwrite=True)
scatter_nd(index, updates, shape, name=None)
scatter_nd_add(ref, index, updates, name=None)
selu(x, scale=None, alpha=None, name=None)
sequence_concat(input, name=None)
sequence_conv(input, num_filters, filter_size=3, filter_stride=1, padding=True,
    padding_start=None, bias_attr=None, param_attr=None, act=None, name=None)
sequence_enumerate(input, win_size, pad_value=0, name=None)
sequence_expand(x, y, ref_level=-1, name=None)
sequence_expand_as(x, y, name=None)
sequence_first_step(input)
sequence_last_step(input)
sequence_mask(x, maxlen=None, dtype="int64", name=None)
sequence_pad(x, pad_value, maxlen=None, name=None)
sequence_pool(input, pool_type, is_test=False, pad_value=0.0)
sequence_reshape(input, new_dim)
sequence_reverse(x, name=None)
sequence_scatter(input, index, updates, name=None)
sequence_slice(input, offset, length, name=None)
sequence_softmax(input, use_cudnn=False, name=None)
sequence_unpad(x, length, name=None)
shape(input)
shard_index(input, index_num, nshards, shard_id, ignore_value=-1)
shuffle_channel(x, group, name=None)
sigmoid(x, name=None)
sigmoid_cross_entropy_with_logits(x, label, ignore_index=-100, name=None, normalize=False)
sigmoid_focal_loss(x, label, fg_num, gamma=2.0, alpha=0.25)
sign(x)
similarity_focus(input, axis, indexes, name=None)
sin(x, name=None)
size(input)
slice(input, axes, starts, ends)
smooth_l1(x, y, inside_weight=None, outside_weight=None, sigma=None)
soft_relu(x, threshold=40.0, name=None)
softmax(input, use_cudnn=False, name=None, axis=-1)
softmax_with_cross_entropy(logits, label, soft_label=False, ignore_index=-100,
    numeric_stable_mode=True, return_softmax=False, axis=-1)
softplus(x, name=None)
softshrink(x, alpha=None)
softsign(x, name=None)
space_to_depth(x, blocksize, name=None)
spectral_norm(weight, dim=0, power_iters=1, eps=1e-12, name=None)
split(input, num_or_sections, dim=-1, name=None)
sqrt(x, name=None)
square(x, name=None)
square_error_cost(input, label)
squeeze(input, axes, name=None)
stack(x, axis=0)
stanh(x, scale_a=0.67, scale_b=1.7159, name=None)
strided_slice(input, axes, starts, ends, strides)
sum(x)
sums(input, out=None)
swish(x, beta=1.0, name=None)
t(input, name=None)
tanh(x, name=None)
tanh_shrink(x, name=None)
teacher_student_sigmoid_loss(input, label, soft_max_up_bound=15.0, soft_max_lower_bound=-15.0)
temporal_shift(x, seg_num, shift_ratio=0.25, name=None)
thresholded_relu(x, threshold=None)
topk(input, k, name=None)
trace(input, offset=0, dim1=0, dim2=1, out=None, name=None)
transpose(x, perm, name=None)
tril(input, diagonal=0, name=None)
triu(input, diagonal=0, name=None)
unfold(x, kernel_sizes, strides=1, paddings=0, dilations=1, name=None)
uniform_random(shape, dtype="float32", min=-1.0, max=1.0, seed=0)
uniform_random_batch_size_like(input, shape, dtype="float32", input_dim_idx=0, output_dim_idx=0,
    min=-1.0, max=1.0, seed=0)
unique(x, dtype="int32")
unique_with_counts(x, dtype="int32")
unsqueeze(input, axes, name=None)
unstack(x, axis=0, num=None)
warpctc(input, label, blank=0, norm_by_times=False, input_length=None, label_length=None)
where(condition)
zeros(shape, dtype, force_cpu=False)
zeros_like(x, out=None)
"""


def signatures():
    """(name, [(argument, default)]) of each."""
    whole = " ".join(SIGNATURES.split()).replace(") ", ")\n")
    for line in whole.splitlines():
        definition = ast.parse(f"def {line}: pass").body[0]
        names = [a.arg for a in definition.args.args]
        defaults = [ast.literal_eval(d) for d in definition.args.defaults]
        missing = [inspect.Parameter.empty] * (len(names) - len(defaults))
        yield definition.name, list(zip(names, missing + defaults, strict=True))


WANTED = dict(signatures())


@pytest.mark.parametrize("name", WANTED)
def test_arguments_are_those_of_fluid(name):
    taken = inspect.signature(getattr(layers, name)).parameters.values()
    taken = [(p.name, p.default) for p in taken if p.kind != p.VAR_KEYWORD]
    if name == "create_parameter":
        taken.remove(("layer", None))  # layers name theirs by it
    assert taken == WANTED[name]


def test_table_is_read():
    assert len(WANTED) == 326
    assert WANTED["relu"] == [("x", inspect.Parameter.empty), ("name", None)]


def test_a_dropped_argument_is_noticed(monkeypatch):
    monkeypatch.setattr(layers, "relu", lambda x: x)
    with pytest.raises(AssertionError):
        test_arguments_are_those_of_fluid("relu")


def test_every_function_has_help():
    for name in layers.__all__:
        assert inspect.getdoc(getattr(layers, name)), name


NETS = {
    "glu": "input dim",
    "img_conv_group": "input conv_num_filter pool_size conv_padding conv_filter_size conv_act "
    "param_attr conv_with_batchnorm conv_batchnorm_drop_rate pool_stride pool_type use_cudnn",
    "scaled_dot_product_attention": "queries keys values num_heads dropout_rate",
    "sequence_conv_pool": "input num_filters filter_size param_attr act pool_type bias_attr",
    "simple_img_conv_pool": "input num_filters filter_size pool_size pool_stride pool_padding "
    "pool_type global_pooling conv_stride conv_padding conv_dilation conv_groups param_attr "
    "bias_attr act use_cudnn",
}


@pytest.mark.parametrize("name", NETS)
def test_nets_take_fluid_s_arguments(name):
    assert list(inspect.signature(getattr(nets, name)).parameters) == NETS[name].split()
