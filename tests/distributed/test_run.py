"""The command line of `dygraph.distributed.run`, and how it finds mpiexec."""

import stat
import sys

import pytest

from dygraph.distributed import job, launchers, run
from dygraph.errors import MissingFileError, PreconditionNotMetError


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with the launchers that a test writes, and an mpi4py of a given MPI."""

    def made(library, beside="", path=""):
        for folder, says in (("python", beside), ("path", path)):
            (tmp_path / folder).mkdir()
            if says:
                file = tmp_path / folder / "mpiexec"
                file.write_text(f"#!/bin/sh\necho '{says}'\n")
                file.chmod(file.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python" / "python"))
        monkeypatch.setenv("PATH", str(tmp_path / "path"))
        kind = launchers._kind_of(library)
        monkeypatch.setattr(launchers, "library", lambda: (kind, library))
        return tmp_path

    return made


HYDRA, OPEN_MPI = "HYDRA build details:", "mpiexec (Open MPI) 5.0.11"


def test_mpich(machine):
    folder = machine("MPICH 5.0.2", beside=HYDRA, path=OPEN_MPI)
    words = "-n 4 --hosts a,b:3 --prefix-output train.py -n 2 --x".split()
    python = str(folder / "python" / "python")
    assert launchers.command(run._options(words)) == [
        str(folder / "python" / "mpiexec"),
        *"-n 4 -hosts a,b:3 -prepend-rank".split(),
        *[python, "-m", "mpi4py", "-m", "dygraph.distributed.rank"],
        *"train.py -n 2 --x".split(),
    ]


def test_open_mpi_behind_another_ones_mpiexec(machine, monkeypatch):
    folder = machine("Open MPI 5.0.11", beside=HYDRA, path=OPEN_MPI)
    monkeypatch.setenv("FLAGS_test", "1")
    words = "--nproc-per-node 2 --max_restarts 3 --elastic --standalone --nnodes 1 -m a.b c".split()
    made = launchers.command(run._options(words))
    assert made[:7] == [str(folder / "path" / "mpiexec"), *"-n 2 --bind-to none".split(),
                        "--oversubscribe", "--with-ft"]  # fmt: skip
    passed = {made[i + 1] for i, word in enumerate(made) if word == "-x"}
    assert {"FLAGS_test", "DYGRAPH_WORLD_SIZE", "DYGRAPH_RESTART", "OMP_NUM_THREADS"} <= passed
    assert made[-5:] == ["-m", "dygraph.distributed.rank", "-m", "a.b", "c"]


def test_intel(machine):
    folder = machine("Intel MPI 2021", path="Intel(R) MPI Library for Linux* OS, Version 2021")
    made = launchers.command(run._options(["-np", "2", "x.py"]))
    assert made[:3] == [str(folder / "path" / "mpiexec"), "-n", "2"]


def test_no_launcher_of_the_library(machine, capsys):
    machine("MPICH 5.0.2", beside=OPEN_MPI)
    assert run.main(["-n", "2", "x.py"]) == 2
    text = capsys.readouterr().err
    assert "mpi4py uses MPICH 5.0.2" in text and "(openmpi)" in text and "pip install" in text


def test_elastic_needs_open_mpi(machine, capsys):
    machine("MPICH 5.0.2", beside=HYDRA)
    assert run.main(["-n", "2", "--elastic", "x.py"]) == 2
    assert "--elastic needs Open MPI 5" in capsys.readouterr().err


def test_without_mpi4py(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    assert run.main(["-n", "2", "x.py"]) == 2
    assert "python -m pip install 'dygraph-autograd[mpi]'" in capsys.readouterr().err
    with pytest.raises(MissingFileError, match="dygraph-autograd"):
        job._over_mpi("mpi")


@pytest.mark.parametrize(
    "words, text",
    [
        ("-n 2 --master_port 29500 x.py", "MPI connects the ranks itself: leave it out"),
        ("-n 2 --rdzv-endpoint=a:1 x.py", "--rdzv-endpoint is not taken: MPI connects"),
        ("-n 2 --nnodes 2 x.py", "--hosts a,b names the machines"),
        ("-n 2 --node_rank 1 x.py", "one command on one machine starts all"),
        ("--gpus 0,1 x.py", "-n is the number of ranks"),
        ("-n 2 --log_dir logs x.py", "--prefix-output and the shell's > file"),
        ("-n 2 --server_num 2 x.py", "DistributeTranspiler"),
        ("-n 0 x.py", "at least 1, got '0'"),
        ("-n auto x.py", "got 'auto'"),
        ("-n 2 --max-restarts -1 x.py", "--max-restarts"),
        ("x.py", "-n"),
        ("-n 2", "program"),
    ],
)
def test_arguments_that_are_not_taken(words, text, capsys):
    with pytest.raises(SystemExit) as error:
        run.main(words.split())
    assert error.value.code == 2 and text in " ".join(capsys.readouterr().err.split())


def test_threads_are_divided_among_the_ranks_of_a_machine(monkeypatch):
    monkeypatch.setattr(run.os, "sched_getaffinity", lambda pid: range(16))
    for name in ("OMP_NUM_THREADS", "FLAGS_num_threads"):
        monkeypatch.delenv(name, raising=False)

    def threads(words):
        return run._environment(run._options(words.split())).get("OMP_NUM_THREADS")

    assert threads("-n 3 x.py") == "5" and threads("-n 40 x.py") == "1"
    assert threads("-n 8 --hosts a,b x.py") == "4"
    monkeypatch.setenv("FLAGS_num_threads", "7")
    assert threads("-n 3 x.py") is None
    assert run._environment(run._options("-n 3 --timeout 5 x.py".split())) == {
        "DYGRAPH_WORLD_SIZE": "3", "DYGRAPH_TIMEOUT": "5", "PYTHONUNBUFFERED": "1"
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PADDLE_TRAINERS_NUM"]
)
def test_a_launcher_of_another_mpi_is_noticed(name, monkeypatch):
    for other in job._SIZES:
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setattr(job, "_world", None)
    monkeypatch.setattr(job, "_over_mpi", lambda backend: job._transport("local"))
    monkeypatch.setenv(name, "4")
    with pytest.raises(PreconditionNotMetError, match="asked for 4 processes, but .* sees 1"):
        job.init()


def test_the_text_of_the_rank_that_ended_a_job():
    lines = [
        "noise",
        "rank 1 of 2: Traceback (most recent call last):",
        '  File "x.py", line 3, in <module>',
        "ValueError: no data",
        "Abort(1) on node 1 (rank 1 in comm 0): application called MPI_Abort",
    ]
    found = run._Job.__new__(run._Job)
    found._lines = lines
    assert found.last_text() == "rank 1 of 2: ValueError: no data"
    found._lines = ["rank 1 of 2: the program ended with exit status 3"]
    assert found.last_text() == "rank 1 of 2: the program ended with exit status 3"
    found._lines = ["noise"]
    assert found.last_text() == ""
