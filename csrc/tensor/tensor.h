// An n-dimensional array: element type, shape, order in memory, shared storage, level of detail.
// Value semantics: copying shares the storage, writing through mutable_data() first makes it our
// own.
#pragma once

#include "base/ref.h"
#include "tensor/dims.h"
#include "tensor/lod.h"
#include "tensor/storage.h"

namespace dygraph {

// Dims are always logical NCHW; data of 4-D and 5-D tensors may lie channels-last.
enum class Layout : uint8_t { kPlain, kNHWC };

class Tensor {
 public:
  Tensor() {}  // = default would make Tensor() fill all its bytes with zeros first
  Tensor(Dims dims, DType dtype, Place place = CPUPlace(), Layout layout = Layout::kPlain);

  const Dims& dims() const { return dims_; }
  int rank() const { return dims_.rank(); }
  int64_t dim(int i) const { return dims_[i]; }
  int64_t numel() const { return numel_; }
  DType dtype() const { return dtype_; }
  Place place() const { return place_; }
  Layout layout() const { return layout_; }
  size_t bytes() const { return static_cast<size_t>(numel_) * SizeOf(dtype_); }
  bool has_data() const { return static_cast<bool>(storage_); }
  const LoD* lod() const { return lod_.get(); }
  const LoDLevels& lod_levels() const;  // empty for an ordinary tensor
  const Ref<Storage>& storage() const { return storage_; }

  // Values in memory order (see layout()). Type error when T is not the dtype; PreconditionNotMet
  // without data.
  template <class T>
  const T* data() const {
    CheckRead(DTypeOf<T>::value);
    return static_cast<const T*>(data_);
  }
  const void* raw_data() const { return data_; }
  // For writing: the storage must be ours alone, as the door and Allocate() guarantee for outputs.
  template <class T>
  T* mutable_data() {
    CheckRead(DTypeOf<T>::value);
    return static_cast<T*>(data_);
  }
  void* mutable_raw_data() { return data_; }

  // A fresh block for this shape; drops the old storage and the LoD.
  void Allocate(Dims dims, DType dtype, Place place, Layout layout = Layout::kPlain);
  // Shape and type without data: what a gradient that reads only a shape keeps, and variables of a
  // program being built.
  void SetMeta(const Dims& dims, DType dtype, Place place = CPUPlace(),
               Layout layout = Layout::kPlain);
  // Shape, type, place, order and LoD of `t`, no data.
  void SetMeta(const Tensor& t);
  // Gives the shape set by SetMeta() a block of its own.
  void AllocateData(Place place, Layout layout = Layout::kPlain);
  // Copies the data if the storage has other holders, so that a write in place is seen by us alone.
  void MakeWritable();
  Tensor Meta() const;               // what SetMeta() takes of this one
  Tensor Reshaped(Dims dims) const;  // same storage; needs plain order and equal numel
  // leading-axis slice, same storage; needs plain order
  Tensor Rows(int64_t begin, int64_t end) const;
  // itself, or its values restored to plain order (cached beside the storage)
  Tensor Plain() const;
  Tensor Clone() const;  // own storage, same order
  void ShareStorage(Ref<Storage> storage, Dims dims, DType dtype, Layout layout = Layout::kPlain);
  // Shows what lies at `data`, whose storage the caller keeps alive: in this shape and type, or with
  // another number of rows.
  void Show(const void* data) { data_ = const_cast<void*>(data); }
  void ShowRows(const void* data, int64_t rows, int64_t numel) {
    data_ = const_cast<void*>(data);
    dims_[0] = rows;
    numel_ = numel;
  }
  // Takes `other`'s storage and order for this shape, which must have as many bytes.
  void ShareData(const Tensor& other);
  // No other tensor would see a write: the storage is ours alone, whole and our own memory.
  bool OwnsStorage() const {
    return storage_ && storage_->writable() && data_ == storage_->data() &&
           bytes() == storage_->bytes();
  }

  // unchecked: the door checks what users give
  void SetLoD(Ref<LoD> lod) { lod_ = std::move(lod); }
  void SetLoD(LoDLevels levels);  // checked against the rows
  const Ref<LoD>& lod_ref() const { return lod_; }

 private:
  void CheckRead(DType asked) const {
    if (__builtin_expect(asked != dtype_ || !data_, 0)) FailRead(asked);
  }
  [[noreturn]] void FailRead(DType asked) const;
  void SetMetaSlow(const Dims& dims, DType dtype, Place place, Layout layout);

  void* data_ = nullptr;
  Ref<Storage> storage_;
  int64_t numel_ = 0;
  Dims dims_;
  DType dtype_ = DType::kUnset;
  Layout layout_ = Layout::kPlain;
  Place place_;
  Ref<LoD> lod_;
};

// dims in memory order: [N, H, W, C] for a channels-last [N, C, H, W].
Dims PhysicalDims(const Tensor& t);
// Copies values into the order asked; dims stay logical.
Tensor ToLayout(const Tensor& t, Layout layout);

// The values on another place, in a storage of their own and the same order; itself where it is
// there already.
Tensor CopyTo(const Tensor& t, Place place);

// First element as double; InvalidArgument unless numel is 1.
double Item(const Tensor& t);

}  // namespace dygraph
