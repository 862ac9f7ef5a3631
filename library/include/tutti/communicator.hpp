// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autotune/table/table.hpp"
#include "tutti/call_arguments.hpp"

#pragma GCC visibility push(default)
namespace tutti {

class ReachableMemory;
class World;
struct Rendezvous;

/// Online tuning: a communicator tries configurations while the program runs.
struct Learning {
    /// Returns the configurations to try for a collective. Empty: try all of this build. Must
    /// return the same on all ranks.
    std::function<std::vector<Configuration>(Collective)> arms = {};
    /// Max fraction of the time in blocking collectives that may be lost by trying.
    double bound = 0.05;
};

/// Options of a communicator. They must be equal on all ranks. By default, built-in rules choose
/// the algorithms.
struct CommunicatorOptions {
    /// Tuning table: the configuration for each call. It must have sections for these ranks; use
    /// adapted() (tutti/table.hpp) to create them.
    std::optional<Table> table = {};
    /// Alternative to `table`: a file of 'tutti tune'. Only rank 0 reads it. The table is adapted
    /// to these ranks.
    std::string table_file = {};
    bool table_anyway = false;  ///< also accept a file from a different topology
    /// Enables online tuning.
    std::optional<Learning> learn = {};
    /// Capacity of the plan cache, in kinds of calls. The least recently used plan is evicted.
    std::size_t most_plans = 512;
    /// Timeout in seconds for waiting for another rank; doubled while plans are made. Must be > 0;
    /// infinity disables it. Communicator(World&) uses the timeout of the world instead.
    double deadline = 30;
    /// True if other threads of the process compute during the calls, for example a backward pass
    /// while gradients are summed. Waiting ranks then sleep soon instead of spinning.
    bool background = false;
};

/// A non-blocking call, returned by Communicator::start_...(). Do not touch or free its buffers
/// until it is complete. It must end before its communicator. The destructor waits for the call,
/// because messages may still arrive in the buffers; an error is then thrown by the next call.
class [[nodiscard]] Request {
public:
    Request() = default;
    Request(Request&& other) noexcept;
    Request& operator=(Request&& other) noexcept;
    ~Request();

    /// Makes progress on all pending calls. Returns true once this one is complete. Throws Error
    /// (Exit::rank_lost) if a rank has ended; has no deadline.
    bool test();
    /// Waits until the call is complete. Throws Error: Exit::time_out after the deadline, naming
    /// the rank, step and peer that it waits for; Exit::rank_lost if a rank has ended.
    void wait();
    /// Returns whether the call is complete, without making progress.
    bool is_done() const;
    /// For watchdogs: the number of completed steps, and an error message for a call that hangs.
    std::size_t progress_count() const;
    std::string hang_report() const;

