// Graphs that distsim_capture writes: docs/graph_format.md.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/text/counted.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/one_of.hpp"
#include "base/text/printable.hpp"
#include "sim/opgraph/kernels.hpp"
#include "sim/opgraph/readers.hpp"

namespace distsim::opgraph {
namespace {

namespace dom = simdjson::dom;

constexpr std::string_view kFormatName = "distsim graph";
constexpr std::size_t kMostRemarks = 20;
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

// Keys of each object, and their places in these lists.
constexpr std::string_view kHeadKeys[] = {"format",    "version", "name",    "producer", "samples",  "any_batch",
                                          "one_batch", "remarks", "tensors", "nodes",    "gradients"};
enum Head : std::size_t {
  kFormat,
  kVersionKey,
  kName,
  kProducer,
  kSamples,
  kAnyBatch,
  kOneBatch,
  kRemarks,
  kTensors,
  kNodes,
  kGradients
};
constexpr std::string_view kTensorKeys[] = {"shape", "dtype", "role", "name", "storage", "channels_last", "device"};
enum OfTensor : std::size_t { kShape, kDType, kRole, kTensorName, kStorage, kChannelsLast, kDevice };
constexpr std::string_view kNodeKeys[] = {"op", "label", "phase", "calls", "autocast", "in", "out"};
enum OfNode : std::size_t { kOp, kLabel, kPhase, kCalls, kAutocast, kIn, kOut };
constexpr std::string_view kGradientKeys[] = {"parameter", "after", "sparse"};
enum OfGradient : std::size_t { kParameter, kAfter, kSparse };
constexpr std::string_view kReferenceKeys[] = {"t"};

/// Values of an object by the place of their keys.
template <std::size_t N>
using Fields = std::array<std::optional<dom::element>, N>;

constexpr std::uint64_t kOwnStorage = std::uint64_t{1} << 62;  ///< and above: tensors that state none
constexpr std::int64_t kMostStorage = std::int64_t{1} << 53;

constexpr std::string_view kRoles[] = {"activation", "input", "parameter", "buffer"};
constexpr std::string_view kPhases[] = {"forward", "backward", "optimizer"};
constexpr std::string_view kDevices[] = {"cpu", "cuda"};
constexpr std::string_view kRegions[] = {"float16", "bfloat16", "float32"};
constexpr graph::DType kRegionTypes[] = {graph::DType::fp16, graph::DType::bf16, graph::DType::fp32};
constexpr graph::Phase kPhaseValues[] = {graph::Phase::forward, graph::Phase::backward, graph::Phase::optimizer};

class CapturedReader {
 public:
  CapturedReader(const dom::object& document, const std::string& file) : document_(document), file_(file) {}

  Result<OpGraph> read() {
    graph_.file = file_;
    graph_.format = std::string(captured_format.name);
    TRY_ASSIGN(head_, fields_of(document_, kHeadKeys));
    TRY(read_head());
    TRY(for_each(kTensors, [&](const dom::object& e) { return read_tensor(e); }));
    if (const auto growing = growing_parameter(graph_)) {
      list_ = "tensors", place_ = *growing, tensor_ = &graph_.tensors[*growing];
      return wrong("shape: found a parameter that grows with the batch, expected sizes alone");
    }
    contradictions_.emplace(graph_);
    tensor_ = nullptr;
    made_.assign(graph_.tensors.size(), false);
    has_gradient_.assign(graph_.tensors.size(), false);
    TRY(for_each(kNodes, [&](const dom::object& e) { return read_node(e); }));
    list_ = "nodes", place_.reset();
    if (graph_.nodes.empty()) return wrong("found none that launches a kernel, expected at least one");
    TRY(for_each(
        kGradients, [&](const dom::object& e) { return read_gradient(e); }, false));
    if (const auto unmade = unmade_gradient(graph_, views_)) {
      list_ = "gradients", place_ = *unmade;
      const Tensor& parameter = graph_.tensors[graph_.gradients[*unmade].parameter];
      return wrong("after: found no result of the size of '" + parameter.name +
                   "' up to this node, expected the gradient");
    }
    if (const auto late = late_gradient(graph_, views_)) {
      list_ = "gradients", place_ = late->place;
      const Gradient& gradient = graph_.gradients[late->place];
      return wrong("after: found a later node than node " + std::to_string(in_file_[late->maker]) + " (" +
                   graph_.nodes[late->maker].op + "), which makes the gradient of '" +
                   graph_.tensors[gradient.parameter].name + "', expected that one");
    }
    graph_.nodes.back().calls += quiet_calls_;
    return std::move(graph_);
  }

