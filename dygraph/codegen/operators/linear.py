"""Products of matrices."""

from dygraph.codegen.emitter import double
from dygraph.codegen.operators.activation import map1
from dygraph.codegen.operators.arithmetic import map2
from dygraph.codegen.registry import FLOATS, ON_CUDA, SUFFIX, function, kernel, operator

function(
    "gemm",
    """
/* c = alpha a b, a [m, k] at a[i * ai + p * ap], b [k, n] at b[p * bp + j * bj]; every element is
   the sum over p in order. */
#ifndef ORDERED
static void gemm_rows_$S(int64_t m, int64_t n, int64_t k, $T alpha, const $T *a, int64_t ai,
                         int64_t ap, const $T *b, int64_t bp, $T *c, int64_t ldc) {
  for (int64_t i = 0; i < m; ++i) { /* rows of b one after the other */
    $T *RESTRICT y = c + i * ldc;
    const $T *x = a + i * ai;
    int64_t p = 0;
    for (int64_t j = 0; j < n; ++j) y[j] = 0;
    for (; p + 8 <= k; p += 8) {
      const $T *RESTRICT r0 = b + p * bp, *RESTRICT r1 = r0 + bp, *RESTRICT r2 = r1 + bp;
      const $T *RESTRICT r3 = r2 + bp, *RESTRICT r4 = r3 + bp, *RESTRICT r5 = r4 + bp;
      const $T *RESTRICT r6 = r5 + bp, *RESTRICT r7 = r6 + bp;
      $T x0 = x[p * ap], x1 = x[(p + 1) * ap], x2 = x[(p + 2) * ap], x3 = x[(p + 3) * ap];
      $T x4 = x[(p + 4) * ap], x5 = x[(p + 5) * ap], x6 = x[(p + 6) * ap], x7 = x[(p + 7) * ap];
      for (int64_t j = 0; j < n; ++j) {
        $T sum = $MAD(x0, r0[j], y[j]);
        sum = $MAD(x1, r1[j], sum);
        sum = $MAD(x2, r2[j], sum);
        sum = $MAD(x3, r3[j], sum);
        sum = $MAD(x4, r4[j], sum);
        sum = $MAD(x5, r5[j], sum);
        sum = $MAD(x6, r6[j], sum);
        y[j] = $MAD(x7, r7[j], sum);
      }
    }
    for (; p < k; ++p) {
      const $T *RESTRICT row = b + p * bp;
      $T x0 = x[p * ap];
      for (int64_t j = 0; j < n; ++j) y[j] = $MAD(x0, row[j], y[j]);
    }
    if (alpha != 1) {
      for (int64_t j = 0; j < n; ++j) y[j] = alpha * y[j];
    }
  }
}
#endif
#ifdef ORDERED
/* The sums of gemm.cc of the library, for its sizes: in order, in blocks of 256, or in lanes. */
static $T ordered_dot_$S(int64_t k, const $T *x, const $T *v, int64_t step) {
  enum { LANES = 32 / (int)sizeof($T) };
  $T acc[4][LANES], total;
  int64_t p = 0;
  memset(acc, 0, sizeof acc);
  for (; p + 4 * LANES <= k; p += 4 * LANES) {
    for (int u = 0; u < 4; ++u) {
      for (int l = 0; l < LANES; ++l) {
        acc[u][l] = $MAD(x[p + u * LANES + l], v[(p + u * LANES + l) * step], acc[u][l]);
      }
    }
  }
  for (; p + LANES <= k; p += LANES) {
    for (int l = 0; l < LANES; ++l) acc[0][l] = $MAD(x[p + l], v[(p + l) * step], acc[0][l]);
  }
  for (int l = 0; l < LANES; ++l) acc[0][l] = (acc[0][l] + acc[1][l]) + (acc[2][l] + acc[3][l]);
  for (int width = LANES / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) acc[0][l] += acc[0][l + width];
  }
  total = acc[0][0];
  while (k - p >= LANES / 2) { /* half a vector is multiplied first and then added */
    for (int l = 0; l < LANES / 2; ++l, ++p) {
      $T term = x[p] * v[p * step];
      total = total + term;
    }
  }
  for (; p < k; ++p) total = $MAD(x[p], v[p * step], total);
  return total;
}
static void gemm_$S(int64_t m, int64_t n, int64_t k, $T alpha, const $T *a, int64_t ai, int64_t ap,
                    const $T *b, int64_t bp, int64_t bj, $T *c, int64_t ldc) {
  int in_order = n == 1 || (m == 1 && bj == 1) || (m * n * k <= 48 * 48 * 48 && k * n <= 64 * 64);
  int64_t depth = in_order ? k : 256;
  if (m <= 0 || n <= 0) return;
  if ((n == 1 && ap == 1) || (m == 1 && bp == 1 && bj != 1)) {
    for (int64_t i = 0; i < m * n; ++i) {
      $T sum = n == 1 ? ordered_dot_$S(k, a + i * ai, b, bp) : ordered_dot_$S(k, b + i * bj, a, ap);
      c[n == 1 ? i * ldc : i] = alpha * sum;
    }
    return;
  }
  for (int64_t i = 0; i < m; ++i) {
    if (k == 0) {
      for (int64_t j = 0; j < n; ++j) c[i * ldc + j] = 0;
    }
    for (int64_t p0 = 0; p0 < k; p0 += depth) {
      int64_t np = k - p0 < depth ? k - p0 : depth;
      const $T *x = a + i * ai + p0 * ap, *y = b + p0 * bp;
      for (int64_t j = 0; j < n; j += 64) {
        int64_t wide = n - j < 64 ? n - j : 64;
        $T sum[64], *to = c + i * ldc + j;
        for (int64_t q = 0; q < wide; ++q) sum[q] = 0;
        if (bj == 1) {
          for (int64_t p = 0; p < np; ++p) {
            const $T *row = y + p * bp + j;
            $T factor = x[p * ap];
            for (int64_t q = 0; q < wide; ++q) sum[q] = $MAD(factor, row[q], sum[q]);
          }
        } else {
          for (int64_t q = 0; q < wide; ++q) {
            const $T *column = y + (j + q) * bj;
            for (int64_t p = 0; p < np; ++p) sum[q] = $MAD(x[p * ap], column[p * bp], sum[q]);
          }
        }
        for (int64_t q = 0; q < wide; ++q) {
          $T value = alpha * sum[q];
          to[q] = p0 == 0 ? value : value + to[q];
        }
      }
    }
  }
}
#else
static void gemm_$S(int64_t m, int64_t n, int64_t k, $T alpha, const $T *a, int64_t ai, int64_t ap,
                    const $T *b, int64_t bp, int64_t bj, $T *c, int64_t ldc) {
#ifdef LANES_$S
  if (m > 1) {
    gemm_tiles_$S(m, n, k, alpha, a, ai, ap, b, bp, bj, c, ldc);
    return;
  }
#endif
  if (bj == 1) {
    gemm_rows_$S(m, n, k, alpha, a, ai, ap, b, bp, c, ldc);
    return;
  }
  for (int64_t i = 0; i < m; ++i) { /* sums along rows of b */
    const $T *x = a + i * ai;
    for (int64_t j = 0; j < n; ++j) c[i * ldc + j] = alpha * dot_$S(k, x, ap, b + j * bj, bp);
  }
}
#endif
""",
)
for _s, _t in (("f32", "float"), ("f64", "double")):
    function(
        f"LANES_{_s}",
        f"""
#if defined(__GNUC__) && !defined(__cplusplus) && !defined(ORDERED)
#if defined(__AVX512F__)
typedef {_t} Vec_{_s} __attribute__((vector_size(64)));
#elif defined(__AVX__)
typedef {_t} Vec_{_s} __attribute__((vector_size(32)));
#else
typedef {_t} Vec_{_s} __attribute__((vector_size(16)));
#endif
#define LANES_{_s} ((int)(sizeof(Vec_{_s}) / sizeof({_t})))
#endif
""",
    )


