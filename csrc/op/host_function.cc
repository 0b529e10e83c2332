#include "op/host_function.h"

#include <deque>
#include <mutex>
#include <random>

namespace dygraph {

namespace {

struct Functions {
  std::mutex mutex;
  std::deque<HostFunction> list;  // addresses stay
  int64_t key = 0;                // the lowest bits are the function's number
};

constexpr int64_t kMostFunctions = int64_t{1} << 22;

Functions& TheFunctions() {
  static Functions* functions = [] {
    auto* made = new Functions;
    std::random_device device;
    uint64_t bits = (uint64_t{device()} << 32) ^ device();
    made->key = static_cast<int64_t>((bits >> 1 | 1) & ~static_cast<uint64_t>(kMostFunctions - 1)) |
                kMostFunctions;  // positive, and never 0
    return made;
  }();
  return *functions;
}

}  // namespace

int64_t AddHostFunction(HostFunction function) {
  Functions& f = TheFunctions();
  std::lock_guard<std::mutex> lock(f.mutex);
  int64_t number = static_cast<int64_t>(f.list.size());
  ENFORCE(number < kMostFunctions, ResourceExhausted, "a process may give out ", kMostFunctions,
          " functions to programs, got one more");
  f.list.push_back(std::move(function));
  return f.key | number;
}

const HostFunction& GetHostFunction(int64_t handle) {
  Functions& f = TheFunctions();
  std::lock_guard<std::mutex> lock(f.mutex);
  int64_t number = handle & (kMostFunctions - 1);
  ENFORCE((handle ^ number) == f.key && number < static_cast<int64_t>(f.list.size()),
          PreconditionNotMet,
          "its Python function must have been given in this process, got the handle of one that "
          "was not: files hold no code. Build the program again with static.layers.py_func");
  return f.list[static_cast<size_t>(number)];
}

AttrCheck IsHostFunction() {
  return [](const std::string&, const AttrValue& value) {
    int64_t handle = std::get<int64_t>(value);
    if (handle != 0 && handle != -1) GetHostFunction(handle);
  };
}

}  // namespace dygraph
