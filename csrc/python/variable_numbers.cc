// Number slots of the Variable type: one operator each. `+=` and the like write in place.
#include <cmath>
#include <string_view>

#include "python/convert.h"
#include "python/errors.h"
#include "python/symbol.h"
#include "python/variable_slots.h"
#include "python/wrapper.h"
#include "tape/door.h"
#include "tape/thread_state.h"

namespace dygraph::python {

__thread PyObject* truth_answers __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

// Looked up while the module loads: a number slot is called from C, where no exception may pass.
struct NumberOperators {
  const OpInfo &add = GetOp("elementwise_add"), &subtract = GetOp("elementwise_sub"),
               &multiply = GetOp("elementwise_mul"), &divide = GetOp("elementwise_div"),
               &matmul = GetOp("matmul_v2"), &power = GetOp("elementwise_pow"),
               &floor_divide = GetOp("elementwise_floordiv"), &remainder = GetOp("elementwise_mod"),
               &bit_and = GetOp("bitwise_and"), &bit_or = GetOp("bitwise_or"),
               &bit_xor = GetOp("bitwise_xor"), &bit_not = GetOp("bitwise_not"),
               &power_of_number = GetOp("pow"), &scale = GetOp("scale"), &cast = GetOp("cast"),
               &real = GetOp("real"), &imag = GetOp("imag"), &complex = GetOp("complex");
  const OpInfo* compare[6] = {&GetOp("less_than"), &GetOp("less_equal"),   &GetOp("equal"),
                              &GetOp("not_equal"), &GetOp("greater_than"), &GetOp("greater_equal")};
};

const NumberOperators* number_operators = nullptr;  // stay for the life of the process

inline const NumberOperators& Operators() { return *number_operators; }

Ref<Variable> CastTo(Variable& x, DType dtype) {
  const OpInfo& op = Operators().cast;
  Ref<Attrs> attrs = Attrs::Make(op.attr_table);
  attrs->Set("in_dtype", static_cast<int32_t>(ToWire(x.value().dtype())));
  attrs->Set("out_dtype", static_cast<int32_t>(ToWire(dtype)));
  return RunUnary(op, attrs, x);
}

// Both sides as variables of one type: numbers take the other side's, arrays become variables,
// types are promoted.
struct Operands {
  Ref<Variable> x, y;
  bool ok = false;
  Operands(PyObject* a, PyObject* b) {
    if (!Side(a, b, &x) || !Side(b, a, &y)) return;
    ok = true;
    if (x->value().empty() || y->value().empty()) return;  // the call says what is missing
    DType s = x->value().dtype(), t = y->value().dtype();
    if (s == t) return;
    DType both = Promote(s, t);
    if (s != both) x = CastTo(*x, both);
    if (t != both) y = CastTo(*y, both);
  }

 private:
  // A number beside a variable of a program: an operator that gives it.
  static Ref<Variable> Constant(PyObject* number, DType dtype) {
    static const OpInfo& op = GetOp("fill_constant");
    ScalarTensor(number, dtype);  // does it fit?
    ENFORCE(!PyComplex_Check(number), Type,
            "a number beside a variable of a program must be real, got a complex one. Write "
            "dygraph.complex(re, im) of two variables");
    Ref<Attrs> attrs = Attrs::Make(op.attr_table);
    attrs->Set("shape", std::vector<int64_t>());
    attrs->Set("dtype", static_cast<int32_t>(ToWire(dtype)));
    PyObject* text = PyObject_Repr(number);
    if (!text) ThrowPythonError();
    attrs->Set("value", static_cast<float>(PyFloat_AsDouble(number)));
    attrs->Set("str_value", std::string(PyUnicode_AsUTF8(text)));
    Py_DECREF(text);
    struct Described {
      bool before = CurrentThread().SetDescribing(true);
      ~Described() { CurrentThread().SetDescribing(before); }
    } described;
    Outputs out;
    RunOp(op, attrs, SlotList<Variable>(), &out);
    return std::move(out.owned[0]);
  }