def _tile(rows):
    """A tile of so many rows and two vectors of columns, whose sums stay in registers."""
    numbers = range(rows)
    row_pointers = "".join(
        f"  const $T *a{r} = {f'rows > {r} ? a{r - 1} + ai : a{r - 1}' if r else 'a'};\n"
        for r in numbers
    )
    sums = ", ".join(f"s{r} = zero, t{r} = zero" for r in numbers)
    steps = "".join(
        f"    x = a{r}[p * ap];\n    s{r} += x * u;\n    t{r} += x * v;\n" for r in numbers
    )
    stores = "".join(f"  if (rows > {r}) STORE_$S({r}, s{r}, t{r})\n" for r in numbers)
    return (
        f"static inline void tile{rows}_$S(int rows, int64_t k, $T alpha, const $T *a,\n"
        "                              int64_t ai, int64_t ap, const $T *b, const int64_t *at,\n"
        "                              int add, $T *c, int64_t ldc) {\n"
        f"{row_pointers}  (void)ai;\n  Vec_$S zero = {{0}}, u, v, {sums};\n"
        "  for (int64_t p = 0; p < k; ++p) {\n    $T x;\n"
        "    memcpy(&u, b + at[p], sizeof u);\n    memcpy(&v, b + at[p] + LANES_$S, sizeof v);\n"
        f"{steps}  }}\n{stores}}}\n"
    )


