"""Fluid's ``fluid.install_check.run_check()``: one step of training, in both modes."""

import numpy as np

import dygraph
from dygraph.errors import PreconditionNotMetError
from dygraph.static.executor import Executor
from dygraph.core.places import cpu_places
from dygraph.static.layers import data, fc, mean
from dygraph.static.optimizer import SGD
from dygraph.static.program import Program, program_guard
from dygraph.static.scope import Scope, global_scope, scope_guard

__all__ = ["run_check"]


def run_check():
    """Train one step eagerly and one as a program, and compare the weights.

    Raises
    ------
    PreconditionNotMetError
        The weights differ.

    Examples
    --------
    >>> from dygraph import static
    >>> static.install_check.run_check()
    dygraph works: an eager step and a program's step gave the same weights on CPUPlace().
    """
    place, x = cpu_places(1)[0], np.ones((4, 2), "float32")
    with dygraph.guard(place):
        net = dygraph.nn.Linear(2, 1, dygraph.initializer.Constant(1.0))
        net(dygraph.to_variable(x)).mean().backward()
        dygraph.optimizer.SGD(0.5, parameter_list=net.parameters()).step()
        eager = net.weight.numpy()
    main, startup = Program(), Program()
    with program_guard(main, startup), scope_guard(Scope()):
        out = fc(data("x", [2]), 1, param_attr=dygraph.initializer.Constant(1.0))
        SGD(0.5).minimize(mean(out))
        exe = Executor(place)
        exe.run(startup)
        weight = main.all_parameters()[0]
        exe.run(main, {"x": x})
        described = np.array(global_scope().find_var(weight.name).get_tensor())
    if not np.array_equal(eager, described) or not np.array_equal(eager, np.full((2, 1), 0.5)):
        raise PreconditionNotMetError(
            f"run_check: both steps must give weights of 0.5, got {eager.tolist()} eagerly and "
            f"{described.tolist()} by the program"
        )
    print(f"dygraph works: an eager step and a program's step gave the same weights on {place!r}.")
