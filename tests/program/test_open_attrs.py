"""Attributes that variables give: described, kept in files, run, differentiated."""

import numpy as np
import pytest

import dygraph
from dygraph import _core, static, to_variable
from dygraph import ops as F
from dygraph.errors import (
    ArgumentTypeError,
    FormatError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    PreconditionNotMetError,
)
from interop import open_cases

CASES = open_cases.CASES
X = open_cases.X
# What the inputs of Paddle's own cases leave to the defaults.
MORE = {
    "uniform_random": (
        "uniform_random", {}, "Out", {"shape": [50], "seed": 3},
        {"min": np.array([2.0], "float32"), "max": np.array([3.0], "float32")}, "",
    ),
    "fill_any_like_of_an_integer": (
        "fill_any_like", {"X": X}, "Out", {}, {"value": np.array([7])}, "",
    ),
}  # fmt: skip
ALL = {**CASES, **MORE}


def values(case):
    """Attributes with the numbers themselves."""
    op, inputs, slot, attrs, given, wanted = ALL[case]
    return {**attrs, **{a: number(v) for a, v in given.items()}}


def number(given):
    if isinstance(given, list):
        return [int(v[0]) for v in given]
    whole = given.dtype.kind == "i"
    return given.tolist() if whole and len(given) > 1 else given.item()


def known(op, attrs):
    declared = {a["name"] for a in _core.describe_op(op)["attrs"]}
    return {a: v for a, v in attrs.items() if a in declared}


def eager(case):
    """(result, gradient, gradient of the sum of the gradient's squares) with numbers."""
    op, inputs, slot, _, _, wanted = ALL[case]
    given = {s: to_variable(v) for s, v in inputs.items()}
    if wanted:
        given[wanted].stop_gradient = False
    out = _core.run_op(op, given, known(op, values(case)))[slot]
    if not wanted:
        return [out.numpy()]
    (first,) = dygraph.grad([F.square(out)], [given[wanted]], create_graph=True)
    (second,) = dygraph.grad([F.square(first)], [given[wanted]])
    return [out.numpy(), first.numpy(), second.numpy()]


def described(case, open_shapes=False):
    """(program, feed, what is fetched): the same with variables of a program."""
    op, inputs, slot, attrs, given, wanted = ALL[case]
    feed, made = dict(inputs), {}
    main = static.Program()
    with static.program_guard(main, static.Program()):
        for name, array in inputs.items():
            shape = [None] * array.ndim if open_shapes else array.shape
            made[name] = static.data(name, shape, str(array.dtype))
            made[name].stop_gradient = name != wanted
        opened = {}
        for attr, of in given.items():
            several = of if isinstance(of, list) else [of]
            parts = [
                static.data(f"{attr}_{i}", v.shape, str(v.dtype)) for i, v in enumerate(several)
            ]
            feed.update({p.name: v for p, v in zip(parts, several, strict=True)})
            opened[attr] = parts if isinstance(of, list) else parts[0]
        out = _core.run_op(op, {n: made[n] for n in inputs}, {**known(op, attrs), **opened})[slot]
        fetched = [out]
        if wanted:
            fetched += static.gradients([F.square(out)], [made[wanted]])
            fetched += static.gradients([F.square(fetched[1])], [made[wanted]])
    return main, feed, fetched


def run(program, feed, fetched):
    return static.Executor().run(program, feed, fetched, scope=static.Scope())


@pytest.mark.parametrize("open_shapes", [False, True])
@pytest.mark.parametrize("case", ALL)
def test_a_program_computes_what_numbers_give(case, open_shapes):
    main, feed, fetched = described(case, open_shapes)
    for ours, want in zip(run(main, feed, fetched), eager(case), strict=True):
        assert ours.dtype == want.dtype
        np.testing.assert_array_equal(ours, want)


@pytest.mark.parametrize("case", ALL)
def test_the_shape_that_is_described_is_true_of_the_run(case):
    main, feed, fetched = described(case)
    for variable, array in zip(fetched, run(main, feed, fetched), strict=True):
        shape = variable.desc.shape
        assert len(shape) == array.ndim
        assert all(n in (-1, size) for n, size in zip(shape, array.shape, strict=True))


