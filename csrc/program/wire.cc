#include "program/wire.h"

#include <algorithm>
#include <cstring>

#include "base/enforce.h"
#include "program/exact_attrs.h"
#include "program/open_attrs.h"
#include "program/schema.h"
#include "program/utf8.h"

namespace dygraph::program {
namespace {

// Where reading or writing stands, as a chain on the stack: made for nothing, printed on errors.
struct Path {
  const Path* parent;
  const char* name;
  ptrdiff_t index;  // -1: not an element of a list

  std::string Text() const {
    std::string text = parent ? parent->Text() + "." + name : name;
    if (index >= 0) text += "[" + std::to_string(index) + "]";
    return text;
  }
};

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// What reading and writing check alike. `fail` throws; it takes the parts of a message.
class LimitChecker {
 public:
  template <class Fail>
  void CheckName(const Field& field, bool required, const std::string& value, Fail&& fail) {
    if (field.limit != Limit::Name) return;
    if (required && value.empty()) fail("the required field '", field.name, "' is empty");
    if (value.size() > kMaxNameBytes) {
      fail("'", field.name, "' may have at most ", kMaxNameBytes, " bytes, got ", value.size());
    }
    if (!IsUtf8(value)) fail("'", field.name, "' must be UTF-8");
  }

  // `more` elements join a list that has `size`.
  template <class Fail>
  void CheckCount(const Field& field, size_t size, size_t more, Fail&& fail) {
    switch (field.limit) {
      case Limit::None:
      case Limit::Name: return;
      case Limit::Rank: return CheckAtMost(field, size + more, kMaxProgramRank, fail);
      case Limit::Blocks: return CheckAtMost(field, size + more, kMaxBlocks, fail);
      case Limit::Vars: return CheckAtMost(field, vars_ += more, kMaxVars, fail);
      case Limit::Ops: return CheckAtMost(field, ops_ += more, kMaxOps, fail);
    }
  }

 private:
  template <class Fail>
  void CheckAtMost(const Field& field, size_t count, size_t most, Fail& fail) {
    if (count > most) fail("at most ", most, " ", field.name, " are allowed, got ", count);
  }

  size_t vars_ = 0;
  size_t ops_ = 0;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes)
      : begin_(Bytes(bytes.data())),
        end_(begin_ + bytes.size()),
        budget_(4 * bytes.size() + (size_t{64} << 20)) {}

  template <class M>
  M Read(const char* name) {
    M message;
    Message(message, {begin_, end_}, Path{nullptr, name, -1});
    return message;
  }

 private:
  struct Cursor {
    const uint8_t* at;
    const uint8_t* end;
    size_t left() const { return end - at; }
  };
  struct TagValue {
    uint32_t number;
    uint32_t wire;
  };
  // What a message holds, known before any of it is read, so that lists get their exact size.
  struct Contents {
    uint32_t values[kMaxFieldNumber + 1] = {};      // occurrences, not length-delimited
    uint32_t pieces[kMaxFieldNumber + 1] = {};      // length-delimited occurrences
    uint64_t last_value[kMaxFieldNumber + 1] = {};  // of varints
  };

  static const uint8_t* Bytes(const char* p) { return reinterpret_cast<const uint8_t*>(p); }

  template <class... Parts>
  [[noreturn]] void Fail(const Path& path, const uint8_t* at, const Parts&... parts) const {
    THROW(Format, "damaged program, ", path.Text(), ": ", parts..., ", at byte ", at - begin_);
  }

  // Counts what is about to be allocated, with malloc's own share.
  void Charge(size_t bytes, const Path& path, const uint8_t* at) {
    used_ += bytes + 16;
    if (used_ > budget_) {
      Fail(path, at, "the program would take more than ", budget_, " bytes of memory");
    }
  }

  uint64_t Varint(Cursor& in, const Path& path) const {
    const uint8_t* start = in.at;
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (in.at == in.end) Fail(path, start, "a number is cut off");
      uint64_t byte = *in.at++;
      if (shift == 63 && byte > 1) break;
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    Fail(path, start, "a number is longer than 64 bits");
  }

  TagValue Tag(Cursor& in, const Path& path) const {
    const uint8_t* start = in.at;
    uint64_t tag = Varint(in, path);
    if (tag > UINT32_MAX || tag < 8) Fail(path, start, "no field has the tag ", tag);
    return {static_cast<uint32_t>(tag) >> 3, static_cast<uint32_t>(tag) & 7};
  }

  Cursor Piece(Cursor& in, const Path& path) const {
    const uint8_t* start = in.at;
    uint64_t size = Varint(in, path);
    if (size > in.left()) {
      Fail(path, start, "a length of ", size, " bytes exceeds the ", in.left(), " that are left");
    }
    in.at += size;
    return {in.at - size, in.at};
  }

