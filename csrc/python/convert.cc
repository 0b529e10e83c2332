#include "python/convert.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "python/arrays.h"
#include "python/errors.h"
#include "python/steal.h"
#include "python/wrapper.h"
#include "run/interpreter.h"
#include "tape/thread_state.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

// NumPy's type numbers, fixed by its ABI.
enum : int {
  kNpyBool = 0,
  kNpyByte = 1,
  kNpyUByte = 2,
  kNpyShort = 3,
  kNpyInt = 5,
  kNpyLong = 7,
  kNpyLongLong = 9,
  kNpyFloat = 11,
  kNpyDouble = 12,
  kNpyCFloat = 14,
  kNpyCDouble = 15,
  kNpyHalf = 23
};

}  // namespace

DType DTypeFromNumpy(int num) {
  switch (num) {
    case kNpyBool: return DType::kBool;
    case kNpyByte: return DType::kInt8;
    case kNpyUByte: return DType::kUInt8;
    case kNpyShort: return DType::kInt16;
    case kNpyInt: return DType::kInt32;
    case kNpyLong:
    case kNpyLongLong: return DType::kInt64;
    case kNpyHalf: return DType::kFloat16;
    case kNpyFloat: return DType::kFloat32;
    case kNpyDouble: return DType::kFloat64;
    case kNpyCFloat: return DType::kComplex64;
    case kNpyCDouble: return DType::kComplex128;
    default: return DType::kUnset;
  }
}

namespace {

int NumpyNumber(DType t) {
  switch (t) {
    case DType::kBool: return kNpyBool;
    case DType::kUInt8: return kNpyUByte;
    case DType::kInt8: return kNpyByte;
    case DType::kInt16: return kNpyShort;
    case DType::kInt32: return kNpyInt;
    case DType::kInt64: return kNpyLong;
    case DType::kFloat16: return kNpyHalf;
    case DType::kFloat64: return kNpyDouble;
    case DType::kComplex64: return kNpyCFloat;
    case DType::kComplex128: return kNpyCDouble;
    default: return kNpyFloat;
  }
}

// Not kept in a static: the first use imports, and a thread that waits for a static while it holds
// the interpreter's lock waits for ever.
const py::detail::npy_api& Npy() { return py::detail::npy_api::get(); }

// A new array over `data` (or its own memory when null), owned by `base` (stolen) if given.
PyObject* NewArray(const Dims& dims, DType dtype, void* data, PyObject* base) {
  FixedArray<Py_intptr_t, kMaxRank> shape;
  for (int i = 0; i < dims.rank(); ++i) shape[i] = dims[i];
  PyObject* descr = Npy().PyArray_DescrFromType_(NumpyNumber(dtype));
  PyObject* array = Npy().PyArray_NewFromDescr_(Npy().PyArray_Type_, descr, dims.rank(),
                                                shape.data(), nullptr, data, 0, nullptr);
  if (!array) {
    Py_XDECREF(base);
    ThrowPythonError();
  }
  if (base) Npy().PyArray_SetBaseObject_(array, base);
  return array;
}

// Other threads run while a device computes what is read.
Tensor OnHost(const Tensor& t) {
  if (t.place() == CPUPlace()) return t.Plain();
  Tensor held = t, copy;
  {
    WithoutLock unlocked;
    copy = CopyTo(held, CPUPlace()).Plain();
  }
  return copy;
}

// bfloat16 has no NumPy type: it travels as float32.
Tensor Exportable(const Tensor& t) {
  Tensor host = OnHost(t);
  if (t.dtype() != DType::kBFloat16) return host;
  Tensor wide(host.dims(), DType::kFloat32);
  const bfloat16* x = host.data<bfloat16>();
  float* y = wide.mutable_data<float>();
  for (int64_t i = 0; i < host.numel(); ++i) y[i] = x[i];
  return wide;
}

py::object AsArray(PyObject* value) {
  PyObject* array = Npy().PyArray_FromAny_(value, nullptr, 0, 0, 0, nullptr);
  if (!array) ThrowPythonError();
  return py::reinterpret_steal<py::object>(array);
}

DType TypeOfArray(const py::object& array) {
  auto* descr = py::detail::array_descriptor_proxy(py::detail::array_proxy(array.ptr())->descr);
  return DTypeFromNumpy(descr->type_num);
}

// What a number or a nested list holds.
struct Contents {
  DType typed = DType::kUnset;  // the promoted type of its arrays and Variables; unset: none
  bool has_floats = false;      // Python's
  bool has_complex = false;     // Python's

