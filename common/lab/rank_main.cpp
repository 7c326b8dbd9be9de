#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "lab/experiment.hpp"
#include "mpi_layer/operation.hpp"
#include "mpi_layer/start.hpp"

namespace course::lab {

namespace {

Plan read_plan(const char* path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(std::string("cannot open the plan ") + path);
  return plan_from({std::istreambuf_iterator<char>(file), {}});
}

Result carry_out(const Plan& plan, int rank, MPI_Comm comm) {
  Result result;
  mpi_layer::check(MPI_Comm_size(comm, &result.ranks), [] { return "MPI_Comm_size"; });
  const Say say = [rank](const std::string& text) {
    if (rank != 0) return;
    std::printf("progress %s\n", text.c_str());
    std::fflush(stdout);
  };
  if (plan.kind == "laboratory") {
    result.settings = run_laboratory(plan, say, comm);
  } else {
    result.call = plan.kind == "case" ? play_case(plan, comm) : run_ring(plan, comm);
  }
  return result;
}

void write(const Plan& plan, const Result& result) {
  std::ofstream file(plan.result, std::ios::binary);
  file << to_text(result);
  file.close();
  if (!file) throw std::runtime_error("cannot write " + plan.result.string());
}

/// A rank that cannot go on ends all: the others may be waiting for it.
int run(int argc, char** argv, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  try {
    if (argc != 2) throw std::invalid_argument("usage: ring_lab_rank PLAN");
    const Plan plan = read_plan(argv[1]);
    const Result result = carry_out(plan, rank, comm);
    if (rank == 0) write(plan, result);
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::printf("failure rank %d: %s\n", rank, error.what());
    std::fflush(stdout);
    PMPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    std::abort();
  }
}

}  // namespace

}  // namespace course::lab

int main(int argc, char** argv) {
  course::mpi_layer::start(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int code = course::lab::run(argc, argv, comm);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return code;
}
