// LAPACK, found at its first use in what the process has loaded: NumPy's own library, as a rule.
// kernels/lapack.h has its routines as functions.
#pragma once

#include <string>

namespace dygraph {

enum class LapackRoutine {
  kGeev,
  kGels,
  kGelsd,
  kGelss,
  kGelsy,
  kGeqrf,
  kGesdd,
  kGetrf,
  kGetri,
  kGetrs,
  kOrgqr,
  kPotrf,
  kSyevd,
  kTrsm,
  kCount,
};

struct LapackApi {
  void* single[static_cast<int>(LapackRoutine::kCount)] = {};  // of floats
  void* dual[static_cast<int>(LapackRoutine::kCount)] = {};    // of doubles
  // Whether its integers have 64 bits. A single one is passed as the address of an int64_t either
  // way: a routine of 32 bits uses its low half. Lists differ.
  bool wide = false;
  // OpenBLAS's; nullptr in other libraries.
  void (*set_num_threads)(int) = nullptr;
  int (*get_num_threads)() = nullptr;
  std::string file;  // in which, or through which, it was found
};

// PreconditionNotMet with what to install where there is none.
const LapackApi& Lapack();

// While one lives, OpenBLAS uses the calling thread alone: results may depend on the number of its
// threads, and ours share out whole matrices. The process has one setting, so the first one saves
// it and the last one restores it.
class LapackOnOneThread {
 public:
  explicit LapackOnOneThread(const LapackApi& api);
  ~LapackOnOneThread();
  LapackOnOneThread(const LapackOnOneThread&) = delete;
  LapackOnOneThread& operator=(const LapackOnOneThread&) = delete;

 private:
  const LapackApi& api_;
};

}  // namespace dygraph
