"""What a Fluid script asks about its installation: CUDA, devices, the version."""

import re

from dygraph.core.places import cuda_pinned_places, cuda_places, is_compiled_with_cuda
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of

__all__ = [
    "__version__", "cuda_pinned_places", "cuda_places", "is_compiled_with_cuda", "require_version",
]  # fmt: skip

__version__ = "1.8.5"  # of the Fluid whose names these are; the library's: dygraph.__version__


def _numbers(version, what):
    if not isinstance(version, str):
        raise ArgumentTypeError(f"require_version: {what} must be a string, got {kind_of(version)}")
    if not re.fullmatch(r"\d+(\.\d+){0,3}", version):
        raise InvalidArgumentError(
            f"require_version: {what} must be up to four numbers, as '1.8.5', got {version!r}"
        )
    numbers = [int(n) for n in version.split(".")]
    return numbers + [0] * (4 - len(numbers))


def require_version(min_version, max_version=None):
    """Refuse to go on unless Fluid's version, 1.8.5 here, is in [min_version, max_version].

    Parameters
    ----------
    min_version : str
        Up to four numbers, such as ``"1.6.0"``.
    max_version : str, optional
        Likewise; None: no bound.

    Raises
    ------
    InvalidArgumentError
        The version lies outside, or an argument is no version.
    ArgumentTypeError
        An argument is no string.

    Examples
    --------
    >>> from dygraph import static
    >>> static.require_version("1.6.0")
    """
    least, own = _numbers(min_version, "min_version"), _numbers(__version__, "__version__")
    most = own if max_version is None else _numbers(max_version, "max_version")
    if not least <= own <= most:
        until = "" if max_version is None else f" and at most {max_version}"
        raise InvalidArgumentError(
            f"require_version: the version of Fluid must be at least {min_version}{until}, got "
            f"{__version__}. Names of Paddle 2 are in dygraph, dygraph.nn and dygraph.optimizer"
        )
