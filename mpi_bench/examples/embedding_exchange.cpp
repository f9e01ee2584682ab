// The embedding part of a recommender: every rank owns tables, looks up and pools rows for the whole batch,
// MPI_Alltoall brings each rank the pooled vectors of its own samples; their gradients travel back the same way and are
// added to the rows.
//   mpirun -n 2 example_embedding_exchange --size 1048576 --work 4
#include "mpi_bench/examples/loop.hpp"

namespace {

constexpr long kDim = 32;

class Tables {
 public:
  /// `vectors` pooled vectors of kDim floats, `pooling` rows each.
  Tables(long vectors, long pooling)
      : vectors_(vectors),
        pooling_(pooling),
        rows_(kRows * kDim, 0.25f),
        pooled_(vectors * kDim),
        received_(vectors * kDim) {
    std::uint64_t state = 1;
    for (long i = 0; i < vectors * std::max(1L, pooling); ++i) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      indices_.push_back(static_cast<long>((state >> 33) % kRows));
    }
  }
  void look_up() {
    for (long v = 0; v < vectors_; ++v) {
      float* const out = pooled_.data() + v * kDim;
      std::fill(out, out + kDim, 0.0f);
      for (long p = 0; p < pooling_; ++p) {
        const float* const row = rows_.data() + indices_[v * pooling_ + p] * kDim;
        for (long d = 0; d < kDim; ++d) out[d] += row[d];
      }
    }
  }
  void exchange(int ranks) {
    const int part = static_cast<int>(static_cast<long>(pooled_.size()) / ranks);
    MPI_Alltoall(pooled_.data(), part, MPI_FLOAT, received_.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
  }
  /// Stands for the dense part: turns vectors into their gradients.
  void dense() {
    for (std::size_t i = 0; i < pooled_.size(); ++i) pooled_[i] = received_[i] * 0.5f - 0.125f;
  }
  void update() {
    for (long v = 0; v < vectors_; ++v) {
      for (long p = 0; p < pooling_; ++p) {
        float* const row = rows_.data() + indices_[v * pooling_ + p] * kDim;
        for (long d = 0; d < kDim; ++d) row[d] -= 1e-3f * received_[v * kDim + d];
      }
    }
  }

 private:
  static constexpr long kRows = 20'000;
  const long vectors_, pooling_;
  std::vector<float> rows_, pooled_, received_;
  std::vector<long> indices_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const example::Flags flags = example::flags_of(argc, argv);
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long row_bytes = kDim * static_cast<long>(sizeof(float));
  Tables tables(std::max(1L, flags.size / row_bytes / ranks) * ranks, flags.work);
  example::run_loop(flags, [&](bool talk) {
    tables.look_up();
    if (talk) tables.exchange(ranks);
    tables.dense();
    if (talk) tables.exchange(ranks);
    tables.update();
  });
  MPI_Finalize();
}
