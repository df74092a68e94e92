#include "iris/job_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fray::iris {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(IrisJobProgramTest, a_command_runs_in_the_folder_of_its_files_and_is_told_as_it_was_given) {
  const std::vector<std::string> command = {"python", "a b.py", "$HOME"};
  const std::vector<std::string> argv = in_workdir("train", command);
  EXPECT_EQ(argv.front(), "bash");
  EXPECT_EQ(command_in(argv), command);
  EXPECT_EQ(command_in(command), command);
  EXPECT_EQ(command_in({"bash", "-c", "true"}), std::vector<std::string>({"bash", "-c", "true"}));
}

TEST(IrisJobProgramTest, packages_and_extras_are_installed_and_nothing_without_them) {
  EXPECT_THAT(setup_lines({}, {}, "3.12").value(), IsEmpty());
  EXPECT_THAT(setup_lines({"numpy>=2", "rich"}, {"tpu", "x y"}, "3.12").value(),
              ElementsAre("cd \"$IRIS_WORKDIR\"", "uv venv --quiet --python 3.12", "source .venv/bin/activate",
                          "uv pip install --quiet '.[tpu,x y]'", "uv pip install --quiet 'numpy>=2' rich"));
  EXPECT_THAT(setup_lines({"rich"}, {}, "").value(),
              ElementsAre("cd \"$IRIS_WORKDIR\"", "uv venv --quiet", "source .venv/bin/activate",
                          "uv pip install --quiet rich"));
  EXPECT_FALSE(setup_lines({std::string("a\0b", 3)}, {}, "").is_ok());
}

}  // namespace
}  // namespace fray::iris
