"""Parameters and other variables with a start value: one operator in the startup program each."""

from dygraph import ParamAttr, initializer, unique_name
from static.program import default_main_program, default_startup_program

__all__ = ["create_global_var", "create_parameter"]


def create_parameter(
    shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None, layer=None
):
    """A trainable parameter of the main program, which the startup program fills.

    Parameters
    ----------
    shape : list of int
    dtype : str or dtype
    name : str, optional
    attr : ParamAttr, str or Initializer, optional
    is_bias : bool
        Starts at 0 if nothing else is said; a weight is drawn by Xavier's rule.
    default_initializer : Initializer, optional
        Where `attr` has none.
    layer : str, optional
        The layer it is named after: ``fc_0`` gives ``fc_0.w_0`` and ``fc_0.b_0``.

    Returns
    -------
    Parameter

    Examples
    --------
    >>> import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     w = static.create_parameter([3, 4], "float32", name="w")
    >>> w.name, w.persistable, w.stop_gradient
    ('w', True, False)
    """
    attr = ParamAttr.of(attr)
    name = attr.name or name
    if name is None:
        layer = layer or unique_name.generate("create_parameter")
        name = unique_name.generate(f"{layer}.{'b' if is_bias else 'w'}")
    start = attr.initializer or default_initializer
    if start is None:
        start = initializer.Constant(0.0) if is_bias else initializer.Xavier()
    shape = [int(size) for size in shape]
    block = default_main_program().global_block()
    if block.has_var(name):  # one parameter of several layers
        return block.var(name)
    parameter = block.create_parameter(
        shape, dtype, name, None, attr.trainable, {"learning_rate": attr.learning_rate},
        attr.regularizer, attr.gradient_clip, attr.do_model_average,
    )  # fmt: skip
    fill_at_start(parameter, start)
    return parameter


def create_global_var(shape, value, dtype, persistable=False, force_cpu=False, name=None):
    """A variable of the main program's global block that starts at one value everywhere.

    >>> import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     steps = static.create_global_var([1], 0.0, "float32", persistable=True, name="steps")
    >>> steps.shape
    (1,)
    """
    block = default_main_program().global_block()
    variable = block.create_var(
        name=name or unique_name.generate("global_var"), shape=shape, dtype=dtype,
        persistable=persistable, stop_gradient=True,
    )  # fmt: skip
    fill_at_start(variable, initializer.Constant(float(value)))
    return variable


def fill_at_start(variable, start, startup=None, device=""):
    """Have the startup program give `variable` its start value, before those made earlier."""
    startup = startup or default_startup_program()
    block = startup.global_block()
    if block.has_var(variable.name):
        return
    own = block.create_var(
        name=variable.name, shape=variable.shape, dtype=variable.dtype, persistable=True
    )
    op = block.initialize(own, start, first=True)
    if device:
        op.set_attr("op_device", device, "STRING")
