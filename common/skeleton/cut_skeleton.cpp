#include <iostream>
#include <stdexcept>

#include "skeleton/skeleton.hpp"
#include "text/text_file.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: cut-skeleton SOLUTION SKELETON\n";
    return 2;
  }
  try {
    course::write_text(argv[2], course::skeleton_of(course::read_text(argv[1])));
    return 0;
  } catch (const std::invalid_argument& error) {
    std::cerr << argv[1] << ": " << error.what() << '\n';
  } catch (const std::exception& error) {  // a file that cannot be read or written, which it names
    std::cerr << error.what() << '\n';
  }
  return 1;
}
