#pragma once

#include <string>
#include <vector>

#include "lab/measured.hpp"

namespace course::lab {

/// Where text goes.
struct Page {
  int columns = 100;
  bool colour = false;
};

/// What was traced, in words.
struct TraceTitle {
  std::string lesson;  ///< "05"
  std::string what;    ///< "ring_attention"
  std::string code;    ///< "student" or "solution"
  std::string blocks;  ///< the same of the block computation; empty: there is none
};

/// "Lesson 05, ring_attention, on 4 ranks: your own code".
std::string trace_heading(const TraceTitle& title, const Result& result);
/// For people: heading, timeline, and notes on how to read it.
std::string trace_text(const TraceTitle& title, const Result& result, const Page& page);
/// One JSON object.
std::string trace_json(const TraceTitle& title, const Result& result, const std::vector<std::string>& files);
std::vector<RankTrace> traces_of(const CallResult& call);

/// What a laboratory was, in words.
struct LaboratoryTitle {
  std::string name;           ///< "slow-network"
  std::string link;           ///< Network::description()
  std::string limits;         ///< Network::limits()
  std::string blocking_code;  ///< "student" or "solution"
  std::string overlap_code;
  std::string block_code;
};

std::string laboratory_text(const LaboratoryTitle& title, const Result& result, const Page& page);
std::string laboratory_json(const LaboratoryTitle& title, const Result& result,
                            const std::vector<std::string>& files);
/// The three timelines of a setting, one above the other, on one scale of time.
std::string laboratory_svg(const LaboratoryTitle& title, const Measured& measured, int ranks);

/// SVG documents of one width, one above the other in one document.
std::string stacked_svg(const std::vector<std::string>& documents);

}  // namespace course::lab
