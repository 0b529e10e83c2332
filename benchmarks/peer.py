"""The two sides of a comparison, each in a process of its own, measured in turns.

A benchmark is a file that holds `CASES = {side: {name: function}}`, sides being "ours" and "torch".
A case's function sets something up and returns another: `run(n)` does the work n times. What that
returns, if anything, comes back with the time. `Side` starts the benchmark's own file again as a
worker under the side's interpreter and asks it for times over a pipe; `interleave` asks the sides
in turns, so that a busy or throttled machine disturbs both alike.

torch lives in `.venv-peer`, made at first use; DYGRAPH_PEER_PYTHON names another interpreter that
has it. DYGRAPH_BENCH_THREADS sets the threads of both sides where a benchmark does not. "Tuned"
torch runs with a preloaded library that lets MKL take its AVX-512 path on processors that are not
Intel's.
"""

import gc
import json
import os
import statistics
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TORCH = "torch==2.13.0"
THREADS = int(os.environ.get("DYGRAPH_BENCH_THREADS", "2"))
SPREAD = 0.02  # seconds a measurement should last: long for the clock, short for a disturbance
# Idle OpenMP threads of the side that was just measured spin for some milliseconds before they
# sleep, on a core that the other side needs: seconds to wait for that before a measurement.
PAUSE = 0.02


def peer_python():
    """The interpreter that has torch; made on first use, which downloads torch."""
    given = os.environ.get("DYGRAPH_PEER_PYTHON")
    if given:
        return given
    folder = ROOT / ".venv-peer"
    python = folder / "bin" / "python"
    done = folder / "installed"
    if not done.exists():
        print(f"Installing {TORCH} into .venv-peer, once", file=sys.stderr)
        venv.create(folder, with_pip=True)
        subprocess.check_call([str(python), "-m", "pip", "install", "-q", TORCH, "numpy"])
        done.touch()
    return str(python)


def compiled(name, source, *options):
    """Path of a shared library of C source, in build/peer; None without a C compiler."""
    folder = ROOT / "build" / "peer"
    library, written = folder / f"{name}.so", folder / f"{name}.c"
    if not library.exists() or written.read_text() != source:
        folder.mkdir(parents=True, exist_ok=True)
        written.write_text(source)
        command = ["cc", "-shared", "-fPIC", *options, "-o", str(library), str(written)]
        try:
            subprocess.check_call(command)
        except (OSError, subprocess.CalledProcessError):
            return None
    return str(library)


def mkl_switch():
    """A library that answers MKL's question for an Intel processor with yes."""
    return compiled("mkl_is_intel", "int mkl_serv_intel_cpu_true(void) { return 1; }\n")


class Side:
    """A worker process: `ours`, `torch`, torch `tuned`, or any name with its library.

    `root` is the checkout whose package is "ours".
    """

    def __init__(self, benchmark, name, threads=THREADS, library=None, root=ROOT):
        self.name = name
        self.library = library or ("ours" if name == "ours" else "torch")
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
        python = sys.executable
        if self.library == "ours":
            environment["PYTHONPATH"] = os.pathsep.join(
                [str(root), *filter(None, [environment.get("PYTHONPATH")])]
            )
        else:
            python = peer_python()
            environment.pop("PYTHONPATH", None)
        if name == "tuned":
            environment["LD_PRELOAD"] = mkl_switch() or ""
        self.process = subprocess.Popen(
            [python, str(Path(benchmark).resolve()), "--worker", self.library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.numbers, self.warm = {}, {}  # by case: repetitions timed, and untimed before

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker of {self.name} ended with {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{self.name}, {command.get('case')}: {answer['error']}")
        return answer

    def has(self, case):
        return case in self.ask()["cases"]

    def run(self, case, number=1, warm=0):
        """Seconds for each of `number` repetitions, after `warm` untimed ones, and their result."""
        answer = self.ask(case=case, number=number, warm=warm)
        return answer["seconds"] / number, answer["value"]

    def value(self, case):
        """What no repetition at all gives."""
        return self.ask(case=case, number=0, warm=0)["value"]

    def time(self, case):
        """Seconds for one repetition; the number is chosen at the first call, after warming up."""
        if case not in self.numbers:
            self.run(case)  # first calls make threads, caches and plans
            number, seconds = 1, 0.0
            while number < 1 << 24:
                seconds = self.run(case, number)[0] * number
                if seconds > SPREAD / 4:
                    break
                number *= 4
            self.numbers[case] = max(1, round(number * SPREAD / max(seconds, 1e-9)))
            once = seconds / number
            self.warm[case] = 0 if once > 5 * SPREAD else max(1, self.numbers[case] // 10)
        time.sleep(PAUSE)
        number = self.numbers[case]
        return self.run(case, number, warm=self.warm[case])[0]

    def forget(self, case):
        """Let the worker free what the case set up."""
        self.ask(forget=case)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def interleave(sides, case, rounds):
    """Median seconds by side, and the median of each side's ratio ours / its within a round.

    `case` is one name for all sides, or a dict of side's name to case.
    """
    if isinstance(case, str):
        case = {side.name: case for side in sides}
    times = {side.name: [] for side in sides}
    for side in sides:
        side.time(case[side.name])  # warms up
    for i in range(rounds):
        for side in sides[i % len(sides) :] + sides[: i % len(sides)]:
            times[side.name].append(side.time(case[side.name]))
    medians = {name: statistics.median(t) for name, t in times.items()}
    ratios = {
        name: statistics.median(o / p for o, p in zip(times["ours"], t, strict=True))
        for name, t in times.items()
    }
    return medians, ratios


def serve(cases):
    """The worker's loop: one line of JSON asks, one answers. Other output goes to stderr."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    made = {}
    for line in sys.stdin:
        command = json.loads(line)
        if "forget" in command:
            made.pop(command["forget"], None)
            answer = {}
        elif "case" not in command:
            answer = {"cases": sorted(cases)}
        else:
            try:
                name, number = command["case"], command["number"]
                if name not in made:
                    made[name] = cases[name]()
                gc.collect()
                gc.disable()
                if command["warm"]:
                    made[name](command["warm"])
                start = time.perf_counter()
                value = made[name](number)
                answer = {"seconds": time.perf_counter() - start, "value": value}
            except Exception as error:  # the parent reports it with the side and the case
                answer = {"error": f"{type(error).__name__}: {error}"}
            finally:
                gc.enable()
        out.write(json.dumps(answer) + "\n")
        out.flush()


def worker(cases):
    """True in a worker process, after its parent has no more questions."""
    if sys.argv[1:2] != ["--worker"]:
        return False
    serve(cases[sys.argv[2]])
    return True
