"""Inference models of described programs: pruned, in test mode, under any names, as Fluid's."""

import os

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.static import io

X = np.random.default_rng(2).standard_normal((5, 4)).astype("float32")


@pytest.fixture(scope="module")
def net():
    """(program with its update, startup, result, scope) of a net with dropout and batch_norm."""
    main, startup = static.Program(), static.Program()
    with dygraph.unique_name.guard(), static.program_guard(main, startup):
        x = static.data("x", [None, 4], "float32")
        h = static.layers.dropout(static.layers.fc(x, size=5), 0.5)
        out = static.layers.fc(h, size=2)
        loss = static.layers.mean(out)
        static.optimizer.Adam(0.1).minimize(loss)
    scope = static.Scope()
    static.Executor().run(startup, scope=scope)
    return main, out, scope


def expected(net):
    """The result by hand: dropout of test time keeps half of everything."""
    main, _, scope = net
    w0, b0, w1, b1 = (
        scope.get_var(name).get().numpy().astype("float64")
        for name in ("fc_0.w_0", "fc_0.b_0", "fc_1.w_0", "fc_1.b_0")
    )
    return ((X.astype("float64") @ w0 + b0) * 0.5) @ w1 + b1


def run(folder, *names):
    scope = static.Scope()
    program, feeds, fetches = static.load_inference_model(folder, None, *names, scope=scope)
    (value,) = static.Executor().run(program, {feeds[0]: X}, fetches, scope=scope)
    return program, scope, value


WEIGHTS = ["fc_0.b_0", "fc_0.w_0", "fc_1.b_0", "fc_1.w_0"]


@pytest.mark.parametrize("names", [(), ("m",), ("m", "w"), (None, "w"), (None, "__params__")])
def test_pruned_to_targets_in_test_mode(net, tmp_path, names):
    main, out, scope = net
    binary = main.serialize_to_string()
    saved = static.save_inference_model(tmp_path, ["x"], [out], None, main, *names, scope=scope)
    assert saved == [out.name] and main.serialize_to_string() == binary
    files = [
        a or b for a, b in zip((*names, None, None), ("__model__", "__params__"), strict=False)
    ]
    assert sorted(os.listdir(tmp_path)) == sorted(files)
    program, weights, value = run(tmp_path, *names)
    np.testing.assert_allclose(value, expected(net), rtol=1e-5, atol=1e-6)
    types = [op.type for op in program.global_block().ops]
    assert types == ["feed", "mul", "elementwise_add", "dropout", "mul", "elementwise_add", "fetch"]
    assert program.global_block().ops[3].attr("is_test") is True
    assert sorted(weights.local_var_names()) == WEIGHTS
    assert not any(op.has_attr("op_callstack") for op in program.global_block().ops)


def test_the_default_program_and_scope(net, tmp_path):
    main, out, scope = net
    with static.scope_guard(scope), static.program_guard(main):
        static.save_inference_model(tmp_path, "x", out)
    assert run(tmp_path)[2].shape == (5, 2)


def test_fluids_files_one_for_each_weight(net, tmp_path):
    """What Fluid writes when no names are given: no manifest, a file for each weight."""
    main, out, scope = net
    with pytest.warns(UserWarning, match="no weights"):
        static.save_inference_model(tmp_path, ["x"], [out], None, main, program_only=True)
    assert os.listdir(tmp_path) == ["__model__"]
    with pytest.raises(FileNotFoundError, match="fc_0.b_0"):
        run(tmp_path)
    io.save_params(None, tmp_path, main, scope=scope)
    assert sorted(os.listdir(tmp_path)) == ["__model__", *WEIGHTS]
    np.testing.assert_allclose(run(tmp_path)[2], expected(net), rtol=1e-5, atol=1e-6)


