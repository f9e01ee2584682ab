// Traces with absurd numbers: whatever the readers let through is added up, divided and printed without leaving its
// range (the build with sanitizers sees that).
#include <gtest/gtest.h>

#include "sim/profile/ops/op_flops.hpp"
#include "sim/profile/profile.hpp"
#include "sim/report/profile/profile_report.hpp"
#include "trace_samples.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::profile {
namespace {

std::size_t profiled(const std::string& folder, const std::string& name, const std::string& text) {
  std::size_t read = 0;
  test::for_each_absurd_number(text, 0, [&](const std::string& spoiled) {
    traces::TraceOptions options;
    options.window = 1 << 12;
    const auto job = traces::read_traces({test::write(folder, name, spoiled)}, options);
    if (!job.ok()) return;
    const auto profile = make_profile(*job);
    if (!profile.ok()) return;
    ++read;
    EXPECT_FALSE(report::profile_text(*job, *profile, {}).empty());
    EXPECT_FALSE(report::profile_json(*job, *profile).empty());
    for (const std::string& table : report::profile_table_names())
      EXPECT_FALSE(report::profile_csv(*job, *profile, *report::parse_profile_table(table)).empty());
  });
  return read;
}

TEST(AbsurdNumbers, OfEveryFormat) {
  const std::string folder = test::scratch_dir("absurd_profiles");
  std::vector<std::string> events = test::two_steps();
  events.resize(events.size() / 2);
  events.push_back(test::event("kernel", "Memcpy", "0", "7", 1090, 3, "\"stream\":7,\"bytes\":9007199254740993"));
  EXPECT_GT(profiled(folder, "k.json", test::trace(events)), 100u);
  EXPECT_GT(profiled(folder, "t.csv", test::gputrace_text()), 100u);
  EXPECT_GT(profiled(folder, "h.prof.json", test::prof_json_text(1)), 100u);
}

TEST(AbsurdNumbers, OfConvolutions) {
  traces::OpInputs in;
  in.tensors = {{{8, 3, INT64_MAX, INT64_MAX}, "float"}, {{64, 3, INT64_MAX, 7}, "float"}};
  for (const std::string absurd : {"[9223372036854775807, 9223372036854775807]", "[-9223372036854775808, 1]", "[1]"}) {
    in.values = {"", "", "", absurd, absurd, absurd, "", "", ""};
    EXPECT_GE(op_work("aten::conv2d", in).flops, 0);
  }
}

}  // namespace
}  // namespace distsim::profile
