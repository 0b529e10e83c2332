"""Operators on long lists: the time for each input must not grow with their number.

python benchmarks/long_lists.py [inputs]
"""

import sys
import time

COUNT = 1_000_000


def variables(count):
    import numpy as np

    import dygraph

    made = [dygraph.to_variable(np.ones(1, "float32")) for _ in range(count)]
    for variable in made:
        variable.stop_gradient = False
    return made


def cases():
    import numpy as np

    import dygraph
    from dygraph import ops as F

    def gradients(xs):
        ones = dygraph.to_variable(np.ones(len(xs), "float32"))
        return dygraph.grad([F.concat(xs)], xs, grad_outputs=[ones])

    return {
        "sum, backward": lambda xs: F.sum(xs).backward(),
        "stack, backward": lambda xs: F.reduce_sum(F.stack(xs)).backward(),
        "concat, grad": gradients,
    }


def main(most):
    for name, run in cases().items():
        for count in (most // 100, most // 10, most):
            xs = variables(count)
            start = time.perf_counter()
            run(xs)
            each = (time.perf_counter() - start) / count
            print(f"{name}, {count} inputs: {each * 1e6:.2f} us an input")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else COUNT)
