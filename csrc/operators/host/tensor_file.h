// What operators that write and read files of tensors share.
#pragma once

#include "kernels/cast.h"
#include "op/op_registry.h"
#include "op/tensor_files.h"

// Kernels of all types, which look at no number.
#define REGISTER_FILE_KERNEL(type, K) REGISTER_CPU_KERNEL(type, K, AllTypes)

namespace dygraph::tensor_file {

// Floating point numbers in half the bits; other numbers stay what they are.
inline Tensor Halved(const Tensor& x) {
  const bool floating =
      x.dtype() == DType::kFloat32 || x.dtype() == DType::kFloat64 || x.dtype() == DType::kBFloat16;
  if (!floating) return x;
  const Tensor from = CopyTo(x, CPUPlace()).Plain();
  Tensor to(from.dims(), DType::kFloat16);
  if (from.numel() > 0) {
    kernels::Cast(from.dtype(), from.raw_data(), DType::kFloat16, to.mutable_raw_data(),
                  from.numel());
  }
  to.SetLoD(from.lod_ref());
  return to;
}

// The attribute beside file_path that programs cannot choose.
constexpr const char* kWithin =
    "the directory that the file must lie in; empty: anywhere. In a program the executor sets it";

// Of attributes that would put the bytes of a file into a variable.
inline AttrCheck IsFile(const char* name) {
  return [name](const std::string&, const AttrValue& value) {
    ENFORCE(!std::get<bool>(value), Unimplemented, name,
            " must be False: the bytes are those of a file here, got True. Give file_path");
  };
}

}  // namespace dygraph::tensor_file
