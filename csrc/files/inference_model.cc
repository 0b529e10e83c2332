#include "files/inference_model.h"

#include <algorithm>
#include <cstring>

#include "execute/executor.h"
#include "files/crc32.h"
#include "files/file_set.h"
#include "files/tensor_stream.h"
#include "program/op_binding.h"
#include "program/verify.h"
#include "program/wire.h"

namespace dygraph::program {

namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "files are little-endian, and so are the casts below");

void CheckNames(const ModelNames& names) {
  CheckFileName(names.model);
  CheckFileName(names.weights);
  ENFORCE(names.model != names.weights, InvalidArgument,
          "the names of a model's two files must differ, got '", names.model, "' twice");
}

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

// A weight as its program declares it.
Tensor ReadWeight(FileReader* file, const VarDesc& var, Tensor room) {
  std::string what = "the weight '" + var.name + "' in '" + file->path() + "'";
  TensorHead head = ReadTensorHead(file, what);
  ENFORCE(head.dtype == ElementType(var), Format, "damaged inference model: ", what, " must be ",
          ElementType(var), " as its program says, got ", head.dtype);
  const Dims want = DimsOf(*TensorOf(var));
  ENFORCE(head.dims == want, Format, "damaged inference model: ", what, " must have the shape ",
          want, " as its program says, got ", head.dims);
  return ReadTensorData(file, std::move(head), what, std::move(room));
}

// Memory for the weights, the largest first: what those leave of their blocks the others fill.
// Nothing where they cannot all be in the file, which is found out while it is read.
std::vector<Tensor> RoomFor(const std::vector<const VarDesc*>& vars, uint64_t file_bytes) {
  std::vector<Tensor> rooms(vars.size());
  std::vector<std::pair<uint64_t, size_t>> order;
  auto dims = [&](size_t i) { return DimsOf(*TensorOf(*vars[i])); };
  try {
    uint64_t left = file_bytes;
    for (size_t i = 0; i < vars.size(); ++i) {
      if (!TensorOf(*vars[i]) || ElementType(*vars[i]) == DType::kUnset) return rooms;
      uint64_t bytes = ByteSize(dims(i), ElementType(*vars[i]));
      if (bytes > left) return rooms;
      left -= bytes;
      order.push_back({bytes, i});
    }
  } catch (const Error&) {  // sizes that are none
    return rooms;
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  for (auto [bytes, i] : order) rooms[i] = Tensor(dims(i), ElementType(*vars[i]));
  return rooms;
}

std::vector<Value> ReadWeights(FileReader* file, const std::vector<const VarDesc*>& vars) {
  std::vector<Tensor> rooms = RoomFor(vars, file->left());
  std::vector<Value> values;
  for (size_t i = 0; i < vars.size(); ++i) {
    const VarDesc* var = vars[i];
    CheckWeight(*var);
    ENFORCE(file->left() > 0, Format, "damaged inference model: the file '", file->path(),
            "' must hold ", vars.size(), " weights, got its end before '", var->name,
            "', which is missing");
    values.push_back(Value(ReadWeight(file, *var, std::move(rooms[i]))));
  }
  ENFORCE(file->left() == 0, Format, "damaged inference model: the file '", file->path(),
          "' must end after its ", vars.size(), " weights, got ", file->left(), " surplus bytes");
  return values;
}

}  // namespace

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

void CheckWeight(const VarDesc& var) {
  ENFORCE(TensorOf(var) && ElementType(var) != DType::kUnset, Format,
          "damaged inference model: the weight '", var.name,
          "' must be a tensor of an element type of ours");
}

std::vector<Tensor> WeightsIn(const Scope& scope, const std::vector<const VarDesc*>& vars) {
  std::vector<Tensor> tensors;
  for (const VarDesc* var : vars) {
    const ScopeVar* held = scope.FindVar(var->name);
    const Value value = held ? held->Get() : Value();
    ENFORCE(!value.empty(), PreconditionNotMet, "the persistable variable '", var->name,
            "' must hold a value to be saved, got nothing. Run the startup program first");
    ENFORCE(value.is_tensor() && value.dtype() == ElementType(*var) && TensorOf(*var) &&
                value.dims() == DimsOf(*TensorOf(*var)),
            InvalidArgument, "the persistable variable '", var->name,
            "' must be what the program declares, got ", value.dtype(), " ", value.dims());
    tensors.push_back(value.tensor());
  }
  return tensors;
}

