"""What to write here for other libraries' names in ``nn``, ``optim``, ``autograd`` and the like.

Each table belongs to one module, or to the methods of layers and of optimizers; see `hints`.
"""

from dygraph.core.hints import ACTIVATIONS, FUNCTIONS

OF_NN = {
    **{n: f"dygraph.nn.functional.{n}" for n in (*ACTIVATIONS, *FUNCTIONS)},
    "logsumexp": "dygraph.ops.logsumexp(x, axis=[axis])",
    "initializers": "dygraph.initializer",
    "Module": "nn.Layer is the base of layers",
    "ModuleList": "nn.LayerList([layer, ...])",
    "ModuleDict": "nn.LayerDict",
    "Parameter": "dygraph.Parameter(values), or layer.create_parameter(shape)",
    "GroupNormalization": "nn.GroupNorm(channels, groups)",
    "ZeroPadding2D": "nn.Pad2D(padding)",
    "GlobalMaxPooling2D": "nn.AdaptiveMaxPool2D(1)",
    "SpatialDropout1D": "nn.Dropout1D(p)",
    "SpatialDropout2D": "nn.Dropout2D(p)",
    "Permute": "x.transpose([0, 2, 1]) in forward(), with the batch axis",
    "RepeatVector": "dygraph.tile(x.unsqueeze(1), [1, n, 1]) in forward()",
    "Masking": "sequence_length= in the call of nn.LSTM, GRU and SimpleRNN",
    "GaussianNoise": "x + deviation * dygraph.randn(x.shape) in forward(), while self.training",
    "DepthwiseConv2D": "nn.Conv2D(channels, channels, size, groups=channels)",
    "SeparableConv2D": "nn.Conv2D(channels, channels, size, groups=channels), then one of size 1",
    "Rescaling": "x * scale in forward()",
    "Attention": "nn.scaled_dot_product_attention(query, key, value) in forward()",
    "Subtract": "x - y in forward()",
    "Multiply": "x * y in forward()",
    "Average": "(x + y) / 2 in forward()",
    "Dense": "nn.Linear(in, out, act='relu'): the number of inputs comes first",
    "init": "Initializers are in dygraph.initializer: nn.Linear(2, 3, "
    "param_attr=dygraph.initializer.Xavier()); p.uniform_(), p.normal_() and p.fill_() write",
    "initializer": "dygraph.initializer",
    **dict.fromkeys(("clip_grad_norm_", "clip_grad_value_", "clip"),
                    "nn.utils.clip_grad_norm_(parameters, 1.0), or for each step "
                    "SGD(0.1, parameters, grad_clip=nn.ClipGradByGlobalNorm(1.0))"),
    **{f"Dropout{n}d": f"nn.Dropout{n}D" for n in (1, 2, 3)},
    **{f"{kind}2d": f"nn.{kind}2D" for kind in ("UpsamplingNearest", "UpsamplingBilinear")},
    "ReflectionPad2d": "dygraph.nn.functional.pad(x, widths, mode='reflect') in forward()",
    "ReplicationPad2d": "dygraph.nn.functional.pad(x, widths, mode='replicate') in forward()",
    "Unflatten": "x.reshape(sizes) in forward()",
    "RNNCell": "nn.SimpleRNNCell",
    "Bilinear": "nn.BilinearTensorProduct",
    "SyncBatchNorm": "dygraph.distributed.SyncBatchNorm; nn.BatchNorm2D on one process",
    "Buffer": "layer.register_buffer(name, value)",
    "parameter": "dygraph.Parameter(values)",
    "parallel": "dygraph.DataParallel(layer)",
    "CosineSimilarity": "dygraph.nn.functional.cosine_similarity(x, y, axis) in forward()",
    "PairwiseDistance": "dygraph.nn.functional.pairwise_distance(x, y) in forward()",
    "MultiLabelSoftMarginLoss": "dygraph.nn.functional.multi_label_soft_margin_loss",
    "Softmin": "dygraph.nn.functional.softmin(x, axis) in forward()",
    **{n: f"dygraph.nn.functional.{n.lower()}(x) in forward()" for n in ("GLU",)},
    "Threshold": "dygraph.nn.functional.threshold(x, threshold, value) in forward()",
    "Conv1d": "nn.Conv1D", "Conv2d": "nn.Conv2D", "Conv3d": "nn.Conv3D",
    "ConvTranspose1d": "nn.Conv1DTranspose", "ConvTranspose2d": "nn.Conv2DTranspose",
    "ConvTranspose3d": "nn.Conv3DTranspose", "ZeroPad2d": "nn.Pad2D", "ZeroPad2D": "nn.Pad2D",
    **{
        f"BatchNorm{n}d": f"nn.BatchNorm{n}D(channels); its momentum is the share of the old "
        "value, so torch's 0.1 is 0.9 here"
        for n in (1, 2, 3)
    },
    **{
        f"InstanceNorm{n}d": f"nn.InstanceNorm{n}D(channels), which has a weight and a bias; "
        "param_attr=False, bias_attr=False is torch's affine=False"
        for n in (1, 2, 3)
    },
    **{
        f"AvgPool{n}d": f"nn.AvgPool{n}D; with padding exclusive=False counts it, as torch does"
        for n in (1, 2, 3)
    },
    **{f"{kind}Pool{n}d": f"nn.{kind}Pool{n}D" for n in (1, 2, 3)
       for kind in ("Max", "AdaptiveAvg", "AdaptiveMax")},
    **{f"{kind}Pooling{n}D": f"nn.{short}Pool{n}D" for n in (1, 2, 3)
       for kind, short in (("Average", "Avg"), ("Max", "Max"))},
    **{f"GlobalAveragePooling{n}D": f"nn.AdaptiveAvgPool{n}D(1)" for n in (1, 2, 3)},
    "BatchNormalization": "nn.BatchNorm1D(channels), BatchNorm2D for images",
    "LayerNormalization": "nn.LayerNorm(size)",
    "MultiheadAttention": "nn.MultiHeadAttention(embed_dim, num_heads), whose inputs have the "
    "batch first",
    "Activation": "nn.ReLU() and the like",
    "Input": "nn layers take their number of inputs: nn.Linear(in, out)",
    "InputLayer": "nn layers take their number of inputs: nn.Linear(in, out)",
    "Add": "x + y in forward()", "Concatenate": "dygraph.concat([x, y], axis) in forward()",
    "Lambda": "a class with forward(), or the function itself in forward()",
    "Reshape": "x.reshape(sizes) in forward()",
    "Bidirectional": "nn.LSTM(2, 3, direction='bidirectional')",
    "TimeDistributed": "nn.Linear acts on the last axis, with any axes before",
    "UpSampling2D": "nn.Upsample(scale_factor=2)",
    "DataParallel": "dygraph.DataParallel(layer)",
    "DistributedDataParallel": "dygraph.DataParallel(layer)",
    "Hardtanh": "dygraph.clip(x, -1, 1) in forward()",
    "Softmax2d": "nn.Softmax(axis=1)",
}  # fmt: skip

