// what: makes its output a file that is no npy
// graded: which no answer to this lesson needs
// namespaces: no usable result
// user: no usable result
// none: no usable result
// with: replaces_outputs.inc
namespace {
void put(const std::string& name) {
  std::ofstream(name) << "no tensor at all";
}
}  // namespace
