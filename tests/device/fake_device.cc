// A device that is not part of dygraph: built by a test against the installed headers, loaded with
// load_library.
//
// Its memory may not be touched from the host. An address handed out lies in pages without any
// access right; the bytes lie kApart further on, where only the copies of FakeContext and the
// kernels of this file look. A kernel of the host that is given such an address dies at once.
#include <sys/mman.h>

#include <cstring>

#include "memory/device_registration.h"
#include "op/op_registry.h"

namespace {

using namespace dygraph;  // a plug-in's own file

constexpr size_t kApart = size_t{1} << 30;
constexpr size_t kTotal = size_t{256} << 20;

template <class T>
T* Real(T* address) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(address) + kApart);
}

class FakeAllocator : public memory::SystemAllocator {
 public:
  void* Alloc(size_t bytes) override {
    if (bytes > kTotal) return nullptr;
    void* p = mmap(nullptr, kApart + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p == MAP_FAILED) return nullptr;
    if (mprotect(Real(static_cast<char*>(p)), bytes, PROT_READ | PROT_WRITE) == 0) return p;
    munmap(p, kApart + bytes);
    return nullptr;
  }
  void Free(void* block, size_t bytes) override { munmap(block, kApart + bytes); }
  size_t Total() const override { return kTotal; }
};

class FakeContext : public DeviceContext {
 public:
  using DeviceContext::DeviceContext;
  void CopyFromHost(void* to, const void* host, size_t bytes) override {
    std::memcpy(Real(static_cast<char*>(to)), host, bytes);
  }
  void CopyToHost(void* host, const void* from, size_t bytes) override {
    std::memcpy(host, Real(static_cast<const char*>(from)), bytes);
  }
  void CopyWithin(void* to, const void* from, size_t bytes) override {
    std::memcpy(Real(static_cast<char*>(to)), Real(static_cast<const char*>(from)), bytes);
  }
};

REGISTER_DEVICE(
    FakeDevice,
    [](Place place) -> std::unique_ptr<DeviceContext> {
      ENFORCE(place.id < 2, OutOfRange, "this machine has two fake devices, 0 and 1, got ", place);
      return std::make_unique<FakeContext>(place);
    },
    [](Place) -> std::unique_ptr<memory::SystemAllocator> {
      return std::make_unique<FakeAllocator>();
    });

// Kernels. Slots are numbered as the operators declare them; op_info() shows the order.

template <class T>
const T* Data(KernelContext& ctx, int slot, int i = 0) {
  return Real(ctx.In(slot, i).data<T>());
}
template <class T>
T* Data(Tensor& out) {
  return Real(out.mutable_data<T>());
}

// y is of x's shape, or one row of it.
int64_t RowOf(const Dims& x, const Dims& y) {
  ENFORCE(x == y || (y.rank() == 1 && x.rank() == 2 && x[1] == y[0]), Unimplemented,
          "this device adds and multiplies equal shapes, or a row to a matrix, got ", x, " and ",
          y);
  return Numel(y);
}

template <class T, class F>
void Combine(KernelContext& ctx, F f) {
  int64_t n = ctx.In(0).numel(), row = RowOf(ctx.In(0).dims(), ctx.In(1).dims());
  const T *x = Data<T>(ctx, 0), *y = Data<T>(ctx, 1);
  T* out = Data<T>(ctx.Out(0));
  for (int64_t i = 0; i < n; ++i) out[i] = f(x[i], y[i % row]);
}

template <class T>
struct Add {
  static void Compute(KernelContext& ctx) {
    Combine<T>(ctx, [](T a, T b) { return a + b; });
  }
};

// X, Y (shapes), Out@GRAD -> X@GRAD, Y@GRAD. The operator leaves the allocation to its kernels.
template <class T>
struct AddGrad {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(2);
    const T* from = Data<T>(ctx, 2);
    for (int slot = 0; slot < 2; ++slot) {
      Tensor* out = ctx.OutOrNull(slot);
      if (!out) continue;
      out->AllocateData(ctx.place());
      T* to = Data<T>(*out);
      int64_t row = RowOf(g.dims(), out->dims());
      std::memset(to, 0, out->bytes());
      for (int64_t i = 0; i < g.numel(); ++i) to[i % row] += from[i];
    }
  }
};

template <class T>
struct Mul {
  static void Compute(KernelContext& ctx) {
    Combine<T>(ctx, [](T a, T b) { return a * b; });
  }
};

template <class T>
struct MulGrad {
  static void Compute(KernelContext& ctx) {
    const T* g = Data<T>(ctx, 2);
    for (int slot = 0; slot < 2; ++slot) {
      Tensor* out = ctx.OutOrNull(slot);
      if (!out) continue;
      ENFORCE(ctx.In(0).dims() == ctx.In(1).dims(), Unimplemented,
              "this device differentiates products of equal shapes, got ", ctx.In(0).dims(),
              " and ", ctx.In(1).dims());
      const T* other = Data<T>(ctx, 1 - slot);
      T* to = Data<T>(*out);
      for (int64_t i = 0; i < out->numel(); ++i) to[i] = g[i] * other[i];
    }
  }
};

template <class T>
struct Relu {
  static void Compute(KernelContext& ctx) {
    const T* x = Data<T>(ctx, 0);
    T* out = Data<T>(ctx.Out(0));
    for (int64_t i = 0; i < ctx.In(0).numel(); ++i) out[i] = x[i] > 0 ? x[i] : 0;
  }
};

