// judge(): what of a machine is well, what is worth knowing and what stops the engine, each with the remedy.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    none.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor_facts.h"

namespace fray::cli {

enum class Verdict { kGood, kNotice, kBad };

struct Finding {
  std::string check;  // a short name that does not change
  Verdict verdict = Verdict::kGood;
  std::string found;
  std::string remedy;  // empty when there is nothing to do
};

std::vector<Finding> judge(const MachineFacts& facts);

}  // namespace fray::cli
