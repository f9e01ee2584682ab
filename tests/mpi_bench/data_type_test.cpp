#include "mpi_bench/collective/data_type.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace distsim::bench {
namespace {

std::uint16_t bits16(DataType type, std::uint64_t value) {
  std::byte out[2];
  encode(type, value, out);
  std::uint16_t bits = 0;
  std::memcpy(&bits, out, 2);
  return bits;
}

// IEEE 754 binary16: sign 1, exponent 5 (bias 15), fraction 10. bfloat16 is the upper half of binary32.
TEST(DataType, HalfAndBfloat16BitsByHand) {
  EXPECT_EQ(bits16(DataType::half, 0), 0x0000);
  EXPECT_EQ(bits16(DataType::half, 1), 0x3C00);
  EXPECT_EQ(bits16(DataType::half, 3), 0x4200);     // 1.5 x 2^1
  EXPECT_EQ(bits16(DataType::half, 2047), 0x67FF);  // 1.1111111111b x 2^10
  EXPECT_EQ(bits16(DataType::half, 2048), 0x6800);
  EXPECT_EQ(bits16(DataType::bfloat16, 1), 0x3F80);
  EXPECT_EQ(bits16(DataType::bfloat16, 255), 0x437F);
  EXPECT_EQ(bits16(DataType::bfloat16, 256), 0x4380);
}

TEST(DataType, EveryExactIntegerReadsBackAsItself) {
  for (const DataTypeInfo& info : data_types()) {
    for (std::uint64_t value = 0; value <= info.exact_limit; value += info.exact_limit > 5000 ? 4093 : 1) {
      std::byte element[8];
      encode(info.type, value, element);
      EXPECT_EQ(element_text(info.type, element), std::to_string(value)) << info.name;
    }
  }
}

TEST(DataType, NamesAreThoseOfNcclTests) {
  for (const DataTypeInfo& info : data_types()) EXPECT_EQ(*parse_data_type(info.name), info.type);
  EXPECT_EQ(*parse_data_type("float"), DataType::float32);
  EXPECT_NE(parse_data_type("halve").error().text().find("did you mean 'half'"), std::string::npos);
  EXPECT_EQ(*parse_red_op("prod"), RedOp::prod);
  EXPECT_FALSE(parse_red_op("avg").ok());
  EXPECT_FALSE(parse_red_op("").ok());
}

}  // namespace
}  // namespace distsim::bench
