"""IfElse: splits the rows of a batch between two blocks and merges their results."""

import contextlib

from dygraph import unique_name
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.inspect.shown import Shown
from dygraph.static import bodies
from dygraph.static.layers.choices import conditional_block
from dygraph.static.layers.ranked import merge_lod_tensor
from dygraph.static.program import Variable

__all__ = ["IfElse"]


class IfElse(Shown):
    """A branch for each row of a batch. Rows where `cond` is true go through one block, the others
    through another; the results are merged in the order of the batch.

    Parameters
    ----------
    cond : Variable
        bool ``[rows, 1]`` of a program.
    name : str, optional
        Prefix of the names of its variables.

    Raises
    ------
    ArgumentTypeError
        `cond` is not a bool of the program. For eager Variables compute both branches and select
        with `dygraph.where`.
    InvalidArgumentError
        `cond` is not ``[rows, 1]``, or the blocks give different numbers of results.
    PreconditionNotMetError
        A method is called outside a block, or a block is described twice or gives no result.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program()):
    ...     x = static.data("x", [None, 1], "float32")
    ...     choice = layers.IfElse(layers.less_than(x, layers.zeros_like(x)))
    ...     with choice.true_block():
    ...         choice.output(layers.scale(choice.input(x), -1.0))
    ...     with choice.false_block():
    ...         choice.output(layers.sqrt(choice.input(x)))
    ...     feed = {"x": np.array([[-3], [4], [-5]], "float32")}
    ...     static.Executor().run(feed=feed, fetch_list=choice())[0].ravel().tolist()
    [3.0, 2.0, 5.0]
    """

    def __init__(self, cond, name=None):
        self._program = bodies.program_of(
            cond, "IfElse", "Compute both and write dygraph.where(cond, a, b)"
        )
        if str(cond.dtype) != "bool":
            raise ArgumentTypeError(
                f"IfElse: cond must be bool, got {cond.dtype} ('{cond.name}', made at "
                f"{bodies.made_at(cond)}). Compare to get a bool"
            )
        shape = cond.desc.shape
        if not shape or any(n != 1 for n in shape[1:]):
            raise InvalidArgumentError(
                f"IfElse: cond must be of shape [rows, 1], got {shape}, made at "
                f"{bodies.made_at(cond)}. Reshape it with layers.reshape"
            )
        self.cond, self.name = cond, name or unique_name.generate("ifelse")
        self._inside = self._body = None  # True or False in a block
        self._inputs, self._outputs = {}, {}

    def true_block(self):
        """The block for the rows where `cond` is true, for one ``with`` statement."""
        return self._block(True)

    def false_block(self):
        """The block for the other rows, for one ``with`` statement."""
        return self._block(False)

    @contextlib.contextmanager
    def _block(self, which):
        what = "true_block" if which else "false_block"
        if self._inside is not None or which in self._outputs:
            raise PreconditionNotMetError(
                f"IfElse: {what}() is called once, and not inside another block of this IfElse, "
                "but was called again"
            )
        inputs = dict(self._inputs)
        try:
            self._inside, self._outputs[which] = which, []
            with conditional_block(
                self._program, [self.cond], f"IfElse.{what}", scalar=False
            ) as self._body:
                yield
                if not self._outputs[which]:
                    raise PreconditionNotMetError(
                        f"IfElse: {what}() must give a result. Call output(variable) in it"
                    )
        except BaseException:
            self._inputs = inputs
            del self._outputs[which]
            raise
        finally:
            self._inside = self._body = None

    def _check_inside(self, what):
        if self._inside is None or self._program.current_block() is not self._body:
            raise PreconditionNotMetError(
                f"IfElse: {what}() must be called directly inside true_block() or false_block(), "
                "not in a block nested in it"
            )

    def _new(self, name, like):
        parent = self._program.block(self._body.parent_idx)
        return parent.create_var(
            name=unique_name.generate(name), dtype=like.dtype, stop_gradient=like.stop_gradient
        )

    def input(self, x):
        """The rows of `x` that belong to this block.

        Parameters
        ----------
        x : Variable
            As many rows, or sequences, as `cond` has rows.

        Returns
        -------
        Variable
            The rows of `x` where `cond` is true in the true block, the others in the false block.

        Raises
        ------
        ArgumentTypeError
            `x` does not belong to a program.
        PreconditionNotMetError
            It is called outside the blocks.
        """
        self._check_inside("input")
        if not isinstance(x, Variable):
            raise ArgumentTypeError(
                f"IfElse.input: x must be a variable of the program, got {kind_of(x)}"
            )
        bodies.program_of(x, "IfElse.input", "")
        if x.name not in self._inputs:
            parts = [self._new(f"ifelse_input{self.name}", x) for _ in range(2)]
            self._program.block(self._body.parent_idx).append_op(
                "split_lod_tensor", {"X": x, "Mask": self.cond},
                {"OutTrue": parts[0], "OutFalse": parts[1]}, {"level": 0},
            )  # fmt: skip
            self._inputs[x.name] = x, parts
        return self._inputs[x.name][1][0 if self._inside else 1]

    def output(self, *outs):
        """Declare results of this block.

        Parameters
        ----------
        *outs : Variable
            Each has a row for every row of the block's inputs.

        Raises
        ------
        ArgumentTypeError
            A result does not belong to a program.
        PreconditionNotMetError
            It is called outside the blocks.
        """
        self._check_inside("output")
        for each in outs:
            if not isinstance(each, Variable):
                raise ArgumentTypeError(
                    f"IfElse.output: a result must be a variable of the program, got "
                    f"{kind_of(each)}"
                )
            outside = self._new(f"{self.name}_output", each)
            self._fill(outside, each.desc.shape)
            self._body.append_op("assign", {"X": each}, {"Out": outside})
            self._outputs[self._inside].append(outside)

    def _fill(self, outside, shape):
        """Initialise a result to no rows, for a batch without rows, in which no block runs."""
        if not shape or -1 in shape[1:]:
            return
        self._program.block(self._body.parent_idx).append_op(
            "fill_constant", {}, {"Out": outside},
            {"shape": [0, *shape[1:]], "dtype": str(outside.dtype), "value": 0.0},
        )  # fmt: skip
        outside.desc.shape = [-1, *shape[1:]]

    def __call__(self):
        """The merged results, in the order of the batch.

        Returns
        -------
        list of Variable
            One for each result of the blocks. If only one block was described, its own results.

        Raises
        ------
        InvalidArgumentError
            The blocks give different numbers of results.
        PreconditionNotMetError
            A block is still open, or none was described.
        """
        if self._inside is not None:
            raise PreconditionNotMetError("IfElse: read the results after both blocks have ended")
        if not self._outputs:
            raise PreconditionNotMetError(
                "IfElse: describe true_block() or false_block() before reading the results"
            )
        if len(self._outputs) == 1:
            return list(*self._outputs.values())
        one, other = self._outputs[True], self._outputs[False]
        if len(one) != len(other):
            raise InvalidArgumentError(
                f"IfElse: both blocks must give the same number of results, got {len(one)} from "
                f"true_block() and {len(other)} from false_block()"
            )
        return [
            merge_lod_tensor(a, b, self.cond, self.cond, level=0)
            for a, b in zip(one, other, strict=True)
        ]
