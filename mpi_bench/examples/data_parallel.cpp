// A data-parallel loop: every rank computes a gradient on its own samples, MPI_Allreduce sums the gradients, every rank
// updates its weights.
//   mpirun -n 2 example_data_parallel --size 1048576 --work 2
#include "mpi_bench/examples/loop.hpp"

namespace {

/// A linear model with squared error on one rank's samples: `passes` samples, each a multiply-add over all weights
/// forward and backward.
class Model {
 public:
  explicit Model(long parameters) : weights_(parameters, 0.5f), gradient_(parameters), sample_(parameters) {
    for (long i = 0; i < parameters; ++i) sample_[i] = 1.0f / static_cast<float>(1 + i % 17);
  }
  void compute_gradient(long passes) {
    std::fill(gradient_.begin(), gradient_.end(), 0.0f);
    for (long pass = 0; pass < passes; ++pass) {
      float sums[8] = {};
      const std::size_t whole = weights_.size() / 8 * 8;
      for (std::size_t i = 0; i < whole; i += 8) {
        for (std::size_t j = 0; j < 8; ++j) sums[j] += weights_[i + j] * sample_[i + j];
      }
      float output = 0;
      for (const float sum : sums) output += sum;
      const float error = 1e-6f * (output - static_cast<float>(pass));
      for (std::size_t i = 0; i < weights_.size(); ++i) gradient_[i] += error * sample_[i];
    }
  }
  void all_reduce_gradient() {
    MPI_Allreduce(MPI_IN_PLACE, gradient_.data(), static_cast<int>(gradient_.size()), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  }
  void update() {
    for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] -= 1e-3f * gradient_[i];
  }

 private:
  std::vector<float> weights_, gradient_, sample_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const example::Flags flags = example::flags_of(argc, argv);
  Model model(flags.size / static_cast<long>(sizeof(float)));
  example::run_loop(flags, [&](bool talk) {
    model.compute_gradient(flags.work);
    if (talk) model.all_reduce_gradient();
    model.update();
  });
  MPI_Finalize();
}
