// Measured times of layers: CSV with the columns
//
//   model,gpu,batch,layer,time_us      one row for each layer, in order of execution; other columns are ignored
//
// The layers of a model are the same, in the same order, on all GPUs and at all batches, and each comes once: a row that is
// there twice would count twice. Those with a number ascend. The rows of a model, a GPU and a batch are in one file. Between
// two batches times are interpolated linearly; a batch that is larger than the largest measured one is not priced.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace distsim::serving {

class TimesTable {
 public:
  /// Adds the rows of a file. Errors: a missing column, a time that is no number from 0 to 1e10 us, a batch below 1, a model
  /// that takes no time on a GPU, another layer than elsewhere, a layer's number out of order, rows of what another file has.
  Result<void> read(const std::string& path);

  bool has(const std::string& model, const std::string& gpu) const { return rows_.contains({model, gpu}); }
  /// Largest measured batch. Precondition: has.
  std::uint32_t largest_batch(const std::string& model, const std::string& gpu) const;
  /// Picoseconds of each layer at this batch. Errors: no such times; batches with different numbers of layers.
  Result<std::vector<double>> layers(const std::string& model, const std::string& gpu, std::uint32_t batch) const;
  /// What is odd in them: columns that are not read; a larger batch in less than half the time of a smaller one, or in more
  /// than four times what its requests take one by one.
  std::vector<std::string> notes() const;
  /// By file: the models and GPUs of its rows.
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> pairs_of_files() const;
  std::vector<std::string> models() const;
  std::vector<std::string> gpus() const;

 private:
  struct Block {
    std::vector<double> ps;  ///< by layer
    std::string file;
    std::int64_t last_number = -1;             ///< of the layers so far
    std::map<std::string, std::string> names;  ///< of them, and where each was read
  };
  using Batches = std::map<std::uint32_t, Block>;
  Result<void> check_layer(const std::string& model, const std::string& layer, const std::string& where, Block& block);
  Result<void> check_some_time(const std::string& path) const;
  std::map<std::pair<std::string, std::string>, Batches> rows_;
  std::vector<std::string> unused_;  ///< a line for each column that is not read
  /// By model: names of its layers, and where each was read first.
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> layers_;
};

}  // namespace distsim::serving
