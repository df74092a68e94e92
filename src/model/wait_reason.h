// WaitReason: why something waits, and what ends the wait, as text for people.
//
// Threading:  a value.
// Ownership:  owns its strings.
// Failure:    none; empty where nothing waits.
#pragma once

#include <string>

namespace fray {

struct WaitReason {
  std::string text;    // "waits for CPU:4: the node has CPU:8, of which CPU:1 is free"
  std::string way_on;  // what has to happen, or what somebody can do; a whole sentence
};

}  // namespace fray
