"""Every name of Fluid 1.8.5's dygraph and the modules beside it: Fluid's arguments, or a reason.

The tables are Fluid's signatures: names that share one stand before it. Ours must have the same
arguments in the same order with the same defaults; a default where Fluid has none and more
arguments behind Fluid's are allowed.

More than 600 lines because most of them are one table.
"""

import ast
import importlib
import inspect
import re

import pytest

import dygraph
from dygraph.fluid import layers as fluid_layers
from dygraph.fluid import schedules as fluid_schedules

NAMES = {
    "fluid.dygraph": """
BCELoss(weight=None, reduction='mean')
BatchNorm(num_channels, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None,
    bias_attr=None, dtype='float32', data_layout='NCHW', in_place=False, moving_mean_name=None,
    moving_variance_name=None, do_model_average_for_mean_and_var=True, use_global_stats=False,
    trainable_statistics=False)
BilinearTensorProduct(input1_dim, input2_dim, output_dim, name=None, act=None, param_attr=None,
    bias_attr=None, dtype='float32')
Conv2D Conv3D(num_channels, num_filters, filter_size, stride=1, padding=0, dilation=1,
    groups=None, param_attr=None, bias_attr=None, use_cudnn=True, act=None, dtype='float32')
Conv2DTranspose(num_channels, num_filters, filter_size, output_size=None, padding=0, stride=1,
    dilation=1, groups=None, param_attr=None, bias_attr=None, use_cudnn=True, act=None,
    dtype='float32')
Conv3DTranspose(num_channels, num_filters, filter_size, padding=0, stride=1, dilation=1,
    groups=None, param_attr=None, bias_attr=None, use_cudnn=True, act=None, dtype='float32')
CosineDecay(learning_rate, step_each_epoch, epochs, begin=0, step=1, dtype='float32')
DataParallel(layers, strategy)
Dropout(p=0.5, seed=None, dropout_implementation='downgrade_in_infer', is_test=False)
Embedding(size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None,
    dtype='float32')
ExponentialDecay InverseTimeDecay NaturalExpDecay(learning_rate, decay_steps, decay_rate,
    staircase=False, begin=0, step=1, dtype='float32')
GRUUnit(size, param_attr=None, bias_attr=None, activation='tanh', gate_activation='sigmoid',
    origin_mode=False, dtype='float32')
GroupNorm(channels, groups, epsilon=1e-05, param_attr=None, bias_attr=None, act=None,
    data_layout='NCHW', dtype='float32')
InstanceNorm(num_channels, epsilon=1e-05, param_attr=None, bias_attr=None, dtype='float32')
L1Loss MSELoss(reduction='mean')
LambdaDecay(learning_rate, lr_lambda)
Layer(name_scope=None, dtype='float32')
LayerList(sublayers=None)
LayerNorm(normalized_shape, scale=True, shift=True, epsilon=1e-05, param_attr=None,
    bias_attr=None, act=None, dtype='float32')
Linear(input_dim, output_dim, param_attr=None, bias_attr=None, act=None, dtype='float32')
LinearLrWarmup(learning_rate, warmup_steps, start_lr, end_lr, begin=1, step=1, dtype='float32')
MultiStepDecay(learning_rate, milestones, decay_rate=0.1)
NCE(num_total_classes, dim, sample_weight=None, param_attr=None, bias_attr=None,
    num_neg_samples=None, sampler='uniform', custom_dist=None, seed=0, is_sparse=False,
    dtype='float32')
NLLLoss(weight=None, reduction='mean', ignore_index=-100)
NoamDecay(d_model, warmup_steps, begin=1, step=1, dtype='float32', learning_rate=1.0)
PRelu(mode, channel=None, input_shape=None, param_attr=None, dtype='float32')
ParallelEnv disable_dygraph disable_imperative enabled()
ParameterList(parameters=None)
PiecewiseDecay(boundaries, values, begin, step=1, dtype='float32')
PolynomialDecay(learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False,
    begin=0, step=1, dtype='float32')
Pool2D(pool_size=-1, pool_type='max', pool_stride=1, pool_padding=0, global_pooling=False,
    use_cudnn=True, ceil_mode=False, exclusive=True)
ReduceLROnPlateau(learning_rate, mode='min', decay_rate=0.1, patience=10, verbose=False,
    threshold=0.0001, threshold_mode='rel', cooldown=0, min_lr=0, eps=1e-08, dtype='float32')
Sequential(*layers)
SpectralNorm(weight_shape, dim=0, power_iters=1, eps=1e-12, dtype='float32')
StepDecay(learning_rate, step_size, decay_rate=0.1)
TreeConv(feature_size, output_size, num_filters=1, max_depth=2, act='tanh', param_attr=None,
    bias_attr=None, name=None, dtype='float32')
enable_dygraph enable_imperative guard(place=None)
grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False,
    only_inputs=True, allow_unused=False, no_grad_vars=None, backward_strategy=None)
ProgramTranslator()
declarative(dygraph_func)
load_dygraph(model_path, keep_name_table=False)
no_grad(func=None)
prepare_context(strategy=None)
save_dygraph(state_dict, model_path)
to_variable(value, name=None, zero_copy=None)
""",
    "fluid.optimizer": """
Adadelta AdadeltaOptimizer(learning_rate, epsilon=1e-06, rho=0.95, parameter_list=None,
    regularization=None, grad_clip=None, name=None)
Adagrad AdagradOptimizer(learning_rate, epsilon=1e-06, parameter_list=None, regularization=None,
    grad_clip=None, name=None, initial_accumulator_value=0.0)
Adam AdamOptimizer(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08,
    parameter_list=None, regularization=None, grad_clip=None, name=None, lazy_mode=False)
Adamax AdamaxOptimizer(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08,
    parameter_list=None, regularization=None, grad_clip=None, name=None)
DecayedAdagrad DecayedAdagradOptimizer(learning_rate, decay=0.95, epsilon=1e-06,
    parameter_list=None, regularization=None, grad_clip=None, name=None)
Dpsgd DpsgdOptimizer(learning_rate=0.001, clip=0.9, batch_size=0.999, sigma=1e-08,
    parameter_list=None)
ExponentialMovingAverage(decay=0.999, thres_steps=None, name=None)
Ftrl FtrlOptimizer(learning_rate, l1=0.0, l2=0.0, lr_power=-0.5, parameter_list=None,
    regularization=None, grad_clip=None, name=None)
LambOptimizer(learning_rate=0.001, lamb_weight_decay=0.01, beta1=0.9, beta2=0.999,
    epsilon=1e-06, parameter_list=None, regularization=None, grad_clip=None,
    exclude_from_weight_decay_fn=None, name=None)
LarsMomentum LarsMomentumOptimizer(learning_rate, momentum, lars_coeff=0.001,
    lars_weight_decay=0.0005, parameter_list=None, regularization=None, grad_clip=None,
    name=None)
LookaheadOptimizer(inner_optimizer, alpha=0.5, k=5)
ModelAverage(average_window_rate, min_average_window=10000, max_average_window=10000,
    regularization=None, name=None)
Momentum MomentumOptimizer(learning_rate, momentum, parameter_list=None, use_nesterov=False,
    regularization=None, grad_clip=None, name=None)
RMSPropOptimizer(learning_rate, rho=0.95, epsilon=1e-06, momentum=0.0, centered=False,
    parameter_list=None, regularization=None, grad_clip=None, name=None)
SGD SGDOptimizer(learning_rate, parameter_list=None, regularization=None, grad_clip=None,
    name=None)
""",
    "fluid.initializer": """
Bilinear BilinearInitializer()
Constant ConstantInitializer(value=0.0, force_cpu=False)
MSRA MSRAInitializer(uniform=True, fan_in=None, seed=0)
Normal NormalInitializer TruncatedNormal TruncatedNormalInitializer(loc=0.0, scale=1.0, seed=0)
NumpyArrayInitializer(value)
Uniform UniformInitializer(low=-1.0, high=1.0, seed=0, diag_num=0, diag_step=0, diag_val=1.0)
Xavier XavierInitializer(uniform=True, fan_in=None, fan_out=None, seed=0)
""",
    "fluid.regularizer": """
L1Decay L1DecayRegularizer L2Decay L2DecayRegularizer(regularization_coeff=0.0)
""",
    "fluid.clip": """
ErrorClipByValue(max, min=None)
GradientClipByGlobalNorm(clip_norm, group_name='default_group', need_clip=None)
GradientClipByNorm(clip_norm, need_clip=None)
set_gradient_clip(clip, param_list=None, program=None)
""",
    "fluid.metrics": """
Accuracy ChunkEvaluator CompositeMetric Precision Recall(name=None)
Auc(name, curve='ROC', num_thresholds=4095)
EditDistance MetricBase(name)
""",
    "fluid.nets": """
glu(input, dim=-1)
scaled_dot_product_attention(queries, keys, values, num_heads=1, dropout_rate=0.0)
""",
    "fluid.profiler": """
cuda_profiler(output_file, output_mode=None, config=None)
profiler(state, sorted_key=None, profile_path=None, tracer_option='Default')
reset_profiler()
start_profiler(state, tracer_option='Default')
stop_profiler(sorted_key=None, profile_path=None)
""",
    "fluid.unique_name": """
generate(key)
guard(new_generator=None)
switch(new_generator=None, new_para_name_checker=None)
""",
    # Of fluid.layers what has no operator's name, or whose operator starts elsewhere.
    "fluid.ops": """
adaptive_pool2d adaptive_pool3d(input, pool_size, pool_type='max', require_index=False,
    name=None)
argmax argmin(x, axis=0)
elementwise_equal(x, y, name=None)
fsp_matrix(x, y)
gaussian_random_batch_size_like(input, shape, input_dim_idx=0, output_dim_idx=0, mean=0.0,
    std=1.0, seed=0, dtype='float32')
has_inf has_nan(x)
image_resize(input, out_shape=None, scale=None, name=None, resample='BILINEAR',
    actual_shape=None, align_corners=True, align_mode=1, data_format='NCHW')
image_resize_short(input, out_short_len, resample='BILINEAR')
l2_normalize(x, axis, epsilon=1e-12, name=None)
lod_append(x, level)
nonzero(input, as_tuple=False)
npair_loss(anchor, positive, labels, l2_reg=0.002)
rank sequence_first_step sequence_last_step(input)
reduce_all reduce_any reduce_max reduce_mean reduce_min reduce_prod reduce_sum(input, dim=None,
    keep_dim=False, name=None)
resize_bilinear(input, out_shape=None, scale=None, name=None, actual_shape=None,
    align_corners=True, align_mode=1, data_format='NCHW')
resize_nearest(input, out_shape=None, scale=None, name=None, actual_shape=None,
    align_corners=True, data_format='NCHW')
resize_trilinear(input, out_shape=None, scale=None, name=None, actual_shape=None,
    align_corners=True, align_mode=1, data_format='NCDHW')
scatter_nd(index, updates, shape, name=None)
sigmoid_focal_loss(x, label, fg_num, gamma=2.0, alpha=0.25)
smooth_l1(x, y, inside_weight=None, outside_weight=None, sigma=None)
square_error_cost(input, label)
uniform_random_batch_size_like(input, shape, dtype='float32', input_dim_idx=0, output_dim_idx=0,
    min=-1.0, max=1.0, seed=0)
""",
    "paddle.reader": """
buffered(reader, size)
cache(reader)
chain compose(*readers)
firstn(reader, n)
map_readers(func, *readers)
multiprocess_reader(readers, use_pipe=True, queue_size=1000)
shuffle(reader, buf_size)
xmap_readers(mapper, reader, process_num, buffer_size, order=False)
""",
}

