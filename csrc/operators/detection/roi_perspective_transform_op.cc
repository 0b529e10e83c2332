#include "kernels/parallel.h"
#include "op/gradient_shapes.h"
#include "operators/detection/rois.h"

namespace dygraph::rois {
namespace {

constexpr int kX = 0, kROIs = 1;
constexpr int kOut = 0, kMask = 1, kMatrix = 2, kIndex = 3, kWeights = 4;

struct RoiPerspectiveTransformAttrs {
  double spatial_scale = 1.0;
  int32_t transformed_height = 1;
  int32_t transformed_width = 1;
};

void CheckCall(InferContext& ctx, int x, int rois) {
  ENFORCE(ctx.dims(x).rank() == 4, InvalidArgument, "X must be images [N, C, H, W], got shape ",
          ctx.dims(x));
  const Dims& d = ctx.dims(rois);
  ENFORCE(d.rank() == 2 && (d[1] == 8 || d[1] < 0), InvalidArgument,
          "ROIs must be quadrilaterals [regions, 8], got shape ", d);
  CheckTypes(ctx, x, rois);
}

void DefineRoiPerspectiveTransform(OpDef& op) {
  op.Comment(
        "Quadrilaterals of images as rectangles (Sun et al., TextNet, 2018). The perspective map "
        "takes the corners of the rectangle to those of the region; Out is X there, a weighted "
        "mean of four pixels. A region that is wider than transformed_width at the height "
        "transformed_height fills it, a narrower one its left part. Where the map leaves region "
        "or image, Out and Mask are 0.")
      .Example(
          ">>> x = to_variable(np.arange(16.0).reshape(1, 1, 4, 4))\n"
          ">>> corners = np.array([[0.0, 0, 2, 0, 2, 2, 0, 2]])\n"
          ">>> out, mask, matrix = F.roi_perspective_transform(\n"
          "...     x, to_variable(corners, lod=[[0, 1]]), transformed_height=2, "
          "transformed_width=2)\n"
          ">>> out.tolist(), mask.tolist()\n"
          "([[[[0.0, 2.0], [8.0, 10.0]]]], [[[[1, 1], [1, 1]]]])")
      .Input(kX, "X", "[N, C, H, W]")
      .Input(
          kROIs, "ROIs",
          "[regions, 8]: (x, y) of the upper left corner, then clockwise; a level of detail says "
          "which image each lies in")
      .Output(kOut, "Out", "[regions, C, transformed_height, transformed_width]")
      .Output(kMask, "Mask", "[regions, 1, transformed_height, transformed_width] int32")
      .Output(kMatrix, "TransformMatrix", "[regions, 9], the map")
      .Output(kIndex, "Out2InIdx",
              "[elements of Out, 4] int32, the pixels of X that each is made of, -1: none",
              kIntermediate)
      .Output(kWeights, "Out2InWeights", "[elements of Out, 4], their weights", kIntermediate)
      .Attr(&RoiPerspectiveTransformAttrs::spatial_scale, "spatial_scale",
            "pixels of X for a unit of ROIs", Scale())
      .Attr(&RoiPerspectiveTransformAttrs::transformed_height, "transformed_height", "rows of Out",
            AtLeast(1))
      .Attr(&RoiPerspectiveTransformAttrs::transformed_width, "transformed_width", "columns of Out",
            AtLeast(1))
      .Shape([](InferContext& ctx) {
        CheckCall(ctx, kX, kROIs);
        const auto& a = ctx.attrs<RoiPerspectiveTransformAttrs>();
        const int64_t rows = ctx.dims(kROIs)[0], h = a.transformed_height, w = a.transformed_width;
        const int64_t all = MulSizes(MulSizes(rows, ctx.dims(kX)[1]), h * w);
        ctx.SetOutput(kOut, {rows, ctx.dims(kX)[1], h, w});
        ctx.SetOutput(kMask, {rows, 1, h, w}, DType::kInt32);
        ctx.SetOutput(kMatrix, {rows, 9});
        ctx.SetOutput(kIndex, {all, 4}, DType::kInt32);
        ctx.SetOutput(kWeights, {all, 4});
      })
      .ShareLoD(kROIs)
      .Grad(CallGradient);
}

constexpr double kNear = 1e-4;

bool AtMost(double a, double b) { return a < b || std::abs(a - b) < kNear; }

struct Quad {
  double x[4], y[4];

  bool Has(double px, double py) const {
    int crossed = 0;
    for (int i = 0; i < 4; ++i) {
      const double xs = x[i], ys = y[i], xe = x[(i + 1) % 4], ye = y[(i + 1) % 4];
      const double low = std::min(ys, ye), high = std::max(ys, ye);
      if (std::abs(ys - ye) < kNear) {
        if (std::abs(py - ys) < kNear && std::abs(py - ye) < kNear &&
            AtMost(std::min(xs, xe), px) && AtMost(px, std::max(xs, xe)))
          return true;
        continue;
      }
      const double at = (py - ys) * (xe - xs) / (ye - ys) + xs;
      if (std::abs(at - px) < kNear && AtMost(low, py) && AtMost(py, high)) return true;
      if (AtMost(py, low) || py - high > kNear) continue;
      crossed += at - px > kNear;
    }
    return crossed % 2 == 1;
  }

