#include "operators/host/tensor_file.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kY = 0;

struct SaveCombineAttrs {
  bool overwrite = true;
  bool save_as_fp16 = false;
  std::string file_path;
  std::string within;
  bool save_to_memory = false;
};

void DefineSaveCombine(OpDef& op) {
  op.Comment(
        "Writes tensors one after another into a file, in Fluid's format, without their names. The "
        "file is replaced at once or stays as it was. A program writes within the directory that "
        "its executor was given: `static.Executor(files=...)`.")
      .Example(
          ">>> import os, tempfile\n"
          ">>> path = os.path.join(tempfile.mkdtemp(), 'all')\n"
          ">>> x, y = to_variable([1.0, 2.0]), to_variable([3])\n"
          ">>> _ = dygraph.run_op('save_combine', {'X': [x, y]}, {'file_path': path})\n"
          ">>> os.path.getsize(path)  # 24 bytes that describe each, and its numbers\n"
          "64")
      .Input(kX, "X", "tensors, with their level of detail", kDuplicable)
      .Output(kY, "Y", "nothing; programs of Paddle name a variable", kExtra)
      .Attr(&SaveCombineAttrs::overwrite, "overwrite", "False: the file must not be there yet")
      .Attr(&SaveCombineAttrs::save_as_fp16, "save_as_fp16",
            "floating point numbers become float16")
      .Attr(&SaveCombineAttrs::file_path, "file_path", "the file; its folders are made")
      .Attr(&SaveCombineAttrs::within, "within", tensor_file::kWithin)
      .Attr(&SaveCombineAttrs::save_to_memory, "save_to_memory", "must be False",
            tensor_file::IsFile("save_to_memory"))
      .Shape([](InferContext&) {})
      .KernelDType([](const Call&) { return DType::kFloat32; })
      .MixedDTypes()
      .KernelAllocates()
      .NoGrad();
}

template <class>
struct SaveCombineKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<SaveCombineAttrs>();
    std::vector<Tensor> values;
    for (int i = 0; i < ctx.InputCount(kX); ++i) {
      const Tensor& x = ctx.In(kX, i);
      values.push_back(a.save_as_fp16 ? tensor_file::Halved(x) : x);
    }
    GetTensorFiles().write({a.file_path, a.within}, values, a.overwrite);
  }
};

REGISTER_OPERATOR(save_combine, DefineSaveCombine);
REGISTER_FILE_KERNEL(save_combine, SaveCombineKernel);

}  // namespace
}  // namespace dygraph
