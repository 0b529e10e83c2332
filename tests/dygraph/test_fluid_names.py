"""Every name of Fluid 1.8.5's dygraph and its kin is here, with Fluid's arguments, or has a reason.

The tables are Fluid's signatures: names that share one stand before it. Ours must have the same
arguments in the same order with the same defaults; a default where Fluid has none and more
arguments behind Fluid's are allowed.

More than 600 lines because most of them are one table.
"""

import ast
import importlib
import inspect
import re

import numpy as np
import pytest

import dygraph

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
        "ProgramTranslator": "conversion of Python control flow has an issue of its own",
        "declarative": "as ProgramTranslator",
        "dygraph_to_static_func": "as ProgramTranslator",
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
    "clip.GradientClipByValue": "(min, max) as the documents have it; by name both orders do",
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
        assert theirs is ... or default == theirs, name
    for name, default in got[len(wanted) :]:
        assert default is not ... or name.startswith("*"), f"{name} must have a default"


def module_of(section):
    name = section.split(".")[1]
    return dygraph if name == "dygraph" else importlib.import_module(f"dygraph.{name}")


CASES = [(s, name, sig) for s, table in NAMES.items() for name, sig in rows(table)]


@pytest.mark.parametrize(
    ("section", "name", "signature"), CASES, ids=[f"{c[0]}.{c[1]}" for c in CASES]
)
def test_name_is_here_with_fluids_arguments(section, name, signature):
    agree(getattr(module_of(section), name), signature)


@pytest.mark.parametrize(
    ("name", "signature"), list(rows(METHODS)), ids=[n for n, _ in rows(METHODS)]
)
def test_method_has_fluids_arguments(name, signature):
    owner, method = name.split(".")
    module = next(m for m in (dygraph, dygraph.metrics, dygraph.optimizer) if owner in dir(m))
    agree(getattr(getattr(module, owner), method), signature, of_class=True)


def test_the_tables_are_whole():
    """The numbers of names that Fluid has, so that none is lost from a table."""
    counts = {section: sum(1 for _ in rows(table)) for section, table in NAMES.items()}
    left = {section: len(names) for section, names in LEFT_OUT.items()}
    total = {s: n + left.get(s, 0) for s, n in counts.items()}
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


# What the names do --------------------------------------------------------------------------------


def leaf(values):
    x = dygraph.to_variable(np.asarray(values, "float64"))
    x.stop_gradient = False
    return x


class TestModes:
    def test_enabled_always(self):
        assert dygraph.enabled()
        dygraph.enable_dygraph()
        dygraph.enable_imperative(dygraph.CPUPlace())
        assert dygraph.enabled()
        assert dygraph.to_variable([1.0]).place == dygraph.CPUPlace()
        dygraph.disable_imperative()
        dygraph.disable_dygraph()
        assert (dygraph.to_variable([1.0]) + 1).tolist() == [2.0]

    def test_a_place_must_be_one(self):
        with pytest.raises(TypeError, match="must be a place"):
            dygraph.enable_dygraph(3)

    def test_to_variable_takes_name_second(self):
        assert dygraph.to_variable(np.ones(2), "weights", True).name == "weights"


class TestBackwardStrategy:
    @pytest.mark.parametrize("sort", [True, False])
    def test_backward_and_grad_take_it(self, sort):
        strategy = dygraph.BackwardStrategy()
        strategy.sort_sum_gradient = sort
        x = leaf([3.0])
        (x * x).backward(strategy)
        assert x.gradient().tolist() == [6.0]
        (g,) = dygraph.grad(x * x * x, x, backward_strategy=strategy)
        assert g.tolist() == [27.0]

    def test_nothing_else(self):
        with pytest.raises(TypeError, match="must be a BackwardStrategy"):
            leaf([1.0]).backward(backward_strategy=True)


