#include "operators/host/tensor_file.h"

namespace dygraph {
namespace {

constexpr int kOut = 0;

struct LoadCombineAttrs {
  bool load_as_fp16 = false;
  std::string file_path;
  std::string within;
  bool model_from_memory = false;
};

void DefineLoadCombine(OpDef& op) {
  op.Comment(
        "Out = the tensors in a file, in Fluid's format, in their order: as many as a program "
        "names, one where the operator is called by itself. A program reads within the directory "
        "that its executor was given: `static.Executor(files=...)`.")
      .Example(
          ">>> import os, tempfile\n"
          ">>> path = os.path.join(tempfile.mkdtemp(), 'all')\n"
          ">>> _ = dygraph.run_op('save_combine', {'X': [to_variable([3])]}, {'file_path': path})\n"
          ">>> [v.tolist() for v in dygraph.run_op('load_combine', {}, {'file_path': "
          "path})['Out']]\n"
          "[[3]]")
      .Output(kOut, "Out", "shapes, types and levels of detail of the file", kDuplicable)
      .Attr(&LoadCombineAttrs::load_as_fp16, "load_as_fp16",
            "floating point numbers become float16")
      .Attr(&LoadCombineAttrs::file_path, "file_path", "the file")
      .Attr(&LoadCombineAttrs::within, "within", tensor_file::kWithin)
      .Attr(&LoadCombineAttrs::model_from_memory, "model_from_memory", "must be False",
            tensor_file::IsFile("model_from_memory"))
      .Shape([](InferContext&) {})
      .OutputCount([](int, const Call&) { return 1; })
      .KernelDType([](const Call&) { return DType::kFloat32; })
      .KernelAllocates()
      .NoGrad();
}

template <class>
struct LoadCombineKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<LoadCombineAttrs>();
    const size_t count = static_cast<size_t>(ctx.OutputCount(kOut));
    std::vector<Tensor> values = GetTensorFiles().read({a.file_path, a.within}, count);
    for (size_t i = 0; i < count; ++i) {
      if (!ctx.HasOutput(kOut, static_cast<int>(i))) continue;
      ctx.OutValue(kOut, static_cast<int>(i)) =
          Value(a.load_as_fp16 ? tensor_file::Halved(values[i]) : std::move(values[i]));
    }
  }
};

REGISTER_OPERATOR(load_combine, DefineLoadCombine);
REGISTER_FILE_KERNEL(load_combine, LoadCombineKernel);

}  // namespace
}  // namespace dygraph