 private:
  Error wrong(const std::string& what) const {
    return list_.empty() ? Error{what, file_, ""} : node_error(file_, where(), what);
  }

  /// "node 3 (aten::mm, fc)": put together only where something is wrong.
  std::string where() const {
    std::string out(list_);
    if (place_) out = out.substr(0, out.size() - 1) + " " + std::to_string(*place_);
    if (tensor_ != nullptr && !tensor_->name.empty()) out += " ('" + tensor_->name + "')";
    if (node_ == nullptr || node_->op.empty()) return out;
    const bool named = !node_->label.empty() && !node_->label.starts_with("node ");
    return out + " (" + node_->op + (named ? ", " + node_->label : "") + ")";
  }
  std::string unnamed() const { return "node " + std::to_string(graph_.nodes.size()); }

  template <std::size_t N>
  Result<Fields<N>> fields_of(const dom::object& object, const std::string_view (&keys)[N]) {
    Fields<N> out;
    for (const auto& [key, value] : object) {
      const auto place = place_of(keys, key);
      if (!place) {
        const std::string hint = spelling_hint(std::string(key), {std::begin(keys), std::end(keys)});
        return wrong("found an unknown key " + in_quotes(key) + (hint.empty() ? "" : "; " + hint));
      }
      if (out[*place]) return wrong(std::string(key) + ": found twice, expected once");
      out[*place] = value;
    }
    return out;
  }

  template <class Visit>
  Result<void> for_each(Head key, Visit visit, bool required = true) {
    list_ = kHeadKeys[key], place_.reset();
    if (!head_[key]) return required ? Result<void>(wrong("missing, expected a list")) : Result<void>();
    dom::array list;
    if (missing(head_[key]->get_array().get(list))) return wrong(found_text(*head_[key]) + ", expected a list");
    std::size_t i = 0;
    for (const dom::element e : list) {
      if (i >= kMostNodes) return wrong("found more than 2,000,000, expected fewer");
      place_ = i++;
      dom::object object;
      if (missing(e.get_object().get(object))) return wrong(found_text(e) + ", expected an object");
      TRY(visit(object));
      tensor_ = nullptr, node_ = nullptr;
    }
    return {};
  }

  /// Text that stands for one of a few things. `expectation`: "a name such as aten::mm".
  Result<std::string_view> text_of(const std::optional<dom::element>& value, const char* key,
                                   const char* expectation) const {
    std::string_view text;
    if (!value) return wrong(std::string(key) + ": missing, expected " + expectation);
    if (missing(value->get_string().get(text)))
      return wrong(std::string(key) + ": " + found_text(*value) + ", expected " + expectation);
    return text;
  }

  /// Which of some words it is.
  template <std::size_t N>
  Result<std::size_t> choice(const dom::element& value, const char* key, const std::string_view (&words)[N]) const {
    const std::string expected = one_of(words);
    TRY_ASSIGN(const std::string_view text, text_of(value, key, expected.c_str()));
    if (const auto place = place_of(words, text)) return *place;
    const std::string hint = spelling_hint(std::string(text), {std::begin(words), std::end(words)});
    return wrong(std::string(key) + ": found " + in_quotes(text) + ", expected " + expected +
                 (hint.empty() ? "" : "; " + hint));
  }

