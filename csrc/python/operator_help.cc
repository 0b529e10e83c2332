#include "python/operator_help.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>

#include "op/open_attr.h"

namespace dygraph::python {

std::string Spelling(const std::string& name) {
  for (const char* word : {"lambda", "in", "is", "from", "as", "if", "else", "for", "with", "def"})
    if (name == word) return name + "_";
  return name;
}

// A slot that is one argument with an attribute stands where the attribute does.
std::vector<int> PositionalOrder(const OpInfo& op) {
  std::vector<int> order, optional;
  int inputs = static_cast<int>(op.inputs.size());
  for (int i = 0; i < inputs; ++i) (op.inputs[i].dispensable() ? optional : order).push_back(i);
  for (size_t a = 0; a < op.attr_table.fields.size(); ++a)
    order.push_back(inputs + static_cast<int>(a));
  order.insert(order.end(), optional.begin(), optional.end());
  return order;
}

namespace {

bool InWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// A default as inspect.signature reads it: 1.0 for a float, a number too large for infinity.
std::string Literal(const AttrValue& value) {
  const AttrType type = TypeOf(value);
  if (type != AttrType::kFloat && type != AttrType::kFloat64) return ToString(value);
  const double number = NumberOf(value);
  if (std::isinf(number)) return number < 0 ? "-1e999" : "1e999";
  std::string text = ToString(value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string DefaultOf(const OpInfo& op, int attr) {
  AttrValue v = op.attr_table.Get(op.default_attrs->data(), attr);
  if (!op.attr_table.fields[attr].is_dtype) return Literal(v);
  int number = std::get<int32_t>(v);
  if (number < 0) return "None";
  return std::string("'") + Name(DTypeFromWire(number)) + "'";
}

// "a list of ints" of messages is "list of int" here, "a string" is "str".
std::string TypeOfArgument(const AttrField& f) {
  if (f.is_dtype) return "dtype";
  std::string text = Name(f.type);
  text.erase(0, text.find(' ') + 1);
  if (text.back() == 's') text.pop_back();
  const size_t at = text.find("string");
  return at == std::string::npos ? text : text.replace(at, 6, "str");
}

// The texts of the registry speak of slots: X, Out, Out@GRAD. Python's user knows x, out, out.grad.
class Editor {
 public:
  explicit Editor(const OpInfo& op) : op_(op) {}

  std::string WithArguments(const std::string& text) const {
    std::string result;
    for (size_t i = 0; i < text.size();) {
      size_t end = i;
      while (end < text.size() && InWord(text[end])) ++end;
      if (end == i) {
        result += text[i++];
        continue;
      }
      const std::string word = text.substr(i, end - i);
      const SlotInfo* slot = FindSlot([&](const SlotInfo& s) { return s.name == word; });
      result += slot ? slot->python_name : word;
      i = end;
      if (slot && text.compare(i, 5, "@GRAD") == 0) {
        result += ".grad";
        i += 5;
      }
    }
    return result;
  }

  // With a capital, unless an argument stands first, and a full stop.
  std::string Sentence(std::string text) const {
    const size_t end = std::find_if_not(text.begin(), text.end(), InWord) - text.begin();
    if (!IsArgument(text.substr(0, end)))
      text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    return text + (std::string(".!?").find(text.back()) == std::string::npos ? "." : "");
  }

  // "x : Variable, any shape": what is short stands in that line, as does the shape of what is
  // long; the rest is a sentence below.
  void DescribeSlot(const SlotInfo& s, std::ostream& out) const {
    std::string help = WithArguments(s.help), shape;
    constexpr size_t kShort = 48;
    if (help.size() <= kShort && help.find(';') == std::string::npos) {
      shape.swap(help);
    } else if (size_t end = EndOfShape(help)) {
      shape = help.substr(0, end);
      help.erase(0, std::min(help.size(), end + 2));
    }
    out << s.python_name << " : " << (s.duplicable() ? "list of Variable" : "Variable")
        << (shape.empty() ? "" : ", ") << shape << (s.dispensable() ? ", optional" : "") << "\n";
    if (!help.empty()) WriteLines(Sentence(help), "    ", out);
  }

  static void WriteLines(const std::string& text, const char* indent, std::ostream& out) {
    constexpr size_t kColumns = 88;
    if (text.find('\n') != std::string::npos) {  // an author's own lines
      out << indent << text << "\n";
      return;
    }
    std::istringstream words(text);
    std::string word, line = indent;
    for (bool first = true; words >> word; first = false) {
      if (!first && line.size() + 1 + word.size() > kColumns) {
        out << line << "\n";
        line = indent;
        first = true;
      }
      line += (first ? "" : " ") + word;
    }
    out << line << "\n";
  }

 private:
  template <class Is>
  const SlotInfo* FindSlot(const Is& is) const {
    for (const auto* slots : {&op_.inputs, &op_.outputs}) {
      auto at = std::find_if(slots->begin(), slots->end(), is);
      if (at != slots->end()) return &*at;
    }
    return nullptr;
  }
  bool IsArgument(const std::string& word) const {
    return op_.attr_table.Find(word) >= 0 ||
           FindSlot([&](const SlotInfo& s) { return s.python_name == word; });
  }
  // Where the shape ends that a text begins with, "[N, C]" or "any shape"; 0: it begins with none.
  static size_t EndOfShape(const std::string& text) {
    size_t end = 0;
    if (text[0] == '[') end = text.find(']') + 1;
    if (text.compare(0, 9, "any shape") == 0) end = 9;
    return end && end < text.size() && std::string(",;:").find(text[end]) != std::string::npos ? end
                                                                                               : 0;
  }

  const OpInfo& op_;
};

// Element types, gradient and errors: what is not said by slots and attributes.
void DescribeRest(const OpInfo& op, std::ostream& text) {
  std::vector<std::string> types;
  for (const Kernel& k : op.kernels) {
    std::string name = Name(k.key.dtype);
    if (std::find(types.begin(), types.end(), name) == types.end()) types.push_back(name);
  }
  text << "\nRaises\n------\nInvalidArgumentError, ArgumentTypeError, OutOfRangeError\n"
       << "    If an argument breaks these rules. The message names it, the rule and what it got.\n"
       << "    They are a ValueError, a TypeError and an IndexError.\n\nNotes\n-----\n";
  if (!types.empty()) {
    text << "Element types:";
    for (size_t i = 0; i < types.size(); ++i) text << (i ? ", " : " ") << types[i];
    text << ".\n";
  }
  text << (op.grad_maker ? "Gradients flow through it" : "No gradient flows through it")
       << ". ``dygraph.op_info('" << op.type << "')`` shows its slots in programs.\n";
}

// The example behind the imports it needs, so that it can be pasted.
void DescribeExample(const OpInfo& op, std::ostream& text) {
  std::string example = op.example;
  if (example.empty()) return;
  text << "\nExamples\n--------\n";
  if (example.find("np.") != std::string::npos) text << ">>> import numpy as np\n";
  text << ">>> import dygraph\n>>> from dygraph import ops as F, to_variable\n"
       << example.substr(example.find_first_not_of('\n')) << "\n";
}

std::string Signature(const OpInfo& op) {
  std::string text = op.type + "(";
  const char* comma = "";
  int inputs = static_cast<int>(op.inputs.size());
  for (int i : PositionalOrder(op)) {
    if (i < inputs) {
      const SlotInfo& s = op.inputs[i];
      if (op.attr_table.Find(s.python_name) >= 0) continue;
      text += comma + s.python_name + (s.dispensable() ? "=None" : "");
    } else {
      const std::string& name = op.attr_table.fields[i - inputs].name;
      text += comma + Spelling(name) + "=" + DefaultOf(op, i - inputs);
    }
    comma = ", ";
  }
  return text + ")";
}

void DescribeAttribute(const OpInfo& op, int a, const Editor& editor, std::ostream& text) {
  const AttrField& f = op.attr_table.fields[a];
  auto slot = std::find_if(op.inputs.begin(), op.inputs.end(),
                           [&](const SlotInfo& s) { return s.python_name == f.name; });
  const bool twin = slot != op.inputs.end();
  text << Spelling(f.name) << " : " << TypeOfArgument(f)
       << (twin || MayBeOpen(op, a) ? " or Variable" : "") << ", default " << DefaultOf(op, a)
       << "\n";
  std::string help = f.help.empty() ? "" : editor.Sentence(editor.WithArguments(f.help));
  if (twin) {
    help += (help.empty() ? "As a Variable: " : " As a Variable: ") +
            editor.WithArguments(slot->help) + ".";
  }
  if (!help.empty()) Editor::WriteLines(help, "    ", text);
}

}  // namespace

std::string Document(const OpInfo& op) {
  const Editor editor(op);
  std::ostringstream text;
  text << Signature(op) << "\n--\n\n";
  Editor::WriteLines(editor.WithArguments(op.comment), "", text);
  if (!op.inputs.empty() || !op.attr_table.fields.empty()) {
    text << "\nParameters\n----------\n";
    for (const SlotInfo& s : op.inputs) {
      // One that is one argument with an attribute is described there.
      if (op.attr_table.Find(s.python_name) < 0) editor.DescribeSlot(s, text);
    }
    for (size_t a = 0; a < op.attr_table.fields.size(); ++a)
      DescribeAttribute(op, static_cast<int>(a), editor, text);
  }
  text << "\nReturns\n-------\n";
  for (const SlotInfo& s : op.outputs) {
    if (IsReturned(s)) editor.DescribeSlot(s, text);
  }
  DescribeRest(op, text);
  DescribeExample(op, text);
  return text.str();
}

}  // namespace dygraph::python
