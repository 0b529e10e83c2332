"""SpectralNorm: weights divided by their largest singular value."""

from dygraph import _core
from dygraph.autograd.recording import no_grad
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.initializer import Normal
from dygraph.nn.layer import Layer

__all__ = ["SpectralNorm"]

ops = _core.ops


class SpectralNorm(Layer):
    """A weight divided by (an estimate of) its largest singular value.

    The weight as a matrix ``[size of axis dim, rest]`` has the singular value
    ``sigma = u . (weight v)``; `power_iters` steps of the power method refine the vectors u and v
    at each call. In training they are kept for the next call, so the estimate improves with each
    call. They are constants for the gradient (Miyato et al., 2018). A program keeps the mode in
    which the layer was described or recorded: call ``eval()`` first for evaluation.

    Parameters
    ----------
    weight_shape : list of int
        Two to five sizes.
    dim : int
        The axis that becomes the rows: 0 for a convolution, 1 for `Linear` and transposed
        convolutions.
    power_iters : int
    eps : float
        Added to lengths before a division.
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Attributes
    ----------
    weight_u, weight_v : Variable
        The vectors, buffers.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> norm = dygraph.nn.SpectralNorm([2, 2], power_iters=20)
    >>> weight = dygraph.to_variable(np.diag([4.0, 1.0]).astype("float32"))
    >>> norm(weight).numpy().round(3).tolist()
    [[1.0, 0.0], [0.0, 0.25]]
    """

    def __init__(self, weight_shape, dim=0, power_iters=1, eps=1e-12, dtype=None):
        super().__init__(dtype=dtype)
        shape = check.shape(weight_shape, "SpectralNorm: weight_shape")
        if not 2 <= len(shape) <= 5 or min(shape) < 1:
            raise InvalidArgumentError(
                f"SpectralNorm: weight_shape must hold 2 to 5 sizes of at least 1, got {shape}"
            )
        self._shape = shape
        self._dim = check.axis(dim, len(shape), "SpectralNorm: dim")
        self._power_iters = check.integer(power_iters, "SpectralNorm: power_iters", 0)
        self._eps = check.number(eps, "SpectralNorm: eps", 0)
        size = 1
        for s in shape:
            size *= s
        rows = shape[self._dim]
        for name, length in (("weight_u", rows), ("weight_v", size // rows)):
            self.register_buffer(name, Normal(0.0, 1.0)([length], str(self._dtype)))

    def forward(self, weight):
        check.variable(weight, "SpectralNorm: weight")
        if list(weight.shape) != self._shape:
            raise InvalidArgumentError(
                f"SpectralNorm: weight must have shape {self._shape}, got {list(weight.shape)}"
            )
        steps = self._power_iters
        if self.training and steps:
            with no_grad():
                self._refine(weight.detach())
            steps = 0
        return ops.spectral_norm(
            weight, self.weight_u, self.weight_v, dim=self._dim, power_iters=steps, eps=self._eps
        )

    def _refine(self, weight):
        order = [self._dim, *(i for i in range(len(self._shape)) if i != self._dim)]
        matrix = ops.reshape2(
            ops.transpose2(weight, axis=order), shape=[self._shape[self._dim], -1]
        )
        u, v = self.weight_u, self.weight_v
        for _ in range(self._power_iters):
            v = self._unit(ops.matmul_v2(u, matrix))
            u = self._unit(ops.matmul_v2(matrix, v))
        _core.become(self.weight_u, u.detach())
        _core.become(self.weight_v, v.detach())

    def _unit(self, vector):
        length = ops.sqrt(ops.reduce_sum(ops.square(vector)))
        return ops.elementwise_div(vector, ops.scale(length, bias=self._eps))

    def extra_repr(self):
        return f"{self._shape}, dim={self._dim}, power_iters={self._power_iters}"
