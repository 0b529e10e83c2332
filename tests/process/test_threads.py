"""How many threads compute: by default, by the environment, after a fork, in threads that serve.

Threads are counted as the system lists them, in processes of their own."""

import os
import subprocess
import sys
import textwrap

import pytest

import dygraph
from dygraph import _core

HEAD = """
import os, threading
import numpy as np, dygraph
from dygraph import _core

def threads():
    return len(os.listdir("/proc/self/task"))

big = dygraph.to_variable(np.ones(1 << 20, "float32"))

def compute():
    return float(dygraph.ops.reduce_sum(dygraph.ops.relu(big + big)))
"""


def check(code, **environment):
    """What the code prints. NumPy's own threads are off, so that those that are there are ours."""
    env = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS", "FLAGS_num_threads")}
    env.update(environment, OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    result = subprocess.run(
        [sys.executable, "-c", HEAD + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        env=env,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.split()


def test_a_pool_of_the_size_asked_for():
    count = "before = threads(); compute(); print(dygraph.num_threads(), threads() - before)"
    assert check(count, OMP_NUM_THREADS="1") == ["1", "0"]
    assert check("dygraph.set_num_threads(3)\n" + count) == ["3", "2"]
    assert check(count, FLAGS_num_threads="3") == ["3", "2"]


def test_a_child_computes_alone():
    code = """
    dygraph.set_num_threads(2)
    w = dygraph.Parameter(np.ones((64, 64), "float32"))
    sgd = dygraph.optimizer.SGD(0.5, [w])

    def train():
        dygraph.ops.mean(dygraph.ops.relu(w @ w)).backward()
        sgd.step()
        sgd.clear_gradients()
        return compute()

    expected = train()
    assert threads() == 2, threads()
    pid = os.fork()
    if pid == 0:
        dygraph.set_num_threads(2)  # which it may not
        ok = train() == expected and dygraph.num_threads() == 1 and threads() == 1
        os._exit(0 if ok else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert train() == expected and dygraph.num_threads() == 2 and threads() == 2
    """
    assert check(code) == []


def test_threads_that_serve_have_no_pool():
    code = """
    dygraph.set_num_threads(2)
    expected = compute()
    meet, done, results = threading.Barrier(4), threading.Event(), []

    def serve():
        _core.set_service_thread()
        results.append((compute(), dygraph.num_threads()))
        meet.wait()
        done.wait()

    before = threads()
    assert before == 2, before
    helpers = [threading.Thread(target=serve) for _ in range(3)]
    for h in helpers:
        h.start()
    meet.wait()
    print(threads() - before)
    done.set()
    for h in helpers:
        h.join()
    assert results == [(expected, 1)] * 3, results
    """
    assert check(code) == ["3"]


def test_workers_of_a_loader_have_no_pool():
    code = """
    from dygraph import io

    class Squares(io.Dataset):
        def __getitem__(self, i):
            compute()
            seen.append(dygraph.num_threads())
            return np.float32(i * i)

        def __len__(self):
            return 8

    seen = []
    dygraph.set_num_threads(2)
    compute()
    loader = io.DataLoader(Squares(), batch_size=2, num_workers=2, worker="thread")
    total, most = 0.0, 0
    for batch in loader:
        most = max(most, threads())
        total += float(dygraph.ops.reduce_sum(batch))
    assert total == 140.0, total
    assert seen == [1] * 8, seen
    print(most)
    """
    # this thread, its worker of the pool, two that load
    (most,) = check(code)
    assert int(most) <= 4


def test_runs_of_a_program_use_the_same_pool():
    code = """
    from dygraph import jit

    class Twice(dygraph.nn.Layer):
        def forward(self, x):
            return dygraph.ops.relu(x + x)

    dygraph.set_num_threads(2)
    x = np.ones((1024, 1024), "float32")
    _, traced = jit.trace(Twice(), [dygraph.to_variable(x)])
    compute()
    before = threads()
    for _ in range(3):
        (out,) = traced([x])
    assert np.asarray(out)[5, 7] == 2
    print(before, threads())
    """
    assert check(code) == ["2", "2"]


def test_the_flag_can_change():
    before = dygraph.num_threads()
    try:
        dygraph.set_flags({"FLAGS_num_threads": 2})
        assert dygraph.num_threads() == 2
        dygraph.set_num_threads(1)
        dygraph.set_flags({"FLAGS_log_calls": False})  # another flag leaves the number alone
        assert dygraph.num_threads() == 1
    finally:
        dygraph.set_flags({"FLAGS_num_threads": 0})
        dygraph.set_num_threads(before)


def test_other_users_of_openmp_keep_their_number():
    """oneDNN takes one thread of it, on pieces that our pool computes."""
    code = """
    import ctypes

    omp = ctypes.CDLL("libgomp.so.1")
    dygraph.set_num_threads(3)
    dygraph.set_flags({"FLAGS_matrix_product": "onednn"})
    before = threads()
    x = dygraph.to_variable(np.ones((400, 400), "float32"))
    assert (x @ x).numpy()[3, 5] == 400
    images = dygraph.to_variable(np.ones((8, 32, 30, 30), "float32"))
    filters = dygraph.to_variable(np.ones((32, 32, 3, 3), "float32"))
    out = _core.run_op("conv2d", {"Input": images, "Filter": filters}, {})["Output"]
    assert out.numpy()[7, 31, 27, 27] == 9 * 32
    print(omp.omp_get_max_threads(), threads() - before)
    """
    assert check(code, OMP_NUM_THREADS="4") == ["4", "2"]


def test_the_flag_of_fluid_for_the_same_bits():
    before = dygraph.get_flags("FLAGS_cpu_deterministic")
    assert before == {"FLAGS_cpu_deterministic": True}
    try:
        for value in (False, True):
            dygraph.set_flags({"FLAGS_cpu_deterministic": value})
            assert dygraph.get_flags("cpu_deterministic") == {"cpu_deterministic": value}
    finally:
        dygraph.set_flags(before)
    assert check("print(1)", FLAGS_cpu_deterministic="1") == ["1"]


def groups(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder)


@pytest.mark.parametrize(
    ("text", "files", "cores"),
    [
        ("0::/\n", {}, 0),
        ("0::/\n", {"cpu.max": "max 100000\n"}, 0),
        ("0::/\n", {"cpu.max": "300000 100000\n"}, 3),
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "50000 100000\n"}, 1),
        ("0::/a/b\n", {"a/b/cpu.max": "400000 100000\n"}, 4),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "200000 100000\n"}, 2),
        ("0::/a/b\n", {"a/b/cpu.max": "200000 100000\n", "a/cpu.max": "500000 100000\n"}, 2),
        ("0::/a\n", {"ab/cpu.max": "200000 100000\n"}, 0),
        ("0::/\n", {"cpu.max": "nonsense\n"}, 0),
        ("", {"cpu.max": "300000 100000\n"}, 0),
        ("a line without colons\n", {}, 0),
        (
            "3:cpu,cpuacct:/box\n1:memory:/other\n",
            {"cpu/box/cpu.cfs_quota_us": "250000\n", "cpu/box/cpu.cfs_period_us": "50000\n"},
            5,
        ),
        (
            "3:cpuacct,cpu:/box\n",
            {
                "cpuacct,cpu/box/cpu.cfs_quota_us": "-1\n",
                "cpuacct,cpu/box/cpu.cfs_period_us": "100000\n",
                "cpuacct,cpu/cpu.cfs_quota_us": "200000\n",
                "cpuacct,cpu/cpu.cfs_period_us": "100000\n",
            },
            2,
        ),
        (
            "3:cpu:/not/mounted/here\n0::/\n",
            {"cpu/cpu.cfs_quota_us": "600000\n", "cpu/cpu.cfs_period_us": "100000\n"},
            6,
        ),
        (
            "3:cpuset:/box\n",
            {"cpu/box/cpu.cfs_quota_us": "250000\n", "cpu/box/cpu.cfs_period_us": "50000\n"},
            0,
        ),
    ],
)
def test_cores_of_a_quota(tmp_path, text, files, cores):
    assert _core.quota_cores(text, groups(tmp_path, files)) == cores


def test_the_first_array_may_come_from_several_threads():
    """NumPy's interface is looked up at its first use, which lets other threads run."""
    code = """
    barrier = threading.Barrier(8)

    def convert():
        barrier.wait()
        assert dygraph.to_variable([1.0, 2.0]).numpy().tolist() == [1.0, 2.0]

    users = [threading.Thread(target=convert) for _ in range(8)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    print("done")
    """
    head = "import sys, threading, dygraph\nsys.setswitchinterval(1e-6)\n"
    for _ in range(3):
        run = [sys.executable, "-c", head + textwrap.dedent(code)]
        result = subprocess.run(run, capture_output=True, text=True, timeout=60)
        assert result.stdout == "done\n", result.stderr