  static bool Side(PyObject* o, PyObject* other, Ref<Variable>* out) {
    if (IsVariable(o)) {
      *out = Ref<Variable>(&VarOf(o));
    } else if (IsPythonNumber(o) && IsVariable(other) && VarOf(other).symbolic()) {
      const Value& value = VarOf(other).value();
      *out = Constant(o, value.empty() ? DType::kFloat32 : value.dtype());
    } else if (IsPythonNumber(o) && IsVariable(other)) {
      DType dtype = VarOf(other).value().dtype();
      // beside floats a complex number makes complex ones
      if (PyComplex_Check(o) && IsFloating(dtype)) dtype = ComplexOf(dtype);
      *out = Variable::Make(Value(ScalarTensor(o, dtype)));
    } else if (PyObject_HasAttrString(o, "__array_interface__")) {
      *out = Variable::Make(Value(TensorFromPython(o)));
    } else if (PyObject_HasAttrString(o, "__cuda_array_interface__")) {
      *out = OfCUDAArray(o);
    } else {
      return false;
    }
    return true;
  }

  // CuPy's arrays and the like, whose memory is shared.
  static Ref<Variable> OfCUDAArray(PyObject* o) {
    PyObject* module = PyImport_ImportModule("dygraph.core.exchange");
    if (!module) ThrowPythonError();
    PyObject* made = PyObject_CallMethod(module, "from_dlpack", "O", o);
    Py_DECREF(module);
    if (!made) ThrowPythonError();
    Ref<Variable> variable(&VarOf(made));
    Py_DECREF(made);
    return variable;
  }
};

PyObject* BinarySlow(const OpInfo& op, PyObject* a, PyObject* b) {
  return Guarded([&]() -> PyObject* {
    Operands both(a, b);
    if (!both.ok) Py_RETURN_NOTIMPLEMENTED;
    return Wrap(RunBinary(op, op.default_attrs, *both.x, *both.y));
  });
}

PyObject* BinaryOfVariables(const OpInfo& op, PyObject* a, PyObject* b) {
  Variable &x = VarOf(a), &y = VarOf(b);
  if (__builtin_expect(x.value().is_tensor() && y.value().is_tensor() &&
                           x.tensor().dtype() == y.tensor().dtype(),
                       1)) {
    return Guarded([&] { return Wrap(RunBinary(op, op.default_attrs, x, y)); });
  }
  return BinarySlow(op, a, b);
}

bool BothVariables(PyObject* a, PyObject* b) { return IsVariable(a) && IsVariable(b); }

inline PyObject* Binary(const OpInfo& op, PyObject* a, PyObject* b) {
  return BothVariables(a, b) ? BinaryOfVariables(op, a, b) : BinarySlow(op, a, b);
}

// x * s and x + s with a Python number are one `scale`, unless a float would round the number of a
// float64 variable, or make it infinite: Fluid and Paddle read a float from a file.
bool FitsScale(Variable& x, PyObject* number, float* value) {
  if (!x.value().is_tensor() || !IsPythonNumber(number) || PyBool_Check(number)) return false;
  DType t = x.tensor().dtype();
  if (t != DType::kFloat32 && t != DType::kFloat64) {
    if (!IsComplex(t)) return false;
    t = RealOf(t);
  }
  if (PyComplex_Check(number)) return false;
  double v = PyFloat_AsDouble(number);
  if (v == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    return false;
  }
  *value = static_cast<float>(v);
  if (t == DType::kFloat32) return std::isfinite(*value) || !std::isfinite(v);
  return static_cast<double>(*value) == v;
}

// scale adds no summand that is 0, which keeps the sign of a zero: x + -0.0 does, x + 0.0 does not.
inline bool IsPlusZero(float s) { return s == 0 && !std::signbit(s); }

PyObject* Scaled(Variable& x, float scale, float bias) {
  const OpInfo& op = Operators().scale;
  static const int kScale = op.attr_table.Require("scale"), kBias = op.attr_table.Require("bias");
  return Guarded([&] {
    Ref<Attrs> attrs = Attrs::Make(op.attr_table);
    if (scale != 1) attrs->Set(kScale, scale);
    if (bias != 0) attrs->Set(kBias, bias);
    return Wrap(RunUnary(op, attrs, x));
  });
}

PyObject* NbAdd(PyObject* a, PyObject* b) {
  float s;
  if (BothVariables(a, b)) return BinaryOfVariables(Operators().add, a, b);
  PyObject *x = IsVariable(a) ? a : b, *number = x == a ? b : a;
  if (FitsScale(VarOf(x), number, &s) && !IsPlusZero(s)) return Scaled(VarOf(x), 1, s);
  return BinarySlow(Operators().add, a, b);
}

PyObject* NbSubtract(PyObject* a, PyObject* b) {
  float s;
  if (BothVariables(a, b)) return BinaryOfVariables(Operators().subtract, a, b);
  const bool first = IsVariable(a);
  if (FitsScale(VarOf(first ? a : b), first ? b : a, &s)) {
    if (first) s = -s;
    if (!IsPlusZero(s)) return Scaled(VarOf(first ? a : b), first ? 1 : -1, s);
  }
  return BinarySlow(Operators().subtract, a, b);
}

PyObject* NbMultiply(PyObject* a, PyObject* b) {
  float s;
  if (BothVariables(a, b)) return BinaryOfVariables(Operators().multiply, a, b);
  if (IsVariable(a) && FitsScale(VarOf(a), b, &s)) return Scaled(VarOf(a), s, 0);
  if (IsVariable(b) && FitsScale(VarOf(b), a, &s)) return Scaled(VarOf(b), s, 0);
  return BinarySlow(Operators().multiply, a, b);
}

// Python's true division of integers gives floats.
PyObject* NbTrueDivide(PyObject* a, PyObject* b) {
  const OpInfo& op = Operators().divide;
  return Guarded([&]() -> PyObject* {
    Operands both(a, b);
    if (!both.ok) Py_RETURN_NOTIMPLEMENTED;
    if (!IsInexact(both.x->value().dtype())) {
      both.x = CastTo(*both.x, DefaultFloat());
      both.y = CastTo(*both.y, DefaultFloat());
    }
    return Wrap(RunBinary(op, op.default_attrs, *both.x, *both.y));
  });
}

// Complex matrices are multiplied by their parts.
Ref<Variable> ComplexProduct(Variable& x, Variable& y) {
  const NumberOperators& ops = Operators();
  auto part = [](const OpInfo& op, Variable& v) { return RunUnary(op, op.default_attrs, v); };
  auto both = [](const OpInfo& op, const Ref<Variable>& v, const Ref<Variable>& w) {
    return RunBinary(op, op.default_attrs, *v, *w);
  };
  const Ref<Variable> a = part(ops.real, x), b = part(ops.imag, x), c = part(ops.real, y),
                      d = part(ops.imag, y);
  const Ref<Variable> real = both(ops.subtract, both(ops.matmul, a, c), both(ops.matmul, b, d));
  const Ref<Variable> imag = both(ops.add, both(ops.matmul, a, d), both(ops.matmul, b, c));
  return both(ops.complex, real, imag);
}

bool IsComplexVariable(PyObject* o) { return IsVariable(o) && IsComplex(VarOf(o).value().dtype()); }

PyObject* NbMatmul(PyObject* a, PyObject* b) {
  if (__builtin_expect(IsComplexVariable(a) || IsComplexVariable(b), 0)) {
    return Guarded([&]() -> PyObject* {
      Operands both(a, b);
      if (!both.ok) Py_RETURN_NOTIMPLEMENTED;
      return Wrap(ComplexProduct(*both.x, *both.y));
    });
  }
  return Binary(Operators().matmul, a, b);
}

PyObject* NbPower(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  const OpInfo& power = Operators().power_of_number;
  float s;
  if (IsVariable(a) && FitsScale(VarOf(a), b, &s)) {
    return Guarded([&] {
      Ref<Attrs> attrs = Attrs::Make(power.attr_table);
      attrs->Set("factor", s);
      return Wrap(RunUnary(power, attrs, VarOf(a)));
    });
  }
  return BinarySlow(Operators().power, a, b);
}

PyObject* NbFloorDivide(PyObject* a, PyObject* b) { return Binary(Operators().floor_divide, a, b); }
PyObject* NbRemainder(PyObject* a, PyObject* b) { return Binary(Operators().remainder, a, b); }
PyObject* NbDivmod(PyObject* a, PyObject* b) {
  PyObject* quotient = NbFloorDivide(a, b);
  if (!quotient || quotient == Py_NotImplemented) return quotient;
  PyObject* rest = NbRemainder(a, b);
  PyObject* both = rest ? PyTuple_Pack(2, quotient, rest) : nullptr;
  Py_DECREF(quotient);
  Py_XDECREF(rest);
  return both;
}

// Of bits, and so of truth values: Python has no slots for `and`, `or`, `not`.
PyObject* NbAnd(PyObject* a, PyObject* b) { return Binary(Operators().bit_and, a, b); }
PyObject* NbOr(PyObject* a, PyObject* b) { return Binary(Operators().bit_or, a, b); }
PyObject* NbXor(PyObject* a, PyObject* b) { return Binary(Operators().bit_xor, a, b); }
PyObject* NbInvert(PyObject* a) {
  const OpInfo& op = Operators().bit_not;
  return Guarded([&] { return Wrap(RunUnary(op, op.default_attrs, VarOf(a))); });
}

PyObject* NbNegative(PyObject* a) { return Scaled(VarOf(a), -1, 0); }

PyObject* NbPositive(PyObject* a) {
  Py_INCREF(a);
  return a;
}

PyObject* NbFloat(PyObject* a) {
  return Guarded([&] {
    TellRead(a, "float()");
    PyObject* item = ItemFromTensor(VarOf(a).tensor());
    if (item && PyFloat_CheckExact(item)) return item;
    PyObject* result = item ? PyNumber_Float(item) : nullptr;
    Py_XDECREF(item);
    return result;
  });
}

PyObject* NbInt(PyObject* a) {
  return Guarded([&] {
    TellRead(a, "int()");
    PyObject* item = ItemFromTensor(VarOf(a).tensor());
    PyObject* result = item ? PyNumber_Long(item) : nullptr;
    Py_XDECREF(item);
    return result;
  });
}

PyObject* NbIndex(PyObject* a) {
  return Guarded([&]() -> PyObject* {
    TellRead(a, "index()");
    const Tensor& t = VarOf(a).tensor();
    ENFORCE(IsInteger(t.dtype()) && t.numel() == 1, Type,
            "only an integer variable of one element serves as an index, got ", t.dtype(),
            " of shape ", t.dims());
    return ItemFromTensor(t);
  });
}

int NbBool(PyObject* a) {
  PyObject* result = Guarded([&] {
    TellRead(a, "bool()");
    const Tensor& t = VarOf(a).tensor();
    ENFORCE(t.numel() == 1, InvalidArgument, "the truth of a Variable of ", t.numel(),
            " elements is ambiguous, got shape ", t.dims(),
            ". Use dygraph.all(x) or dygraph.any(x), as in `if dygraph.all(x == y):`");
    if (__builtin_expect(truth_answers != nullptr, 0)) {
      PyObject* answer = PyObject_CallOneArg(truth_answers, a);
      if (answer != Py_None) return answer;
      Py_DECREF(answer);
    }
    return ItemFromTensor(t);
  });
  if (!result) return -1;
  int truth = PyObject_IsTrue(result);
  Py_DECREF(result);
  return truth;
}

// `x == [1, 2]` compares elements, as NumPy does; floats of a list take the type of `x`.
PyObject* EqualToList(PyObject* a, PyObject* list, int how) {
  return Guarded([&] {
    Ref<Variable> x(&VarOf(a));
    DType s = x->value().dtype();
    Ref<Variable> y = Variable::Make(Value(TensorFromPython(list, DType::kUnset, s)));
    DType t = y->value().dtype();
    if (s != t) {
      const DType both = Promote(s, t);
      if (s != both) x = CastTo(*x, both);
      if (t != both) y = CastTo(*y, both);
    }
    const OpInfo& op = *Operators().compare[how];
    return Wrap(RunBinary(op, op.default_attrs, *x, *y));
  });
}

PyObject* RichCompare(PyObject* a, PyObject* b, int how) {
  const bool equality = how == Py_EQ || how == Py_NE;
  if (equality && IsVariable(a) && (PyList_Check(b) || PyTuple_Check(b)))
    return EqualToList(a, b, how);
  return BinarySlow(*Operators().compare[how], a, b);
}

// `p -= rate * p.grad` writes into the variable on its left, as `subtract_` does, also where a
// function is explored for `to_static`. Where a script describes a program, Python computes `x - y`
// and binds the name to it, as Fluid's scripts expect.
template <PyObject* (*compute)(PyObject*, PyObject*)>
PyObject* InPlace(PyObject* a, PyObject* b) {
  if (VarOf(a).symbolic() && !CurrentThread().exploring) Py_RETURN_NOTIMPLEMENTED;
  const bool stored_back = IsTemporary(a);  // of `x[0] += 1`, which ends with x[0] = result
  PyObject* computed = compute(a, b);
  if (!computed || !IsVariable(computed)) return computed;
  PyObject* done = Guarded([&]() -> PyObject* {
    Variable& v = VarOf(a);
    Ref<Variable> result(&VarOf(computed));
    DType kept = v.value().dtype();
    if (IsFloating(kept) && IsFloating(result->value().dtype()) &&
        result->value().dtype() != kept) {
      result = CastTo(*result, kept);
    }
    ENFORCE(result->value().dtype() == kept, Type, "an operation in place must keep the type ",
            kept, ", got ", result->value().dtype(), ". Compute a new variable: y = x / 2");
    const Dims &dims = v.value().dims(), &others = result->value().dims();
    ENFORCE(others == dims || others.HasUnknown(), InvalidArgument,
            "an operation in place must keep the shape ", dims, ", got ", others,
            ". Compute a new variable: y = x + z");
    if (result->symbolic()) {
      WriteInProgram(Ref<Variable>(&v), result);
    } else {
      if (!stored_back) RefusePart(v);
      v.Become(*result);
      WriteThrough(v);
    }
    Py_INCREF(a);
    return a;
  });
  Py_DECREF(computed);
  return done;
}

// A class made in Python takes `__iadd__` for its sq_inplace_concat as well, whose result Python
// does not look at: NotImplemented must not be one.
PyObject* InPlaceAdd(PyObject* a, PyObject* b) {
  PyObject* result = InPlace<NbAdd>(a, b);
  if (result != Py_NotImplemented || Py_TYPE(a) == &VariableType) return result;
  Py_DECREF(result);
  return PyNumber_Add(a, b);
}

PyObject* PowerOf(PyObject* a, PyObject* b) { return NbPower(a, b, Py_None); }
PyObject* InPlacePower(PyObject* a, PyObject* b, PyObject*) { return InPlace<PowerOf>(a, b); }

PyNumberMethods number_methods;

}  // namespace

