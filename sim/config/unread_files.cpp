#include "sim/config/unread_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "base/config/config_node.hpp"
#include "base/file.hpp"
#include "base/system/inputs/protected_inputs.hpp"
#include "base/text/lower_case.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "opmodels/measured/measured_table.hpp"
#include "sim/config/config.hpp"
#include "sim/config/reference.hpp"

namespace distsim::config {
namespace {

namespace fs = std::filesystem;

/// A folder of configurations, and how what is read in it ends or is called.
struct Room {
  const char* name;
  std::array<const char*, 3> endings;
  bool by_path = true;  ///< others may be read by their paths
};
constexpr std::array<Room, 9> kRooms{{{"systems", {".yaml"}},
                                      {"devices", {".yaml"}},
                                      {"models", {".yaml"}},
                                      {"frameworks", {".yaml"}},
                                      {"studies", {".yaml"}},
                                      {"curves", {".curve.txtpb"}},
                                      {"op_models", {".ops", ".forest", ".correction"}, false},
                                      {"collectives", {"nccl.yaml"}},
                                      {"planning", {"layouts.yaml"}}}};

/// Where others may lie, too: the cases of validate, which takes others by their paths, and what it knows of their columns.
constexpr std::array<Room, 2> kMixedRooms{
    {{"validation", {"/cases.csv", "/overheads.csv"}}, {"validation/columns", {".yaml"}}}};

constexpr std::size_t kMostRemarks = 5;      // of a folder
constexpr std::size_t kMostEntries = 10000;  // looked at
constexpr std::size_t kMostTableBytes = 64 << 20;

const Room* room_of(const std::string& name) {
  const auto found = std::ranges::find_if(kRooms, [&](const Room& room) { return name == room.name; });
  return found == kRooms.end() ? nullptr : found;
}

bool is_text_about_it(const std::string& name) {
  const std::string lower = lower_case(name);
  return lower.starts_with(".") || lower.starts_with("readme") || lower.starts_with("licen") ||
         lower.ends_with(".md") || lower.ends_with("~");
}

bool is_read(const Room& room, const std::string& name) {
  return std::ranges::any_of(room.endings, [&](const char* ending) { return ending && name.ends_with(ending); });
}

/// A table of measured ops is read by the device's own name. Which that is, by the name of the file or by the device that
/// the table says it is of.
std::string name_of_table(const fs::path& file) {
  const std::string stem = file.stem().string();
  const auto named = load_device(stem);
  if (named.ok()) return named->name;
  const auto text = read_file(file.string(), kMostTableBytes);
  const auto table = text.ok() ? opmodels::parse_measured_table(*text) : Result<opmodels::MeasuredTable>(text.error());
  const auto measured = table.ok() ? load_device(table->device()) : Result<topology::DeviceSpec>(table.error());
  return measured.ok() ? measured->name : stem;
}

void add_table(const fs::path& file, std::vector<std::string>& remarks) {
  const std::string name = name_of_table(file);
  if (name == file.stem().string()) return;
  remarks.push_back(in_quotes(file.string(), 300) + " is not read: the table of that device is called " +
                    in_quotes(name + ".ops"));
}

std::string_view without_outer_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n";
  const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

/// A text without digits and without the ${...} that stand for some in a template.
std::string without_numbers(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at).starts_with("${"))
      at = std::min(text.find('}', at), text.size());
    else if (text[at] < '0' || text[at] > '9')
      out += text[at];
  }
  return out;
}

/// The files that those of configurations below a root name; of templates without numbers. Looked for when they are first
/// asked.
class NamesOfFiles {
 public:
  explicit NamesOfFiles(std::string root) : root_(std::move(root)) {}
  bool have(const std::string& name) {
    if (!are_read_) read();
    const std::string general = without_numbers(name);
    return names_.contains(name) || (!general.empty() && general_names_.contains(general));
  }

 private:
  void read();
  void add(const ConfigNode& node);
  void add_text(const std::string& text);
  const std::string root_;
  bool are_read_ = false;
  std::set<std::string> names_, general_names_;
};

std::string endings_of(const Room& room) {
  std::string text;
  for (const char* ending : room.endings) {
    if (ending) text.append(text.empty() ? "" : " or ").append(ending);
  }
  return text;
}

struct EntryOfFolder {
  std::string name;
  bool is_folder = false;
  bool is_file = false;  ///< neither for a pipe, or a link that leads nowhere
};

/// Sorted by name: the order of a disk is not that of an answer.
std::vector<EntryOfFolder> entries_of(const fs::path& folder) {
  std::vector<EntryOfFolder> out;
  std::error_code error;
  for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator(); it.increment(error)) {
    if (out.size() == kMostEntries) break;
    std::error_code failed;
    const fs::file_type type = it->status(failed).type();
    out.push_back({it->path().filename().string(), type == fs::file_type::directory, type == fs::file_type::regular});
  }
  std::ranges::sort(out, {}, &EntryOfFolder::name);
  return out;
}

