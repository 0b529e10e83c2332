"""Batch normalisation by the statistics of all ranks."""

import numpy as np

from dygraph import _core
from dygraph.autograd.custom import PyLayer
from dygraph.autograd.recording import no_grad
from dygraph.core import check
from dygraph.distributed import job
from dygraph.distributed.comm import Comm
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, UnimplementedError, kind_of
from dygraph.nn.batch_norm import BatchNorm, BatchNorm1D, BatchNorm2D, BatchNorm3D
from dygraph.nn.layer import Layer
from dygraph.nn.norm import require_rank

__all__ = ["SyncBatchNorm", "convert_sync_batchnorm"]

ops = _core.ops
_AXES = {BatchNorm1D: 1, BatchNorm2D: 2, BatchNorm3D: 3}


class SyncBatchNorm(BatchNorm):
    """`nn.BatchNorm` whose mean and variance in training are those of the batches of all ranks.

    Values and gradients are those of one process with the joined batch, at any sizes of the ranks'
    batches; a rank may have an empty one. All ranks must call the layer, and ``backward()``, in the
    same order. A forward pass makes one ``all_reduce`` of ``2 * num_channels + 1`` float64 numbers,
    a backward pass one of ``2 * num_channels``. The gradients of `weight` and `bias` are those of
    this rank's samples, which `DataParallel` averages like all others. Gradients have gradients of
    any order.

    In eval mode, with ``use_global_stats`` and on one rank the layer is `nn.BatchNorm`.

    Parameters
    ----------
    num_channels, act, is_test, momentum, epsilon, param_attr, bias_attr, dtype, data_layout
        As of `nn.BatchNorm`: `momentum` is the share of the old value.
    comm : Comm, optional
        The ranks whose batches are joined; None: those of `dygraph.distributed.world`.
    use_global_stats : bool
        True: normalise by the running values in training, too.

    Raises
    ------
    UnimplementedError
        In a program or a trace: a program would repeat this run's numbers of the other ranks.

    Examples
    --------
    >>> import dygraph
    >>> norm = dygraph.distributed.SyncBatchNorm(1, momentum=0.5)
    >>> norm(dygraph.to_variable([[2.0], [6.0]])).numpy().round(3).ravel().tolist()
    [-1.0, 1.0]
    """

    _axes = None  # of BatchNorm1D, 2D or 3D, which take no other inputs

    def __init__(
        self,
        num_channels,
        act=None,
        is_test=False,
        momentum=0.9,
        epsilon=1e-05,
        param_attr=None,
        bias_attr=None,
        dtype=None,
        data_layout="NCHW",
        comm=None,
        use_global_stats=False,
    ):
        super().__init__(
            num_channels, act, is_test, momentum, epsilon, param_attr, bias_attr, dtype,
            data_layout, use_global_stats=use_global_stats,
        )  # fmt: skip
        self._comm = _checked(comm, "SyncBatchNorm")

    @classmethod
    def convert_sync_batchnorm(cls, layer, comm=None):
        """`dygraph.distributed.convert_sync_batchnorm`, by torch's and Paddle's name."""
        return convert_sync_batchnorm(layer, comm)

    def forward(self, input, residual=None):
        if self._axes is not None and not (self._axes == 1 and len(input.shape) == 2):
            require_rank(input, self._axes, "SyncBatchNorm", self._attrs["data_layout"])
        comm = self._comm or job.world()
        local = self._is_test or not self.training or self._attrs["use_global_stats"]
        if local or comm.size == 1:
            return super().forward(input, residual)
        check.variable(input, "SyncBatchNorm: input")
        if _core.is_symbol(input) or _core.recording():
            raise UnimplementedError(
                "SyncBatchNorm: a program cannot exchange numbers with other ranks, got a training "
                "call while a program is described or traced. Train eagerly, or trace after eval()"
            )
        layout, epsilon = self._attrs["data_layout"], self._attrs["epsilon"]
        count, mean, variance = _statistics(input.detach(), self.weight, layout, comm)
        self._update("_mean", mean)
        self._update("_variance", variance)
        call = _Call(comm, layout, epsilon, count, _like(mean, input), _like(variance, input))
        call.lost = mean - call.mean.numpy()
        y = _Normalise.apply(input, self.weight, self.bias, call)
        if residual is not None:
            y = ops.elementwise_add(y, residual)
        if self._ends_in_relu:
            return ops.relu(y)
        return y if self._act is None else self._act(y)

    def _update(self, name, batch):
        """``momentum * running + (1 - momentum) * batch``, rounded once."""
        running, share = getattr(self, name), self._attrs["momentum"]
        if share != 1:
            new = share * running.numpy().astype("float64") + (1 - share) * batch
            _core.become(running, _like(new, running))