function(
    "block",
    """
#ifdef LANES_$S
#define STORE_$S(r, first, second)                   \\
  {                                                  \\
    $T *to = c + (r) * ldc;                          \\
    first *= alpha;                                  \\
    second *= alpha;                                 \\
    if (add) {                                       \\
      memcpy(&u, to, sizeof u);                      \\
      memcpy(&v, to + LANES_$S, sizeof v);           \\
      first += u;                                    \\
      second += v;                                   \\
    }                                                \\
    memcpy(to, &first, sizeof first);                \\
    memcpy(to + LANES_$S, &second, sizeof second);   \\
  }
"""
    + "".join(map(_tile, (6, 4, 2, 1)))
    + """
/* Some rows of c, `columns` of which count, from rows of b at b + at[p]. */
static void block_$S(int64_t m, int64_t columns, int64_t k, $T alpha, const $T *a, int64_t ai,
                    int64_t ap, const $T *b, const int64_t *at, int add, $T *c, int64_t ldc) {
  $T edge[12 * LANES_$S];
  int whole = columns >= 2 * LANES_$S;
  for (int64_t i = 0; i < m;) {
    int rows = m - i < 6 ? (int)(m - i) : 6;
    const $T *x = a + i * ai;
    $T *to = whole ? c + i * ldc : edge;
    int64_t step = whole ? ldc : 2 * LANES_$S;
    for (int r = 0; !whole && r < rows; ++r) {
      for (int64_t q = 0; q < 2 * LANES_$S; ++q) {
        edge[r * 2 * LANES_$S + q] = add && q < columns ? c[(i + r) * ldc + q] : 0;
      }
    }
    if (rows > 4) {
      tile6_$S(rows, k, alpha, x, ai, ap, b, at, add, to, step);
    } else if (rows > 2) {
      tile4_$S(rows, k, alpha, x, ai, ap, b, at, add, to, step);
    } else if (rows == 2) {
      tile2_$S(rows, k, alpha, x, ai, ap, b, at, add, to, step);
    } else {
      tile1_$S(rows, k, alpha, x, ai, ap, b, at, add, to, step);
    }
    for (int r = 0; !whole && r < rows; ++r) {
      for (int64_t q = 0; q < columns; ++q) c[(i + r) * ldc + q] = edge[r * 2 * LANES_$S + q];
    }
    i += rows;
  }
}
#endif
""",
)
function(
    "gemm_tiles",
    """
#ifdef LANES_$S
/* By blocks of b, of which a copy lies in the order of use. */
static void gemm_tiles_$S(int64_t m, int64_t n, int64_t k, $T alpha, const $T *a, int64_t ai,
                          int64_t ap, const $T *b, int64_t bp, int64_t bj, $T *c, int64_t ldc) {
  enum { WIDE = 2 * LANES_$S, DEPTH = 128, ROWS = 240 };
  $T panel[DEPTH * WIDE];
  int64_t at[DEPTH], direct[DEPTH];
  for (int64_t p = 0; p < DEPTH; ++p) {
    at[p] = p * WIDE;
    direct[p] = p * bp;
  }
  for (int64_t i = 0; k == 0 && i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) c[i * ldc + j] = 0;
  }
  for (int64_t i = 0; i < m; i += ROWS) {
    int64_t rows = m - i < ROWS ? m - i : ROWS;
    for (int64_t p0 = 0; p0 < k; p0 += DEPTH) {
      int64_t depth = k - p0 < DEPTH ? k - p0 : DEPTH;
      const $T *x = a + i * ai + p0 * ap;
      for (int64_t j = 0; j < n; j += WIDE) {
        int64_t columns = n - j < WIDE ? n - j : WIDE;
        const $T *from = b + p0 * bp + j * bj;
        $T *to = c + i * ldc + j;
        if (bj == 1 && columns == WIDE && rows <= 6) {
          block_$S(rows, columns, depth, alpha, x, ai, ap, from, direct, p0 > 0, to, ldc);
          continue;
        }
        if (bj == 1 && columns == WIDE) {
          for (int64_t p = 0; p < depth; ++p) {
            memcpy(panel + p * WIDE, from + p * bp, WIDE * sizeof($T));
          }
        } else {
          for (int64_t q = 0; q < WIDE; ++q) {
            for (int64_t p = 0; p < depth; ++p) {
              panel[p * WIDE + q] = q < columns ? from[p * bp + q * bj] : 0;
            }
          }
        }
        block_$S(rows, columns, depth, alpha, x, ai, ap, panel, at, p0 > 0, to, ldc);
      }
    }
  }
}
#endif
""",
)
function(
    "dot",
    """
static inline $T dot_$S(int64_t k, const $T *a, int64_t ap, const $T *b, int64_t bp) {
  $T lane[16], sum;
  int64_t p = 0;
  if (ap != 1 || bp != 1) {
    sum = 0;
    for (; p < k; ++p) sum = $MAD(a[p * ap], b[p * bp], sum);
    return sum;
  }
  for (int l = 0; l < 16; ++l) lane[l] = 0;
  for (; p + 16 <= k; p += 16) {
    for (int l = 0; l < 16; ++l) lane[l] = $MAD(a[p + l], b[p + l], lane[l]);
  }
  for (int l = 0; l < 8; ++l) lane[l] += lane[l + 8];
  for (int l = 0; l < 4; ++l) lane[l] += lane[l + 4];
  sum = (lane[0] + lane[2]) + (lane[1] + lane[3]);
  for (; p < k; ++p) sum = $MAD(a[p], b[p], sum);
  return sum;
}
""",
)
kernel(
    "gemm_at",
    "const $T *A, int64_t ai, int64_t ap, const $T *B, int64_t bp, int64_t bj, $T *C, int64_t ldc, "
    "int64_t columns, int64_t k, $T alpha",
    """
const $T *a = A + i / columns * ai, *b = B + i % columns * bj;
$T sum = 0;
for (int64_t p = 0; p < k; ++p) sum = $MAD(a[p * ap], b[p * bp], sum);
C[i / columns * ldc + i % columns] = alpha * sum;
""",
)
function(
    "gemm" + ON_CUDA,
    """
static void gemm_$S(int64_t m, int64_t n, int64_t k, $T alpha, const $T *a, int64_t ai, int64_t ap,
                    const $T *b, int64_t bp, int64_t bj, $T *c, int64_t ldc) {
  gemm_at_$S(m * n, a, ai, ap, b, bp, bj, c, ldc, n, k, alpha);
}
""",
)
function(
    "mul",
    """
static int mul_$S(Ctx *c, const Value *x, const Value *y, int at, int cut, Value *out) {
  Value t;
  int64_t dims[2 * RANK], m, n, k;
  int rank = at;
  TRY(need(x, $E));
  TRY(need(y, $E));
  CHECK(at > 0 && at < x->rank && cut > 0 && cut < y->rank, BAD_SHAPE);
  k = product(x->dims, at, x->rank);
  CHECK(k == product(y->dims, 0, cut), BAD_SHAPE);
  m = product(x->dims, 0, at);
  n = product(y->dims, cut, y->rank);
  for (int i = 0; i < at; ++i) dims[i] = x->dims[i];
  for (int i = cut; i < y->rank; ++i) dims[rank++] = y->dims[i];
  TRY(make(c, &t, $E, rank, dims, x->data && y->data));
  if (t.data) {
    gemm_$S(m, n, k, 1, (const $T *)x->data, k, 1, (const $T *)y->data, n, 1, ($T *)t.data, n);
  }
  return put(c, out, &t);
}
""",
)


