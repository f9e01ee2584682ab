// PyTorch execution traces as op graphs. A call that launches kernels by the table of kernels.cpp stands for all that it
// calls; one that is not in the table is entered, and counts itself only where nothing inside of it does. Nodes are
// numbered in the order in which they began, over all threads.
#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/opgraph/kernels.hpp"
#include "sim/opgraph/readers.hpp"
#include "sim/opgraph/recorded/recorded_fields.hpp"

namespace distsim::opgraph {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kMostGroups = 10'000;
constexpr std::size_t kDeepestCall = 1000;
constexpr std::uint32_t kNoCaller = 0xFFFFFFFFu;

/// A node of the trace, with what decides whether it is kept.
struct Recorded {
  std::uint64_t id = 0, parent = 0;
  std::string name;
  dom::element json;
  std::uint32_t caller = kNoCaller;   ///< its place
  std::vector<std::uint32_t> inside;  ///< places of the calls it makes
  bool has_kernels = false;           ///< launches them itself by the table, or something inside of it does
};

struct Group {
  std::vector<std::uint32_t> ranks;
  std::uint32_t size = 0;
};

class RecordedReader {
 public:
  RecordedReader(const dom::object& document, const std::string& file) : document_(document), file_(file) {}

  Result<OpGraph> read() {
    std::string_view schema;
    graph_.file = file_;
    graph_.recorded = true;
    graph_.format = "PyTorch execution trace";
    if (!missing(document_["schema"].get_string().get(schema))) graph_.format += " " + printable(schema, 40);
    TRY(collect());
    find_callers();
    choose_iteration();
    for (const std::uint32_t place : top_) {
      if (inside_iteration(place)) TRY(visit(place, graph::Phase::forward, 0));
    }
    if (!graph_.nodes.empty()) graph_.nodes.back().calls += calls_;
    count_left();
    if (graph_.nodes.empty()) return nothing_to_price();
    return std::move(graph_);
  }

 private:
  /// A graph stands for every rank: what one rank sends to another is none of it.
  Error nothing_to_price() const {
    if (messages_ > 0)
      return Error{"found " + counted(messages_, "message") +
                       " from one rank to another (send, recv) and no call that launches kernels, expected calls and "
                       "collectives of groups: a graph is what every rank runs",
                   file_, "`distsim replay` plays the traces of all ranks with their messages"};
    return Error{"found no call that launches kernels, expected an execution trace of work on a GPU", file_, ""};
  }

  Error wrong(const Recorded& n, const std::string& what) const {
    return node_error(file_, "node " + std::to_string(n.id) + " (" + n.name + ")", what);
  }

  Result<void> collect() {
    dom::array list;
    if (missing(document_["nodes"].get_array().get(list))) return Error{"nodes: missing, expected a list", file_, ""};
    std::uint64_t broken = 0;
    for (const dom::element e : list) {
      if (nodes_.size() >= kMostNodes) return Error{"nodes: found more than 2,000,000, expected fewer", file_, ""};
      Recorded n;
      std::string_view name;
      const bool named = e.is_object() && !missing(e["name"].get_string().get(name)) && integer_at(e, "id", n.id);
      if (!named) {
        ++broken;
        continue;
      }
      n.name = printable(name, 200);
      if (!integer_at(e, "ctrl_deps", n.parent)) integer_at(e, "parent", n.parent);
      n.json = e;
      if (n.name.find("process_group:init") != std::string::npos) read_groups(e);
      nodes_.push_back(std::move(n));
    }
    leave("unreadable nodes", broken);
    std::ranges::stable_sort(nodes_, {}, &Recorded::id);
    const auto twice = std::ranges::adjacent_find(nodes_, {}, &Recorded::id);
    if (twice != nodes_.end())
      return wrong(*twice, "found twice, the other time as " + in_quotes(std::next(twice)->name) +
                               ", expected each node once; are these two traces in one file?");
    return {};
  }

