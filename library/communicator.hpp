// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autotune/table/table.hpp"
#include "library/call_arguments.hpp"

namespace tutti {

class ReachableMemory;
class World;

/// What a communicator may try out while the program runs, and what it may cost.
struct Learning {
    /// What is tried for a collective; none: all that this build has. The same on all ranks.
    std::function<std::vector<Configuration>(Collective)> arms = {};
    /// Time lost by trying is at most this share of the time spent in collectives.
    double bound = 0.05;
};

struct CommunicatorOptions {
    /// Says which algorithm to take when, see docs/using_the_library.md. It must have sections for
    /// these ranks: fitted() (autotune/table/fitted.hpp) makes them. None: built-in rules. The same
    /// on all ranks.
    std::optional<Table> table = {};
    /// Instead of a table: the first rank's file of 'tutti tune', fitted to these ranks.
    std::string table_file = {};
    bool table_anyway = false;  ///< also of another topology
    /// None: nothing is tried.
    std::optional<Learning> learn = {};
    /// Kinds of calls that plans are kept for; the least recently used ones are made again.
    std::size_t most_plans = 512;
    /// Seconds after which a wait for another rank gives up and throws; twice as many where plans
    /// are made. Communicator(World&) keeps to its world's own.
    double deadline = 30;
};

/// A call under way. Its buffers belong to it until wait() has returned or test() was true, so
/// start_...() takes nothing that would end before that with the statement: a temporary vector,
/// say. It must end before its communicator does. One that is let go of first waits, also
/// while an error goes up the stack: its buffers end there, and messages may still arrive in them.
/// A call that others never join ends by the deadline.
class [[nodiscard]] Request {
public:
    Request() = default;
    Request(Request&& other) noexcept;
    Request& operator=(Request&& other) noexcept;
    ~Request();

    /// Moves all that is under way a little; true once this call is done.
    bool test();
    /// Throws Error (time_out) when another rank does not answer in time.
    void wait();
    /// As far as it has been moved; moves nothing.
    bool is_done() const;
    /// Steps done, and an error message for a call that takes too long.
    std::size_t progress_count() const;
    std::string hang_report() const;

    struct Slot;

private:
    friend class Communicator;
    Slot* slot_ = nullptr;
    std::uint64_t run_ = 0;
};

/// The way to use tutti in a program: collectives among ranks, each by the algorithm that is best
/// for its size. All ranks make the same calls in the same order, as in MPI: same collective, type,
/// operation, root and length, all with one buffer or all with two, all blocking or all not. One
/// thread at a time. Errors that all ranks see alike throw Error before anything is sent; after a
/// time-out or a lost rank the communicator cannot be used any more. Ending it is collective, too.
///
/// A call may be repeated with any buffers: plans are made once for each kind of call and carried
/// over. Only in registered memory (see allocate()) every place has a plan of its own.
class Communicator {
public:
    /// The ranks of a world that outlives it. Collective.
    explicit Communicator(World& world, CommunicatorOptions options = {});
    /// The ranks of an MPI communicator of the program's own: over_mpi(MPI_Comm_c2f(comm)). Works
    /// on a duplicate. MPI runs, and runs on until this has ended; after MPI_Finalize it can only
    /// be let go of. Collective.
    static Communicator over_mpi(int fortran_handle, CommunicatorOptions options = {});
    /// A program that is one rank by itself.
    static Communicator self(CommunicatorOptions options = {});

    Communicator(Communicator&&) noexcept;
    Communicator& operator=(Communicator&&) noexcept;
    ~Communicator();

    Rank rank() const;
    int size() const;

    /// Every rank's vector combined, on every rank.
    template <Elements In, MutableElements Out>
    void all_reduce(const In& input, Out&& output, Op op = Op::sum) {
        run(arguments::all_reduce(input, output, op));
    }
    template <MutableElements Data>
    void all_reduce(Data&& data, Op op = Op::sum) {
        run(arguments::all_reduce(data, op));
    }
    template <LastingElements In, LastingMutableElements Out>
    Request start_all_reduce(In&& input, Out&& output, Op op = Op::sum) {
        return start(arguments::all_reduce(input, output, op));
    }
    template <LastingMutableElements Data>
    Request start_all_reduce(Data&& data, Op op = Op::sum) {
        return start(arguments::all_reduce(data, op));
    }

    /// `input` has a block for each rank; each ends with its own, combined. In place it stays where
    /// it was in `data`.
    template <Elements In, MutableElements Out>
    void reduce_scatter(const In& input, Out&& output, Op op = Op::sum) {
        run(arguments::reduce_scatter(input, output, op));
    }
    template <MutableElements Data>
    void reduce_scatter(Data&& data, Op op = Op::sum) {
        run(arguments::reduce_scatter(data, op, size()));
    }
    template <LastingElements In, LastingMutableElements Out>
    Request start_reduce_scatter(In&& input, Out&& output, Op op = Op::sum) {
        return start(arguments::reduce_scatter(input, output, op));
    }
    template <LastingMutableElements Data>
    Request start_reduce_scatter(Data&& data, Op op = Op::sum) {
        return start(arguments::reduce_scatter(data, op, size()));
    }

