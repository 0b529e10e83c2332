// Protobuf text of a program, character for character what str(message) gives in Python.
#include <cstdio>
#include <cstdlib>

#include "program/exact_attrs.h"
#include "program/open_attrs.h"
#include "program/schema.h"
#include "program/utf8.h"
#include "program/wire.h"

namespace dygraph::program {
namespace {

class TextPrinter {
 public:
  template <class M>
  void Message(const M& m) {
    Fields(m, [&](const Field& field, const auto& member) { Member(field, member); });
  }
  std::string Take() { return std::move(text_); }

 private:
  template <class T>
  void Member(const Field& field, const T& member) {
    if constexpr (kIsRepeated<T>) {
      for (const typename T::value_type& element : member) Member(field, element);
    } else if constexpr (kIsOptional<T>) {
      if (member) Member(field, *member);
    } else if constexpr (kIsMessage<T>) {
      text_.append(indent_, ' ').append(field.name).append(" {\n");
      indent_ += 2;
      Message(member);
      indent_ -= 2;
      text_.append(indent_, ' ').append("}\n");
    } else {
      text_.append(indent_, ' ').append(field.name).append(": ");
      Value(member);
      text_ += '\n';
    }
  }

  void Value(bool value) { text_ += value ? "true" : "false"; }
  void Value(int32_t value) { text_ += std::to_string(value); }
  void Value(BlockIndex value) { Value(value.index); }
  void Value(int64_t value) { text_ += std::to_string(value); }

  // The shorter of two numbers of digits that gives the same bits back.
  void Value(float value) {
    Decimal(value, 6, 9, [](const char* digits) { return std::strtof(digits, nullptr); });
  }
  void Value(double value) {
    Decimal(value, 15, 17, [](const char* digits) { return std::strtod(digits, nullptr); });
  }
  template <class T, class Parse>
  void Decimal(T value, int few, int all, Parse parse) {
    char digits[32];
    if (value != value) {
      text_ += "nan";
      return;
    }
    std::snprintf(digits, sizeof(digits), "%.*g", few, value);
    if (parse(digits) != value) std::snprintf(digits, sizeof(digits), "%.*g", all, value);
    for (char* c = digits; *c; ++c) {
      if (*c == ',') *c = '.';  // some locales
    }
    text_ += digits;
  }

  void Value(const std::string& value) {
    text_ += '"';
    for (size_t i = 0; i < value.size();) {
      size_t length = Utf8CharSize(value, i);
      unsigned char c = value[i];
      if (length > 1) {
        text_.append(value, i, length);
        i += length;
        continue;
      }
      ++i;
      if (const char* escape = Escape(c)) {
        text_ += escape;
      } else if (length == 0 || c < 0x20 || c == 0x7f) {
        char octal[8];
        std::snprintf(octal, sizeof(octal), "\\%03o", c);
        text_ += octal;
      } else {
        text_ += static_cast<char>(c);
      }
    }
    text_ += '"';
  }

  template <class Enum>
  std::enable_if_t<std::is_enum_v<Enum>> Value(Enum value) {
    const char* name = EnumName(value);
    text_ += name ? name : std::to_string(static_cast<int32_t>(value));
  }

  static const char* Escape(unsigned char c) {
    switch (c) {
      case '\n': return "\\n";
      case '\r': return "\\r";
      case '\t': return "\\t";
      case '"': return "\\\"";
      case '\'': return "\\'";
      case '\\': return "\\\\";
    }
    return nullptr;
  }

  std::string text_;
  size_t indent_ = 0;
};

template <class M>
std::string Print(const M& message) {
  TextPrinter printer;
  printer.Message(message);
  return printer.Take();
}

}  // namespace

std::string ToText(const ProgramDesc& program) { return Print(SplitExact(InputsToNames(program))); }
std::string ToText(const BlockDesc& block) { return Print(SplitExact(InputsToNames(block))); }
std::string ToText(const OpDesc& op) { return Print(SplitExact(InputsToNames(op))); }
std::string ToText(const VarDesc& var) { return Print(var); }

}  // namespace dygraph::program
