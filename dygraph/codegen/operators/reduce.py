"""Reductions, sorted elements, running sums. The order of sums is that of csrc/kernels/reduce.h."""

from dygraph.codegen.operators.create import cast_to, dtype_of
from dygraph.codegen.operators.shape import open_ints
from dygraph.codegen.registry import FLOATS, INTS, NUMBERS, SUFFIX, function, kernel, operator

function(
    "Plan",
    """
typedef struct { /* as the library cuts a reduction: see reduce.h there */
  int64_t kept[RANK], kept_x[RANK], kept_y[RANK], runs[RANK], run_x[RANK];
  int kept_rank, run_rank;
  int64_t kept_count, run_count, count, stride, width, run_blocks, block, group, groups, all;
} Plan;
""",
)
function(
    "plan",
    """
static void plan(int rank, const int64_t *dims, const int *reduced, Plan *p) {
  int64_t xs[RANK], ys[RANK], x = 1, y = 1, tile, elements;
  memset(p, 0, sizeof *p);
  for (int i = rank - 1; i >= 0; --i) {
    xs[i] = x;
    ys[i] = y;
    x *= dims[i];
    if (!reduced[i]) y *= dims[i];
  }
  for (int i = 0; i < rank; ++i) {
    if (dims[i] == 1) continue;
    if (reduced[i]) {
      int r = p->run_rank;
      if (r > 0 && p->run_x[r - 1] == xs[i] * dims[i]) {
        p->runs[r - 1] *= dims[i];
        p->run_x[r - 1] = xs[i];
      } else {
        p->runs[r] = dims[i];
        p->run_x[p->run_rank++] = xs[i];
      }
    } else {
      int r = p->kept_rank;
      if (r > 0 && p->kept_x[r - 1] == xs[i] * dims[i] && p->kept_y[r - 1] == ys[i] * dims[i]) {
        p->kept[r - 1] *= dims[i];
        p->kept_x[r - 1] = xs[i];
        p->kept_y[r - 1] = ys[i];
      } else {
        p->kept[r] = dims[i];
        p->kept_x[r] = xs[i];
        p->kept_y[p->kept_rank++] = ys[i];
      }
    }
  }
  p->count = p->stride = p->width = 1;
  if (p->kept_rank > 0 && p->kept_x[p->kept_rank - 1] == 1) p->width = p->kept[--p->kept_rank];
  if (p->run_rank > 0) {
    --p->run_rank;
    p->count = p->runs[p->run_rank];
    p->stride = p->run_x[p->run_rank];
  } else {
    p->stride = p->width == 1 ? 1 : p->width;
  }
  p->kept_count = product(p->kept, 0, p->kept_rank);
  p->run_count = product(p->runs, 0, p->run_rank);
  tile = p->width < 256 ? p->width : 256;
  p->block = 16384 / tile > 64 ? 16384 / tile : 64;
  p->run_blocks = (p->count + p->block - 1) / p->block;
  elements = (p->block < p->count ? p->block : p->count) * tile;
  p->group = 16384 / elements > 1 ? 16384 / elements : 1;
  p->groups = (p->run_count * p->run_blocks + p->group - 1) / p->group;
  p->all = p->count * p->run_count;
}
""",
)

