// Files of tensors that operators write and read. The room files/ knows the format; it says how
// when the library loads.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace dygraph {

// A file as an operator names it.
struct TensorFile {
  std::string path;
  std::string within;  // the directory that it must lie in; empty: anywhere
};

struct TensorFiles {
  // Replaces the file with the tensors one after another, or leaves it as it is. AlreadyExists
  // where it is there and may not be overwritten.
  void (*write)(const TensorFile& file, const std::vector<Tensor>& values, bool overwrite);
  // So many tensors, which fill the file. FileNotFound, or Format for anything else.
  std::vector<Tensor> (*read)(const TensorFile& file, size_t count);
  // The elements of the first tensor from number `seek` on, in this shape.
  Tensor (*read_part)(const TensorFile& file, int64_t seek, const Dims& shape);
};

void SetTensorFiles(const TensorFiles& files);
const TensorFiles& GetTensorFiles();

}  // namespace dygraph
