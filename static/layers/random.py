"""Random variables. Seed 0: the program's seed, or the library's generator."""

from dygraph import _core, ops
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.static.layers.making import into, layer, operator, run
from dygraph.static.layers.tensor import sized, sizes_of


@operator()
def sampling_id(x, min=0.0, max=1.0, seed=0, dtype="float32"):
    """A column for each row of probabilities, drawn with these probabilities.

    Parameters
    ----------
    x : Variable
        ``[rows, columns]``, each row adding up to 1; float32 or float64.
    min, max : float, default 0.0 and 1.0
        The range of the random number that is compared with the sums of the row, by default 0 to 1.
    seed : int, default 0
        0: the generator's. Others give the same columns at each call.
    dtype : str, default "float32"
        Accepted as in Fluid; not used.

    Returns
    -------
    Variable
        int64 ``[rows]``.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.sampling_id(to_variable([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])).tolist()
    [1, 0]
    """


def _drawn(op, shape, attrs, owner):
    sizes, tensor, parts = sizes_of(shape, owner)
    inputs = {"ShapeTensor": tensor, "ShapeTensorList": parts}
    return sized(run(op, inputs, {"shape": sizes, **attrs})["Out"], parts and shape)


@layer
def uniform_random(shape, dtype="float32", min=-1.0, max=1.0, seed=0):
    """Random numbers from [min, max), each as likely as the others.

    Parameters
    ----------
    shape : list of int or Variable
        The sizes, as in `fill_constant`.
    dtype : str or dtype, default "float32"
        float32 or float64.
    min, max : float, default -1.0 and 1.0
        The range, by default -1 to 1.
    seed : int, default 0
        0: the seed of the program, or the library's generator. Others give the same numbers at each
        call.

    Returns
    -------
    Variable
        Of the given shape and type.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> with dygraph.guard():
    ...     x = layers.uniform_random([2, 3], min=2.0, max=3.0)
    >>> x.shape, bool(((x >= 2.0) & (x < 3.0)).all())
    ((2, 3), True)
    """
    attrs = {"dtype": dtype, "min": min, "max": max, "seed": seed}
    return _drawn("uniform_random", shape, attrs, "uniform_random")


