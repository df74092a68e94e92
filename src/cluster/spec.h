// Spec: names a cluster in one line of text: `local`, `ray?address=http://10.0.0.5:8265&verify=false`.
//
// Threading:  a value.
// Ownership:  owns its strings.
// Failure:    kInvalidArgument for a key without a value. Schemes and keys are checked by the clusters.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fray::cluster {

struct Spec {
  std::string scheme;
  std::map<std::string, std::string> keys;  // percent-decoded; of a repeated key the last one counts

  static Result<Spec> parse(std::string_view text);
};

}  // namespace fray::cluster