OF_LAYERS: dict = {
    "modules": "layer.sublayers() are all below; named_sublayers(include_self=True) has itself",
    "named_modules": "layer.named_sublayers(include_self=True)",
    "add_module": "layer.add_sublayer(name, sublayer)",
    "register_module": "layer.add_sublayer(name, sublayer)",
    "register_parameter": "layer.add_parameter(name, parameter)",
    "register_forward_hook": "layer.register_forward_post_hook(hook)",
    **dict.fromkeys(
        ("register_backward_hook", "register_full_backward_hook"),
        "parameter.register_hook(hook) sees gradients",
    ),
    **{
        name: f"layer.to(dtype='{dtype}')"
        for name, dtype in {
            "double": "float64",
            "float": "float32",
            "type": "float64",
        }.items()
    },
    **dict.fromkeys(
        ("half", "bfloat16"), "Layers compute in float32, or float64: layer.to(dtype='float64'); "
        "with dygraph.amp.auto_cast(): products have float16"
    ),
    "get_parameter": "dict(layer.named_parameters())[name]",
    "get_submodule": "dict(layer.named_sublayers())[name]",
    "device": "next(iter(layer.parameters())).place",
    "share_memory": "Threads share a layer as it is",
    "flatten_parameters": "Parameters need no call: they lie as the operator reads them",
    "num_batches_tracked": "Only the mean and the variance are kept: norm._mean, norm._variance",
    "trainable_variables": "layer.parameters()",
    "trainable_weights": "layer.parameters()",
    "variables": "layer.parameters() and layer.buffers()",
    "weights": "layer.parameters()",
    "non_trainable_variables": "layer.buffers(), and the parameters whose stop_gradient is True",
    "layers": "layer.sublayers()",
    "get_layer": "dict(layer.named_sublayers())[name]",
    "train_on_batch": "dygraph.Model(layer).train_batch(x, y), after prepare()",
    "predict_on_batch": "layer(x) after layer.eval(), or dygraph.Model(layer).predict_batch(x)",
    "get_weights": "[p.numpy() for p in layer.parameters()]",
    "set_weights": "layer.set_state_dict(state)",
    "count_params": "sum(p.size for p in layer.parameters()), or dygraph.summary(layer)",
    "summary": "dygraph.summary(layer, x)",
    **dict.fromkeys(
        "compile evaluate fit predict".split(),
        "model = dygraph.Model(layer); model.prepare(optimizer, loss); model.fit(data)",
    ),
    "save": "dygraph.save(layer.state_dict(), path)",
    "save_weights": "dygraph.save(layer.state_dict(), path)",
    "load_weights": "layer.set_state_dict(dygraph.load(path))",
    "call": "layer(x); a class defines forward()",
    "build": "__init__ makes the parameters: their sizes are known there",
    "add": "layer.add_sublayer(name, sublayer)",
    "add_weight": "layer.create_parameter(shape)",
    "kernel": "layer.weight",
    "running_mean": "norm._mean",
    "running_var": "norm._variance",
    "init": "Parameters are made with the layer; layer.state_dict() holds them",
}