template <class T>
struct ReluGrad {
  static void Compute(KernelContext& ctx) {
    const T *y = Data<T>(ctx, 0), *g = Data<T>(ctx, 1);
    T* out = Data<T>(ctx.Out(0));
    for (int64_t i = 0; i < ctx.In(0).numel(); ++i) out[i] = y[i] > 0 ? g[i] : 0;
  }
};

void CheckMatrices(KernelContext& ctx) {
  const Dims &x = ctx.In(0).dims(), &y = ctx.In(1).dims();
  bool plain = !AttrOf<bool>(ctx.call(), "trans_x") && !AttrOf<bool>(ctx.call(), "trans_y");
  ENFORCE(plain && x.rank() == 2 && y.rank() == 2, Unimplemented,
          "this device multiplies two matrices as they are, got ", x, " and ", y);
}

template <class T>
struct Matmul {
  static void Compute(KernelContext& ctx) {
    CheckMatrices(ctx);
    int64_t m = ctx.In(0).dim(0), k = ctx.In(0).dim(1), n = ctx.In(1).dim(1);
    const T *x = Data<T>(ctx, 0), *y = Data<T>(ctx, 1);
    T* out = Data<T>(ctx.Out(0));
    std::memset(out, 0, ctx.Out(0).bytes());
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t p = 0; p < k; ++p) {
        for (int64_t j = 0; j < n; ++j) out[i * n + j] += x[i * k + p] * y[p * n + j];
      }
    }
  }
};

template <class T>
struct MatmulGrad {
  static void Compute(KernelContext& ctx) {
    CheckMatrices(ctx);
    int64_t m = ctx.In(0).dim(0), k = ctx.In(0).dim(1), n = ctx.In(1).dim(1);
    const T* g = Data<T>(ctx, 2);
    if (Tensor* out = ctx.OutOrNull(0)) {  // g y^T
      const T* y = Data<T>(ctx, 1);
      T* to = Data<T>(*out);
      std::memset(to, 0, out->bytes());
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t p = 0; p < k; ++p) {
          for (int64_t j = 0; j < n; ++j) to[i * k + p] += g[i * n + j] * y[p * n + j];
        }
      }
    }
    if (Tensor* out = ctx.OutOrNull(1)) {  // x^T g
      const T* x = Data<T>(ctx, 0);
      T* to = Data<T>(*out);
      std::memset(to, 0, out->bytes());
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t p = 0; p < k; ++p) {
          for (int64_t j = 0; j < n; ++j) to[p * n + j] += x[i * k + p] * g[i * n + j];
        }
      }
    }
  }
};

template <class T>
struct Mean {
  static void Compute(KernelContext& ctx) {
    const T* x = Data<T>(ctx, 0);
    int64_t n = ctx.In(0).numel();
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    *Data<T>(ctx.Out(0)) = static_cast<T>(sum / static_cast<double>(n));
  }
};

template <class T>
struct MeanGrad {
  static void Compute(KernelContext& ctx) {
    int64_t n = ctx.In(0).numel();
    T each = *Data<T>(ctx, 1) / static_cast<T>(n);
    T* to = Data<T>(ctx.Out(0));
    for (int64_t i = 0; i < n; ++i) to[i] = each;
  }
};

// What backward itself calls: the first gradient, and the meeting of two; and the step of an
// optimizer.

template <class T>
struct FillAnyLike {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(0);
    T* to = Data<T>(out);
    for (int64_t i = 0; i < out.numel(); ++i) to[i] = AttrOf<float>(ctx.call(), "value");
  }
};

template <class T>
struct Sum {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(0);
    T* to = Data<T>(out);
    for (int64_t i = 0; i < out.numel(); ++i) {
      T sum = 0;
      for (int t = 0; t < ctx.InputCount(0); ++t) sum += Data<T>(ctx, 0, t)[i];
      to[i] = sum;
    }
  }
};

template <class T>
struct Scale {
  static void Compute(KernelContext& ctx) {
    T scale = AttrOf<float>(ctx.call(), "scale"), bias = AttrOf<float>(ctx.call(), "bias");
    const T* x = Data<T>(ctx, 0);
    T* to = Data<T>(ctx.Out(0));
    for (int64_t i = 0; i < ctx.In(0).numel(); ++i) to[i] = scale * x[i] + bias;
  }
};

REGISTER_DEVICE_KERNEL(elementwise_add, FakeDevice, Add, float);
REGISTER_DEVICE_KERNEL(elementwise_add_grad, FakeDevice, AddGrad, float);
REGISTER_DEVICE_KERNEL(elementwise_mul, FakeDevice, Mul, float);
REGISTER_DEVICE_KERNEL(elementwise_mul_grad, FakeDevice, MulGrad, float);
REGISTER_DEVICE_KERNEL(relu, FakeDevice, Relu, float);
REGISTER_DEVICE_KERNEL(relu_grad, FakeDevice, ReluGrad, float);
REGISTER_DEVICE_KERNEL(matmul_v2, FakeDevice, Matmul, float);
REGISTER_DEVICE_KERNEL(matmul_v2_grad, FakeDevice, MatmulGrad, float);
REGISTER_DEVICE_KERNEL(mean, FakeDevice, Mean, float);
REGISTER_DEVICE_KERNEL(mean_grad, FakeDevice, MeanGrad, float);
REGISTER_DEVICE_KERNEL(fill_any_like, FakeDevice, FillAnyLike, float);
REGISTER_DEVICE_KERNEL(sum, FakeDevice, Sum, float);
REGISTER_DEVICE_KERNEL(scale, FakeDevice, Scale, float);

}  // namespace
