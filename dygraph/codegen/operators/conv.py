"""Convolution and pooling over two axes."""

from dygraph.codegen.operators.arithmetic import map2
from dygraph.codegen.operators.linear import floats
from dygraph.codegen.registry import SUFFIX, function, kernel, operator

function(
    "Window",
    """
typedef struct { /* height and width */
  int64_t in[2], out[2], kernel[2], stride[2], before[2], after[2], dilation[2];
  int64_t n, channels, sn, sc, sp[2]; /* images, channels and their strides in the input */
  int last;
} Window;
""",
)
function(
    "window",
    """
/* Sizes of the input, and paddings: how = 0 as given, 1 SAME, 2 VALID. */
static int window(const Value *x, int last, const int64_t *k, const int64_t *strides,
                  const int64_t *pads, int how, const int64_t *dilations, Window *w) {
  CHECK(x->rank == 4, BAD_SHAPE);
  memset(w, 0, sizeof *w);
  w->last = last;
  w->n = x->dims[0];
  w->channels = x->dims[last ? 3 : 1];
  w->sn = product(x->dims, 1, 4);
  w->sc = last ? 1 : x->dims[2] * x->dims[3];
  for (int i = 0; i < 2; ++i) {
    int64_t size = x->dims[(last ? 1 : 2) + i], reach;
    w->in[i] = size;
    w->kernel[i] = k[i];
    w->stride[i] = strides[i];
    w->dilation[i] = how == 1 ? 1 : dilations[i];
    CHECK(k[i] > 0 && strides[i] > 0 && w->dilation[i] > 0, BAD_SHAPE);
    CHECK(k[i] < MOST && strides[i] < MOST && w->dilation[i] < MOST / k[i], BAD_SHAPE);
    reach = w->dilation[i] * (k[i] - 1) + 1;
    if (how == 1) {
      int64_t outputs = (size + strides[i] - 1) / strides[i];
      int64_t sum = (outputs - 1) * strides[i] + reach - size;
      sum = sum < 0 ? 0 : sum;
      w->before[i] = sum / 2;
      w->after[i] = sum - sum / 2;
    } else if (how == 0) {
      w->before[i] = pads[2 * i];
      w->after[i] = pads[2 * i + 1];
    }
    w->sp[i] = (i == 0 ? x->dims[last ? 2 : 3] : 1) * (last ? w->channels : 1);
  }
  return PREFIX_OK;
}
""",
)
function(
    "image_dims",
    """
static void image_dims(const Window *w, int64_t channels, int64_t *dims) {
  dims[0] = w->n;
  dims[w->last ? 3 : 1] = channels;
  dims[w->last ? 1 : 2] = w->out[0];
  dims[w->last ? 2 : 3] = w->out[1];
}
""",
)
kernel(
    "patches",
    "const $T *X, $T *P, Window w, int64_t first, int64_t count, int64_t group_channels",
    """
/* row i of the patches: one channel and place in the window, for pixels [first, first + count) */
int64_t kw = i % w.kernel[1], kh = i / w.kernel[1] % w.kernel[0];
int64_t channel = i / w.kernel[1] / w.kernel[0], oh = first / w.out[1], ow = first % w.out[1];
const $T *x = X + channel * w.sc;
$T *p = P + i * count;
(void)group_channels;
for (int64_t j = 0; j < count;) {
  int64_t h = oh * w.stride[0] - w.before[0] + kh * w.dilation[0];
  int64_t at = ow * w.stride[1] - w.before[1] + kw * w.dilation[1];
  int64_t run = w.out[1] - ow < count - j ? w.out[1] - ow : count - j;
  if (h < 0 || h >= w.in[0]) {
    for (int64_t r = 0; r < run; ++r) p[j + r] = 0;
  } else if (w.stride[1] == 1 && w.sp[1] == 1) {
    const $T *row = x + h * w.sp[0];
    int64_t low = at < 0 ? -at : 0, high = w.in[1] - at;
    low = low > run ? run : low;
    high = high > run ? run : high < low ? low : high;
    for (int64_t r = 0; r < low; ++r) p[j + r] = 0;
    for (int64_t r = low; r < high; ++r) p[j + r] = row[at + r];
    for (int64_t r = high; r < run; ++r) p[j + r] = 0;
  } else {
    for (int64_t r = 0; r < run; ++r, at += w.stride[1]) {
      p[j + r] = at >= 0 && at < w.in[1] ? x[h * w.sp[0] + at * w.sp[1]] : 0;
    }
  }
  j += run;
  ow = 0;
  ++oh;
}
""",
)
kernel(
    "turn_back",
    "const $T *From, $T *To, int64_t count, int64_t channels",
    "for (int64_t j = 0; j < channels; ++j) To[i * channels + j] = From[j * count + i];",
)
function(
    "conv_shifted",
    """
#ifdef LANES_$S
/* Of stride 1, channels before pixels. In a copy of the images with their padding, row (channel,
   kh, kw) of the patches is the channel from a place on: results for `row` columns of each line
   follow each other, and those beyond the width are dropped. */
static int conv_shifted_$S(Ctx *c, const Value *x, const Value *f, Value *t, const Window *w,
                           int64_t groups) {
  enum { WIDE = 2 * LANES_$S, DEPTH = 128 };
  int64_t in = f->dims[1], out = f->dims[0] / groups, k = in * w->kernel[0] * w->kernel[1];
  int64_t high = w->in[0] + w->before[0] + w->after[0], at[DEPTH], size, used, step;
  int64_t row = w->in[1] + w->before[1] + w->after[1], pixels = w->out[0] * w->out[1];
  int32_t node;
  void *room;
  $T *image, *sums;
  CHECK(high < MOST / row, BAD_SHAPE);
  size = high * row;
  used = (w->out[0] - 1) * row + w->out[1];
  step = (used + WIDE - 1) / WIDE * WIDE;
  CHECK(in == 0 || size < MOST / in, BAD_SHAPE);
  CHECK(out == 0 || step < MOST / out, BAD_SHAPE);
  TRY(take(c, (in * size + WIDE + (w->out[1] == row ? 0 : out * step)) * (int64_t)sizeof($T), 0,
           &node, &room));
  if (!t->data || c->dry || !room) {
    give(c, node);
    return PREFIX_OK;
  }
  image = ($T *)room;
  sums = image + in * size + WIDE;
  memset(image, 0, (size_t)(in * size + WIDE) * sizeof($T));
  for (int64_t i = 0; i < w->n * groups; ++i) {
    const $T *filter = (const $T *)f->data + i % groups * out * k;
    const $T *from = (const $T *)x->data + i * in * w->in[0] * w->in[1];
    $T *to = ($T *)t->data + i * out * pixels, *made = w->out[1] == row ? to : sums;
    int64_t line = w->out[1] == row ? pixels : step;
    for (int64_t h = 0; h < in * w->in[0]; ++h) {
      int64_t place = h / w->in[0] * size + (h % w->in[0] + w->before[0]) * row + w->before[1];
      memcpy(image + place, from + h * w->in[1], (size_t)w->in[1] * sizeof($T));
    }
    for (int64_t p0 = 0; p0 < k; p0 += DEPTH) {
      int64_t depth = k - p0 < DEPTH ? k - p0 : DEPTH;
      for (int64_t p = 0; p < depth; ++p) {
        int64_t kw = (p0 + p) % w->kernel[1], kh = (p0 + p) / w->kernel[1];
        at[p] = kh / w->kernel[0] * size + kh % w->kernel[0] * w->dilation[0] * row +
                kw * w->dilation[1];
      }
      for (int64_t j = 0; j < used; j += WIDE) {
        int64_t columns = made == to && used - j < WIDE ? used - j : WIDE;
        block_$S(out, columns, depth, 1, filter + p0, k, 1, image + j, at, p0 > 0, made + j, line);
      }
    }
    for (int64_t o = 0; made != to && o < out * w->out[0]; ++o) {
      memcpy(to + o * w->out[1], sums + o / w->out[0] * step + o % w->out[0] * row,
             (size_t)w->out[1] * sizeof($T));
    }
  }
  give(c, node);
  return PREFIX_OK;
}
#endif
""",
)
function(
    "conv2d",
    """
static int conv2d_$S(Ctx *c, const Value *x, const Value *f, Value *y, int64_t groups, int last,
                     const int64_t *strides, const int64_t *pads, int how,
                     const int64_t *dilations) {
  const int64_t PIXELS = 512;
  Value t;
  Window w;
  int64_t dims[4], in, out, pixels, k, step;
  int32_t node;
  void *room;
  int plain;
  (void)PIXELS;
  TRY(need(x, $E));
  TRY(need(f, $E));
  CHECK(f->rank == 4 && groups > 0, BAD_SHAPE);
  TRY(window(x, last, f->dims + 2, strides, pads, how, dilations, &w));
  in = f->dims[1];
  CHECK(in <= MOST / groups && in * groups == w.channels && f->dims[0] % groups == 0, BAD_SHAPE);
  out = f->dims[0] / groups;
  for (int i = 0; i < 2; ++i) {
    int64_t room_for = w.in[i] + w.before[i] + w.after[i] - w.dilation[i] * (w.kernel[i] - 1) - 1;
    CHECK(room_for >= 0, BAD_SHAPE);
    w.out[i] = room_for / w.stride[i] + 1;
  }
  image_dims(&w, f->dims[0], dims);
  TRY(make(c, &t, $E, 4, dims, x->data && f->data));
  pixels = w.out[0] * w.out[1];
  k = in * w.kernel[0] * w.kernel[1];
#ifdef LANES_$S
  if (!last && w.stride[0] == 1 && w.stride[1] == 1 && k > 0 && pixels > 0 &&
      10 * w.out[1] >= 7 * (w.in[1] + w.before[1] + w.after[1])) { /* few columns are dropped */
    TRY(conv_shifted_$S(c, x, f, &t, &w, groups));
    return put(c, y, &t);
  }
#endif
  plain = !last && k == in && w.stride[0] == 1 && w.stride[1] == 1 && !w.before[0] &&
          !w.before[1] && !w.after[0] && !w.after[1];
#ifdef ORDERED
  step = pixels;
#else
  step = pixels < PIXELS ? pixels : PIXELS;
#endif
  CHECK(k == 0 || step + out < MOST / k, BAD_SHAPE);
  TRY(take(c, (plain ? 0 : step * (k + (last ? out : 0))) * (int64_t)sizeof($T), 1, &node, &room));
  if (t.data && t.count > 0 && room && !c->dry) {
    $T *patch = ($T *)room, *block = patch + step * k;
    for (int64_t i = 0; i < w.n * groups; ++i) {
      int64_t image = i / groups, g = i % groups;
      const $T *from = (const $T *)x->data + image * w.sn + g * in * w.sc;
      const $T *filter = (const $T *)f->data + g * out * k;
      $T *to = ($T *)t.data + image * f->dims[0] * pixels + g * out * (last ? 1 : pixels);
      if (plain) {
        gemm_$S(out, pixels, k, 1, filter, k, 1, from, pixels, 1, to, pixels);
        continue;
      }
      for (int64_t p = 0; p < pixels; p += step) {
        int64_t n = pixels - p < step ? pixels - p : step;
        patches_$S(k, from, patch, w, p, n, in);
        if (!last) {
          gemm_$S(out, n, k, 1, filter, k, 1, patch, n, 1, to + p, pixels);
          continue;
        }
        gemm_$S(out, n, k, 1, filter, k, 1, patch, n, 1, block, n);
        for (int64_t j = 0; j < n; ++j) {
          for (int64_t o = 0; o < out; ++o) to[(p + j) * f->dims[0] + o] = block[o * n + j];
        }
      }
    }
  } else if (t.count > 0) {
    t.data = NULL;
  }
  give(c, node);
  return put(c, y, &t);
}
""",
)
kernel(
    "transposed",
    "const $T *X, const $T *F, $T *Y, Window w, int64_t in, int64_t out, int64_t groups",
    """
/* output image and channel i; w.in: sizes of the result, w.out: those of X */
int64_t channel = i % (out * groups), image = i / (out * groups), g = channel / out;
int64_t size = w.in[0] * w.in[1], sc = w.last ? out * groups : 1;
$T *y = Y + (w.last ? image * size * out * groups + channel : i * size);
for (int64_t j = 0; j < size; ++j) y[j * sc] = 0;
for (int64_t ch = 0; ch < in; ++ch) {
  const $T *x = X + image * w.sn + (g * in + ch) * w.sc;
  const $T *f = F + ((g * in + ch) * out + channel % out) * w.kernel[0] * w.kernel[1];
  for (int64_t h = 0; h < w.out[0]; ++h) {
    for (int64_t kh = 0; kh < w.kernel[0]; ++kh) {
      int64_t to_h = h * w.stride[0] - w.before[0] + kh * w.dilation[0];
      if (to_h < 0 || to_h >= w.in[0]) continue;
      for (int64_t v = 0; v < w.out[1]; ++v) {
        $T value = x[h * w.sp[0] + v * w.sp[1]];
        for (int64_t kw = 0; kw < w.kernel[1]; ++kw) {
          int64_t to_w = v * w.stride[1] - w.before[1] + kw * w.dilation[1];
          if (to_w < 0 || to_w >= w.in[1]) continue;
          y[(to_h * w.in[1] + to_w) * sc] += value * f[kh * w.kernel[1] + kw];
        }
      }
    }
  }
}
""",
)
function(
    "add_patches",
    """
/* Of channel i the sums of what each place in the window gives; w.in: sizes of the result. */
static void add_patches_$S(int64_t channels, const $T *P, $T *Y, const Window *w) {
  int64_t taps = w->kernel[0] * w->kernel[1], pixels = w->out[0] * w->out[1];
  memset(Y, 0, (size_t)(channels * w->in[0] * w->in[1]) * sizeof($T));
  for (int64_t i = 0; i < channels * taps; ++i) {
    int64_t kw = i % w->kernel[1], kh = i / w->kernel[1] % w->kernel[0];
    int64_t shift = kw * w->dilation[1] - w->before[1], low = 0, high = w->out[1];
    while (low < high && low * w->stride[1] + shift < 0) ++low;
    while (high > low && (high - 1) * w->stride[1] + shift >= w->in[1]) --high;
    for (int64_t j = 0; j < w->out[0]; ++j) {
      int64_t h = j * w->stride[0] + kh * w->dilation[0] - w->before[0], step = w->stride[1];
      const $T *from = P + i * pixels + j * w->out[1];
      $T *to = Y + (i / taps * w->in[0] + h) * w->in[1] + shift;
      if (h < 0 || h >= w->in[0]) continue;
      for (int64_t q = low; q < high; ++q) to[q * step] += from[q];
    }
  }
}
""",
)
function(
    "conv2d_transpose",
    """
static int conv2d_transpose_$S(Ctx *c, const Value *x, const Value *f, Value *y, int64_t groups,
                               int last, const int64_t *strides, const int64_t *pads, int how,
                               const int64_t *dilations, const int64_t *sizes,
                               const int64_t *more) {
  Value t;
  Window w;
  int64_t dims[4], in, out;
  TRY(need(x, $E));
  TRY(need(f, $E));
  CHECK(f->rank == 4 && groups > 0, BAD_SHAPE);
  TRY(window(x, last, f->dims + 2, strides, pads, how, dilations, &w));
  CHECK(f->dims[0] == w.channels && w.channels % groups == 0, BAD_SHAPE);
  in = w.channels / groups;
  out = f->dims[1];
  for (int i = 0; i < 2; ++i) {
    int64_t least, reach = w.dilation[i] * (w.kernel[i] - 1) + 1;
    CHECK(w.in[i] < MOST / w.stride[i], BAD_SHAPE);
    least = (w.in[i] - 1) * w.stride[i] + reach - w.before[i] - w.after[i];
    CHECK(least > 0, BAD_SHAPE);
    w.out[i] = least + (more ? more[i] : 0);
    if (sizes) {
      CHECK(sizes[i] >= least && sizes[i] < least + w.stride[i], BAD_SHAPE);
      w.out[i] = sizes[i];
    }
  }
  CHECK(out == 0 || groups < MOST / out, BAD_SHAPE);
  image_dims(&w, out * groups, dims);
  TRY(make(c, &t, $E, 4, dims, x->data && f->data));
  for (int i = 0; i < 2; ++i) { /* the kernel sees the result as the input */
    int64_t size = w.in[i];
    w.in[i] = w.out[i];
    w.out[i] = size;
  }
#ifndef __CUDACC__
  if (!last && t.count > 0 && x->count > 0) {
    int64_t k = out * w.kernel[0] * w.kernel[1], pixels = w.out[0] * w.out[1];
    int64_t size = w.in[0] * w.in[1];
    int32_t node;
    void *room;
    CHECK(w.kernel[0] < MOST / w.kernel[1] && k < MOST / pixels, BAD_SHAPE);
    TRY(take(c, k * pixels * (int64_t)sizeof($T), 0, &node, &room));
    for (int64_t i = 0; t.data && !c->dry && i < w.n * groups; ++i) {
      gemm_$S(k, pixels, in, 1, (const $T *)f->data + i % groups * in * k, 1, k,
              (const $T *)x->data + i * in * pixels, pixels, 1, ($T *)room, pixels);
      add_patches_$S(out, (const $T *)room, ($T *)t.data + i * out * size, &w);
    }
    give(c, node);
    return put(c, y, &t);
  }
#endif
  if (t.data && t.count > 0) {
    transposed_$S(w.n * out * groups, (const $T *)x->data, (const $T *)f->data, ($T *)t.data, w, in,
                  out, groups);
  }
  return put(c, y, &t);
}
""",
)
function(
    "Greater",
    """
static inline $T Greater_$S($T a, $T b) { /* the first NaN wins */
  $T most = a > b ? a : b;
  return a != a ? a : most;
}
""",
)
function(
    "pool_pairs",
    """
static inline void pool_pairs_$S(int64_t n, const $T *RESTRICT a, const $T *RESTRICT b,
                                 $T *RESTRICT y) {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = Greater_$S(Greater_$S(Greater_$S(a[2 * i], a[2 * i + 1]), b[2 * i]), b[2 * i + 1]);
  }
}
""",
)
kernel(
    "pool_rows",
    "const $T *X, $T *Y, Window w, int max, int exclusive, int adaptive",
    """
/* row i of the result: image, channel (or its last place in memory), height */
int64_t oh = i % w.out[0], channel = i / w.out[0] % w.channels, image = i / w.out[0] / w.channels;
const $T *x = X + image * w.sn + channel * w.sc;
int64_t sc = w.last ? w.channels : 1;
$T *y = Y + (w.last ? (image * w.out[0] + oh) * w.out[1] * w.channels + channel : i * w.out[1]);
int64_t h0 = oh * w.stride[0] - w.before[0], h1 = h0 + w.kernel[0], hs = w.kernel[0];
int pairs;
if (adaptive) {
  h0 = oh * w.in[0] / w.out[0];
  h1 = ((oh + 1) * w.in[0] + w.out[0] - 1) / w.out[0];
}
h1 = h1 > w.in[0] ? w.in[0] : h1;
hs = exclusive || adaptive ? h1 - (h0 < 0 ? 0 : h0 > w.in[0] ? w.in[0] : h0) : hs;
h0 = h0 < 0 ? 0 : h0;
pairs = max && !adaptive && w.kernel[0] == 2 && w.kernel[1] == 2 && w.stride[1] == 2 &&
        !w.before[1] && 2 * w.out[1] <= w.in[1] && h1 - h0 == 2 && !w.last;
if (pairs) { /* of two lines */
  pool_pairs_$S(w.out[1], x + h0 * w.sp[0], x + (h0 + 1) * w.sp[0], y);
}
for (int64_t ow = 0; !adaptive && !pairs && ow < w.out[1]; ++ow) y[ow * sc] = max ? $LOW : 0;
for (int64_t h = h0; !adaptive && !pairs && h < h1; ++h) { /* a place of all windows */
  for (int64_t kw = 0; kw < w.kernel[1]; ++kw) {
    int64_t low = w.before[1] - kw, high = w.in[1] + low, n, step = w.stride[1] * w.sp[1];
    const $T *row;
    $T *to;
    low = low <= 0 ? 0 : (low + w.stride[1] - 1) / w.stride[1];
    high = high <= 0 ? 0 : (high - 1) / w.stride[1] + 1;
    high = high > w.out[1] ? w.out[1] : high;
    n = high - low;
    row = x + h * w.sp[0] + (low * w.stride[1] - w.before[1] + kw) * w.sp[1];
    to = y + low * sc;
    if (max && step == 2 && sc == 1) {
      for (int64_t i2 = 0; i2 < n; ++i2) to[i2] = Greater_$S(to[i2], row[2 * i2]);
    } else if (max) {
      for (int64_t i2 = 0; i2 < n; ++i2) to[i2 * sc] = Greater_$S(to[i2 * sc], row[i2 * step]);
    } else {
      for (int64_t i2 = 0; i2 < n; ++i2) to[i2 * sc] += row[i2 * step];
    }
  }
}
for (int64_t ow = 0; ow < w.out[1]; ++ow) {
  int64_t w0 = ow * w.stride[1] - w.before[1], w1 = w0 + w.kernel[1], ws = w.kernel[1];
  $T best = $LOW, sum = 0;
  if (adaptive) {
    w0 = ow * w.in[1] / w.out[1];
    w1 = ((ow + 1) * w.in[1] + w.out[1] - 1) / w.out[1];
  } else if (max) {
    break;
  }
  w1 = w1 > w.in[1] ? w.in[1] : w1;
  ws = exclusive || adaptive ? w1 - (w0 < 0 ? 0 : w0 > w.in[1] ? w.in[1] : w0) : ws;
  w0 = w0 < 0 ? 0 : w0;
  for (int64_t h = h0; adaptive && h < h1; ++h) {
    const $T *row = x + h * w.sp[0];
    for (int64_t v = w0; v < w1; ++v) {
      $T value = row[v * w.sp[1]];
      best = Greater_$S(best, value);
      sum += value;
    }
  }
  sum = adaptive ? sum : y[ow * sc];
  y[ow * sc] = max ? best : sum / ($T)((hs > 1 ? hs : 1) * (ws > 1 ? ws : 1));
}
""",
)
function(
    "pool2d",
    """
static int pool2d_$S(Ctx *c, const Value *x, Value *y, int max, int last, const int64_t *k,
                     const int64_t *strides, const int64_t *pads, int how, int exclusive,
                     int ceil_mode, int adaptive) {
  static const int64_t one[2] = {1, 1};
  Value t;
  Window w;
  int64_t dims[4], size[2];
  TRY(need(x, $E));
  CHECK(x->rank == 4, BAD_SHAPE);
  for (int i = 0; i < 2; ++i) size[i] = adaptive == 2 ? x->dims[(last ? 1 : 2) + i] : k[i];
  if (adaptive == 2) CHECK(size[0] > 0 && size[1] > 0, BAD_SHAPE);
  TRY(window(x, last, size, adaptive ? one : strides, pads, adaptive ? 2 : how, one, &w));
  for (int i = 0; i < 2; ++i) {
    int64_t padded = w.in[i] + w.before[i] + w.after[i] - w.kernel[i];
    if (adaptive) {
      w.out[i] = adaptive == 2 ? 1 : k[i];
      continue;
    }
    CHECK(padded >= 0 && w.before[i] < w.kernel[i] && w.after[i] < w.kernel[i], BAD_SHAPE);
    w.out[i] = (padded + (ceil_mode ? w.stride[i] - 1 : 0)) / w.stride[i] + 1;
  }
  image_dims(&w, w.channels, dims);
  TRY(make(c, &t, $E, 4, dims, x->data != NULL));
  if (t.data && t.count > 0) {
    pool_rows_$S(w.n * w.channels * w.out[0], (const $T *)x->data, ($T *)t.data, w, max, exclusive,
                 adaptive != 0);
  }
  return put(c, y, &t);
}
""",
)

