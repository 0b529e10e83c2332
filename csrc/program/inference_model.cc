#include "program/inference_model.h"

#include <algorithm>
#include <cstring>

#include "imperative/transform.h"
#include "program/crc32.h"
#include "program/model_files.h"
#include "program/op_binding.h"
#include "program/verify.h"
#include "program/wire.h"

namespace dygraph::program {

namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "files are little-endian, and so are the casts below");

constexpr const char* kModel = "__model__";
constexpr const char* kNewModel = "__model__.tmp";
constexpr const char* kWeights = "__params__";
constexpr const char* kNextWeights = "__params__.next";

// The field in front of the program: sizes and checksums.
struct Manifest {
  uint64_t program_size = 0, weights_size = 0;
  uint32_t program_crc = 0, weights_crc = 0;
};
constexpr char kManifestStart[] =
    "\xC2\x3E\x20"
    "DGM1";  // field 1000, 32 bytes
constexpr size_t kStartBytes = sizeof(kManifestStart) - 1;
constexpr size_t kManifestBytes = 35;

template <class T>
void Append(std::string* to, T number) {
  to->append(reinterpret_cast<const char*>(&number), sizeof(T));
}

template <class T>
T Take(const std::string& bytes, size_t* at) {
  T number;
  std::memcpy(&number, bytes.data() + *at, sizeof(T));
  *at += sizeof(T);
  return number;
}

std::string Encode(const Manifest& m) {
  std::string bytes(kManifestStart, kStartBytes);
  Append(&bytes, m.program_size);
  Append(&bytes, m.program_crc);
  Append(&bytes, m.weights_size);
  Append(&bytes, m.weights_crc);
  Append(&bytes, Crc32(0, bytes.data(), bytes.size()));
  return bytes;
}

// False for a model that another library wrote, which has no manifest.
bool Decode(const std::string& bytes, const std::string& path, Manifest* m) {
  if (bytes.compare(0, 3, kManifestStart, 3) != 0) return false;
  ENFORCE(bytes.size() >= kManifestBytes &&
              bytes.compare(0, kStartBytes, kManifestStart, kStartBytes) == 0,
          Format, "damaged inference model: the file '", path,
          "' must start with a whole manifest, got a damaged one");
  size_t at = kStartBytes;
  m->program_size = Take<uint64_t>(bytes, &at);
  m->program_crc = Take<uint32_t>(bytes, &at);
  m->weights_size = Take<uint64_t>(bytes, &at);
  m->weights_crc = Take<uint32_t>(bytes, &at);
  uint32_t crc = Crc32(0, bytes.data(), at);
  ENFORCE(Take<uint32_t>(bytes, &at) == crc, Format, "damaged inference model: the file '", path,
          "' must start with a whole manifest, got one whose checksum does not fit");
  return true;
}

std::string ReadAll(FileReader* file) {
  ENFORCE(file->size() <= kMaxProgramBytes, Format, "damaged inference model: the file '",
          file->path(), "' may hold a program of ", kMaxProgramBytes, " bytes, got ", file->size());
  std::string bytes(file->size(), '\0');
  file->Read(bytes.data(), bytes.size(), "a program");
  return bytes;
}

// Persistable tensors of block 0 by name: what the weights file holds, in its order.
std::vector<const VarDesc*> WeightVars(const ProgramDesc& program) {
  std::vector<const VarDesc*> vars;
  for (const VarDesc& var : program.blocks[0].vars) {
    VarType::Type type = var.type.type;
    bool holder = type == VarType::Type::FEED_MINIBATCH || type == VarType::Type::FETCH_LIST ||
                  type == VarType::Type::RAW || type == VarType::Type::READER;
    if (var.persistable.value_or(false) && !holder) vars.push_back(&var);
  }
  std::sort(vars.begin(), vars.end(),
            [](const VarDesc* a, const VarDesc* b) { return a->name < b->name; });
  return vars;
}