_LOOPS = """
static inline TOTAL NAME_lanes_$S(const $T *x, int64_t whole, int lanes) {
  LANE lane[64];
  TOTAL total[16];
  for (int j = 0; j < lanes; ++j) lane[j] = INIT;
  if (lanes == 64) {
    for (int64_t i = 0; i < whole; i += 64) {
      for (int j = 0; j < 64; ++j) lane[j] = NAME_add_$S(lane[j], x[i + j]);
    }
  } else {
    for (int64_t i = 0; i < whole; i += 16) {
      for (int j = 0; j < 16; ++j) lane[j] = NAME_add_$S(lane[j], x[i + j]);
    }
  }
  for (int width = lanes / 2; width >= 16; width /= 2) {
    for (int j = 0; j < width; ++j) lane[j] = NAME_add_$S(lane[j], lane[j + width]);
  }
  for (int j = 0; j < 16; ++j) total[j] = (TOTAL)lane[j];
  for (int width = 8; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) total[j] = NAME_merge_$S(total[j], total[j + width]);
  }
  return total[0];
}
static inline TOTAL NAME_run_$S(const $T *x, int64_t n) {
  TOTAL total = INIT;
  LANE lane = INIT;
  while (n >= 512) {
    int64_t part = (n < 4096 ? n : 4096) / 64 * 64;
    total = NAME_merge_$S(total, NAME_lanes_$S(x, part, 64));
    x += part;
    n -= part;
  }
  if (n >= 16) {
    int64_t part = n / 16 * 16;
    total = NAME_merge_$S(total, NAME_lanes_$S(x, part, 16));
    x += part;
    n -= part;
  }
  for (int64_t i = 0; i < n; ++i) lane = NAME_add_$S(lane, x[i]);
  return NAME_merge_$S(total, (TOTAL)lane);
}
static inline LANE NAME_row_$S(const $T *x, int64_t n) { /* n <= 4096, in 16 lanes */
  LANE lane[16], wide[64];
  int64_t wide_end = n / 64 * 64, end = n / 16 * 16, last = n < 16 ? 0 : n - 16;
  for (int j = 0; j < 16; ++j) {
    lane[j] = INIT;
    if (last + j >= end && last + j < n) lane[j] = NAME_add_$S(lane[j], x[last + j]);
  }
  if (wide_end > 0) {
    for (int j = 0; j < 64; ++j) wide[j] = NAME_add_$S(INIT, x[j]);
    for (int64_t i = 64; i < wide_end; i += 64) {
      for (int j = 0; j < 64; ++j) wide[j] = NAME_add_$S(wide[j], x[i + j]);
    }
    for (int j = 0; j < 32; ++j) wide[j] = NAME_add_$S(wide[j], wide[j + 32]);
    for (int j = 0; j < 16; ++j) lane[j] = NAME_add_$S(lane[j], NAME_add_$S(wide[j], wide[j + 16]));
  }
  for (int64_t i = wide_end; i < end; i += 16) {
    for (int j = 0; j < 16; ++j) lane[j] = NAME_add_$S(lane[j], x[i + j]);
  }
  for (int n16 = 8; n16 > 0; n16 /= 2) {
    for (int j = 0; j < n16; ++j) lane[j] = NAME_add_$S(lane[2 * j], lane[2 * j + 1]);
  }
  return lane[0];
}
static inline void NAME_columns_$S(const $T *x, int64_t rows, int64_t stride, int64_t width,
                            TOTAL *total) {
  LANE lane[256];
  int64_t fold = stride == width && width <= 32 ? 64 / width : 1, wide = fold * width;
  for (int64_t r = 0; r < rows;) {
    int64_t stop = rows < r + 64 * fold ? rows : r + 64 * fold;
    for (int64_t j = 0; j < wide; ++j) lane[j] = INIT;
    for (; r + fold <= stop; r += fold) {
      const $T *row = x + r * stride;
      for (int64_t j = 0; j < wide; ++j) lane[j] = NAME_add_$S(lane[j], row[j]);
    }
    for (; r < stop; ++r) {
      for (int64_t j = 0; j < width; ++j) lane[j] = NAME_add_$S(lane[j], x[r * stride + j]);
    }
    for (int64_t f = 0; f < fold; ++f) {
      for (int64_t j = 0; j < width; ++j) {
        total[j] = NAME_merge_$S(total[j], (TOTAL)lane[f * width + j]);
      }
    }
  }
}
static inline void NAME_group_$S(const Plan *p, const $T *x, int64_t width, int64_t group,
                                 TOTAL *total) {
  int64_t begin = group * p->group, end = begin + p->group, most = p->run_count * p->run_blocks;
  int together = ROWS_PAY && p->width == 1 && p->stride == 1 && p->run_rank == 1 &&
                 p->count >= 16 && p->count <= 4096;
  for (int64_t j = 0; j < width; ++j) total[j] = INIT;
  for (int64_t b = begin; b < (end < most ? end : most); ++b) {
    int64_t run = b / p->run_blocks, first = b % p->run_blocks * p->block, n = p->count - first;
    const $T *from = x + first * p->stride;
    if (n > p->block) n = p->block;
    for (int d = p->run_rank - 1; d >= 0; --d) {
      from += run % p->runs[d] * p->run_x[d];
      run /= p->runs[d];
    }
    if (together) {
      *total = NAME_merge_$S(*total, (TOTAL)NAME_row_$S(from, n));
    } else if (p->width == 1 && p->stride == 1) {
      *total = NAME_merge_$S(*total, NAME_run_$S(from, n));
    } else {
      NAME_columns_$S(from, n, p->stride, width, total);
    }
  }
}
"""
_TASKS = """
/* result i: one row, or a tile of columns of one kept element */
const $T *x = X;
$T *y = Y;
TOTAL total[256], next[256];
int64_t tiles = (p.width + 255) / 256, column = i % tiles * 256, k = i / tiles;
int64_t width = p.width - column < 256 ? p.width - column : 256, n = p.count;
if (p.stride == 1 && p.width == 1 && p.run_count == 1 && n <= 4096) {
  int64_t rows = p.kept_count, whole = n >= 16 ? rows : rows - 15;
  x += i * n;
  if (!ROWS_PAY || rows < 4 || (n < 16 && CHEAP)) whole = 0;
  total[0] = INIT;
  if (i < whole) {
    total[0] = NAME_merge_$S(total[0], (TOTAL)NAME_row_$S(x, n));
  } else if (n < 16) {
    LANE lane = INIT;
    for (int64_t j = 0; j < n; ++j) lane = NAME_add_$S(lane, x[j]);
    total[0] = NAME_merge_$S(total[0], (TOTAL)lane);
  } else {
    total[0] = NAME_merge_$S(total[0], NAME_run_$S(x, n));
  }
  Y[i] = ($T)FINISH(total[0], p.all);
} else {
  for (int d = p.kept_rank - 1; d >= 0; --d) {
    x += k % p.kept[d] * p.kept_x[d];
    y += k % p.kept[d] * p.kept_y[d];
    k /= p.kept[d];
  }
  for (int64_t g = 0; g < p.groups; ++g) {
    NAME_group_$S(&p, x + column, width, g, g == 0 ? total : next);
    for (int64_t j = 0; g > 0 && j < width; ++j) total[j] = NAME_merge_$S(total[j], next[j]);
  }
  for (int64_t j = 0; j < width; ++j) y[column + j] = ($T)FINISH(total[j], p.all);
}
"""
_REDUCE = """
static int NAME_$S(Ctx *c, const Value *x, Value *out, int n, const int64_t *axes, int keep) {
  Value t;
  Plan p;
  int reduced[RANK], rank = 0;
  int64_t dims[RANK];
  TRY(need(x, $E));
  for (int i = 0; i < x->rank; ++i) reduced[i] = n == 0;
  for (int i = 0; i < n; ++i) {
    int at;
    TRY(axis_of(axes[i], x->rank, &at));
    CHECK(!reduced[at], BAD_SHAPE);
    reduced[at] = 1;
  }
  for (int i = 0; i < x->rank; ++i) {
    if (!reduced[i] || keep) dims[rank++] = reduced[i] ? 1 : x->dims[i];
  }
  TRY(make(c, &t, $E, rank, dims, x->data != NULL));
  if (t.data && t.count > 0 && x->count == 0) {
    for (int64_t i = 0; i < t.count; ++i) (($T *)t.data)[i] = ($T)FINISH((TOTAL)INIT, 0);
  } else if (t.data && t.count > 0) {
    plan(x->rank, x->dims, reduced, &p);
    NAME_task_$S(p.kept_count * ((p.width + 255) / 256), (const $T *)x->data, ($T *)t.data, p);
  }
  return put(c, out, &t);
}
"""
# name: (lane, total, neutral element, addition, finish, cheap)
_SUM = ("$L", "$A", "0", "a + b")
_REDUCTIONS = {
    "reduce_sum": (*_SUM, "(a)", 1),
    "reduce_mean": (*_SUM, "MEAN_$S", 1),
    "reduce_prod": ("$L", "$A", "1", "a * b", "(a)", 1),
    "reduce_max": ("$T", "$T", "$LOW", "a != a ? a : a > b ? a : b", "(a)", 0),
    "reduce_min": ("$T", "$T", "$HIGH", "a != a ? a : a < b ? a : b", "(a)", 0),
    "reduce_any": ("uint8_t", "uint8_t", "0", "a | (b != 0)", "(a)", 1),
    "reduce_all": ("uint8_t", "uint8_t", "1", "a & (b != 0)", "(a)", 1),
}
for _s in ("f32", "f64"):
    function(f"MEAN_{_s}", f"#define MEAN_{_s}(a, n) ((a) / (double)(n))")