def floats(call, *slots):
    """The common type of floating-point inputs."""
    types = {s.dtype for s in slots if s is not None}
    if len(types) != 1 or not types <= set(FLOATS):
        call.refuse(f"of {', '.join(sorted(t or 'an array' for t in types))}")
    return types.pop()


@operator("mul", exact=True)
def mul(e, call):
    x, y, out = call.input("X"), call.input("Y"), call.output("Out")
    dtype = floats(call, x, y)
    cut = call.attr("x_num_col_dims"), call.attr("y_num_col_dims")
    e.call(f"mul_{SUFFIX[dtype]}", e.ref(x), e.ref(y), *cut, e.ref(out))
    e.set_type(out, dtype)


function(
    "matmul",
    """
/* Products of the last two axes, the others broadcast; `fold`: as matmul, whose vectors are rows
   and columns. */
static int matmul_$S(Ctx *c, const Value *x, const Value *y, int tx, int ty, $T alpha,
                     Value *out, int fold) {
  Value t, row, column;
  int64_t dims[RANK], m, n, k, kx, ky, bx, by, count, ai, ap, bp, bj;
  int rank = 0, xr = x->rank > 2 ? x->rank - 2 : 0, yr = y->rank > 2 ? y->rank - 2 : 0, br;
  int64_t size[RANK], sx[RANK], sy[RANK];
  int vectors = (x->rank == 1) + 2 * (y->rank == 1);
  TRY(need(x, $E));
  TRY(need(y, $E));
  CHECK(x->rank > 0 && y->rank > 0, BAD_SHAPE);
  if (fold && x->rank == 1) {
    row = *x;
    row.rank = 2;
    row.dims[1] = row.dims[0];
    row.dims[0] = 1;
    x = &row;
  }
  if (fold && y->rank == 1) {
    column = *y;
    column.rank = 2;
    column.dims[1] = 1;
    y = &column;
  }
  tx = tx && x->rank > 1;
  ty = ty && y->rank > 1;
  m = x->rank == 1 ? 1 : x->dims[x->rank - (tx ? 1 : 2)];
  kx = x->rank == 1 ? x->dims[0] : x->dims[x->rank - (tx ? 2 : 1)];
  n = y->rank == 1 ? 1 : y->dims[y->rank - (ty ? 2 : 1)];
  ky = y->rank == 1 ? y->dims[0] : y->dims[y->rank - (ty ? 1 : 2)];
  CHECK(kx == ky, BAD_SHAPE);
  k = kx;
  br = xr > yr ? xr : yr;
  bx = by = 1;
  for (int i = br - 1; i >= 0; --i) {
    int xi = i - (br - xr), yi = i - (br - yr);
    int64_t a = xi < 0 ? 1 : x->dims[xi], b = yi < 0 ? 1 : y->dims[yi];
    CHECK(a == b || a == 1 || b == 1, BAD_SHAPE);
    size[i] = a == 1 ? b : a;
    sx[i] = a == 1 ? 0 : bx;
    sy[i] = b == 1 ? 0 : by;
    bx *= a;
    by *= b;
  }
  for (; rank < br; ++rank) dims[rank] = size[rank];
  if (fold ? !(vectors & 1) || m != 1 : x->rank > 1) dims[rank++] = m;
  if (fold ? !(vectors & 2) || n != 1 : y->rank > 1) dims[rank++] = n;
  if (fold && rank == 0) dims[rank++] = 1;
  TRY(make(c, &t, $E, rank, dims, x->data && y->data));
  count = product(size, 0, br);
  ai = tx ? 1 : k;
  ap = tx ? m : 1;
  bp = ty ? 1 : n;
  bj = ty ? k : 1;
  if (t.data && yr == 0 && !tx && count > 0) { /* one tall matrix */
    gemm_$S(count * m, n, k, alpha, (const $T *)x->data, ai, ap, (const $T *)y->data, bp, bj,
            ($T *)t.data, n);
  } else if (t.data) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, at_x = 0, at_y = 0;
      for (int d = br - 1; d >= 0; --d) {
        at_x += rest % size[d] * sx[d];
        at_y += rest % size[d] * sy[d];
        rest /= size[d];
      }
      gemm_$S(m, n, k, alpha, (const $T *)x->data + at_x * m * k, ai, ap,
              (const $T *)y->data + at_y * k * n, bp, bj, ($T *)t.data + i * m * n, n);
    }
  }
  return put(c, out, &t);
}
""",
)


