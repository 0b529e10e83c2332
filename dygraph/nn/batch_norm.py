"""Batch normalisation."""

import math

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError
from dygraph.functions.arguments import share_of_old
from dygraph.initializer import Constant
from dygraph.nn.activation import activation
from dygraph.nn.layer import Layer
from dygraph.nn.norm import require_rank
from dygraph.nn.param_attr import ParamAttr

__all__ = ["BatchNorm", "BatchNorm1D", "BatchNorm2D", "BatchNorm3D"]

ops = _core.ops


class BatchNorm(Layer):
    """Normalise each channel over the batch.

    ``(x - mean) / sqrt(variance + epsilon) * weight + bias``.

    In training, mean and variance are those of the batch, which update the running ones:
    ``running = momentum * running + (1 - momentum) * batch``. In eval mode the running ones are
    used. (Ioffe and Szegedy, 2015.) `momentum` is Paddle's, the share of the old value: PyTorch's
    0.1 is 0.9 here. The running variance divides by the number of values, PyTorch's by one less.

    ``norm(x, residual)`` gives ``act(normalised + residual)``, the end of a residual block. With
    ``act="relu"`` normalisation, sum and activation are one operator, which is faster than three
    and gives the same bits.

    Parameters
    ----------
    num_channels : int
    act : str, optional
    is_test : bool
        True: always use eval mode.
    momentum, epsilon : float
    param_attr, bias_attr : ParamAttr, str or Initializer, optional
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.
    data_layout : 'NCHW' or 'NHWC'
        Which axis holds the channels.
    in_place, do_model_average_for_mean_and_var : bool
        Fluid's; not used.
    moving_mean_name, moving_variance_name : str, optional
    use_global_stats : bool
        True: normalise by the running values in training, too.
    trainable_statistics : bool
        True: use the batch's mean and variance in eval mode, too, as Paddle 2 does for
        ``use_global_stats=False``.

    Attributes
    ----------
    weight, bias : Parameter
        ``[num_channels]``.
    _mean, _variance : Variable
        The running values, buffers.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> norm = dygraph.nn.BatchNorm(1, momentum=0.5)
    >>> x = dygraph.to_variable(np.array([[2.0], [6.0]], "float32"))
    >>> norm(x).numpy().round(3).ravel().tolist()
    [-1.0, 1.0]
    >>> norm._mean.item()
    2.0
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
        dtype=None,
        data_layout="NCHW",
        in_place=False,
        moving_mean_name=None,
        moving_variance_name=None,
        do_model_average_for_mean_and_var=True,
        use_global_stats=False,
        trainable_statistics=False,
    ):
        super().__init__(dtype=dtype)
        name = type(self).__name__
        channels = check.integer(num_channels, f"{name}: num_channels", 1)
        if isinstance(act, float):
            raise ArgumentTypeError(
                f"{name}: act must be an activation's name such as 'relu', got {act}. Give "
                f"momentum and epsilon by name: {name}({channels}, momentum=0.9, epsilon=1e-05)"
            )
        self._attrs = {
            "momentum": share_of_old(momentum, name),
            "epsilon": check.number(epsilon, f"{name}: epsilon", 0),
            "data_layout": check.choice(data_layout, ("NCHW", "NHWC"), f"{name}: data_layout"),
            "use_global_stats": bool(use_global_stats),
            "trainable_statistics": bool(trainable_statistics),
        }
        self._is_test = bool(is_test)
        self._act = activation(act, name)
        self._act_name, self._ends_in_relu = act, act == "relu"
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

    def forward(self, input, residual=None):
        testing = self._is_test or not self.training
        if not testing and isinstance(input, _core.Variable):
            if math.prod(_core.dims(input)) == self.weight.size:
                _warn_of_one_value(self, input)
        state = self.weight, self.bias, self._mean, self._variance
        if not self._ends_in_relu:
            outputs = ops.batch_norm(input, *state, is_test=testing, **self._attrs)
        elif residual is None:
            outputs = ops.fused_batch_norm_act(input, *state, is_test=testing, **self._attrs)
        else:
            outputs = ops.fused_bn_add_activation(
                input, residual, *state, is_test=testing, **self._attrs
            )
        y, mean, variance = outputs[:3]
        if not testing and not self._attrs["use_global_stats"]:
            _core.become(self._mean, mean.detach())
            _core.become(self._variance, variance.detach())
        if self._ends_in_relu:
            return y
        if residual is not None:
            y = ops.elementwise_add(y, residual)
        return y if self._act is None else self._act(y)

    def extra_repr(self):
        a = self._attrs
        act = f", act='{self._act_name}'" if self._act_name else ""
        more = ", use_global_stats=True" if a["use_global_stats"] else ""
        return (
            f"{self.weight.shape[0]}{act}, momentum={a['momentum']}, epsilon={a['epsilon']}{more}"
        )


def _warn_of_one_value(layer, input):
    """Warn about one value per channel, which is its own mean: the result is always the bias."""
    import warnings

    warnings.warn(
        f"{type(layer).__name__}: input of shape {list(input.shape)} has one value per channel, "
        "which normalises to 0, so nothing is learnt here. Train with larger batches "
        "(DataLoader: drop_last=True), or call eval()",
        stacklevel=3,
    )


class BatchNorm1D(BatchNorm):
    """`BatchNorm` of sequences ``[batch, channels, length]`` or of ``[batch, channels]``.

    Parameters
    ----------
    num_channels : int
    act : str, optional
        Name of an activation, ``'relu'``.
    is_test : bool
        True: always use eval mode.
    momentum, epsilon : float
        `momentum` is the share of the old running value: 1 less PyTorch's.
    param_attr, bias_attr : ParamAttr, str or Initializer, optional
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.
    data_layout : 'NCHW' or 'NHWC'
        Which axis holds the channels: the second or the last.
    in_place, do_model_average_for_mean_and_var : bool
        Fluid's; not used.
    moving_mean_name, moving_variance_name : str, optional
        Names of the running values.
    use_global_stats : bool
        True: normalise by the running values in training, too.
    trainable_statistics : bool
        True: use the batch's mean and variance in eval mode, too, as Paddle 2 does for
        ``use_global_stats=False``.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[2.0], [6.0]], dtype="float32")
    >>> dygraph.nn.BatchNorm1D(1)(x).numpy().round(3).tolist()
    [[-1.0], [1.0]]
    """

    def forward(self, input, residual=None):
        if isinstance(input, _core.Variable) and len(input.shape) != 2:
            require_rank(input, 1, "BatchNorm1D", self._attrs["data_layout"])
        return super().forward(input, residual)


class BatchNorm2D(BatchNorm):
    """`BatchNorm` of images ``[batch, channels, height, width]`` and nothing else.

    Parameters
    ----------
    num_channels : int
    act : str, optional
        Name of an activation, ``'relu'``.
    is_test : bool
        True: always use eval mode.
    momentum, epsilon : float
        `momentum` is the share of the old running value: 1 less PyTorch's.
    param_attr, bias_attr : ParamAttr, str or Initializer, optional
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.
    data_layout : 'NCHW' or 'NHWC'
        Which axis holds the channels: the second or the last.
    in_place, do_model_average_for_mean_and_var : bool
        Fluid's; not used.
    moving_mean_name, moving_variance_name : str, optional
        Names of the running values.
    use_global_stats : bool
        True: normalise by the running values in training, too.
    trainable_statistics : bool
        True: use the batch's mean and variance in eval mode, too, as Paddle 2 does for
        ``use_global_stats=False``.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[[2.0, 6.0]]]], dtype="float32")
    >>> dygraph.nn.BatchNorm2D(1)(x).numpy().round(3).tolist()
    [[[[-1.0, 1.0]]]]
    """

    def forward(self, input, residual=None):
        require_rank(input, 2, "BatchNorm2D", self._attrs["data_layout"])
        return super().forward(input, residual)


class BatchNorm3D(BatchNorm):
    """`BatchNorm` of volumes ``[batch, channels, depth, height, width]`` and nothing else.

    Parameters
    ----------
    num_channels : int
    act : str, optional
        Name of an activation, ``'relu'``.
    is_test : bool
        True: always use eval mode.
    momentum, epsilon : float
        `momentum` is the share of the old running value: 1 less PyTorch's.
    param_attr, bias_attr : ParamAttr, str or Initializer, optional
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.
    data_layout : 'NCHW' or 'NHWC'
        Which axis holds the channels: the second or the last.
    in_place, do_model_average_for_mean_and_var : bool
        Fluid's; not used.
    moving_mean_name, moving_variance_name : str, optional
        Names of the running values.
    use_global_stats : bool
        True: normalise by the running values in training, too.
    trainable_statistics : bool
        True: use the batch's mean and variance in eval mode, too, as Paddle 2 does for
        ``use_global_stats=False``.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[[[2.0, 6.0]]]]], dtype="float32")
    >>> dygraph.nn.BatchNorm3D(1)(x).numpy().round(3).tolist()
    [[[[[-1.0, 1.0]]]]]
    """

    def forward(self, input, residual=None):
        require_rank(input, 3, "BatchNorm3D", self._attrs["data_layout"])
        return super().forward(input, residual)