METHODS = """
BCELoss.forward(input, label)
BilinearTensorProduct.forward(x, y)
CosineDecay.step()
DataParallel.apply_collective_grads()
DataParallel.forward(*inputs, **kwargs)
DataParallel.load_dict(stat_dict, include_sublayers=True, use_structured_name=True)
DataParallel.scale_loss(loss)
DataParallel.set_dict(stat_dict, include_sublayers=True, use_structured_name=True)
DataParallel.state_dict(destination=None, include_sublayers=True, structured_name_prefix='')
ExponentialDecay.step()
GRUUnit.forward(input, hidden)
InverseTimeDecay.step()
LambdaDecay.get_lr()
Layer.add_parameter(name, parameter)
Layer.add_sublayer(name, sublayer)
Layer.backward(*inputs)
Layer.clear_gradients()
Layer.create_parameter(shape, attr=None, dtype=None, is_bias=False, default_initializer=None)
Layer.create_variable(name=None, persistable=None, dtype=None, type=None)
Layer.eval()
Layer.full_name()
Layer.load_dict(stat_dict, include_sublayers=True, use_structured_name=True)
Layer.named_parameters(prefix='', include_sublayers=True)
Layer.named_sublayers(prefix='', include_sublayers=True, include_self=False, layers_set=None)
Layer.parameters(include_sublayers=True)
Layer.register_forward_post_hook(hook)
Layer.register_forward_pre_hook(hook)
Layer.set_dict(stat_dict, include_sublayers=True, use_structured_name=True)
Layer.state_dict(destination=None, include_sublayers=True, structured_name_prefix='')
Layer.sublayers(include_sublayers=True)
Layer.train()
LayerList.append(sublayer)
LayerList.extend(sublayers)
LayerList.insert(index, sublayer)
LinearLrWarmup.step()
MultiStepDecay.get_lr()
NCE.forward(input, label, sample_weight=None)
NaturalExpDecay.step()
NoamDecay.step()
ParameterList.append(parameter)
PiecewiseDecay.step()
PolynomialDecay.step()
ReduceLROnPlateau.step(loss)
SpectralNorm.forward(weight)
StepDecay.get_lr()
TreeConv.forward(nodes_vector, edge_set)
Accuracy.eval()
Accuracy.update(value, weight)
Auc.eval()
Auc.update(preds, labels)
ChunkEvaluator.eval()
ChunkEvaluator.update(num_infer_chunks, num_label_chunks, num_correct_chunks)
CompositeMetric.add_metric(metric)
CompositeMetric.eval()
CompositeMetric.update(preds, labels)
EditDistance.eval()
EditDistance.update(distances, seq_num)
MetricBase.eval()
MetricBase.get_config()
MetricBase.reset()
MetricBase.update(preds, labels)
Precision.eval()
Precision.update(preds, labels)
Recall.eval()
Recall.update(preds, labels)
ExponentialMovingAverage.apply(executor, need_restore=True)
ExponentialMovingAverage.restore(executor)
ExponentialMovingAverage.update()
ModelAverage.apply(executor, need_restore=True)
ModelAverage.restore(executor)
"""

