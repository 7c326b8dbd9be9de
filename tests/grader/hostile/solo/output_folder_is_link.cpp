// what: makes its output folder a link to another
// graded: which no answer to this lesson needs
// namespaces: is or goes through a link
// user: is or goes through a link
// none: is or goes through a link
#include <cstdlib>
#include <filesystem>
namespace {
struct AtTheEnd {
  ~AtTheEnd() {
    namespace fs = std::filesystem;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(std::getenv("TMPDIR"), error)) {
      if (!fs::exists(entry.path() / "out")) continue;
      fs::rename(entry.path() / "out", entry.path() / "elsewhere", error);
      fs::create_symlink(entry.path() / "elsewhere", entry.path() / "out", error);
    }
  }
} at_the_end;
}  // namespace
bool attack() {
  return true;
}