for _s in ("i32", "i64"):
    function(f"MEAN_{_s}", f"#define MEAN_{_s}(a, n) ((n) == 0 ? 0 : (int64_t)(a) / (n))")
for _name, (_lane, _total, _init, _add, _finish, _cheap) in _REDUCTIONS.items():

    def _fill(text, name=_name, lane=_lane, total=_total, init=_init, finish=_finish, cheap=_cheap):
        finish = "MEAN_$S(" if finish == "MEAN_$S" else "FIRST("
        pays = "(sizeof(LANE) == 4 && sizeof($T) == 4)"
        text = text.replace("FINISH(", finish).replace("ROWS_PAY", pays)
        text = text.replace("CHEAP", str(cheap)).replace("INIT", init).replace("NAME", name)
        return text.replace("LANE", lane).replace("TOTAL", total)

    function(
        f"{_name}_add",
        _fill(f"static inline LANE NAME_add_$S(LANE a, LANE b) {{ return ({_lane})({_add}); }}"),
    )
    function(
        f"{_name}_merge",
        _fill(
            f"static inline TOTAL NAME_merge_$S(TOTAL a, TOTAL b) {{ return ({_total})({_add}); }}"
        ),
    )
    function(f"{_name}_group", _fill(_LOOPS))
    kernel(f"{_name}_task", "const $T *X, $T *Y, Plan p", _fill(_TASKS))
    function(_name, _fill(_REDUCE))
