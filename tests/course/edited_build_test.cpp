#include "course/locate/edited_build.hpp"

#include <gtest/gtest.h>

namespace course::program {
namespace {

TEST(WithoutLauncher, LeavesTheCompilersCommand) {
  EXPECT_EQ(without_launcher("/b/bin/compile-answer /a 05_ring cpu /a/x.cpp -- /usr/bin/c++ -c /a/x.cpp"),
            "/usr/bin/c++ -c /a/x.cpp");
  EXPECT_EQ(
      without_launcher("cd /b/common && cmake -E make_directory /b/cuda && /b/bin/compile-answer /a 10_x "
                       "gpu /a/x.cu -- /usr/local/cuda/bin/nvcc -c /a/x.cu -o /b/x.o"),
      "/usr/local/cuda/bin/nvcc -c /a/x.cu -o /b/x.o");
}

TEST(WithoutLauncher, TakesNoFoldersNameForItsEnd) {
  EXPECT_EQ(without_launcher(
                R"("/my -- b/bin/compile-answer" "/my -- a" 05_ring cpu "/my -- a/x.cpp" -- c++ -c x)"),
            "c++ -c x");
}

TEST(WithoutLauncher, LeavesOtherCommandsWhole) {
  for (const std::string command :
       {": && c++ -shared -o lib/x.so x.o && :", "cd /b && tool --quiet -- x.cpp x.o",
        "c++ -c x.cpp -o \"/my -- build/x.o\"", "tool /b/bin/compile-answer -- x"})
    EXPECT_EQ(without_launcher(command), command);
}

}  // namespace
}  // namespace course::program
