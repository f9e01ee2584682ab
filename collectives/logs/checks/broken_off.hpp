// Lines of a log that say that its run broke off, as the tools of a format print them, and what starts and runs processes.
#pragma once

#include <string_view>

namespace distsim::collectives {

bool tells_failure(std::string_view line);

}  // namespace distsim::collectives
