#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace course::ledger {

/// What of a JSON value is not as its recorded shape says; empty when all is. A shape is JSON itself:
///   {"rank": "integer"}       an object that has at least these keys; "dq?" is a key that may be left out
///   ["string"]                an array in which every entry has this shape
///   "number | null"           one of: string, integer, number, boolean, null, or a word in quotes such as
///   'passed'
std::string differences(const nlohmann::json& shape, const nlohmann::json& value,
                        const std::string& where = "it");

}  // namespace course::ledger
