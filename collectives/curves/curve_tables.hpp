// What protobuf makes of curve.proto at its first use.
#pragma once

#include <mutex>
#include <new>

#include "collectives/curve_file/curve.pb.h"

namespace distsim::collectives {

/// To be called before a curve file is parsed or written. Protobuf does not survive a lack of memory while it builds its
/// tables: another try would find half of them. So there is only one, and std::bad_alloc from then on if it fails.
inline void build_curve_tables() {
  static std::mutex mutex;
  static bool built = false, broken = false;
  const std::lock_guard lock(mutex);
  if (broken) throw std::bad_alloc();
  if (built) return;
  broken = true;
  (void)curves::CurveFile::descriptor();
  (void)curves::CurveFile::GetReflection();
  built = true;
  broken = false;
}

}  // namespace distsim::collectives
