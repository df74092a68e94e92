#include "http/request_parser.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace fray::http {

namespace beast = boost::beast;

struct RequestParser::Parts {
  beast::http::request_parser<beast::http::string_body> parser;
  Parts() {
    parser.header_limit(kMostHeadBytes);
    parser.body_limit(kMostUploadBytes);
  }
};

namespace {

std::string lower(std::string_view text) {
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

// Headers that must not be repeated: two programs could use different ones (request smuggling), or a guard could check
// one while a handler uses the other.
bool is_single(beast::http::field name) {
  using beast::http::field;
  constexpr std::array kSingle{field::host,
                               field::authorization,
                               field::origin,
                               field::content_length,
                               field::transfer_encoding,
                               field::content_type,
                               field::expect,
                               field::upgrade,
                               field::sec_websocket_key,
                               field::sec_websocket_version};
  return std::find(kSingle.begin(), kSingle.end(), name) != kSingle.end();
}

}  // namespace

RequestParser::RequestParser() = default;
RequestParser::~RequestParser() = default;

bool RequestParser::wants_continue() const { return lower(request_.header("expect")) == "100-continue"; }

RequestParser::Progress RequestParser::bad(unsigned status, std::string_view why) {
  problem_ = error_response(status, "bad request", why);
  return Progress::kBad;
}

RequestParser::Progress RequestParser::too_large() {
  return bad(413, "the body is larger than 8 MiB, or, of a package, than 100 MiB");
}

std::string RequestParser::take_body() {
  if (whole_told_) return std::exchange(request_.body, {});
  return parts_ && head_told_ ? std::exchange(parts_->parser.get().body(), {}) : std::string();
}

RequestParser::Progress RequestParser::take_head() {
  const auto& message = parts_->parser.get();
  request_.method = std::string(message.method_string());
  for (const auto& field : message) {
    std::string name = lower({field.name_string().data(), field.name_string().size()});
    const auto [known, is_new] = request_.headers.try_emplace(std::move(name), field.value());
    if (is_new) continue;
    if (is_single(field.name())) return bad(400, fmt::format("the header {} may be given once", known->first));
    known->second += ", " + std::string(field.value());
  }
  // Two programs could see different ends of such a body (request smuggling), so it is refused.
  const std::string coding = lower(request_.header("transfer-encoding"));
  if (!coding.empty() && coding != "chunked") return bad(501, "the only transfer encoding known here is chunked");
  if (!coding.empty() && request_.headers.contains("content-length")) {
    return bad(400, "a body has a Content-Length or a Transfer-Encoding, and never both");
  }
  const std::string_view length = request_.header("content-length");
  if (length.find_first_not_of("0123456789") != std::string_view::npos) {
    return bad(400, "the Content-Length is one number");
  }
  if (!parse_target({message.target().data(), message.target().size()}, &request_)) {
    return bad(400, "the target must be a path with a query that is percent-encoded, each parameter once");
  }
  const std::uint64_t most = request_.is_upload() ? kMostUploadBytes : kMostBodyBytes;
  if (const auto told = parts_->parser.content_length(); told && *told > most) return too_large();
  parts_->parser.body_limit(most);
  keeps_alive_ = parts_->parser.keep_alive();
  head_told_ = true;
  parts_->parser.eager(true);
  return Progress::kHead;
}

RequestParser::Progress RequestParser::advance(std::string& input) {
  if (!parts_ || whole_told_) {
    parts_ = std::make_unique<Parts>();
    request_ = Request();
    begun_ = head_told_ = whole_told_ = false;
  }
  while (true) {
    if (!head_told_ && parts_->parser.is_header_done()) return take_head();
    if (head_told_ && parts_->parser.is_done()) {
      whole_told_ = true;
      request_.body = std::move(parts_->parser.get().body());
      return Progress::kWhole;
    }
    if (input.empty()) return Progress::kMore;
    begun_ = true;
    beast::error_code error;
    const std::size_t used = parts_->parser.put(boost::asio::buffer(input), error);
    input.erase(0, used);
    if (error == beast::http::error::need_more) {
      if (parts_->parser.is_header_done() || input.size() <= kMostHeadBytes) {
        if (used == 0) return Progress::kMore;
        continue;
      }
      return bad(431, "the headers are larger than 16 KiB");
    }
    if (error == beast::http::error::header_limit) return bad(431, "the headers are larger than 16 KiB");
    if (error == beast::http::error::body_limit) return too_large();
    if (error) return bad(400, "this is no HTTP/1.1 request: " + error.message());
  }
}

}  // namespace fray::http