void SaveInferenceModel(const std::string& dirname, const ProgramDesc& program, const Scope& scope,
                        const ModelNames& names) {
  CheckNames(names);
  ProgramDesc bare = WithoutLines(program);
  Verify(bare);
  CheckOperators(bare);
  std::string bytes = SerializeProgram(bare);
  std::vector<const VarDesc*> vars = WeightVars(bare);
  std::vector<Tensor> values = WeightsIn(scope, vars);
  Directory directory(dirname, Directory::kWrite);
  FileSet set(directory);
  Manifest manifest;
  set.Add(names.weights, [&](FileWriter* file) {
    for (const Tensor& value : values) WriteTensor(file, value);
    manifest.weights_size = file->size();
    manifest.weights_crc = file->crc();
  });
  manifest.program_size = bytes.size();
  manifest.program_crc = Crc32(0, bytes.data(), bytes.size());
  set.Add(names.model, [&](FileWriter* file) {
    std::string head = Encode(manifest);
    file->Write(head.data(), head.size());
    file->Write(bytes.data(), bytes.size());
  });
  set.Commit();
}

void CheckModelSize(const ProgramDesc& program, uint64_t bytes) {
  constexpr uint64_t kVarBytes = 1400, kOpBytes = 1100;  // measured, with their descriptions
  uint64_t needed = 0, most = 4 * bytes + (uint64_t{64} << 20);
  for (const BlockDesc& block : program.blocks) {
    needed += kVarBytes * block.vars.size() + kOpBytes * block.ops.size();
  }
  ENFORCE(needed <= most, Format, "damaged inference model: its variables and operators may take ",
          most, " bytes of memory beside files of ", bytes, ", got about ", needed);
}

ProgramDesc ParseModel(const std::string& bytes, const std::string& path, uint64_t file_bytes) {
  ProgramDesc program = ParseProgram(bytes);
  ENFORCE(!program.unknown, Format, "damaged inference model: the program in '", path,
          "' must have known fields alone, got others");
  Verify(program);
  CheckOperators(program);
  FeedNames(program);  // throw where its feeds or fetches are no list
  FetchNames(program);
  CheckModelSize(program, file_bytes);
  return program;
}

ProgramDesc LoadInferenceModel(const std::string& dirname, Scope* scope, const ModelNames& names) {
  CheckNames(names);
  Directory directory(dirname, Directory::kRead);
  FileReader model, weights;
  ENFORCE(model.Open(directory, names.model.c_str()), FileNotFound,
          "an inference model has a file '", directory.PathOf(names.model.c_str()),
          "', which is missing");
  const bool has_weights = weights.Open(directory, names.weights.c_str());
  try {
    return LoadInferenceModel(&model, has_weights ? &weights : nullptr, scope);
  } catch (Error& e) {
    if (e.kind() == ErrorKind::FileNotFound && !has_weights)
      THROW(FileNotFound, "an inference model has a file '",
            directory.PathOf(names.weights.c_str()), "', which is missing");
    throw;
  }
}

ProgramDesc LoadInferenceModel(FileReader* model, FileReader* weights, Scope* scope) {
  std::string bytes = ReadAll(model);
  Manifest manifest;
  bool ours = Decode(bytes, model->path(), &manifest);
  if (ours) {
    bytes.erase(0, kManifestBytes);
    ENFORCE(bytes.size() == manifest.program_size, Format, "damaged inference model: the file '",
            model->path(), "' must hold a program of ", manifest.program_size, " bytes, got ",
            bytes.size());
    uint32_t crc = Crc32(0, bytes.data(), bytes.size());
    ENFORCE(crc == manifest.program_crc, Format, "damaged inference model: the program in '",
            model->path(),
            "' must have the checksum its manifest says, got another: the file is damaged");
  }
  ProgramDesc program =
      ParseModel(bytes, model->path(), model->size() + (weights ? weights->size() : 0));
  std::vector<const VarDesc*> vars = WeightVars(program);
  std::vector<Value> values;
  if (weights) {
    ENFORCE(!ours || weights->size() == manifest.weights_size, Format,
            "damaged inference model: the file '", weights->path(), "' must have ",
            manifest.weights_size, " bytes as the model says, got ", weights->size());
    values = ReadWeights(weights, vars);
    ENFORCE(!ours || weights->crc() == manifest.weights_crc, Format,
            "damaged inference model: the weights in '", weights->path(),
            "' must have the checksum the model says, got another: the file is damaged or of "
            "another model");
  } else {
    ENFORCE(vars.empty() && !ours, FileNotFound, "the model '", model->path(),
            "' must have weights, got none");
  }
  for (size_t i = 0; i < vars.size(); ++i) scope->Var(vars[i]->name).Set(std::move(values[i]));
  return program;
}

}  // namespace dygraph::program