  // Takes (column, row) of a rectangle to places of the region.
  void Matrix(int64_t height, int64_t width, double* m) const {
    auto side = [this](int i, int j) { return std::hypot(x[i] - x[j], y[i] - y[j]); };
    const double tall = (side(1, 2) + side(3, 0)) / 2, wide = (side(0, 1) + side(2, 3)) / 2;
    const double rows = static_cast<double>(std::max<int64_t>(2, height));
    double columns = std::round(wide * (rows - 1) / tall) + 1;
    columns = std::max(2.0, std::min(columns, static_cast<double>(width)));
    if (!(columns >= 2)) columns = 2;  // a region without height
    const double dx1 = x[1] - x[2], dx2 = x[3] - x[2], dx3 = x[0] - x[1] + x[2] - x[3];
    const double dy1 = y[1] - y[2], dy2 = y[3] - y[2], dy3 = y[0] - y[1] + y[2] - y[3];
    const double det = dx1 * dy2 - dx2 * dy1 + 1e-5;
    m[6] = (dx3 * dy2 - dx2 * dy3) / det / (columns - 1);
    m[7] = (dx1 * dy3 - dx3 * dy1) / det / (rows - 1);
    m[8] = 1;
    m[3] = (y[1] - y[0] + m[6] * (columns - 1) * y[1]) / (columns - 1);
    m[4] = (y[3] - y[0] + m[7] * (rows - 1) * y[3]) / (rows - 1);
    m[5] = y[0];
    m[0] = (x[1] - x[0] + m[6] * (columns - 1) * x[1]) / (columns - 1);
    m[1] = (x[3] - x[0] + m[7] * (rows - 1) * x[3]) / (rows - 1);
    m[2] = x[0];
  }
};

// The pixels of a plane that a place of Out is made of.
struct Spot {
  int64_t at[4] = {-1, -1, -1, -1};
  double weight[4] = {};
};

Spot SpotAt(double x, double y, int64_t height, int64_t width) {
  Spot s;
  const double w = static_cast<double>(width), h = static_cast<double>(height);
  if (!(x - -0.5 > -kNear && y - -0.5 > -kNear) || AtMost(w - 0.5, x) || AtMost(h - 0.5, y) ||
      AtMost(x, -0.5) || AtMost(y, -0.5))
    return s;
  auto along = [](double v, int64_t size, int64_t* low, int64_t* high) {
    v = std::max(v, 0.0);
    *low = std::min(static_cast<int64_t>(v), size - 1);
    *high = std::min(*low + 1, size - 1);
    return *high == *low ? 0.0 : v - static_cast<double>(*low);
  };
  int64_t x0, x1, y0, y1;
  const double right = along(x, width, &x0, &x1), down = along(y, height, &y0, &y1);
  const int64_t at[4] = {y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1};
  const double weight[4] = {(1 - down) * (1 - right), (1 - down) * right, down * (1 - right),
                            down * right};
  std::copy_n(at, 4, s.at);
  std::copy_n(weight, 4, s.weight);
  return s;
}

template <class T>
struct Regions {
  Dims x;
  int64_t height, width;
  std::vector<int64_t> images;
  std::vector<double> matrices;
  std::vector<Spot> spots;  // [regions, height * width]

