"""Layer: registration, walking, state, hooks, modes, errors."""

import copy
import pickle
import threading

import numpy as np
import pytest

import dygraph
from dygraph import nn


def var(values, grad=False):
    x = dygraph.to_variable(np.array(values, "float32"))
    if grad:
        x.stop_gradient = False
    return x


class Scale(nn.Layer):
    """y = x * weight, without operators that need anything else."""

    def __init__(self, size=2):
        super().__init__()
        self.weight = self.create_parameter(
            [size], default_initializer=dygraph.initializer.Constant(3.0)
        )

    def forward(self, x):
        return x * self.weight


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = Scale()
        self.rest = nn.Sequential(Scale(), ("last", Scale()))
        self.register_buffer("steps", var([0.0]))

    def forward(self, x):
        return self.rest(self.first(x))


class TestAssignment:
    """What is assigned over a part stays a part, or raises with the spelling to use."""

    def test_a_parameter_written_in_place_stays_one(self):
        net = Net()
        weight, state = net.first.weight, net.state_dict()
        with dygraph.no_grad():
            net.first.weight -= var([1.0, 0.5])
            net.first.weight *= 2
        assert net.first.weight is weight and net.parameters()[0] is weight
        assert weight.numpy().tolist() == [4.0, 5.0]  # (3 - 1) * 2, (3 - 0.5) * 2
        assert state["first.weight"].numpy().tolist() == [4.0, 5.0]
        assert weight.trainable and isinstance(weight, dygraph.Parameter)

    def test_a_step_by_hand(self):
        net = Net()
        (net(var([1.0, 2.0])) ** 2).sum().backward()
        slopes = [p.numpy() - 0.5 * p.gradient() for p in net.parameters()]
        with dygraph.no_grad():
            for p in net.parameters():
                p -= 0.5 * p.grad
        for p, expected in zip(net.parameters(), slopes, strict=True):
            np.testing.assert_allclose(p.numpy(), expected, rtol=1e-6)

    def test_while_recording_it_raises(self):
        net = Net()
        with pytest.raises(RuntimeError, match="no_grad"):
            net.first.weight -= 1.0
        for p in net.parameters():
            with pytest.raises(RuntimeError, match="no_grad"):
                p += 1.0
        assert net.first.weight.numpy().tolist() == [3.0, 3.0]

    @pytest.mark.parametrize("value", [var([1.0, 2.0]), np.ones(2, "float32"), 3.0, [1.0, 2.0]])
    def test_what_is_no_parameter(self, value):
        net = Net()
        weight = net.first.weight
        with pytest.raises(TypeError, match=r"'weight' must be a Parameter.*set_value"):
            net.first.weight = value
        with pytest.raises(TypeError, match="Parameter"), dygraph.no_grad():
            net.first.weight = weight - 1.0
        assert net.first.weight is weight and net.parameters()[0] is weight

    def test_another_parameter_none_and_a_freed_name(self):
        net = Scale()
        other = net.weight = dygraph.Parameter([1.0, 2.0])
        assert net.parameters() == [other]
        net.weight = None
        assert net.weight is None and net.parameters() == [] and net.state_dict() == {}
        with pytest.raises(TypeError, match="must be a Parameter"):
            net.weight = var([1.0])
        del net.weight
        net.weight = "free"
        assert net.weight == "free"

    def test_a_parameter_that_was_added_as_none(self):
        net = nn.Layer()
        net.add_parameter("bias", None)
        assert net.bias is None and net.parameters() == [] and "Layer" in net._repr_html_()
        with pytest.raises(TypeError, match="'bias' must be a Parameter"):
            net.bias = var([1.0])

    def test_a_layer_is_replaced_by_a_layer_or_none(self):
        net = Net()
        for value in (3, "relu", var([1.0]), [Scale()], np.tanh):
            with pytest.raises(TypeError, match="'first' must be a Layer or None"):
                net.first = value
        assert len(net.parameters()) == 3
        net.first = nn.ReLU()
        assert len(net.parameters()) == 2

    def test_buffers(self):
        net = Net()
        steps = net.steps
        for buffer in net.buffers():
            buffer += 2.0
        net.steps *= 3.0
        assert net.steps is steps and net.state_dict()["steps"].item() == 6.0
        net.steps = net.steps + 1.0
        assert net.state_dict()["steps"].item() == 7.0 and net.steps.persistable
        net.register_buffer("aside", var([1.0]), persistable=False)
        net.aside = net.aside + 1.0
        net.aside -= 0.5
        assert net.aside.item() == 1.5 and "aside" not in net.state_dict()
        del net.aside
        net.register_buffer("aside", var([5.0]))
        assert net.state_dict()["aside"].item() == 5.0

    @pytest.mark.parametrize("name", ["requires_grad", "stop_gradient", "trainable"])
    def test_freezing_by_other_names(self, name):
        net = Net()
        with pytest.raises(AttributeError, match=r"for p in layer\.parameters\(\)"):
            setattr(net, name, False)

        class Own(nn.Layer):
            trainable = requires_grad = stop_gradient = None

        own = Own()
        setattr(own, name, True)
        assert getattr(own, name) is True


