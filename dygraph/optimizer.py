"""Optimizers: SGD, Momentum, Adam, with Fluid's arguments."""

from dygraph import _core, check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, PreconditionNotMetError, kind_of
from dygraph.nn import loading
from dygraph.recording import no_grad
from dygraph.variable import Parameter, Variable

__all__ = ["SGD", "Adam", "Momentum", "Optimizer"]

ops = _core.ops


class Optimizer:
    """Base of all optimizers: one operator that updates a parameter in place.

    Parameters
    ----------
    learning_rate : float or callable
        A callable is asked once a step, ``learning_rate()``.
    parameter_list : list of Parameter
    regularization : L1Decay or L2Decay, optional
        For parameters without one of their own.
    grad_clip : object, optional
        One of ``dygraph.clip``; clips before the regularization is added, as in Fluid.
    name : str, optional

    Notes
    -----
    A parameter without a gradient is passed over. No step copies a parameter.
    """

    operator = ""
    attributes = {}

    def __init__(
        self, learning_rate, parameter_list=None, regularization=None, grad_clip=None, name=None
    ):
        kind = type(self).__name__
        if not callable(learning_rate):
            learning_rate = check.number(learning_rate, f"{kind}: learning_rate", 0)
        if regularization is not None and not callable(regularization):
            raise ArgumentTypeError(
                f"{kind}: regularization must be L1Decay or L2Decay, got {kind_of(regularization)}"
            )
        if grad_clip is not None and not hasattr(grad_clip, "clip"):
            raise ArgumentTypeError(
                f"{kind}: grad_clip must be one of dygraph.clip, got {kind_of(grad_clip)}"
            )
        self._learning_rate, self._last = learning_rate, None
        self._parameters = _checked(parameter_list, kind)
        self._regularization, self._grad_clip = regularization, grad_clip
        self._update = _core.UpdateCall(self.operator, self.attributes)
        self._slots = self._update.slots
        self._states = {}  # by id of the parameter: slot -> Variable
        self._rates = {}  # (factor, dtype) -> Variable
        self._waiting = list(self._parameters)  # no gradient seen yet
        self._entries = []  # updates that take the parameter's own gradient
        self._changed = []  # parameters whose gradient is clipped or decayed first

    # What subclasses say --------------------------------------------------------------------------

    def make_state(self, parameter):
        """Slot name -> start value of the Variables the operator keeps for a parameter."""
        return {}

    # Steps ----------------------------------------------------------------------------------------

    def step(self):
        """Update every parameter that has a gradient, in place.

        Raises
        ------
        InvalidArgumentError, ArgumentTypeError
            For a gradient or a learning rate the operator does not take.

        Examples
        --------
        >>> import dygraph
        >>> w = dygraph.Parameter([1.0])
        >>> sgd = dygraph.optimizer.SGD(0.5, parameter_list=[w])
        >>> (w * w).backward()
        >>> sgd.step()
        >>> w.numpy()
        array([0.])
        """
        rate = self._learning_rate
        if callable(rate):
            rate = check.number(_as_number(rate()), f"{type(self).__name__}: learning_rate()", 0)
        if rate != self._last:
            self._last = rate
            for (factor, _), variable in self._rates.items():
                variable.fill_(rate * factor)
        if self._waiting:
            self._admit()
        if self._entries:
            self._update.run(self._entries)
        if self._changed:
            self._step_changed()

    def _admit(self):
        """Prepare the update of parameters that got their first gradient."""
        still = []
        for p in self._waiting:
            if p.grad is None:
                still.append(p)
            elif self._is_changed(p):
                self._state_of(p)
                self._changed.append(p)
            else:
                self._entries.append(self._entry(p, None))
        self._waiting = still

    def _is_changed(self, p):
        own = getattr(p, "regularizer", None) or getattr(p, "gradient_clip", None)
        return self._grad_clip is not None or self._regularization is not None or own is not None

    def _entry(self, p, gradient):
        values = {"Param": p, "Grad": gradient, "LearningRate": self._rate_of(p)}
        values.update(self._state_of(p))
        return tuple(values.get(slot) for slot in self._slots)

    @no_grad
    def _step_changed(self):
        pairs = [(p, p.grad) for p in self._changed if p.grad is not None]
        for i, (p, g) in enumerate(pairs):
            own = getattr(p, "gradient_clip", None)
            if own is not None:
                pairs[i] = own.clip([(p, g)])[0]
        if self._grad_clip is not None:
            pairs = self._grad_clip.clip(pairs)
        entries = []
        for p, g in pairs:
            decay = getattr(p, "regularizer", None) or self._regularization
            entries.append(self._entry(p, g if decay is None else decay(p, g)))
        self._update.run(entries)

    def _rate_of(self, p):
        key = (float(getattr(p, "learning_rate", 1.0)), str(p.dtype))
        if key not in self._rates:
            rate = self._last if self._last is not None else 0.0
            self._rates[key] = _core.to_variable([rate * key[0]], None, key[1])
        return self._rates[key]

    def _state_of(self, p):
        state = self._states.get(id(p))
        if state is None:
            state = self._states[id(p)] = self.make_state(p)
        return state

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """Update the parameters to make `loss` smaller.

        Where ``loss.backward()`` has been called the gradients it left are used, as in Fluid, and
        stay until `clear_gradients`. Where no parameter has a gradient, backward is called here,
        and
        the gradients are cleared after the step, so that ``minimize(loss)`` alone makes a loop
        right.

        Parameters
        ----------
        loss : Variable
        startup_program, no_grad_set
            Must be None: they belong to programs.
        parameter_list : list of Parameter, optional
            Update only these.

        Returns
        -------
        (list, list of (Parameter, Variable))
            An empty list, for Fluid's sake, and the gradients that were used.
        """
        check.variable(loss, f"{type(self).__name__}.minimize: loss")
        for name, value in (("startup_program", startup_program), ("no_grad_set", no_grad_set)):
            if value is not None:
                raise ArgumentTypeError(
                    f"{type(self).__name__}.minimize: {name} belongs to programs and must be None, "
                    f"got {kind_of(value)}"
                )
        own = all(p.grad is None for p in self._parameters)
        if own:
            loss.backward()
        kept = None
        if parameter_list is not None:
            chosen = {id(p) for p in _checked(parameter_list, f"{type(self).__name__}.minimize")}
            kept = [(p, p.grad) for p in self._parameters if id(p) not in chosen]
            for p, _ in kept:
                p.clear_gradient()
        used = [(p, p.grad) for p in self._parameters if p.grad is not None]
        if not used:
            raise PreconditionNotMetError(
                f"{type(self).__name__}.minimize: the loss must depend on a parameter of the "
                "optimizer, but none got a gradient"
            )
        self.step()
        for p, g in kept or ():
            p.grad = g
        if own:
            self.clear_gradients()
        return [], used

    def clear_gradients(self):
        """Forget the gradients of all parameters of the optimizer."""
        for p in self._parameters:
            p.clear_gradient()

    clear_gradient = clear_gradients

    # Learning rate --------------------------------------------------------------------------------

    def current_step_lr(self):
        """The learning rate of the last step; before the first one, the number that was given."""
        if self._last is not None:
            return self._last
        if callable(self._learning_rate):
            raise PreconditionNotMetError(
                f"{type(self).__name__}: a computed learning rate is known after the first step"
            )
        return self._learning_rate

    def set_lr(self, value):
        """Go on with another learning rate. PreconditionNotMetError where a callable gives it."""
        if callable(self._learning_rate):
            raise PreconditionNotMetError(
                f"{type(self).__name__}: the learning rate comes from "
                f"{type(self._learning_rate).__name__}, which decides it"
            )
        self._learning_rate = check.number(value, f"{type(self).__name__}: learning_rate", 0)

    # State ----------------------------------------------------------------------------------------

    def state_dict(self):
        """What the optimizer keeps for its parameters, by ``parameter name.slot``."""
        state = {}
        for name, p in self._named():
            for slot, variable in self._states.get(id(p), {}).items():
                state[f"{name}.{slot}"] = variable
        rate = self._learning_rate
        if hasattr(rate, "state_dict"):
            state["LR_Scheduler"] = rate.state_dict()
        return state

    def set_state_dict(self, stat_dict):
        """Go on from a `state_dict`. Names and shapes must agree with the parameters'.

        A state taken before the first step is empty, and so is what it sets.

        Raises
        ------
        InvalidArgumentError
            Naming what is missing or does not fit; nothing has been written then.
        """
        if not hasattr(stat_dict, "keys"):
            raise ArgumentTypeError(
                f"{type(self).__name__}: the state must be a dict, got {kind_of(stat_dict)}"
            )
        given = {k: v for k, v in stat_dict.items() if k != "LR_Scheduler"}
        fresh = {}
        for name, p in self._named():
            state = self._states.get(id(p)) or self.make_state(p)
            names = {f"{name}.{slot}": variable for slot, variable in state.items()}
            if id(p) in self._states or any(n in given for n in names):
                fresh[id(p)] = (state, names)
        wanted = {n: v for _, names in fresh.values() for n, v in names.items()}
        loading.load(type(self).__name__, wanted, given, True)
        self._states.update({key: state for key, (state, _) in fresh.items()})
        if "LR_Scheduler" in stat_dict and hasattr(self._learning_rate, "set_state_dict"):
            self._learning_rate.set_state_dict(stat_dict["LR_Scheduler"])

    set_dict = set_state_dict

    def _named(self):
        for i, p in enumerate(self._parameters):
            yield p.name or f"parameter_{i}", p

    def __repr__(self):
        rate = self._learning_rate
        return f"{type(self).__name__}(learning_rate={rate}, {len(self._parameters)} parameters)"


