#include "files/tensor_stream.h"

#include <algorithm>
#include <cstring>

#include "base/enforce.h"
#include "program/op_binding.h"
#include "program/wire.h"

namespace dygraph::program {

namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "files are little-endian, and so are the casts below");

template <class T>
T ReadNumber(FileReader* file, const char* what) {
  T number;
  file->Read(&number, sizeof(T), what);
  return number;
}

LoDLevels ReadLoD(FileReader* file, const std::string& what) {
  uint64_t levels = ReadNumber<uint64_t>(file, "a number of LoD levels");
  ENFORCE(levels <= kMaxProgramRank, Format, "damaged file of tensors: ", what, " may have ",
          kMaxProgramRank, " levels of detail, got ", levels);
  LoDLevels lod;
  for (uint64_t i = 0; i < levels; ++i) {
    uint64_t size = ReadNumber<uint64_t>(file, "the size of a LoD level");
    ENFORCE(size % sizeof(int64_t) == 0 && size <= file->left(), Format,
            "damaged file of tensors: ", what,
            " must have levels of whole offsets within the file, got ", size, " bytes");
    std::vector<int64_t> level(size / sizeof(int64_t));
    file->Read(level.data(), size, "a LoD level");
    lod.push_back(std::move(level));
  }
  return lod;
}

}  // namespace

void WriteTensor(FileWriter* file, const Tensor& value) {
  Tensor t = CopyTo(value, CPUPlace()).Plain();
  std::string head;
  Append(&head, uint32_t{0});
  Append(&head, static_cast<uint64_t>(t.lod_levels().size()));
  for (const auto& level : t.lod_levels()) {
    Append(&head, static_cast<uint64_t>(level.size() * sizeof(int64_t)));
    for (int64_t offset : level) Append(&head, offset);
  }
  Append(&head, uint32_t{0});
  std::string desc =
      SerializeTensorDesc({WireType(t.dtype()), {t.dims().begin(), t.dims().end()}, {}});
  Append(&head, static_cast<int32_t>(desc.size()));
  file->Write(head.data(), head.size());
  file->Write(desc.data(), desc.size());
  if (t.bytes() > 0) file->Write(t.raw_data(), t.bytes());
}

TensorHead ReadTensorHead(FileReader* file, const std::string& what) {
  TensorHead head;
  uint32_t version = ReadNumber<uint32_t>(file, "a version");
  ENFORCE(version == 0, Format, "damaged file of tensors: ", what, " must be of version 0, got ",
          version);
  head.lod = ReadLoD(file, what);
  version = ReadNumber<uint32_t>(file, "a version");
  ENFORCE(version == 0, Format, "damaged file of tensors: ", what, " must be of version 0, got ",
          version);
  int32_t size = ReadNumber<int32_t>(file, "the size of a description");
  ENFORCE(size >= 0 && size <= 512, Format, "damaged file of tensors: ", what,
          " must be described in at most 512 bytes, got ", size);
  std::string desc(static_cast<size_t>(size), '\0');
  file->Read(desc.data(), desc.size(), "a description");
  try {
    VarType::TensorDesc tensor = ParseTensorDesc(desc);
    ENFORCE(!tensor.unknown, Format, "It has fields that are unknown");
    head.dtype = DTypeFromWire(static_cast<int>(tensor.data_type));
    head.dims = DimsOf(tensor);
  } catch (const Error& e) {
    THROW(Format, "damaged file of tensors: ", what, " must be described by a type and sizes. ",
          e.message());
  }
  return head;
}

Tensor ReadTensorData(FileReader* file, TensorHead head, const std::string& what, Tensor room) {
  size_t bytes = 0;
  try {
    bytes = ByteSize(head.dims, head.dtype);
  } catch (const Error& e) {
    THROW(Format, "damaged file of tensors: ", what, " must have a size that fits into memory. ",
          e.message());
  }
  ENFORCE(bytes <= file->left(), Format, "damaged file of tensors: ", what, " must have ", bytes,
          " bytes of data, got the end of the file after ", file->left());
  bool fits = room.storage() && room.dims() == head.dims && room.dtype() == head.dtype;
  Tensor t = fits ? std::move(room) : Tensor(head.dims, head.dtype);
  if (bytes > 0) file->Read(t.mutable_raw_data(), bytes, "the data of a weight");
  if (head.dtype == DType::kBool) {
    const uint8_t* data = static_cast<const uint8_t*>(t.raw_data());
    ENFORCE(std::all_of(data, data + bytes, [](uint8_t b) { return b <= 1; }), Format,
            "damaged file of tensors: ", what, " must hold bools of 0 and 1, got another byte");
  }
  try {
    t.SetLoD(std::move(head.lod));
  } catch (const Error& e) {
    THROW(Format, "damaged file of tensors: ", what,
          " must have levels of detail that fit its rows. ", e.message());
  }
  return t;
}

Tensor ReadTensor(FileReader* file, const std::string& what) {
  return ReadTensorData(file, ReadTensorHead(file, what), what);
}

}  // namespace dygraph::program
