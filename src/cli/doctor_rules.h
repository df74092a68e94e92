// judge(): decides from the facts about a machine what is in order, what the user should know, and what keeps the
// engine from running, each with a remedy.
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
  std::string check;  // the short name of the check, the same in every release
  Verdict verdict = Verdict::kGood;
  std::string found;
  std::string remedy;  // empty when there is nothing to do
};

std::vector<Finding> judge(const MachineFacts& facts);

}  // namespace fray::cli
