"""Reads the `parameter_list` of an optimizer."""

import typing

from dygraph import _core
from dygraph.core import check
from dygraph.core.variable import Parameter, Variable
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of


class Group(typing.NamedTuple):
    learning_rate: float = 1.0  # factor on the optimizer's
    weight_decay: object = None  # a regularizer or a number; None: the optimizer's


class Parameters(typing.NamedTuple):
    """The contents of a `parameter_list`."""

    parameters: list
    names: dict  # by id: the name in the structure, if given
    groups: dict  # by id: Group, if given
    seen: set  # ids


_GROUP_KEYS = ("params", "learning_rate", "lr", "weight_decay")


def parameters_of(parameter_list, kind, trains=True, rate=None):
    """The `Parameters` of a list of parameters, of (name, parameter) pairs, of groups, or a layer.

    Frozen parameters, such as those of a fine-tuned layer, are skipped. Other Variables must be
    leaves that need a gradient, unless `trains` is False. `rate` is the optimizer's learning rate,
    by which the ``lr`` of a group is divided: factors are kept.

    ArgumentTypeError, InvalidArgumentError: naming `kind`.
    """
    if hasattr(parameter_list, "named_parameters"):
        parameter_list = parameter_list.named_parameters()
    if (
        parameter_list is None
        or isinstance(parameter_list, (str, Variable))
        or not hasattr(parameter_list, "__iter__")
    ):
        raise ArgumentTypeError(
            f"{kind}: parameter_list must be a list of parameters, such as model.parameters(), "
            f"got {kind_of(parameter_list)}"
        )
    kind_name = type(parameter_list).__name__
    result = Parameters([], {}, {}, set())
    for item in parameter_list:
        if isinstance(item, dict):
            group = _group(item, kind, rate)
            for p in item["params"]:
                result.groups[id(_add(p, result, kind, trains))] = group
        else:
            _add(item, result, kind, trains)
    if not result.parameters:
        raise InvalidArgumentError(
            f"{kind}: parameter_list must hold a parameter, got an empty {kind_name}. Layers are "
            "found as attributes of a Layer and in nn.LayerList; a generator can be read once"
        )
    return result


def _group(given, kind, rate):
    unknown = [k for k in given if k not in _GROUP_KEYS]
    if "params" not in given or unknown:
        raise InvalidArgumentError(
            f"{kind}: a group of parameters must have 'params', and may have 'lr', or "
            f"'learning_rate', a factor on the optimizer's, and 'weight_decay', got "
            f"{sorted(map(str, given))}"
        )
    params = given["params"]
    if isinstance(params, (str, Variable)) or not hasattr(params, "__iter__"):
        raise ArgumentTypeError(
            f"{kind}: 'params' of a group must be a list of parameters, got {kind_of(params)}"
        )
    decay = given.get("weight_decay")
    if decay is not None and not callable(decay):
        decay = check.number(decay, f"{kind}: weight_decay of a group", 0)
    factor = given.get("learning_rate", 1.0)
    factor = check.number(factor, f"{kind}: learning_rate of a group", 0)
    return Group(_factor(given, kind, rate) if "lr" in given else factor, decay)


def _factor(given, kind, rate):
    """The ``lr`` of a group as a factor on the optimizer's `rate`."""
    own = check.number(given["lr"], f"{kind}: lr of a group", 0)
    if "learning_rate" in given:
        raise ArgumentTypeError(
            f"{kind}: a group may have 'lr', a rate, or 'learning_rate', a factor, got both"
        )
    if not isinstance(rate, float) or not rate:
        given = "0.0" if rate == 0 else type(rate).__name__
        raise InvalidArgumentError(
            f"{kind}: the 'lr' of a group needs a number above 0 as the learning rate of the "
            f"optimizer, got {given}. Write 'learning_rate', a factor on the optimizer's rate"
        )
    return own / rate


def _add(item, result, kind, trains):
    """Add a parameter or (name, parameter); returns the parameter."""
    what = f"{kind}: parameter_list[{len(result.parameters)}]"
    name = None
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):
        name, item = item
    p = check.variable(item, what)
    if _core.is_symbol(p):
        raise ArgumentTypeError(
            f"{what} must be an eager parameter, got '{p.name}' of a program. static.optimizer "
            "trains programs"
        )
    if not isinstance(p, Parameter):
        if not p.is_leaf:
            raise InvalidArgumentError(f"{what} must be a leaf, got the result of an operator")
        if trains and p.stop_gradient:
            raise InvalidArgumentError(
                f"{what} must be a Parameter or need a gradient, got a Variable of shape "
                f"{list(p.shape)} with stop_gradient=True. Set stop_gradient = False, or make it "
                "a dygraph.Parameter"
            )
    if id(p) in result.seen:
        raise InvalidArgumentError(f"{what} {p.name} must be given once, got it twice")
    result.seen.add(id(p))
    result.parameters.append(p)
    if name is not None:
        result.names[id(p)] = name
    return p
