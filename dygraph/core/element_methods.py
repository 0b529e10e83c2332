"""Methods of Variables for functions of elements whose modules load at the first call."""

from dygraph.core.lazily import find

__all__ = ["METHODS", "later"]


def later(module, name, room="dygraph.functions."):
    """A function of a module that loads at its first call, as a method."""

    def method(self, *args, **kwargs):
        return find(f"{room}{module}", name)(self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"Variable.{name}"
    method.__doc__ = f"`dygraph.{name}` of this variable."
    return method


_OF_MODULE = {
    "complex_numbers": "angle conj is_complex",
    "counting": "bincount bucketize histc unique_consecutive",
    "cumulative": "cummax cummin cumprod logcumsumexp",
    "diagonals": "diagonal rot90",
    "elements": "deg2rad fmax fmin frac gcd heaviside isclose lcm nan_to_num rad2deg",
    "elementwise": "acosh asinh atan2 atanh trunc",
    "order_statistics": "kthvalue median mode nanmedian",
    "random": "bernoulli multinomial",
    "searching": "searchsorted",
}
METHODS = {
    name: later(module, name) for module, names in _OF_MODULE.items() for name in names.split()
}
METHODS["logit"] = later("special", "logit", "dygraph.")
