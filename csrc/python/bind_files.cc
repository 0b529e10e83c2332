// Files for Python: written whole or not at all, and Fluid's stream of tensors.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "base/enforce.h"
#include "files/file_set.h"
#include "files/model_files.h"
#include "files/tensor_stream.h"
#include "python/bind.h"
#include "python/caster.h"
#include "python/lock.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

using program::CheckFileName;
using program::Directory;
using program::FileReader;
using program::FileSet;
using program::FileWriter;
using VarRef = Ref<Variable>;

// The values as they are now: other threads may write to the variables while the file is written.
std::vector<Tensor> TensorsOf(const std::vector<VarRef>& variables) {
  std::vector<Tensor> tensors;
  for (const VarRef& v : variables) {
    ENFORCE(v && v->value().is_tensor(), InvalidArgument,
            "a file of tensors must be given tensors, got selected rows or a Variable that holds "
            "nothing");
    ENFORCE(!v->symbolic(), PreconditionNotMet, "a file of tensors must be given values, got '",
            v->name(), "', a variable of a program, which holds values only while an Executor runs "
            "it. Fetch it: exe.run(program, feed, fetch_list=['", v->name(), "'])");
    tensors.push_back(v->tensor());
  }
  return tensors;
}

// The target is replaced by one rename, or is left as it was if `fill` throws or the process dies.
template <class Fill>
void Replace(const std::string& dirname, const std::string& name, Fill fill) {
  CheckFileName(name);
  std::string temporary = "." + name + ".tmp";
  Released released;  // the directory is locked while another process saves
  Directory directory(dirname, Directory::kWrite);
  try {
    FileWriter file(directory, temporary.c_str());
    fill(&file);
    file.Finish();
    directory.Rename(temporary.c_str(), name.c_str());
  } catch (...) {
    directory.Remove(temporary.c_str());
    throw;
  }
  directory.Sync();
}

// Buffers one after another.
void WriteChunks(FileWriter* file, const py::iterable& chunks) {
  Locked held;
  auto all = py::reinterpret_steal<py::object>(PyObject_GetIter(chunks.ptr()));
  if (!all) throw py::error_already_set();
  for (;;) {
    auto chunk = py::reinterpret_steal<py::object>(
        Surviving([&] { return PyIter_Next(all.ptr()); }));
    if (!chunk && PyErr_Occurred()) throw py::error_already_set();
    if (!chunk) return;
    Py_buffer view;
    if (PyObject_GetBuffer(chunk.ptr(), &view, PyBUF_C_CONTIGUOUS) != 0)
      throw py::error_already_set();
    try {
      Released released;
      file->Write(view.buf, static_cast<uint64_t>(view.len));
    } catch (...) {
      PyBuffer_Release(&view);
      throw;
    }
    PyBuffer_Release(&view);
  }
}

void WriteFile(const std::string& dirname, const std::string& name, const py::iterable& chunks) {
  Replace(dirname, name, [&chunks](FileWriter* file) { WriteChunks(file, chunks); });
}

// All files or, if anything fails, none. A list of Variables is a file of tensors, anything else
// gives the buffers of a file.
void WriteFiles(const std::string& dirname, const py::dict& contents) {
  struct Part {
    std::string name;
    py::iterable chunks;
    std::vector<Tensor> tensors;
    bool is_tensors;
  };
  std::vector<Part> parts;
  for (auto [name, content] : contents) {
    Part part{
        py::cast<std::string>(name), py::reinterpret_borrow<py::iterable>(content), {}, false};
    CheckFileName(part.name);
    if (py::isinstance<py::list>(content) && py::len(content) > 0 &&
        IsVariable(content[py::int_(0)].ptr())) {
      part.is_tensors = true;
      part.tensors = TensorsOf(py::cast<std::vector<VarRef>>(content));
    }
    parts.push_back(std::move(part));
  }
  Released released;  // the directory is locked while another process saves
  Directory directory(dirname, Directory::kWrite);
  if (parts.empty()) return;
  FileSet set(directory);
  for (const Part& part : parts) {
    set.Add(part.name, [&part](FileWriter* file) {
      if (!part.is_tensors) return WriteChunks(file, part.chunks);
      for (const Tensor& t : part.tensors) WriteTensor(file, t);
    });
  }
  set.Commit();
}

void WriteTensors(const std::string& dirname, const std::string& name,
                  const std::vector<VarRef>& variables) {
  std::vector<Tensor> tensors = TensorsOf(variables);
  Replace(dirname, name, [&tensors](FileWriter* file) {
    for (const Tensor& t : tensors) WriteTensor(file, t);
  });
}

std::vector<VarRef> TensorsIn(const Directory& directory, const std::string& name, size_t count) {
  FileReader file;
  ENFORCE(file.Open(directory, name.c_str()), FileNotFound, "a file of tensors must exist, got '",
          directory.PathOf(name.c_str()), "', which is missing");
  std::vector<VarRef> result;
  for (size_t i = 0; i < count; ++i) {
    ENFORCE(file.left() > 0, Format, "damaged file of tensors: '", file.path(), "' must hold ",
            count, " tensors, got its end after ", i);
    std::string what = "tensor " + std::to_string(i) + " of '" + file.path() + "'";
    result.push_back(Variable::Make(Value(ReadTensor(&file, what))));
  }
  ENFORCE(file.left() == 0, Format, "damaged file of tensors: '", file.path(),
          "' must end after its ", count, " tensors, got ", file.left(),
          " surplus bytes. Names for all tensors of the file are needed");
  return result;
}

std::vector<VarRef> ReadTensors(const std::string& dirname, const std::string& name, size_t count) {
  CheckFileName(name);
  Released released;
  return TensorsIn(Directory(dirname, Directory::kRead), name, count);
}

// One tensor of each file, while no other process writes them.
std::vector<VarRef> ReadTensorFiles(const std::string& dirname,
                                    const std::vector<std::string>& names) {
  for (const std::string& name : names) CheckFileName(name);
  Released released;
  Directory directory(dirname, Directory::kRead);
  std::vector<VarRef> result;
  for (const std::string& name : names) result.push_back(TensorsIn(directory, name, 1)[0]);
  return result;
}

}  // namespace

void BindFiles(py::module_& m) {
  m.def("write_file", &WriteFile);
  m.def("write_files", &WriteFiles);
  m.def("write_tensors", &WriteTensors);
  m.def("read_tensors", &ReadTensors);
  m.def("read_tensor_files", &ReadTensorFiles);
}

}  // namespace dygraph::python
