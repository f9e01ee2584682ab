#include "base/json/parse_once.hpp"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace distsim {
namespace {

using Json = nlohmann::json;

/// Builds the value as it is read. The parser's own callbacks look at all elements of an array whenever an object in it ends.
class Builder {
 public:
  Builder(Json& root, std::string& twice, std::size_t most) : root_(root), twice_(twice), most_(most) {}
  bool too_many() const { return values_ > most_; }

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(std::int64_t value) { return put(value); }
  bool number_unsigned(std::uint64_t value) { return put(value); }
  bool number_float(double value, const std::string& /*text*/) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(Json::binary_t& /*value*/) { return false; }  // no text has any
  bool start_object(std::size_t /*elements*/) { return open(Json::object()); }
  bool start_array(std::size_t /*elements*/) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    if (!names_.back().insert(name).second && twice_.empty()) twice_ = name;
    slot_ = &(*open_.back())[name];
    return true;
  }
  template <class Error>
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const Error& /*error*/) {
    return false;
  }

 private:
  Json* add(Json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    if (open_.back()->is_object()) return &(*slot_ = std::move(value));
    open_.back()->push_back(std::move(value));
    return &open_.back()->back();
  }
  bool put(Json value) {
    if (++values_ > most_) return false;
    add(std::move(value));
    return true;
  }
  bool open(Json empty) {
    if (++values_ > most_) return false;
    open_.push_back(add(std::move(empty)));
    names_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    names_.pop_back();
    return true;
  }

  Json& root_;
  std::string& twice_;
  std::vector<Json*> open_;  // a value stays where it is while it is open
  std::vector<std::set<std::string>> names_;
  Json* slot_ = nullptr;  ///< of the name that was read last
  const std::size_t most_;
  std::size_t values_ = 0;
};

}  // namespace

Json parse_once(std::string_view text, std::string& twice, bool* too_many, std::size_t most) {
  Json root;
  Builder builder(root, twice, most);
  if (Json::sax_parse(text, &builder)) return root;
  if (too_many != nullptr) *too_many = builder.too_many();
  return Json(Json::value_t::discarded);
}

}  // namespace distsim
