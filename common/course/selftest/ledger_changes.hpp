#pragma once

#include <string>

namespace course::program {

/// What recording has changed in a file of the ledger, whose lines have an order of their own: "FILE: 2 lines
/// added, 1 gone", and a line with '+' or '-' for each of them; "FILE: as committed" where there are none.
std::string ledger_changes(const std::string& file, const std::string& committed, const std::string& now);

}  // namespace course::program