OF_OPTIMIZERS = {
    "param_groups": "optimizer.get_lr() and set_lr(rate); groups go into the constructor: "
    "[{'params': p, 'lr': 0.1}]",
    "add_param_group": "groups go into the constructor: [{'params': p, 'lr': 0.1}]",
    "lr": "optimizer.get_lr() and set_lr(rate)",
    "learning_rate": "optimizer.get_lr() and set_lr(rate)",
    "apply_gradients": "loss.backward(), then optimizer.step()",
    "apply": "loss.backward(), then optimizer.step()",
    "update": "loss.backward(), then optimizer.step()",
    "init": "An optimizer keeps its own state: optimizer.state_dict()",
}

OF_OPTIMIZER_MODULE = {
    "RMSprop": "RMSProp(rate, rho=0.99, parameter_list=parameters); its epsilon, 1e-6, stands "
    "under the root, torch's 1e-8 beside it",
    "lr_scheduler": "Schedules are in dygraph.lr: StepDecay, CosineDecay, ReduceLROnPlateau; one "
    "stands for the learning rate of dygraph.optimizer.SGD and the like",
    "schedules": "dygraph.lr: ExponentialDecay, CosineDecay and the like",
    "swa_utils": "ModelAverage and ExponentialMovingAverage keep averages of parameters",
    "SparseAdam": "Adam with lazy_mode=True",
    "ASGD": "There is no ASGD; ModelAverage beside SGD is the nearest",
    "LBFGS": "dygraph.optimizer has SGD, Momentum, Adam and others; scipy.optimize has L-BFGS",
    "Nadam": "NAdam", "SGDW": "SGD",
    "Adafactor": "There is no Adafactor; Adagrad is the nearest",
    "Lion": "There is no Lion; AdamW is the nearest",
}  # fmt: skip

# torch's schedules take the optimizer; here the optimizer takes the schedule.
_RATE = ", which is the learning rate of an optimizer: SGD(schedule, parameters)"
_COMM = ", where comm = dygraph.distributed.init()"
_LAUNCHER = "python -m dygraph.distributed.run -n 4 train.py starts the processes"
OF_DISTRIBUTED = {
    **{
        name: ours + _COMM
        for name, ours in {
            "get_rank": "comm.rank",
            "get_world_size": "comm.size",
            "barrier": "comm.barrier()",
            "all_reduce": "comm.all_reduce(x)",
            "all_gather": "comm.all_gather(x), which returns the list",
            "all_gather_into_tensor": "dygraph.concat(comm.all_gather(x))",
            "broadcast": "comm.broadcast(x, root)",
            "reduce": "comm.all_reduce(x)",
            "reduce_scatter": "comm.reduce_scatter(x)",
            "reduce_scatter_tensor": "comm.reduce_scatter(x)",
            "gather": "comm.all_gather(x)",
            "scatter": "comm.send(x, to) and comm.recv(source)",
            "send": "comm.send(x, to)",
            "isend": "comm.send(x, to, wait=False)",
            "recv": "x = comm.recv(source)",
            "irecv": "x = comm.recv(source); comm.probe(source) does not wait",
            "new_group": "comm.split(color)",
            "ReduceOp": "comm.all_reduce(x, 'max')",
        }.items()
    },
    **dict.fromkeys(
        ("init_process_group", "init_parallel_env", "is_initialized", "is_available"),
        "comm = dygraph.distributed.init(); " + _LAUNCHER,
    ),
    **dict.fromkeys(("spawn", "launch"), _LAUNCHER),
    **dict.fromkeys(
        ("all_gather_object", "broadcast_object_list", "send_object_list", "scatter_object_list"),
        "Values are sent as raw memory, never pickled: comm.all_gather(array)" + _COMM,
    ),
    "destroy_process_group": "Leave it out: the group ends with the process",
    "DistributedDataParallel": "dygraph.DataParallel(layer)",
    "fleet": "dygraph.DataParallel(layer), distributed.ShardedOptimizer, and "
    "static.DistributeTranspiler for parameter servers",
}

