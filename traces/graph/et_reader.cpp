#include "traces/graph/et_reader.hpp"

#include <simdjson.h>

#include <algorithm>
#include <unordered_map>

#include "base/text/printable.hpp"
#include "traces/build/collective_text.hpp"
#include "traces/build/op_inputs.hpp"
#include "traces/build/rank_builder.hpp"
#include "traces/files/json_memory.hpp"
#include "traces/files/json_stream.hpp"
#include "traces/graph/et_collective.hpp"

namespace distsim::traces {
namespace {

namespace dom = simdjson::dom;

constexpr std::int64_t kPlace = 10'000;  // between one node and the next, see TraceRank::has_times
constexpr std::size_t kLongestValue = 256;
constexpr std::size_t kDeepest = 64;

struct Node {
  std::uint64_t id = 0, parent = 0, thread = 0, op_id = 0;
  NameId name;
  std::uint32_t inputs = kNone, collective = kNone;
  bool user_scope = false;
};

std::uint64_t number_at(const dom::element& object, std::string_view key) {
  dom::element value;
  std::uint64_t u = 0;
  std::int64_t i = 0;
  if (object[key].get(value)) return 0;
  if (!value.get_uint64().get(u)) return u;
  return value.get_int64().get(i) ? 0 : static_cast<std::uint64_t>(i);
}

std::string json_at(const dom::element& object, std::string_view key) {
  dom::element value;
  return object[key].get(value) ? std::string() : simdjson::minify(value);
}

/// A list of nothing but numbers, as strides are: [1, 1]. A tensor is [id, storage, offset, elements, bytes, "cuda:0"].
bool plain_list(const dom::element& value) {
  dom::array items;
  if (value.get_array().get(items)) return false;
  for (const dom::element item : items) {
    if (item.is_string() || item.is_array() || item.is_object()) return false;
  }
  return true;
}

/// Scalars and lists of numbers as they are, tensors (whose ids never repeat) as "".
std::string scalar_values(const dom::element& values) {
  dom::array list;
  if (values.get_array().get(list)) return "";
  std::string out = "[";
  for (const dom::element v : list) {
    std::string text = !v.is_array() || plain_list(v) ? simdjson::minify(v) : "\"\"";
    if (text.size() > kLongestValue) text = "\"\"";
    out += (out.size() > 1 ? "," : "") + text;
  }
  return out + "]";
}

class Reader : public JsonHandler {
 public:
  Reader(const std::string& path, TraceJob& job) : job_(job), builder_(job), inputs_(job) {
    out_.rank.path = path;
    out_.rank.has_times = false;
    broken_ += failed(parser_.allocate(std::size_t{1} << 16, kDeepest)) ? 1 : 0;
  }

  Want on_key(std::string_view key) override {
    return key == "nodes" ? Want::elements : key == "schema" ? Want::value : Want::skip;
  }
  Result<void> on_value(std::string_view, std::string_view json) override {
    schema_ = json.size() > 2 ? std::string(json.substr(1, json.size() - 2)) : "";
    return {};
  }
  Result<void> on_elements(JsonBatch& batch) override {
    for (const JsonBatch::Element& e : batch.elements) {
      dom::element node;
      if (failed(parser_.parse(batch.text + e.begin, e.end - e.begin).get(node)) || !node.is_object())
        ++broken_;
      else
        add(node);
    }
    return {};
  }

  Result<ReadRank> finish(const JsonStreamEnd& end);

 private:
  void add(const dom::element& json);
  void add_inputs(const dom::element& json, Node& node);
  void place();

