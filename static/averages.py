"""Averages of a program's parameters over the runs, and Lookahead, which steps towards one.

The classes are those of `dygraph.optimizer`. In a program, their steps are operators, and `apply`
and `restore` change the parameters in the current scope.
"""

import dygraph
from dygraph import _core, unique_name
from dygraph.autograd.recording import no_grad
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, PreconditionNotMetError, kind_of
from dygraph.inspect.shown import Shown, text
from dygraph.ops import cast, scale
from dygraph.optimizer.averages import Average, times
from dygraph.static.in_programs import InPrograms
from dygraph.static.parameters import create_global_var
from dygraph.static.program import (
    OpRole,
    Variable,
    default_main_program,
    default_startup_program,
    program_guard,
)
from dygraph.static.scope import global_scope

__all__ = ["ExponentialMovingAverage", "Lookahead", "LookaheadOptimizer", "ModelAverage"]


def _times(x, factor):
    """x * factor, exact in x's type; `factor` is a number or a variable of one element."""
    if not isinstance(factor, _core.Variable):
        factor = _core.literal([factor], str(x.dtype))
    return scale(x, scale_tensor=factor)


def _write(value, to):
    to.block.append_op("assign", {"X": value}, {"Out": to})


def _averaged_parameters(owner):
    found = [p for p in default_main_program().all_parameters() if p.do_model_average is not False]
    if not found:
        raise PreconditionNotMetError(
            f"{owner}: the default main program must have parameters, got none. Make it inside "
            "program_guard, after the layers"
        )
    return found


class _InScope(Average):
    """`apply` and `restore` for parameters that live in the current scope."""

    def __repr__(self):
        return text(self, parameters=len(self._described))

    def _find(self, variable):
        held = global_scope().find_var(variable.name)
        if held is None:
            raise PreconditionNotMetError(
                f"{type(self).__name__}.apply: {variable.name!r} must be in the current scope. Run "
                "the startup program and train in it first, or enter static.scope_guard"
            )
        return held.get()

    def _values(self):
        return [self._find(p) for p in self._described]

    def _put(self, values):
        for p, value in zip(self._described, values, strict=True):
            global_scope().find_var(p.name).set(value)


