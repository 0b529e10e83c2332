"""Paths of layers in errors."""

from dygraph.errors import append_text


def add_layer(error, layer):
    """Record the layers that an error passes through, innermost first."""
    layers = getattr(error, "_dygraph_layers", None)
    try:
        if layers is None:
            error._dygraph_layers = [layer]
        elif isinstance(layers, list):
            layers.append(layer)
    except AttributeError:  # an exception class with slots
        pass


def path_of(layers):
    """``Net.features.conv1`` for layers from the innermost outwards."""
    path = type(layers[-1]).__name__
    for parent, child in zip(layers[::-1], layers[-2::-1], strict=False):
        names = [n for n, layer in parent.named_sublayers() if layer is child]
        path += "." + (names[0] if names else type(child).__name__)
    return path


def tell_path(error):
    """Append ``in LeNet.features.conv1 (Conv2D)`` to the message, once."""
    layers = getattr(error, "_dygraph_layers", None)
    if not isinstance(layers, list):
        return
    error._dygraph_layers = ()
    path, kind = path_of(layers), type(layers[0]).__name__
    place = f"in {path} ({kind})" if path != kind else f"in {path}"
    append_text(error, place)