@layer
def gaussian_random(shape, mean=0.0, std=1.0, seed=0, dtype="float32"):
    """Random numbers of the normal distribution.

    Parameters
    ----------
    shape : list of int or Variable
        The sizes, as in `fill_constant`.
    mean : float, default 0.0
        The mean.
    std : float, default 1.0
        The standard deviation.
    seed : int, default 0
        0: the seed of the program, or the library's generator. Others give the same numbers at each
        call.
    dtype : str or dtype, default "float32"
        float32 or float64.

    Returns
    -------
    Variable
        Of the given shape and type.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> with dygraph.guard():
    ...     x = layers.gaussian_random([2, 3], mean=1.0, std=0.0)
    >>> x.tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    attrs = {"dtype": dtype, "mean": mean, "std": std, "seed": seed}
    return _drawn("gaussian_random", shape, attrs, "gaussian_random")


@layer
def randn(shape, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """Random numbers of the normal distribution with mean 0 and standard deviation 1.

    Parameters
    ----------
    shape : list of int or Variable
        The sizes, as in `fill_constant`.
    out : Variable, optional
        A variable of the type of the result, which is written to it and returned.
    dtype : str or dtype, optional
        None is float32.
    device : str, optional
        Accepted as in Fluid; not used.
    stop_gradient : bool, default True
        Whether the gradient stops at the result.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        Of the given shape and type.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> with dygraph.guard():
    ...     x = layers.randn([200, 3])
    >>> x.shape, bool((abs(x) < 10.0).all())
    ((200, 3), True)
    """
    attrs = {"dtype": dtype or "float32", "mean": 0.0, "std": 1.0}
    made = into(out, _drawn("gaussian_random", shape, attrs, "randn"), "randn")
    made.stop_gradient = stop_gradient
    return made


@layer
def randint(
    low, high=None, shape=None, out=None, dtype=None, device=None, stop_gradient=False, seed=0,
    name=None,
):  # fmt: skip
    """Random integers from `low` to before `high`, or from 0 to before `low`.

    Parameters
    ----------
    low : int
        The least integer, or the end of the range if `high` is None.
    high : int, optional
        The end of the range, which is not drawn.
    shape : list of int or Variable, optional
        The sizes, as in `fill_constant`; None is ``[1]``.
    out : Variable, optional
        A variable of the type of the result, which is written to it and returned.
    dtype : str or dtype, optional
        int32 or int64; None is int64.
    device : str, optional
        Accepted as in Fluid; not used.
    stop_gradient : bool, default False
        Accepted as in Fluid; not used.
    seed : int, default 0
        0: the seed of the program, or the library's generator.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        Of the given shape and type.

    Raises
    ------
    InvalidArgumentError
        `low` is not below `high`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> with dygraph.guard():
    ...     layers.randint(3, 4, shape=[2]).tolist()
    [3, 3]
    """
    low, high = (0, low) if high is None else (low, high)
    if check.integer(low, "randint: low") >= check.integer(high, "randint: high"):
        raise InvalidArgumentError(f"randint: low must be below high, got {low} and {high}")
    attrs = {"low": low, "high": high, "dtype": dtype or "int64", "seed": seed}
    drawn = _drawn("randint", [1] if shape is None else shape, attrs, "randint")
    return into(out, drawn, "randint")


@layer
def randperm(n, out=None, dtype="int64", device=None, stop_gradient=True, seed=0):
    """The integers from 0 to before `n` in random order.

    Parameters
    ----------
    n : int
        How many, at least 1.
    out : Variable, optional
        A variable of the type of the result, which is written to it and returned.
    dtype : str or dtype, default "int64"
        int32, int64, float32 or float64.
    device : str, optional
        Accepted as in Fluid; not used.
    stop_gradient : bool, default True
        Whether the gradient stops at the result.
    seed : int, default 0
        0: the seed of the program, or the library's generator.

    Returns
    -------
    Variable
        ``[n]``, of the type `dtype`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> with dygraph.guard():
    ...     sorted(layers.randperm(5).tolist())
    [0, 1, 2, 3, 4]
    """
    attrs = {"n": check.integer(n, "randperm: n", 1), "dtype": dtype, "seed": seed}
    made = into(out, run("randperm", {}, attrs)["Out"], "randperm")
    made.stop_gradient = stop_gradient
    return made


uniform_random_batch_size_like = layer(ops.uniform_random_batch_size_like)


gaussian_random_batch_size_like = layer(ops.gaussian_random_batch_size_like)


@layer
def random_crop(x, shape, seed=None):
    """A part of each instance of `x`, of the sizes `shape`, at a random place.

    Parameters
    ----------
    x : Variable
        ``[batch, ...]``; float32, float64 or an integer type. Its last axes are cropped, as many
        as `shape` has sizes.
    shape : list of int
        The sizes of the part.
    seed : int or Variable, optional
        Where to start drawing; a Variable must have one element. None: the generator's.

    Returns
    -------
    Variable
        The axes of `x` before the cropped ones, then `shape`.

    Examples
    --------
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program()):
    ...     image = static.data("image", [None, 3, 32, 32])
    ...     layers.random_crop(image, [3, 28, 28]).shape
    (-1, 3, 28, 28)
    """
    attrs = {"shape": check.shape(shape, "random_crop: shape")}
    if isinstance(seed, _core.Variable):
        return run("random_crop", {"X": x, "Seed": seed}, attrs)["Out"]
    attrs["startup_seed"] = 0 if seed is None else check.integer(seed, "random_crop: seed")
    return run("random_crop", {"X": x}, attrs)["Out"]


__all__ = [
    "gaussian_random", "gaussian_random_batch_size_like", "randint", "randn", "random_crop",
    "randperm", "sampling_id", "uniform_random", "uniform_random_batch_size_like",
]  # fmt: skip
