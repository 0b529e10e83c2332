"""einsum: sums of products over labelled axes."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import class_name, op_case
from op_test import rand

ops = _core.ops

EQUATIONS = [
    ("", "ij,jk->ik", [(2, 3), (3, 4)]),
    ("Implicit", "ij,jk", [(2, 3), (3, 4)]),
    ("Spaces", " i j , j k -> k i ", [(2, 3), (3, 4)]),
    ("Transpose", "ij->ji", [(2, 3)]),
    ("ImplicitTranspose", "ba", [(2, 3)]),
    ("Same", "ij->ij", [(2, 3)]),
    ("Sum", "ij->", [(2, 3)]),
    ("SumOne", "ij->i", [(2, 3)]),
    ("Trace", "ii", [(3, 3)]),
    ("Diagonal", "ii->i", [(3, 3)]),
    ("DiagonalOfStack", "ijj->ji", [(2, 3, 3)]),
    ("Outer", "i,j->ij", [(2,), (3,)]),
    ("Dot", "i,i->", [(4,), (4,)]),
    ("Elementwise", "ij,ij->ij", [(2, 3), (2, 3)]),
    ("Batch", "bij,bjk->bik", [(2, 2, 3), (2, 3, 2)]),
    ("BatchTransposed", "bij,bkj->bki", [(2, 2, 3), (2, 4, 3)]),
    ("SummedFirst", "ji,jk->ik", [(3, 2), (3, 4)]),
    ("TwoSummed", "ijk,jkl->il", [(2, 3, 2), (3, 2, 2)]),
    ("OnlyInOne", "ij,k->i", [(2, 3), (2,)]),
    ("Three", "ij,jk,kl->il", [(2, 3), (3, 2), (2, 4)]),
    ("Bilinear", "bn,anm,bm->ba", [(2, 3), (4, 3, 2), (2, 2)]),
    ("SharedByThree", "ai,bi,ci->abc", [(2, 3), (3, 3), (2, 3)]),
    ("Ellipsis", "...ij,...jk->...ik", [(2, 2, 3), (2, 3, 2)]),
    ("EllipsisBroadcast", "...ij,...jk->...ik", [(3, 1, 2, 2), (2, 2, 3)]),
    ("EllipsisImplicit", "...i,i", [(2, 3, 4), (4,)]),
    ("EllipsisBack", "i...->...", [(2, 3, 2)]),
    ("EllipsisAlone", "...", [(2, 3)]),
    ("SizeOneBroadcasts", "ij,ij->ij", [(2, 1), (1, 3)]),
    ("SizeOneSummed", "ij,jk->ik", [(2, 1), (3, 2)]),
    ("OnesEverywhere", "ij,jk->ik", [(1, 1), (1, 1)]),
    ("DiagonalTimes", "ii,i->i", [(3, 3), (3,)]),
    ("Scalars", ",->", [(), ()]),
    ("Image", "nchw,oc->nohw", [(2, 3, 2, 2), (2, 3)]),
    ("Attention", "bqhd,bkhd->bhqk", [(2, 2, 2, 3), (2, 3, 2, 3)]),
]


def einsum(inputs, attrs):
    out = np.einsum(attrs["equation"].replace(" ", ""), *inputs["Operands"])
    return {"Out": np.asarray(out)}


for suffix, equation, shapes in EQUATIONS:
    name = class_name("einsum", suffix)
    globals()[name] = op_case(
        name,
        "einsum",
        lambda shapes=shapes: {"Operands": [(f"x{i}", rand(*s)) for i, s in enumerate(shapes)]},
        {"equation": equation},
        einsum,
        grad=[f"x{i}" for i in range(len(shapes))],
    )


def variables(*shapes):
    return [_core.to_variable(np.ones(s)) for s in shapes]


def test_gradient_of_one_of_two_keeps_only_what_it_reads():
    x, w = variables((2, 3), (3, 4))
    w.stop_gradient = False
    out = ops.einsum([x, w], equation="ij,jk->ik")
    (g,) = _core.grad([out], [w], [], True, True, False)
    np.testing.assert_array_equal(g.numpy(), np.full((3, 4), 2.0))


def test_result_has_storage_of_its_own():
    (x,) = variables((2, 3))
    y = ops.einsum([x], equation="ij->ij")
    assert _core.storage_id(x) != _core.storage_id(y)


def test_long_chain_takes_the_small_product_first():
    """(1, n) times n matrices stays a row: the sizes would not fit into memory otherwise."""
    n = 30
    vectors = variables(*[(n,)] * 8)
    got = ops.einsum(vectors, equation="a,b,c,d,e,f,g,h->").numpy()
    assert got == float(n) ** 8


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk->ik", [(2, 3)], "a term for each"),
        ("ij", [(2,)], "a letter for each axis"),
        ("i1->i", [(2, 2)], "made of letters"),
        ("i-j", [(2, 2)], "made of letters"),
        ("ij->ijk", [(2, 3)], "must stand in an operand"),
        ("ij->ii", [(2, 3)], "must not repeat"),
        ("ii->i", [(2, 3)], "repeated letter must have one size"),
        ("ij,jk->ik", [(2, 3), (4, 2)], "one size, or 1, got 3 and 4"),
        ("......", [(2, 3)], "one ellipsis"),
        ("...i->i", [(2, 3)], "under the ellipsis"),
        ("...ij->...", [(2,)], "a letter for each axis"),
        ("ij->i->j", [(2, 3)], "made of letters"),
    ],
)
def test_errors(equation, shapes, message):
    with pytest.raises(ValueError, match=message):
        ops.einsum(variables(*shapes), equation=equation)
