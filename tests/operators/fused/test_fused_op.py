"""Fused operators against NumPy's formulas; values of Paddle in test_values_of_paddle.py."""

import numpy as np
import pytest

import dygraph
from dygraph import ops
from op_test import OpTest, away_from, rand

LOD = [[0, 2, 6, 7]]
SEQUENCES = [slice(0, 2), slice(2, 6), slice(6, 7)]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


UNARY = {
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "scale": lambda x: 0.3 * x,
    "identity": lambda x: x,
}
BINARY = {"elementwise_add": np.add, "elementwise_mul": np.multiply}


class ElementwiseCase(OpTest):
    elementwise = False  # IntermediateOut is [0]
    op_type = "fused_elemwise_activation"
    functions = ("relu", "elementwise_add")
    x_shape, y_shape, axis = (3, 4), (3, 4), -1

    def setUp(self):
        self.inputs = {"X": away_from(0, rand(*self.x_shape)) * 2, "Y": rand(*self.y_shape) / 20}
        self.attrs = {"functor_list": list(self.functions), "scale": 0.3, "axis": self.axis}

    def reference(self, inputs, attrs):
        x, y = inputs["X"], inputs["Y"]
        outer, inner = self.functions
        if self.axis > 0:
            y = y[:, None]
        if outer in BINARY:
            return {"Out": BINARY[outer](x, UNARY[inner](y))}
        return {"Out": UNARY[outer](BINARY[inner](x, y))}

    def test_check_output(self):
        self.check_output()


class TestReluOfSum(ElementwiseCase):
    def test_check_grad(self):
        self.check_grad(["X", "Y"], "Out")


class TestTanhOfProduct(ElementwiseCase):
    functions = ("tanh", "elementwise_mul")
    y_shape = (4,)


class TestScaleOfProduct(ElementwiseCase):
    functions = ("scale", "elementwise_mul")
    x_shape, y_shape, axis = (2, 3, 4), (3,), 1


class TestSumWithSigmoid(ElementwiseCase):
    functions = ("elementwise_add", "sigmoid")
    y_shape = (1, 4)


class TestProductWithTanh(ElementwiseCase):
    op_type = "fused_elemwise_add_activation"
    functions = ("elementwise_mul", "tanh")
    y_shape = (4,)


class TestProductWithScale(ElementwiseCase):
    functions = ("elementwise_mul", "scale")


class TestEmbeddingSeqPool(OpTest):
    op_type = "fused_embedding_seq_pool"
    attrs = {"padding_idx": 2}
    ids = 1

    def setUp(self):
        ids = np.random.randint(0, 5, [7, self.ids, 1] if self.ids > 1 else [7, 1])
        ids[3], ids[4] = 2, ids[5]
        self.inputs = {"W": rand(5, 4), "Ids": (ids, LOD)}
        table = self.inputs["W"].copy()
        table[2] = 0
        rows = table[ids].reshape(7, -1)
        self.outputs = {"Out": np.stack([rows[s].sum(0) for s in SEQUENCES])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["W"], "Out")


class TestEmbeddingSeqPoolOfSeveral(TestEmbeddingSeqPool):
    ids = 3


@pytest.mark.parametrize("sparse", [False, True])
def test_gradient_of_an_embedding_pool(sparse):
    w = dygraph.to_variable(np.zeros((4, 2)))
    w.stop_gradient = False
    ids = dygraph.to_variable([[1], [3], [1]], lod=[[0, 2, 3]])
    ops.fused_embedding_seq_pool(w, ids, is_sparse=sparse).backward(
        dygraph.to_variable(np.array([[1.0, 2.0], [10.0, 20.0]]))
    )
    grad = dygraph._core.to_dense(w.grad) if sparse else w.grad
    assert dygraph._core.is_selected_rows(w.grad) == sparse
    assert grad.tolist() == [[0.0, 0.0], [11.0, 22.0], [0.0, 0.0], [1.0, 2.0]]


class TestSeqpoolConcat(OpTest):
    op_type = "fusion_seqpool_concat"
    attrs = {"pooltype": "AVERAGE"}

    def setUp(self):
        x, y = rand(7, 3), rand(5, 2)
        self.inputs = {"X": [("x", (x, LOD)), ("y", (y, [[0, 1, 1, 5]]))]}
        left = [x[s].mean(0) for s in SEQUENCES]
        right = [y[0], np.zeros(2), y[1:].mean(0)]
        self.outputs = {"Out": np.concatenate([left, right], 1)}

    def test_check_output(self):
        self.check_output()


def cvm(x):
    y = x.copy()
    y[:, 0] = np.log(x[:, 0] + 1)
    y[:, 1] = np.log(x[:, 1] + 1) - y[:, 0]
    return y