class TestRegistration:
    def test_names(self):
        net = Net()
        assert [n for n, _ in net.named_parameters()] == [
            "first.weight",
            "rest.0.weight",
            "rest.last.weight",
        ]
        assert [n for n, _ in net.named_sublayers()] == ["first", "rest", "rest.0", "rest.last"]
        assert [n for n, _ in net.named_children()] == ["first", "rest"]
        assert [n for n, _ in net.named_buffers()] == ["steps"]
        assert net.sublayers(include_sublayers=False) == [net.first, net.rest]
        assert len(net.parameters()) == 3 and net.parameters(include_sublayers=False) == []

    def test_full_names_are_unique(self):
        with dygraph.unique_name.guard():
            a, b = nn.Linear(2, 3), nn.Linear(2, 3)
            assert (a.full_name(), b.full_name()) == ("linear_0", "linear_1")
            assert a.weight.name == "linear_0.w_0" and b.bias.name == "linear_1.b_0"
            assert nn.Layer("scope").full_name() == "scope_0"

    def test_shared_parameter_counts_once(self):
        net = Net()
        net.rest["last"].weight = net.first.weight
        assert len(net.parameters()) == 2 and len(net.state_dict()) == 4

    def test_reassignment_and_deletion(self):
        net = Net()
        net.first = None
        assert net.first is None and [n for n, _ in net.named_children()] == ["rest"]
        net.first = dygraph.Parameter([1.0])
        assert "first" in net.state_dict()
        del net.first
        assert "first" not in net.state_dict() and not hasattr(net, "first")
        net.steps = var([4.0])
        assert net.buffers()[0].item() == 4.0
        with pytest.raises(TypeError):
            net.steps = 3

    def test_before_init(self):
        class Early(nn.Layer):
            def __init__(self):
                self.fc = Scale()

        with pytest.raises(RuntimeError, match="super"):
            Early()

    def test_bad_input(self):
        layer = nn.Layer()
        for bad in (None, 3, "x"):
            with pytest.raises(TypeError):
                layer.add_sublayer("a", bad)
        for bad in (3, "x", var([1.0])):
            with pytest.raises(TypeError):
                layer.add_parameter("a", bad)
        with pytest.raises(TypeError):
            layer.add_parameter(3, dygraph.Parameter([1.0]))
        for name in ("", "a.b"):
            with pytest.raises(ValueError):
                layer.add_parameter(name, dygraph.Parameter([1.0]))
        with pytest.raises(ValueError):
            layer.add_parameter("forward", dygraph.Parameter([1.0]))
        with pytest.raises(TypeError):
            layer.register_buffer("b", 3)
        for shape in (None, "ab", 3, [1.5], ["a"]):
            with pytest.raises(TypeError):
                layer.create_parameter(shape)
        with pytest.raises(ValueError):
            layer.create_parameter([-1, 2])
        with pytest.raises(TypeError):
            layer.create_parameter([2], attr=3)
        with pytest.raises(TypeError):
            nn.Layer(3)
        with pytest.raises((TypeError, ValueError)):
            nn.Layer(dtype="floaty")
        with pytest.raises(NotImplementedError):
            layer(var([1.0]))

    def test_zero_size_parameter(self):
        assert nn.Layer().create_parameter([0, 3]).shape == (0, 3)