class _Call:
    """What a call of the layer passes to its backward pass."""

    lost = 0.0  # what the mean lost when it was rounded

    def __init__(self, comm, layout, epsilon, count, mean, variance):
        self.comm, self.layout, self.epsilon, self.count = comm, layout, epsilon, count
        self.mean, self.variance = mean, variance

    def normalised(self, x, scale, bias):
        """Outputs of ``scale * (x - mean) / sqrt(variance + epsilon) + bias``, by slot."""
        inputs = {"X": x, "Scale": scale, "Bias": bias, "Mean": self.mean}
        attributes = {"is_test": True, "epsilon": self.epsilon, "data_layout": self.layout}
        return _core.run_op("batch_norm", {**inputs, "Variance": self.variance}, attributes)


def _like(array, variable):
    return _core.to_variable(np.ascontiguousarray(array, str(variable.dtype)))


@no_grad
def _statistics(x, weight, layout, comm):
    """Count, mean and biased variance of the joined batch, as float64 arrays.

    Each rank's mean and variance are taken in two passes; only sums of squares of the means are
    joined, in float64.
    """
    channels = weight.shape[0]
    sums = np.zeros(2 * channels + 1)
    count = x.size // channels
    if count:
        zero, one = weight.detach() * 0.0, weight.detach() * 0.0 + 1.0
        inputs = {"X": x, "Scale": one, "Bias": zero, "Mean": zero, "Variance": one}
        out = _core.run_op("batch_norm", inputs, {"momentum": 0.0, "data_layout": layout})
        mean, variance = (out[n].numpy().astype("float64") for n in ("MeanOut", "VarianceOut"))
        sums[0] = count
        sums[1:] = np.concatenate([count * mean, count * (variance + mean**2)])
    comm.all_reduce(sums)
    count = sums[0]
    if not count:
        raise InvalidArgumentError(
            f"SyncBatchNorm: the batches of all {comm.size} ranks must hold a sample, got none"
        )
    mean, square = sums[1 : channels + 1] / count, sums[channels + 1 :] / count
    return count, mean, np.maximum(square - mean**2, 0.0)


class _Normalise(PyLayer):
    @staticmethod
    def forward(ctx, x, weight, bias, call):
        factor = weight.numpy() / np.sqrt(call.variance.numpy().astype("float64") + call.epsilon)
        out = call.normalised(x, weight, _like(bias.numpy() - call.lost * factor, bias))
        ctx.call, ctx.inverse = call, out["SavedVariance"]
        ctx.save_for_backward(x, weight)
        return out["Y"]

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_variables
        if _core.grad_enabled():
            return _recorded_gradients(x, weight, grad, ctx.call)
        call, inverse = ctx.call, ctx.inverse
        inputs = {"X": x, "Scale": weight, "SavedMean": call.mean, "SavedVariance": inverse}
        of_global = {"use_global_stats": True, "data_layout": call.layout}
        out = _core.run_op("batch_norm_grad", {**inputs, "Y@GRAD": grad}, of_global)
        of_weight, of_bias = out["Scale@GRAD"], out["Bias@GRAD"]
        sums = np.concatenate([of_weight.numpy(), of_bias.numpy()]).astype("float64")
        call.comm.all_reduce(sums)
        factor = weight.numpy() * inverse.numpy().astype("float64") / -call.count
        scale, bias = (_like(factor * part, x) for part in np.split(sums, 2))
        rest = call.normalised(x, scale, bias)["Y"]
        return ops.elementwise_add(out["X@GRAD"], rest), of_weight, of_bias


