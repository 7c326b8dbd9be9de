#include "player/adapter.hpp"

#include "means.hpp"

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"means",
                                        [](course::Call& call) {
                                          const course::Tensor& x = call.input("x");
                                          means(x.matrix(), call.output("mean", {x.extent(0)}).flat());
                                        }},
                                       {"weighted_means", [](course::Call& call) {
                                          const course::Tensor& x = call.input("x");
                                          weighted_means(x.matrix(), call.input("w").flat(),
                                                         call.output("mean", {x.extent(0)}).flat());
                                        }}};
  return adapter;
}
