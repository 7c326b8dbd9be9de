#include "demo/subject.hpp"

#include "demo/loading.hpp"

namespace course::demo {

Subject load_subject(const Libraries& libraries, bool backward) {
  Subject subject;
  subject.ring = require_entry<decltype(course_demo_ring)>(libraries.ring, "course_demo_ring");
  subject.block = *require_entry<decltype(course_demo_block)>(libraries.block, "course_demo_block")();
  if (!backward) return subject;
  subject.ring_backward = require_entry<decltype(course_demo_ring_backward)>(libraries.ring_backward,
                                                                             "course_demo_ring_backward");
  subject.block_backward = *require_entry<decltype(course_demo_block_backward)>(
      libraries.block_backward, "course_demo_block_backward")();
  return subject;
}

}  // namespace course::demo
