#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "course/selftest/test_run.hpp"
#include "registry/registry.hpp"

namespace course::program {

/// Of the wrong answers in tests/corpus that somebody has rated, whether what was said of them led a reader
/// to the line: by the name of the test that plays the answer, "corpus.lesson01.wrong.m_plus_l". Throws
/// std::runtime_error with the file that has another rating than "led" or "not led".
std::map<std::string, bool> corpus_ratings(const std::filesystem::path& root,
                                           const std::vector<LessonInfo>& lessons);

/// A line a lesson: of the answers in tests/corpus that were played, how many right ones there are and
/// passed; and how many wrong ones there are, failed, were named, led to their line by a name or by a rating,
/// did not, and were given a name that is not theirs. Lessons without any are left out.
std::string corpus_table(const std::vector<LessonInfo>& lessons, const std::vector<TestRow>& rows,
                         const std::map<std::string, bool>& ratings);

}  // namespace course::program