// One tensor of the stream: version, LoD, version, size of a TensorDesc, the TensorDesc, the data.
void AppendVarint(std::string* to, uint64_t v) {
  for (; v >= 128; v >>= 7) to->push_back(static_cast<char>((v & 127) | 128));
  to->push_back(static_cast<char>(v));
}

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
    ENFORCE(fine, Format, "damaged inference model: ", what_,
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
    THROW(Format, "damaged inference model: ", what_,
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
  ENFORCE(levels <= kMaxProgramRank, Format, "damaged inference model: ", what, " may have ",
          kMaxProgramRank, " levels of detail, got ", levels);
  LoDLevels lod;
  for (uint64_t i = 0; i < levels; ++i) {
    uint64_t size = ReadNumber<uint64_t>(file, "the size of a LoD level");
    ENFORCE(size % sizeof(int64_t) == 0 && size <= file->left(), Format,
            "damaged inference model: ", what,
            " must have levels of whole offsets within the file, got ", size, " bytes");
    std::vector<int64_t> level(size / sizeof(int64_t));
    file->Read(level.data(), size, "a LoD level");
    lod.push_back(std::move(level));
  }
  return lod;
}

Tensor ReadTensor(FileReader* file, const VarDesc& var) {
  std::string what = "the weight '" + var.name + "' in '" + file->path() + "'";
  uint32_t version = ReadNumber<uint32_t>(file, "a version");
  ENFORCE(version == 0, Format, "damaged inference model: ", what, " must be of version 0, got ",
          version);
  LoDLevels lod = ReadLoD(file, what);
  version = ReadNumber<uint32_t>(file, "a version");
  ENFORCE(version == 0, Format, "damaged inference model: ", what, " must be of version 0, got ",
          version);
  int32_t size = ReadNumber<int32_t>(file, "the size of a description");
  ENFORCE(size >= 0 && size <= 512, Format, "damaged inference model: ", what,
          " must be described in at most 512 bytes, got ", size);
  std::string desc(static_cast<size_t>(size), '\0');
  file->Read(desc.data(), desc.size(), "a description");
  DType dtype = DType::kUnset;
  Dims dims;
  TensorDescReader(desc, what).Read(&dtype, &dims);
  ENFORCE(dtype == ElementType(var), Format, "damaged inference model: ", what, " must be ",
          ElementType(var), " as its program says, got ", dtype);
  const std::vector<int64_t>& want = TensorOf(var)->dims;
  ENFORCE(dims == Dims(Span<const int64_t>(want.data(), want.size())), Format,
          "damaged inference model: ", what, " must have the shape ",
          Dims(Span<const int64_t>(want.data(), want.size())), " as its program says, got ", dims);
  size_t bytes = 0;
  try {
    bytes = ByteSize(dims, dtype);
  } catch (const Error& e) {
    THROW(Format, "damaged inference model: ", what, " must have a size that fits into memory. ",
          e.message());
  }
  ENFORCE(bytes <= file->left(), Format, "damaged inference model: ", what, " must have ", bytes,
          " bytes of data, got the end of the file after ", file->left());
  Tensor t(dims, dtype);
  if (bytes > 0) file->Read(t.mutable_raw_data(), bytes, "the data of a weight");
  if (dtype == DType::kBool) {
    const uint8_t* data = static_cast<const uint8_t*>(t.raw_data());
    ENFORCE(std::all_of(data, data + bytes, [](uint8_t b) { return b <= 1; }), Format,
            "damaged inference model: ", what, " must hold bools of 0 and 1, got another byte");
  }
  try {
    t.SetLoD(std::move(lod));
  } catch (const Error& e) {
    THROW(Format, "damaged inference model: ", what,
          " must have levels of detail that fit its rows. ", e.message());
  }
  return t;
}

std::vector<Value> ReadWeights(FileReader* file, const std::vector<const VarDesc*>& vars) {
  std::vector<Value> values;
  for (const VarDesc* var : vars) {
    ENFORCE(TensorOf(*var) && ElementType(*var) != DType::kUnset, Format,
            "damaged inference model: the weight '", var->name,
            "' must be a tensor of an element type of ours");
    ENFORCE(file->left() > 0, Format, "damaged inference model: the file '", file->path(),
            "' must hold ", vars.size(), " weights, got its end before '", var->name,
            "', which is missing");
    values.push_back(Value(ReadTensor(file, *var)));
  }
  ENFORCE(file->left() == 0, Format, "damaged inference model: the file '", file->path(),
          "' must end after its ", vars.size(), " weights, got ", file->left(), " surplus bytes");
  return values;
}

// Does the file hold what the manifest tells of?
bool Fits(const Directory& directory, const char* name, const Manifest& manifest) {
  FileReader file;
  if (!file.Open(directory, name) || file.size() != manifest.weights_size) return false;
  std::vector<char> part(size_t{1} << 18);
  while (file.left() > 0)
    file.Read(part.data(), std::min<uint64_t>(part.size(), file.left()), "weights");
  return file.crc() == manifest.weights_crc;
}

// Ends what a killed saver began: its model is in place, its weights still have to be.
void FinishEarlierSave(const Directory& directory) {
  FileReader next, model;
  Manifest manifest;
  if (next.Open(directory, kNextWeights) && model.Open(directory, kModel)) {
    std::string head(std::min<uint64_t>(model.size(), kManifestBytes), '\0');
    model.Read(head.data(), head.size(), "a manifest");
    bool ours = false;
    try {
      ours = Decode(head, model.path(), &manifest);
    } catch (const Error&) {  // damaged: nothing of it to keep
    }
    if (ours && !Fits(directory, kWeights, manifest) && Fits(directory, kNextWeights, manifest)) {
      directory.Rename(kNextWeights, kWeights);
      directory.Sync();
    }
  }
}

ProgramDesc WithoutLines(const ProgramDesc& program) {
  ProgramDesc bare = program;
  for (BlockDesc& block : bare.blocks) {
    for (OpDesc& op : block.ops) {
      op.attrs.erase(std::remove_if(op.attrs.begin(), op.attrs.end(),
                                    [](const OpDesc::Attr& a) { return a.name == kCallstackAttr; }),
                     op.attrs.end());
    }
  }
  return bare;
}

}  // namespace

