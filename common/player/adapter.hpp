#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "player/blocks.hpp"
#include "protocol/case.hpp"
#include "protocol/fact_kinds.hpp"
#include "protocol/poison.hpp"
#include "tensor/tensor.hpp"

namespace course {

/// A lesson's function on one rank with what it is called with, as the adapter sees it. It may be called
/// again, after forget_outputs().
class Call {
 public:
  Call(std::map<std::string, Tensor> inputs, Arguments arguments, const void* communicator, Blocks& blocks)
      : inputs_(std::move(inputs)),
        arguments_(std::move(arguments)),
        communicator_(communicator),
        blocks_(blocks) {}

  /// Throws std::invalid_argument naming the input that the case lacks.
  const Tensor& input(const std::string& name) const {
    const auto lent = lent_.find(name);
    return lent != lent_.end() ? *lent->second : find(inputs_, name, "input");
  }
  double number(const std::string& name) const { return find(arguments_, name, "argument").at(0); }
  Index integer(const std::string& name) const { return static_cast<Index>(number(name)); }
  bool is_given(const std::string& name) const { return arguments_.contains(name); }
  /// Whether a number that a case may leave out is there, and not 0.
  bool is_set(const std::string& name) const { return arguments_.contains(name) && integer(name) != 0; }
  std::vector<int> integers(const std::string& name) const {
    const std::vector<double>& values = find(arguments_, name, "argument");
    return {values.begin(), values.end()};
  }

  /// A tensor for the function to write. It starts as NaNs of their own, so that what is never written is
  /// seen.
  Tensor& output(const std::string& name, Shape shape) {
    const auto before = outputs_.find(name);
    if (before != outputs_.end() && before->second.shape() == shape) return before->second;
    return outputs_.insert_or_assign(name, with_margin(std::move(shape))).first->second;
  }
  const std::map<std::string, Tensor>& outputs() const { return outputs_; }
  /// Throws std::out_of_range, which tells fact_beyond_output, naming an output that was written to beyond
  /// its end.
  void require_margins() const {
    for (const auto& [name, tensor] : outputs_) {
      if (tensor.values().capacity() < tensor.values().size() + margin) continue;  // an adapter put it there
      if (std::ranges::all_of(std::span(tensor.data() + tensor.size(), margin), is_unwritten)) continue;
      throw FactException<std::out_of_range>(
          {fact_beyond_output,
           name + " was written to beyond its end: its shape is " + to_string(tensor.shape())});
    }
  }

  /// Of each input's numbers as they are, for require_inputs().
  using InputMarks = std::map<std::string, std::size_t>;
  InputMarks mark_inputs() const {
    InputMarks marks;
    for (const auto& [name, tensor] : inputs_) marks[name] = hash_of(tensor);
    return marks;
  }
  /// Throws std::logic_error, which tells fact_input_changed, naming an input that is not as it was:
  /// functions are given views that are const.
  void require_inputs(const InputMarks& marks) const {
    for (const auto& [name, tensor] : inputs_) {
      if (hash_of(tensor) == marks.at(name)) continue;
      throw FactException<std::logic_error>(
          {fact_input_changed, name + " was written to; it is an input, and its caller's"});
    }
  }

  /// The MPI_Comm to play on, behind a pointer so that lessons without MPI need no MPI.
  template <class Comm>
  Comm communicator() const {
    return *static_cast<const Comm*>(communicator_);
  }

  /// The name and the memory of the input or output that has this address; empty where none has.
  struct Found {
    std::string name = {};
    std::span<const std::byte> memory = {};
  };
  Found tensor_at(const void* address) const {
    Found found;
    const auto look = [&](const std::string& name, const Tensor& tensor) {
      const std::less<const void*> before;
      if (!before(address, tensor.data()) && before(address, tensor.data() + tensor.size()))
        found = {name, std::as_bytes(std::span(tensor.values()))};
    };
    for (const auto& [name, tensor] : inputs_) look(name, tensor);
    for (const auto& [name, tensor] : lent_) look(name, *tensor);
    for (const auto& [name, tensor] : outputs_) look(name, tensor);
    return found;
  }

  /// The computation for a function that takes one.
  Blocks& blocks() const { return blocks_; }

  /// Tells those who watch how far a function has come that takes long: "step 412 of 1000, loss 2.31". A case
  /// in which nothing is told, sent or received for some seconds is taken for a stuck one.
  void tell_progress(const std::string& text) const {
    if (watcher_) watcher_(text);
  }
  void watch_progress(std::function<void(const std::string&)> watcher) { watcher_ = std::move(watcher); }

  /// Another call's tensor as an input of this one.
  void lend(const std::string& name, const Tensor& tensor) { lent_[name] = &tensor; }
  /// Other numbers for all inputs, in the memory that they have.
  void refill(const std::map<std::string, Tensor>& inputs) {
    for (auto& [name, tensor] : inputs_) std::ranges::copy(inputs.at(name).values(), tensor.data());
  }
  /// Outputs are NaN again, in the memory that they have.
  void forget_outputs() {
    for (auto& [name, tensor] : outputs_) std::ranges::fill(tensor.values(), poison::unwritten_output());
  }

 private:
  /// So many numbers beyond the end of an output are there for nobody: who writes to them is told so, and
  /// does not hit something else. None under a sanitizer, which tells the line instead.
#ifdef __SANITIZE_ADDRESS__
  static constexpr std::size_t margin = 0;
#else
  static constexpr std::size_t margin = 4096;
#endif

  static Tensor with_margin(Shape shape) {
    const auto size = static_cast<std::size_t>(element_count(shape));
    std::vector<float> numbers(size + margin, poison::unwritten_output());
    numbers.resize(size);  // which leaves what lies beyond as it is
    return {std::move(shape), std::move(numbers)};
  }
  static std::size_t hash_of(const Tensor& tensor) {
    const auto bytes = reinterpret_cast<const char*>(tensor.data());
    return std::hash<std::string_view>()({bytes, tensor.values().size() * sizeof(float)});
  }
  static bool is_unwritten(const float& number) {
    return std::bit_cast<std::uint32_t>(number) == poison::output;
  }

  template <class Value>
  static const Value& find(const std::map<std::string, Value>& values, const std::string& name,
                           const char* what) {
    const auto found = values.find(name);
    if (found == values.end())
      throw std::invalid_argument(std::string("the case has no ") + what + " " + name);
    return found->second;
  }

  std::map<std::string, Tensor> inputs_;
  std::map<std::string, const Tensor*> lent_;
  Arguments arguments_;
  std::map<std::string, Tensor> outputs_;
  const void* communicator_;
  Blocks& blocks_;
  std::function<void(const std::string&)> watcher_;
};

/// The functions that a lesson's adapter can call, by the name that a case uses.
using Adapter = std::map<std::string, void (*)(Call&)>;

}  // namespace course

/// Each lesson's adapter.cpp defines this; the player finds it in the shared object by name.
extern "C" const course::Adapter& course_adapter();
