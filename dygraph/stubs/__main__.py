"""``python -m dygraph.stubs [DIR]`` writes the stubs, beside the modules if no folder is given."""

import sys
from pathlib import Path

from dygraph.stubs import write

if __name__ == "__main__":
    for path in write(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]):
        print(path)