void TellRead(PyObject* self, const char* how) { TellRead(VarOf(self), how); }

void TellRead(Variable& v, const char* how) {
  ENFORCE(!v.symbolic(), PreconditionNotMet, how, " of '", v.name(),
          "', a variable of a program, which holds values only while an Executor runs it. Fetch "
          "it: exe.run(program, feed, fetch_list=['",
          v.name(), "'])",
          std::string_view(how) == "bool()"
              ? ". To decide in the program use static.layers.cond or while_loop, or write a "
                "function for dygraph.jit.to_static"
              : "",
          " (described at ", UserLine(), ")");
  CurrentThread().OnRead(v, how);
}

void AddNumberSlots(PyTypeObject* type) {
  number_operators = new NumberOperators;
  number_methods.nb_add = NbAdd;
  number_methods.nb_subtract = NbSubtract;
  number_methods.nb_multiply = NbMultiply;
  number_methods.nb_true_divide = NbTrueDivide;
  number_methods.nb_floor_divide = NbFloorDivide;
  number_methods.nb_remainder = NbRemainder;
  number_methods.nb_divmod = NbDivmod;
  number_methods.nb_matrix_multiply = NbMatmul;
  number_methods.nb_power = NbPower;
  number_methods.nb_and = NbAnd;
  number_methods.nb_or = NbOr;
  number_methods.nb_xor = NbXor;
  number_methods.nb_lshift = LeftShift;
  number_methods.nb_rshift = RightShift;
  number_methods.nb_invert = NbInvert;
  number_methods.nb_negative = NbNegative;
  number_methods.nb_positive = NbPositive;
  number_methods.nb_float = NbFloat;
  number_methods.nb_int = NbInt;
  number_methods.nb_index = NbIndex;
  number_methods.nb_bool = NbBool;
  number_methods.nb_inplace_add = InPlaceAdd;
  number_methods.nb_inplace_subtract = InPlace<NbSubtract>;
  number_methods.nb_inplace_multiply = InPlace<NbMultiply>;
  number_methods.nb_inplace_true_divide = InPlace<NbTrueDivide>;
  number_methods.nb_inplace_floor_divide = InPlace<NbFloorDivide>;
  number_methods.nb_inplace_remainder = InPlace<NbRemainder>;
  number_methods.nb_inplace_matrix_multiply = InPlace<NbMatmul>;
  number_methods.nb_inplace_power = InPlacePower;
  number_methods.nb_inplace_and = InPlace<NbAnd>;
  number_methods.nb_inplace_or = InPlace<NbOr>;
  number_methods.nb_inplace_xor = InPlace<NbXor>;
  number_methods.nb_inplace_lshift = InPlace<LeftShift>;
  number_methods.nb_inplace_rshift = InPlace<RightShift>;
  type->tp_as_number = &number_methods;
  type->tp_richcompare = RichCompare;
}

}  // namespace dygraph::python
