#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <regex>
#include <set>

#include "reports.hpp"

namespace course::program::grader {

namespace {

using program::Status;
using Names = std::set<std::string>;

/// What an element may hold and has to have, by junit-10.xsd of Jenkins' xUnit plugin.
struct Shape {
  Names children;
  Names required;
  Names optional;
  bool text;
};

const std::map<std::string, Shape>& shapes() {
  static const std::map<std::string, Shape> all{
      {"testsuites", {{"testsuite"}, {}, {"name", "time", "tests", "failures", "errors"}, false}},
      {"testsuite",
       {{"testsuite", "properties", "testcase", "system-out", "system-err"},
        {"name", "tests", "failures", "errors"},
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
        false}},
      {"properties", {{"property"}, {}, {}, false}},
      {"property", {{}, {"name", "value"}, {}, false}},
      {"testcase",
       {{"skipped", "error", "failure", "system-out", "system-err"},
        {"name"},
        {"time", "classname", "group"},
        false}},
      {"failure", {{}, {}, {"type", "message"}, true}},
      {"error", {{}, {}, {"type", "message"}, true}},
      {"skipped", {{}, {}, {"type", "message"}, true}},
      {"system-out", {{}, {}, {}, true}},
      {"system-err", {{}, {}, {}, true}}};
  return all;
}

std::string wrong_attributes(const pugi::xml_node& element, const Shape& shape) {
  const std::string name = element.name();
  Names missing = shape.required;
  for (const pugi::xml_attribute& attribute : element.attributes()) {
    missing.erase(attribute.name());
    if (!shape.required.contains(attribute.name()) && !shape.optional.contains(attribute.name()))
      return name + " may not have the attribute " + attribute.name();
    const bool is_time = std::string(attribute.name()) == "time";
    if (is_time && !std::regex_match(attribute.value(), std::regex("[0-9]*(\\.[0-9]*)?")))
      return name + " has the time " + attribute.value();
  }
  return missing.empty() ? "" : name + " lacks the attribute " + *missing.begin();
}

std::string wrong_below(const pugi::xml_node& element) {
  const std::string name = element.name();
  const auto shape = shapes().find(name);
  if (shape == shapes().end()) return "there is no element " + name;
  std::string wrong = wrong_attributes(element, shape->second);
  for (const pugi::xml_node& child : element.children()) {
    if (!wrong.empty()) return wrong;
    if (child.type() == pugi::node_pcdata) {
      if (!shape->second.text) wrong = name + " may not hold text";
    } else if (!shape->second.children.contains(child.name())) {
      wrong = name + " may not hold " + child.name();
    } else {
      wrong = wrong_below(child);
    }
  }
  return wrong;
}

/// The first byte or reference that XML 1.0 forbids, which pugixml itself would let pass.
std::string forbidden_character(const std::string& text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 && byte != '\t' && byte != '\n') return "byte " + std::to_string(byte);
  }
  std::smatch reference;
  if (std::regex_search(text, reference, std::regex("&#x?0*([0-8]|1[1-9]|2[0-9]|3[01]|[bcefBCEF]);")))
    return reference.str();
  return "";
}