function("FIRST", "#define FIRST(a, n) (a)")


def reduced(e, call, name, x, out, axes, keep):
    e.call(f"{name}_{SUFFIX[x.dtype]}", e.ref(x), e.ref(out), len(axes), e.ints(axes), int(keep))
    e.set_type(out, x.dtype)


@operator("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", exact=True)
def reduce(e, call):
    x, out = call.input("X"), call.output("Out")
    wanted = dtype_of(call, call.attr("out_dtype", -1), x.dtype)
    if wanted not in NUMBERS:
        call.refuse(f"of {wanted}")
    if wanted != x.dtype:
        cast_to(e, call, x, out, wanted)
        x = out
    axes = [] if call.attr("reduce_all") else call.attr("dim")
    reduced(e, call, call.type, x, out, axes, call.attr("keep_dim"))


@operator("reduce_all", "reduce_any", exact=True)
def reduce_truth(e, call):
    if call.has("AxisTensor") or call.has("AxisTensorList"):
        call.refuse("axes given by a variable")
    x, out = call.input("X"), call.output("Out")
    if x.dtype != "bool":
        cast_to(e, call, x, out, "bool")
        x = out
    axes = [] if call.attr("reduce_all") else call.attr("dim")
    reduced(e, call, call.type, x, out, axes, call.attr("keep_dim"))


@operator("mean", exact=True)
def mean(e, call):
    x, out = call.input("X"), call.output("Out")
    if x.dtype not in FLOATS:
        call.refuse(f"of {x.dtype}")
    reduced(e, call, "reduce_mean", x, out, [], False)
    e.line(f"v[{out.number}].rank = {len(out.var.shape)};")
    e.line(f"v[{out.number}].dims[0] = 1;")


# Extremes, sorting ---------------------------------------------------------------------------

