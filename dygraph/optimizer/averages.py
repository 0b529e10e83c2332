"""Averages of parameters over the steps, and Lookahead, which steps towards one."""

from dygraph import _core
from dygraph.autograd.recording import modes, no_grad
from dygraph.core import check
from dygraph.errors import InvalidArgumentError, PreconditionNotMetError
from dygraph.inspect.shown import Shown, text
from dygraph.inspect.watch import user_line
from dygraph.nn import loading
from dygraph.optimizer.base import Accumulator, Optimizer
from dygraph.optimizer.parameters import parameters_of

__all__ = ["ExponentialMovingAverage", "LookaheadOptimizer", "ModelAverage"]

ops = _core.ops


def times(x, factor):
    """x * factor, as a tensor of its type: other readers of a program find all digits."""
    return ops.scale(x, scale_tensor=_core.to_variable([factor], None, str(x.dtype)))


def _refuse_trace(what):
    """Refuse step counts in Python while a program is recorded."""
    if modes.tracer is not None:
        raise PreconditionNotMetError(
            f"{what}: it counts steps in Python, which a program does not repeat, at "
            f"{user_line()}. Call it after the traced step"
        )


class _Swapped:
    """Other values for parameters during a ``with`` block."""

    def __init__(self, average, need_restore):
        self._average, self._need_restore = average, need_restore

    def __enter__(self):
        return self._average

    def __exit__(self, *_):
        if self._need_restore:
            self._average.restore()
        return False


class Average:
    """Base of the averages: replaces the values of the parameters and restores them."""

    def __repr__(self):
        return text(self, parameters=len(self._parameters))

    def _set_up(self, parameters, names):
        self._parameters, self._names = parameters, names
        self._saved = None

    def apply(self, executor=None, need_restore=True):
        """Set the parameters to their averages.

        Parameters
        ----------
        executor : None
            Fluid's; not used.
        need_restore : bool
            True: the end of a ``with`` block restores the parameters. False: `restore` does.

        Returns
        -------
        context manager
        """
        name = type(self).__name__
        if self._saved is not None:
            raise PreconditionNotMetError(
                f"{name}.apply: the averages must not be applied twice. Call restore() first"
            )
        values = self._averages()
        self._saved = self._values()
        self._put(values)
        return _Swapped(self, need_restore)

    def restore(self, executor=None):
        """Restore the values of the parameters before `apply`."""
        if self._saved is None:
            raise PreconditionNotMetError(
                f"{type(self).__name__}.restore: apply() must have been called before"
            )
        self._put(self._saved)
        self._saved = None

    def _values(self):
        return [p.numpy() for p in self._parameters]

    def _put(self, values):
        for p, value in zip(self._parameters, values, strict=True):
            p.set_value(value)

    def _check_update(self):
        _refuse_trace(f"{type(self).__name__}.update")
        if self._saved is not None:
            raise PreconditionNotMetError(
                f"{type(self).__name__}.update: the parameters must hold their own values, got "
                "averages. Call restore() first"
            )

    def _named(self):
        for i, p in enumerate(self._parameters):
            yield self._names.get(id(p)) or p.name or f"parameter_{i}", p


