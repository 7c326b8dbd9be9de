#include <algorithm>
#include <vector>

#include "mpi_layer/recorder.hpp"

namespace course::mpi_layer {

namespace {

using State = Waited::State;

/// Waits for all of the requests, or for any of them.
std::vector<Waited> wait(Recorder& recorder, const char* call, int count, MPI_Request* requests, Need need) {
  std::vector<Waited> waited = recorder.waiting.gather(call, count, requests);
  const std::string of_many = count == 1 ? "" : " of " + std::to_string(count) + " requests";
  recorder.waiting.wait({call, Span::Kind::Wait, call + of_many}, waited, need);
  return waited;
}

/// One status for each request.
int hand_out(const std::vector<Waited>& waited, MPI_Status* statuses) {
  if (statuses == MPI_STATUSES_IGNORE || statuses == MPI_STATUS_IGNORE) return MPI_SUCCESS;
  for (std::size_t i = 0; i < waited.size(); ++i) statuses[i] = waited[i].status;
  return MPI_SUCCESS;
}

/// Tests all of the requests; they are handed out when all are complete.
int test_all(Recorder& recorder, const char* call, int count, MPI_Request* requests, int* flag,
             MPI_Status* statuses) {
  std::vector<Waited> waited = recorder.waiting.gather(call, count, requests);
  *flag = recorder.waiting.test(call, waited, Need::All) ? 1 : 0;
  return *flag != 0 ? hand_out(waited, statuses) : MPI_SUCCESS;
}

/// Fills index and status with the one that is complete, as MPI_Waitany and MPI_Testany do.
int hand_out_one(const std::vector<Waited>& waited, int* index, MPI_Status* status) {
  const auto found = std::ranges::find(waited, State::Complete, &Waited::state);
  *index = found == waited.end() ? MPI_UNDEFINED : static_cast<int>(found - waited.begin());
  if (status == MPI_STATUS_IGNORE) return MPI_SUCCESS;
  if (found != waited.end()) {
    *status = found->status;
  } else if (!waited.empty() && waited[0].state == State::Absent) {
    *status = waited[0].status;
  }
  return MPI_SUCCESS;
}

/// Completes all that can be, and fills the lists as MPI_Waitsome and MPI_Testsome do.
int hand_out_some(Recorder& recorder, std::vector<Waited> waited, int* count, int* indices,
                  MPI_Status* statuses) {
  recorder.waiting.advance_open(waited, Need::All);
  *count = 0;
  bool any = false;
  for (std::size_t i = 0; i < waited.size(); ++i) {
    any |= waited[i].state != State::Absent;
    if (waited[i].state != State::Complete) continue;
    indices[*count] = static_cast<int>(i);
    if (statuses != MPI_STATUSES_IGNORE) statuses[*count] = waited[i].status;
    ++*count;
  }
  if (!any) *count = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

}  // namespace

extern "C" {

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Wait(request, status);
  return hand_out(wait(*recorder, __func__, 1, request, Need::All), status);
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Waitall(count, requests, statuses);
  return hand_out(wait(*recorder, __func__, count, requests, Need::All), statuses);
}

int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Waitany(count, requests, index, status);
  return hand_out_one(wait(*recorder, __func__, count, requests, Need::Any), index, status);
}

int MPI_Waitsome(int count, MPI_Request requests[], int* completed, int indices[], MPI_Status statuses[]) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Waitsome(count, requests, completed, indices, statuses);
  return hand_out_some(*recorder, wait(*recorder, __func__, count, requests, Need::Any), completed, indices,
                       statuses);
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Test(request, flag, status);
  return test_all(*recorder, __func__, 1, request, flag, status);
}

int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Testall(count, requests, flag, statuses);
  return test_all(*recorder, __func__, count, requests, flag, statuses);
}

int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Testany(count, requests, index, flag, status);
  std::vector<Waited> waited = recorder->waiting.gather(__func__, count, requests);
  *flag = recorder->waiting.test(__func__, waited, Need::Any) ? 1 : 0;
  return hand_out_one(waited, index, status);
}

int MPI_Testsome(int count, MPI_Request requests[], int* completed, int indices[], MPI_Status statuses[]) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Testsome(count, requests, completed, indices, statuses);
  std::vector<Waited> waited = recorder->waiting.gather(__func__, count, requests);
  recorder->waiting.test(__func__, waited, Need::Any);
  return hand_out_some(*recorder, std::move(waited), completed, indices, statuses);
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Request_get_status(request, flag, status);
  std::vector<Waited> waited = recorder->waiting.gather(__func__, 1, &request);
  recorder->overlap.look_at_tests(__func__, waited);
  check(PMPI_Request_get_status(request, flag, status), __func__);
  if (waited[0].delayed) *flag = 0;
  if (*flag != 0) recorder->hand_over(request);
  recorder->waiting.note_test(*flag != 0,
                              [&] { return recorder->waiting.pending("MPI_Test", waited, Need::All); });
  return MPI_SUCCESS;
}

int MPI_Start(MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Start(request);
  recorder->activate(__func__, *request);
  check(PMPI_Start(request), __func__);
  return MPI_SUCCESS;
}

int MPI_Startall(int count, MPI_Request requests[]) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Startall(count, requests);
  for (int i = 0; i < count; ++i) recorder->activate(__func__, requests[i]);
  check(PMPI_Startall(count, requests), __func__);
  return MPI_SUCCESS;
}

int MPI_Cancel(MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Cancel(request);
  const OpenRequests::Guard guard(recorder->open.mutex);
  recorder->refuse_ended(__func__, *request);
  check(PMPI_Cancel(request), __func__);
  return MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request* request) {
  Recorder* recorder = watching();
  if (recorder == nullptr) return PMPI_Request_free(request);
  recorder->release(request);
  return MPI_SUCCESS;
}

}  // extern "C"

}  // namespace course::mpi_layer