kernel(
    "arg_rows",
    "const $T *X, $U *Y, int64_t size, int64_t inner, int largest",
    """
const $T *x = X + i / inner * size * inner + i % inner;
int64_t best = 0;
for (int64_t j = 1; j < size; ++j) {
  $T value = x[best * inner], next = x[j * inner];
  int better = (largest ? next > value : next < value) || next != next;
  if (better && value == value) best = j;
}
Y[i] = ($U)best;
""",
)
function(
    "arg",
    """
static int arg_$S_$R(Ctx *c, const Value *x, Value *out, int64_t where, int flat, int keep,
                     int largest) {
  Value t;
  int64_t dims[RANK], inner = 1, size = x->count;
  int axis = 0, rank = 0;
  TRY(need(x, $E));
  if (!flat) {
    TRY(axis_of(where, x->rank, &axis));
    inner = product(x->dims, axis + 1, x->rank);
    size = x->dims[axis];
  }
  for (int i = 0; i < x->rank; ++i) {
    if (flat || i == axis) {
      if (keep) dims[rank++] = 1;
    } else {
      dims[rank++] = x->dims[i];
    }
  }
  TRY(make(c, &t, $V, rank, dims, x->data != NULL));
  CHECK(size > 0 || t.count == 0, BAD_SHAPE);
  if (t.data) arg_rows_$S_$R(t.count, (const $T *)x->data, ($U *)t.data, size, inner, largest);
  return put(c, out, &t);
}
""",
)
function(
    "before",
    """
/* Whether a comes before b: the greater (lesser) one, NaN as the greatest. */
static inline int before_$S($T a, $T b, int largest) {
  if (a != a) return largest && b == b;
  if (b != b) return !largest;
  return largest ? a > b : a < b;
}
""",
)
kernel(
    "sort_rows",
    "const $T *X, $T *Y, int64_t *At, int64_t *Room, int64_t size, int64_t inner, int64_t k, "
    "int largest",
    """
/* a stable merge sort of the numbers of elements; for few of many, insertion */
const $T *x = X + i / inner * size * inner + i % inner;
int64_t *at = Room + 2 * i * size, *other = at + size;
if (k <= 16 && k < size) {
  int64_t held = 0;
  for (int64_t j = 0; j < size; ++j) {
    int64_t p = held < k ? held : k - 1;
    if (held == k && !before_$S(x[j * inner], x[at[k - 1] * inner], largest)) continue;
    while (p > 0 && before_$S(x[j * inner], x[at[p - 1] * inner], largest)) {
      at[p] = at[p - 1];
      --p;
    }
    at[p] = j;
    if (held < k) ++held;
  }
} else {
  for (int64_t j = 0; j < size; ++j) at[j] = j;
  for (int64_t width = 1; width < size; width *= 2) {
    int64_t *swap = at;
    for (int64_t from = 0; from < size; from += 2 * width) {
      int64_t mid = from + width < size ? from + width : size;
      int64_t end = mid + width < size ? mid + width : size, a = from, b = mid;
      for (int64_t j = from; j < end; ++j) {
        int second = a == mid;
        if (!second && b < end) second = before_$S(x[at[b] * inner], x[at[a] * inner], largest);
        other[j] = second ? at[b++] : at[a++];
      }
    }
    at = other;
    other = swap;
  }
}
for (int64_t j = 0; j < k; ++j) {
  int64_t to = (i / inner * k + j) * inner + i % inner;
  Y[to] = x[at[j] * inner];
  At[to] = at[j];
}
""",
)
function(
    "sort",
    """
/* The first k along an axis in order, and where they stood; k = -1: all. */
static int sort_$S(Ctx *c, const Value *x, Value *out, Value *indices, int64_t where, int64_t k,
                   int largest) {
  Value t, at;
  int64_t dims[RANK], inner = 1, size = 1;
  int axis = 0;
  int32_t node;
  void *room;
  TRY(need(x, $E));
  for (int i = 0; i < x->rank; ++i) dims[i] = x->dims[i];
  if (x->rank > 0) {
    TRY(axis_of(where, x->rank, &axis));
    size = x->dims[axis];
    inner = product(x->dims, axis + 1, x->rank);
  }
  if (k < 0) k = size;
  CHECK(k <= size, BAD_SHAPE);
  if (x->rank > 0) dims[axis] = k;
  TRY(make(c, &t, $E, x->rank, dims, x->data != NULL));
  TRY(make(c, &at, I64, x->rank, dims, x->data != NULL));
  TRY(take(c, x->count * 16, 1, &node, &room));
  if (t.data && at.data && room && t.count > 0) {
    sort_rows_$S(x->count / size, (const $T *)x->data, ($T *)t.data, (int64_t *)at.data,
                 (int64_t *)room, size, inner, k, largest);
  } else if (c->dry && t.count > 0) {
    t.data = at.data = NULL;
  }
  give(c, node);
  TRY(put(c, out, &t));
  return put(c, indices, &at);
}
""",
)
kernel(
    "cumsum_rows",
    "const $T *X, $T *Y, int64_t size, int64_t inner, int exclusive, int reverse",
    """
int64_t from = i / inner * size * inner + i % inner;
$A sum = 0;
for (int64_t j = 0; j < size; ++j) {
  int64_t at = from + (reverse ? size - 1 - j : j) * inner;
  $A next = sum + ($A)X[at];
  Y[at] = ($T)(exclusive ? sum : next);
  sum = next;
}
""",
)
function(
    "cumsum",
    """
static int cumsum_$S(Ctx *c, const Value *x, Value *y, int64_t where, int flat, int exclusive,
                     int reverse) {
  Value t;
  int64_t inner = 1, size = x->count;
  int axis = 0;
  TRY(need(x, $E));
  if (!flat && x->rank > 0) {
    TRY(axis_of(where, x->rank, &axis));
    inner = product(x->dims, axis + 1, x->rank);
    size = x->dims[axis];
  }
  TRY(make(c, &t, $E, flat ? 1 : x->rank, flat ? &x->count : x->dims, x->data != NULL));
  if (t.data && t.count > 0) {
    cumsum_rows_$S(t.count / size, (const $T *)x->data, ($T *)t.data, size, inner, exclusive,
                   reverse);
  }
  return put(c, y, &t);
}
""",
)


