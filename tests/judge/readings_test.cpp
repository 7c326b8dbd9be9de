#include "judge/diagnosis/readings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "../common/sitting.hpp"
#include "judge/diagnosis/verdict.hpp"
#include "judge/softmax/online_softmax.hpp"
#include "judge/softmax/output_merge.hpp"
#include "judge/softmax/ring_softmax.hpp"
#include "judge/softmax/row_softmax.hpp"
#include "judge/softmax/state_merge.hpp"
#include "protocol/fact_kinds.hpp"

namespace course {

namespace {

constexpr float nothing = -std::numeric_limits<float>::infinity();

/// What somebody reads who computes that, on so many ranks, of which each called its collective, if any.
std::string told(Task task, const AnswerOf& computes, int ranks, std::uint64_t seed,
                 const std::vector<Fact>& collectives = {}) {
  for (const Mistake& mistake : task.mistakes) task.descriptions[mistake.id] = mistake.id;
  InputGenerator generator(seed);
  Sitting sitting(task);
  for (const Example& example : task.examples(generator, ranks)) {
    const Answer answer = computes(example);
    Answer by_score, by_rank;
    for (const Output& output : task.outputs)
      (output.axes.front() == "rank" ? by_rank : by_score)[output.name] = answer.at(output.name);
    Outcome outcome = returned(by_score, example.layout, 0);
    for (int rank = 0; rank < example.ranks(); ++rank) {
      for (const auto& [name, whole] : by_rank)
        outcome.outputs[rank][name] = Tensor({1}, static_cast<float>(whole[rank]));
    }
    outcome.reports.resize(outcome.outputs.size());
    outcome.facts.resize(outcome.outputs.size());
    for (std::size_t rank = 0; rank < collectives.size(); ++rank)
      outcome.facts[rank].push_back(collectives[rank]);
    sitting.play(example, std::move(outcome));
  }
  return sitting.verdict(false, false, ranks > 1 ? ranks : 0).text;
}

/// It is said with each of a few seeds.
void expect_told(const std::string& words, const Task& task, const AnswerOf& computes, int ranks = 1) {
  int fails = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const std::string text = told(task, computes, ranks, seed);
    if (text.empty()) continue;  // the inputs that it shows on are not drawn with every seed
    ++fails;
    EXPECT_NE(text.find(words), std::string::npos) << "seed " << seed << ", expected: " << words << "\n"
                                                   << text;
    EXPECT_LE(std::ranges::count(text, '\n'), 12) << text;
  }
  EXPECT_GT(fails, 0) << words;
}

// One row's softmax, with its maximum as `m_of` has it and the sum as `sum` changes it.

using Row = std::span<const float>;

Answer softmax_with(const Example& example, const std::function<float(Row, Index row)>& m_of, float more = 0,
                    float sign = 1) {
  const auto x = example.inputs.at("x").matrix();
  Tensor p(example.inputs.at("x").shape()), lse({x.rows()}, nothing);
  for (Index row = 0; row < x.rows(); ++row) {
    const float m = m_of(x.row(row), row);
    if (m == nothing) continue;
    float l = more;
    for (const float score : x.row(row)) l += std::exp(sign * (score - m));
    for (Index col = 0; col < x.cols(); ++col) p.matrix()(row, col) = std::exp(sign * (x(row, col) - m)) / l;
    lse[row] = m + std::log(l);
  }
  return {{"p", cast<double>(p)}, {"lse", cast<double>(lse)}};
}

float largest(Row row) {
  return row.empty() ? nothing : std::ranges::max(row);
}

TEST(Readings, OfAnotherMaximum) {
  const Task softmax = row_softmax::softmax_task("1", "softmax");
  expect_told("as if m were the largest |score| of the row", softmax, [](const Example& example) {
    return softmax_with(example, [](Row row, Index) {
      float m = nothing;
      for (const float score : row) m = std::max(m, std::abs(score));
      return m;
    });
  });
  expect_told("as if the maximum left out the last column", softmax, [](const Example& example) {
    return softmax_with(
        example, [](Row row, Index) { return largest(row.size() > 1 ? row.first(row.size() - 1) : row); });
  });
  Task logsumexp = row_softmax::logsumexp_task("2", "logsumexp");
  logsumexp.mistakes.clear();  // with the highest row first it has the name of one maximum for all rows
  expect_told("as if m were kept from row to row", logsumexp, [](const Example& example) {
    float m = nothing;
    return softmax_with(example, [&](Row row, Index) { return m = std::max(m, largest(row)); });
  });
}

TEST(Readings, OfASumThatStartsAt1) {
  expect_told("as if l were larger by 1 in every row", row_softmax::softmax_task("1", "softmax"),
              [](const Example& example) {
                return softmax_with(
                    example, [](Row row, Index) { return largest(row); }, 1);
              });
}

TEST(Readings, OfTheOtherSign) {
  expect_told("as if every score had the other sign", row_softmax::softmax_task("1", "softmax"),
              [](const Example& example) {
                return softmax_with(
                    example, [](Row row, Index) { return largest(row); }, 0, -1);
              });
}

TEST(Readings, OfRowsThatAreReadAsColumns) {
  const auto by_columns = [](const Tensor& from, bool back) {
    Tensor to = from;
    for (Index i = 0; i < from.extent(0); ++i) {
      for (Index j = 0; j < from.extent(1); ++j) {
        const Index here = i * from.extent(1) + j, there = j * from.extent(0) + i;
        (back ? to[there] : to[here]) = back ? from[here] : from[there];
      }
    }
    return to;
  };
  for (const bool writes : {true, false}) {
    expect_told(writes ? "as if all matrices were read and written column by column"
                       : "as if all matrices were read column by column",
                row_softmax::softmax_task("1", "softmax"), [&](Example example) {
                  example.inputs["x"] = by_columns(example.inputs.at("x"), false);
                  Answer answer = softmax_with(example, [](Row row, Index) { return largest(row); });
                  if (writes) answer["p"] = cast<double>(by_columns(cast<float>(answer.at("p")), true));
                  return answer;
                });
  }
}

TEST(Readings, OfAnotherFormulaOfTheLogsumexp) {
  const Task task = row_softmax::logsumexp_task("2", "logsumexp");
  const std::pair<const char*, float (*)(float, float)> formulas[] = {
      {"every lse is log(m + l); it should", [](float m, float l) { return std::log(m + l); }},
      {"every lse is m + l; it should", [](float m, float l) { return m + l; }},
      {"every lse is log l - m; it should", [](float m, float l) { return std::log(l) - m; }}};
  for (const auto& [words, formula] : formulas) {
    expect_told(words, task, [formula = formula](const Example& example) {
      Answer answer = softmax_with(example, [](Row row, Index) { return largest(row); });
      for (Index row = 0; double& lse : answer.at("lse").values()) {
        const float m = largest(example.inputs.at("x").matrix().row(row++));
        if (m != nothing) lse = formula(m, static_cast<float>(std::exp(lse - m)));
      }
      return answer;
    });
  }
}

TEST(WrongRows, AreToldByWhatTheyShare) {
  const Task task = row_softmax::softmax_task("1", "softmax");
  expect_told(
      "wrong are the rows that begin with a masked score and are not masked throughout, and no others:", task,
      [](const Example& example) {
        return softmax_with(example, [](Row row, Index) {
          return row.empty() || row.front() == nothing ? nothing : largest(row);
        });
      });
  expect_told(
      "wrong are the rows that come after one that is masked throughout and have scores themselves, and no "
      "others:",
      task, [](const Example& example) {
        bool ended = false;
        return softmax_with(example, [&](Row row, Index) {
          ended |= largest(row) == nothing;
          return ended ? nothing : largest(row);
        });
      });
}

// Lesson 02.

TEST(Readings, OfAMergeOfStates) {
  const auto merging = [](const Example& example, bool crossed) {
    const auto m = example.inputs.at("m").matrix(), l = example.inputs.at("l").matrix();
    Tensor lse({m.rows()});
    for (Index row = 0; row < m.rows(); ++row) {
      float m_a = m(row, 0), l_a = l(row, 0);
      for (Index part = 1; part < m.cols(); ++part) {
        const float both = std::max(m_a, m(row, part));
        const float a = both == nothing ? 0 : std::exp(m_a - both);
        const float b = both == nothing ? 0 : std::exp(m(row, part) - both);
        l_a = crossed ? a * l(row, part) + b * l_a : a * (l_a + l(row, part));
        m_a = both;
      }
      lse[row] = m_a + std::log(l_a);
    }
    return Answer{{"lse", cast<double>(lse)}};
  };
  const Task task = state_merge::task("1", "merge");
  expect_told("as if l were exp(b.m - m) a.l + exp(a.m - m) b.l;\n", task,
              [&](const Example& x) { return merging(x, true); });
  expect_told("as if l were exp(a.m - m) a.l + exp(a.m - m) b.l;\n", task,
              [&](const Example& x) { return merging(x, false); });
}

/// One pass over each row: l is re-based by its factor to this power, o by its own; a block's scores are seen
/// by `sees` until it says no.
Answer pass(const Example& example, int power_of_l, int power_of_o,
            const std::function<bool(float score, Index j, Index n)>& sees) {
  const auto scores = example.inputs.at("scores").matrix(), values = example.inputs.at("values").matrix();
  const Index block = static_cast<Index>(example.arguments.at("block").front());
  Tensor o({scores.rows(), values.cols()}), lse({scores.rows()}, nothing);
  for (Index row = 0; row < scores.rows(); ++row) {
    float m = nothing, l = 0;
    for (Index first = 0; first < scores.cols(); first += block) {
      Index end = first;
      float both = m;
      while (end < std::min(first + block, scores.cols()) && sees(scores(row, end), end, scores.cols()))
        both = std::max(both, scores(row, end++));
      if (both == nothing) continue;
      const float factor = std::exp(m - both);
      l *= static_cast<float>(std::pow(factor, power_of_l));
      for (float& component : o.matrix().row(row))
        component *= static_cast<float>(std::pow(factor, power_of_o));
      for (Index j = first; j < end; ++j) {
        l += std::exp(scores(row, j) - both);
        for (Index c = 0; c < values.cols(); ++c)
          o.matrix()(row, c) += std::exp(scores(row, j) - both) * values(j, c);
      }
      m = both;
    }
    if (m == nothing) continue;
    for (float& component : o.matrix().row(row)) component /= l;
    lse[row] = m + std::log(l);
  }
  return {{"o", cast<double>(o)}, {"lse", cast<double>(lse)}};
}

TEST(Readings, OfAPass) {
  const Task task = online_softmax::task("2", "online_attention");
  const auto all = [](float, Index, Index) { return true; };
  expect_told("as if l alone were multiplied by the square of exp(old m - new m)", task,
              [&](const Example& x) { return pass(x, 2, 1, all); });
  expect_told("as if the last score of every row were missing", task, [&](const Example& x) {
    return pass(x, 1, 1, [](float, Index j, Index n) { return j + 1 < n; });
  });
  expect_told("as if the scores that follow a masked one in its block were missing", task,
              [&](const Example& x) {
                return pass(x, 1, 1, [](float score, Index, Index) { return score != nothing; });
              });
}

TEST(Readings, ThatBelongBesideAName) {
  const auto all = [](float, Index, Index) { return true; };
  expect_told("as if neither l nor o was re-based", online_softmax::task("2", "online_attention"),
              [&](const Example& x) { return pass(x, 0, 0, all); });
}

TEST(Readings, OfAMergeOfOutputs) {
  const Task task = output_merge::task("3", "merge_normalised");
  const auto weighing = [&](const Example& example, const std::function<float(float, float)>& weight_of_b) {
    Answer answer = task.expected(example);
    for (Index row = 0; row < answer.at("lse").size(); ++row) {
      const float a = example.inputs.at("lse")[row], b = example.inputs.at("lse_b")[row];
      if (a == nothing || b == nothing) continue;
      const float w = weight_of_b(a, b);
      for (Index c = 0; c < answer.at("o").extent(1); ++c) {
        answer.at("o").matrix()(row, c) =
            (1 - w) * example.inputs.at("o").matrix()(row, c) + w * example.inputs.at("o_b").matrix()(row, c);
      }
    }
    return answer;
  };
  expect_told("as if the new o were lse/(lse + lse_b) o + lse_b/(lse + lse_b) o_b;\n", task,
              [&](const Example& x) { return weighing(x, [](float a, float b) { return b / (a + b); }); });
  expect_told(" weighs o by 0.75 and o_b by 0.25; that should be ", task,
              [&](const Example& x) { return weighing(x, [](float, float) { return 0.25f; }); });
}

// Lesson 03: by rank, how often it has each piece.

Answer with_pieces(const Example& example, const std::vector<std::vector<int>>& times) {
  Tensor64 p = cast<double>(example.inputs.at("x")), lse({example.ranks()});
  for (int rank = 0; rank < example.ranks(); ++rank) {
    double m = nothing, l = 0;
    for (const float score : example.inputs.at("x").values()) m = std::max<double>(m, score);
    for (int piece = 0; piece < example.ranks(); ++piece) {
      for (const Index position : example.layout.positions(piece))
        l += m == nothing ? 0 : times[rank][piece] * std::exp(example.inputs.at("x")[position] - m);
    }
    lse[rank] = m + std::log(l);
    for (const Index position : example.layout.positions(rank))
      p[position] = l == 0 ? 0 : std::exp(p[position] - lse[rank]);
  }
  return {{"p", p}, {"lse", lse}};
}

TEST(Pieces, OfEachRankAreFound) {
  const Task chain = ring_softmax::chain_task("1", "chain_softmax");
  expect_told(
      "rank 0 has the pieces of ranks 0 (twice), 1 and 2\nrank 1 has the pieces of ranks 0, 1 (twice) and "
      "2\n",
      chain,
      [](const Example& x) {
        return with_pieces(x, {{2, 1, 1}, {1, 2, 1}, {1, 1, 1}});
      },
      3);
  expect_told(
      "rank 2 has the pieces of ranks 1 (3 times) and 2; those of ranks 0 and 3 are missing\n", chain,
      [](const Example& x) {
        return with_pieces(x, {{1, 1, 1, 1}, {1, 1, 1, 1}, {0, 3, 1, 0}, {1, 1, 1, 1}});
      },
      4);
}

TEST(Pieces, AreNotFoundInOtherNumbers) {
  const Task chain = ring_softmax::chain_task("1", "chain_softmax");
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    InputGenerator noise(seed);
    const std::string text = told(
        chain,
        [&](const Example& example) {
          Answer answer = chain.expected(example);
          for (double& lse : answer.at("lse").values()) lse += noise.uniform(-0.5, 0.5);
          return answer;
        },
        3, seed);
    EXPECT_EQ(text.find("has the piece"), std::string::npos) << text;
  }
}