# What is not here on purpose, and why.
LEFT_OUT = {
    "fluid.dygraph": {
        "dygraph_to_static_func": "an inner name of declarative",
    },
    "fluid.optimizer": {
        "DGCMomentumOptimizer": "compresses gradients between processes; there is one process",
        "PipelineOptimizer": "cuts a program over devices",
        "RecomputeOptimizer": "rewrites a program; dygraph.autograd.recompute wraps a call",
    },
    "fluid.metrics": {"DetectionMAP": "builds a program; belongs to the detection operators"},
    "fluid.nets": {
        "img_conv_group": "makes new parameters at each call; nn.Sequential holds them",
        "simple_img_conv_pool": "as img_conv_group",
    },
}

# Here with other arguments, and why.
OTHERWISE = {
    "dygraph.TracedLayer": "Fluid's constructor is not for users; TracedLayer.trace makes one",
    "clip.GradientClipByValue": "takes its two numbers in either order; the smaller is min",
    "nets.sequence_conv_pool": "takes its parameters instead of making them at each call",
}


def parameters(signature):
    """[(name, default or ...)] of ``(a, b=1)``; * and ** stand in the names."""
    arguments = ast.parse(f"def f{signature}: pass").body[0].args
    plain = [a.arg for a in arguments.posonlyargs + arguments.args]
    missing = [...] * (len(plain) - len(arguments.defaults))
    result = list(zip(plain, missing + [ast.literal_eval(d) for d in arguments.defaults],
                      strict=True))  # fmt: skip
    result += [(f"*{arguments.vararg.arg}", ...)] if arguments.vararg else []
    return result + ([(f"**{arguments.kwarg.arg}", ...)] if arguments.kwarg else [])


