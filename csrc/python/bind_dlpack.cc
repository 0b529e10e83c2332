// DLPack both ways: exports a variable's memory, imports that of other libraries.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/strided_copy.h"
#include "platform/after_work.h"
#include "platform/device_context.h"
#include "python/bind.h"
#include "python/caster.h"
#include "python/convert.h"
#include "python/dlpack.h"
#include "python/errors.h"
#include "python/lock.h"
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

bool IsOnCUDA(const Tensor& t) { return t.place().kind == DeviceKind::kCUDA; }

// What another library has used: it may have queued work on it.
void Drop(Tensor tensor) {
  if (!IsOnCUDA(tensor) || tensor.numel() == 0) return;
  const Place place = tensor.place();
  AfterOthersWork(place, [held = std::move(tensor)]() mutable { held = Tensor(); });
}

// What a capsule holds: the struct, and the tensor whose storage it points into.
template <class Managed>
struct Exported {
  Managed managed{};
  Tensor tensor;
  Dims shape, strides;

  static void Delete(Managed* self) {
    auto* exported = static_cast<Exported*>(self->manager_ctx);
    Drop(std::move(exported->tensor));
    delete exported;
  }
};

dlpack::DLDevice DeviceOf(Place place) {
  if (place.kind == DeviceKind::kCUDA) return {dlpack::kDLCUDA, place.id};
  return {dlpack::kDLCPU, 0};
}

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
  dl.device = DeviceOf(t.place());
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

Tensor ToExport(const Given& v, const char* how) {
  TellRead(*v, how);
  ENFORCE(!v->value().empty(), PreconditionNotMet,
          "a variable must hold a value to be exported, but nothing was written");
  const Tensor t = v->value().ToDense();
  const bool has_number = DeviceOf(t.place()).device_type != dlpack::kDLCPU ||
                          t.place().kind == DeviceKind::kCUDAPinned;
  return (has_number ? t : CopyTo(t, CPUPlace())).Plain();
}

// The address of a CUDA variable's values, and what keeps them while it lives.
py::tuple AddressOf(const Given& v) {
  auto* kept = new Tensor(ToExport(v, "__cuda_array_interface__"));
  PyObject* capsule = PyCapsule_New(kept, nullptr, [](PyObject* self) {
    auto* tensor = static_cast<Tensor*>(PyCapsule_GetPointer(self, nullptr));
    Drop(std::move(*tensor));
    delete tensor;
  });
  if (!capsule) {
    delete kept;
    throw py::error_already_set();
  }
  return py::make_tuple(reinterpret_cast<uintptr_t>(kept->raw_data()),
                        py::reinterpret_steal<py::object>(capsule));
}

