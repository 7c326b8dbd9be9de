#include "player/adapter.hpp"

#include "reversed.hpp"

namespace {

void reversed_blocks_of(course::Call& call) {
  const course::Tensor& x = call.input("x");
  course::Tensor& y = call.output("y", x.shape());
  reversed_blocks(x.data(), y.data(), static_cast<int>(x.size()), static_cast<int>(call.integer("block")),
                  static_cast<float>(call.number("factor")));
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"reversed_blocks", reversed_blocks_of}};
  return adapter;
}