/// A text may be a name, or hold some: A,B or KEY=A or {KEY: A}. What is none does no harm among them.
void NamesOfFiles::add_text(const std::string& text) {
  const bool is_general = text.find("${") != std::string::npos;
  const std::string whole = is_general ? without_numbers(text) : text;
  std::set<std::string>& names = is_general ? general_names_ : names_;
  for (const char* ends : {"", ",=:{}[]'\"", ",=:{}[]'\" \t\n"}) {
    for (std::size_t begin = 0; begin < whole.size();) {
      const std::size_t end = std::min(whole.find_first_of(ends, begin), whole.size());
      const std::string_view piece = without_outer_blanks(std::string_view(whole).substr(begin, end - begin));
      if (std::string name = fs::path(piece).filename().string(); !name.empty()) names.insert(std::move(name));
      begin = end + 1;
    }
  }
}

void NamesOfFiles::add(const ConfigNode& node) {
  add_text(node.scalar);
  for (const ConfigNode& item : node.items) add(item);
  for (const ConfigNode::Entry& entry : node.entries) {
    if (!is_for_people(entry.key)) add(entry.value);
  }
}

void NamesOfFiles::read() {
  are_read_ = true;
  std::vector<fs::path> folders{root_};
  for (const std::string& room : config_rooms()) folders.push_back(fs::path(root_) / room);
  for (const fs::path& folder : folders) {
    for (const EntryOfFolder& entry : entries_of(folder)) {
      if (!entry.is_file || !entry.name.ends_with(".yaml")) continue;
      if (const auto tree = parse_yaml_file((folder / entry.name).string()); tree.ok()) add(*tree);
    }
  }
}

/// What would be read if it did not lie in a folder of the room.
void add_deeper_files(const fs::path& folder, const Room& room, std::vector<std::string>& remarks) {
  for (const EntryOfFolder& entry : entries_of(folder)) {
    if (remarks.size() == kMostRemarks) return;
    if (!entry.is_folder && is_read(room, entry.name))
      remarks.push_back(in_quotes((folder / entry.name).string(), 300) + " is not read: expected in " + room.name +
                        " itself");
  }
}

void add_files(const fs::path& folder, const Room& room, NamesOfFiles& named, std::vector<std::string>& remarks) {
  for (const auto& [name, is_folder, is_file] : entries_of(folder)) {
    if (remarks.size() == kMostRemarks) return;
    if (is_text_about_it(name)) continue;
    if (is_folder && !room.by_path) add_deeper_files(folder / name, room, remarks);
    if (is_folder) continue;
    if (is_read(room, name)) {
      if (is_file && name.ends_with(".ops")) add_table(folder / name, remarks);
      continue;
    }
    if (named.have(name)) continue;
    remarks.push_back(in_quotes((folder / name).string(), 300) + " is not looked for: names in " + room.name +
                      " end in " + endings_of(room));
  }
}

}  // namespace

std::vector<std::string> config_rooms() {
  std::vector<std::string> names;
  for (const Room& room : kRooms) names.emplace_back(room.name);
  names.insert(names.end(), {"validation", "serving"});
  return names;
}

void note_rooms(const std::string& root) {
  const auto note = [&](const Room& room) {
    for (const char* ending : room.endings) {
      if (ending) note_input_endings((fs::path(root) / room.name).string(), ending);
    }
  };
  std::ranges::for_each(kRooms, note);
  std::ranges::for_each(kMixedRooms, note);
}

std::vector<std::string> unread_in(const std::string& root) {
  static const std::vector<std::string> names = config_rooms();
  std::vector<std::string> remarks;
  NamesOfFiles named(root);
  bool ours = false;
  const auto entries = entries_of(root);
  for (const auto& [name, is_folder, is_file] : entries) {
    if (remarks.size() == kMostRemarks) break;
    if (!is_folder) {
      ours = ours || name.ends_with(".yaml");  // experiments
      continue;
    }
    if (const Room* room = room_of(name)) {
      ours = true;
      add_files(fs::path(root) / name, *room, named, remarks);
    } else if (std::ranges::find(names, name) != names.end()) {
      ours = true;
    } else if (const std::string nearest = nearest_spelling(name, names); !nearest.empty()) {
      ours = true;
      remarks.push_back("the folder " + in_quotes((fs::path(root) / name).string(), 300) +
                        " is not read; did you mean '" + nearest + "'?");
    }
  }
  if (!ours)
    remarks.push_back("the folder " + in_quotes(root, 300) +
                      " holds nothing that distsim looks for: expected systems, devices, models, frameworks, curves, "
                      "op_models or others that configs/ has");
  return remarks;
}

}  // namespace distsim::config
