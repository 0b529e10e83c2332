"""matmul_v2: NumPy's matmul, with the last two axes of either side transposed on request."""

import numpy as np

from op_test import OpTest, rand


def flipped(a, yes):
    return np.swapaxes(a, -1, -2) if yes and a.ndim > 1 else a


class TestMatmulV2(OpTest):
    shapes = (2, 3), (3, 4)
    flags = {}

    def setUp(self):
        self.op_type = "matmul_v2"
        self.inputs = {"X": rand(*self.shapes[0]), "Y": rand(*self.shapes[1])}
        self.attrs = dict(self.flags)

    def reference(self, inputs, attrs):
        x, y = (
            flipped(inputs["X"], attrs.get("trans_x")),
            flipped(inputs["Y"], attrs.get("trans_y")),
        )
        return {"Out": np.matmul(x, y)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Y"], "Out")

    def test_check_grad_ignore_x(self):
        self.check_grad(["Y"], "Out", no_grad_set={"X"})

    def test_check_grad_ignore_y(self):
        self.check_grad(["X"], "Out", no_grad_set={"Y"})


class TestMatmulV2TransX(TestMatmulV2):
    shapes = (3, 2), (3, 4)
    flags = {"trans_x": True}


class TestMatmulV2TransY(TestMatmulV2):
    shapes = (2, 3), (4, 3)
    flags = {"trans_y": True}


class TestMatmulV2TransBoth(TestMatmulV2):
    shapes = (3, 2), (4, 3)
    flags = {"trans_x": True, "trans_y": True}


class TestMatmulV2Vectors(TestMatmulV2):
    shapes = (3,), (3,)


class TestMatmulV2MatrixVector(TestMatmulV2):
    shapes = (2, 3), (3,)


class TestMatmulV2VectorMatrix(TestMatmulV2):
    shapes = (3,), (2, 3, 2)


class TestMatmulV2Batch(TestMatmulV2):
    shapes = (2, 2, 3), (2, 3, 2)


class TestMatmulV2BatchAndOne(TestMatmulV2):
    shapes = (2, 2, 3), (3, 2)


class TestMatmulV2BroadcastBatches(TestMatmulV2):
    shapes = (2, 1, 2, 3), (3, 4, 3)
    flags = {"trans_y": True}


class TestMatmulV2BroadcastBatchesTransX(TestMatmulV2):
    shapes = (3, 2), (2, 3, 2)
    flags = {"trans_x": True}


class TestMatmulV2InnerZero(TestMatmulV2):
    """A sum of nothing is zero."""

    shapes = (2, 0), (0, 3)
