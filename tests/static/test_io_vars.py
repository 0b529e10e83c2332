"""Variables of programs in files: separate, in one, and a whole program under one name."""

import os

import numpy as np
import pytest

import described
import dygraph
from dygraph import static
from dygraph.static import io


def make_adam():
    return static.optimizer.Adam(learning_rate=0.05)


class Run:
    """A program, its scope, and losses as bytes."""

    def __init__(self, start=True):
        self.main, startup, self.loss = described.trained(make_adam())
        self.scope, self.executor = static.Scope(), static.Executor()
        if start:
            for op in startup.global_block().ops:
                if op.has_attr("seed"):
                    op.set_attr("seed", 11)
            self.executor.run(startup, scope=self.scope)

    def train(self, first, last):
        losses = []
        for i in range(first, last):
            fetched = self.executor.run(
                self.main, described.batch(i), [self.loss], scope=self.scope
            )
            losses.append(fetched[0].tobytes())
        return losses

    def state(self):
        return {
            v.name: self.scope.get_var(v.name).get().numpy().tobytes()
            for v in io.get_program_persistable_vars(self.main)
        }


@pytest.fixture(scope="module")
def run():
    made = Run()
    made.train(0, 3)
    return made


PARAMETERS = ["fc_0.b_0", "fc_0.w_0"]


@pytest.mark.parametrize("filename", [None, "all"])
def test_training_goes_on_with_the_same_bits(tmp_path, filename):
    run = Run()
    run.train(0, 3)
    io.save_persistables(run.executor, tmp_path, run.main, filename, scope=run.scope)
    expected = run.train(3, 8)
    other = Run(start=False)
    io.load_persistables(other.executor, tmp_path, other.main, filename, scope=other.scope)
    assert other.train(3, 8) == expected and len(set(expected)) == 5
    assert other.state() == run.state()


@pytest.mark.parametrize("filename", [None, "all"])
def test_a_run_scope_goes_back(tmp_path, filename):
    run = Run()
    run.train(0, 2)
    io.save_persistables(None, tmp_path, run.main, filename, scope=run.scope)
    first = run.train(2, 5)
    io.load_persistables(None, tmp_path, run.main, filename, scope=run.scope)  # as prepared
    assert run.train(2, 5) == first


@pytest.mark.parametrize("filename", [None, "all"])
def test_parameters_alone(run, tmp_path, filename):
    io.save_params(None, str(tmp_path / "a" / "b"), run.main, filename, scope=run.scope)
    assert sorted(os.listdir(tmp_path / "a" / "b")) == ([filename] if filename else PARAMETERS)
    scope = static.Scope()
    with static.scope_guard(scope):
        io.load_params(None, tmp_path / "a" / "b", run.main, filename)
    assert sorted(scope.local_var_names()) == PARAMETERS
    for name in PARAMETERS:
        assert scope.get_var(name).get().numpy().tobytes() == run.state()[name]


def test_files_are_those_of_fluid(run, tmp_path):
    io.save_persistables(None, tmp_path, run.main, scope=run.scope)
    assert set(os.listdir(tmp_path)) == set(run.state())
    read = dygraph.load_fluid_params(tmp_path)
    assert {name: value.numpy().tobytes() for name, value in read.items()} == run.state()
    io.save_persistables(None, tmp_path, run.main, "all", scope=run.scope)
    parts = [(tmp_path / name).read_bytes() for name in sorted(run.state())]
    assert (tmp_path / "all").read_bytes() == b"".join(parts)


def test_chosen_variables_and_a_predicate(run, tmp_path):
    block = run.main.global_block()
    io.save_vars(
        None, tmp_path / "1", run.main, ["fc_0.w_0", block.var("fc_0.b_0")], scope=run.scope
    )
    assert sorted(os.listdir(tmp_path / "1")) == PARAMETERS
    moments = lambda v: "moment1" in v.name  # noqa: E731
    io.save_vars(None, tmp_path / "2", run.main, predicate=moments, scope=run.scope)
    assert len(os.listdir(tmp_path / "2")) == 2
    scope = static.Scope()
    io.load_vars(None, tmp_path / "2", run.main, predicate=moments, scope=scope)
    assert len(scope.local_var_names()) == 2
    io.load_vars(None, tmp_path / "1", run.main, ["fc_0.w_0"], scope=scope)
    assert len(scope.local_var_names()) == 3


def test_levels_of_detail_and_types_come_back(tmp_path):
    block = static.Program().global_block()
    scope, arrays = static.Scope(), {}
    for dtype in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float64"):
        arrays[dtype] = np.arange(6).reshape(3, 2).astype(dtype)
        block.create_var(name=dtype, shape=[-1, 2], dtype=dtype, persistable=True)
        scope.var(dtype).set(dygraph.to_variable(arrays[dtype], lod=[[0, 1, 3]]))
    io.save_persistables(None, tmp_path, block.program, "f", scope=scope)
    other = static.Scope()
    io.load_persistables(None, tmp_path, block.program, "f", scope=other)
    for dtype, array in arrays.items():
        value = other.get_var(dtype).get()
        assert value.numpy().dtype == array.dtype and np.array_equal(value.numpy(), array)
        assert dygraph._core.lod(value) == [[0, 1, 3]]


