"""A device from outside the core: registered by a plug-in and trained on; its limits raise."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import plugins
from device import train_on_device

HERE = Path(__file__).resolve().parent
PATHS = "import sys; sys.path[:0] = {!r}\n"


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    return plugins.build(HERE / "fake_device.cc", tmp_path_factory.mktemp("device") / "fake.so")


def run(code, *arguments):
    """A child process: what it printed, or the exit code where it failed."""
    paths = PATHS.format([str(plugins.PACKAGE.parent), str(HERE.parent)])
    return subprocess.run(
        [sys.executable, "-c", paths + code, *arguments], capture_output=True, text=True
    )


def train(library, place, steps):
    code = "from device import train_on_device; train_on_device.main(*sys.argv[1:])"
    done = run(code, library, place, str(steps))
    assert done.returncode == 0, (done.returncode, done.stderr)
    return json.loads(done.stdout)


def numpy_training(steps, rate):
    """The same training, its gradients worked out by hand."""
    x, y, (w1, b1, w2, b2) = train_on_device.data()
    losses = []
    for _ in range(steps):
        h = np.maximum(x @ w1 + b1, 0)
        error = h @ w2 + b2 - y
        losses.append(float(np.mean(error * error)))
        d = 2 * error / error.size
        dh = d @ w2.T * (h > 0)
        w1, b1, w2, b2 = (
            p - rate * g
            for p, g in [(w1, x.T @ dh), (b1, dh.sum(0)), (w2, h.T @ d), (b2, d.sum(0))]
        )
    return losses, [w1, b1, w2, b2]


def test_trains_on_the_device_as_numpy_does(library):
    result = train(library, "FakeDevice", 200)
    losses, params = numpy_training(200, 0.1)
    assert losses[-1] < 0.05 * losses[0]
    np.testing.assert_allclose(result["losses"], losses, rtol=1e-3)
    for ours, expected in zip(result["params"], params, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-2, atol=1e-4)
    assert result["places"] == ["FakeDevice(0)()"]


def test_memory_of_the_device_is_counted(library):
    result = train(library, "FakeDevice", 3)
    assert result["used_by_kept"] == 1000 * 10 * 4
    assert result["used_at_end"] == 0
    assert result["allocations"] > 3 * 20


def test_device_memory_is_out_of_the_hosts_reach(library):
    """What makes the training test mean something: a host kernel could not have computed it."""
    code = (
        "import ctypes; from dygraph import _core; _core.load_library(sys.argv[1])\n"
        "_core.set_current_place('FakeDevice'); v = _core.to_variable([1.0, 2.0])\n"
        "assert v.numpy().tolist() == [1.0, 2.0]\n"
        "ctypes.string_at(_core.data_pointer(v), 8)\n"
    )
    assert run(code, library).returncode == -signal.SIGSEGV


def message(library, statement, error):
    """The message of the dygraph error that the statement raises on the device."""
    code = (
        "from dygraph import _core; import numpy as np; _core.load_library(sys.argv[1])\n"
        "_core.set_current_place('FakeDevice')\n"
        "try:\n"
        f"    {statement}\n"
        f"except {error} as e:\n"
        "    assert isinstance(e, _core.DygraphError), type(e)\n"
        "    print(e)\n"
        "else:\n"
        "    sys.exit('nothing was raised')\n"
    )
    done = run(code, library)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_kernel_the_device_lacks_is_named(library):
    text = message(library, "_core.ops.mean(_core.to_variable(np.zeros(2)))", "NotImplementedError")
    assert text.startswith("mean: ") and "float64 on FakeDevice(0)" in text
    assert "got kernels for float32 only" in text


def test_an_operator_the_device_lacks_is_named(library):
    statement = (
        "z = _core.to_variable(np.zeros(2, np.float32)); "
        "slots = ['Out@GRAD', 'X', 'Y', 'X@GRAD@GRAD']; "
        "_core.run_op('elementwise_add_grad_grad', dict.fromkeys(slots, z))"
    )
    text = message(library, statement, "NotImplementedError")
    assert text.startswith("elementwise_add_grad_grad: ")
    assert "FakeDevice(0)" in text and "no type there" in text


def test_a_kernel_says_what_it_does_not_take(library):
    statement = "_core.ops.matmul_v2(_core.to_variable(np.zeros((2, 2, 2), np.float32)), " + (
        "_core.to_variable(np.zeros((2, 2), np.float32)))"
    )
    text = message(library, statement, "NotImplementedError")
    assert "this device multiplies two matrices" in text and "[2, 2, 2]" in text


def test_a_number_the_device_has_not(library):
    text = message(
        library, "_core.set_current_place(_core.custom_place('FakeDevice', 2))", "IndexError"
    )
    assert "two fake devices" in text and "FakeDevice(2)" in text


def test_device_memory_runs_out_with_a_message(library):
    text = message(library, "_core.to_variable(np.zeros(1 << 27, np.float32))", "MemoryError")
    assert "512.0 MB on FakeDevice(0)" in text


def test_copies_between_devices_and_host(library):
    code = (
        "from dygraph import _core; import numpy as np; _core.load_library(sys.argv[1])\n"
        "a = np.arange(12, dtype=np.float32).reshape(3, 4)\n"
        "v = _core.to_variable(a); first = _core.to_place(v, _core.custom_place('FakeDevice', 0))\n"
        "second = _core.to_place(first, _core.custom_place('FakeDevice', 1))\n"
        "assert first.place != second.place and second.place.device_id == 1\n"
        "assert np.array_equal(_core.to_place(second, _core.CPUPlace()).numpy(), a)\n"
        "r = _core.ops.relu(second + first)\n"  # the door brings inputs to the first one's place
        "assert r.place == second.place and np.array_equal(r.numpy(), 2 * a)\n"
        "assert float(_core.ops.mean(first)) == 5.5\n"
    )
    done = run(code, library)
    assert done.returncode == 0, done.stderr


def test_a_channels_last_image_gets_plain_order_without_the_host_reading_the_device(library):
    code = (
        "from dygraph import _core; import numpy as np; _core.load_library(sys.argv[1])\n"
        "a = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)\n"
        "v = _core.to_layout(_core.to_variable(a), 'NHWC')\n"
        "there = _core.to_place(v, _core.custom_place('FakeDevice', 0))\n"
        "plain = _core.to_layout(there, 'NCHW')\n"
        "assert plain.place == there.place and np.array_equal(plain.numpy(), a)\n"
        "last = _core.to_layout(plain, 'NHWC')\n"
        "assert _core.layout(last) == 'NHWC' and np.array_equal(last.numpy(), a)\n"
    )
    done = run(code, library)
    assert done.returncode == 0, done.stderr


def test_loading_twice_is_harmless_and_a_second_copy_is_refused(library, tmp_path):
    copy = tmp_path / "copy.so"
    copy.write_bytes(Path(library).read_bytes())
    code = (
        "from dygraph import _core\n"
        "for _ in range(2): _core.load_library(sys.argv[1])\n"
        "try:\n    _core.load_library(sys.argv[2])\n"
        "except ValueError as e:\n    print(e)\n"
        "_core.set_current_place('FakeDevice'); assert float(_core.to_variable(2.5)) == 2.5\n"
        "r = _core.ops.relu(_core.to_variable([-1.0, 2.0], dtype='float32'))\n"
        "assert r.numpy().tolist() == [0.0, 2.0]\n"
    )
    done = run(code, library, str(copy))
    assert done.returncode == 0, done.stderr
    assert "device FakeDevice is registered at" in done.stdout
    assert done.stdout.count("fake_device.cc:") >= 2
    assert "operator relu has two kernels for" in done.stdout