    struct [[gnu::visibility("hidden")]] Slot;

private:
    friend class Communicator;
    Slot* slot_ = nullptr;
    std::uint64_t run_ = 0;
};

/// Collectives among the ranks of a program. Each call uses the best algorithm for its size.
///
/// Buffers are contiguous ranges (std::vector, std::array, std::span) of integers, float, double or
/// the narrow types of tutti/element.hpp. Below, P = size() and n is the length of a block in
/// elements. A buffer with a block per rank has the block of rank r at index r * n. A call with one
/// buffer is in place; two buffers must not overlap. Ranks that receive nothing in a rooted call
/// may pass an empty `output`, ranks that send nothing an empty `input`. start_...() returns at
/// once. It does not accept temporaries that own their elements.
///
/// The calls that end with _v have blocks of different lengths, which may be 0 and lie side by side
/// in rank order. `counts` has the elements of each rank's block; it is read before the call
/// returns. In gather_v, scatter_v and all_to_all_v no rank knows all counts, so the ranks exchange
/// them first. Even a started call waits for that. Counts that contradict each other throw Error
/// (Exit::usage) on all ranks, before data is sent; the communicator stays usable.
///
/// All ranks make the same calls in the same order, as in MPI: same collective, type, operation,
/// root and length, all in place or none, all blocking or all started. Not thread-safe.
///
/// Every call can throw Error. The message is one line that says what to do:
/// - Exit::usage before anything is sent: wrong lengths, a root out of range, overlapping buffers.
///   The communicator stays usable.
/// - Exit::usage if ranks make different calls. Exit::time_out if another rank does not join within
///   the deadline. Exit::rank_lost if a rank has ended. After these, the communicator refuses all
///   calls. Keep the buffers of the failed call allocated and untouched until the process ends,
///   because a late rank may still write there.
///
/// All ranks make plans together, at the first call of a kind. A plan serves later calls of the
/// same collective and root, with blocks of up to the same power of two of bytes, of any type and
/// operation, in any buffers of one kind of memory.
class Communicator {
public:
    /// Uses the ranks of a world, which must outlive the communicator. Collective. Throws Error if
    /// the options differ between ranks or the table does not fit these ranks.
    explicit Communicator(World& world, CommunicatorOptions options = {});
    /// Uses the ranks of an MPI communicator, which is duplicated: over_mpi(MPI_Comm_c2f(comm)), or
    /// over_mpi(MPI_Comm_toint(comm)) in a build for MPI's standard ABI. MPI must be initialised.
    /// Destroy the communicator before MPI_Finalize; after it, all calls throw. Collective. Throws
    /// Error as above, and in a build without MPI.
    static Communicator over_mpi(int fortran_handle, CommunicatorOptions options = {});
    /// Connects processes without MPI (tutti/rendezvous.hpp). Collective. Throws Error as above and
    /// as rendezvous_world().
    static Communicator over_rendezvous(const Rendezvous& where, CommunicatorOptions options = {});
    /// Creates a communicator of one rank, without a launcher or MPI.
    static Communicator self(CommunicatorOptions options = {});

    Communicator(Communicator&&) noexcept;
    Communicator& operator=(Communicator&&) noexcept;
    /// Waits for pending calls, then for the other ranks. Collective.
    ~Communicator();

    Rank rank() const;  ///< 0 .. size() - 1
    int size() const;   ///< P

    /// Reduces the ranks' vectors element by element; every rank gets the result.
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

    /// Reduces the ranks' vectors; rank r gets block r of the result.
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
    /// The same with blocks of different lengths; `counts` is equal on all ranks.
    /// input: sum of counts, output: counts[rank()]; in place data: sum of counts.
    template <Elements In, MutableElements Out>
    void reduce_scatter_v(const In& input, Out&& output, std::span<const std::int64_t> counts,
                          Op op = Op::sum) {
        run(arguments::reduce_scatter(input, output, op), {counts});
    }
    template <MutableElements Data>
    void reduce_scatter_v(Data&& data, std::span<const std::int64_t> counts, Op op = Op::sum) {
        run(arguments::reduce_scatter(data, op, size()), {counts});
    }
    template <LastingElements In, LastingMutableElements Out>
    Request start_reduce_scatter_v(In&& input, Out&& output, std::span<const std::int64_t> counts,
                                   Op op = Op::sum) {
        return start(arguments::reduce_scatter(input, output, op), {counts});
    }
    template <LastingMutableElements Data>
    Request start_reduce_scatter_v(Data&& data, std::span<const std::int64_t> counts,
                                   Op op = Op::sum) {
        return start(arguments::reduce_scatter(data, op, size()), {counts});
    }