def _panels(e, call):
    """The library has another order for a float64 product with a transposed right side."""
    ty = call.attr("transpose_Y", call.attr("trans_y", False))
    return "of float64 with a transposed Y" if ty and call.input("X").dtype == "float64" else None


@operator("matmul", "matmul_v2", "bmm", exact=_panels)
def matmul(e, call):
    x, y, out = call.input("X"), call.input("Y"), call.output("Out")
    dtype = floats(call, x, y)
    if call.attr("fused_reshape_Out") or call.attr("fused_transpose_Out"):
        call.refuse("with a fused reshape or transpose")
    if call.attr("head_number", 1) not in (0, 1):
        call.refuse("with heads")
    tx = call.attr("transpose_X", call.attr("trans_x", False))
    ty = call.attr("transpose_Y", call.attr("trans_y", False))
    alpha = f"({registry_type(dtype)}){double(call.attr('alpha', 1.0))}"
    e.call(f"matmul_{SUFFIX[dtype]}", e.ref(x), e.ref(y), int(tx), int(ty), alpha, e.ref(out),
           int(call.type == "matmul"))  # fmt: skip
    e.set_type(out, dtype)


def registry_type(dtype):
    return "float" if dtype == "float32" else "double"


@operator("fc")
def fc(e, call):
    x, w, out = call.input("Input"), call.input("W"), call.output("Out")
    if call.attr("padding_weights"):
        call.refuse("with padding_weights")
    dtype = floats(call, x, w)
    e.call(f"mul_{SUFFIX[dtype]}", e.ref(x), e.ref(w), call.attr("in_num_col_dims"), 1, e.ref(out))
    e.set_type(out, dtype)
    if call.has("Bias"):
        map2(e, call, "g_elementwise_add", out, call.input("Bias"), out)
    if call.attr("activation_type"):
        if call.attr("activation_type") != "relu":
            call.refuse(f"with activation {call.attr('activation_type')}")
        map1(e, call, "relu", out, out)


