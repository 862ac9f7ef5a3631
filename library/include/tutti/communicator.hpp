// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autotune/table/table.hpp"
#include "tutti/call_arguments.hpp"

#pragma GCC visibility push(default)
namespace tutti {

class ReachableMemory;
class World;
struct Rendezvous;

/// What a communicator tries out while the program runs, and what that may cost.
struct Learning {
    /// The configurations that are tried for a collective; empty: all of this build. The same on
    /// all ranks.
    std::function<std::vector<Configuration>(Collective)> arms = {};
    /// The time lost by trying is at most this share of the time spent in blocking collectives.
    double bound = 0.05;
};

/// All ranks give the same options. The defaults choose algorithms by built-in rules.
struct CommunicatorOptions {
    /// Which configuration does which calls. It must have sections for these ranks: adapted()
    /// (tutti/table.hpp) makes them.
    std::optional<Table> table = {};
    /// Or the first rank's file of 'tutti tune', which is adapted to these ranks.
    std::string table_file = {};
    bool table_anyway = false;  ///< take a file that was made on another topology, too
    /// Whether other configurations are tried while the program runs.
    std::optional<Learning> learn = {};
    /// How many kinds of calls keep their plans; the one used longest ago is made again.
    std::size_t most_plans = 512;
    /// Seconds after which waiting for another rank throws; twice as many where plans are made. A
    /// Communicator(World&) uses its world's own. More than 0, or an error; infinity: never.
    double deadline = 30;
    /// Other threads of the process compute during the calls, as when gradients are summed while a
    /// backward pass goes on: a rank that waits soon sleeps, rather than keep a core busy.
    bool background = false;
};

/// A call under way, as a start_...() of Communicator returns it. Until it is done its buffers must
/// not be touched or freed. It must end before its communicator. The destructor waits for the call,
/// since messages may still arrive in the buffers; errors are then thrown by the next call.
class [[nodiscard]] Request {
public:
    Request() = default;
    Request(Request&& other) noexcept;
    Request& operator=(Request&& other) noexcept;
    ~Request();

    /// Makes progress on all calls under way; true once this one is done. Throws Error as wait().
    bool test();
    /// Returns when the call is done. Throws Error: Exit::time_out after the deadline, with the
    /// rank, step and peer that it waits for; Exit::rank_lost if a rank has ended.
    void wait();
    /// Whether the call is done, without making progress.
    bool is_done() const;
    /// Steps done, and an error message for a call that takes too long; for watchdogs.
    std::size_t progress_count() const;
    std::string hang_report() const;

    struct [[gnu::visibility("hidden")]] Slot;

private:
    friend class Communicator;
    Slot* slot_ = nullptr;
    std::uint64_t run_ = 0;
};

/// Collectives among the ranks of a program, each by the algorithm that is best for its size.
///
/// Buffers are contiguous ranges (std::vector, std::array, std::span) of integers, float, double or
/// the narrow types of tutti/element.hpp. Below P = size() and n is the length of a block, in
/// elements; a block per rank lies at index rank * n. With one buffer a call is in place, with two
/// they must not overlap. `output` of a rooted call may be empty on ranks that receive nothing, and
/// so may `input` on ranks that send nothing. start_...() returns at once and takes no temporary
/// that owns its elements.
///
/// All ranks make the same calls in the same order, as in MPI: same collective, type, operation,
/// root and length, all in place or all not, all blocking or all started. One thread at a time.
///
/// Every call throws Error, with one line that says what to do:
/// - Exit::usage before anything is sent: lengths that do not fit each other, a root that is not
///   among the ranks, overlapping buffers. The communicator stays usable.
/// - Exit::time_out where another rank does not join within the deadline, Exit::rank_lost where one
///   has ended or asks for another call. Then the communicator refuses all further calls, and the
///   call's buffers must stay allocated and untouched until the process ends: a rank that is late
///   may still write there.
///
/// All ranks make plans together. A plan serves later calls of the same kind, length and root, with
/// any buffers in unregistered memory. In registered memory (allocate()) each place has its own
/// plan. The first four kinds of calls get a plan at once, others after they have come repeatedly.
/// Until then the call copies its data into and out of a slot. All calls that use slots of one size
/// share a plan. A start_x() whose call uses a slot blocks until the call is complete.
class Communicator {
public:
    /// The ranks of a world, which must outlive it. Collective. Throws Error if ranks were given
    /// different options, or the table cannot be used here.
    explicit Communicator(World& world, CommunicatorOptions options = {});
    /// The ranks of an MPI communicator, over_mpi(MPI_Comm_c2f(comm)), which is duplicated; in a
    /// build for MPI's standard ABI, over_mpi(MPI_Comm_toint(comm)). MPI must be initialised. The
    /// communicator should end before MPI_Finalize; later it only refuses calls. Collective. Throws
    /// Error as above, and in a build without MPI.
    static Communicator over_mpi(int fortran_handle, CommunicatorOptions options = {});
    /// The processes that meet there without MPI (tutti/rendezvous.hpp). Collective. Throws Error
    /// as rendezvous_world() and as above.
    static Communicator over_rendezvous(const Rendezvous& where, CommunicatorOptions options = {});
    /// One rank by itself, without a launcher or MPI.
    static Communicator self(CommunicatorOptions options = {});

