#pragma once

/// The kinds and the marks of Fact that the MPI layer, the simulated GPU and its NCCL tell; the judge, which
/// knows neither, reads them too.
namespace course {

/// On a status page, of the fact that an exception tells, whose text is the page's.
inline constexpr const char* mark_thrown = "thrown";
inline constexpr const char* fact_any_source = "any_source";
inline constexpr const char* fact_world = "world_communicator";
inline constexpr const char* fact_self_message = "self_message";
inline constexpr const char* fact_invalid_peer = "invalid_peer";
/// A receive or a probe from MPI_PROC_NULL, and a send to it: nothing comes, and nothing arrives.
inline constexpr const char* fact_null_source = "null_source";
inline constexpr const char* fact_null_destination = "null_destination";
inline constexpr const char* fact_overlapping_buffers = "overlapping_buffers";
/// The same of two receives that are open at once.
inline constexpr const char* fact_shared_room = "shared_room";
/// A message, or what a collective reads or fills, begins in a tensor of the function's and ends beyond it.
inline constexpr const char* fact_beyond_tensor = "beyond_tensor";
/// The same of a block that the function allocated with new.
inline constexpr const char* fact_beyond_block = "beyond_block";
/// Of both, where just a quarter of it lies in the tensor or the block: it may be a count of bytes.
inline constexpr const char* mark_four_times = "four_times";
/// The buffer of a receive begins in a block that the function allocated and ends beyond it, or is nowhere.
inline constexpr const char* fact_short_room = "short_room";
/// A message was longer than its receive.
inline constexpr const char* fact_truncated = "truncated";
/// In MPI_Alltoall or MPI_Alltoallv a rank sends more or fewer bytes to another than that one expects (thrown
/// on every rank, before anything is sent).
inline constexpr const char* fact_counts_disagree = "counts_disagree";
/// A message was shorter than its receive, as it may be where rooms are padded: the receive.
inline constexpr const char* fact_short_message = "short_message";
/// A buffer was used for a new operation while an earlier one, open over a computation, still had it.
inline constexpr const char* fact_reused_before_wait = "reused_before_wait";
/// Of a buffer that MPI was still reading, or filling, when its owner wrote to it.
inline constexpr const char* fact_send_buffer_changed = "send_buffer_changed";
inline constexpr const char* fact_receive_buffer_changed = "receive_buffer_changed";
/// A computation was given a buffer that was still being received.
inline constexpr const char* fact_computed_on_arriving = "computed_on_arriving";
/// A message was waited for with no computation since its start, and a computation came later.
inline constexpr const char* fact_waited_at_once = "waited_at_once";
/// Over the computations between a message's start and its completion no call made progress, or none over
/// most of a block's tiles.
inline constexpr const char* fact_no_progress = "no_progress";
inline constexpr const char* fact_collective = "collective";
inline constexpr const char* fact_unfinished_request = "unfinished_request";
/// A communicator, a group, a datatype or an operation that the function made and did not free.
inline constexpr const char* fact_not_freed = "not_freed";
/// A call was given a copy of a request that is over (thrown).
inline constexpr const char* fact_ended_request = "ended_request";
/// MPI_Init or MPI_Finalize (both ignored) or MPI_Abort (thrown) inside the case.
inline constexpr const char* fact_lifecycle = "lifecycle";
/// MPI_Bsend or MPI_Ibsend: such a send goes on without its receive.
inline constexpr const char* fact_buffered_send = "buffered_send";
/// A call that the course does not use and the layer does not follow, such as MPI_Win_create.
inline constexpr const char* fact_uncommon_call = "uncommon_call";
/// A function's output was written to beyond its end (thrown by the player).
inline constexpr const char* fact_beyond_output = "beyond_output";
/// A view was asked for an index that it does not have (thrown by it, told by the player): of how many, and
/// as a mark which axis: "row", "col" or "head".
inline constexpr const char* fact_outside_view = "outside_view";
inline constexpr const char* mark_head = "head";
/// A block computation was given other than one range of keys a query, or the function that makes them made
/// others (thrown).
inline constexpr const char* fact_ranges_of_other_queries = "ranges_of_other_queries";
/// A function wrote to one of its inputs (thrown by the player).
inline constexpr const char* fact_input_changed = "input_changed";
/// Not all threads of a block reached one __syncthreads().
inline constexpr const char* fact_divergent_barrier = "divergent_barrier";
/// The others wait at another one.
inline constexpr const char* mark_other_barrier = "other_barrier";
/// A kernel was launched with more threads, blocks or shared memory than there are.
inline constexpr const char* fact_refused_launch = "refused_launch";
/// It has none.
inline constexpr const char* mark_no_threads = "no_threads";
/// A copy beyond an allocation or in the wrong direction, a wrong cudaFree, an allocation that was never
/// freed.
inline constexpr const char* fact_device_memory = "device_memory";
/// Streams and events that a case has made and that nobody destroyed.
inline constexpr const char* fact_not_destroyed = "not_destroyed";
/// A kernel, or the host, accesses bytes that are no allocation's, or no longer.
inline constexpr const char* fact_out_of_bounds = "out_of_bounds";
/// Of what the access is nearest to.
inline constexpr const char* mark_before_beginning = "before_beginning";
inline constexpr const char* mark_beyond_end = "beyond_end";
inline constexpr const char* mark_freed = "freed";
/// What memory is accessed, or asked for in vain.
inline constexpr const char* mark_device_memory = "device_memory";
inline constexpr const char* mark_shared_memory = "shared_memory";
inline constexpr const char* mark_pinned_memory = "pinned_memory";
/// A kernel was given an address of the host's, or none.
inline constexpr const char* fact_host_pointer = "host_pointer";
/// The host's code follows a pointer to device memory.
inline constexpr const char* fact_host_dereference = "host_dereference";
/// Several bytes at once at an address that their number does not divide.
inline constexpr const char* fact_misaligned = "misaligned";
/// A kernel reads device or shared memory that nobody has written to.
inline constexpr const char* fact_unwritten_read = "unwritten_read";
/// Two unordered accesses, one a plain write: of threads of a block, of blocks of a launch, of operations
/// that no stream, event or wait of the host's orders.
inline constexpr const char* fact_race_in_block = "race_in_block";
inline constexpr const char* fact_race_between_blocks = "race_between_blocks";
inline constexpr const char* fact_missing_dependency = "missing_dependency";
/// Of the two: one reads; the earlier is a plain write, or both are; they stand on one line; both wrote what
/// was there already.
inline constexpr const char* mark_reads = "reads";
inline constexpr const char* mark_after_write = "after_write";
inline constexpr const char* mark_both_write = "both_write";
inline constexpr const char* mark_one_line = "one_line";
inline constexpr const char* mark_same_value = "same_value";
/// One of two operations is in the default stream, and the other is not.
inline constexpr const char* mark_default_stream = "default_stream";
/// They are calls of one NCCL group.
inline constexpr const char* mark_one_group = "one_group";
/// A shuffle takes the value of a lane that takes no part, or waits for one that does something else.
inline constexpr const char* fact_absent_lane = "absent_lane";
/// The mask of a thread's own shuffle leaves it out.
inline constexpr const char* mark_unnamed = "unnamed";
/// A thread waits for that lane.
inline constexpr const char* mark_waits = "waits";
/// That lane has returned.
inline constexpr const char* mark_returned = "returned";
/// A thread that seems to wait for what another one writes.
inline constexpr const char* fact_spinning = "spinning";
inline constexpr const char* fact_unrecorded_event = "unrecorded_event";
/// A call that may wait until every stream is idle, while one may not be.
inline constexpr const char* fact_device_wide_wait = "device_wide_wait";
/// The host waits for a stream or an event where it named what it does (nvtxRangePush).
inline constexpr const char* fact_host_wait = "host_wait";
/// A call of NCCL's that is refused, or a communicator that nobody destroyed.
inline constexpr const char* fact_nccl_call = "nccl_call";
/// A rank has an id that is not the one that was made for this, or a part of it.
inline constexpr const char* mark_wrong_id = "wrong_id";
/// Calls of two ranks' that meet and do not fit: another call, size or type.
inline constexpr const char* fact_nccl_mismatch = "nccl_mismatch";
/// A launch failed, and nobody asked for the last error.
inline constexpr const char* fact_unchecked_error = "unchecked_error";
/// A launch succeeded within a name of the host's (nvtxRangePush) that ended before cudaGetLastError() was
/// asked.
inline constexpr const char* fact_unasked_launch = "unasked_launch";

/// What the host's code is named, in facts, while it calls a function that is to launch kernels alone.
inline constexpr const char* launching_function = "the function";
/// With this begins its name while it has a block computed, of the rank whose number follows.
inline constexpr const char* work_on_block_of = "block of rank ";

}  // namespace course