def _as_number(value):
    return value.item() if isinstance(value, Variable) else value


def _checked(parameter_list, kind):
    if (
        parameter_list is None
        or isinstance(parameter_list, (str, Variable))
        or not hasattr(parameter_list, "__iter__")
    ):
        raise ArgumentTypeError(
            f"{kind}: parameter_list must be a list of parameters, such as model.parameters(), "
            f"got {kind_of(parameter_list)}"
        )
    parameters = list(parameter_list)
    if not parameters:
        raise InvalidArgumentError(
            f"{kind}: parameter_list must hold a parameter, got an empty list"
        )
    seen = set()
    for i, p in enumerate(parameters):
        check.variable(p, f"{kind}: parameter_list[{i}]")
        if not isinstance(p, Parameter) and not p.is_leaf:
            raise InvalidArgumentError(
                f"{kind}: parameter_list[{i}] must be a leaf, got the result of an operator"
            )
        if id(p) in seen:
            raise InvalidArgumentError(
                f"{kind}: parameter_list[{i}] {p.name} must be given once, got it twice"
            )
        seen.add(id(p))
    return parameters


class SGD(Optimizer):
    """``param = param - learning_rate * grad``. Takes sparse gradients."""

    operator = "sgd"


class Momentum(Optimizer):
    """Gradient descent with memory.

    ``velocity = momentum * velocity + grad``, then ``param = param - learning_rate * velocity``,
    or with `use_nesterov` ``param = param - learning_rate * (grad + momentum * velocity)``.
    """

    operator = "momentum"

    def __init__(
        self,
        learning_rate,
        momentum,
        parameter_list=None,
        use_nesterov=False,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        momentum = check.number(momentum, "Momentum: momentum", 0)
        self.attributes = {"mu": momentum, "use_nesterov": bool(use_nesterov)}
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name)

    def make_state(self, parameter):
        return {"Velocity": _zeros(parameter)}


