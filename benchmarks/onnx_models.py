"""The networks of `networks.py` as ONNX models, as an exporter would write them."""

import networks


class Writer:
    """Appends nodes for one layer after the other; weights are taken from a list of arrays."""

    def __init__(self, arrays):
        self.arrays = iter(arrays)
        self.nodes, self.tensors = [], []

    def add(self, op, *inputs, **attributes):
        from onnx import helper

        out = f"y{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [out], **attributes))
        return out

    def constant(self, array):
        from onnx import numpy_helper

        name = f"w{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(array, name))
        return name

    def weights(self, count):
        return [self.constant(next(self.arrays)) for _ in range(count)]

    def chain(self, layers, x):
        for kind, *sizes in layers:
            x = getattr(self, kind.replace(" ", "_"))(x, *sizes)
        return x

    # One method for each kind of layer

    def conv(self, x, n_in, n_out, size, stride, padding, biased):
        return self.add(
            "Conv", x, *self.weights(1 + biased), kernel_shape=[size] * 2,
            strides=[stride] * 2, pads=[padding] * 4,
        )  # fmt: skip

    def norm(self, x, size):
        import numpy as np

        scale, bias = self.weights(2)
        mean = self.constant(np.zeros(size, np.float32))
        variance = self.constant(np.ones(size, np.float32))
        return self.add("BatchNormalization", x, scale, bias, mean, variance, epsilon=1e-5)

    def relu(self, x):
        return self.add("Relu", x)

    def pool(self, x, size, stride, padding):
        return self.add(
            "MaxPool", x, kernel_shape=[size] * 2, strides=[stride] * 2, pads=[padding] * 4
        )

    def flatten(self, x):
        return self.add("Flatten", x)

    def mean_of_pixels(self, x):
        return self.add("Flatten", self.add("GlobalAveragePool", x))

    def residual(self, x, main, way):
        return self.relu(self.add("Add", self.chain(main, x), self.chain(way, x)))

    def linear(self, x, n_in, n_out):
        weight, bias = self.weights(2)
        return self.add("Add", self.add("MatMul", x, weight), bias)

    def embedding(self, x, count, width, sparse):
        return self.add("Gather", *self.weights(1), x)

    def encoder(self, x, d, heads, inner, activation="relu"):
        import numpy as np

        shape = self.constant(np.array([0, 0, heads, d // heads], np.int64))
        joined = self.constant(np.array([0, 0, d], np.int64))
        scale = self.constant(np.float32((d // heads) ** -0.5))
        q, k, v = (self.add("Reshape", self.linear(x, d, d), shape) for _ in range(3))
        q = self.add("Transpose", q, perm=[0, 2, 1, 3])
        k = self.add("Transpose", k, perm=[0, 2, 3, 1])
        v = self.add("Transpose", v, perm=[0, 2, 1, 3])
        scores = self.add("Mul", self.add("MatMul", q, k), scale)
        seen = self.add("MatMul", self.add("Softmax", scores, axis=-1), v)
        seen = self.add("Reshape", self.add("Transpose", seen, perm=[0, 2, 1, 3]), joined)
        first = self.add("Add", x, self.linear(seen, d, d))
        hidden_weights, behind_weights = self.weights(2), self.weights(2)
        first = self.add("LayerNormalization", first, *self.weights(2), axis=-1, epsilon=1e-5)
        hidden = self.add("Add", self.add("MatMul", first, hidden_weights[0]), hidden_weights[1])
        hidden = self.add({"relu": "Relu", "gelu": "Gelu"}[activation], hidden)
        out = self.add("Add", self.add("MatMul", hidden, behind_weights[0]), behind_weights[1])
        out = self.add("Add", first, out)
        return self.add("LayerNormalization", out, *self.weights(2), axis=-1, epsilon=1e-5)


def model(network, arrays):
    """The bytes of a model of a `networks.Network` with these weights, from "x" to one output."""
    from onnx import TensorProto, helper

    writer = Writer(arrays)
    last = writer.chain(network.layers, "x")
    kind = TensorProto.INT64 if network.words else TensorProto.FLOAT
    graph = helper.make_graph(
        writer.nodes, "network",
        [helper.make_tensor_value_info("x", kind, ["n", *network.input[1:]])],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, None)], writer.tensors,
    )  # fmt: skip
    opset = [helper.make_opsetid("", 20)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()


def session(network, threads=1):
    """An ONNX Runtime session on `threads` threads, with the network's starting weights."""
    import onnxruntime

    arrays = [a for layer in networks.starting_weights(network.layers) for a in layer]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(
        model(network, arrays), options, providers=["CPUExecutionProvider"]
    )
