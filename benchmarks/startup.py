"""What an import costs beyond numpy's own, and how large the installed packages are.

python benchmarks/startup.py [rounds]
"""

import json
import os
import statistics
import subprocess
import sys

import peer
import report

IMPORT = """
import json, time
def resident():
    for line in open("/proc/self/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
import numpy
memory, start = resident(), time.perf_counter()
import {library}
seconds = time.perf_counter() - start
print(json.dumps([seconds, resident() - memory]))
"""
# The files of a package and of all it requires but numpy; a link inside counts as what it shows.
SIZE = """
import importlib.metadata as metadata, json, os, re, sys
def required(name, seen):
    name = re.match(r"[\\w.-]+", name)[0].lower().replace("_", "-")
    if name in seen or name == "numpy":
        return 0
    seen.add(name)
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return 0
    files = [f.locate() for f in distribution.files or ()]
    total = sum(os.path.getsize(f) for f in files if f.is_file())
    return total + sum(
        required(r, seen) for r in distribution.requires or () if "extra ==" not in r)
def folder(path):
    total = 0
    for base, folders, files in os.walk(path, followlinks=True):
        folders[:] = [f for f in folders if f not in ("__pycache__", "python")]
        names = [f for f in files if "include" not in base or f.endswith(".h")]
        total += sum(os.path.getsize(os.path.join(base, f)) for f in names)
    return total
if sys.argv[1] == "torch":
    print(required("torch", set()))
else:
    print(sum(folder(os.path.join(p, "dygraph")) for p in sys.argv[2:]))
"""


def run(side, code, *arguments):
    environment = dict(os.environ, OMP_NUM_THREADS="2")
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled once
    python = sys.executable
    if side == "torch":
        python = peer.peer_python()
        environment.pop("PYTHONPATH", None)
    else:
        environment["PYTHONPATH"] = str(peer.ROOT)
    done = subprocess.run(
        [python, "-c", code, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def main(rounds):
    table = report.Report("startup", "Import and size, beyond numpy's own")
    libraries = {"ours": "dygraph", "torch": "torch"}
    seen = {side: [] for side in libraries}
    for i in range(rounds + 1):
        for side, library in libraries.items():
            figures = run(side, IMPORT.format(library=library))
            if i:  # the first fills the disk cache
                seen[side].append(figures)
    seconds, memory = (
        {side: statistics.median(f[k] for f in figures) for side, figures in seen.items()}
        for k in (0, 1)
    )
    table.add("import: time", seconds["ours"], seconds["torch"], most=0.05)
    table.add(
        "import: memory", memory["ours"], memory["torch"], most=15 * 2**20, form=report.megabytes
    )
    onednn = (peer.ROOT / "dygraph" / "libs" / "libdnnl.so.3").exists()
    ours, torch = run("ours", SIZE, "ours", str(peer.ROOT)), run("torch", SIZE, "torch")
    what = "with" if onednn else "without"
    most = (70 if onednn else 15) * 2**20
    table.add(f"installed size, {what} oneDNN", ours, torch, most=most, form=report.megabytes)
    table.finish()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 11)
