#include "judge/candidates/candidates.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "judge/agreement.hpp"
#include "judge/candidates/expectation.hpp"
#include "judge/candidates/ledger.hpp"
#include "judge/verdict_text.hpp"

namespace course {

namespace fs = std::filesystem;

namespace {

Candidate candidate_of(const std::string& line) {
  std::vector<std::string> columns;
  std::istringstream stream(line);
  for (std::string column; std::getline(stream, column, '\t');) columns.push_back(column);
  if (columns.size() != 5 || (columns[3] != "hidden" && columns[3] != "public")) {
    throw std::runtime_error(
        "expected name, subject, expectation, hidden or public, and ledger entry, with a tab between them: " +
        line);
  }
  return {columns[0], columns[1], columns[2], columns[3] == "hidden", columns[4] == "-" ? "" : columns[4]};
}

void write(const fs::path& file, const Check& check) {
  std::ofstream stream(file);
  stream << (check.holds ? "holds" : "fails") << '\n' << check.text;
  stream.close();
  if (!stream) throw std::runtime_error("cannot write " + file.string());
}

Check compared_with(const LedgerFile& ledger, const std::string& entry, const JudgedRound& round,
                    bool complete) {
  const std::string file = ledger.path.string();
  if (ledger.record) {
    Ledger::record(ledger.path, entry, round, complete);
    return {true, fmt::format("recorded: {} in {}\n", entry, file)};
  }
  const Ledger recorded(ledger.path);
  if (!recorded.has_lesson())
    return {true, fmt::format("not compared with the ledger: there is no {}\n", file)};
  const std::string differences = recorded.differences(entry, round, complete);
  if (differences.empty()) return {true, fmt::format("as recorded: {}\n", entry)};
  return {false, fmt::format("not as recorded in {}, {}:\n{}", file, entry, differences)};
}

/// The verdicts of the first seed, as a person reads them.
std::string verdict_texts(const JudgedRound& round, const LessonInfo& lesson) {
  std::string text;
  for (std::size_t i = 0; i < round.tests.size(); ++i)
    text += verdict_text(lesson, *round.tests[i], round.verdicts[i]);
  return text;
}

}  // namespace

std::vector<Candidate> read_candidates(const fs::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error("cannot read " + file.string());
  std::vector<Candidate> candidates;
  for (std::string line; std::getline(stream, line);) candidates.push_back(candidate_of(line));
  return candidates;
}

void Check::add(bool also_holds, const std::string& line) {
  holds = holds && also_holds;
  text += line;
}

Check check_candidate(const Candidate& candidate, const std::vector<JudgedRound>& rounds,
                      const LessonInfo& lesson, const LedgerFile& ledger, bool complete) {
  Check check;
  if (!candidate.expect.empty()) {
    const std::string amiss = Expectation{candidate.expect}.unmet(rounds, lesson);
    check.add(amiss.empty(), amiss.empty() ? fmt::format("as expected: {}\n", candidate.expect)
                                           : fmt::format("expected {}, but {}\n", candidate.expect, amiss));
  }
  if (ledger.path.empty() || candidate.ledger_entry.empty()) return check;
  const Check recorded = compared_with(ledger, candidate.ledger_entry, rounds.front(), complete);
  check.add(recorded.holds, recorded.text);
  return check;
}

SessionOptions session_options(std::uint64_t seed, const std::string& expect) {
  return {.seed = seed, .must_be_sharp = !expect.empty()};
}

std::vector<JudgedRound> judged(Session& session, int seeds, const std::string& expect,
                                const LessonInfo& lesson) {
  Sweep::Tells tells;
  if (const Expectation expected{expect}; expected.of_mistakes()) {
    tells = [&lesson, expected](const JudgedRound& round) {
      return expected.unmet_later(round, lesson).empty();
    };
  }
  std::vector<JudgedRound> rounds = Sweep(session, std::move(tells)).judged(seeds);
  for (const JudgedRound& round : rounds) {
    for (const TestVerdict& verdict : round.verdicts) require_known(verdict.mistakes, lesson);
  }
  return rounds;
}

CandidateTests::CandidateTests(const LessonInfo& lesson, std::vector<GradedTest> public_tests,
                               std::vector<GradedTest> all_tests, LauncherOptions options, Seeds seeds,
                               LedgerFile ledger)
    : lesson_(lesson),
      public_tests_(std::move(public_tests)),
      all_tests_(std::move(all_tests)),
      options_(std::move(options)),
      seeds_(std::move(seeds)),
      ledger_(std::move(ledger)) {}

void CandidateTests::run(const std::vector<Candidate>& candidates, const fs::path& folder) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const Candidate& candidate : candidates) {
    Check check;
    try {
      check = play(candidate, folder);
    } catch (const std::exception& error) {
      check.add(false, fmt::format("it could not be judged: {}\n", error.what()));
    }
    write(folder / candidate.name, check);
    fmt::print("{}  {}\n", check.holds ? "holds" : "fails", candidate.name);
    std::fflush(stdout);
  }
}

Check CandidateTests::play(const Candidate& candidate, const fs::path& folder) {
  LauncherOptions options = options_;
  options.subject = candidate.subject;
  SessionOptions how = session_options(seeds_.first, candidate.expect);
  how.spare_large = Expectation{candidate.expect}.of_mistakes();
  how.shared = &examples_;
  Session session(candidate.hidden ? all_tests_ : public_tests_, options, how);
  session.play();
  const std::vector<JudgedRound> rounds = judged(session, seeds_.count, candidate.expect, lesson_);
  const JudgedRound& first = rounds.front();
  for (std::size_t i = 0; candidate.expect == "pass" && i < first.tests.size(); ++i) {
    write(folder / (candidate.name + "." + first.tests[i]->name()),
          {first.verdicts[i].status == TestVerdict::Status::Passed,
           verdict_text(lesson_, *first.tests[i], first.verdicts[i])});
  }
  Check check{true, verdict_texts(first, lesson_)};
  const Check compared = check_candidate(candidate, rounds, lesson_, ledger_, true);
  check.add(compared.holds, compared.text);
  return check;
}

}  // namespace course
