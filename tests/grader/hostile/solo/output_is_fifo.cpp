// what: makes its output a pipe that nobody fills
// graded: which no answer to this lesson needs
// namespaces: is not a regular file
// user: is not a regular file
// none: is not a regular file
// with: replaces_outputs.inc
namespace {
void put(const std::string& name) {
  mkfifo(name.c_str(), 0600);
}
}  // namespace
