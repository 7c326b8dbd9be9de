#include "demo/compute_log.hpp"

#include "demo/exchange.hpp"

namespace course::demo {

void ComputeLog::time(const std::string& label, const std::function<void()>& work) {
  begin(label);
  work();
  end();
}

void ComputeLog::interrupt(const std::function<void()>& pause) {
  end();
  const double paused_s = now_s();
  pause();
  spans_.push_back({Span::Kind::Transfer, paused_s, now_s(), progress_label});
  begin(label_);
}

void ComputeLog::begin(const std::string& label) {
  label_ = label;
  begin_s_ = now_s();
}

void ComputeLog::end() {
  spans_.push_back({Span::Kind::Compute, begin_s_, now_s(), label_});
}

}  // namespace course::demo
