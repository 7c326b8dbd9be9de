#pragma once

#include <string>

namespace course {

/// Where a NaN of an answer comes from, as far as its bits tell (protocol/poison.hpp).
enum class Origin { Number, NeverWritten, FromUnwritten, FromOpenReceive, FromDevice, Arithmetic };

/// An entry as a player returned it, in float64: it keeps its origin, which a conversion of a NaN would lose.
double entry_of(float returned);
Origin origin_of(double entry);

/// The entry of an output that nobody writes. A known mistake may start from it: what it adds nothing to
/// stays so.
double never_written();

/// "was never written", "is nan, computed from ...": what to say of an entry in place of its number.
std::string in_words(double entry);

}  // namespace course