class TestNoGradVars:
    def test_are_constants(self):
        x = leaf([3.0])
        a, b = x * x, x * 2.0
        y = a * b
        (g,) = dygraph.grad(y, x, no_grad_vars=[a], retain_graph=True)
        assert g.tolist() == [18.0]  # 2 a
        (g,) = dygraph.grad(y, x, no_grad_vars=b)
        assert g.tolist() == [36.0]  # 2 x b

    def test_a_leaf_may_be_one(self):
        x, w = leaf([3.0]), leaf([4.0])
        (gx,) = dygraph.grad(x * w + w, x, no_grad_vars=[w])
        assert gx.tolist() == [4.0]
        assert w.grad is None

    def test_nothing_left_is_an_error_or_none(self):
        x = leaf([3.0])
        a = x * x
        with pytest.raises(ValueError, match="does not influence"):
            dygraph.grad(a * 2.0, x, no_grad_vars=[a], retain_graph=True)
        assert dygraph.grad(a * 2.0, x, no_grad_vars=[a], allow_unused=True) == [None]

    def test_infinite_parts_do_not_leak(self):
        x = leaf([0.0])
        bad = dygraph.functional.sqrt(x)  # its derivative here is infinite
        (g,) = dygraph.grad(bad * 1.0 + x * 5.0, x, no_grad_vars=[bad])
        assert g.tolist() == [5.0]

    def test_second_order(self):
        x = leaf([3.0])
        a = x * x
        (g,) = dygraph.grad(a * x, x, create_graph=True, no_grad_vars=[a])  # a
        (h,) = dygraph.grad(g, x)  # 2 x
        assert (g.tolist(), h.tolist()) == ([9.0], [6.0])


class TestDataParallel:
    def test_one_process_is_the_layer(self):
        inner = dygraph.nn.Linear(2, 1, dtype="float64")
        inner.weight.set_value(np.array([[1.0], [2.0]]))
        model = dygraph.DataParallel(inner, dygraph.prepare_context())
        out = model(dygraph.to_variable([[3.0, 4.0]]))
        assert out.tolist() == [[11.0]]
        loss = model.scale_loss(out.mean())
        loss.backward()
        model.apply_collective_grads()
        assert inner.weight.gradient().tolist() == [[3.0], [4.0]]
        assert model.parameters() == inner.parameters()
        assert sorted(model.state_dict()) == ["bias", "weight"]
        state = {"weight": np.zeros((2, 1)), "bias": np.full(1, 7.0)}
        model.set_dict(state)
        assert model(dygraph.to_variable([[3.0, 4.0]])).tolist() == [[7.0]]
        model.eval()
        assert not inner.training

    def test_more_processes_are_refused(self, monkeypatch):
        monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
        monkeypatch.setenv("PADDLE_TRAINER_ID", "1")
        monkeypatch.setenv("PADDLE_TRAINER_ENDPOINTS", "a:1,b:2")
        env = dygraph.ParallelEnv()
        assert (env.nranks, env.local_rank, env.trainer_endpoints) == (2, 1, ["a:1", "b:2"])
        with pytest.raises(NotImplementedError, match="1 process, got nranks = 2"):
            dygraph.prepare_context()
        with pytest.raises(NotImplementedError, match="1 process"):
            dygraph.DataParallel(dygraph.nn.Linear(2, 1))

    @pytest.mark.parametrize(
        ("name", "value"),
        [("PADDLE_TRAINERS_NUM", "two"), ("PADDLE_TRAINERS_NUM", "0"), ("PADDLE_TRAINER_ID", "1")],
    )
    def test_an_environment_that_makes_no_sense(self, monkeypatch, name, value):
        monkeypatch.setenv(name, value)
        with pytest.raises(ValueError, match=name):
            dygraph.ParallelEnv()

    def test_a_layer_must_be_one(self):
        with pytest.raises(TypeError, match="must be a Layer"):
            dygraph.DataParallel(lambda x: x)
        with pytest.raises(TypeError, match="prepare_context"):
            dygraph.DataParallel(dygraph.nn.Linear(2, 1), 1)


class TestBilinearTensorProduct:
    def test_formula(self):
        rng = np.random.default_rng(0)
        layer = dygraph.nn.BilinearTensorProduct(3, 4, 5, act="tanh", dtype="float64")
        w, b = rng.normal(size=(5, 3, 4)), rng.normal(size=(1, 5))
        layer.set_state_dict({"weight": w, "bias": b})
        x, y = rng.normal(size=(2, 3)), rng.normal(size=(2, 4))
        got = layer(dygraph.to_variable(x), dygraph.to_variable(y))
        np.testing.assert_allclose(got.numpy(), np.tanh(np.einsum("bm,kmn,bn->bk", x, w, y) + b))

    def test_without_bias(self):
        layer = dygraph.nn.BilinearTensorProduct(2, 2, 1, bias_attr=False)
        assert layer.bias is None
        assert layer(dygraph.ones([3, 2]), dygraph.ones([3, 2])).shape == (3, 1)

    def test_sizes(self):
        with pytest.raises(ValueError, match="output_dim must be at least 1"):
            dygraph.nn.BilinearTensorProduct(2, 2, 0)


