#include "base/result.hpp"

#include <algorithm>
#include <string_view>

#include "base/text/printable.hpp"

namespace distsim {

namespace {

/// A key as a schema writes it: items of lists in brackets, "tables[1].rows" of "tables.1.rows".
std::string as_in_messages(std::string_view key) {
  std::string out;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t dot = std::min(key.find('.', begin), key.size());
    const std::string_view part = key.substr(begin, dot - begin);
    const bool item = !part.empty() && begin > 0 && part.find_first_not_of("0123456789") == std::string_view::npos;
    out += item ? "[" + std::string(part) + "]" : (begin > 0 ? "." : "") + std::string(part);
    begin = dot + 1;
  }
  return out;
}

/// The flag of "--set cluster.nodes" or "--vary cluster.nodes", where the text begins with the key itself: it is named
/// once. Empty: not so.
std::string flag_before_key(const std::string& where, const std::string& what) {
  const std::size_t blank = where.find(' ');
  if (!where.starts_with("--") || blank == std::string::npos) return "";
  const std::string key = as_in_messages(std::string_view(where).substr(blank + 1));
  const bool repeats = what.size() > key.size() && what.starts_with(key) &&
                       std::string_view(":.[").find(what[key.size()]) != std::string_view::npos;
  return repeats ? where.substr(0, blank) : "";
}

}  // namespace

std::string Error::text() const {
  const std::string flag = flag_before_key(where, what);
  std::string line = where.empty() ? what : (flag.empty() ? where + ":" : flag) + " " + what;
  if (!hint.empty()) line += "; " + hint;
  return message_line(line);
}

}  // namespace distsim
