#include "sim/study/plan/experiment_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/text/markup.hpp"
#include "sim/config/config.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/pipeline/pipeline.hpp"

namespace distsim::study {
namespace {

bool is_plain_text(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.front() == '-' || text.front() == '~')
    return false;
  if (text == "null" || text == "Null" || text == "NULL") return false;
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view(" ._/+-%()").find(c) != std::string_view::npos;
  };
  return std::ranges::all_of(text, plain);
}

std::string quoted_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return with_hidden_escaped(out + "\"");  // \uXXXX is a character of YAML, too
}

std::string scalar_text(const ConfigNode& node) {
  const bool negative = !node.quoted && node.scalar.size() > 1 && node.scalar.front() == '-' &&
                        is_plain_text(std::string_view(node.scalar).substr(1));
  return (!node.quoted && is_plain_text(node.scalar)) || negative ? node.scalar : quoted_text(node.scalar);
}

std::string key_text(const std::string& key) { return is_plain_text(key) ? key : quoted_text(key); }

}  // namespace

std::string flow_of(const ConfigNode& node) {
  std::string out;
  switch (node.kind) {
    case ConfigNode::Kind::null:
      return "null";
    case ConfigNode::Kind::scalar:
      return scalar_text(node);
    case ConfigNode::Kind::sequence:
      for (const ConfigNode& item : node.items) out += (out.empty() ? "" : ", ") + flow_of(item);
      return "[" + out + "]";
    case ConfigNode::Kind::map:
      break;
  }
  for (const ConfigNode::Entry& entry : node.entries)
    out += (out.empty() ? "" : ", ") + key_text(entry.key) + ": " + flow_of(entry.value);
  return "{" + out + "}";
}

namespace {

void append_block(const ConfigNode& map, int indent, std::string& out) {
  for (const ConfigNode::Entry& entry : map.entries) {
    out += std::string(static_cast<std::size_t>(indent), ' ') + key_text(entry.key) + ":";
    if (entry.value.kind == ConfigNode::Kind::map && !entry.value.entries.empty()) {
      out += "\n";
      append_block(entry.value, indent + 2, out);
    } else {
      out += " " + flow_of(entry.value) + "\n";
    }
  }
}

/// Relative paths to files that exist become absolute ones.
void make_paths_absolute(ConfigNode& node) {
  for (ConfigNode& item : node.items) make_paths_absolute(item);
  for (ConfigNode::Entry& entry : node.entries) make_paths_absolute(entry.value);
  const std::string& text = node.scalar;
  const bool path = node.kind == ConfigNode::Kind::scalar && !text.empty() && text.front() != '/' &&
                    (text.find('/') != std::string::npos || text.find('.') != std::string::npos);
  if (!path) return;
  std::error_code error;
  const std::filesystem::path file = std::filesystem::path(config::folder_of_value(node)) / text;
  if (!std::filesystem::is_regular_file(file, error) || error) return;
  const std::filesystem::path absolute = std::filesystem::absolute(file, error).lexically_normal();
  if (!error) node.scalar = absolute.string();
}

Result<Duration> iteration_of(const ConfigNode& parsed) {
  TRY_ASSIGN(const config::Experiment e, config::resolve(parsed));
  pipeline::Passes passes;
  pipeline::CostModelCache cache;
  TRY_ASSIGN(const pipeline::Prediction p,
             pipeline::predict(e, passes, cache, pipeline::kPlayedMicroSteps, report::Detail::figures));
  return p.report.iteration;
}

}  // namespace

std::string yaml_of(const ConfigNode& node) {
  if (node.kind != ConfigNode::Kind::map) return flow_of(node) + "\n";
  std::string out;
  append_block(node, 0, out);
  return out;
}

Result<std::string> experiment_text(const std::string& config, const std::vector<std::string>& sets) {
  TRY_ASSIGN(ConfigNode root, config::parse_experiment(config, sets));
  make_paths_absolute(root);
  return yaml_of(root);
}

Result<void> write_experiment(const std::string& path, const std::string& config, const std::vector<std::string>& sets,
                              Duration iteration) {
  FilesTogether alone;
  TRY(write_experiment(path, config, sets, {}, iteration, alone));
  return alone.keep();
}

Result<void> write_experiment(const std::string& path, const std::string& config, const std::vector<std::string>& sets,
                              const std::vector<std::string>& moved, Duration iteration, FilesTogether& files) {
  TRY_ASSIGN(const std::string text, experiment_text(config, sets));
  TRY_ASSIGN(const ConfigNode parsed,
             config::parse_experiment_text(text, path == "-" ? "standard output" : path, moved));
  TRY_ASSIGN(const Duration again, iteration_of(parsed));
  if (again == iteration) return files.write(path, text);
  return Error{fmt::format("{}: found {:.6f} ms when read back, expected {:.6f} ms", path, again.ms(), iteration.ms()),
               "", ""};
}

}  // namespace distsim::study
