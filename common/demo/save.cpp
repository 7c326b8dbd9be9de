#include "demo/save.hpp"

#include <cstdlib>

#include "demo/failure.hpp"
#include "demo/output_folder.hpp"

namespace course::demo {

namespace {

namespace fs = std::filesystem;

fs::path default_folder() {
  const char* root = std::getenv("COURSE_ROOT");
  return (root != nullptr ? fs::path(root) : fs::current_path()) / ".course" / "demo";
}

void add_pictures(OutputFolder& folder, const RunSummary& run) {
  folder.add("timeline.svg", svg_timeline(traces(run), timeline_title(run)));
  folder.add("trace.json", chrome_trace(traces(run)));
}

void add_tensors(OutputFolder& folder, const RunSummary& run, const Tensor& o, const Tensor& lse) {
  folder.add("o.npy", Tensor(run.shape, o.values()));
  folder.add("lse.npy", Tensor(Shape(run.shape.begin(), run.shape.end() - 1), lse.values()));
  // Gradients of an earlier run would not be those of this output.
  for (const char* name : {"dq.npy", "dk.npy", "dv.npy"}) folder.drop(name);
}

}  // namespace

SavedFiles save(const Options& options, const RunSummary& run, const Tensor& o, const Tensor& lse) {
  if (!run.comparison.passed()) return {{}, {}, "the answer is wrong"};
  if (options.out) {
    OutputFolder folder(*options.out);
    add_tensors(folder, run, o, lse);
    add_pictures(folder, run);
    folder.commit();
    return {*options.out, {"o.npy", "lse.npy", "timeline.svg", "trace.json"}, ""};
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
