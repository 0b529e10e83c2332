"""static.layers for regions and proposals: programs give what eager calls give, and learn."""

import numpy as np
import pytest

import dygraph
from dygraph import static, to_variable
from dygraph.static import layers

RNG = np.random.default_rng(11)
X = RNG.normal(size=(2, 8, 6, 6)).astype("float32")
ROIS = np.array([[0, 0, 4, 5], [1, 2, 5, 5], [0.5, 1, 3, 3]], "float32")
LOD = [[0, 1, 3]]


def in_program(make, feeds):
    """What make(variables) gives in a program; feeds: {name: (array, lod or None)}."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        variables = [
            static.data(name, [None, *array.shape[1:]], str(array.dtype), lod_level=len(lod or []))
            for name, (array, lod) in feeds.items()
        ]
        results = make(*variables)
        exe = static.Executor()
        exe.run(startup)
        values = {n: to_variable(a, lod=lod) if lod else a for n, (a, lod) in feeds.items()}
        return exe.run(main, feed=values, fetch_list=list(results))


REGIONS = {
    "roi_align": lambda x, rois: [layers.roi_align(x, rois, 2, 3, 0.8, 2)],
    "roi_pool": lambda x, rois: [layers.roi_pool(x, rois, 2, 3, 0.8)],
    "psroi_pool": lambda x, rois: [layers.psroi_pool(x, rois, 2, 0.8, 2, 2)],
    "prroi_pool": lambda x, rois: [layers.prroi_pool(x, rois, 0.8, 2, 3)],
    "distribute": lambda x, rois: layers.distribute_fpn_proposals(rois, 2, 3, 3, 4)[0],
}


@pytest.mark.parametrize("name", REGIONS)
def test_programs_equal_eager_calls(name):
    make = REGIONS[name]
    eager = [v.numpy() for v in make(to_variable(X), to_variable(ROIS, lod=LOD))]
    got = in_program(make, {"x": (X, None), "rois": (ROIS, LOD)})
    for value, expected in zip(got, eager, strict=True):
        np.testing.assert_array_equal(value, expected)


def test_targets_of_anchors_choose_the_predictions():
    anchors = np.array([[0, 0, 9, 9], [30, 30, 39, 39], [20, 20, 29, 29]], "float32")
    truth = np.array([[20, 20, 29, 29]], "float32")
    location = np.arange(12, dtype="float32").reshape(1, 3, 4)
    logits = np.array([[[0.5], [1.5], [2.5]]], "float32")
    feeds = {
        "location": (location, None), "logits": (logits, None), "anchors": (anchors, None),
        "truth": (truth, [[0, 1]]), "crowd": (np.zeros((1, 1), "int32"), [[0, 1]]),
        "info": (np.array([[50, 50, 1]], "float32"), None),
    }  # fmt: skip

    def make(location, logits, anchors, truth, crowd, info):
        return layers.rpn_target_assign(
            location, logits, anchors, anchors, truth, crowd, info, use_random=False
        )

    score, place, label, target, weight = in_program(make, feeds)
    assert score.ravel().tolist() == [2.5, 0.5, 1.5]
    assert place.tolist() == [[8, 9, 10, 11]]
    assert label.ravel().tolist() == [1, 0, 0]
    assert target.tolist() == [[0, 0, 0, 0]]
    assert weight.tolist() == [[1, 1, 1, 1]]


@pytest.mark.parametrize("modulated", [True, False])
def test_a_deformable_convolution_learns(modulated):
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [2, 8, 6, 6], "float32")
        offset = layers.conv2d(x, 18, 3, padding=1, param_attr=dygraph.initializer.Constant(0.01))
        mask = layers.sigmoid(layers.conv2d(x, 9, 3, padding=1)) if modulated else None
        made = layers.deformable_conv(x, offset, mask, 4, 3, padding=1, modulated=modulated)
        assert made.shape == (2, 4, 6, 6)
        loss = layers.reduce_mean(layers.square(made - 1.0))
        static.optimizer.SGD(0.1).minimize(loss)
        exe = static.Executor()
        exe.run(startup)
        losses = [exe.run(main, feed={"x": X}, fetch_list=[loss])[0].item() for _ in range(20)]
    assert losses[-1] < 0.8 * losses[0]


def test_what_does_not_fit_names_the_argument():
    x, rois = to_variable(X), to_variable(ROIS, lod=LOD)
    with pytest.raises(ValueError, match="position_sensitive"):
        layers.deformable_roi_pooling(
            x, rois, dygraph.zeros([3, 2, 3, 3]), pooled_height=3, pooled_width=3,
            position_sensitive=True,
        )  # fmt: skip
    with pytest.raises(ValueError, match="multi_scores"):
        layers.collect_fpn_proposals([rois, rois], [rois], 2, 3, 5)
    with pytest.raises(ValueError, match="is_cascade_rcnn"):
        layers.generate_proposal_labels(
            rois, rois, rois, rois, rois, class_nums=2, is_cascade_rcnn=True
        )