class TestTreeConv:
    def tree(self, **kwargs):
        layer = dygraph.nn.TreeConv(2, 1, act=None, bias_attr=False, dtype="float64", **kwargs)
        # left, right and top weigh 100, 10 and 1, for the sum of a node's features
        layer.weight.set_value(np.array([[[[100.0]], [[10.0]], [[1.0]]]] * 2))
        return layer

    def run(self, layer, edges, features=None):
        nodes = np.array([[[1.0, 0], [0, 2], [4, 0], [0, 8], [16, 0]]])
        nodes = nodes if features is None else features
        out = layer(dygraph.to_variable(nodes), dygraph.to_variable(np.array([edges])))
        return out.numpy()[..., 0, 0].tolist()

    def test_windows_of_two_levels(self):
        # 1 has the children 2, 3, 4; t = 1/2 for them, l = 0, 1/4, 1/2 and r = (1 - l) / 2
        edges = [[1, 2], [1, 3], [1, 4], [0, 0], [2, 5]]
        left = (0 * 2 + 0.25 * 4 + 0.5 * 8) * 100
        right = (0.5 * 2 + 0.375 * 4 + 0.25 * 8) * 10
        top = 1 + 0.5 * (2 + 4 + 8)
        assert self.run(self.tree(), edges) == [[left + right + top, 2, 4, 8, 0]]

    def test_an_only_child_stands_in_the_middle(self):
        # chain 1 - 2 - 3, three levels: t = 2/3 and 1/3
        got = self.run(self.tree(max_depth=3), [[1, 2], [2, 3]])[0][0]
        one, two = 1 / 3 * 0.5, 2 / 3 * 0.5  # l
        expected = 1 + 2 * (100 * one + 10 * (1 - one) / 3 + 2 / 3)
        expected += 4 * (100 * two + 10 * (1 - two) * 2 / 3 + 1 / 3)
        assert got == pytest.approx(expected, rel=1e-12)

    def test_depth_one_is_the_node_alone(self):
        assert self.run(self.tree(max_depth=1), [[1, 2], [1, 3]]) == [[1, 2, 4, 0, 0]]

    def test_a_circle_ends(self):
        assert len(self.run(self.tree(max_depth=9), [[1, 2], [2, 1]])[0]) == 5

    def test_gradients(self):
        rng = np.random.default_rng(0)
        layer = dygraph.nn.TreeConv(2, 3, num_filters=2, max_depth=3, dtype="float64")
        edges = dygraph.to_variable([[[1, 2], [1, 3], [2, 4]]])

        def loss(x):
            return layer(x, edges).sum()

        x = leaf(rng.normal(size=(1, 4, 2)))
        loss(x).backward()
        for variable in (x, layer.weight, layer.bias):
            values, got = variable.numpy(), variable.gradient()
            at = tuple(rng.integers(0, n) for n in values.shape)
            ends = []
            for step in (1e-6, -1e-6):
                moved = values.copy()
                moved[at] += step
                variable.set_value(moved)
                ends.append(loss(x).item())
            variable.set_value(values)
            assert got[at] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-8)

    def test_nodes_must_exist(self):
        with pytest.raises(IndexError, match=r"nodes in \[1, 5\], and 0 at its end, got 6"):
            self.run(self.tree(), [[1, 6]])
        with pytest.raises(IndexError, match="got -1"):
            self.run(self.tree(), [[-1, 2]])

    def test_shapes_must_fit(self):
        layer = self.tree()
        nodes, edges = dygraph.ones([1, 3, 2], "float64"), dygraph.ones([1, 2, 2], "int64")
        with pytest.raises(ValueError, match=r"nodes_vector must be \[batch, nodes, 2\]"):
            layer(dygraph.ones([1, 3, 4], "float64"), edges)
        with pytest.raises(ValueError, match=r"edge_set must be \[1, edges, 2\]"):
            layer(nodes, dygraph.ones([2, 2, 2], "int64"))
        with pytest.raises(TypeError, match="must hold integers"):
            layer(nodes, dygraph.ones([1, 2, 2]))


