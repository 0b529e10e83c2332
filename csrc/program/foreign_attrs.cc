#include "program/foreign_attrs.h"

#include <unordered_map>
#include <unordered_set>

#include "base/enforce.h"

namespace dygraph::program {

namespace {

// Roles, origins, hints for libraries. None changes a value.
bool IsBookkeeping(const std::string& name) {
  static const std::unordered_set<std::string> kNames = {"op_role",
                                                         "op_role_var",
                                                         "op_namescope",
                                                         "op_callstack",
                                                         "op_device",
                                                         "with_quant_attr",
                                                         "x_data_format",
                                                         "y_data_format",
                                                         "mkldnn_data_type",
                                                         "use_cudnn",
                                                         "use_mkldnn",
                                                         "use_quantizer",
                                                         "workspace_size_MB",
                                                         "exhaustive_search",
                                                         "min_row_size_to_use_multithread",
                                                         "Scale_in",
                                                         "Scale_in_eltwise",
                                                         "Scale_out",
                                                         "Scale_weights",
                                                         "Scale_x",
                                                         "Scale_y",
                                                         "fuse_alpha",
                                                         "fuse_beta",
                                                         "fuse_brelu_threshold",
                                                         "is_test",
                                                         "use_addto",
                                                         "place_type",
                                                         "print_tensor_layout",
                                                         "trainer_id",
                                                         "is_distributed",
                                                         "slot",
                                                         "grad_inplace",
                                                         "hands_on",
                                                         "verified",
                                                         "regularization_coeff"};
  return kNames.count(name) > 0;
}

// The value with which a feature that we do not have is off.
const std::unordered_map<std::string, AttrValue>& Off() {
  static const auto* values = new std::unordered_map<std::string, AttrValue>{
      // work of another operator folded into this one
      {"fuse_relu", false},
      {"fuse_brelu", false},
      {"fuse_residual_connection", false},
      {"fuse_relu_before_depthwise_conv", false},
      {"fuse_activation", std::string()},
      {"fuse_with_relu", false},
      {"force_fp32_output", false},
      // optimizers
      {"multi_precision", false},
      {"use_global_beta_pow", false},
      {"regularization_method", std::string()},
      {"rescale_grad", 1.0f},
      // embeddings kept by other processes
      {"remote_prefetch", false},
      {"epmap", std::vector<std::string>()},
      {"table_names", std::vector<std::string>()},
      {"height_sections", std::vector<int64_t>()},
      {"entry", std::string("none")},
      {"entry_config", std::string()},
      {"table_class", std::string("none")},
  };
  return *values;
}

bool IsLayoutOfPlainData(const OpDesc::Attr& attr) {
  const std::string* layout = std::get_if<std::string>(&attr.value);
  return attr.name == "data_format" && layout && (*layout == "AnyLayout" || *layout == "NCHW");
}

AttrValue NumberOf(const OpDesc::Attr& attr, const TypedNumber& scalar) {
  switch (scalar.type) {
    case TypedNumber::Type::BOOLEAN: return scalar.b.value_or(false);
    case TypedNumber::Type::LONG: return scalar.i.value_or(0);
    case TypedNumber::Type::FLOAT64: return scalar.r.value_or(0);
    default:
      THROW(Format, "the attribute ", attr.name, " must be a real number, got a complex one");
  }
}

// The elements of assign_value, which Paddle 2 writes as numbers that carry their type.
void ReadElements(const OpDesc& desc, const std::vector<TypedNumber>& elements, Attrs* attrs) {
  const int32_t* dtype = desc.FindAttr<int32_t>("dtype");
  DType type = dtype ? DTypeFromWire(*dtype) : DType::kFloat32;
  std::vector<int32_t> small;
  std::vector<int64_t> whole;
  std::vector<float> real;
  for (const TypedNumber& e : elements) {
    bool fits = e.type == TypedNumber::Type::FLOAT64 ? e.r.has_value()
                : e.type == TypedNumber::Type::LONG  ? e.i.has_value()
                                                     : e.type == TypedNumber::Type::BOOLEAN && e.b;
    ENFORCE(fits, Format, "the attribute values must hold real numbers, got another element");
    int64_t integer = e.b ? *e.b : e.i.value_or(0);
    double number = e.r ? *e.r : static_cast<double>(integer);
    ENFORCE(type != DType::kFloat64 || number != number || static_cast<float>(number) == number,
            Unimplemented, "the elements must be float32 numbers, got ", number,
            ": assign_value holds floats of 32 bits");
    small.push_back(static_cast<int32_t>(integer));
    whole.push_back(integer);
    real.push_back(static_cast<float>(number));
  }
  const AttrTable& table = attrs->table();
  switch (type) {
    case DType::kBool: attrs->Set(table.Require("bool_values"), small); break;
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32: attrs->Set(table.Require("int32_values"), small); break;
    case DType::kInt64: attrs->Set(table.Require("int64_values"), whole); break;
    default: attrs->Set(table.Require("fp32_values"), real);
  }
}

// What Paddle 2 calls otherwise than Fluid, by operator and attribute.
const char* NameInFluid(const std::string& op, const std::string& attr) {
  if ((op == "flip" || op == "roll") && attr == "axis") return "dims";
  if (op == "trace" && attr == "axis1") return "dim1";
  if (op == "trace" && attr == "axis2") return "dim2";
  return nullptr;
}

}  // namespace

void SpellForPaddle(const std::string& op, std::string_view attr, AttrValue* value) {
  std::string* order = std::get_if<std::string>(value);
  if (!order) return;
  if (*order == "AnyLayout" && attr == "data_layout" && op == "affine_channel") *order = "NCHW";
  if (*order != "NCDHW" && *order != "NDHWC") return;
  bool transpose = attr == "data_format" && op.rfind("conv3d_transpose", 0) == 0;
  bool resize = attr == "data_layout" && op.find("_interp") != std::string::npos;
  if (transpose || resize) *order = *order == "NCDHW" ? "NCHW" : "NHWC";
}

AttrValue Declarable(const OpDesc::Attr& attr) {
  return std::visit(
      [&](const auto& v) -> AttrValue {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, VarName> || std::is_same_v<T, VarNames>) {
          THROW(Format, "the attribute ", attr.name, " must be a value, got names of variables");
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          return std::vector<float>(v.begin(), v.end());
        } else if constexpr (std::is_same_v<T, Boxed<TypedNumber>>) {
          return NumberOf(attr, v ? *v : TypedNumber());
        } else if constexpr (std::is_same_v<T, std::vector<TypedNumber>>) {
          std::vector<float> list;
          for (const TypedNumber& e : v) {
            ENFORCE(e.type == TypedNumber::Type::FLOAT64, Format, "the attribute ", attr.name,
                    " must be a list of one type, got numbers that carry theirs");
            list.push_back(static_cast<float>(e.r.value_or(0)));
          }
          return list;
        } else {
          return v;
        }
      },
      attr.value);
}

