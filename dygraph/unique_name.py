"""Unique names: ``linear_0``, ``linear_1``, ...

There is a counter for each kind of layer, but none for single layers or parameters, so memory does
not grow with the number of models.
"""

import re
from _thread import allocate_lock

from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.inspect.shown import Shown

__all__ = ["UniqueNameGenerator", "generate", "guard", "switch"]


class UniqueNameGenerator(Shown):
    """Counts names: ``name(key)`` gives ``key_0``, then ``key_1``, for each key.

    Parameters
    ----------
    prefix : str, default ""
        What all names begin with.

    Examples
    --------
    >>> from dygraph import unique_name
    >>> name = unique_name.UniqueNameGenerator("net_")
    >>> name("fc"), name("fc"), name("conv")
    ('net_fc_0', 'net_fc_1', 'net_conv_0')
    """

    def __init__(self, prefix=""):
        self.prefix = prefix
        self._counters: dict[str, int] = {}
        self._lock = allocate_lock()

    def __call__(self, key):
        with self._lock:
            number = self._counters.get(key, 0)
            self._counters[key] = number + 1
        return f"{self.prefix}{key}_{number}"


_current = UniqueNameGenerator()


def generate(key):
    """A name that has not been given yet: ``key_0``, at the next call ``key_1``, and so on.

    Parameters
    ----------
    key : str
        What the name begins with.

    Returns
    -------
    str
        The key, an underscore and a number.

    Examples
    --------
    >>> from dygraph import unique_name
    >>> with unique_name.guard():
    ...     unique_name.generate("fc"), unique_name.generate("fc")
    ('fc_0', 'fc_1')
    """
    return _current(key)


def taken():
    """The state for `give_back`, after which the same names are generated again."""
    return _current, dict(_current._counters)


def give_back(names):
    """Restore the state of `taken`: the names after it are generated again."""
    generator, counters = names
    with generator._lock:
        generator._counters = counters


def snake(name):
    """``LeNet`` -> ``le_net``, ``Conv2D`` -> ``conv2d``.

    >>> from dygraph.unique_name import snake
    >>> snake("LeNet"), snake("Conv2D"), snake("BatchNorm")
    ('le_net', 'conv2d', 'batch_norm')
    """
    name = re.sub(r"([a-z0-9])([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def switch(new_generator=None, new_para_name_checker=None):
    """Switch to another generator of names.

    Parameters
    ----------
    new_generator : UniqueNameGenerator, optional
        None: a new one, which counts from 0.
    new_para_name_checker : None, optional
        Fluid's; must be None.

    Returns
    -------
    UniqueNameGenerator
        The earlier one.

    Raises
    ------
    ArgumentTypeError
        An argument is another object.

    Examples
    --------
    >>> from dygraph import unique_name
    >>> before = unique_name.switch()
    >>> unique_name.generate("fc")
    'fc_0'
    >>> _ = unique_name.switch(before)
    """
    global _current
    if new_para_name_checker is not None:
        raise ArgumentTypeError(
            "unique_name.switch: new_para_name_checker must be None: names of parameters are not "
            f"checked, got {kind_of(new_para_name_checker)}"
        )
    new = UniqueNameGenerator() if new_generator is None else new_generator
    if not isinstance(new, UniqueNameGenerator):
        raise ArgumentTypeError(
            "unique_name.switch: new_generator must be a UniqueNameGenerator, got "
            f"{kind_of(new_generator)}"
        )
    before, _current = _current, new
    return before


class guard(Shown):  # noqa: N801 - Fluid's name
    """Count from 0 inside the block; the earlier count continues after it.

    Parameters
    ----------
    new_generator : str or UniqueNameGenerator, optional
        A string is the prefix of all names in the block.

    Examples
    --------
    >>> from dygraph import unique_name
    >>> with unique_name.guard("net_"):
    ...     unique_name.generate("fc")
    'net_fc_0'
    """

    def __init__(self, new_generator=None):
        if isinstance(new_generator, bytes):
            new_generator = new_generator.decode()
        self._given = new_generator
        self._saved = []

    def __enter__(self):
        given = self._given
        self._saved.append(switch(UniqueNameGenerator(given) if isinstance(given, str) else given))
        return self

    def __exit__(self, *_):
        switch(self._saved.pop())
        return False