def test_paddles_file_names(net, tmp_path):
    """A path without suffixes, as Paddle 2 takes it; or the suffixes left out of the names."""
    main, out, scope = net
    static.save_inference_model(
        tmp_path, ["x"], [out], None, main, "net.pdmodel", "net.pdiparams", scope=scope
    )
    want = expected(net)
    for names in ((tmp_path / "net",), (tmp_path, "net", "net"), (tmp_path, "net.pdmodel", "net")):
        np.testing.assert_allclose(run(*names)[2], want, rtol=1e-5, atol=1e-6)
    with pytest.raises(FileNotFoundError):
        run(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        run(tmp_path, "net", "none")


def test_a_model_without_weights_needs_no_file_of_them(tmp_path):
    main = static.Program()
    with static.program_guard(main):
        out = static.layers.scale(static.data("x", [None, 4], "float32"), 2.0)
    with pytest.warns(UserWarning, match="no weights"):
        static.save_inference_model(
            tmp_path, ["x"], [out], None, main, "net.pdmodel", program_only=True
        )
    assert os.listdir(tmp_path) == ["net.pdmodel"]
    np.testing.assert_array_equal(run(tmp_path / "net")[2], X * 2)


def test_a_whole_program_for_more_training(net, tmp_path):
    main, out, scope = net
    static.save_inference_model(
        tmp_path, ["x"], [out], None, main, export_for_deployment=False, scope=scope
    )
    assert sorted(os.listdir(tmp_path)) == ["__model__.main_program", "__params__"]
    assert (tmp_path / "__model__.main_program").read_bytes() == main.serialize_to_string()
    other = static.Scope()
    io.load_persistables(None, tmp_path, main, "__params__", scope=other)
    assert len(other.local_var_names()) > len(WEIGHTS)


def test_halves_of_two_models_are_told_apart(net, tmp_path):
    main, out, scope = net
    static.save_inference_model(tmp_path, ["x"], [out], None, main, "m", "w", scope=scope)
    old = (tmp_path / "w").read_bytes()
    (tmp_path / "w").write_bytes(old[:-1] + bytes([old[-1] ^ 1]))
    with pytest.raises(dygraph.errors.FormatError, match="of another model"):
        run(tmp_path, "m", "w")
    (tmp_path / "w").unlink()
    with pytest.raises(FileNotFoundError, match="w"):
        run(tmp_path, "m", "w")


def test_every_truncation_of_a_renamed_model_raises(net, tmp_path):
    main, out, scope = net
    static.save_inference_model(tmp_path, ["x"], [out], None, main, "m", "w", scope=scope)
    for name in ("m", "w"):
        whole = (tmp_path / name).read_bytes()
        for length in range(len(whole)):
            (tmp_path / name).write_bytes(whole[:length])
            other = static.Scope()
            with pytest.raises(dygraph.errors.FormatError):
                static.load_inference_model(tmp_path, None, "m", "w", scope=other)
            assert other.local_var_names() == []
        (tmp_path / name).write_bytes(whole)


def test_misuse_is_typed(net, tmp_path):
    main, out, scope = net
    save = static.save_inference_model
    with pytest.raises(TypeError, match="main_program must be"):
        save(tmp_path, ["x"], [out], None, 3)
    with pytest.raises(ValueError, match="must differ, got 'm'"):
        save(tmp_path, ["x"], [out], None, main, "m", "m", scope=scope)
    with pytest.raises(ValueError, match="without '/', got 'a/b'"):
        save(tmp_path, ["x"], [out], None, main, "a/b", scope=scope)
    with pytest.raises(TypeError, match="model_filename must be the name"):
        static.load_inference_model(tmp_path, None, 3)
    with pytest.raises(RuntimeError, match="must hold a value|hold no variable|no value"):
        save(tmp_path, ["x"], [out], None, main, "m", "w", scope=static.Scope())
    with pytest.raises(ValueError, match="nothing"):
        save(tmp_path, ["x"], ["nothing"], None, main, scope=scope)
    with pytest.raises(FileNotFoundError):
        static.load_inference_model(tmp_path, None, "none", "w")
    assert os.listdir(tmp_path) == []
