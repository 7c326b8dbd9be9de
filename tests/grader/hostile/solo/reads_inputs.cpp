// what: looks in the player's folders for inputs that are left, and for expected values
// graded: which no answer to this lesson needs
// namespaces: should be
// user: should be
// none: should be
#include <cstdlib>
#include <filesystem>
bool attack() {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(std::getenv("TMPDIR"), error)) {
    const std::string path = entry.path();
    const bool is_tensor = path.ends_with(".npy") && path.find("/out/") == std::string::npos;
    if (is_tensor || path.find("expected") != std::string::npos) return true;
  }
  return false;
}
