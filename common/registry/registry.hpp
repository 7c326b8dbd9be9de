#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace course {

/// A known mistake of a lesson, as lessons/registry.json describes it.
struct MistakeInfo {
  std::string id;                  ///< also the name of its mutant
  std::vector<std::string> tasks;  ///< whose tests fail
  std::string by;                  ///< "answer": told by what it computes; "instrument": told by conduct
  std::string what;                ///< one sentence for the student
  std::string exposed_by;          ///< the input that tells it from the right answer and from other mistakes
};

struct TaskInfo {
  std::string id;
  std::string name;
  int points = 0;
  std::vector<int> ranks;  ///< world sizes to test at; empty for a task on one rank
};

struct LessonInfo {
  std::string id;    ///< "05"
  std::string name;  ///< "ring_attention"
  std::string title;
  std::string part;
  std::string teaches;
  std::vector<std::string> needs;  ///< "mpi"
  std::vector<std::string> files;  ///< what the student edits, in folder()
  std::string ring;  ///< its forward ring, a function of its adapter, which ./course trace runs; empty: none
  std::vector<TaskInfo> tasks;
  std::vector<MistakeInfo> mistakes;

  std::string folder() const { return id + "_" + name; }
  bool needs_mpi() const;
  int max_points() const;
  /// Throws std::invalid_argument naming what is not there.
  const TaskInfo& task(const std::string& id) const;
  const MistakeInfo& mistake(const std::string& id) const;
};

/// Reads lessons/registry.json. Throws std::runtime_error with the path and what is wrong.
std::vector<LessonInfo> read_registry(const std::filesystem::path& path);

/// The lesson with this id. Throws std::invalid_argument naming the ids there are.
const LessonInfo& find_lesson(const std::vector<LessonInfo>& lessons, const std::string& id);

}  // namespace course
