"""What goes wrong on a device, as Python sees it, and what works afterwards.

The failures are those of the pretended CUDA (tests/pretend_cuda). What ends the use of a device,
or must be set before its first use, happens in a process of its own.
"""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import cuda_library
import cuda_steps
import dygraph
from dygraph import _core, cuda

TESTS = Path(__file__).resolve().parents[1]
MEMORY, CONFIGURATION = 2, 9  # codes of CUDA after which the next call works
ILLEGAL_ADDRESS, LAUNCH_FAILURE = 700, 719  # and after which none does

NAMES = {ILLEGAL_ADDRESS: "cudaErrorIllegalAddress", LAUNCH_FAILURE: "cudaErrorLaunchFailure"}

BEGIN = """
import sys
sys.path.insert(0, {tests!r})
import cuda_library, cuda_steps, numpy as np, dygraph
from dygraph import _core, cuda

def text_of(run, kind):
    try:
        run()
    except kind as error:
        return str(error)
    raise AssertionError("nothing was raised")

def failing(n, code):
    return cuda_library.pretending(FAIL=n * 1000 + code)

place = cuda_library.place()
"""


def child(code, flags=(), **settings):
    """Runs the code in a process of its own under settings of the pretended CUDA; its output."""
    environment = {**os.environ, **dict(flags)}
    environment.update({f"PRETEND_CUDA_{name}": str(value) for name, value in settings.items()})
    done = subprocess.run(
        [sys.executable, "-c", BEGIN.format(tests=str(TESTS)) + textwrap.dedent(code)],
        capture_output=True, text=True, env=environment, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def place():
    here = cuda_library.place()
    if here is None or not cuda_library.is_pretended():
        pytest.skip("these failures are those of the pretended CUDA")
    return here


# Memory -------------------------------------------------------------------------------------------


def test_a_full_device_says_what_was_asked_and_what_is_there(place):
    child(
        """
        x = dygraph.ones([1024, 1024]).to(place)
        text = text_of(lambda: dygraph.ones([64, 1024, 1024]).to(place), MemoryError)
        assert "cannot allocate 256.0 MB on CUDAPlace(0): 4.0 MB in use" in text, text
        assert "arenas may take 92.0 MB (FLAGS_fraction_of_gpu_memory_to_use=0.92)" in text, text
        assert float((x + x).sum()) == 2 * 1024 * 1024
        """,
        MEMORY=100 << 20,
    )


def test_a_device_that_fills_up_computes_on_once_something_is_freed(place):
    child(
        """
        training = cuda_steps.Training("mlp", "sgd", place)
        training.step()
        kept = []
        with cuda_library.on(place):
            while True:
                try:
                    kept.append(dygraph.ones([256, 1024]))
                except MemoryError as error:
                    break
        assert 60 < len(kept) < 100, len(kept)
        with cuda_library.on(place):
            text = text_of(lambda: [a + b for a in kept[:9] for b in kept[:9]], MemoryError)
        assert text.startswith("elementwise_add: cannot allocate"), text
        del kept
        want = cuda_steps.Training("mlp", "sgd", None)
        for _ in range(3):
            want.step()
        training.step(), training.step()
        np.testing.assert_allclose(training.numbers(), want.numbers(), rtol=1e-6, atol=1e-6)
        """,
        MEMORY=100 << 20,
    )


# Calls that fail ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def calls_of_a_step():
    place = cuda_library.place()
    if place is None or not cuda_library.is_pretended():
        return 0
    training = cuda_steps.Training("mlp", "sgd", place)
    training.step()
    cuda.synchronize()
    with cuda_library.pretending() as pretended:
        pretended.pretend_cuda_set(b"COUNTERS", 0)
        float(training.step())
        return pretended.pretend_cuda_get(b"CALLS")


@pytest.mark.parametrize("code", [MEMORY, CONFIGURATION])
def test_any_call_of_a_step_may_fail_and_the_next_step_is_right(place, code, calls_of_a_step):
    assert calls_of_a_step >= 20
    training = cuda_steps.Training("mlp", "sgd", place)
    start = [p.numpy() for p in training.net.parameters()]
    loss = float(training.step())
    want = training.numbers()
    raised = 0
    for n in range(1, calls_of_a_step + 1):
        restore(training, start)
        with cuda_library.pretending(FAIL=n * 1000 + code):
            try:
                float(training.step())
            except dygraph.errors.DygraphError as error:
                raised += 1
                expected = MemoryError if code == MEMORY else RuntimeError
                assert isinstance(error, expected), (n, error)
        restore(training, start)
        assert float(training.step()) == loss, n
        assert training.numbers().tobytes() == want.tobytes(), n
    assert raised >= calls_of_a_step * 0.9


def restore(training, values):
    with cuda_library.on(training.place):
        for p, value in zip(training.net.parameters(), values, strict=True):
            p.set_value(value)
            p.clear_gradient()


@pytest.mark.parametrize("code", [ILLEGAL_ADDRESS, LAUNCH_FAILURE])
@pytest.mark.parametrize("part", [0.0, 0.5, 0.9])
def test_an_error_that_ends_the_device_is_what_every_later_call_says(
    place, code, part, calls_of_a_step
):
    child(
        f"""
        training = cuda_steps.Training("mlp", "sgd", place)
        training.step()
        x = dygraph.ones([4, 4]).to(place)
        with failing({1 + int(part * calls_of_a_step)}, {code}):
            first = text_of(lambda: float(training.step()), RuntimeError)
            cause = first[first.index("CUDA reports"):].splitlines()[0]
            assert "({NAMES[code]})" in cause, first
            assert "FLAGS_cuda_sync=1 names the operator" in cause, first
            assert "cannot be used again in this process" in cause, first
            for run in (
                lambda: x + x, x.numpy, cuda.synchronize, lambda: float(training.step()),
                lambda: dygraph.ones([4]).to(place), lambda: dygraph.ones([1 << 25]).to(place),
                lambda: x @ x, cuda.Event,
            ):
                assert cause in text_of(run, RuntimeError), text_of(run, RuntimeError)
            assert float(dygraph.ones([3]).sum()) == 3  # the host goes on
        """
    )


def test_with_cuda_sync_an_error_names_its_operator(place):
    child(
        """
        x = dygraph.ones([4, 4]).to(place)
        relu = _core.ops.relu
        relu(x)
        before = cuda.syncs()
        relu(x), x + x
        assert cuda.syncs() - before == 2
        with cuda_library.pretending() as pretended:
            pretended.pretend_cuda_set(b"COUNTERS", 0)
            relu(x)
            last = pretended.pretend_cuda_get(b"CALLS")
        with failing(last, 9):
            text = text_of(lambda: relu(x), RuntimeError)
        assert text.startswith("relu: CUDA reports an error of a wait"), text
        _core.set_flag("cuda_sync", False)
        before = cuda.syncs()
        relu(x), x + x
        assert cuda.syncs() == before
        """,
        flags={"FLAGS_cuda_sync": "1"},
    )


# Devices ------------------------------------------------------------------------------------------


def test_a_device_that_the_backend_was_not_compiled_for_says_how_to_build_it(place):
    child(
        """
        there = dygraph.CUDAPlace(1)
        for n in range(1, 6):  # one of the first calls asks for a kernel
            with failing(n, 209):
                try:
                    dygraph.ones([2]).to(there)
                except NotImplementedError as error:
                    text = str(error)
                    break
                except RuntimeError:
                    pass
        assert "must have a compute capability that the backend was built for, got 9.0" in text
        assert "Build it with DYGRAPH_CUDA_ARCHITECTURES=90" in text
        assert dygraph.ones([2]).to(there).tolist() == [1, 1]
        """,
        DEVICES=2,
    )


def test_without_a_device_the_place_says_so_and_the_host_computes(place):
    child(
        """
        assert place is None and not cuda.is_available() and cuda.device_count() == 0
        text = text_of(lambda: dygraph.ones([2]).to(dygraph.CUDAPlace(0)), RuntimeError)
        assert "CUDAPlace(0): this machine must have a CUDA device, got none (no CUDA" in text, text
        assert text.endswith("Use dygraph.CPUPlace()"), text
        text = text_of(lambda: dygraph.ones([2]).to(dygraph.CUDAPinnedPlace()), RuntimeError)
        assert "CUDAPinnedPlace: this machine must have a CUDA device" in text, text
        assert float(dygraph.ones([2]).sum()) == 2
        """,
        DEVICES=0,
    )


def test_a_number_beyond_the_devices_is_refused(place):
    for number in (1, 100):
        with pytest.raises(dygraph.errors.OutOfRangeError) as raised:
            dygraph.ones([2]).to(dygraph.CUDAPlace(number))
        assert f"below that of the devices, 1, got CUDAPlace({number})" in str(raised.value)
    assert not _core.CUDAPlace(1).available and _core.CUDAPlace(0).available


FORK = """
import os
x = dygraph.ones([4])
{used}
child = os.fork()
if child == 0:
    try:
        y = dygraph.ones([4]).to(dygraph.CUDAPlace(0))
        ok = not {refused} and float((y + y).sum()) == 8
    except dygraph.errors.PreconditionNotMetError as error:
        ok = {refused} and "must not be used in a child of fork()" in str(error)
    os._exit(0 if ok and float((x + x).sum()) == 8 else 1)
assert os.waitpid(child, 0)[1] == 0
{after}
"""


def test_a_child_of_fork_is_refused_the_device_that_its_parent_used(place):
    after = "assert float((y + y).sum()) == 8"
    child(FORK.format(used="y = x.to(place)", refused=True, after=after))


def test_a_child_of_fork_may_use_a_device_that_its_parent_did_not(place):
    code = FORK.format(used="", refused=False, after="")
    environment = {
        **os.environ,
        "FLAGS_cuda_library": str(cuda_library.PRETENDED / "libdygraph_cuda.so"),
    }
    done = subprocess.run(
        [sys.executable, "-c", "import dygraph\n" + code],
        capture_output=True, text=True, env=environment, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_two_devices_have_streams_and_memory_of_their_own(place):
    child(
        """
        one, two = dygraph.CUDAPlace(0), dygraph.CUDAPlace(1)
        assert cuda.device_count() == 2
        assert cuda.current_stream(one).cuda_stream != cuda.current_stream(two).cuda_stream
        values = np.arange(12, dtype="float32").reshape(3, 4)
        a = dygraph.to_variable(values).to(one)
        used = cuda.memory_allocated(two)
        b = a.to(two)
        assert b.place == two and cuda.memory_allocated(two) > used
        for where, v in ((one, a), (two, b)):
            with cuda_library.on(where):
                made = _core.ops.relu(v @ v.transpose([1, 0]))
                assert made.place == where and dygraph.ones([2]).place == where
                np.testing.assert_allclose(made.numpy(), values @ values.T)
        c = a + b  # is brought to where the first lies
        assert c.place == one and np.array_equal(c.numpy(), 2 * values)
        d = b * a
        assert d.place == two and np.array_equal(d.numpy(), values * values)
        back = b.to(one).to(dygraph.CPUPlace())
        assert np.array_equal(back.numpy(), values)
        trainings = [cuda_steps.Training("mlp", "sgd", p) for p in (one, two, None)]
        for _ in range(3):
            for t in trainings:
                t.step()
        first, second, host = (t.numbers() for t in trainings)
        assert first.tobytes() == second.tobytes()
        np.testing.assert_allclose(first, host, rtol=1e-6, atol=1e-6)
        """,
        DEVICES=2,
    )


def test_questions_about_another_device_leave_the_current_one(place):
    child(
        """
        one, two = dygraph.CUDAPlace(0), dygraph.CUDAPlace(1)
        a = dygraph.to_variable(np.ones((4, 4), "float32")).to(one)
        assert _core.ops.relu(a).place == one
        assert cuda.device_count() == 2 and two.available
        b = _core.ops.relu(a + dygraph.to_variable(np.ones((4, 4), "float32")).to(one))
        assert b.place == one and b.numpy().tolist() == [[2.0] * 4] * 4
        """,
        DEVICES=2,
    )


def test_copies_between_devices_wait_for_what_they_read(place):
    child(
        """
        one, two = dygraph.CUDAPlace(0), dygraph.CUDAPlace(1)
        values = np.random.default_rng(0).standard_normal((64, 64)).astype("float32")
        a = dygraph.to_variable(values).to(one)
        for _ in range(5):
            b = _core.ops.relu(a + a).to(two)  # the copy is queued behind what makes its source
            a = (b + b).to(one)
            values = 4 * np.maximum(values, 0)
        np.testing.assert_allclose(a.numpy(), values, rtol=1e-6)
        """,
        DEVICES=2, LATE=1,
    )  # fmt: skip