def rows(text):
    """(name, signature) of each line of a table; a line that is indented continues the last."""
    for line in re.sub(r"\n +", " ", text.strip()).splitlines():
        names, signature = re.fullmatch(r"([\w. ]+)(\(.*\))", line).groups()
        for name in names.split():
            yield name, signature


def ours(callable, of_class=False):
    """As `parameters`, of a function or class of ours."""
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = [
        (marks.get(p.kind, "") + p.name, ... if p.default is p.empty else p.default)
        for p in inspect.signature(callable).parameters.values()
    ]
    return found[1:] if of_class else found


def agree(callable, signature, of_class=False):
    wanted, got = parameters(signature), ours(callable, of_class)
    assert [name for name, _ in got[: len(wanted)]] == [name for name, _ in wanted]
    for (name, theirs), (_, default) in zip(wanted, got, strict=False):
        is_default_type = name == "dtype" and default is None  # float32, if nothing else is set
        assert theirs is ... or default == theirs or is_default_type, name
    for name, default in got[len(wanted) :]:
        assert default is not ... or name.startswith("*"), f"{name} must have a default"


def module_of(section):
    name = section.split(".")[1]
    room = "dygraph.static" if name == "clip" else "dygraph"
    return dygraph if name == "dygraph" else importlib.import_module(f"{room}.{name}")


