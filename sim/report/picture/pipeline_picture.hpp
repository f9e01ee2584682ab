// The schedule of a pipeline as a picture (SVG): a row for each stage, boxes for what the first rank of the stage does in
// the last iteration that was played, from its first pass or transfer to its end.
//
// Forward and backward passes carry the number of their micro-batch, counted from 1, where it fits; the boxes of a stage's
// later chunks are paler. Communication is what no pass hides. The grey rest is idle: the pipeline's bubble. Where boxes are
// narrower than about a pixel, one box stands for several: its parts have the heights of their shares of the time. Colours are
// those of Okabe and Ito (jfly.uni-koeln.de/color), which people with any kind of colour blindness tell apart.
#pragma once

#include <string>

#include "sim/graph/pipeline_order.hpp"
#include "sim/report/report.hpp"

namespace distsim::report {

/// At most about 450 kB, whatever the numbers of stages and micro-batches: of more than 64 stages only some are drawn.
/// Empty where the played passes are not those of `order`.
std::string pipeline_picture(const Played& played, const graph::PipelineOrder& order);

}  // namespace distsim::report
