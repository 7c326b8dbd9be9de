#include "demo/save.hpp"

#include <cstdlib>

#include "demo/output_folder.hpp"
#include "protocol/errors.hpp"

namespace course::demo {

namespace {

namespace fs = std::filesystem;

fs::path default_folder() {
  const char* root = std::getenv("COURSE_ROOT");
  return (root != nullptr ? fs::path(root) : fs::current_path()) / ".course" / "demo";
}

std::string what_is_wrong(const RunSummary& run) {
  if (run.rings.size() == 1) return "the answer is wrong";
  const std::vector<std::string> wrong = run.wrong_rings();
  return "the " + listed(wrong) +
         (wrong.size() == 1 ? " ring's answer is wrong" : " rings' answers are wrong");
}

void add_pictures(OutputFolder& folder, const RunSummary& run) {
  folder.add("timeline.svg", svg_timelines(joined_timelines(run), timeline_title(run), timeline_note(run)));
  folder.add("trace.json", chrome_traces(timelines(run)));
}

/// Returns the names of what it added.
std::vector<std::string> add_tensors(OutputFolder& folder, const RunSummary& run, const RingAnswer& answer) {
  folder.add("o.npy", Tensor(run.shape, answer.o.values()));
  folder.add("lse.npy", Tensor(Shape(run.shape.begin(), run.shape.end() - 1), answer.lse.values()));
  std::vector<std::string> names{"o.npy", "lse.npy"};
  for (const auto& [name, gradient] :
       {std::pair{"dq.npy", &answer.dq}, {"dk.npy", &answer.dk}, {"dv.npy", &answer.dv}}) {
    if (!run.backward()) {
      folder.drop(name);
      continue;
    }
    folder.add(name, Tensor(run.shape, gradient->values()));
    names.push_back(name);
  }
  return names;
}

}  // namespace

SavedFiles save(const std::optional<fs::path>& out, const RunSummary& run, const RingAnswer& answer) {
  if (!run.passed()) return {{}, {}, what_is_wrong(run)};
  if (out) {
    OutputFolder folder(*out);
    std::vector<std::string> names = add_tensors(folder, run, answer);
    add_pictures(folder, run);
    folder.commit();
    names.insert(names.end(), {"timeline.svg", "trace.json"});
    return {*out, std::move(names), ""};
  }
  try {
    OutputFolder folder(default_folder());
    add_pictures(folder, run);
    folder.commit();
    return {default_folder(), {"timeline.svg", "trace.json"}, ""};
  } catch (const std::exception& error) {
    return {{}, {}, error.what()};
  }
}

}  // namespace course::demo
