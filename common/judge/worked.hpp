#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace course {

/// What has been worked out of one example, kept for all who ask: so a judge of many submissions works out
/// the right answer to an example once. Nothing is kept before keep(). A copy keeps nothing, since whoever
/// copies an example is about to change it. May be asked from several threads.
template <class Answer>
class Worked {
 public:
  Worked() = default;
  Worked(const Worked&) {}
  Worked& operator=(const Worked&) {
    kept_.reset();
    return *this;
  }
  Worked(Worked&&) noexcept = default;
  Worked& operator=(Worked&&) noexcept = default;
  ~Worked() = default;

  void keep() { kept_ = std::make_unique<Kept>(); }

  /// The answer of that number, worked out by the first who asks for it.
  Answer of(int number, const std::function<Answer()>& work_out) const {
    if (kept_ == nullptr) return work_out();
    {
      const std::lock_guard guard(kept_->mutex);
      const auto known = kept_->answers.find(number);
      if (known != kept_->answers.end()) return known->second;
    }
    Answer answer = work_out();
    const std::lock_guard guard(kept_->mutex);
    return kept_->answers.try_emplace(number, std::move(answer)).first->second;
  }

 private:
  struct Kept {
    std::mutex mutex;
    std::map<int, Answer> answers;
  };
  std::unique_ptr<Kept> kept_;
};

}  // namespace course