  void Add(PyObject* o) {
    if (PyFloat_CheckExact(o)) {
      has_floats = true;
    } else if (PyComplex_CheckExact(o)) {
      has_complex = true;
    } else if (PyLong_Check(o)) {
      return;
    } else if (PyList_Check(o) || PyTuple_Check(o)) {
      AddEach(o);
    } else if (IsVariable(o)) {
      AddType(VarOf(o).value().dtype());
    } else if (PyObject_HasAttrString(o, "dtype") || PyObject_CheckBuffer(o)) {
      AddType(TypeOfArray(AsArray(o)));
    } else if (PyFloat_Check(o)) {
      has_floats = true;
    } else if (PyComplex_Check(o)) {
      has_complex = true;
    } else if (PySequence_Check(o)) {
      AddEach(Steal(PySequence_List(o)).ptr());
    } else {
      AddType(TypeOfArray(AsArray(o)));
    }
  }

 private:
  void AddType(DType type) { typed = typed == DType::kUnset ? type : Promote(typed, type); }
  void AddEach(PyObject* list) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i) {
      // an __array__ may take it out of the list
      Add(py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(list, i)).ptr());
    }
  }
};

// Doubles from here on become infinity in the type.
double Limit(DType type) {
  switch (type) {
    case DType::kFloat16: return 65520;
    case DType::kBFloat16: return 0x1.ffp127;
    case DType::kFloat32: return 0x1.ffffffp127;
    default: return std::numeric_limits<double>::infinity();
  }
}

// `typed`: of the arrays and Variables beside Python's floats.
DType TypeOfFloats(DType cast_to, DType typed, DType beside) {
  if (cast_to != DType::kUnset) return cast_to;
  if (IsFloating(typed)) return typed;
  return IsFloating(beside) ? beside : DefaultFloat();
}

// The tensor of a list, of which `array` has the elements, in a float type.
Tensor FloatsFromPython(PyObject* list, const py::object& array, DType cast_to, DType beside) {
  Contents contents;
  contents.Add(list);
  const DType type = TypeOfFloats(cast_to, contents.typed, beside);
  if (contents.has_floats && IsFloating(type) && TypeOfArray(array) == DType::kFloat64) {
    const py::array doubles(array);
    const auto* numbers = static_cast<const double*>(doubles.data());
    const py::ssize_t count = doubles.size();
    const double limit = Limit(type);
    for (py::ssize_t i = 0; i < count; ++i) {
      ENFORCE(std::abs(numbers[i]) < limit || !std::isfinite(numbers[i]), OutOfRange,
              "each number must fit into ", type, ", got ", numbers[i], ". Pass dtype='float64'");
    }
    if (type == DType::kFloat32 && doubles.ndim() <= kMaxRank) {
      Tensor t(Dims(doubles.shape(), doubles.shape() + doubles.ndim()), type);
      std::transform(numbers, numbers + count, t.mutable_data<float>(),
                     [](double v) { return static_cast<float>(v); });
      return t;
    }
  }
  if (type != DType::kBFloat16) return TensorFromPython(array.ptr(), type);
  return TensorFromPython(array.attr("astype")("float32").ptr(), type);
}

// The same of complex numbers: Python's take the complex type of the default float.
Tensor ComplexFromPython(PyObject* list, const py::object& array, DType cast_to, DType beside) {
  if (cast_to != DType::kUnset) return TensorFromPython(array.ptr(), cast_to);
  Contents contents;
  contents.Add(list);
  DType type = TypeOfArray(array);
  if (contents.has_complex) {
    type = contents.typed;
    if (!IsInexact(type)) type = IsInexact(beside) ? beside : DefaultFloat();
    type = ComplexOf(type);
  }
  return TensorFromPython(array.ptr(), type);
}

}  // namespace

DType DefaultFloat() {
  const DType type = CurrentThread().cast_floats_to;
  return type == DType::kUnset ? DType::kFloat32 : type;
}