bool is_utf8(const std::string& text) {
  try {
    nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

std::string wrong_in_junit(const std::string& text) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
  if (!parsed) return std::string("no XML: ") + parsed.description();
  if (const std::string forbidden = forbidden_character(text); !forbidden.empty()) return forbidden;
  if (!is_utf8(text)) return "bytes that are no UTF-8";
  if (std::string(document.document_element().name()) != "testsuites") return "the root is not testsuites";
  return wrong_below(document.document_element());
}

pugi::xml_document parsed(const Report& report) {
  pugi::xml_document document;
  const std::string text = junit_report(report);
  EXPECT_TRUE(document.load_buffer(text.data(), text.size()));
  return document;
}

pugi::xml_node testcase(const pugi::xml_document& document, const std::string& name) {
  return document.select_node(("//testcase[@name='" + name + "']").c_str()).node();
}

TEST(Junit, HasThePublishedShape) {
  for (const std::string& text : adversarial_texts()) {
    EXPECT_EQ(wrong_in_junit(junit_report(report_with(text))), "");
  }
  EXPECT_EQ(wrong_in_junit(junit_report(report_with_skipped())), "");
  EXPECT_EQ(wrong_in_junit(junit_report(report_of({}))), "");
}

TEST(Junit, AdversarialNamesKeepTheShape) {
  for (const std::string& text : adversarial_texts()) {
    Report report = report_with("wrong");
    report.submission = text;
    report.manifest.compiler = text;
    EXPECT_EQ(wrong_in_junit(junit_report(report)), "");
  }
}

TEST(Junit, AShapeThatIsWrongIsTold) {
  const std::string suite = R"(<testsuite name="a" tests="1" failures="0" errors="0")";
  const auto wrong = [&](const std::string& inside) {
    return wrong_in_junit("<testsuites>" + suite + ">" + inside + "</testsuite></testsuites>");
  };
  EXPECT_EQ(wrong("<testcase name=\"a\"/>"), "");
  EXPECT_NE(wrong("<testcase/>"), "");
  EXPECT_NE(wrong("<testcase name=\"a\" status=\"todo\"/>"), "");
  EXPECT_NE(wrong("<failure/>"), "");
  EXPECT_NE(wrong("text"), "");
  EXPECT_NE(wrong("<testcase name=\"\xA0\"/>"), "");
  EXPECT_NE(wrong("<testcase name=\"&#1;\"/>"), "");
  EXPECT_NE(wrong("<properties><property name=\"a\"/></properties>"), "");
  EXPECT_NE(wrong_in_junit("<testsuites><testsuite name=\"a\"/></testsuites>"), "");
  EXPECT_NE(wrong_in_junit("<testsuite/>"), "");
  EXPECT_NE(wrong_in_junit("<testsuites>"), "");
}

TEST(Junit, HasATestcaseForEachTask) {
  const pugi::xml_document document = parsed(report_with("p[0] is nan"));
  EXPECT_EQ(document.select_nodes("//testcase").size(), 4u);
  EXPECT_STREQ(document.child("testsuites").attribute("tests").value(), "4");
  EXPECT_STREQ(document.child("testsuites").attribute("failures").value(), "3");
  const pugi::xml_node suite = document.select_node("//testsuite[@name='lesson01']").node();
  EXPECT_STREQ(suite.attribute("tests").value(), "2");
  EXPECT_STREQ(suite.attribute("failures").value(), "1");
  EXPECT_STREQ(suite.attribute("skipped").value(), "0");
  EXPECT_STREQ(suite.attribute("time").value(), "1.250");
  EXPECT_FALSE(testcase(document, "01.2 logsumexp").child("failure"));
}

TEST(Junit, AFailureHoldsTheDiagnosis) {
  const pugi::xml_document document = parsed(report_with("p[0] is <nan> & \"bad\"\non wide scores"));
  const pugi::xml_node failure = testcase(document, "01.1 softmax").child("failure");
  EXPECT_STREQ(failure.text().get(),
               "looks like: the row maximum is not subtracted\np[0] is <nan> & \"bad\"\non wide scores");
  EXPECT_STREQ(failure.attribute("message").value(), "looks like: the row maximum is not subtracted");
  EXPECT_STREQ(failure.attribute("type").value(), "failed");
  EXPECT_STREQ(testcase(document, "05.1 whose block is it").child("failure").attribute("type").value(),
               "todo");
}

TEST(Junit, HiddenTestsHaveAnOutcomeAndNoValue) {
  const Report report = report_with("wrong");
  EXPECT_EQ(junit_report(report).find(secret_value), std::string::npos);
  const pugi::xml_document document = parsed(report);
  const std::string outcomes = testcase(document, "05.2 ring attention").child("system-out").text().get();
  EXPECT_NE(outcomes.find("lesson05.2.ranks3: passed\n"), std::string::npos);
  EXPECT_NE(outcomes.find("lesson05.2.ranks3.hidden: failed\n"), std::string::npos);
}

TEST(Junit, TermsAreProperties) {
  const pugi::xml_document document = parsed(report_with("wrong"));
  const auto property = [&](const std::string& name) {
    const std::string path = "//testsuite[@name='lesson05']/properties/property[@name='" + name + "']";
    return std::string(document.select_node(path.c_str()).node().attribute("value").value());
  };
  EXPECT_EQ(property("seed"), std::to_string(secret_seed));
  EXPECT_EQ(property("isolation"), "user");
  EXPECT_EQ(property("commit"), "0123456789ab");
  EXPECT_EQ(property("compiler"), "c++ (Debian) 12");
  EXPECT_EQ(property("max_points"), "100");
}

TEST(Junit, SkippedIsNeitherPassedNorFailed) {
  const pugi::xml_document document = parsed(report_with_skipped());
  const pugi::xml_node skipped = testcase(document, "05.2 ring attention").child("skipped");
  EXPECT_STREQ(skipped.attribute("message").value(), "there is no mpirun");
  const pugi::xml_node suite = document.select_node("//testsuite[@name='lesson05']").node();
  EXPECT_STREQ(suite.attribute("skipped").value(), "2");
  EXPECT_STREQ(suite.attribute("failures").value(), "0");
}

TEST(Junit, ALongDiagnosisIsCutAndSaysSo) {
  const pugi::xml_document document = parsed(report_with(std::string(1 << 20, 'x')));
  const std::string text = testcase(document, "01.1 softmax").child("failure").text().get();
  EXPECT_LT(text.size(), longest_text + 100);
  EXPECT_NE(text.find("[cut here: the whole text has 10"), std::string::npos);
}

}  // namespace

}  // namespace course::program::grader
