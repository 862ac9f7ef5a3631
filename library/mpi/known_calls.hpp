// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "library/communicator_state.hpp"
#include "library/mpi/settings.hpp"
#include "library/mpi/types.hpp"
#include "library/two_way_index.hpp"

#pragma GCC visibility push(hidden)
namespace tutti {

/// A collective call on a communicator with the program's arguments, as far as this rank uses them.
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

    /// Whether the types are MPI's own. A program may free one of its own, and then get the same
    /// handle for another type.
    bool has_named_types() const {
        return named_type(type) != nullptr &&
               (send_type == type || named_type(send_type) != nullptr);
    }
    /// Returns the elements of `type` in a block.
    std::int64_t elements() const { return count != 0 ? count : send_count; }
    /// Returns whether the calls differ at most in the length of their blocks and their operation.
    bool is_like(const ProgramCall& other) const {
        const auto times = [](std::int64_t one, std::int64_t factor) {
            return static_cast<std::uint64_t>(one) * static_cast<std::uint64_t>(factor);
        };
        const bool is_as_long = count == other.count && send_count == other.send_count;
        return kind == other.kind && root == other.root && send == other.send &&
               receive == other.receive && send_type == other.send_type && type == other.type &&
               (is_as_long || times(send_count, other.count) == times(count, other.send_count));
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
    /// Returns the key of such calls. `bytes`: of all blocks.
    static std::uint64_t key_of(const ProgramCall& call, std::int64_t bytes) {
        const auto bits = [](auto value, int place) {
            return static_cast<std::uint64_t>(value) << place;
        };
        return bits(std::bit_width(static_cast<std::uint64_t>(bytes)), 0) |
               bits(Learner::shape_of(bytes, false).quarter, 8) | bits(call.kind, 16) |
               bits(static_cast<std::uint32_t>(call.root), 24) | bits(call.has_lengths, 63);
    }
    /// Returns the place of such calls, and forgets others that had it. `bytes`: of all blocks.
    LeftCalls& of(const ProgramCall& call, std::int64_t bytes) {
        const std::uint64_t key = key_of(call, bytes);
        // All ranks must forget alike, although Ranks::repeat() does not ask here on some of them.
        // So look-ups must not change which one goes next.
        LeftCalls& left = calls_[index_.take(hash_of(key))];
        if (left.key != key) left = {{}, key};
        return left;
    }

    /// Returns the place of a key; null if it has none.
    LeftCalls* find(std::uint64_t key) {
        LeftCalls& likely = calls_[index_.likely(hash_of(key))];
        return likely.key == key ? &likely : nullptr;
    }

private:
    static std::uint64_t hash_of(std::uint64_t key) { return key * 0x9E3779B97F4A7C15U; }

    using Index = TwoWayIndex<7>;
    Index index_;
    std::array<LeftCalls, Index::places> calls_ = {};
};

/// A call that was done before, with all that its repetitions need. They may differ from it as
/// ProgramCall::is_like() says.
struct KnownCall {
    ProgramCall call;
    LeftCalls* left = nullptr;  ///< the calls that it belongs to
    std::uint64_t key = 0;   ///< left->key at that time; if it differs now, others have the place
    RepeatableRun run = {};  ///< none unless tutti did the call in the program's own memory
    BlockElements elements = {};  ///< of its run
    std::int64_t bytes_of_element = 0;
    std::uint64_t admission = 0;  ///< its key for PlanAdmission

    /// Returns whether a call that is like it is the same.
    bool is(const ProgramCall& other) const {
        return other.count == call.count && other.send_count == call.send_count &&
               other.op == call.op;
    }
    /// Returns the elements of the run of a call like this one; nullopt if tutti does not support
    /// its operation.
    std::optional<BlockElements> elements_of(const ProgramCall& other) const {
        BlockElements of_other = elements;
        of_other.bytes = other.elements() * bytes_of_element;
        if (other.op == call.op) return of_other;
        const auto reduction = reduction_of(*named_type(other.type), other.op);
        if (!reduction) return std::nullopt;
        of_other.op = reduction->op;
        return of_other;
    }
};

/// The calls that a program repeats on a communicator.
class KnownCalls {
public:
    /// Returns a call that is like it; null if none is known.
    const KnownCall* find(const ProgramCall& call) {
        if (calls_ == nullptr) return nullptr;
        const auto is_like = [&](const KnownCall& known) {
            return known.left != nullptr && known.call.is_like(call);
        };
        // Calls of another octave have another place.
        const auto is_in_octave = [&](const KnownCall& known) {
            return octave_id(known.call.elements()) == octave_id(call.elements());
        };
        const auto found = [&](std::size_t place) {
            next_.note(place);
            return &(*calls_)[place];
        };
        if (next_.is_confident()) {
            const KnownCall& predicted = (*calls_)[next_.predicted()];
            if (is_like(predicted) && is_in_octave(predicted)) return found(next_.predicted());
        }
        const std::size_t likely = known_.likely(hash_of(call));
        return is_like((*calls_)[likely]) ? found(likely) : nullptr;
    }
    /// Notes the call. Returns whether one like it was noted before: only then keep() it.
    bool note(const ProgramCall& call) { return noted_.note(hash_of(call)); }
    void keep(const KnownCall& known) {
        if (calls_ == nullptr) calls_ = std::make_unique<Calls>();
        (*calls_)[known_.take(hash_of(known.call))] = known;
    }

private:
    using Index = TwoWayIndex<7>;
    using Calls = std::array<KnownCall, Index::places>;

    static std::uint64_t hash_of(const ProgramCall& call) {
        const auto number = [](const auto& handle) {  // an address in some MPI libraries
            std::uint64_t bits = 0;
            std::memcpy(&bits, &handle, sizeof handle);
            return bits;
        };
        const std::uint64_t differs = number(call.send) ^ number(call.receive) << 1 ^
                                      number(call.type) << 2 ^
                                      static_cast<std::uint64_t>(octave_id(call.elements())) << 40 ^
                                      static_cast<std::uint64_t>(call.root) << 24 ^
                                      static_cast<std::uint64_t>(call.kind) << 56;
        return differs * 0x9E3779B97F4A7C15U;
    }

    Index known_, noted_;
    NextPlace<Index::places> next_;
    std::unique_ptr<Calls> calls_;
};

}  // namespace tutti
#pragma GCC visibility pop
