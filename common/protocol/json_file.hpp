#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

/// How the files of a case are written and read; internal to the protocol.
namespace course {

inline void write_json(const std::filesystem::path& path, const nlohmann::json& value) {
  std::ofstream file(path);
  // What a submission throws may be any bytes.
  file << value.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

/// `source` is a text or a stream.
template <class T, class Source>
T parse_json(Source& source, const std::filesystem::path& name) {
  try {
    return nlohmann::json::parse(source).template get<T>();
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(name.string() + " is not what the case format asks for: " + error.what());
  }
}

}  // namespace course
