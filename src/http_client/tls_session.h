// TlsSession: the TLS of one connection to a server, without any I/O: its owner carries the encrypted bytes.
//
// Threading:  one thread. Ownership:  owns its keys and the bytes that were not taken yet. Failure:    create():
// kInvalidArgument for a file of certificates that cannot be read. The rest: kPermissionDenied for a
//             certificate that is not trusted, kUnavailable for bytes that are no TLS; the session is of no use then.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

#include "base/status.h"
#include "http_client/endpoint.h"

namespace fray::http_client {

class TlsSession {
 public:
  static Result<std::unique_ptr<TlsSession>> create(const Endpoint& endpoint);

  // Adds bytes of the other side, or its end.
  void add_received(std::string_view bytes);
  void end_received() { received_all_ = true; }
  // Takes the bytes that have to be sent to the other side.
  std::string take_to_send();

  Result<bool> shake_hands();  // false: more has to be received
  Status write(std::string_view text);
  // How many bytes were read; 0 at the end that the other side has announced; nothing when more has to be received.
  Result<std::optional<std::size_t>> read(std::span<char> room);

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };

  explicit TlsSession(const Endpoint& endpoint) : endpoint_(endpoint) {}
  Status trust();
  Status name_host();
  // Whether a call that returned `code` only waits for bytes; an error otherwise.
  Result<bool> waits(int code) const;

  const Endpoint& endpoint_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
  BIO* received_ = nullptr;  // these two belong to ssl_
  BIO* to_send_ = nullptr;
  bool received_all_ = false;
};

}  // namespace fray::http_client
