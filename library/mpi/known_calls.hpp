// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "library/communicator_state.hpp"
#include "library/mpi/settings.hpp"
#include "library/mpi/types.hpp"

namespace tutti {

/// A collective call with the program's arguments, as far as this rank uses them. Calls that are
/// the same on a communicator mean the same: addresses, counts and types of its memory.
struct ProgramCall {
    CallKind kind;
    int root = 0;
    const void* send = nullptr;
    const void* receive = nullptr;
    std::int64_t send_count = 0, count = 0;
    // Null if calls of this kind are not to be known.
    MPI_Datatype send_type = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;

    bool operator==(const ProgramCall&) const = default;
    /// Whether it is the same call each time: a program may free other types, and then get the same
    /// handle for another type.
    bool has_named_types() const {
        return named_type(type) != nullptr &&
               (send_type == type || named_type(send_type) != nullptr);
    }
};

/// Calls that differ in nothing that is learnt, but perhaps in their buffers and a little in their
/// lengths. Tells whether a search has left them to the library.
struct LeftCalls : LeftToLibrary {
    std::uint64_t key = 0;
};

class AllLeftCalls {
public:
    /// Returns the place of such calls; others of the same place are forgotten. `bytes`: of all
    /// blocks.
    LeftCalls& of(CallKind kind, std::int64_t bytes, int root, const Call& traits) {
        const auto bits = [](auto value, int place) {
            return static_cast<std::uint64_t>(value) << place;
        };
        const std::uint64_t key = bits(std::bit_width(static_cast<std::uint64_t>(bytes)), 0) |
                                  bits(Learner::shape_of(bytes, false).quarter, 8) |
                                  bits(kind, 16) | bits(traits.type, 24) | bits(traits.op, 32) |
                                  bits(static_cast<std::uint32_t>(root), 40) |
                                  bits(traits.lengths != nullptr, 63);
        LeftCalls& left = places_[key * 0x9E3779B97F4A7C15U >> (64 - 6)];
        if (left.key != key) left = {{}, key};
        return left;
    }

private:
    std::array<LeftCalls, 64> places_ = {};
};

/// A call that was done before, with all that its repetitions need.
struct KnownCall {
    ProgramCall call;
    LeftCalls* left;          ///< the calls that it belongs to
    std::uint64_t key;        ///< of `left` then: other calls may have taken the place
    RepeatableRun run;        ///< none unless tutti did the call in the program's own memory
    std::int64_t work;        ///< see Ranks::will_do()
    std::uint64_t admission;  ///< its key for PlanAdmission
};

/// The calls that a program repeats on a communicator. Each place serves all calls of a hash.
class KnownCalls {
public:
    /// Returns null if it is not known.
    const KnownCall* find(const ProgramCall& call) const {
        if (places_ == nullptr) return nullptr;
        const std::optional<KnownCall>& known = (*places_)[place_of(hash_of(call))];
        return known && known->call == call ? &*known : nullptr;
    }
    /// Returns whether the last call in its place was this one, too: only then keep() it.
    bool is_repeated(const ProgramCall& call) {
        const std::uint64_t hash = hash_of(call);
        return std::exchange(last_[place_of(hash)], hash) == hash;
    }
    void keep(const KnownCall& known) {
        if (places_ == nullptr) places_ = std::make_unique<Places>();
        (*places_)[place_of(hash_of(known.call))] = known;
    }

private:
    static constexpr int bits = 6;
    using Places = std::array<std::optional<KnownCall>, 1 << bits>;

    static std::size_t place_of(std::uint64_t hash) { return hash >> (64 - bits); }
    static std::uint64_t hash_of(const ProgramCall& call) {
        const auto number = [](const void* address) {
            return reinterpret_cast<std::uintptr_t>(address);
        };
        const std::uint64_t differs = number(call.send) ^ number(call.receive) << 1 ^
                                      static_cast<std::uint64_t>(call.count + call.send_count)
                                          << 32 ^
                                      static_cast<std::uint64_t>(call.root) << 24 ^
                                      static_cast<std::uint64_t>(call.kind) << 56;
        return differs * 0x9E3779B97F4A7C15U;
    }

    std::unique_ptr<Places> places_;
    std::array<std::uint64_t, 1 << bits> last_ = {};  // hashes
};

}  // namespace tutti