Tensor TensorFromPython(PyObject* value, DType cast_to, DType beside) {
  if (PyFloat_CheckExact(value)) {
    const DType type = TypeOfFloats(cast_to, DType::kUnset, beside);
    if (IsFloating(type)) return ScalarTensor(value, type);
  }
  if (!Npy().PyArray_Check_(value)) {
    py::object array = AsArray(value);
    const DType found = TypeOfArray(array);
    if (IsFloating(found)) return FloatsFromPython(value, array, cast_to, beside);
    if (IsComplex(found)) return ComplexFromPython(value, array, cast_to, beside);
    return TensorFromPython(array.ptr(), cast_to);
  }
  py::object holder;
  auto* array = py::detail::array_proxy(value);
  int num = py::detail::array_descriptor_proxy(array->descr)->type_num;
  DType dtype = DTypeFromNumpy(num);
  char order = py::detail::array_descriptor_proxy(array->descr)->byteorder;
  if (dtype == DType::kUnset || order == '>') {
    if (num >= 256) {  // an extension type: ml_dtypes' bfloat16 has two bytes of ours
      std::string name = py::str(py::reinterpret_borrow<py::object>(array->descr));
      if (name == "bfloat16") {
        py::object wide = py::reinterpret_borrow<py::object>(value).attr("astype")("float32");
        return TensorFromPython(wide.ptr(), DType::kBFloat16);
      }
    }
    constexpr int kBytesNum = 18, kTextNum = 19;  // NumPy's numbers of S and U
    std::string name = py::str(py::reinterpret_borrow<py::object>(array->descr));
    THROW(Type,
          "a variable takes arrays of bool, integers (int8 to int64, uint8), floats (float16 to "
          "float64) and complex64 or complex128, got ",
          name,
          num == kTextNum || num == kBytesNum
              ? ". Map strings to numbers first, such as 0 for 'cat' and 1 for 'dog'"
              : ". Convert with array.astype('float32')");
  }
  ENFORCE(array->nd <= kMaxRank, InvalidArgument, "a variable has at most ", kMaxRank,
          " axes, got an array of ", array->nd);
  Dims dims;
  int64_t expected = 1;
  size_t size = SizeOf(dtype);
  bool contiguous = true;
  for (int i = 0; i < array->nd; ++i) dims.push_back(array->dimensions[i]);
  for (int i = array->nd - 1; i >= 0; --i) {
    contiguous &= dims[i] <= 1 || array->strides[i] == expected * static_cast<int64_t>(size);
    expected *= dims[i];
  }
  ENFORCE(!IsComplex(dtype) || cast_to == DType::kUnset || IsComplex(cast_to) ||
              cast_to == DType::kBool,
          Type, "an array of ", dtype, " must become complex or bool, got ", cast_to,
          ", which drops the imaginary part. Take array.real first");
  if (cast_to != DType::kUnset && cast_to != dtype && cast_to != DType::kBFloat16) {
    py::object cast = py::reinterpret_borrow<py::object>(value).attr("astype")(Name(cast_to));
    return TensorFromPython(cast.ptr());
  }
  if (!contiguous && expected > 0) {
    holder = py::reinterpret_borrow<py::object>(value).attr("copy")();
    array = py::detail::array_proxy(holder.ptr());
  }
  Tensor t(dims, dtype);
  if (expected > 0) std::memcpy(t.mutable_raw_data(), array->data, t.bytes());
  if (cast_to == DType::kBFloat16) {
    Tensor narrow(dims, DType::kBFloat16);
    ENFORCE(dtype == DType::kFloat32, Type, "bfloat16 is made from float32 arrays, got ", dtype);
    for (int64_t i = 0; i < t.numel(); ++i) narrow.mutable_data<bfloat16>()[i] = t.data<float>()[i];
    return narrow;
  }
  return t;
}

PyObject* ArrayOf(const Dims& dims, DType dtype, const void* data) {
  PyObject* array = NewArray(dims, dtype, nullptr, nullptr);
  if (const size_t bytes = ByteSize(dims, dtype))
    std::memcpy(py::detail::array_proxy(array)->data, data, bytes);
  return array;
}

PyObject* ArrayFromTensor(const Tensor& t) {
  if (t.layout() != Layout::kPlain || t.place() != CPUPlace() || t.dtype() == DType::kBFloat16) {
    return ArrayFromTensor(Exportable(t));
  }
  ENFORCE(t.has_data(), PreconditionNotMet,
          "the variable must hold a value to give an array, but nothing was written");
  PyObject* array = NewArray(t.dims(), t.dtype(), nullptr, nullptr);
  if (t.numel() > 0) std::memcpy(py::detail::array_proxy(array)->data, t.raw_data(), t.bytes());
  return array;
}

