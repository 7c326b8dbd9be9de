#include "train/progress.hpp"

#include <fmt/format.h>

#include <numeric>

#include "protocol/timing.hpp"

namespace course::train {

namespace {

constexpr Index steps_a_row = 100;
constexpr std::size_t steps_looked_at = 10;

std::string loss_or_dash(const std::optional<double>& loss) {
  return loss ? fmt::format("{:.4f}", *loss) : "-";
}

}  // namespace

RunProgress::RunProgress(const Order& order, Index first, bool prints)
    : context_(order.settings.context),
      first_(first),
      last_(order.last),
      prints_(prints),
      line_(prints ? std::chrono::hours(24) : std::chrono::seconds(10)),
      begin_s_(now_s()) {}

void RunProgress::add(const StepNews& news) {
  begun_ = true;
  if (news.held_out) held_out_ = news.held_out;
  if (!news.held_out) latest_.push_back(news.seconds);  // else the time is that of more than a step
  if (latest_.size() > steps_looked_at) latest_.pop_front();
  const Index made = news.step + 1;
  line_.show(fmt::format("step {} of {}, loss {:.4f}, held out {}, norm {:.3f}, {} tokens/s, {} left", made,
                         last_, news.loss, loss_or_dash(held_out_), news.norm, tokens_a_second(),
                         program::duration(seconds_left(made))));
  if (!prints_ || (made % steps_a_row != 0 && made != last_)) return;
  line_.clear();
  if (!has_head_)
    fmt::print("{:>7}  {:>7}  {:>8}  {:>7}  {:>9}  {}\n", "step", "loss", "held out", "norm", "tokens/s",
               "left");
  has_head_ = true;
  fmt::print("{:>7}  {:>7.4f}  {:>8}  {:>7.3f}  {:>9}  {}\n", made, news.loss, loss_or_dash(news.held_out),
             news.norm, tokens_a_second(), program::duration(seconds_left(made)));
  std::fflush(stdout);
}

void RunProgress::show(const std::string& doing) {
  if (!begun_)
    line_.show("starting the ranks");
  else if (!doing.starts_with(step_word) && !doing.empty())
    line_.show(doing);  // what rank 0 says of a step has come as news
}

std::string RunProgress::tokens_a_second() const {
  const double seconds = std::accumulate(latest_.begin(), latest_.end(), 0.0);
  if (seconds <= 0) return "-";
  return fmt::format("{:.0f}", static_cast<double>(context_) * static_cast<double>(latest_.size()) / seconds);
}

double RunProgress::seconds_left(Index made) const {
  const double gone_s = now_s() - begin_s_;
  return gone_s / static_cast<double>(made - first_) * static_cast<double>(last_ - made);
}

}  // namespace course::train
