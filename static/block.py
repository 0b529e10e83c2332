"""Blocks: variables and operators of a program, in order."""

import functools

import dygraph
from dygraph import _core, unique_name
from dygraph.errors import (
    AlreadyExistsError,
    ArgumentTypeError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    PreconditionNotMetError,
    did_you_mean,
    kind_of,
)
from dygraph.inspect.watch import user_line
from dygraph.static import views
from dygraph.static.listed import Operators, Variables
from dygraph.static.operator import Operator
from dygraph.static.variable import Parameter, Variable, as_names, level_of, sizes_of

__all__ = ["Block"]


@functools.cache
def _results(type):
    """Output slots that a description must fill; those of a gradient operator are optional."""
    if type.endswith("_grad"):
        return ()
    outputs = dygraph.op_info(type).outputs
    return tuple(s.name for s in outputs if not (s.intermediate or s.extra or s.dispensable))


class Block:
    """Variables by name, and operators in the order they run.

    An inner block can use the variables of outer blocks; its own names hide outer ones.

    Attributes
    ----------
    program : Program
    idx, parent_idx : int
        Its index, and that of the block around it; -1 for the global block.
    vars : dict of str to Variable
    ops : list of Operator
        An edit of them (``ops.pop(0)``, ``ops[1:3] = []``, ``del vars["x"]``, assignment) edits the
        program, its bytes and its next run, or it raises.

    Examples
    --------
    >>> from dygraph import static
    >>> block = static.Program().global_block()
    >>> block.idx, block.parent_idx, block.ops
    (0, -1, [])
    """

    operator_class, variable_class = Operator, Variable

    def __init__(self, program, core):
        self.program, self.core = program, core
        core.set_face(self)

    @property
    def idx(self):
        """Its number."""
        return self.core.idx

    @property
    def parent_idx(self):
        """The number of the block around it; -1 for the global block."""
        return self.core.parent_idx

    @property
    def forward_block_idx(self):
        """The index of the block whose gradient it is; -1 for none."""
        forward = self.core.forward_idx
        return -1 if forward is None else forward

    @property
    def vars(self):
        """Its variables by name."""
        return Variables(self)

    @vars.setter
    def vars(self, value):
        Variables(self).put(value)

    @property
    def ops(self):
        """Its operators in the order they run."""
        return Operators(self)

    @ops.setter
    def ops(self, value):
        Operators(self).put(value)

    # Variables ------------------------------------------------------------------------------------

    def var(self, name):
        """The variable of this block; KeyError if there is none."""
        if not isinstance(name, str):
            raise ArgumentTypeError(f"Block.var takes a name, got {kind_of(name)}")
        found = self.core.find(name)
        if found is None:
            raise NotFoundError(
                f"block {self.idx} must have the variable, got '{name}'."
                f"{did_you_mean(name, self.core.var_names())}"
            )
        return found

    def has_var(self, name):
        """Whether this block itself declares the variable."""
        return name in self.vars

    def find_var_recursive(self, name):
        """The variable of this block or of the nearest one around it; None if there is none."""
        if not isinstance(name, str):
            raise ArgumentTypeError(f"a variable is found by its name, got {kind_of(name)}")
        return self.core.find_recursive(name)

    def var_recursive(self, name):
        """The same, but KeyError if there is none."""
        found = self.find_var_recursive(name)
        if found is None:
            raise NotFoundError(
                f"block {self.idx} and the blocks around it must have the variable, got '{name}'"
            )
        return found

    def has_var_recursive(self, name):
        """Whether this block or one around it declares the variable."""
        return self.find_var_recursive(name) is not None

    def create_var(
        self, name=None, shape=None, dtype=None, lod_level=None, persistable=None,
        stop_gradient=False, type="LOD_TENSOR", need_check_feed=None, is_data=False,
    ):  # fmt: skip
        """Declare a variable.

        Parameters
        ----------
        name : str, optional
            None: ``_generated_var_0`` and so on.
        shape : list of int, optional
            -1 for sizes known when the program runs.
        dtype : str or dtype, optional
        lod_level : int, optional
        persistable : bool, optional
        stop_gradient : bool
        type : str
            One of VarType's names, ``LOD_TENSOR`` by default.
        need_check_feed, is_data : bool
            What `data` sets.

        Raises
        ------
        AlreadyExistsError
            This block has the name; the message gives the lines that created both.
        """
        return self.create_as(
            Variable, name, shape, dtype, lod_level, persistable, stop_gradient, type,
            need_check_feed, is_data,
        )  # fmt: skip

    def create_as(
        self, cls, name, shape, dtype, lod_level, persistable, stop_gradient,
        type="LOD_TENSOR", need_check_feed=None, is_data=False,
    ):  # fmt: skip
        """`create_var` with a class of variables."""
        if name is None:
            name = unique_name.generate("_generated_var")
        if not isinstance(name, str) or not name:
            raise ArgumentTypeError(f"create_var: name must be a string, got {kind_of(name)}")
        if self.core.has(name):
            raise AlreadyExistsError(
                f"create_var: block {self.idx} has a variable '{name}' already, created at "
                f"{self.created_at(name)}; created again at {user_line()}"
            )
        var = _core.Var(name, _type_name(type))
        if shape is not None:
            var.shape = sizes_of(shape, "create_var")
        if dtype is not None:
            var.dtype = dtype
        if lod_level is not None:
            var.lod_level = level_of(lod_level, f"create_var: lod_level of '{name}'")
        if persistable is not None:
            var.persistable = persistable
        if need_check_feed is not None:
            var.need_check_feed = need_check_feed
        variable = self.core.declare(var, user_line(), cls)
        if is_data:
            variable.is_data = True
        if not stop_gradient and variable.dtype is not None and _is_floating(variable):
            variable.stop_gradient = False
        return variable

    def create_parameter(
        self, shape, dtype, name=None, initializer=None, trainable=True, optimize_attr=None,
        regularizer=None, gradient_clip=None, do_model_average=True, **attributes,
    ):  # fmt: skip
        """Declare a parameter, in the global block.

        Parameters
        ----------
        shape : list of int
            Sizes of at least 1.
        dtype : str or dtype
        name : str, optional
        initializer : Initializer, optional
            Its operator goes into this program; `static.create_parameter` puts it into the startup
            program.
        trainable, optimize_attr, regularizer, gradient_clip, do_model_average
            See `Parameter`.
        """
        block = self.program.global_block()
        if shape is None or any(size <= 0 for size in sizes_of(shape, "create_parameter")):
            given = None if shape is None else list(shape)
            raise InvalidArgumentError(
                f"create_parameter: every size must be known and at least 1, got {given}"
            )
        if not shape:
            raise InvalidArgumentError("create_parameter: shape must hold a size, got none")
        if dtype is None:
            raise ArgumentTypeError("create_parameter: dtype must be an element type, got None")
        if initializer is not None and not callable(initializer):
            raise ArgumentTypeError(
                f"create_parameter: initializer must be an Initializer, got {kind_of(initializer)}"
            )
        parameter = block.create_as(Parameter, name, shape, dtype, None, True, not trainable)
        parameter.trainable = trainable
        parameter.optimize_attr = optimize_attr or {"learning_rate": 1.0}
        parameter.regularizer = regularizer
        parameter.gradient_clip = gradient_clip
        parameter.do_model_average = do_model_average
        if initializer is not None:
            block.initialize(parameter, initializer)
        return parameter

    def initialize(self, variable, initializer, first=False):
        """Write the operator that gives `variable` its start value; `first`: before the others."""
        program = self.program
        count = len(self.ops)
        with program.appending_to(self):
            made = initializer(variable.shape, str(variable.dtype))
            if len(self.ops) == count:  # values that no operator makes
                made = program.constant(made.numpy())
        last = self.ops[-1]
        if program.random_seed and last.has_attr("seed") and not last.attr("seed"):
            last.set_attr("seed", program.random_seed)
        last.rename_output(made.name, variable.name)
        self.forget_var(made.name)
        if first:
            self.set_ops(self.ops[count:] + self.ops[:count])
        return last

    def all_parameters(self):
        """Its parameters, in order of creation."""
        return [v for v in self.vars.values() if isinstance(v, Parameter)]

    iter_parameters = all_parameters

    def rename_var(self, old_name, new_name):
        """Rename a variable, here and in all operators that use it.

        AlreadyExistsError if another variable that they see has the name.
        """
        variable = self.var(old_name)
        if not isinstance(new_name, str) or not new_name:
            raise ArgumentTypeError(f"rename_var: new_name must be a name, got {kind_of(new_name)}")
        if new_name != old_name and self.core.has(new_name):
            raise AlreadyExistsError(
                f"rename_var: block {self.idx} has a variable '{new_name}' already"
            )
        if new_name != old_name:
            self.core.rename(old_name, new_name)
            held = self.program.held.pop(old_name, None)
            if held is not None:
                self.program.held[new_name] = held
        return variable

    def remove_var(self, name):
        """Remove a variable; KeyError if there is none.

        PreconditionNotMetError if an operator uses it, with the operator's name.
        """
        self.var(name)
        self.core.remove_var(name)

    def remove_vars(self, names):
        """Remove variables: all of them, or none if an operator uses one."""
        for name in names:
            user = self.core.user_of(name)
            if user:
                raise PreconditionNotMetError(
                    f"the variable '{name}' of block {self.idx} must not be used by an operator, "
                    f"but {user}. Remove the operator first, with block.remove_op(index)"
                )
        self.core.forget_vars(set(names))

    def forget_var(self, name):
        """Remove a variable that no operator uses."""
        self.core.forget_vars({name})

    def put_var(self, variable):
        """Insert a variable that was removed from a block."""
        self.core.put_var(variable)

    def created_at(self, name):
        """The Python line that created a variable of this block."""
        found = self.core.find(name)
        return (found is not None and found.desc.made_at) or self.program.made_at

    # Operators ------------------------------------------------------------------------------------

    def append_op(self, type, inputs=None, outputs=None, attrs=None, stop_gradient=False):
        """Append an operator on existing variables.

        Parameters
        ----------
        type : str
        inputs, outputs : dict of str to Variable, name, or list of them
            By slot.
        attrs : dict, optional
            The others get their defaults.
        stop_gradient : bool
            True: its outputs pass no gradient.

        Returns
        -------
        Operator

        Raises
        ------
        NotFoundError
            (a KeyError) for an unknown operator, slot, attribute or variable.
        InvalidArgumentError, ArgumentTypeError
            Shapes, types or attributes violate the operator's rules.
        """
        return self.put_op(self._make_op(type, inputs, outputs, attrs, stop_gradient))

    def prepend_op(self, type, inputs=None, outputs=None, attrs=None, stop_gradient=False):
        """`append_op` before all other operators."""
        return self.insert_op(0, type, inputs, outputs, attrs, stop_gradient)

    def insert_op(self, index, type, inputs=None, outputs=None, attrs=None, stop_gradient=False):
        """`append_op` before the operator of this index."""
        index = self._place(index, len(self.ops) + 1, "insert_op")
        return self.put_op(self._make_op(type, inputs, outputs, attrs, stop_gradient), index)

    def remove_op(self, index):
        """Remove the operator of this index; IndexError if there is none."""
        self.core.remove(self._place(index, len(self.ops), "remove_op"))

    def put_op(self, op, index=None):
        """Insert an Operator, at the end or before the one of this index; returns it."""
        self.core.insert(self.core.op_count if index is None else index, op)
        return op

    def set_ops(self, ops):
        """Replace all Operators by these."""
        self.core.set_ops(list(ops))

    def _place(self, index, end, what):
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise ArgumentTypeError(f"{what}: index must be a number, got {kind_of(index)}")
        if not -end <= index < end:
            raise OutOfRangeError(
                f"{what}: block {self.idx} has {len(self.ops)} operators, got number {index}"
            )
        return int(index) % end

    def append_described(self, type, inputs=None, outputs=None, attrs=None):
        """Append an operator exactly as described, without inference, checks or defaults.

        Parameters
        ----------
        type : str
        inputs, outputs : dict of str to list of str
            Names by slot.
        attrs : dict of str to (str, value)
            Wire type and value, as ``("FLOATS", [1.0])``.

        Examples
        --------
        >>> from dygraph import static
        >>> block = static.Program().global_block()
        >>> block.append_described("mine", {"X": ["a"]}, {}, {"n": ("LONG", 3)}).attr_type("n")
        'LONG'
        """
        desc = _core.Op(type)
        for slot, names in (inputs or {}).items():
            desc.set_input(slot, as_names(names, f"{type}: Input({slot})"))
        for slot, names in (outputs or {}).items():
            desc.set_output(slot, as_names(names, f"{type}: Output({slot})"))
        for name, (kind, value) in (attrs or {}).items():
            desc.set_attr(name, value, kind)
        return self.put_op(Operator(self, desc))

    def extend(self, other):
        """Append copies of all variables and operators of a block of another program.

        Blocks that its operators run are copied into this program as well.
        """
        if not isinstance(other, Block):
            raise ArgumentTypeError(f"extend takes a Block of a program, got {kind_of(other)}")
        for var in other.vars.values():
            if var.name in self.vars:
                raise AlreadyExistsError(
                    f"extend: block {self.idx} has a variable '{var.name}' already"
                )
        line = user_line()
        for var in other.vars.values():
            copy = self.core.declare(var.desc.copy(), line, type(var))
            copy.__dict__.update(var.__dict__)
            copy.stop_gradient = var.stop_gradient
        self.extend_ops(other)

    def extend_ops(self, other):
        """Append copies of the operators of a block, and of the blocks that they run."""
        self.ops.extend([Operator(self, op.desc.copy()) for op in other.ops])
        if other.program.num_blocks > 1:
            self._copy_blocks(other, len(other.ops), {other.idx: self.idx})

    def _copy_blocks(self, other, count, copies):
        """Make the last `count` operators run copies of the blocks that those of `other` run."""
        for op in self.ops[len(self.ops) - count :]:
            for name in op.attr_names:
                if op.attr_type(name) != "BLOCK":
                    continue
                if not 0 < op.attr(name) < other.program.num_blocks:
                    continue
                inner = other.program.block(op.attr(name))
                forward = copies.get(inner.forward_block_idx)
                copy = self.program.create_block(self.idx, forward)
                self.program.rollback()
                copies[inner.idx] = copy.idx
                line = user_line()
                for var in inner.vars.values():
                    copy.core.declare(var.desc.copy(), line, type(var))
                    copy.vars[var.name].stop_gradient = var.stop_gradient
                copy.ops.extend([Operator(copy, each.desc.copy()) for each in inner.ops])
                copy._copy_blocks(inner, len(inner.ops), copies)
                op.set_attr(name, copy.idx, "BLOCK")

    def check_sees(self, variable, type):
        """PreconditionNotMetError if the variable's name refers to another one in this block."""
        found = variable if variable.block is self else self.find_var_recursive(variable.name)
        if found is variable:
            return
        made = variable.block.created_at(variable.name)
        raise PreconditionNotMetError(
            f"{type}: '{variable.name}' is a variable of block {variable.block.idx}, made at "
            f"{made}, "
            + (
                f"and ends with it; block {self.idx} does not see it. Write it to a variable that "
                "was made before the block, with static.layers.assign(value, output=variable)"
                if found is None
                else f"but in block {self.idx} the name refers to the one that was made at "
                f"{found.block.created_at(found.name)}. Use a copy that was made outside, with "
                "static.layers.assign"
            )
        )

    def _make_op(self, type, inputs, outputs, attrs, stop_gradient):
        if not isinstance(type, str):
            raise ArgumentTypeError(f"append_op: type must be a name, got {kind_of(type)}")
        for what, given in (("inputs", inputs), ("outputs", outputs), ("attrs", attrs)):
            if given is not None and not isinstance(given, dict):
                raise ArgumentTypeError(f"{type}: {what} must be a dict, got {kind_of(given)}")
        for value in (*(inputs or {}).values(), *(outputs or {}).values()):
            for v in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(v, Variable):
                    self.program.name_of(v, type)  # raises for a variable of another program
                    self.check_sees(v, type)
        desc = _core.Op(type)
        for slot, value in (inputs or {}).items():
            if value is not None:
                desc.set_input(slot, as_names(value, f"{type}: Input({slot})"))
        for slot, value in (outputs or {}).items():
            if value is not None:
                desc.set_output(slot, as_names(value, f"{type}: Output({slot})"))
        for name, value in (attrs or {}).items():
            if value is not None:
                desc.set_attr(name, value)
        desc.complete_attrs()
        for slot in _results(type):
            if slot not in desc.output_names or not desc.output(slot):
                raise NotFoundError(f"{type}: Output({slot}) must be given, got nothing")
        missing = [n for n in desc.output_arg_names if not self.has_var_recursive(n)]
        if missing:
            raise NotFoundError(
                f"{type}: outputs must be variables of the block, got '{missing[0]}'. Declare it "
                "with block.create_var"
            )
        self.core.infer(desc)
        if stop_gradient:
            for name in desc.output_arg_names:
                self.find_var_recursive(name).stop_gradient = True
        return self.take(desc)

    def hand_on(self, value, to):
        """Have the variable `to` stand for a value, as a name of Python's does.

        Gradients of `value` and of `to` are then added as those of one Variable.
        """
        op = self.append_op("assign", {"X": value}, {"Out": to})
        op.set_attr("hands_on", True)
        return op

    def take(self, desc):
        """An operator of this block with the program's marks: role and source line."""
        self.core.mark(desc, [user_line()])
        return Operator(self, desc)

    def write(self, name, result):
        """Make the operator that makes `result` write the variable `name` instead.

        A copy made only for this write is removed.
        """
        op = result.op
        if op.type == "assign" and self.program.merges_copies:
            (source,) = op.input("X")
            readers = self.core.readers(source)
            made = self.vars.get(source)
            alone = made is not None and self.core.writers(source) == [made.op]
            if readers == [op] and alone and not made.persistable:
                self.remove_op(op.idx)
                self.remove_var(result.name)
                result, op = made, made.op
        op.rename_output(result.name, name)
        for other in self.ops[op.idx + 1 :]:
            other.rename_input(result.name, name)
        self.remove_var(result.name)

    # Text -----------------------------------------------------------------------------------------

    def to_string(self, throw_on_error=True, with_details=False):
        """The block as protobuf text."""
        return self.program.desc.block_to_text(self.idx)

    __str__ = to_string

    def __repr__(self):
        return f"<Block {self.idx}: {len(self.vars)} variables, {len(self.ops)} operators>"

    def _repr_html_(self):
        return views.block(self)


def _type_name(type):
    if isinstance(type, str):
        return type
    raise ArgumentTypeError(
        "create_var: type must be one of VarType's names, such as 'LOD_TENSOR', "
        f"got {kind_of(type)}"
    )


def _is_floating(variable):
    return str(variable.dtype) in (
        "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
    )  # fmt: skip
