"""exp, log, tanh and the like as C: the polynomials of the library's kernels, in their order.

MAD(a, b, c) stands where those kernels round a product and a sum once.
"""

from dygraph.codegen.registry import function


def poly(x, *coefficients):
    """c0 + x (c1 + x (c2 + ...)) as nested MADs; ``f`` behind a coefficient chooses MADf."""
    text = coefficients[-1]
    mad = "MADf" if text.endswith("f") else "MAD"
    for c in reversed(coefficients[:-1]):
        text = f"{mad}({x}, {text}, {c})"
    return text


_EXP_F = ("0.5000000078f", "0.1666666684f", "0.04166627069f", "0.008333268484f",
          "0.001394601854f", "0.0001991617462f")  # fmt: skip
_EXP_D = ("0.4999999999999999997", "0.1666666666666668395", "0.04166666666666671925",
          "0.008333333333316623426", "0.00138888888888602518", "0.0001984126989737671941",
          "0.0000248015873710750784", "2.755723390696554496e-6", "2.755723512748606738e-7",
          "2.511235601473010822e-8", "2.092650856570070671e-9")  # fmt: skip
_LOG_F = ("0.6666666564f", "0.4000033781f", "0.2853713082f", "0.2358545075f")
_LOG_D = ("0.6666666666666735479", "0.3999999999940843066", "0.2857142874369979975",
          "0.2222219844017939209", "0.1818357130420956085", "0.1531386840772904824",
          "0.1479781863293527869")  # fmt: skip

function(
    "bits_f32",
    """
static inline uint32_t bits_f32(float x) {
  uint32_t y;
  memcpy(&y, &x, 4);
  return y;
}
""",
)
function(
    "float_of",
    """
static inline float float_of(uint32_t x) {
  float y;
  memcpy(&y, &x, 4);
  return y;
}
""",
)
function(
    "bits_f64",
    """
static inline uint64_t bits_f64(double x) {
  uint64_t y;
  memcpy(&y, &x, 8);
  return y;
}
""",
)
function(
    "double_of",
    """
static inline double double_of(uint64_t x) {
  double y;
  memcpy(&y, &x, 8);
  return y;
}
""",
)
for _t, _s, _a, _f in (("float", "f32", "fabsf", "sqrtf"), ("double", "f64", "fabs", "sqrt")):
    _c = "copysignf" if _s == "f32" else "copysign"
    function(
        f"Clamp_{_s}",
        f"""
static inline {_t} Clamp_{_s}({_t} x, {_t} low, {_t} high) {{
  x = x < low ? low : x;
  return x > high ? high : x;
}}
""",
    )
    function(f"Abs_{_s}", f"#define Abs_{_s}(x) {_a}(x)")
    function(f"Sqrt_{_s}", f"#define Sqrt_{_s}(x) {_f}(x)")
    function(f"CopySign_{_s}", f"#define CopySign_{_s}(x, s) {_c}(x, s)")

