"""BatchNorm."""

from dygraph import _core, check
from dygraph.initializer import Constant
from dygraph.nn.activation import activation
from dygraph.nn.layer import Layer
from dygraph.param_attr import ParamAttr

__all__ = ["BatchNorm"]

ops = _core.ops


class BatchNorm(Layer):
    """Normalise each channel over the batch.

    ``(x - mean) / sqrt(variance + epsilon) * weight + bias``.

    While training, mean and variance are the batch's, and the running ones follow them:
    ``running = momentum * running + (1 - momentum) * batch``. In eval mode the running ones are
    used. (Ioffe and Szegedy, 2015.)

    Parameters
    ----------
    num_channels : int
    act : str, optional
    is_test : bool
        True: always as in eval mode.
    momentum, epsilon : float
    param_attr, bias_attr : ParamAttr, str or Initializer, optional
    dtype : dtype
    data_layout : 'NCHW' or 'NHWC'
        Which axis holds the channels.
    in_place, do_model_average_for_mean_and_var : bool
        Accepted for Fluid's sake.
    moving_mean_name, moving_variance_name : str, optional
    use_global_stats : bool
        True: normalise by the running values while training too.
    trainable_statistics : bool
        True: use the batch's mean and variance in eval mode too.

    Attributes
    ----------
    weight, bias : Parameter
        ``[num_channels]``.
    _mean, _variance : Variable
        The running values, buffers.
    """

    def __init__(
        self,
        num_channels,
        act=None,
        is_test=False,
        momentum=0.9,
        epsilon=1e-05,
        param_attr=None,
        bias_attr=None,
        dtype="float32",
        data_layout="NCHW",
        in_place=False,
        moving_mean_name=None,
        moving_variance_name=None,
        do_model_average_for_mean_and_var=True,
        use_global_stats=False,
        trainable_statistics=False,
    ):
        super().__init__(dtype=dtype)
        channels = check.integer(num_channels, "BatchNorm: num_channels", 1)
        self._attrs = {
            "momentum": check.number(momentum, "BatchNorm: momentum", 0, 1),
            "epsilon": check.number(epsilon, "BatchNorm: epsilon", 0),
            "data_layout": check.choice(data_layout, ("NCHW", "NHWC"), "BatchNorm: data_layout"),
            "use_global_stats": bool(use_global_stats),
            "trainable_statistics": bool(trainable_statistics),
        }
        self._is_test = bool(is_test)
        self._act = activation(act, "BatchNorm")
        self.weight = self.create_parameter(
            [channels],
            ParamAttr.of(param_attr) or ParamAttr(trainable=False),
            default_initializer=Constant(1.0),
        )
        self.bias = self.create_parameter(
            [channels], ParamAttr.of(bias_attr) or ParamAttr(trainable=False), is_bias=True
        )
        for name, value, given in (
            ("_mean", 0.0, moving_mean_name),
            ("_variance", 1.0, moving_variance_name),
        ):
            buffer = Constant(value)([channels], str(self._dtype))
            buffer.name = given or f"{self._full_name}.{name.strip('_')}"
            self.register_buffer(name, buffer)

    def forward(self, input):
        testing = self._is_test or not self.training
        y, mean, variance = ops.batch_norm(
            input,
            self.weight,
            self.bias,
            self._mean,
            self._variance,
            is_test=testing,
            **self._attrs,
        )[:3]
        if not testing and not self._attrs["use_global_stats"]:
            _core.become(self._mean, mean.detach())
            _core.become(self._variance, variance.detach())
        return y if self._act is None else self._act(y)

    def extra_repr(self):
        a = self._attrs
        return f"{self.weight.shape[0]}, momentum={a['momentum']}, epsilon={a['epsilon']}"
