// DLPack both ways: exports a variable's memory, imports that of other libraries.
#include <cstring>
#include <memory>

#include "kernels/strided_copy.h"
#include "python/bind.h"
#include "python/caster.h"
#include "python/dlpack.h"
#include "python/errors.h"
#include "python/variable_slots.h"
#include "tape/door.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

constexpr char kPlainName[] = "dltensor", kVersionedName[] = "dltensor_versioned";
constexpr char kUsedPlainName[] = "used_dltensor", kUsedVersionedName[] = "used_dltensor_versioned";

dlpack::DLDataType TypeOf(DType dtype) {
  auto bits = static_cast<uint8_t>(8 * SizeOf(dtype));
  if (dtype == DType::kBool) return {dlpack::kDLBool, 8, 1};
  if (dtype == DType::kBFloat16) return {dlpack::kDLBfloat, 16, 1};
  if (IsComplex(dtype)) return {dlpack::kDLComplex, bits, 1};
  if (dtype == DType::kUInt8) return {dlpack::kDLUInt, 8, 1};
  return {IsFloating(dtype) ? dlpack::kDLFloat : dlpack::kDLInt, bits, 1};
}

DType TypeFrom(dlpack::DLDataType type) {
  for (int i = 0; i < kNumDTypes; ++i) {
    DType dtype = static_cast<DType>(i);
    dlpack::DLDataType own = TypeOf(dtype);
    if (own.code == type.code && own.bits == type.bits && type.lanes == 1) return dtype;
  }
  THROW(Type,
        "a variable takes bool, uint8, int8 to int64, bfloat16, float16 to float64, complex64 and "
        "complex128, got a "
        "DLPack type of code ",
        int{type.code}, ", ", int{type.bits}, " bits and ", type.lanes, " lanes");
}

// Exporting ---------------------------------------------------------------------------------------

// What a capsule holds: the struct, and the tensor whose storage it points into.
template <class Managed>
struct Exported {
  Managed managed{};
  Tensor tensor;
  Dims shape, strides;

  static void Delete(Managed* self) { delete static_cast<Exported*>(self->manager_ctx); }
};

template <class Managed>
Exported<Managed>* Export(Tensor tensor) {
  auto exported = std::make_unique<Exported<Managed>>();
  exported->tensor = std::move(tensor);
  const Tensor& t = exported->tensor;
  exported->shape = t.dims();
  exported->strides = Strides(t.dims());
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = Exported<Managed>::Delete;
  dlpack::DLTensor& dl = exported->managed.dl_tensor;
  dl.data = const_cast<void*>(t.raw_data());
  dl.device = {dlpack::kDLCPU, 0};
  dl.ndim = t.rank();
  dl.dtype = TypeOf(t.dtype());
  dl.shape = exported->shape.data();
  dl.strides = exported->strides.data();
  return exported.release();
}

