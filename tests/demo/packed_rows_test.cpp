#include <random>

#include "own_tensor.hpp"
#include "raw_npy.hpp"
#include "reference/reference.hpp"
#include "reference/score_bias.hpp"
#include "ring_demo.hpp"
#include "tensor/npy.hpp"

namespace course {
namespace {

/// Own tensors of 13 tokens, in which 6 heads share 2 of keys.
class PackedRows : public RingDemo {
 protected:
  void SetUp() override {
    RingDemo::SetUp();
    write_npy(folder_ / "q.npy", own_tensor({6, 13, 4}, 'q'));
    write_npy(folder_ / "k.npy", own_tensor({2, 13, 4}, 'k'));
    write_npy(folder_ / "v.npy", own_tensor({2, 13, 4}, 'v'));
    write_npy(folder_ / "do.npy", own_tensor({6, 13, 4}, 'd'));
  }

  nlohmann::json run_own(const std::string& arguments) const {
    return run_json("--q q.npy --k k.npy --v v.npy --do do.npy --out out " + arguments);
  }

  void expect_saved(const reference::Mask& mask, const reference::HeadBias& bias,
                    const std::string& where) const {
    const auto own = [](const Shape& shape, char name) { return cast<double>(own_tensor(shape, name)); };
    const Tensor64 q = own({6, 13, 4}, 'q'), k = reference::with_sink(own({2, 13, 4}, 'k'), bias),
                   v = reference::with_sink(own({2, 13, 4}, 'v'), bias), d_o = own({6, 13, 4}, 'd');
    std::vector<Index> rows(13);
    std::iota(rows.begin(), rows.end(), Index{0});
    const Tensor64 scores = reference::score_bias<double>(mask, bias, 6, rows, 13);
    const auto forward = reference::attention(q, k, v, {}, scores);
    const auto backward = reference::attention_gradients(q, k, v, d_o, {}, {}, scores);
    const Tensor64 dk = slice(backward.dk, 1, 0, 13), dv = slice(backward.dv, 1, 0, 13);
    for (const auto& [name, expected] : {std::pair{"o", &forward.o},
                                         {"lse", &forward.lse},
                                         {"dq", &backward.dq},
                                         {"dk", &dk},
                                         {"dv", &dv}}) {
      const Tensor saved = read_npy<float>(folder_ / "out" / (std::string(name) + ".npy"));
      ASSERT_EQ(saved.shape(), expected->shape()) << name << where;
      for (Index i = 0; i < saved.size(); ++i) {
        if (std::isinf((*expected)[i])) {
          ASSERT_EQ(saved[i], (*expected)[i]) << name << ", value " << i << where;
        } else {
          ASSERT_NEAR(saved[i], (*expected)[i], 1e-3) << name << ", value " << i << where;
        }
      }
    }
  }
};

TEST_F(PackedRows, WithFewerHeadsOfKeysAreALessonOfTheirOwn) {
  const nlohmann::json json = run_own("--ranks 3");
  EXPECT_EQ(json.at("kv_heads"), 2);
  EXPECT_EQ(json.at("rings").at(0).at("name"), "grouped");
  EXPECT_EQ(json.at("rings").at(0).at("bytes_sent"), json.at("bytes_needed"));
  expect_saved({}, {}, "");
}

/// Documents, windows, slopes, sinks, layouts and world sizes as they come.
TEST_F(PackedRows, OfAnyKindAreRight) {
  std::mt19937 random(7);
  const auto one_of = [&](const std::vector<std::string>& words) { return words[random() % words.size()]; };
  const std::vector<std::pair<std::string, std::vector<Index>>> documents{
      {"13", {0, 13}}, {"5,0,1,7", {0, 5, 5, 6, 13}}, {"2,10,1", {0, 2, 12, 13}}};
  for (int turn = 0; turn < 12; ++turn) {
    const auto& [lengths, starts] = documents[random() % documents.size()];
    const Index window = static_cast<Index>(random() % 3 == 0 ? 0 : 1 + random() % 9);
    const bool causal = window > 0 || random() % 2 == 0;
    reference::HeadBias bias;
    std::string arguments = "--documents " + lengths + " --layout " +
                            one_of({"contiguous", "striped", "zigzag", "documents"}) + " --ranks " +
                            one_of({"1", "2", "3", "5"});
    if (window > 0) arguments += " --window " + std::to_string(window);
    if (!causal) arguments += " --no-causal";
    if (random() % 2 == 0) {
      arguments += " --alibi";
      bias.slopes = reference::alibi_slopes(6);
    }
    if (random() % 2 == 0) {
      arguments += " --sinks 0.5";
      bias.sinks.assign(6, 0.5);
    }
    const nlohmann::json json = run_own(arguments);
    EXPECT_EQ(json.at("rings").at(0).at("name"), "packed");
    EXPECT_TRUE(json.at("rings").at(0).at("passed")) << arguments;
    reference::Mask mask = reference::Mask::documents(starts);
    if (causal) mask = mask & reference::Mask::causal();
    if (window > 0) mask = mask & reference::Mask::window(window);
    expect_saved(mask, bias, ", " + arguments);
  }
}

TEST_F(PackedRows, NeedTheSumOfTheSinksGradients) {
  for (const char* name : {"q", "do"})
    write_npy(folder_ / (name + std::string("12.npy")), own_tensor({6, 12, 4}, name[0]));
  for (const char* name : {"k", "v"})
    write_npy(folder_ / (name + std::string("12.npy")), own_tensor({2, 12, 4}, name[0]));
  const nlohmann::json json =
      run_json("--q q12.npy --k k12.npy --v v12.npy --do do12.npy --ranks 3 --documents 12 --sinks 0.5");
  EXPECT_EQ(json.at("rings").at(0).at("bytes_sent"), json.at("bytes_needed"));
}

TEST_F(PackedRows, MayBeSaidByAFileOfStarts) {
  const std::int64_t starts[] = {0, 4, 9};  // four tokens of padding
  write_bytes(folder_ / "starts.npy", raw_header("<i8", false, {3}) +
                                          std::string(reinterpret_cast<const char*>(starts), sizeof starts));
  const nlohmann::json json = run_own("--documents starts.npy --ranks 2");
  EXPECT_TRUE(json.at("rings").at(0).at("passed"));
  expect_saved(reference::Mask::documents({0, 4, 9}) & reference::Mask::causal(), {}, "");
}

/// 8 ranks of 8 tokens and a window of 9: one hop a block but the last; striped, blocks go all the way round.
TEST_F(PackedRows, TellHowFarBlocksTravel) {
  const std::string sizes = "--seq 64 --heads 4 --dim 8 --kv-heads 2 --ranks 8 --window 9 ";
  const nlohmann::json contiguous = run_json(sizes), striped = run_json(sizes + "--layout striped");
  EXPECT_EQ(contiguous.at("hops"), (std::vector<int>{1, 1, 1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(striped.at("hops"), std::vector<int>(8, 7));
  for (const nlohmann::json& json : {contiguous, striped})
    EXPECT_EQ(json.at("rings").at(0).at("bytes_sent"), json.at("bytes_needed"));
  EXPECT_EQ(contiguous.at("bytes_needed"), 7 * 1024);
}

/// 20 numbers a token and hop, whatever the number of heads.
TEST_F(PackedRows, OfALatentSendNothingElse) {
  for (const std::string ranks : {"1", "3"}) {
    const nlohmann::json json = run_json("--seq 14 --heads 5 --dim 6 --latent 16,4 --ranks " + ranks);
    EXPECT_EQ(json.at("rings").at(0).at("name"), "latent");
    EXPECT_TRUE(json.at("rings").at(0).at("passed"));
    const Index world = std::stol(ranks);
    EXPECT_EQ(json.at("rings").at(0).at("bytes_sent"), world * (world - 1) * 5 * 20 * 4);
    EXPECT_EQ(json.at("bytes_needed"), json.at("rings").at(0).at("bytes_sent"));
  }
}

TEST_F(PackedRows, HaveTheSameSlopesInEveryBatch) {
  for (const char name : {'q', 'k', 'v'}) {
    const Tensor one = own_tensor({1, 3, 7, 4}, name);
    write_npy(folder_ / (std::string("two_") + name + ".npy"), concatenate<float>({one, one}, 0));
  }
  const Finished finished =
      run("--q two_q.npy --k two_k.npy --v two_v.npy --alibi --no-causal --ranks 2 --out out");
  ASSERT_EQ(finished.code, 0) << finished.err;
  const Tensor o = read_npy<float>(folder_ / "out/o.npy");
  ASSERT_EQ(o.shape(), (Shape{2, 3, 7, 4}));
  EXPECT_EQ(slice(o, 0, 0, 1).values(), slice(o, 0, 1, 1).values());
}

class RegisterBlocks : public RingDemo {
 protected:
  std::vector<float> output_of(const std::string& options) const {
    fs::remove_all(folder_ / "out");
    const Finished finished = run(options + " --out out");
    EXPECT_EQ(finished.code, 0) << finished.err;
    return read_npy<float>(folder_ / "out/o.npy").values();
  }
};

TEST_F(RegisterBlocks, ComputeEveryRing) {
  for (const std::string options : {"", "--causal --layout zigzag ", "--window 5 --documents 9,12 "}) {
    const Finished finished = run(options + "--block 20 --ranks 3 --seq 21 --heads 2 --dim 12");
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_TRUE(has(finished.out, "blocks of lesson 20")) << finished.out;
    EXPECT_TRUE(has(finished.out, "Right in every query row")) << finished.out;
    // Other blocks round otherwise.
    const std::string of_long_shards =
        options.find("--documents") == std::string::npos ? options : "--window 100 ";
    const std::string sizes = of_long_shards + "--ranks 3 --seq 600 --heads 2 --dim 12";
    EXPECT_NE(output_of(sizes + " --block 20"), output_of(sizes)) << options;
  }
  EXPECT_TRUE(has(run("--block 20").out, "blocks of lesson 20"));
  for (const char* const other : {"--latent 16,4", "--alibi"}) {
    const Finished wrong = run(std::string("--block 20 ") + other);
    EXPECT_EQ(wrong.code, 2) << other;
    EXPECT_TRUE(has(wrong.err, "expected one of the two")) << wrong.err;
  }
  const Finished refused = run("--block 20 --seq 9 --heads 1 --dim 6");
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(has(refused.err, "--block 20: head_dim is 6, expected a multiple of 4 up to 256"))
      << refused.err;
}

TEST_F(PackedRows, ThatDoNotFitAreRefusedInOneLine) {
  const auto expect_refusal = [&](const std::string& arguments, const std::string& expected) {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.code, 2) << arguments;
    EXPECT_TRUE(is_one_line(finished.err)) << arguments << "\n" << finished.err;
    EXPECT_TRUE(has(finished.err, expected)) << arguments << "\n" << finished.err;
  };
  expect_refusal("--kv-heads 5",
                 "--kv-heads 5: 5 key heads do not divide 12 heads, expected 1, 2, 3, 4, 6, 12");
  for (const char* const wrong :
       {"--kv-heads 0", "--kv-heads -1", "--window 0", "--window -1", "--window 2.5"})
    expect_refusal(wrong, std::string(wrong).substr(0, std::string(wrong).find(' ')));
  expect_refusal("--window 8 --no-causal", "--window 8 --no-causal: a window ends at the query");
  expect_refusal("--documents 200,300",
                 "--documents 200,300: the row has 512 tokens, the documents have 500");
  expect_refusal("--documents 9223372036854775807,9223372036854775807,514", "the documents have more");
  for (const char* const wrong : {"", "200,,312", "200,-1,313", "200;312", "all", "512,"})
    expect_refusal(std::string("--documents '") + wrong + "'", "expected lengths between commas");
  for (const char* const wrong : {"--latent 512", "--latent 512,0", "--latent 512,64,3", "--latent many"})
    expect_refusal(wrong, "--latent");
  expect_refusal("--latent 512,64 --causal", "its ring has no mask");
  expect_refusal("--latent 512,64 --prepare cases", "--prepare --latent");
  expect_refusal("--sinks nan", "--sinks nan: expected a finite number");
  expect_refusal("--sinks much", "--sinks");
  expect_refusal("--window 8 --backend sim", "the ring on GPUs knows of no documents, windows or sinks");
  expect_refusal("--kv-heads 4 --backend sim", "the ring on GPUs has as many key heads as heads");
  expect_refusal("--window 8 --ring blocking", "there is one ring, the ring of packed rows");
  expect_refusal("--q q.npy --k k.npy --v q.npy", "k.npy has 2 heads and q.npy has 6, expected as many");
  expect_refusal("--q k.npy --k q.npy --v q.npy", "q.npy: has the shape [6, 13, 4], expected [2, 13, 4]");
  const auto write_starts = [&](const std::vector<std::int32_t>& starts) {
    write_bytes(folder_ / "starts.npy",
                raw_header("<i4", false, {std::ssize(starts)}) +
                    std::string(reinterpret_cast<const char*>(starts.data()), 4 * starts.size()));
  };
  write_starts({3, 512});
  expect_refusal("--documents starts.npy", "starts.npy: starts with 3, expected 0");
  write_starts({0, 300, 200, 512});
  expect_refusal("--documents starts.npy", "starts.npy: falls from 300 to 200 at place 2");
  write_starts({0, 513});
  expect_refusal("--documents starts.npy", "starts.npy: ends with 513, and the row has 512 tokens");
  expect_refusal("--documents q.npy", "q.npy: has the dtype '<f4', expected int32 or int64");
}

TEST_F(Prepared, PackedRowsAreReportedOnAsTheyWerePrepared) {
  const std::string line = prepare(
      "--ranks 2 --seq 9 --heads 4 --dim 4 --kv-heads 2 --documents 4,5 --window 3 --alibi --sinks 1");
  EXPECT_EQ(play(line).code, 0);
  const nlohmann::json json = nlohmann::json::parse(run("--json --report cases").out);
  EXPECT_TRUE(json.at("rings").at(0).at("passed"));
  EXPECT_EQ(json.at("kv_heads"), 2);
  EXPECT_EQ(json.at("hops"), (std::vector<int>{1, 0}));
}

}  // namespace
}  // namespace course
