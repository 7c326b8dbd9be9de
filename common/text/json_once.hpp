#pragma once

#include <nlohmann/json.hpp>
#include <string>

// Tells the compiler that these are compiled elsewhere: in json_once.cpp, once for all programs that take
// this header precompiled. Sources include nlohmann's header as ever. JSON_ONCE is `extern template` but
// there.
#ifndef JSON_ONCE
#define JSON_ONCE extern template
#endif

namespace nlohmann {
JSON_ONCE class basic_json<>;
JSON_ONCE class basic_json<ordered_map>;

#if NLOHMANN_JSON_VERSION_MAJOR == 3 && NLOHMANN_JSON_VERSION_MINOR == 11  // whose inner names these are
namespace detail {
using TextAdapter = iterator_input_adapter<std::string::const_iterator>;
JSON_ONCE class serializer<json>;
JSON_ONCE class serializer<ordered_json>;
JSON_ONCE class lexer<json, TextAdapter>;
JSON_ONCE class lexer<ordered_json, TextAdapter>;
JSON_ONCE class parser<json, TextAdapter>;
JSON_ONCE class parser<ordered_json, TextAdapter>;
JSON_ONCE class json_sax_dom_parser<json>;
JSON_ONCE class json_sax_dom_parser<ordered_json>;
}  // namespace detail
#endif
}  // namespace nlohmann