    /// Every rank gets the blocks of all ranks, in rank order.
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
    /// The same with blocks of different lengths; `counts` is equal on all ranks.
    /// input: counts[rank()], output: sum of counts; in place data: sum of counts.
    template <Elements In, MutableElements Out>
    void all_gather_v(const In& input, Out&& output, std::span<const std::int64_t> counts) {
        run(arguments::all_gather(input, output), {counts});
    }
    template <MutableElements Data>
    void all_gather_v(Data&& data, std::span<const std::int64_t> counts) {
        run(arguments::all_gather(data, size()), {counts});
    }
    template <LastingElements In, LastingMutableElements Out>
    Request start_all_gather_v(In&& input, Out&& output, std::span<const std::int64_t> counts) {
        return start(arguments::all_gather(input, output), {counts});
    }
    template <LastingMutableElements Data>
    Request start_all_gather_v(Data&& data, std::span<const std::int64_t> counts) {
        return start(arguments::all_gather(data, size()), {counts});
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

    /// Reduces the ranks' vectors; the root gets the result.
    /// input: n, output: n on the root; in place data: n, which is overwritten on other ranks.
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
    /// The same with blocks of different lengths. The root gives the `counts`; other ranks pass {}.
    /// input: sum of counts on the root, output: any length.
    template <Elements In, MutableElements Out>
    void scatter_v(const In& input, Out&& output, std::span<const std::int64_t> counts,
                   Rank root = {0}) {
        run(arguments::scatter(input, output, root), {counts});
    }
    template <LastingElements In, LastingMutableElements Out>
    Request start_scatter_v(In&& input, Out&& output, std::span<const std::int64_t> counts,
                            Rank root = {0}) {
        return start(arguments::scatter(input, output, root), {counts});
    }

    /// The root gets the blocks of all ranks, in rank order. input: n, output: P n on the root.
    template <Elements In, MutableElements Out>
    void gather(const In& input, Out&& output, Rank root = {0}) {
        run(arguments::gather(input, output, root));
    }
    template <LastingElements In, LastingMutableElements Out>
    Request start_gather(In&& input, Out&& output, Rank root = {0}) {
        return start(arguments::gather(input, output, root));
    }
    /// The same with blocks of different lengths. The root gives the `counts`; other ranks pass {}.
    /// input: any length, output: sum of counts on the root.
    template <Elements In, MutableElements Out>
    void gather_v(const In& input, Out&& output, std::span<const std::int64_t> counts,
                  Rank root = {0}) {
        run(arguments::gather(input, output, root), {counts});
    }
    template <LastingElements In, LastingMutableElements Out>
    Request start_gather_v(In&& input, Out&& output, std::span<const std::int64_t> counts,
                           Rank root = {0}) {
        return start(arguments::gather(input, output, root), {counts});
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
    /// The same with blocks of different lengths: this rank sends sent[r] elements to rank r, and
    /// receives received[r] elements from it. In place they are the same.
    /// input: sum of sent, output: sum of received; in place data: sum of counts.
    template <Elements In, MutableElements Out>
    void all_to_all_v(const In& input, Out&& output, std::span<const std::int64_t> sent,
                      std::span<const std::int64_t> received) {
        run(arguments::all_to_all(input, output, size()), {sent, received});
    }
    template <MutableElements Data>
    void all_to_all_v(Data&& data, std::span<const std::int64_t> counts) {
        run(arguments::all_to_all(data, size()), {counts});
    }
    template <LastingElements In, LastingMutableElements Out>
    Request start_all_to_all_v(In&& input, Out&& output, std::span<const std::int64_t> sent,
                               std::span<const std::int64_t> received) {
        return start(arguments::all_to_all(input, output, size()), {sent, received});
    }
    template <LastingMutableElements Data>
    Request start_all_to_all_v(Data&& data, std::span<const std::int64_t> counts) {
        return start(arguments::all_to_all(data, size()), {counts});
    }

    /// Reduces the vectors of ranks 0 to rank(), element by element.
    /// input: n, output: n; in place data: n.
    template <Elements In, MutableElements Out>
    void scan(const In& input, Out&& output, Op op = Op::sum) {
        run(arguments::scan(input, output, op));
    }
    template <MutableElements Data>
    void scan(Data&& data, Op op = Op::sum) {
        run(arguments::scan(data, op));
    }
    template <LastingElements In, LastingMutableElements Out>
    Request start_scan(In&& input, Out&& output, Op op = Op::sum) {
        return start(arguments::scan(input, output, op));
    }
    template <LastingMutableElements Data>
    Request start_scan(Data&& data, Op op = Op::sum) {
        return start(arguments::scan(data, op));
    }

    /// Reduces the vectors of the ranks before rank(). Rank 0's output stays as it is.
    /// input: n, output: n, except on rank 0; in place data: n.
    template <Elements In, MutableElements Out>
    void exscan(const In& input, Out&& output, Op op = Op::sum) {
        run(arguments::exscan(input, output, op));
    }
    template <MutableElements Data>
    void exscan(Data&& data, Op op = Op::sum) {
        run(arguments::exscan(data, op));
    }
    template <LastingElements In, LastingMutableElements Out>
    Request start_exscan(In&& input, Out&& output, Op op = Op::sum) {
        return start(arguments::exscan(input, output, op));
    }
    template <LastingMutableElements Data>
    Request start_exscan(Data&& data, Op op = Op::sum) {
        return start(arguments::exscan(data, op));
    }

    /// Returns when all ranks have entered it. Makes progress on pending calls meanwhile. The
    /// request of a started one is complete when all ranks have started it.
    void barrier();
    Request start_barrier() { return start(arguments::barrier()); }

    /// Sends a message of any length to another rank, which receives it with the same tag. Only for
    /// ranks of a rendezvous; with MPI, use MPI_Send. Thread-safe with other calls, and with send()
    /// and receive() to other ranks. send() returns when `data` may be changed, which can be before
    /// the message is received. Throws Error: time_out after the deadline, rank_lost if the peer
    /// has ended, usage if the lengths differ. After an error the communicator stays usable, and
    /// the buffer may be reused. After a time_out the call can be repeated, unless a part of the
    /// message was transferred: then messages in this direction are refused (rank_lost).
    template <Elements Data>
    void send(const Data& data, Rank to, int tag = 0) {
        send_bytes(arguments::read(data), to, tag);
    }
    template <MutableElements Data>
    void receive(Data&& data, Rank from, int tag = 0) {
        receive_bytes(arguments::written(data), from, tag);
    }
    /// The same for raw bytes.
    void send_bytes(std::span<const std::byte> data, Rank to, int tag = 0);
    void receive_bytes(std::span<std::byte> data, Rank from, int tag = 0);

    /// Any of the collectives above, with types chosen at run time and lengths in bytes.
    void run(const CallArguments& arguments);
    Request start(const CallArguments& arguments);
    /// The same with blocks of different lengths; ignores `arguments.call.count`.
    void run(const CallArguments& arguments, const BlockCounts& counts);
    Request start(const CallArguments& arguments, const BlockCounts& counts);

    /// Allocates `count` zeroed elements of registered memory, which all ranks of a host can access
    /// directly: the fastest buffers within a host. Collective, with the same count on all ranks.
    /// In a call, all ranks must pass parts of the same allocation, at any offsets.
    /// Returns unregistered memory if the ranks cannot share any. Freed by release() or with the
    /// communicator. Throws Error (Exit::usage) if there is not enough memory.
    template <Element T>
    std::span<T> allocate(std::size_t count) {
        constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
        const std::span<std::byte> memory =
            allocate_bytes(count > most / sizeof(T) ? most : count * sizeof(T));
        return {reinterpret_cast<T*>(memory.data()), count};
    }
    /// Frees memory of allocate(). Collective. Throws Error for other memory. Does nothing once the
    /// communicator refuses calls; its destructor then frees the memory.
    template <Element T>
    void release(std::span<T> memory) {
        release_bytes(std::as_writable_bytes(memory));
    }
    /// The same for raw bytes.
    std::span<std::byte> allocate_bytes(std::size_t bytes);
    void release_bytes(std::span<std::byte> memory);

    /// Registers memory that the ranks share already. It must live until disown(), or longer than
    /// the communicator. All ranks must make the same calls.
    void adopt(const ReachableMemory& memory);
    /// Undoes adopt(). Waits for pending calls in this memory and drops their plans. Collective.
    void disown(const ReachableMemory& memory);

    /// Returns the configuration that such a call uses. Makes the plan if there is none yet, so it
    /// is collective and throws like the call.
    Configuration choice_for(const CallArguments& arguments);

    /// Returns the results of online tuning (CommunicatorOptions::learn), equal on all ranks;
    /// without it, a table without sections. Use overlay() and keep_table() (tutti/table.hpp) to
    /// save them.
    Table learnt();

    struct [[gnu::visibility("hidden")]] State;

private:
    explicit Communicator(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace tutti
#pragma GCC visibility pop