PyObject* ViewOfTensor(const Tensor& t) {
  Tensor* kept = new Tensor(Exportable(t));
  PyObject* base = PyCapsule_New(kept, nullptr, [](PyObject* capsule) {
    delete static_cast<Tensor*>(PyCapsule_GetPointer(capsule, nullptr));
  });
  PyObject* array =
      NewArray(kept->dims(), kept->dtype(), const_cast<void*>(kept->raw_data()), base);
  py::detail::array_proxy(array)->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

bool IsPythonNumber(PyObject* o) {
  return PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o);
}

Tensor ScalarTensor(PyObject* number, DType dtype) {
  Tensor t(Dims(), dtype);
  VisitDType(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = t.mutable_data<T>();
    if constexpr (std::is_same_v<T, bool>) {
      ENFORCE(PyBool_Check(number), Type,
              "a bool variable combines with True and False, got another number. "
              "Convert it with astype() first");
      *to = number == Py_True;
    } else if constexpr (std::is_integral_v<T>) {
      ENFORCE(!PyComplex_Check(number), Type, "a variable of ", dtype,
              " does not combine with a complex number. Convert with astype('complex64') first");
      ENFORCE(PyLong_Check(number), Type, "a variable of ", dtype,
              " does not combine with a float, which would lose its fraction. Convert with "
              "astype('float32') first");
      int overflow = 0;
      long long v = PyLong_AsLongLongAndOverflow(number, &overflow);
      ENFORCE(!overflow && v >= std::numeric_limits<T>::min() &&
                  v <= static_cast<long long>(std::numeric_limits<T>::max()),
              OutOfRange, "the number must fit into ", dtype, ", got one that is too large");
      *to = static_cast<T>(v);
    } else if constexpr (kIsComplex<T>) {
      const Py_complex v = PyComplex_AsCComplex(number);
      if (v.real == -1.0 && PyErr_Occurred()) ThrowPythonError();
      using Real = typename T::value_type;
      *to = T(static_cast<Real>(v.real), static_cast<Real>(v.imag));
      ENFORCE((std::isfinite(to->real()) || !std::isfinite(v.real)) &&
                  (std::isfinite(to->imag()) || !std::isfinite(v.imag)),
              OutOfRange, "the number must fit into ", dtype, ", got ", v.real, " and ", v.imag,
              "j. Compute in complex128: dtype='complex128' or x.astype('complex128')");
    } else {
      ENFORCE(!PyComplex_Check(number), Type, "a variable of ", dtype,
              " does not hold a complex number. Convert with astype('complex64') first");
      double v = PyFloat_AsDouble(number);
      if (v == -1.0 && PyErr_Occurred()) ThrowPythonError();
      *to = static_cast<T>(
          static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(v));
      ENFORCE(std::isfinite(static_cast<double>(*to)) || !std::isfinite(v), OutOfRange,
              "the number must fit into ", dtype, ", got ", v,
              ". Compute in float64: dtype='float64' or x.astype('float64')");
    }
  });
  return t;
}

PyObject* ItemFromTensor(const Tensor& t) {
  ENFORCE(t.numel() == 1, InvalidArgument,
          "only a variable of one element converts to a number, got shape ", t.dims());
  if (t.place() != CPUPlace()) return ItemFromTensor(OnHost(t));
  // One element lies alike in every order.
  if (__builtin_expect(t.dtype() == DType::kFloat32, 1))
    return PyFloat_FromDouble(static_cast<double>(*t.data<float>()));
  return VisitDType(t.dtype(), [&](auto tag) -> PyObject* {
    using T = typename decltype(tag)::type;
    T v = *t.data<T>();
    if constexpr (std::is_same_v<T, bool>)
      return PyBool_FromLong(v);
    else if constexpr (std::is_integral_v<T>)
      return PyLong_FromLongLong(v);
    else if constexpr (kIsComplex<T>)
      return PyComplex_FromDoubles(static_cast<double>(v.real()), static_cast<double>(v.imag()));
    else
      return PyFloat_FromDouble(static_cast<double>(v));
  });
}