// `versioned`: the consumer heeds the read-only flag, so the storage is shared; else it gets a copy
// of its own. `to_host`: for a consumer that takes no memory of devices.
py::object ToDLPack(const Given& v, bool versioned, bool copy, bool to_host) {
  Tensor t = ToExport(v, "__dlpack__()");
  if (to_host && t.place() != CPUPlace()) {
    t = CopyTo(t, CPUPlace());
    copy = false;
  }
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

// An array of another library: where it lies, strides in elements.
struct ForeignArray {
  Place place;
  char* data;
  Dims dims, strides;
  DType dtype;
};

// A copy of elements that lie apart, made on the host.
Tensor CopyOfStrided(const ForeignArray& foreign) {
  Tensor t(foreign.dims, foreign.dtype, foreign.place);
  if (t.numel() == 0) return t;
  const auto size = static_cast<int64_t>(SizeOf(foreign.dtype));
  ENFORCE(reinterpret_cast<uintptr_t>(foreign.data) % SizeOf(foreign.dtype) == 0, InvalidArgument,
          "the data of a DLPack tensor must be aligned to its elements of ", size, " bytes");
  if (foreign.place == CPUPlace()) {
    kernels::CopyStrided(foreign.dims, foreign.data, foreign.strides, t.mutable_raw_data(),
                         Strides(foreign.dims), SizeOf(foreign.dtype));
    return t;
  }
  int64_t first = 0, last = 0;  // elements that it spans
  for (int i = 0; i < foreign.dims.rank(); ++i) {
    const int64_t reach = (foreign.dims[i] - 1) * foreign.strides[i];
    (reach < 0 ? first : last) += reach;
  }
  DeviceContext& device = GetDeviceContext(foreign.place);
  std::vector<char> span(static_cast<size_t>((last - first + 1) * size));
  device.CopyToHost(span.data(), foreign.data + first * size, span.size());
  Tensor host(foreign.dims, foreign.dtype);
  kernels::CopyStrided(foreign.dims, span.data() - first * size, foreign.strides,
                       host.mutable_raw_data(), Strides(foreign.dims), SizeOf(foreign.dtype));
  device.CopyFromHost(t.mutable_raw_data(), host.raw_data(), t.bytes());
  return t;
}

// The array as a tensor over its memory; a copy where it does not lie as ours do, or is wanted.
// `take` is called once all checks are passed, and `give_back` when the array is not used any more.
Tensor TensorOver(const ForeignArray& foreign, bool copy, const std::function<void()>& take,
                  std::function<void()> give_back) {
  const size_t bytes = ByteSize(foreign.dims, foreign.dtype);
  const Dims plain = Strides(foreign.dims);
  bool dense = reinterpret_cast<uintptr_t>(foreign.data) % SizeOf(foreign.dtype) == 0;
  for (int i = 0; i < foreign.dims.rank(); ++i)
    dense &= foreign.dims[i] <= 1 || foreign.strides[i] == plain[i];
  ENFORCE(foreign.data || bytes == 0, InvalidArgument, "a DLPack tensor of ", bytes,
          " bytes must point to them, got a null pointer");
  std::function<void()> release = std::move(give_back);
  if (foreign.place.kind == DeviceKind::kCUDA) {
    GetDeviceContext(foreign.place).Enter();
    release = [place = foreign.place, f = std::move(release)] { AfterQueuedWork(place, f); };
  }
  Tensor t;
  if (!copy && dense && bytes > 0) {
    take();
    t.ShareStorage(Storage::Foreign(foreign.place, foreign.data, bytes, std::move(release)),
                   foreign.dims, foreign.dtype);
    return t;
  }
  if (!dense || bytes == 0) {
    t = CopyOfStrided(foreign);
  } else {
    t = Tensor(foreign.dims, foreign.dtype, foreign.place);
    GetDeviceContext(foreign.place).CopyWithin(t.mutable_raw_data(), foreign.data, bytes);
  }
  take();
  release();
  return t;
}

Place PlaceFrom(dlpack::DLDevice device) {
  const int32_t kind = device.device_type;
  if (kind == dlpack::kDLCUDA || kind == dlpack::kDLCUDAManaged) return CUDAPlace(device.device_id);
  ENFORCE(kind == dlpack::kDLCPU || kind == dlpack::kDLCUDAHost, Unimplemented,
          "from_dlpack takes arrays in memory of the host or of CUDA devices, got one on device "
          "type ",
          kind, ". Copy it to the host first");
  return CPUPlace();
}

template <class Managed>
Tensor Borrow(Managed* managed, PyObject* capsule, const char* used_name, bool copy) {
  const dlpack::DLTensor& dl = managed->dl_tensor;
  ForeignArray foreign;
  foreign.place = PlaceFrom(dl.device);
  ENFORCE(dl.ndim >= 0 && dl.ndim <= kMaxRank, InvalidArgument, "a variable has at most ", kMaxRank,
          " axes, got an array of ", dl.ndim);
  foreign.dtype = TypeFrom(dl.dtype);
  for (int i = 0; i < dl.ndim; ++i) {
    ENFORCE(dl.shape[i] >= 0, InvalidArgument,
            "the sizes of a DLPack tensor must not be negative, got ", dl.shape[i], " for axis ",
            i);
    foreign.dims.push_back(dl.shape[i]);
  }
  const Dims plain = Strides(foreign.dims);
  for (int i = 0; i < dl.ndim; ++i)
    foreign.strides.push_back(dl.strides ? dl.strides[i] : plain[i]);
  foreign.data = static_cast<char*>(dl.data) + (dl.data ? dl.byte_offset : 0);
  auto take = [&] {
    if (PyCapsule_SetName(capsule, used_name) != 0) throw py::error_already_set();
  };
  return TensorOver(foreign, copy, take, [managed] { Return(managed); });
}

// The array that a `__cuda_array_interface__` describes; strides in elements, `owner` is kept.
Ref<Variable> FromCUDAArray(Place place, uintptr_t address, const std::vector<int64_t>& shape,
                            const std::vector<int64_t>& strides, py::object dtype, py::object owner,
                            bool copy) {
  ENFORCE(shape.size() <= static_cast<size_t>(kMaxRank) && shape.size() == strides.size(),
          InvalidArgument, "a variable has at most ", kMaxRank, " axes, got an array of ",
          shape.size());
  ForeignArray foreign;
  foreign.place = place;
  foreign.data = reinterpret_cast<char*>(address);
  foreign.dims = Dims(shape.begin(), shape.end());
  foreign.strides = Dims(strides.begin(), strides.end());
  foreign.dtype = DTypeFromPython(dtype.ptr());
  PyObject* held = owner.ptr();
  auto give_back = [held] {
    if (!PyGILState_Check() && InterpreterEnds()) return;
    Locked lock;
    Py_DECREF(held);
  };
  return Variable::Make(
      Value(TensorOver(foreign, copy, [held] { Py_INCREF(held); }, std::move(give_back))));
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
  m.def("to_dlpack", &ToDLPack, py::arg("variable"), py::arg("versioned"), py::arg("copy"),
        py::arg("to_host"));
  m.def("exported", &AddressOf);
  m.def("from_cuda_array", &FromCUDAArray);
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
