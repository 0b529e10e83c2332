"""Operators by name: their descriptions, the kernel that would run, and calls."""

import os

from dygraph import _core, ops
from dygraph.errors import ArgumentTypeError, kind_of

__all__ = ["OpDescription", "explain", "load_library", "op_info", "op_names", "run_op"]


class Item:
    """A slot or an attribute of an operator: ``name`` and its other facts as attributes."""

    def __init__(self, facts):
        self.__dict__.update(facts)

    def __repr__(self):
        return f"<{self.name}: {self.help}>"


class OpDescription:
    """An operator as registered; prints its whole description.

    Attributes
    ----------
    type, comment : str
    inputs, outputs : list of Item
        With ``name``, ``python_name``, ``help``, ``duplicable``, ``dispensable``,
        ``intermediate``, ``extra``, ``rows``, ``array``, ``table`` (may hold selected rows, an
        array, a rank table).
    attrs : list of Item
        With ``name``, ``help``, ``type``, ``default``, ``is_dtype``.
    kernels : list of str
    has_gradient : bool
    gradient_order : int or None
        The number of times it can be differentiated; None: any number.
    in_place : list of (str, str)
        Input and output slots that may be one variable.
    file, line
        Where it is registered.
    """

    def __init__(self, facts):
        self.__dict__.update(facts)
        for group in ("inputs", "outputs", "attrs"):
            setattr(self, group, [Item(f) for f in facts[group]])

    def recipe(self, attrs=None):
        """The gradient's calls: (type, inputs, outputs) with names as ``X``, ``Out@GRAD``."""
        return _core.describe_recipe(self.type, attrs or {})

    @property
    def gradient_order(self):
        level, late = {self.type}, self._calls_of_second_order()
        for order in range(4):
            below = set(late) if order == 1 else set()
            for name in level:
                facts = _core.describe_op(name)
                if facts["no_gradient"] and order:
                    continue  # zero from here on, however often
                if not facts["has_gradient"]:
                    return order
                calls = {call[0] for call in _core.describe_recipe(name, {})}
                calls -= late if order == 0 else set()
                if "third_grad_limit" in calls:
                    return order
                below |= calls
            level = below
        return None

    def _calls_of_second_order(self):
        """The calls of the recipe that read only gradients of intermediate results."""
        hidden = {s.name + "@GRAD" for s in self.outputs if s.intermediate}
        if self.no_gradient or not self.has_gradient:
            return set()
        arriving = {s.name + "@GRAD" for s in self.outputs}
        return {
            kind
            for kind, inputs, _ in self.recipe()
            if (read := arriving.intersection(sum(inputs.values(), []))) and read <= hidden
        }

    def __repr__(self):
        lines = [f"{self.type}: {self.comment}"]
        for title, group in (("inputs", self.inputs), ("outputs", self.outputs)):
            lines.append(f"{title}:")
            for s in group:
                marks = [
                    m
                    for m in ("duplicable", "dispensable", "intermediate", "extra")
                    if getattr(s, m)
                ]
                lines.append(
                    f"  {s.name}{' (' + ', '.join(marks) + ')' if marks else ''}: {s.help}"
                )
        lines.append("attributes:" if self.attrs else "attributes: none")
        for a in self.attrs:
            kind = "dtype" if a.is_dtype else a.type
            lines.append(f"  {a.name} ({kind}, default {a.default!r}): {a.help}")
        lines.append(f"kernels: {', '.join(self.kernels) or 'none'}")
        if self.has_gradient:
            calls = ", ".join(call[0] for call in self.recipe()) or "nothing"
            order = self.gradient_order
            times = "any number of times" if order is None else f"{order} times"
            lines.append(f"gradient: {calls}; differentiable {times}")
        else:
            lines.append("gradient: none")
        if self.in_place:
            lines.append("in place: " + ", ".join(f"{o} over {i}" for i, o in self.in_place))
        lines.append(f"registered in {self.file}:{self.line}")
        return "\n".join(lines)


class Explanation:
    """Which kernel would run: ``chosen``, and ``candidates`` as (kernel, chosen?, reason)."""

    def __init__(self, kind, facts):
        self.type = kind
        self.chosen, self.candidates = facts["chosen"], facts["candidates"]

    def __repr__(self):
        lines = [f"{self.type} would run {self.chosen}"]
        lines += [f"  {'*' if c else ' '} {kernel}: {why}" for kernel, c, why in self.candidates]
        return "\n".join(lines)


