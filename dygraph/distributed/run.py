"""``python -m dygraph.distributed.run -n 4 train.py``: starts a program as a job of MPI.

It finds the ``mpiexec`` that belongs to the MPI of mpi4py and hands over to it. What it adds: the
number of ranks, which `init` compares; threads for each rank; restarts; an exit status that says
which end the job had; an end for all processes when this one ends.
"""

import argparse
import collections
import os
import re
import signal
import subprocess
import sys
import threading
import time

from dygraph.distributed import launchers

__all__ = ["main"]

_LONGEST_PAUSE = 60  # seconds between starts
_GRACE = 5  # seconds that a job has to end after a signal
_TIMEOUT = 1800

# Options of other launchers: those that mean the same, and what to write instead of the others.
_SAME = {
    "-n": "-np --np --nproc_per_node --nproc-per-node".split(),
    "--max-restarts": ["--max_restarts"],
    "--hosts": ["-H", "--host"],
    "-m": ["--module"],
}
_ONE_MACHINE = "--hosts a,b names the machines and -n counts the ranks of all of them"
_FOUND_BY_MPI = "MPI connects the ranks itself: leave it out"
_OTHER = {
    "--node_rank --node-rank": "one command on one machine starts all: " + _ONE_MACHINE,
    "--ips --cluster_node_ips --node_ip": _ONE_MACHINE,
    "--master_addr --master-addr --master_port --master-port --master --started_port "
    "--start_port --rdzv_backend --rdzv-backend --rdzv_endpoint --rdzv-endpoint --rdzv_id "
    "--rdzv-id --rdzv_conf --rdzv-conf": _FOUND_BY_MPI,
    "--gpus --devices --selected_gpus": "-n is the number of ranks; a rank chooses its device",
    "--log_dir --log-dir --redirects -r --tee -t": "--prefix-output and the shell's > file",
    "--server_num --worker_num --trainer_num --servers --workers": "-n is the number of all ranks; "
    "the program divides the roles (dygraph.static.DistributeTranspiler)",
    "--no_python --no-python": "mpiexec starts programs that are not Python's",
}  # fmt: skip


def main(arguments=None):
    """Run a job as the command line says; the exit status of the first rank that failed."""
    options = _options(sys.argv[1:] if arguments is None else arguments)
    try:
        command = launchers.command(options)
    except launchers.LaunchError as error:
        print(f"run: {error}", file=sys.stderr)
        return 2
    environment = _environment(options)
    stopper = _Stopper()
    for start in range(options.max_restarts + 1):
        environment["DYGRAPH_RESTART"] = str(start)
        begin = time.monotonic()
        job = _Job(command, environment, stopper)
        code = job.wait()
        if code == 0 or stopper.code:
            return stopper.code or code
        if options.max_restarts == 0:
            return code
        seconds = time.monotonic() - begin
        text = f"run: start {start + 1} ended with exit status {code} after {seconds:.1f} s"
        if start < options.max_restarts:
            pause = min(_LONGEST_PAUSE, 2**start)
            print(f"{text}; the next one begins in {pause} s", file=sys.stderr, flush=True)
            if stopper.pause(pause):
                return stopper.code
    print(f"{text}; it was the last one. {job.last_text()}", file=sys.stderr, flush=True)
    return code