class TestSeqpoolCvmConcat(OpTest):
    op_type = "fusion_seqpool_cvm_concat"

    def setUp(self):
        x, y = np.abs(rand(7, 3)), np.abs(rand(7, 4))
        self.inputs = {"X": [("x", (x, LOD)), ("y", (y, LOD))], "CVM": rand(3, 2)}
        pooled = [np.stack([v[s].sum(0) for s in SEQUENCES]) for v in (x, y)]
        self.outputs = {"Out": np.concatenate([cvm(v) for v in pooled], 1)}

    def test_check_output(self):
        self.check_output()


class TestSquaredMatSub(OpTest):
    op_type = "fusion_squared_mat_sub"
    attrs = {"scalar": 0.7}

    def setUp(self):
        self.inputs = {"X": rand(3, 4), "Y": rand(4, 5)}

    def reference(self, inputs, attrs):
        x, y = inputs["X"], inputs["Y"]
        return {
            "Out": 0.7 * ((x @ y) ** 2 - x**2 @ y**2), "SquaredX": x**2, "SquaredY": y**2,
            "SquaredXY": (x @ y) ** 2,
        }  # fmt: skip

    def test_check_output(self):
        self.check_output()


class TestRepeatedFcRelu(OpTest):
    op_type = "fusion_repeated_fc_relu"

    def setUp(self):
        x, w, b = rand(3, 4), [rand(4, 5), rand(5, 6), rand(6, 2)], [rand(5), rand(1, 6), rand(2)]
        self.inputs = {
            "X": x,
            "W": [(f"w{i}", v) for i, v in enumerate(w)],
            "Bias": [(f"b{i}", v) for i, v in enumerate(b)],
        }
        made = []
        for weight, bias in zip(w, b, strict=True):
            x = np.maximum(x @ weight + bias, 0)
            made.append(x)
        self.outputs = {"ReluOut": [("first", made[0]), ("second", made[1])], "Out": made[2]}

    def test_check_output(self):
        self.check_output()


class TestSeqconv(OpTest):
    op_type = "fusion_seqconv_eltadd_relu"
    attrs = {"contextLength": 3, "contextStart": -1}

    def setUp(self):
        x, w, b = rand(7, 2), rand(6, 4), rand(1, 4)
        rows = []
        for s in SEQUENCES:
            part = np.pad(x[s], ((1, 1), (0, 0)))
            rows += [part[i : i + 3].ravel() for i in range(len(part) - 2)]
        self.inputs = {"X": (x, LOD), "Filter": w, "Bias": b}
        self.outputs = {"Out": (np.maximum(rows @ w + b, 0), LOD), "ColMat": np.stack(rows)}

    def test_check_output(self):
        self.check_output()


class TestSeqexpand(OpTest):
    op_type = "fusion_seqexpand_concat_fc"
    activation = "tanh"

    def setUp(self):
        x, y, w, b = rand(7, 2), rand(3, 3), rand(5, 4), rand(4)
        self.attrs = {"fc_activation": self.activation}
        self.inputs = {"X": [("x", (x, LOD)), ("y", y)], "FCWeight": w, "FCBias": b}
        joined = np.concatenate([x, np.repeat(y, [2, 4, 1], 0)], 1)
        self.outputs = {"Out": (UNARY[self.activation](joined @ w + b), LOD)}

    def test_check_output(self):
        self.check_output()


class TestSeqexpandRelu(TestSeqexpand):
    activation = "relu"


def steps(sequence, is_reverse):
    rows = list(range(sequence.start, sequence.stop))
    return rows[::-1] if is_reverse else rows


class TestFusionGru(OpTest):
    op_type = "fusion_gru"
    attrs = {"origin_mode": True, "is_reverse": True}

    def setUp(self):
        d = 3
        x, wx, wh, b, h0 = rand(7, 4), rand(4, 9), rand(d, 9), rand(1, 9), rand(3, d)
        self.inputs = {"X": (x, LOD), "WeightX": wx, "WeightH": wh, "Bias": b, "H0": h0}
        gates = wh.ravel()[: 2 * d * d].reshape(d, 2 * d)
        last = wh.ravel()[2 * d * d :].reshape(d, d)
        projected = x @ wx + b
        hidden = np.zeros((7, d))
        for i, s in enumerate(SEQUENCES):
            h = h0[i]
            for t in steps(s, True):
                u, r = np.split(sigmoid(projected[t, : 2 * d] + h @ gates), 2)
                m = np.tanh(projected[t, 2 * d :] + (r * h) @ last)
                hidden[t] = h = u * h + (1 - u) * m
        self.outputs = {"Hidden": (hidden, LOD), "XX": x @ wx}

    def test_check_output(self):
        self.check_output()


