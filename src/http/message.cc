#include "http/message.h"

#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"

namespace fray::http {

namespace {

using nlohmann::json;

constexpr std::size_t kMostSegments = 16;
constexpr std::size_t kMostParameters = 32;

unsigned http_status(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
      return 400;
    case StatusCode::kNotFound:
      return 404;
    case StatusCode::kAlreadyExists:
      return 409;
    case StatusCode::kPermissionDenied:
      return 403;
    case StatusCode::kTimedOut:
      return 504;
    case StatusCode::kUnavailable:
      return 503;
    case StatusCode::kResourceExhausted:
      return 507;
    default:
      return 500;
  }
}

bool take_parameter(std::string_view pair, Request* request) {
  const std::size_t equals = pair.find('=');
  bool good = true;
  std::string name = percent_decoded(pair.substr(0, equals), &good);
  if (!good || name.empty() || request->query.size() == kMostParameters) return false;
  std::string value = equals == std::string_view::npos ? "" : percent_decoded(pair.substr(equals + 1), &good);
  // A repeated name is refused: one of the two values would be ignored.
  return good && request->query.emplace(std::move(name), std::move(value)).second;
}

// Whether the next segment is the id of a job, which may contain slashes, as ids of Iris do: "/user/train".
bool names_a_job_next(const std::vector<std::string>& path) {
  return path == std::vector<std::string>{"api", "v1", "jobs"} || path == std::vector<std::string>{"dashboard", "jobs"};
}

}  // namespace

std::string_view Request::header(std::string_view name) const {
  auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

Response json_response(const json& document, unsigned status) {
  return {status, "application/json", json_text(document) + "\n", {}};
}

Response error_response(unsigned status, std::string_view code, std::string_view message) {
  return json_response({{"error", {{"code", code}, {"message", message}}}}, status);
}

Response error_response(const Status& status) {
  return error_response(http_status(status.code()), to_string(status.code()), status.message());
}

Response sentence_page(unsigned status, std::string_view sentence) {
  Response page{status, "text/html; charset=utf-8", "", {}};
  page.body = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Fray</title>\n<p>{}</p>\n</html>\n",
      sentence);
  page.headers = {
      {"Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
      {"Referrer-Policy", "no-referrer"}};
  return page;
}

Response redirect(std::string path) {
  Response response{303, "", "", {}};
  response.headers = {{"Location", std::move(path)}, {"Referrer-Policy", "no-referrer"}};
  return response;
}

std::string_view reason_phrase(unsigned status) {
  switch (status) {
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 303:
      return "See Other";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 507:
      return "Insufficient Storage";
    default:
      return status < 500 ? "Refused" : "Internal Server Error";
  }
}

std::string response_head(const Response& response, bool keep_alive, bool with_length) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_phrase(response.status));
  if (!response.content_type.empty()) head += fmt::format("Content-Type: {}\r\n", response.content_type);
  if (with_length) head += fmt::format("Content-Length: {}\r\n", response.body.size());
  for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, value);
  // Answers hold data that the token protects, so no proxy may store them.
  if (!response.headers.contains("Cache-Control")) head += "Cache-Control: no-store\r\n";
  head += "X-Content-Type-Options: nosniff\r\n";
  if (response.status != 101) head += keep_alive ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  return head + "\r\n";
}

std::string percent_decoded(std::string_view text, bool* good) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      unsigned byte = 0;
      const char* begin = text.data() + i + 1;
      const bool whole = text.size() - i > 2;
      auto [end, error] = std::from_chars(begin, whole ? begin + 2 : begin, byte, 16);
      if (!whole || error != std::errc() || end != begin + 2) return *good = false, "";
      c = static_cast<char>(byte);
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return *good = false, "";
    decoded += c;
  }
  return decoded;
}

bool parse_target(std::string_view target, Request* request) {
  if (target.empty() || target.front() != '/') return false;
  const std::size_t question = target.find('?');
  std::string_view path = target.substr(1, question == std::string_view::npos ? question : question - 1);
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    bool good = true;
    std::string segment = percent_decoded(path.substr(0, slash), &good);
    if (!good || segment.empty() || segment == "." || segment == ".." ||
        (segment.find('/') != std::string::npos && !names_a_job_next(request->path)) ||
        request->path.size() == kMostSegments) {
      return false;
    }
    request->path.push_back(std::move(segment));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  if (question == std::string_view::npos) return true;
  std::string_view query = target.substr(question + 1);
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    if (end > 0 && !take_parameter(query.substr(0, end), request)) return false;
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return true;
}

}  // namespace fray::http
