"""Fluid's rarer layers: ``fluid.contrib.layers``."""

from dygraph.static.contrib import layers

__all__ = ["layers"]