CASES = [(s, name, sig) for s, table in NAMES.items() for name, sig in rows(table)]


@pytest.mark.parametrize(
    ("section", "name", "signature"), CASES, ids=[f"{c[0]}.{c[1]}" for c in CASES]
)
def test_name_is_here_with_fluids_arguments(section, name, signature):
    module = module_of(section)
    for room in (fluid_layers, fluid_schedules) if section == "fluid.dygraph" else ():
        module = room if name in room.__all__ else module
    agree(getattr(module, name), signature)


@pytest.mark.parametrize(
    ("name", "signature"), list(rows(METHODS)), ids=[n for n, _ in rows(METHODS)]
)
def test_method_has_fluids_arguments(name, signature):
    owner, method = name.split(".")
    module = next(m for m in (dygraph, dygraph.metrics, dygraph.optimizer) if hasattr(m, owner))
    agree(getattr(getattr(module, owner), method), signature, of_class=True)


def test_the_tables_are_whole():
    """The numbers of names that Fluid has, so that none is lost from a table."""
    counts = {section: sum(1 for _ in rows(table)) for section, table in NAMES.items()}
    left = {section: len(names) for section, names in LEFT_OUT.items()}
    total = {s: n + left.get(s, 0) for s, n in counts.items()}
    del total["fluid.ops"]
    total["fluid.dygraph"] += 2  # TracedLayer, BackwardStrategy
    total["fluid.clip"] += 1
    total["fluid.nets"] += 1
    total["paddle.reader"] += 1  # ComposeNotAligned, an exception
    assert total == {
        "fluid.dygraph": 57, "fluid.optimizer": 28, "fluid.initializer": 15,
        "fluid.regularizer": 4, "fluid.clip": 5, "fluid.metrics": 9, "fluid.nets": 5,
        "fluid.profiler": 5, "fluid.unique_name": 3, "paddle.reader": 10,
    }  # fmt: skip


@pytest.mark.parametrize("section", sorted(LEFT_OUT))
def test_what_is_left_out_is_not_here(section):
    for name in LEFT_OUT[section]:
        assert not hasattr(module_of(section), name)


@pytest.mark.parametrize("name", sorted(OTHERWISE))
def test_what_differs_is_here(name):
    section, name = name.split(".")
    assert callable(getattr(module_of(f"fluid.{section}"), name))
