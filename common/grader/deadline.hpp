#pragma once

#include <cstdint>
#include <string>

namespace course::program::grader {

/// The last instant, in seconds since 1970, that is not late by "2026-10-12" (the whole day counts, to the
/// midnight that ends it), "2026-10-12T18:00" or "2026-10-12T18:00:30", in local time or with a zone: "Z",
/// "+02:00". Throws UsageError naming the text.
std::int64_t deadline_from(const std::string& text);

/// Hours from a deadline to a time, rounded up to tenths; 0 where it was met.
double hours_late(std::int64_t deadline, std::int64_t time);

}  // namespace course::program::grader
