"""Attributes and slots that Fluid and Paddle write beside what our operators declare."""

import numpy as np
import pytest

from dygraph import static
from dygraph.errors import FormatError

X = np.arange(6, dtype="float32").reshape(2, 3)


def run(pb, type, slots, out, attrs, feed):
    """What one operator makes of a described program; `attrs` are (name, type, field, value)."""
    message = pb.ProgramDesc()
    block = message.blocks.add(idx=0, parent_idx=-1)
    for name, value in {**feed, "result": None}.items():
        var = block.vars.add(name=name)
        var.type.type = pb.VarType.LOD_TENSOR
        tensor = var.type.lod_tensor.tensor
        tensor.data_type = pb.VarType.INT64 if getattr(value, "dtype", "") == "int64" else 5
        tensor.dims.extend([] if value is None else value.shape)
    op = block.ops.add(type=type)
    for slot, names in slots.items():
        op.inputs.add(parameter=slot, arguments=names)
    op.outputs.add(parameter=out, arguments=["result"])
    for name, kind, field, value in attrs:
        attr = op.attrs.add(name=name, type=pb.AttrType.Value(kind))
        if field in ("scalar",):
            attr.scalar.CopyFrom(value)
        elif isinstance(value, list):
            getattr(attr, field).extend(value)
        else:
            setattr(attr, field, value)
    program = static.Program.parse_from_string(message.SerializeToString())
    return static.Executor().run(program, feed, ["result"], scope=static.Scope())[0]


def relu(pb, *attrs):
    return run(pb, "relu", {"X": ["x"]}, "Out", attrs, {"x": X - 2})


def test_hints_and_features_that_are_off_change_nothing(pb):
    result = relu(
        pb, ("use_mkldnn", "BOOLEAN", "b", True), ("op_role", "INT", "i", 1),
        ("fuse_with_relu", "BOOLEAN", "b", False), ("epmap", "STRINGS", "strings", []),
        ("rescale_grad", "FLOAT", "f", 1.0),
        ("data_format", "STRING", "s", "AnyLayout"), ("Scale_x", "FLOAT", "f", 3.0),
    )  # fmt: skip
    np.testing.assert_array_equal(result, np.maximum(X - 2, 0))


@pytest.mark.parametrize(
    "attr",
    [
        ("fuse_with_relu", "BOOLEAN", "b", True), ("epmap", "STRINGS", "strings", ["host:1"]),
        ("rescale_grad", "FLOAT", "f", 0.5),
        ("data_format", "STRING", "s", "NHWC"), ("alpha", "FLOAT", "f", 1.0),
        ("multi_precision", "INT", "i", 0),
    ],
)  # fmt: skip
def test_a_feature_that_is_on_is_refused(pb, attr):
    with pytest.raises(FormatError, match=f"relu: .* know its attributes, got '{attr[0]}'.*op"):
        relu(pb, attr)


def test_hints_may_stand_twice_as_paddle_writes_them(pb):
    twice = ("mkldnn_data_type", "STRING", "s", "float32")
    np.testing.assert_array_equal(relu(pb, twice, twice), np.maximum(X - 2, 0))
    with pytest.raises(ValueError, match="names in a list must differ, got 'alpha'"):
        relu(pb, ("alpha", "FLOAT", "f", 1.0), ("alpha", "FLOAT", "f", 1.0))


def test_names_of_later_versions(pb):
    def of(type, *attrs):
        slot = "Input" if type == "trace" else "X"
        return run(pb, type, {slot: ["x"]}, "Out", attrs, {"x": X})

    np.testing.assert_array_equal(of("flip", ("axis", "INTS", "ints", [1])), X[:, ::-1])
    rolled = of("roll", ("shifts", "LONGS", "longs", [1]), ("axis", "LONGS", "longs", [1]))
    np.testing.assert_array_equal(rolled, np.roll(X, 1, 1))
    turned = of(
        "trace", ("axis1", "INT", "i", 1), ("axis2", "INT", "i", 0), ("offset", "INT", "i", 1)
    )
    np.testing.assert_array_equal(turned, np.trace(X, 1, 1, 0))


