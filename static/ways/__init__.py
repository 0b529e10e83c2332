"""Capture of Python functions: a function runs once for each path, and equal states join.

``bool(v)`` of a symbolic variable is a question, answered True in one run and False in another.
Paths (called ways in the code) join where Python's state is equal except for Variables; a loop
becomes a loop of the program if an iteration (called a turn) leads to an equal state. Python itself
runs the code, so its semantics are exact. `dygraph.jit.to_static` is the public entry.
"""