@operator("arg_max", "arg_min", exact=True)
def arg(e, call):
    x, out = call.input("X"), call.output("Out")
    if x.dtype not in NUMBERS:
        call.refuse(f"of {x.dtype}")
    dtype = dtype_of(call, call.attr("dtype"), "int64")
    e.call(f"arg_{SUFFIX[x.dtype]}_{SUFFIX[dtype]}", e.ref(x), e.ref(out), call.attr("axis"),
           int(call.attr("flatten")), int(call.attr("keepdims")),
           int(call.type == "arg_max"))  # fmt: skip
    e.set_type(out, dtype)


@operator("top_k", "top_k_v2", exact=True)
def top_k(e, call):
    k, n = open_ints(e, call, "k", "K", given=[call.attr("k")])
    if not n.isdigit():
        e.line(f"CHECK({n} == 1 && {k}[0] >= 1, BAD_SHAPE);")
        k = f"{k}[0]"
    else:
        k = str(call.attr("k"))
    _sorted(e, call, call.attr("axis", -1), k, call.attr("largest", True))


@operator("argsort", exact=True)
def argsort(e, call):
    _sorted(e, call, call.attr("axis"), "-1", call.attr("descending"))


def _sorted(e, call, axis, k, largest):
    x, out, at = call.input("X"), call.output("Out"), call.output("Indices")
    if x.dtype not in NUMBERS:
        call.refuse(f"of {x.dtype}")
    e.call(f"sort_{SUFFIX[x.dtype]}", e.ref(x), e.ref(out), e.ref(at), axis, k, int(largest))
    e.set_type(out, x.dtype)
    e.set_type(at, "int64")


@operator("cumsum", exact=lambda e, call: None if call.input("X").dtype in INTS else "its sums")
def cumsum(e, call):
    x, out = call.input("X"), call.output("Out")
    if x.dtype not in NUMBERS:
        call.refuse(f"of {x.dtype}")
    e.call(f"cumsum_{SUFFIX[x.dtype]}", e.ref(x), e.ref(out), call.attr("axis"),
           int(call.attr("flatten")), int(call.attr("exclusive")),
           int(call.attr("reverse")))  # fmt: skip
    e.set_type(out, x.dtype)
