"""Random numbers of the thread's generator; `dygraph.seed` makes them reproducible."""

from dygraph import _core
from dygraph.core import check, size_lists
from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.functions.arguments import given_once, spelled, widened
from dygraph.functions.creation import float_type, shape_and_type, sizes_of

ops = _core.ops
Variable = _core.Variable


def drawn(kind, shape, owner, **attrs):
    """Random numbers of an operator, in a shape with sizes that may be known only in a run."""
    if size_lists.followed(shape):
        parts = {"ShapeTensorList": size_lists.variables(shape)}
        return size_lists.declare(_core.run_op(kind, parts, attrs)["Out"], list(shape))
    return getattr(ops, kind)(shape=sizes_of(shape, owner), **attrs)


def rand(shape, *sizes, dtype=None, requires_grad=False):
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
    requires_grad : bool
        True: the result is a leaf that gets a gradient.

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
    made = drawn("uniform_random", shape, "rand", min=0.0, max=1.0, dtype=dtype)
    return made.requires_grad_() if requires_grad else made


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


def randn(shape, *sizes, dtype=None, requires_grad=False):
    """Numbers drawn from the normal distribution of mean 0 and standard deviation 1.

    The sizes may be single arguments: ``randn(2, 3)``.

    Parameters
    ----------
    shape, *sizes, dtype, requires_grad
        As for `rand`.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.randn([2, 3]).shape
    (2, 3)
    """
    shape, dtype = shape_and_type(shape, sizes, dtype, "randn")
    made = drawn("gaussian_random", shape, "randn", dtype=dtype)
    return made.requires_grad_() if requires_grad else made


@given_once
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

    Parameters
    ----------
    low, high : int
        Numbers from `low` to below `high`; of ``randint(n)`` from 0 to below n.
    shape : list of int
    dtype : dtype, optional
        None: int64.

    Returns
    -------
    Variable

    Examples
    --------
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

    Parameters
    ----------
    n : int
    dtype : dtype, optional
        None: int64.

    Returns
    -------
    Variable
        ``[n]``

    Examples
    --------
    >>> import dygraph
    >>> sorted(dygraph.randperm(4).numpy().tolist())
    [0, 1, 2, 3]
    """
    if isinstance(n, float):
        raise ArgumentTypeError(f"randperm: n must be an integer, got {kind_of(n)}")
    return ops.randperm(
        n=check.integer(n, "randperm: n", 0), dtype="int64" if dtype is None else dtype
    )


def bernoulli(x):
    """Ones with the probabilities `x`, else zeros, of the shape and type of `x`. No gradient.

    InvalidArgumentError for a probability outside [0, 1].

    Parameters
    ----------
    x : Variable
        Probabilities.

    Returns
    -------
    Variable
        0 or 1, of the shape and type of `x`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.bernoulli(dygraph.to_variable([0.0, 1.0])).tolist()
    [0.0, 1.0]
    """
    return _drawn_by("bernoulli", x)


def poisson(x):
    """Numbers drawn from Poisson's distribution with the means `x`. No gradient.

    InvalidArgumentError for a mean outside [0, 2^52].

    Parameters
    ----------
    x : Variable
        Means.

    Returns
    -------
    Variable
        Whole numbers, of the shape and type of `x`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.poisson(dygraph.to_variable([0.0])).tolist()
    [0.0]
    """
    return _drawn_by("poisson", x)


def multinomial(x, num_samples=1, replacement=False):
    """Indices drawn with probabilities in proportion to the weights `x`.

    Parameters
    ----------
    x : Variable
        Weights of at least 0, ``[n]`` or ``[batch, n]``. They need not sum up to 1.
    num_samples : int
        The number of draws of each row.
    replacement : bool
        Whether an index may be drawn again.

    Returns
    -------
    Variable
        int64, ``[num_samples]`` or ``[batch, num_samples]``. No gradient.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for weights that are negative, not finite, or all 0, and for fewer positive
        weights than draws without replacement.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.multinomial(dygraph.to_variable([[0.0, 3.0], [1.0, 0.0]])).tolist()
    [[1], [0]]
    """
    count = check.integer(num_samples, "multinomial: num_samples", 1)
    again = check.flag(replacement, "multinomial: replacement")
    return _drawn_by("multinomial", x, num_samples=count, replacement=again)


def _drawn_by(owner, x, **attrs):
    """What the operator draws by the numbers `x`."""
    x = check.variable(x, f"{owner}: x").detach()
    if not x.dtype.is_floating:
        raise ArgumentTypeError(
            f"{owner}: x must hold floating-point numbers, got {x.dtype}. Convert with "
            "x.astype('float32')"
        )
    return widened(lambda x: getattr(ops, owner)(x, **attrs), x)
