"""How eager values become part of a program: constants, parameters, buffers."""

import numpy as np

from dygraph import _core, unique_name
from dygraph.core.variable import Parameter as EagerParameter
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, PreconditionNotMetError
from dygraph.static.variable import Variable

__all__: list = []


class _TakesValues:
    """The part of `Program` that takes in values from outside."""

    def declares(self, name):
        """Whether a block has a variable of this name."""
        return self.core.declares(name)

    def constant(self, array):
        """A variable of the current block that an operator fills with the array's values."""
        ops, dtype = _core.ops, str(array.dtype)
        with self.appending_to(self.current_block()):
            if array.size and array.tobytes() == array.flat[0].tobytes() * array.size:
                value = array.flat[0].item()
                made = ops.fill_constant(
                    shape=list(array.shape), dtype=dtype, value=float(value), str_value=repr(value)
                )
            elif dtype == "float64" and array.tobytes() != _rounded(array).tobytes():
                made = self._exact(array)
            else:
                kinds = {"bool": "bool", "int32": "int32", "int64": "int64"}
                values = array.reshape(-1).tolist()
                made = ops.assign_value(
                    shape=list(array.shape), dtype=dtype,
                    **{f"{kinds.get(dtype, 'fp32')}_values": values},
                )  # fmt: skip
        made.stop_gradient = True
        return made

    def _exact(self, array):
        """float64 values, which assign_value would round to float32."""
        high = _rounded(array)
        with np.errstate(invalid="ignore"):
            middle = _rounded(array - high)
            low = _rounded(array - high - middle)
            whole = (high + middle + low).tobytes() == array.tobytes()
        if whole:  # exact in this order
            high, middle, low = (self.constant(part) for part in (high, middle, low))
            return _core.ops.sum([high, middle, low])
        ops = _core.ops
        each = [
            ops.fill_constant(shape=[1], dtype="float64", str_value=repr(value))
            for value in array.ravel().tolist()
        ]
        return ops.reshape2(ops.concat(each, axis=0), shape=list(array.shape))

    def name_of(self, variable, type):
        """The name of a variable in this program; an eager parameter is added to it."""
        if isinstance(variable, Variable):
            if variable.block.program is not self:
                raise InvalidArgumentError(
                    f"{type}: its variables must belong to one program, but '{variable.name}' "
                    f"belongs to another. Describe both in one program_guard"
                )
            if variable.block.core.find(variable.name) is not variable:
                raise PreconditionNotMetError(
                    f"{type}: its variables must belong to a program, but '{variable.name}' was "
                    f"removed from its block"
                )
            return variable.name
        if variable is None:
            return "@EMPTY@"
        if _core.is_literal(variable):
            return self.constant(variable.numpy()).name
        keeps = isinstance(variable, EagerParameter) or variable.persistable
        if not keeps and not variable.is_leaf:
            raise ArgumentTypeError(
                f"{type}: an eager Variable of shape {tuple(variable.shape)} that was computed "
                "from weights cannot become part of a program, since it would not follow them. "
                "Make the weights with static.layers.create_parameter, so that what is computed of "
                "them is described, or capture the function with dygraph.jit.to_static"
            )
        if self.core.layer_name is not None and not keeps:  # made by the layer function itself
            return self.constant(variable.numpy()).name
        if not keeps:
            raise ArgumentTypeError(
                f"{type}: an eager Variable of shape {tuple(variable.shape)} cannot become part of "
                "a program, unless it is a parameter or a buffer. Write it into the program with "
                f"static.layers.assign(array) (described at {_core.user_line()})"
            )
        if not variable.name:
            variable.name = self._free_name("buffer")
        held = self.held.get(variable.name)
        if held is not variable:
            self.global_block().create_parameter(
                variable.shape, variable.dtype, variable.name,
                trainable=not variable.stop_gradient,
            )  # fmt: skip
            self.held[variable.name] = variable
        return variable.name

    def _free_name(self, prefix):
        name = unique_name.generate(prefix)
        return self._free_name(prefix) if self.declares(name) else name

    def face_of(self, variable, owner):
        """The variable of this program that stands for an eager one, which `owner` brings."""
        return self.current_block().var_recursive(self.name_of(variable, owner))


def _rounded(array):
    """The float64 values rounded to float32."""
    with np.errstate(over="ignore"):
        return array.astype("float32").astype("float64")
