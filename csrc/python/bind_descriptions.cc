// Programs for Python: those that are edited, block by block, and whole ones that do not change.
#include "python/bind_descriptions.h"

#include <pybind11/stl.h>

#include <optional>

#include "execute/executor.h"
#include "files/inference_model.h"
#include "program/backward.h"
#include "program/describe.h"
#include "program/exact_attrs.h"
#include "program/gradient_names.h"
#include "program/op_binding.h"
#include "program/uses.h"
#include "program/verify.h"
#include "program/wire.h"
#include "python/bind.h"
#include "python/caster.h"
#include "python/errors.h"
#include "python/symbol.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

using program::Block;
using program::BlockRef;
using program::Op;
using program::OpDesc;
using program::OpRef;
using program::Program;
using program::ProgramDesc;
using program::Var;
using program::VarRef;
using Names = std::vector<std::string>;

// Blocks ------------------------------------------------------------------------------------------

py::object FaceOrNone(Var* var) { return var ? FaceOf(*var) : py::none(); }

// The operator behind a static.Operator.
OpRef Behind(py::handle face) { return py::cast<OpRef>(face.attr("desc")); }

void Stand(const Block& block, py::handle face) {
  py::setattr(face, "block", py::handle(static_cast<PyObject*>(block.face())));
  SetFace(Behind(face).get(), face);
}

// The last operator of the block that writes the variable.
py::object WriterOf(const Block& block, const std::string& name) {
  const auto& ops = block.ops();
  auto writes = [&](const OpRef& op) { return program::Writes(op->desc(), name); };
  auto last = std::find_if(ops.rbegin(), ops.rend(), writes);
  return last == ops.rend() ? py::none() : FaceOf(**last);
}

py::list Faces(const std::vector<OpRef>& ops) {  // making a face runs Python
  py::list list;
  for (const OpRef& op : ops) list.append(FaceOf(*op));
  return list;
}

// The operators of all blocks for which that is so.
template <class F>
py::list Users(const Block& block, F&& uses) {
  std::vector<OpRef> found;
  for (const BlockRef& each : block.program()->blocks()) {
    for (const OpRef& op : each->ops()) {
      if (uses(op->desc())) found.push_back(op);
    }
  }
  return Faces(found);
}

// Who reads and writes each variable in a program as it is now, for many questions; blocks in their
// order.
class ProgramUses {
 public:
  explicit ProgramUses(const Program& program) : ops_(All(program)), uses_(Descs(ops_)) {}
  py::list Readers(const std::string& name) const { return At(uses_.ReadersOf(name)); }
  py::list Writers(const std::string& name) const { return At(uses_.WritersOf(name)); }

 private:
  static std::vector<OpRef> All(const Program& program) {
    std::vector<OpRef> ops;
    for (const BlockRef& each : program.blocks())
      ops.insert(ops.end(), each->ops().begin(), each->ops().end());
    return ops;
  }
  static std::vector<const OpDesc*> Descs(const std::vector<OpRef>& ops) {
    std::vector<const OpDesc*> descs;
    for (const OpRef& op : ops) descs.push_back(&op->desc());
    return descs;
  }
  // One that names a variable twice stands here once.
  py::list At(const std::vector<size_t>& numbers) const {
    std::vector<OpRef> found;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (i == 0 || numbers[i] != numbers[i - 1]) found.push_back(ops_[numbers[i]]);
    }
    return Faces(found);
  }

  std::vector<OpRef> ops_;
  program::Uses uses_;
};

// [(operator, number of the forward operator it comes of or -1)], {variable: its gradient}
py::tuple Backward(const Block& block, size_t count, const Names& targets, const Names& grads,
                   const std::unordered_set<std::string>& stopped, const Names& inputs,
                   const Names& with_zeros, bool only_flat) {
  program::BackwardResult result = program::MakeBackward({block, count, targets, grads, stopped,
                                                          {inputs.begin(), inputs.end()},
                                                          with_zeros, only_flat});
  program::NameCompleteGradients(block, &result);
  for (auto& [op, steps] : result.keepers) KeepSteps(*op, steps);
  std::vector<std::pair<OpRef, int>> made;
  made.reserve(result.ops.size());
  for (program::GradientBlock::Made& each : result.ops) {
    made.emplace_back(MakeRef<Op>(std::move(each.op)), each.forward);
    made.back().first->brings = std::move(each.block);
  }
  return py::make_tuple(std::move(made), std::move(result.grads));
}