function(
    "ExpRise_f32",
    f"""
static inline float ExpRise_f32(float r) {{ /* exp(r) - 1 */
  float q = {poly("r", *_EXP_F)};
  return MADf(r * r, q, r);
}}
""",
)
function(
    "ExpNormal_f32",
    f"""
static inline float ExpNormal_f32(float x) {{
  float shifted = MADf(x, 1.442695041f, 12582912.0f), n = shifted - 12582912.0f;
  float r = MADf(-n, 0.693145752f, x), q;
  r = MADf(-n, 1.428606765e-6f, r);
  q = {poly("r", *_EXP_F)};
  return (1.0f + MADf(r * r, q, r)) * float_of((bits_f32(shifted) - 0x4B400000u + 127u) << 23);
}}
""",
)
function(
    "Exp_f32",
    """
static inline float Exp_f32(float x) {
  float shifted, n, r;
  uint32_t bits, half;
  x = Clamp_f32(x, -106.0f, 90.0f);
  shifted = MADf(x, 1.442695041f, 12583166.0f);
  n = shifted - 12583166.0f;
  r = MADf(-n, 0.693145752f, x);
  r = MADf(-n, 1.428606765e-6f, r);
  bits = bits_f32(shifted);
  half = bits >> 1;
  return (1.0f + ExpRise_f32(r)) * float_of(half << 23) * float_of((bits - half) << 23);
}
""",
)
function(
    "ExpParts_f32",
    """
static inline float ExpParts_f32(float x, float *scale) { /* exp(x) / scale - 1, for x <= 0 */
  float shifted = MADf(x, 1.442695041f, 12583102.0f), n = shifted - 12583102.0f;
  float r = MADf(-n, 0.693145752f, x);
  r = MADf(-n, 1.428606765e-6f, r);
  *scale = float_of(bits_f32(shifted) << 23);
  return ExpRise_f32(r);
}
""",
)
function(
    "ExpBelowZero_f32",
    """
static inline float ExpBelowZero_f32(float x) {
  float scale, rise = ExpParts_f32(x < -106.0f ? -106.0f : x, &scale);
  return (1.0f + rise) * scale * 0x1p-63f;
}
""",
)
function(
    "Expm1_f32",
    f"""
static inline float Expm1_f32(float x) {{
  float c = Clamp_f32(x, -30.0f, 89.0f);
  float shifted = MADf(c, 1.442695041f, 12582912.0f), n = shifted - 12582912.0f;
  float r = MADf(-n, 0.693145752f, c), q, p, half, y;
  r = MADf(-n, 1.428606765e-6f, r);
  q = {poly("r", *_EXP_F)};
  p = MADf(r * r, q, r);
  half = float_of((bits_f32(shifted) - 0x4B400000u - 1u + 127u) << 23);
  y = MADf(half, p, half - 0.5f) * 2.0f;
  return x == 0.0f ? x : y;
}}
""",
)
function(
    "ExpReduced_f64",
    f"""
static inline double ExpReduced_f64(double x, uint64_t *n) {{ /* exp(x) / 2^n - 1 */
  double shifted = MAD(x, 1.4426950408889634, 6755399441055744.0);
  double m = shifted - 6755399441055744.0;
  double r = MAD(-m, 6.93147180369123816490e-01, x), q;
  r = MAD(-m, 1.90821492927058770002e-10, r);
  q = {poly("r", *_EXP_D)};
  *n = bits_f64(shifted) - UINT64_C(0x4338000000000000);
  return MAD(r * r, q, r);
}}
""",
)
function("TwoTo_f64", "#define TwoTo_f64(n) double_of(((n) + 1023u) << 52)")
function(
    "ExpNormal_f64",
    """
static inline double ExpNormal_f64(double x) {
  uint64_t n;
  double rise = ExpReduced_f64(x, &n);
  return (1.0 + rise) * TwoTo_f64(n);
}
""",
)
function(
    "Exp_f64",
    """
static inline double Exp_f64(double x) {
  uint64_t n, half;
  double y = 1.0 + ExpReduced_f64(Clamp_f64(x, -748.0, 711.0), &n);
  half = ((n + 4096u) >> 1) - 2048u;
  return y * TwoTo_f64(half) * TwoTo_f64(n - half);
}
""",
)
function("ExpBelowZero_f64", "#define ExpBelowZero_f64(x) Exp_f64(x)")
function(
    "Expm1_f64",
    """
static inline double Expm1_f64(double x) {
  uint64_t n;
  double p = ExpReduced_f64(Clamp_f64(x, -60.0, 710.0), &n);
  double half = TwoTo_f64(n - 1u);
  double y = MAD(half, p, half - 0.5) * 2.0;
  return x == 0.0 ? x : y;
}
""",
)
function(
    "Log_f32",
    f"""
static inline float Log_f32(float x) {{
  int tiny = x < 1.17549435e-38f;
  float scaled = tiny ? x * 8388608.0f : x;
  uint32_t bits = bits_f32(scaled) + (0x3F800000u - 0x3F3504F3u);
  float k = (float)(int32_t)(bits >> 23) - (tiny ? 150.0f : 127.0f);
  float f = float_of((bits & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f;
  float s = f / (2.0f + f), z = s * s, half = 0.5f * f;
  float sum = MADf(half, f, z * {poly("z", *_LOG_F)});
  float y = MADf(k, 0.693145752f, f - MADf(half, f, -MADf(k, 1.428606765e-6f, s * sum)));
  y = x < INFINITY ? y : x;
  y = x == 0.0f ? -INFINITY : y;
  return x < 0.0f ? NAN : y;
}}
""",
)
function(
    "Log_f64",
    f"""
static inline double Log_f64(double x) {{
  int tiny = x < 2.2250738585072014e-308;
  double scaled = tiny ? x * 18014398509481984.0 : x;
  uint64_t bits =
      bits_f64(scaled) + (UINT64_C(0x3FF0000000000000) - UINT64_C(0x3FE6A09E667F3BCD));
  double k = double_of((bits >> 52) | UINT64_C(0x4330000000000000)) - 0x1p52 -
             (tiny ? 1077.0 : 1023.0);
  double f = double_of((bits & UINT64_C(0x000FFFFFFFFFFFFF)) + UINT64_C(0x3FE6A09E667F3BCD)) - 1.0;
  double s = f / (2.0 + f), z = s * s, half = 0.5 * f;
  double sum = MAD(half, f, z * {poly("z", *_LOG_D)});
  double y = MAD(k, 6.93147180369123816490e-01,
                 f - MAD(half, f, -MAD(k, 1.90821492927058770002e-10, s * sum)));
  y = x < INFINITY ? y : x;
  y = x == 0.0 ? -INFINITY : y;
  return x < 0.0 ? NAN : y;
}}
""",
)
# The same of one number, where the kernels round other products and sums once.
function(
    "LogOne_f32",
    f"""
static inline float LogOne_f32(float x) {{
  int tiny = x < 1.17549435e-38f;
  float scaled = tiny ? x * 8388608.0f : x;
  uint32_t bits = bits_f32(scaled) + (0x3F800000u - 0x3F3504F3u);
  float k = (float)(int32_t)(bits >> 23) - (tiny ? 150.0f : 127.0f);
  float f = float_of((bits & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f;
  float s = f / (2.0f + f), z = s * s, half = 0.5f * f * f;
  float sum = MADf(z, {poly("z", *_LOG_F)}, half);
  float y = MADf(k, 0.693145752f, f - (half - MADf(s, sum, k * 1.428606765e-6f)));
  y = x < INFINITY ? y : x;
  y = x == 0.0f ? -INFINITY : y;
  return x < 0.0f ? NAN : y;
}}
""",
)
function(
    "LogOne_f64",
    f"""
static inline double LogOne_f64(double x) {{
  int tiny = x < 2.2250738585072014e-308;
  double scaled = tiny ? x * 18014398509481984.0 : x;
  uint64_t bits =
      bits_f64(scaled) + (UINT64_C(0x3FF0000000000000) - UINT64_C(0x3FE6A09E667F3BCD));
  double k = double_of((bits >> 52) | UINT64_C(0x4330000000000000)) - 0x1p52 -
             (tiny ? 1077.0 : 1023.0);
  double f = double_of((bits & UINT64_C(0x000FFFFFFFFFFFFF)) + UINT64_C(0x3FE6A09E667F3BCD)) - 1.0;
  double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
  double sum = MAD(z, {poly("z", *_LOG_D)}, half);
  double y = MAD(k, 6.93147180369123816490e-01,
                 f - (half - MAD(s, sum, k * 1.90821492927058770002e-10)));
  y = x < INFINITY ? y : x;
  y = x == 0.0 ? -INFINITY : y;
  return x < 0.0 ? NAN : y;
}}
""",
)
function(
    "Log1p_f32",
    f"""
static inline float Log1p_f32(float x) {{
  float u = 1.0f + x, b = u - 1.0f, lost = (1.0f - (u - b)) + (x - b);
  uint32_t bits = bits_f32(u) + (0x3F800000u - 0x3F3504F3u), e = bits >> 23;
  float k = (float)(int32_t)e - 127.0f, shift = float_of((254u - e) << 23);
  float f = float_of((bits & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f, s, z, half, sum, y;
  f = f + (k < 64.0f ? lost * shift : 0.0f);
  s = f / (2.0f + f), z = s * s, half = 0.5f * f;
  sum = MADf(half, f, z * {poly("z", *_LOG_F)});
  y = MADf(k, 0.693145752f, f - MADf(half, f, -MADf(k, 1.428606765e-6f, s * sum)));
  y = x < INFINITY ? y : x;
  y = x == 0.0f ? x : y;
  y = x == -1.0f ? -INFINITY : y;
  return x < -1.0f ? NAN : y;
}}
""",
)
function(
    "Log1p_f64",
    f"""
static inline double Log1p_f64(double x) {{
  double u = 1.0 + x, b = u - 1.0, lost = (1.0 - (u - b)) + (x - b);
  uint64_t bits = bits_f64(u) + (UINT64_C(0x3FF0000000000000) - UINT64_C(0x3FE6A09E667F3BCD));
  uint64_t e = bits >> 52;
  double k = double_of(e | UINT64_C(0x4330000000000000)) - 0x1p52 - 1023.0;
  double shift = double_of((2046u - e) << 52), s, z, half, sum, y;
  double f = double_of((bits & UINT64_C(0x000FFFFFFFFFFFFF)) + UINT64_C(0x3FE6A09E667F3BCD)) - 1.0;
  f = f + (k < 128.0 ? lost * shift : 0.0);
  s = f / (2.0 + f), z = s * s, half = 0.5 * f;
  sum = MAD(half, f, z * {poly("z", *_LOG_D)});
  y = MAD(k, 6.93147180369123816490e-01,
          f - MAD(half, f, -MAD(k, 1.90821492927058770002e-10, s * sum)));
  y = x < INFINITY ? y : x;
  y = x == 0.0 ? x : y;
  y = x == -1.0 ? -INFINITY : y;
  return x < -1.0 ? NAN : y;
}}
""",
)
_TANH = ("-0.3333331371f", "0.133324458f", "-0.05383672708f", "0.02100449423f", "-0.006175551507f")
function(
    "Tanh_f32",
    f"""
static inline float Tanh_f32(float x) {{
  float t = fabsf(x), z = x * x;
  float small = MADf(t * z, {poly("z", *_TANH)}, t);
  float large = 1.0f - 2.0f / (ExpNormal_f32(2.0f * Clamp_f32(t, 0.0f, 10.0f)) + 1.0f);
  return copysignf(t < 0.5625f ? small : large, x);
}}
""",
)
function(
    "Tanh_f64",
    """
static inline double Tanh_f64(double x) {
  double e = Expm1_f64(Clamp_f64(2.0 * fabs(x), 0.0, 40.0));
  return copysign(e / (e + 2.0), x);
}
""",
)
function(
    "OneAndExp_f32",
    """
static inline float OneAndExp_f32(float x) { /* (1 + exp(-x)) 2^-64 */
  float t = Clamp_f32(-x, -43.0f, 120.0f);
  float shifted = MADf(t, 1.442695041f, 12582975.0f), n = shifted - 12582975.0f;
  float r = MADf(-n, 0.693145752f, t), scale, one;
  uint32_t bits = bits_f32(shifted);
  int32_t inverse = (int32_t)(0x4B400000u + 190u - bits);
  r = MADf(-n, 1.428606765e-6f, r);
  inverse = inverse < 0 ? 0 : inverse;
  scale = float_of(bits << 23);
  one = float_of((uint32_t)inverse << 23);
  return MADf(scale, ExpRise_f32(r) + one, scale);
}
""",
)
function(
    "Sigmoid_f32",
    "static inline float Sigmoid_f32(float x) { return 0x1p-64f / OneAndExp_f32(x); }",
)
function(
    "Sigmoid_f64",
    """
static inline double Sigmoid_f64(double x) {
  double e = Exp_f64(-fabs(x)), d = 1.0 + e, lost = e - (d - 1.0);
  double y = (x < 0.0 ? e : 1.0) / d;
  return MAD(-y, lost * MAD(-0.5, d, 1.5), y);
}
""",
)
_ERF_F = ("0.1283791659f", "-0.3761262703f", "0.112835992f", "-0.0268544107f", "0.005189482165f",
          "-0.0008020460386f", "7.888112595e-5f")  # fmt: skip