class ExponentialMovingAverage(_InScope):
    """``ema = decay * ema + (1 - decay) * param`` from ``ema = 0``, divided by ``1 - decay^t``
    where it is applied, as Adam's moments are.

    Parameters
    ----------
    decay : float
        In [0, 1).
    thres_steps : Variable, optional
        The number of finished steps, s, of shape [1]: the decay is then
        ``min(decay, (1 + s) / (10 + s))``.
    name : str, optional
        Prefix of the names of its variables.

    Examples
    --------
    >>> from dygraph import static
    >>> main, startup, executor = static.Program(), static.Program(), static.Executor()
    >>> scope, start = static.Scope(), static.initializer.Constant(1.0)
    >>> with static.program_guard(main, startup):
    ...     w = static.create_parameter([1], "float32", "w", default_initializer=start)
    ...     _ = static.optimizer.SGD(1.0).minimize(static.layers.mean(w))
    ...     ema = static.optimizer.ExponentialMovingAverage(0.5)
    ...     ema.update()
    >>> with static.scope_guard(scope):
    ...     for program in (startup, main, main):  # 1, 0, -1
    ...         _ = executor.run(program)
    ...     with ema.apply(executor):  # (0.5 * 0.5 * 0 + 0.5 * -1) / 0.75
    ...         print(scope.find_var("w").get().numpy())
    ...     print(scope.find_var("w").get().numpy())
    [-0.6666667]
    [-1.]
    """

    def __init__(self, decay=0.999, thres_steps=None, name=None):
        kind = "ExponentialMovingAverage"
        self._decay = check.number(decay, f"{kind}: decay", 0, 1)
        if self._decay == 1:
            raise InvalidArgumentError(f"{kind}: decay must be less than 1, got 1")
        if thres_steps is not None and not isinstance(thres_steps, Variable):
            raise ArgumentTypeError(
                f"{kind}: thres_steps must be a variable of the program, got {kind_of(thres_steps)}"
            )
        self._thres_steps, self._saved = thres_steps, None
        self._described = _averaged_parameters(kind)
        prefix = f"{name}." if name else ""
        self._ema = [
            create_global_var(
                p.shape, 0.0, str(p.dtype), True, name=unique_name.generate(f"{prefix}{p.name}.ema")
            )
            for p in self._described
        ]
        # Product of the decays: the weight that the start at 0 still has.
        name = unique_name.generate(f"{prefix}ema_decay_product")
        self._left = create_global_var([1], 1.0, "float64", True, name=name)

    def update(self):
        """Append the operators that add the parameters to the averages, after their update."""
        program = self._left.block.program
        with program.marked(OpRole.Optimize), program.appending_to(program.global_block()):
            decay = self._decay_now()
            rest = self._decay_of_rest(decay)
            for ema, p in zip(self._ema, self._described, strict=True):
                kept = _times(ema, self._in_type(decay, p))
                new = _times(p, self._in_type(rest, p))
                _write(_core.ops.elementwise_add(kept, new), ema)
            _write(_times(self._left, decay), self._left)

    def _decay_now(self):
        if self._thres_steps is None:
            return self._decay
        steps = cast(self._thres_steps, "float64")
        limit = scale(steps, bias=1.0) / scale(steps, bias=10.0)
        return _core.ops.elementwise_min(limit, _core.literal([self._decay], "float64"))

    @staticmethod
    def _decay_of_rest(decay):
        return scale(decay, scale=-1.0, bias=1.0) if isinstance(decay, Variable) else 1 - decay

    @staticmethod
    def _in_type(factor, p):
        return cast(factor, str(p.dtype)) if isinstance(factor, Variable) else factor

    @no_grad
    def _averages(self):
        left = self._find(self._left).item()
        if left == 1.0:
            raise PreconditionNotMetError(
                "ExponentialMovingAverage.apply: a program with update() must have run before"
            )
        return [times(self._find(e), 1 / (1 - left)) for e in self._ema]


class ModelAverage(_InScope):
    """The mean of the parameters over a window of the latest runs.

    The window is ``average_window_rate`` times the number of updates, between `min_average_window`
    and `max_average_window` runs (operator ``average_accumulates``). Make it after ``minimize``: it
    appends to the default main program. Parameters whose ``do_model_average`` is False are left
    out.

    Parameters
    ----------
    average_window_rate : float
        The share of the updates that an average is of.
    min_average_window, max_average_window : int
        The least and the greatest number of updates of an average.
    regularization : None
        Fluid's argument; not used.
    name : str, optional
        What the names of the averages begin with.

    Examples
    --------
    >>> from dygraph import static
    >>> main, startup, executor = static.Program(), static.Program(), static.Executor()
    >>> scope, start = static.Scope(), static.initializer.Constant(1.0)
    >>> with static.program_guard(main, startup):
    ...     w = static.create_parameter([1], "float32", "w", default_initializer=start)
    ...     _ = static.optimizer.SGD(1.0).minimize(static.layers.mean(w))
    ...     average = static.optimizer.ModelAverage(1.0)
    >>> with static.scope_guard(scope):
    ...     for program in (startup, main, main, main):  # 1, 0, -1, -2
    ...         _ = executor.run(program)
    ...     with average.apply(executor):
    ...         print(scope.find_var("w").get().numpy())
    [-1.]
    """

    def __init__(
        self,
        average_window_rate,
        min_average_window=10000,
        max_average_window=10000,
        regularization=None,
        name=None,
    ):
        kind, eager = "ModelAverage", dygraph.optimizer.ModelAverage
        attributes = eager.window(average_window_rate, min_average_window, max_average_window)
        self._described, self._saved = _averaged_parameters(kind), None
        prefix = f"{name}." if name else ""
        self._states = []
        program = default_main_program()
        with program.marked(OpRole.Optimize):
            for p in self._described:
                state = {}
                for slot in (*eager._SUMS, *eager._COUNTS):
                    sums = slot in eager._SUMS
                    state[slot] = create_global_var(
                        p.shape if sums else [1], 0, str(p.dtype) if sums else "int64", True,
                        name=unique_name.generate(f"{prefix}{p.name}.{slot}"),
                    )  # fmt: skip
                program.global_block().append_op(
                    "average_accumulates",
                    {"param": p, **{f"in_{n}": v for n, v in state.items()}},
                    {f"out_{n}": v for n, v in state.items()},
                    attributes,
                )
                self._states.append(state)

    @no_grad
    def _averages(self):
        found = [{n: self._find(v) for n, v in state.items()} for state in self._states]
        return [dygraph.optimizer.ModelAverage.mean(state) for state in found]