class ExponentialMovingAverage(Average):
    """``ema = decay * ema + (1 - decay) * param`` from ``ema = 0``, divided by ``1 - decay^t``
    where it
    is applied (as Adam's moments are).

    Parameters
    ----------
    decay : float
        In [0, 1).
    thres_steps : callable, optional
        Returns the number of finished steps, s: the decay is then
        ``min(decay, (1 + s) / (10 + s))``.
    name : str, optional
    parameter_list : list of Parameter, or Layer

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([1.0])
    >>> ema = dygraph.optimizer.ExponentialMovingAverage(0.5, parameter_list=[w])
    >>> ema.update()
    >>> w.set_value([4.0])
    >>> ema.update()
    >>> with ema.apply():
    ...     print(w.numpy())
    [3.]
    >>> w.numpy()
    array([4.], dtype=float32)
    """

    def __init__(self, decay=0.999, thres_steps=None, name=None, parameter_list=None):
        kind = "ExponentialMovingAverage"
        self._decay = check.number(decay, f"{kind}: decay", 0, 1)
        if self._decay == 1:
            raise InvalidArgumentError(f"{kind}: decay must be less than 1, got 1")
        if thres_steps is not None and not callable(thres_steps):
            check.number(thres_steps, f"{kind}: thres_steps", 0)
        self._thres_steps = thres_steps
        parameters, names, *_ = parameters_of(parameter_list, kind, trains=False)
        self._set_up(parameters, names)
        self._ema = [Accumulator().make(p) for p in parameters]
        self._left = 1.0  # product of the decays: the weight of the initial 0

    @no_grad
    def update(self):
        """Add the current parameters to the averages."""
        self._check_update()
        decay = self._decay
        if self._thres_steps is not None:
            s = self._thres_steps() if callable(self._thres_steps) else self._thres_steps
            s = check.number(s, "ExponentialMovingAverage: thres_steps", 0)
            decay = min(decay, (1 + s) / (10 + s))
        for ema, p in zip(self._ema, self._parameters, strict=True):
            kept, new = times(ema, decay), times(p.detach(), 1 - decay)
            ema.set_value(ops.elementwise_add(kept, new))
        self._left *= decay

    @no_grad
    def _averages(self):
        if self._left == 1.0:
            raise PreconditionNotMetError(
                "ExponentialMovingAverage.apply: update() must have been called before"
            )
        return [times(ema, 1 / (1 - self._left)) for ema in self._ema]

    def state_dict(self):
        """The averages by ``parameter name.ema``, and ``decay_product``."""
        state = {f"{n}.ema": e for (n, _), e in zip(self._named(), self._ema, strict=True)}
        return {**state, "decay_product": self._left}

    def set_state_dict(self, state_dict):
        """Go on from a `state_dict`. InvalidArgumentError where names or shapes do not fit."""
        own = self.state_dict()
        left = own.pop("decay_product")
        given = dict(state_dict)
        left = check.number(given.pop("decay_product", left), "decay_product", 0, 1)
        loading.load("ExponentialMovingAverage", own, given, True)
        self._left = left


class ModelAverage(Average):
    """The mean of the parameters over a window of the last steps.

    The window is ``average_window_rate`` times the number of updates, between `min_average_window`
    and `max_average_window` steps (operator ``average_accumulates``). Call ``update()`` after each
    step of the optimizer. Parameters with ``do_model_average`` False are left out.

    Parameters
    ----------
    average_window_rate : float
    min_average_window, max_average_window : int
    regularization : None
        Fluid's; not used.
    name : str, optional
    parameter_list : list of Parameter, or Layer

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([1.0])
    >>> average = dygraph.optimizer.ModelAverage(1.0, parameter_list=[w])
    >>> average.update()
    >>> w.set_value([4.0])
    >>> average.update()
    >>> with average.apply():
    ...     print(w.numpy())
    [2.5]
    >>> w.numpy()
    array([4.], dtype=float32)
    """

    _SUMS = ("sum_1", "sum_2", "sum_3")
    _COUNTS = ("num_accumulates", "old_num_accumulates", "num_updates")

    def __init__(
        self,
        average_window_rate,
        min_average_window=10000,
        max_average_window=10000,
        regularization=None,
        name=None,
        parameter_list=None,
    ):
        kind = "ModelAverage"
        self._attributes = self.window(average_window_rate, min_average_window, max_average_window)
        parameters, names, *_ = parameters_of(parameter_list, kind, trains=False)
        chosen = [p for p in parameters if getattr(p, "do_model_average", True)]
        self._set_up(chosen, names)
        self._states = [self._fresh(p) for p in chosen]

    @staticmethod
    def window(rate, least, most):
        """The attributes of operator ``average_accumulates``, checked."""
        kind = "ModelAverage"
        attributes = {
            "average_window": check.number(rate, f"{kind}: average_window_rate", 0),
            "min_average_window": check.integer(least, f"{kind}: min_average_window", 0),
            "max_average_window": check.integer(most, f"{kind}: max_average_window", 1),
        }
        if least > most:
            raise InvalidArgumentError(
                f"{kind}: min_average_window must not exceed max_average_window {most}, got {least}"
            )
        return attributes

    @staticmethod
    def mean(state):
        """The mean, from the sums and counts by name."""
        count = state["num_accumulates"].item() + state["old_num_accumulates"].item()
        if count == 0:
            raise PreconditionNotMetError(
                "ModelAverage.apply: update() must have been called before"
            )
        return times(ops.sum([state[n] for n in ModelAverage._SUMS]), 1 / count)

    def _fresh(self, p):
        sums = {f"in_{n}": Accumulator().make(p) for n in self._SUMS}
        return {**sums, **{f"in_{n}": _core.to_variable([0], None, "int64") for n in self._COUNTS}}

    @no_grad
    def update(self):
        """Add the current parameters to the sums."""
        self._check_update()
        for p, state in zip(self._parameters, self._states, strict=True):
            out = _core.run_op(
                "average_accumulates", {"param": p.detach(), **state}, self._attributes
            )
            for name in (*self._SUMS, *self._COUNTS):
                state[f"in_{name}"] = out[f"out_{name}"]

    @no_grad
    def _averages(self):
        return [self.mean({slot[3:]: v for slot, v in state.items()}) for state in self._states]

    def state_dict(self):
        """The sums and counts by ``parameter name.name``."""
        return {
            f"{name}.{slot[3:]}": variable
            for (name, _), state in zip(self._named(), self._states, strict=True)
            for slot, variable in state.items()
        }

    def set_state_dict(self, state_dict):
        """Go on from a `state_dict`. InvalidArgumentError where names or shapes do not fit."""
        loading.load("ModelAverage", self.state_dict(), state_dict, True)


