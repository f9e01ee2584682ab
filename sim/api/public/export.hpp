// What the library shows to programs that link it.
#pragma once

#define DISTSIM_API __attribute__((visibility("default")))
