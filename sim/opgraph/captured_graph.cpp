// Graphs that distsim_capture writes: docs/graph_format.md.
#include <algorithm>
#include <cmath>

#include "base/text/printable.hpp"
#include "sim/opgraph/kernels.hpp"
#include "sim/opgraph/readers.hpp"

namespace distsim::opgraph {
namespace {

namespace dom = simdjson::dom;

constexpr std::string_view kFormatName = "distsim graph";
constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMostArguments = 1'000'000;
constexpr std::int64_t kMostCalls = 10'000;

std::string found_text(const dom::element& value) { return "found " + printable(simdjson::minify(value), 60); }

/// As printable() leaves it; names are plain nearly always.
std::string shown(std::string_view text) {
  const bool plain =
      text.size() <= 200 && std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7F && c != '\\'; });
  return plain ? std::string(text) : printable(text, 200);
}

template <std::size_t N>
std::optional<std::size_t> place_of(const std::string_view (&words)[N], std::string_view word) {
  for (std::size_t i = 0; i < N; ++i) {
    if (words[i] == word) return i;
  }
  return std::nullopt;
}

constexpr std::string_view kRoles[] = {"activation", "input", "parameter", "buffer"};
constexpr std::string_view kPhases[] = {"forward", "backward", "optimizer"};
constexpr graph::Phase kPhaseValues[] = {graph::Phase::forward, graph::Phase::backward, graph::Phase::optimizer};

class CapturedReader {
 public:
  CapturedReader(const dom::object& document, const std::string& file) : document_(document), file_(file) {}

  Result<OpGraph> read() {
    graph_.file = file_;
    graph_.format = std::string(captured_format.name);
    TRY(read_head());
    TRY(for_each("tensors", [&](const dom::element& e, std::size_t i) { return read_tensor(e, i); }));
    made_.assign(graph_.tensors.size(), false);
    TRY(for_each("nodes", [&](const dom::element& e, std::size_t i) { return read_node(e, i); }));
    TRY(for_each(
        "gradients", [&](const dom::element& e, std::size_t i) { return read_gradient(e, i); }, false));
    if (!graph_.nodes.empty()) graph_.nodes.back().calls += quiet_calls_;
    if (graph_.nodes.empty()) return Error{"nodes: found none, expected at least one", file_, ""};
    return std::move(graph_);
  }

 private:
  Error wrong(const std::string& what) const { return node_error(file_, where(), what); }

  /// "node 3 (aten::mm, fc)": put together only where something is wrong.
  std::string where() const {
    std::string out(list_);
    if (place_) out = out.substr(0, out.size() - 1) + " " + std::to_string(*place_);
    if (tensor_ != nullptr && !tensor_->name.empty()) out += " ('" + tensor_->name + "')";
    if (node_ == nullptr || node_->op.empty()) return out;
    const bool named = !node_->label.empty() && node_->label != unnamed();
    return out + " (" + node_->op + (named ? ", " + node_->label : "") + ")";
  }
  std::string unnamed() const { return "node " + std::to_string(graph_.nodes.size()); }

  template <class Visit>
  Result<void> for_each(std::string_view key, Visit visit, bool required = true) {
    dom::array list;
    dom::element value;
    list_ = key, place_.reset();
    if (missing(document_[key].get(value)))
      return required ? Result<void>(wrong("missing, expected a list")) : Result<void>();
    if (missing(value.get_array().get(list))) return wrong(found_text(value) + ", expected a list");
    std::size_t i = 0;
    for (const dom::element e : list) {
      if (i >= kMostNodes) return wrong("found more than 2,000,000, expected fewer");
      place_ = i;
      if (!e.is_object()) return wrong(found_text(e) + ", expected an object");
      TRY(visit(e, i++));
      tensor_ = nullptr, node_ = nullptr;
    }
    return {};
  }

