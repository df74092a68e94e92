#include "http_client/tls_session.h"

#include <algorithm>
#include <climits>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

namespace fray::http_client {

namespace {

bool is_ip(const std::string& host) {
  in6_addr parsed;
  return ::inet_pton(AF_INET, host.c_str(), &parsed) == 1 || ::inet_pton(AF_INET6, host.c_str(), &parsed) == 1;
}

std::string reason(unsigned long error) {
  const char* text = ERR_reason_error_string(error);
  return text != nullptr ? text : "the connection was cut";
}

}  // namespace

Result<std::unique_ptr<TlsSession>> TlsSession::create(const Endpoint& endpoint) {
  std::unique_ptr<TlsSession> session(new TlsSession(endpoint));
  session->context_.reset(SSL_CTX_new(TLS_client_method()));
  if (!session->context_) return Status(StatusCode::kInternal, "TLS cannot be set up: " + reason(ERR_get_error()));
  SSL_CTX_set_min_proto_version(session->context_.get(), TLS1_2_VERSION);
  FRAY_RETURN_IF_ERROR(session->trust());
  session->ssl_.reset(SSL_new(session->context_.get()));
  if (!session->ssl_) return Status(StatusCode::kInternal, "TLS cannot be set up: " + reason(ERR_get_error()));
  session->received_ = BIO_new(BIO_s_mem());
  session->to_send_ = BIO_new(BIO_s_mem());
  SSL_set_bio(session->ssl_.get(), session->received_, session->to_send_);
  SSL_set_connect_state(session->ssl_.get());
  FRAY_RETURN_IF_ERROR(session->name_host());
  return session;
}

Status TlsSession::trust() {
  SSL_CTX_set_default_verify_paths(context_.get());
  // The certificates of systems other than the one that the TLS library was built for.
  for (const char* file : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"}) {
    SSL_CTX_load_verify_locations(context_.get(), file, nullptr);
  }
  ERR_clear_error();
  const std::string& file = endpoint_.ca_file;
  if (!file.empty() && SSL_CTX_load_verify_locations(context_.get(), file.c_str(), nullptr) != 1) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("the certificates in {} cannot be read: {}", file, reason(ERR_get_error())));
  }
  SSL_CTX_set_verify(context_.get(), endpoint_.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  return Status::ok();
}

// Sets the name that the certificate must have, and the name (SNI) by which a server of several sites chooses one.
Status TlsSession::name_host() {
  const std::string& host = endpoint_.address.host;
  const bool set = is_ip(host) ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), host.c_str()) == 1
                               : SSL_set1_host(ssl_.get(), host.c_str()) == 1 &&
                                     SSL_set_tlsext_host_name(ssl_.get(), host.c_str()) == 1;
  if (set) return Status::ok();
  return Status(StatusCode::kInvalidArgument, fmt::format("no certificate can name the host {}", host));
}

void TlsSession::add_received(std::string_view bytes) {
  BIO_write(received_, bytes.data(), static_cast<int>(bytes.size()));
}

std::string TlsSession::take_to_send() {
  std::string bytes(BIO_ctrl_pending(to_send_), '\0');
  if (!bytes.empty()) BIO_read(to_send_, bytes.data(), static_cast<int>(bytes.size()));
  return bytes;
}

Result<bool> TlsSession::waits(int code) const {
  const int kind = SSL_get_error(ssl_.get(), code);
  if (kind == SSL_ERROR_WANT_READ && !received_all_) return true;
  const unsigned long error = ERR_get_error();
  if (kind == SSL_ERROR_WANT_READ || error == 0) {
    return Status(StatusCode::kUnavailable,
                  fmt::format("{}: the connection was cut in the midst of TLS", endpoint_.address.text()));
  }
  const bool untrusted = ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED;
  return Status(untrusted ? StatusCode::kPermissionDenied : StatusCode::kUnavailable,
                fmt::format("{}: TLS failed: {}; {}", endpoint_.address.text(), reason(error),
                            untrusted ? "name the certificate of its authority with ca_file"
                                      : "does it speak TLS at that port, or is it http://?"));
}

Result<bool> TlsSession::shake_hands() {
  ERR_clear_error();
  const int code = SSL_do_handshake(ssl_.get());
  if (code == 1) return true;
  FRAY_ASSIGN_OR_RETURN(const bool waits, this->waits(code));
  return !waits;
}

Status TlsSession::write(std::string_view text) {
  while (!text.empty()) {
    ERR_clear_error();
    // Writes go to a buffer in memory, so none of them waits for the other side.
    const int written =
        SSL_write(ssl_.get(), text.data(), static_cast<int>(std::min<std::size_t>(text.size(), INT_MAX)));
    if (written <= 0) {
      FRAY_ASSIGN_OR_RETURN(const bool waits, this->waits(written));
      if (waits) return Status(StatusCode::kUnavailable, endpoint_.address.text() + ": TLS was to begin anew");
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return Status::ok();
}

Result<std::optional<std::size_t>> TlsSession::read(std::span<char> room) {
  ERR_clear_error();
  const int got = SSL_read(ssl_.get(), room.data(), static_cast<int>(room.size()));
  if (got > 0) return std::optional<std::size_t>(static_cast<std::size_t>(got));
  if (SSL_get_error(ssl_.get(), got) == SSL_ERROR_ZERO_RETURN) return std::optional<std::size_t>(0);
  FRAY_RETURN_IF_ERROR(waits(got).status());
  return std::optional<std::size_t>();
}

}  // namespace fray::http_client
