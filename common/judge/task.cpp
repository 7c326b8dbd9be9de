#include "judge/task.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "judge/numbers/origin.hpp"

namespace course {

namespace {

constexpr std::int64_t largest_log = 1 << 20;
constexpr std::int64_t largest_header = 4096;  // of a .npy file

}  // namespace

Index Example::numbers() const {
  Index count = 0;
  for (const auto& [name, input] : inputs) count += input.size();
  return count;
}

Task remembering(Task task) {
  int number = 0;
  const auto remember = [&number]<class Result>(std::function<Result(const Example&)>& function) {
    if (!function) return;
    function = [work_out = std::move(function), number = number++](const Example& example) {
      if (example.worked == nullptr) return work_out(example);
      WorkedOut& worked = *example.worked;
      std::unique_lock guard(worked.mutex);
      const auto known = worked.answers.find(number);
      if (known != worked.answers.end()) return std::any_cast<Result>(known->second);
      guard.unlock();
      Result answer = work_out(example);
      guard.lock();
      worked.answers.try_emplace(number, answer);
      return answer;
    };
  };
  remember(task.expected);
  remember(task.baseline);
  remember(task.rounding);
  for (Mistake& mistake : task.mistakes) remember(mistake.answer);
  return task;
}

void keep_known_mistakes(LessonJudge& judge, const LessonInfo& lesson) {
  for (Task& task : judge.tasks) {
    for (const MistakeInfo& mistake : lesson.mistakes) task.descriptions[mistake.id] = mistake.what;
    const auto is_known = [&](const Mistake& mistake) {
      const auto known = std::ranges::find(lesson.mistakes, mistake.id, &MistakeInfo::id);
      return known != lesson.mistakes.end() &&
             (!task.of_family || std::ranges::count(known->tasks, task.id) > 0);
    };
    const auto others = std::stable_partition(task.mistakes.begin(), task.mistakes.end(), is_known);
    for (auto other = others; other != task.mistakes.end(); ++other) {
      const auto words = task.words.find(other->id);
      if (words == task.words.end()) continue;
      task.readings.push_back(
          {.words = words->second, .answer = other->answer, .decides = true, .agrees = other->agrees});
    }
    task.mistakes.erase(others, task.mistakes.end());
  }
}

void require_agreement(const LessonJudge& judge, const LessonInfo& lesson) {
  std::set<std::string> computed;
  for (const Task& task : judge.tasks) {
    lesson.task(task.id);
    for (const Mistake& mistake : task.mistakes) computed.insert(lesson.mistake(mistake.id).id);
  }
  const bool by_outcomes = std::ranges::any_of(judge.tasks, &Task::named_by_outcomes);
  for (const MistakeInfo& mistake : lesson.mistakes) {
    if (by_outcomes || mistake.by == "instrument" || computed.contains(mistake.id)) continue;
    throw std::invalid_argument("mistakes.md of lesson " + lesson.id + " has " + mistake.id +
                                ", told by its answer, which the judge computes for none of its tasks");
  }
  for (const TaskInfo& info : lesson.tasks) {
    if (std::ranges::find(judge.tasks, info.id, &Task::id) != judge.tasks.end()) continue;
    throw std::invalid_argument("the judge of lesson " + lesson.id + " has no task " + info.id +
                                ", which the registry has");
  }
}

std::vector<std::map<std::string, Tensor>> shards_of(const Task& task, const Example& example) {
  std::vector<std::map<std::string, Tensor>> shards(example.ranks());
  for (const auto& [name, tensor] : example.inputs) {
    const auto axis = task.split_axis.find(name);
    const auto own = task.split_layout.find(name);
    const Layout layout = own == task.split_layout.end() ? example.layout : own->second(example);
    for (int rank = 0; rank < example.ranks(); ++rank) {
      const bool cut = axis != task.split_axis.end() && layout.ranks() > 0;
      shards[rank].emplace(name, cut ? layout.shard(tensor, axis->second, rank) : tensor);
    }
  }
  return shards;
}

std::map<std::string, WantedOutput> wanted_outputs(const Task& task, const Answer& expected) {
  std::map<std::string, WantedOutput> wanted;
  for (const auto& [name, columns] : task.logs) wanted[name] = {largest_log, columns};
  for (const Output& output : task.outputs) {
    const Index numbers = expected.at(output.name).size();
    wanted[output.name] = {largest_header + numbers * static_cast<std::int64_t>(sizeof(double)), 0};
  }
  return wanted;
}

namespace {

Tensor64 entries_of(const Tensor& returned) {
  Tensor64 entries(returned.shape());
  std::ranges::transform(returned.values(), entries.values().begin(), entry_of);
  return entries;
}

/// The ranks' pieces in the order of ranks.
Tensor64 joined_by_rank(const Output& output, const Outcome& outcome) {
  std::vector<Tensor64> parts;
  for (std::size_t rank = 0; rank < outcome.outputs.size(); ++rank) {
    const auto found = outcome.outputs[rank].find(output.name);
    if (found == outcome.outputs[rank].end()) {
      throw std::runtime_error(rank_label(rank, outcome.outputs.size()) + " returned no " + output.name);
    }
    parts.push_back(entries_of(found->second));
  }
  return parts.size() == 1 ? parts.front() : concatenate(parts, output.join_axis);
}

}  // namespace

Layout layout_of(const Output& output, const Example& example) {
  return output.layout ? output.layout(example) : example.layout;
}

Answer join_outputs(const Task& task, const Example& example, const Outcome& outcome,
                    const Answer& expected) {
  Answer answer;
  for (const Output& output : task.outputs) {
    Tensor64 joined = joined_by_rank(output, outcome);
    const Shape& shape = expected.at(output.name).shape();
    if (joined.shape() != shape) {
      throw std::runtime_error(output.name + " has the shape " + to_string(joined.shape()) + ", expected " +
                               to_string(shape));
    }
    const Layout layout = layout_of(output, example);
    const bool by_position = layout.ranks() > 1 && output.axes[output.join_axis] != "rank";
    answer.emplace(output.name, by_position ? layout.in_order(joined, output.join_axis) : std::move(joined));
  }
  return answer;
}

}  // namespace course
