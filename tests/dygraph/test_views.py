"""HTML of variables, layers and optimizers, read back by a parser."""

import inspect
from html.parser import HTMLParser

import numpy as np
import pytest

import dygraph
from dygraph import nn

VOID = {"br"}
BASE = dygraph.optimizer.Optimizer
RULES = [v for n in dygraph.optimizer.__all__ for v in [getattr(dygraph.optimizer, n)]]
RULES = [v for v in RULES if isinstance(v, type) and issubclass(v, BASE) and v is not BASE]


class Page(HTMLParser):
    """Rows of tables, texts and counts of tags; every tag must be closed in its order."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.text, self.counts, self.open, self.bold = [], "", {}, [], []
        self.depth = 0  # of <details>
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if tag in VOID:
            return
        self.open.append(tag)
        self.depth = max(self.depth, self.open.count("details"))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        if self.open and self.open[-1] == "b":
            self.bold.append(data)


def page(x):
    return Page(x._repr_html_())


def var(values, dtype="float32"):
    return dygraph.to_variable(np.asarray(values, dtype))


class TestVariable:
    def test_values_and_statistics(self):
        shown = page(var([[1.0, 2.5], [-3.0, np.nan], [np.inf, 0.0]]))
        assert shown.rows == [["1", "2.5"], ["-3", "nan"], ["inf", "0"]]
        assert shown.bold == ["1 NaN", "1 inf"]
        for part in ("shape=(3, 2)", "dtype=float32", "min -3", "max 2.5", "mean 0.125"):
            assert part in shown.text
        assert "svg" not in shown.counts  # too few values for a picture

    def test_vector_and_number(self):
        assert page(var([1.0, 2.0])).rows == [["1", "2"]]
        assert page(var(7, "int64")).rows == [["7"]]
        assert page(var([True, False], "bool")).rows == [["True", "False"]]
        assert page(var(np.zeros((3, 0)))).rows == [[], [], []]
        assert page(var(np.zeros((0, 3)))).rows == []

    def test_large_is_cut(self):
        shown = page(var(np.arange(2000.0).reshape(20, 10, 10)))
        assert len(shown.rows) == 9 and shown.rows[0][:2] == ["0", "1"]
        assert shown.rows[0][8] == "…" and shown.rows[8] == ["… 200 rows"]
        assert "max 1999" in shown.text and "mean 999.5" in shown.text

    def test_histogram(self):
        shown = page(var([0.0] * 30 + [1.0] * 10))
        assert shown.counts["svg"] == 1 and shown.counts["rect"] == 2
        assert "histogram from 0 to 1" in shown.text
        assert "30" in shown.text and "std 0.433013" in shown.text
        assert "svg" not in page(var([2.0] * 100)).counts

    def test_statistics_over_blocks(self, monkeypatch):
        from dygraph.inspect import views

        values = np.random.default_rng(0).normal(3, 2, 1000)
        monkeypatch.setattr(views, "_BLOCK", 64)
        text = page(var(values, "float64")).text
        assert f"mean {values.mean():.6g}, std {values.std():.6g}" in text

    def test_lod(self):
        x = var(np.zeros((3, 1)))
        x.set_lod([[0, 1, 3]])
        assert "LoD [[0, 1, 3]], lengths [[1, 2]]" in page(x).text

    def test_selected_rows(self):
        x = dygraph.selected_rows([4, 1], 6, var([[1.0, 2.0], [3.0, 4.0]]))
        shown = page(x)
        assert shown.rows == [["4", "1", "2"], ["1", "3", "4"]]
        assert "selected rows: 2 of 6" in shown.text and "max 4" in shown.text

    def test_gradient_and_parameter(self):
        w = dygraph.Parameter([3.0, 4.0], name="w")
        (w * w * 0.5).backward()
        shown = page(w)
        assert shown.text.startswith("Parameter") and "stop_gradient=False" in shown.text
        assert "gradient: norm 5" in shown.text

    def test_texts_are_escaped(self):
        shown = page(dygraph.to_variable([1.0], name="<script>&'"))
        assert "script" not in shown.counts and 'name="<script>&\'"' in shown.text

    def test_without_values(self):
        assert "no value yet" in page(dygraph.Variable()).text

    @pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "uint8"])
    def test_other_types(self, dtype):
        shown = page(var([1, 2]).astype(dtype))
        assert shown.rows == [["1", "2"]] and "mean 1.5" in shown.text


class TestLayer:
    def test_tree(self):
        inner = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm(3))
        net = nn.Sequential(("<body>", inner), ("head", nn.Linear(3, 2, bias_attr=False)))
        net[1].weight.stop_gradient = True
        shown = page(net)
        assert shown.depth == 3 and shown.counts["details"] == shown.counts["summary"] == 5
        assert "body" not in shown.counts and "<body>: Sequential" in shown.text
        assert ["weight", "[4, 3]", "float32", "12", "trained"] in shown.rows
        assert ["bias", "[3]", "float32", "3", "trained"] in shown.rows
        assert ["weight", "[3, 2]", "float32", "6", "frozen"] in shown.rows
        assert sum(row[-1] == "buffer" for row in shown.rows) == 2
        # 12 + 3, scale and shift of 3, 6; running mean and variance of 3
        assert "27 parameters (21 trained), 132 B with buffers, training mode" in shown.text
        assert "eval mode" in page(net.eval()).text

    def test_shared_layer_and_none(self):
        part = nn.Linear(2, 2)
        shown = page(nn.Sequential(part, part, nn.ReLU()))
        assert "shared, see above" in shown.text
        assert "6 parameters (6 trained)" in shown.text

    def test_bare(self):
        assert "0 parameters" in page(dygraph.Layer()).text


class TestOptimizer:
    def test_facts(self):
        net = nn.Linear(3, 2)
        clip = dygraph.nn.ClipGradByGlobalNorm(2.5)
        sgd = dygraph.optimizer.Momentum(
            0.125, 0.9, parameter_list=net.parameters(), grad_clip=clip,
            regularization=dygraph.regularizer.L2Decay(0.01),
        )  # fmt: skip
        facts = dict(page(sgd).rows)
        assert facts["rule"] == "momentum" and facts["learning rate"] == "0.125"
        assert "clip_norm=2.5" in facts["clip"] and "0.01" in facts["regularization"]
        assert facts["parameters"] == "2 with 8 numbers" and facts["state"] == "none yet"
        net(var(np.ones((1, 3)))).sum().backward()
        sgd.step()
        assert dict(page(sgd).rows)["state"] == "2 variables, 32 B"

    def test_schedule_and_groups(self):
        a, b = nn.Linear(3, 2), nn.Linear(2, 1)
        schedule = dygraph.StepDecay(0.5, step_size=3)
        adam = dygraph.optimizer.Adam(
            schedule,
            parameter_list=[
                {"params": a.parameters()},
                {"params": b.parameters(), "learning_rate": 0.1, "weight_decay": 0.25},
            ],
        )
        rows = page(adam).rows
        assert ["learning rate", repr(schedule)] in rows
        assert ["0", "2", "8", "1", "the optimizer's"] in rows
        assert ["1", "2", "3", "0.1", "0.25"] in rows
        b(a(var(np.ones((1, 3))))).sum().backward()
        adam.step()
        assert "0.5 at the last step" in page(adam).text

    @pytest.mark.parametrize("kind", RULES, ids=lambda kind: kind.__name__)
    def test_every_optimizer(self, kind):
        more = {"momentum": 0.9} if "momentum" in inspect.signature(kind).parameters else {}
        made = kind(0.1, parameter_list=nn.Linear(2, 2).parameters(), **more)
        assert page(made).rows[0] == ["rule", kind.operator]
