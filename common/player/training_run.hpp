#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "player/adapter.hpp"
#include "player/refusal.hpp"
#include "training/memory_disk.hpp"
#include "training/run.hpp"

/// What the adapter of a lesson about training makes of a case.
namespace course {

inline training::ModelShape model_shape_of(const Call& call) {
  return {call.integer("vocabulary"), call.integer("hidden"), call.integer("heads"), call.integer("layers"),
          call.integer("ffn")};
}

inline training::AdamOptions adam_options_of(const Call& call) {
  const auto number = [&](const char* name) { return static_cast<float>(call.number(name)); };
  return {number("beta1"), number("beta2"), number("epsilon"), number("decay"), number("clip")};
}

inline training::TrainOptions train_options_of(const Call& call) {
  training::TrainOptions options;
  options.shape = model_shape_of(call);
  options.context = call.integer("context");
  options.seed = static_cast<std::uint64_t>(call.number("seed"));
  options.steps = call.integer("schedule");
  options.warm_up = call.integer("warm_up");
  options.rate = static_cast<float>(call.number("rate"));
  options.adam = adam_options_of(call);
  options.evaluate = call.integer("evaluate");
  return options;
}

inline training::TrainState state_of(const Call& call) {
  return {call.integer("step"), call.input("weights").values(), call.input("m").values(),
          call.input("v").values()};
}

/// Numbers that a rank has whole, as its row.
inline void write_row(Call& call, const char* name, const std::vector<float>& numbers) {
  std::ranges::copy(numbers, call.output(name, {1, std::ssize(numbers)}).data());
}

inline void write_state(Call& call, const training::TrainState& state) {
  call.output("steps_made", {1})[0] = static_cast<float>(state.step);
  write_row(call, "weights_after", state.weights);
  write_row(call, "m_after", state.m);
  write_row(call, "v_after", state.v);
}

/// The case's positions. Throws std::invalid_argument with both numbers where other ones are asked for.
inline std::vector<std::vector<Index>> checked_positions(const std::vector<std::vector<Index>>& lists,
                                                         Index context, int ranks) {
  Index tokens = 0;
  for (const std::vector<Index>& list : lists) tokens += std::ssize(list);
  if (tokens != context || std::ssize(lists) != ranks)
    throw std::invalid_argument("functions.positions was asked for " + std::to_string(context) +
                                " tokens on " + std::to_string(ranks) + " ranks, expected " +
                                std::to_string(tokens) + " on " + std::to_string(lists.size()));
  return lists;
}

/// What a training function reports, as rows of outputs; a held-out loss that was not taken is -1.
class StepLog {
 public:
  StepLog(Call& call, Index first, Index last) : call_(call), first_(first), last_(last) {
    for (const char* name : {"loss", "norm", "rate", "held_out"}) row(name);
  }

  training::Report report() {
    return [this](const training::StepReport& step) {
      if (step.step != next_ || step.step >= last_)
        throw std::out_of_range("step " + std::to_string(step.step) + " was reported, expected " +
                                (next_ < last_ ? "step " + std::to_string(next_) : "no other"));
      ++next_;
      write("loss", step.step, step.loss);
      write("norm", step.step, step.norm);
      write("rate", step.step, step.rate);
      write("held_out", step.step, step.held_out.value_or(-1.0f));
      call_.tell_progress("step " + std::to_string(step.step) + " of " + std::to_string(last_) + ", loss " +
                          std::to_string(step.loss));
    };
  }

 private:
  Tensor& row(const char* name) { return call_.output(name, {1, last_ - first_}); }
  void write(const char* name, Index step, float value) { row(name)[step - first_] = value; }

  Call& call_;
  Index first_, last_, next_ = first_;
};

/// Calls it; of a case that is to be refused a std::runtime_error counts as a refusal, too.
template <class Function>
void call_or_refuse_run(Call& call, Function function) {
  call_or_refuse(call, [&] {
    try {
      function();
    } catch (const std::runtime_error& error) {
      if (!call.is_given("refuses")) throw;
      throw std::invalid_argument(error.what());
    }
  });
}

/// Plays checkpoints on a disk in memory. The case has a state and the arguments step and older, at which
/// there is a checkpoint already.
template <class Comm, class Save, class Load>
class CheckpointPlay {
 public:
  /// broadcast(number) gives everybody rank 0's.
  CheckpointPlay(Call& call, int rank, Save save, Load load, std::function<int(int)> broadcast)
      : call_(call),
        comm_(call.communicator<Comm>()),
        rank_(rank),
        save_(save),
        load_(load),
        broadcast_(std::move(broadcast)),
        newer_(state_of(call)),
        older_(newer_) {
    older_.step = call.integer("older");
    for (std::vector<float>* numbers : {&older_.weights, &older_.m, &older_.v})
      for (float& number : *numbers) number = -number - 1;
  }

  void play() {
    play_deaths();
    play_whole();
    play_complaints();
  }

 private:
  using State = training::TrainState;

