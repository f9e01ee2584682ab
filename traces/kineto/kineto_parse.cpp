#include "traces/kineto/kineto_parse.hpp"

#include <simdjson.h>

#include <array>
#include <cstring>
#include <string>

#include "base/text/printable.hpp"
#include "base/text/trimmed.hpp"
#include "traces/files/json_memory.hpp"

namespace distsim::traces {
namespace {

namespace od = simdjson::ondemand;

constexpr std::size_t kDeepest = 64;  // levels of brackets in one event; real ones have four

/// Keys by length and first bytes: small open tables, filled once.
template <class Owner>
class KeyTable {
 public:
  using Member = KinetoText Owner::*;
  struct Entry {
    std::string_view key;
    Member member = nullptr;
  };

  KeyTable(std::initializer_list<Entry> entries) {
    for (const Entry& e : entries) {
      std::size_t at = slot(e.key);
      while (table_[at].member != nullptr) at = (at + 1) % table_.size();
      table_[at] = e;
    }
  }
  Member find(std::string_view key) const {
    for (std::size_t at = slot(key); table_[at].member != nullptr; at = (at + 1) % table_.size()) {
      if (table_[at].key == key) return table_[at].member;
    }
    return nullptr;
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Entry& e : table_) {
      if (e.member != nullptr) visit(e.member);
    }
  }

 private:
  static std::size_t slot(std::string_view key) {
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(key[i])); };
    return key.empty() ? 0
                       : (key.size() * 37 + byte(0) * 5 + byte(key.size() - 1) * 11 + byte(key.size() / 2)) % kSlots;
  }
  static constexpr std::size_t kSlots = 256;
  std::array<Entry, kSlots> table_{};
};

const KeyTable<KinetoEvent>& event_keys() {
  using E = KinetoEvent;
  static const KeyTable<E> table{{"ph", &E::phase},   {"cat", &E::category}, {"name", &E::name},   {"pid", &E::process},
                                 {"tid", &E::thread}, {"ts", &E::start},     {"dur", &E::duration}};
  return table;
}

const KeyTable<KinetoArgs>& arg_keys() {
  using A = KinetoArgs;
  static const KeyTable<A> table{{"External id", &A::external},
                                 {"external id", &A::external},
                                 {"correlation", &A::correlation},
                                 {"device", &A::device},
                                 {"stream", &A::stream},
                                 {"context", &A::context},
                                 {"bytes", &A::bytes},
                                 {"Bytes", &A::memory_change},
                                 {"Total Allocated", &A::memory_total},
                                 {"Total Reserved", &A::memory_reserved},
                                 {"Device Type", &A::device_type},
                                 {"Device Id", &A::device_id},
                                 {"Record function id", &A::record_function},
                                 {"graph id", &A::graph},
                                 {"graph node id", &A::graph_node},
                                 {"grid", &A::grid},
                                 {"block", &A::block},
                                 {"registers per thread", &A::registers},
                                 {"shared memory", &A::shared_memory},
                                 {"blocks per SM", &A::blocks_per_sm},
                                 {"est. achieved occupancy %", &A::occupancy},
                                 {"Input Dims", &A::dims},
                                 {"Input dims", &A::dims},
                                 {"Input type", &A::types},
                                 {"Concrete Inputs", &A::values},
                                 {"Input Strides", &A::strides},
                                 {"kind", &A::copy_kind},
                                 {"name", &A::name},
                                 {"cuda_sync_kind", &A::sync_kind},
                                 {"wait_on_stream", &A::wait_stream},
                                 {"wait_on_cuda_event_record_corr_id", &A::wait_record},
                                 {"Collective name", &A::coll_name},
                                 {"In msg nelems", &A::coll_in},
                                 {"Out msg nelems", &A::coll_out},
                                 {"Group size", &A::coll_size},
                                 {"dtype", &A::coll_dtype},
                                 {"Process Group Name", &A::group_name},
                                 {"Process Group ID", &A::group_name},
                                 {"Process Group Description", &A::group_description},
                                 {"Process Group Ranks", &A::group_ranks},
                                 {"In split size", &A::in_split},
                                 {"Out split size", &A::out_split},
                                 {"Seq", &A::sequence},
                                 {"Src Rank", &A::from_rank},
                                 {"Dst Rank", &A::to_rank},
                                 {"Global rank start", &A::rank_start},
                                 {"Global rank stride", &A::rank_stride}};
  return table;
}

/// The value as written; strings without their quotes, null as nothing.
std::string_view text_of(od::value value, simdjson::error_code& error) {
  od::json_type type{};
  error = value.type().get(type);
  if (error) return {};
  std::string_view text;
  if (type == od::json_type::array) {
    od::array array;
    error = value.get_array().get(array);
    if (!error) error = array.raw_json().get(text);
    return text;
  }
  if (type == od::json_type::object) return {};
  text = trimmed(value.raw_json_token());
  if (type == od::json_type::null) {
    error = text == "null" ? simdjson::SUCCESS : simdjson::INCORRECT_TYPE;
    return {};
  }
  if (type == od::json_type::string) {
    od::raw_json_string raw;
    error = value.get_raw_json_string().get(raw);
    return text.size() >= 2 && text.back() == '"' ? text.substr(1, text.size() - 2) : std::string_view();
  }
  return text;
}

