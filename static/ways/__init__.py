"""From Python to a program: a function is run once for each way through it, and its ways join.

``bool(v)`` of a variable that has no value yet is a question, answered True in one run and False in
another. Where Python's state is equal but for Variables, ways join; a loop whose turn leads to an
equal state becomes a loop of the program. Python itself runs all the time, so nothing of it is
imitated. `dygraph.jit.to_static` is the door.
"""
