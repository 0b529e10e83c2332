"""A state of PyTorch is loaded with its Linear weights transposed, or refused: never silently."""

import sys
import types

import numpy as np
import pytest

import dygraph
from dygraph import nn, safetensors

# torch: y = x @ weight.T + bias, here (1, 2) -> (1 + 4, 3 + 8).
WEIGHT, BIAS = np.array([[1.0, 2.0], [3.0, 4.0]], "float32"), np.array([0.5, 0.25], "float32")
X, Y = [[1.0, 2.0]], [[5.5, 11.25]]


class Net(nn.Layer):
    def __init__(self, inner=2):
        super().__init__()
        self.a = nn.Linear(2, inner)
        self.b = nn.Linear(inner, 2)


def square():
    return nn.Linear(2, 2)


def result(layer):
    return layer(dygraph.to_variable(np.array(X, "float32"))).tolist()


def untouched(layer, state, match, **options):
    before = [p.numpy().copy() for p in layer.parameters()]
    with pytest.raises(ValueError, match=match):
        layer.set_state_dict(state, **options)
    for p, old in zip(layer.parameters(), before, strict=True):
        assert p.numpy().tobytes() == old.tobytes()


def test_square_arrays_need_the_word_which_way_they_lie():
    state = {"weight": WEIGHT, "bias": BIAS}
    untouched(square(), state, r"from_torch must be given.*'weight' \[2, 2\]")
    layer = square()
    assert not layer.set_state_dict(state, from_torch=True)
    assert result(layer) == Y
    assert not layer.set_state_dict({"weight": WEIGHT.T, "bias": BIAS}, from_torch=False)
    assert result(layer) == Y
    for name in ("set_dict", "load_dict", "load_state_dict"):
        with pytest.raises(ValueError, match="from_torch must be given"):
            getattr(square(), name)(state)


def test_torchs_file_is_told_from_our_own(tmp_path):
    theirs, ours = tmp_path / "torch.safetensors", tmp_path / "ours.safetensors"
    header = (
        b'{"bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},'
        b'"weight":{"dtype":"F32","shape":[2,2],"data_offsets":[8,24]}}'
    )
    theirs.write_bytes(
        len(header).to_bytes(8, "little") + header + BIAS.tobytes() + WEIGHT.tobytes()
    )
    state = dygraph.load(theirs)
    untouched(square(), state, "from_torch must be given")
    untouched(square(), safetensors.load_file(theirs), "from_torch must be given")
    untouched(square(), {k: v for k, v in state.items()}, "from_torch must be given")
    layer = square()
    layer.set_state_dict(state, from_torch=True)
    assert result(layer) == Y
    dygraph.save(layer.state_dict(), ours)
    again = square()
    assert not again.set_state_dict(dygraph.load(ours))
    assert result(again) == Y
    again = square()
    again.set_state_dict({"weight": state["weight"].T, "bias": state["bias"]})
    assert result(again) == Y  # transposed by hand


def test_an_archive_of_numpy_is_told_from_our_own(tmp_path):
    np.savez(tmp_path / "theirs.npz", weight=WEIGHT, bias=BIAS)
    untouched(square(), dygraph.load(tmp_path / "theirs.npz"), "from_torch must be given")
    layer = square()
    layer.set_state_dict(dygraph.load(tmp_path / "theirs.npz"), from_torch=True)
    dygraph.save(layer.state_dict(), tmp_path / "ours.npz")
    again = square()
    again.set_state_dict(dygraph.load(tmp_path / "ours.npz"))
    assert result(again) == result(layer) == Y


def test_other_shapes_say_which_way_the_square_ones_lie():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3))
    ours = {n: v.numpy() + 1 for n, v in net.state_dict().items()}
    assert not net.set_state_dict(ours)
    assert net[0].weight.numpy().tolist() == ours["0.weight"].tolist()
    torchs = {n: v.T for n, v in ours.items()}
    untouched(net, torchs, "from_torch=True transposes Linear weights")
    assert not net.set_state_dict(torchs, from_torch=True)
    assert net[1].weight.numpy().tolist() == ours["1.weight"].tolist()


def test_buffers_of_torch_are_those_of_batch_norm():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1D(2))
    state = {
        "0.weight": WEIGHT, "0.bias": BIAS, "1.weight": BIAS + 1, "1.bias": BIAS,
        "1.running_mean": BIAS + 2, "1.running_var": BIAS + 3,
        "1.num_batches_tracked": np.array(7),
    }  # fmt: skip
    assert not net.set_state_dict(state)  # the names say that it is torch's
    assert net[1]._mean.tolist() == [2.5, 2.25] and net[1]._variance.tolist() == [3.5, 3.25]
    assert net[0].weight.numpy().tolist() == WEIGHT.T.tolist()


def test_tensors_of_torch_are_taken(monkeypatch):
    class Tensor:
        dtype = "torch.float32"

        def __init__(self, array):
            self.array = array

        def detach(self):
            return self

        cpu = detach

        def numpy(self):
            return self.array

    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Tensor=Tensor))
    layer = square()
    assert not layer.load_state_dict({"weight": Tensor(WEIGHT), "bias": Tensor(BIAS)})
    assert result(layer) == Y
    report = square().load_state_dict({"weight": Tensor(WEIGHT)}, strict=False)
    assert report.missing == ["bias"]


def test_a_state_of_our_own_needs_no_word():
    a, b = Net(), Net()
    assert not b.set_state_dict(a.state_dict())
    assert b.a.weight.numpy().tolist() == a.a.weight.numpy().tolist()
    assert not nn.Linear(1, 1).set_state_dict(
        {"weight": [[2.0]] * np.ones((1, 1)), "bias": np.ones(1)}
    )
    by_name = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="from_torch must be given"):
        by_name.set_state_dict(
            {by_name.weight.name: WEIGHT, by_name.bias.name: BIAS}, use_structured_name=False
        )


def test_data_parallel_passes_the_word_on():
    layer = dygraph.DataParallel(square(), None)
    layer.set_state_dict({"weight": WEIGHT, "bias": BIAS}, from_torch=True)
    assert result(layer) == Y


def test_attention_of_torch_is_taken_apart():
    """torch keeps query, key and value in one weight, and calls cross-attention otherwise."""
    rng = np.random.RandomState(0)
    layer = nn.TransformerDecoderLayer(4, 2, 8)
    state = {}
    for name, value in layer.state_dict().items():
        if "_attn." not in name:
            state[name] = rng.randn(*reversed(value.shape)).astype("float32")
    packed = rng.randn(12, 4).astype("float32")
    for part in ("self_attn", "multihead_attn"):
        state[f"{part}.in_proj_weight"] = packed
        state[f"{part}.in_proj_bias"] = np.arange(12, dtype="float32")
        state[f"{part}.out_proj.weight"] = packed[:4]
        state[f"{part}.out_proj.bias"] = np.zeros(4, "float32")
    assert not layer.load_state_dict(state)  # the names say that it is torch's
    for attention in (layer.self_attn, layer.cross_attn):
        np.testing.assert_array_equal(attention.k_proj.weight.numpy(), packed[4:8].T)
        assert attention.v_proj.bias.tolist() == [8, 9, 10, 11]
        np.testing.assert_array_equal(attention.out_proj.weight.numpy(), packed[:4].T)
    state["self_attn.in_proj_weight"] = packed[:11]
    with pytest.raises(ValueError, match="'self_attn.q_proj.weight' is missing"):
        layer.load_state_dict(state)
