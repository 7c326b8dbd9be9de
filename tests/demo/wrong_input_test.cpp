#include <limits>

#include "own_tensor.hpp"
#include "raw_npy.hpp"
#include "ring_demo.hpp"
#include "tensor/npy.hpp"

namespace course {
namespace {

class WrongInput : public RingDemo {
 protected:
  void SetUp() override {
    RingDemo::SetUp();
    write_npy(folder_ / "good.npy", own_tensor({4, 3}, 1));
  }

  /// One clear line on stderr that contains `expected`, exit 2, and nothing written, started or left.
  void expect_refusal(const std::string& arguments, const std::string& expected) const {
    const Finished finished = run(arguments + " --out out");
    EXPECT_EQ(finished.code, 2) << arguments;
    EXPECT_EQ(finished.out, "") << arguments;
    EXPECT_TRUE(is_one_line(finished.err)) << arguments << "\n" << finished.err;
    EXPECT_TRUE(has(finished.err, expected)) << arguments << "\n" << finished.err;
    EXPECT_FALSE(fs::exists(folder_ / "out")) << arguments;
  }

  /// The same for `name` in place of one of the three tensors.
  void expect_file_refusal(const std::string& name, const std::string& expected) const {
    expect_refusal("--q good.npy --k good.npy --v " + name, expected);
  }
};

TEST_F(WrongInput, OfFilesThatCannotBeRead) {
  expect_file_refusal("missing.npy", "missing.npy: cannot be opened, expected a .npy file");
  expect_file_refusal("tmp", "tmp: is a folder, expected a .npy file");
  expect_file_refusal("/dev/null", "/dev/null: is a device or a pipe, expected a .npy file");
  write_bytes(folder_ / "empty.npy", "");
  expect_file_refusal("empty.npy", "empty.npy: ends inside its first 8 bytes");
  write_bytes(folder_ / "text.npy", "these are not numbers, nor are they an array");
  expect_file_refusal("text.npy", "text.npy: is not a .npy file");
  write_bytes(folder_ / "short.npy", file_text(folder_ / "good.npy").substr(0, 150));
  expect_file_refusal("short.npy", "short.npy: is truncated");
  write_bytes(folder_ / "long.npy", file_text(folder_ / "good.npy") + "more");
  expect_file_refusal("long.npy", "long.npy: is too long");
}

TEST_F(WrongInput, OfDtypesAndShapes) {
  write_bytes(folder_ / "int.npy", raw_header("<i4", false, {4, 3}) + std::string(48, '\0'));
  expect_file_refusal("int.npy", "int.npy: has the dtype '<i4', expected float16, float32 or float64");
  for (const char* const bfloat16 : {"<V2", "|V2", "<u2", ">i2"}) {
    write_bytes(folder_ / "two.npy", raw_header(bfloat16, false, {4, 3}) + std::string(24, '\0'));
    expect_file_refusal("two.npy", "Is it bfloat16? Save x.astype(numpy.float32)");
  }
  write_npy(folder_ / "vector.npy", own_tensor({12}, 1));
  expect_refusal("--q vector.npy --k vector.npy --v vector.npy",
                 "vector.npy: has the shape [12], expected [seq, dim]");
  write_npy(folder_ / "five.npy", own_tensor({1, 1, 1, 4, 3}, 1));
  expect_refusal("--q five.npy --k five.npy --v five.npy",
                 "five.npy: has the shape [1, 1, 1, 4, 3], expected");
  write_npy(folder_ / "none.npy", Tensor({0, 3}));
  expect_refusal("--q none.npy --k none.npy --v none.npy", "none.npy: has the shape [0, 3], which is empty");
  write_npy(folder_ / "flat.npy", Tensor({2, 5, 0}));
  expect_refusal("--q flat.npy --k flat.npy --v flat.npy", "which is empty");
  write_npy(folder_ / "longer.npy", own_tensor({5, 3}, 1));
  expect_file_refusal("longer.npy", "longer.npy: has the shape [5, 3], expected [4, 3] like good.npy");
  expect_refusal("--q good.npy --k good.npy --v good.npy --do longer.npy",
                 "longer.npy: has the shape [5, 3], expected [4, 3] like good.npy");
  write_npy(folder_ / "deeper.npy", own_tensor({1, 4, 3}, 1));
  expect_file_refusal("deeper.npy", "deeper.npy: has the shape [1, 4, 3], expected [4, 3]");
}

TEST_F(WrongInput, OfAFolderThatNothingWouldBeWrittenTo) {
  expect_refusal("--seq 4 --heads 1 --dim 2 --prepare cases",
                 "--out, --json and --verbose belong to --report");
}

TEST_F(WrongInput, OfValues) {
  const auto with = [](float value) {
    Tensor tensor = own_tensor({4, 3}, 1);
    tensor[7] = value;
    return tensor;
  };
  write_npy(folder_ / "nan.npy", with(std::numeric_limits<float>::quiet_NaN()));
  expect_file_refusal("nan.npy", "nan.npy: has nan at [2, 1], expected finite numbers");
  write_npy(folder_ / "inf.npy", with(-std::numeric_limits<float>::infinity()));
  expect_file_refusal("inf.npy", "inf.npy: has -inf at [2, 1]");
  Tensor64 large = cast<double>(own_tensor({4, 3}, 1));
  large[7] = 1e39;
  write_npy(folder_ / "large.npy", large);
  expect_file_refusal("large.npy", "large.npy: has 1e+39 at [2, 1], expected magnitudes up to float32's");
  write_npy(folder_ / "square.npy", with(1e30f));
  expect_refusal("--q square.npy --k square.npy --v good.npy", "scores q . k may reach 1e+60");
  write_npy(folder_ / "sum.npy", with(2e38f));
  expect_file_refusal("sum.npy", "a sum over 4 values may reach 8e+38");
  expect_refusal("--q good.npy --k good.npy --v good.npy --do sum.npy", "a sum of gradients may reach");
}

TEST_F(WrongInput, OfOptions) {
  const std::string own = "--q good.npy --k good.npy --v good.npy ";
  for (const auto& [arguments, expected] : std::vector<std::pair<std::string, std::string>>{
           {"--ranks 0", "--ranks: Value 0 not in range"},
           {"--ranks -1", "--ranks: Value -1 not in range"},
           {"--ranks 3.5", "--ranks"},
           {"--ranks abc", "--ranks: Value abc not in range"},
           {"--ranks 99999999999999999999", "--ranks"},
           {"--ranks ''", "--ranks"},
           {"--ranks", "--ranks"},
           {"--ranks 2 --ranks 3", "--ranks"},
           {"--heads 0", "--heads: Value 0 not in range"},
           {"--seq 1e3", "--seq"},
           {"--dim -4", "--dim: Value -4 not in range"},
           {"--seq 8 --seed -1", "--seed"},
           {"--q good.npy", "--q requires --"},
           {"--v good.npy --k good.npy", " requires --"},
           {own + "--seq 4", "excludes"},
           {own + "--seed 4", "excludes"},
           {"--do good.npy", "--do requires --q"},
           {own + "--do good.npy --forward", "excludes"},
           {"--ring sideways", "--ring: sideways not in {both,blocking,overlapped}"},
           {"--ring Blocking", "--ring: Blocking not in {both,blocking,overlapped}"},
           {"--layout sideways", "--layout: sideways not in {contiguous,striped,zigzag,documents}"},
           {"--layout", "--layout"},
           {"--report a --layout striped", "excludes"},
           {"--report a --causal", "excludes"},
           {"--causal 3", "3"},
           {"--causal --ring both", "--ring both: with --causal there is one ring"},
           {"--report a --seq 8", "excludes"},
           {"--report a --prepare b", "excludes"},
           {"--prepare a --json", "--out, --json and --verbose belong to --report"},
           {"--json --verbose", "it does not go with --verbose"},
           {"--bogus", "--bogus"},
           {"q.npy", "q.npy"}})
    expect_refusal(arguments, expected);
}

TEST_F(WrongInput, OfTheOutputFolder) {
  const auto refusal = [&](const std::string& out, const std::string& expected) {
    const Finished finished = run("--out " + out);
    EXPECT_EQ(finished.code, 2) << out;
    EXPECT_TRUE(is_one_line(finished.err)) << finished.err;
    EXPECT_TRUE(has(finished.err, expected)) << finished.err;
  };
  refusal("good.npy", "good.npy: is not a folder, expected a folder to write to or a free name");
  refusal("good.npy/below", "expected a folder to write to or a free name");
  refusal("/proc/nowhere", "/proc/nowhere: cannot be written: ");
  EXPECT_EQ(file_text(folder_ / "good.npy").substr(1, 5), "NUMPY");
}

}  // namespace
}  // namespace course
