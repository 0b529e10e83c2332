import numpy as np

from op_test import OpTest, rand


class TestSequenceSoftmax(OpTest):
    lod = [[0, 3, 3, 7]]
    shape = (7, 1)

    def setUp(self):
        self.op_type = "sequence_softmax"
        x = rand(*self.shape, low=-3, high=3)
        self.inputs = {"X": (x, self.lod)}
        out = np.exp(x)
        for a, b in zip(self.lod[-1][:-1], self.lod[-1][1:], strict=True):
            out[a:b] /= out[a:b].sum(axis=0)
        self.outputs = {"Out": (out, self.lod)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestSequenceSoftmaxFlat(TestSequenceSoftmax):
    shape = (7,)


class TestSequenceSoftmaxColumnsTwoLevels(TestSequenceSoftmax):
    lod = [[0, 1, 2], [0, 5, 7]]
    shape = (7, 3)
