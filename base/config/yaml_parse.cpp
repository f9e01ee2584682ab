#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <new>
#include <sstream>
#include <unordered_map>

#include "base/config/config_node.hpp"
#include "base/config/yaml_text.hpp"
#include "base/file.hpp"
#include "base/text/printable.hpp"

namespace distsim {
namespace {

/// Thrown from the event handler through yaml-cpp, caught in parse_yaml.
struct Refused {
  Error error;
};

/// What yaml-cpp's messages mean for someone who writes a configuration file.
std::string plain_words(const std::string& message) {
  static const std::pair<std::string, std::string> kWords[] = {
      {YAML::ErrorMsg::END_OF_MAP, "a key with the same indentation as the keys above it"},
      {YAML::ErrorMsg::END_OF_SEQ, "an item with the same indentation as the items above it"},
      {YAML::ErrorMsg::MAP_VALUE, "one 'key: value' per line; a value that contains ': ' must be quoted"},
      {YAML::ErrorMsg::END_OF_SEQ_FLOW, "',' or ']'"},
      {YAML::ErrorMsg::END_OF_MAP_FLOW, "',' or '}'"},
      {YAML::ErrorMsg::EOF_IN_SCALAR, "a closing quote"},
      {YAML::ErrorMsg::UNKNOWN_TOKEN, "another character; text that starts with this one must be quoted"},
  };
  for (const auto& [from, to] : kWords) {
    if (message == from) return to;
  }
  return printable(message);
}

constexpr const char* kLongKey = "found a key of more than 1,024 characters, expected a shorter one";

/// Builds the tree from yaml-cpp's events, which, unlike its nodes, still show anchors, aliases, tags and repeated
/// keys.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, const std::string& file, const YamlLimits& limits)
      : text_(text), file_(std::make_shared<const std::string>(file)), limits_(limits) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ < 2) return;
    const bool marker = text_.substr(std::min(offset(mark), text_.size())).starts_with("---");
    refuse(mark, marker ? "found a second document, expected a single one"
                        : "found " + describe(mark) + ", expected the end of the file");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_decoration(mark, "?", anchor);
    ConfigNode node = start(mark, ConfigNode::Kind::null);
    null_written_ =
        offset(mark) < text_.size() && std::string_view("~nN").find(text_[offset(mark)]) != std::string_view::npos;
    if (key_expected()) refuse(mark, is_long_key(mark) ? kLongKey : "found nothing, expected a key");
    if (in_map()) node.where = frames_.back().key->where;  // an absent value has no place of its own
    add(std::move(node), mark);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(mark, "found an alias, expected a plain value");
  }
  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    refuse(mark, "found the anchor " + in_quotes("&" + name) + ", expected a plain value");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_decoration(mark, tag, anchor);
    ConfigNode node = start(mark, ConfigNode::Kind::scalar);
    node.scalar = value;
    node.quoted = tag == "!";
    add(std::move(node), mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, ConfigNode::Kind::sequence);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, ConfigNode::Kind::map);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

  /// The tree; an empty document is an empty map.
  ConfigNode take_root() {
    if (!root_.where.file) root_.where = {file_, 1, 1};
    if (root_.kind == ConfigNode::Kind::null && !null_written_) root_.kind = ConfigNode::Kind::map;
    return std::move(root_);
  }

  /// The error for what yaml-cpp itself refuses.
  Error syntax_error(const YAML::Exception& e) const {
    if (e.msg.find(YAML::ErrorMsg::UNKNOWN_ANCHOR) != std::string::npos) {
      return {"found an alias, expected a plain value", where(e.mark).text(), ""};
    }
    const bool unclosed = e.msg == YAML::ErrorMsg::END_OF_SEQ_FLOW || e.msg == YAML::ErrorMsg::END_OF_MAP_FLOW;
    std::string hint = unclosed && !frames_.empty() ? "opened at " + frames_.back().node.where.text() : "";
    // "*" begins an alias in YAML, and a pattern in lists of modules.
    if (e.msg == YAML::ErrorMsg::ALIAS_NOT_FOUND || e.msg == YAML::ErrorMsg::INVALID_ALIAS)
      hint = "a text that begins with * stands in quotes: \"*\"";
    const bool at_end = offset(e.mark) >= text_.size();  // yaml-cpp's line and column are off there
    const std::string position = at_end ? position_of(text_, text_.size(), *file_) : where(e.mark).text();
    if (is_long_key(e.mark)) return {kLongKey, position, hint};
    return {"found " + describe(e.mark) + ", expected valid YAML (" + plain_words(e.msg) + ")", position, hint};
  }

 private:
  struct Key {
    std::string text;
    SourcePos where;
  };
  struct Frame {
    ConfigNode node;
    std::optional<Key> key;  ///< of a map: the key that waits for its value
    std::unordered_map<std::string, SourcePos> seen;
  };

  std::size_t offset(const YAML::Mark& mark) const { return static_cast<std::size_t>(std::max(mark.pos, 0)); }
  SourcePos where(const YAML::Mark& mark) const {
    return {file_, std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1};
  }
  /// YAML takes the first 1,024 characters for a key; of a longer one yaml-cpp only sees that something is wrong at its
  /// beginning or at its colon.
  bool is_long_key(const YAML::Mark& mark) const {
    const std::size_t at = offset(mark);
    if (at >= text_.size()) return false;
    const std::size_t begin = text_[at] == ':' ? text_.find_last_of("\n{,", at) + 1 : at;  // npos + 1: the first
    const std::size_t end = text_.find_first_of(":\n", begin);
    return end != std::string_view::npos && text_[end] == ':' && end - begin > 1024;
  }
  std::string describe(const YAML::Mark& mark) const { return describe_text_at(text_, offset(mark)); }
  [[noreturn]] void refuse(const YAML::Mark& mark, std::string what) const {
    throw Refused{{std::move(what), where(mark).text(), ""}};
  }

  bool in_map() const { return !frames_.empty() && frames_.back().node.kind == ConfigNode::Kind::map; }
  bool key_expected() const { return in_map() && !frames_.back().key; }

  /// yaml-cpp calls plain values "?" and quoted ones "!"; anything else was written in the file.
  void refuse_decoration(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) const {
    if (anchor != YAML::NullAnchor) refuse(mark, "found an anchor, expected a plain value");
    const bool written = offset(mark) < text_.size() && text_[offset(mark)] == '!';
    if (written || (tag != "?" && tag != "!")) refuse(mark, "found a tag, expected a plain value");
  }

  /// yaml-cpp also takes a flow collection that is never closed for the beginning of a key.
  [[noreturn]] void refuse_key(const YAML::Mark& mark, ConfigNode::Kind kind) const {
    const std::string what = kind == ConfigNode::Kind::map ? "a map" : "a list";
    const bool flow = offset(mark) < text_.size() && (text_[offset(mark)] == '[' || text_[offset(mark)] == '{');
    refuse(mark,
           "found " + what + " as a key" + (flow ? " or a bracket that is never closed" : "") + ", expected text");
  }

  ConfigNode start(const YAML::Mark& mark, ConfigNode::Kind kind) {
    if (++nodes_ > limits_.max_nodes) {
      refuse(mark, "found more than " + std::to_string(limits_.max_nodes) + " values, expected no more than that");
    }
    ConfigNode node;
    node.kind = kind;
    node.where = where(mark);
    return node;
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, ConfigNode::Kind kind) {
    refuse_decoration(mark, tag, anchor);
    if (key_expected()) refuse_key(mark, kind);
    if (frames_.size() >= static_cast<std::size_t>(limits_.max_depth)) {
      refuse(mark, "found nesting deeper than " + std::to_string(limits_.max_depth) + " levels, expected less");
    }
    frames_.push_back({start(mark, kind), {}, {}});
  }

  void close() {
    ConfigNode node = std::move(frames_.back().node);
    frames_.pop_back();
    place(std::move(node));
  }

  void add(ConfigNode node, const YAML::Mark& mark) {
    if (!key_expected()) return place(std::move(node));
    Frame& map = frames_.back();
    const auto [first, inserted] = map.seen.emplace(node.scalar, node.where);
    if (!inserted) {
      throw Refused{{"found the key " + in_quotes(node.scalar) + " twice, expected it once", where(mark).text(),
                     "first at " + first->second.text()}};
    }
    map.key = Key{std::move(node.scalar), std::move(node.where)};
  }

  void place(ConfigNode node) {
    if (frames_.empty()) {
      root_ = std::move(node);
    } else if (Frame& frame = frames_.back(); frame.key) {
      frame.node.entries.push_back({std::move(frame.key->text), std::move(frame.key->where), std::move(node)});
      frame.key.reset();
    } else {
      frame.node.items.push_back(std::move(node));
    }
  }

  std::string_view text_;
  std::shared_ptr<const std::string> file_;
  YamlLimits limits_;
  std::vector<Frame> frames_;
  ConfigNode root_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
  bool null_written_ = false;  ///< the last null was "~" or "null" and not nothing
};

/// Without the byte-order mark, and without blanks at the end: yaml-cpp 0.7 takes a quote that is never closed for text
/// if a line break follows it.
std::string_view without_mark(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

}  // namespace

Result<ConfigNode> parse_yaml(std::string_view text, const std::string& file, const YamlLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return Error{
        "found " + std::to_string(text.size()) + " bytes, expected at most " + std::to_string(limits.max_bytes), file,
        ""};
  }
  text = without_mark(text);
  TRY(check_yaml_text(text, file));
  TreeBuilder builder(text, file, limits);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refused& refused) {
    return refused.error;
  } catch (const YAML::Exception& e) {
    return builder.syntax_error(e);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    return Error{"found text that cannot be parsed (" + printable(e.what()) + "), expected valid YAML", file, ""};
  }
  return builder.take_root();
}

Result<ConfigNode> parse_yaml_file(const std::string& path, const YamlLimits& limits) {
  TRY_ASSIGN(const std::string text, read_file(path, limits.max_bytes));
  return parse_yaml(text, path, limits);
}

}  // namespace distsim
