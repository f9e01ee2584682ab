#include "sim/app/commands.hpp"

int main(int argc, char** argv) { return distsim::run_command(argc, argv); }