TEST(Chain, WhoseRanksNameDifferentRootsIsTold) {
  const auto nothing_arrives = [](const Example& x) { return with_pieces(x, {{1, 0}, {1, 1}}); };
  const auto called = [](const char* call, int root) {
    return Fact{.kind = fact_collective, .text = "…", .call = call, .root = root};
  };
  const auto text = [&](const std::vector<Fact>& collectives) {
    return told(ring_softmax::chain_task("1", "chain_softmax"), nothing_arrives, 2, 1, collectives);
  };
  EXPECT_NE(text({called("MPI_Bcast", 0), called("MPI_Bcast", 1)})
                .find("rank 0 calls MPI_Bcast with root 0, and rank 1 MPI_Bcast with root 1"),
            std::string::npos);
  for (const std::vector<Fact>& others : {std::vector{called("MPI_Bcast", 1), called("MPI_Bcast", 1)},
                                          {called("MPI_Barrier", -1), called("MPI_Bcast", 1)}})
    EXPECT_EQ(text(others).find("root"), std::string::npos) << text(others);
}

TEST(TimesTaken, NeedsAsManySumsAsParts) {
  EXPECT_EQ(times_taken({{{0.5, 0.25}, 1.25, 1e-6}, {{0.125, 0.5}, 0.75, 1e-6}}, 3), (std::vector{2, 1}));
  EXPECT_EQ(times_taken({{{0.5, 0.25}, 1.25, 1e-6}}, 3), std::nullopt);
  EXPECT_EQ(times_taken({{{0.5, 0.25}, 1.25, 1e-6}, {{0.125, 0.5}, 0.8, 1e-6}}, 3), std::nullopt);
  EXPECT_EQ(times_taken({{{0.5, 0.25}, 2.25, 1e-6}, {{0.125, 0.5}, 1, 1e-6}}, 3), std::nullopt) << "4 times";
}

