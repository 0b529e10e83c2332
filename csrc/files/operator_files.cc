// How operators write and read files of tensors (op/tensor_files.h).
#include <cstring>
#include <filesystem>

#include "base/enforce.h"
#include "files/file_set.h"
#include "files/tensor_stream.h"
#include "op/tensor_files.h"

namespace dygraph::program {

namespace {

namespace fs = std::filesystem;

// A path as a directory, folders in it and a name; what is confined may not leave the directory.
struct Target {
  std::string root;
  std::vector<std::string> folders;
  std::string name;
  bool confined = false;
};

Target TargetOf(const TensorFile& file) {
  const fs::path given = fs::path(file.path).lexically_normal();
  Target to;
  to.confined = !file.within.empty();
  to.name = given.filename().string();
  ENFORCE(!to.name.empty() && file.path.find('\0') == std::string::npos, InvalidArgument,
          "file_path must name a file, got '", file.path, "'");
  CheckFileName(to.name);
  // Names with a dot are those of files that are not complete.
  ENFORCE(to.name[0] != '.', InvalidArgument,
          "file_path must name a file that does not begin with a dot, got '", file.path, "'");
  if (!to.confined) {
    to.root = given.parent_path().string();
    return to;
  }
  to.root = file.within;
  fs::path inside = given.parent_path();
  if (given.is_absolute())
    inside = inside.lexically_relative(fs::absolute(file.within).lexically_normal());
  for (const fs::path& part : inside) {
    if (part == "." || part.empty()) continue;
    to.folders.push_back(part.string());
  }
  const bool leaves = given.is_absolute() && inside.empty();
  ENFORCE(!leaves && (to.folders.empty() || to.folders[0] != ".."), InvalidArgument,
          "file_path must lie in '", file.within, "', where the program may use files, got '",
          file.path, "'");
  return to;
}

Directory Open(const Target& to, Directory::Use use) {
  return to.confined ? Directory(to.root, to.folders, use) : Directory(to.root, use);
}

// Reads with `body(reader)`.
template <class F>
auto WithReader(const TensorFile& file, F&& body) {
  const Target target = TargetOf(file);
  const Directory directory = Open(target, Directory::kRead);
  FileReader reader;
  ENFORCE(reader.Open(directory, target.name.c_str()), FileNotFound, "the file '", file.path,
          "' must be there to be read, got none");
  return body(&reader);
}

void Write(const TensorFile& file, const std::vector<Tensor>& values, bool overwrite) {
  const Target target = TargetOf(file);
  const Directory directory = Open(target, Directory::kWrite);
  ENFORCE(overwrite || !directory.Has(target.name.c_str()), AlreadyExists, "the file '", file.path,
          "' must not be there yet, since overwrite is False");
  FileSet set(directory);
  set.Add(target.name, [&](FileWriter* to) {
    for (const Tensor& value : values) WriteTensor(to, value);
  });
  set.Commit();
}

std::vector<Tensor> Read(const TensorFile& file, size_t count) {
  return WithReader(file, [&](FileReader* reader) {
    std::vector<Tensor> values;
    for (size_t i = 0; i < count; ++i)
      values.push_back(ReadTensor(reader, "tensor " + std::to_string(i)));
    ENFORCE(reader->left() == 0, Format, "the file '", file.path, "' must end after ", count,
            " tensors, for as many variables, got ", reader->left(), " bytes more");
    return values;
  });
}

Tensor ReadPart(const TensorFile& file, int64_t seek, const Dims& shape) {
  const Tensor whole = Read(file, 1)[0];
  const int64_t count = Numel(shape);
  ENFORCE(seek <= whole.numel() && count <= whole.numel() - seek, OutOfRange,
          "seek and shape must stay within the ", whole.numel(), " elements of the file, got ",
          seek, " and ", shape);
  Tensor part(Dims{count}, whole.dtype());
  const size_t size = SizeOf(whole.dtype());
  if (count > 0)
    std::memcpy(part.mutable_raw_data(), static_cast<const char*>(whole.raw_data()) + seek * size,
                count * size);
  return part.Reshaped(shape);
}

[[maybe_unused]] const bool kSet = (SetTensorFiles({Write, Read, ReadPart}), true);

}  // namespace

}  // namespace dygraph::program
