"""Methods of layers that bring their parameters and buffers to another place or type."""

from dygraph import _core
from dygraph.autograd.recording import no_grad
from dygraph.functions.arguments import cuda_place_of, place_and_type

__all__ = []


class _Moves:
    """Base of `Layer` with these methods."""

    def to(self, place=None, dtype=None):
        """Move parameters and buffers to a place, or float ones to another float type.

        The place may be a name, such as ``"gpu"`` or ``"gpu:1"``. Optimizers keep updating the same
        parameters. Gradients are cleared.
        """
        place, dtype = place_and_type(place, dtype)
        for value in [*self.parameters(), *self.buffers()]:
            new = value.detach()
            if dtype is not None and value.dtype.is_floating:
                new = new.astype(dtype)
            if place is not None:
                new = new.to(place)
            value.clear_gradient()
            with no_grad():
                _core.become(value, new.detach())
        if dtype is not None:
            for _, layer in self.named_sublayers(include_self=True):
                layer.__dict__["_dtype"] = _core.dtype_of(dtype)
        return self

    def cuda(self, device=None):
        """Move parameters and buffers to a CUDA device; None: the current one, or the first."""
        return self.to(cuda_place_of(device, "cuda"))

    def cpu(self):
        """Move parameters and buffers to the memory of the host."""
        return self.to(_core.CPUPlace())
