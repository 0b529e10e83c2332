// Typed errors and the one checking macro. Every message reads
//   <op>: <rule with slot names and shapes>, got <values>. <hint>
// where the door adds "<op>: " itself.
#pragma once

#include <exception>
#include <ostream>
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
  Assertion,           // AssertionError: a condition of the user's program does not hold
  NonFinite,           // FloatingPointError: NaN or infinity where a check looks for them
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

namespace detail {
// A part of a message and the function that writes it: one function a type, not one a message.
struct MessagePart {
  const void* at;
  void (*write)(std::ostream&, const void*);
};
void WriteText(std::ostream& out, const void* at);
template <class T>
void WritePart(std::ostream& out, const void* at) {
  out << *static_cast<const T*>(at);
}
template <size_t N>
MessagePart PartOf(const char (&text)[N]) {
  return {text, &WriteText};
}
template <class T>
MessagePart PartOf(const T& part) {
  return {&part, &WritePart<T>};
}
[[noreturn]] void ThrowParts(ErrorKind kind, const MessagePart* parts, size_t count);
}  // namespace detail

template <class... Parts>
[[noreturn]] __attribute__((noinline, cold)) void Throw(ErrorKind kind, const Parts&... parts) {
  const detail::MessagePart list[] = {detail::PartOf(parts)...};
  detail::ThrowParts(kind, list, sizeof...(Parts));
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
