"""Programs: blocks of variables and operators, and the program to which calls append."""

import collections
import contextlib
import functools
import threading

import dygraph
from dygraph import _core, unique_name
from dygraph.autograd.recording import modes
from dygraph.core.variable import Parameter as EagerParameter
from dygraph.errors import (
    ArgumentTypeError,
    FormatError,
    InvalidArgumentError,
    OutOfRangeError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.inspect.watch import user_line
from dygraph.static import marks, views
from dygraph.static.block import Block
from dygraph.static.codes import OpRole
from dygraph.static.listed import ShownList
from dygraph.static.operator import Operator
from dygraph.static.unknown_sizes import Sizes
from dygraph.static.values import _TakesValues
from dygraph.static.variable import Parameter, Variable

__all__ = [
    "Block", "OpRole", "Operator", "Parameter", "Program", "Variable", "default_main_program",
    "default_startup_program", "program_guard", "switch_main_program", "switch_startup_program",
]  # fmt: skip


def _of_core(name, doc):
    return property(
        lambda self: getattr(self.core, name),
        lambda self, value: setattr(self.core, name, value),
        doc=doc,
    )


class Program(_TakesValues):
    """A description of a computation, serialised as Fluid's ``ProgramDesc``.

    Calls on its variables append operators to it. `program_guard` sets the program for functions
    without a variable, such as ``layers.data``.

    Attributes
    ----------
    random_seed : int
        Seed of its random operators that have none of their own; 0: the library's generator.

    Examples
    --------
    >>> from dygraph import static
    >>> main = static.Program()
    >>> with static.program_guard(main):
    ...     x = static.data("x", shape=[None, 13], dtype="float32")
    ...     y = static.layers.relu(x)
    >>> [op.type for op in main.global_block().ops], y.shape
    (['relu'], (-1, 13))
    """

    transpiled = None  # the mode of a DistributeTranspiler that took it
    merges_copies = True  # whether copies made only to be written elsewhere are omitted

    def __init__(self, desc=None):
        self.core = _core.Program() if desc is None else _core.Program(desc)
        self._blocks = [Block(self, self.core.block(i)) for i in range(self.core.block_count)]
        self.name_scopes = collections.Counter()
        self.random_seed = 0
        self.held = {}  # eager parameters in it, by name
        self.shares = False  # for scopes; without it they get copies
        self.schedules = {}  # of learning rates, by the name of the variable that a run sets
        self.made_at = user_line()

    op_role = _of_core(
        "role", "The role of the operators described now, one of `OpRole`'s numbers."
    )
    op_role_var = _of_core("role_var", "The names of their variables.")
    name_scope = _of_core("name_scope", "Their name scope.")
    op_device = _of_core("device", "Their device.")

    @functools.cached_property
    def sizes(self):
        """The unknown sizes of its variables that Python has read."""
        return Sizes()

    @staticmethod
    def global_seed(seed=0):
        """Seed the library's generator, as ``dygraph.seed`` does."""
        dygraph.seed(seed)

    # The description ------------------------------------------------------------------------------

    @property
    def version(self):
        """A number that every edit changes; no two programs ever have the same."""
        return self.core.version

    @property
    def desc(self):
        """The program as an immutable description, which shares its parts."""
        return self.core.snapshot()

    @staticmethod
    def parse_from_string(binary):
        """The program of ``serialize_to_string``'s bytes.

        Raises
        ------
        FormatError
            The bytes are no ProgramDesc; the message gives the position of the error.
        """
        if not isinstance(binary, (bytes, bytearray)):
            raise ArgumentTypeError(f"parse_from_string takes bytes, got {kind_of(binary)}")
        return Program(_core.program_from_bytes(bytes(binary)))

    def serialize_to_string(self):
        """Protobuf bytes, equal to those of Python protobuf for this message."""
        return self.desc.to_bytes()

    def to_string(self, throw_on_error=True, with_details=False):
        """The program as protobuf text. Both arguments are Fluid's and not used."""
        return self.desc.to_text()

    __str__ = to_string

    def __repr__(self):
        ops = sum(len(block.ops) for block in self.blocks)
        return f"<Program of {self.num_blocks} blocks, {ops} operators>"

    def _repr_html_(self):
        return views.program(self)

    # Blocks ---------------------------------------------------------------------------------------

    @property
    def num_blocks(self):
        """The number of blocks, at least one."""
        return len(self._blocks)

    @property
    def blocks(self):
        """All blocks, read-only; block 0 is the global one. `create_block` adds one."""
        return ShownList(self._blocks, "program.blocks", "program.create_block()")

    def block(self, index):
        """The block of this index; IndexError if there is none."""
        if not isinstance(index, int):
            raise ArgumentTypeError(f"Program.block takes a number, got {kind_of(index)}")
        if not 0 <= index < len(self._blocks):
            raise OutOfRangeError(
                f"the program has {self.num_blocks} blocks, got block {index}"
                if index >= 0
                else f"the number of a block must be in [0, {self.num_blocks}), got {index}"
            )
        return self._blocks[index]

    def global_block(self):
        """Block 0."""
        if not self._blocks:
            raise FormatError("ProgramDesc: a program has at least one block, got none")
        return self._blocks[0]

    def current_block(self):
        """The block that operators are appended to."""
        at = self.core.current
        return self._blocks[at] if at else self.global_block()

    def create_block(self, parent_idx=None, forward_idx=None):
        """Add a block inside another, by default the current one, and append to it from here on.

        >>> from dygraph import static
        >>> program = static.Program()
        >>> inner = program.create_block()
        >>> inner.parent_idx, program.current_block().idx
        (0, 1)
        >>> program.rollback()
        >>> program.current_block().idx
        0
        """
        parent = self.current_block().idx if parent_idx is None else self.block(parent_idx).idx
        if forward_idx is not None:
            forward_idx = self.block(forward_idx).idx
        block = Block(self, self.core.create_block(parent, forward_idx))
        self._blocks.append(block)
        self.core.enter_block(block.idx)
        return block

    def take_in_blocks(self):
        """Make Block objects for blocks that the core added, such as those of a backward pass."""
        for i in range(len(self._blocks), self.core.block_count):
            self._blocks.append(Block(self, self.core.block(i)))

    def rollback(self):
        """Return to the block around the current one, as before `create_block`."""
        if self.core.depth == 1:
            raise PreconditionNotMetError(
                "rollback: a block must have been created before, got the global block"
            )
        self.core.leave_block()

    def moment(self):
        """The state for `take_back`, which undoes later edits."""
        return _core.last_version(), self.num_blocks, self.desc

    def take_back(self, moment):
        """Remove what was described after a `moment` and restore earlier variables."""
        self.core.take_back(*moment)
        del self._blocks[moment[1] :]

    def drop_blocks(self):
        """Remove the blocks that no operator owns, and renumber the others."""
        self.core.remove_unowned_blocks()
        self.forget_blocks()

    def forget_blocks(self):
        """Drop the Block objects of removed blocks."""
        self._blocks = [block for block in self._blocks if block.core.stands]

    def visible_blocks(self, block):
        """The blocks whose variables `block` sees, nearest first."""
        return [self._blocks[i] for i in self.core.visible_blocks(block.idx)]

    def list_vars(self):
        """Every variable of every block."""
        return [var for block in self._blocks for var in block.vars.values()]

    def all_parameters(self):
        """Its parameters, in order of creation."""
        return [p for block in self._blocks for p in block.all_parameters()]

    def __reduce__(self):
        raise PreconditionNotMetError(
            "a Program cannot be copied or pickled by Python: use clone(), or "
            "serialize_to_string() and Program.parse_from_string()"
        )

    @property
    def random_seed(self):
        """Seed of its random operators that have none of their own; 0: the library's generator."""
        return self._seed

    @random_seed.setter
    def random_seed(self, seed):
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise ArgumentTypeError(f"random_seed must be an integer, got {kind_of(seed)}")
        if not 0 <= seed < 1 << 64:
            raise InvalidArgumentError(f"random_seed must be in [0, 2^64), got {seed}")
        self._seed = int(seed)

    def hold(self, variables):
        """Bind names of the global block to eager Variables, given as a dict.

        An Executor shares them with its scope, so the program writes to them.
        """
        block = self.global_block()
        for name, eager in variables.items():
            if isinstance(eager, EagerParameter):
                variable = block.core.show_as(name, Parameter)
                variable.trainable = not eager.stop_gradient
                variable.optimize_attr = {"learning_rate": eager.learning_rate}
                variable.regularizer = eager.regularizer
                variable.gradient_clip = eager.gradient_clip
                variable.do_model_average = eager.do_model_average
                variable.stop_gradient = eager.stop_gradient
            self.held[name] = eager
        self.shares = True

    # Copies ---------------------------------------------------------------------------------------

    def clone(self, for_test=False):
        """A copy.

        Parameters
        ----------
        for_test : bool
            Leave out the operators of backward and update, and switch ``dropout`` and
            ``batch_norm`` to inference. The result is the same before and after `minimize`.
        """
        copy = Program(self.desc)
        copy.core.take_after(self.core)
        copy.random_seed = self.random_seed
        copy.held, copy.shares, copy.made_at = dict(self.held), self.shares, self.made_at
        copy.schedules = dict(self.schedules)
        loses = False
        for block, original in zip(copy._blocks, self._blocks, strict=True):
            for name, kind, attributes in original.core.shown(Variable):
                block.core.show_as(name, kind).__dict__.update(attributes)
            if for_test:
                kept = [op for op in block.ops if _runs_in_test(op)]
                loses |= any(map(_owns_block, {*block.ops}.difference(kept)))
                block.set_ops(kept)
                for op in block.ops:
                    if op.has_attr("is_test"):
                        op.set_attr("is_test", True)
        if loses:
            copy.drop_blocks()
        if for_test:
            copy.forget_unused()
        return copy

    def forget_unused(self, weights=False):
        """Drop variables of omitted operators, optionally weights too."""
        used = {n for block in self._blocks for op in block.ops for n in _names_of(op)}
        for block in self._blocks:
            unused = {n: v for n, v in block.vars.items() if n not in used and not v.is_data}
            block.core.forget_vars({n for n, v in unused.items() if weights or not v.persistable})

    # Where calls go -------------------------------------------------------------------------------

    def appending_to(self, block):
        """Inside, all calls append to `block`, also those without a variable."""
        return _Appending(self, block)

    def layer(self, name):
        """Inside, calls append to the current block, and results are named after the layer:
        ``fc_0.tmp_0``, ``fc_0.tmp_1``, ...
        """
        return _InLayer(self, name)

    @contextlib.contextmanager
    def marked(self, role, role_var=(), name_scope=None):
        """Inside, operators are marked with this role, variables and scope of names."""
        before = self.op_role, self.op_role_var, self.name_scope
        self.op_role, self.op_role_var = role, list(role_var)
        if name_scope is not None:
            self.name_scope = name_scope
        try:
            yield
        finally:
            self.op_role, self.op_role_var, self.name_scope = before

    @property
    def layer_name(self):
        """The name of the layer that is being described; None outside."""
        return self.core.layer_name


class _Appending:
    __slots__ = "before", "block", "program"

    def __init__(self, program, block):
        self.program, self.block = program, block

    def __enter__(self):
        self.program.core.enter_block(self.block.idx)
        self.before = _core.set_describing(True)
        _local.described.append(self.program)
        return self.program

    def __exit__(self, *error):
        _local.described.pop()
        _core.set_describing(self.before)
        self.program.core.leave_block()


class _InLayer:  # no generator and no base: every layer function enters one
    __slots__ = "before", "name", "program"

    def __init__(self, program, name):
        self.program, self.name = program, name

    def __enter__(self):
        program = self.program
        core = program.core
        core.enter_layer(self.name)
        core.enter_block(core.current)
        self.before = _core.set_describing(True)
        _local.described.append(program)
        return self.name

    def __exit__(self, *error):
        _local.described.pop()
        _core.set_describing(self.before)
        core = self.program.core
        core.leave_block()
        core.leave_layer()


def _names_of(op):
    return op.input_arg_names + op.output_arg_names


def _owns_block(op):
    return any(op.attr_type(name) in ("BLOCK", "BLOCKS") for name in op.attr_names)


def _runs_in_test(op):
    return op.role & ~OpRole.Loss == OpRole.Forward


# The programs that calls are written into ---------------------------------------------------------


class _State(threading.local):
    """The programs of a thread: those of guards, innermost last, and those of `appending_to`."""

    def __init__(self):
        self.main, self.startup, self.described = [], [], []


_local = _State()
_main, _startup = Program(), Program()


def default_main_program():
    """The program to which calls append: the innermost guard's, or the process's.

    Returns
    -------
    Program
        The main program of this thread.

    Examples
    --------
    >>> from dygraph import static
    >>> main = static.Program()
    >>> with static.program_guard(main):
    ...     static.default_main_program() is main
    True
    """
    return _local.main[-1] if _local.main else _main


def default_startup_program():
    """The program that initialises parameters; run it once.

    Returns
    -------
    Program
        The startup program of this thread.

    Examples
    --------
    >>> from dygraph import static
    >>> main, startup = static.Program(), static.Program()
    >>> with static.program_guard(main, startup):
    ...     static.default_startup_program() is startup
    True
    """
    return _local.startup[-1] if _local.startup else _startup


def _program(value, what):
    if not isinstance(value, Program):
        raise ArgumentTypeError(f"{what} must be a static.Program, got {kind_of(value)}")
    return value


def switch_main_program(program):
    """Make a program the main program, that of the innermost guard or of the process.

    Parameters
    ----------
    program : Program
        The new main program.

    Returns
    -------
    Program
        The earlier one.

    Raises
    ------
    TypeError
        `program` is no Program.

    Examples
    --------
    >>> from dygraph import static
    >>> before = static.switch_main_program(static.Program())
    >>> static.switch_main_program(before) is before
    False
    """
    global _main
    _program(program, "switch_main_program: program")
    if _local.main:
        before, _local.main[-1] = _local.main[-1], program
    else:
        before, _main = _main, program
    return before


def switch_startup_program(program):
    """Make a program the startup program, that of the innermost guard or of the process.

    Parameters
    ----------
    program : Program
        The new startup program.

    Returns
    -------
    Program
        The earlier one.

    Raises
    ------
    TypeError
        `program` is no Program.

    Examples
    --------
    >>> from dygraph import static
    >>> before = static.switch_startup_program(static.Program())
    >>> static.switch_startup_program(before) is before
    False
    """
    global _startup
    _program(program, "switch_startup_program: program")
    if _local.startup:
        before, _local.startup[-1] = _local.startup[-1], program
    else:
        before, _startup = _startup, program
    return before


@contextlib.contextmanager
def program_guard(main_program, startup_program=None):
    """Describe `main_program`, and `startup_program` if given, inside the block.

    It applies to this thread until the end of the block, also after an error, and to calls without
    a Variable inside a surrounding `dygraph.guard`.

    Parameters
    ----------
    main_program : Program
        The program that calls append to.
    startup_program : Program, optional
        The program that initialises its parameters; None: the current one.

    Raises
    ------
    TypeError
        One of them is no Program.

    Examples
    --------
    >>> from dygraph import static
    >>> main = static.Program()
    >>> with static.program_guard(main):
    ...     y = static.layers.relu(static.data("x", [None, 2]))
    >>> [op.type for op in main.global_block().ops]
    ['relu']
    """
    _program(main_program, "program_guard: main_program")
    if startup_program is not None:
        _program(startup_program, "program_guard: startup_program")
    _local.main.append(main_program)
    _local.startup.append(startup_program or default_startup_program())
    before, modes.computes = modes.computes, False
    try:
        yield
    finally:
        modes.computes = before
        _local.main.pop()
        _local.startup.pop()


def computes():
    """Whether calls that take no Variable compute: directly inside a `dygraph.guard`."""
    return modes.computes and not _local.described


def _current():
    """The program for calls without inputs."""
    return (_local.described[-1] if _local.described else default_main_program()).core


def _write(target, result):
    block = result.block
    block.write(block.program.name_of(target, "a write"), result)


_core.set_hints(marks.HINTS)
_core.set_static(Variable, Parameter, Operator, _current, unique_name.generate, _write)
