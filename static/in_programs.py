"""Base of all optimizers of programs: `minimize` appends backward and the update."""

import dygraph
from dygraph import initializer, unique_name
from dygraph.errors import ArgumentTypeError, PreconditionNotMetError, kind_of
from dygraph.inspect.shown import text
from dygraph.lr.base import Schedule
from dygraph.regularizer import L1Decay, L2Decay
from dygraph.static.backward import append_backward
from dygraph.static.parameters import fill_at_start
from dygraph.static.program import OpRole, default_startup_program, program_guard
from dygraph.static.scope import global_scope, set_rate
from dygraph.static.variable import Variable

__all__ = ["InPrograms"]


class InPrograms:
    """The part of an optimizer that works on a program instead of values."""

    def __repr__(self):
        return text(self, learning_rate=self._learning_rate)

    def _is_rate(self, value):
        return isinstance(value, Variable)

    def _take(self, parameter_list):
        kind = type(self).__name__
        if parameter_list is not None:
            raise ArgumentTypeError(
                f"{kind}: parameter_list must be None, since a program has its parameters. Select "
                f"with minimize(loss, parameter_list=...)"
            )
        if not isinstance(self._learning_rate, (int, float, Variable, Schedule)):
            raise ArgumentTypeError(
                f"{kind}: the learning rate of a program must be a number, a schedule of "
                f"dygraph.lr or one of the program's variables, got {kind_of(self._learning_rate)}"
            )
        self._parameters, self._names, self._groups = [], {}, {}
        self._kept = {}  # program -> {(None, dtype) for the rate, (parameter, slot): Variable}

    def step(self):
        """Not possible here: an Executor runs the update."""
        raise PreconditionNotMetError(
            f"{type(self).__name__}.step: the update is part of the program. Call minimize(loss) "
            "once and run the program"
        )

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """Append backward, clipping, decay and update.

        Parameters
        ----------
        loss : Variable
        startup_program : Program, optional
            Initialises the optimizer's variables. Default: the default startup program.
        parameter_list, no_grad_set
            As of `append_backward`.

        Returns
        -------
        (list of Operator, list of (Parameter, Variable))
            The updates, and the gradients from backward.
        """
        if not isinstance(loss, Variable):
            raise ArgumentTypeError(
                f"{type(self).__name__}.minimize: loss must be a variable of a program, got "
                f"{kind_of(loss)}. Use dygraph.optimizer for eager training"
            )
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        return self.apply_optimize(loss, startup_program, pairs), pairs

    def backward(
        self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None
    ):
        """The first half: `append_backward`."""
        return append_backward(loss, parameter_list, no_grad_set, callbacks)

    def apply_optimize(self, loss, startup_program, params_grads):
        """The second half in the program of `loss`."""
        startup = startup_program or default_startup_program()
        with program_guard(loss.block.program, startup):
            return self.apply_gradients(params_grads)

    def apply_gradients(self, params_grads):
        """Clip, decay, update: returns the operators of the update."""
        if not params_grads:
            raise PreconditionNotMetError(
                "apply_gradients: params_grads must hold a parameter with its gradient, got none. "
                "Check that the program has trainable parameters"
            )
        pairs = sorted(params_grads, key=lambda pair: pair[0].name)
        program = pairs[0][0].block.program
        block = program.global_block()
        with program.appending_to(block):
            pairs = self._clipped(program, pairs)
            pairs = [self._decayed(program, p, g) for p, g in pairs]
            for p, _ in pairs:
                self._state_in(program, p)
            return [self._update(program, p, g, self._rate_in(program, p)) for p, g in pairs]

    def _clipped(self, program, pairs):
        with program.marked(OpRole.Optimize, name_scope="/gradient_clip/"):
            for rule in {id(p.gradient_clip): p.gradient_clip for p, _ in pairs}.values():
                if rule is not None:
                    pairs = _replaced(
                        pairs, rule.clip([q for q in pairs if q[0].gradient_clip is rule])
                    )
            if self._grad_clip is None:
                return pairs
            # A global norm adds its terms in the order of the parameters, as an eager step does.
            order = {p.name: i for i, p in enumerate(program.all_parameters())}
            common = isinstance(self._grad_clip, dygraph.nn.ClipGradByGlobalNorm)
            chosen = sorted(pairs, key=lambda pair: order[pair[0].name]) if common else pairs
            limited = _replaced(pairs, self._grad_clip.clip(chosen))
            for p, g in limited:
                if g.op is not None and g.op.role == OpRole.Optimize:
                    g.op.set_attr("op_role_var", [p.name, g.name], "STRINGS")
            return limited

    def _decayed(self, program, p, g):
        decay = p.regularizer or self._regularization
        if decay is None:
            return p, g
        with program.marked(OpRole.Optimize, [p.name, g.name], "/regularization/"):
            if g.type != "LOD_TENSOR" or not isinstance(decay, (L1Decay, L2Decay)):
                return p, decay(p, g)
            # As Fluid writes it: the gradient's variable takes the sum.
            block = program.global_block()
            term = block.create_var(
                shape=p.shape, dtype=p.dtype, lod_level=p.lod_level, stop_gradient=True
            )
            of = p
            if isinstance(decay, L1Decay):
                block.append_op("sign", {"X": p}, {"Out": term})
                of = term
            scale = {"scale": decay.coefficient}
            block.append_op("scale", {"X": of}, {"Out": term}, scale)
            block.append_op("sum", {"X": [g, term]}, {"Out": g})
            return p, g

    def _update(self, program, p, g, rate):
        block = program.global_block()
        factor = p.optimize_attr.get("learning_rate", 1.0)
        with program.marked(OpRole.Optimize, [p.name, g.name], "/optimizer/"):
            if factor != 1.0:
                rate = dygraph.ops.scale(rate, scale=float(factor))
            inputs = {"Param": p, "Grad": g, "LearningRate": rate, **self._state_in(program, p)}
            if not self.has_rate:
                del inputs["LearningRate"]
            outputs = {
                out: inputs[slot]
                for slot, out in dygraph.op_info(self.operator).in_place
                if slot in inputs
            }
            attributes = {**self.attributes, **self.attributes_of(p)}
            return block.append_op(self.operator, inputs, outputs, attributes)

    def _rate_in(self, program, p):
        """The variable of the learning rate: float64 for parameters of float64, as eager steps."""
        if isinstance(self._learning_rate, Variable):
            return self._learning_rate
        kept = self._kept.setdefault(program, {})
        dtype = "float64" if str(p.dtype) == "float64" else "float32"
        if (None, dtype) not in kept:
            name = unique_name.generate("learning_rate")
            kept[None, dtype] = self._global(program, name, (1,), self.get_lr(), dtype)
            if isinstance(self._learning_rate, Schedule):
                program.schedules[name] = self._learning_rate
        return kept[None, dtype]

    def set_lr(self, value):
        """Set another learning rate, after `minimize` in ``global_scope()``.

        PreconditionNotMetError if a schedule or a variable gives it, or if the startup program has
        not run.
        """
        if isinstance(self._learning_rate, Variable):
            raise PreconditionNotMetError(
                f"{type(self).__name__}.set_lr: the learning rate is the program's variable "
                f"'{self._learning_rate.name}'. Set its value: static.global_scope()"
                f".find_var('{self._learning_rate.name}').set(...)"
            )
        rates = [
            variable.name
            for kept in self._kept.values()
            for key, variable in kept.items()
            if key[0] is None
        ]
        held = [global_scope().find_var(name) for name in rates]
        for name, variable in zip(rates, held, strict=True):
            if variable is None or variable.is_empty():
                raise PreconditionNotMetError(
                    f"{type(self).__name__}.set_lr: '{name}' must hold a value in global_scope(). "
                    "Run the startup program first"
                )
        super().set_lr(value)
        for variable in held:
            set_rate(variable, self._learning_rate)

    def _state_in(self, program, p):
        kept = self._kept.setdefault(program, {})
        state = {}
        for slot, accumulator in self.accumulators().items():
            if (p.name, slot) not in kept:
                word = unique_name.snake(slot)
                word = f"{word}_acc" if word.endswith("_pow") else word
                name = unique_name.generate(f"{p.name}_{word}")
                shape = p.shape if accumulator.shape is None else accumulator.shape
                device = "" if accumulator.shape is None else "cpu"
                kept[p.name, slot] = self._global(
                    program, name, shape, accumulator.value, p.dtype, device
                )
            state[slot] = kept[p.name, slot]
        return state

    @staticmethod
    def _global(program, name, shape, value, dtype, device=""):
        variable = program.global_block().create_var(
            name=name, shape=shape, dtype=dtype, persistable=True, stop_gradient=True
        )
        fill_at_start(variable, initializer.Constant(value), device=device)
        return variable


def _replaced(pairs, limited):
    """The pairs, in their order, with the gradients of `limited`."""
    found = {p.name: g for p, g in limited}
    return [(p, found.get(p.name, g)) for p, g in pairs]
