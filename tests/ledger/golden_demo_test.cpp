#include <cmath>

#include "../demo/ring_demo.hpp"
#include "recorded_shape.hpp"
#include "shape.hpp"
#include "tensor/npy.hpp"

// What the demo saves for common/data/golden's q, k, v and do, beside what PyTorch computed from them in
// float64.

namespace course {

namespace {

constexpr double float32_tolerance = 1e-5;  ///< of the norm; the solutions are below 1e-6

double relative_error(const Tensor64& value, const Tensor64& golden) {
  double difference = 0, norm = 0;
  for (Index i = 0; i < golden.size(); ++i) {
    difference += (value[i] - golden[i]) * (value[i] - golden[i]);
    norm += golden[i] * golden[i];
  }
  return std::sqrt(difference / norm);
}

/// @param mask "full" or "causal", as the files' names begin
void expect_golden(const std::string& mask, const fs::path& saved_in) {
  for (const std::string name : {"o", "lse", "dq", "dk", "dv"}) {
    const Tensor64 expected = read_npy<double>(fs::path(GOLDEN) / (mask + "_" + name + ".npy"));
    const Tensor64 saved = cast<double>(read_npy<float>(saved_in / (name + ".npy")));
    ASSERT_EQ(saved.shape(), expected.shape()) << name;
    EXPECT_LE(relative_error(saved, expected), float32_tolerance) << name;
  }
}

TEST_F(RingDemo, SavesTheGoldenTensors) {
  const fs::path golden = GOLDEN;
  std::string inputs;
  for (const std::string name : {"q", "k", "v", "do"})
    inputs += " --" + name + " '" + (golden / (name + ".npy")).string() + "'";
  const nlohmann::json report = run_json("--ranks 3 --out out" + inputs);
  EXPECT_EQ(ledger::differences(ledger::recorded_shape("demo"), report), "");
  EXPECT_EQ(report.at("rings").size(), 2u);
  expect_golden("full", folder_ / "out");

  const nlohmann::json causal = run_json("--ranks 3 --causal --layout zigzag --out causal" + inputs);
  EXPECT_EQ(ledger::differences(ledger::recorded_shape("demo"), causal), "");
  expect_golden("causal", folder_ / "causal");
}

}  // namespace

}  // namespace course
