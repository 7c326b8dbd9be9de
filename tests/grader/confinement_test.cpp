#include "runner/confinement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "grader/workshop.hpp"
#include "runner/temporary_folder.hpp"

namespace course::program::grader {
namespace {

namespace fs = std::filesystem;

/// Every isolation that this machine can give plays every test.
class ConfinementTest : public testing::TestWithParam<Isolation> {
 protected:
  void SetUp() override {
    if (const std::string why = obstacle(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
  ConfinedRun run(const std::string& script, const Limits& limits = {}) {
    const Confinement confinement(GetParam(), limits);
    fs::create_directories(temporary_.path() / "room");
    fs::permissions(temporary_.path(), fs::perms(0711));
    confinement.hand_over(temporary_.path() / "room");
    return run_confined(confinement, {"sh", "-c", script}, {{}, temporary_.path() / "room"},
                        temporary_.path() / "output.txt");
  }

  TemporaryFolder temporary_;
};

/// A folder like /proc/sys with one setting.
std::string told_where(const fs::path& root, const std::string& setting, const std::string& value,
                       bool as_root = false) {
  fs::create_directories((root / setting).parent_path());
  std::ofstream(root / setting) << value << "\n";
  return why_no_namespaces("bwrap: setting up uid map: Permission denied", as_root, root);
}

TEST(NoNamespaces, AreExplainedByTheSettingThatForbidsThem) {
  const auto says = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const TemporaryFolder apparmor, clone, most, allowed;
  const std::string restricted = "kernel/apparmor_restrict_unprivileged_userns";
  const std::string ubuntu = told_where(apparmor.path(), restricted, "1");
  for (const char* part :
       {"setting up uid map: Permission denied", "AppArmor", "give bwrap a profile (docs/grading.md has it)",
        "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"})
    EXPECT_TRUE(says(ubuntu, part)) << part << "\n" << ubuntu;
  EXPECT_TRUE(says(told_where(clone.path(), "kernel/unprivileged_userns_clone", "0"),
                   "sysctl kernel.unprivileged_userns_clone=1"));
  EXPECT_TRUE(
      says(told_where(most.path(), "user/max_user_namespaces", "0"), "sysctl user.max_user_namespaces="));
  const std::string other = told_where(allowed.path(), restricted, "0");
  EXPECT_FALSE(says(other, "AppArmor")) << other;
  EXPECT_TRUE(says(other, "a container or the system's settings forbid it")) << other;
  EXPECT_FALSE(says(told_where(apparmor.path(), restricted, "1", true), "AppArmor"))
      << "root needs no user namespace";
}

TEST_P(ConfinementTest, RunsACommandAndTellsHowItEnded) {
  const ConfinedRun good = run("echo hello; echo $HOME > \"$HOME/here\"");
  EXPECT_TRUE(good.succeeded()) << good.output;
  EXPECT_EQ(good.output, "hello\n");
  EXPECT_TRUE(fs::exists(temporary_.path() / "room" / "here"));
  EXPECT_EQ(run("exit 7").exit.code, 7);
}

TEST_P(ConfinementTest, GivesNoEnvironmentAway) {
  setenv("COURSE_SECRET", "4711", 1);
  EXPECT_EQ(run("env").output.find("4711"), std::string::npos);
  unsetenv("COURSE_SECRET");
}

TEST_P(ConfinementTest, EndsWhatTakesTooLong) {
  Limits limits;
  limits.launch_limit_s = 0.5;
  EXPECT_NE(run("sleep 1000", limits).exceeded, "");
}

TEST_P(ConfinementTest, EndsWhatWritesTooMuch) {
  Limits limits;
  limits.written_bytes = 1 << 20;
  EXPECT_NE(run("head -c 3000000 /dev/zero > \"$HOME/a\"; sleep 1000", limits).exceeded, "");
}

TEST_P(ConfinementTest, LeavesTheCheckoutAlone) {
  if (GetParam() == Isolation::None) GTEST_SKIP() << "limits alone protect no file";
  const std::string file = COURSE_SOURCE_DIR "/README.md";
  EXPECT_FALSE(run("echo x >> " + file).succeeded());
  // Whether another user may read it depends on where the checkout lies.
  if (GetParam() == Isolation::Namespaces) {
    EXPECT_FALSE(run("cat " + file).succeeded());
  }
}

TEST_P(ConfinementTest, OfNamespacesShowsNobodyElse) {
  if (GetParam() != Isolation::Namespaces) GTEST_SKIP() << "the others share processes and network";
  const ConfinedRun seen =
      run("ls /proc | grep '^[0-9]' | sort -n | tail -n 1; grep : /proc/net/dev | cut -d: -f1");
  EXPECT_LT(std::stoi(seen.output), 20) << "processes count from 1";
  EXPECT_NE(seen.output.find("\n    lo\n"), std::string::npos) << seen.output;
  EXPECT_EQ(std::count(seen.output.begin(), seen.output.end(), '\n'), 2) << seen.output;
}

INSTANTIATE_TEST_SUITE_P(All, ConfinementTest,
                         testing::Values(Isolation::Namespaces, Isolation::User, Isolation::None),
                         [](const auto& isolation) { return to_string(isolation.param); });

TEST(IsolationNames, AreReadBack) {
  for (const Isolation isolation : {Isolation::None, Isolation::User, Isolation::Namespaces}) {
    EXPECT_EQ(isolation_named(to_string(isolation)), isolation);
  }
  EXPECT_THROW(isolation_named("chroot"), std::invalid_argument);
}

}  // namespace
}  // namespace course::program::grader