def _type(kind, what):
    if not isinstance(kind, str):
        raise ArgumentTypeError(f"{what}: type must be an operator's name, got {kind_of(kind)}")
    return kind


def _dict(value, what):
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ArgumentTypeError(f"{what} must be a dict, got {kind_of(value)}")
    for key in value:
        if not isinstance(key, str):
            raise ArgumentTypeError(f"{what} must have names for keys, got {kind_of(key)}")
    return value


def op_names():
    """Names of all operators, sorted.

    >>> import dygraph
    >>> {"relu", "relu_grad"} <= set(dygraph.op_names())
    True
    """
    return sorted(_core.op_names())


def load_library(path):
    """Load a shared object of operators, kernels or devices, built against ``dygraph/include``.

    `dygraph.ops` gets its operators. A library cannot be unloaded; loading it twice has no
    effect. Native code has all rights of this process: load only libraries that you trust.

    Parameters
    ----------
    path : str or os.PathLike

    Returns
    -------
    list of str
        The names of the operators it added, sorted.

    Raises
    ------
    MissingFileError
        (a FileNotFoundError) for a path that cannot be read.
    InvalidArgumentError
        (a ValueError) for a file that is no shared object, or one for another version.
    AlreadyExistsError, NotFoundError
        For registrations that clash or refer to missing parts; valid registrations are kept.

    Examples
    --------
    >>> import dygraph
    >>> try:
    ...     dygraph.load_library("no_such_library.so")
    ... except FileNotFoundError as error:
    ...     print(error)
    the library to load must exist and be readable, got 'no_such_library.so'
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentTypeError(
            f"load_library: path must be a string or a Path, got {kind_of(path)}"
        )
    try:
        return _core.load_library(os.fspath(path))
    finally:
        ops._add_operators()


def op_info(type):
    """The description of an operator.

    Parameters
    ----------
    type : str

    Returns
    -------
    OpDescription

    Raises
    ------
    NotFoundError
        (a KeyError) for an unknown operator, with near spellings.

    Examples
    --------
    >>> import dygraph
    >>> info = dygraph.op_info("relu")
    >>> [s.name for s in info.inputs], info.has_gradient
    (['X'], True)
    """
    return OpDescription(_core.describe_op(_type(type, "op_info")))


def explain(type, inputs, attrs=None):
    """Which kernel would run for these inputs, and why the others would not.

    Parameters
    ----------
    type : str
    inputs : dict of str to Variable or list of Variable
    attrs : dict, optional

    Returns
    -------
    Explanation
        Printable; ``chosen`` is the kernel's key.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x = dygraph.to_variable(np.ones(3, "float32"))
    >>> "float32" in dygraph.explain("relu", {"X": x}).chosen
    True
    """
    facts = _core.explain(
        _type(type, "explain"), _dict(inputs, "explain: inputs"), _dict(attrs, "explain: attrs")
    )
    return Explanation(type, facts)


def run_op(type, inputs, attrs=None, outputs=None):
    """Run any operator by the names of its slots and attributes.

    Parameters
    ----------
    type : str
    inputs : dict of str to Variable or list of Variable
        By slot, ``{'X': x, 'Y': y}``.
    attrs : dict, optional
        Element types as dtypes, names or wire numbers; an int is valid for a float.
    outputs : dict of str to int, optional
        The length of a list output, if inputs and attributes do not determine it.

    Returns
    -------
    dict of str to Variable or list of Variable

    Raises
    ------
    NotFoundError, ArgumentTypeError
        For an unknown operator, slot or attribute, with near spellings.
    InvalidArgumentError, ArgumentTypeError
        From the operator's own rules.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x = dygraph.to_variable(np.array([1.0, -1.0]))
    >>> dygraph.run_op("scale", {"X": x}, {"scale": 3})["Out"].numpy()
    array([ 3., -3.])
    """
    return _core.run_op(
        _type(type, "run_op"),
        _dict(inputs, "run_op: inputs"),
        _dict(attrs, "run_op: attrs"),
        None if outputs is None else _dict(outputs, "run_op: outputs"),
    )
