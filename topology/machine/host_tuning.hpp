// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "topology/machine/machine.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// Sizes at which collectives on one host switch to a faster method. tuning_from() estimates them
/// from the caches; 'tutti limits' measures `stream_from`.
struct HostTuning {
    /// Total bytes of all ranks' inputs and outputs from which calls use non-temporal stores, as
    /// the caches could not keep the results.
    Bytes stream_from{32 << 20};
    /// Whether timed passes may correct that choice; see StoreChoice.
    bool adapts_stores = true;
    /// Lines save a signal, but copy each byte twice. In memory that peers reach, the largest
    /// vector that goes in lines; in other memory, the largest block. Between two ranks, blocks of
    /// up to twice this size do: for 512 bytes they take 0.67 to 0.9 of the time, for 1 KiB 1.0
    /// to 1.25.
    Bytes ll_up_to{256};
    Bytes ll_up_to_unregistered{256};
    /// Bytes received by a rank from which unregistered memory in huge pages is read through the
    /// kernel: one copy instead of two, but a system call. The threshold of all-reduces is higher,
    /// as they also add.
    Bytes fetch_from{64 << 10};
    Bytes fetch_all_reduce_from{1 << 20};
    /// Piece size for staging unregistered memory. A piece must still be in a cache when the peer
    /// reads it.
    Bytes stage_piece{64 << 10};

    bool operator==(const HostTuning&) const = default;
};

/// Estimates the sizes: calls stream when they fill all last-level caches; twelve pieces fit a
/// core's largest private cache. Without known caches the defaults of a common server are used.
HostTuning tuning_from(const Host& host);

}  // namespace tutti
#pragma GCC visibility pop
