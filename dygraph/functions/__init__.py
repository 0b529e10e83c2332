"""Functions that combine operators; `dygraph.ops` has them beside the operators."""
