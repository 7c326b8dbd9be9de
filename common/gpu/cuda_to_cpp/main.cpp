#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "gpu/cuda_to_cpp/cuda_to_cpp.hpp"
#include "text/text_file.hpp"

/// cuda-to-cpp FILE.cu FILE.cpp: messages of the compiler and the debugger are about the first.
int main(int argc, char** argv) {
  try {
    if (argc != 3) throw std::invalid_argument("usage: cuda-to-cpp FILE.cu FILE.cpp");
    const std::string name = argv[1];
    const std::string cuda = course::read_text(name);
    std::string headers;
    for (const char* header :
         {"cuda_runtime.h", "device_functions.h", "nccl.h", "runtime_api.h", "vector_types.h"})
      headers += course::read_text(std::filesystem::path(HEADERS) / header);
    for (const std::string& note : course::gpu::notes_on_unknown_words(cuda, name, headers))
      std::cerr << note << '\n';
    course::write_text(argv[2], course::gpu::simulated_source(cuda, name));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
