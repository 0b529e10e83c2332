"""Custom layer functions with Fluid's `LayerHelper`.

A function that only calls functions of `dygraph` or `static.layers` describes programs without it.
"""

from dygraph import ParamAttr, unique_name
from dygraph.errors import InvalidArgumentError
from dygraph.inspect.shown import Shown
from dygraph.static.layers.making import activated
from dygraph.static.parameters import create_parameter, fill_at_start
from dygraph.static.program import default_main_program, default_startup_program

__all__ = ["LayerHelper"]


class LayerHelper(Shown):
    """Names, parameters and operators of one layer of the default main program.

    Parameters
    ----------
    layer_type : str
        The name of the layer, for its results and parameters.
    **kwargs
        The layer's arguments; ``name``, ``input``, ``param_attr``, ``bias_attr`` and ``act`` are
        used.

    Examples
    --------
    >>> from dygraph import static
    >>> def double(input, name=None):
    ...     helper = static.layer_helper.LayerHelper("double", **locals())
    ...     out = helper.create_variable_for_type_inference(dtype=helper.input_dtype())
    ...     helper.append_op("scale", {"X": input}, {"Out": out}, {"scale": 2.0})
    ...     return out
    >>> with static.program_guard(static.Program()):
    ...     double(static.data("x", [None, 3]), "pair")
    Variable(shape=(-1, 3), dtype=float32, place=CPUPlace(), stop_gradient=False, name='pair.tmp_0')
    """

    def __init__(self, layer_type, **kwargs):
        self.layer_type, self.kwargs = layer_type, kwargs
        self.name = kwargs.get("name") or unique_name.generate(layer_type)

    @property
    def main_program(self):
        """The program in which the layer is described."""
        return default_main_program()

    @property
    def startup_program(self):
        """The program that fills its parameters."""
        return default_startup_program()

    @property
    def param_attr(self):
        """The weight's attributes."""
        return ParamAttr.of(self.kwargs.get("param_attr"))

    @property
    def bias_attr(self):
        """The bias's attributes; None for a layer without."""
        return ParamAttr.of(self.kwargs.get("bias_attr"))

    def multiple_input(self, input_param_name="input"):
        """The inputs as a list."""
        given = self.kwargs.get(input_param_name, ())
        return list(given) if isinstance(given, (list, tuple)) else [given]

    def input(self, input_param_name="input"):
        """The one input. InvalidArgumentError if there are more or none."""
        inputs = self.multiple_input(input_param_name)
        if len(inputs) != 1:
            raise InvalidArgumentError(
                f"{self.layer_type}: {input_param_name} must be one variable, got {len(inputs)}"
            )
        return inputs[0]

    def input_dtype(self, input_param_name="input"):
        """The type that all inputs have. InvalidArgumentError if they differ."""
        types = {str(x.dtype): x.dtype for x in self.multiple_input(input_param_name)}
        if len(types) != 1:
            raise InvalidArgumentError(
                f"{self.layer_type}: {input_param_name} must be of one type, got {sorted(types)}"
            )
        return next(iter(types.values()))

    def append_op(self, type=None, inputs=None, outputs=None, attrs=None, stop_gradient=False):
        """`Block.append_op` of the current block."""
        block = self.main_program.current_block()
        return block.append_op(type, inputs, outputs, attrs, stop_gradient)

    def create_variable_for_type_inference(self, dtype=None, stop_gradient=False, shape=None):
        """A result: the operator that writes it sets its kind, type and shape."""
        return self.create_variable(dtype=dtype, shape=shape, stop_gradient=stop_gradient)

    def create_variable(self, **kwargs):
        """`Block.create_var` of the current block, named after the layer."""
        kwargs.setdefault("name", unique_name.generate(f"{self.name}.tmp"))
        return self.main_program.current_block().create_var(**kwargs)

    def create_global_variable(self, persistable=False, **kwargs):
        """`Block.create_var` of the global block, named after the layer, without gradient."""
        kwargs.setdefault("name", unique_name.generate(f"{self.name}.tmp"))
        kwargs.setdefault("stop_gradient", True)
        return self.main_program.global_block().create_var(persistable=persistable, **kwargs)

    def set_variable_initializer(self, var, initializer):
        """Make the startup program initialise `var`."""
        fill_at_start(var, initializer)

    def create_parameter(
        self, attr, shape, dtype=None, is_bias=False, default_initializer=None, stop_gradient=False
    ):
        """A parameter named after the layer; None where `attr` is False."""
        attr = ParamAttr.of(attr)
        if attr is None:
            return None
        made = create_parameter(
            shape, dtype or self.input_dtype(), attr=attr, is_bias=is_bias,
            default_initializer=default_initializer, layer=self.name,
        )  # fmt: skip
        if stop_gradient:
            made.stop_gradient = True
        return made

    def append_bias_op(self, input_var, dim_start=1, dim_end=None):
        """`input_var` and a bias over its axes ``[dim_start, dim_end)``, if the layer has one."""
        bias = self.create_parameter(
            self.bias_attr or False, input_var.shape[dim_start:dim_end], input_var.dtype, True
        )
        if bias is None:
            return input_var
        out = self.create_variable_for_type_inference(input_var.dtype)
        inputs = {"X": input_var, "Y": bias}
        self.append_op("elementwise_add", inputs, {"Out": out}, {"axis": dim_start})
        return out

    def append_activation(self, input_var):
        """The layer's activation of `input_var`."""
        return activated(input_var, self.kwargs.get("act"), self.layer_type)