void BindBlocks(py::module_& m) {
  py::class_<Block, BlockRef>(m, "Block")
      .def_property_readonly("idx", &Block::idx)
      .def_property_readonly("parent_idx", &Block::parent_idx)
      .def_property_readonly("forward_idx", [](const Block& b) { return b.forward_idx(); })
      .def_property_readonly("stands", [](const Block& b) { return b.program() != nullptr; })
      .def("set_face", [](Block& b, py::handle face) { SetFace(&b, face); })
      // Operators
      .def_property_readonly("op_count", [](const Block& b) { return b.ops().size(); })
      .def("op", [](const Block& b, size_t i) { return FaceOf(*b.ops().at(i)); })
      .def("ops", [](const Block& b) { return Faces(std::vector<OpRef>(b.ops())); })
      .def("index", [](const Block& b, const Op& op) { return b.IndexOf(op); })
      .def("insert",
           [](Block& b, size_t index, const py::object& face) {
             b.Insert(index, Behind(face));
             Stand(b, face);
           })
      .def("remove",
           [](Block& b, size_t index) {
             py::object face = FaceOf(*b.ops().at(index));
             b.Remove(index);
             return face;
           })
      .def("set_ops",
           [](Block& b, const std::vector<py::object>& faces) {
             std::vector<OpRef> ops;
             for (const py::object& face : faces) ops.push_back(Behind(face));
             b.SetOps(std::move(ops));
             for (const py::object& face : faces) Stand(b, face);
           })
      .def("writer_of", &WriterOf)
      .def("writers",
           [](const Block& b, const std::string& name) {
             return Users(b, [&](const OpDesc& op) { return program::Writes(op, name); });
           })
      .def("readers",
           [](const Block& b, const std::string& name) {
             return Users(b, [&](const OpDesc& op) { return program::Reads(op, name); });
           })
      // Variables
      .def_property_readonly("var_count", [](const Block& b) { return b.vars().size(); })
      .def("var_names",
           [](const Block& b) {
             Names names;
             for (const VarRef& var : b.vars()) names.push_back(var->name());
             return names;
           })
      .def("vars",
           [](const Block& b) {
             std::vector<VarRef> vars = b.vars();
             py::list list;
             for (const VarRef& var : vars) list.append(FaceOf(*var));
             return list;
           })
      .def("has", [](const Block& b, const std::string& name) { return b.Find(name) != nullptr; })
      .def("find", [](const Block& b, const std::string& name) { return FaceOrNone(b.Find(name)); })
      .def(
          "find_recursive",
          [](const Block& b, const std::string& name) { return FaceOrNone(b.FindRecursive(name)); })
      .def("declare",
           [](Block& b, const VarRef& var, std::string line, py::type cls) {
             b.Declare(var);
             var->made_at = std::move(line);
             return FaceOf(*var, reinterpret_cast<PyTypeObject*>(cls.ptr()));
           })
      // A variable that was taken out, with what Python knows of it.
      .def("put_var",
           [](Block& b, const py::object& face) {
             VarRef var = py::cast<VarRef>(face.attr("desc"));
             b.Declare(var);
             StandIn(face, *var);
           })
      // The variable as one of another class, before Python has looked at it.
      .def("show_as",
           [](Block& b, const std::string& name, py::type cls) {
             Var* var = b.Find(name);
             ENFORCE(var, NotFound, "block ", b.idx(), " must have the variable, got '", name, "'");
             py::object face = FaceOf(*var, reinterpret_cast<PyTypeObject*>(cls.ptr()));
             ENFORCE(py::isinstance(face, cls), PreconditionNotMet, "the variable '", name,
                     "' must be a ", py::str(cls.attr("__name__")).cast<std::string>(), ", got a ",
                     Py_TYPE(face.ptr())->tp_name);
             return face;
           })
      .def("take_back", &Block::TakeBack)
      .def("user_of", &Block::UserOf)
      .def("remove_var", &Block::RemoveVar)
      .def("forget_vars", &Block::RemoveVars)
      .def("rename", &Block::Rename)
      // (name, class, attributes) of the variables that Python knows more of than `plain` says.
      .def("shown",
           [](const Block& b, const py::type& plain) {
             py::list list;
             for (const VarRef& var : b.vars()) {
               PyObject* face = static_cast<PyObject*>(var->face());
               if (!face) continue;
               py::type cls = py::type::of(py::handle(face));
               py::object attributes = py::handle(face).attr("__dict__");
               if (cls.is(plain) && py::len(attributes) == 0) continue;
               list.append(py::make_tuple(var->name(), cls, attributes));
             }
             return list;
           })
      // Operators that are described
      .def("infer",
           [](Block& b, Op& op) {
             program::InferInto(b, OpDesc(op.desc()));
             if (program::HasExact(op.desc())) program::RoundUnlessFloat64(b, &op.Edit());
           })
      .def(
          "mark",
          [](const Block& b, Op& op, Names lines, const Op* like) {
            program::Mark(*b.program(), std::move(lines), like ? &like->desc() : nullptr,
                          &op.Edit());
          },
          py::arg("op"), py::arg("lines"), py::arg("like") = nullptr)
      .def("make_backward", &Backward)
      // Operators, each with the number of the one in the block that it comes of, or -1.
      .def("append_gradients",
           [](Block& b, const std::vector<std::pair<OpRef, int>>& made, const std::string& line) {
             for (const auto& [op, source] : made) {
               program::AppendGradient(b, op, source < 0 ? nullptr : b.ops().at(source).get(),
                                       line);
             }
           })
      .def("face", [](const Block&, Op& op) { return FaceOf(op); });
}

