// Typed errors and the one checking macro. Every message reads
//   <op>: <rule with slot names and shapes>, got <values>. <hint>
// where the door adds "<op>: " itself.
#pragma once

#include <exception>
#include <sstream>
#include <string>

namespace dygraph {

enum class ErrorKind {
  InvalidArgument,     // ValueError
  Type,                // TypeError
  NotFound,            // KeyError
  FileNotFound,        // FileNotFoundError
  AlreadyExists,       // ValueError
  OutOfRange,          // IndexError
  Unimplemented,       // NotImplementedError
  ResourceExhausted,   // MemoryError
  PreconditionNotMet,  // RuntimeError
  Format,              // ValueError: a damaged or hostile file
  NonFinite,           // FloatingPointError: NaN or infinity where somebody looks for them
  Interrupted,         // the Python error is already set (KeyboardInterrupt, a raising hook)
};

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  ErrorKind kind() const { return kind_; }
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& message() const { return message_; }
  // Says where the error happened; the first (innermost) operator wins.
  void AddOperator(const std::string& type) {
    if (has_operator_) return;
    has_operator_ = true;
    message_ = type + ": " + message_;
  }
  void Append(const std::string& text) { message_ += text; }

 private:
  ErrorKind kind_;
  bool has_operator_ = false;
  std::string message_;
};

template <class... Parts>
[[noreturn]] __attribute__((noinline, cold)) void Throw(ErrorKind kind, const Parts&... parts) {
  std::ostringstream text;
  text << std::boolalpha;
  (text << ... << parts);
  throw Error(kind, text.str());
}

}  // namespace dygraph

// ENFORCE(x.rank() == 2, InvalidArgument, "X must be a matrix, got shape ", x.dims());
#define ENFORCE(condition, kind, ...)                            \
  do {                                                           \
    if (__builtin_expect(!(condition), 0)) {                     \
      ::dygraph::Throw(::dygraph::ErrorKind::kind, __VA_ARGS__); \
    }                                                            \
  } while (false)

#define THROW(kind, ...) ::dygraph::Throw(::dygraph::ErrorKind::kind, __VA_ARGS__)
