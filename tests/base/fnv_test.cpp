#include "base/fnv.hpp"

#include <gtest/gtest.h>

namespace distsim {
namespace {

std::uint64_t of_bytes(std::string_view bytes) {
  Fnv64 hash;
  hash.add_bytes(bytes);
  return hash.value();
}

// The test vectors of the algorithm's authors.
TEST(Fnv, PublishedValues) {
  EXPECT_EQ(of_bytes(""), 0xcbf29ce484222325ull);
  EXPECT_EQ(of_bytes("a"), 0xaf63dc4c8601ec8cull);
  EXPECT_EQ(of_bytes("foobar"), 0x85944171f73967e8ull);
  EXPECT_EQ(fnv32(""), 0x811c9dc5u);
  EXPECT_EQ(fnv32("a"), 0xe40c292cu);
  EXPECT_EQ(fnv32("foobar"), 0xbf9cf968u);
}

TEST(Fnv, AWordIsItsBytesLeastFirst) {
  Fnv64 word;
  word.add_word(0x0807060504030201ull);
  EXPECT_EQ(word.value(), of_bytes("\x01\x02\x03\x04\x05\x06\x07\x08"));
}

TEST(Fnv, WhereATextEndsCounts) {
  Fnv64 a, b;
  a.add(std::string_view("ab"));
  a.add(std::string_view("c"));
  b.add(std::string_view("a"));
  b.add(std::string_view("bc"));
  EXPECT_NE(a.value(), b.value());
}

TEST(Fnv, NumbersThatDifferInTheLastBitDiffer) {
  Fnv64 a, b;
  a.add(0.1);
  b.add(0.1 + 1e-17 * 2);
  EXPECT_NE(a.value(), b.value());
  EXPECT_EQ(a.hex().size(), 16u);
}

}  // namespace
}  // namespace distsim
