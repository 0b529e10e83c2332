"""Functions whose gradient is written in Python."""

from dygraph import _core
from dygraph.autograd.recording import no_grad
from dygraph.core.exchange import cupys_stream
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    UnimplementedError,
    kind_of,
)
from dygraph.inspect.shown import Shown

__all__ = ["Function", "PyLayer"]

TYPE_CHECKING = False  # True for mypy and pyright
if TYPE_CHECKING:
    from typing import Any

Variable = _core.Variable


class Context(Shown):
    """Passes values from forward to backward; other attributes can be set freely.

    Attributes
    ----------
    needs_input_grad : tuple of bool
        For each argument of forward.
    """

    def __init__(self, needs_input_grad):
        self.needs_input_grad = needs_input_grad
        self._saved = ()
        self._outputs = None

    def save_for_backward(self, *variables):
        """Keep inputs, outputs or other Variables, or None, for backward."""
        for v in variables:
            if v is not None and not isinstance(v, Variable):
                raise ArgumentTypeError(
                    f"save_for_backward keeps Variables, got {kind_of(v)}. "
                    "Set other values as attributes of ctx"
                )
        self._saved = tuple(variables)

    @property
    def saved_variables(self):
        """The values of `save_for_backward`, in order."""
        return tuple(self._outputs[v] if isinstance(v, int) else v for v in self._saved)

    @property
    def saved_tensors(self):
        """`saved_variables`, under torch's name."""
        return self.saved_variables

    def saved_tensor(self):
        """`saved_variables`, under Paddle's name."""
        return self.saved_variables

    def _detach_outputs(self, outputs):
        """Outputs are stored by number: references would keep their own node alive for ever."""
        numbers = {id(v): i for i, v in enumerate(outputs)}
        self._saved = tuple(v if v is None else numbers.get(id(v), v) for v in self._saved)
        return sorted({v for v in self._saved if isinstance(v, int)})


class PyLayer(Shown):
    """A function with a custom gradient.

    A subclass has two static methods. ``forward(ctx, *args)`` computes without recording.
    ``backward(ctx, *grads)`` gets a gradient for each output (None if there is none) and returns
    one, or None, for each Variable among the arguments. If it uses dygraph's operators, it can be
    differentiated again.

    If CuPy has been imported and a Variable lies on a CUDA device, CuPy computes on our stream
    while these methods run, so nothing waits: see docs/cuda_operator.md.

    Examples
    --------
    >>> import dygraph
    >>> class Cube(dygraph.PyLayer):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_variables
    ...         return grad * x * x * 3.0
    >>> x = dygraph.to_variable([2.0])
    >>> x.stop_gradient = False
    >>> (g,) = dygraph.grad(Cube.apply(x), x, create_graph=True)
    >>> (h,) = dygraph.grad(g, x)
    >>> g.numpy(), h.numpy()
    (array([12.], dtype=float32), array([12.], dtype=float32))
    """

    @staticmethod
    def forward(ctx: "Any", *args: "Any", **kwargs: "Any") -> "Any":
        raise NotImplementedError("a PyLayer must define the static method forward(ctx, *args)")

    @staticmethod
    def backward(ctx: "Any", *grads: "Any", **kwargs: "Any") -> "Any":
        raise NotImplementedError("a PyLayer must define the static method backward(ctx, *grads)")

    @classmethod
    def apply(cls, *args: "Any", **kwargs: "Any") -> "Any":
        """Run forward and connect its outputs to its Variables.

        Variables are given by position; a Variable among the keywords raises ArgumentTypeError.
        Variables of a program raise UnimplementedError; use `static.layers.py_func` for those.
        """
        for name, value in kwargs.items():
            if isinstance(value, Variable):
                raise ArgumentTypeError(
                    f"{cls.__name__}.apply: the Variable '{name}' must be given by position, "
                    "so that backward can give its gradient"
                )
        inputs = [a for a in args if isinstance(a, Variable)]
        if any(_core.is_symbol(v) for v in inputs):
            raise UnimplementedError(
                f"{cls.__name__}.apply: its arguments must be eager Variables, since programs have "
                f"no operator for its backward, got a variable of a program. Use "
                f"static.layers.py_func(func, x, out, "
                "backward_func)"
            )
        needs = tuple(isinstance(a, Variable) and not a.stop_gradient for a in args)
        ctx = Context(needs)
        with no_grad(), cupys_stream(inputs):
            result = cls.forward(ctx, *args, **kwargs)
        outputs = list(result) if isinstance(result, (tuple, list)) else [result]
        owned = {id(v) for v in inputs}
        for i, v in enumerate(outputs):
            if not isinstance(v, Variable):
                raise ArgumentTypeError(
                    f"{cls.__name__}: forward must give Variables, got {kind_of(v)}"
                )
            if id(v) in owned or not v.is_leaf or not v.stop_gradient:
                # An input given back (or a foreign leaf) must not become a result of this call.
                outputs[i] = v.detach()
        saved = ctx._detach_outputs(outputs)
        if _core.grad_enabled() and any(needs):
            run = _Backward(cls, ctx, args, saved)
            _core.record_function(cls.__name__, inputs, outputs, run, saved)
        if isinstance(result, (tuple, list)):
            return type(result)(outputs) if type(result) in (tuple, list) else tuple(outputs)
        return outputs[0]


class _Backward:
    """The tape's callable: (saved outputs, *gradients) -> a gradient for each Variable."""

    def __init__(self, cls, ctx, args, saved):
        self.cls, self.ctx, self.saved = cls, ctx, saved
        self.places = [i for i, a in enumerate(args) if isinstance(a, Variable)]
        self.shapes = [args[i].shape for i in self.places]
        self.count = len(args)

    def __call__(self, outputs, *grads):
        self.ctx._outputs = dict(zip(self.saved, outputs, strict=True))
        try:
            with cupys_stream(grads):
                result = self.cls.backward(self.ctx, *grads)
        finally:
            self.ctx._outputs = None
        result = list(result) if isinstance(result, (tuple, list)) else [result]
        name = self.cls.__name__
        if len(result) != len(self.places) and len(result) == self.count:
            result = [result[i] for i in self.places]  # one for each argument
        if len(result) != len(self.places):
            raise InvalidArgumentError(
                f"{name}: backward must give a gradient or None for each of the {len(self.places)} "
                f"Variables, got {len(result)}"
            )
        for i, (grad, shape) in enumerate(zip(result, self.shapes, strict=True)):
            if grad is None:
                continue
            if not isinstance(grad, Variable):
                raise ArgumentTypeError(
                    f"{name}: backward must give Variables or None, got {kind_of(grad)} "
                    f"for input {i}"
                )
            if grad.shape != shape:
                raise InvalidArgumentError(
                    f"{name}: backward must give input {i} a gradient of its shape {list(shape)}, "
                    f"got {list(grad.shape)}"
                )
        return tuple(result)


Function = PyLayer
