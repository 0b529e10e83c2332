"""Captured functions: which program a call runs, and when the function is explored again."""

import copy
import pickle
import threading
import types
import warnings

import numpy as np
import pytest

import dygraph
from dygraph import jit, nn
from dygraph.errors import DygraphError
from dygraph.static.ways.function import Captured, Entry
from dygraph.static.ways.graph import Refused

X = np.arange(12, dtype="float32").reshape(4, 3)
SCALE = 2.0
LIST = [1.0, [3.0]]
MASK = np.ones(3, "float32")
SETTINGS = types.ModuleType("settings")
SETTINGS.scale = 2.0


def given(rows=4):
    return dygraph.to_variable(np.resize(X, (rows, 3)))


def programs(captured):
    return [entry for entries in captured._entries.values() for _, entry in entries]


@pytest.fixture(autouse=True)
def without_gradients():
    with dygraph.no_grad():
        yield


def test_calls_run_one_program_for_any_batch():
    @jit.to_static
    def f(x):
        return x * 2 + x.mean(), {"sum": x.sum()}

    for rows in (4, 1, 7):
        x = given(rows)
        y, parts = f(x)
        assert y.numpy().tobytes() == (x * 2 + x.mean()).numpy().tobytes()
        assert parts["sum"].item() == x.sum().item()
    assert len(programs(f)) == 1
    types_of_ops = [op.type for op in programs(f)[0].program.global_block().ops]
    assert types_of_ops[0] == "scale"
    assert "while" not in types_of_ops


def test_other_types_ranks_and_constants_are_other_programs():
    f = jit.to_static(lambda x, k=1: x * k)
    x = given()
    assert f(x).numpy().tolist() == X.tolist()
    assert f(x, 3).numpy().tolist() == (X * 3).tolist()
    assert f(x, k=3).numpy().tolist() == (X * 3).tolist()
    assert str(f(x.astype("float64"), 2).dtype).endswith("float64")
    assert f(x[0], 2).shape == (3,)
    assert len(programs(f)) == 5


def test_another_size_opens_its_axis():
    f = jit.to_static(lambda x: x + 1)
    for shape in [(2, 3), (2, 4), (2, 5), (6, 9)]:
        assert f(dygraph.ones(list(shape))).shape == shape
    assert len(programs(f)) == 2


def test_specification_says_what_is_open():
    spec = [types.SimpleNamespace(shape=[None, None])]
    f = jit.to_static(lambda x: x + 1, input_spec=spec)
    for shape in [(2, 3), (2, 4), (6, 9)]:
        assert f(dygraph.ones(list(shape))).shape == shape
    assert len(programs(f)) == 1


def scaled_by_a_global(x):
    return x * SCALE


def first_of_a_list(x):
    return x * LIST[1][0]


def masked(x):
    return x * dygraph.to_variable(MASK)


def scaled_by_a_module(x):
    return x * SETTINGS.scale


