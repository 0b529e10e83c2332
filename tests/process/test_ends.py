"""Threads that still compute when the interpreter ends, and interpreters that are not the main one:
no crash, whatever the moment."""

import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest

ROUNDS = 12

WORK = {
    "kernels": "x @ x",
    "backward": "F.mean(F.relu(w @ w)).backward(); w.clear_gradient()",
    "hooks": "F.mean(h @ h).backward(); h.clear_gradient()",
    "updates": "w.grad = w.detach(); sgd.step()",
    "programs": "exe.run(program, {'x': array}, [y])",
    "arrays": "dygraph.to_variable(array).numpy()",
    "files": "dygraph.save({'x': x}, folder + '/x.ckpt')",
}


def run(code, timeout=60):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=timeout,
    )  # fmt: skip


@pytest.mark.parametrize("work", WORK)
def test_daemon_threads_that_compute_at_the_end(work, tmp_path):
    code = f"""
    import sys, threading, time
    import numpy as np, dygraph
    from dygraph import static
    from dygraph import ops as F
    sys.setswitchinterval(1e-4)
    folder = {str(tmp_path)!r}
    array = np.ones((300, 300), "float32")
    x = dygraph.to_variable(array)
    program = static.Program()
    with static.program_guard(program):
        y = F.relu(static.data("x", [None, 300], "float32"))

    def loop():
        w = dygraph.Parameter(array * 0.01)
        h = dygraph.Parameter(array * 0.01)
        h.register_hook(lambda grad: grad * 1)
        sgd, exe = dygraph.optimizer.SGD(0.1, [w]), static.Executor()
        while True:
            {WORK[work]}

    for _ in range(3):
        threading.Thread(target=loop, daemon=True).start()
    time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 0.05)
    print("end")
    """
    with ThreadPoolExecutor(2) as pool:
        for result in pool.map(lambda _: run(code), range(ROUNDS)):
            assert result.returncode == 0, result.stderr
            assert result.stdout == "end\n" and result.stderr == ""


@pytest.mark.parametrize("first", ["", "import dygraph"])
def test_a_subinterpreter_is_refused_by_name(first):
    """Types, hooks and the registry are the process's; the message says what to use instead."""
    code = f"""
    import sys
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    {first}
    inner = interpreters.create()
    asked = '''
    import sys
    sys.path[:] = {{path!r}}
    for _ in range(2):
        try:
            import dygraph
        except ImportError as error:
            print(error)
    '''
    import textwrap
    failed = interpreters.run_string(inner, textwrap.dedent(asked).format(path=sys.path))
    assert not failed, failed
    interpreters.destroy(inner)
    import dygraph
    print((dygraph.to_variable([1.0]) + 1).tolist())
    """
    result = run(code)
    assert result.returncode == 0, result.stderr
    *refused, last = result.stdout.splitlines()
    assert last == "[2.0]"
    assert len(refused) == 2
    for line in refused:
        assert "main interpreter" in line and "Use threads or processes" in line
