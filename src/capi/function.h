// fray_function: a function that can be submitted, of any language, with its options.
//
// Threading:  immutable once made.
// Ownership:  counted; keeps its session.
// Failure:    for a payload that is not C++ the Status of cpp_name_of() says which language it is.
#pragma once

#include <memory>
#include <string_view>

#include "capi/session.h"
#include "client/call.h"
#include "wire/function_payload.h"

struct fray_function {
  std::atomic<std::size_t> references{1};
  fray_session* session = nullptr;  // counted
  std::shared_ptr<fray::client::Function> function;
  fray::client::TaskOptions options;
  double timeout_seconds = 0;
};

namespace fray::capi {

using wire::FunctionKind;

std::shared_ptr<client::Function> make_function(FunctionKind kind, std::string_view name, std::string_view label);
Result<std::string_view> cpp_name_of(std::string_view payload);

}  // namespace fray::capi
