#include "ray/endpoint.h"

#include <gtest/gtest.h>

namespace fray::ray {
namespace {

std::string read(std::string_view text) {
  auto address = parse_address(text);
  return address.is_ok() ? address->text() : address.status().message();
}

TEST(RayAddressTest, hosts_ports_and_prefixes_are_read) {
  EXPECT_EQ(read("http://127.0.0.1:8265"), "http://127.0.0.1:8265");
  EXPECT_EQ(read("127.0.0.1:8265"), "http://127.0.0.1:8265");
  EXPECT_EQ(read("https://ray.example.org/team-a/"), "https://ray.example.org:443/team-a");
  EXPECT_EQ(read("http://head"), "http://head:80");
  EXPECT_EQ(read("http://[::1]:8265"), "http://[::1]:8265");
  EXPECT_EQ(parse_address("http://[::1]:8265")->host, "::1");
}

TEST(RayAddressTest, what_is_no_address_is_refused_with_what_to_write) {
  for (const char* text : {"", "http://", "http://:8265", "http://host:", "http://host:0", "http://host:65536",
                           "http://host:80a", "http://::1:8265", "http://[::1", "http://[::1]x80", "ftp://host:1",
                           "http://ho st:80", "http://host:80/a?b", "http://host:80/a b", "http://ho\r\nst:80"}) {
    auto address = parse_address(text);
    ASSERT_FALSE(address.is_ok()) << text;
    EXPECT_EQ(address.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(address.status().message().find("write http://HOST:PORT"), std::string::npos) << text;
  }
}

TEST(RayAddressTest, the_protocol_of_ray_client_is_told_apart_from_the_dashboard) {
  EXPECT_NE(read("ray://127.0.0.1:10001").find("8265"), std::string::npos);
}

TEST(RayAddressTest, a_password_in_an_address_is_not_repeated) {
  const std::string said = read("http://user:hidden-word@host:8265");
  EXPECT_EQ(said.find("hidden-word"), std::string::npos);
  EXPECT_NE(said.find("RAY_AUTH_TOKEN"), std::string::npos);
}

}  // namespace
}  // namespace fray::ray
