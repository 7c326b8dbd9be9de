#include "course/workspace/saved_results.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "course/build/file_lock.hpp"
#include "course/terminal/terminal.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

constexpr int format_version = 1;

constexpr std::array<std::pair<Status, const char*>, 4> status_names{{{Status::Passed, "passed"},
                                                                      {Status::Failed, "failed"},
                                                                      {Status::Todo, "todo"},
                                                                      {Status::Skipped, "skipped"}}};

fs::path results_file(const Checkout& checkout) {
  return checkout.state() / "results.json";
}

}  // namespace

std::string to_string(Status status) {
  for (const auto& [known, name] : status_names) {
    if (known == status) return name;
  }
  throw std::logic_error("a status without a name");
}

Status status_named(const std::string& name) {
  for (const auto& [status, known] : status_names) {
    if (name == known) return status;
  }
  throw std::invalid_argument("'" + name + "' is no status; expected passed, failed, todo or skipped");
}

// nlohmann-json finds these by their names.
static void to_json(nlohmann::json& value, const TestResult& result) {
  value = {{"status", to_string(result.status)}, {"text", result.text}, {"mistakes", result.mistakes}};
}

static void from_json(const nlohmann::json& value, TestResult& result) {
  result.status = status_named(value.at("status").get<std::string>());
  value.at("text").get_to(result.text);
  value.at("mistakes").get_to(result.mistakes);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LessonRecord, hash, build_error, tests)

namespace {

Progress parse(const std::string& text) {
  const nlohmann::json value = nlohmann::json::parse(text);
  if (value.at("version") != format_version) {
    throw std::invalid_argument("version " + value.at("version").dump() + " instead of " +
                                std::to_string(format_version));
  }
  Progress progress;
  value.at("lessons").get_to(progress.lessons);
  value.at("hints").get_to(progress.hints);
  return progress;
}

std::string format(const Progress& progress) {
  const nlohmann::json value{
      {"version", format_version}, {"lessons", progress.lessons}, {"hints", progress.hints}};
  // A diagnosis may quote bytes that a submission printed: they need not be UTF-8.
  return value.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

Progress read_progress(const Checkout& checkout) {
  const fs::path file = results_file(checkout);
  if (!fs::exists(file)) return {};
  try {
    return parse(read_text(file));
  } catch (const std::exception& error) {
    put_aside(checkout, file, "what was remembered of your checks", error.what());
    return {};
  }
}

void put_aside(const Checkout& checkout, const fs::path& file, const std::string& what,
               const std::string& error) {
  const fs::path aside = unused_path(file.string() + ".unreadable-" + timestamp());
  fs::rename(file, aside);
  complain(what + " is unreadable (" + error + "); it is kept as " +
           fs::relative(aside, checkout.root).string() + ", and a new one is begun");
}

void update_progress(const Checkout& checkout, const std::function<void(Progress&)>& change) {
  const FileLock lock(checkout.state() / ".lock", "another ./course to write down its results");
  Progress progress = read_progress(checkout);
  change(progress);
  write_text(results_file(checkout), format(progress));
}

}  // namespace course::program
