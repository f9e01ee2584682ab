#include "traces/trace_format.hpp"

#include "traces/files/json_stream.hpp"

namespace distsim::traces {
namespace {

/// Collects the keys at the top level and reads nothing else.
class TopLevelKeys : public JsonHandler {
 public:
  explicit TopLevelKeys(TraceHead& head) : head_(head) {}
  Want on_key(std::string_view key) override {
    if (key.empty())
      head_.json = TraceHead::Json::array;
    else
      head_.keys.emplace(key);
    return Want::skip;
  }
  Result<void> on_value(std::string_view, std::string_view) override { return {}; }
  Result<void> on_elements(JsonBatch&) override { return {}; }

 private:
  TraceHead& head_;
};

/// A bracket and what may follow one. A Chakra message may begin with the same byte, as its length, but not go on like
/// that.
bool looks_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (text[first] != '{' && text[first] != '[')) return false;
  const std::size_t second = text.find_first_not_of(" \t\r\n", first + 1);
  return second == std::string_view::npos || text[second] == '"' || text[second] == '}' ||
         (text[first] == '[' && text[second] != 0x0a && text[second] != 0x12);
}

}  // namespace

Error beyond_budget(const TraceOptions& options, const std::string& path) {
  return Error{"found more than " + std::to_string(options.max_records) + " records, expected at most that", path,
               "record fewer iterations, or profile it with `distsim profile --stream`"};
}

TraceHead look_at(std::string_view bytes) {
  TraceHead head{bytes, bytes, TraceHead::Json::none, {}};
  if (head.text.starts_with("\xEF\xBB\xBF")) head.text.remove_prefix(3);
  if (!looks_like_json(head.text)) return head;
  head.json = TraceHead::Json::object;
  TopLevelKeys keys(head);
  const std::unique_ptr<ByteSource> source = from_memory(std::make_shared<const std::string>(head.text));
  // A head that is cut, or not JSON after all, still has its first keys.
  (void)stream_json(*source, "", head.text.size(), head.text.size() * 2, keys);
  return head;
}

}  // namespace distsim::traces
