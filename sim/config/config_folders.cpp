#include "sim/config/config_folders.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "base/config/schema.hpp"
#include "base/config/template_text.hpp"
#include "base/file.hpp"
#include "base/folder_files.hpp"
#include "base/log.hpp"
#include "base/system/inputs/protected_inputs.hpp"
#include "base/text/names/file_name.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "collectives/shipped_text.hpp"
#include "sim/config/config.hpp"
#include "sim/config/unread_files.hpp"
#include "topology/devices/device_names.hpp"

namespace distsim::config {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxNameLength = 4096;
constexpr const char* kInstalledConfigs = "../share/distsim/configs";  // from the folder of the program
/// From the folder of the library: within a Python package; beside lib, also where that has a subfolder for the machine.
constexpr const char* kConfigsOfLibrary[] = {"configs", "../share/distsim/configs", "../../share/distsim/configs"};

/// A path as people know it: relative to the working directory where it lies below it.
std::string short_path(const fs::path& path) {
  std::error_code error;
  const fs::path here = fs::current_path(error);  // proximate(path, error) throws where it was removed
  if (error) return path.lexically_normal().string();
  const fs::path near = fs::proximate(path, here, error);
  return error || near.empty() || near.native().starts_with("..") ? path.lexically_normal().string() : near.string();
}

std::optional<fs::path> program_folder() {
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) {  // a root without /proc
    const char* name = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
    program = fs::canonical(name ? name : "", error);
  }
  return error ? std::nullopt : std::optional(program.parent_path());
}

/// The folder of the shared library that this function is in; nothing where it is in the program itself.
std::optional<fs::path> library_folder() {
  constexpr std::uintptr_t kHeader = 4096;  // the program's headers are on the first page of its image
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&library_folder), &info) == 0 || info.dli_fname == nullptr) return {};
  if (::getauxval(AT_PHDR) - reinterpret_cast<std::uintptr_t>(info.dli_fbase) < kHeader) return {};
  std::error_code error;
  const fs::path own = fs::canonical(info.dli_fname, error);
  return error ? std::nullopt : std::optional(own.parent_path());
}

/// $DISTSIM_CONFIGS: folders separated by colons.
std::vector<fs::path> user_roots() {
  std::vector<fs::path> roots;
  const char* set = std::getenv("DISTSIM_CONFIGS");
  const std::string list = set ? set : "";
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin) roots.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return roots;
}

/// What comes with the program: beside an installed one nothing else is looked for, so that a folder that is called
/// configs by chance is none of its.
std::vector<fs::path> shipped_roots() {
  std::vector<fs::path> roots;
  if (const auto library = library_folder()) {
    std::error_code error;
    for (const char* configs : kConfigsOfLibrary) {
      if (fs::is_directory(*library / configs, error)) return {*library / configs};
    }
  } else if (const auto program = program_folder()) {
    std::error_code error;
    if (fs::is_directory(*program / kInstalledConfigs, error)) return {*program / kInstalledConfigs};
    roots.push_back(*program / "../../configs");
  }
  roots.push_back(DISTSIM_SOURCE_CONFIGS);
  return roots;
}

std::vector<fs::path> config_roots(const std::string& experiment_folder) {
  std::vector<fs::path> roots;
  if (!experiment_folder.empty()) roots.push_back(experiment_folder);
  for (const auto& more : {user_roots(), shipped_roots()}) roots.insert(roots.end(), more.begin(), more.end());
  return roots;
}

bool is_yaml(const std::string& value) { return value.ends_with(".yaml") || value.ends_with(".yml"); }
bool is_path(const std::string& value) { return value.find('/') != std::string::npos || is_yaml(value); }

/// A step out of the configuration folders is refused, so that a name from elsewhere (a web page) cannot reach other
/// files.
bool is_unsafe(const std::string& value) {
  return value.size() > kMaxNameLength || find_bad_byte(value) || value.find("..") != std::string::npos;
}

/// Of the name of a file, or its path.
bool is_template(const std::string& name) { return fs::path(name).filename().native().find('{') != std::string::npos; }

/// In which form names are compared.
using NameForm = std::function<std::string(std::string_view)>;
const NameForm kAsWritten = [](std::string_view name) { return std::string(name); };

bool has_alias(const ConfigNode& file, const std::string& name, const NameForm& form) {
  const ConfigNode* aliases = file.find("aliases");
  return aliases && std::any_of(aliases->items.begin(), aliases->items.end(),
                                [&](const ConfigNode& a) { return form(a.scalar) == name; });
}

/// first_of_name of a YAML file.
std::optional<std::string> file_of_name(const std::string& name, const std::vector<std::string>& folders) {
  const std::string path = first_of_name(folders, name + ".yaml");
  return path.empty() ? std::nullopt : std::optional(path);
}

