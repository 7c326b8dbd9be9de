#include <algorithm>
#include <vector>

#include "mpi_layer/recorder.hpp"

using course::Span;
using course::mpi_layer::CallLabel;
using course::mpi_layer::check;
using course::mpi_layer::Need;
using course::mpi_layer::Recorder;
using course::mpi_layer::Waited;
using course::mpi_layer::watching;

namespace {

using State = Waited::State;

CallLabel waiting(const Recorder& recorder, const char* call, int count) {
  std::string text;
  if (recorder.options.record_spans)
    text = call + (count == 1 ? "" : " of " + std::to_string(count) + " requests");
  return {call, Span::Kind::Wait, text};
}

void hand_out(const std::vector<Waited>& waited, MPI_Status* statuses) {
  if (statuses == MPI_STATUSES_IGNORE) return;
  for (std::size_t i = 0; i < waited.size(); ++i) statuses[i] = waited[i].status;
}

/// Fills index and status with the one that is complete, as MPI_Waitany and MPI_Testany do.
void hand_out_one(const std::vector<Waited>& waited, int* index, MPI_Status* status) {
  const auto complete = [](const Waited& one) { return one.state == State::Complete; };
  const auto found = std::find_if(waited.begin(), waited.end(), complete);
  *index = found == waited.end() ? MPI_UNDEFINED : static_cast<int>(found - waited.begin());
  if (status == MPI_STATUS_IGNORE) return;
  if (found != waited.end()) {
    *status = found->status;
  } else if (!waited.empty() && waited[0].state == State::Absent) {
    *status = waited[0].status;
  }
}

/// Completes all that can be, and fills the lists as MPI_Waitsome and MPI_Testsome do.
void hand_out_some(Recorder& recorder, std::vector<Waited>& waited, int* count, int* indices,
                   MPI_Status* statuses) {
  *count = 0;
  bool any = false;
  for (std::size_t i = 0; i < waited.size(); ++i) {
    if (waited[i].state == State::Open) recorder.waiting.advance(waited[i]);
    any |= waited[i].state != State::Absent;
    if (waited[i].state != State::Complete) continue;
    indices[*count] = static_cast<int>(i);
    if (statuses != MPI_STATUSES_IGNORE) statuses[*count] = waited[i].status;
    ++*count;
  }
  if (!any) *count = MPI_UNDEFINED;
}

}  // namespace

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Wait(request, status);
  std::vector<Waited> waited = recorder->waiting.gather(1, request);
  recorder->waiting.wait(waiting(*recorder, "MPI_Wait", 1), waited, Need::All);
  if (status != MPI_STATUS_IGNORE) *status = waited[0].status;
  return MPI_SUCCESS;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Waitall(count, requests, statuses);
  std::vector<Waited> waited = recorder->waiting.gather(count, requests);
  recorder->waiting.wait(waiting(*recorder, "MPI_Waitall", count), waited, Need::All);
  hand_out(waited, statuses);
  return MPI_SUCCESS;
}

int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Waitany(count, requests, index, status);
  std::vector<Waited> waited = recorder->waiting.gather(count, requests);
  recorder->waiting.wait(waiting(*recorder, "MPI_Waitany", count), waited, Need::Any);
  hand_out_one(waited, index, status);
  return MPI_SUCCESS;
}

int MPI_Waitsome(int count, MPI_Request requests[], int* completed, int indices[], MPI_Status statuses[]) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Waitsome(count, requests, completed, indices, statuses);
  std::vector<Waited> waited = recorder->waiting.gather(count, requests);
  recorder->waiting.wait(waiting(*recorder, "MPI_Waitsome", count), waited, Need::Any);
  hand_out_some(*recorder, waited, completed, indices, statuses);
  return MPI_SUCCESS;
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Test(request, flag, status);
  std::vector<Waited> waited = recorder->waiting.gather(1, request);
  *flag = recorder->waiting.test("MPI_Test", waited, Need::All) ? 1 : 0;
  if (*flag != 0 && status != MPI_STATUS_IGNORE) *status = waited[0].status;
  return MPI_SUCCESS;
}

int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Testall(count, requests, flag, statuses);
  std::vector<Waited> waited = recorder->waiting.gather(count, requests);
  *flag = recorder->waiting.test("MPI_Testall", waited, Need::All) ? 1 : 0;
  if (*flag != 0) hand_out(waited, statuses);
  return MPI_SUCCESS;
}

int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Testany(count, requests, index, flag, status);
  std::vector<Waited> waited = recorder->waiting.gather(count, requests);
  *flag = recorder->waiting.test("MPI_Testany", waited, Need::Any) ? 1 : 0;
  hand_out_one(waited, index, status);
  return MPI_SUCCESS;
}

int MPI_Testsome(int count, MPI_Request requests[], int* completed, int indices[], MPI_Status statuses[]) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Testsome(count, requests, completed, indices, statuses);
  std::vector<Waited> waited = recorder->waiting.gather(count, requests);
  recorder->waiting.test("MPI_Testsome", waited, Need::Any);
  hand_out_some(*recorder, waited, completed, indices, statuses);
  return MPI_SUCCESS;
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Request_get_status(request, flag, status);
  std::vector<Waited> waited = recorder->waiting.gather(1, &request);
  recorder->overlap.look_at_tests("MPI_Request_get_status", waited);
  check(PMPI_Request_get_status(request, flag, status), [] { return "MPI_Request_get_status"; });
  if (waited[0].delayed) *flag = 0;
  if (*flag != 0) recorder->hand_over(request);
  recorder->waiting.note_test(*flag != 0,
                              [&] { return recorder->waiting.pending("MPI_Test", waited, Need::All); });
  return MPI_SUCCESS;
}

int MPI_Cancel(MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Cancel(request);
  check(PMPI_Cancel(request), [] { return "MPI_Cancel"; });
  return MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Request_free(request);
  recorder->release(request);
  return MPI_SUCCESS;
}
