// The length of a UTF-8 character.
#pragma once

#include <cstddef>
#include <string_view>

namespace dygraph::program {

// 1 to 4, or 0 where no well-formed character starts (overlong forms and surrogates are not).
inline size_t Utf8CharSize(std::string_view text, size_t at) {
  auto byte = [&](size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  auto tail = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  unsigned first = byte(0);
  if (first < 0x80) return at < text.size();
  if (first < 0xC2 || first > 0xF4) return 0;
  if (!tail(1)) return 0;
  if (first < 0xE0) return 2;
  if (!tail(2)) return 0;
  if (first < 0xF0) {
    bool overlong = first == 0xE0 && byte(1) < 0xA0;
    bool surrogate = first == 0xED && byte(1) >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  if (!tail(3)) return 0;
  bool overlong = first == 0xF0 && byte(1) < 0x90;
  bool too_large = first == 0xF4 && byte(1) >= 0x90;
  return overlong || too_large ? 0 : 4;
}

inline bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    size_t length = Utf8CharSize(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

}  // namespace dygraph::program