  TraceJob& job_;
  ReadRank out_;
  RankBuilder builder_;
  OpInputTable inputs_;
  dom::parser parser_;
  std::string schema_;
  std::vector<Node> nodes_;
  std::vector<TraceGroup> groups_;
  std::uint64_t broken_ = 0, structure_ = 0, twice_ = 0, orphans_ = 0;
};

void Reader::add_inputs(const dom::element& json, Node& node) {
  dom::element in, out;
  if (!json["inputs"].get(in) && in.is_object()) {
    dom::element values;
    const bool has_out = !json["outputs"].get(out) && out.is_object();
    const std::string scalars = in["values"].get(values) ? "" : scalar_values(values);
    node.inputs = inputs_.intern(json_at(in, "shapes"), json_at(in, "types"), scalars,
                                 has_out ? json_at(out, "shapes") : "", has_out ? json_at(out, "types") : "");
  } else {
    const std::string scalars = json["inputs"].get(in) ? "" : scalar_values(in);
    node.inputs = inputs_.intern(json_at(json, "input_shapes"), json_at(json, "input_types"), scalars,
                                 json_at(json, "output_shapes"), json_at(json, "output_types"));
  }
}

void Reader::add(const dom::element& json) {
  std::string_view name;
  if (json["name"].get_string().get(name)) {
    ++broken_;
    return;
  }
  if (name.starts_with("[pytorch|")) {
    ++structure_;
    return;
  }
  Node node;
  node.id = number_at(json, "id");
  EtAttributes attributes(json);
  dom::element ignored;
  node.parent = json["ctrl_deps"].get(ignored) ? number_at(json, "parent") : number_at(json, "ctrl_deps");
  node.thread = attributes.number("tid");
  node.op_id = attributes.number("rf_id");
  node.user_scope = attributes.number("scope") == 7;
  node.name = job_.names.intern(name);
  add_inputs(json, node);
  if (name.find("process_group:init") != std::string_view::npos) read_process_groups(json, groups_);
  if (name == "record_param_comms") {
    if (auto collective = et_collective(job_, json, attributes, job_.inputs[node.inputs]))
      node.collective = builder_.collective(std::move(*collective));
  }
  nodes_.push_back(node);
}

/// Nodes in the order of their ids, which is the order in which they began; a caller began before what it called, so
/// cycles cannot be.
void Reader::place() {
  std::ranges::stable_sort(nodes_, {}, &Node::id);
  const auto repeated =
      std::unique(nodes_.begin(), nodes_.end(), [](const Node& a, const Node& b) { return a.id == b.id; });
  twice_ = static_cast<std::size_t>(nodes_.end() - repeated);
  nodes_.erase(repeated, nodes_.end());
  std::unordered_map<std::uint64_t, std::size_t> places;
  for (std::size_t i = 0; i < nodes_.size(); ++i) places.emplace(nodes_[i].id, i);
  std::vector<std::size_t> last(nodes_.size());
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    last[i] = std::max(last[i], i);
    const auto parent = places.find(nodes_[i].parent);
    if (parent != places.end() && parent->second < i)
      last[parent->second] = std::max(last[parent->second], last[i]);
    else if (parent != places.end())
      ++orphans_;
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& n = nodes_[i];
    HostInput input;
    input.thread = n.thread;
    input.record.start_ns = static_cast<std::int64_t>(i) * kPlace;
    input.record.duration_ns = static_cast<std::int64_t>(last[i] - i + 1) * kPlace;
    input.record.name = n.name;
    input.record.op_id = n.op_id;
    input.record.inputs = n.inputs;
    input.record.collective = n.collective;
    input.record.kind = n.user_scope ? HostKind::annotation : HostKind::op;
    builder_.host(input);
  }
}

Result<ReadRank> Reader::finish(const JsonStreamEnd& end) {
  TraceRank& rank = out_.rank;
  if (nodes_.empty())
    return Error{std::string("found no nodes") + (end.complete ? "" : " before the file is cut off") +
                     ", expected a PyTorch execution trace",
                 rank.path, ""};
  rank.format = std::string(kExecutionTrace.name) + (schema_.empty() ? "" : " " + printable(schema_, 40));
  for (const TraceGroup& g : groups_) intern_group(job_, g);
  place();
  builder_.finish(rank);
  rank.notes.drop("unreadable nodes", broken_);
  rank.notes.drop("nodes with a duplicate id", twice_);
  rank.notes.drop("callers that start after the calls they make", orphans_);
  rank.notes.drop("process and thread nodes", structure_);
  if (!end.complete) {
    rank.notes.assume("the file is truncated; everything before that point is used");
    rank.notes.miss("the rest of a file that is cut off");
  }
  return std::move(out_);
}

}  // namespace

bool sniff_execution_trace(const TraceHead& head) {
  if (head.has("traceEvents") || head.has("workload_graph") || head.has("events")) return false;
  return head.has("schema") || (head.has("nodes") && (head.has("pid") || head.has("start_ts")));
}

Result<std::vector<ReadRank>> read_execution_trace(const TraceFile& file, const TraceOptions& options, TraceJob& job) {
  TRY_ASSIGN(const std::unique_ptr<ByteSource> source, file.open());
  Reader reader(file.path, job);
  TRY_ASSIGN(const JsonStreamEnd end, stream_json(*source, file.path, options.window, options.max_piece, reader));
  TRY_ASSIGN(const ReadRank rank, reader.finish(end));
  return std::vector<ReadRank>{rank};
}

}  // namespace distsim::traces