// Programs that are edited ------------------------------------------------------------------------

template <class Visit>
int VisitFaces(Program& program, Visit&& visit) {
  for (const BlockRef& block : program.blocks()) {
    for (const OpRef& op : block->ops()) {
      if (int stop = visit(*op)) return stop;
    }
    for (const VarRef& var : block->vars()) {
      if (int stop = visit(*var)) return stop;
    }
    if (int stop = visit(*block)) return stop;
  }
  return 0;
}

// Faces refer to the program, which owns them: only the collector can end that.
void LetCollect(PyHeapTypeObject* heap) {
  PyTypeObject* type = &heap->ht_type;
  type->tp_flags |= Py_TPFLAGS_HAVE_GC;
  type->tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!py::detail::is_holder_constructed(self)) return 0;
    return VisitFaces(py::cast<Program&>(py::handle(self)), [&](program::Faced& part) -> int {
      Py_VISIT(static_cast<PyObject*>(part.face()));
      return 0;
    });
  };
  type->tp_clear = [](PyObject* self) {
    if (!py::detail::is_holder_constructed(self)) return 0;
    std::vector<py::object> faces;  // they end when no list is walked any more
    VisitFaces(py::cast<Program&>(py::handle(self)), [&](program::Faced& part) {
      faces.push_back(py::reinterpret_steal<py::object>(static_cast<PyObject*>(part.face())));
      part.set_face(nullptr);
      return 0;
    });
    return 0;
  };
}

