"""``python -m dygraph.fluid script.py arguments``."""

import sys

from dygraph import fluid

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("python -m dygraph.fluid needs a script: python -m dygraph.fluid train.py")
    fluid.run(sys.argv[1:])
