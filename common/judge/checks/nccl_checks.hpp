#pragma once

#include "judge/checks/communication_checks.hpp"

/// What a ring over NCCL is held to, from what the simulated GPU reports of its groups and streams.
namespace course::checks {

/// The look at what went by NCCL, as if it had gone by MPI.
CommunicationCheck of_nccl(CommunicationCheck look);

/// A rank sent more than `limit` bytes in groups beside which no work on a block may run, which the player
/// names work_on_block_of a rank. Blocks without tokens are no work. Mistake: nothing_hidden.
CommunicationCheck hides_its_transfers(Limit limit);

/// A rank had more device memory at once than rooms for so many blocks of keys and values, and for the
/// gradients of so many, each as large as the largest block's, and half as much again. Mistake:
/// room_for_every_block.
CommunicationCheck has_rooms_for(int blocks, int gradients);

}  // namespace course::checks
