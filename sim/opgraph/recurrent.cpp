// Recurrent layers, which cuDNN and MIOpen run in one call of all steps of all layers.
#include <algorithm>
#include <cmath>
#include <string>

#include "base/text/counted.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/opgraph/kernels.hpp"
#include "sim/opgraph/makers.hpp"

namespace distsim::opgraph {
namespace {

/// Where arguments of a call stand. The input and the list of weights are the first two; tensors of values stand before the mode,
/// dropout's state and what the forward pass keeps behind it.
struct RecurrentPlaces {
  std::string_view op;
  std::size_t hx, mode;
  bool projects;  ///< the size of the projection stands behind that of the state
  bool backward;
};
constexpr RecurrentPlaces kRecurrentPlaces[] = {
    // input, weights, stride, buffer, hx, cx, mode, ...
    {"_cudnn_rnn", 4, 6, true, false},
    // input, weights, stride, hx, cx, mode, ...
    {"miopen_rnn", 3, 5, false, false},
    // input, weights, stride, buffer, hx, cx, output, gradients of output, hy and cy, mode, ...
    {"_cudnn_rnn_backward", 4, 10, true, true},
    {"miopen_rnn_backward", 4, 10, false, true},
};

const RecurrentPlaces& recurrent_places(const Call& call) {
  const auto* const at = std::ranges::find(kRecurrentPlaces, base_name(call.node().op), &RecurrentPlaces::op);
  return at == std::end(kRecurrentPlaces) ? kRecurrentPlaces[0] : *at;
}

/// From the mode on: mode, hidden, [projection,] layers, batch_first, dropout, train, bidirectional, sizes of packed batches.
struct RecurrentCall {
  int gates = 0;  ///< 4: LSTM, 3: GRU, 1: a plain recurrence
  std::int64_t batch = 0, length = 0, input = 0, hidden = 0, projection = 0, layers = 1, directions = 1;
  std::int64_t state() const { return projection > 0 ? projection : hidden; }
  std::int64_t outputs() const { return state() * directions; }
};

bool is_mode(double mode) { return mode >= 0 && mode <= 3 && mode == std::floor(mode); }

std::optional<RecurrentCall> recurrent_call(const Call& call) {
  constexpr int kGates[] = {1, 1, 4, 3};  // by the modes of both libraries: ReLU, tanh, LSTM, GRU
  const RecurrentPlaces& places = recurrent_places(call);
  const double mode = call.number_at(places.mode, -1);
  const auto x = call.tensor_at(0);
  if (!x || !is_mode(mode)) return std::nullopt;
  const Dims dims = call.sizes().dims(*x);
  if (dims.size() != 3 || *std::ranges::min_element(dims) <= 0) return std::nullopt;
  const std::size_t layers = places.mode + (places.projects ? 3 : 2);
  const auto size = [&](std::size_t place) { return std::max(0.0, call.number_at(place, 0)); };
  const bool batch_first = size(layers + 1) != 0;
  RecurrentCall out;
  out.gates = kGates[static_cast<std::size_t>(mode)];
  out.batch = dims[batch_first ? 0 : 1], out.length = dims[batch_first ? 1 : 0], out.input = dims[2];
  out.hidden = count(size(places.mode + 1));
  out.projection = places.projects && size(places.mode + 2) >= 1 ? count(size(places.mode + 2)) : 0;
  out.layers = count(size(layers));
  out.directions = size(layers + 4) != 0 ? 2 : 1;
  return out;
}

/// Layers that no op of the models is: plain recurrences, and LSTMs whose state is projected. The kernels that cuDNN's
/// standard algorithm runs: a product over all steps, then for each step that of the state, what the gates do, and the
/// projection; backward the same in reverse, and two products for the weights.
Ops layers_by_step(const RecurrentCall& c, graph::DType dtype, bool backward) {
  constexpr std::int64_t kMostKernels = 200'000;
  constexpr double kGateFlops = 20;  // a special function, as of tanh
  if (c.length > kMostKernels / (3 * c.directions * c.layers)) return std::nullopt;
  std::vector<graph::Op> out;
  const auto product = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    graph::Gemm op;
    op.m = m, op.n = n, op.k = k, op.dtype = dtype;
    op.pass = backward ? graph::Pass::backward_data : graph::Pass::forward;
    out.emplace_back(op);
  };
  const std::int64_t width = c.gates * c.hidden, rows = c.batch * c.length;
  graph::Elementwise gates;
  gates.elements = c.batch * width, gates.dtype = dtype, gates.reads = 2, gates.writes = 1, gates.flops = kGateFlops;
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    const std::int64_t input = layer == 0 ? c.input : c.outputs();
    for (std::int64_t d = 0; d < c.directions; ++d) {
      if (!backward) product(rows, width, input);
      for (std::int64_t step = 0; step < c.length; ++step) {
        if (backward && c.projection > 0) product(c.batch, c.hidden, c.projection);
        if (!backward) product(c.batch, width, c.state());
        out.emplace_back(gates);
        if (backward) product(c.batch, c.state(), width);
        if (!backward && c.projection > 0) product(c.batch, c.projection, c.hidden);
      }
      if (!backward) continue;
      product(rows, input, width);
      product(width, input, rows);
      product(width, c.state(), rows);
      if (c.projection > 0) product(c.projection, c.hidden, rows);
    }
  }
  return out;
}