std::string_view key_of(od::field& field) {
  const char* key = field.key().raw();
  const char* end = key;
  while (*end != '"') end += *end == '\\' ? 2 : 1;  // ends: simdjson saw the closing quote
  return {key, static_cast<std::size_t>(end - key)};
}

simdjson::error_code read_args(od::object object, KinetoArgs& out) {
  for (auto item : object) {
    od::field field;
    if (const auto error = std::move(item).get(field)) return error;
    const auto member = arg_keys().find(key_of(field));
    if (member == nullptr) continue;
    simdjson::error_code error{};
    const std::string_view text = text_of(field.value(), error);
    if (error) return error;
    if (!text.empty()) out.*member = text;
  }
  return simdjson::SUCCESS;
}

simdjson::error_code read_event(od::object object, KinetoEvent& out) {
  for (auto item : object) {
    od::field field;
    if (const auto error = std::move(item).get(field)) return error;
    const std::string_view key = key_of(field);
    if (key == "args") {
      od::json_type type{};
      if (const auto error = field.value().type().get(type)) return error;
      if (type != od::json_type::object || out.category == "python_function") continue;
      od::object args;
      if (const auto error = field.value().get_object().get(args)) return error;
      if (const auto error = read_args(args, out.args)) return error;
      continue;
    }
    const auto member = event_keys().find(key);
    if (member == nullptr) continue;
    simdjson::error_code error{};
    const std::string_view text = text_of(field.value(), error);
    if (error) return error;
    out.*member = text;
  }
  return simdjson::SUCCESS;
}

/// Raw control characters become blanks, bytes that are not UTF-8 become '?': real writers let both slip through.
std::string cleaned(std::string_view text) {
  std::string out;
  out.reserve(text.size() + kJsonPadding);
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t n = c < 0x80 ? 1 : utf8_character_length(text.substr(i));
    if (c < 0x20)
      out += ' ';
    else if (n == 0)
      out += '?';
    else
      out.append(text, i, n);
    i += n == 0 ? 1 : n;
  }
  return out;
}

}  // namespace

struct KinetoParser::Parser {
  Parser() { CHECK(!failed(parser.allocate(std::size_t{1} << 16, kDeepest))); }

  /// One event by itself.
  bool single(std::string_view text, const std::function<void(const KinetoEvent&)>& sink) {
    std::string copy = cleaned(text);
    const std::size_t size = copy.size();
    copy.resize(size + kJsonPadding);
    od::document document;
    od::object object;
    if (failed(lone.iterate(copy.data(), size, copy.size()).get(document)) || document.get_object().get(object))
      return false;
    KinetoEvent event;
    if (read_event(object, event)) return false;
    sink(event);
    return true;
  }

  /// All elements as one array; how many were handed over before the first that cannot be read.
  std::size_t together(char* text, std::size_t size, const std::function<void(const KinetoEvent&)>& sink) {
    od::document document;
    od::array array;
    std::size_t done = 0;
    if (failed(parser.iterate(text, size, size + kJsonPadding).get(document)) || document.get_array().get(array))
      return 0;
    for (auto item : array) {
      od::object object;
      KinetoEvent event;
      if (item.get_object().get(object) || read_event(object, event)) return done;
      sink(event);
      ++done;
    }
    return done;
  }

  od::parser parser, lone;
};

OwnedKinetoEvent::OwnedKinetoEvent(const KinetoEvent& event) {
  std::size_t size = 0;
  event_keys().for_each([&](auto member) { size += (event.*member).size(); });
  arg_keys().for_each([&](auto member) { size += (event.args.*member).size(); });
  text_.reserve(size);  // once for each key, and some share a member: never moved below
  const auto copy = [this](KinetoText text) {
    const std::size_t at = text_.size();
    text_.insert(text_.end(), text.begin(), text.end());
    return KinetoText(text_.data() + at, text.size());
  };
  event_keys().for_each([&](auto member) { event_.*member = copy(event.*member); });
  arg_keys().for_each([&](auto member) { event_.args.*member = copy(event.args.*member); });
}

void fill_absent(KinetoEvent& event, const KinetoEvent& other) {
  arg_keys().for_each([&](auto member) {
    if ((event.args.*member).empty()) event.args.*member = other.args.*member;
  });
}

KinetoParser::KinetoParser() : parser_(std::make_unique<Parser>()) {}
KinetoParser::~KinetoParser() = default;

std::uint64_t KinetoParser::parse(JsonBatch& batch, const std::function<void(const KinetoEvent&)>& sink) {
  const std::size_t begin = batch.elements.front().begin - 1, end = batch.elements.back().end;
  batch.text[begin] = '[';
  const char after = batch.text[end];
  batch.text[end] = ']';
  std::size_t done = parser_->together(batch.text + begin, end + 1 - begin, sink);
  batch.text[end] = after;
  std::uint64_t bad = 0;
  for (; done < batch.elements.size(); ++done) {
    const JsonBatch::Element& e = batch.elements[done];
    if (!parser_->single({batch.text + e.begin, e.end - e.begin}, sink)) ++bad;
  }
  return bad;
}

}  // namespace distsim::traces