class TestState:
    def test_round_trip(self):
        a, b = Net(), Net()
        with dygraph.no_grad():
            for i, p in enumerate(a.parameters()):
                p.fill_(float(i))
        b.set_state_dict(a.state_dict())
        assert [p.numpy()[0] for p in b.parameters()] == [0.0, 1.0, 2.0]
        with dygraph.no_grad():
            a.first.weight.fill_(9.0)
        assert b.first.weight.numpy()[0] == 0.0

    def test_arrays_and_own_names(self):
        net = Scale()
        net.set_dict({"weight": np.array([1.0, 2.0])})
        assert net.weight.numpy().tolist() == [1.0, 2.0]
        net.load_dict({net.weight.name: np.array([4.0, 5.0], "float32")}, use_structured_name=False)
        assert net.weight.numpy().tolist() == [4.0, 5.0]

    def test_report_names_everything_and_writes_nothing(self):
        net = Net()
        state = {k: v.numpy() for k, v in net.state_dict().items()}
        state["frist.weight"] = state.pop("first.weight")
        state["rest.0.weight"] = np.zeros(3, "float32")
        state["steps"] = np.array([7.0], "float32")
        with pytest.raises(ValueError) as error:
            net.set_state_dict(state)
        text = str(error.value)
        assert "'first.weight' is missing. Did you mean 'frist.weight'?" in text
        assert "'frist.weight' is not expected" in text and "[2], got [3]" in text
        assert net.steps.item() == 0.0
        report = net.set_state_dict(state, strict=False)
        assert report.missing == ["first.weight"] and report.unexpected == ["frist.weight"]
        assert list(report.mismatched) == ["rest.0.weight"] and net.steps.item() == 7.0
        assert not net.set_state_dict(net.state_dict())

    @pytest.mark.parametrize("bad", [None, 3, "a", [1]])
    def test_bad_state(self, bad):
        with pytest.raises(TypeError):
            Net().set_state_dict(bad)
        with pytest.raises(ValueError):
            Scale().set_state_dict({"weight": bad})

    def test_unsaved_buffers(self):
        layer = nn.Layer()
        layer.register_buffer("a", var([1.0]))
        layer.register_buffer("b", var([1.0]), persistable=False)
        assert list(layer.state_dict()) == ["a"] and len(layer.buffers()) == 2

    def test_copies_are_independent(self):
        net = Net()
        for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
            assert list(twin.state_dict()) == list(net.state_dict())
            assert twin.first.weight is twin.state_dict()["first.weight"]
            with dygraph.no_grad():
                twin.first.weight.fill_(0.0)
            assert net.first.weight.numpy()[0] == 3.0
            assert isinstance(twin.first.weight, dygraph.Parameter) and twin.first.weight.trainable

    def test_to_and_clear(self):
        net = Net()
        net(var([1.0, 1.0])).backward()
        assert net.first.weight.gradient() is not None
        net.clear_gradients()
        assert net.first.weight.gradient() is None
        weight = net.first.weight
        assert net.to(dtype="float64") is net and net.first.weight is weight
        assert weight.dtype == dygraph.float64 and weight.trainable and weight.is_leaf

    def test_apply(self):
        seen = []
        net = Net()
        assert net.apply(lambda layer: seen.append(type(layer).__name__)) is net
        assert seen == ["Scale", "Scale", "Scale", "Sequential", "Net"]