  // Passes over one value; for a varint returns it.
  uint64_t Skip(Cursor& in, TagValue tag, const Path& path) const {
    uint32_t open_groups[kMaxNesting];
    size_t depth = 0;
    for (;;) {
      const uint8_t* start = in.at;
      uint64_t value = 0;
      size_t fixed = tag.wire == kFixed64 ? 8 : tag.wire == kFixed32 ? 4 : 0;
      switch (tag.wire) {
        case kVarint: value = Varint(in, path); break;
        case kBytes: Piece(in, path); break;
        case kFixed32:
        case kFixed64:
          if (in.left() < fixed) Fail(path, start, "a number of ", fixed, " bytes is cut off");
          in.at += fixed;
          break;
        case kGroup:
          if (depth == kMaxNesting) Fail(path, start, "groups nest deeper than ", kMaxNesting);
          open_groups[depth++] = tag.number;
          break;
        case kEndGroup:
          if (depth == 0 || open_groups[--depth] != tag.number) {
            Fail(path, start, "the end of a group ", tag.number, " that was not open");
          }
          break;
        default: Fail(path, start, "no value has the wire type ", tag.wire);
      }
      if (depth == 0) return value;
      tag = Tag(in, path);
    }
  }

  Contents Scan(Cursor in, const Path& path) const {
    Contents contents;
    while (in.at < in.end) {
      TagValue tag = Tag(in, path);
      uint64_t value = Skip(in, tag, path);
      if (tag.number > kMaxFieldNumber) continue;
      ++(tag.wire == kBytes ? contents.pieces : contents.values)[tag.number];
      if (tag.wire == kVarint) contents.last_value[tag.number] = value;
    }
    return contents;
  }

  template <class M>
  void Message(M& message, Cursor in, const Path& path) {
    Contents contents = Scan(in, path);
    if constexpr (std::is_same_v<M, OpDesc::Attr>) ChooseValue(message, contents, in, path);
    Fields(message, [&](const Field& field, auto& member) {
      using T = std::decay_t<decltype(member)>;
      if constexpr (kIsRepeated<T>) {
        bool pieces = kWireOf<typename T::value_type> == kBytes;
        const auto& counts = pieces ? contents.pieces : contents.values;
        Grow(field, member, counts[field.number], in.at, path);
      }
    });
    uint32_t seen = 0;
    while (in.at < in.end) {
      const uint8_t* start = in.at;
      TagValue tag = Tag(in, path);
      bool known = false;
      Fields(message, [&](const Field& field, auto& member) {
        if (static_cast<uint32_t>(field.number) != tag.number) return;
        known = Member(field, member, tag.wire, in, path);
      });
      if (known) {
        seen |= 1u << tag.number;
      } else {
        Skip(in, tag, path);
        KeepUnknown(message.unknown, start, in.at, path);
      }
    }
    Fields(message, [&](const Field& field, auto& member) {
      if (kIsRequired<std::decay_t<decltype(member)>> && !(seen >> field.number & 1)) {
        Fail(path, in.at, "the required field '", field.name, "' is missing");
      }
    });
  }

  // False if a field of this wire type is not the one the schema means: it is kept as unknown.
  template <class T>
  bool Member(const Field& field, T& member, uint32_t wire, Cursor& in, const Path& path) {
    if constexpr (kIsRepeated<T>) {
      return Element(field, member, wire, in, path);
    } else if constexpr (kIsOptional<T>) {
      using Value = std::decay_t<decltype(*member)>;
      if (wire != kWireOf<Value>) return false;
      if (!member) {
        if constexpr (kIs<T, Boxed>) Charge(sizeof(Value), path, in.at);
        member.emplace();
      }
      return Member(field, *member, wire, in, path);
    } else {
      if (wire != kWireOf<T>) return false;
      const uint8_t* start = in.at;
      Path inner{&path, field.name, -1};
      Value(field, member, in, inner);
      if constexpr (std::is_same_v<T, std::string>) CheckName(field, true, member, start, path);
      return true;
    }
  }