void BindEdited(py::module_& m) {
  m.def("last_version", &program::LastVersion);
  using program::Marks;
  py::class_<ProgramUses>(m, "Uses")
      .def("readers", &ProgramUses::Readers)
      .def("writers", &ProgramUses::Writers);
  py::class_<Program>(m, "Program", py::custom_type_setup(LetCollect))
      .def(py::init<>())
      .def(py::init([](const PyProgram& whole) { return std::make_unique<Program>(whole.desc); }))
      .def_property_readonly("version", &Program::version)
      .def("snapshot", [](Program& p) { return PyProgram{p.Snapshot()}; })
      .def("uses", [](const Program& p) { return ProgramUses(p); })
      .def_property_readonly("block_count", [](const Program& p) { return p.blocks().size(); })
      .def("block", [](const Program& p, size_t i) { return p.blocks().at(i); })
      .def("create_block",
           [](Program& p, int32_t parent, std::optional<int32_t> forward) {
             return BlockRef(&p.CreateBlock(parent, forward));
           })
      // [(as it was, the variable)] of those that are described otherwise by now.
      .def("changed_since",
           [](Program& p, const PyProgram& before) {
             py::list list;
             for (auto& [old, now] : p.ChangedSince(*before.desc))
               list.append(py::make_tuple(MakeRef<Var>(std::move(old)), FaceOf(*now)));
             return list;
           })
      .def("take_back",
           [](Program& p, uint64_t version, size_t blocks, const PyProgram& before) {
             p.TakeBack(version, blocks, *before.desc);
           })
      .def("remove_unowned_blocks", &Program::RemoveUnownedBlocks)
      // What a description does not hold: lines, and what no gradient goes through.
      .def("take_after",
           [](Program& p, const Program& other) {
             for (size_t i = 0; i < p.blocks().size(); ++i) {
               for (const VarRef& var : other.blocks().at(i)->vars()) {
                 Var* own = p.blocks()[i]->Find(var->name());
                 if (!own) continue;
                 own->made_at = var->made_at;
                 own->set_stop_gradient(var->stop_gradient());
               }
             }
           })
      .def("visible_blocks", &Program::VisibleBlocks)
      .def("declares", &Program::Declares)
      // Where calls go, and what operators carry.
      .def_property(
          "role", [](const Program& p) { return p.marks.role; },
          [](Program& p, decltype(Marks::role) value) { p.marks.role = std::move(value); })
      .def_property(
          "role_var", [](const Program& p) { return p.marks.role_var; },
          [](Program& p, decltype(Marks::role_var) value) { p.marks.role_var = std::move(value); })
      .def_property(
          "name_scope", [](const Program& p) { return p.marks.name_scope; },
          [](Program& p, std::string value) { p.marks.name_scope = std::move(value); })
      .def_property(
          "device", [](const Program& p) { return p.marks.device; },
          [](Program& p, decltype(Marks::device) value) { p.marks.device = std::move(value); })
      .def_property_readonly("current", [](const Program& p) { return p.stack.back(); })
      .def_property_readonly("depth", [](const Program& p) { return p.stack.size(); })
      .def("enter_block", [](Program& p, int32_t idx) { p.stack.push_back(idx); })
      .def("leave_block", [](Program& p) { p.stack.pop_back(); })
      .def("enter_layer",
           [](Program& p, std::string name) { p.layers.push_back({std::move(name)}); })
      .def("leave_layer", [](Program& p) { p.layers.pop_back(); })
      .def_property_readonly("layer_name", [](const Program& p) -> py::object {
        return p.layers.empty() ? py::none() : py::object(py::str(p.layers.back().name));
      });
}

// Whole programs ----------------------------------------------------------------------------------

void BindWhole(py::module_& m) {
  py::class_<PyProgram>(m, "ProgramDesc")
      .def("to_bytes",
           [](const PyProgram& p) { return py::bytes(program::SerializeProgram(*p.desc)); })
      .def("to_text", [](const PyProgram& p) { return program::ToText(*p.desc); })
      .def("block_to_text",
           [](const PyProgram& p, size_t i) { return program::ToText(p.desc->blocks.at(i)); })
      .def("verify",
           [](const PyProgram& p) {
             program::Verify(*p.desc);
             program::CheckOperators(*p.desc);
           })
      .def_property_readonly("num_blocks", [](const PyProgram& p) { return p.desc->blocks.size(); })
      .def("check_size",
           [](const PyProgram& p, uint64_t bytes) { program::CheckModelSize(*p.desc, bytes); })
      .def_property_readonly("feed_names",
                             [](const PyProgram& p) { return program::FeedNames(*p.desc); })
      .def_property_readonly("fetch_names",
                             [](const PyProgram& p) { return program::FetchNames(*p.desc); });
  // A program of one block with these and nothing more.
  m.def("parts_to_bytes", [](const std::vector<VarRef>& vars, const std::vector<OpRef>& ops) {
    ProgramDesc alone;
    program::BlockDesc& block = alone.blocks.emplace_back();
    for (const VarRef& var : vars) block.vars.Share(var->part());
    for (const OpRef& op : ops) block.ops.Share(op->part());
    return py::bytes(program::SerializeProgram(alone));
  });
  m.def("program_from_bytes", [](const py::bytes& bytes) {
    return PyProgram{
        std::make_shared<const ProgramDesc>(program::ParseProgram(std::string_view(bytes)))};
  });
}

}  // namespace

void BindDescriptions(py::module_& m) {
  BindSymbols(m);
  BindParts(m);
  BindBlocks(m);
  BindEdited(m);
  BindWhole(m);
  BindPasses(m);
}

}  // namespace dygraph::python
