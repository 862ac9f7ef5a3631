// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "topology/machine/machine.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// What a collective on one host does differently on different machines: sizes from which another
/// way is the faster one. `tuning_from` guesses them from the caches; 'tutti limits' measures
/// `stream_from`.
struct HostTuning {
    /// Calls whose inputs and outputs of all ranks together are at least so large store results
    /// past the caches: what is stored would be thrown out of them before anyone reads it.
    Bytes stream_from{32 << 20};
    /// Where a pass takes long enough to be timed, that is only the first guess: see StoreChoice.
    bool adapts_stores = true;
    /// Vectors up to so many bytes travel by the LL protocol: a signal less, and each
    /// byte copied twice. More of them from unregistered memory, where each is copied twice in any
    /// case.
    Bytes ll_up_to{256};
    Bytes ll_up_to_unregistered{1024};
    /// Where at least so many bytes arrive at a rank, unregistered memory in huge pages is read
    /// through the kernel: one copy instead of two, for a system call. An all-reduce, which has to
    /// add besides, begins later.
    Bytes fetch_from{64 << 10};
    Bytes fetch_all_reduce_from{1 << 20};
    /// Unregistered memory is staged in pieces of so many bytes: what a rank copies there must
    /// still be in its cache, or a shared one, when the peer reads it.
    Bytes stage_piece{64 << 10};

    bool operator==(const HostTuning&) const = default;
};

/// Streaming begins where a call fills the last-level caches of all cores; a dozen pieces fit a
/// core's own cache (its largest unshared one). Where no cache is known, as on a common server.
HostTuning tuning_from(const Host& host);

}  // namespace tutti
#pragma GCC visibility pop
