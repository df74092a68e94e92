// Endpoint: a server's address, the token for it, and how long a request may take.
//
// Threading:  values; `interrupted` is called by the thread that asks.
// Ownership:  owns its strings.
// Failure:    none.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "http_client/address.h"
#include "http_client/service.h"
#include "http_client/token.h"

namespace fray::http_client {

struct Endpoint {
  Address address;
  Token token;
  // TLS alone: files of trusted certificates beside the system's; without `verify` any certificate will do.
  std::string ca_file;
  bool verify = true;

  std::chrono::milliseconds connect_limit{5'000};
  std::chrono::milliseconds answer_limit{60'000};
  std::size_t most_answer_bytes = std::size_t{256} << 20;
  // Called several times a second during a wait; true: give up with kCancelled.
  std::function<bool()> interrupted;
  Service service;
};

}  // namespace fray::http_client