def _options(arguments):
    parser = argparse.ArgumentParser(
        "python -m dygraph.distributed.run", allow_abbrev=False, description=__doc__.split("\n")[0]
    )
    parser.add_argument("-n", *_SAME["-n"], dest="ranks", type=_count, required=True,
                        help="the number of ranks")  # fmt: skip
    parser.add_argument("--hosts", *_SAME["--hosts"], metavar="a,b:2",
                        help="machines, with the number of ranks on each")  # fmt: skip
    parser.add_argument("--max-restarts", *_SAME["--max-restarts"], type=_whole, default=0,
                        metavar="N", help="start the job again after a failure; the environment "
                        "variable DYGRAPH_RESTART counts")  # fmt: skip
    parser.add_argument("--timeout", type=float, default=_TIMEOUT, metavar="S",
                        help="seconds that a call of dygraph may wait for another rank; 0: no "
                        "limit; default: %(default)s")  # fmt: skip
    parser.add_argument("--prefix-output", action="store_true",
                        help="begin each line of output with its rank")  # fmt: skip
    parser.add_argument("--elastic", action="store_true",
                        help="a rank's death does not end the job, so that the others may call "
                        "Comm.shrink (Open MPI)")  # fmt: skip
    parser.add_argument("--standalone", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--nnodes", type=_one, help=argparse.SUPPRESS)
    for names, reason in _OTHER.items():
        parser.add_argument(*names.split(), action=_Refuse, nargs="?", const=reason,
                            help=argparse.SUPPRESS)  # fmt: skip
    parser.add_argument("-m", *_SAME["-m"], dest="module", action="store_true",
                        help="the program is a module")  # fmt: skip
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(arguments)


class _Refuse(argparse.Action):
    def __call__(self, parser, namespace, values, option=None):
        parser.error(f"{option} is not taken: {self.const}")


def _count(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"the number of ranks must be at least 1, got '{text}'")
    return int(text)


def _whole(text):
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a number of at least 0, got '{text}'")
    return int(text)


def _one(text):
    if text != "1":
        raise argparse.ArgumentTypeError(f"more than one is not taken: {_ONE_MACHINE}")
    return 1


def _environment(options):
    """What the ranks need to know, {name: text}."""
    machines = len(options.hosts.split(",")) if options.hosts else 1
    here = -(-options.ranks // machines)
    made = {"DYGRAPH_WORLD_SIZE": str(options.ranks)}
    if options.timeout:
        made["DYGRAPH_TIMEOUT"] = f"{options.timeout:g}"
    if not {"OMP_NUM_THREADS", "FLAGS_num_threads"} & set(os.environ):
        made["OMP_NUM_THREADS"] = str(max(1, len(os.sched_getaffinity(0)) // here))
    made["PYTHONUNBUFFERED"] = os.environ.get("PYTHONUNBUFFERED", "1")  # a killed rank's text too
    return made


class _Stopper:
    """Signals that end the job; ``code`` is then the exit status, else 0."""

    def __init__(self):
        self.code, self.job, self._arrived = 0, None, threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._stop)

    def _stop(self, number, frame):
        again, self.code = self.code, 128 + number
        self._arrived.set()
        if self.job is not None:
            # First as Ctrl-C, so that the ranks' finally clauses run.
            self.job.end(signal.SIGTERM if again else signal.SIGINT)

    def pause(self, seconds):
        """Wait; whether a signal arrived."""
        return self._arrived.wait(seconds)


class _Job:
    """One start of mpiexec: its output passes through, and the last lines are kept."""

    def __init__(self, command, environment, stopper):
        self._lines = collections.deque(maxlen=200)
        self._stopper = stopper
        self._process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True, preexec_fn=launchers.end_with_parent(),
        )  # fmt: skip
        pairs = (self._process.stdout, sys.stdout), (self._process.stderr, sys.stderr)
        self._readers = [threading.Thread(target=self._read, args=p, daemon=True) for p in pairs]
        for reader in self._readers:
            reader.start()
        stopper.job = self
        if stopper.code:  # before there was a job
            self.end(signal.SIGTERM)

    def _read(self, source, target):
        rest = b""
        while chunk := os.read(source.fileno(), 1 << 16):  # a progress bar has no whole lines
            if target is not None:
                try:
                    target.buffer.write(chunk)
                    target.buffer.flush()
                except OSError:  # the reader is gone; the job goes on
                    target = None
            *lines, rest = (rest + chunk).split(b"\n")
            self._lines.extend(line.decode(errors="replace") for line in lines)
            rest = rest[-4096:]
        self._lines.append(rest.decode(errors="replace"))

    def end(self, number):
        """Send a signal to mpiexec, which ends the ranks; a stronger one if that does not help."""
        if self._process.poll() is None:
            self._process.send_signal(number)
            for later, stronger in enumerate((signal.SIGTERM, signal.SIGKILL), 1):
                timer = threading.Timer(_GRACE * later, self._process.send_signal, [stronger])
                timer.daemon = True
                timer.start()

    def wait(self):
        """The exit status of the first rank that failed; 128 + n for signal n, as shells do."""
        code = self._process.wait()
        for reader in self._readers:
            reader.join(_GRACE)
        self._stopper.job = None
        if code < 0:
            return 128 - code
        found = [re.search(r"\(signal (\d+)\)", line) for line in self._lines]
        numbers = [int(match[1]) for match in found if match]
        return 128 + code if code in numbers else code

    def last_text(self):
        """What the rank that ended the job said: where it stands, and its last line."""
        begin = [i for i, line in enumerate(self._lines) if re.search(r"rank \d+ of \d+: ", line)]
        if not begin:
            return ""
        lines = list(self._lines)[begin[0] :]
        rank = re.search(r"rank \d+ of \d+", lines[0])[0]
        size = next((i for i, x in enumerate(lines) if not x or x.startswith("Abort(")), len(lines))
        return f"{rank}: {re.sub('^.*rank [0-9]+ of [0-9]+: ', '', lines[size - 1])}"


if __name__ == "__main__":
    sys.exit(main())
