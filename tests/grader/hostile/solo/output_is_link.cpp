// what: makes its output a link to a file of the system's
// graded: which no answer to this lesson needs
// namespaces: is or goes through a link
// user: is or goes through a link
// none: is or goes through a link
// with: replaces_outputs.inc
namespace {
void put(const std::string& name) {
  [[maybe_unused]] const int done = symlink("/etc/hostname", name.c_str());
}
}  // namespace
