// The key of an op, for every kind of op from its fields.
#include "sim/graph/op_key.hpp"

#include <gtest/gtest.h>

#include <set>

namespace distsim::graph {
namespace {

/// Changes the field at one place.
class Change {
 public:
  explicit Change(std::size_t place) : place_(place) {}
  template <class Value>
  void operator()(const Field&, Value& value) {
    if (place_-- == 0) change(value);
  }

 private:
  static void change(std::int64_t& value) { value += 7; }
  static void change(double& value) { value += 0.5; }
  static void change(bool& value) { value = !value; }
  static void change(Duration& value) { value = value + Duration::nanoseconds(7); }
  template <Named Enum>
  static void change(Enum& value) {
    value = static_cast<Enum>((static_cast<std::size_t>(value) + 1) % kNames<Enum>.size());
  }
  template <class Item>
  static void change(std::vector<Item>& value) {
    value.emplace_back();
  }
  std::size_t place_;
};

std::size_t fields_of(const Op& op) {
  std::size_t count = 0;
  std::visit([&](const auto& shape) { for_each_field([&](const Field&, const auto&) { ++count; }, shape); }, op);
  return count;
}

TEST(OpKey, EveryFieldOfEveryKindCounts) {
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    const Op usual = default_op(kind);
    const auto key = key_of(usual);
    if (!key) continue;
    std::set<OpKey> keys{*key};
    for (std::size_t place = 0; place < fields_of(usual); ++place) {
      Op op = usual;
      std::visit([&](auto& shape) { for_each_field(Change(place), shape); }, op);
      EXPECT_TRUE(keys.insert(key_of(op).value()).second) << describe(op) << ", field " << place;
    }
  }
}

TEST(OpKey, KindsWithoutFieldsDiffer) {
  EXPECT_NE(key_of(Absent{}), key_of(Gemm{0, 0, 0, 0, DType::fp64}));
  EXPECT_NE(key_of(HostWork{}), key_of(Measured{}));
}

TEST(OpKey, ShapesWithListsHaveNone) {
  EXPECT_FALSE(key_of(EmbeddingBag{}));
  EXPECT_FALSE(key_of(Collective{}));
}

}  // namespace
}  // namespace distsim::graph