bool is_regular(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

/// Names of all files, templates included, sorted.
std::vector<std::string> stems_in(const std::vector<std::string>& folders) {
  std::set<std::string> names;
  for (const auto& files : files_by_folder(folders, ".yaml")) {
    for (const std::string& file : files) names.insert(fs::path(file).stem().string());
  }
  return {names.begin(), names.end()};
}

constexpr std::size_t kMaxNamedBytes = 1 << 20;

/// The text of a file or, where it cannot be read, of the one that it hides: its names lead to what hides it, and are refused
/// there.
Result<std::string> text_of_names(const std::string& path, const std::vector<std::string>& folders) {
  auto text = is_regular(path) ? read_file(path, kMaxNamedBytes) : Result<std::string>(Error{});
  for (const std::string& folder : folders) {
    if (text.ok()) break;
    const std::string hidden = (fs::path(folder) / fs::path(path).filename()).string();
    if (is_regular(hidden)) text = read_file(hidden, kMaxNamedBytes);
  }
  return text;
}

/// Files that do not parse are somebody else's error.
bool lists_alias(const std::string& path, const std::string& alias, const std::vector<std::string>& folders,
                 const NameForm& form) {
  const auto text = text_of_names(path, folders);
  if (!text.ok() || form(*text).find(alias) == std::string::npos) return false;  // to parse a hundred files takes long
  const auto file = parse_yaml(*text, path);
  return file.ok() && has_alias(*file, alias, form);
}

/// Once for each: names are looked up again and again.
void name_hidden_alias(const std::string& name, const std::string& used, const std::string& hidden) {
  static std::mutex mutex;
  static std::set<std::string> named;
  const std::lock_guard lock(mutex);
  if (!named.insert(name + '\n' + used + '\n' + hidden).second) return;
  log_warn([&] {
    return in_quotes(name, 100) + " is a name of " + in_quotes(used, 300) + ", which is used, and of " +
           in_quotes(hidden, 300);
  });
}

/// The file that has a name by other than its own, of the first folder with one; empty: none. Files of that name in later
/// folders are named. Error: two in one folder.
Result<std::string> file_that_has(const ConfigNode& name, const std::string& key,
                                  const std::vector<std::string>& folders,
                                  const std::function<bool(const std::string& path)>& has_name) {
  std::string found;
  for (const auto& files : files_by_folder(folders, ".yaml")) {
    const bool is_hidden = !found.empty();
    for (const std::string& file : files) {
      if (is_template(file) || !has_name(file)) continue;
      if (is_hidden)
        name_hidden_alias(name.scalar, found, file);
      else if (found.empty())
        found = file;
      else
        return schema_detail::expected(
            name, key,
            "a name of one file: " + in_quotes(found, 300) + " and " + in_quotes(file, 300) + " both have it");
    }
  }
  return found;
}

/// Error: as file_that_has.
Result<std::string> file_of_alias(const ConfigNode& name, const std::string& key,
                                  const std::vector<std::string>& folders) {
  return file_that_has(name, key, folders,
                       [&](const std::string& path) { return lists_alias(path, name.scalar, folders, kAsWritten); });
}

/// A GPU as its driver calls it ("NVIDIA H200"). A name in the very spelling of a file or an alias comes before it. Error: as
/// file_that_has.
Result<std::string> file_of_gpu(const ConfigNode& name, const std::string& key,
                                const std::vector<std::string>& folders) {
  const std::string normal = topology::normal_gpu_name(name.scalar);
  if (normal.empty()) return std::string();
  return file_that_has(name, key, folders, [&](const std::string& path) {
    return topology::normal_gpu_name(fs::path(path).stem().string()) == normal ||
           lists_alias(path, normal, folders, topology::normal_gpu_name);
  });
}

std::string path_of_value(const ConfigNode& node) {
  const fs::path path = node.scalar;
  return path.is_absolute() ? node.scalar : short_path(fs::path(folder_of_value(node)) / path);
}

/// A file by the values of its placeholders: "gpt_h1024_l16_a16_s1024" by gpt_h{hidden}_l{layers}_a{heads}_s{sequence}.
struct Found {
  std::string path;
  std::optional<TemplateValues> values;
};

std::optional<Found> file_of_template(const std::string& name, const std::vector<std::string>& folders) {
  for (const std::string& stem : stems_in(folders)) {
    if (!is_template(stem)) continue;
    auto values = match_template(stem, name);
    const auto path = values ? file_of_name(stem, folders) : std::nullopt;
    if (path) return Found{*path, std::move(values)};
  }
  return std::nullopt;
}

/// By the name of the file, an alias, what the driver calls it, or a template; what is found need not be a file.
Result<std::optional<Found>> find_named(const ConfigNode& name, const std::string& key, const std::string& kind,
                                        const std::vector<std::string>& folders) {
  const auto own = file_of_name(name.scalar, folders);
  if (own && !is_template(name.scalar)) return std::optional(Found{*own, {}});
  TRY_ASSIGN(const std::string of_alias, file_of_alias(name, key, folders));
  if (!of_alias.empty()) return std::optional(Found{of_alias, {}});
  if (kind == "devices") {
    TRY_ASSIGN(const std::string of_gpu, file_of_gpu(name, key, folders));
    if (!of_gpu.empty()) return std::optional(Found{of_gpu, {}});
  }
  return file_of_template(name.scalar, folders);
}

/// Errors: no file has the name; what has it is a folder, a pipe, a link that leads nowhere.
Result<Found> find_file(const ConfigNode& name, const std::string& key, const std::string& kind,
                        const std::string& experiment_folder) {
  const auto folders = config_folders(kind, experiment_folder);
  for (const std::string& folder : folders) note_input_endings(folder, ".yaml");  // also those beside the experiment
  TRY_ASSIGN(std::optional<Found> found, find_named(name, key, kind, folders));
  if (!found)
    return schema_detail::expected(name, key, "a file in configs/" + kind,
                                   spelling_hint(name.scalar, names_in_folders(folders)));
  if (!is_regular(found->path))
    return schema_detail::expected(name, key, "a file: " + in_quotes(found->path, kMaxNameLength) + " is none", "");
  return std::move(*found);
}

Result<ConfigNode> read_found(const Found& found) {
  if (!found.values) return parse_yaml_file(found.path);
  TRY_ASSIGN(const std::string text, read_file(found.path, kMaxNamedBytes));
  TRY_ASSIGN(const std::string filled, fill_template(text, *found.values, found.path));
  return parse_yaml(filled, found.path);
}

/// A file that does not say its name has that of its file.
void add_name(ConfigNode& file, const std::string& stem) {
  if (file.find("name")) return;
  ConfigNode name;
  name.kind = ConfigNode::Kind::scalar;
  name.scalar = stem;
  name.where = file.where;
  file.entries.insert(file.entries.begin(), {"name", file.where, name});
}

/// A file that is looked up by its name and calls itself by that of another: one of the two is a slip.
Result<void> check_own_name(const ConfigNode& file, const std::string& stem, const std::string& kind,
                            const std::string& experiment_folder) {
  const ConfigNode* own = file.find("name");
  if (own == nullptr || own->scalar == stem || !is_file_name(own->scalar)) return {};
  if (!file_of_name(own->scalar, config_folders(kind, experiment_folder))) return {};
  return schema_detail::expected(
      *own, "name", in_quotes(stem) + ", as the file is called: " + in_quotes(own->scalar) + " is another file");
}

}  // namespace

