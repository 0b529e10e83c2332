#include "operators/host/tensor_file.h"

namespace dygraph {
namespace {

constexpr int kX = 0;

struct SaveAttrs {
  bool overwrite = true;
  bool save_as_fp16 = false;
  std::string file_path;
  std::string within;
};

void DefineSave(OpDef& op) {
  op.Comment(
        "Writes X into a file, in Fluid's format. The file is replaced at once or stays as it was. "
        "A program writes within the directory that its executor was given: "
        "`static.Executor(files=...)`.")
      .Example(
          ">>> import os, tempfile\n"
          ">>> path = os.path.join(tempfile.mkdtemp(), 'x')\n"
          ">>> _ = dygraph.run_op('save', {'X': to_variable([1.0, 2.0])}, {'file_path': path})\n"
          ">>> dygraph.run_op('load', {}, {'file_path': path})['Out'].tolist()\n"
          "[1.0, 2.0]")
      .Input(kX, "X", "a tensor, with its level of detail")
      .Attr(&SaveAttrs::overwrite, "overwrite", "False: the file must not be there yet")
      .Attr(&SaveAttrs::save_as_fp16, "save_as_fp16", "floating point numbers become float16")
      .Attr(&SaveAttrs::file_path, "file_path", "the file; its folders are made")
      .Attr(&SaveAttrs::within, "within", tensor_file::kWithin)
      .Shape([](InferContext&) {})
      .KernelDType([](const Call&) { return DType::kFloat32; })
      .MixedDTypes()
      .NoGrad();
}

template <class>
struct SaveKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<SaveAttrs>();
    const Tensor& x = ctx.In(kX);
    GetTensorFiles().write({a.file_path, a.within}, {a.save_as_fp16 ? tensor_file::Halved(x) : x},
                           a.overwrite);
  }
};

REGISTER_OPERATOR(save, DefineSave);
REGISTER_FILE_KERNEL(save, SaveKernel);

}  // namespace
}  // namespace dygraph
