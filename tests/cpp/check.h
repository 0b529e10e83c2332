// The checks of the C++ tests: plain executables that print what failed and return Finish().
#pragma once

#include <atomic>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include "base/enforce.h"

namespace dygraph::testing {

inline std::atomic<int> g_checks{0};
inline std::atomic<int> g_failures{0};

inline void Report(bool good, const char* file, int line, const std::string& text) {
  ++g_checks;
  if (good) return;
  ++g_failures;
  std::ostringstream message;
  message << file << ":" << line << ": " << text << "\n";
  std::cerr << message.str();
}

template <class A, class B>
void ReportEqual(const A& a, const B& b, const char* file, int line, const char* text) {
  std::ostringstream message;
  bool equal = a == b;
  if (!equal) message << text << ", got " << a << " and " << b;
  Report(equal, file, line, message.str());
}

template <class Body>
void ReportThrows(const Body& body, ErrorKind kind, const std::string& part, const char* file,
                  int line, const char* text) {
  std::string got = "nothing thrown";
  bool good = false;
  try {
    body();
  } catch (const Error& e) {
    good = e.kind() == kind && e.message().find(part) != std::string::npos;
    got = "error of kind " + std::to_string(static_cast<int>(e.kind())) + ": " + e.message();
  } catch (const std::exception& e) {
    got = std::string("another exception: ") + e.what();
  }
  Report(good, file, line, std::string(text) + " must throw '" + part + "', got " + got);
}

// The value main returns.
inline int Finish() {
  std::cout << g_checks - g_failures << " of " << g_checks << " checks passed\n";
  return g_failures == 0 ? 0 : 1;
}

}  // namespace dygraph::testing

#define CHECK(condition) ::dygraph::testing::Report(bool(condition), __FILE__, __LINE__, #condition)
#define CHECK_EQ(a, b) ::dygraph::testing::ReportEqual((a), (b), __FILE__, __LINE__, #a " == " #b)
#define CHECK_THROWS(expression, kind, part)                                                      \
  ::dygraph::testing::ReportThrows([&] { (void)(expression); }, ::dygraph::ErrorKind::kind, part, \
                                   __FILE__, __LINE__, #expression)
