#include "kernels/loops.h"
#include "kernels/table.h"
#include "operators/detection/boxes.h"
#include "operators/detection/images.h"

namespace dygraph::boxes {
namespace {

constexpr int kInput = 0, kImInfo = 1, kOutput = 0;

void DefineBoxClip(OpDef& op) {
  op.Comment(
        "Boxes cut off at the borders of their image: x in [0, round(width / scale) - 1], y in "
        "[0, round(height / scale) - 1]. Sequence i of Input, or all of it where it has no level "
        "of "
        "detail, belongs to image i.")
      .Example(
          ">>> boxes = to_variable([[-1.0, 2.0, 30.0, 40.0]])\n"
          ">>> F.box_clip(boxes, to_variable([[10.0, 20.0, 1.0]])).tolist()\n"
          "[[0.0, 2.0, 19.0, 9.0]]")
      .Input(kInput, "Input", "[rows, 4] or [rows, classes, 4], with LoD for several images")
      .Input(kImInfo, "ImInfo", "[images, 3]: height, width and scale of each")
      .Output(kOutput, "Output", "shape of Input")
      .Shape([](InferContext& ctx) {
        const Dims &boxes = ctx.dims(kInput), &info = ctx.dims(kImInfo);
        ENFORCE(IsBoxes(boxes), InvalidArgument,
                "Input must hold boxes, 4 numbers each, got shape ", boxes);
        ENFORCE(info.rank() == 2 && (info[1] == 3 || info[1] < 0), InvalidArgument,
                "ImInfo must have shape [images, 3], got ", info);
        ctx.SetOutput(kOutput, boxes);
      })
      .ShareLoD(kInput)
      .NoGrad();
}

template <class T>
struct BoxClipKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &boxes = ctx.In(kInput), &info = ctx.In(kImInfo);
    const std::vector<int64_t> offsets = images::OffsetsOf(boxes);
    const auto count = static_cast<int64_t>(offsets.size()) - 1;
    ENFORCE(info.dim(0) == count, InvalidArgument, "ImInfo must have a row for each of the ", count,
            " images of Input, got shape ", info.dims(),
            boxes.lod_levels().empty() ? ". Without a level of detail all boxes belong to one image"
                                       : "");
    const int64_t width = Numel(boxes.dims(), 1, boxes.rank());
    const T* from = boxes.data<T>();
    T* to = ctx.Out(kOutput).mutable_data<T>();
    const T* sizes = info.data<T>();
    std::vector<int64_t> images;  // of each row
    for (int64_t i = 0; i < count; ++i) images.insert(images.end(), offsets[i + 1] - offsets[i], i);
    kernels::Table<int64_t> table(images);
    const int64_t* image = table.data();
    kernels::ForEach(
        boxes.numel() / 4,
        [=] DYGRAPH_FN(int64_t i) {
          const T* of = sizes + image[i * 4 / width] * 3;
          const T bottom = std::round(of[0] / of[2]) - 1, right = std::round(of[1] / of[2]) - 1;
          Box<T>::At(from + i * 4).Clipped(right, bottom).Write(to + i * 4);
        },
        16);
  }
};

REGISTER_OPERATOR(box_clip, DefineBoxClip);
REGISTER_KERNELS(box_clip, BoxClipKernel, float, double);

}  // namespace
}  // namespace dygraph::boxes
