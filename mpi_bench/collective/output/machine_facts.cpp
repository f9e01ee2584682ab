#include "mpi_bench/collective/output/machine_facts.hpp"

#include <cstdint>
#include <cstdio>

#include "base/file.hpp"
#include "base/fnv.hpp"

namespace distsim::bench {
namespace {

constexpr std::size_t kMostText = 256 * 1024, kMostProgram = std::size_t{1} << 30;

std::string output_of(const char* command) {
  std::string text;
  FILE* pipe = ::popen(command, "r");
  if (pipe == nullptr) return text;
  char part[4096];
  for (std::size_t got = 0; text.size() < kMostText && (got = std::fread(part, 1, sizeof part, pipe)) > 0;)
    text.append(part, got);
  return ::pclose(pipe) == 0 ? text : std::string();
}

}  // namespace

std::string driver_version() {
  const std::string all = output_of("nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null");
  return all.substr(0, all.find('\n'));
}

std::string topology_text(const std::string& file, bool gpu) {
  if (!file.empty()) {
    const auto text = read_file(file, kMostText);
    return text.ok() ? *text : "";
  }
  return gpu ? output_of("nvidia-smi topo -m 2>/dev/null") : "";
}

std::string program_fingerprint() {
  const auto program = read_file("/proc/self/exe", kMostProgram);
  if (!program.ok()) return "unknown";
  Fnv64 hash;
  hash.add_bytes(*program);
  return hash.hex();
}

}  // namespace distsim::bench
