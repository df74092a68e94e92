// The workers of these tests run this program again.
#include <fray/session.h>
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  fray::serve_if_worker();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
