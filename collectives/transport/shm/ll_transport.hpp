// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "collectives/transport/endpoint.hpp"

namespace tutti {

/// Small messages between ranks of one host: a message is copied into lines of shared memory that
/// carry data and flag together, so it takes one hand-over of a line, no rank waits until its
/// buffer was read, and any memory will do. Each byte is copied twice: for a few KiB at most. (The
/// idea is NCCL's LL protocol.)
std::unique_ptr<MessageTransport> ll_transport(World& world);

}  // namespace tutti
