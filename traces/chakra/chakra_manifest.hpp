// The manifest of a set of traces that distsim wrote, PREFIX.set.json: how many ranks there are and a digest of their
// files, so that a set with a file too few, too many or of another job is not played. Sets of other programs have none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fnv.hpp"
#include "base/result.hpp"

namespace distsim::traces {

struct ChakraManifest {
  std::uint32_t ranks = 0;      ///< files of the set, from rank 0
  std::uint32_t job_ranks = 0;  ///< of the job, of which the set may be a part
  bool complete = false;        ///< false while the set is being written
  std::string digest;           ///< ChakraSetDigest of the files
};

/// Of the files of a set, in the order of their ranks.
class ChakraSetDigest {
 public:
  void add(std::string_view bytes);
  std::string text() const { return words_.hex(); }

 private:
  Fnv64 words_;
};

/// "run/dlrm.set.json" of the prefix "run/dlrm".
std::string chakra_manifest_path(const std::string& prefix);
std::string to_text(const ChakraManifest& manifest);
/// `path`: for messages.
Result<ChakraManifest> parse_chakra_manifest(std::string_view text, const std::string& path);
Result<ChakraManifest> read_chakra_manifest(const std::string& path);

/// Traces with this prefix and a rank of `ranks` or more: of another job.
std::vector<std::string> other_traces(const std::string& prefix, std::uint32_t ranks);

/// What the manifest beside the files says of them; no ranks and no digest where there is none, and no digest where
/// `copies` > 1: a single file stands for so many ranks, so that it need not be all of its set. Errors: a set that was not
/// finished, files too few or too many, files of several sets.
Result<ChakraManifest> manifest_beside(const std::vector<std::string>& files, std::uint32_t copies);

}  // namespace distsim::traces
