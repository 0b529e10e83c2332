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

void AppendVarint(std::string* to, uint64_t v) {
  for (; v >= 128; v >>= 7) to->push_back(static_cast<char>((v & 127) | 128));
  to->push_back(static_cast<char>(v));
}

// Reads a TensorDesc: its type and sizes, packed or not.
class TensorDescReader {
 public:
  TensorDescReader(const std::string& bytes, const std::string& what)
      : bytes_(bytes), what_(what) {}

  void Read(DType* dtype, Dims* dims) {
    bool has_type = false;
    while (at_ < bytes_.size()) {
      uint64_t tag = Varint();
      if (tag == 0x08) {
        *dtype = Type(Varint());
        has_type = true;
      } else if (tag == 0x10) {
        Add(dims, Varint());
      } else if (tag == 0x12) {
        uint64_t length = Varint();
        Check(length <= bytes_.size() - at_);
        for (size_t end = at_ + length; at_ < end;) Add(dims, Varint());
      } else {
        Check(false);
      }
    }
    Check(has_type);
  }

 private:
  void Check(bool fine) const {
    ENFORCE(fine, Format, "damaged file of tensors: ", what_,
            " must be described by a type and sizes, got a damaged description");
  }
  uint64_t Varint() {
    uint64_t v = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      Check(at_ < bytes_.size() && shift < 64);
      uint8_t byte = static_cast<uint8_t>(bytes_[at_++]);
      v |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) break;
    }
    return v;
  }
  DType Type(uint64_t number) const {
    for (int i = 0; i < kNumDTypes; ++i) {
      if (static_cast<uint64_t>(ToWire(static_cast<DType>(i))) == number)
        return static_cast<DType>(i);
    }
    THROW(Format, "damaged file of tensors: ", what_,
          " must be of an element type of ours, got number ", number);
  }
  void Add(Dims* dims, uint64_t size) const {
    Check(dims->size() < kMaxProgramRank && size <= static_cast<uint64_t>(INT64_MAX));
    dims->push_back(static_cast<int64_t>(size));
  }

  const std::string& bytes_;
  const std::string& what_;
  size_t at_ = 0;
};

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
  std::string desc;
  desc.push_back(0x08);
  AppendVarint(&desc, static_cast<uint64_t>(WireType(t.dtype())));
  for (int64_t d : t.dims()) {
    desc.push_back(0x10);
    AppendVarint(&desc, static_cast<uint64_t>(d));
  }
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
  TensorDescReader(desc, what).Read(&head.dtype, &head.dims);
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