Ops recurrent_of(const Call& call, graph::Pass pass) {
  constexpr std::int64_t kMostLayers = 1000;
  std::optional<RecurrentCall> c = recurrent_call(call);
  if (!c) return std::nullopt;
  const double results = product({c->batch, c->length, c->outputs()});
  if (pass == graph::Pass::forward && !call.outputs().empty() && product(call.out()) != results) return std::nullopt;
  c->layers = std::min(c->layers, kMostLayers);
  const graph::DType dtype = call.type();
  if (c->gates == 1 || c->projection > 0) return layers_by_step(*c, dtype, pass != graph::Pass::forward);
  graph::Recurrent op;
  op.cell = c->gates == 4 ? graph::Cell::lstm : graph::Cell::gru;
  op.batch = c->batch, op.length = c->length, op.input = c->input, op.hidden = c->hidden;
  op.directions = c->directions;
  op.dtype = dtype;
  op.pass = pass;
  std::vector<graph::Op> out{op};
  op.input = op.hidden * op.directions;
  for (std::int64_t i = 1; i < c->layers; ++i) out.emplace_back(op);
  return out;
}

/// Of each layer and direction: weights of the input and of the state, two biases or none, and the projection of an LSTM.
std::vector<Dims> weights_of_layers(const RecurrentCall& c, bool biases) {
  std::vector<Dims> out;
  const std::int64_t width = c.gates * c.hidden;
  for (std::int64_t i = 0; i < c.layers * c.directions; ++i) {
    out.push_back({width, i < c.directions ? c.input : c.outputs()});
    out.push_back({width, c.state()});
    if (biases) out.insert(out.end(), 2, {width});
    if (c.projection > 0) out.push_back({c.projection, c.hidden});
  }
  return out;
}

/// "2 layers of 650 in both directions".
std::string layers_text(const RecurrentCall& c) {
  return counted(static_cast<std::uint64_t>(c.layers), "layer") + " of " + std::to_string(c.hidden) +
         (c.directions == 2 ? " in both directions" : "");
}

std::string of_recurrent_weights(const Call& call, const RecurrentCall& c) {
  if (call.node().inputs.size() < 2) return "";
  const std::vector<std::uint32_t>& weights = call.node().inputs[1].tensors;
  const std::int64_t least = c.projection > 0 ? 3 : 2, stacked = c.layers * c.directions;
  const auto found = static_cast<std::int64_t>(weights.size());
  const bool biases = found == stacked * (least + 2);
  if (!biases && found != stacked * least)
    return "found " + counted(weights.size(), "weight") + " of " + layers_text(c) + ", expected " +
           std::to_string(stacked * least) + ", or with biases " + std::to_string(stacked * (least + 2));
  const auto of_each = static_cast<double>(found / stacked);
  if (const double stated = call.number_at(2, of_each); stated != of_each)
    return "found " + counted(weights.size(), "weight") + " of " + layers_text(c) + ", " +
           format_quantity(of_each, Dimension::none) + " for each layer and direction, expected " +
           format_quantity(stated, Dimension::none) + " for each, as stated";
  const std::vector<Dims> expected = weights_of_layers(c, biases);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Dims dims = call.sizes().dims(weights[i]);
    if (dims != expected[i])
      return "found weight " + std::to_string(i) + " of " + text_of(dims) + " of " + layers_text(c) + ", expected " +
             text_of(expected[i]);
  }
  return "";
}

/// What the forward pass gives: the outputs of all steps, and the last states.
struct RecurrentResults {
  Dims output, hy, cy;
};

RecurrentResults results_of(const Call& call, const RecurrentCall& c) {
  RecurrentResults out;
  out.output = call.sizes().dims(*call.tensor_at(0));
  out.output.back() = c.outputs();
  out.hy = {c.layers * c.directions, c.batch, c.state()};
  out.cy = {c.layers * c.directions, c.batch, c.hidden};
  return out;
}