  Result<void> read_head() {
    list_ = "version", place_.reset();
    std::int64_t version = 0;
    dom::element value;
    if (missing(document_["version"].get(value)) || missing(value.get_int64().get(version)))
      return wrong("missing, expected 1");
    if (version != kVersion) return wrong("found " + std::to_string(version) + ", expected 1");
    std::string_view name;
    if (!missing(document_["name"].get_string().get(name))) graph_.name = printable(name, 80);
    TRY_ASSIGN(graph_.samples, integer(document_["samples"], "samples", 1, 1'000'000'000));
    bool any = false;
    if (!missing(document_["any_batch"].get_bool().get(any))) graph_.any_batch = any;
    return {};
  }

  Result<std::int64_t> integer(simdjson::simdjson_result<dom::element> at, std::string_view key, std::int64_t least,
                               std::int64_t most) {
    dom::element value;
    std::int64_t n = 0;
    const std::string range = "a whole number of " + std::to_string(least) + " .. " + std::to_string(most);
    if (missing(at.get(value))) return wrong(std::string(key) + ": missing, expected " + range);
    if (missing(value.get_int64().get(n)) || n < least || n > most)
      return wrong(std::string(key) + ": " + found_text(value) + ", expected " + range);
    return n;
  }

  Result<Extent> read_extent(const dom::element& value) {
    const std::string expectation =
        value.is_string() ? ", expected a number: capture the graph with a size for every dynamic dimension"
                          : ", expected a size or [size, size per sample]";
    Extent out;
    dom::array pair;
    if (value.get_array().get(pair) == simdjson::SUCCESS) {
      if (pair.size() != 2 || missing(pair.at(0).get_int64().get(out.constant)) ||
          missing(pair.at(1).get_int64().get(out.per_sample)))
        return wrong("shape: " + found_text(value) + expectation);
      if (!graph_.any_batch && out.per_sample != 0)
        return wrong("shape: " + found_text(value) + ", expected sizes alone where any_batch is not true");
    } else if (missing(value.get_int64().get(out.constant))) {
      return wrong("shape: " + found_text(value) + expectation);
    }
    const auto beyond = [](std::int64_t n) { return n < -kLargestExtent || n > kLargestExtent; };
    if (beyond(out.constant) || beyond(out.per_sample) || out.per_sample > (std::int64_t{1} << 32) ||
        (out.per_sample == 0 && out.constant < 0) || out.per_sample < 0)
      return wrong("shape: " + found_text(value) + ", expected sizes of 0 .. 2^48, of a sample at most 2^32");
    return out;
  }

  Result<void> read_tensor(const dom::element& e, std::size_t) {
    Tensor t;
    tensor_ = &t;
    std::string_view text;
    if (!missing(e["name"].get_string().get(text))) {
      t.name = shown(text);
    }
    dom::array shape;
    if (missing(e["shape"].get_array().get(shape))) return wrong("shape: missing, expected a list of sizes");
    if (shape.size() > kMostDims) return wrong("shape: found more than 32 dimensions, expected fewer");
    for (const dom::element size : shape) {
      TRY_ASSIGN(const Extent extent, read_extent(size));
      t.dims.push_back(extent);
    }
    if (missing(e["dtype"].get_string().get(text))) return wrong("dtype: missing, expected one such as float32");
    const std::optional<Element> element = element_named(text);
    if (!element)
      return wrong("dtype: found '" + printable(text) + "', expected one such as float32, bfloat16 or int64");
    t.element = *element;
    if (!missing(e["role"].get_string().get(text))) {
      const auto role = place_of(kRoles, text);
      if (!role) return wrong("role: found '" + printable(text) + "', expected activation, input, parameter or buffer");
      t.role = static_cast<TensorRole>(*role);
    }
    bool flag = false;
    if (!missing(e["channels_last"].get_bool().get(flag))) t.channels_last = flag;
    if (!missing(e["device"].get_string().get(text))) t.on_host = text == "cpu";
    std::uint64_t storage = 0;
    t.storage = missing(e["storage"].get_uint64().get(storage)) ? graph_.tensors.size() + 1 : storage;
    graph_.tensors.push_back(std::move(t));
    return {};
  }

  Result<std::uint32_t> tensor_index(const dom::element& value) {
    std::int64_t n = 0;
    const auto most = static_cast<std::int64_t>(graph_.tensors.size()) - 1;
    if (missing(value.get_int64().get(n)) || n < 0 || n > most)
      return wrong(found_text(value) + ", expected a tensor of 0 .. " + std::to_string(most));
    return static_cast<std::uint32_t>(n);
  }

  /// Reads a tensor that is there: an activation has been made by an earlier node, so that there are no cycles.
  Result<std::uint32_t> read_given(const dom::element& value) {
    TRY_ASSIGN(const std::uint32_t t, tensor_index(value));
    if (graph_.tensors[t].role == TensorRole::activation && !made_[t])
      return wrong("reads tensor " + std::to_string(t) +
                   ", which no earlier node makes; expected nodes in the order of their calls, without cycles");
    return t;
  }

  Result<void> read_number(const dom::element& value, Argument& out) {
    double number = 0;
    bool flag = false;
    if (!missing(value.get_double().get(number))) {
      if (!std::isfinite(number)) return wrong(found_text(value) + ", expected a finite number");
      out.numbers.push_back(number);
    } else if (!missing(value.get_bool().get(flag))) {
      out.numbers.push_back(flag ? 1 : 0);
    } else {
      return wrong(found_text(value) + ", expected a number in this list");
    }
    return {};
  }

  Result<Argument> read_argument(const dom::element& value) {
    Argument out;
    dom::element tensors;
    dom::array list;
    std::string_view text;
    if (value.is_null()) return out;
    if (value.is_object()) {
      if (missing(value["t"].get(tensors))) return wrong(found_text(value) + ", expected {\"t\": tensor}");
      out.kind = Argument::Kind::tensors;
      if (missing(tensors.get_array().get(list))) {
        TRY_ASSIGN(const std::uint32_t t, read_given(tensors));
        out.tensors.push_back(t);
        return out;
      }
      for (const dom::element e : list) {
        if (e.is_null()) continue;
        if (out.tensors.size() >= kMostArguments) return wrong("found more than 1,000,000 tensors, expected fewer");
        TRY_ASSIGN(const std::uint32_t t, read_given(e));
        out.tensors.push_back(t);
      }
      return out;
    }
    if (!missing(value.get_string().get(text))) {
      out.kind = Argument::Kind::text;
      out.text = std::string(text.substr(0, 200));
      return out;
    }
    if (!missing(value.get_array().get(list))) {
      out.kind = Argument::Kind::numbers;
      for (const dom::element e : list) TRY(read_number(e, out));
      return out;
    }
    out.kind = Argument::Kind::number;
    TRY(read_number(value, out));
    return out;
  }

  Result<void> read_node(const dom::element& e, std::size_t) {
    Node node;
    node_ = &node;
    std::string_view text;
    if (missing(e["op"].get_string().get(text))) return wrong("op: missing, expected a name such as aten::mm");
    node.op = shown(text);
    if (!missing(e["label"].get_string().get(text))) node.label = shown(text);
    if (node.label.empty()) node.label = unnamed();
    if (!missing(e["phase"].get_string().get(text))) {
      const auto phase = place_of(kPhases, text);
      if (!phase) return wrong("phase: found '" + printable(text) + "', expected forward, backward or optimizer");
      node.phase = kPhaseValues[*phase];
    }
    const bool launches = listing_of(node.op) != Listing::nothing;
    node.calls = launches ? 1 : 0;
    dom::element calls;
    if (!missing(e["calls"].get(calls))) {
      TRY_ASSIGN(const std::int64_t n, integer(e["calls"], "calls", 0, kMostCalls));
      node.calls = static_cast<std::uint32_t>(n);
    }
    dom::array list;
    if (missing(e["in"].get_array().get(list))) return wrong("in: missing, expected the list of arguments");
    for (const dom::element a : list) {
      TRY_ASSIGN(Argument argument, read_argument(a));
      node.inputs.push_back(std::move(argument));
    }
    if (missing(e["out"].get_array().get(list))) return wrong("out: missing, expected the list of results");
    for (const dom::element t : list) {
      if (t.is_null()) continue;
      TRY_ASSIGN(const std::uint32_t tensor, tensor_index(t));
      made_[tensor] = true;
      node.outputs.push_back(tensor);
    }
    if (launches) {
      node.calls += quiet_calls_, quiet_calls_ = 0;
      placed_.push_back(static_cast<std::uint32_t>(graph_.nodes.size()));
      graph_.nodes.push_back(std::move(node));
    } else {
      quiet_calls_ = std::min(quiet_calls_ + node.calls, kMostQuietCalls);
      placed_.push_back(graph_.nodes.empty() ? 0 : static_cast<std::uint32_t>(graph_.nodes.size() - 1));
    }
    return {};
  }

  Result<void> read_gradient(const dom::element& e, std::size_t) {
    Gradient g;
    TRY_ASSIGN(const std::int64_t parameter,
               integer(e["parameter"], "parameter", 0, static_cast<std::int64_t>(graph_.tensors.size()) - 1));
    TRY_ASSIGN(const std::int64_t after,
               integer(e["after"], "after", 0, static_cast<std::int64_t>(placed_.size()) - 1));
    g.parameter = static_cast<std::uint32_t>(parameter);
    g.after = placed_[static_cast<std::size_t>(after)];
    if (graph_.tensors[g.parameter].role != TensorRole::parameter)
      return wrong("parameter: found tensor " + std::to_string(parameter) + " of another role, expected a parameter");
    if (!graph_.gradients.empty() && graph_.gradients.back().after > g.after)
      return wrong(
          "after: found an earlier node than before, expected gradients in the order in which they are complete");
    graph_.gradients.push_back(g);
    return {};
  }

  const dom::object& document_;
  const std::string& file_;
  std::string_view list_;
  std::optional<std::size_t> place_;  ///< in the list
  const Tensor* tensor_ = nullptr;    ///< that is being read
  const Node* node_ = nullptr;
  OpGraph graph_;
  std::vector<bool> made_;
  std::uint32_t quiet_calls_ = 0;      ///< since the last node, of operators that launch nothing
  std::vector<std::uint32_t> placed_;  ///< of each node of the file, its place or that of the one before
};

bool sniff_captured(const dom::object& document) {
  std::string_view format;
  return !missing(document["format"].get_string().get(format)) && format == kFormatName;
}

Result<OpGraph> read_captured(const dom::object& document, const std::string& file) {
  return CapturedReader(document, file).read();
}

}  // namespace

const GraphFormat captured_format{"distsim graph", sniff_captured, read_captured};

}  // namespace distsim::opgraph
