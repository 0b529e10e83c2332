"""``python -m dygraph.distributed.rank [-m] PROGRAM ARGS``: a program as one rank of a job.

`dygraph.distributed.run` starts ranks with it. It notes what the program gives `sys.exit`, which
Python tells no one, so that a rank that ends with an error ends the whole job.
"""

import os
import runpy
import sys

from dygraph.distributed import ending


def main():
    """Run the program that the command line names."""
    del sys.argv[0]
    # A line is one write: MPI's launchers put the rank before whatever arrives together.
    sys.stdout.reconfigure(line_buffering=True, write_through=False)
    try:
        if sys.argv[0] == "-m":
            del sys.argv[0]
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(os.path.realpath(sys.argv[0]))
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as error:
        ending.note_status(error.code)
        raise


if __name__ == "__main__":
    main()