std::string folder_of_path(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::string folder_of_value(const ConfigNode& node) {
  return node.where.line > 0 && node.where.file ? folder_of_path(*node.where.file) : ".";
}

std::vector<std::string> config_folders(const std::string& kind, const std::string& experiment_folder) {
  std::vector<std::string> folders;
  for (const fs::path& root : config_roots(experiment_folder)) {
    std::error_code error;
    const fs::path folder = fs::canonical(root / kind, error);
    if (error || !fs::is_directory(folder, error)) continue;
    const std::string path = short_path(folder);
    if (std::find(folders.begin(), folders.end(), path) == folders.end()) folders.push_back(path);
  }
  return folders;
}

std::vector<std::string> names_in_folders(const std::vector<std::string>& folders) {
  std::vector<std::string> names = stems_in(folders);
  std::erase_if(names, is_template);
  return names;
}

std::vector<std::string> templates_in(const std::string& kind) {
  std::vector<std::string> names = stems_in(config_folders(kind, ""));
  std::erase_if(names, [](const std::string& name) { return !is_template(name); });
  return names;
}

Result<ConfigNode> read_named_file(const ConfigNode& name, const std::string& key, const std::string& kind,
                                   const std::string& experiment_folder) {
  const bool text = name.kind == ConfigNode::Kind::scalar && !name.scalar.empty();
  if (!text) return schema_detail::expected(name, key, "the name of a file in configs/" + kind);
  if (name.scalar.size() > kMaxNameLength)
    return schema_detail::expected(name, key, "a file name of at most " + std::to_string(kMaxNameLength) + " bytes");
  if (is_unsafe(name.scalar))
    return schema_detail::expected(name, key, "a file name without '..' or control characters");
  Found found;
  if (is_path(name.scalar)) {
    if (!is_yaml(name.scalar)) return schema_detail::expected(name, key, "a name, or a path that ends in .yaml");
    found.path = path_of_value(name);
  } else {
    TRY_ASSIGN(found, find_file(name, key, kind, experiment_folder));
  }
  const std::string& path = found.path;
  auto file = read_found(found);
  if (!file) {
    if (file.error().where != path) return file.error();  // a position inside the file
    return schema_detail::expected(name, key, "a file that can be read", file.error().text());
  }
  if (file->kind != ConfigNode::Kind::map) return schema_detail::expected(*file, key, "a map");
  log_info([&] { return key + ": '" + name.scalar + "' read from " + path; });
  const std::string stem = found.values ? name.scalar : fs::path(path).stem().string();
  if (!is_path(name.scalar)) TRY(check_own_name(*file, stem, kind, experiment_folder));
  add_name(*file, stem);
  return file;
}

std::vector<std::string> names_in(const std::string& kind) { return names_in_folders(config_folders(kind, "")); }

topology::KnownDevices known_devices() {
  std::vector<std::string> out;
  for (std::vector<std::string>& files : files_by_folder(config_folders("devices", ""), ".yaml"))
    std::ranges::move(files, std::back_inserter(out));
  return topology::KnownDevices(std::move(out));
}

std::vector<std::string> curve_folders() { return config_folders("curves", ""); }

std::string first_of_name(const std::vector<std::string>& folders, const std::string& file) {
  for (const std::string& folder : folders) {
    const fs::path path = fs::path(folder) / file;
    std::error_code error;
    if (fs::symlink_status(path, error).type() != fs::file_type::not_found && !error) return path.string();
  }
  return "";
}

bool is_shipped(const std::string& file) {
  std::error_code error;
  const fs::path path = fs::canonical(file, error);
  if (error) return false;
  return std::ranges::any_of(shipped_roots(), [&](const fs::path& root) {
    std::error_code failed;
    const fs::path inside = fs::canonical(root, failed);
    return !failed && path.native().starts_with(inside.native() + "/");
  });
}

std::string config_file(const std::string& kind, const std::string& file) {
  const auto folders = config_folders(kind, "");
  for (const std::string& folder : folders) note_input_endings(folder, "/" + file);
  return first_of_name(folders, file);
}

std::string changed_constants() {
  static std::mutex mutex;
  static std::map<std::string, bool> changed;  // by path: a study asks at every point
  const std::string path = config_file("collectives", "nccl.yaml");
  if (path.empty()) return "";
  const std::lock_guard lock(mutex);
  const auto known = changed.find(path);
  if (known != changed.end()) return known->second ? path : "";
  const auto text = read_file(path, kMaxNamedBytes);
  const bool differs =
      !text.ok() || *text != collectives::shipped_constants_file();  // unreadable: said where it is used
  changed.emplace(path, differs);
  if (differs) log_info([&] { return "constants of collectives read from " + path; });
  return differs ? path : "";
}

/// A folder that cannot be read would count as one that is not there, and what is shipped be used in its place.
static Result<void> check_readable(const fs::path& root) {
  std::vector<fs::path> folders{root};
  std::error_code error;
  for (const std::string& room : config_rooms())
    if (fs::symlink_status(root / room, error).type() != fs::file_type::not_found) folders.push_back(root / room);
  for (const fs::path& folder : folders) {
    if (::access(folder.c_str(), R_OK | X_OK) == 0) continue;
    return Error{"DISTSIM_CONFIGS: found " + in_quotes(folder.string(), kMaxNameLength) +
                     ", expected a folder that can be read (" + std::strerror(errno) + ")",
                 "", ""};
  }
  return {};
}

/// Once for each folder: a library checks its surroundings at every call.
static void name_unread(const std::string& root) {
  static std::mutex mutex;
  static std::set<std::string> named;
  const std::lock_guard lock(mutex);
  if (!named.insert(root).second) return;
  for (const std::string& remark : unread_in(root)) log_warn([&] { return "DISTSIM_CONFIGS: " + remark; });
}

Result<void> check_config_folders() {
  for (const fs::path& root : config_roots("")) note_rooms(root.string());
  for (const fs::path& root : user_roots()) {
    std::error_code error;
    if (!fs::is_directory(root, error))
      return Error{"DISTSIM_CONFIGS: found " + in_quotes(root.string(), kMaxNameLength) +
                       ", expected folders, separated by colons",
                   "", ""};
    TRY(check_readable(root));
    name_unread(root.string());
  }
  if (!is_logged(LogLevel::debug)) return {};
  for (const std::string& root : config_folders("", "")) log_debug([&] { return "configuration folder: " + root; });
  return {};
}

}  // namespace distsim::config
