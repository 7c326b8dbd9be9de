#include <fstream>
#include <iostream>

#include "shape.hpp"

// json_shape SHAPE.json <JSON: says what differs, exit code 1 then.
int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: json_shape SHAPE.json <JSON");
    std::ifstream shape(argv[1]);
    const std::string text =
        course::ledger::differences(nlohmann::json::parse(shape), nlohmann::json::parse(std::cin));
    std::cout << text;
    return text.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "json_shape: " << error.what() << '\n';
    return 2;
  }
}