namespace {

int64_t IntFrom(PyObject* o, const AttrField& field) {
  if (PyLong_Check(o)) {
    int overflow = 0;
    long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    ENFORCE(!overflow, OutOfRange, "the attribute ", field.name,
            " must fit into 64 bits, got a larger int");
    return v;
  }
  if (PyIndex_Check(o)) {
    py::object i = py::reinterpret_steal<py::object>(PyNumber_Index(o));
    if (!i) ThrowPythonError();
    return IntFrom(i.ptr(), field);
  }
  THROW(Type, "the attribute ", field.name, " must be ", Name(field.type), ", got ",
        Py_TYPE(o)->tp_name);
}

std::string TextFrom(PyObject* o, const AttrField& field) {
  ENFORCE(PyUnicode_Check(o), Type, "the attribute ", field.name, " must be ", Name(field.type),
          ", got ", Py_TYPE(o)->tp_name);
  Py_ssize_t n = 0;
  const char* s = PyUnicode_AsUTF8AndSize(o, &n);
  if (!s) ThrowPythonError();
  return std::string(s, n);
}

template <class T>
T RealFrom(PyObject* o, const AttrField& field) {
  ENFORCE(PyNumber_Check(o) && !PyUnicode_Check(o) && !PyComplex_Check(o), Type, "the attribute ",
          field.name, " must be ", Name(field.type), ", got ", Py_TYPE(o)->tp_name);
  double v = PyFloat_AsDouble(o);
  if (v == -1.0 && PyErr_Occurred()) ThrowPythonError();
  return static_cast<T>(v);
}

template <class T, class F>
std::vector<T> ListFrom(PyObject* o, const AttrField& field, F each) {
  ENFORCE(!PyUnicode_Check(o) && !PyBytes_Check(o), Type, "the attribute ", field.name, " must be ",
          Name(field.type), ", got ", Py_TYPE(o)->tp_name);
  // a vector of numbers is read, as one number is
  if (IsVariable(o) && VarOf(o).value().is_tensor() && VarOf(o).tensor().rank() == 1) {
    py::object list = py::reinterpret_steal<py::object>(PyObject_CallMethod(o, "tolist", nullptr));
    if (!list) ThrowPythonError();
    return ListFrom<T>(list.ptr(), field, each);
  }
  // one number stands for a list of it
  if (PyNumber_Check(o) && !PySequence_Check(o)) return {each(o, field)};
  PyObject* fast = PySequence_Fast(o, "");
  if (!fast) {
    PyErr_Clear();
    THROW(Type, "the attribute ", field.name, " must be ", Name(field.type), ", got ",
          Py_TYPE(o)->tp_name);
  }
  py::object holder = py::reinterpret_steal<py::object>(fast);
  std::vector<T> list;
  list.reserve(static_cast<size_t>(PySequence_Fast_GET_SIZE(fast)));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast); ++i) {
    // its __index__ may take it out of the list
    py::object item = py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(fast, i));
    list.push_back(each(item.ptr(), field));
  }
  return list;
}

// A block of a program, or its number.
BlockIndex BlockFrom(PyObject* o, const AttrField& field) {
  py::object number = py::reinterpret_borrow<py::object>(o);
  if (!PyLong_Check(o) && py::hasattr(number, "idx")) number = number.attr("idx");
  ENFORCE(PyLong_Check(number.ptr()), Type, "the attribute ", field.name,
          " must be a block of the program, got ", Py_TYPE(o)->tp_name);
  const int64_t v = IntFrom(number.ptr(), field);
  ENFORCE(v >= 0 && v == static_cast<int32_t>(v), OutOfRange, "the attribute ", field.name,
          " must be the number of a block, got ", v);
  return {static_cast<int32_t>(v)};
}

}  // namespace