def test_an_eager_call_reads_the_variable():
    x = to_variable(X)
    np.testing.assert_allclose(F.reduce_sum(x, dim=to_variable([0, 2])).numpy(), X.sum((0, 2)))
    np.testing.assert_allclose(x.sum(axis=to_variable(1)).numpy(), X.sum(1), rtol=1e-6)
    np.testing.assert_allclose(dygraph.cumsum(x, to_variable([1])).numpy(), X.cumsum(1), rtol=1e-6)
    assert dygraph.eye(to_variable(2), to_variable([3])).shape == (2, 3)


# Functions ----------------------------------------------------------------------------------------


def i64(*numbers):
    return static.data(f"n{len(static.default_main_program().global_block().vars)}",
                       [len(numbers)], "int64"), np.array(numbers)  # fmt: skip


FUNCTIONS = {
    "sum": (lambda x, a: x.sum(axis=a), 1),
    "mean": (lambda x, a: x.mean(a, keepdim=True), 2),
    "max": (lambda x, a: F.reduce_max(x, dim=a), 0),
    "argmax": (lambda x, a: x.argmax(axis=a), 1),
    "argmin": (lambda x, a: F.argmin(x, axis=a), 0),
    "cumsum": (lambda x, a: dygraph.cumsum(x, a), 1),
    "reduce_prod": (lambda x, a: static.layers.reduce_prod(x, dim=a), 1),
    "reduce_all": (lambda x, a: static.layers.reduce_all(x > 0, dim=a), 1),
    "a list": (lambda x, a: static.layers.reduce_sum(x, dim=[0, a]), 2),
    "reverse": (lambda x, a: static.layers.reverse(x, a), 1),
    "layers.cumsum": (lambda x, a: static.layers.cumsum(x, axis=a), 1),
    "squeeze": (lambda x, a: dygraph.squeeze(x[:, :1], a), 1),
    "layers.squeeze": (lambda x, a: static.layers.squeeze(x[:, :1], [a]), 1),
    "unsqueeze": (lambda x, a: dygraph.unsqueeze(x, a), 2),
    "layers.unsqueeze": (lambda x, a: static.layers.unsqueeze(x, [0, a]), 2),
    "tile": (lambda x, a: dygraph.tile(x, [1, 2, a]), 2),
    "full_like": (lambda x, a: dygraph.full_like(x, a), 5),
    "layers.full_like": (lambda x, a: static.layers.full_like(x, a), 5),
    "pad": (lambda x, a: dygraph.ops.pad(x, [1, 1], value=a), 4),
    "eye": (lambda x, a: dygraph.eye(a, 3) + x[0, 0, 0], 2),
    "pool2d": (
        lambda x, a: static.layers.pool2d(x.unsqueeze([0]), [a, 2], pool_stride=1), 2
    ),
    "max_pool2d": (
        lambda x, a: F.max_pool2d(x.unsqueeze([0]), [a, a], 1), 2
    ),
    "dropout": (
        lambda x, a: static.layers.dropout(x, a, is_test=True), 1
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_a_variable_of_a_program(name):
    function, value = FUNCTIONS[name]
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", X.shape)
        axis, array = i64(value)
        out = function(x, axis)
    (ours,) = run(main, {"x": X, axis.name: array}, [out])
    want = function(to_variable(X), value).numpy()
    np.testing.assert_allclose(ours.astype("float64"), want.astype("float64"), rtol=1e-6)


def test_a_converted_function_takes_its_axis_from_a_variable():
    @dygraph.jit.to_static
    def total(x, axis):
        out = x.sum(axis=axis)
        if out.sum() > 0:
            out = out * 2.0
        return out

    x = to_variable(np.abs(X))
    for axis in (0, 2, 1):
        want = np.abs(X).sum(axis) * 2
        np.testing.assert_allclose(total(x, to_variable(axis)).numpy(), want, rtol=1e-5)


# Programs -----------------------------------------------------------------------------------------


def summed(length=1, keep=False, **more):
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", X.shape)
        axis = static.data("axis", [length], "int64")
        out = F.reduce_sum(x, dim=axis, keep_dim=keep, **more)
    return main, out


def test_the_operator_reads_the_variable_and_says_so():
    main, _ = summed()
    (op,) = main.global_block().ops
    assert op.inputs == {"X": ["x"], "dim": ["axis"]}
    assert op.input_arg_names == ["x", "axis"]
    assert (op.attr("dim"), op.attr_type("dim")) == ("axis", "VAR")
    assert 'var_name: "axis"' in str(op) and 'parameter: "dim"' not in str(op)


def test_a_file_names_the_variables_in_the_attribute(pb):
    main, feed, _ = described("reduce_sum_of_a_list")
    message = pb.ProgramDesc.FromString(main.serialize_to_string())
    op = message.blocks[0].ops[0]
    assert [slot.parameter for slot in op.inputs] == ["X"]
    (dim,) = [a for a in op.attrs if a.name == "dim"]
    assert (dim.type, list(dim.vars_name)) == (pb.VARS, ["dim_0", "dim_1"])
    again = static.Program.parse_from_string(main.serialize_to_string())
    assert again.serialize_to_string() == main.serialize_to_string()
    assert again.global_block().ops[0].input("dim") == ["dim_0", "dim_1"]


def test_a_model_of_files_computes_the_same(tmp_path):
    main, out = summed()
    model = {"main_program": main, "scope": static.Scope()}
    static.save_inference_model(tmp_path, ["x", "axis"], [out], **model)
    scope = static.Scope()
    program, feeds, fetches = static.load_inference_model(tmp_path, scope=scope)
    assert feeds == ["x", "axis"]
    for axis in range(3):
        feed = {"x": X, "axis": np.array([axis])}
        (ours,) = static.Executor().run(program, feed, fetches, scope=scope)
        np.testing.assert_allclose(ours, X.sum(axis), rtol=1e-6)


def test_what_makes_the_variable_stays_and_is_renamed(tmp_path):
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", X.shape)
        axis = static.layers.cast(static.layers.fill_constant([1], "float32", 2.0), "int64")
        unused = x * 3.0  # noqa: F841
        out = F.reduce_sum(x, dim=axis)
    block = main.global_block()
    block.rename_var(axis.name, "which")
    static.save_inference_model(tmp_path, ["x"], [out], None, main, scope=static.Scope())
    small, *_ = static.load_inference_model(tmp_path, scope=static.Scope())
    ops = {op.type: op for op in small.global_block().ops}
    assert list(ops) == ["feed", "fill_constant", "cast", "reduce_sum", "fetch"]
    assert ops["reduce_sum"].attr("dim") == "which"
    np.testing.assert_allclose(run(small, {"x": X}, [out.name])[0], X.sum(2), rtol=1e-6)


def test_source_and_clones_keep_it():
    main, out = summed()
    module = {}
    exec(static.to_code(main), module)
    copies = [main.clone(), module["program"]]
    for copy in copies:
        assert copy.serialize_to_string() == main.serialize_to_string()
        (ours,) = run(copy, {"x": X, "axis": np.array([1])}, [out.name])
        np.testing.assert_allclose(ours, X.sum(1), rtol=1e-6)


def test_an_appended_operator_takes_variables_and_values_again():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x, axis = static.data("x", X.shape), static.data("axis", [1], "int64")
        block = main.global_block()
        out = block.create_var(name="out", dtype="float32")
        op = block.append_op("reduce_sum", {"X": x}, {"Out": out}, {"dim": axis})
    assert out.shape == (-1, -1)
    assert op.input("dim") == ["axis"]
    feed = {"x": X, "axis": np.array([0])}
    np.testing.assert_allclose(run(main, feed, ["out"])[0], X.sum(0), rtol=1e-6)
    op.set_attr("dim", [1])
    assert "dim" not in op.inputs and op.attr("dim") == [1]
    np.testing.assert_allclose(run(main, feed, ["out"])[0], X.sum(1), rtol=1e-6)
    op.set_attr("dim", axis)
    op.desc.remove_attr("dim")
    assert "dim" not in op.inputs


def test_a_loop_counts_through_the_axes_and_its_gradient_goes_back():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [2, 3, 4])
        x.stop_gradient = False
        n = static.layers.fill_constant([1], "int64", 3)

        def body(i, s):
            return [i + 1, s * F.reduce_mean(s, dim=i, keep_dim=True)]

        start = static.layers.fill_constant([1], "int64", 0)
        _, total = static.layers.while_loop(lambda i, s: i < n, body, [start, x])
        (grad,) = static.gradients([total], [x])
    feed = np.abs(X) + 0.5
    ours = run(main, {"x": feed}, [total, grad])
    v = to_variable(feed)
    v.stop_gradient = False
    s = v
    for i in range(3):
        s = s * F.reduce_mean(s, dim=i, keep_dim=True)
    (want,) = dygraph.grad([s], [v])
    np.testing.assert_allclose(ours[0], s.numpy(), rtol=1e-5)
    np.testing.assert_allclose(ours[1], want.numpy(), rtol=1e-5)


def test_folding_keeps_a_dropout_whose_rate_a_variable_gives():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x, rate = static.data("x", X.shape), static.data("rate", [1])
        out = static.layers.dropout(x, rate)
    folded = static.fold_inference(main, scope=static.Scope())
    feed = {"x": X, "rate": np.array([0.25], "float32")}
    np.testing.assert_allclose(run(folded, feed, [out.name])[0], X * 0.75, rtol=1e-6)


def test_the_gradient_of_dropout_in_test_mode_reads_the_rate():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x, rate = static.data("x", X.shape), static.data("rate", [1])
        x.stop_gradient = False
        (grad,) = static.gradients([static.layers.dropout(x, rate, is_test=True)], [x])
    feed = {"x": X, "rate": np.array([0.25], "float32")}
    np.testing.assert_array_equal(run(main, feed, [grad])[0], np.full_like(X, 0.75))


# What is wrong ------------------------------------------------------------------------------------


def test_axes_that_do_not_fit_are_refused_when_the_program_runs():
    main, out = summed()
    for wrong in (3, -4):
        with pytest.raises(OutOfRangeError, match=r"reduce_sum: dim must be in .*got -?\d.*test_"):
            run(main, {"x": X, "axis": np.array([wrong])}, [out])
    main, out = summed(2)
    with pytest.raises(InvalidArgumentError, match="reduce_sum: dim must not name an axis twice"):
        run(main, {"x": X, "axis": np.array([1, -2])}, [out])


def described_with(shape, dtype="int64", op="reduce_sum", attr="dim", as_list=False):
    with static.program_guard(static.Program(), static.Program()):
        x = static.data("x", X.shape)
        given = static.data("given", shape, dtype)
        _core.run_op(op, {"X": x}, {attr: [given] if as_list else given})


@pytest.mark.parametrize(
    ("error", "text", "given"),
    [
        (ArgumentTypeError, "must be of int32 or int64, got float32", ([1], "float32")),
        (ArgumentTypeError, "must be of float32, float64, int32 or int64, got bool",
         ([1], "bool", "dropout", "dropout_prob")),
        (InvalidArgumentError, r"must have one axis, got shape \[1, 1\]", ([1, 1],)),
        (InvalidArgumentError, r"must hold a number, got shape \[0\]", ([0],)),
        (InvalidArgumentError, "the length of the variable in the attribute dim must be known "
         r"while a program is built, got shape \[-1\]. Give a list of variables", ([None],)),
        (InvalidArgumentError, "dim must not name more axes than X has, 3, got variables for 4",
         ([4],)),
        (InvalidArgumentError, r"must hold one number, got shape \[2\]",
         ([2], "int64", "cumsum", "axis")),
        (ArgumentTypeError, "the attribute axis must be an int or one Variable, got a list",
         ([1], "int64", "cumsum", "axis", True)),
        (InvalidArgumentError, r"each variable in the list .* must hold one number, got .*\[2\]",
         ([2], "int64", "reduce_sum", "dim", True)),
        (InvalidArgumentError, "axes must not name more axes than X has, 3",
         ([4], "int64", "squeeze2", "axes")),
        (InvalidArgumentError, "ksize must hold two numbers", ([3], "int32", "pool2d", "ksize")),
    ],
)  # fmt: skip
def test_variables_that_do_not_fit_are_refused_when_they_are_described(error, text, given):
    op = given[2] if len(given) > 2 else "reduce_sum"
    if op == "pool2d":
        with static.program_guard(static.Program(), static.Program()):
            image = static.data("x", [1, 1, 4, 4])
            given = static.data("given", *given[:2])
            with pytest.raises(error, match=f"{op}: .*{text}"):
                _core.run_op(op, {"X": image}, {"ksize": given})
        return
    with pytest.raises(error, match=f"{op}: .*{text}"):
        described_with(*given)


def test_a_number_has_all_digits_of_float64():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x, value = static.data("x", X.shape, "float64"), static.data("value", [1], "float64")
        out = dygraph.full_like(x, value)
    feed = {"x": X.astype("float64"), "value": np.array([0.5])}
    np.testing.assert_array_equal(run(main, feed, [out])[0], np.full(X.shape, 0.5))
    feed["value"] = np.array([0.1])
    np.testing.assert_array_equal(run(main, feed, [out])[0], np.full(X.shape, 0.1))
    whole = static.Program()
    with static.program_guard(whole, static.Program()):
        x, value = static.data("x", X.shape, "float64"), static.data("value", [1], "int64")
        out = dygraph.full_like(x, value)
    feed["value"] = np.array([2**53 + 2])
    np.testing.assert_array_equal(run(whole, feed, [out])[0], np.full(X.shape, 2.0**53 + 2))
    feed["value"] = np.array([2**53 + 1])
    with pytest.raises(OutOfRangeError, match="must be a number that float64 has, got 9007199254"):
        run(whole, feed, [out])


def test_the_number_that_marks_an_open_attribute_is_refused_as_a_value():
    least = np.iinfo("int32").min
    for x in (to_variable(X), None):
        with static.program_guard(static.Program(), static.Program()):
            x = static.data("x", X.shape) if x is None else x
            with pytest.raises(OutOfRangeError, match="dim must not hold the least number of its"):
                _core.ops.reduce_sum(x, dim=[least])


def changed(pb, program, change):
    message = pb.ProgramDesc.FromString(program.serialize_to_string())
    op = message.blocks[0].ops[0]
    change(op, {a.name: a for a in op.attrs})
    return message.SerializeToString()


def loaded(bytes):
    program = static.Program.parse_from_string(bytes)
    return run(program, {"x": X, "axis": np.array([1])}, ["reduce_sum_0.tmp_0"])


def test_files_that_are_wrong_are_refused(pb):
    main, out = summed()

    def unknown(op, attrs):
        attrs["dim"].var_name = "nothing"

    def unnamed(op, attrs):
        attrs["dim"].var_name = ""

    def none(op, attrs):
        attrs["dim"].type = pb.VARS
        attrs["dim"].ClearField("var_name")

    def another(op, attrs):
        attrs["keep_dim"].type = pb.VAR
        attrs["keep_dim"].ClearField("b")
        attrs["keep_dim"].var_name = "axis"

    def slot(op, attrs):
        attrs["dim"].type = pb.INTS
        attrs["dim"].ClearField("var_name")
        attrs["dim"].ints.append(1)
        op.inputs.add(parameter="dim", arguments=["axis"])

    for change, error, text in [
        (unknown, NotFoundError, "nothing"),
        (unnamed, FormatError, "the attribute dim must be a value or name its variables"),
        (none, FormatError, "the attribute dim must be a value or name its variables"),
        (another, FormatError, "the attribute keep_dim must be a value, got names of variables"),
        (slot, FormatError, "got a variable in a slot 'dim'"),
    ]:
        with pytest.raises(error, match=text):
            loaded(changed(pb, main, change))


def test_a_variable_that_is_written_later_keeps_its_gradient_from_another_number():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", X.shape)
        x.stop_gradient = False
        axis = static.layers.fill_constant([1], "int64", 0)
        out = F.reduce_sum(x, dim=axis)
        static.layers.assign(static.layers.fill_constant([1], "int64", 1), output=axis)
        with pytest.raises(PreconditionNotMetError, match="reduce_sum: its gradient needs the val"):
            static.gradients([F.square(out)], [x])


def test_the_least_number_is_a_value_where_no_variable_may_stand():
    """It stands for a variable in attributes that may be open; assign_value has none of these."""
    least = np.array([-(2**63), 1], "int64")
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.layers.assign(least)
    again = static.Program.parse_from_string(program.serialize_to_string())
    (got,) = static.Executor().run(again, fetch_list=[x.name])
    assert got.tolist() == [-(2**63), 1]