  Regions(const KernelContext& ctx, const Dims& in) : x(in) {
    const auto& a = ctx.attrs<RoiPerspectiveTransformAttrs>();
    const Tensor& rois = ctx.In(kROIs);
    height = a.transformed_height, width = a.transformed_width;
    images = Images(ctx, kROIs, -1, -1, x[0]);
    CheckBoxes<T>(rois, a.spatial_scale);
    const T* from = rois.data<T>();
    const double scale = NumberFor<T>(a.spatial_scale);
    const int64_t n = rois.dim(0);
    matrices.resize(static_cast<size_t>(n * 9));
    spots.resize(static_cast<size_t>(n * height * width));
    kernels::ParallelRows(n, height * width * 60, [&](int64_t first, int64_t last) {
      for (int64_t r = first; r < last; ++r) {
        Quad q;
        for (int i = 0; i < 4; ++i) {
          q.x[i] = static_cast<double>(from[r * 8 + 2 * i]) * scale;
          q.y[i] = static_cast<double>(from[r * 8 + 2 * i + 1]) * scale;
        }
        double* m = matrices.data() + r * 9;
        q.Matrix(height, width, m);
        for (int64_t k = 0; k < height * width; ++k) {
          const double i = static_cast<double>(k / width), j = static_cast<double>(k % width);
          const double w = m[6] * j + m[7] * i + m[8];
          const double px = (m[0] * j + m[1] * i + m[2]) / w;
          const double py = (m[3] * j + m[4] * i + m[5]) / w;
          if (std::isfinite(px) && std::isfinite(py) && q.Has(px, py))
            spots[r * height * width + k] = SpotAt(px, py, x[2], x[3]);
        }
      }
    });
  }
  int64_t PlaneOf(int64_t r, int64_t c) const { return (images[r] * x[1] + c) * x[2] * x[3]; }
};

template <class T>
struct RoiPerspectiveTransformKernel {
  static void Compute(KernelContext& ctx) {
    const Regions<T> all(ctx, ctx.In(kX).dims());
    const T* x = ctx.In(kX).data<T>();
    const int64_t n = static_cast<int64_t>(all.images.size()), channels = all.x[1];
    const int64_t size = all.height * all.width;
    Tensor *index = ctx.OutOrNull(kIndex), *weights = ctx.OutOrNull(kWeights);
    int32_t* at = index ? index->mutable_data<int32_t>() : nullptr;
    T* shares = weights ? weights->mutable_data<T>() : nullptr;
    T* out = ctx.Out(kOut).mutable_data<T>();
    kernels::ParallelRows(n * channels, size * 12, [&](int64_t first, int64_t last) {
      for (int64_t k = first * size; k < last * size; ++k) {
        const int64_t row = k / size, r = row / channels, plane = all.PlaneOf(r, row % channels);
        const Spot& s = all.spots[r * size + k % size];
        T sum = 0;
        for (int c = 0; c < 4; ++c) {
          if (s.at[c] >= 0) sum += static_cast<T>(s.weight[c]) * x[plane + s.at[c]];
          if (at) at[k * 4 + c] = s.at[c] < 0 ? -1 : static_cast<int32_t>(plane + s.at[c]);
          if (shares) shares[k * 4 + c] = static_cast<T>(s.weight[c]);
        }
        out[k] = sum;
      }
    });
    if (Tensor* t = ctx.OutOrNull(kMask)) {
      for (int64_t k = 0; k < n * size; ++k)
        t->mutable_data<int32_t>()[k] = all.spots[k].at[0] >= 0;
    }
    if (Tensor* t = ctx.OutOrNull(kMatrix)) {
      for (int64_t k = 0; k < n * 9; ++k) t->mutable_data<T>()[k] = static_cast<T>(all.matrices[k]);
    }
  }
};

namespace grad {
constexpr int kTop = 2, kXGrad = 0;

void DefineRoiPerspectiveTransformGrad(OpDef& op) {
  op.Comment("X@GRAD: each Out@GRAD goes to the pixels it was made of, by their weights.")
      .Input(kX, "X", "as of the forward call", kShapeOnly)
      .Input(kROIs, "ROIs", "as of the forward call")
      .Input(kTop, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("roi_perspective_transform")
      .Shape([](InferContext& ctx) {
        CheckCall(ctx, kX, kROIs);
        ctx.SetOutput(kXGrad, ctx.dims(kX));
      })
      .KernelDTypeOf(kTop)
      .Grad([](GradBuilder& g) {
        g.Call("roi_perspective_transform", {g.OutputGrad(kXGrad), g.Input(kROIs)},
               {g.InputGrad(kTop)})
            .SameAttrs();
      });
}

template <class T>
struct RoiPerspectiveTransformGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kXGrad);
    const Regions<T> all(ctx, out.dims());
    T* dx = out.mutable_data<T>();
    std::fill_n(dx, out.numel(), T(0));
    const T* top = ctx.In(kTop).data<T>();
    const int64_t n = static_cast<int64_t>(all.images.size()), channels = all.x[1];
    const int64_t size = all.height * all.width;
    kernels::ParallelRows(channels, n * size * 8, [&](int64_t first, int64_t last) {
      for (int64_t c = first; c < last; ++c) {
        for (int64_t k = 0; k < n * size; ++k) {
          const Spot& s = all.spots[k];
          const T g = top[(k / size * channels + c) * size + k % size];
          for (int i = 0; i < 4 && s.at[i] >= 0; ++i)
            dx[all.PlaneOf(k / size, c) + s.at[i]] += static_cast<T>(s.weight[i]) * g;
        }
      }
    });
  }
};
}  // namespace grad

REGISTER_OPERATOR(roi_perspective_transform, DefineRoiPerspectiveTransform);
REGISTER_LOD_RULE(roi_perspective_transform, RowsOfFirstAxis);
REGISTER_CPU_KERNEL(roi_perspective_transform, RoiPerspectiveTransformKernel, float, double);
REGISTER_OPERATOR(roi_perspective_transform_grad, grad::DefineRoiPerspectiveTransformGrad);
REGISTER_CPU_KERNEL(roi_perspective_transform_grad, grad::RoiPerspectiveTransformGradKernel, float,
                    double);

}  // namespace
}  // namespace dygraph::rois