class TestFusionLstm(OpTest):
    op_type = "fusion_lstm"

    def setUp(self):
        d = 2
        x, wx, wh, b = rand(7, 3), rand(3, 8), rand(d, 8), rand(1, 14)
        h0, c0 = rand(3, d), rand(3, d)
        self.inputs = {
            "X": (x, LOD), "WeightX": wx, "WeightH": wh, "Bias": b, "H0": h0, "C0": c0,
        }  # fmt: skip
        peep = b[0, 8:].reshape(3, d)
        hidden, cell = np.zeros((7, d)), np.zeros((7, d))
        for n, s in enumerate(SEQUENCES):
            h, c = h0[n], c0[n]
            for t in steps(s, False):
                g, i, f, o = np.split(x[t] @ wx + h @ wh + b[0, :8], 4)
                i, f = sigmoid(i + peep[0] * c), sigmoid(f + peep[1] * c)
                cell[t] = c = f * c + i * np.tanh(g)
                hidden[t] = h = sigmoid(o + peep[2] * c) * np.tanh(c)
        self.outputs = {"Hidden": (hidden, LOD), "Cell": (cell, LOD), "XX": x @ wx}

    def test_check_output(self):
        self.check_output()


class TestAttentionLstm(OpTest):
    op_type = "attention_lstm"
    attrs = {
        "gate_activation": "relu", "cell_activation": "identity", "candidate_activation": "sigmoid",
    }  # fmt: skip

    def setUp(self):
        m, d = 4, 2
        x, c0, h0, a = rand(7, m), rand(3, d), rand(3, d), rand(m + d, 1)
        w, b = rand(d + m, 4 * d), rand(1, 4 * d)
        own, scalar, behind = rand(1, 1), rand(1, 1), rand(1, 1)
        self.inputs = {
            "X": (x, LOD), "C0": c0, "H0": h0, "AttentionWeight": a, "AttentionBias": own,
            "AttentionScalar": scalar, "AttentionScalarBias": behind, "LSTMWeight": w,
            "LSTMBias": b,
        }  # fmt: skip
        hidden, cell = np.zeros((7, d)), np.zeros((7, d))
        relu = UNARY["relu"]
        for n, s in enumerate(SEQUENCES):
            h, c = h0[n], c0[n]
            for t in steps(s, False):
                e = relu(x[s] @ a[:m, 0] + own[0, 0] + c @ a[m:, 0])
                e = np.exp(relu(e * scalar[0, 0] + behind[0, 0]))
                mean = e / e.sum() @ x[s]
                f, i, o, g = np.split(mean @ w[d:] + h @ w[:d] + b[0], 4)
                cell[t] = c = relu(f) * c + relu(i) * sigmoid(g)
                hidden[t] = h = relu(o) * c
        self.outputs = {"Hidden": (hidden, LOD), "Cell": (cell, LOD)}

    def test_check_output(self):
        self.check_output()


def layer_norm(x, scale=1, bias=0):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + bias


class TestSkipLayernorm(OpTest):
    op_type = "skip_layernorm"
    attrs = {"begin_norm_axis": 2}

    def setUp(self):
        self.inputs = {"X": rand(2, 3, 4), "Y": rand(2, 3, 4), "Scale": rand(4), "Bias": rand(4)}

    def reference(self, inputs, attrs):
        return {"Out": layer_norm(inputs["X"] + inputs["Y"], inputs["Scale"], inputs["Bias"])}

    def test_check_output(self):
        self.check_output()


class TestFcLayernorm(OpTest):
    op_type = "fused_fc_elementwise_layernorm"
    attrs = {"activation_type": "relu"}

    def setUp(self):
        self.inputs = {
            "X": rand(3, 4), "W": rand(4, 5), "Y": rand(3, 5), "Bias0": rand(5), "Scale": rand(5),
            "Bias1": rand(5),
        }  # fmt: skip

    def reference(self, inputs, attrs):
        product = np.maximum(inputs["X"] @ inputs["W"] + inputs["Bias0"], 0) + inputs["Y"]
        return {
            "Out": layer_norm(product, inputs["Scale"], inputs["Bias1"]),
            "Mean": product.mean(1), "Variance": product.var(1),
        }  # fmt: skip

    def test_check_output(self):
        self.check_output()


def test_what_does_not_fit_is_refused():
    x = dygraph.to_variable([[1.0, 2.0]])
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="functor_list must hold"):
        ops.fused_elemwise_activation(x, x, functor_list=["relu", "tanh"])
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="functor_list must hold"):
        ops.fused_elemwise_activation(x, x, functor_list=["relu"])
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="level of detail"):
        ops.fusion_seqpool_concat([x])
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="W must be a matrix with a row"):
        ops.fusion_repeated_fc_relu(x, [x, x], [x, x])


def test_the_intermediate_is_kept_on_request():
    x, y = dygraph.to_variable([1.0, -3.0]), dygraph.to_variable([0.5, 1.0])
    out = dygraph.run_op(
        "fused_elemwise_activation", {"X": x, "Y": y},
        {"functor_list": ["relu", "elementwise_add"], "save_intermediate_out": True},
    )  # fmt: skip
    assert out["Out"].tolist() == [1.5, 0.0]
    assert out["IntermediateOut"].tolist() == [1.5, -2.0]