  static std::string name_of(Index step) {
    const std::string digits = std::to_string(step);
    return "step-" + std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits;
  }

  /// On rank 0, whose disk it is.
  void put(training::MemoryDisk& disk, const State& state, const std::string& name) const {
    if (rank_ != 0) return;
    const training::Files files = disk.files();
    training::Facts facts = facts_;
    facts["step"] = static_cast<std::uint64_t>(state.step);
    files.make_folder("run/" + name);
    files.write_numbers("run/" + name + "/weights.npy", state.weights);
    files.write_numbers("run/" + name + "/m.npy", state.m);
    files.write_numbers("run/" + name + "/v.npy", state.v);
    files.write_facts("run/" + name + "/state.json", facts);
  }

  bool saves(training::MemoryDisk& disk) const {
    try {
      save_("run", newer_, facts_, disk.files(), comm_);
    } catch (const std::runtime_error&) {
      return false;
    }
    return true;
  }

  static bool are_equal(const State& a, const State& b) {
    return a.step == b.step && a.weights == b.weights && a.m == b.m && a.v == b.v;
  }

  bool loads_one_of_both(training::MemoryDisk& disk) const {
    try {
      const State loaded = load_("run", facts_, disk.files(), comm_);
      return are_equal(loaded, older_) || are_equal(loaded, newer_);
    } catch (const std::runtime_error&) {
      return false;
    }
  }

  /// Once for each change that saving makes: the disk dies at that one.
  void play_deaths() {
    constexpr int most = 40;
    int first_lost = 0, last_lost = 0;
    bool is_silent = false;
    for (int change = 1; change <= most; ++change) {
      training::MemoryDisk disk;
      put(disk, older_, name_of(older_.step));
      disk.die_after(change);
      const bool said_nothing = saves(disk);
      if (broadcast_(disk.is_dead() ? 1 : 0) == 0) break;
      is_silent = is_silent || said_nothing;
      disk.repair();
      if (loads_one_of_both(disk)) continue;
      last_lost = change;
      if (first_lost == 0) first_lost = change;
    }
    Tensor& lost = call_.output("lost_at", {1, 2});
    lost[0] = static_cast<float>(first_lost);
    lost[1] = static_cast<float>(last_lost);
    call_.output("silent", {1})[0] = is_silent ? 1.0f : 0.0f;
  }

  /// With what an earlier writer has left half done.
  void play_whole() {
    training::MemoryDisk disk;
    put(disk, older_, name_of(older_.step));
    put(disk, older_, name_of(newer_.step + 1) + ".part");
    put(disk, older_, name_of(newer_.step) + ".part");
    if (!saves(disk) || !saves(disk)) throw std::logic_error("save_checkpoint throws on a disk with room");
    write_state(call_, load_("run", facts_, disk.files(), comm_));
    call_.output("used", {1})[0] = disk.uses() > 0 ? 1.0f : 0.0f;
    const auto names = rank_ == 0 ? disk.files().names_in("run") : std::vector<std::string>(1);
    call_.output("left", {1})[0] = static_cast<float>(names.size());

    training::MemoryDisk two;
    put(two, older_, name_of(older_.step));
    put(two, newer_, name_of(newer_.step));
    put(two, older_, name_of(newer_.step + 2) + ".part");
    call_.output("newest", {1})[0] = static_cast<float>(load_("run", facts_, two.files(), comm_).step);
  }

  /// 1: it throws std::runtime_error with all these words; 0: without one; -1: it does not throw.
  float complaint(training::MemoryDisk& disk, const std::string& folder, const training::Facts& facts,
                  const std::vector<std::string>& words) const {
    try {
      load_(folder, facts, disk.files(), comm_);
    } catch (const std::runtime_error& error) {
      const std::string text = error.what();
      return std::ranges::all_of(
          words, [&](const std::string& word) { return text.find(word) != std::string::npos; });
    }
    return -1;
  }

  void play_complaints() {
    training::MemoryDisk disk;
    put(disk, newer_, name_of(newer_.step));
    training::Facts wide = facts_, other = facts_;
    wide["hidden"] = 64;
    other["text_hash"] += 1;
    Tensor& said = call_.output("complaints", {1, 4});
    said[0] = complaint(disk, "elsewhere", facts_, {"elsewhere"});
    said[1] = complaint(disk, "run", wide, {"hidden", "64", std::to_string(facts_.at("hidden"))});
    said[2] = complaint(disk, "run", other, {"text_hash", std::to_string(facts_.at("text_hash"))});
    if (rank_ == 0) disk.cut_short("run/" + name_of(newer_.step) + "/v.npy");
    said[3] = complaint(disk, "run", facts_, {"v.npy", "cut short"});
  }

  Call& call_;
  Comm comm_;
  int rank_;
  Save save_;
  Load load_;
  std::function<int(int)> broadcast_;
  State newer_, older_;
  training::Facts facts_{{"context", 24}, {"hidden", 96}, {"seed", 5}, {"text_hash", 0xfedcba9876543210u}};
};

}  // namespace course