    Communicator(Communicator&&) noexcept;
    Communicator& operator=(Communicator&&) noexcept;
    /// Waits for what is under way, then for the other ranks. Collective.
    ~Communicator();

    Rank rank() const;  ///< 0 .. size() - 1
    int size() const;   ///< P

    /// Combines the ranks' vectors element by element; every rank gets the result.
    /// input: n, output: n; in place data: n.
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

    /// Combines the ranks' vectors; rank r gets block r of the result.
    /// input: P n, output: n; in place data: P n, with the result in block rank().
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

    /// Every rank gets the blocks of all, in the order of ranks.
    /// input: n, output: P n; in place data: P n, with the input in block rank().
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

    /// Every rank gets the root's vector. data: n.
    template <MutableElements Data>
    void broadcast(Data&& data, Rank root = {0}) {
        run(arguments::broadcast(data, root));
    }
    template <LastingMutableElements Data>
    Request start_broadcast(Data&& data, Rank root = {0}) {
        return start(arguments::broadcast(data, root));
    }

    /// Combines the ranks' vectors; the root gets the result.
    /// input: n, output: n on the root; in place data: n, which other ranks find overwritten.
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

    /// Rank r gets block r of the root's vector. input: P n on the root, output: n.
    template <Elements In, MutableElements Out>
    void scatter(const In& input, Out&& output, Rank root = {0}) {
        run(arguments::scatter(input, output, root));
    }
    template <LastingElements In, LastingMutableElements Out>
    Request start_scatter(In&& input, Out&& output, Rank root = {0}) {
        return start(arguments::scatter(input, output, root));
    }

    /// The root gets the blocks of all, in the order of ranks. input: n, output: P n on the root.
    template <Elements In, MutableElements Out>
    void gather(const In& input, Out&& output, Rank root = {0}) {
        run(arguments::gather(input, output, root));
    }
    template <LastingElements In, LastingMutableElements Out>
    Request start_gather(In&& input, Out&& output, Rank root = {0}) {
        return start(arguments::gather(input, output, root));
    }

    /// Block r of this rank's input becomes block rank() of rank r's output.
    /// input: P n, output: P n; in place data: P n.
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

    /// Returns when all ranks have come. Calls under way go on meanwhile.
    void barrier();

    /// A message to one other rank, of any length, which receives it under the same tag. For ranks
    /// of a rendezvous; those of MPI have MPI_Send. Other threads may be in other calls, and in
    /// send() or receive() with other ranks. send() returns once `data` may be changed, maybe
    /// before it is received. Throws Error: time_out after the deadline, rank_lost if the rank has
    /// ended, usage for another length than was sent. None of them breaks the communicator, and the
    /// buffer is the caller's again. After a time_out the call may be made once more, unless a part
    /// of the message had moved: then messages in this direction are refused (rank_lost).
    template <Elements Data>
    void send(const Data& data, Rank to, int tag = 0) {
        send_bytes(arguments::read(data), to, tag);
    }
    template <MutableElements Data>
    void receive(Data&& data, Rank from, int tag = 0) {
        receive_bytes(arguments::written(data), from, tag);
    }
    /// The same in bytes.
    void send_bytes(std::span<const std::byte> data, Rank to, int tag = 0);
    void receive_bytes(std::span<std::byte> data, Rank from, int tag = 0);

    /// Any of these calls, with types that are known at run time only; lengths in bytes.
    void run(const CallArguments& arguments);
    Request start(const CallArguments& arguments);

    /// `count` zeroed elements in registered memory, which ranks of one host read and write in
    /// place: the fastest buffers within a host. Collective, with the same count on all ranks. In a
    /// call every rank gives the same place of it, also where its buffer plays no part.
    /// Unregistered memory where ranks cannot share any. Freed by release() or with the
    /// communicator. Throws Error (Exit::usage) where there is not so much memory.
    template <Element T>
    std::span<T> allocate(std::size_t count) {
        constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
        const std::span<std::byte> memory =
            allocate_bytes(count > most / sizeof(T) ? most : count * sizeof(T));
        return {reinterpret_cast<T*>(memory.data()), count};
    }
    /// Frees what allocate() gave. All ranks release alike. Throws Error for other memory. Does
    /// nothing once the communicator refuses calls: all goes with it.
    template <Element T>
    void release(std::span<T> memory) {
        release_bytes(std::as_writable_bytes(memory));
    }
    /// The same in bytes.
    std::span<std::byte> allocate_bytes(std::size_t bytes);
    void release_bytes(std::span<std::byte> memory);

    /// From now on treats memory that the ranks share already as registered. It must live until
    /// disown() or longer than the communicator. All ranks adopt alike.
    void adopt(const ReachableMemory& memory);
    /// Undoes adopt(); waits for calls under way in the memory and drops their plans. Collective.
    void disown(const ReachableMemory& memory);

    /// The configuration of the plan for such a call. Makes the plan if there is none, so it is
    /// collective, and throws as the call does.
    Configuration choice_for(const CallArguments& arguments);

    /// What a communicator with CommunicatorOptions::learn has found, the same on all ranks; else
    /// without sections. overlay() and keep_table() (tutti/table.hpp) put it into a file.
    Table learnt();

    struct [[gnu::visibility("hidden")]] State;

private:
    explicit Communicator(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace tutti
#pragma GCC visibility pop
