#include "grader/deadline.hpp"

#include <cmath>
#include <ctime>
#include <regex>

#include "protocol/errors.hpp"

namespace course::program::grader {

namespace {

int number_in(const std::ssub_match& part, int otherwise) {
  return part.matched ? std::stoi(part) : otherwise;
}

/// Whether no field was out of its range, as in 2026-02-30.
bool is_a_time(const std::tm& asked, std::int64_t seconds, bool utc) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm real{};
  utc ? gmtime_r(&time, &real) : localtime_r(&time, &real);
  return real.tm_mon == asked.tm_mon && real.tm_mday == asked.tm_mday && real.tm_hour == asked.tm_hour &&
         real.tm_min == asked.tm_min && real.tm_sec == asked.tm_sec;
}

}  // namespace

std::int64_t deadline_from(const std::string& text) {
  static const std::regex form(
      R"((\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d))?(Z|([+-])(\d\d):?(\d\d))?)?)");
  const UsageError error("--due: '" + text +
                         "' is no date; expected 2026-10-12, 2026-10-12T18:00 or 2026-10-12T18:00+02:00");
  std::smatch parts;
  if (!std::regex_match(text, parts, form)) throw error;
  std::tm asked{};
  asked.tm_year = std::stoi(parts[1]) - 1900;
  asked.tm_mon = std::stoi(parts[2]) - 1;
  asked.tm_mday = std::stoi(parts[3]);
  const bool whole_day = !parts[4].matched;
  asked.tm_hour = number_in(parts[4], 23);
  asked.tm_min = number_in(parts[5], 59);
  asked.tm_sec = number_in(parts[6], whole_day ? 59 : 0);
  asked.tm_isdst = -1;
  const bool utc = parts[7].matched;
  std::tm changed = asked;
  const std::int64_t seconds = utc ? timegm(&changed) : mktime(&changed);
  if (!is_a_time(asked, seconds, utc)) throw error;
  const int ahead = 3600 * number_in(parts[9], 0) + 60 * number_in(parts[10], 0);
  if (whole_day) return seconds + 1;
  return seconds - (parts[8] == "-" ? -ahead : ahead);
}

double hours_late(std::int64_t deadline, std::int64_t time) {
  if (time <= deadline) return 0;
  return std::ceil(static_cast<double>(time - deadline) / 360.0) / 10.0;
}

}  // namespace course::program::grader