AttrValue AttrFromPython(PyObject* o, const AttrField& field) {
  if (field.is_dtype) return static_cast<int32_t>(ToWire(DTypeFromPython(o)));
  if (field.is_double) return RealFrom<double>(o, field);
  switch (field.type) {
    case AttrType::kInt: {
      int64_t v = IntFrom(o, field);
      ENFORCE(v == static_cast<int32_t>(v), OutOfRange, "the attribute ", field.name,
              " must fit into 32 bits, got ", v);
      return static_cast<int32_t>(v);
    }
    case AttrType::kLong: return IntFrom(o, field);
    case AttrType::kFloat: return RealFrom<float>(o, field);
    case AttrType::kString: return TextFrom(o, field);
    case AttrType::kBool: {
      if (PyBool_Check(o)) return o == Py_True;
      if (PyLong_Check(o)) {
        int64_t v = IntFrom(o, field);
        if (v == 0 || v == 1) return v == 1;
      }
      if (std::strcmp(Py_TYPE(o)->tp_name, "numpy.bool") == 0 ||
          std::strcmp(Py_TYPE(o)->tp_name, "numpy.bool_") == 0) {
        return PyObject_IsTrue(o) == 1;
      }
      THROW(Type, "the attribute ", field.name, " must be True or False, got ",
            Py_TYPE(o)->tp_name);
    }
    case AttrType::kInts:
      return ListFrom<int32_t>(o, field, [](PyObject* e, const AttrField& f) {
        int64_t v = IntFrom(e, f);
        ENFORCE(v == static_cast<int32_t>(v), OutOfRange, "the elements of the attribute ", f.name,
                " must fit into 32 bits, got ", v);
        return static_cast<int32_t>(v);
      });
    case AttrType::kLongs: return ListFrom<int64_t>(o, field, IntFrom);
    case AttrType::kFloats: return ListFrom<float>(o, field, RealFrom<float>);
    case AttrType::kStrings: return ListFrom<std::string>(o, field, TextFrom);
    case AttrType::kBools:
      return ListFrom<bool>(o, field, [](PyObject* e, const AttrField& f) {
        ENFORCE(PyBool_Check(e), Type, "the elements of the attribute ", f.name,
                " must be True or False, got ", Py_TYPE(e)->tp_name);
        return e == Py_True;
      });
    case AttrType::kBlock: return BlockFrom(o, field);
    default: break;
  }
  THROW(Type, "the attribute ", field.name, " is ", Name(field.type),
        ", which only programs can give");
}

PyObject* LoDToPython(const LoDLevels& levels) { return py::cast(levels).release().ptr(); }

LoDLevels LoDFromPython(PyObject* o) {
  if (o == Py_None) return {};
  try {
    LoDLevels levels;
    for (py::handle level : py::reinterpret_borrow<py::object>(o)) {
      std::vector<int64_t> offsets;
      for (py::handle v : level) {
        ENFORCE(PyIndex_Check(v.ptr()), Type, "the offsets of a LoD must be ints, got ",
                Py_TYPE(v.ptr())->tp_name);
        offsets.push_back(v.cast<int64_t>());
      }
      levels.push_back(std::move(offsets));
    }
    return levels;
  } catch (py::error_already_set&) {
    THROW(Type, "a LoD must be a list of lists of ints such as [[0, 5, 8]], got ",
          Py_TYPE(o)->tp_name);
  } catch (py::cast_error&) {
    THROW(Type, "a LoD must be a list of lists of ints such as [[0, 5, 8]], got ",
          Py_TYPE(o)->tp_name);
  }
}

PyObject* DimsToPython(const Dims& dims) {
  PyObject* tuple = PyTuple_New(dims.rank());
  for (int i = 0; i < dims.rank(); ++i) PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong(dims[i]));
  return tuple;
}

Dims DimsFromPython(PyObject* o) {
  AttrField field;
  field.name = "shape";
  field.type = AttrType::kLongs;
  std::vector<int64_t> v = std::get<std::vector<int64_t>>(AttrFromPython(o, field));
  return Dims(v.begin(), v.end());
}

Place PlaceFromPython(PyObject* o) {
  py::handle h(o);
  if (py::isinstance<Place>(h)) return h.cast<Place>();
  if (PyUnicode_Check(o)) {
    std::string name = py::str(h);
    DeviceKind kind;
    if (name == "cpu") return CPUPlace();
    if (FindDeviceKind(name, &kind)) return Place{kind, 0};
    THROW(InvalidArgument,
          "a place must be CPUPlace(), CUDAPlace(n), CUDAPinnedPlace() or the name of one, got '",
          name, "'");
  }
  THROW(Type, "a place must be CPUPlace(), CUDAPlace(n) or CUDAPinnedPlace(), got ",
        Py_TYPE(o)->tp_name);
}

}  // namespace dygraph::python