class LookaheadOptimizer(Shown):
    """Every `k` steps, move back towards slow weights (Lookahead, Zhang and others, 2019).

    ``slow = slow + alpha * (param - slow)``, ``param = slow``, where ``slow`` starts with the
    current values of the parameters.

    Parameters
    ----------
    inner_optimizer : Optimizer
        The optimizer of the fast weights.
    alpha : float
        How far the slow weights follow, from 0 to 1.
    k : int
        After how many steps they follow.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([3.0])
    >>> rule = dygraph.optimizer.Lookahead(dygraph.optimizer.SGD(0.5, [w]), alpha=0.5, k=2)
    >>> for _ in range(2):  # 3.0, 2.5, 2.0, and half of the way back to 3.0
    ...     w.sum().backward()
    ...     rule.step()
    ...     rule.clear_gradients()
    >>> w.item()
    2.5
    """

    def __init__(self, inner_optimizer, alpha=0.5, k=5):
        if not isinstance(inner_optimizer, Optimizer):
            raise InvalidArgumentError(
                f"Lookahead: inner_optimizer must be an optimizer, got {inner_optimizer!r}"
            )
        self.inner_optimizer = inner_optimizer
        self.alpha = check.number(alpha, "Lookahead: alpha", 0, 1)
        self.k = check.integer(k, "Lookahead: k", 1)
        self._steps = 0
        self._slow = [p.numpy() for p in inner_optimizer._parameters]

    def step(self):
        """A step of the inner optimizer, and every `k`-th time the slow weights."""
        self.inner_optimizer.step()
        self._count()

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """`Optimizer.minimize` of the inner optimizer, and every `k`-th time the slow weights."""
        result = self.inner_optimizer.minimize(loss, startup_program, parameter_list, no_grad_set)
        self._count()
        return result

    def _count(self):
        _refuse_trace("Lookahead.step")
        self._steps += 1
        if self._steps % self.k:
            return
        for i, p in enumerate(self.inner_optimizer._parameters):
            slow = self._slow[i] + (p.numpy() - self._slow[i]) * self._slow[i].dtype.type(
                self.alpha
            )
            p.set_value(slow)
            self._slow[i] = slow

    def clear_gradients(self):
        """Clear the gradients of all parameters."""
        self.inner_optimizer.clear_gradients()

    clear_gradient = clear_gradients

    def get_lr(self):
        """The inner optimizer's."""
        return self.inner_optimizer.get_lr()

    def set_lr(self, value):
        """Set the inner optimizer's."""
        self.inner_optimizer.set_lr(value)

    def current_step_lr(self):
        """The inner optimizer's."""
        return self.inner_optimizer.current_step_lr()

    def state_dict(self):
        """The inner optimizer's state, ``parameter name.slow`` and ``lookahead_steps``."""
        slow = zip(self.inner_optimizer._named(), self._slow, strict=True)
        state = {f"{name}.slow": value for (name, _), value in slow}
        return {**self.inner_optimizer.state_dict(), **state, "lookahead_steps": self._steps}

    def set_state_dict(self, state_dict):
        """Go on from a `state_dict`. InvalidArgumentError where names or shapes do not fit."""
        given = dict(state_dict)
        steps = check.integer(given.pop("lookahead_steps", None), "Lookahead: lookahead_steps", 0)
        names = [f"{name}.slow" for name, _ in self.inner_optimizer._named()]
        values = {n: given.pop(n) for n in names if n in given}
        slow = {n: _core.to_variable(v) for n, v in zip(names, self._slow, strict=True)}
        loading.load("Lookahead", slow, values, True)
        self.inner_optimizer.set_state_dict(given)
        self._slow = [v.numpy() for v in slow.values()]
        self._steps = steps

    set_dict = set_state_dict


Lookahead = LookaheadOptimizer
