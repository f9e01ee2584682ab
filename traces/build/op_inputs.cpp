#include "traces/build/op_inputs.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cstring>

#include "traces/build/collective_text.hpp"
#include "traces/files/json_memory.hpp"

namespace distsim::traces {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kDeepest = 16;

void add_dims(const dom::element& value, TensorShape& shape) {
  dom::array dims;
  if (value.get_array().get(dims)) return;
  for (const dom::element d : dims) {
    std::int64_t n = 0;
    if (!d.get_int64().get(n)) shape.dims.push_back(n);
  }
}

/// [[2, 3], [], [[4], [5]]]: a list of tensors gives a shape for each of its members, one after the other.
void add_shapes(const dom::array& dims, const std::vector<std::string>& types, std::vector<TensorShape>& out) {
  std::uint32_t i = 0;
  for (const dom::element item : dims) {
    const std::string type = i < types.size() ? types[i] : "";
    const std::uint32_t argument = i++;
    dom::array members;
    const bool nested = !item.get_array().get(members) && members.size() > 0 && members.at(0).is_array();
    if (!nested) {
      TensorShape shape{{}, type, -1, argument};
      add_dims(item, shape);
      out.push_back(std::move(shape));
      continue;
    }
    for (const dom::element member : members) {
      TensorShape shape{{}, type, -1, argument};
      add_dims(member, shape);
      out.push_back(std::move(shape));
    }
  }
}

std::string as_text(const dom::element& value) {
  std::string_view text;
  if (!value.get_string().get(text)) return std::string(text);
  return simdjson::minify(value);
}

std::vector<std::string> texts(dom::parser& parser, std::string_view json) {
  std::vector<std::string> out;
  dom::array items;
  if (json.empty() || failed(parser.parse(json.data(), json.size()).get_array().get(items))) return out;
  for (const dom::element item : items) out.push_back(as_text(item));
  return out;
}

void read_shapes(dom::parser& parser, std::string_view dims, std::string_view types, std::vector<TensorShape>& out) {
  const std::vector<std::string> names = texts(parser, types);
  dom::array shapes;
  if (!dims.empty() && !failed(parser.parse(dims.data(), dims.size()).get_array().get(shapes)))
    add_shapes(shapes, names, out);
}

/// Strides are those of the same tensors as the shapes.
void read_strides(dom::parser& parser, std::string_view strides, std::vector<TensorShape>& tensors) {
  std::vector<TensorShape> of;
  read_shapes(parser, strides, "", of);
  if (of.size() != tensors.size()) return;
  for (std::size_t t = 0; t < of.size(); ++t) {
    TensorShape& tensor = tensors[t];
    if (of[t].dims.size() != tensor.dims.size()) continue;
    std::int64_t n = 1;
    bool fits = true;
    for (std::size_t i = 0; i < tensor.dims.size(); ++i)
      fits = fits && tensor.dims[i] >= 0 &&
             !__builtin_mul_overflow(n, of[t].dims[i] == 0 ? std::min<std::int64_t>(1, tensor.dims[i]) : tensor.dims[i],
                                     &n);
    if (fits) tensor.in_memory = n;
  }
}

}  // namespace

std::uint32_t OpInputTable::intern(std::string_view dims, std::string_view types, std::string_view values,
                                   std::string_view out_dims, std::string_view out_types, std::string_view strides) {
  key_.assign(dims);
  for (const std::string_view part : {types, values, out_dims, out_types, strides}) {
    key_ += '|';
    key_ += part;
  }
  const auto known = known_.find(key_);
  if (known != known_.end()) return known->second;
  OpInputs inputs;
  dom::parser parser;
  CHECK(!failed(parser.allocate(4096, kDeepest)));
  read_shapes(parser, dims, types, inputs.tensors);
  read_shapes(parser, out_dims, out_types, inputs.outputs);
  if (!strides.empty()) read_strides(parser, strides, inputs.tensors);
  inputs.values = texts(parser, values);
  job_.inputs.push_back(std::move(inputs));
  const auto index = static_cast<std::uint32_t>(job_.inputs.size() - 1);
  known_.emplace(key_, index);
  return index;
}

std::uint32_t GeometryTable::intern(KernelGeometry geometry, std::string_view grid, std::string_view block) {
  const auto fill = [](std::string_view text, std::array<std::uint32_t, 3>& to) {
    bool cut = false;
    const std::vector<std::int64_t> numbers = integer_list(text, cut);
    for (std::size_t i = 0; i < std::min<std::size_t>(3, numbers.size()); ++i)
      to[i] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(numbers[i], 0, UINT32_MAX));
  };
  fill(grid, geometry.grid);
  fill(block, geometry.block);
  return intern(geometry);
}

std::uint32_t GeometryTable::intern(const KernelGeometry& geometry) {
  std::string key(sizeof(std::uint32_t) * 7 + sizeof(std::uint64_t) + sizeof(float) * 2, '\0');
  char* p = key.data();
  const auto put = [&p](const auto& v) {
    std::memcpy(p, &v, sizeof v);
    p += sizeof v;
  };
  put(geometry.grid);
  put(geometry.block);
  put(geometry.registers_per_thread);
  put(geometry.shared_memory);
  put(geometry.blocks_per_sm);
  put(geometry.occupancy);
  const auto [at, fresh] = known_.emplace(std::move(key), static_cast<std::uint32_t>(job_.geometries.size()));
  if (fresh) job_.geometries.push_back(geometry);
  return at->second;
}

bool total_elements(const std::vector<TensorShape>& tensors, std::optional<std::uint32_t> argument,
                    std::int64_t& elements, graph::DType& dtype) {
  std::int64_t total = 0;
  bool found = false;
  for (const TensorShape& t : tensors) {
    if (argument && t.argument != *argument) continue;
    const auto type = dtype_of_text(t.type);
    if (t.dims.empty() || (!type && found)) continue;
    std::int64_t n = 1;
    for (const std::int64_t d : t.dims) {
      if (d < 0 || __builtin_mul_overflow(n, d, &n)) return false;
    }
    if (__builtin_add_overflow(total, n, &total)) return false;
    if (type && !found) dtype = *type;
    found = found || type.has_value();
  }
  elements = total;
  return found && total > 0;
}

}  // namespace distsim::traces
