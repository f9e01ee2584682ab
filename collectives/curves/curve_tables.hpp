// What protobuf makes of curve.proto at its first use.
#pragma once

namespace distsim::collectives {

/// To be called before a curve file is parsed or written. Protobuf does not survive a lack of memory while it builds its
/// tables: another try would find half of them. So there is only one, and std::bad_alloc from then on if it fails.
void build_curve_tables();

}  // namespace distsim::collectives
