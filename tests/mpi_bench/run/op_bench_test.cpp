// op_bench as a user calls it, on machines with and without a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "command.hpp"

namespace distsim::bench {
namespace {

using test::Finished;

class OpBench : public ::testing::Test {
 protected:
  ~OpBench() override { std::filesystem::remove_all(dir_); }
  Finished run(const std::string& flags) { return test::run_command(std::string(BINARY) + " " + flags, dir_); }
  const std::string dir_ = test::scratch_dir("op_bench");
};

TEST_F(OpBench, ListNeedsNoGpu) {
  const Finished f = run("--list --grid smoke --ops copy_h2d,embedding_bag --dtypes int8");
  EXPECT_EQ(f.code, 0) << f.err;
  EXPECT_EQ(f.out.rfind("op,pass,dtype,shape,extra,operand_bytes,flops\ncopy_h2d,fwd,int8,1x256,,256,0\n", 0), 0u)
      << f.out;
}

TEST_F(OpBench, AFullStandardOutputIsSaid) {
  for (const std::string flags : {"--help", "--list --grid smoke"}) {
    const Finished f = test::run_command("{ " + std::string(BINARY) + " " + flags + " >/dev/full; }", dir_);
    EXPECT_EQ(f.code, 2) << flags;
    EXPECT_EQ(f.err, "op_bench: cannot write to standard output: No space left on device\n");
  }
}

TEST_F(OpBench, MistakesAreOneLineAndCodeTwo) {
  const Finished f = run("--ops lnear --list");
  EXPECT_EQ(f.code, 2);
  EXPECT_EQ(f.out, "");
  EXPECT_EQ(f.err, "op_bench: --ops: found 'lnear', expected an op; did you mean 'linear'?\n");
  EXPECT_EQ(run("--relative-error 0").code, 2);
  EXPECT_EQ(run("--nonsense").code, 2);
}

/// Without a GPU: one line, nothing written. With one: the smoke grid of two cheap ops is measured, and a second run
/// finds everything there.
TEST_F(OpBench, MeasuresOrSaysWhyNot) {
  const std::string flags = "--grid smoke --ops add,copy_d2d --max-seconds 0.1 --out " + dir_;
  const Finished f = run(flags);
  const std::string csv = dir_ + "/elementwise_norm_softmax.csv";
  if (f.code == 2) {
    EXPECT_EQ(std::count(f.err.begin(), f.err.end(), '\n'), 1) << f.err;
    EXPECT_EQ(f.err.rfind("op_bench: no GPU: ", 0), 0u) << f.err;
    EXPECT_FALSE(std::filesystem::exists(csv));
    return;
  }
  ASSERT_EQ(f.code, 0) << f.err;
  const std::string text = *read_file(csv, 1 << 20);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 12 + 7);
  EXPECT_NE(run(flags).out.find("0 measured"), std::string::npos);
  EXPECT_EQ(*read_file(csv, 1 << 20), text);
}

}  // namespace
}  // namespace distsim::bench
