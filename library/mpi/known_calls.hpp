// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>

#include "library/communicator_state.hpp"
#include "library/mpi/settings.hpp"
#include "library/mpi/types.hpp"
#include "library/two_way_index.hpp"

#pragma GCC visibility push(hidden)
namespace tutti {

/// A collective call on a communicator with the program's arguments, as far as this rank uses them.
/// Equal ones are the same call if they have named types.
struct ProgramCall {
    CallKind kind = {};
    int root = 0;
    const void* send = nullptr;
    const void* receive = nullptr;
    std::int64_t send_count = 0, count = 0;
    // Null for calls that are never known.
    MPI_Datatype send_type = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    bool has_lengths = false;  ///< whether the blocks have different ones

    bool operator==(const ProgramCall&) const = default;
    /// Whether the types are MPI's own. A program may free one of its own, and then get the same
    /// handle for another type.
    bool has_named_types() const {
        return named_type(type) != nullptr &&
               (send_type == type || named_type(send_type) != nullptr);
    }
};

/// Calls that share learnt results: of one kind and root, with similar lengths and any buffers.
/// Types and operations are not in the key, because all that MPI programs can use are in one class
/// (see Subject). Stores whether a search has left these calls to the library.
struct LeftCalls : LeftToLibrary {
    std::uint64_t key = 0;
};

class AllLeftCalls {
public:
    /// Returns the place of such calls, and forgets others that had it. `bytes`: of all blocks.
    LeftCalls& of(const ProgramCall& call, std::int64_t bytes) {
        const auto bits = [](auto value, int place) {
            return static_cast<std::uint64_t>(value) << place;
        };
        const std::uint64_t key =
            bits(std::bit_width(static_cast<std::uint64_t>(bytes)), 0) |
            bits(Learner::shape_of(bytes, false).quarter, 8) | bits(call.kind, 16) |
            bits(static_cast<std::uint32_t>(call.root), 24) | bits(call.has_lengths, 63);
        // All ranks must forget alike, but some find calls without asking here, see
        // Ranks::repeat(). So only a new key changes which one goes next.
        const std::uint64_t hash = key * 0x9E3779B97F4A7C15U;
        LeftCalls& left = calls_[index_.has(hash) ? index_.likely(hash) : index_.take(hash)];
        if (left.key != key) left = {{}, key};
        return left;
    }

private:
    using Index = TwoWayIndex<7>;
    Index index_;
    std::array<LeftCalls, Index::places> calls_ = {};
};

/// A call that was done before, with all that its repetitions need.
struct KnownCall {
    ProgramCall call;
    LeftCalls* left = nullptr;  ///< the calls that it belongs to
    std::uint64_t key = 0;   ///< left->key at that time; if it differs now, others have the place
    RepeatableRun run = {};  ///< none unless tutti did the call in the program's own memory
    std::int64_t work = 0;   ///< see Ranks::count_work()
    std::uint64_t admission = 0;  ///< its key for PlanAdmission
};

/// The calls that a program repeats on a communicator.
class KnownCalls {
public:
    /// Returns null if it is not known.
    const KnownCall* find(const ProgramCall& call) const {
        if (calls_ == nullptr) return nullptr;
        const KnownCall& known = (*calls_)[known_.likely(hash_of(call))];
        return known.left != nullptr && known.call == call ? &known : nullptr;
    }
    /// Notes the call. Returns whether it was noted before: only then keep() it.
    bool note(const ProgramCall& call) { return noted_.note(hash_of(call)); }
    void keep(const KnownCall& known) {
        if (calls_ == nullptr) calls_ = std::make_unique<Calls>();
        (*calls_)[known_.take(hash_of(known.call))] = known;
    }

private:
    using Index = TwoWayIndex<6>;
    using Calls = std::array<KnownCall, Index::places>;

    static std::uint64_t hash_of(const ProgramCall& call) {
        const auto number = [](const auto& handle) {  // an address in some MPI libraries
            std::uint64_t bits = 0;
            std::memcpy(&bits, &handle, sizeof handle);
            return bits;
        };
        const std::uint64_t differs =
            number(call.send) ^ number(call.receive) << 1 ^ number(call.type) << 2 ^
            number(call.op) << 3 ^ static_cast<std::uint64_t>(call.count + call.send_count) << 32 ^
            static_cast<std::uint64_t>(call.root) << 24 ^
            static_cast<std::uint64_t>(call.kind) << 56;
        return differs * 0x9E3779B97F4A7C15U;
    }

    Index known_, noted_;
    std::unique_ptr<Calls> calls_;
};

}  // namespace tutti
#pragma GCC visibility pop
