"""Fluid's ``core``: tensors and arrays that scripts fill, and places."""

from dygraph import CPUPlace, CUDAPinnedPlace, CUDAPlace, _core
from dygraph.core.lazily import find
from dygraph.errors import DygraphError, EOFException, InvalidArgumentError, did_you_mean
from dygraph.static.environment import is_compiled_with_cuda
from dygraph.static.scope import Scope

__all__ = [
    "CPUPlace", "CUDAPinnedPlace", "CUDAPlace", "EOFException", "LoDTensor", "LoDTensorArray",
    "Scope", "SelectedRows", "Tensor", "VarDesc", "is_compiled_with_cuda",  # noqa: F822
]  # fmt: skip


class LoDTensor(_core.Variable):
    """An array with a level of detail, filled by `set`, fed to `Executor.run`.

    Parameters
    ----------
    value : array
        Its values; None: nothing until `set`.
    lod : list of list of int
        The offsets of its levels of detail.
    dtype : str or dtype
        The type of the elements; None: that of `value`.
    stop_gradient : bool
        Whether the gradient stops here.
    name : str
        A name.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> tensor = static.core.LoDTensor()
    >>> tensor.set(np.arange(3), static.CPUPlace())
    >>> tensor.set_recursive_sequence_lengths([[1, 2]])
    >>> tensor.shape, tensor.lod()
    ((3,), [[0, 1, 3]])
    """

    def set(self, array, place=None):
        """Copy the values of `array`, with its type, to `place`; clears the level of detail.

        Raises
        ------
        ValueError, TypeError
            It is no array of numbers, or the place does not exist.
        """
        try:
            made = _core.to_variable(array)
        except DygraphError:
            raise
        except ValueError as error:  # NumPy's
            raise InvalidArgumentError(
                f"LoDTensor.set: the array must have rows of one length, got others ({error})"
            ) from None
        super().__init__(made if place is None else made.to(place))

    def set_lod(self, lod):
        """Set the level of detail by offsets. InvalidArgumentError if it does not fit the rows."""
        _core.set_lod(self, lod)

    def set_recursive_sequence_lengths(self, lengths):
        """Set the level of detail by lengths."""
        _core.set_lod(self, _core.lengths_to_offsets(lengths))

    def recursive_sequence_lengths(self):
        """The level of detail as lengths."""
        return _core.offsets_to_lengths(self.lod())

    def has_valid_recursive_sequence_lengths(self):
        """Whether the level of detail fits the rows; always true, since `set_lod` checks it."""
        if _core.is_empty(self):
            raise InvalidArgumentError("LoDTensor: it must be filled by set(array), got nothing")
        return True


Tensor = LoDTensor
LoDTensorArray = _core.LoDTensorArray


def __getattr__(name):
    if name in ("SelectedRows", "VarDesc"):
        return find(f"{__package__}.var_types", name)
    raise AttributeError(f"core has no '{name}'.{did_you_mean(name, __all__)}")
