#include "node/sessions/session_options.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "os/machine/machine.h"

namespace fray::node {
namespace {

TEST(SessionOptions, UnsaidIsWhatTheMachineHas) {
  SessionOptions options = parse_options("{}").value();
  EXPECT_EQ(options.total.amount("CPU"), os::usable_cpus());
  EXPECT_EQ(options.total.amount("memory"), static_cast<double>(os::usable_memory_bytes()));
  const auto with_memory = static_cast<std::uint32_t>(os::usable_memory_bytes() >> 26U);  // 64 MiB for each
  EXPECT_GE(options.max_workers, std::max(32u, std::min(128u, with_memory)));
  EXPECT_GT(options.store_memory_bytes, 0u);
}

TEST(SessionOptions, SaidIsKept) {
  SessionOptions options =
      parse_options(
          R"({"cpus": 1.5, "memory_bytes": 1000, "store_memory_bytes": 10, "resources": {"TPU": 4, "GPU": 0}, "max_workers": 3, "memory_threshold": 0.4})")
          .value();
  EXPECT_EQ(options.total.to_string(), "CPU 1.5, TPU 4, head_node 1, memory 1000 B");
  EXPECT_EQ(options.store_memory_bytes, 10u);
  EXPECT_EQ(options.max_workers, 3u);
  EXPECT_EQ(options.memory_threshold, 0.4);
}

TEST(SessionOptions, HeadNodeIsOneUnlessDeclaredOtherwise) {
  EXPECT_EQ(parse_options("{}").value().total.amount("head_node"), 1.0);
  EXPECT_EQ(parse_options(R"({"resources": {"head_node": 0}})").value().total.amount("head_node"), 0.0);
}

TEST(SessionOptions, DevicesMayBePretended) {
  SessionOptions options = parse_options(R"({"resources": {"GPU": 3}})").value();
  EXPECT_EQ(options.total.amount("GPU"), 3.0);
}

TEST(SessionOptions, NullCountsAsUnsaid) {
  EXPECT_EQ(parse_options(R"({"cpus": null, "spill_folder": null})").value().total.amount("CPU"), os::usable_cpus());
}

TEST(SessionOptions, NonsenseIsRefused) {
  for (const char* text :
       {"", "[]", R"({"cpus": -1})", R"({"cpus": "two"})", R"({"resources": {"TPU": -4}})", R"({"resources": 3})",
        R"({"resources": {"GPU": 0.5}})", R"({"resources": {"TPU": 1e9}})", R"({"max_workers": 0})",
        R"({"memory_threshold": 1.1})", R"({"spill_folder": 3})", R"({"unknown": 1})"}) {
    EXPECT_EQ(parse_options(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(SessionOptions, RefusedMemoryIsSaidAsPeopleWriteIt) {
  const std::string text(parse_options(R"({"store_memory_bytes": 1152921504606846976})").status().message());
  EXPECT_EQ(text, "option store_memory_bytes must be from 0 to 90.9 TiB, not 1.0 EiB");
}

}  // namespace
}  // namespace fray::node
