"""What building costs from nothing: processor time, the slowest files, linking, sizes.

    python benchmarks/build_time.py [jobs]

The build has a folder of its own and no compiler cache, so a run takes minutes. Processor times are
the user's and the system's together; on a machine whose cores share a pipeline they grow with the
number of jobs, two by default.
"""

import os
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import report

ROOT = Path(__file__).resolve().parent.parent
# Puts "user system file" of each compiler call into a file; the source is the last argument.
LAUNCHER = """#!/bin/bash
exec 3>&2
TIMEFORMAT="%3U %3S ${@: -1}"
{ time "$@" 2>&3; } 2>>"$DYGRAPH_COMPILE_TIMES"
"""
RELINKED = "csrc/operators/activation/relu_op.cc"


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compile_times(path):
    """{source: seconds of its compilation}, slowest first."""
    times = {}
    for line in path.read_text().splitlines():
        user, system, source = line.split(" ", 2)
        times[source] = float(user) + float(system)
    return dict(sorted(times.items(), key=lambda item: -item[1]))


def main(jobs):
    with tempfile.TemporaryDirectory() as folder:
        build, times, launcher = (Path(folder, name) for name in ("build", "times", "launcher"))
        launcher.write_text(LAUNCHER)
        launcher.chmod(launcher.stat().st_mode | stat.S_IXUSR)
        environment = dict(os.environ, DYGRAPH_COMPILE_TIMES=str(times), CCACHE_DISABLE="1")
        environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"

        def run(*command):
            subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)

        run(
            "cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(build), "-DCCACHE=",
            f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}",
        )  # fmt: skip
        before, start = processor_time(), time.perf_counter()
        run("ninja", f"-j{jobs}", "-C", str(build))
        wall, processor = time.perf_counter() - start, processor_time() - before
        slowest = compile_times(times)

        source = ROOT / RELINKED
        now = source.stat()
        try:
            os.utime(source)
            start = time.perf_counter()
            run("ninja", f"-j{jobs}", "-C", str(build))
            relinked = time.perf_counter() - start
        finally:
            os.utime(source, ns=(now.st_atime_ns, now.st_mtime_ns))
        library = build / "libs" / "libdygraph.so"
        stripped = Path(folder, "stripped.so")
        shutil.copy(library, stripped)
        subprocess.run(["strip", str(stripped)], check=True)
        size = stripped.stat().st_size

    table = report.Report("build_time", "Building from nothing")
    table.add("processor time", processor, most=520.0)
    table.add(f"wall time, {jobs} jobs", wall)
    name, longest = next(iter(slowest.items()))
    table.add("slowest file", longest, most=25.0)
    table.add("one operator changed: compile and link", relinked, most=6.0)
    table.add("libdygraph, stripped", size, most=16e6, form=report.megabytes)
    rooms = {}
    for path, seconds in slowest.items():
        parts = Path(path).parts
        room = parts[parts.index("csrc") + 1] if "csrc" in parts else "bindings and headers"
        rooms[room] = rooms.get(room, 0.0) + seconds
    table.notes.append(
        "Seconds by room: "
        + ", ".join(f"{k} {v:.0f}" for k, v in sorted(rooms.items(), key=lambda item: -item[1]))
    )
    table.notes.append(
        "Slowest files: "
        + ", ".join(f"{Path(path).name} {s:.1f}" for path, s in list(slowest.items())[:12])
    )
    table.finish()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
