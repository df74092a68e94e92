#include "ray/log_socket.h"

#include <optional>

#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "ray/http_connection.h"
#include "ray/refusal.h"

namespace fray::ray {

namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;

namespace {

constexpr std::size_t kMostMessageBytes = std::size_t{64} << 20;

template <typename Stream>
class Socket : public LogSocket {
 public:
  explicit Socket(const Endpoint& endpoint) : endpoint_(endpoint), connection_(endpoint_) {}

  ~Socket() override {
    // The pending read refers to members; its handler must have run before they go.
    lowest().close();
    connection_.loop().restart();
    connection_.loop().run();
  }

  Status open(const std::string& path) {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      FRAY_ASSIGN_OR_RETURN(context_, connection_.tls_context());
      socket_.emplace(connection_.loop(), *context_);
    } else {
      socket_.emplace(connection_.loop());
    }
    FRAY_RETURN_IF_ERROR(connection_.connect(lowest()));
    if constexpr (std::is_same_v<Stream, TlsStream>)
      FRAY_RETURN_IF_ERROR(connection_.shake_hands(socket_->next_layer()));
    return upgrade(path);
  }

  Result<Event> read(std::string* text, std::chrono::milliseconds patience) override {
    start_read();
    const auto deadline = std::chrono::steady_clock::now() + patience;
    connection_.loop().restart();
    while (!outcome_ && !told_to_close_) {
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left <= left.zero() || connection_.loop().run_one_for(left) == 0) return Event::kNothing;
    }
    // The other side's word is enough; its connection may take its time.
    if (told_to_close_ && socket_->reason().code == websocket::close_code::normal) return Event::kClosed;
    const ErrorCode error = outcome_ ? *std::exchange(outcome_, std::nullopt) : ErrorCode(websocket::error::closed);
    reading_ = false;
    if (error) return connection_.failure("reading the log", error);
    *text = beast::buffers_to_string(buffer_.data());
    buffer_.consume(buffer_.size());
    return Event::kText;
  }

 private:
  PlainStream& lowest() { return beast::get_lowest_layer(*socket_); }

  Status upgrade(const std::string& path) {
    const Endpoint& endpoint = connection_.endpoint();
    socket_->set_option(websocket::stream_base::decorator([&endpoint](websocket::request_type& request) {
      request.set(http::field::user_agent, "fray/" FRAY_VERSION);
      if (!endpoint.token.value.empty()) {
        request.set(http::field::authorization, "Bearer " + endpoint.token.value);
      }
    }));
    socket_->read_message_max(kMostMessageBytes);
    socket_->control_callback([this](websocket::frame_type kind, beast::string_view) {
      told_to_close_ = told_to_close_ || kind == websocket::frame_type::close;
    });
    websocket::response_type response;
    lowest().expires_after(endpoint.answer_limit);
    const ErrorCode error = connection_.wait(lowest(), [&](auto handler) {
      socket_->async_handshake(response, endpoint.address.authority(), endpoint.address.prefix + path,
                               std::move(handler));
    });
    if (error == websocket::error::upgrade_declined) {
      return refusal(endpoint, "send the log", response.result_int(), response.body());
    }
    if (error) return connection_.failure("opening the log", error);
    lowest().expires_never();
    return Status::ok();
  }

  void start_read() {
    if (std::exchange(reading_, true)) return;
    socket_->async_read(buffer_, [this](ErrorCode error, std::size_t) { outcome_ = error; });
  }

  const Endpoint endpoint_;
  HttpConnection connection_;
  std::unique_ptr<boost::asio::ssl::context> context_;
  beast::flat_buffer buffer_;
  std::optional<websocket::stream<Stream>> socket_;
  bool reading_ = false;
  bool told_to_close_ = false;
  std::optional<ErrorCode> outcome_;
};

template <typename Stream>
Result<std::unique_ptr<LogSocket>> open_socket(const Endpoint& endpoint, const std::string& path) {
  auto socket = std::make_unique<Socket<Stream>>(endpoint);
  FRAY_RETURN_IF_ERROR(socket->open(path));
  return std::unique_ptr<LogSocket>(std::move(socket));
}

}  // namespace

Result<std::unique_ptr<LogSocket>> LogSocket::open(const Endpoint& endpoint, const std::string& path) {
  return endpoint.address.tls ? open_socket<TlsStream>(endpoint, path) : open_socket<PlainStream>(endpoint, path);
}

}  // namespace fray::ray