  template <class List>
  bool Element(const Field& field, List& list, uint32_t wire, Cursor& in, const Path& path) {
    using T = typename List::value_type;
    Path inner{&path, field.name, static_cast<ptrdiff_t>(list.size())};
    const uint8_t* start = in.at;
    if (wire == kWireOf<T>) {
      if constexpr (kWireOf<T> == kBytes) {
        Value(field, list.emplace_back(), in, inner);
        if constexpr (std::is_same_v<T, std::string>) {
          CheckName(field, false, list.back(), start, inner);
        }
      } else {
        T value{};
        Value(field, value, in, inner);
        list.push_back(value);
      }
      return true;
    }
    if constexpr (kWireOf<T> != kBytes) {
      if (wire != kBytes) return false;
      Cursor packed = Piece(in, inner);
      size_t count = packed.left() / 4;
      if constexpr (kWireOf<T> == kFixed64) count = packed.left() / 8;
      if constexpr (kWireOf<T> == kVarint) {
        count = 0;
        for (const uint8_t* p = packed.at; p < packed.end; ++p) count += *p < 0x80;
      }
      Grow(field, list, count, start, path);
      while (packed.at < packed.end) {
        T value{};
        Value(field, value, packed, inner);
        list.push_back(value);
      }
      return true;
    }
    return false;
  }

  template <class T>
  void Value(const Field& field, T& value, Cursor& in, const Path& path) {
    const uint8_t* start = in.at;
    if constexpr (kIsMessage<T>) {
      Message(value, Piece(in, path), path);
    } else if constexpr (std::is_same_v<T, std::string>) {
      Cursor piece = Piece(in, path);
      if (field.limit == Limit::Name && piece.left() > kMaxNameBytes) {
        Fail(path, start, "a name may have at most ", kMaxNameBytes, " bytes, got ", piece.left());
      }
      if (piece.left() > kInlineString) Charge(piece.left() + 1, path, start);
      value.assign(reinterpret_cast<const char*>(piece.at), piece.left());
    } else if constexpr (std::is_floating_point_v<T>) {
      if (in.left() < sizeof(T)) Fail(path, start, "a number of ", sizeof(T), " bytes is cut off");
      BitsOf<T> bits = 0;
      for (size_t i = 0; i < sizeof(T); ++i) bits |= BitsOf<T>{in.at[i]} << 8 * i;
      std::memcpy(&value, &bits, sizeof(T));
      in.at += sizeof(T);
    } else if constexpr (std::is_enum_v<T>) {
      auto number = static_cast<int32_t>(Varint(in, path));
      value = static_cast<T>(number);
      if (!EnumName(value)) Fail(path, start, "the number ", number, " has no meaning here");
    } else if constexpr (std::is_same_v<T, bool>) {
      value = Varint(in, path) != 0;
    } else if constexpr (std::is_same_v<T, BlockIndex>) {
      value.index = static_cast<int32_t>(Varint(in, path));
    } else {
      value = static_cast<T>(Varint(in, path));
    }
  }

  // The type decides which field holds the value, wherever in the message the type stands.
  void ChooseValue(OpDesc::Attr& attr, const Contents& contents, const Cursor& in,
                   const Path& path) {
    constexpr int kTypeField = 2;
    if (contents.values[kTypeField] == 0) return;  // reported as missing in the end
    auto type = static_cast<int32_t>(contents.last_value[kTypeField]);
    if (!EnumName(static_cast<AttrType>(type))) {
      Fail(path, in.at, "no attribute has the type ", type);
    }
    attr.value = EmptyValue(static_cast<AttrType>(type));
  }

  // Room for `more` elements: exactly, unless a list arrives in many parts.
  template <class List>
  void Grow(const Field& field, List& list, size_t more, const uint8_t* at, const Path& path) {
    using T = typename List::value_type;
    constexpr size_t kBytes = kIs<List, Items> ? sizeof(Part<T>) + 3 * sizeof(void*) : sizeof(T);
    if (more == 0) return;
    limits_.CheckCount(field, list.size(), more,
                       [&](const auto&... parts) { Fail(path, at, parts...); });
    size_t old_capacity = list.capacity();
    if (list.size() + more <= old_capacity) return;
    size_t capacity = std::max(list.size() + more, 2 * old_capacity);
    Charge(capacity * kBytes, path, at);
    list.reserve(capacity);
    used_ -= old_capacity * kBytes;
  }

  void KeepUnknown(Boxed<std::string>& unknown, const uint8_t* start, const uint8_t* end,
                   const Path& path) {
    size_t size = end - start;
    if (!unknown) {
      Charge(sizeof(std::string) + kInlineString, path, start);
      unknown.emplace();
    }
    Charge(2 * size, path, start);  // the string doubles
    unknown->append(reinterpret_cast<const char*>(start), size);
  }

  void CheckName(const Field& field, bool required, const std::string& name, const uint8_t* at,
                 const Path& path) {
    limits_.CheckName(field, required, name,
                      [&](const auto&... parts) { Fail(path, at, parts...); });
  }

  static constexpr size_t kInlineString = 15;  // longer ones are on the heap

