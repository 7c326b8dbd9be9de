#pragma once

#include "protocol/fact.hpp"

namespace course {

/// Visits what a fact has beside its kind and text, each with the name that files call it by.
template <class AnyFact, class Visit>
void visit_fields(AnyFact& fact, Visit visit) {
  visit("call", fact.call);
  visit("other_call", fact.other_call);
  visit("line", fact.at.line);
  visit("file", fact.at.file);
  visit("other_line", fact.other_at.line);
  visit("other_file", fact.other_at.file);
  visit("within", fact.within);
  visit("root", fact.root);
  visit("bytes", fact.bytes);
  visit("room", fact.room);
  visit("extent", fact.extent);
  visit("marks", fact.marks);
}

}  // namespace course