def _recorded_gradients(x, weight, grad, call):
    """The gradients as functions of x, weight and grad, which have gradients in turn."""
    rank = len(x.shape)
    channel = rank - 1 if call.layout == "NHWC" else 1
    axes = [axis for axis in range(rank) if axis != channel]
    shape = [-1 if axis == channel else 1 for axis in range(rank)]

    def local(value):
        return value.sum(axes)

    def mean(value):
        return (_SumOverRanks.apply(local(value), call.comm) * (1 / call.count)).reshape(shape)

    centred = x - mean(x)
    inverse = (mean(centred * centred) + call.epsilon) ** -0.5
    normal = centred * inverse
    of_x = weight.reshape(shape) * inverse * (grad - mean(grad) - normal * mean(grad * normal))
    return of_x, local(grad * normal), local(grad)


class _SumOverRanks(PyLayer):
    """The sum of a value over ranks; each rank's gradient is the sum of the ranks' gradients."""

    @staticmethod
    def forward(ctx, value, comm):
        ctx.comm = comm
        return comm.all_reduce(value.clone())

    @staticmethod
    def backward(ctx, grad):
        return _SumOverRanks.apply(grad, ctx.comm)


def convert_sync_batchnorm(layer, comm=None):
    """Replace every `nn.BatchNorm` in a layer by a `SyncBatchNorm` with its parameters.

    Parameters and buffers are the same objects, so an optimizer made before goes on. Call it on all
    ranks.

    Parameters
    ----------
    layer : Layer
        Changed in place; a batch norm itself gives a new layer.
    comm : Comm, optional
        None: the ranks of `dygraph.distributed.world`.

    Returns
    -------
    Layer
        The layer, or the new one.

    Raises
    ------
    UnimplementedError
        For a batch norm with ``trainable_statistics``: in eval mode ranks do not meet.

    Examples
    --------
    >>> import dygraph
    >>> net = dygraph.nn.Sequential(dygraph.nn.Conv2D(3, 4, 3), dygraph.nn.BatchNorm2D(4))
    >>> net = dygraph.distributed.convert_sync_batchnorm(net)
    >>> type(net[1]).__name__, sorted(net.state_dict())[2]
    ('SyncBatchNorm', '1._mean')
    """
    if not isinstance(layer, Layer):
        raise ArgumentTypeError(
            f"convert_sync_batchnorm: layer must be a Layer, got {kind_of(layer)}"
        )
    return _converted(layer, _checked(comm, "convert_sync_batchnorm"), {})


def _converted(layer, comm, done):
    if id(layer) in done:
        return done[id(layer)][1]
    if isinstance(layer, BatchNorm) and not isinstance(layer, SyncBatchNorm):
        result = _converted_norm(layer, comm)
    else:
        result = layer
        done[id(layer)] = layer, result
        for name, inner in list(layer._sub_layers.items()):
            if inner is not None and (new := _converted(inner, comm, done)) is not inner:
                setattr(layer, name, new)
    done[id(layer)] = layer, result
    return result


def _converted_norm(layer, comm):
    if layer._attrs["trainable_statistics"]:
        raise UnimplementedError(
            f"convert_sync_batchnorm: {layer.full_name()} must not have trainable_statistics: its "
            "statistics in eval mode would be those of ranks that need not be there"
        )
    new = object.__new__(SyncBatchNorm)
    for name, value in layer.__dict__.items():
        new.__dict__[name] = dict(value) if type(value) is dict else value
    new.__dict__.update(
        _comm=comm, _axes=next((n for kind, n in _AXES.items() if isinstance(layer, kind)), None)
    )
    return new


def _checked(comm, name):
    if comm is not None and not isinstance(comm, Comm):
        raise ArgumentTypeError(f"{name}: comm must be a Comm or None, got {kind_of(comm)}")
    return comm