_ERFC_F = ("-1.84960551f", "-2.638967533f", "-0.8431068174f", "-0.04156498628f", "0.01005060886f",
           "-0.002018039564f", "0.0002942952056f", "-2.357309906e-5f",
           "2.933959248e-7f")  # fmt: skip
function(
    "Erf_f32",
    f"""
static inline float Erf_f32(float x) {{
  float t = fabsf(x), z = x * x, u = Clamp_f32(t, 1.0f, 4.0f) - 1.0f;
  float small = MADf(x, {poly("z", *_ERF_F)}, x);
  float large = 1.0f - ExpNormal_f32({poly("u", *_ERFC_F)});
  return t < 1.0f ? small : copysignf(large, x);
}}
""",
)
_ERF_D = ("0.1283791670955125738", "-0.3761263890318374818", "0.1128379167095488442",
          "-0.02686617064507786652", "0.005223977624828356298", "-0.0008548326981421749975",
          "0.0001205533113283301616", "-0.00001492559576955984081", "1.646100844046101282e-6",
          "-1.635039587146907152e-7", "1.466032662689771169e-8", "-1.137494856337208821e-9",
          "5.960674618174194117e-11")  # fmt: skip
_ERFC_D = ("-1.849605509933248299", "-2.63896751423477488", "-0.8431072563594398608",
           "-0.04156109802465554578", "0.01003382517508548874", "-0.001977901191323605271",
           "0.0002373163366160185423", "0.00002629659671765042865", "-0.00002719949642397785006",
           "9.672110310873013172e-6", "-2.132689572799223298e-6", "2.053739339433217224e-7",
           "5.77040562777630824e-8", "-3.327017958716546449e-8", "8.485465893361466768e-9",
           "-1.313042010445717709e-9", "1.186717305551486201e-10",
           "-4.83337869330478768e-12")  # fmt: skip
