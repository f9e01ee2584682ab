// Laws that every registered op model keeps, from its entry alone: its example and the fields of its shape. A new op is
// tested here without a line.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "device_fixtures.hpp"
#include "opmodels/csv/op_row.hpp"
#include "opmodels/measured/op_point.hpp"
#include "opmodels/registry.hpp"

namespace distsim::opmodels {
namespace {

bool is_predicted(const OpModelEntry& entry) {
  return graph::work_of(entry.example) == graph::Work::kernel || graph::work_of(entry.example) == graph::Work::copy;
}

std::vector<OpModelEntry> predicted() {
  std::vector<OpModelEntry> out;
  for (const OpModelEntry& entry : op_model_entries()) {
    if (is_predicted(entry)) out.push_back(entry);
  }
  return out;
}

bool lacks_the_type(const Result<graph::Cost>& cost) {
  return !cost.ok() && cost.error().what.find("expected a matrix type") != std::string::npos;
}

/// Visits the fields of a shape and of the items of its lists.
template <class Visit>
struct Deep {
  Visit& visit;
  template <class Value>
  void operator()(const graph::Field& field, Value& value) {
    visit(field, value);
  }
  template <class Item>
  void operator()(const graph::Field& field, std::vector<Item>& items) {
    visit(field, items);
    if constexpr (std::is_class_v<Item>) {
      for (Item& item : items) graph::for_each_field(*this, item);
    }
  }
};
template <class Visit>
void for_each_value(graph::Op& op, Visit visit) {
  std::visit([&](auto& shape) { graph::for_each_field(Deep<Visit>{visit}, shape); }, op);
}

/// Copies of an op, each with one change: `change(field, value)` says whether it changed anything.
template <class Change>
std::vector<std::pair<std::string, graph::Op>> changed(const graph::Op& op, Change change) {
  std::size_t values = 0;
  graph::Op counted = op;
  for_each_value(counted, [&](const graph::Field&, auto&) { ++values; });
  std::vector<std::pair<std::string, graph::Op>> out;
  for (std::size_t place = 0; place < values; ++place) {
    graph::Op copy = op;
    std::size_t at = 0;
    std::string name;
    for_each_value(copy, [&](const graph::Field& field, auto& value) {
      if (at++ == place && change(field, value)) name = field.name;
    });
    if (!name.empty()) out.emplace_back(name, copy);
  }
  return out;
}

/// Changes of numbers only.
template <class Change>
auto of_numbers(Change change) {
  return [change]<class Value>(const graph::Field& field, Value& value) {
    if constexpr (std::same_as<Value, std::int64_t> || std::same_as<Value, double>)
      return change(field, value);
    else
      return false;
  };
}

TEST(OpLaws, AnExampleHasAFinitePositivePriceOnEveryDevice) {
  for (const auto& [gpu, spec] : measured_devices()) {
    const OpModels models = *OpModels::create(spec);
    for (const OpModelEntry& entry : predicted()) {
      const auto cost = models.price(entry.example);
      if (lacks_the_type(cost)) continue;
      ASSERT_TRUE(cost.ok()) << gpu << " " << cost.error().text();
      EXPECT_GT(cost->mean.ps(), 0) << gpu << " " << entry.kind;
      EXPECT_LE(cost->low, cost->mean) << entry.kind;
      EXPECT_LE(cost->mean, cost->high) << entry.kind;
      EXPECT_EQ(cost->basis, entry.basis) << entry.kind;
      EXPECT_EQ(models.price(entry.example)->mean, cost->mean) << entry.kind;
    }
  }
}

TEST(OpLaws, EntriesSayWhatTheyAre) {
  for (const OpModelEntry& entry : op_model_entries()) {
    EXPECT_EQ(graph::kind_of(entry.example), entry.kind);
    EXPECT_FALSE(entry.sentence.empty()) << entry.kind;
    EXPECT_TRUE(!is_predicted(entry) || !entry.source.empty()) << entry.kind;
  }
  ASSERT_EQ(op_model_registry().size(), op_model_entries().size());
}

TEST(OpLaws, APriceNeverFallsWhenASizeGrows) {
  const auto doubled = of_numbers([](const graph::Field& field, auto& value) {
    const bool grows = field.role == graph::Role::size && 2 * static_cast<double>(value) <= field.most;
    if (grows) value *= 2;
    return grows;
  });
  for (const char* gpu : {"V100-SXM2-32GB", "A100-SXM4-80GB", "H100-SXM5-80GB", "L40S", "B200"}) {
    const OpModels models = *OpModels::create(measured_devices().at(gpu));
    for (const OpModelEntry& entry : predicted()) {
      const auto before = models.price(entry.example);
      if (lacks_the_type(before)) continue;
      const auto larger = changed(entry.example, doubled);
      EXPECT_FALSE(larger.empty()) << entry.kind << " has no size";
      for (const auto& [field, op] : larger) {
        const auto after = models.price(op);
        ASSERT_TRUE(after.ok()) << after.error().text();
        EXPECT_GE(after->mean, before->mean) << gpu << " " << entry.kind << " with " << field << " doubled";
      }
    }
  }
}

/// Tf32 permits less precision and does not ask for it, so that a library may always run the kernels of fp32.
TEST(OpLaws, Tf32IsNeverSlowerThanFp32) {
  for (const auto& [gpu, spec] : measured_devices()) {
    const OpModels models = *OpModels::create(spec);
    const auto expect = [&](auto op) {
      op.dtype = graph::DType::tf32;
      const auto tf32 = models.price(op);
      if (lacks_the_type(tf32)) return;
      ASSERT_TRUE(tf32.ok()) << tf32.error().text();
      op.dtype = graph::DType::fp32;
      EXPECT_LE(tf32->mean, models.price(op)->mean) << gpu << " " << graph::kind_of(graph::Op(op));
    };
    for (const std::int64_t side : {1, 3, 7}) {
      for (const std::int64_t channels : {3, 64, 512}) {
        graph::Conv2d conv{64, channels, 56, 56, 256, side, side, 1, side / 2};
        for (const bool channels_last : {false, true}) {
          conv.channels_last = channels_last;
          for (const graph::Pass pass : {graph::Pass::forward, graph::Pass::backward}) {
            conv.pass = pass;
            expect(conv);
          }
        }
        expect(graph::Gemm{1, 16 * side, channels, 1000, graph::DType::fp32});
        expect(graph::Gemm{16, 1024, channels, 64 * side, graph::DType::fp32});
      }
    }
  }
}

TEST(OpLaws, RefusesWhatIsOutOfAFieldsBoundsAndNamesTheField) {
  const OpModels models = *OpModels::create(measured_devices().at("A100-SXM4-80GB"));
  const auto below = of_numbers([](const graph::Field& field, auto& value) {
    value = static_cast<std::remove_reference_t<decltype(value)>>(field.least - 1);
    return field.bounded;
  });
  const auto above = of_numbers([](const graph::Field& field, auto& value) {
    value = static_cast<std::remove_reference_t<decltype(value)>>(std::min(field.most, 1e18) * 2);
    return field.bounded && std::isfinite(field.most);
  });
  const auto no_number = []<class Value>(const graph::Field& field, Value& value) {
    if constexpr (std::same_as<Value, double>) value = std::nan("");
    return std::same_as<Value, double> && field.bounded;
  };
  const auto refused = [&](const OpModelEntry& entry, const auto& ops) {
    for (const auto& [field, op] : ops) {
      const auto cost = models.price(op);
      ASSERT_FALSE(cost.ok()) << graph::describe(op);
      EXPECT_NE(cost.error().what.find(": " + std::string(entry.kind) + "." + field + ": found "), std::string::npos)
          << field << ": " << cost.error().text();
    }
  };
  for (const OpModelEntry& entry : predicted()) {
    refused(entry, changed(entry.example, below));
    refused(entry, changed(entry.example, above));
    refused(entry, changed(entry.example, no_number));
  }
}

TEST(OpLaws, PricesTheListedPassesAndNoOther) {
  const OpModels models = *OpModels::create(measured_devices().at("H100-SXM5-80GB"));
  for (const OpModelEntry& entry : predicted()) {
    for (std::size_t i = 0; i < graph::kNames<graph::Pass>.size(); ++i) {
      const auto pass = static_cast<graph::Pass>(i);
      const bool listed = std::find(entry.passes.begin(), entry.passes.end(), pass) != entry.passes.end();
      const auto other = changed(entry.example, [&]<class Value>(const graph::Field& field, Value& value) {
        if constexpr (std::same_as<Value, graph::Pass>) value = pass;
        return std::same_as<Value, graph::Pass> && field.role == graph::Role::setting;
      });
      for (const auto& [field, op] : other) EXPECT_EQ(models.price(op).ok(), listed) << graph::describe(op);
    }
  }
}

TEST(OpLaws, AnOpHasAPlaceAmongMeasuredOnes) {
  for (const OpModelEntry& entry : op_model_entries())
    EXPECT_EQ(point_of(entry.example).has_value(), is_predicted(entry)) << entry.kind;
}

/// Collects the row of a shapes file that holds an op's fields.
struct RowWriter {
  std::string header = "gpu,op,dtype", row;
  void add(const graph::Field& field, const std::string& text) {
    if (field.role == graph::Role::note) return;
    header += "," + std::string(field.column);
    row += "," + text;
  }
  void operator()(const graph::Field& field, const std::int64_t& value) { add(field, std::to_string(value)); }
  void operator()(const graph::Field& field, const double& value) { add(field, std::to_string(value)); }
  void operator()(const graph::Field& field, const bool& value) { add(field, value ? "1" : "0"); }
  void operator()(const graph::Field&, const graph::DType& value) { dtype = graph::name_of(value); }
  void operator()(const graph::Field&, const graph::Pass&) {}
  void operator()(const graph::Field&, const Duration&) {}
  template <graph::Named Enum>
  void operator()(const graph::Field& field, const Enum& value) {
    add(field, std::string(graph::name_of(value)));
  }
  template <class Item>
  void operator()(const graph::Field&, const std::vector<Item>&) {
    lists = true;
  }
  std::string dtype = "fp32";
  bool lists = false;
};

TEST(OpLaws, ARowWithTheFieldsOfAnOpIsThatOp) {
  for (const OpModelEntry& entry : predicted()) {
    RowWriter writer;
    std::visit([&](const auto& shape) { graph::for_each_field(writer, shape); }, entry.example);
    if (writer.lists) continue;  // tables have columns of their own: cost_csv_test.cpp
    const bool is_copy = graph::work_of(entry.example) == graph::Work::copy;
    const std::string op = is_copy ? "copy_h2d" : std::string(entry.kind);
    std::istringstream in(writer.header + "\ngpu," + op + "," + writer.dtype + writer.row + "\n");
    CsvReader reader = *CsvReader::open(in, std::string(entry.kind));
    const auto columns = OpColumns::from(reader);
    ASSERT_TRUE(columns.ok()) << columns.error().text();
    const auto parsed = op_from_row(*columns, **reader.next());
    ASSERT_TRUE(parsed.ok()) << entry.kind << " " << parsed.error().text();
    ASSERT_EQ(parsed->ops.front().index(), entry.example.index()) << entry.kind;
    EXPECT_EQ(point_of(parsed->ops.front())->at, point_of(entry.example)->at) << entry.kind;
  }
}

}  // namespace
}  // namespace distsim::opmodels
