import numpy as np
import pytest

import dygraph
from dygraph import ops
from op_test import OpTest

SUMS = ("AccumulatePositivePair", "AccumulateNegativePair", "AccumulateNeutralPair")


class TestPairs(OpTest):
    op_type = "positive_negative_pair"
    attrs = {"column": -1}

    def setUp(self):
        self.inputs = {
            "Score": np.random.randint(0, 5, [12, 2]) / 4.0,
            "Label": np.random.randint(0, 3, [12, 1]) * 1.0,
            "QueryID": np.random.randint(0, 3, [12, 1]),
        }

    def reference(self, inputs, attrs):
        score, label = inputs["Score"][:, attrs["column"]], np.ravel(inputs["Label"])
        query, weight = np.ravel(inputs["QueryID"]), np.ravel(inputs.get("Weight", np.ones(12)))
        counts = [np.sum(inputs.get(name, 0.0)) for name in SUMS]
        for i in range(len(score)):
            for j in range(i):
                if query[i] != query[j] or label[i] == label[j]:
                    continue
                pair = (weight[i] + weight[j]) / 2
                agree = (score[i] - score[j]) * (label[i] - label[j]) > 0
                counts[0 if agree else 1] += pair
                counts[2] += pair * (score[i] == score[j])
        names = ("PositivePair", "NegativePair", "NeutralPair")
        return {name: np.array([count]) for name, count in zip(names, counts, strict=True)}

    def test_check_output(self):
        self.check_output()


class TestWeightedPairs(TestPairs):
    attrs = {"column": 0}
    leave_out = {"empty": "one weight for each of no rows"}

    def setUp(self):
        super().setUp()
        self.inputs["Weight"] = np.random.random([12, 1])
        self.inputs.update({name: np.array([i + 5.0]) for i, name in enumerate(SUMS)})


def test_what_does_not_fit_is_refused():
    score, ids = dygraph.ones([2, 1]), dygraph.to_variable([[0], [0]])
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="column must be one of the 1"):
        ops.positive_negative_pair(score, score, ids, column=1)
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="must be given together"):
        ops.positive_negative_pair(score, score, ids, accumulate_neutral_pair=dygraph.ones([1]))
