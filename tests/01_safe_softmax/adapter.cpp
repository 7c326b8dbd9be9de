#include "player/adapter.hpp"

#include "safe_softmax.hpp"

namespace {

void softmax(course::Call& call) {
  const course::Tensor& x = call.input("x");
  lesson01::softmax(x.matrix(), call.output("p", x.shape()).matrix());
}

void logsumexp(course::Call& call) {
  const course::Tensor& x = call.input("x");
  lesson01::logsumexp(x.matrix(), call.output("lse", {x.extent(0)}).flat());
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"softmax", softmax}, {"logsumexp", logsumexp}};
  return adapter;
}
