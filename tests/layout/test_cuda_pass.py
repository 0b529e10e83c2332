"""Files that are compiled for CUDA reach no loop of the host."""

import re
from pathlib import Path

from layout import rules

ROOT = Path(__file__).resolve().parents[2]

# What compiles a file for each device (csrc/cuda/CMakeLists.txt).
IN_CUDA_PASS = re.compile(
    r"\bREGISTER_(KERNELS|ELEMENTWISE|ELEMENTWISE_KERNELS|SPECIAL|EXTREME|COMPARISON|MOVING_KERNEL)"
    r"\(|\A// Compiled for each device\."
)


def loops_of_the_pass_have_a_twin(files):
    """A file that is compiled for CUDA includes headers of kernels/ that csrc/cuda/ stands in for.

    The others stand in a list: they have no loops. A loop of the host would get device pointers.
    """
    bare = set(files.get("csrc/cuda/no_loops.txt", "").split())
    problems, checked = [], set()
    waiting = [
        path
        for path, room, text in rules.cpp(files)
        if (room == "operators" and path.endswith(".cc") and IN_CUDA_PASS.search(text))
        or room == "cuda"
    ]
    while waiting:
        path = waiting.pop()
        if path in checked:
            continue
        checked.add(path)
        code = rules.without_comments(files[path])
        for found in re.finditer(r'^\s*#\s*include\s*"([^"]+)"', code, re.MULTILINE):
            name = found[1]
            twin, host = f"csrc/cuda/{name}", f"csrc/{name}"
            if twin in files:
                continue
            source = name.endswith(".cc")  # compiled in the pass as well
            if name.startswith("kernels/") and not source and name[len("kernels/") :] not in bare:
                where = f"{path}:{rules.line_of(code, found.start())}"
                problems.append(f"{where}: {name} has no twin and no line in no_loops.txt")
            elif host in files and name.startswith(("operators/", "kernels/")):
                waiting.append(host)
    return sorted(problems)


OPERATOR = "csrc/operators/a/a_op.cc"


def problems_of(include, **files):
    """Of an operator's file with that include, beside other files."""
    text = f'#include "{include}"\nREGISTER_KERNELS(a, K, float);\n'
    return loops_of_the_pass_have_a_twin({OPERATOR: text, **files})


def test_the_rule_notices_a_loop_of_the_host():
    host = {"csrc/kernels/b.h": "// Loops.\n"}
    found = problems_of("kernels/b.h", **host)
    assert len(found) == 1 and "kernels/b.h has no twin" in found[0]
    assert problems_of("kernels/b.h", **host, **{"csrc/cuda/kernels/b.h": "// Loops.\n"}) == []
    assert problems_of("kernels/b.h", **host, **{"csrc/cuda/no_loops.txt": "b.h\n"}) == []
    family = {"csrc/operators/a/a.h": '#include "kernels/b.h"\n', **host}
    assert len(problems_of("operators/a/a.h", **family)) == 1
    cpu = {OPERATOR: '#include "kernels/b.h"\nREGISTER_CPU_KERNEL(a, K, float);\n', **host}
    assert loops_of_the_pass_have_a_twin(cpu) == []


def test_the_tree_keeps_the_rule():
    files = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in (ROOT / "csrc").rglob("*")
        if path.suffix in (".h", ".cc", ".cu") or path.name == "no_loops.txt"
    }
    assert "csrc/cuda/pass.h" in files
    problems = loops_of_the_pass_have_a_twin(files)
    assert not problems, "\n" + "\n".join(problems)
