#include "mpi_bench/collective/output/machine_facts.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>

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

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// A number alone on the first line of a small file.
std::optional<long> number_in(const std::string& path) {
  const auto text = read_file(path, 64);
  if (!text.ok()) return {};
  char* end = nullptr;
  const long value = std::strtol(text->c_str(), &end, 10);
  return end != text->c_str() && value > 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

MachineClocks parse_gpu_clocks(std::string_view line) {
  MachineClocks clocks;
  unsigned sm = 0, memory = 0;
  if (std::sscanf(std::string(line).c_str(), "%u , %u", &sm, &memory) != 2) return clocks;
  clocks.sm_mhz = sm;
  clocks.memory_mhz = memory;
  return clocks;
}

std::uint32_t locked_cpu_mhz(const std::string& folder) {
  constexpr int kMostCores = 4096;
  std::optional<long> locked;
  for (int core = 0; core < kMostCores; ++core) {
    const std::string path = folder + "/cpu" + std::to_string(core) + "/cpufreq/scaling_";
    const auto least = number_in(path + "min_freq"), most = number_in(path + "max_freq");
    if (!least || !most) break;  // no such core, or no such driver
    if (*least != *most || (locked && *locked != *least)) return 0;
    locked = least;
  }
  return static_cast<std::uint32_t>(locked.value_or(0) / 1000);
}

MachineClocks machine_clocks(bool gpu) {
  MachineClocks clocks;
  if (gpu) {
    clocks = parse_gpu_clocks(
        first_line(output_of("nvidia-smi --query-gpu=clocks.sm,clocks.mem --format=csv,noheader,nounits 2>/dev/null")));
  }
  clocks.cpu_locked_mhz = locked_cpu_mhz("/sys/devices/system/cpu");
  return clocks;
}

std::string driver_version() {
  return first_line(output_of("nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null"));
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
