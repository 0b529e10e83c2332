"""``python -m dygraph compile MODEL -o net.c [--so | --exe] [--exact] [--cuda]``."""

import argparse
import os
import sys


def main(arguments):
    """Exit code: 0, 1 where the model cannot be compiled, 2 for wrong usage."""
    from dygraph import codegen
    from dygraph.errors import DygraphError

    parser = argparse.ArgumentParser(
        prog="python -m dygraph compile",
        description="One C file from a saved model; docs/c_file.md.",
    )
    parser.add_argument("model", metavar="MODEL", help="directory or path of an inference model")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="net.c, or net.cu")
    build = parser.add_mutually_exclusive_group()
    build.add_argument("--so", action="store_true", help="also a shared object, by $CC or cc")
    build.add_argument("--exe", action="store_true", help="also a program that reads raw inputs")
    parser.add_argument("--exact", action="store_true", help="the Executor's bits")
    parser.add_argument("--cuda", action="store_true", help="kernels for nvcc")
    parser.add_argument("--name", default="net", help="what the public functions begin with")
    try:
        given = parser.parse_args(arguments)
    except SystemExit as e:
        return e.code
    try:
        made = codegen.emit_c(given.model, name=given.name, exact=given.exact, cuda=given.cuda)
        written = made.write(given.output)
        stem = os.path.splitext(given.output)[0]
        if given.so:
            written.append(made.build(stem + ".so"))
        if given.exe:
            written.append(made.build(stem, shared=False))
    except (DygraphError, OSError) as e:
        print(f"compile: {e}".replace("compile: compile: ", "compile: "), file=sys.stderr)
        return 1
    for path in written:
        print(f"{os.path.getsize(path):>12,} bytes  {path}")
    return 0