def test_what_paddle_lets_one_choose_in_images(pb):
    """Attributes that Fluid's operators have not; the values are what the choice means."""
    x = np.arange(1, 5, dtype="float32").reshape(1, 1, 2, 2)
    grid = np.array([[[[-1, -1], [3, 0.5]]]], "float32")
    attrs = [
        ("align_corners", "BOOLEAN", "b", False), ("mode", "STRING", "s", "nearest"),
        ("padding_mode", "STRING", "s", "border"), ("use_cudnn", "BOOLEAN", "b", True),
    ]  # fmt: skip
    feed = {"x": x, "grid": grid}
    got = run(pb, "grid_sampler", {"X": ["x"], "Grid": ["grid"]}, "Output", attrs, feed)
    assert got.tolist() == [[[[1, 4]]]]
    theta = np.array([[[1, 0, 0], [0, 1, 0]]], "float32")
    attrs = [
        ("align_corners", "BOOLEAN", "b", False), ("output_shape", "INTS", "ints", [1, 1, 1, 2])
    ]  # fmt: skip
    got = run(pb, "affine_grid", {"Theta": ["t"]}, "Output", attrs, {"t": theta})
    assert got.tolist() == [[[[-0.5, 0], [0.5, 0]]]]
    attrs = [
        ("output_padding", "INTS", "ints", [1, 0]), ("output_size", "INTS", "ints", []),
        ("strides", "INTS", "ints", [2, 1]),
    ]  # fmt: skip
    slots = {"Input": ["x"], "Filter": ["w"]}
    feed = {"x": x, "w": np.ones((1, 1, 1, 1), "float32")}
    got = run(pb, "conv2d_transpose", slots, "Output", attrs, feed)
    assert got.tolist() == [[[[1, 2], [0, 0], [3, 4], [0, 0]]]]


def test_numbers_of_64_bits_and_numbers_that_carry_their_type(pb):
    def scaled(kind, field, value):
        return run(pb, "scale", {"X": ["x"]}, "Out", [("scale", kind, field, value)], {"x": X})

    np.testing.assert_array_equal(scaled("FLOAT64", "float64", 0.5), X / 2)
    number = pb.Scalar(type=pb.Scalar.FLOAT64, r=0.25)
    np.testing.assert_array_equal(scaled("SCALAR", "scalar", number), X / 4)
    np.testing.assert_array_equal(
        scaled("SCALAR", "scalar", pb.Scalar(type=pb.Scalar.LONG, i=3)), X * 3
    )
    with pytest.raises(FormatError, match="scale: .* must be a real number, got a complex one"):
        scaled("SCALAR", "scalar", pb.Scalar(type=pb.Scalar.COMPLEX128))
    with pytest.raises(FormatError, match="scale: the attribute scale must be a value, got names"):
        scaled("VAR", "var_name", "x")


def test_elements_that_carry_their_type(pb):
    def made(dtype, elements, **more):
        message = [("shape", "INTS", "ints", [len(elements)]), ("dtype", "INT", "i", dtype)]
        return run(
            pb,
            "assign_value",
            {},
            "Out",
            [*message, ("values", "SCALARS", "scalars", elements)],
            {},
        )

    def numbers(kind, field, values):
        return [pb.Scalar(type=kind, **{field: value}) for value in values]

    floats = made(pb.VarType.FP32, numbers(pb.Scalar.FLOAT64, "r", [0.5, -2.0, float("nan")]))
    assert floats.dtype == "float32"
    np.testing.assert_array_equal(floats, [0.5, -2.0, np.nan])
    ints = made(pb.VarType.INT64, numbers(pb.Scalar.LONG, "i", [1 << 40, -1]))
    assert ints.dtype == "int64" and ints.tolist() == [1 << 40, -1]
    assert made(pb.VarType.BOOL, numbers(pb.Scalar.BOOLEAN, "b", [True, False])).tolist() == [1, 0]
    with pytest.raises(FormatError, match="must hold real numbers, got another element"):
        made(pb.VarType.FP32, [pb.Scalar(type=pb.Scalar.COMPLEX128)])
    with pytest.raises(NotImplementedError, match="the elements must be float32 numbers, got 0.1"):
        made(pb.VarType.FP64, numbers(pb.Scalar.FLOAT64, "r", [0.1]))


def test_elements_of_float64(pb):
    attrs = [("shape", "INTS", "ints", [2]), ("dtype", "INT", "i", pb.VarType.FP64)]
    made = run(
        pb,
        "assign_value",
        {},
        "Out",
        [*attrs, ("fp64_values", "FLOAT64S", "float64s", [0.5, 4.0])],
        {},
    )
    assert made.dtype == "float64" and made.tolist() == [0.5, 4.0]


def test_a_gradient_may_be_given_what_it_does_not_read(pb):
    """relu_grad reads Out; what else its forward call had changes nothing."""
    feed = {"x": X, "out": X - 2, "g": X + 1}
    slots = {"X": ["x"], "Out": ["out"], "Out@GRAD": ["g"]}
    result = run(pb, "relu_grad", slots, "X@GRAD", [], feed)
    np.testing.assert_array_equal(result, np.where(X - 2 > 0, X + 1, 0))
    with pytest.raises(
        FormatError, match="relu_grad: the input slots are .* got a variable in a slot 'Y'"
    ):
        run(pb, "relu_grad", {**slots, "Y": ["x"]}, "X@GRAD", [], feed)
    shaped = run(
        pb, "reshape2_grad", {"X": ["x"], "Out@GRAD": ["g"]}, "X@GRAD",
        [("shape", "INTS", "ints", [3, 2])], {"x": X, "g": X.reshape(3, 2)},
    )  # fmt: skip
    np.testing.assert_array_equal(shaped, X)