function(
    "dot_rows",
    """
static int dot_rows_$S(Ctx *c, const Value *x, const Value *y, Value *out) {
  Value t;
  int64_t dims[RANK], n;
  TRY(need(x, $E));
  TRY(need(y, $E));
  CHECK(x->rank == y->rank && x->rank > 0 && x->count == y->count, BAD_SHAPE);
  for (int i = 0; i < x->rank; ++i) {
    CHECK(x->dims[i] == y->dims[i], BAD_SHAPE);
    dims[i] = x->dims[i];
  }
  n = x->dims[x->rank - 1];
  TRY(make(c, &t, $E, x->rank - 1, dims, x->data && y->data));
  for (int64_t i = 0; t.data && i < t.count; ++i) {
    const $T *a = (const $T *)x->data + i * n, *b = (const $T *)y->data + i * n;
    double sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += (double)(a[j] * b[j]);
    (($T *)t.data)[i] = ($T)sum;
  }
  return put(c, out, &t);
}
""",
)


@operator("dot")
def dot(e, call):
    x, y, out = call.input("X"), call.input("Y"), call.output("Out")
    dtype = floats(call, x, y)
    e.call(f"dot_rows_{SUFFIX[dtype]}", e.ref(x), e.ref(y), e.ref(out))
    e.set_type(out, dtype)
