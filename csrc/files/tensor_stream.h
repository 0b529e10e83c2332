// Fluid's stream of tensors (LoDTensor), in which it keeps parameters: a version, the levels of
// detail, a version, the size of a TensorDesc, the TensorDesc, the data. Little-endian.
#pragma once

#include <string>

#include "files/model_files.h"
#include "tensor/tensor.h"

namespace dygraph::program {

// The bytes of a number, as files have them.
template <class T>
void Append(std::string* to, T number) {
  to->append(reinterpret_cast<const char*>(&number), sizeof(T));
}

void WriteTensor(FileWriter* file, const Tensor& value);

struct TensorHead {
  LoDLevels lod;
  DType dtype = DType::kUnset;
  Dims dims;
};

// Format for anything that is no tensor; `what` names it in messages. Memory use is bounded by the
// size of the file, not by sizes in its header.
TensorHead ReadTensorHead(FileReader* file, const std::string& what);
// Into `room` where that is what the head describes.
Tensor ReadTensorData(FileReader* file, TensorHead head, const std::string& what,
                      Tensor room = Tensor());
Tensor ReadTensor(FileReader* file, const std::string& what);

}  // namespace dygraph::program
