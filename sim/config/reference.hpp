// The reference of all configuration keys, generated from the schemas that read them: it cannot go stale.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/schema.hpp"
#include "base/result.hpp"

namespace distsim::config {

/// docs/config_reference.md: `distsim list config --markdown > docs/config_reference.md`.
std::string reference_markdown();

/// The same for a terminal: `distsim list config`.
std::string reference_text();

/// A section of an experiment and its keys, dotted: "cluster.nodes".
struct ReferenceSection {
  std::string name, doc;
  std::vector<FieldDoc> keys;
};

/// All of them, in the order of the reference.
std::vector<ReferenceSection> reference_sections();

/// "bytes, 1 B .. 1 TB, default: 1 MB", or "..., required".
std::string facts_of(const FieldDoc& doc);

/// Default of a key as the reference prints it; empty where there is none, "required" where it must be given.
std::string default_of(const std::string& key);

/// The words that a key may have: one of fp32, tf32, ..., or of a key that may be automatic those beside numbers and what words
/// begin; none of keys of another kind.
std::vector<std::string> choices_of(const std::string& key);

/// What the schemas say of a key of earlier files: where it is now, or that it is gone. Nothing for other keys.
std::optional<Error> moved_key(const std::string& key);

/// Whether a key of any map is there for people: a title, a description, a source. Nothing is read from its text, which may be
/// the name of a file.
bool is_for_people(std::string_view key);

/// All keys, dotted, in the order of the reference: "cluster.nodes".
std::vector<std::string> config_keys();

}  // namespace distsim::config
