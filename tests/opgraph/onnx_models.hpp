// ONNX models that tests write node by node.
#pragma once

#include <string>
#include <vector>

#include "sim/opgraph/onnx/onnx.pb.h"
#include "sim/opgraph/op_graph.hpp"

namespace distsim::opgraph {

inline constexpr int kFloat = 1, kInt64 = 7;

/// A model in the making.
class Model {
 public:
  Model() {
    model_.set_ir_version(8);
    model_.set_producer_name("test");
    model_.add_opset_import()->set_version(17);
  }
  Model& opset(std::int64_t version) {
    model_.mutable_opset_import(0)->set_version(version);
    return *this;
  }
  onnx::Graph& graph() { return *model_.mutable_graph(); }
  std::string text() const { return model_.SerializeAsString(); }

  /// Sizes below 0 are dynamic: -1 is "batch", -2 "sequence".
  Model& input(const std::string& name, const std::vector<std::int64_t>& dims, int type = kFloat) {
    describe(*graph().add_input(), name, dims, type);
    return *this;
  }
  Model& output(const std::string& name, const std::vector<std::int64_t>& dims = {}) {
    describe(*graph().add_output(), name, dims, kFloat);
    return *this;
  }
  Model& states(const std::string& name, const std::vector<std::int64_t>& dims) {
    describe(*graph().add_value_info(), name, dims, kFloat);
    return *this;
  }
  Model& weight(const std::string& name, const std::vector<std::int64_t>& dims, int type = kFloat) {
    onnx::Tensor& t = *graph().add_initializer();
    t.set_name(name), t.set_data_type(type);
    for (const std::int64_t d : dims) t.add_dims(d);
    return *this;
  }
  Model& numbers(const std::string& name, const std::vector<std::int64_t>& values) {
    weight(name, {static_cast<std::int64_t>(values.size())}, kInt64);
    for (const std::int64_t v : values) last_initializer().add_int64_data(v);
    return *this;
  }
  /// As exporters write constants: a node, right before what reads it.
  Model& constant(const std::string& name, float value) {
    onnx::Attribute& a = *node("Constant", {}, {name}).add_attribute();
    a.set_name("value");
    a.mutable_t()->set_data_type(kFloat);
    a.mutable_t()->set_raw_data(std::string(reinterpret_cast<const char*>(&value), sizeof(value)));
    return *this;
  }
  onnx::Tensor& last_initializer() { return *graph().mutable_initializer(graph().initializer_size() - 1); }
  onnx::Node& node(const std::string& op, const std::vector<std::string>& in, const std::vector<std::string>& out) {
    onnx::Node& n = *graph().add_node();
    n.set_op_type(op), n.set_name("/" + out.front() + "/" + op);
    for (const std::string& i : in) n.add_input(i);
    for (const std::string& o : out) n.add_output(o);
    return n;
  }

  static void list(onnx::Node& n, const std::string& name, const std::vector<std::int64_t>& values) {
    onnx::Attribute& a = *n.add_attribute();
    a.set_name(name);
    for (const std::int64_t v : values) a.add_ints(v);
  }
  static void text(onnx::Node& n, const std::string& name, const std::string& value) {
    onnx::Attribute& a = *n.add_attribute();
    a.set_name(name), a.set_s(value);
  }
  static void integer(onnx::Node& n, const std::string& name, std::int64_t value) {
    onnx::Attribute& a = *n.add_attribute();
    a.set_name(name), a.set_i(value);
  }

 private:
  static void describe(onnx::ValueInfo& v, const std::string& name, const std::vector<std::int64_t>& dims, int type) {
    v.set_name(name);
    onnx::TensorType& t = *v.mutable_type()->mutable_tensor_type();
    t.set_elem_type(type);
    t.mutable_shape();
    for (const std::int64_t d : dims) {
      onnx::Dimension& dim = *t.mutable_shape()->add_dim();
      if (d >= 0)
        dim.set_dim_value(d);
      else
        dim.set_dim_param(d == -1 ? "batch" : "sequence");
    }
  }
  onnx::Model model_;
};

/// Two linear layers as PyTorch exports them: a product and the addition of a row.
inline Model two_layers() {
  Model m;
  m.input("x", {-1, 16}).output("z").weight("a", {16, 32}).weight("row", {32}).weight("b", {10, 32}).weight("c", {10});
  m.node("MatMul", {"x", "a"}, {"p"});
  m.node("Add", {"row", "p"}, {"s"});
  m.node("Relu", {"s"}, {"y"});
  Model::integer(m.node("Gemm", {"y", "b", "c"}, {"z"}), "transB", 1);
  return m;
}

}  // namespace distsim::opgraph
