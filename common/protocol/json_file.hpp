#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

/// How the files of the protocol are written and read.
namespace course {

/// Renamed when it is written, so that where the file lies it is whole. Throws std::runtime_error with the
/// path.
inline void write_json(const std::filesystem::path& path, const nlohmann::json& value) {
  const std::filesystem::path part = path.string() + ".part";
  std::ofstream file(part);
  // What a submission throws may be any bytes.
  file << value.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
  std::filesystem::rename(part, path);
}

/// `source` is a text or a stream.
template <class T, class Source>
T parse_json(Source& source, const std::filesystem::path& name) {
  try {
    return nlohmann::json::parse(source).template get<T>();
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(name.string() + " is not what was expected: " + error.what());
  }
}

}  // namespace course