void SaveInferenceModel(const std::string& dirname, const ProgramDesc& program,
                        const Scope& scope) {
  ProgramDesc bare = WithoutLines(program);
  Verify(bare);
  CheckOperators(bare);
  std::string bytes = SerializeProgram(bare);
  std::vector<const VarDesc*> vars = WeightVars(bare);
  std::vector<Value> values;
  for (const VarDesc* var : vars) {
    values.push_back(scope.GetVar(var->name).value);
    ENFORCE(!values.back().empty(), PreconditionNotMet, "the persistable variable '", var->name,
            "' must hold a value to be saved, got nothing. Run the startup program first");
    ENFORCE(
        values.back().is_tensor() && values.back().dtype() == ElementType(*var) && TensorOf(*var) &&
            values.back().dims() ==
                Dims(Span<const int64_t>(TensorOf(*var)->dims.data(), TensorOf(*var)->dims.size())),
        InvalidArgument, "the persistable variable '", var->name,
        "' must be what the program declares, got ", values.back().dtype(), " ",
        values.back().dims());
  }
  Directory directory(dirname, Directory::kWrite);
  FinishEarlierSave(directory);
  Manifest manifest;
  FileWriter weights(directory, kNextWeights);
  for (const Value& value : values) WriteTensor(&weights, value.tensor());
  weights.Finish();
  manifest.weights_size = weights.size();
  manifest.weights_crc = weights.crc();
  manifest.program_size = bytes.size();
  manifest.program_crc = Crc32(0, bytes.data(), bytes.size());
  FileWriter model(directory, kNewModel);
  std::string head = Encode(manifest);
  model.Write(head.data(), head.size());
  model.Write(bytes.data(), bytes.size());
  model.Finish();
  directory.Sync();
  directory.Rename(kNewModel, kModel);  // from here on the new model is the model
  directory.Sync();
  directory.Rename(kNextWeights, kWeights);
  directory.Sync();
}

ProgramDesc LoadInferenceModel(const std::string& dirname, Scope* scope) {
  Directory directory(dirname, Directory::kRead);
  FileReader model;
  ENFORCE(model.Open(directory, kModel), FileNotFound, "an inference model has a file '",
          directory.PathOf(kModel), "', which is missing");
  std::string bytes = ReadAll(&model);
  Manifest manifest;
  bool ours = Decode(bytes, model.path(), &manifest);
  if (ours) {
    bytes.erase(0, kManifestBytes);
    ENFORCE(bytes.size() == manifest.program_size, Format, "damaged inference model: the file '",
            model.path(), "' must hold a program of ", manifest.program_size, " bytes, got ",
            bytes.size());
    uint32_t crc = Crc32(0, bytes.data(), bytes.size());
    ENFORCE(crc == manifest.program_crc, Format, "damaged inference model: the program in '",
            model.path(),
            "' must have the checksum its manifest says, got another: the file is damaged");
  }
  ProgramDesc program = ParseProgram(bytes);
  ENFORCE(!program.unknown, Format, "damaged inference model: the program in '", model.path(),
          "' must have known fields alone, got others");
  Verify(program);
  CheckOperators(program);
  std::vector<const VarDesc*> vars = WeightVars(program);

  // Killed between its two renames, a saver left the weights of this model under their other name.
  const char* name =
      ours && Fits(directory, kNextWeights, manifest) && !Fits(directory, kWeights, manifest)
          ? kNextWeights
          : kWeights;
  std::vector<Value> values;
  FileReader weights;
  if (weights.Open(directory, name)) {
    ENFORCE(!ours || weights.size() == manifest.weights_size, Format,
            "damaged inference model: the file '", weights.path(), "' must have ",
            manifest.weights_size, " bytes as the model says, got ", weights.size());
    values = ReadWeights(&weights, vars);
    ENFORCE(!ours || weights.crc() == manifest.weights_crc, Format,
            "damaged inference model: the weights in '", weights.path(),
            "' must have the checksum the model says, got another: the file is damaged or of "
            "another model");
  } else {
    ENFORCE(vars.empty() && !ours, FileNotFound, "an inference model has a file '",
            directory.PathOf(kWeights), "', which is missing");
  }
  for (size_t i = 0; i < vars.size(); ++i) scope->Var(vars[i]->name).value = std::move(values[i]);
  return program;
}

}  // namespace dygraph::program
