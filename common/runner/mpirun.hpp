#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace course {

/// The start of a command line for `ranks` processes on this machine, more than cores if need be.
std::vector<std::string> mpirun(int ranks);

/// What mpirun needs in its environment on one host; as root, Open MPI's two permissions too.
std::map<std::string, std::string> mpirun_environment();

/// What makes a program keep its temporary files in this folder, and Open MPI the memory that its ranks
/// share.
std::map<std::string, std::string> temporary_files_in(const std::filesystem::path& folder);

/// What mpirun and its ranks complained of first, on one line: the first paragraph of what they printed, with
/// the next one where it ends in a colon. Empty where they printed nothing.
std::string first_complaint(const std::string& printed);

/// How the mpirun that says `mpirun_version` (to --version) differs from the MPI library that says
/// `library_version` (MPI_Get_library_version), as a clause; empty where it does not.
std::string other_mpi(const std::string& mpirun_version, const std::string& library_version);

}  // namespace course
