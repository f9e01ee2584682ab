// What the value of a flag is, in one word: FILE, SYSTEM, KEY=VALUE. The help prints the word, and shell completion
// offers what it stands for.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace distsim::app {

/// What completes a value. The names of systems, devices and keys come from `distsim completion systems|devices|keys|...`,
/// so that files of the user are among them; `anything` is left to the user.
enum class Completes { anything, files, folders, systems, devices, systems_or_devices, settings, serving_settings };

/// Gives each flag and argument of `app` and of its subcommands that has no word of its own (type_name("WORD")) the
/// word of its name.
void name_values(CLI::App& app);

/// What completes a value of that word: `files` for FILE.
Completes completes(std::string_view word);

}  // namespace distsim::app
