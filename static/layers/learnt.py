"""Layers with parameters."""

from dygraph import ParamAttr, functional, unique_name
from dygraph.errors import InvalidArgumentError
from static.parameters import create_parameter
from static.program import default_main_program

__all__ = ["fc"]


def fc(
    input, size, num_flatten_dims=1, param_attr=None, bias_attr=None, act=None, is_test=False,
    name=None,
):  # fmt: skip
    """``act(X W + b)``; of several inputs, each with a weight of its own, the sum.

    Parameters
    ----------
    input : Variable or list of Variable
        The first `num_flatten_dims` axes count rows, the others are one row.
    size : int
        Columns of the result.
    num_flatten_dims : int
    param_attr, bias_attr : ParamAttr, str or Initializer, optional
        ``bias_attr=False``: no bias.
    act : str, optional
        An activation's name, such as ``"relu"``.
    is_test : bool
        Fluid's; changes nothing.
    name : str, optional
        Parameters and results are named after it.

    Returns
    -------
    Variable
        Of shape ``input.shape[:num_flatten_dims] + (size,)``.

    Examples
    --------
    >>> import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("x", [None, 13], "float32")
    ...     static.layers.fc(x, size=10, act="relu").shape
    (-1, 10)
    """
    inputs = list(input) if isinstance(input, (list, tuple)) else [input]
    attrs = list(param_attr) if isinstance(param_attr, (list, tuple)) else [param_attr]
    attrs = attrs * len(inputs) if len(attrs) == 1 else attrs
    layer = name or unique_name.generate("fc")
    with default_main_program().layer(layer):
        terms = []
        for x, attr in zip(inputs, attrs, strict=True):
            row = x.shape[num_flatten_dims:]
            if -1 in row:
                raise InvalidArgumentError(
                    f"fc: the sizes behind axis {num_flatten_dims} must be known, got {x.shape}"
                )
            width = 1
            for n in row:
                width *= n
            w = create_parameter([width, size], x.dtype, attr=attr, layer=layer)
            terms.append(functional.mul(x, w, x_num_col_dims=num_flatten_dims))
        out = terms[0] if len(terms) == 1 else functional.sum(terms)
        return activated(biased(out, size, bias_attr, layer, num_flatten_dims), act)


def biased(x, size, attr, layer, axis):
    """``x`` and a bias of `size` along `axis`; ``x`` where there is none."""
    if attr is False:
        return x
    bias = create_parameter([size], x.dtype, attr=ParamAttr.of(attr), is_bias=True, layer=layer)
    return functional.elementwise_add(x, bias, axis=axis)


def activated(x, act):
    """``act(x)``; ``x`` for None."""
    return x if act is None else getattr(functional, act)(x)