class LookaheadOptimizer(Shown):
    """Every `k` runs, move back towards slow weights (Lookahead, Zhang and others, 2019).

    ``slow = slow + alpha * (param - slow)``, ``param = slow``, where ``slow`` starts with the
    values of the parameters.

    Parameters
    ----------
    inner_optimizer : optimizer of this module
        The optimizer of the fast weights.
    alpha : float
        How far the slow weights follow, from 0 to 1.
    k : int
        After how many runs they follow.

    Examples
    --------
    >>> from dygraph import static
    >>> main, startup, executor = static.Program(), static.Program(), static.Executor()
    >>> scope, start = static.Scope(), static.initializer.Constant(3.0)
    >>> with static.program_guard(main, startup):
    ...     w = static.create_parameter([1], "float32", "w", default_initializer=start)
    ...     rule = static.optimizer.Lookahead(static.optimizer.SGD(0.5), alpha=0.5, k=2)
    ...     _ = rule.minimize(static.layers.mean(w))
    >>> for program in (startup, main, main):  # 3.0, 2.5, 2.0, and half of the way back to 3.0
    ...     _ = executor.run(program, scope=scope)
    >>> scope.find_var("w").get().item()
    2.5
    """

    def __init__(self, inner_optimizer, alpha=0.5, k=5):
        if not isinstance(inner_optimizer, InPrograms):
            raise ArgumentTypeError(
                "Lookahead: inner_optimizer must be an optimizer of static.optimizer, got "
                f"{kind_of(inner_optimizer)}"
            )
        self.inner_optimizer = inner_optimizer
        self.alpha = check.number(alpha, "Lookahead: alpha", 0, 1)
        self.k = check.integer(k, "Lookahead: k", 1)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """`minimize` of the inner optimizer, then the operators for the slow weights."""
        startup = startup_program or default_startup_program()
        result = self.inner_optimizer.minimize(loss, startup, parameter_list, no_grad_set)
        program = loss.block.program
        with (
            program_guard(program, startup),
            program.marked(OpRole.Optimize),
            program.appending_to(program.global_block()),
        ):
            due = self._is_due(program)
            for p, _ in result[1]:
                slow = self._slow(program, startup, p)
                way = _times(_core.ops.elementwise_sub(p, slow), self.alpha)
                moved = _core.ops.elementwise_add(slow, way)
                _write(dygraph.where(due, moved, slow), slow)
                _write(dygraph.where(due, slow, p), p)
        return result

    def _is_due(self, program):
        """Whether the number of this run is a multiple of k: a bool variable of shape [1]."""
        steps = create_global_var(
            [1], 0, "int64", True, name=unique_name.generate("lookahead_step")
        )
        program.global_block().append_op("increment", {"X": steps}, {"Out": steps}, {"step": 1.0})
        return _core.ops.equal(steps % self.k, _core.literal([0], "int64"))

    @staticmethod
    def _slow(program, startup, p):
        slow = program.global_block().create_var(
            name=unique_name.generate(f"{p.name}@SLOW"), shape=p.shape, dtype=p.dtype,
            persistable=True, stop_gradient=True,
        )  # fmt: skip
        block = startup.global_block()
        own = block.create_var(name=slow.name, shape=p.shape, dtype=p.dtype, persistable=True)
        block.append_op("assign", {"X": block.var(p.name)}, {"Out": own})
        return slow


Lookahead = LookaheadOptimizer