@pytest.mark.parametrize(
    ("function", "change"),
    [
        (scaled_by_a_global, lambda p: p.setitem(globals(), "SCALE", 5.0)),
        (first_of_a_list, lambda p: p.setitem(globals(), "LIST", [1.0, [5.0]])),
        (masked, lambda p: p.setitem(globals(), "MASK", np.full(3, 5, "float32"))),
        (scaled_by_a_module, lambda p: p.setattr(SETTINGS, "scale", 5.0)),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_what_a_function_reads_outside_is_guarded(function, change, monkeypatch):
    f = jit.to_static(function)
    assert f(given()).numpy().tobytes() == function(given()).numpy().tobytes()
    change(monkeypatch)
    assert f(given()).numpy().tolist() == (X * 5).tolist()
    assert len(programs(f)) == 1


def test_list_changed_in_place_is_noticed():
    f = jit.to_static(first_of_a_list)
    assert f(given()).numpy().tolist() == (X * 3).tolist()
    LIST[1][0] = 4.0
    try:
        assert f(given()).numpy().tolist() == (X * 4).tolist()
    finally:
        LIST[1][0] = 3.0


def test_array_changed_in_place_is_noticed():
    f = jit.to_static(masked)
    f(given())
    MASK[1] = 7
    try:
        assert f(given()).numpy().tolist() == (X * MASK).tolist()
    finally:
        MASK[1] = 1


def test_variable_changed_in_place_is_noticed():
    bias = dygraph.ones([3])
    f = jit.to_static(lambda x: x + bias)
    assert f(given()).numpy().tolist() == (X + 1).tolist()
    bias.set_value(np.full(3, 4, "float32"))
    assert f(given()).numpy().tolist() == (X + 4).tolist()


def test_weights_that_python_reads_are_noticed():
    weight = dygraph.ones([3])
    weight.stop_gradient = False
    kept = [weight]

    def f(x):
        return x * float(kept[0].numpy().sum())

    captured = jit.to_static(f)
    assert captured.entry(given()).run([given()]).numpy().tolist() == (X * 3).tolist()
    weight.set_value(np.full(3, 2, "float32"))
    assert captured.entry(given()).run([given()]).numpy().tolist() == (X * 6).tolist()

    def g(x):
        with dygraph.no_grad():
            return x * (kept[0] * 2)

    with pytest.raises(Refused, match="computed from weights"):
        jit.to_static(g).entry(given())


def test_cells_attributes_and_classes_are_guarded():
    class Model:
        by = 2.0

        def __init__(self):
            self.plus = 1.0

        def forward(self, x):
            return x * self.by + self.plus + offset

    offset = 10.0
    model = Model()
    f = jit.to_static(model.forward)
    assert f(given()).numpy().tolist() == (X * 2 + 11).tolist()
    model.plus = 3.0
    assert f(given()).numpy().tolist() == (X * 2 + 13).tolist()
    Model.by = 4.0
    assert f(given()).numpy().tolist() == (X * 4 + 13).tolist()
    offset = 0.0
    assert f(given()).numpy().tolist() == (X * 4 + 3).tolist()


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.scale = 2.0

    @jit.to_static
    def forward(self, x):
        y = self.linear(x) * self.scale
        return y if self.training else -y


def test_method_of_a_layer_follows_mode_weights_and_attributes():
    net, other = Net(), Net()
    x = given()

    def want(sign, scale):
        return (net.linear(x) * scale * sign).numpy().tolist()

    assert net(x).numpy().tolist() == want(1, 2.0)
    net.linear.weight.set_value(net.linear.weight.numpy() * 3)
    assert net(x).numpy().tolist() == want(1, 2.0)
    net.scale = 4.0
    assert net(x).numpy().tolist() == want(1, 4.0)
    net.eval()
    assert net(x).numpy().tolist() == want(-1, 4.0)
    assert other(x).numpy().tolist() == (other.linear(x) * 2.0).numpy().tolist()


def test_replaced_weights_and_parts_are_noticed():
    net = Net()
    x = given()
    net(x)
    net.linear.weight = nn.Linear(3, 2).weight
    assert net(x).numpy().tolist() == (net.linear(x) * 2.0).numpy().tolist()
    net.linear = nn.Linear(3, 4)
    assert net(x).numpy().tolist() == (net.linear(x) * 2.0).numpy().tolist()


def test_copies_have_programs_of_their_own():
    net = Net()
    x = given()
    before = net(x).numpy().tolist()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other(x).numpy().tolist() == before
        other.linear.weight.set_value(other.linear.weight.numpy() * 2)
        assert other(x).numpy().tolist() == (other.linear(x) * 2.0).numpy().tolist()
        assert net(x).numpy().tolist() == before


def test_object_among_the_arguments_is_guarded():
    class Settings:
        scale = 2.0

    settings = Settings()
    f = jit.to_static(lambda x, by: x * by.scale + len(by.names))
    settings.names = ["a"]
    assert f(given(), settings).numpy().tolist() == (X * 2 + 1).tolist()
    settings.names.append("b")
    settings.scale = 3.0
    assert f(given(), settings).numpy().tolist() == (X * 3 + 2).tolist()


def test_training_gives_eager_gradients():
    net = Net()
    x = given()
    with dygraph.enable_grad():
        loss = net(x).sum()
        loss.backward()
        got = net.linear.weight.grad.numpy()
    assert got.tolist() == (np.repeat(X.sum(0)[:, None], 2, 1) * 2).tolist()


def test_first_call_has_gradients_of_weights_outside():
    layer = nn.Linear(3, 2)
    f = jit.to_static(lambda x: layer(x) * 2)
    with dygraph.enable_grad():
        f(given()).sum().backward()
    want = np.repeat(X.sum(0)[:, None], 2, 1) * 2
    assert layer.weight.grad.numpy().tolist() == want.tolist()


def test_input_that_needs_a_gradient_gets_it():
    x = given()
    x.stop_gradient = False
    with dygraph.enable_grad():
        (jit.to_static(lambda v: v * 3)(x)).sum().backward()
    assert x.grad.numpy().tolist() == np.full((4, 3), 3.0).tolist()


def test_eval_mode_runs_programs_while_recording():
    net = nn.Linear(3, 2)
    net.eval()
    captured = jit.to_static(net)
    with dygraph.enable_grad():
        assert captured(given()).numpy().tolist() == net(given()).numpy().tolist()
    assert len(programs(captured)) == 1


def test_translator_switches_programs_off():
    f = jit.to_static(lambda x: x * 2)
    jit.ProgramTranslator().enable(False)
    try:
        f(given())
        assert programs(f) == []
    finally:
        jit.ProgramTranslator().enable(True)
    f(given())
    assert len(programs(f)) == 1
    program = jit.ProgramTranslator().get_program(f, given())
    assert program is programs(f)[0].program
    assert jit.ProgramTranslator().get_output(f, given()).tolist() == (X * 2).tolist()
    assert jit.ProgramTranslator().get_func(f) is f
    assert "return x * SCALE" in jit.ProgramTranslator().get_code(scaled_by_a_global)


def test_captured_functions_are_explored_where_they_are_called():
    inner = jit.to_static(lambda x: x * 2)
    outer = jit.to_static(lambda x: inner(x) + 1)
    assert outer(given()).numpy().tolist() == (X * 2 + 1).tolist()
    assert programs(inner) == []


def test_proof_lists_what_was_compared():
    f = jit.to_static(lambda x: x * 2)
    f(given())
    proof = programs(f)[0].proof
    assert proof.shapes == [[[4, 3]], [[1, 3]], [[5, 3]], [[8, 3]]]
    assert proof.compared == 4
    assert "questions: none" in repr(proof)


def test_program_that_differs_is_refused(monkeypatch):
    run = Entry.run
    monkeypatch.setattr(Entry, "run", lambda self, given: run(self, given) + 1e-7)
    f = jit.to_static(lambda x: x * 0.001)
    text = (
        r"must give the bits of eager calls, but output 0 differs for inputs of shapes \[\[4, 3\]\]"
    )
    with pytest.raises(Refused, match=text):
        f(given())
    assert jit.to_static(lambda x: x * 0.001, verify=False)(given()).shape == (4, 3)


def test_refusal_has_a_line_and_is_an_error_of_the_library():
    f = jit.to_static(lambda x: x.numpy())
    with pytest.raises(DygraphError, match=r"numpy\(\) of a value at test_captured.py:\d+"):
        f(given())


def test_saved_program_runs_without_its_python(tmp_path):
    net = Net()
    captured = jit.to_static(net)
    x = given()
    captured.save(tmp_path / "model", x)
    loaded = jit.load(tmp_path / "model")
    for rows in (4, 9):
        want = net.linear(given(rows)) * 2.0
        assert loaded(given(rows)).numpy().tobytes() == want.numpy().tobytes()


def warnings_of(calls):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for call in calls:
            call()
    return [str(w.message) for w in caught]


def test_many_programs_warn():
    f = jit.to_static(lambda x, k: x * k)
    found = warnings_of([lambda k=k: f(given(), k) for k in range(9)])
    assert len(found) == 1
    assert "9 programs were made of <lambda>, the last because argument 'k' differed." in found[0]


def test_a_guard_that_keeps_failing_warns_with_its_line(monkeypatch):
    f = jit.to_static(scaled_by_a_module)

    def call(scale):
        monkeypatch.setattr(SETTINGS, "scale", scale)
        return f(given())

    found = warnings_of([lambda k=k: call(float(k + 1)) for k in range(9)])
    line = scaled_by_a_module.__code__.co_firstlineno + 1
    assert len(found) == 1 and len(programs(f)) == 1
    assert f"because SETTINGS.scale, read at test_captured.py:{line}, changed." in found[0]


def test_to_static_takes_functions_alone():
    with pytest.raises(TypeError, match="function must be a function or a Layer"):
        jit.to_static(3)
    assert jit.declarative(lambda x: x + 1)(given()).numpy().tolist() == (X + 1).tolist()
    assert jit.to_static(verify=False)(lambda x: x + 1)(given()).shape == (4, 3)


def test_eager_calls_of_two_threads_leave_captured_functions_enabled():
    begun, ends = [threading.Event() for _ in range(2)], [threading.Event() for _ in range(2)]
    threads = []
    for begin, end in zip(begun, ends, strict=True):
        captured = Captured(lambda b=begin, e=end: (b.set(), e.wait(5)))
        threads.append(threading.Thread(target=captured._eagerly))
        threads[-1].start()
        assert begin.wait(5)
    for thread, end in zip(threads, ends, strict=True):
        end.set()
        thread.join()
    assert Captured.enabled


def test_a_method_and_the_one_it_overrides_are_two():
    class Base:
        @jit.to_static
        def scaled(self, x):
            return x * 2

    class Derived(Base):
        @jit.to_static
        def scaled(self, x):
            return super().scaled(x) + 1

    derived = Derived()
    for _ in range(3):
        assert derived.scaled(given()).numpy().tolist() == (X * 2 + 1).tolist()
        assert super(Derived, derived).scaled(given()).numpy().tolist() == (X * 2).tolist()


def test_guards_that_are_made_anew_do_not_open_the_old_ones(monkeypatch):
    """Another thread may call while they are made."""
    f = jit.to_static(first_of_a_list)
    f(given())
    found = []
    plain = Entry.guard

    def guard(self, call, arguments, keywords):
        monkeypatch.setattr(Entry, "guard", plain)
        monkeypatch.setitem(globals(), "LIST", [1.0, [5.0]])
        found.append(f(given()).numpy().tolist())
        monkeypatch.setitem(globals(), "LIST", [1.0, [3.0]])
        return plain(self, call, arguments, keywords)

    monkeypatch.setattr(Entry, "guard", guard)
    monkeypatch.setitem(globals(), "LIST", [1.0, [3.0]])  # equal, another object
    assert f(given()).numpy().tolist() == (X * 3).tolist()
    assert found == [(X * 5).tolist()]


def test_a_list_that_grows_while_its_slice_is_read_is_refused():
    def f(x):
        out = []
        for r in x:
            out.append(r)
        for r in out[0:]:
            out.append(r * 2)
        return dygraph.stack(out)

    line = f.__code__.co_firstlineno + 5
    with pytest.raises(Refused, match=f"list that grows at test_captured.py:{line} in f is also"):
        jit.to_static(f)(given())


def rows(*shape):
    return dygraph.to_variable(np.resize(np.float32([1, 2, 4, -3, 0.5]), shape))


def test_sizes_that_were_one_need_not_stay_so():
    f = jit.to_static(lambda x, y: x + y)
    for _ in range(2):
        for shapes in ([(4, 3), (4, 3)], [(4, 3), (1, 3)], [(5, 3), (5, 3)], [(1, 3), (2, 3)]):
            x, y = (rows(*shape) for shape in shapes)
            assert f(x, y).numpy().tolist() == (x.numpy() + y.numpy()).tolist()
    assert len(programs(f)) == 2


def test_what_eager_calls_refuse_for_other_sizes_is_refused():
    f = jit.to_static(dygraph.ops.mse_loss)
    assert f(rows(4, 3), rows(4, 3) + 2).item() == 4
    with pytest.raises(Refused, match="an eager call raises InvalidArgumentError"):
        f(rows(4, 3), rows(1, 3))
    assert f(rows(2, 3), rows(2, 3) - 1).item() == 1


def test_a_copy_is_broadcast_to_the_rows_of_each_call():
    def copied(x, y):
        z = x * 2
        z.copy_(y)
        return z

    f = jit.to_static(copied)
    for shapes in ([(4, 3), (4, 3)], [(4, 3), (1, 3)], [(5, 3), (5, 3)], [(3, 3), (1, 3)]):
        x, y = (rows(*shape) for shape in shapes)
        assert f(x, y).numpy().tolist() == np.broadcast_to(y.numpy(), x.shape).tolist()


def test_sequences_count_as_a_batch():
    f = jit.to_static(lambda x, y: dygraph.ops.sequence_pool(x, "SUM") + y)
    for lengths, count in (([1, 3], 2), ([2, 2, 1], 3), ([4], 1)):
        offsets = np.cumsum([0, *lengths]).tolist()
        x = dygraph.to_variable(np.ones((offsets[-1], 2), "float32"), lod=[offsets])
        assert f(x, dygraph.ones([count, 2])).tolist() == [[n + 1.0] * 2 for n in lengths]
    assert len(programs(f)) == 1
