// PyTorch execution traces as op graphs. A call that launches kernels by the table of kernels.cpp stands for all that it
// calls; one that is not in the table is entered, and counts itself only where nothing inside of it does. Nodes are
// numbered in the order in which they began, over all threads.
#include <algorithm>
#include <cctype>
#include <utility>

#include "base/text/counted.hpp"
#include "base/text/lower_case.hpp"
#include "base/text/printable.hpp"
#include "sim/opgraph/kernels.hpp"
#include "sim/opgraph/readers.hpp"
#include "sim/opgraph/recorded/recorded_arguments.hpp"
#include "sim/opgraph/recorded/recorded_calls.hpp"
#include "sim/opgraph/recorded/recorded_fields.hpp"

namespace distsim::opgraph {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kDeepestCall = 1000;

class RecordedReader {
 public:
  RecordedReader(const dom::object& document, const std::string& file)
      : document_(document), file_(file), arguments_(graph_, file) {}

  Result<OpGraph> read() {
    std::string_view schema;
    graph_.file = file_;
    graph_.recorded = true;
    graph_.format = "PyTorch execution trace";
    if (!missing(document_["schema"].get_string().get(schema))) {
      graph_.format += " " + printable(schema, 40);
      note_schema(schema);
    }
    TRY_ASSIGN(trace_, read_recorded_calls(document_, file_));
    for (const auto& [name, group] : trace_.groups) graph_.ranks = std::max(graph_.ranks, group.size);
    if (!trace_.choice.empty()) graph_.remarks.push_back(trace_.choice);
    leave("unreadable nodes", trace_.broken);
    std::uint64_t idle = 0;
    if (!missing(document_["idle"].get_uint64().get(idle)))
      leave("nodes of computation without shapes, operations or bytes", idle);
    for (const std::uint32_t place : trace_.top) {
      if (trace_.is_in_iteration(place)) TRY(visit(place, graph::Phase::forward, 0));
    }
    if (!graph_.nodes.empty()) graph_.nodes.back().calls += calls_;
    count_left();
    if (graph_.nodes.empty()) return nothing_to_price();
    return std::move(graph_);
  }

 private:
  /// "1.0.2-chakra.0.0.4" is one of them.
  void note_schema(std::string_view schema) {
    constexpr std::string_view kKnown[] = {"Chakra", "1.0.1", "1.0.2", "1.0.3", "1.1.0", "1.1.1"};
    if (std::ranges::find(kKnown, schema.substr(0, schema.find('-'))) == std::end(kKnown))
      graph_.remarks.push_back("the trace has schema " + in_quotes(schema, 40) +
                               ", and is read as one of those that are known, 1.0.1 to 1.1.1");
  }

  /// A graph stands for every rank: what one rank sends to another is none of it.
  Error nothing_to_price() const {
    if (messages_ > 0)
      return Error{"found " + counted(messages_, "message") +
                       " from one rank to another (send, recv) and no call that launches kernels, expected calls and "
                       "collectives of groups: a graph is what every rank runs",
                   file_, "`distsim replay` plays the traces of all ranks with their messages"};
    return Error{"found no call that launches kernels, expected an execution trace of work on a GPU", file_, ""};
  }

  Result<void> visit(std::uint32_t place, graph::Phase phase, std::size_t depth) {
    const Recorded& n = trace_.nodes[place];
    if (depth > kDeepestCall) return wrong_call(file_, n, "found calls nested more than 1000 deep, expected fewer");
    if (!n.is_collective()) note_dependency(n);
    if (n.is_optimizer()) phase = graph::Phase::optimizer;
    if (n.name.starts_with("autograd::engine::")) phase = graph::Phase::backward;
    const bool called = !inside_operator_ && is_operator(n);
    if (called) calls_ = std::min(calls_ + 1, kMostQuietCalls);
    const OperatorScope scope(inside_operator_, called);
    if (n.is_collective()) return add_collective(n, phase);
    if (n.is_triton()) return add_triton(n, phase);
    if (n.has_stated_work()) return add_stated(n, phase);
    const Listing listing = listing_of(n.name);
    const bool passes_on = (n.name.starts_with("aten::_foreach_") || is_composite(n.name)) && calls_kernels(n);
    if (listing == Listing::kernels && !passes_on) return add(n, phase);
    if (!n.has_kernels && listing == Listing::unlisted && may_have_kernels(n)) return add(n, phase);
    for (const std::uint32_t inside : n.inside) TRY(visit(inside, phase, depth + 1));
    return {};
  }

