"""Training that keeps only checkpoints of the forward pass (the pass `recompute`)."""

from dygraph.errors import ArgumentTypeError, PreconditionNotMetError, kind_of
from dygraph.inspect.shown import Shown
from dygraph.static.backward import append_backward

__all__ = ["RecomputeOptimizer"]


class RecomputeOptimizer(Shown):
    """Another optimizer's `minimize`, keeping only checkpoints of the forward pass.

    Values and gradients have the same bits. Results of operators with random numbers or with state
    (dropout, batch_norm in training) are kept too.

    Parameters
    ----------
    optimizer : optimizer of `static.optimizer`
        The optimizer whose update follows.

    Examples
    --------
    >>> from dygraph import static
    >>> main = static.Program()
    >>> with static.program_guard(main, static.Program()):
    ...     x = static.data("x", [None, 4])
    ...     half = static.layers.fc(static.layers.fc(x, 4, act="tanh"), 4, act="tanh")
    ...     loss = static.layers.mean(static.layers.fc(half, 1))
    ...     rule = static.optimizer.RecomputeOptimizer(static.optimizer.SGD(0.1))
    ...     rule.set_checkpoints([half])
    ...     _ = rule.minimize(loss)
    >>> sum(op.type == "tanh" for op in main.global_block().ops)
    3
    """

    def __init__(self, optimizer):
        if not hasattr(optimizer, "apply_optimize"):
            raise ArgumentTypeError(
                "RecomputeOptimizer: optimizer must be one of static.optimizer, got "
                f"{kind_of(optimizer)}"
            )
        self._optimizer, self._checkpoints = optimizer, None

    def set_checkpoints(self, checkpoints):
        """Set the variables that are kept; other results before the last of them are recomputed."""
        self._checkpoints = list(checkpoints)

    _set_checkpoints = set_checkpoints

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """`backward`, then the update."""
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        return self.apply_optimize(loss, startup_program, pairs), pairs

    def backward(
        self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None
    ):
        """`append_backward` with the checkpoints."""
        if self._checkpoints is None:
            raise PreconditionNotMetError(
                "RecomputeOptimizer: checkpoints must be known before minimize. Call "
                "set_checkpoints([...]) with variables of the forward pass"
            )
        return append_backward(loss, parameter_list, no_grad_set, callbacks, self._checkpoints)

    def apply_optimize(self, loss, startup_program, params_grads):
        """The optimizer's own."""
        return self._optimizer.apply_optimize(loss, startup_program, params_grads)

    def apply_gradients(self, params_grads):
        """The optimizer's own."""
        return self._optimizer.apply_gradients(params_grads)