class TestClip:
    def test_error_clip_limits_what_passes(self):
        x = leaf([3.0])
        y = x * 10.0
        y.register_hook(dygraph.clip.ErrorClipByValue(max=0.5, min=-0.25))
        (y * y).backward()
        assert x.gradient().tolist() == [5.0]
        with pytest.raises(ValueError, match="min must not exceed max"):
            dygraph.clip.ErrorClipByValue(max=-1.0, min=1.0)

    def test_set_gradient_clip(self):
        w = dygraph.Parameter([1.0])
        dygraph.clip.set_gradient_clip(dygraph.clip.GradientClipByValue(-0.5, 0.5), [w])
        sgd = dygraph.optimizer.SGD(1.0, parameter_list=[w])
        (w * 100.0).backward()
        sgd.step()
        assert w.tolist() == [0.5]
        with pytest.raises(TypeError, match="param_list must be a list"):
            dygraph.clip.set_gradient_clip(dygraph.clip.GradientClipByNorm(1.0))
        with pytest.raises(TypeError, match="one of dygraph.clip"):
            dygraph.clip.set_gradient_clip(1.0, [w])
        with pytest.raises(TypeError, match=r"param_list\[0\] must be a Parameter"):
            dygraph.clip.set_gradient_clip(dygraph.clip.GradientClipByNorm(1.0), [1])


class TestBilinearInitializer:
    def test_enlarges_a_ramp_evenly(self):
        weight = dygraph.initializer.BilinearInitializer()([1, 1, 4, 4], "float64")
        line = np.array([0.25, 0.75, 0.75, 0.25])
        np.testing.assert_array_equal(weight.numpy()[0, 0], np.outer(line, line))
        odd = dygraph.initializer.Bilinear()([2, 1, 3, 3], "float64").numpy()
        np.testing.assert_array_equal(odd[1, 0, 1], [0.1875, 0.5625, 0.5625])

    @pytest.mark.parametrize("shape", [[2, 2], [1, 1, 3, 4]])
    def test_shape(self, shape):
        with pytest.raises(ValueError, match="filters, channels, k, k"):
            dygraph.initializer.Bilinear()(shape)


class TestUniqueNames:
    def test_prefix_and_switch(self):
        from dygraph import unique_name

        with unique_name.guard("net_"):
            assert unique_name.generate("fc") == "net_fc_0"
            before = unique_name.switch()
            assert unique_name.generate("fc") == "fc_0"
            unique_name.switch(before)
            assert unique_name.generate("fc") == "net_fc_1"
        with pytest.raises(TypeError, match="UniqueNameGenerator"):
            unique_name.switch(3)
        with pytest.raises(TypeError, match="new_para_name_checker must be None"):
            unique_name.switch(None, 3)


class TestLayerAndVariable:
    def test_create_variable(self):
        layer = dygraph.nn.Layer("net", "float64")
        v = layer.create_variable("total", persistable=True)
        assert v.name == f"{layer.full_name()}.total"
        assert (v.persistable, v.dtype) == (True, dygraph.float64)
        assert layer.create_variable().name != layer.create_variable().name

    def test_a_layer_has_no_backward(self):
        with pytest.raises(RuntimeError, match="on the loss"):
            dygraph.nn.Linear(1, 1).backward()

    def test_named_sublayers_leaves_out_a_set(self):
        net = dygraph.nn.Sequential(dygraph.nn.Linear(1, 1), dygraph.nn.Linear(1, 1))
        assert [name for name, _ in net.named_sublayers(layers_set={net[0]})] == ["1"]

    def test_facts_of_a_variable(self):
        x = dygraph.to_variable([[1.0], [2.0]], name="x", lod=[[0, 1, 2]])
        assert (x.lod_level, x.grad_name) == (1, "x@GRAD")
        assert "[2.]" in x.to_string(True)


def test_attention_of_heads():
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 5, 4)), rng.normal(size=(2, 5, 6))
    got = dygraph.nets.scaled_dot_product_attention(*map(dygraph.to_variable, (q, k, v)), 2)
    parts = []
    for h in range(2):
        scores = q[..., 2 * h : 2 * h + 2] @ k[..., 2 * h : 2 * h + 2].swapaxes(1, 2) / 2**0.5
        weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        parts.append(weights @ v[..., 3 * h : 3 * h + 3])
    np.testing.assert_allclose(got.numpy(), np.concatenate(parts, -1))
    with pytest.raises(ValueError, match="divisible by num_heads 3"):
        dygraph.nets.scaled_dot_product_attention(*map(dygraph.to_variable, (q, k, v)), 3)