  /// A Chakra trace says what waits for a collective; in others tensors do.
  void note_dependency(const Recorded& n) {
    std::uint64_t id = 0;
    if (!integer_at(n.json, "waits_for", id)) return;
    if (const auto at = collectives_.find(id); at != collectives_.end())
      waits_ = std::max(waits_, std::optional(at->second));
  }

  /// What the host calls on its own account: an operator that no other one calls, a node of autograd with all that it calls.
  static bool is_operator(const Recorded& n) {
    return n.name.starts_with("aten::") || n.name.starts_with("autograd::engine::evaluate_function") || n.is_triton() ||
           listing_of(n.name) == Listing::kernels;
  }

  class OperatorScope {
   public:
    OperatorScope(bool& inside, bool enters) : inside_(inside), before_(inside) { inside_ = inside_ || enters; }
    ~OperatorScope() { inside_ = before_; }
    OperatorScope(const OperatorScope&) = delete;
    OperatorScope& operator=(const OperatorScope&) = delete;

   private:
    bool& inside_;
    bool before_;
  };

  void push(Node node) {
    node.calls = calls_, calls_ = 0;
    node.waits_for = std::exchange(waits_, std::nullopt);
    graph_.nodes.push_back(std::move(node));
  }

  /// Calls that others do the work of, copies of their arguments among them.
  static bool is_composite(std::string_view op) {
    constexpr std::string_view kComposite[] = {"linear",
                                               "matmul",
                                               "conv1d",
                                               "conv2d",
                                               "conv3d",
                                               "conv_transpose1d",
                                               "conv_transpose2d",
                                               "conv_transpose3d",
                                               "convolution",
                                               "_convolution",
                                               "layer_norm",
                                               "rms_norm",
                                               "scaled_dot_product_attention",
                                               "batch_norm",
                                               "adaptive_avg_pool2d",
                                               "cross_entropy_loss"};
    return std::ranges::find(kComposite, base_name(op)) != std::end(kComposite);
  }

  bool calls_kernels(const Recorded& n) const {
    return std::ranges::any_of(n.inside, [&](std::uint32_t i) { return trace_.nodes[i].has_kernels; });
  }

  /// A call of a library of its own that has tensors. Nodes of autograd that end in a digit, and those of the engine, only
  /// pass gradients on.
  bool may_have_kernels(const Recorded& n) {
    const bool of_engine = n.name.starts_with("autograd::") || n.name.starts_with("torch::") ||
                           n.name.starts_with("torch.") || n.name.starts_with("c10d::") ||
                           n.name.starts_with("nccl:") || n.name.starts_with("Optimizer.") || n.name.starts_with("##");
    const bool backward =
        n.name.find("Backward") != std::string::npos && std::isdigit(static_cast<unsigned char>(n.name.back()));
    if (of_engine || backward || n.name == "detach" || n.name == "detach_") return false;
    const Lists in = lists_of(n.json, "inputs");
    if (!in.complete) return false;
    for (const dom::element t : in.types) {
      std::string_view type;
      if (!missing(t.get_string().get(type)) && type.find("Tensor(") != type.npos) return true;
    }
    return false;
  }

  Result<Node> node_of(const Recorded& n, graph::Phase phase) {
    Node node;
    node.op = n.name;
    node.label = "node " + std::to_string(n.id);
    node.phase =
        phase == graph::Phase::forward && n.name.find("_backward") != n.name.npos ? graph::Phase::backward : phase;
    TRY_ASSIGN(node.inputs, arguments_.read(n, "inputs"));
    TRY(add_results(n, node));
    return node;
  }

  Result<void> add_results(const Recorded& n, Node& node) {
    TRY_ASSIGN(const std::vector<Argument> results, arguments_.read(n, "outputs"));
    for (const Argument& r : results) node.outputs.insert(node.outputs.end(), r.tensors.begin(), r.tensors.end());
    return {};
  }

  Result<void> add(const Recorded& n, graph::Phase phase) {
    TRY_ASSIGN(Node node, node_of(n, phase));
    if (node.outputs.empty()) TRY(add_allocations(n, node));
    push(std::move(node));
    return {};
  }

