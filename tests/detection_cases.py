"""Values of Paddle 2.6.2 for the operators of detection: cases, and their record.

    python tests/detection_cases.py        # by Paddle's Python: writes paddle.npz

`cases` draws the same inputs each time.
"""

from pathlib import Path

import numpy as np

RECORD = Path(__file__).parent / "operators" / "detection" / "paddle.npz"


def cases():
    """[(operator, inputs, attributes, outputs, LoD of inputs)]."""
    rng = np.random.RandomState(0)

    def f(*s):
        return rng.rand(*s).astype("float32")

    def boxes(*s, scale=1.0):
        a = f(*s, 2) * 0.7
        w = f(*s, 2) * 0.5 + 0.05
        return (np.concatenate([a, a + w], -1) * scale).astype("float32")

    fm, im = f(2, 3, 4, 5), f(2, 3, 32, 40)
    maps = {"Input": fm, "Image": im}
    v = [0.1, 0.1, 0.2, 0.2]
    out = []
    for order in (False, True):
        for mx in ([], [12.0, 20.0]):
            out.append(
                (
                    "prior_box",
                    maps,
                    dict(
                        min_sizes=[4.0, 10.0],
                        max_sizes=mx,
                        aspect_ratios=[2.0, 3.0],
                        variances=v,
                        flip=True,
                        clip=order,
                        step_w=0.0,
                        step_h=0.0,
                        offset=0.5,
                        min_max_aspect_ratios_order=order,
                    ),
                    ["Boxes", "Variances"],
                    {},
                )
            )
    out.append(
        (
            "density_prior_box",
            maps,
            dict(
                variances=v,
                clip=True,
                flatten_to_2d=False,
                step_w=0.0,
                step_h=0.0,
                offset=0.5,
                fixed_sizes=[4.0, 9.0],
                fixed_ratios=[1.0, 2.0],
                densities=[3, 2],
            ),
            ["Boxes", "Variances"],
            {},
        )
    )
    out.append(
        (
            "density_prior_box",
            maps,
            dict(
                variances=v,
                clip=False,
                flatten_to_2d=True,
                step_w=7.0,
                step_h=6.0,
                offset=0.3,
                fixed_sizes=[4.0],
                fixed_ratios=[1.0],
                densities=[2],
            ),
            ["Boxes", "Variances"],
            {},
        )
    )
    out.append(
        (
            "anchor_generator",
            dict(Input=fm),
            dict(
                anchor_sizes=[32.0, 50.0],
                aspect_ratios=[0.5, 1.0, 2.0],
                variances=v,
                stride=[16.0, 12.0],
                offset=0.5,
            ),
            ["Anchors", "Variances"],
            {},
        )
    )
    pb = boxes(4, scale=20)
    tb = boxes(3, scale=20)
    pv = f(4, 4) + 0.1
    for norm in (True, False):
        out.append(
            (
                "box_coder",
                dict(PriorBox=pb, PriorBoxVar=pv, TargetBox=tb),
                dict(code_type="encode_center_size", box_normalized=norm),
                ["OutputBox"],
                {},
            )
        )
        out.append(
            (
                "box_coder",
                dict(PriorBox=pb, PriorBoxVar=pv, TargetBox=f(3, 4, 4) - 0.5),
                dict(code_type="decode_center_size", box_normalized=norm, axis=0),
                ["OutputBox"],
                {},
            )
        )
        out.append(
            (
                "box_coder",
                dict(PriorBox=pb, TargetBox=f(4, 3, 4) - 0.5),
                dict(
                    code_type="decode_center_size",
                    box_normalized=norm,
                    axis=1,
                    variance=[0.1, 0.2, 0.3, 0.4],
                ),
                ["OutputBox"],
                {},
            )
        )
        out.append(("iou_similarity", dict(X=tb, Y=pb), dict(box_normalized=norm), ["Out"], {}))
    out.append(
        (
            "box_clip",
            dict(
                Input=boxes(5, scale=30) - 3,
                ImInfo=np.array([[20, 30, 2], [15.4, 12, 1]], "float32"),
            ),
            {},
            ["Output"],
            dict(Input=[[0, 2, 5]]),
        )
    )
    out.append(("polygon_box_transform", dict(Input=f(2, 8, 3, 4)), {}, ["Output"], {}))
    out.append(
        (
            "box_decoder_and_assign",
            dict(
                PriorBox=pb,
                PriorBoxVar=np.array(v, "float32"),
                TargetBox=f(4, 12) * 30 - 10,
                BoxScore=f(4, 3) - 0.2,
            ),
            dict(box_clip=2.0),
            ["DecodeBox", "OutputAssignBox"],
            {},
        )
    )
    d = f(7, 9)
    d[d < 0.2] = 0
    for t in ("bipartite", "per_prediction"):
        out.append(
            (
                "bipartite_match",
                dict(DistMat=d),
                dict(match_type=t, dist_threshold=0.6),
                ["ColToRowMatchIndices", "ColToRowMatchDist"],
                dict(DistMat=[[0, 3, 3, 7]]),
            )
        )
    out.append(
        (
            "bipartite_match",
            dict(DistMat=d),
            dict(match_type="bipartite"),
            ["ColToRowMatchIndices", "ColToRowMatchDist"],
            {},
        )
    )
    m = rng.randint(-1, 3, (2, 8)).astype("int32")
    out.append(
        (
            "mine_hard_examples",
            dict(ClsLoss=f(2, 8), MatchIndices=m, MatchDist=f(2, 8)),
            dict(
                neg_pos_ratio=1.0, neg_dist_threshold=0.7, sample_size=0, mining_type="max_negative"
            ),
            ["NegIndices", "UpdatedMatchIndices"],
            {},
        )
    )
    out.append(
        (
            "mine_hard_examples",
            dict(ClsLoss=f(2, 8), LocLoss=f(2, 8), MatchIndices=m, MatchDist=f(2, 8)),
            dict(
                neg_pos_ratio=1.0, neg_dist_threshold=0.7, sample_size=3, mining_type="hard_example"
            ),
            ["NegIndices", "UpdatedMatchIndices"],
            {},
        )
    )
    b = boxes(2, 30)
    s = f(2, 3, 30)
    base = dict(
        background_label=0,
        score_threshold=0.2,
        nms_top_k=20,
        nms_threshold=0.4,
        nms_eta=1.0,
        keep_top_k=12,
        normalized=True,
    )
    for op, outs in (
        ("multiclass_nms", ["Out"]),
        ("multiclass_nms2", ["Out", "Index"]),
        ("multiclass_nms3", ["Out", "Index", "NmsRoisNum"]),
    ):
        for ch in (
            {},
            dict(keep_top_k=-1, background_label=-1, nms_eta=0.7, nms_threshold=0.8),
            dict(normalized=False, nms_top_k=-1),
            dict(score_threshold=2.0),
        ):
            out.append((op, dict(BBoxes=b, Scores=s), {**base, **ch}, outs, {}))
        out.append(
            (
                op,
                dict(BBoxes=boxes(9, 3), Scores=f(9, 3)),
                base,
                outs,
                dict(BBoxes=[[0, 5, 9]], Scores=[[0, 5, 9]]),
            )
        )
    c = f(1, 12, 2) * 0.6
    q = np.stack(
        [
            c + np.array(o, "float32") + f(1, 12, 2) * 0.1
            for o in ([0, 0], [0.3, 0], [0.3, 0.3], [0, 0.3])
        ],
        2,
    ).reshape(1, 12, 8)
    out.append(
        (
            "multiclass_nms",
            dict(BBoxes=q, Scores=f(1, 2, 12)),
            {**base, "background_label": -1},
            ["Out"],
            {},
        )
    )
    out.append(
        (
            "locality_aware_nms",
            dict(BBoxes=b, Scores=f(2, 1, 30)),
            {**base, "background_label": -1},
            ["Out"],
            {},
        )
    )
    out.append(
        (
            "locality_aware_nms",
            dict(BBoxes=b, Scores=s),
            {**base, "background_label": -1, "nms_threshold": 0.2},
            ["Out"],
            {},
        )
    )
    out.append(
        (
            "locality_aware_nms",
            dict(BBoxes=q, Scores=f(1, 1, 12)),
            {**base, "background_label": -1},
            ["Out"],
            {},
        )
    )
    mb = dict(
        background_label=0,
        score_threshold=0.2,
        post_threshold=0.1,
        nms_top_k=20,
        keep_top_k=12,
        normalized=True,
        use_gaussian=False,
        gaussian_sigma=2.0,
    )
    for ch in (
        {},
        dict(use_gaussian=True),
        dict(normalized=False, keep_top_k=-1),
        dict(score_threshold=2.0),
    ):
        out.append(
            ("matrix_nms", dict(BBoxes=b, Scores=s), {**mb, **ch}, ["Out", "Index", "RoisNum"], {})
        )
    out.append(
        (
            "retinanet_detection_output",
            dict(
                BBoxes=[f(2, 5, 4) - 0.5, f(2, 3, 4) - 0.5],
                Scores=[f(2, 5, 2), f(2, 3, 2)],
                Anchors=[boxes(5, scale=40), boxes(3, scale=40)],
                ImInfo=np.array([[40, 50, 1], [30, 60, 1.5]], "float32"),
            ),
            dict(score_threshold=0.3, nms_top_k=6, nms_threshold=0.3, nms_eta=1.0, keep_top_k=7),
            ["Out"],
            {},
        )
    )
    det = np.concatenate([rng.randint(1, 4, (12, 1)), f(12, 1), boxes(12)], 1).astype("float32")
    gt = np.concatenate(
        [
            rng.randint(1, 4, (6, 1)),
            rng.randint(0, 2, (6, 1)),
            det[[0, 2, 4, 6, 8, 10], 2:] + f(6, 4) * 0.02,
        ],
        1,
    ).astype("float32")
    gt[:, 0] = det[[0, 2, 4, 6, 8, 10], 0]
    for ap in ("integral", "11point"):
        for diff in (True, False):
            out.append(
                (
                    "detection_map",
                    dict(DetectRes=det, Label=gt),
                    dict(
                        class_num=4,
                        background_label=0,
                        overlap_threshold=0.4,
                        evaluate_difficult=diff,
                        ap_type=ap,
                    ),
                    ["AccumPosCount", "AccumTruePos", "AccumFalsePos", "MAP"],
                    dict(DetectRes=[[0, 7, 12]], Label=[[0, 4, 6]]),
                )
            )
    out.append(("nms", dict(Boxes=boxes(20)), dict(iou_threshold=0.3), ["KeepBoxesIdxs"], {}))
    return out


