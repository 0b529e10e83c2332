"""Fluid's module `dygraph`, the eager mode: names and modules of `dygraph` itself."""

import dygraph


def __getattr__(name):
    return getattr(dygraph, name)


def __dir__():
    return dir(dygraph)
