#include "tensor/tensor.h"

#include <algorithm>
#include <mutex>

#include "platform/device_context.h"
#include "tensor/image_order.h"
#include "tensor/scratch.h"

namespace dygraph {

namespace {
// Guards plain twins, since kernels of several threads may restore one block. A thread that would
// have to wait makes a copy of its own: in a forked child the lock may stay taken.
std::mutex twins;

// One channel or one pixel: both orders are the same memory.
bool OrdersAgree(const Dims& dims) { return dims[1] == 1 || Numel(dims, 2, dims.rank()) == 1; }

}  // namespace

Tensor::Tensor(Dims dims, DType dtype, Place place, Layout layout) {
  Allocate(std::move(dims), dtype, place, layout);
}

const LoDLevels& Tensor::lod_levels() const {
  static const LoDLevels kNone;
  return lod_ ? lod_->levels : kNone;
}

void Tensor::FailRead(DType asked) const {
  ENFORCE(dtype_ != DType::kUnset, PreconditionNotMet,
          "the values of a tensor were used that has no shape and type yet. Inside an operator, "
          "its shape rule must call SetOutput for each output that the kernel writes");
  ENFORCE(
      data_, PreconditionNotMet, "the values of a tensor of shape ", dims_,
      " were read, but it holds none. Only its shape was kept, or nothing has been written yet");
  THROW(Type, "the element type must be ", asked, ", got ", dtype_, ". Convert with astype('",
        Name(asked), "')");
}

// The usual case alone: a fresh tensor of few axes. Written in wide stores, the sizes are ready for
// the wide loads of the next copy.
void Tensor::SetMeta(const Dims& dims, DType dtype, Place place, Layout layout) {
  if (__builtin_expect(storage_ || lod_ || dims.size() > kInlineAxes, 0))
    return SetMetaSlow(dims, dtype, place, layout);
  int64_t numel = 1;
  for (int64_t d : dims) {
    if (__builtin_expect(d < 0 || __builtin_mul_overflow(numel, d, &numel), 0))
      return SetMetaSlow(dims, dtype, place, layout);
  }
  dims_ = dims;
  data_ = nullptr;
  numel_ = numel;
  dtype_ = dtype;
  place_ = place;
  layout_ = layout;
}

void Tensor::SetMetaSlow(const Dims& dims, DType dtype, Place place, Layout layout) {
  data_ = nullptr;
  storage_.reset();
  lod_.reset();
  CheckRank(dims);
  int64_t numel = 1;
  for (int64_t d : dims) {
    if (__builtin_expect(d < 0 || __builtin_mul_overflow(numel, d, &numel), 0)) {
      numel = dims.HasUnknown() ? -1 : Numel(dims);  // throws when it is too large
      break;
    }
  }
  numel_ = numel;
  dims_ = dims;
  dtype_ = dtype;
  place_ = place;
  layout_ = layout;
}

void Tensor::SetMeta(const Tensor& t) {
  data_ = nullptr;
  storage_.reset();
  lod_ = t.lod_;
  numel_ = t.numel_;
  dims_ = t.dims_;
  dtype_ = t.dtype_;
  place_ = t.place_;
  layout_ = t.layout_;
}

void Tensor::AllocateData(Place place, Layout layout) {
  size_t bytes = static_cast<size_t>(numel_) * SizeOf(dtype_);
  if (__builtin_expect(numel_ > (int64_t{1} << 44), 0)) {
    bytes = ByteSize(dims_, dtype_);
  }
  storage_ = Storage::Make(place, bytes);
  data_ = storage_->data();
  place_ = place;
  layout_ = layout;
}

void Tensor::Allocate(Dims dims, DType dtype, Place place, Layout layout) {
  ByteSize(dims, dtype);
  SetMeta(dims, dtype, place, layout);
  AllocateData(place, layout);
}

void Tensor::MakeWritable() {
  if (!storage_) return;
  if (storage_->writable()) {
    storage_->set_plain_twin(nullptr);
    return;
  }
  Ref<LoD> lod = lod_;
  *this = Clone();
  lod_ = std::move(lod);
}

Tensor Tensor::Meta() const {
  Tensor t;
  t.SetMeta(*this);
  return t;
}

Tensor Tensor::Reshaped(Dims dims) const {
  if (layout_ != Layout::kPlain) return Plain().Reshaped(std::move(dims));
  CheckRank(dims);
  Tensor t = *this;
  t.lod_.reset();
  t.dims_ = std::move(dims);
  ENFORCE(Numel(t.dims_) == numel_, InvalidArgument,
          "a reshape must keep the number of elements, got ", dims_, " to ", t.dims_);
  return t;
}

Tensor Tensor::Rows(int64_t begin, int64_t end) const {
  if (layout_ != Layout::kPlain) return Plain().Rows(begin, end);
  ENFORCE(rank() > 0 && begin >= 0 && begin <= end && end <= dims_[0], OutOfRange,
          "rows must lie within the first axis of shape ", dims_, ", got [", begin, ", ", end, ")");
  Tensor t = *this;
  t.lod_.reset();
  int64_t row = dims_[0] ? numel_ / dims_[0] : 0;
  t.dims_[0] = end - begin;
  t.numel_ = row * (end - begin);
  t.data_ = static_cast<char*>(data_) + begin * row * SizeOf(dtype_);
  return t;
}

Tensor Tensor::Plain() const {
  if (layout_ == Layout::kPlain) return *this;
  if (!storage_ || OrdersAgree(dims_)) {
    Tensor meta = *this;
    meta.layout_ = Layout::kPlain;
    return meta;
  }
  bool whole = data_ == storage_->data() && bytes() == storage_->bytes();
  Tensor plain;
  Ref<Storage> twin;
  if (whole) {
    std::unique_lock<std::mutex> lock(twins, std::try_to_lock);
    if (lock) twin = storage_->plain_twin();
  }
  if (twin) {
    plain.ShareStorage(std::move(twin), dims_, dtype_);
  } else {
    plain = ToLayout(*this, Layout::kPlain);
    std::unique_lock<std::mutex> lock(twins, std::try_to_lock);
    if (lock && whole && !storage_->plain_twin()) storage_->set_plain_twin(plain.storage_);
  }
  plain.lod_ = lod_;
  return plain;
}

Tensor Tensor::Clone() const {
  Tensor t;
  t.Allocate(dims_, dtype_, place_, layout_);
  if (numel_ > 0) GetDeviceContext(place_).CopyWithin(t.data_, data_, bytes());
  t.lod_ = lod_;
  return t;
}

void Tensor::ShareStorage(Ref<Storage> storage, Dims dims, DType dtype, Layout layout) {
  SetMeta(dims, dtype, storage->place(), layout);
  ENFORCE(bytes() <= storage->bytes(), InvalidArgument, "a shape of ", bytes(),
          " bytes must fit into the shared block of ", storage->bytes(), " bytes");
  storage_ = std::move(storage);
  data_ = storage_->data();
}

void Tensor::ShareData(const Tensor& other) {
  storage_ = other.storage_;
  data_ = other.data_;
  place_ = other.place_;
  layout_ = other.layout_;
}

void Tensor::SetLoD(LoDLevels levels) {
  if (levels.empty()) {
    lod_.reset();
    return;
  }
  ENFORCE(rank() > 0, InvalidArgument, "a tensor with LoD needs a first axis, got shape ", dims_);
  CheckLoD(levels, dims_[0]);
  lod_ = MakeRef<LoD>(std::move(levels));
}

Dims PhysicalDims(const Tensor& t) {
  Dims dims = t.dims();
  if (t.layout() == Layout::kNHWC) {
    int64_t channels = dims[1];
    for (int i = 1; i + 1 < dims.rank(); ++i) dims[i] = dims[i + 1];
    dims.back() = channels;
  }
  return dims;
}

Tensor ToLayout(const Tensor& t, Layout layout) {
  if (t.layout() == layout) return t;
  ENFORCE(t.rank() == 4 || t.rank() == 5, InvalidArgument,
          "only tensors of 4 or 5 axes have a channels-last order, got shape ", t.dims());
  Tensor out;
  if (!t.has_data()) {  // a shape that a gradient keeps
    out.SetMeta(t.dims(), t.dtype(), t.place(), layout);
    return out;
  }
  if (OrdersAgree(t.dims()) && t.raw_data() == t.storage()->data()) {
    out.ShareStorage(t.storage(), t.dims(), t.dtype(), layout);
    out.SetLoD(t.lod_ref());
    return out;
  }
  out.Allocate(t.dims(), t.dtype(), t.place(), layout);
  out.SetLoD(t.lod_ref());
  if (t.numel() == 0) return out;
  int64_t n = t.dim(0), channels = t.dim(1), area = Numel(t.dims(), 2, t.rank());
  bool to_last = layout == Layout::kNHWC;
  int64_t rows = to_last ? channels : area, cols = to_last ? area : channels;
  if (t.place() != CPUPlace()) {
    DeviceContext& device = GetDeviceContext(t.place());
    if (device.TransposeImages(t.raw_data(), out.mutable_raw_data(), n, rows, cols,
                               SizeOf(t.dtype())))
      return out;
    Tensor host(t.dims(), t.dtype(), CPUPlace(), t.layout());
    device.CopyToHost(host.mutable_raw_data(), t.raw_data(), t.bytes());
    device.CopyFromHost(out.mutable_raw_data(), ToLayout(host, layout).raw_data(), t.bytes());
    return out;
  }
  TransposeImages(t.raw_data(), out.mutable_raw_data(), n, rows, cols, SizeOf(t.dtype()));
  return out;
}

namespace {
bool IsHost(Place place) {
  return place.kind == DeviceKind::kCPU || place.kind == DeviceKind::kCUDAPinned;
}
}  // namespace

Tensor CopyTo(const Tensor& t, Place place) {
  if (t.place() == place || !t.has_data()) return t;
  Tensor copy;
  copy.Allocate(t.dims(), t.dtype(), place, t.layout());
  copy.SetLoD(t.lod_ref());
  if (t.numel() == 0) return copy;
  DeviceContext& from = GetDeviceContext(t.place());
  DeviceContext& to = GetDeviceContext(place);
  if (IsHost(t.place())) {
    to.CopyFromHost(copy.mutable_raw_data(), t.raw_data(), t.bytes());
  } else if (IsHost(place)) {
    from.CopyToHost(copy.mutable_raw_data(), t.raw_data(), t.bytes());
  } else if (t.place().kind != place.kind ||
             !to.CopyFromPeer(copy.mutable_raw_data(), from, t.raw_data(), t.bytes())) {
    Scratch host(CPUPlace(), t.bytes());
    from.CopyToHost(host.as<void>(), t.raw_data(), t.bytes());
    to.CopyFromHost(copy.mutable_raw_data(), host.as<void>(), t.bytes());
  }
  return copy;
}

double Item(const Tensor& t) {
  ENFORCE(t.numel() == 1, InvalidArgument,
          "only a tensor of one element converts to a number, got shape ", t.dims());
  if (__builtin_expect(t.place() != CPUPlace(), 0)) return Item(CopyTo(t, CPUPlace()));
  return VisitDType(t.dtype(), [&](auto tag) -> double {
    using T = typename decltype(tag)::type;
    if constexpr (kIsComplex<T>) {
      THROW(Type, "only a tensor of a real type converts to a real number, got ", t.dtype());
    } else {
      return static_cast<double>(*t.data<T>());
    }
  });
}

}  // namespace dygraph
