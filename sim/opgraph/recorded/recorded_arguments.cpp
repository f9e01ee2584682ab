#include "sim/opgraph/recorded/recorded_arguments.hpp"

#include <algorithm>
#include <optional>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/opgraph/call.hpp"
#include "sim/opgraph/readers.hpp"
#include "sim/opgraph/recorded/recorded_fields.hpp"

namespace distsim::opgraph {

namespace dom = simdjson::dom;

/// [id, storage, offset, elements, bytes of each, "cuda:0"], with its shape and type.
Result<std::optional<std::uint32_t>> RecordedArguments::add_tensor(const Recorded& n, const dom::element& value,
                                                                   const dom::element& shape, std::string_view type) {
  dom::array fields, sizes;
  if (missing(value.get_array().get(fields)) || fields.size() < 5) return std::optional<std::uint32_t>();
  if (type.find("nullptr") != type.npos) return std::optional<std::uint32_t>();
  Tensor t;
  const std::optional<Element> element = element_named(type);
  if (!element) return wrong(n, "found the type '" + printable(type) + "', expected one such as Tensor(float)");
  t.element = *element;
  std::uint64_t storage = 0;
  std::int64_t elements = 0, bytes = 0;
  std::string_view device;
  if (!missing(fields.at(1).get_uint64().get(storage))) t.storage = storage;
  if (missing(fields.at(3).get_int64().get(elements))) elements = 0;
  if (!missing(fields.at(4).get_int64().get(bytes)) && bytes > 0 && bytes != element->bytes)
    return wrong(n, "found elements of " + counted(static_cast<std::uint64_t>(bytes), "byte") + " of the type '" +
                        printable(type) + "', expected " + std::to_string(element->bytes));
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
  if (elements > 0 && all != static_cast<double>(elements))
    return wrong(n, "found a tensor of " + std::to_string(elements) + " elements, expected the " +
                        std::to_string(count(all)) + " of its shape");
  graph_.tensors.push_back(std::move(t));
  return std::optional<std::uint32_t>(static_cast<std::uint32_t>(graph_.tensors.size() - 1));
}

Result<Argument> RecordedArguments::read_argument(const Recorded& n, const dom::element& value,
                                                  const dom::element& shape, std::string_view type) {
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

Result<std::vector<Argument>> RecordedArguments::read(const Recorded& n, std::string_view side) {
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

}  // namespace distsim::opgraph
