#include "files/packed_model.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "files/crc32.h"
#include "files/file_set.h"
#include "files/inference_model.h"
#include "files/tensor_stream.h"
#include "program/op_binding.h"
#include "program/verify.h"
#include "program/wire.h"

namespace dygraph::program {

namespace {

constexpr char kMagic[] = "DGPACK1\n";
constexpr size_t kMagicBytes = 8, kHeaderBytes = 64, kAlignment = 64, kPage = 4096;

// Behind the magic, in this order; zeros up to the CRC of all of it in the last four bytes.
struct Header {
  uint64_t file_size = 0, program_size = 0, weights_offset = 0;
  uint32_t program_crc = 0, weights_crc = 0;
};

uint64_t AlignedTo(uint64_t n, uint64_t step) { return (n + step - 1) / step * step; }

std::string Encode(const Header& h) {
  std::string bytes(kMagic, kMagicBytes);
  Append(&bytes, h.file_size);
  Append(&bytes, h.program_size);
  Append(&bytes, h.weights_offset);
  Append(&bytes, h.program_crc);
  Append(&bytes, h.weights_crc);
  bytes.resize(kHeaderBytes - sizeof(uint32_t));
  Append(&bytes, Crc32(0, bytes.data(), bytes.size()));
  return bytes;
}

template <class T>
T Take(const char** at) {
  T number;
  std::memcpy(&number, *at, sizeof(T));
  *at += sizeof(T);
  return number;
}

Header Decode(const ModelBytes& file) {
  ENFORCE(file.size() >= kHeaderBytes && file.is_packed(), Format, "damaged packed model: '",
          file.name(), "' must begin with a header of ", kHeaderBytes, " bytes, got another start");
  Header h;
  const char* at = file.data() + kMagicBytes;
  h.file_size = Take<uint64_t>(&at);
  h.program_size = Take<uint64_t>(&at);
  h.weights_offset = Take<uint64_t>(&at);
  h.program_crc = Take<uint32_t>(&at);
  h.weights_crc = Take<uint32_t>(&at);
  // Encoding it again compares the zeros and the checksum as well.
  ENFORCE(std::memcmp(Encode(h).data(), file.data(), kHeaderBytes) == 0, Format,
          "damaged packed model: the header of '", file.name(),
          "' must have the checksum it says, got another: the file is damaged");
  ENFORCE(h.file_size == file.size(), Format, "damaged packed model: '", file.name(),
          "' must have ", h.file_size, " bytes as its header says, got ", file.size());
  ENFORCE(h.program_size <= kMaxProgramBytes && h.program_size <= file.size() - kHeaderBytes &&
              h.weights_offset == AlignedTo(kHeaderBytes + h.program_size, kPage) &&
              h.weights_offset <= file.size(),
          Format, "damaged packed model: '", file.name(),
          "' must hold its program and then its weights, got a program of ", h.program_size,
          " bytes and weights at ", h.weights_offset);
  return h;
}

// Where each weight begins behind the offset of the weights, and last where they end.
std::vector<uint64_t> PlacesOf(const std::vector<const VarDesc*>& vars) {
  std::vector<uint64_t> places;
  uint64_t at = 0;
  for (const VarDesc* var : vars) {
    CheckWeight(*var);
    places.push_back(at);
    uint64_t bytes = 0;
    try {
      bytes = ByteSize(DimsOf(*TensorOf(*var)), ElementType(*var));
    } catch (const Error& e) {
      THROW(Format, "damaged packed model: the weight '", var->name,
            "' must have a size that fits into memory. ", e.message());
    }
    at = AlignedTo(at + bytes, kAlignment);
    ENFORCE(at < uint64_t{1} << 60, Format,
            "damaged packed model: its weights must fit into a file");
  }
  places.push_back(at);
  return places;
}

}  // namespace

std::shared_ptr<const ModelBytes> ModelBytes::Map(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  ENFORCE(fd >= 0 || errno != ENOENT, FileNotFound, "there must be a model at '", path,
          "', which is missing");
  ENFORCE(fd >= 0 || errno != ELOOP, Format, "a file of a model must not be a symbolic link, got '",
          path, "'");
  ENFORCE(fd >= 0, PreconditionNotMet, "a file operation failed: cannot open '", path,
          "': ", std::strerror(errno));
  struct stat status;
  const bool regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  const size_t size = regular ? static_cast<size_t>(status.st_size) : 0;
  void* data = size ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
  const int error = errno;
  close(fd);
  ENFORCE(regular, Format, "a file of a model must be a regular file, got '", path, "'");
  ENFORCE(data != MAP_FAILED, ResourceExhausted, "a file operation failed: cannot map '", path,
          "': ", std::strerror(error));
  return std::shared_ptr<const ModelBytes>(
      new ModelBytes(static_cast<const char*>(data), size, path, true));
}

std::shared_ptr<const ModelBytes> ModelBytes::Of(const void* bytes, size_t size) {
  return std::shared_ptr<const ModelBytes>(
      new ModelBytes(static_cast<const char*>(bytes), size, "memory", false));
}

ModelBytes::~ModelBytes() {
  if (mapped_ && size_) munmap(const_cast<char*>(data_), size_);
}

bool ModelBytes::is_packed() const {
  return size_ >= kMagicBytes && std::memcmp(data_, kMagic, kMagicBytes) == 0;
}

void SavePackedModel(const std::string& path, const ProgramDesc& program, const Scope& scope) {
  const ProgramDesc bare = WithoutLines(program);
  Verify(bare);
  CheckOperators(bare);
  const std::string bytes = SerializeProgram(bare);
  const std::vector<const VarDesc*> vars = WeightVars(bare);
  std::vector<Tensor> weights;
  for (const Tensor& weight : WeightsIn(scope, vars)) {
    weights.push_back(CopyTo(weight, CPUPlace()).Plain());
    ENFORCE(!weights.back().lod(), Unimplemented, "a packed model holds weights without levels of ",
            "detail, got some. Save it with save_inference_model");
  }
  const std::vector<uint64_t> places = PlacesOf(vars);
  static const char kZeros[kPage] = {};
  auto pad = [&](uint64_t to, uint64_t from, const auto& take) { take(kZeros, to - from); };
  auto each = [&](const auto& take) {
    for (size_t i = 0; i < weights.size(); ++i) {
      if (weights[i].bytes() > 0) take(weights[i].raw_data(), weights[i].bytes());
      pad(places[i + 1], places[i] + weights[i].bytes(), take);
    }
  };
  Header header;
  header.program_size = bytes.size();
  header.weights_offset = AlignedTo(kHeaderBytes + bytes.size(), kPage);
  header.file_size = header.weights_offset + places.back();
  header.program_crc = Crc32(0, bytes.data(), bytes.size());
  each(
      [&](const void* data, size_t n) { header.weights_crc = Crc32(header.weights_crc, data, n); });

  const size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  CheckFileName(name);
  Directory directory(slash == std::string::npos ? "." : path.substr(0, slash + 1),
                      Directory::kWrite);
  FileSet set(directory);
  set.Add(name, [&](FileWriter* file) {
    auto write = [&](const void* data, size_t n) { file->Write(data, n); };
    const std::string head = Encode(header);
    write(head.data(), head.size());
    write(bytes.data(), bytes.size());
    pad(header.weights_offset, kHeaderBytes + bytes.size(), write);
    each(write);
  });
  set.Commit();
}

ProgramDesc LoadPackedModel(std::shared_ptr<const ModelBytes> bytes, Scope* scope,
                            const PackedUse& use) {
  const Header header = Decode(*bytes);
  const char* program_at = bytes->data() + kHeaderBytes;
  ENFORCE(Crc32(0, program_at, header.program_size) == header.program_crc, Format,
          "damaged packed model: the program in '", bytes->name(),
          "' must have the checksum its header says, got another: the file is damaged");
  ProgramDesc program =
      ParseModel(std::string(program_at, header.program_size), bytes->name(), bytes->size());
  const std::vector<const VarDesc*> vars = WeightVars(program);
  const std::vector<uint64_t> places = PlacesOf(vars);
  ENFORCE(places.back() == bytes->size() - header.weights_offset, Format, "damaged packed model: '",
          bytes->name(), "' must hold ", places.back(),
          " bytes of weights as its program says, got ", bytes->size() - header.weights_offset);
  const char* weights_at = bytes->data() + header.weights_offset;
  ENFORCE(!use.check || Crc32(0, weights_at, places.back()) == header.weights_crc, Format,
          "damaged packed model: the weights in '", bytes->name(),
          "' must have the checksum their header says, got another: the file is damaged");
  const bool aligned = reinterpret_cast<uintptr_t>(weights_at) % kAlignment == 0;
  std::vector<Tensor> weights;
  for (size_t i = 0; i < vars.size(); ++i) {
    const Dims dims = DimsOf(*TensorOf(*vars[i]));
    const DType dtype = ElementType(*vars[i]);
    const size_t size = ByteSize(dims, dtype);
    const char* data = weights_at + places[i];
    ENFORCE(dtype != DType::kBool ||
                std::all_of(data, data + size, [](char b) { return b == 0 || b == 1; }),
            Format, "damaged packed model: the weight '", vars[i]->name,
            "' must hold bools of 0 and 1, got another byte");
    Tensor weight;
    if (use.share && aligned && size > 0) {
      weight.ShareStorage(Storage::Foreign(CPUPlace(), const_cast<char*>(data), size, [bytes] {}),
                          dims, dtype);
    } else {
      weight = Tensor(dims, dtype);
      if (size > 0) std::memcpy(weight.mutable_raw_data(), data, size);
    }
    weights.push_back(std::move(weight));
  }
  for (size_t i = 0; i < vars.size(); ++i)
    scope->Var(vars[i]->name).Set(Value(std::move(weights[i])));
  return program;
}

}  // namespace dygraph::program
