#include "base/text/names/name_pattern.hpp"

#include <re2/re2.h>

#include <string>

#include "base/text/printable.hpp"

namespace distsim {

struct NamePattern::Expression {
  explicit Expression(std::string_view text) : regex(re2::StringPiece(text.data(), text.size()), options()) {}
  static RE2::Options options() {
    RE2::Options o;
    o.set_log_errors(false);
    o.set_encoding(RE2::Options::EncodingLatin1);  // names of traces are bytes
    return o;
  }
  RE2 regex;
};

Result<NamePattern> NamePattern::compile(std::string_view text) {
  if (text.size() > kLongestText) {
    return Error{"found " + std::to_string(text.size()) + " bytes, expected a regular expression of at most " +
                     std::to_string(kLongestText),
                 "", ""};
  }
  auto expression = std::make_shared<const Expression>(text);
  if (!expression->regex.ok())
    return Error{"found " + in_quotes(text) + ", expected a regular expression (RE2 syntax)", "", ""};
  return NamePattern(std::move(expression));
}

bool NamePattern::found_in(std::string_view name) const {
  const std::string_view head = name.substr(0, kLongestName);
  return RE2::PartialMatch(re2::StringPiece(head.data(), head.size()), expression_->regex);
}

}  // namespace distsim
