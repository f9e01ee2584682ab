// Models of one device at the SM clocks that rows of measured ops state, and the clock that its prices are at.
//
// A row that states a clock below that one was measured on a GPU that was locked, or held back by its power limit. It is held
// against the models of the device locked to that clock: the same models by which a table is carried to a locked clock, so
// that both cancel. What follows the clock (matrix units, plain lanes, L2) is carried, what does not (memory, links) is not.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "opmodels/op_models.hpp"

namespace distsim::opmodels {

/// Clocks of one run differ by less, with the temperature and with the moment that they are read at; chosen.
inline constexpr double kHeldClock = 0.97;

class ModelsAtClocks {
 public:
  /// Of the device of `models`, whatever it is locked to, with what it has learned and without a table. `models` must live
  /// as long.
  explicit ModelsAtClocks(const OpModels& models);

  /// The clock of prices at free clocks (topology::clock_of_prices).
  Hertz usual() const { return usual_; }
  /// Whether a row's clock is clearly below; false where it states none (0).
  bool is_low(Hertz clock) const { return clock.value() > 0 && clock.value() < kHeldClock * usual_.value(); }

  /// At free clocks.
  Result<const OpModels*> free();
  /// At a clock that is_low, to the MHz. Valid until the next call.
  Result<const OpModels*> at(Hertz clock);
  /// Of a row: `models` themselves where it states no clock (0).
  Result<const OpModels*> of_row(Hertz clock);

 private:
  const OpModels& models_;
  topology::DeviceSpec device_;  ///< at free clocks
  Hertz usual_;
  std::optional<OpModels> free_;             ///< where `models_` are not
  std::map<std::int64_t, OpModels> locked_;  ///< by MHz
};

}  // namespace distsim::opmodels