class TestHooks:
    def test_pre_and_post(self):
        net, log = Scale(), []
        pre = net.register_forward_pre_hook(lambda layer, inputs: (inputs[0] * 2.0,))
        post = net.register_forward_post_hook(lambda layer, inputs, out: log.append(out.numpy()[0]))
        assert net(var([1.0, 1.0])).numpy().tolist() == [6.0, 6.0] and log == [6.0]
        pre.remove()
        pre.remove()
        post.remove()
        assert net(var([1.0, 1.0])).numpy().tolist() == [3.0, 3.0] and len(log) == 1
        for bad in (None, 3):
            with pytest.raises(TypeError):
                net.register_forward_pre_hook(bad)
            with pytest.raises(TypeError):
                net.register_forward_post_hook(bad)


class TestEval:
    def test_records_nothing_and_says_why(self):
        net = Net()
        y = net.eval()(var([1.0, 1.0]))
        assert y.stop_gradient and dygraph.saved(y).total == 0
        with pytest.raises(RuntimeError) as error:
            y.backward()
        assert "Net" in str(error.value) and "eval mode" in str(error.value)
        assert "enable_grad" in str(error.value)
        assert dygraph.grad_enabled()

    def test_train_records_again(self):
        net = Net()
        net.eval()
        assert not net.first.training
        net.train()
        assert net.first.training and not net(var([1.0, 1.0])).stop_gradient

    @pytest.mark.parametrize(
        "wrap",
        [lambda x: x, lambda x: [x], lambda x: {"a": [(x,)]}],
        ids=["itself", "in a list", "in a dict"],
    )
    def test_an_argument_that_requires_gradient_records(self, wrap):
        class Open(Scale):
            def forward(self, x):
                while not isinstance(x, dygraph.Variable):
                    x = x["a"] if isinstance(x, dict) else x[0]
                return x * self.weight

        net, x = Open().eval(), var([1.0, 1.0], grad=True)
        net(wrap(x)).backward()
        assert x.gradient().tolist() == [3.0, 3.0]
        assert net(wrap(var([1.0, 1.0]))).stop_gradient

    def test_keyword_arguments_count(self):
        x = var([1.0, 1.0], grad=True)
        assert not Scale().eval()(x=x).stop_gradient
        assert Scale().eval()(x=x.detach()).stop_gradient

    def test_enable_grad_wins_and_no_grad_inside_it_too(self):
        net, x = Scale().eval(), var([1.0, 1.0])
        with dygraph.enable_grad():
            assert not net(x).stop_gradient
            with dygraph.no_grad():
                assert net(x).stop_gradient
            assert not net(x).stop_gradient
        with dygraph.no_grad(), dygraph.enable_grad():
            assert not net(x).stop_gradient
        assert net(x).stop_gradient

    def test_enable_grad_inside_forward(self):
        class Inner(Scale):
            def forward(self, x):
                with dygraph.enable_grad():
                    inside = x * self.weight
                return inside, x * self.weight

        inside, outside = Inner().eval()(var([1.0, 1.0]))
        assert not inside.stop_gradient and outside.stop_gradient
        with pytest.raises(RuntimeError, match="eval mode"):
            outside.backward()

    def test_eval_part_of_a_training_parent(self):
        net = Net()
        net.rest.eval()
        y = net(var([1.0, 1.0]))
        assert not y.stop_gradient
        y.backward()
        assert net.rest[0].weight.gradient() is not None

    def test_training_part_of_an_eval_parent(self):
        net = Net().eval()
        net.rest.train()
        assert net(var([1.0, 1.0])).stop_gradient

    def test_no_global_switch(self):
        a, b = Scale().eval(), Scale()
        assert a(var([1.0, 1.0])).stop_gradient and not b(var([1.0, 1.0])).stop_gradient

    def test_forward_called_inside_is_per_thread(self):
        seen = []

        class Spawn(Scale):
            def forward(self, x):
                t = threading.Thread(target=lambda: seen.append(Scale().eval()(x).stop_gradient))
                t.start()
                t.join()
                return x * self.weight

        assert not Spawn()(var([1.0, 1.0])).stop_gradient
        assert seen == [True]

    def test_recording_returns_after_an_error(self):
        class Broken(nn.Layer):
            def forward(self, x):
                raise ZeroDivisionError("boom")

        with pytest.raises(ZeroDivisionError):
            Broken().eval()(var([1.0]))
        assert dygraph.grad_enabled() and not Scale()(var([1.0, 1.0])).stop_gradient
        assert Scale().eval()(var([1.0, 1.0])).stop_gradient


