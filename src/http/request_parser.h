// RequestParser: makes requests, one after the other, of the bytes of a connection.
//
// Threading:  one thread.
// Ownership:  owns what it has parsed so far.
// Failure:    kBad, with the status to answer (400, 413, 431, 501). The connection must then end, because it is not
//             known where the next request begins.
#pragma once

#include <memory>
#include <string>

#include "http/message.h"

namespace fray::http {

class RequestParser {
 public:
  static constexpr std::uint32_t kMostHeadBytes = 16u << 10;
  static constexpr std::uint64_t kMostBodyBytes = 8u << 20;
  static constexpr std::uint64_t kMostUploadBytes = 100u << 20;  // as Ray has it

  enum class Progress { kMore, kHead, kWhole, kBad };

  RequestParser();
  ~RequestParser();

  // Takes what it can use from the front of `input`. kHead is said once a request, before any of its body is taken: the
  // head's part of request() is valid then. After kWhole the next call begins the next request.
  Progress advance(std::string& input);

  Request& request() { return request_; }
  // What has come of the body since the last call; request().body has only the rest then.
  std::string take_body();
  bool keeps_alive() const { return keeps_alive_; }
  bool wants_continue() const;
  bool has_begun() const { return begun_; }
  const Response& problem() const { return problem_; }

 private:
  struct Parts;

  Progress take_head();
  Progress too_large();
  Progress bad(unsigned status, std::string_view why);

  std::unique_ptr<Parts> parts_;
  Request request_;
  Response problem_;
  bool begun_ = false;
  bool head_told_ = false;
  bool whole_told_ = false;
  bool keeps_alive_ = true;
};

}  // namespace fray::http