class Adam(Optimizer):
    """Steps scaled by running moments of the gradient (Kingma and Ba, 2015).

    ``m = beta1 * m + (1 - beta1) * g``, ``v = beta2 * v + (1 - beta2) * g * g``,
    ``param = param - learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon)``.

    `lazy_mode` True updates only the rows a sparse gradient holds.
    """

    operator = "adam"

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-08,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
        lazy_mode=False,
    ):
        for what, value in (("beta1", beta1), ("beta2", beta2)):
            if check.number(value, f"Adam: {what}", 0, 1) == 1:
                raise InvalidArgumentError(f"Adam: {what} must be less than 1, got {value}")
        self.attributes = {
            "beta1": float(beta1),
            "beta2": float(beta2),
            "epsilon": check.number(epsilon, "Adam: epsilon", 0),
            "lazy_mode": bool(lazy_mode),
        }
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name)

    def make_state(self, parameter):
        dtype = str(parameter.dtype)
        return {
            "Moment1": _zeros(parameter),
            "Moment2": _zeros(parameter),
            "Beta1Pow": _core.to_variable([self.attributes["beta1"]], None, dtype),
            "Beta2Pow": _core.to_variable([self.attributes["beta2"]], None, dtype),
        }


@no_grad
def _zeros(parameter):
    return ops.fill_any_like(parameter.detach(), value=0.0)


SGDOptimizer = SGD
MomentumOptimizer = Momentum
AdamOptimizer = Adam