# What cannot be saved or loaded -------------------------------------------------------------------


def loaded(run, folder, filename=None):
    """Load into a scope that holds one old value; gives what the scope holds afterwards."""
    scope = static.Scope()
    scope.var("fc_0.b_0").set(np.full(1, 9.0, "float32"))
    try:
        io.load_params(None, folder, run.main, filename, scope=scope)
    finally:
        assert scope.local_var_names() == ["fc_0.b_0"] or len(scope.local_var_names()) == 2
        run.after = (scope.local_var_names(), scope.get_var("fc_0.b_0").get().numpy()[0])


OLD = (["fc_0.b_0"], 9.0)


def test_missing_files_change_nothing(run, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        loaded(run, tmp_path / "nowhere")
    assert run.after == OLD
    io.save_params(None, tmp_path, run.main, scope=run.scope)
    (tmp_path / "fc_0.w_0").unlink()
    with pytest.raises(FileNotFoundError, match="fc_0.w_0"):
        loaded(run, tmp_path)
    with pytest.raises(FileNotFoundError, match="all"):
        loaded(run, tmp_path, "all")
    assert run.after == OLD


@pytest.mark.parametrize(
    "array, message",
    [
        (np.zeros((3, 2), "float32"), r"'fc_0.w_0' must have the shape \[3, 1\] .*, got \[3, 2\]"),
        (np.zeros(3, "float32"), r"must have the shape \[3, 1\] .*, got \[3\]"),
        (np.zeros((3, 1), "float64"), "'fc_0.w_0' must be float32 .*, got float64"),
    ],
)
def test_other_shapes_and_types_change_nothing(run, tmp_path, array, message):
    io.save_params(None, tmp_path, run.main, scope=run.scope)
    dygraph.save_fluid_params({"fc_0.w_0": dygraph.to_variable(array)}, tmp_path)
    with pytest.raises(dygraph.errors.FormatError, match=message):
        loaded(run, tmp_path)
    assert run.after == OLD


def test_one_file_must_hold_all_variables_and_no_more(run, tmp_path):
    io.save_params(None, tmp_path, run.main, "all", scope=run.scope)
    whole = (tmp_path / "all").read_bytes()
    for data in (whole + b"\0", whole + whole, whole[: len(whole) // 2], b""):
        (tmp_path / "all").write_bytes(data)
        with pytest.raises(dygraph.errors.FormatError):
            loaded(run, tmp_path, "all")
        assert run.after == OLD


@pytest.mark.parametrize("filename", [None, "all"])
def test_every_truncation_raises_and_changes_nothing(run, tmp_path, filename):
    io.save_params(None, tmp_path, run.main, filename, scope=run.scope)
    path = tmp_path / (filename or "fc_0.w_0")
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(dygraph.errors.FormatError):
            loaded(run, tmp_path, filename)
        assert run.after == OLD
    path.write_bytes(whole)
    loaded(run, tmp_path, filename)
    assert run.after[0] == PARAMETERS or sorted(run.after[0]) == PARAMETERS


def test_links_are_not_followed(run, tmp_path):
    io.save_params(None, tmp_path, run.main, "real", scope=run.scope)
    (tmp_path / "all").symlink_to(tmp_path / "real")
    with pytest.raises(dygraph.errors.FormatError, match="link"):
        loaded(run, tmp_path, "all")


def test_nothing_is_written_unless_every_variable_has_a_value(run, tmp_path):
    scope = static.Scope()
    scope.var("fc_0.b_0").set(np.zeros(1, "float32"))
    for filename in (None, "all"):
        with pytest.raises(RuntimeError, match="'fc_0.w_0' must hold a value .*startup program"):
            io.save_params(None, tmp_path / "x", run.main, filename, scope=scope)
    assert not (tmp_path / "x").exists()


def test_names_that_are_no_files(tmp_path):
    block = static.Program().global_block()
    block.create_var(name="a/b", shape=[1], dtype="float32", persistable=True)
    scope = static.Scope()
    scope.var("a/b").set(np.ones(1, "float32"))
    with pytest.raises(ValueError, match="got 'a/b'. With filename="):
        io.save_persistables(None, tmp_path, block.program, scope=scope)
    assert os.listdir(tmp_path) == []
    io.save_persistables(None, tmp_path, block.program, "all", scope=scope)
    io.load_persistables(None, tmp_path, block.program, "all", scope=static.Scope())
    with pytest.raises(ValueError, match="'../x'"):
        io.save_persistables(None, tmp_path, block.program, "../x", scope=scope)


def test_misuse_is_typed(run, tmp_path):
    cases = [
        (TypeError, "executor must be", dict(executor=3, dirname=tmp_path, vars=[])),
        (TypeError, "main_program must be", dict(executor=None, dirname=tmp_path, main_program=3)),
        (TypeError, "path must be a string or a Path", dict(executor=None, dirname=3, vars=[])),
        (ValueError, "got neither", dict(executor=None, dirname=tmp_path)),
        (TypeError, "vars must be a list", dict(executor=None, dirname=tmp_path, vars="w")),
        (TypeError, "vars must hold", dict(executor=None, dirname=tmp_path, vars=[3])),
        (KeyError, "got 'no'", dict(executor=None, dirname=tmp_path, vars=["no"])),
        (TypeError, "predicate", dict(executor=None, dirname=tmp_path, predicate=3)),
        (TypeError, "scope must be", dict(executor=None, dirname=tmp_path, vars=[], scope=3)),
        (TypeError, "filename", dict(executor=None, dirname=tmp_path, vars=[], filename=3)),
    ]
    for function in (io.save_vars, io.load_vars):
        for error, message, arguments in cases:
            with pytest.raises(error, match=message):
                function(**arguments)
    rows = run.main.clone().global_block().create_var(name="r", type="SELECTED_ROWS")
    with pytest.raises(ValueError, match="'r' must be a tensor, got SELECTED_ROWS"):
        io.save_vars(None, tmp_path, rows.block.program, [rows])


def test_programs_from_bytes_tell_of_no_parameters(run, tmp_path):
    read = static.Program.parse_from_string(run.main.serialize_to_string())
    for function in (io.save_params, io.load_params):
        with pytest.raises(ValueError, match="must have parameters, got none.*persistables"):
            function(None, tmp_path, read, scope=run.scope)
    io.save_persistables(None, tmp_path, read, scope=run.scope)
    assert set(os.listdir(tmp_path)) == set(run.state())
    io.save_params(None, tmp_path / "none", static.Program(), scope=run.scope)


# A program under one name -------------------------------------------------------------------------


def test_a_whole_program_under_one_name(tmp_path):
    run = Run()
    run.train(0, 3)
    static.save(run.main, tmp_path / "net", run.scope)
    assert sorted(os.listdir(tmp_path)) == ["net.pdmodel", "net.pdopt", "net.pdparams"]
    expected = run.train(3, 6)
    binary = (tmp_path / "net.pdmodel").read_bytes()
    assert binary == run.main.serialize_to_string()
    other = Run(start=False)
    static.load(other.main, tmp_path / "net", other.executor, scope=other.scope)
    assert other.train(3, 6) == expected
    read = Run(start=False)
    read.main = static.Program.parse_from_string(binary)  # it does not record parameters
    read.loss = read.loss.name
    static.load(read.main, tmp_path / "net.pdparams", scope=read.scope)
    assert read.train(3, 6) == expected


def test_states_as_arrays(run, tmp_path):
    static.save(run.main, tmp_path / "net", run.scope)
    state = io.load_program_state(tmp_path / "net")
    assert {name: array.tobytes() for name, array in state.items()} == run.state()
    io.save_persistables(None, tmp_path / "dir", run.main, scope=run.scope)
    again = io.load_program_state(tmp_path / "dir")
    assert {name: array.tobytes() for name, array in again.items()} == run.state()
    (only,) = io.load_program_state(tmp_path / "net", [run.main.global_block().var("fc_0.w_0")])
    assert only == "fc_0.w_0"
    scope = static.Scope()
    io.set_program_state(run.main, {**state, "unknown": np.ones(2)}, scope)
    assert sorted(scope.local_var_names()) == sorted(state)
    with pytest.raises(ValueError, match=r"shape \[3, 1\]"):
        io.set_program_state(
            run.main, {**state, "fc_0.w_0": np.ones((2, 2), "float32")}, static.Scope()
        )


def test_whole_programs_that_cannot_be_loaded(run, tmp_path):
    with pytest.raises(FileNotFoundError):
        static.load(run.main, tmp_path / "net")
    static.save(run.main, tmp_path / "net", run.scope)
    (tmp_path / "net.pdopt").unlink()
    scope = static.Scope()
    with pytest.raises(dygraph.errors.FormatError, match="is missing"):
        static.load(run.main, tmp_path / "net", scope=scope)
    assert scope.local_var_names() == []
    params = [run.main.global_block().var(name) for name in PARAMETERS]
    static.load(run.main, tmp_path / "net", var_list=params, scope=scope)
    assert sorted(scope.local_var_names()) == PARAMETERS
    (tmp_path / "net.pdparams").write_bytes((tmp_path / "net.pdparams").read_bytes()[:-1])
    with pytest.raises(dygraph.errors.FormatError):
        static.load(run.main, tmp_path / "net", var_list=params, scope=scope)
    with pytest.raises(ValueError, match="must end with a name"):
        static.save(run.main, f"{tmp_path}/", run.scope)


def test_names_of_fluid_are_there():
    names = """ComposeNotAligned DataLoader PyReader batch buffered cache chain compose
        default_collate_fn firstn get_program_parameter get_program_persistable_vars load
        load_inference_model load_params load_persistables load_program_state load_vars map_readers
        multiprocess_reader save save_inference_model save_params save_persistables save_vars
        set_program_state shuffle xmap_readers""".split()
    own = ["for_paddle", "unknown_to_paddle"]
    assert sorted(io.__all__) == sorted(names + own)
    assert all(callable(getattr(io, name)) for name in names)
