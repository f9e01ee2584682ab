#include "mpi_bench/collective/cases/data_type.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace distsim::bench {
namespace {

std::uint16_t bits16(bench::DataType type, std::uint64_t value) {
  std::byte out[2];
  bench::encode(type, value, out);
  std::uint16_t bits = 0;
  std::memcpy(&bits, out, 2);
  return bits;
}

// IEEE 754 binary16: sign 1, exponent 5 (bias 15), fraction 10. bfloat16 is the upper half of binary32.
TEST(DataType, HalfAndBfloat16BitsByHand) {
  EXPECT_EQ(bits16(bench::DataType::half, 0), 0x0000);
  EXPECT_EQ(bits16(bench::DataType::half, 1), 0x3C00);
  EXPECT_EQ(bits16(bench::DataType::half, 3), 0x4200);     // 1.5 x 2^1
  EXPECT_EQ(bits16(bench::DataType::half, 2047), 0x67FF);  // 1.1111111111b x 2^10
  EXPECT_EQ(bits16(bench::DataType::half, 2048), 0x6800);
  EXPECT_EQ(bits16(bench::DataType::bfloat16, 1), 0x3F80);
  EXPECT_EQ(bits16(bench::DataType::bfloat16, 255), 0x437F);
  EXPECT_EQ(bits16(bench::DataType::bfloat16, 256), 0x4380);
}

TEST(DataType, EveryExactIntegerReadsBackAsItself) {
  for (const bench::DataTypeInfo& info : bench::data_types()) {
    for (std::uint64_t value = 0; value <= info.exact_limit; value += info.exact_limit > 5000 ? 4093 : 1) {
      std::byte element[8];
      bench::encode(info.type, value, element);
      EXPECT_EQ(bench::element_text(info.type, element), std::to_string(value)) << info.name;
    }
  }
}

TEST(DataType, NamesAreThoseOfNcclTests) {
  for (const bench::DataTypeInfo& info : bench::data_types()) EXPECT_EQ(*bench::parse_data_type(info.name), info.type);
  EXPECT_EQ(*bench::parse_data_type("float"), bench::DataType::float32);
  EXPECT_NE(bench::parse_data_type("halve").error().text().find("did you mean 'half'"), std::string::npos);
  EXPECT_EQ(*bench::parse_red_op("prod"), bench::RedOp::prod);
  EXPECT_FALSE(bench::parse_red_op("avg").ok());
  EXPECT_FALSE(bench::parse_red_op("").ok());
}

}  // namespace
}  // namespace distsim::bench
