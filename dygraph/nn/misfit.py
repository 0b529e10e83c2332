"""Messages for inputs that do not fit a layer, made after its operator has refused them."""

import math

from dygraph import _core
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of

_AXES = {1: "length", 2: "height, width", 3: "depth, height, width"}


def of_type(owner, input, weight):
    """Raise an error if `input` is no Variable, or of another type than the weight."""
    if isinstance(input, (tuple, list)) and any(isinstance(v, _core.Variable) for v in input):
        raise ArgumentTypeError(
            f"{owner}: input must be a Variable, got a {type(input).__name__} of {len(input)}. "
            "Take one of them; a recurrent layer gives (outputs, states)"
        ) from None
    if not isinstance(input, _core.Variable):
        raise ArgumentTypeError(
            f"{owner}: input must be a Variable, got {kind_of(input)}. "
            "Convert arrays and numbers with dygraph.to_variable()"
        ) from None
    if input.dtype != weight.dtype:
        raise ArgumentTypeError(
            f"{owner}: input must be {weight.dtype}, as the weight {list(weight.shape)}, got "
            f"{input.dtype} of shape {list(input.shape)}. Convert with "
            f"astype('{weight.dtype}')"
        ) from None


def of_linear(owner, input, weight):
    """Raise the message for an input that Linear refuses, if there is one."""
    of_type(owner, input, weight)
    shape, (before, after) = list(input.shape), weight.shape
    if shape and shape[-1] == before:
        return
    if len(shape) > 2 and math.prod(shape[1:]) == before:
        fix = "Put Flatten() before it"
    elif shape and shape[-1] == after:
        fix = (
            f"Write {owner}({after}, {before}); with the table of an Embedding as the weight, "
            "input @ table.weight.T"
        )
    elif shape:
        fix = f"Write {owner}({shape[-1]}, {after}) or change the layer before it"
    else:
        fix = "Reshape it"
    raise InvalidArgumentError(
        f"{owner}: the last axis of input must be {before}, the rows of the weight "
        f"{[before, after]}, got shape {shape}. {fix}"
    ) from None


def of_convolution(owner, input, weight, channels, axes):
    """Raise the message for an input that a convolution refuses, if there is one."""
    of_type(owner, input, weight)
    shape = list(input.shape)
    if len(shape) == axes + 2 and shape[1] == channels:
        return
    fix = ""
    if len(shape) == axes + 1 and shape[0] == channels:
        fix = ". Add the batch axis with input[None]"
    elif len(shape) == axes + 1 and channels == 1:
        fix = ". Add the axis of channels with input[:, None]"
    elif len(shape) == axes + 2 and shape[-1] == channels:
        order = [0, axes + 1, *range(1, axes + 1)]
        fix = f". The channels come last: input.transpose({order}) moves them"
    elif len(shape) == axes + 2:
        fix = f". Make the layer with {shape[1]} channels, or change the layer before it"
    raise InvalidArgumentError(
        f"{owner}: input must be [batch, {channels}, {_AXES[axes]}] for the weight "
        f"{list(weight.shape)}, got shape {shape}{fix}"
    ) from None
