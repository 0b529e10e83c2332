"""Losses, and values that tell how good a result is."""

from dygraph.codegen.operators.arithmetic import binary_kernel, map2
from dygraph.codegen.operators.linear import floats
from dygraph.codegen.registry import INTS, SUFFIX, function, operator

function(
    "cross_entropy",
    """
/* -log of the probability at the label; of soft labels the weighted sum of logs. */
static int cross_entropy_$S(Ctx *c, const Value *x, const Value *label, Value *y, int soft,
                            int64_t ignored) {
  Value t;
  int64_t rows, n, dims[RANK], at = 0;
  TRY(need(x, $E));
  TRY(need_any(label));
  CHECK(x->rank > 0 && (soft ? label->count == x->count && label->type == $E : 1), BAD_SHAPE);
  n = x->dims[x->rank - 1];
  rows = product(x->dims, 0, x->rank - 1);
  CHECK(soft || label->count == rows, BAD_SHAPE);
  for (int i = 0; i < x->rank; ++i) dims[i] = x->dims[i];
  dims[x->rank - 1] = 1;
  TRY(make(c, &t, $E, label->rank == x->rank || soft ? x->rank : x->rank - 1, dims,
           x->data && label->data));
  for (int64_t i = 0; t.data && i < rows; ++i) {
    const $T *row = (const $T *)x->data + i * n;
    $T sum = 0;
    if (!soft) {
      TRY(int_at(label, i, &at));
      CHECK(at == ignored || (at >= 0 && at < n), BAD_INDEX);
    }
    for (int64_t j = 0; j < n; ++j) {
      $T weight = soft ? ((const $T *)label->data)[i * n + j] : 1, l;
      if (soft ? weight == 0 : j != at || at == ignored) continue;
      l = log$m(row[j]);
      sum -= weight * (isinf(l) ? copysign$m(($T)1e20, l) : l);
    }
    (($T *)t.data)[i] = sum;
  }
  return put(c, y, &t);
}
""",
)
function(
    "softmax_loss",
    """
static int softmax_loss_$S(Ctx *c, const Value *x, const Value *label, Value *softmax, Value *loss,
                           int64_t where, int soft, int64_t ignored) {
  Value t, l;
  int64_t dims[RANK], size, inner, rows;
  int axis;
  TRY(need(x, $E));
  TRY(need_any(label));
  TRY(axis_of(where, x->rank, &axis));
  size = x->dims[axis];
  inner = product(x->dims, axis + 1, x->rank);
  rows = size > 0 ? x->count / size : 0;
  CHECK(soft ? label->count == x->count && label->type == $E : label->count == rows, BAD_SHAPE);
  for (int i = 0; i < x->rank; ++i) dims[i] = i == axis ? 1 : x->dims[i];
  TRY(make(c, &t, $E, x->rank, x->dims, x->data != NULL));
  TRY(make(c, &l, $E, x->rank, dims, x->data && label->data && t.data));
  if (t.data && l.data && rows > 0) {
    const $T *d = (const $T *)x->data;
    $T *to = ($T *)l.data;
    softmax_rows_$S(rows, d, ($T *)t.data, to, size, inner);
    for (int64_t r = 0; r < rows; ++r) {
      int64_t first = r / inner * size * inner + r % inner, at = 0;
      if (soft) {
        $T sum = 0;
        for (int64_t j = 0; j < size; ++j) {
          $T weight = ((const $T *)label->data)[first + j * inner];
          if (weight != 0) sum = $MAD(weight, to[r] - d[first + j * inner], sum);
        }
        to[r] = sum;
        continue;
      }
      TRY(int_at(label, r, &at));
      CHECK(at == ignored || (at >= 0 && at < size), BAD_INDEX);
      to[r] = at == ignored ? 0 : to[r] - d[first + at * inner];
    }
  } else if (rows > 0) {
    t.data = l.data = NULL;
  }
  TRY(put(c, softmax, &t));
  return put(c, loss, &l);
}
""",
)
function(
    "accuracy",
    """
static int accuracy(Ctx *c, const Value *indices, const Value *label, Value *share, Value *right,
                    Value *total, int rank) {
  Value made[3];
  int64_t one = 1, rows, k, hits = 0;
  Value *to[3] = {share, right, total};
  TRY(need_any(indices));
  TRY(need_any(label));
  CHECK(indices->rank == 2 && label->count == indices->dims[0], BAD_SHAPE);
  rows = indices->dims[0];
  k = indices->dims[1];
  TRY(make(c, &made[0], F32, rank, &one, indices->data && label->data));
  TRY(make(c, &made[1], I32, rank, &one, indices->data && label->data));
  TRY(make(c, &made[2], I32, rank, &one, 1));
  if (made[0].data && made[1].data) {
    for (int64_t i = 0; i < rows; ++i) {
      int64_t wanted, found;
      TRY(int_at(label, i, &wanted));
      for (int64_t j = 0; j < k; ++j) {
        TRY(int_at(indices, i * k + j, &found));
        if (found != wanted) continue;
        ++hits;
        break;
      }
    }
    *(float *)made[0].data = rows > 0 ? (float)hits / (float)rows : 0;
    *(int32_t *)made[1].data = (int32_t)hits;
  }
  if (made[2].data) *(int32_t *)made[2].data = (int32_t)rows;
  for (int i = 0; i < 3; ++i) {
    if (to[i]) {
      TRY(put(c, to[i], &made[i]));
    } else {
      drop(c, &made[i]);
    }
  }
  return PREFIX_OK;
}
""",
)
function(
    "BceLog",
    """
static inline $T BceLog_$S($T x) {
  $T l = log$m(x);
  return l < -100 ? -100 : l;
}
""",
)
_PAIRS = {  # operator: (slots, output, formula of a and b)
    "bce_loss": ("X", "Label", "Out", "(b - 1) * BceLog_$S(1 - a) - b * BceLog_$S(a)"),
    "hinge_loss": ("Logits", "Labels", "Loss",
                   "1 - a * (2 * b - 1) < 0 ? 0 : 1 - a * (2 * b - 1)"),
}  # fmt: skip
for _name, (_, _, _, _formula) in _PAIRS.items():
    binary_kernel(f"g_{_name}", _formula)