// A capsule that frees what it holds unless a consumer took it over, which renames it.
template <class Managed>
py::object CapsuleOf(Managed* managed, const char* name) {
  PyObject* capsule = PyCapsule_New(managed, name, [](PyObject* self) {
    const char* own = PyCapsule_GetName(self);
    if (!own || (std::strcmp(own, kPlainName) != 0 && std::strcmp(own, kVersionedName) != 0))
      return;
    auto* held = static_cast<Managed*>(PyCapsule_GetPointer(self, own));
    held->deleter(held);
  });
  if (!capsule) {
    managed->deleter(managed);
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::object>(capsule);
}

// `versioned`: the consumer heeds the read-only flag, so the storage is shared; else it gets a copy
// of its own.
py::object ToDLPack(const Given& v, bool versioned, bool copy) {
  TellRead(*v, "__dlpack__()");
  ENFORCE(!v->value().empty(), PreconditionNotMet,
          "a variable must hold a value to be exported, but nothing was written");
  Tensor t = CopyTo(v->value().ToDense(), CPUPlace()).Plain();
  if (!versioned)
    return CapsuleOf(&Export<dlpack::DLManagedTensor>(t.Clone())->managed, kPlainName);
  auto* exported = Export<dlpack::DLManagedTensorVersioned>(copy ? t.Clone() : t);
  exported->managed.version = {1, 0};
  exported->managed.flags = copy ? dlpack::kIsCopied : dlpack::kReadOnly;
  return CapsuleOf(&exported->managed, kVersionedName);
}

// Borrowing ---------------------------------------------------------------------------------------

// Runs a producer's deleter, which may be Python's: with the lock, and not in a dying interpreter.
template <class Managed>
void Return(Managed* managed) {
  if (!managed->deleter || (!PyGILState_Check() && InterpreterEnds())) return;
  Locked lock;
  managed->deleter(managed);
}

// Checks everything before the capsule is taken; a copy where the memory does not lie as ours does.
template <class Managed>
Tensor Borrow(Managed* managed, PyObject* capsule, const char* used_name, bool copy) {
  const dlpack::DLTensor& dl = managed->dl_tensor;
  ENFORCE(dl.device.device_type == dlpack::kDLCPU || dl.device.device_type == dlpack::kDLCUDAHost,
          Unimplemented, "from_dlpack takes arrays in host memory, got one on device type ",
          dl.device.device_type, ". Copy it to the host first");
  ENFORCE(dl.ndim >= 0 && dl.ndim <= kMaxRank, InvalidArgument, "a variable has at most ", kMaxRank,
          " axes, got an array of ", dl.ndim);
  DType dtype = TypeFrom(dl.dtype);
  Dims dims, strides;
  for (int i = 0; i < dl.ndim; ++i) {
    ENFORCE(dl.shape[i] >= 0, InvalidArgument,
            "the sizes of a DLPack tensor must not be negative, got ", dl.shape[i], " for axis ",
            i);
    dims.push_back(dl.shape[i]);
  }
  size_t bytes = ByteSize(dims, dtype);
  Dims plain = Strides(dims);
  bool dense = true;
  for (int i = 0; i < dl.ndim; ++i) {
    strides.push_back(dl.strides ? dl.strides[i] : plain[i]);
    dense &= dims[i] <= 1 || strides[i] == plain[i];
  }
  ENFORCE(dl.data || bytes == 0, InvalidArgument, "a DLPack tensor of ", bytes,
          " bytes must point to them, got a null pointer");
  char* data = static_cast<char*>(dl.data) + (dl.data ? dl.byte_offset : 0);
  dense &= reinterpret_cast<uintptr_t>(data) % SizeOf(dtype) == 0;
  Tensor t;
  if (copy || !dense || bytes == 0) {
    t = Tensor(dims, dtype);
    if (dense && bytes > 0) std::memcpy(t.mutable_raw_data(), data, bytes);
    if (!dense && bytes > 0) {
      ENFORCE(reinterpret_cast<uintptr_t>(data) % SizeOf(dtype) == 0, InvalidArgument,
              "the data of a DLPack tensor must be aligned to its elements of ", SizeOf(dtype),
              " bytes");
      kernels::CopyStrided(dims, data, strides, t.mutable_raw_data(), plain, SizeOf(dtype));
    }
    if (PyCapsule_SetName(capsule, used_name) != 0) throw py::error_already_set();
    Return(managed);
    return t;
  }
  if (PyCapsule_SetName(capsule, used_name) != 0) throw py::error_already_set();
  Ref<Storage> storage = Storage::Foreign(CPUPlace(), data, bytes, [managed] { Return(managed); });
  t.ShareStorage(std::move(storage), dims, dtype);
  return t;
}

Ref<Variable> FromDLPack(py::object capsule, bool copy) {
  PyObject* c = capsule.ptr();
  ENFORCE(PyCapsule_CheckExact(c), Type,
          "from_dlpack takes a DLPack capsule or an object with __dlpack__(), got ",
          Py_TYPE(c)->tp_name);
  const char* name = PyCapsule_GetName(c);
  std::string text = name ? name : "";
  if (text == kPlainName) {
    auto* managed = static_cast<dlpack::DLManagedTensor*>(PyCapsule_GetPointer(c, kPlainName));
    return Variable::Make(Value(Borrow(managed, c, kUsedPlainName, copy)));
  }
  ENFORCE(text != kUsedPlainName && text != kUsedVersionedName, InvalidArgument,
          "a DLPack capsule can be taken once, and this one was taken before. Call __dlpack__() "
          "again");
  ENFORCE(text == kVersionedName, Type, "a DLPack capsule is named '", kPlainName, "' or '",
          kVersionedName, "', got '", text, "'");
  auto* managed =
      static_cast<dlpack::DLManagedTensorVersioned*>(PyCapsule_GetPointer(c, kVersionedName));
  ENFORCE(managed->version.major == 1, Unimplemented, "from_dlpack knows DLPack version 1, got ",
          managed->version.major, ".", managed->version.minor);
  return Variable::Make(Value(Borrow(managed, c, kUsedVersionedName, copy)));
}

}  // namespace

void BindDLPack(py::module_& m) {
  m.def("to_dlpack", &ToDLPack, py::arg("variable"), py::arg("versioned"), py::arg("copy"));
  m.def(
      "is_foreign",
      [](const Given& v) {
        const Ref<Storage>& storage = v->tensor().storage();
        return v->tensor().numel() == 0 || (storage && storage->foreign());
      },
      "True for memory that another library owns.");
  m.def("from_dlpack", &FromDLPack, py::arg("capsule"), py::arg("copy"));
}

}  // namespace dygraph::python
