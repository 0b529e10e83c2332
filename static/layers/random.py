"""Random variables. Seed 0: the program's seed, or the library's generator."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.static.layers.making import into, layer, operator, run
from dygraph.static.layers.tensor import sized, sizes_of
from dygraph.static.unknown_sizes import numbers


@operator()
def sampling_id(x, min=0.0, max=1.0, seed=0, dtype="float32"):
    """A column for each row of probabilities, drawn with these."""


def _drawn(op, shape, attrs, owner):
    sizes, tensor, parts = sizes_of(shape, owner)
    inputs = {"ShapeTensor": tensor, "ShapeTensorList": parts}
    return sized(run(op, inputs, {"shape": sizes, **attrs})["Out"], parts and shape)


@layer
def uniform_random(shape, dtype="float32", min=-1.0, max=1.0, seed=0):
    """Even draws from [min, max).

    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.layers.uniform_random([2, 3]).shape
    (2, 3)
    """
    attrs = {"dtype": dtype, "min": min, "max": max, "seed": seed}
    return _drawn("uniform_random", shape, attrs, "uniform_random")


@layer
def gaussian_random(shape, mean=0.0, std=1.0, seed=0, dtype="float32"):
    """Draws from a normal distribution.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.layers.gaussian_random([2, 3]).shape
    (2, 3)
    """
    attrs = {"dtype": dtype, "mean": mean, "std": std, "seed": seed}
    return _drawn("gaussian_random", shape, attrs, "gaussian_random")


@layer
def randn(shape, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """Samples of the normal distribution with mean 0 and deviation 1; `out` is set to them.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.layers.randn([2, 3]).shape
    (2, 3)
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
    """Integers from `low` to before `high`, or from 0 to before `low`; int64 by default.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.layers.randint(10, shape=[2]).shape
    (2,)
    """
    low, high = (0, low) if high is None else (low, high)
    if check.integer(low, "randint: low") >= check.integer(high, "randint: high"):
        raise InvalidArgumentError(f"randint: low must be below high, got {low} and {high}")
    attrs = {"low": low, "high": high, "dtype": dtype or "int64", "seed": seed}
    drawn = _drawn("randint", [1] if shape is None else shape, attrs, "randint")
    return into(out, drawn, "randint")


@layer
def randperm(n, out=None, dtype="int64", device=None, stop_gradient=True, seed=0):
    """A random permutation of the integers from 0 to before `n`.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     static.layers.randperm(5).shape
    (5,)
    """
    attrs = {"n": check.integer(n, "randperm: n", 1), "dtype": dtype, "seed": seed}
    made = into(out, run("randperm", {}, attrs)["Out"], "randperm")
    made.stop_gradient = stop_gradient
    return made


def _like(op, input, shape, input_dim_idx, output_dim_idx, attrs):
    """Samples with the batch size of `input`, known or not."""
    check.variable(input, f"{op}: input")
    sizes = numbers(list(shape))
    at = check.axis(input_dim_idx, len(input.shape), f"{op}: input_dim_idx")
    to = check.axis(output_dim_idx, len(sizes), f"{op}: output_dim_idx")
    sizes[to] = input.shape[at]
    if sizes[to] >= 0:
        return run(op, {}, {"shape": sizes, **attrs})["Out"]
    size = run("shape", {"Input": input})["Out"]
    sizes[to] = run("slice", {"Input": size}, {"axes": [0], "starts": [at], "ends": [at + 1]})[
        "Out"
    ]
    return _drawn(op, sizes, attrs, op)


@layer
def uniform_random_batch_size_like(
    input, shape, dtype="float32", input_dim_idx=0, output_dim_idx=0, min=-1.0, max=1.0, seed=0
):
    """Uniform samples from [min, max) in `shape`, with the batch size of `input`.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.uniform_random_batch_size_like(dygraph.ones([5, 2]), [-1, 3]).shape
    (5, 3)
    """
    attrs = {"dtype": dtype, "min": min, "max": max, "seed": seed}
    return _like("uniform_random", input, shape, input_dim_idx, output_dim_idx, attrs)


@layer
def gaussian_random_batch_size_like(
    input, shape, input_dim_idx=0, output_dim_idx=0, mean=0.0, std=1.0, seed=0, dtype="float32"
):
    """Samples of a normal distribution in `shape`, with the batch size of `input`.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.gaussian_random_batch_size_like(dygraph.ones([5, 2]), [-1, 3]).shape
    (5, 3)
    """
    attrs = {"dtype": dtype, "mean": mean, "std": std, "seed": seed}
    return _like("gaussian_random", input, shape, input_dim_idx, output_dim_idx, attrs)


@layer
def random_crop(x, shape, seed=None):
    """A random crop of the sizes `shape` from each instance of ``x``.

    The last axes of ``x`` are cropped, as many as `shape` has sizes. `seed` is an integer, a
    Variable that holds one, or None.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     image = static.data("image", [None, 3, 32, 32])
    ...     static.layers.random_crop(image, [3, 28, 28]).shape
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