bool HasNoEffect(const OpDesc::Attr& attr) {
  if (IsBookkeeping(attr.name) || IsLayoutOfPlainData(attr)) return true;
  auto off = Off().find(attr.name);
  return off != Off().end() && attr.value == off->second;
}

bool ReadForeignAttr(const OpInfo& op, const OpDesc& desc, const OpDesc::Attr& attr, Attrs* attrs) {
  if (const char* name = NameInFluid(op.type, attr.name)) {
    attrs->Set(attrs->table().Require(name), Declarable(attr));
    return true;
  }
  if (op.type == "assign_value") {
    if (const auto* elements = std::get_if<std::vector<TypedNumber>>(&attr.value)) {
      ReadElements(desc, *elements, attrs);
      return true;
    }
    if (const auto* elements = std::get_if<std::vector<double>>(&attr.value)) {
      std::vector<TypedNumber> scalars(elements->size());
      for (size_t i = 0; i < scalars.size(); ++i) {
        scalars[i].type = TypedNumber::Type::FLOAT64;
        scalars[i].r = (*elements)[i];
      }
      if (!scalars.empty()) ReadElements(desc, scalars, attrs);
      return true;
    }
  }
  // A gradient operator that does not read an attribute of its forward call, does not depend on it.
  return op.gradient_of && op.gradient_of->forward->attr_table.Find(attr.name) >= 0;
}

}  // namespace dygraph::program
