#include "mpi_bench/collective/cases/data_type.hpp"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/check.hpp"
#include "base/text/names/spelling.hpp"

namespace distsim::bench {
namespace {

constexpr std::uint64_t k24Bits = 1u << 24;  // enough for any pattern, and keeps sums over many ranks below 2^53

constexpr DataTypeInfo kTypes[] = {
    {DataType::int8, "int8", 1, 127},          {DataType::uint8, "uint8", 1, 255},
    {DataType::int32, "int32", 4, k24Bits},    {DataType::uint32, "uint32", 4, k24Bits},
    {DataType::int64, "int64", 8, k24Bits},    {DataType::uint64, "uint64", 8, k24Bits},
    {DataType::half, "half", 2, 2048},         {DataType::float32, "float", 4, k24Bits},
    {DataType::float64, "double", 8, k24Bits}, {DataType::bfloat16, "bfloat16", 2, 256},
};

template <class T>
void store(T value, std::byte* out) {
  std::memcpy(out, &value, sizeof value);
}

template <class T>
T load(const std::byte* in) {
  T value;
  std::memcpy(&value, in, sizeof value);
  return value;
}

// IEEE half of an integer 0..2048: all of them fit its 11 significant bits, so nothing is rounded.
std::uint16_t half_bits(std::uint64_t value) {
  if (value == 0) return 0;
  const int exponent = std::bit_width(value) - 1;
  const std::uint64_t fraction = (value << 10 >> exponent) & 0x3ff;
  return static_cast<std::uint16_t>((exponent + 15) << 10 | fraction);
}

double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

// bfloat16 is the upper half of a float; integers up to 256 have their lower half zero.
std::uint16_t bfloat16_bits(std::uint64_t value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
}

double bfloat16_value(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::string real_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

std::span<const DataTypeInfo> data_types() { return kTypes; }

const DataTypeInfo& info_of(DataType type) {
  const auto& info = kTypes[static_cast<std::size_t>(type)];
  CHECK(info.type == type) << "kTypes is out of order";
  return info;
}

Result<DataType> parse_data_type(std::string_view name) {
  std::vector<std::string> names;
  for (const DataTypeInfo& info : kTypes) {
    if (info.name == name) return info.type;
    names.emplace_back(info.name);
  }
  return Error{"found '" + std::string(name) + "', expected a data type", "-d", spelling_hint(name, names)};
}

std::string_view name_of(RedOp op) {
  constexpr std::string_view names[] = {"sum", "prod", "max", "min"};
  return names[static_cast<std::size_t>(op)];
}

Result<RedOp> parse_red_op(std::string_view name) {
  for (RedOp op : kAllRedOps) {
    if (name_of(op) == name) return op;
  }
  if (name == "avg" || name == "mulsum")
    return Error{"found '" + std::string(name) + "', which is not measured, expected sum, prod, max or min", "-o", ""};
  return Error{"found '" + std::string(name) + "', expected a reduction", "-o",
               spelling_hint(name, {"sum", "prod", "max", "min"})};
}

void encode(DataType type, std::uint64_t value, std::byte* out) {
  CHECK(value <= info_of(type).exact_limit) << value;
  switch (type) {
    case DataType::int8:
    case DataType::uint8:
      return store(static_cast<std::uint8_t>(value), out);
    case DataType::int32:
    case DataType::uint32:
      return store(static_cast<std::uint32_t>(value), out);
    case DataType::int64:
    case DataType::uint64:
      return store(value, out);
    case DataType::half:
      return store(half_bits(value), out);
    case DataType::bfloat16:
      return store(bfloat16_bits(value), out);
    case DataType::float32:
      return store(static_cast<float>(value), out);
    case DataType::float64:
      return store(static_cast<double>(value), out);
  }
}

std::string element_text(DataType type, const std::byte* element) {
  switch (type) {
    case DataType::int8:
      return std::to_string(load<std::int8_t>(element));
    case DataType::uint8:
      return std::to_string(load<std::uint8_t>(element));
    case DataType::int32:
      return std::to_string(load<std::int32_t>(element));
    case DataType::uint32:
      return std::to_string(load<std::uint32_t>(element));
    case DataType::int64:
      return std::to_string(load<std::int64_t>(element));
    case DataType::uint64:
      return std::to_string(load<std::uint64_t>(element));
    case DataType::half:
      return real_text(half_value(load<std::uint16_t>(element)));
    case DataType::bfloat16:
      return real_text(bfloat16_value(load<std::uint16_t>(element)));
    case DataType::float32:
      return real_text(load<float>(element));
    case DataType::float64:
      return real_text(load<double>(element));
  }
  CHECK(false) << "unknown data type";
  return "";
}

}  // namespace distsim::bench