function(
    "Erf_f64",
    f"""
static inline double Erf_f64(double x) {{
  double t = fabs(x), z = x * x, u = Clamp_f64(t, 1.0, 6.0) - 1.0;
  double small = MAD(x, {poly("z", *_ERF_D)}, x);
  double large = 1.0 - ExpNormal_f64({poly("u", *_ERFC_D)});
  return t < 1.0 ? small : copysign(large, x);
}}
""",
)
function(
    "Log1pOfUnit_f32",
    f"""
static inline float Log1pOfUnit_f32(float f) {{
  float s = f / (2.0f + f), z = s * s, a = 0.5f * f;
  float rest = z * {
        poly(
            "z", "0.666666755f", "0.3999888834f", "0.2861659712f", "0.2143073744f", "0.2428956844f"
        )
    };
  return f - MADf(a, f, -(s * MADf(a, f, rest)));
}}
""",
)
function("Log1pOfUnit_f64", "#define Log1pOfUnit_f64(x) Log1p_f64(x)")
function(
    "Softplus",
    """
static inline $T Softplus_$S($T x) {
  $T positive = x < 0 ? 0 : x;
  return positive + Log1pOfUnit_$S(ExpBelowZero_$S(-Abs_$S(x)));
}
""",
)
function(
    "Mish_f32",
    """
static inline float Mish_f32(float x) {
  float c = x < -110.0f ? -110.0f : x, scale;
  float rise = ExpParts_f32(-fabsf(c) < -110.0f ? -110.0f : -fabsf(c), &scale);
  float w = (1.0f + rise) * scale * 0x1p-63f, rest = w + 2.0f, square = 2.0f * w * w;
  float right = MADf(2.0f, w, 1.0f), faded = MADf(c, rise, c) * scale * 0x1p-63f;
  return c < 0.0f ? faded * rest / MADf(w, rest, 2.0f) : x * (right / (right + square));
}
""",
)
function(
    "Mish_f64",
    """
static inline double Mish_f64(double x) {
  double c = x < -800.0 ? -800.0 : x, w = Exp_f64(-fabs(c));
  double right = MAD(2.0, w, 1.0), left = w * (w + 2.0);
  return c * (c < 0.0 ? left / (left + 2.0) : right / MAD(2.0 * w, w, right));
}
""",
)
function(
    "Silu_f32",
    """
static inline float Silu_f32(float x) {
  float y = (x < -120.0f ? -120.0f : x) / OneAndExp_f32(x) * 0x1p-64f;
  return x > 1e3f ? x : y;
}
""",
)
function(
    "Silu_f64",
    """
static inline double Silu_f64(double x) {
  return (x < -800.0 ? -800.0 : x) * Sigmoid_f64(x);
}
""",
)
function(
    "Gated_f32",
    """
static inline float Gated_f32(float x, float z) {
  int large = fabsf(x) > 1e3f;
  float first = large ? 0x1p-64f : 1.0f, last = large ? 1.0f : 0x1p-64f;
  float y = x * first / OneAndExp_f32(z) * last;
  return z < -120.0f ? copysignf(0.0f, x) : y;
}
""",
)
function(
    "Gated_f64",
    """
static inline double Gated_f64(double x, double z) {
  double y = x * Sigmoid_f64(z);
  return z < -1500.0 ? copysign(0.0, x) : y;
}
""",
)
_TAIL = ("0.2336530297f", "-0.1050421556f", "0.03441376548f", "-0.007822835373f", "0.001026939778f",
         "-3.266073378e-06f", "-2.25503552e-05f", "1.786858764e-06f", "4.651821977e-07f",
         "-6.46647696e-08f")  # fmt: skip
