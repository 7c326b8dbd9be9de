#include "own_tensor.hpp"
#include "reference/reference.hpp"
#include "ring/layout.hpp"
#include "ring_demo.hpp"
#include "tensor/npy.hpp"

namespace course {
namespace {

class Layouts : public RingDemo {
 protected:
  /// q, k, v and the gradient of a sequence that no world size but 1 divides.
  void write_own() const {
    for (const char* name : {"q", "k", "v", "do"})
      write_npy(folder_ / (std::string(name) + ".npy"), own_tensor(shape_, name[0]));
  }

  Tensor64 own(const char* name) const { return cast<double>(own_tensor(shape_, name[0])); }

  void expect_saved(const std::string& name, const Tensor64& expected, const std::string& where) const {
    const Tensor saved = read_npy<float>(folder_ / "out" / (name + ".npy"));
    ASSERT_EQ(saved.shape(), expected.shape()) << name << where;
    for (Index i = 0; i < saved.size(); ++i)
      ASSERT_NEAR(saved[i], expected[i], 1e-3) << name << ", value " << i << where;
  }

  const Shape shape_{2, 11, 4};
  const std::string own_files_ = "--q q.npy --k k.npy --v v.npy --do do.npy --out out ";
};

TEST_F(Layouts, LeaveTheOrderOfRowsAsItWas) {
  write_own();
  const auto forward = reference::attention(own("q"), own("k"), own("v"));
  const auto backward = reference::attention_gradients(own("q"), own("k"), own("v"), own("do"));
  for (const std::string name : layout_names) {
    for (const int ranks : {3, 5}) {
      const std::string where = ", " + name + " on " + std::to_string(ranks) + " ranks";
      const nlohmann::json json =
          run_json(own_files_ + "--layout " + name + " --ranks " + std::to_string(ranks));
      EXPECT_EQ(json.at("layout"), name);
      EXPECT_EQ(json.at("causal"), false);
      const std::vector<int> tokens = Layout::named(name, 11, ranks).shard_tokens();
      for (int rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(json.at("per_rank").at(rank).at("tokens"), tokens[rank]) << rank << where;
      expect_saved("o", forward.o, where);
      expect_saved("lse", forward.lse, where);
      expect_saved("dq", backward.dq, where);
      expect_saved("dk", backward.dk, where);
      expect_saved("dv", backward.dv, where);
    }
  }
}

TEST_F(Layouts, HaveRoomForMoreRanksThanTokens) {
  for (const std::string name : layout_names) {
    const nlohmann::json json = run_json("--seq 2 --heads 2 --dim 3 --ranks 5 --layout " + name);
    EXPECT_LT(json.at("relative_error").at("o"), 1e-5) << name;
    EXPECT_EQ(json.at("per_rank").at(4).at("tokens"), 0) << name;
  }
}

}  // namespace
}  // namespace course
