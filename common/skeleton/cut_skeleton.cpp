#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>

#include "skeleton/skeleton.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: cut-skeleton SOLUTION SKELETON\n";
    return 2;
  }
  std::ifstream solution(argv[1]);
  try {
    const std::string skeleton = course::skeleton_of({std::istreambuf_iterator<char>(solution), {}});
    std::ofstream file(argv[2]);
    file << skeleton;
    if (solution && file.flush()) return 0;
    std::cerr << "cannot read " << argv[1] << " or write " << argv[2] << '\n';
  } catch (const std::invalid_argument& error) {
    std::cerr << argv[1] << ": " << error.what() << '\n';
  }
  return 1;
}
