#include "runner/sanitizer_report.hpp"

#include <gtest/gtest.h>

namespace course {

namespace {

TEST(SanitizerReport, NamesTheStudentsLineOfAnOutOfBoundsRead) {
  EXPECT_EQ(
      sanitizer_report(R"(=================================================================
==13488==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60400000027c at pc 0x7fcf65248ec9 bp 0x7fff sp 0x7fff
READ of size 4 at 0x60400000027c thread T0
    #0 0x7fcf65248ec8 in float const& std::max<float>(float const&, float const&) /usr/include/c++/12/bits/stl_algobase.h:259
    #1 0x7fcf65248ec8 in lesson01::softmax(course::MatrixView<float const>) /home/me/my course/lessons/01_safe_softmax/safe_softmax.cpp:19
    #2 0x7fcf652375d7 in softmax /home/me/my course/tests/01_safe_softmax/adapter.cpp:9
)"),
      "AddressSanitizer: heap-buffer-overflow, READ of size 4\n"
      "in lesson01::softmax(course::MatrixView<float const>) lessons/01_safe_softmax/safe_softmax.cpp:19");
}

TEST(SanitizerReport, NamesTheCallOfMpiThatWasGivenTheMemory) {
  EXPECT_EQ(sanitizer_report(R"(
==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000018 at pc 0x55 bp 0x7ffd sp 0x7ffd
READ of size 24 at 0x602000000018 thread T0
    #0 0x55 in report_to_sanitizer /home/me/course/common/mpi_layer/recorder.cpp:60
    #1 0x56 in MPI_Send /home/me/course/common/mpi_layer/point_to_point.cpp:138
    #2 0x57 in send /home/me/course/lessons/03_ring_softmax/ring_softmax.cpp:28
    #3 0x58 in MPI_Like /home/me/course/lessons/03_ring_softmax/ring_softmax.cpp:40
)"),
            "AddressSanitizer: heap-buffer-overflow, READ of size 24 in MPI_Send\n"
            "in send lessons/03_ring_softmax/ring_softmax.cpp:28");
}

TEST(SanitizerReport, NamesAPlaceByARelativePathToo) {
  EXPECT_EQ(
      sanitizer_report("==7==ERROR: AddressSanitizer: SEGV on unknown address 0x0 (pc 0x1)\n"
                       "    #0 0x1 in send(int, long) ../../lessons/03_ring_softmax/ring_softmax.cpp:28\n"),
      "AddressSanitizer: SEGV\nin send(int, long) lessons/03_ring_softmax/ring_softmax.cpp:28");
}

TEST(SanitizerReport, NamesTheStudentsLineOfAnOverflow) {
  EXPECT_EQ(sanitizer_report(
                "hello\n/home/me/course/lessons/01_safe_softmax/safe_softmax.cpp:28:9: runtime error: signed "
                "integer overflow: 18 + 2147483645 cannot be represented in type 'int'\n"),
            "lessons/01_safe_softmax/safe_softmax.cpp:28:9: runtime error: signed integer overflow: 18 + "
            "2147483645 "
            "cannot be represented in type 'int'");
}

TEST(SanitizerReport, NamesTheStudentsLineThatCalledALibrary) {
  EXPECT_EQ(
      sanitizer_report("/usr/include/c++/12/bits/stl_iterator.h:1154:45: runtime error: applying non-zero "
                       "offset 18446744073709551600 to null pointer\n"
                       "    #0 0x1 in operator- /usr/include/c++/12/bits/stl_iterator.h:1154\n"
                       "    #1 0x2 in ring /home/me/course/lessons/14_x/ring.cpp:166\n"),
      "runtime error: applying non-zero offset 18446744073709551600 to null pointer\n"
      "in ring lessons/14_x/ring.cpp:166");
}

TEST(SanitizerReport, TakesNoLineOfALaterReport) {
  const std::string error = "/usr/include/c++/12/a.h:1:2: runtime error: division by zero";
  EXPECT_EQ(sanitizer_report(error + "\n    #0 0x1 in f /usr/include/c++/12/a.h:1\nnext\n"
                                     "    #0 0x1 in g /a/lessons/14_x/ring.cpp:166\n"),
            error);
}

TEST(SanitizerReport, ManagesWithoutALineOfTheStudents) {
  EXPECT_EQ(
      sanitizer_report(
          "==1==ERROR: AddressSanitizer: SEGV on unknown address 0x0 (pc 0x1)\n    #0 0x1 in f /usr/a.c:1\n"),
      "AddressSanitizer: SEGV");
}

TEST(SanitizerReport, LeavesOutThatASpanHasAnyLength) {
  EXPECT_EQ(
      sanitizer_report("==1==ERROR: AddressSanitizer: SEGV on unknown address 0x0 (pc 0x1)\n"
                       "    #0 0x1 in f(std::span<float const, 18446744073709551615ul>, std::span<float, "
                       "18446744073709551615ul>) /a/lessons/03_x/y.cpp:7:3\n"),
      "AddressSanitizer: SEGV\nin f(std::span<float const>, std::span<float>) lessons/03_x/y.cpp:7:3");
}

TEST(SanitizerReport, IsEmptyWhereNoneSpoke) {
  EXPECT_EQ(sanitizer_report("Segmentation fault\n"), "");
  EXPECT_EQ(sanitizer_report(""), "");
}

}  // namespace

}  // namespace course