_HOW = {"EXPLICIT": 0, "SAME": 1, "VALID": 2}


def _pads(call):
    """Paddings as pairs, and the algorithm's number."""
    how = _HOW.get(call.attr("padding_algorithm"), 0)
    given = list(call.attr("paddings"))
    if how:
        return [0] * 4, how
    if len(given) == 2:
        given = [given[0], given[0], given[1], given[1]]
    if len(given) != 4 or min(given) < 0 or max(given) > 2**31:
        call.refuse("paddings must be 2 or 4 numbers from 0 on")
    return given, how


def _pair(call, name):
    given = list(call.attr(name))
    if len(given) != 2:
        call.refuse(f"{name} must be two numbers")
    return given


def _channels_last(e, call):
    return "with data_format NHWC" if call.attr("data_format") == "NHWC" else None


def _why(e, call):
    return "with Bias" if call.has("Bias") else _channels_last(e, call)


@operator("conv2d", "depthwise_conv2d", exact=_why)
def conv2d(e, call):
    x, f, y = call.input("Input"), call.input("Filter"), call.output("Output")
    if call.has("ResidualData"):
        call.refuse("with ResidualData")
    dtype = floats(call, x, f)
    last = int(call.attr("data_format") == "NHWC")
    pads, how = _pads(call)
    e.call(f"conv2d_{SUFFIX[dtype]}", e.ref(x), e.ref(f), e.ref(y), call.attr("groups"), last,
           e.ints(_pair(call, "strides")), e.ints(pads), how,
           e.ints(_pair(call, "dilations")))  # fmt: skip
    e.set_type(y, dtype)
    _bias(e, call, y, last)


