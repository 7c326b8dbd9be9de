#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "../demo/test_checkout.hpp"

/// Runs the program as a user does, on a small model.
namespace course {

namespace fs = std::filesystem;

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline bool is_one_line(const std::string& text) {
  return !text.empty() && text.find('\n') == text.size() - 1;
}

class TrainRun : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "tmp");
    std::string text;
    for (int i = 0; text.size() < 3000; ++i)
      text += "ring " + std::to_string(i * 7919 % 101) + " sends a block on\n";
    std::ofstream(folder_ / "my text.txt") << text;
  }

  /// Whatever happened: no rank is left.
  void TearDown() override { EXPECT_FALSE(is_running(marker())) << "a rank still runs"; }

  std::string marker() const { return folder_ / "tmp"; }

  /// Of a shell's line.
  std::string command(const std::string& arguments) const {
    return "env TMPDIR='" + marker() + "' " + checkout_.environment() + std::string(TRAIN_MODEL) + " train " +
           arguments;
  }
  Finished run(const std::string& arguments) const { return run_shell(command(arguments), folder_); }

  /// A model that takes a step in a millisecond or so.
  std::string small(const std::string& more = "") const {
    return "--text 'my text.txt' --context 48 --hidden 16 --heads 2 --layers 2 --sample 20 " + more;
  }

  nlohmann::json run_json(const std::string& arguments) const {
    const Finished finished = run("--json " + arguments);
    EXPECT_EQ(finished.code, 0) << finished.err;
    return nlohmann::json::parse(finished.out);
  }

  /// Waits until something is there, for a minute.
  static bool comes(const std::function<bool()>& is_there) {
    for (int i = 0; i < 1200 && !is_there(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return is_there();
  }

  std::vector<std::string> names_in(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / name)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  TestFolder folder_;
  TestCheckout checkout_{folder_ / "root"};
};

}  // namespace course
