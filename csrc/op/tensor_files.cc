#include "op/tensor_files.h"

#include "base/enforce.h"

namespace dygraph {

namespace {
TensorFiles the_files{};
}

void SetTensorFiles(const TensorFiles& files) { the_files = files; }

const TensorFiles& GetTensorFiles() {
  ENFORCE(the_files.write, PreconditionNotMet, "the library must have files of tensors, got none");
  return the_files;
}

}  // namespace dygraph