function(
    "Gelu_f32",
    f"""
static inline float Gelu_f32(float x) {{
  float t = Clamp_f32(fabsf(x), 0.0f, 14.6f);
  float head = float_of(bits_f32(t) & 0xFFFFF000u);
  float a = -0.5f * head * head, b = -0.5f * (t - head) * (t + head);
  float shifted = MADf(a + b, 1.442695041f, 12583102.0f), n = shifted - 12583102.0f;
  float r = MADf(-n, 0.693145752f, a), scale = float_of(bits_f32(shifted) << 23), rise, v, w, ratio;
  float away;
  r = MADf(-0.5f * (t - head), t + head, MADf(-n, 1.428606765e-6f, r));
  rise = ExpRise_f32(r);
  v = t / MADf(0.25f, t, 1.0f);
  w = v - 1.5f;
  ratio = {poly("w", *_TAIL)};
  away = v * ratio;
  away = MADf(away, rise, away) * scale * 0x1p-63f;
  return x < 0.0f ? -away : x - away;
}}
""",
)
function(
    "Gelu_f64",
    """
static inline double Gelu_f64(double x) {
  double y = 0.5 * x * (1.0 + Erf_f64(x * 0.70710678118654752440));
  return x < -40.0 ? -0.0 : y;
}
""",
)
_SIN = ("-0.1666665485f", "0.008332172267f", "-0.0001951647804f")
_COS = ("0.04166664543f", "-0.001388730441f", "2.443182218e-05f")
function(
    "Angle_f32",
    f"""
/* sin(x + turn pi/2), turn 0 or 1; angles far out are left to libm */
static inline float Angle_f32(float x, uint32_t turn) {{
  double wide = x, shifted = MAD(wide, 0.636619772367581382433, 6755399441055744.0);
  double n = shifted - 6755399441055744.0;
  double rest = MAD(-n, 1.58932547735281960548e-08, MAD(-n, 1.5707963109016418457, wide));
  uint32_t quarter = (uint32_t)bits_f64(shifted);
  float r = (float)rest, z = r * r, y;
  float s = MADf(r * z, {poly("z", *_SIN)}, r);
  float c = MADf(z * z, {poly("z", *_COS)}, MADf(-0.5f, z, 1.0f));
  y = ((quarter ^ turn) & 1u) ? c : s;
  return float_of(bits_f32(y) ^ (((quarter + turn) & 2u) << 30));
}}
""",
)
for _name, _turn, _zero in (("Sin", 0, "x == 0.0f ? x : "), ("Cos", 1, "")):
    function(
        f"{_name}_f32",
        f"""
static inline float {_name}_f32(float x) {{
  if (!(fabsf(x) <= 0x1p27f)) return {_name.lower()}f(x);
  return {_zero}Angle_f32(x, {_turn}u);
}}
""",
    )
    function(f"{_name}_f64", f"#define {_name}_f64(x) {_name.lower()}(x)")