    /// Every rank's `input`, in the order of ranks. In place each rank's block is where it belongs
    /// in `data`.
    template <Elements In, MutableElements Out>
    void all_gather(const In& input, Out&& output) {
        run(arguments::all_gather(input, output));
    }
    template <MutableElements Data>
    void all_gather(Data&& data) {
        run(arguments::all_gather(data, size()));
    }
    template <LastingElements In, LastingMutableElements Out>
    Request start_all_gather(In&& input, Out&& output) {
        return start(arguments::all_gather(input, output));
    }
    template <LastingMutableElements Data>
    Request start_all_gather(Data&& data) {
        return start(arguments::all_gather(data, size()));
    }

    /// The root's `data`, on every rank.
    template <MutableElements Data>
    void broadcast(Data&& data, Rank root = {0}) {
        run(arguments::broadcast(data, root));
    }
    template <LastingMutableElements Data>
    Request start_broadcast(Data&& data, Rank root = {0}) {
        return start(arguments::broadcast(data, root));
    }

    /// Every rank's vector combined, on the root alone. `data` of other ranks may change.
    template <Elements In, MutableElements Out>
    void reduce(const In& input, Out&& output, Op op = Op::sum, Rank root = {0}) {
        run(arguments::reduce(input, output, op, root));
    }
    template <MutableElements Data>
    void reduce(Data&& data, Op op = Op::sum, Rank root = {0}) {
        run(arguments::reduce(data, op, root));
    }
    template <LastingElements In, LastingMutableElements Out>
    Request start_reduce(In&& input, Out&& output, Op op = Op::sum, Rank root = {0}) {
        return start(arguments::reduce(input, output, op, root));
    }
    template <LastingMutableElements Data>
    Request start_reduce(Data&& data, Op op = Op::sum, Rank root = {0}) {
        return start(arguments::reduce(data, op, root));
    }

    /// A block of the root's `input` for each rank.
    template <Elements In, MutableElements Out>
    void scatter(const In& input, Out&& output, Rank root = {0}) {
        run(arguments::scatter(input, output, root));
    }
    template <LastingElements In, LastingMutableElements Out>
    Request start_scatter(In&& input, Out&& output, Rank root = {0}) {
        return start(arguments::scatter(input, output, root));
    }

    /// Every rank's `input` in the order of ranks, on the root alone.
    template <Elements In, MutableElements Out>
    void gather(const In& input, Out&& output, Rank root = {0}) {
        run(arguments::gather(input, output, root));
    }
    template <LastingElements In, LastingMutableElements Out>
    Request start_gather(In&& input, Out&& output, Rank root = {0}) {
        return start(arguments::gather(input, output, root));
    }

    /// Block r of this rank's input goes to rank r, as block of this rank there.
    template <Elements In, MutableElements Out>
    void all_to_all(const In& input, Out&& output) {
        run(arguments::all_to_all(input, output, size()));
    }
    template <MutableElements Data>
    void all_to_all(Data&& data) {
        run(arguments::all_to_all(data, size()));
    }
    template <LastingElements In, LastingMutableElements Out>
    Request start_all_to_all(In&& input, Out&& output) {
        return start(arguments::all_to_all(input, output, size()));
    }
    template <LastingMutableElements Data>
    Request start_all_to_all(Data&& data) {
        return start(arguments::all_to_all(data, size()));
    }

    /// The same without types.
    void run(const CallArguments& arguments);
    Request start(const CallArguments& arguments);

    /// Zeroed memory for messages that peers can reach, so that they read and write it without
    /// copies between: the fastest buffers within a host. Collective, with the same count on all
    /// ranks. Calls in it are symmetric: every rank gives the same places, of buffers that were
    /// allocated together, also where its buffer plays no part. Unregistered memory where the ranks
    /// cannot share any. Lives as long as the communicator, or until release().
    template <Element T>
    std::span<T> allocate(std::size_t count) {
        const std::span<std::byte> memory = allocate_bytes(count * sizeof(T));
        return {reinterpret_cast<T*>(memory.data()), count};
    }
    template <Element T>
    void release(std::span<T> memory) {
        release_bytes(std::as_writable_bytes(memory));
    }
    std::span<std::byte> allocate_bytes(std::size_t bytes);
    void release_bytes(std::span<std::byte> memory);

    /// Takes memory that the ranks share already for registered memory. It lives until disown(), or
    /// longer than the communicator. All ranks adopt alike.
    void adopt(const ReachableMemory& memory);
    /// Lets go of it, and of the plans in it; what is under way there ends first. Collective.
    void disown(const ReachableMemory& memory);

    /// What a call is done by at present; made now if it was not before, so collective.
    Configuration choice_for(const CallArguments& arguments);

    /// What was found while the program ran, the same on all ranks; without sections unless it
    /// learns. To be kept by keep_table() (autotune/table/table_json.hpp) on one rank.
    Table learnt();

    struct State;

private:
    explicit Communicator(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace tutti
