// A directory that holds a program and its weights, as Fluid's save_inference_model lays it out:
//
//   __model__    ProgramDesc bytes, after one field (number 1000) that other readers skip: sizes
//   and CRC-32 of both files
//   __params__   the persistable variables by name, each as Fluid's LoDTensor stream
//
// or both under other names. They are replaced together (file_set.h), so that a process killed
// anywhere leaves the old model or the new one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "files/model_files.h"
#include "program/desc.h"
#include "program/scope.h"

namespace dygraph::program {

struct ModelNames {
  std::string model = "__model__", weights = "__params__";
};

// The weights are the persistable variables of block 0, taken from `scope` (PreconditionNotMet for
// one without a value). Lines of Python (op_callstack) are left out, so a model has no paths of the
// machine that made it.
void SaveInferenceModel(const std::string& dirname, const ProgramDesc& program, const Scope& scope,
                        const ModelNames& names = {});

// Everything is checked before anything is put into `scope`: FileNotFound for a missing file,
// Format for one that is damaged, does not fit the program or is a symbolic link, and what Verify
// and CheckOperators throw.
//
// A model whose variables and operators, as the objects that Python makes of them, would take more
// than 4 times the `bytes` of its files and 64 MiB is refused with Format.
void CheckModelSize(const ProgramDesc& program, uint64_t bytes);
ProgramDesc LoadInferenceModel(const std::string& dirname, Scope* scope,
                               const ModelNames& names = {});
// The same from the bytes of both files. `weights` null: the model has none.
ProgramDesc LoadInferenceModel(FileReader* model, FileReader* weights, Scope* scope);

// What forms of models share ---------------------------------------------------------------------

// A program that has passed Verify and CheckOperators and whose feeds and fetches are lists; `path`
// names its bytes in messages. `file_bytes` is what CheckModelSize counts.
ProgramDesc ParseModel(const std::string& bytes, const std::string& path, uint64_t file_bytes);
// Persistable tensors of block 0, sorted by name: the weights.
std::vector<const VarDesc*> WeightVars(const ProgramDesc& program);
// Format unless the weight is a tensor of an element type of ours.
void CheckWeight(const VarDesc& var);
// Their values, checked to be what the program declares.
std::vector<Tensor> WeightsIn(const Scope& scope, const std::vector<const VarDesc*>& vars);
ProgramDesc WithoutLines(const ProgramDesc& program);

}  // namespace dygraph::program
