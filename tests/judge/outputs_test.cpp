#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>

#include "../common/complaint.hpp"
#include "runner/launch_files.hpp"
#include "runner/temporary_folder.hpp"
#include "tensor/npy.hpp"

namespace course {

namespace {

namespace fs = std::filesystem;

/// What a player of one rank leaves behind: a report that names one output, and its file.
class Played {
 public:
  explicit Played(const Tensor& log) {
    const fs::path folder = output_folder(temporary_.path() / "case", 0);
    fs::create_directories(folder);
    write_npy(folder / "log.npy", log);
    RankReport report;
    report.outputs = {"log"};
    write_report(folder, report);
  }

  Outcome read() const {
    return read_outcome({temporary_.path(), "case", getuid()}, 1, {{"log", {1 << 20, 4}}});
  }

  std::string refusal() const {
    return complaint_of<std::runtime_error>([&] { read(); });
  }

 private:
  TemporaryFolder temporary_;
};

TEST(Outputs, ReadALogOfAnyNumberOfRows) {
  EXPECT_EQ(Played(Tensor({0, 4})).read().outputs[0].at("log").extent(0), 0);
  const Tensor log({2, 4}, {0, 17, 16777215, 1, -1, 0, 0, 0});
  EXPECT_EQ(Played(log).read().outputs[0].at("log").values(), log.values());
}

TEST(Outputs, RefuseALogOfAnotherShape) {
  for (const Shape& shape : std::vector<Shape>{{}, {4}, {3, 1}, {3, 0}, {3, 5}, {2, 2, 4}}) {
    const std::string refusal = Played(Tensor(shape)).refusal();
    EXPECT_NE(refusal.find("log.npy has the shape " + to_string(shape) + ", expected rows of 4"),
              std::string::npos)
        << refusal;
  }
}

TEST(Outputs, RefuseALogOfWhatIsNoInt) {
  for (const float odd :
       {0.5f, 3e9f, -3e9f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const std::string refusal = Played(Tensor({1, 4}, {0, 1, odd, 2})).refusal();
    EXPECT_NE(refusal.find("expected numbers that an int holds"), std::string::npos) << odd << refusal;
  }
}

}  // namespace

}  // namespace course