  void read_groups(const dom::element& node) {
    const Lists in = lists_of(node, "inputs");
    std::string_view text;
    dom::parser parser;
    dom::array listed;
    if (!in.complete || in.values.size() == 0 || missing(in.values.at(0).get_string().get(text))) return;
    const simdjson::padded_string padded(text);
    if (missing(parser.parse(padded).get_array().get(listed))) return;
    for (const dom::element g : listed) {
      std::string_view name;
      if (!g.is_object() || missing(g["pg_name"].get_string().get(name)) || groups_.size() > kMostGroups) continue;
      Group group;
      std::int64_t size = 0;
      if (!missing(g["group_size"].get_int64().get(size)) && size > 0 && size <= (1 << 20))
        group.size = static_cast<std::uint32_t>(size);
      dom::array ranks;
      if (!missing(g["ranks"].get_array().get(ranks))) {
        for (const dom::element r : ranks) {
          std::int64_t rank = 0;
          if (!missing(r.get_int64().get(rank)) && rank >= 0 && rank < (1 << 20))
            group.ranks.push_back(static_cast<std::uint32_t>(rank));
        }
      }
      graph_.ranks = std::max(graph_.ranks, group.size);
      groups_[std::string(name)] = std::move(group);
    }
  }

  /// A caller began before what it calls, so that there are no cycles.
  void find_callers() {
    std::unordered_map<std::uint64_t, std::uint32_t> places;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      const auto caller = places.find(nodes_[i].parent);
      const bool root = is_structure(nodes_[i]);
      if (!root && caller != places.end() && !is_structure(nodes_[caller->second])) {
        nodes_[i].caller = caller->second;
        nodes_[caller->second].inside.push_back(i);
      } else if (!root) {
        top_.push_back(i);
        // Node 1 is the process, which some schemas do not list.
        lost_ += caller == places.end() && nodes_[i].parent > 1 && nodes_[i].parent != nodes_[i].id ? 1 : 0;
      }
      places.emplace(nodes_[i].id, i);
    }
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      Recorded& n = nodes_[i];
      n.has_kernels = n.has_kernels || listing_of(n.name) == Listing::kernels || is_collective(n) || is_triton(n) ||
                      has_stated_work(n);
      if (n.has_kernels && n.caller != kNoCaller) nodes_[n.caller].has_kernels = true;
    }
  }

  static bool is_structure(const Recorded& n) { return n.name.starts_with("[pytorch|"); }
  static bool is_collective(const Recorded& n) { return n.name == "record_param_comms"; }
  static bool is_triton(const Recorded& n) { return n.name.starts_with("triton_"); }
  static bool is_step(const Recorded& n) { return n.name.starts_with("ProfilerStep#"); }
  static bool is_optimizer(const Recorded& n) { return n.name.starts_with("Optimizer.step#"); }

  std::uint32_t end_of(std::uint32_t place) const {
    while (!nodes_[place].inside.empty()) place = nodes_[place].inside.back();
    return place + 1;
  }

  /// Of several profiled steps the one with the most nodes, the last of those; without steps, what lies between the ends
  /// of optimizer steps.
  void choose_iteration() {
    std::vector<std::uint32_t> begins;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (is_step(nodes_[i])) begins.push_back(i);
    }
    const bool marked = !begins.empty();
    if (!marked) {
      begins.push_back(0);
      for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        if (is_optimizer(nodes_[i])) begins.push_back(end_of(i));
      }
      if (begins.size() > 2 || (begins.size() == 2 && !work_after(begins.back()))) begins.pop_back();
      if (begins.size() == 2) begins.pop_back();
    }
    begins.push_back(static_cast<std::uint32_t>(nodes_.size()));
    for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
      if (begins[i + 1] - begins[i] >= last_ - first_) first_ = begins[i], last_ = begins[i + 1];
    }
    if (begins.size() > 2) {
      const std::string which =
          marked ? nodes_[first_].name : "that of nodes " + std::to_string(nodes_[first_].id) + " on";
      graph_.remarks.push_back("of " + std::to_string(begins.size() - 1) + " recorded iterations, " + which +
                               " is used");
    }
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (i < first_ || i >= last_) ++outside_;
    }
  }

  bool work_after(std::uint32_t place) const {
    return std::any_of(nodes_.begin() + place, nodes_.end(), [](const Recorded& n) { return n.has_kernels; });
  }

  bool inside_iteration(std::uint32_t place) const { return place >= first_ && place < last_; }

  Result<void> visit(std::uint32_t place, graph::Phase phase, std::size_t depth) {
    const Recorded& n = nodes_[place];
    if (depth > kDeepestCall) return wrong(n, "found calls nested more than 1000 deep, expected fewer");
    if (is_optimizer(n)) phase = graph::Phase::optimizer;
    if (n.name.starts_with("autograd::engine::")) phase = graph::Phase::backward;
    ++seen_;
    const bool called = !inside_operator_ && is_operator(n);
    if (called) calls_ = std::min(calls_ + 1, kMostQuietCalls);
    const OperatorScope scope(inside_operator_, called);
    if (is_collective(n)) return add_collective(n, phase);
    if (is_triton(n)) return add_triton(n, phase);
    if (has_stated_work(n)) return add_stated(n, phase);
    const Listing listing = listing_of(n.name);
    const bool passes_on = (n.name.starts_with("aten::_foreach_") || is_composite(n.name)) && calls_kernels(n);
    if (listing == Listing::kernels && !passes_on) return add(n, phase);
    if (!n.has_kernels && listing == Listing::unlisted && may_have_kernels(n)) return add(n, phase);
    for (const std::uint32_t inside : n.inside) TRY(visit(inside, phase, depth + 1));
    return {};
  }

  /// What the host calls on its own account: an operator that no other one calls, a node of autograd with all that it calls.
  static bool is_operator(const Recorded& n) {
    return n.name.starts_with("aten::") || n.name.starts_with("autograd::engine::evaluate_function") || is_triton(n) ||
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
    return std::ranges::any_of(n.inside, [&](std::uint32_t i) { return nodes_[i].has_kernels; });
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

  /// [id, storage, offset, elements, bytes of each, "cuda:0"], with its shape and type.
  Result<std::optional<std::uint32_t>> add_tensor(const Recorded& n, const dom::element& value,
                                                  const dom::element& shape, std::string_view type) {
    dom::array fields, sizes;
    if (missing(value.get_array().get(fields)) || fields.size() < 5) return std::optional<std::uint32_t>();
    if (type.find("nullptr") != type.npos) return std::optional<std::uint32_t>();
    Tensor t;
    const std::optional<Element> element = element_named(type);
    if (!element) return wrong(n, "found the type '" + printable(type) + "', expected one such as Tensor(float)");
    t.element = *element;
    std::uint64_t storage = 0;
    std::int64_t elements = 0;
    std::string_view device;
    if (!missing(fields.at(1).get_uint64().get(storage))) t.storage = storage;
    if (missing(fields.at(3).get_int64().get(elements))) elements = 0;
    if (fields.size() > 5 && !missing(fields.at(5).get_string().get(device))) t.on_host = device == "cpu";
    if (missing(shape.get_array().get(sizes))) return wrong(n, "found a tensor without a shape, expected one");
    if (sizes.size() > kMostDims) return wrong(n, "found more than 32 dimensions, expected fewer");
    double all = 1;
    for (const dom::element s : sizes) {
      std::int64_t size = 0;
      if (missing(s.get_int64().get(size)) || size < 0 || size > kLargestExtent)
        return wrong(n, "found the dimension " + printable(simdjson::minify(s), 40) + ", expected a size of 0 .. 2^48");
      t.dims.push_back({size, 0});
      all *= static_cast<double>(size);
    }
    if (elements == 0 && sizes.size() == 0)
      return wrong(n, "found a tensor of dynamic shape, expected recorded sizes; record it without dynamic shapes");
    graph_.tensors.push_back(std::move(t));
    return std::optional<std::uint32_t>(static_cast<std::uint32_t>(graph_.tensors.size() - 1));
  }

  Result<Argument> read_argument(const Recorded& n, const dom::element& value, const dom::element& shape,
                                 std::string_view type) {
    Argument out;
    dom::array items, shapes;
    double number = 0;
    bool flag = false;
    if (type.starts_with("Tensor(")) {
      out.kind = Argument::Kind::tensors;
      TRY_ASSIGN(const auto tensor, add_tensor(n, value, shape, type));
      if (tensor) out.tensors.push_back(*tensor);
    } else if (type.find('[') != type.npos && !missing(value.get_array().get(items))) {
      const std::vector<std::string> types = element_types(type);
      const bool tensors = type.find("Tensor(") != type.npos;
      const bool shaped = !missing(shape.get_array().get(shapes));
      out.kind = tensors ? Argument::Kind::tensors : Argument::Kind::numbers;
      std::size_t i = 0;
      for (const dom::element e : items) {
        if (tensors && shaped && i < shapes.size() && i < types.size() && types[i].starts_with("Tensor(")) {
          TRY_ASSIGN(const auto tensor, add_tensor(n, e, shapes.at(i).value_unsafe(), types[i]));
          if (tensor) out.tensors.push_back(*tensor);
        } else if (!tensors && !missing(e.get_double().get(number))) {
          out.numbers.push_back(number);
        } else if (!tensors && !missing(e.get_bool().get(flag))) {
          out.numbers.push_back(flag ? 1 : 0);
        }
        ++i;
      }
    } else if (!missing(value.get_double().get(number))) {
      out.kind = Argument::Kind::number;
      out.numbers = {number};
    } else if (!missing(value.get_bool().get(flag))) {
      out.kind = Argument::Kind::number;
      out.numbers = {flag ? 1.0 : 0.0};
    }
    return out;
  }

  Result<std::vector<Argument>> read_arguments(const Recorded& n, std::string_view side) {
    std::vector<Argument> out;
    const Lists lists = lists_of(n.json, side);
    if (!lists.complete) return wrong(n, std::string(side) + ": missing, expected values, shapes and types");
    const std::size_t most = std::min({lists.values.size(), lists.shapes.size(), lists.types.size()});
    if (std::max({lists.values.size(), lists.shapes.size(), lists.types.size()}) != most)
      return wrong(n, std::string(side) + ": found " + counted(lists.values.size(), "value") + ", " +
                          counted(lists.shapes.size(), "shape") + " and " + counted(lists.types.size(), "type") +
                          ", expected as many of each");
    for (std::size_t i = 0; i < most; ++i) {
      std::string_view type;
      if (missing(lists.types.at(i).get_string().get(type))) type = "";
      TRY_ASSIGN(Argument argument,
                 read_argument(n, lists.values.at(i).value_unsafe(), lists.shapes.at(i).value_unsafe(), type));
      out.push_back(std::move(argument));
    }
    return out;
  }

  Result<Node> node_of(const Recorded& n, graph::Phase phase) {
    Node node;
    node.op = n.name;
    node.label = "node " + std::to_string(n.id);
    node.phase =
        phase == graph::Phase::forward && n.name.find("_backward") != n.name.npos ? graph::Phase::backward : phase;
    TRY_ASSIGN(node.inputs, read_arguments(n, "inputs"));
    TRY(add_results(n, node));
    return node;
  }

  Result<void> add_results(const Recorded& n, Node& node) {
    TRY_ASSIGN(const std::vector<Argument> results, read_arguments(n, "outputs"));
    for (const Argument& r : results) node.outputs.insert(node.outputs.end(), r.tensors.begin(), r.tensors.end());
    return {};
  }

  Result<void> add(const Recorded& n, graph::Phase phase) {
    TRY_ASSIGN(Node node, node_of(n, phase));
    if (node.outputs.empty()) TRY(add_allocations(n, node));
    push(std::move(node));
    return {};
  }

  /// Operations and bytes, of a node that no tensors are recorded of.
  static bool has_stated_work(const Recorded& n) {
    return n.inside.empty() && number_of(attribute(n.json, "tensor_size"), 0) > 0 &&
           lists_of(n.json, "inputs").values.size() == 0;
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
      const Recorded& call = nodes_[inside];
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
    for (std::uint32_t at = n.caller; at != kNoCaller; at = nodes_[at].caller) {
      if (!lists_of(nodes_[at].json, "inputs").complete) continue;
      TRY_ASSIGN(std::vector<Argument> given, read_arguments(nodes_[at], "inputs"));
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
      const std::vector<std::uint32_t>& beside = nodes_[n.caller].inside;
      for (auto at = std::ranges::find_if(beside, [&](std::uint32_t i) { return nodes_[i].id == n.id; });
           at != beside.begin() && node.outputs.empty();) {
        const Recorded& call = nodes_[*--at];
        if (is_triton(call)) break;
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
    node.communication = communication_of(n, node, *kind, group, size);
    graph_.ranks = std::max(graph_.ranks, node.communication->size);
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

  Communication communication_of(const Recorded& n, const Node& node, graph::CollectiveKind kind,
                                 const std::string& group, std::int64_t size) {
    Communication c;
    c.op.kind = kind;
    c.size = size > 0 && size <= (1 << 20) ? static_cast<std::uint32_t>(size) : 0;
    if (const auto known = groups_.find(group); known != groups_.end()) {
      c.ranks = known->second.ranks;
      if (known->second.size > 0) c.size = known->second.size;
    }
    double sent = 0, received = 0;
    for (const Argument& a : node.inputs) {
      for (const std::uint32_t t : a.tensors) sent += bytes_of(t), c.op.dtype = graph_.tensors[t].element.dtype;
    }
    for (const std::uint32_t t : node.outputs) received += bytes_of(t);
    const std::int64_t in = number_of(attribute(n.json, "in_msg_nelems"), -1);
    if (sent == 0 && in > 0) sent = static_cast<double>(in) * 4;
    const double ranks = std::max(1.0, static_cast<double>(c.size));
    double bytes = sent;
    if (kind == graph::CollectiveKind::all_gather) bytes = std::max(received, sent * (received > sent ? 1 : ranks));
    if (kind == graph::CollectiveKind::reduce_scatter) bytes = std::max(sent, received);
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
    if (lost_ > 0)
      graph_.remarks.push_back("partial: the trace lacks the callers of " + counted(lost_, "node") + " of " +
                               std::to_string(nodes_.size()) +
                               "; it is cut or damaged, and what is missing takes no "
                               "time here");
    const auto forward = [](const Node& n) { return n.phase == graph::Phase::forward || n.communication; };
    if (std::ranges::all_of(graph_.nodes, forward))
      graph_.remarks.push_back(
          "no call of a backward pass or of an optimizer is recorded: this is a forward pass alone");
    leave("nodes of other iterations", outside_);
    leave("compiled kernels without sizes", unsized_);
    leave("collectives of an unknown kind", unknown_collectives_);
    leave("messages from one rank to another (send, recv)", messages_);
    if (guessed_ > 0)
      graph_.remarks.push_back(
          std::to_string(guessed_) +
          " compiled kernels have no recorded arguments: taken to write what was allocated before them, and to read "
          "as many such tensors as the functions in their names need");
  }

  const dom::object& document_;
  const std::string& file_;
  OpGraph graph_;
  std::vector<Recorded> nodes_;
  std::vector<std::uint32_t> top_;
  std::unordered_map<std::string, Group> groups_;
  std::uint32_t first_ = 0, last_ = 0;
  std::uint64_t lost_ = 0, outside_ = 0, seen_ = 0, unsized_ = 0, unknown_collectives_ = 0, guessed_ = 0, messages_ = 0;
  std::uint32_t calls_ = 0;  ///< of operators since the last node
  bool inside_operator_ = false;
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
