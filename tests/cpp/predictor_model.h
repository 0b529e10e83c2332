// The model of predictor_test.cc, made by the core.
#pragma once

#include <string>

#include "files/inference_model.h"
#include "program/op_binding.h"

namespace dygraph::program {

inline VarDesc Named(const char* name, std::vector<int64_t> dims, bool persistable) {
  VarDesc var;
  var.name = name;
  var.type.type = VarType::Type::LOD_TENSOR;
  var.type.lod_tensor.emplace();
  var.type.lod_tensor->tensor.data_type = VarType::Type::FP32;
  var.type.lod_tensor->tensor.dims = std::move(dims);
  var.persistable = persistable;
  return var;
}

inline VarDesc Holder(const char* name, VarType::Type type) {
  VarDesc var;
  var.name = name;
  var.type.type = type;
  var.persistable = true;
  return var;
}

// relu(x w) v, saved in a folder.
inline void SavePredictorModel(const std::string& folder, int in, int hidden, int out) {
  ProgramDesc program;
  program.blocks.emplace_back();
  BlockDesc& block = program.blocks[0];
  block.idx = 0;
  block.parent_idx = -1;
  for (VarDesc var :
       {Holder("feed", VarType::Type::FEED_MINIBATCH), Holder("fetch", VarType::Type::FETCH_LIST),
        Named("x", {-1, in}, false), Named("w", {in, hidden}, true),
        Named("v", {hidden, out}, true), Named("a", {-1, hidden}, false),
        Named("b", {-1, hidden}, false), Named("y", {-1, out}, false)})
    block.vars.push_back(std::move(var));
  for (OpDesc op : {MakeOp("feed", {{"X", {"feed"}, {}}}, {{"Out", {"x"}, {}}}),
                    MakeOp("matmul_v2", {{"X", {"x"}, {}}, {"Y", {"w"}, {}}}, {{"Out", {"a"}, {}}}),
                    MakeOp("relu", {{"X", {"a"}, {}}}, {{"Out", {"b"}, {}}}),
                    MakeOp("matmul_v2", {{"X", {"b"}, {}}, {"Y", {"v"}, {}}}, {{"Out", {"y"}, {}}}),
                    MakeOp("fetch", {{"X", {"y"}, {}}}, {{"Out", {"fetch"}, {}}})})
    block.ops.push_back(std::move(op));
  std::shared_ptr<Scope> scope = Scope::Make();
  for (auto [name, rows, columns] : {std::tuple("w", in, hidden), {"v", hidden, out}}) {
    dygraph::Tensor t(dygraph::Dims{rows, columns}, dygraph::DType::kFloat32);
    for (int64_t i = 0; i < t.numel(); ++i)
      t.mutable_data<float>()[i] = static_cast<float>(i * 37 % 101) / 101 - 0.5f;
    scope->Var(name).Set(dygraph::Value(std::move(t)));
  }
  SaveInferenceModel(folder, program, *scope);
}

}  // namespace dygraph::program
