// Program codec and verification without Python: limits, error texts, look-ups. The comparison with
// Python protobuf is tests/program/test_wire_bytes.py.
#include "program/wire.h"

#include <cstdio>
#include <functional>

#include "base/enforce.h"
#include "program/verify.h"

using namespace dygraph;           // NOLINT: a test
using namespace dygraph::program;  // NOLINT

namespace {

int failures = 0;

void Check(bool condition, const std::string& what) {
  if (condition) return;
  ++failures;
  std::fprintf(stderr, "FAILED: %s\n", what.c_str());
}

void Raises(ErrorKind kind, const std::string& text, const std::function<void()>& call) {
  try {
    call();
    Check(false, "no error: " + text);
  } catch (const Error& error) {
    Check(error.kind() == kind, "kind of: " + error.message());
    Check(error.message().find(text) != std::string::npos, text + " in: " + error.message());
  }
}

VarDesc Tensor(const std::string& name) {
  VarDesc var;
  var.name = name;
  var.type.type = VarType::Type::LOD_TENSOR;
  var.type.lod_tensor.emplace();
  var.type.lod_tensor->tensor.data_type = VarType::Type::FP32;
  var.type.lod_tensor->tensor.dims = {-1, 13};
  return var;
}

// relu and a while over block 1.
ProgramDesc Sample() {
  ProgramDesc program;
  program.blocks.resize(2);
  BlockDesc& global = program.blocks[0];
  global.vars.push_back(Tensor("x"));
  global.vars.push_back(Tensor("y"));
  for (int i = 0; i < 2; ++i) global.ops.emplace_back();
  global.ops[0].type = "relu";
  global.ops[0].inputs = {{"X", {"x"}, {}}};
  global.ops[0].outputs = {{"Out", {"y"}, {}}};
  global.ops[1].type = "while";
  global.ops[1].SetAttr("sub_block", BlockIndex{1});
  program.blocks[1].idx = 1;
  program.blocks[1].parent_idx = 0;
  return program;
}

std::string Bytes(const ProgramDesc& program) { return SerializeProgram(program); }

void TestLookups() {
  ProgramDesc program = Sample();
  OpDesc& op = program.blocks[0].ops[0];
  op.SetAttr("axis", 3);
  op.SetAttr("axis", 4);
  Check(op.attrs.size() == 1 && *op.FindAttr<int32_t>("axis") == 4, "SetAttr replaces");
  Check(!op.FindAttr<float>("axis") && !op.FindAttr("none"), "FindAttr of another type or name");
  Check(op.Input("X") && !op.Input("Out") && op.Output("Out")->at(0) == "y", "slots");
  Check(Mention(op.inputs, "x") && !Mention(op.inputs, "y"), "names among arguments");
  RenameArguments(&op.inputs, "x", "z");
  Check(op.Input("X")->at(0) == "z", "renamed");
  Check(program.VisibleBlocks(1) == std::vector<int32_t>{1, 0}, "inner blocks come first");
  program.blocks[0].parent_idx = 1;  // a cycle ends the search
  Check(program.VisibleBlocks(1) == std::vector<int32_t>{1, 0}, "cycle of parents");
}

void TestRoundTrip() {
  ProgramDesc program;
  program.blocks.resize(1);
  program.blocks[0].vars.push_back(Tensor("x"));
  std::string tensor = std::string("\x08\x05\x10", 3) + std::string(9, '\xff') + "\x01\x10\x0d";
  std::string type = "\x08\x07\x1a?\x0a?" + tensor;
  type[5] = static_cast<char>(tensor.size());
  type[3] = static_cast<char>(tensor.size() + 2);
  std::string var = "\x0a\x01x\x12" + std::string(1, static_cast<char>(type.size())) + type;
  std::string block = std::string("\x08\x00\x10", 3) + std::string(9, '\xff') + "\x01\x1a" +
                      std::string(1, static_cast<char>(var.size())) + var;
  std::string bytes = "\x0a" + std::string(1, static_cast<char>(block.size())) + block;
  Check(Bytes(program) == bytes, "bytes written by hand");
  Check(Bytes(ParseProgram(bytes)) == bytes, "round trip");
  Check(ToText(program.blocks[0].vars[0]) ==
            "name: \"x\"\ntype {\n  type: LOD_TENSOR\n  lod_tensor {\n    tensor {\n"
            "      data_type: FP32\n      dims: -1\n      dims: 13\n    }\n  }\n}\n",
        "text");
  std::string sample = Bytes(Sample());
  for (size_t size = 0; size < sample.size(); ++size) {
    try {
      ParseProgram(std::string_view(sample).substr(0, size));
    } catch (const Error& error) {
      Check(error.kind() == ErrorKind::Format, "truncation: " + error.message());
    }
  }
}

void TestLimits() {
  auto refuse_write = [](const std::string& text, const std::function<void(ProgramDesc&)>& edit) {
    ProgramDesc program = Sample();
    edit(program);
    Raises(ErrorKind::InvalidArgument, text, [&] { Bytes(program); });
  };
  refuse_write("ProgramDesc.blocks[0].vars[1]: the required field 'name' is empty",
               [](ProgramDesc& p) { p.blocks[0].vars[1].name.clear(); });
  refuse_write("blocks[0].vars[0].type: the required field 'type' is not set",
               [](ProgramDesc& p) { p.blocks[0].vars[0].type.type = VarType::Type::UNSET; });
  refuse_write("at most 1024 bytes, got 1025",
               [](ProgramDesc& p) { p.blocks[0].ops[0].type = std::string(1025, 'a'); });
  refuse_write("must be UTF-8", [](ProgramDesc& p) { p.blocks[0].ops[0].type = "\xff"; });
  refuse_write("at most 16 dims are allowed, got 17",
               [](ProgramDesc& p) { p.blocks[0].vars[0].type.lod_tensor->tensor.dims.resize(17); });
  refuse_write("at most 10000 blocks", [](ProgramDesc& p) { p.blocks.resize(10001); });

  auto refuse_read = [](const std::string& text, const std::string& bytes) {
    Raises(ErrorKind::Format, text, [&] { ParseProgram(bytes); });
  };
  refuse_read("at most 67108864 bytes", std::string(kMaxProgramBytes + 1, 'a'));
  std::string blocks;
  for (int i = 0; i < 10001; ++i) blocks.append("\x0a\x00", 2);
  refuse_read("at most 10000 blocks are allowed, got 10001", blocks);
  refuse_read("groups nest deeper than 32", [] {
    std::string groups;
    for (int i = 0; i < 33; ++i) groups += "\xa3\x06";
    return groups;
  }());
  refuse_read("a length of 127 bytes exceeds the 0 that are left, at byte 1", "\x0a\x7f");
  refuse_read("a number is longer than 64 bits", "\x08" + std::string(10, '\xff'));
  refuse_read("no field has the tag 0", std::string(1, '\0'));

  // A million and one empty operators: counted before any is made.
  std::string ops;
  for (int i = 0; i < 1000001; ++i) ops.append("\x22\x00", 2);
  std::string length;
  for (size_t n = ops.size(); n; n >>= 7) length += static_cast<char>(n >= 128 ? n | 128 : n);
  refuse_read("ProgramDesc.blocks[0]: at most 1000000 ops", "\x0a" + length + ops);

  // Two bytes an argument would be 16 times their size in memory.
  std::string arguments;
  while (arguments.size() < (16u << 20)) arguments.append("\x12\x00", 2);
  auto wrap = [](char tag, const std::string& body) {
    std::string text(1, tag);
    for (size_t n = body.size(); n; n >>= 7) text += static_cast<char>(n >= 128 ? n | 128 : n);
    return text + body;
  };
  refuse_read("bytes of memory", wrap('\x0a', wrap('\x22', wrap('\x0a', arguments))));
}

void TestVerify() {
  Verify(Sample());
  auto refuse = [](ErrorKind kind, const std::string& text,
                   const std::function<void(ProgramDesc&)>& edit) {
    ProgramDesc program = Sample();
    edit(program);
    Raises(kind, text, [&] { Verify(program); });
  };
  refuse(ErrorKind::Format, "at least one block", [](ProgramDesc& p) { p.blocks.clear(); });
  refuse(ErrorKind::Format, "idx must be the block's place, got 5",
         [](ProgramDesc& p) { p.blocks[1].idx = 5; });
  refuse(ErrorKind::Format, "of the global block must be -1",
         [](ProgramDesc& p) { p.blocks[0].parent_idx = 0; });
  refuse(ErrorKind::Format, "parent_idx must be a block in [0, 2), got 7",
         [](ProgramDesc& p) { p.blocks[1].parent_idx = 7; });
  refuse(ErrorKind::Format, "must lead to block 0, got a cycle",
         [](ProgramDesc& p) { p.blocks[1].parent_idx = 1; });
  refuse(ErrorKind::Format, "blocks may nest 32 deep", [](ProgramDesc& p) {
    p.blocks.resize(34);
    for (int i = 1; i < 34; ++i) p.blocks[i].idx = i, p.blocks[i].parent_idx = i - 1;
  });
  refuse(ErrorKind::AlreadyExists, "vars[2]: names in a list must differ, got 'x' also at vars[0]",
         [](ProgramDesc& p) { p.blocks[0].vars.push_back(Tensor("x")); });
  refuse(ErrorKind::OutOfRange, "'sub_block' must name a sub-block in [1, 2), got 9",
         [](ProgramDesc& p) { p.blocks[0].ops[1].SetAttr("sub_block", BlockIndex{9}); });
  refuse(ErrorKind::OutOfRange, "forward_block_idx must be -1 or another block",
         [](ProgramDesc& p) { p.blocks[1].forward_block_idx = 2; });
  refuse(ErrorKind::Format, "must have its sub-block for itself, got block 1",
         [](ProgramDesc& p) { p.blocks[0].ops[0].SetAttr("blocks", std::vector<BlockIndex>{{1}}); });
  refuse(ErrorKind::Format, "sub-blocks must not contain each other", [](ProgramDesc& p) {
    p.blocks[1].ops.Share(p.blocks[0].ops.TakePart(1));
    Items<OpDesc> first;
    first.Share(p.blocks[0].ops.TakePart(0));
    p.blocks[0].ops = first;
  });
  refuse(ErrorKind::NotFound, "blocks[0].ops[0] (relu): the input X must be declared",
         [](ProgramDesc& p) { p.blocks[0].ops[0].inputs[0].arguments = {"z"}; });
}

}  // namespace

int main() {
  TestLookups();
  TestRoundTrip();
  TestLimits();
  TestVerify();
  if (failures == 0) std::puts("wire_test: all passed");
  return failures != 0;
}
