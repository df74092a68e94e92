// A session of two CPUs for each test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cpp/jobs.h"

namespace jobs {

class InSession : public ::testing::Test {
 protected:
  fray::Session session = fray::connect({.cpus = 2}).value_or_throw();
};

// The message of what failed; "" where nothing did.
template <typename T>
std::string failure(const fray::Result<T>& result) {
  return result.status().message();
}

}  // namespace jobs
