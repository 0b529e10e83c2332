// ProgramDesc to protobuf bytes and back, and to protobuf text. The bytes are those Python protobuf
// writes for framework.proto: fields by number, unknown ones last.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "program/desc.h"

namespace dygraph::program {

constexpr size_t kMaxProgramBytes = size_t{64} << 20;
constexpr size_t kMaxVars = 1000000;  // in all blocks together
constexpr size_t kMaxOps = 1000000;   // in all blocks together
constexpr size_t kMaxBlocks = 10000;
constexpr size_t kMaxProgramRank = 16;
constexpr size_t kMaxNameBytes = 1024;
constexpr size_t kMaxNesting = 32;  // of blocks, and of the groups in unknown fields

// Trusts nothing: any bytes give a program or an Error of kind Format, which says where, such as
//   ProgramDesc.blocks[0].ops[3].attrs[1]: the required field 'name' is missing, at byte 57
// Memory stays below 4 times the size of the bytes plus 64 MiB. The result is well formed, not yet
// meaningful: Verify (verify.h) looks at names and blocks.
ProgramDesc ParseProgram(std::string_view bytes);

// InvalidArgument if a required field is not set or a limit is exceeded, so that whatever is
// written can be read.
std::string SerializeProgram(const ProgramDesc& program);

// The same of the description in front of each tensor of a stream.
VarType::TensorDesc ParseTensorDesc(std::string_view bytes);
std::string SerializeTensorDesc(const VarType::TensorDesc& tensor);

// As str(message) of Python protobuf. Always valid UTF-8: other bytes are escaped.
std::string ToText(const ProgramDesc& program);
std::string ToText(const BlockDesc& block);
std::string ToText(const OpDesc& op);
std::string ToText(const VarDesc& var);

}  // namespace dygraph::program