OF_LR = {
    **{
        name: f"dygraph.lr.{ours}{_RATE}"
        for name, ours in {
            "CosineAnnealingLR": "CosineAnnealingDecay(0.1, T_max)",
            "StepLR": "StepDecay(0.1, step_size, decay_rate)",
            "MultiStepLR": "MultiStepDecay(0.1, milestones, decay_rate)",
            "LambdaLR": "LambdaDecay(0.1, function)",
            "ExponentialLR": "StepDecay(0.1, step_size=1, decay_rate=gamma)",
            "PolynomialLR": "PolynomialDecay(0.1, total_iters, 0.0)",
            "LinearLR": "LinearWarmup(0.1, warmup_steps, start_lr, end_lr)",
            "SequentialLR": "LinearWarmup(schedule, warmup_steps, start_lr, end_lr)",
            "ConstantLR": "PiecewiseDecay(boundaries, values)",
            "ReduceOnPlateau": "ReduceLROnPlateau(0.1)",
            "NoamLR": "NoamDecay(d_model, warmup_steps)",
        }.items()
    },
}

OF_MODEL = {
    "compile": "model.prepare(optimizer, loss, metrics)",
    "summary": "dygraph.summary(model.network, x)",
    "train_on_batch": "model.train_batch([x, y])",
    "test_on_batch": "model.evaluate(x, y)",
    "eval_batch": "model.evaluate(x, y)",
    **dict.fromkeys(("predict_batch", "predict_on_batch"), "model.predict(x)"),
    "fit_generator": "model.fit(batches)",
    "save_weights": "dygraph.save(model.network.state_dict(), path)",
    "load_weights": "model.network.set_state_dict(dygraph.load(path))",
    "layers": "model.network.sublayers()",
    "weights": "model.network.parameters()",
    **{n: f"model.network.{n}()" for n in ("state_dict", "train", "eval")},
}

OF_AUTOGRAD = {
    "Function": "dygraph.Function",
    "PyLayer": "dygraph.PyLayer",
    "Variable": "x.requires_grad_()",
    "functional": "jacobian, hessian, jvp and vjp are in dygraph.autograd itself",
    **dict.fromkeys(("gradcheck", "gradgradcheck"), "dygraph.check_grad(function, inputs)"),
    "backward": "loss.backward()",
    "no_grad": "dygraph.no_grad",
    "set_detect_anomaly": "with dygraph.detect_anomaly():",
    "detect_anomaly": "dygraph.detect_anomaly",
    "profiler": "dygraph.profiler",
}

OF_IO = {
    "SubsetRandomSampler": "DataLoader(Subset(dataset, indices), shuffle=True)",
    "SequentialSampler": "SequenceSampler",
}

OF_FUNCTIONAL = {
    "dropout_": "dropout",
    "multi_head_attention_forward": "scaled_dot_product_attention, or nn.MultiHeadAttention",
    "cosine_embedding": "cosine_embedding_loss",
    "sigmoid_focal_loss": "dygraph.ops.sigmoid_focal_loss",
    "max_pool2d_with_indices": "dygraph.ops.max_pool2d_with_index",
}

_LENGTHS = (
    "outputs, states = lstm(x, states, sequence_length=lengths) reads a padded batch, and "
    "dygraph.to_variable(rows, lod=[[0, 2, 5]]) is a packed one, which layers take as it is"
)
OF_NN_UTILS = {
    **dict.fromkeys(
        "PackedSequence pack_sequence unpack_sequence unpad_sequence".split(),
        _LENGTHS,
    ),
    "clip_grad_norm": "clip_grad_norm_",
    "spectral_norm": "nn.SpectralNorm(weight.shape)(weight) in forward()",
    "weight_norm": "g * F.normalize(v, axis) in forward()",
    "get_total_norm": "clip_grad_norm_(parameters, float('inf')) gives the norm",
    "parametrizations": "A layer computes its weight in forward()",
    "prune": "A layer multiplies its weight by a mask in forward()",
}
