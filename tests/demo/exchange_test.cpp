#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "exchanges.hpp"
#include "ring/layout.hpp"
#include "ring/shards.hpp"

namespace course {
namespace {

/// Who has which query heads, dealt out one by one, and which key heads that takes: so that what is sent can
/// be counted a tensor's row at a time.
struct DealtHeads {
  DealtHeads(Index heads, Index kv_heads, int ranks) : owner(heads), key_owners(kv_heads) {
    for (int rank = 0, next = 0; rank < ranks; ++rank) {
      for (Index i = rank; i < heads; i += ranks, ++next) {
        owner[next] = rank;
        key_owners[next / (heads / kv_heads)].insert(rank);
      }
    }
  }
  std::vector<int> owner;
  std::vector<std::set<int>> key_owners;
};

/// Bytes by rank.
struct Sent {
  std::vector<std::int64_t> there, back;
};

Sent counted(const DealtHeads& heads, const Layout& layout, bool backward) {
  const int ranks = layout.ranks();
  Sent sent{std::vector<std::int64_t>(ranks, 0), std::vector<std::int64_t>(ranks, 0)};
  const auto row = [&](int tokens_on, int heads_on, Index there, Index back) {
    if (tokens_on == heads_on) return;
    sent.there[tokens_on] += 4 * there;
    sent.back[heads_on] += 4 * back;
  };
  for (Index token = 0; token < layout.tokens(); ++token) {
    const int on = layout.place(token).rank;
    for (const int owner : heads.owner) {  // q and d_o there, o, lse and dq back
      row(on, owner, exchanged_width, exchanged_width + 1);
      if (backward) row(on, owner, exchanged_width, exchanged_width);
    }
    for (const std::set<int>& owners : heads.key_owners) {  // k and v there, dk and dv back
      for (const int owner : owners) row(on, owner, 2 * exchanged_width, backward ? 2 * exchanged_width : 0);
    }
  }
  return sent;
}

/// Heads that are few, many, and not divisible by ranks; key heads that are copied and groups that shares
/// cut.
TEST_F(Exchanges, AreRightAndSendWhatTheySay) {
  std::mt19937 random(17);
  const std::vector<std::pair<Index, Index>> sizes{{4, 4}, {8, 2}, {6, 2}, {10, 2}, {3, 1}, {5, 5}, {8, 1}};
  for (int turn = 0; turn < 10; ++turn) {
    const auto [heads, kv_heads] = sizes[turn % sizes.size()];
    const int ranks = std::vector{1, 2, 3, 5, 8}[random() % 5];
    const std::string layout = layout_names[random() % 3];
    const bool causal = random() % 2 == 0, backward = turn % 4 != 3;
    const std::string arguments = "--exchange ulysses --ranks " + std::to_string(ranks) + " --layout " +
                                  layout + (causal ? " --causal" : "");
    std::string own = own_tensors(heads, kv_heads);
    if (!backward) own = own.substr(0, own.find("--do")) + "--forward ";
    const std::string where = ", " + std::to_string(heads) + "/" + std::to_string(kv_heads) + " " + arguments;
    const nlohmann::json json = run_json(own + "--out out " + arguments);
    EXPECT_EQ(json.at("exchange"), "ulysses") << where;
    EXPECT_EQ(json.at("rings").at(0).at("name"), "ulysses") << where;
    EXPECT_TRUE(json.at("rings").at(0).at("passed")) << where;
    if (backward) expect_saved(heads, kv_heads, causal, true, where);
    const DealtHeads dealt(heads, kv_heads, ranks);
    const Sent sent = counted(dealt, Layout::named(layout, exchanged_tokens, ranks), backward);
    std::int64_t all = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const nlohmann::json& one = json.at("per_rank").at(rank);
      EXPECT_EQ(one.at("heads"), std::ranges::count(dealt.owner, rank)) << rank << where;
      EXPECT_EQ(one.at("bytes_there"), sent.there[rank]) << rank << where;
      EXPECT_EQ(one.at("bytes_back"), sent.back[rank]) << rank << where;
      EXPECT_EQ(one.at("bytes_sent"), sent.there[rank] + sent.back[rank]) << rank << where;
      all += sent.there[rank] + sent.back[rank];
    }
    EXPECT_EQ(json.at("bytes_needed"), all) << where;
    // Nobody waits for another rank's triangle: only heads that do not come out even are uneven.
    const auto most = static_cast<double>((heads + ranks - 1) / ranks);
    EXPECT_NEAR(json.at("load").at("slowest_steps"), most * ranks / static_cast<double>(heads), 1e-9)
        << where;
  }
}

TEST_F(Exchanges, AreBesideTheRingOfTheSameInput) {
  const std::string forward_and_back = own_tensors(4, 2) + "--ranks 3 ";
  for (const std::string& options : {std::string(forward_and_back), forward_and_back + "--forward "}) {
    std::string arguments = options;
    if (options.ends_with("--forward ")) arguments.replace(arguments.find("--do do.npy"), 11, "");
    const nlohmann::json ring = run_json(arguments + "--exchange ring"),
                         exchange = run_json(arguments + "--exchange ulysses");
    EXPECT_EQ(ring.at("exchange"), "ring");
    EXPECT_EQ(ring.at("rings").at(0).at("name"), "grouped");
    std::int64_t of_ring = 0;
    for (const nlohmann::json& rank : exchange.at("per_rank"))
      of_ring += rank.at("bytes_of_ring").get<std::int64_t>();
    EXPECT_EQ(of_ring, ring.at("bytes_needed")) << arguments;
  }
}

TEST_F(Exchanges, SayWhatTheySendAndWhoHasNoHeads) {
  const Finished finished =
      run("--exchange ulysses --ranks 8 --seq 16 --heads 3 --dim 4 --causal --layout zigzag");
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(has(finished.out, "Ulysses attention, forward, causal, zigzag shards")) << finished.out;
  EXPECT_TRUE(has(finished.out, "5 of 8 ranks have no heads\n")) << finished.out;
  EXPECT_TRUE(std::regex_search(finished.out, std::regex("\nrank .* there +back +ring\n"))) << finished.out;
  // Rank 0: q, k, v of 2 tokens for 2 other heads; o and lse of 1 head for 14 tokens; 7 hops of k and v.
  EXPECT_TRUE(
      std::regex_search(finished.out, std::regex("\n0 +2 +1 +2\\.67 +1 .* 192 B +280 B +1\\.31 KiB\n")))
      << finished.out;
  EXPECT_TRUE(std::regex_search(finished.out, std::regex("\n7 +2 +0 +0\\.00 +0 .* 288 B +0 B +1\\.31 KiB\n")))
      << finished.out;
  EXPECT_TRUE(has(finished.out, "Right in every query row")) << finished.out;
  EXPECT_FALSE(has(finished.out, "Noticed")) << finished.out;
  EXPECT_FALSE(has(run("--exchange ulysses --ranks 2 --seq 16 --heads 3 --dim 4").out, "no heads"));
}

/// Of 10 heads in two batches the second of 3 ranks has the end of one and the beginning of the other.
TEST_F(Exchanges, DealOutTheHeadsOfAllBatches) {
  for (const auto& [name, heads] : {std::pair{"q", 5}, {"k", 1}, {"v", 1}, {"do", 5}}) {
    const Tensor one = own_tensor({1, heads, exchanged_tokens, exchanged_width}, name[0]);
    write_npy(folder_ / (std::string(name) + ".npy"), concatenate<float>({one, one}, 0));
  }
  const nlohmann::json json = run_json(
      "--exchange ulysses --q q.npy --k k.npy --v v.npy --do do.npy --ranks 3 --causal --layout striped "
      "--out out");
  EXPECT_TRUE(json.at("rings").at(0).at("passed"));
  EXPECT_EQ(json.at("per_rank").at(1).at("heads"), 3);
  EXPECT_EQ(json.at("per_rank").at(1).at("kv_heads"), 2);
  for (const char* output : {"o", "dq", "dk", "dv"}) {
    const Tensor saved = read_npy<float>(folder_ / "out" / (std::string(output) + ".npy"));
    ASSERT_EQ(saved.extent(0), 2) << output;
    for (Index i = 0; i < saved.size() / 2; ++i)
      ASSERT_NEAR(saved[i], saved[saved.size() / 2 + i], 1e-4) << output << ", value " << i;
  }
}

TEST_F(Exchanges, LeaveARankWithoutHeadsNothingToCompute) {
  const nlohmann::json json = run_json("--exchange ulysses --ranks 5 --seq 16 --heads 3 --dim 4");
  ASSERT_EQ(json.at("per_rank").size(), 5u);
  for (const nlohmann::json& rank : json.at("per_rank"))
    EXPECT_EQ(rank.at("compute_s") > 0, rank.at("heads") > 0) << rank;
}

TEST_F(Exchanges, HaveLanesForEveryRank) {
  ASSERT_EQ(run("--exchange ulysses --ranks 3 --verbose --out out").code, 0);
  const std::string svg = file_text(folder_ / "out/timeline.svg");
  for (const char* part : {"Ulysses attention on 3 ranks", "<title>MPI_Alltoallv", "<title>block of rank 2",
                           "<title>backward, block of rank 2"})
    EXPECT_TRUE(has(svg, part)) << part;
}

TEST_F(Exchanges, TakeEveryBlock) {
  if (!fs::exists(fs::path(COURSE_BINARY_DIR) / "lib/lesson20_solution.so")) GTEST_SKIP() << "no lesson 20";
  for (const std::string causal : {"", " --causal"}) {
    const std::string sizes = "--exchange ulysses --block 20 --ranks 3 --kv-heads 4" + causal;
    const Finished finished = run(sizes);
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_TRUE(has(finished.out, "blocks of lesson 20")) << finished.out;
  }
}

TEST_F(Exchanges, AreRefusedWhereTheyDoNotFit) {
  const auto expect_refusal = [&](const std::string& arguments, int code, const std::string& expected) {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.code, code) << arguments;
    EXPECT_TRUE(is_one_line(finished.err)) << arguments << "\n" << finished.err;
    EXPECT_TRUE(has(finished.err, expected)) << arguments << "\n" << finished.err;
  };
  expect_refusal("--exchange sideways", 2,
                 "--exchange: sideways not in {ring,ulysses,gather,grid,double-ring}");
  const std::string ulysses = "--exchange ulysses ";
  for (const char* const ring : {"both", "blocking", "overlapped"})
    expect_refusal(ulysses + "--ring " + ring, 2,
                   ulysses + "--ring " + ring + ": an exchange is no ring; leave out one of the two");
  expect_refusal(ulysses + "--latent 16,4", 2, ulysses + "--latent: all heads have one latent");
  for (const char* const row :
       {"--documents 500,12", "--layout documents", "--window 4 --causal", "--alibi", "--sinks 0.5"}) {
    const std::string option = row;
    const std::string named = option.starts_with("--layout") ? option : option.substr(0, option.find(' '));
    expect_refusal(ulysses + row, 2, ulysses + named + ": it knows of no documents, windows, ALiBi or sinks");
  }
  for (const std::string backend : {"sim", "cuda"})
    expect_refusal(ulysses + "--backend " + backend, 3,
                   ulysses + "--backend " + backend + ": no kernel lesson has it");
  expect_refusal(ulysses + "--kv-heads 5", 2, "5 key heads do not divide 12 heads");
  expect_refusal(ulysses + "--report cases", 2, "excludes");
}

TEST_F(Prepared, ExchangesAreReportedOnAsTheyWerePrepared) {
  for (const char* name : {"q", "k", "v", "do"})
    write_npy(folder_ / (std::string(name) + ".npy"), own_tensor({5, 7, 4}, name[0]));
  const Finished played = play(prepare(
      "--exchange ulysses --q q.npy --k k.npy --v v.npy --do do.npy --ranks 3 --causal --layout striped"));
  ASSERT_EQ(played.code, 0) << played.err;
  const nlohmann::json json = nlohmann::json::parse(run("--json --report cases").out);
  EXPECT_EQ(json.at("exchange"), "ulysses");
  EXPECT_EQ(json.at("causal"), true);
  EXPECT_TRUE(json.at("rings").at(0).at("passed"));
  EXPECT_TRUE(json.at("relative_error").contains("dk"));
  EXPECT_EQ(json.at("rings").at(0).at("bytes_sent"), json.at("bytes_needed"));
}

}  // namespace
}  // namespace course
