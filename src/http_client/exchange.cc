#include "http_client/exchange.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "http_client/connection.h"

namespace fray::http_client {

namespace {

constexpr std::size_t kUploadChunk = std::size_t{256} << 10;
constexpr std::uint64_t kSlowestBytesPerSecond = 1 << 20;  // of an upload

std::string whole_head(const Endpoint& endpoint, const Request& request) {
  const std::uint64_t size = request.file >= 0 ? request.file_bytes : request.body.size();
  std::string head = request_head(endpoint, request.method, request.path) + "Accept: */*\r\nConnection: close\r\n";
  head += request.headers;
  if (size > 0 || request.type != "application/json") {
    head += fmt::format("Content-Type: {}\r\n", request.file >= 0 ? "application/octet-stream" : request.type);
  }
  if (request.method != "GET") head += fmt::format("Content-Length: {}\r\n", size);
  return head + "\r\n";
}

Status send_file(Connection& connection, const Request& request) {
  std::string chunk(kUploadChunk, '\0');
  for (std::uint64_t offset = 0; offset < request.file_bytes;) {
    const std::size_t wanted = std::min<std::uint64_t>(chunk.size(), request.file_bytes - offset);
    const ssize_t got = ::pread(request.file, chunk.data(), wanted, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return connection.cut(got < 0 ? std::strerror(errno) : "the file to send has become shorter");
    FRAY_RETURN_IF_ERROR(connection.write(std::string_view(chunk).substr(0, static_cast<std::size_t>(got))));
    offset += static_cast<std::uint64_t>(got);
  }
  return Status::ok();
}

Status send(Connection& connection, const Request& request) {
  const Endpoint& endpoint = connection.endpoint();
  const auto upload = std::chrono::seconds(request.file_bytes / kSlowestBytesPerSecond);
  connection.begin("sending", endpoint.answer_limit + upload);
  const std::string head = whole_head(endpoint, request);
  if (request.file < 0) return connection.write(head + request.body);
  FRAY_RETURN_IF_ERROR(connection.write(head));
  return send_file(connection, request);
}

}  // namespace

Result<Answer> exchange(const Endpoint& endpoint, const Request& request, bool* arrived) {
  *arrived = false;
  FRAY_ASSIGN_OR_RETURN(const auto connection, Connection::open(endpoint));
  const Status sent = send(*connection, request);
  *arrived = true;
  if (sent.code() == StatusCode::kTimedOut || sent.code() == StatusCode::kCancelled) return sent;
  // A server that refuses a body answers before it has read all of it, and closes the connection.
  connection->begin("waiting for the answer", endpoint.answer_limit);
  Result<Answer> answer = receive_answer(*connection, request.method != "HEAD", nullptr);
  if (!sent.is_ok() && !answer.is_ok()) return sent;
  return answer;
}

std::string request_head(const Endpoint& endpoint, std::string_view method, std::string_view path) {
  std::string head = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: fray/" FRAY_VERSION "\r\n", method,
                                 endpoint.address.prefix, path, endpoint.address.authority());
  if (!endpoint.token.value.empty()) head += "Authorization: Bearer " + endpoint.token.value + "\r\n";
  return head;
}

std::string path_segment(std::string_view text) {
  std::string segment;
  for (char c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '~';
    // "." alone would name a folder.
    if (plain || (c == '.' && text.size() > 2)) {
      segment += c;
    } else {
      segment += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return segment;
}

}  // namespace fray::http_client