TEST(Readings, AreNoneOfNoise) {
  const Task tasks[] = {row_softmax::softmax_task("1", "softmax"),
                        row_softmax::logsumexp_task("2", "logsumexp"), state_merge::task("1", "merge"),
                        online_softmax::task("2", "online_attention"),
                        output_merge::task("3", "merge_normalised")};
  for (const Task& task : tasks) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      InputGenerator noise(seed);
      const std::string text = told(
          task,
          [&](const Example& example) {
            Answer answer = task.expected(example);
            for (auto& [name, output] : answer) {
              for (double& entry : output.values()) entry += 0.01 * noise.normal();
            }
            return answer;
          },
          1, seed);
      for (const char* words : {"as if", "every lse is", "wrong are the rows", "in every wrong row"})
        EXPECT_EQ(text.find(words), std::string::npos) << text;
    }
  }
}

TEST(OAndLse, AreConnectedWhereTheSumAloneIsWrong) {
  const Task task = online_softmax::task("2", "online_attention");
  InputGenerator noise(1);
  const auto halves = [&](const Example& example) {
    Answer answer = task.expected(example);
    for (Index row = 0; row < answer.at("lse").size(); ++row) {
      const double factor = noise.uniform(1.5, 3);
      answer.at("lse")[row] -= std::log(factor);
      for (double& component : answer.at("o").matrix().row(row)) component *= factor;
    }
    return answer;
  };
  expect_told("o before the division is right; l is not, or is not used", task, halves);
}

TEST(OAndLse, AreConnectedOnTheInputShownWhereAnotherHidesIt) {
  const Task task = online_softmax::task("2", "online_attention");
  expect_told("in every wrong row of this input o is off by one factor", task, [&](const Example& example) {
    Answer answer = task.expected(example);
    Index row = 0;
    for (double& lse : answer.at("lse").values()) {
      const double factor = lse < -100 ? 0 : 1.5 + 0.1 * static_cast<double>(row % 7);
      for (double& component : answer.at("o").matrix().row(row)) component *= factor;
      lse -= factor == 0 ? 0 : std::log(factor);
      ++row;
    }
    return answer;
  });
}

}  // namespace

}  // namespace course
