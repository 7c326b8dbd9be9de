#include "runner/mpirun.hpp"

#include <gtest/gtest.h>

namespace course {
namespace {

/// Open MPI 4.1 has libevent choose; 5 asks it for epoll alone unless told otherwise, and then fails without.
TEST(Mpirun, TellsEveryOpenMpiWhatToWaitByWhereItForbidsEpoll) {
  const auto environment = mpirun_environment();
  EXPECT_TRUE(environment.contains("EVENT_NOEPOLL"));
  ASSERT_TRUE(environment.contains("OMPI_MCA_opal_event_include"));
  EXPECT_EQ(environment.at("OMPI_MCA_opal_event_include"), "poll");
}

TEST(Mpirun, ItsFirstComplaintIsTheFirstParagraphOnOneLine) {
  EXPECT_EQ(first_complaint(""), "");
  EXPECT_EQ(first_complaint("\n------------\n\n"), "");
  EXPECT_EQ(first_complaint("-------------------------\nout of slots\n"), "out of slots");
  EXPECT_EQ(first_complaint("[warn] event_base_new_with_config: no event mechanism available\n"
                            "[vm:00040] No event method available\n"
                            "----------------------------------------------------------------------\n"
                            "It looks like opal_init failed for some reason; your parallel process is\n"),
            "[warn] event_base_new_with_config: no event mechanism available [vm:00040] No event method "
            "available");
}

TEST(Mpirun, AParagraphThatEndsInAColonHasItsNextOne) {
  EXPECT_EQ(first_complaint("------------\nThere are not enough slots available to satisfy the 4\n"
                            "slots that were requested by the application:\n\n  ./player\n\n"
                            "Either request fewer procs\n"),
            "There are not enough slots available to satisfy the 4 slots that were requested by the "
            "application: ./player");
}

TEST(Mpirun, ALongComplaintIsCutBetweenWords) {
  std::string printed;
  for (int i = 0; i < 1000; ++i) printed += "word ";
  const std::string said = first_complaint(printed);
  EXPECT_LT(said.size(), 800u);
  EXPECT_TRUE(said.ends_with(" word ...")) << said;
}

TEST(Mpirun, IsHeldAgainstTheLibraryThatPlayersFind) {
  const std::string library = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4";
  EXPECT_EQ(other_mpi("mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n",
                      library),
            "");
  EXPECT_EQ(other_mpi("mpirun (Open MPI) 5.0.11\n", library),
            "mpirun is that of Open MPI 5.0.11, and the course was built with Open MPI 4.1.4");
  EXPECT_EQ(other_mpi("HYDRA build details:\n    Version:           4.0.2\n", library),
            "mpirun is that of MPICH 4.0.2, and the course was built with Open MPI 4.1.4");
  EXPECT_EQ(other_mpi("Intel(R) MPI Library for Linux* OS, Version 2021.5\n", library),
            "mpirun is that of Intel MPI 2021.5, and the course was built with Open MPI 4.1.4");
  EXPECT_EQ(other_mpi("some starter\n", library),
            "mpirun is that of some starter, and the course was built with Open MPI 4.1.4");
}

}  // namespace
}  // namespace course
