#pragma once

#include "gpu/simulator/memory/accesses.hpp"
#include "stage.hpp"

/// What takes part in a stream as no kernel or copy does. Here, since a CUDA source cannot hide its accesses.
namespace {

/// As a message from another rank: it comes when somebody has sent it.
struct Mail {
  bool sent = false;
};

class Receive : public course::gpu::Operation {
 public:
  Receive(float* to, const Mail& mail) : to_(to), mail_(mail) {}
  COURSE_UNSEEN bool carry_out() override {
    if (!mail_.sent) return false;
    course::gpu::touch(to_, bytes, course::gpu::AccessKind::Write);
    for (int i = 0; i < n; ++i) to_[i] = 3;
    return true;
  }

 private:
  float* to_;
  const Mail& mail_;
};

class Send : public course::gpu::Operation {
 public:
  explicit Send(Mail& mail) : mail_(mail) {}
  bool carry_out() override { return mail_.sent = true; }

 private:
  Mail& mail_;
};

}  // namespace
