"""What StaticRNN and DynamicRNN share: a step that is a block of the program."""

from dygraph import unique_name
from dygraph.errors import (
    AlreadyExistsError,
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
)
from dygraph.inspect.shown import Shown
from dygraph.static import bodies
from dygraph.static.program import default_main_program

__all__ = ["AFTER", "BEFORE", "Steps"]

BEFORE, INSIDE, AFTER = range(3)


class Steps(Shown):
    """A block for one ``with`` statement, memories by name, results."""

    def __init__(self, name, kind):
        self.name = name or unique_name.generate(kind)
        self._status, self._program, self._body = BEFORE, default_main_program(), None
        self._memories, self._updates, self.outputs = {}, {}, []

    @property
    def _kind(self):
        return type(self).__name__

    def _begin(self):
        if self._status != BEFORE:
            raise PreconditionNotMetError(
                f"{self._kind}: its step is described once, but was entered twice. Make another "
                f"{self._kind}"
            )
        self._status = INSIDE

    def _check_inside(self, what):
        opened = f"with rnn.{self._opened}():"
        if self._status != INSIDE or self._program.current_block() is not self._body:
            raise PreconditionNotMetError(
                f"{self._kind}: {what}() must be called directly inside `{opened}`, not in a block "
                "nested in it"
            )

    def _variable(self, value, what):
        program = bodies.program_of(
            value, f"{self._kind}.{what}", "For eager Variables use dygraph.nn or a Python loop"
        )
        if program is not self._program:
            raise InvalidArgumentError(
                f"{self._kind}: it belongs to the program in which it was made, but {what} was "
                "called under the program_guard of another"
            )
        return value

    @property
    def _parent(self):
        return self._program.block(self._body.parent_idx)

    def _update(self, memory, value):
        """Record the value of a memory after the step."""
        self._check_inside("update_memory")
        for given in (memory, value):
            self._variable(given, "update_memory")
        if memory.name not in self._memories:
            raise PreconditionNotMetError(
                f"{self._kind}: update_memory() needs a memory made by memory(), got "
                f"'{memory.name}', made at {bodies.made_at(memory)}"
            )
        if memory.name in self._updates:
            raise AlreadyExistsError(
                f"{self._kind}: a memory is updated once per step, but update_memory() was called "
                f"twice for '{memory.name}'"
            )
        if str(memory.dtype) != str(value.dtype):
            raise ArgumentTypeError(
                f"{self._kind}: a memory must keep its type, got {memory.dtype} before the step "
                f"and {value.dtype} after it, made at {bodies.made_at(value)}"
            )
        old, new = memory.desc.shape, value.desc.shape
        fits = len(old) == len(new) and all(
            m == n or -1 in (m, n) for m, n in zip(old, new, strict=True)
        )
        if not fits:
            raise InvalidArgumentError(
                f"{self._kind}: a memory must keep its shape, got {old} before the step and {new} "
                f"after it, made at {bodies.made_at(value)}"
            )
        self._updates[memory.name] = value

    def _check_updates(self):
        missing = [name for name in self._memories if name not in self._updates]
        if missing:
            raise PreconditionNotMetError(
                f"{self._kind}: every memory must be updated in the step, but '{missing[0]}', made "
                f"at {self._body.created_at(missing[0])}, is not. Call update_memory(memory, value)"
            )

    def _check_outputs(self):
        if not self.outputs:
            raise PreconditionNotMetError(
                f"{self._kind}: the step must give a result. Call rnn.output(variable) in it"
            )

    def __call__(self):
        """The results of all steps.

        Returns
        -------
        Variable or list of Variable
            A list if the step has several results.

        Raises
        ------
        PreconditionNotMetError
            The step has not been described.
        """
        if self._status != AFTER:
            raise PreconditionNotMetError(
                f"{self._kind}: read the results after `with rnn.{self._opened}():` has ended"
            )
        return self.outputs[0] if len(self.outputs) == 1 else list(self.outputs)
