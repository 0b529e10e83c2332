// A model as one file whose weights are used where they lie, so that all predictors of all
// processes share its pages:
//
//   a header of 64 bytes: "DGPACK1\n", sizes and checksums (packed_model.cc)
//   the program, as SaveInferenceModel writes it
//   zeros up to a multiple of 4096
//   the weights, sorted by name, each at a multiple of 64 from there
//
// Types and shapes are those that the program declares, so the file holds no table that could
// contradict it. Numbers are little-endian.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "program/desc.h"
#include "program/scope.h"

namespace dygraph::program {

// Bytes of a file, mapped for reading, or of the caller.
class ModelBytes {
 public:
  // FileNotFound, or Format for anything but a regular file; no symbolic link is followed.
  static std::shared_ptr<const ModelBytes> Map(const std::string& path);
  // The caller keeps them until the last holder of the result is gone.
  static std::shared_ptr<const ModelBytes> Of(const void* bytes, size_t size);
  ~ModelBytes();
  ModelBytes(const ModelBytes&) = delete;
  ModelBytes& operator=(const ModelBytes&) = delete;

  const char* data() const { return data_; }
  size_t size() const { return size_; }
  const std::string& name() const { return name_; }
  bool is_packed() const;  // by its first bytes

 private:
  ModelBytes(const char* data, size_t size, std::string name, bool mapped)
      : data_(data), size_(size), name_(std::move(name)), mapped_(mapped) {}
  const char* data_;
  size_t size_;
  std::string name_;
  bool mapped_;
};

// Written whole, or the file at `path` stays as it was.
void SavePackedModel(const std::string& path, const ProgramDesc& program, const Scope& scope);

struct PackedUse {
  // True: the weights stay in the file's pages, and kernels keep no form of their own beside them.
  // False: they are copied into memory of ours.
  bool share = true;
  bool check = true;  // the weights against their checksum, which reads all of them
};

// Everything is checked before anything is put into `scope`; Format for what does not fit.
ProgramDesc LoadPackedModel(std::shared_ptr<const ModelBytes> bytes, Scope* scope,
                            const PackedUse& use);

}  // namespace dygraph::program