  Result<void> add_stated(const Recorded& n, graph::Phase phase) {
    Node node;
    node.op = n.name, node.label = "node " + std::to_string(n.id), node.phase = phase;
    node.work = StatedWork{static_cast<double>(number_of(attribute(n.json, "num_ops"), 0)),
                           static_cast<double>(number_of(attribute(n.json, "tensor_size"), 0))};
    calls_ = std::min(calls_ + 1, kMostQuietCalls);
    push(std::move(node));
    return {};
  }

  /// Results that are not recorded: what a call allocates inside of itself.
  Result<void> add_allocations(const Recorded& n, Node& node) {
    for (const std::uint32_t inside : n.inside) {
      const Recorded& call = trace_.nodes[inside];
      if (!call.name.starts_with("aten::empty")) continue;
      TRY(add_results(call, node));
    }
    return {};
  }

  /// Tensors that a chain of functions reads, by those that the kernel's name lists ("triton_poi_fused_add_mul_0"): one, and
  /// one more for each function of two.
  static int inputs_of_triton(std::string_view name) {
    constexpr std::string_view kOfTwo[] = {"add",     "sub",     "mul", "div",     "where",
                                           "maximum", "minimum", "pow", "backward"};
    int inputs = 1;
    while (!name.empty()) {
      const std::size_t end = std::min(name.find('_'), name.size());
      inputs += std::ranges::find(kOfTwo, name.substr(0, end)) != std::end(kOfTwo) ? 1 : 0;
      name.remove_prefix(std::min(end + 1, name.size()));
    }
    return inputs;
  }

  /// Tensors that the nearest caller with any was given: an autograd function whose body is compiled.
  Result<std::vector<Argument>> given_to_callers(const Recorded& n) {
    for (std::uint32_t at = n.caller; at != kNoCaller; at = trace_.nodes[at].caller) {
      if (!lists_of(trace_.nodes[at].json, "inputs").complete) continue;
      TRY_ASSIGN(std::vector<Argument> given, arguments_.read(trace_.nodes[at], "inputs"));
      if (std::ranges::any_of(given, [](const Argument& a) { return !a.tensors.empty(); })) return given;
    }
    return std::vector<Argument>{};
  }

  /// One more argument for each result, as large, in memory of its own.
  void read_like(const std::vector<std::uint32_t>& results, Node& node) {
    Argument argument{Argument::Kind::tensors, {}, {}, ""};
    for (const std::uint32_t t : results) {
      Tensor like = graph_.tensors[t];
      like.storage = 0;
      argument.tensors.push_back(static_cast<std::uint32_t>(graph_.tensors.size()));
      graph_.tensors.push_back(std::move(like));
    }
    node.inputs.push_back(std::move(argument));
  }

  /// A compiled kernel. Where its arguments are not recorded, its results are what was allocated just before it in the same
  /// region; it reads what the function around it was given, else as many tensors of that size as its name needs.
  Result<void> add_triton(const Recorded& n, graph::Phase phase) {
    TRY_ASSIGN(Node node, node_of(n, phase));
    const bool has_tensors =
        !node.outputs.empty() || std::ranges::any_of(node.inputs, [](const Argument& a) { return !a.tensors.empty(); });
    if (!has_tensors && n.caller != kNoCaller) {
      const std::vector<std::uint32_t>& beside = trace_.nodes[n.caller].inside;
      for (auto at = std::ranges::find_if(beside, [&](std::uint32_t i) { return trace_.nodes[i].id == n.id; });
           at != beside.begin() && node.outputs.empty();) {
        const Recorded& call = trace_.nodes[*--at];
        if (call.is_triton()) break;
        if (!call.name.starts_with("aten::empty")) continue;
        TRY(add_results(call, node));
      }
      const std::vector<std::uint32_t> written = node.outputs;
      TRY_ASSIGN(node.inputs, given_to_callers(n));
      if (node.inputs.empty()) {
        for (int i = inputs_of_triton(n.name); i > 0 && !written.empty(); --i) read_like(written, node);
        ++guessed_;
      }
    }
    if (node.outputs.empty() && !has_tensors) {
      ++unsized_;
      return {};
    }
    push(std::move(node));
    return {};
  }

