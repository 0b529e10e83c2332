"""Sequential, LayerList, ParameterList."""

from dygraph import check
from dygraph.errors import ArgumentTypeError, OutOfRangeError, kind_of
from dygraph.nn.layer import Layer
from dygraph.variable import Parameter

__all__ = ["LayerList", "ParameterList", "Sequential"]


def _at(index, size, what):
    index = check.integer(index, f"{what}: the index")
    if not -size <= index < size:
        raise OutOfRangeError(f"{what}: the index must lie in [-{size}, {size}), got {index}")
    return index % size


class Sequential(Layer):
    """Layers called one after another.

    Parameters
    ----------
    *layers : Layer or (str, Layer)
        Layers, named by their numbers, or pairs of name and layer.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> net = dygraph.nn.Sequential(dygraph.nn.Linear(3, 8, act="relu"), dygraph.nn.Linear(8, 2))
    >>> net(dygraph.to_variable(np.ones((1, 3), "float32"))).shape
    (1, 2)
    >>> len(net), net[0].weight.shape
    (2, (3, 8))
    """

    def __init__(self, *layers):
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], list):
            layers = layers[0]
        for i, layer in enumerate(layers):
            name, layer = layer if isinstance(layer, tuple) and len(layer) == 2 else (str(i), layer)
            self.add_sublayer(name, layer)

    def forward(self, input):
        for layer in self._sub_layers.values():
            input = layer(input)
        return input

    def __len__(self):
        return len(self._sub_layers)

    def __iter__(self):
        return iter(self._sub_layers.values())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return Sequential(*list(self._sub_layers.items())[index])
        if isinstance(index, str):
            return self._sub_layers[index]
        return list(self._sub_layers.values())[_at(index, len(self), "Sequential")]

    def __setitem__(self, name, layer):
        name = (
            name
            if isinstance(name, str)
            else list(self._sub_layers)[_at(name, len(self), "Sequential")]
        )
        self.add_sublayer(name, layer)


class LayerList(Layer):
    """A list whose layers are found by `parameters` and `state_dict`.

    Examples
    --------
    >>> import dygraph
    >>> layers = dygraph.nn.LayerList([dygraph.nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), len(layers.parameters())
    (3, 6)
    """

    def __init__(self, sublayers=None):
        super().__init__()
        if sublayers is not None:
            self.extend(sublayers)

    def append(self, sublayer):
        """Add a layer at the end. Gives the list."""
        self.add_sublayer(str(len(self._sub_layers)), sublayer)
        return self

    def extend(self, sublayers):
        """Add layers at the end. Gives the list."""
        if isinstance(sublayers, (str, Layer)) or not hasattr(sublayers, "__iter__"):
            raise ArgumentTypeError(f"LayerList: layers must be a list, got {kind_of(sublayers)}")
        for layer in sublayers:
            self.append(layer)
        return self

    def insert(self, index, sublayer):
        """Put a layer before the one at `index`."""
        layers = list(self._sub_layers.values())
        index = check.integer(index, "LayerList: the index")
        if not -len(layers) <= index <= len(layers):
            raise OutOfRangeError(
                f"LayerList: the index must lie in [-{len(layers)}, {len(layers)}], got {index}"
            )
        if not isinstance(sublayer, Layer):
            raise ArgumentTypeError(f"LayerList: a Layer is inserted, got {kind_of(sublayer)}")
        layers.insert(index, sublayer)
        self._renew(layers)

    def _renew(self, layers):
        for name in list(self._sub_layers):
            delattr(self, name)
        self.extend(layers)

    def __len__(self):
        return len(self._sub_layers)

    def __iter__(self):
        return iter(self._sub_layers.values())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return LayerList(list(self._sub_layers.values())[index])
        return list(self._sub_layers.values())[_at(index, len(self), "LayerList")]

    def __setitem__(self, index, layer):
        self.add_sublayer(str(_at(index, len(self), "LayerList")), layer)

    def __delitem__(self, index):
        layers = list(self._sub_layers.values())
        del layers[index if isinstance(index, slice) else _at(index, len(self), "LayerList")]
        self._renew(layers)


class ParameterList(Layer):
    """A list of parameters that `parameters` and `state_dict` find."""

    def __init__(self, parameters=None):
        super().__init__()
        if parameters is not None:
            if isinstance(parameters, (str, Parameter)) or not hasattr(parameters, "__iter__"):
                raise ArgumentTypeError(
                    f"ParameterList: parameters must be a list, got {kind_of(parameters)}"
                )
            for parameter in parameters:
                self.append(parameter)

    def append(self, parameter):
        """Add a parameter at the end. Gives the list."""
        if not isinstance(parameter, Parameter):
            raise ArgumentTypeError(
                f"ParameterList: a Parameter is appended, got {kind_of(parameter)}"
            )
        self.add_parameter(str(len(self._parameters)), parameter)
        return self

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters.values())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return ParameterList(list(self._parameters.values())[index])
        return list(self._parameters.values())[_at(index, len(self), "ParameterList")]

    def __setitem__(self, index, parameter):
        self.add_parameter(str(_at(index, len(self), "ParameterList")), parameter)
