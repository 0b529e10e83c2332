"""Parameters and other initialised variables: one operator in the startup program each."""

from dygraph import ParamAttr, initializer, ops, unique_name
from dygraph.core import check
from dygraph.errors import OutOfRangeError, UnimplementedError
from dygraph.nn.layer import Layer
from dygraph.static.program import computes, default_main_program, default_startup_program

__all__ = ["WeightNormParamAttr", "create_global_var", "create_parameter"]


class WeightNormParamAttr(ParamAttr):
    """A weight as length and direction, ``w = g * v / ||v||`` (Salimans and Kingma, 2016).

    The layer gets two parameters: ``v``, initialised like the weight, and ``g``, initialised with
    the norm of ``v``.

    Parameters
    ----------
    dim : int, optional
        The axis along which each slice has its own length. None: one length for the whole.
    name : str, optional
        The two parameters are called ``name_v`` and ``name_g``.
    **settings : object
        Of both, as of `ParamAttr`: initializer, learning_rate, regularizer, trainable,
        gradient_clip, do_model_average.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("x", [None, 3])
    ...     attr = static.WeightNormParamAttr(dim=1, name="w")
    ...     y = static.layers.fc(x, 4, param_attr=attr, bias_attr=False)
    ...     [(p.name, p.shape) for p in static.default_main_program().all_parameters()]
    [('w_v', (3, 4)), ('w_g', (1, 4))]
    """

    def __init__(self, dim=None, name=None, **settings):
        super().__init__(name, **settings)
        self.dim = None if dim is None else check.integer(dim, "WeightNormParamAttr: dim")

    def plain(self, name, start):
        """The attributes of one of the two parameters."""
        return ParamAttr(
            name, start, self.learning_rate, self.regularizer, self.trainable,
            self.gradient_clip, self.do_model_average,
        )  # fmt: skip

    def norm(self, v):
        """||v||, with sizes of 1 in the reduced axes."""
        rank = len(v.shape)
        if self.dim is not None and not -rank <= self.dim < rank:
            raise OutOfRangeError(
                f"WeightNormParamAttr: dim must be in [{-rank}, {rank}), got {self.dim}"
            )
        axes = [i for i in range(rank) if self.dim is None or i != self.dim % rank]
        if not axes:
            return ops.abs(v)
        return ops.sqrt(ops.reduce_sum(v * v, dim=axes, keep_dim=True))


def create_parameter(
    shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None, layer=None
):
    """A trainable parameter of the main program, which the startup program fills; an eager one in a
    `dygraph.guard`.

    Parameters
    ----------
    shape : list of int
        The sizes.
    dtype : str or dtype
        The type of the elements.
    name : str, optional
        The name; None: one is made up.
    attr : ParamAttr, str or Initializer, optional
        Its attributes, name or start values.
    is_bias : bool
        True: starts at 0 by default. False: initialised by Xavier's rule by default.
    default_initializer : Initializer, optional
        Used if `attr` has none.
    layer : str, optional
        The layer it is named after: ``fc_0`` gives ``fc_0.w_0`` and ``fc_0.b_0``.

    Returns
    -------
    Parameter
        Persistable and trainable.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     w = static.create_parameter([3, 4], "float32", name="w")
    >>> w.name, w.persistable, w.stop_gradient
    ('w', True, False)
    """
    attr = ParamAttr.of(attr)
    name = attr.name or name
    if computes():
        return _eager_parameter(shape, dtype, name, attr, is_bias, default_initializer)
    if name is None:
        layer = layer or unique_name.generate("create_parameter")
        name = unique_name.generate(f"{layer}.{'b' if is_bias else 'w'}")
    start = attr.initializer or default_initializer
    if start is None:
        start = initializer.Constant(0.0) if is_bias else initializer.Xavier()
    shape = [int(size) for size in shape]
    if isinstance(attr, WeightNormParamAttr):
        return _normed(shape, dtype, name, attr, start)
    block = default_main_program().global_block()
    if block.has_var(name):  # one parameter of several layers
        return block.var(name)
    parameter = block.create_parameter(
        shape, dtype, name, None, attr.trainable, {"learning_rate": attr.learning_rate},
        attr.regularizer, attr.gradient_clip, attr.do_model_average,
    )  # fmt: skip
    fill_at_start(parameter, start)
    return parameter


def _eager_parameter(shape, dtype, name, attr, is_bias, default_initializer):
    if isinstance(attr, WeightNormParamAttr):
        raise UnimplementedError(
            "create_parameter: attr must be a ParamAttr inside dygraph.guard(), got a "
            "WeightNormParamAttr, which is of programs alone"
        )
    attr = ParamAttr(**{**vars(attr), "name": name})
    owner = Layer("create_parameter")
    return owner.create_parameter(shape, attr, dtype, is_bias, default_initializer)


def _normed(shape, dtype, name, attr, start):
    v = create_parameter(shape, dtype, attr=attr.plain(f"{name}_v", start))
    length = attr.norm(v)
    block = default_main_program().global_block()
    if block.has_var(f"{name}_g"):
        g = block.var(f"{name}_g")
    else:
        g = create_parameter(length.shape, dtype, attr=attr.plain(f"{name}_g", None))
        startup = default_startup_program().global_block()
        with startup.program.appending_to(startup):
            first = attr.norm(startup.var(v.name))
            startup.append_op("assign", {"X": first}, {"Out": startup.var(g.name)})
    return v * (g / length)


def create_global_var(shape, value, dtype, persistable=False, force_cpu=False, name=None):
    """A variable of the main program's global block, which the startup program fills with `value`.

    Inside `dygraph.guard` it is an eager Variable.

    Parameters
    ----------
    shape : list of int
        The sizes.
    value : float, int or bool
        The elements at the start.
    dtype : str or dtype
        The type of the elements.
    persistable : bool, default False
        Whether it keeps its value between runs.
    force_cpu : bool, default False
        Accepted as in Fluid; not used.
    name : str, optional
        The name of the variable; None: one is made up.

    Returns
    -------
    Variable
        Of the given shape and type, without a gradient.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     steps = static.create_global_var([1], 0.0, "float32", persistable=True, name="steps")
    >>> steps.shape
    (1,)
    """
    name = name or unique_name.generate("global_var")
    if computes():
        variable = ops.fill_constant(shape=shape, dtype=dtype, value=float(value))
        variable.name, variable.persistable = name, bool(persistable)
        return variable
    block = default_main_program().global_block()
    variable = block.create_var(
        name=name, shape=shape, dtype=dtype,
        persistable=persistable, stop_gradient=True,
    )  # fmt: skip
    fill_at_start(variable, initializer.Constant(float(value)))
    return variable


def fill_at_start(variable, start, startup=None, device=""):
    """Make the startup program initialise `variable`, before the earlier ones."""
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
