#include "grader/readable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "course/workspace/lesson_texts.hpp"
#include "grader/report.hpp"
#include "text/text_file.hpp"

namespace course::program::grader {

using Json = nlohmann::ordered_json;

namespace {

/// A contract as a reader wants it: its comment's words, an empty line between paragraphs, and its
/// declaration.
struct TaskText {
  std::string words, declaration;
};

std::vector<TaskText> texts_of(const Checkout& checkout, const std::string& lesson_id,
                               const std::string& task) {
  const std::string mark = "///";
  const auto lesson = std::ranges::find(checkout.lessons, lesson_id, &LessonInfo::id);
  std::vector<TaskText> texts;
  if (lesson == checkout.lessons.end()) return texts;
  for (const Contract& contract : contracts_of(checkout, *lesson, task)) {
    TaskText text;
    for (const std::string& line : lines_of(contract.text)) {
      if (!line.starts_with(mark))
        text.declaration += line + "\n";
      else
        text.words += line.substr(std::min(line.size(), mark.size() + 1)) + "\n";
    }
    texts.push_back(text);
  }
  return texts;
}

std::string title_of_lesson(const Json& lesson, const Checkout& checkout) {
  const std::string id = lesson.at("id");
  const auto known = std::ranges::find(checkout.lessons, id, &LessonInfo::id);
  return id + " " + (known == checkout.lessons.end() ? lesson.at("name").get<std::string>() : known->title);
}

/// Whether a task, or a lesson by its first, is not passed since its file is missing.
bool is_missing(const Json& part) {
  if (!part.contains("tasks")) return part.value("missing", false);
  return !part.at("tasks").empty() && is_missing(part.at("tasks").front());
}

/// The status of a task or of a lesson.
std::string in_words(const Json& part) {
  const std::string status = part.at("status");
  if (status != "todo") return status;
  return is_missing(part) ? "not handed in" : "not written";
}

/// "commit 1a2b3c4 of 2026-10-05T22:41:07+02:00, 3.2 hours late"; empty where nothing is known of it.
std::string handing_in(const Json& lesson) {
  const Json commit = lesson.value("commit", Json(nullptr));
  if (commit.is_null()) return "";
  if (commit.value("cut_off", false))
    return "when this was committed is not known: the clone that was graded has not its whole history";
  std::string text = fmt::format("commit {} of {}", commit.at("id").get<std::string>(),
                                 commit.at("date").get<std::string>());
  if (commit.at("changed_since")) text += ", with changes that are not committed";
  if (const Json late = lesson.value("late_hours", Json(nullptr)); late.is_number() && late > 0)
    text += fmt::format(", {} hours late", late.get<double>());
  return text;
}

std::string points_of(const Json& part) {
  return fmt::format("{} of {} points", part.at("points").get<int>(), part.at("max_points").get<int>());
}

std::string told(const Json& task) {
  return presentable(task.value("told", ""));
}

/// What follows the points in the report's head.
std::string skipped_note(const Json& report) {
  const int skipped = report.at("skipped_max_points");
  return skipped == 0 ? "" : fmt::format("; {} points could not be graded on the grading machine", skipped);
}

std::string who(const Json& report) {
  const std::string id = report.value("id", "");
  return presentable(report.at("submission").get<std::string>() + (id.empty() ? "" : ", " + id));
}

// ---- HTML ----

std::string html(const std::string& text) {
  std::string result;
  for (const char c : presentable(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

/// Nothing is loaded and nothing is run, whatever a report shows.
constexpr const char* html_head = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 54rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc; } h3 { margin-top: 1.8rem; }
table { border-collapse: collapse; } td, th { padding: .15rem 1.2rem .15rem 0; text-align: left; }
td.number { text-align: right; }
pre { background: #f4f4f4; padding: .6rem .8rem; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; }
pre.told { border-left: 4px solid #b3261e; } blockquote { margin: 0; font-size: .92rem; color: #444; white-space: pre-line; }
.passed { color: #1b6e2d; } .failed { color: #b3261e; } .todo, .skipped { color: #6b5900; }
h1, h2, h3, td { unicode-bidi: isolate; }
h1, h2, h3, td:first-child { overflow-wrap: anywhere; }
</style>
)";

std::string html_task(const Json& lesson, const Json& task, const Checkout& checkout) {
  const std::string id = task.at("id"), status = task.at("status");
  std::string text =
      fmt::format("<h3>{}.{} {}: <span class=\"{}\">{}</span>, {}</h3>\n", html(lesson.at("id")), html(id),
                  html(task.at("name")), html(status), html(in_words(task)), points_of(task));
  for (const TaskText& each : texts_of(checkout, lesson.at("id"), id))
    text +=
        fmt::format("<blockquote>{}</blockquote>\n<pre>{}</pre>\n", html(each.words), html(each.declaration));
  if (const std::string why = told(task); !why.empty())
    text += fmt::format("<pre class=\"told\">{}</pre>\n", html(why));
  return text;
}

std::string html_lesson(const Json& lesson, const Checkout& checkout) {
  std::string text =
      fmt::format("<h2>Lesson {}: {}</h2>\n", html(title_of_lesson(lesson, checkout)), points_of(lesson));
  if (const std::string how = handing_in(lesson); !how.empty()) text += "<p>" + html(how) + "</p>\n";
  for (const Json& task : lesson.at("tasks")) text += html_task(lesson, task, checkout);
  return text;
}

// ---- Markdown ----

/// In a line of Markdown, after its first word, nothing of it being marks or an address that readers make a
/// link of.
std::string markdown(const std::string& text) {
  const std::string shown = presentable(text);
  std::string result;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const bool in_address =
        (shown[i] == ':' && shown.substr(i + 1, 1) == "/") || (shown[i] == '.' && result.ends_with("www"));
    if (in_address || std::string_view("\\`*_[]<>|~#&$@").find(shown[i]) != std::string_view::npos)
      result += '\\';
    result += shown[i] == '\n' ? ' ' : shown[i];
  }
  return result;
}

/// A quotation of words whose paragraphs an empty line ends.
std::string quoted(const std::string& words) {
  const std::size_t end = words.find("\n\n");
  if (end == std::string::npos) return "> " + markdown(words) + "\n\n";
  return "> " + markdown(words.substr(0, end)) + "\n>\n" + quoted(words.substr(end + 2));
}

/// A block of text as it is, in a fence that the text does not have.
std::string fenced(const std::string& text, const std::string& language) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  return fence + language + "\n" + text + (text.ends_with('\n') ? "" : "\n") + fence + "\n\n";
}

std::string markdown_task(const Json& lesson, const Json& task, const Checkout& checkout) {
  const std::string id = task.at("id");
  std::string text = fmt::format("### {}.{} {}: {}, {}\n\n", markdown(lesson.at("id")), markdown(id),
                                 markdown(task.at("name")), in_words(task), points_of(task));
  for (const TaskText& each : texts_of(checkout, lesson.at("id"), id))
    text += quoted(each.words) + fenced(each.declaration, "cpp");
  if (const std::string why = told(task); !why.empty()) text += fenced(why, "text");
  return text;
}

std::string markdown_lesson(const Json& lesson, const Checkout& checkout) {
  std::string text =
      fmt::format("## Lesson {}: {}\n\n", markdown(title_of_lesson(lesson, checkout)), points_of(lesson));
  if (const std::string how = handing_in(lesson); !how.empty()) text += markdown(how) + "\n\n";
  for (const Json& task : lesson.at("tasks")) text += markdown_task(lesson, task, checkout);
  return text;
}

}  // namespace

std::string html_report(const Json& report, const Checkout& checkout) {
  std::string text =
      fmt::format("{}<title>{}</title>\n</head>\n<body>\n<h1>{}</h1>\n<p>{}{}</p>\n<table>\n", html_head,
                  html(who(report)), html(who(report)), points_of(report), skipped_note(report));
  for (const Json& lesson : report.at("lessons"))
    text += fmt::format("<tr><td>{}</td><td class=\"{}\">{}</td><td class=\"number\">{}</td></tr>\n",
                        html(title_of_lesson(lesson, checkout)), html(lesson.at("status")),
                        html(in_words(lesson)), points_of(lesson));
  text += "</table>\n";
  if (const Edits edits = edits_of(report); !edits.paths.empty())
    text += "<p>" + html(edits_in_words(edits)) + "</p>\n";
  for (const Json& lesson : report.at("lessons")) text += html_lesson(lesson, checkout);
  return text + "</body>\n</html>\n";
}

std::string markdown_report(const Json& report, const Checkout& checkout) {
  std::string text = fmt::format("# {}\n\n{}{}\n\n| lesson | | points |\n| --- | --- | --- |\n",
                                 markdown(who(report)), points_of(report), skipped_note(report));
  for (const Json& lesson : report.at("lessons"))
    text += fmt::format("| {} | {} | {} |\n", markdown(title_of_lesson(lesson, checkout)), in_words(lesson),
                        points_of(lesson));
  text += "\n";
  if (const Edits edits = edits_of(report); !edits.paths.empty())
    text += markdown(edits_in_words(edits)) + "\n\n";
  for (const Json& lesson : report.at("lessons")) text += markdown_lesson(lesson, checkout);
  return text;
}

}  // namespace course::program::grader