class TestErrors:
    def test_path_is_told_once_and_type_kept(self):
        net = Net()
        with pytest.raises(ValueError) as error:
            net(var([1.0, 2.0, 3.0]))
        text = str(error.value)
        assert text.endswith("in Net.first (Scale)") and text.count("in Net") == 1
        assert text.startswith("elementwise_mul")

    def test_deep_path(self):
        net = Net()
        net.rest["last"].weight = dygraph.Parameter(np.ones(3, "float32"))
        with pytest.raises(ValueError, match=r"in Net\.rest\.last \(Scale\)"):
            net(var([1.0, 2.0]))

    def test_other_exceptions(self):
        class Broken(nn.Layer):
            def forward(self, kind):
                raise kind

        for kind in (KeyError("k"), ZeroDivisionError("z"), StopIteration(), OSError(2, "gone")):
            with pytest.raises(type(kind)):
                Broken()(kind)

    def test_handled_inside_leaves_no_trace(self):
        class Careful(nn.Layer):
            def __init__(self):
                super().__init__()
                self.part = Scale()

            def forward(self, x):
                try:
                    return self.part(x)
                except ValueError:
                    raise RuntimeError("mine") from None

        with pytest.raises(RuntimeError) as error:
            Careful()(var([1.0, 2.0, 3.0]))
        assert str(error.value) == "mine\nin Careful"


def test_repr_is_a_tree():
    assert repr(nn.Sequential(nn.Linear(2, 3, act="relu"), nn.Sequential(nn.ReLU()))) == (
        "Sequential(\n  (0): Linear(2, 3, act='relu')\n  (1): Sequential(\n    (0): ReLU()\n  )\n)"
    )


class TestContainers:
    def test_sequential(self):
        net = nn.Sequential([Scale(), Scale()])
        assert len(net) == 2 and net[-1] is list(net)[1] and len(net[:1]) == 1
        net[0] = last = Scale()
        assert net[0] is last
        with pytest.raises(IndexError):
            net[2]
        with pytest.raises(TypeError):
            nn.Sequential(3)
        with pytest.raises(TypeError):
            nn.Sequential(None)
        x = var([1.0])
        assert nn.Sequential()(x) is x

    def test_layer_list(self):
        layers = nn.LayerList([Scale(1), Scale(2)])
        layers.append(Scale(3)).insert(0, Scale(4))
        assert [layer.weight.shape[0] for layer in layers] == [4, 1, 2, 3]
        assert list(layers.state_dict()) == [f"{i}.weight" for i in range(4)]
        del layers[1]
        assert [layer.weight.shape[0] for layer in layers[1:]] == [2, 3]
        layers[0] = Scale(9)
        assert layers[0].weight.shape == (9,)
        for bad in ("ab", 3, None):
            with pytest.raises(TypeError):
                layers.extend(bad)
        with pytest.raises(TypeError):
            layers.insert(0, None)
        with pytest.raises(IndexError):
            layers.insert(9, Scale())
        with pytest.raises(IndexError):
            layers[3]
        with pytest.raises(TypeError):
            layers["a"]

    def test_parameter_list(self):
        params = nn.ParameterList([dygraph.Parameter([1.0])]).append(dygraph.Parameter([2.0]))
        assert len(params) == 2 and params[1].item() == 2.0 and len(params.parameters()) == 2
        params[0] = dygraph.Parameter([5.0])
        assert [p.item() for p in params] == [5.0, 2.0]
        for bad in (3, "a", [1.0]):
            with pytest.raises(TypeError):
                nn.ParameterList(bad)
        with pytest.raises(IndexError):
            params[2]