  /// record_param_comms: [tensors, sequence, group, rank, "allreduce", in split, out split, ..., size], or attributes.
  Result<void> add_collective(const Recorded& n, graph::Phase phase) {
    TRY_ASSIGN(Node node, node_of(n, phase == graph::Phase::optimizer ? phase : graph::Phase::exchange));
    node.op = "record_param_comms";
    const Lists in = lists_of(n.json, "inputs");
    std::string name = text_of(attribute(n.json, "collective_name")), group = text_of(attribute(n.json, "pg_name"));
    std::int64_t size = number_of(attribute(n.json, "pg_size"), 0), last = 0;
    for (const dom::element v : in.values) {
      std::string_view text;
      dom::array pair;
      if (name.empty() && !missing(v.get_string().get(text)))
        name = std::string(text);
      else if (!missing(v.get_int64().get(last)) && !name.empty() && attribute(n.json, "pg_size") == std::nullopt)
        size = last;
      else if (group.empty() && !missing(v.get_array().get(pair)) && pair.size() == 2 &&
               !missing(pair.at(0).get_string().get(text)))
        group = std::string(text);
    }
    if (name == "wait") {
      node.op = kWait;
      graph_.nodes.push_back(std::move(node));
      return {};
    }
    for (const std::string_view idle : {"init", "start", "end", "", "coalesced"}) {
      if (name == idle) return {};
    }
    for (const std::string_view message : {"send", "recv", "isend", "irecv", "recvAnySource"}) {
      if (name != message) continue;
      ++messages_;
      return {};
    }
    const auto kind = graph::parse_collective(plain_name(name));
    if (!kind.ok()) {
      ++unknown_collectives_;
      return {};
    }
    TRY_ASSIGN(node.communication, communication_of(n, node, *kind, group, size));
    graph_.ranks = std::max(graph_.ranks, node.communication->size);
    ungrouped_ += node.communication->size == 0 ? 1 : 0;
    collectives_[n.id] = static_cast<std::uint32_t>(graph_.nodes.size());
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  /// "allreduce" of "allreduce_coalesced", "_allgather_base", "broadcastUniqueNCCLID".
  static std::string plain_name(std::string name) {
    if (name.starts_with("_")) name.erase(0, 1);
    for (const std::string_view ending : {"_coalesced", "_base", "_into_tensor", "_tensor", "_single", "_"}) {
      if (name.ends_with(ending)) name.resize(name.size() - ending.size());
    }
    return name;
  }

  /// "Float", "BFloat16" and "Byte" of PyTorch, beside all names of elements.
  static std::optional<Element> element_of_scalar(const std::string& name) {
    const std::string lower = lower_case(name);
    for (const std::string& spelt : {name, "c10::" + name, lower == "byte" ? "uint8" : lower}) {
      if (const auto element = element_named(spelt)) return element;
    }
    return std::nullopt;
  }

  struct Moved {
    double sent = 0, received = 0;
    graph::DType dtype = graph::DType::fp32;
  };
  /// By its tensors; where these are not recorded, by its bytes or its elements.
  Result<Moved> moved_by(const Recorded& n, const Node& node) const {
    Moved out;
    double width = 0;
    for (const Argument& a : node.inputs) {
      for (const std::uint32_t t : a.tensors) {
        const Element& element = graph_.tensors[t].element;
        out.sent += bytes_of(t), out.dtype = element.dtype, width = static_cast<double>(element.bytes);
      }
    }
    for (const std::uint32_t t : node.outputs) out.received += bytes_of(t);
    if (const std::int64_t bytes = number_of(attribute(n.json, "comm_size"), 0); out.sent == 0 && bytes > 0)
      out.sent = static_cast<double>(bytes);
    const auto elements = [&n](const char* name) {
      return std::max(0.0, static_cast<double>(number_of(attribute(n.json, name), 0)));
    };
    const double in = out.sent == 0 ? elements("in_msg_nelems") : 0,
                 result = out.received == 0 ? elements("out_msg_nelems") : 0;
    if (in == 0 && result == 0) return out;
    if (const std::string dtype = text_of(attribute(n.json, "dtype")); width == 0 && !dtype.empty()) {
      const auto element = element_of_scalar(dtype);
      if (!element)
        return wrong_call(file_, n, "dtype: found " + in_quotes(dtype, 40) + ", expected a type of elements");
      out.dtype = element->dtype, width = static_cast<double>(element->bytes);
    }
    if (width == 0) width = 4;
    out.sent += in * width, out.received += result * width;
    return out;
  }

  Result<Communication> communication_of(const Recorded& n, const Node& node, graph::CollectiveKind kind,
                                         const std::string& group, std::int64_t size) const {
    Communication c;
    c.op.kind = kind;
    c.size = size > 0 && size <= (1 << 20) ? static_cast<std::uint32_t>(size) : 0;
    if (const auto known = trace_.groups.find(group); known != trace_.groups.end()) {
      c.ranks = known->second.ranks;
      if (known->second.size > 0) c.size = known->second.size;
    }
    TRY_ASSIGN(const Moved moved, moved_by(n, node));
    const auto& [sent, received, dtype] = moved;
    c.op.dtype = dtype;
    const bool gathers = kind == graph::CollectiveKind::all_gather || kind == graph::CollectiveKind::gather,
               scatters = kind == graph::CollectiveKind::reduce_scatter || kind == graph::CollectiveKind::scatter;
    const bool of_one_rank = (gathers && received <= sent) || (scatters && sent == 0);
    c.per_rank = of_one_rank && c.size == 0;
    const double bytes = (gathers || scatters || sent == 0 ? std::max(sent, received) : sent) *
                         (of_one_rank ? std::max(1.0, static_cast<double>(c.size)) : 1);
    c.op.bytes = static_cast<std::int64_t>(std::min(bytes, 1e15));
    return c;
  }

  double bytes_of(std::uint32_t t) const {
    double n = static_cast<double>(graph_.tensors[t].element.bytes);
    for (const Extent& e : graph_.tensors[t].dims) n *= static_cast<double>(e.constant);
    return n;
  }

  void leave(const std::string& what, std::uint64_t n) {
    if (n > 0) graph_.left_out.push_back({what, n});
  }

  void count_left() {
    if (trace_.lost > 0)
      graph_.remarks.push_back("partial: the trace lacks the callers of " + counted(trace_.lost, "node") + " of " +
                               std::to_string(trace_.nodes.size()) +
                               "; it is cut or damaged, and what is missing takes no "
                               "time here");
    const auto forward = [](const Node& n) { return n.phase == graph::Phase::forward || n.communication; };
    if (std::ranges::all_of(graph_.nodes, forward))
      graph_.remarks.push_back(
          "no call of a backward pass or of an optimizer is recorded: this is a forward pass alone");
    leave("nodes of other iterations", trace_.nodes.size() - (trace_.last - trace_.first));
    leave("compiled kernels without sizes", unsized_);
    leave("collectives of an unknown kind", unknown_collectives_);
    leave("messages from one rank to another (send, recv)", messages_);
    if (ungrouped_ > 0)
      graph_.remarks.push_back(
          counted(ungrouped_, "collective names no process group of known size, and is taken as one of all GPUs",
                  "collectives name no process group of known size, and are taken as those of all GPUs"));
    if (guessed_ > 0)
      graph_.remarks.push_back(
          std::to_string(guessed_) +
          " compiled kernels have no recorded arguments: taken to write what was allocated before them, and to read "
          "as many such tensors as the functions in their names need");
  }

  const dom::object& document_;
  const std::string& file_;
  OpGraph graph_;
  RecordedArguments arguments_;
  RecordedCalls trace_;
  std::uint64_t unsized_ = 0, unknown_collectives_ = 0, guessed_ = 0, messages_ = 0, ungrouped_ = 0;
  std::uint32_t calls_ = 0;  ///< of operators since the last node
  bool inside_operator_ = false;
  std::unordered_map<std::uint64_t, std::uint32_t> collectives_;  ///< to their place in graph_.nodes
  std::optional<std::uint32_t> waits_;                            ///< of the next node
};

bool sniff_execution(const dom::object& document) {
  dom::element ignored;
  const bool nodes = !missing(document["nodes"].get(ignored)) && ignored.is_array();
  return nodes && (!missing(document["schema"].get(ignored)) || !missing(document["start_ts"].get(ignored)));
}

Result<OpGraph> read_execution(const dom::object& document, const std::string& file) {
  return RecordedReader(document, file).read();
}

}  // namespace

const GraphFormat execution_format{"PyTorch execution trace", sniff_execution, read_execution};

}  // namespace distsim::opgraph