def recorded():
    """[{output: (array, LoD)}] of the cases."""
    found = np.load(RECORD)
    return [
        {name: (found[f"{i}.{name}"], found[f"{i}.{name}.lod"].tolist()) for name in outputs}
        for i, (_, _, _, outputs, _) in enumerate(cases())
    ]


def computed(op, inputs, attrs, outputs, lods):
    """What Paddle computes: a program of one operator."""
    import paddle

    core, static = paddle.base.core, paddle.static
    program, feed, slots = static.Program(), {}, {}
    with static.program_guard(program):
        block = program.global_block()
        for slot, given in inputs.items():
            slots[slot] = []
            for i, array in enumerate(given if isinstance(given, list) else [given]):
                name, level = f"{slot}{i}", int(slot in lods)
                block.create_var(
                    name=name, shape=array.shape, dtype=str(array.dtype), lod_level=level
                )
                slots[slot].append(name)
                feed[name] = core.LoDTensor()
                feed[name].set(array, core.CPUPlace())
                if level:
                    feed[name].set_lod(lods[slot])
        made = {name: [block.create_var(name=f"out_{name}", dtype="float32")] for name in outputs}
        block.append_op(type=op, inputs=slots, outputs=made, attrs=attrs)
    fetched = [made[name][0] for name in outputs]
    return static.Executor(core.CPUPlace()).run(
        program, feed=feed, fetch_list=fetched, return_numpy=False
    )


def record():
    import paddle

    paddle.enable_static()
    found = {}
    for i, (op, inputs, attrs, outputs, lods) in enumerate(cases()):
        for name, value in zip(outputs, computed(op, inputs, attrs, outputs, lods), strict=True):
            found[f"{i}.{name}"] = np.array(value)
            found[f"{i}.{name}.lod"] = np.array(value.lod(), "int64")
    np.savez_compressed(RECORD, **found)


if __name__ == "__main__":
    record()