  const uint8_t* begin_;
  const uint8_t* end_;
  const size_t budget_;
  size_t used_ = 0;
  LimitChecker limits_;
};

class Writer {
 public:
  template <class M>
  std::string Write(const M& message, const char* name) {
    Message(message, Path{nullptr, name, -1});
    ENFORCE(out_.size() <= kMaxProgramBytes, InvalidArgument, "ProgramDesc: a program has at most ",
            kMaxProgramBytes, " bytes, got ", out_.size());
    return std::move(out_);
  }

 private:
  template <class... Parts>
  [[noreturn]] static void Fail(const Path& path, const Parts&... parts) {
    THROW(InvalidArgument, "the program cannot be written, ", path.Text(), ": ", parts...);
  }

  template <class M>
  void Message(const M& message, const Path& path) {
    Fields(message, [&](const Field& field, const auto& member) { Member(field, member, path); });
    if (message.unknown) out_ += *message.unknown;
  }

  template <class T>
  void Member(const Field& field, const T& member, const Path& path) {
    auto fail = [&](const auto&... parts) { Fail(path, parts...); };
    if constexpr (kIsRepeated<T>) {
      limits_.CheckCount(field, 0, member.size(), fail);
      ptrdiff_t index = 0;
      for (const typename T::value_type& element : member) {
        if constexpr (std::is_same_v<typename T::value_type, std::string>) {
          limits_.CheckName(field, false, element, fail);
        }
        Value(field, element, Path{&path, field.name, index++});
      }
    } else if constexpr (kIsOptional<T>) {
      if (member) Value(field, *member, Path{&path, field.name, -1});
    } else {
      if constexpr (std::is_same_v<T, std::string>) limits_.CheckName(field, true, member, fail);
      if constexpr (std::is_enum_v<T>) {
        if (!EnumName(member)) fail("the required field '", field.name, "' is not set");
      }
      Value(field, member, Path{&path, field.name, -1});
    }
  }

  template <class T>
  void Value(const Field& field, const T& value, const Path& path) {
    Varint(static_cast<uint64_t>(field.number) << 3 | kWireOf<T>);
    if constexpr (kIsMessage<T>) {
      size_t start = out_.size();
      Message(value, path);
      InsertLength(start);
    } else if constexpr (std::is_same_v<T, std::string>) {
      Varint(value.size());
      out_ += value;
    } else if constexpr (std::is_floating_point_v<T>) {
      BitsOf<T> bits;
      std::memcpy(&bits, &value, sizeof(T));
      for (size_t i = 0; i < sizeof(T); ++i) out_ += static_cast<char>(bits >> 8 * i);
    } else if constexpr (std::is_enum_v<T>) {
      if (!EnumName(value)) Fail(path, "the number ", static_cast<int32_t>(value), " has no name");
      Varint(static_cast<uint64_t>(value));
    } else if constexpr (std::is_same_v<T, BlockIndex>) {
      Varint(static_cast<uint64_t>(static_cast<int64_t>(value.index)));
    } else {
      Varint(static_cast<uint64_t>(static_cast<int64_t>(value)));  // negative: ten bytes
    }
  }

  static size_t Encode(uint64_t value, char* bytes) {
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<char>(value | 0x80);
    bytes[size++] = static_cast<char>(value);
    return size;
  }
  void Varint(uint64_t value) {
    char bytes[10];
    out_.append(bytes, Encode(value, bytes));
  }
  // Moves the body once per level; levels are few.
  void InsertLength(size_t start) {
    char bytes[10];
    size_t size = Encode(out_.size() - start, bytes);
    out_.insert(start, bytes, size);
  }

  std::string out_;
  LimitChecker limits_;
};

}  // namespace

ProgramDesc ParseProgram(std::string_view bytes) {
  ENFORCE(bytes.size() <= kMaxProgramBytes, Format, "ProgramDesc: a program has at most ",
          kMaxProgramBytes, " bytes, got ", bytes.size());
  ProgramDesc program = Reader(bytes).Read<ProgramDesc>("ProgramDesc");
  NamesToInputs(&program);
  JoinExact(&program);
  return program;
}

std::string SerializeProgram(const ProgramDesc& program) {
  return Writer().Write(SplitExact(InputsToNames(program)), "ProgramDesc");
}

VarType::TensorDesc ParseTensorDesc(std::string_view bytes) {
  return Reader(bytes).Read<VarType::TensorDesc>("TensorDesc");
}

std::string SerializeTensorDesc(const VarType::TensorDesc& tensor) {
  return Writer().Write(tensor, "TensorDesc");
}

}  // namespace dygraph::program
