"""Run-time switches: ``FLAGS_name`` in the environment, `set_flags` and `get_flags` here."""

import warnings

from dygraph import _core
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, did_you_mean, kind_of

__all__ = ["get_flags", "set_flags"]

# Flags with further limits on their values.
_CHOICES = {
    "FLAGS_kernel_library": ("", "plain", "onednn", "cudnn"),
    "FLAGS_cpu_level": (0, 1, 3, 4),
    "FLAGS_matrix_product": ("", "own", "panels", "onednn"),
}
_RANGES = {
    "FLAGS_num_threads": (0, 1 << 20),
    "FLAGS_kept_weights_mb": (0, 1 << 30),
    "FLAGS_fraction_of_cpu_memory_to_use": (0, 1),
    "FLAGS_fraction_of_gpu_memory_to_use": (0, 1),
}


def _problem(name, value):
    """The error in a value of the right type; None if it is valid."""
    if name in _CHOICES and value not in _CHOICES[name]:
        allowed = ", ".join(map(repr, _CHOICES[name]))
        near = did_you_mean(value.lower(), _CHOICES[name]) if isinstance(value, str) else ""
        return f"{name} must be one of {allowed}, got {value!r}.{near}"
    if name in _RANGES and not _RANGES[name][0] <= value <= _RANGES[name][1]:
        return f"{name} must be in {list(_RANGES[name])}, got {value!r}"
    return None


def _known(name, all_flags):
    if not isinstance(name, str):
        raise ArgumentTypeError(f"a flag's name must be a string, got {kind_of(name)}")
    full = name if name.startswith("FLAGS_") else f"FLAGS_{name}"
    if full not in all_flags:
        raise InvalidArgumentError(f"there must be a flag '{name}'.{did_you_mean(full, all_flags)}")
    return full


def get_flags(flags=None):
    """Values of flags.

    Parameters
    ----------
    flags : str or list of str, optional
        None: all.

    Returns
    -------
    dict of str to value

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for an unknown name, with the nearest one.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.get_flags("FLAGS_use_pinned_memory")
    {'FLAGS_use_pinned_memory': False}
    """
    known = _core.all_flags()
    if flags is None:
        flags = list(known)
    elif isinstance(flags, str):
        flags = [flags]
    elif not isinstance(flags, (list, tuple)):
        raise ArgumentTypeError(f"get_flags: flags must be names, got {kind_of(flags)}")
    return {name: known[_known(name, known)][0] for name in flags}


def set_flags(flags):
    """Set flags, all or none.

    Parameters
    ----------
    flags : dict of str to value

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for an unknown name, with the nearest one, and for an invalid value.
    ArgumentTypeError
        (a TypeError) for a value of another type.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.set_flags({"FLAGS_kernel_library": ""})
    """
    if not isinstance(flags, dict):
        raise ArgumentTypeError(
            f"set_flags: flags must be a dict of names to values, got {kind_of(flags)}"
        )
    known = _core.all_flags()
    names = {_known(name, known): value for name, value in flags.items()}
    for name, value in names.items():
        if not isinstance(value, (bool, int, float, str)):
            raise ArgumentTypeError(
                f"set_flags: {name} must be {type(known[name][1]).__name__}, got {kind_of(value)}"
            )
    done = []
    try:
        for name, value in names.items():
            _core.set_flag(name[len("FLAGS_") :], value)  # which checks the kind of value
            done.append(name)
            problem = _problem(name, value)
            if problem:
                raise InvalidArgumentError(problem)
    except Exception:
        for name in done:
            _core.set_flag(name[len("FLAGS_") :], known[name][0])
        raise


def warn_about_environment():
    """Warn of FLAGS_ variables without a flag of that name, and of invalid values."""
    for name, nearest in _core.unknown_environment_flags():
        hint = f" Did you mean FLAGS_{nearest}?" if nearest else ""
        warnings.warn(f"the environment sets FLAGS_{name}, which is no flag.{hint}", stacklevel=3)
    for problem in _core.flag_problems():
        warnings.warn(problem, stacklevel=3)
    for name, (value, default, _) in _core.all_flags().items():
        problem = _problem(name, value)
        if problem:
            _core.set_flag(name[len("FLAGS_") :], default)
            warnings.warn(f"{problem.rstrip('.')}. The default is kept.", stacklevel=3)
