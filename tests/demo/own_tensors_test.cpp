#include "own_tensor.hpp"
#include "raw_npy.hpp"
#include "reference/reference.hpp"
#include "ring_demo.hpp"
#include "tensor/npy.hpp"

namespace course {
namespace {

struct OwnInput {
  Shape shape;
  RawFormat format;
};

class OwnTensors : public RingDemo, public testing::WithParamInterface<OwnInput> {};

TEST_P(OwnTensors, ComeBackInTheirShape) {
  const auto& [shape, format] = GetParam();
  std::vector<Tensor> tensors;
  for (const int seed : {1, 2, 3}) tensors.push_back(own_tensor(shape, seed));
  for (int i = 0; i < 3; ++i)
    write_raw_npy(folder_ / (std::string(1, "qkv"[i]) + ".npy"), tensors[i], format);
  const Finished finished = run("--ranks 2 --q q.npy --k k.npy --v v.npy --out out");
  ASSERT_EQ(finished.code, 0) << finished.err;

  const Tensor o = read_npy<float>(folder_ / "out/o.npy");
  const Tensor lse = read_npy<float>(folder_ / "out/lse.npy");
  EXPECT_EQ(o.shape(), shape);
  EXPECT_EQ(lse.shape(), Shape(shape.begin(), shape.end() - 1));
  const Index seq = shape[shape.size() - 2];
  const Index dim = shape.back();
  const auto folded = [&](const Tensor& tensor) {
    return cast<double>(Tensor({tensor.size() / (seq * dim), seq, dim}, tensor.values()));
  };
  const auto expected = reference::attention(folded(tensors[0]), folded(tensors[1]), folded(tensors[2]));
  for (Index i = 0; i < o.size(); ++i) ASSERT_NEAR(o[i], expected.o[i], 1e-4) << "o, value " << i;
  for (Index i = 0; i < lse.size(); ++i) ASSERT_NEAR(lse[i], expected.lse[i], 1e-4) << "lse, value " << i;
}

INSTANTIATE_TEST_SUITE_P(
    Formats, OwnTensors,
    testing::Values(OwnInput{{7, 4}, {2, false, false}}, OwnInput{{7, 4}, {8, true, true}},
                    OwnInput{{3, 6, 4}, {4, false, true}}, OwnInput{{3, 6, 4}, {2, true, false}},
                    OwnInput{{2, 3, 5, 4}, {8, false, false}}, OwnInput{{2, 3, 5, 4}, {4, true, true}},
                    OwnInput{{2, 2, 3, 1}, {2, true, true}}));

TEST_F(RingDemo, WritesGradientsInTheShapeOfOwnTensors) {
  const Shape shape{2, 3, 5, 4};
  std::vector<Tensor> tensors;
  for (const int seed : {1, 2, 3, 4}) tensors.push_back(own_tensor(shape, seed));
  for (const auto& [name, tensor] : {std::pair{"q.npy", &tensors[0]},
                                     {"k.npy", &tensors[1]},
                                     {"v.npy", &tensors[2]},
                                     {"g.npy", &tensors[3]}}) {
    write_npy(folder_ / name, *tensor);
  }
  ASSERT_EQ(run("--ranks 2 --q q.npy --k k.npy --v v.npy --do g.npy --out out").code, 0);
  const auto folded = [&](const Tensor& tensor) { return cast<double>(Tensor({6, 5, 4}, tensor.values())); };
  const auto expected = reference::attention_gradients(folded(tensors[0]), folded(tensors[1]),
                                                       folded(tensors[2]), folded(tensors[3]));
  for (const auto& [name, wanted] :
       {std::pair{"dq.npy", &expected.dq}, {"dk.npy", &expected.dk}, {"dv.npy", &expected.dv}}) {
    const Tensor gradient = read_npy<float>(folder_ / "out" / name);
    EXPECT_EQ(gradient.shape(), shape);
    for (Index i = 0; i < gradient.size(); ++i) ASSERT_NEAR(gradient[i], (*wanted)[i], 1e-3) << name << i;
  }
  ASSERT_EQ(run("--ranks 2 --q q.npy --k k.npy --v v.npy --out out").code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "out/dk.npy")) << "a gradient of another run";
}

/// All lse are -357.2, half a step of which is more than plain float32 attention is off by.
TEST_F(RingDemo, PassesGradientsWhereLseIsLarge) {
  const Shape shape{1, 130, 32};
  write_npy(folder_ / "q.npy", Tensor(shape, -8.0f));
  write_npy(folder_ / "k.npy", Tensor(shape, 8.0f));
  write_npy(folder_ / "v.npy", own_tensor(shape, 3));
  write_npy(folder_ / "g.npy", own_tensor(shape, 4));
  write_npy(folder_ / "ones.npy", Tensor(shape, 1.0f));
  for (const std::string gradient : {"g.npy", "ones.npy"}) {
    for (const std::string options :
         {"--ranks 3", "--ranks 3 --causal --layout zigzag", "--ranks 2 --layout striped"}) {
      const Finished finished =
          run("--q q.npy --k k.npy --v v.npy --do " + gradient + " --out out " + options);
      EXPECT_EQ(finished.code, 0) << gradient << ", " << options << "\n" << finished.out;
      EXPECT_TRUE(has(finished.out, "Written: out/o.npy")) << finished.out;
      EXPECT_TRUE(fs::exists(folder_ / "out/dk.npy"));
      fs::remove_all(folder_ / "out");
    }
  }
}

TEST_F(RingDemo, SaysHowItReadsAShape) {
  write_npy(folder_ / "q.npy", own_tensor({7, 3, 4}, 1));
  const Finished more_heads = run("--ranks 1 --q q.npy --k q.npy --v q.npy");
  EXPECT_EQ(more_heads.code, 0);
  EXPECT_TRUE(has(more_heads.out, "[7, 3, 4], 7 heads of 3 tokens")) << more_heads.out;
  EXPECT_TRUE(has(more_heads.out, "1 MPI rank on one host")) << more_heads.out;
  EXPECT_TRUE(has(more_heads.err,
                  "q.npy: [7, 3, 4] is read as 7 heads of 3 tokens. If it is 3 heads of 7 tokens, save "
                  "x.transpose(1, 0, 2)"))
      << more_heads.err;
  write_npy(folder_ / "q.npy", own_tensor({2, 5, 3, 4}, 1));
  const Finished batch = run("--ranks 1 --q q.npy --k q.npy --v q.npy");
  EXPECT_TRUE(has(batch.out, "[2, 5, 3, 4], 2 x 5 heads of 3 tokens")) << batch.out;
  EXPECT_TRUE(has(batch.err, "save x.transpose(0, 2, 1, 3)")) << batch.err;
  write_npy(folder_ / "q.npy", own_tensor({3, 7, 4}, 1));
  const Finished usual = run("--ranks 1 --q q.npy --k q.npy --v q.npy");
  EXPECT_FALSE(has(usual.err, "is read as")) << usual.err;
}

TEST_F(RingDemo, ReplacesWhatAnEarlierRunWrote) {
  fs::create_directories(folder_ / "out");
  for (const char* name : {"o.npy", "dq.npy", "dk.npy", "dv.npy", "notes.txt"}) {
    write_bytes(folder_ / (std::string("out/") + name), "old");
  }
  run_json("--seq 3 --heads 1 --dim 2 --ranks 1 --out out");
  EXPECT_EQ(read_npy<float>(folder_ / "out/o.npy").shape(), (Shape{1, 3, 2}));
  EXPECT_FALSE(fs::exists(folder_ / "out/dq.npy")) << "a gradient of another run";
  EXPECT_FALSE(fs::exists(folder_ / "out/dv.npy")) << "a gradient of another run";
  EXPECT_EQ(file_text(folder_ / "out/notes.txt"), "old");
}

}  // namespace
}  // namespace course