def _pair(name):
    first, second, result, _ = _PAIRS[name]

    def emit(e, call):
        x, y = call.input(first), call.input(second)
        floats(call, x, y)
        map2(e, call, f"g_{name}", x, y, call.output(result))

    return emit


for _name in _PAIRS:
    operator(_name)(_pair(_name))


@operator("cross_entropy", "cross_entropy2")
def cross_entropy(e, call):
    x, label, y = call.input("X"), call.input("Label"), call.output("Y")
    dtype = floats(call, x)
    soft = int(call.attr("soft_label", False))
    if not soft and label.dtype not in INTS:
        call.refuse(f"labels of {label.dtype}")
    e.call(f"cross_entropy_{SUFFIX[dtype]}", e.ref(x), e.ref(label), e.ref(y), soft,
           call.attr("ignore_index"))  # fmt: skip
    e.set_type(y, dtype)


@operator("softmax_with_cross_entropy",
          exact=lambda e, call: "soft labels" if call.attr("soft_label") else None)  # fmt: skip
def softmax_with_cross_entropy(e, call):
    x, label = call.input("Logits"), call.input("Label")
    softmax, loss = call.output("Softmax"), call.output("Loss")
    dtype = floats(call, x)
    if not call.attr("use_softmax"):
        call.refuse("without softmax")
    soft = int(call.attr("soft_label"))
    if not soft and label.dtype not in INTS:
        call.refuse(f"labels of {label.dtype}")
    e.call(f"softmax_loss_{SUFFIX[dtype]}", *map(e.ref, (x, label, softmax, loss)),
           call.attr("axis"), soft, call.attr("ignore_index"))  # fmt: skip
    e.set_type(softmax, dtype)
    e.set_type(loss, dtype)


@operator("accuracy", exact=True)
def accuracy(e, call):
    outs = [call.optional_output(s) for s in ("Accuracy", "Correct", "Total")]
    e.call("accuracy", e.ref(call.input("Indices")), e.ref(call.input("Label")), *map(e.ref, outs),
           next(len(o.var.shape) for o in outs if o is not None))  # fmt: skip
    for out, dtype in zip(outs, ("float32", "int32", "int32"), strict=True):
        if out is not None:
            e.set_type(out, dtype)
