#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace course {

/// A line of a source file.
struct SourcePlace {
  int line = 0;           ///< 0: not known
  std::string file = {};  ///< a header's name, or an adapter's; "": the file that the student edits
  bool operator==(const SourcePlace&) const = default;
};

/// What an instrument noted about a rank. Judges go by all but the text, which is for people and is made by
/// the instrument.
struct Fact {
  std::string kind;  ///< as in protocol/fact_kinds.hpp
  std::string text;
  /// The call that it is about, by MPI's, CUDA's or NCCL's name, or the kernel. Of two operations on a GPU
  /// that nothing orders, the one that was called first.
  std::string call = {};
  std::string other_call = {};          ///< that it meets, or that nothing orders; "": none
  SourcePlace at = {};                  ///< where `call` stands, or what it does
  SourcePlace other_at = {};            ///< the same of `other_call`, or of another thread of the kernel
  std::string within = {};              ///< the name that the host's code has there; "": none
  int root = -1;                        ///< a collective's; -1: it has none
  std::int64_t bytes = -1;              ///< that arrived; -1: no bytes are told
  std::int64_t room = -1;               ///< for them, in bytes; -1: it is not told
  std::int64_t extent = -1;             ///< how many there are of what was asked for; -1: it is not told
  std::vector<std::string> marks = {};  ///< what else is so, as in protocol/fact_kinds.hpp

  bool operator==(const Fact&) const = default;
  bool has(std::string_view mark) const { return std::ranges::find(marks, mark) != marks.end(); }
};

using Facts = std::vector<Fact>;

/// A fact as one line of a status page (docs/case-format.md), without the end of the line.
std::string line_of_page(const Fact& fact);
/// Reads it; nullopt of a line without a kind. What is wrong in it otherwise is left out.
std::optional<Fact> fact_in_line(const std::string& line);

/// Of an exception by which an instrument tells a fact.
class TellsFact {
 public:
  const Fact& fact() const { return fact_; }

 protected:
  explicit TellsFact(Fact fact) : fact_(std::move(fact)) {}
  ~TellsFact() = default;

 private:
  Fact fact_;
};

/// An exception of the kind that the caller expects, whose text is the fact's.
template <class Exception>
struct FactException : Exception, TellsFact {
  explicit FactException(const Fact& fact) : Exception(fact.text), TellsFact(fact) {}
};

}  // namespace course
