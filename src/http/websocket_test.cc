#include "http/websocket.h"

#include <gtest/gtest.h>

namespace fray::http::websocket {
namespace {

std::string masked(unsigned char opcode, std::string_view payload) {
  const std::string mask = "\x01\x02\x03\x04";
  std::string frame(1, static_cast<char>(0x80 | opcode));
  frame += static_cast<char>(0x80 | payload.size());
  frame += mask;
  for (std::size_t i = 0; i < payload.size(); ++i) frame += static_cast<char>(payload[i] ^ mask[i % 4]);
  return frame;
}

TEST(WebsocketTest, the_key_is_that_of_the_standards_example) {
  EXPECT_EQ(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebsocketTest, lengths_are_written_in_their_three_forms) {
  EXPECT_EQ(text_frame("abc"), std::string("\x81\x03") + "abc");
  EXPECT_EQ(text_frame(std::string(300, 'x')).substr(0, 4), std::string("\x81\x7E\x01\x2C"));
  EXPECT_EQ(text_frame(std::string(70'000, 'x')).substr(0, 10), std::string("\x81\x7F\0\0\0\0\0\x01\x11\x70", 10));
}

TEST(WebsocketTest, a_clients_ping_is_answered_and_its_close_seen_however_they_are_cut) {
  const std::string bytes = masked(1, "ignored") + masked(9, "ab") + masked(8, "\x03\xe8");
  Reader reader;
  std::string pongs;
  bool closed = false;
  for (char byte : bytes) {
    auto seen = reader.take(std::string_view(&byte, 1));
    ASSERT_TRUE(seen.is_ok());
    pongs += seen->pongs;
    closed = closed || seen->closed;
  }
  EXPECT_EQ(pongs, pong_frame("ab"));
  EXPECT_TRUE(closed);
}

TEST(WebsocketTest, frames_that_no_client_sends_end_the_connection) {
  EXPECT_FALSE(Reader()
                   .take("\x81\x03"
                         "abc")
                   .is_ok());
  EXPECT_FALSE(Reader().take(std::string("\x81\xFF\x7F\0\0\0\0\0\0\0mask", 14)).is_ok());
}

TEST(WebsocketTest, text_is_utf8_whatever_the_bytes_are) {
  std::string rest;
  EXPECT_EQ(as_text("a\xC3", &rest), "a");
  EXPECT_EQ(as_text("\xBC"
                    "b",
                    &rest),
            "\xC3\xBC"
            "b");
  EXPECT_EQ(as_text("\xFF\xC3(", &rest), "\xEF\xBF\xBD\xEF\xBF\xBD(");
  EXPECT_EQ(as_text("\xED\xA0\x80", &rest), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // half of a surrogate pair
  EXPECT_EQ(as_text("\xF0\x9F\x98", &rest), "");
  EXPECT_EQ(as_text("\x80", &rest), "\xF0\x9F\x98\x80");
  EXPECT_EQ(rest, "");
}

}  // namespace
}  // namespace fray::http::websocket