def _bias(e, call, y, last):
    if call.has("Bias"):
        map2(e, call, "g_elementwise_add", y, call.input("Bias"), y, 3 if last else 1)


@operator("conv2d_transpose", "depthwise_conv2d_transpose", exact=_channels_last)
def conv2d_transpose(e, call):
    x, f, y = call.input("Input"), call.input("Filter"), call.output("Output")
    dtype = floats(call, x, f)
    last = int(call.attr("data_format") == "NHWC")
    pads, how = _pads(call)
    sizes, more = call.attr("output_size"), call.attr("output_padding")
    if len(sizes) not in (0, 2) or len(more) not in (0, 2):
        call.refuse("output_size and output_padding must be two numbers or none")
    e.call(f"conv2d_transpose_{SUFFIX[dtype]}", e.ref(x), e.ref(f), e.ref(y), call.attr("groups"),
           last, e.ints(_pair(call, "strides")), e.ints(pads), how,
           e.ints(_pair(call, "dilations")), e.ints(sizes), e.ints(more))  # fmt: skip
    e.set_type(y, dtype)
    _bias(e, call, y, last)


def _adaptive(e, call):
    adaptive = call.attr("global_pooling") or call.attr("adaptive")
    return (
        "averages of adaptive windows" if adaptive and call.attr("pooling_type") == "avg" else None
    )


@operator("pool2d", exact=_adaptive)
def pool2d(e, call):
    x, y = call.input("X"), call.output("Out")
    dtype = floats(call, x)
    adaptive = 2 if call.attr("global_pooling") else int(call.attr("adaptive"))
    size = [1, 1] if adaptive == 2 else _pair(call, "ksize")
    strides = [1, 1] if adaptive else _pair(call, "strides")
    pads, how = ([0] * 4, 0) if adaptive else _pads(call)
    e.call(f"pool2d_{SUFFIX[dtype]}", e.ref(x), e.ref(y), int(call.attr("pooling_type") == "max"),
           int(call.attr("data_format") == "NHWC"), e.ints(size), e.ints(strides), e.ints(pads),
           how, int(call.attr("exclusive")), int(call.attr("ceil_mode")), adaptive)  # fmt: skip
    e.set_type(y, dtype)
