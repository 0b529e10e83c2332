#include "operators/host/tensor_file.h"

namespace dygraph {
namespace {

constexpr int kOut = 0;

struct LoadAttrs {
  bool load_as_fp16 = false;
  std::string file_path;
  std::string within;
  int64_t seek = -1;
  std::vector<int64_t> shape;
};

void DefineLoad(OpDef& op) {
  op.Comment(
        "Out = the tensor in a file, in Fluid's format. A program reads within the directory that "
        "its executor was given: `static.Executor(files=...)`.")
      .Example(
          ">>> import os, tempfile\n"
          ">>> path = os.path.join(tempfile.mkdtemp(), 'x')\n"
          ">>> x = to_variable([1.0, 2.0, 3.0])\n"
          ">>> _ = dygraph.run_op('save', {'X': x}, {'file_path': path})\n"
          ">>> attrs = {'file_path': path, 'seek': 1, 'shape': [2]}\n"
          ">>> dygraph.run_op('load', {}, attrs)['Out'].tolist()\n"
          "[2.0, 3.0]")
      .Output(kOut, "Out", "shape, type and level of detail of the file")
      .Attr(&LoadAttrs::load_as_fp16, "load_as_fp16", "floating point numbers become float16")
      .Attr(&LoadAttrs::file_path, "file_path", "the file")
      .Attr(&LoadAttrs::within, "within", tensor_file::kWithin)
      .Attr(&LoadAttrs::seek, "seek",
            "of the elements, those from this number on, in `shape`; -1: all", AtLeast(-1))
      .Attr(&LoadAttrs::shape, "shape", "with seek: the sizes of Out", EachAtLeast(0))
      .Shape([](InferContext&) {})
      .KernelDType([](const Call&) { return DType::kFloat32; })
      .KernelAllocates()
      .NoGrad();
}

template <class>
struct LoadKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<LoadAttrs>();
    const TensorFile file{a.file_path, a.within};
    const TensorFiles& files = GetTensorFiles();
    const Tensor out = a.seek < 0
                           ? files.read(file, 1)[0]
                           : files.read_part(file, a.seek, Dims(a.shape.begin(), a.shape.end()));
    ctx.OutValue(kOut) = Value(a.load_as_fp16 ? tensor_file::Halved(out) : out);
  }
};

REGISTER_OPERATOR(load, DefineLoad);
REGISTER_FILE_KERNEL(load, LoadKernel);

}  // namespace
}  // namespace dygraph