  /// Text that may be missing.
  Result<std::string_view> optional_text(const std::optional<dom::element>& value, const char* key) const {
    return value ? text_of(value, key, "text") : Result<std::string_view>(std::string_view());
  }

  Result<bool> flag_of(const std::optional<dom::element>& value, const char* key) const {
    bool flag = false;
    if (value && missing(value->get_bool().get(flag)))
      return wrong(std::string(key) + ": " + found_text(*value) + ", expected true or false");
    return flag;
  }

  Result<void> read_head() {
    TRY_ASSIGN(const std::int64_t version, integer(head_[kVersionKey], "version", 1, 1));
    static_cast<void>(version);
    TRY_ASSIGN(const std::string_view name, optional_text(head_[kName], "name"));
    graph_.name = printable(name, 80);
    TRY(optional_text(head_[kProducer], "producer"));
    TRY_ASSIGN(graph_.samples, integer(head_[kSamples], "samples", 1, 1'000'000'000));
    TRY_ASSIGN(graph_.any_batch, flag_of(head_[kAnyBatch], "any_batch"));
    TRY_ASSIGN(const std::string_view reason, optional_text(head_[kOneBatch], "one_batch"));
    graph_.one_batch = printable(reason, 400);
    if (!head_[kRemarks]) return {};
    dom::array list;
    if (missing(head_[kRemarks]->get_array().get(list)))
      return wrong("remarks: " + found_text(*head_[kRemarks]) + ", expected a list of texts");
    for (const dom::element e : list) {
      TRY_ASSIGN(const std::string_view text, text_of(e, "remarks", "a list of texts"));
      if (graph_.remarks.size() < kMostRemarks) graph_.remarks.push_back(printable(text, 400));
    }
    return {};
  }

  Result<std::int64_t> integer(const std::optional<dom::element>& value, const char* key, std::int64_t least,
                               std::int64_t most) const {
    std::int64_t n = 0;
    const std::string range = least == most
                                  ? std::to_string(least)
                                  : "a whole number of " + std::to_string(least) + " .. " + std::to_string(most);
    if (!value) return wrong(std::string(key) + ": missing, expected " + range);
    if (missing(value->get_int64().get(n)) || n < least || n > most)
      return wrong(std::string(key) + ": " + found_text(*value) + ", expected " + range);
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
    if (out.constant + out.per_sample * graph_.samples < 0)
      return wrong("shape: " + found_text(value) + ", a size of " +
                   std::to_string(out.constant + out.per_sample * graph_.samples) + " for the " +
                   counted(graph_.samples, "sample") + " of the capture, expected 0 or more");
    return out;
  }

  Result<void> read_tensor(const dom::object& e) {
    Tensor t;
    tensor_ = &t;
    TRY_ASSIGN(const Fields<std::size(kTensorKeys)> f, fields_of(e, kTensorKeys));
    TRY_ASSIGN(const std::string_view name, optional_text(f[kTensorName], "name"));
    t.name = shown(name);
    dom::array shape;
    if (!f[kShape]) return wrong("shape: missing, expected a list of sizes");
    if (missing(f[kShape]->get_array().get(shape)))
      return wrong("shape: " + found_text(*f[kShape]) + ", expected a list of sizes");
    if (shape.size() > kMostDims) return wrong("shape: found more than 32 dimensions, expected fewer");
    for (const dom::element size : shape) {
      TRY_ASSIGN(const Extent extent, read_extent(size));
      t.dims.push_back(extent);
    }
    constexpr const char* kTypes = "one such as float32, bfloat16 or int64";
    TRY_ASSIGN(const std::string_view dtype, text_of(f[kDType], "dtype", kTypes));
    const std::optional<Element> element = element_named(dtype);
    if (!element) return wrong("dtype: found " + in_quotes(dtype) + ", expected " + kTypes);
    t.element = *element;
    if (f[kRole]) {
      TRY_ASSIGN(const std::size_t role, choice(*f[kRole], "role", kRoles));
      t.role = static_cast<TensorRole>(role);
    }
    TRY_ASSIGN(t.channels_last, flag_of(f[kChannelsLast], "channels_last"));
    if (f[kDevice]) {
      TRY_ASSIGN(const std::size_t device, choice(*f[kDevice], "device", kDevices));
      t.on_host = device == 0;
    }
    t.storage = kOwnStorage + graph_.tensors.size();
    if (f[kStorage]) {
      TRY_ASSIGN(const std::int64_t storage, integer(f[kStorage], "storage", 1, kMostStorage));
      t.storage = static_cast<std::uint64_t>(storage);
    }
    graph_.tensors.push_back(std::move(t));
    return {};
  }

  Result<std::uint32_t> tensor_index(const dom::element& value) {
    std::int64_t n = 0;
    const auto most = static_cast<std::int64_t>(graph_.tensors.size()) - 1;
    if (missing(value.get_int64().get(n)) || n < 0 || n > most)
      return wrong(found_text(value) + ", expected the plain number of a tensor, 0 .. " + std::to_string(most));
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
    dom::object object;
    dom::array list;
    std::string_view text;
    if (value.is_null()) return out;
    if (!missing(value.get_object().get(object))) {
      const Result<Fields<1>> f = fields_of(object, kReferenceKeys);
      if (!f.ok() || !(*f)[0]) return wrong(found_text(value) + ", expected {\"t\": tensor}");
      const dom::element tensors = *(*f)[0];
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

  Result<void> read_node(const dom::object& e) {
    Node node;
    node_ = &node;
    TRY_ASSIGN(const Fields<std::size(kNodeKeys)> f, fields_of(e, kNodeKeys));
    constexpr const char* kNamed = "a name such as aten::mm";
    TRY_ASSIGN(const std::string_view op, text_of(f[kOp], "op", kNamed));
    if (op.empty()) return wrong(std::string("op: found an empty text, expected ") + kNamed);
    node.op = shown(op);
    TRY_ASSIGN(const std::string_view label, optional_text(f[kLabel], "label"));
    node.label = label.empty() ? unnamed() : shown(label);
    if (f[kPhase]) {
      TRY_ASSIGN(const std::size_t phase, choice(*f[kPhase], "phase", kPhases));
      node.phase = kPhaseValues[phase];
    }
    if (f[kAutocast]) {
      TRY_ASSIGN(const std::size_t region, choice(*f[kAutocast], "autocast", kRegions));
      node.autocast = kRegionTypes[region];
    }
    const bool launches = listing_of(node.op) != Listing::nothing;
    node.calls = launches ? 1 : 0;
    if (f[kCalls]) {
      TRY_ASSIGN(const std::int64_t n, integer(f[kCalls], "calls", 0, kMostCalls));
      node.calls = static_cast<std::uint32_t>(n);
    }
    dom::array list;
    TRY_ASSIGN(list, list_of(f[kIn], "in", "the list of arguments"));
    for (const dom::element a : list) {
      TRY_ASSIGN(Argument argument, read_argument(a));
      node.inputs.push_back(std::move(argument));
    }
    TRY_ASSIGN(list, list_of(f[kOut], "out", "the list of results"));
    for (const dom::element t : list) {
      if (t.is_null()) continue;
      TRY_ASSIGN(const std::uint32_t tensor, tensor_index(t));
      made_[tensor] = true;
      node.outputs.push_back(tensor);
    }
    if (const std::string why = contradictions_->of(node); !why.empty()) return wrong(why);
    const bool forward = node.phase == graph::Phase::forward;
    if (forward && ended_) return wrong("phase: found forward after " + *ended_ + ", expected the forward pass first");
    if (!forward && !ended_)
      ended_ =
          (node.phase == graph::Phase::backward ? "backward, node " : "optimizer, node ") + std::to_string(*place_);
    phases_.push_back(node.phase);
    if (launches) {
      const bool has_tensors = !node.outputs.empty() || std::ranges::any_of(node.inputs, [](const Argument& a) {
        return a.kind == Argument::Kind::tensors && !a.tensors.empty();
      });
      if (!has_tensors) return wrong("found no tensor in or out, expected those that it reads and makes");
      node.calls += quiet_calls_, quiet_calls_ = 0;
      placed_.push_back(static_cast<std::uint32_t>(graph_.nodes.size()));
      graph_.nodes.push_back(std::move(node));
      in_file_.push_back(static_cast<std::uint32_t>(placed_.size() - 1));
    } else {
      quiet_calls_ = std::min(quiet_calls_ + node.calls, kMostQuietCalls);
      placed_.push_back(graph_.nodes.empty() ? 0 : static_cast<std::uint32_t>(graph_.nodes.size() - 1));
      if (node.phase == graph::Phase::backward) {
        for (const std::uint32_t t : node.outputs) views_.push_back({t, placed_.back()});
      }
    }
    return {};
  }

  Result<void> read_gradient(const dom::object& e) {
    Gradient g;
    TRY_ASSIGN(const Fields<std::size(kGradientKeys)> f, fields_of(e, kGradientKeys));
    TRY_ASSIGN(const std::int64_t parameter,
               integer(f[kParameter], "parameter", 0, static_cast<std::int64_t>(graph_.tensors.size()) - 1));
    TRY_ASSIGN(const std::int64_t after, integer(f[kAfter], "after", 0, static_cast<std::int64_t>(placed_.size()) - 1));
    TRY_ASSIGN(g.sparse, flag_of(f[kSparse], "sparse"));
    g.parameter = static_cast<std::uint32_t>(parameter);
    g.after = placed_[static_cast<std::size_t>(after)];
    const Tensor& t = graph_.tensors[g.parameter];
    const std::string tensor = "parameter: found tensor " + std::to_string(parameter);
    if (t.role != TensorRole::parameter) return wrong(tensor + " of another role, expected a parameter");
    if (!t.element.floating || t.element.bytes == 1)
      return wrong(tensor + " ('" + t.name + "') of a type that has no gradient, expected one such as float32");
    if (const graph::Phase phase = phases_[static_cast<std::size_t>(after)]; phase != graph::Phase::backward)
      return wrong("after: found node " + std::to_string(after) + " of the " +
                   (phase == graph::Phase::forward ? "forward pass" : "optimizer") +
                   ", expected the node of the backward pass that makes the gradient");
    if (!graph_.gradients.empty() && graph_.gradients.back().after > g.after)
      return wrong(
          "after: found an earlier node than before, expected gradients in the order in which they are complete");
    if (has_gradient_[g.parameter]) return wrong(tensor + " a second time, expected each parameter once");
    has_gradient_[g.parameter] = true;
    graph_.gradients.push_back(g);
    return {};
  }

  Result<dom::array> list_of(const std::optional<dom::element>& value, const char* key, const char* expectation) const {
    dom::array list;
    if (!value) return wrong(std::string(key) + ": missing, expected " + expectation);
    if (missing(value->get_array().get(list)))
      return wrong(std::string(key) + ": " + found_text(*value) + ", expected " + expectation);
    return list;
  }

  const dom::object& document_;
  const std::string& file_;
  Fields<std::size(kHeadKeys)> head_;
  std::string_view list_;
  std::optional<std::size_t> place_;  ///< in the list
  const Tensor* tensor_ = nullptr;    ///< that is being read
  const Node* node_ = nullptr;
  OpGraph graph_;
  std::vector<bool> made_;
  std::vector<bool> has_gradient_;    ///< of each tensor
  std::vector<graph::Phase> phases_;  ///< of each node of the file
  std::optional<Contradictions> contradictions_;
  std::optional<std::string> ended_;  ///< the forward pass, by this node
  std::uint32_t quiet_calls_ = 0;     ///< since the last node, of operators that launch nothing
  std::vector<QuietView> views_;
  std::vector<std::uint32_t> in_file_;  ///< of each node of the graph, its place in the file
  std::vector<std::uint32_t> placed_;   ///< of each node of the file, its place or that of the one before
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
