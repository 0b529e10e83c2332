"""Random numbers of the thread's generator; `dygraph.seed` makes them reproducible."""

from dygraph import _core
from dygraph.core import check, size_lists
from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.functions.arguments import spelled
from dygraph.functions.creation import float_type, shape_and_type, sizes_of

ops = _core.ops
Variable = _core.Variable


def drawn(kind, shape, owner, **attrs):
    """Random numbers of an operator, in a shape with sizes that may be known only in a run."""
    if size_lists.followed(shape):
        parts = {"ShapeTensorList": size_lists.variables(shape)}
        return size_lists.declare(_core.run_op(kind, parts, attrs)["Out"], list(shape))
    return getattr(ops, kind)(shape=sizes_of(shape, owner), **attrs)


def rand(shape, *sizes, dtype=None):
    """Random numbers from [0, 1), each as likely as the others; `dygraph.seed` makes them
    reproducible.

    Parameters
    ----------
    shape : list of int or int
        The sizes, or the first of several arguments: ``rand(2, 3)``.
    *sizes : int
        The other sizes.
    dtype : str or dtype, optional
        None: the default type.

    Returns
    -------
    Variable
        Of the given shape and type.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.rand([2, 3]).shape
    (2, 3)
    """
    shape, dtype = shape_and_type(shape, sizes, dtype, "rand")
    return drawn("uniform_random", shape, "rand", min=0.0, max=1.0, dtype=dtype)


def uniform(shape, dtype=None, min=-1.0, max=1.0, seed=0):
    """Random numbers from [min, max), each as likely as the others.

    Parameters
    ----------
    shape : list of int
        The sizes.
    dtype : str or dtype, optional
        None: the default type.
    min, max : float, default -1.0
        The range, by default -1 to 1.
    seed : int, default 0
        0: the library's generator. Others give the same numbers each time.

    Returns
    -------
    Variable
        Of the given shape and type.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.uniform([100], min=2.0, max=3.0).numpy()
    >>> bool((x >= 2).all() and (x <= 3).all())
    True
    """
    dtype = float_type(dtype, "uniform")
    return drawn("uniform_random", shape, "uniform", min=min, max=max, seed=seed, dtype=dtype)


def randn(shape, *sizes, dtype=None):
    """Numbers drawn from the normal distribution of mean 0 and standard deviation 1.

    The sizes may be single arguments: ``randn(2, 3)``.

    >>> import dygraph
    >>> dygraph.randn([2, 3]).shape
    (2, 3)
    """
    shape, dtype = shape_and_type(shape, sizes, dtype, "randn")
    return drawn("gaussian_random", shape, "randn", dtype=dtype)


def normal(mean=0.0, std=1.0, shape=None, **spellings):
    """Random numbers of the normal distribution.

    Parameters
    ----------
    mean, std : float or Variable, default 0.0
        Variables broadcast, and gradients flow to them; then `shape` is not read.
    shape : list of int, optional
        For two numbers. None: ``[1]``.
    **spellings : object
        ``size``, another name of `shape`.

    Returns
    -------
    Variable
        Of `shape`, or of the shape that the Variables broadcast to.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.normal(2.0, 0.0, [3]).numpy().tolist()
    [2.0, 2.0, 2.0]
    """
    if spellings:
        (shape,) = spelled("normal", spellings, shape=shape)
    given = [v for v in (mean, std) if isinstance(v, Variable)]
    if not given:
        shape = [1] if shape is None else shape
        dtype = float_type(None, "normal")
        return drawn("gaussian_random", shape, "normal", mean=mean, std=std, dtype=dtype)
    whole = given[0] if len(given) == 1 else mean + std * 0
    sizes = size_lists.sizes_of(whole)
    return drawn("gaussian_random", sizes, "normal", dtype=whole.dtype) * std + mean


def randint(low=0, high=None, shape=(1,), dtype=None):
    """Integers drawn from low, ..., high - 1; with one bound, from 0, ..., low - 1.

    >>> import dygraph
    >>> r = dygraph.randint(3, 5, [100]).numpy()
    >>> sorted(set(r.tolist()))
    [3, 4]
    """
    if isinstance(high, (list, tuple)):
        raise ArgumentTypeError(
            f"randint: high must be an integer, got {kind_of(high)}. "
            f"Write randint(0, {low}, {high})"
        )
    if high is None:
        low, high = 0, low
    return drawn(
        "randint",
        shape,
        "randint",
        low=check.integer(low, "randint: low"),
        high=check.integer(high, "randint: high"),
        dtype="int64" if dtype is None else dtype,
    )


def randperm(n, dtype=None):
    """The integers 0 to n - 1 in random order.

    >>> import dygraph
    >>> sorted(dygraph.randperm(4).numpy().tolist())
    [0, 1, 2, 3]
    """
    if isinstance(n, float):
        raise ArgumentTypeError(f"randperm: n must be an integer, got {kind_of(n)}")
    return ops.randperm(
        n=check.integer(n, "randperm: n", 0), dtype="int64" if dtype is None else dtype
    )
