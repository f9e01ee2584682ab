// Flags that were given and have no effect, named.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "sim/study/idle/without_effect.hpp"

namespace CLI {
class App;
}

namespace distsim::app {

/// A warning for each of `flags` that stands on the command line: "--top: no effect, the text is not printed". To be called
/// where a command knows that it does not heed them.
void name_unheeded(const CLI::App& command, std::initializer_list<const char*> flags, std::string_view because);

/// A warning for each of these that was given; a flag with a value always was.
void name_idle(const CLI::App& command, const std::vector<study::IdleArgument>& arguments);
/// The same, where all were given.
void name_idle(const std::vector<study::IdleArgument>& arguments);

}  // namespace distsim::app
