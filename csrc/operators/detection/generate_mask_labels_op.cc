#include "operators/detection/targets.h"

namespace dygraph::targets {
namespace {

constexpr int kImInfo = 0, kGtClasses = 1, kIsCrowd = 2, kGtSegms = 3, kRois = 4, kLabels = 5;
constexpr int kMaskRois = 0, kRoiHasMask = 1, kMask = 2;

struct GenerateMaskLabelsAttrs {
  int32_t num_classes = 81;
  int32_t resolution = 14;
};

void DefineGenerateMaskLabels(OpDef& op) {
  op.Comment(
        "The masks that Mask R-CNN learns from (He et al., 2017). Regions with a class get the "
        "polygons of the true object whose box they overlap most, as resolution x resolution "
        "pixels, in the place of the class; -1 elsewhere. An image without such regions has its "
        "first one, with -1 everywhere.")
      .Example(
          ">>> one = lambda v: to_variable(np.array([[v]], \"int32\"), lod=[[0, 1]])\n"
          ">>> corners = np.array([[0.0, 0], [4, 0], [4, 8], [0, 8]])\n"
          ">>> polygon = to_variable(corners, lod=[[0, 1], [0, 1], [0, 4]])\n"
          ">>> roi = to_variable(np.array([[0.0, 0, 8, 8]]), lod=[[0, 1]])\n"
          ">>> info = to_variable(np.array([[9.0, 9, 1]]))\n"
          ">>> _, _, mask = F.generate_mask_labels(info, one(1), one(0), polygon, roi, one(1),\n"
          "...                                     num_classes=2, resolution=2)\n"
          ">>> mask.tolist()\n"
          "[[-1, -1, -1, -1, 1, 0, 1, 0]]")
      .Input(kImInfo, "ImInfo", "[N, 3]: height and width of each scaled image, and its scale")
      .Input(kGtClasses, "GtClasses", "[objects, 1] int32, with those of each image")
      .Input(kIsCrowd, "IsCrowd", "[objects, 1] int32, 1 for objects to leave out")
      .Input(kGtSegms, "GtSegms",
             "[points, 2], x and y before scaling; three levels of detail: objects of images, "
             "polygons of objects, points of polygons")
      .Input(kRois, "Rois", "[regions, 4] in the scaled image, with those of each image")
      .Input(kLabels, "LabelsInt32", "[regions, 1] int32 classes, 0 for background")
      .Output(kMaskRois, "MaskRois", "[masks, 4], the regions, with those of each image")
      .Output(kRoiHasMask, "RoiHasMaskInt32", "[masks, 1], their rows among those of the image")
      .Output(kMask, "MaskInt32", "[masks, num_classes * resolution * resolution]: 1, 0 or -1")
      .Attr(&GenerateMaskLabelsAttrs::num_classes, "num_classes",
            "number of classes, with background", AtLeast(1))
      .Attr(&GenerateMaskLabelsAttrs::resolution, "resolution", "rows and columns of a mask",
            AtLeast(1))
      .MixedDTypes()
      .KernelDTypeOf(kRois)
      .VarType([](InferContext& ctx) {
        const auto& a = ctx.attrs<GenerateMaskLabelsAttrs>();
        const Dims& segms = ctx.dims(kGtSegms);
        const Dims &crowd = ctx.dims(kIsCrowd), &classes = ctx.dims(kGtClasses);
        CheckTruth(ctx, kRois, {kLabels}, kImInfo, -1);
        ENFORCE(segms.rank() == 2 && (segms[1] == 2 || segms[1] < 0), InvalidArgument,
                "GtSegms must be points [points, 2], got shape ", segms);
        auto of_objects = [](const Dims& d) {
          return d.rank() >= 1 && (d.HasUnknown() || Numel(d) == d[0]);
        };
        ENFORCE(of_objects(crowd) && of_objects(classes) &&
                    (crowd[0] == classes[0] || !BothKnown(crowd[0], classes[0])),
                InvalidArgument, "IsCrowd and GtClasses must be [objects, 1], got ", crowd, " and ",
                classes);
        CheckType(ctx, kGtSegms, kRois);
        CheckType(ctx, kImInfo, kRois);
        if (ctx.runtime()) return;
        const int64_t size = int64_t{a.resolution} * a.resolution * a.num_classes;
        ctx.SetOutput(kMaskRois, {-1, 4}, ctx.dtype(kRois));
        ctx.SetOutput(kRoiHasMask, {-1, 1}, DType::kInt32);
        ctx.SetOutput(kMask, {-1, size}, DType::kInt32);
      })
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct Point {
  T x, y;
};

// Fills the pixels of a polygon in a square mask. As the COCO tools do it: the boundary is drawn in
// steps of a fifth of a pixel, and a pixel lies inside if its column crosses it an odd number of
// times above.
template <class T>
void Fill(const std::vector<Point<T>>& polygon, int64_t side, int32_t* mask) {
  constexpr int kFine = 5;
  struct Fine {
    int64_t x, y;
  };
  std::vector<Fine> corners, path;
  for (const Point<T>& p : polygon) {
    auto fine = [](T v) {
      return static_cast<int64_t>(std::floor(static_cast<double>(kFine * v) + 0.5));
    };
    corners.push_back({fine(p.x), fine(p.y)});
  }
  corners.push_back(corners[0]);
  for (size_t k = 0; k + 1 < corners.size(); ++k) {
    Fine s = corners[k], e = corners[k + 1];
    const int64_t dx = std::abs(e.x - s.x), dy = std::abs(e.y - s.y), steps = std::max(dx, dy);
    const bool flip = dx >= dy ? s.x > e.x : s.y > e.y;
    if (flip) std::swap(s, e);
    const double slope = steps == 0 ? 0
                                    : static_cast<double>(dx >= dy ? e.y - s.y : e.x - s.x) /
                                          static_cast<double>(steps);
    for (int64_t d = 0; d <= steps; ++d) {
      const int64_t t = flip ? steps - d : d;
      const double from = static_cast<double>(dx >= dy ? s.y : s.x);
      const auto across = static_cast<int64_t>(from + slope * static_cast<double>(t) + 0.5);
      path.push_back(dx >= dy ? Fine{t + s.x, across} : Fine{across, t + s.y});
    }
  }
  std::vector<int64_t> crossings(static_cast<size_t>(side * side + 1), 0);  // by column, then row
  for (size_t k = 1; k < path.size(); ++k) {
    if (path[k].x == path[k - 1].x) continue;
    const int64_t column =
        std::min(path[k].x, path[k].x < path[k - 1].x ? path[k].x : path[k].x - 1);
    const double x = (static_cast<double>(column) + 0.5) / kFine - 0.5;
    if (std::floor(x) != x || x < 0 || x > static_cast<double>(side - 1)) continue;
    double y = (static_cast<double>(std::min(path[k].y, path[k - 1].y)) + 0.5) / kFine - 0.5;
    y = std::ceil(std::min(std::max(y, 0.0), static_cast<double>(side)));
    ++crossings[static_cast<int64_t>(x) * side + static_cast<int64_t>(y)];
  }
  int64_t crossed = 0;
  for (int64_t k = 0; k < side * side; ++k) {
    crossed += crossings[k];
    if (crossed % 2) mask[k % side * side + k / side] = 1;
  }
}

template <class T>
struct Object {
  std::vector<std::vector<Point<T>>> polygons;
  boxes::Box<T> box;
};

template <class T>
struct GenerateMaskLabelsKernel {
  static const LoDLevels& Levels(const KernelContext& ctx, int64_t images) {
    const LoDLevels& lod = ctx.In(kGtSegms).lod_levels();
    ENFORCE(lod.size() == 3, InvalidArgument,
            "GtSegms must have 3 levels of detail, objects, polygons and points, got ", lod.size());
    ENFORCE(static_cast<int64_t>(lod[0].size()) - 1 == images, InvalidArgument,
            "GtSegms must have the objects of ", images, " images, got those of ",
            lod[0].size() - 1);
    ENFORCE(lod[0].back() == ctx.In(kGtClasses).dim(0), InvalidArgument,
            "GtSegms must have the polygons of ", ctx.In(kGtClasses).dim(0),
            " objects, as GtClasses has, got those of ", lod[0].back());
    return lod;
  }
  static Object<T> ObjectOf(const Tensor& segms, const LoDLevels& lod, int64_t which) {
    const T* at = segms.data<T>();
    Object<T> object;
    boxes::Box<T>& b = object.box;
    b = {T(1e9), T(1e9), T(-1e9), T(-1e9)};
    for (int64_t k = lod[1][which]; k < lod[1][which + 1]; ++k) {
      std::vector<Point<T>> polygon;
      for (int64_t p = lod[2][k]; p < lod[2][k + 1]; ++p) {
        const T x = at[p * 2], y = at[p * 2 + 1];
        b = {std::min(b.x0, x), std::min(b.y0, y), std::max(b.x1, x), std::max(b.y1, y)};
        polygon.push_back({x, y});
      }
      if (!polygon.empty()) object.polygons.push_back(std::move(polygon));
    }
    return object;
  }
  static void Draw(const Object<T>& object, const boxes::Box<T>& region, int64_t side,
                   int32_t* mask) {
    const T w = std::max(region.x1 - region.x0, T(1)), h = std::max(region.y1 - region.y0, T(1));
    const T far = static_cast<T>(side) * T(1000);  // no pixel is decided there
    auto place = [=](T v, T size) {
      return std::clamp(v * static_cast<T>(side) / size, -far, far);
    };
    std::fill_n(mask, side * side, 0);
    for (const std::vector<Point<T>>& from : object.polygons) {
      std::vector<Point<T>> polygon;
      for (const Point<T>& p : from)
        polygon.push_back({place(p.x - region.x0, w), place(p.y - region.y0, h)});
      Fill(polygon, side, mask);
    }
  }

  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<GenerateMaskLabelsAttrs>();
    const int64_t images = ctx.In(kImInfo).dim(0), side = a.resolution, size = side * side;
    const LoDLevels& lod = Levels(ctx, images);
    const std::vector<int64_t>& regions = RowsByImage(ctx, kRois, images);
    const std::vector<int64_t> classes = Integers(ctx.In(kGtClasses), "GtClasses");
    const std::vector<int64_t> crowd = Integers(ctx.In(kIsCrowd), "IsCrowd");
    const std::vector<int64_t> labels = Integers(ctx.In(kLabels), "LabelsInt32");
    for (int slot : {kGtSegms, kRois}) CheckBoxes<T>(ctx, slot);
    const T *info = ctx.In(kImInfo).data<T>(), *rois = ctx.In(kRois).data<T>();
    std::vector<T> found;
    std::vector<int32_t> rows, masks;
    std::vector<int64_t> ends{0};
    for (int64_t i = 0; i < images; ++i) {
      CheckInterrupt();
      const T scale = info[i * 3 + 2];
      ENFORCE(scale > T(0), InvalidArgument, "ImInfo must hold scales above 0, got ", scale,
              " for image ", i);
      std::vector<Object<T>> objects;
      std::vector<boxes::Box<T>> truth, taken;
      for (int64_t k = lod[0][i]; k < lod[0][i + 1]; ++k) {
        if (classes[k] <= 0 || crowd[k]) continue;
        objects.push_back(ObjectOf(ctx.In(kGtSegms), lod, k));
        truth.push_back(objects.back().box);
      }
      auto add = [&](int64_t r) {
        taken.push_back(boxes::Box<T>::At(rois + r * 4) / scale);
        found.insert(found.end(), rois + r * 4, rois + r * 4 + 4);
        rows.push_back(static_cast<int32_t>(r - regions[i]));
        masks.resize(masks.size() + static_cast<size_t>(a.num_classes * size), -1);
      };
      for (int64_t r = regions[i]; r < regions[i + 1] && !objects.empty(); ++r) {
        if (labels[r] <= 0) continue;
        ENFORCE(labels[r] < a.num_classes, OutOfRange, "LabelsInt32 must lie in [0, ",
                a.num_classes, "), got ", labels[r]);
        add(r);
        const std::vector<T> overlap = Overlaps<T>({taken.back()}, truth);
        const auto best = std::max_element(overlap.begin(), overlap.end()) - overlap.begin();
        Draw(objects[best], taken.back(), side,
             masks.data() + masks.size() - (a.num_classes - labels[r]) * size);
      }
      if (taken.empty() && regions[i] < regions[i + 1]) {
        int64_t r = regions[i];
        while (r + 1 < regions[i + 1] && labels[r] != 0) ++r;
        add(r);
      }
      ends.push_back(static_cast<int64_t>(rows.size()));
    }
    Give(ctx, kMaskRois, found, 4, ctx.In(kRois).dtype(), {ends});
    Give(ctx, kRoiHasMask, rows, 1, DType::kInt32, {ends});
    Give(ctx, kMask, masks, a.num_classes * size, DType::kInt32, {ends});
  }
};

REGISTER_OPERATOR(generate_mask_labels, DefineGenerateMaskLabels);
REGISTER_CPU_KERNEL(generate_mask_labels, GenerateMaskLabelsKernel, float, double);

}  // namespace
}  // namespace dygraph::targets