/// States that are given, and backward the outputs and the gradients of all results.
std::string of_recurrent_arguments(const Call& call, const RecurrentPlaces& places, const RecurrentResults& forward) {
  struct Place {
    std::size_t place;
    const char* what;
    const Dims* dims;
  };
  std::vector<Place> all{{places.hx, "a state", &forward.hy}, {places.hx + 1, "a state of cells", &forward.cy}};
  if (places.backward) {
    all.push_back({places.hx + 2, "an output", &forward.output});
    all.push_back({places.hx + 3, "a gradient of the output", &forward.output});
    all.push_back({places.hx + 4, "a gradient of the state", &forward.hy});
    all.push_back({places.hx + 5, "a gradient of the state of cells", &forward.cy});
  }
  for (const Place& p : all) {
    const auto t = call.tensor_at(p.place);
    if (t && call.sizes().elements(*t) >= 1 && call.sizes().dims(*t) != *p.dims)
      return std::string("found ") + p.what + " of " + text_of(call.sizes().dims(*t)) + ", expected " +
             text_of(*p.dims);
  }
  return "";
}

/// Of the forward pass the outputs, and states where there are any, before what the backward pass needs.
std::string of_recurrent_results(const Call& call, const RecurrentResults& forward) {
  for (const std::uint32_t t : values_of_recurrent(call).results) {
    const Dims dims = call.sizes().dims(t);
    const bool first = t == call.outputs()[0];
    if (first ? dims == forward.output : dims == forward.hy || dims == forward.cy) continue;
    return "found a result of " + text_of(dims) + ", expected " +
           (first ? text_of(forward.output) : "a state of " + text_of(forward.hy));
  }
  return "";
}

/// Gradients of the input, the states and the weights, in this order; those that are not asked for are missing.
std::string of_recurrent_gradients(const Call& call, const RecurrentPlaces& places) {
  std::vector<std::uint32_t> arguments{*call.tensor_at(0)};
  for (const std::size_t place : {places.hx, places.hx + 1})
    if (const auto state = call.tensor_at(place)) arguments.push_back(*state);
  const std::vector<std::uint32_t>& weights = call.node().inputs[1].tensors;
  arguments.insert(arguments.end(), weights.begin(), weights.end());
  std::size_t next = 0;
  for (const std::uint32_t t : values_of_recurrent(call).results) {
    const Dims dims = call.sizes().dims(t);
    while (next < arguments.size() && call.sizes().dims(arguments[next]) != dims) ++next;
    if (next++ >= arguments.size())
      return "found a gradient of " + text_of(dims) +
             ", expected the sizes of the input, the states and the weights, in their order";
  }
  return "";
}

}  // namespace

Ops make_recurrent(const Call& call, double) { return recurrent_of(call, graph::Pass::forward); }
Ops make_recurrent_backward(const Call& call, double) { return recurrent_of(call, graph::Pass::backward); }

RecurrentValues values_of_recurrent(const Call& call) {
  constexpr std::size_t kDims = 3;  // of outputs and states, not of what the forward pass keeps for the backward pass
  const RecurrentPlaces& places = recurrent_places(call);
  const auto empty = [&](std::uint32_t t) { return call.sizes().elements(t) < 1; };
  RecurrentValues out;
  for (std::size_t i = 0; i < std::min(places.mode, call.node().inputs.size()); ++i)
    for (const std::uint32_t t : call.node().inputs[i].tensors)
      if (!empty(t)) out.arguments.push_back(t);
  for (const std::uint32_t t : call.outputs())
    if (!empty(t) && (places.backward || t == call.outputs()[0] || call.sizes().dims(t).size() == kDims))
      out.results.push_back(t);
  return out;
}

std::string contradiction_of_recurrent(const Call& call) {
  constexpr std::size_t kPackedBehind = 5;  // of the layers
  const RecurrentPlaces& places = recurrent_places(call);
  if (const double mode = call.number_at(places.mode, -1); !is_mode(mode))
    return "found " + format_quantity(mode, Dimension::none) +
           " as the mode, expected 0 (ReLU), 1 (tanh), 2 (LSTM) or 3 (GRU)";
  if (!call.list_at(places.mode + (places.projects ? 3 : 2) + kPackedBehind).empty()) return "";  // of several lengths
  const std::optional<RecurrentCall> c = recurrent_call(call);
  if (!c) return "found an input of " + text_of(call.in(0)) + ", expected steps, samples and a width";
  if (!call.sizes().type(*call.tensor_at(0)).floating) return "found an input of whole numbers, expected real ones";
  if (const std::string why = of_recurrent_weights(call, *c); !why.empty()) return why;
  const RecurrentResults forward = results_of(call, *c);
  if (const std::string why = of_recurrent_arguments(call, places, forward); !why.empty()) return why;
  return places.backward ? of_recurrent_gradients(call, places) : of_recurrent_results(call, forward);
}

}  // namespace distsim::opgraph
