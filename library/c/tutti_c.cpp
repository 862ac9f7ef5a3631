// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "tutti/communicator.hpp"
#include "tutti/error.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/tutti.h"

struct tutti_comm {
    tutti::Communicator ranks;
    std::vector<std::span<std::byte>> allocated = {};  // by tutti_allocate
};

struct tutti_request {
    std::vector<std::byte> root_block;  // in use until the call has ended
    tutti::Request call;
};

namespace {

using tutti::Call;
using tutti::CallArguments;
using tutti::Collective;
using tutti::DataType;
using tutti::Error;
using tutti::Op;
using tutti::Rank;

thread_local std::string last_error;

// A call as C programs make it. `count` is the number of elements of a vector or block.
struct CallFromC {
    Collective collective;
    const void* input;
    void* output;
    std::size_t count;
    tutti_type type;
    tutti_op op = TUTTI_SUM;
    int root = 0;
};

// A call whose blocks have different lengths. `count` is that of this rank's block in a gather or
// scatter, where only the root has `counts`.
struct BlocksFromC : CallFromC {
    const std::size_t* counts = nullptr;
    const std::size_t* received = nullptr;  // counts received in all_to_all
};

// The same call for the communicator, with memory that it needs until it has ended.
struct StagedCall {
    CallArguments arguments;
    std::vector<std::byte> root_block = {};
    std::optional<tutti::BlockCounts> counts = {};  // if blocks have different lengths
};

void expect_pointer(const void* pointer, const char* name) {
    if (pointer == nullptr) throw Error(std::string(name) + " is NULL");
}

DataType type_of(tutti_type type) {
    constexpr std::array types{DataType::int8,     DataType::int16,   DataType::int32,
                               DataType::int64,    DataType::uint8,   DataType::uint16,
                               DataType::uint32,   DataType::uint64,  DataType::half,
                               DataType::bfloat16, DataType::float32, DataType::float64};
    const auto number = static_cast<std::size_t>(type);
    if (number >= types.size())
        throw Error("unknown type " + std::to_string(number) + "; use a value of tutti_type");
    return types[number];
}

Op op_of(tutti_op op) {
    constexpr std::array ops{Op::sum, Op::prod, Op::min, Op::max, Op::avg};
    const auto number = static_cast<std::size_t>(op);
    if (number >= ops.size())
        throw Error("unknown operation " + std::to_string(number) + "; use a value of tutti_op");
    return ops[number];
}

// In a gather or scatter the root may be in place where other ranks are not, and ranks do not know
// this of each other. So no rank is in place for the communicator: the root's own block is copied.
// Memory of tutti_allocate is different: all ranks give the same places of it.
StagedCall rooted_in_place(const tutti_comm& comm, const Call& call, std::span<std::byte> buffer,
                           std::size_t root_block, std::size_t block) {
    const bool gathers = call.collective == Collective::gather;
    const bool is_root = comm.ranks.rank() == call.root;
    if (!is_root) buffer = buffer.first(block);
    if (std::ranges::any_of(comm.allocated, [&](std::span<std::byte> one) {
            return buffer.data() >= one.data() && buffer.data() < one.data() + one.size();
        }))
        return {{call, {buffer, buffer, true}}};
    if (!is_root)
        return {gathers ? CallArguments{call, {buffer, {}, false}}
                        : CallArguments{call, {{}, buffer, false}}};
    std::vector<std::byte> own(block);
    if (gathers && block > 0) std::memcpy(own.data(), &buffer[root_block], block);
    const CallArguments apart = gathers ? CallArguments{call, {own, buffer, false}}
                                        : CallArguments{call, {buffer, own, false}};
    return {apart, std::move(own)};
}

// Returns the size of some elements. Refuses a count whose size in bytes would overflow in a buffer
// of all ranks, for example a negative one.
std::size_t bytes_of(std::size_t count, DataType type, std::size_t ranks) {
    if (count > PTRDIFF_MAX / size_of(type) / ranks)
        throw Error("a count of " + std::to_string(count) + " exceeds the size of memory");
    return count * size_of(type);
}

StagedCall staged(const tutti_comm& comm, const BlocksFromC& given) {
    const DataType type = type_of(given.type);
    const Call call{given.collective, type, op_of(given.op), Rank{given.root}};
    const auto ranks = static_cast<std::size_t>(comm.ranks.size());
    const Rank me = comm.ranks.rank();
    const Collective collective = given.collective;
    const bool gathers = collective == Collective::gather,
               scatters = collective == Collective::scatter,
               is_of_pairs = collective == Collective::all_to_all, is_rooted = gathers || scatters,
               is_root = me == call.root, in_place = given.input == TUTTI_IN_PLACE;
    tutti::BlockCounts counts;
    if (!is_rooted || is_root) {
        expect_pointer(given.counts, "the array of counts");
        counts.blocks = {reinterpret_cast<const std::int64_t*>(given.counts), ranks};
    }
    if (is_of_pairs && !(in_place && given.received == nullptr)) {
        expect_pointer(given.received, "the array of received counts");
        counts.received = {reinterpret_cast<const std::int64_t*>(given.received), ranks};
    }
    if (is_rooted && is_root && given.count != given.counts[me.index])
        throw Error("the count of the root is " + std::to_string(given.count) +
                    ", but its counts have " + std::to_string(given.counts[me.index]) +
                    " for it; pass the same");
    const auto bytes_before = [&](std::span<const std::int64_t> blocks, std::size_t end) {
        std::size_t bytes = 0;
        for (const std::int64_t count : blocks.first(end))
            bytes += bytes_of(static_cast<std::size_t>(count), type, ranks);
        return bytes;
    };
    const std::size_t all = bytes_before(counts.blocks, counts.blocks.size());
    const std::size_t own =
        is_of_pairs ? bytes_before(counts.received, counts.received.size())
                    : bytes_of(is_rooted ? given.count : given.counts[me.index], type, ranks);
    auto* const output = static_cast<std::byte*>(given.output);
    if (in_place) {
        const std::size_t bytes = is_rooted && !is_root ? own : all;
        if (bytes > 0) expect_pointer(output, "the buffer");
        const std::span<std::byte> data(output, bytes);
        if (!is_rooted) return {{call, {data, data, true}}, {}, counts};
        const std::size_t root_block =
            is_root ? bytes_before(counts.blocks, static_cast<std::size_t>(me.index)) : 0;
        StagedCall call_in_place = rooted_in_place(comm, call, data, root_block, own);
        call_in_place.counts = counts;
        return call_in_place;
    }
    const auto* const input = static_cast<const std::byte*>(given.input);
    const bool is_all_in = collective == Collective::reduce_scatter || scatters || is_of_pairs;
    const std::size_t input_bytes = input == nullptr ? 0 : is_all_in ? all : own;
    const std::size_t output_bytes = output == nullptr ? 0 : is_all_in ? own : all;
    return {{call, {{input, input_bytes}, {output, output_bytes}, false}}, {}, counts};
}

StagedCall staged(const tutti_comm& comm, const CallFromC& given) {
    const DataType type = type_of(given.type);
    const Call call{given.collective, type, op_of(given.op), Rank{given.root},
                    static_cast<std::int64_t>(given.count)};
    const auto blocks = static_cast<std::size_t>(comm.ranks.size());
    const std::size_t block = bytes_of(given.count, type, blocks);
    const std::size_t all = block * blocks;
    const Collective collective = given.collective;
    const bool has_blocks_in = collective == Collective::reduce_scatter ||
                               collective == Collective::scatter ||
                               collective == Collective::all_to_all;
    const bool has_blocks_out = collective == Collective::all_gather ||
                                collective == Collective::gather ||
                                collective == Collective::all_to_all;
    const bool in_place = given.input == TUTTI_IN_PLACE || collective == Collective::broadcast;
    auto* const output = static_cast<std::byte*>(given.output);
    if (in_place) {
        if (block > 0) expect_pointer(output, "the buffer");
        const std::span<std::byte> data(output, has_blocks_in || has_blocks_out ? all : block);
        if (collective == Collective::gather || collective == Collective::scatter)
            return rooted_in_place(comm, call, data,
                                   static_cast<std::size_t>(call.root.index) * block, block);
        return {{call, {data, data, true}}};
    }
    const auto* const input = static_cast<const std::byte*>(given.input);
    // The communicator checks which buffers must be there.
    const std::size_t input_bytes = input == nullptr ? 0 : has_blocks_in ? all : block;
    const std::size_t output_bytes = output == nullptr ? 0 : has_blocks_out ? all : block;
    return {{call, {{input, input_bytes}, {output, output_bytes}, false}}};
}

// Runs a function. Turns its exceptions into result codes and the last error.
template <class Do>
tutti_result guarded(Do&& what) {
    try {
        what();
        return TUTTI_OK;
    } catch (const Error& error) {
        last_error = error.what();
        return static_cast<tutti_result>(error.code());
    } catch (const std::exception& error) {
        last_error = error.what();
        return TUTTI_INTERNAL;
    }
}

tutti_comm& given_comm(tutti_comm* comm) {
    if (comm == nullptr) throw Error("the communicator is NULL; create one with tutti_comm_create");
    return *comm;
}

tutti::Communicator& ranks_of(tutti_comm* comm) { return given_comm(comm).ranks; }

template <class Given = CallFromC>
tutti_result run(tutti_comm* comm, const Given& given) {
    return guarded([&] {
        const StagedCall call = staged(given_comm(comm), given);
        if (call.counts) return comm->ranks.run(call.arguments, *call.counts);
        comm->ranks.run(call.arguments);
    });
}

template <class Given = CallFromC>
tutti_result start(tutti_comm* comm, const Given& given, tutti_request** request) {
    return guarded([&] {
        expect_pointer(request, "the pointer to the request");
        *request = nullptr;
        StagedCall call = staged(given_comm(comm), given);
        tutti::Request started = call.counts ? comm->ranks.start(call.arguments, *call.counts)
                                             : comm->ranks.start(call.arguments);
        *request = new tutti_request{std::move(call.root_block), std::move(started)};
    });
}

// Ignores options that a newer program has and this library does not know.
tutti_options options_of(const tutti_options* given) {
    const tutti_options defaults = TUTTI_OPTIONS_INIT;
    if (given == nullptr) return defaults;
    if (given->bytes < sizeof(tutti_options))
        throw Error("tutti_options of " + std::to_string(given->bytes) +
                    " bytes is too small; initialise it with TUTTI_OPTIONS_INIT");
    return *given;
}

tutti::CommunicatorOptions settings_of(const tutti_options& options) {
    tutti::CommunicatorOptions settings;
    settings.deadline = options.deadline;
    settings.background = options.background != 0;
    if (options.table != nullptr) settings.table_file = options.table;
    return settings;
}

template <class Make>
tutti_result make(tutti_comm** comm, const tutti_options* given, Make&& made_by) {
    return guarded([&] {
        expect_pointer(comm, "the pointer to the communicator");
        *comm = nullptr;
        const tutti_options options = options_of(given);
        *comm = new tutti_comm{made_by(options, settings_of(options))};
    });
}

tutti::Rendezvous with_options(tutti::Rendezvous where, const tutti_options& options) {
    if (options.job != nullptr) where.job = options.job;
    where.deadline = options.deadline;
    where.listening_socket = options.listening_socket;
    return where;
}

}  // namespace

int tutti_abi_version(void) { return TUTTI_C_ABI_VERSION; }

const char* tutti_version(void) { return TUTTI_VERSION; }

const char* tutti_last_error(void) { return last_error.c_str(); }

tutti_result tutti_comm_create(const char* address, int rank, int size, const tutti_options* given,
                               tutti_comm** comm) {
    return make(comm, given, [&](const auto& options, const auto& settings) {
        expect_pointer(address, "the address");
        const tutti::Rendezvous where{.address = address, .rank = rank, .size = size};
        return tutti::Communicator::over_rendezvous(with_options(where, options), settings);
    });
}

tutti_result tutti_comm_create_from_environment(const tutti_options* given, tutti_comm** comm) {
    return make(comm, given, [&](const auto& options, const auto& settings) {
        return tutti::Communicator::over_rendezvous(
            with_options(tutti::rendezvous_from_environment(), options), settings);
    });
}

tutti_result tutti_comm_create_over_mpi(int fortran_handle, const tutti_options* given,
                                        tutti_comm** comm) {
    return make(comm, given, [&](const auto&, const auto& settings) {
        return tutti::Communicator::over_mpi(fortran_handle, settings);
    });
}

tutti_result tutti_comm_create_self(const tutti_options* given, tutti_comm** comm) {
    return make(comm, given, [&](const auto&, const auto& settings) {
        return tutti::Communicator::self(settings);
    });
}

void tutti_comm_free(tutti_comm* comm) { delete comm; }

int tutti_comm_rank(const tutti_comm* comm) { return comm->ranks.rank().index; }
int tutti_comm_size(const tutti_comm* comm) { return comm->ranks.size(); }

tutti_result tutti_all_reduce(tutti_comm* comm, const void* input, void* output, size_t count,
                              tutti_type type, tutti_op op) {
    return run(comm, {Collective::all_reduce, input, output, count, type, op});
}
tutti_result tutti_reduce(tutti_comm* comm, const void* input, void* output, size_t count,
                          tutti_type type, tutti_op op, int root) {
    return run(comm, {Collective::reduce, input, output, count, type, op, root});
}
tutti_result tutti_reduce_scatter(tutti_comm* comm, const void* input, void* output, size_t count,
                                  tutti_type type, tutti_op op) {
    return run(comm, {Collective::reduce_scatter, input, output, count, type, op});
}
tutti_result tutti_broadcast(tutti_comm* comm, void* data, size_t count, tutti_type type,
                             int root) {
    return run(comm, {Collective::broadcast, data, data, count, type, TUTTI_SUM, root});
}
tutti_result tutti_all_gather(tutti_comm* comm, const void* input, void* output, size_t count,
                              tutti_type type) {
    return run(comm, {Collective::all_gather, input, output, count, type});
}
tutti_result tutti_gather(tutti_comm* comm, const void* input, void* output, size_t count,
                          tutti_type type, int root) {
    return run(comm, {Collective::gather, input, output, count, type, TUTTI_SUM, root});
}
tutti_result tutti_scatter(tutti_comm* comm, const void* input, void* output, size_t count,
                           tutti_type type, int root) {
    return run(comm, {Collective::scatter, input, output, count, type, TUTTI_SUM, root});
}
tutti_result tutti_all_to_all(tutti_comm* comm, const void* input, void* output, size_t count,
                              tutti_type type) {
    return run(comm, {Collective::all_to_all, input, output, count, type});
}
tutti_result tutti_reduce_scatter_v(tutti_comm* comm, const void* input, void* output,
                                    const size_t* counts, tutti_type type, tutti_op op) {
    return run(comm, BlocksFromC{{Collective::reduce_scatter, input, output, 0, type, op}, counts});
}
tutti_result tutti_all_gather_v(tutti_comm* comm, const void* input, void* output,
                                const size_t* counts, tutti_type type) {
    return run(comm, BlocksFromC{{Collective::all_gather, input, output, 0, type}, counts});
}
tutti_result tutti_gather_v(tutti_comm* comm, const void* input, void* output, size_t count,
                            const size_t* counts, tutti_type type, int root) {
    return run(comm, BlocksFromC{{Collective::gather, input, output, count, type, TUTTI_SUM, root},
                                 counts});
}
tutti_result tutti_scatter_v(tutti_comm* comm, const void* input, void* output, size_t count,
                             const size_t* counts, tutti_type type, int root) {
    return run(comm, BlocksFromC{{Collective::scatter, input, output, count, type, TUTTI_SUM, root},
                                 counts});
}
tutti_result tutti_all_to_all_v(tutti_comm* comm, const void* input, void* output,
                                const size_t* sent, const size_t* received, tutti_type type) {
    return run(comm, BlocksFromC{{Collective::all_to_all, input, output, 0, type}, sent, received});
}
tutti_result tutti_scan(tutti_comm* comm, const void* input, void* output, size_t count,
                        tutti_type type, tutti_op op) {
    return run(comm, {Collective::scan, input, output, count, type, op});
}
tutti_result tutti_exscan(tutti_comm* comm, const void* input, void* output, size_t count,
                          tutti_type type, tutti_op op) {
    return run(comm, {Collective::exscan, input, output, count, type, op});
}
tutti_result tutti_barrier(tutti_comm* comm) {
    return guarded([&] { ranks_of(comm).barrier(); });
}

tutti_result tutti_start_all_reduce(tutti_comm* comm, const void* input, void* output, size_t count,
                                    tutti_type type, tutti_op op, tutti_request** request) {
    return start(comm, {Collective::all_reduce, input, output, count, type, op}, request);
}
tutti_result tutti_start_reduce(tutti_comm* comm, const void* input, void* output, size_t count,
                                tutti_type type, tutti_op op, int root, tutti_request** request) {
    return start(comm, {Collective::reduce, input, output, count, type, op, root}, request);
}
tutti_result tutti_start_reduce_scatter(tutti_comm* comm, const void* input, void* output,
                                        size_t count, tutti_type type, tutti_op op,
                                        tutti_request** request) {
    return start(comm, {Collective::reduce_scatter, input, output, count, type, op}, request);
}
tutti_result tutti_start_broadcast(tutti_comm* comm, void* data, size_t count, tutti_type type,
                                   int root, tutti_request** request) {
    return start(comm, {Collective::broadcast, data, data, count, type, TUTTI_SUM, root}, request);
}
tutti_result tutti_start_all_gather(tutti_comm* comm, const void* input, void* output, size_t count,
                                    tutti_type type, tutti_request** request) {
    return start(comm, {Collective::all_gather, input, output, count, type}, request);
}
tutti_result tutti_start_gather(tutti_comm* comm, const void* input, void* output, size_t count,
                                tutti_type type, int root, tutti_request** request) {
    return start(comm, {Collective::gather, input, output, count, type, TUTTI_SUM, root}, request);
}
tutti_result tutti_start_scatter(tutti_comm* comm, const void* input, void* output, size_t count,
                                 tutti_type type, int root, tutti_request** request) {
    return start(comm, {Collective::scatter, input, output, count, type, TUTTI_SUM, root}, request);
}
tutti_result tutti_start_all_to_all(tutti_comm* comm, const void* input, void* output, size_t count,
                                    tutti_type type, tutti_request** request) {
    return start(comm, {Collective::all_to_all, input, output, count, type}, request);
}
tutti_result tutti_start_scan(tutti_comm* comm, const void* input, void* output, size_t count,
                              tutti_type type, tutti_op op, tutti_request** request) {
    return start(comm, {Collective::scan, input, output, count, type, op}, request);
}
tutti_result tutti_start_exscan(tutti_comm* comm, const void* input, void* output, size_t count,
                                tutti_type type, tutti_op op, tutti_request** request) {
    return start(comm, {Collective::exscan, input, output, count, type, op}, request);
}
tutti_result tutti_start_barrier(tutti_comm* comm, tutti_request** request) {
    return start(comm, {Collective::barrier, nullptr, nullptr, 0, TUTTI_UINT8}, request);
}
tutti_result tutti_start_reduce_scatter_v(tutti_comm* comm, const void* input, void* output,
                                          const size_t* counts, tutti_type type, tutti_op op,
                                          tutti_request** request) {
    return start(comm,
                 BlocksFromC{{Collective::reduce_scatter, input, output, 0, type, op}, counts},
                 request);
}
tutti_result tutti_start_all_gather_v(tutti_comm* comm, const void* input, void* output,
                                      const size_t* counts, tutti_type type,
                                      tutti_request** request) {
    return start(comm, BlocksFromC{{Collective::all_gather, input, output, 0, type}, counts},
                 request);
}
tutti_result tutti_start_gather_v(tutti_comm* comm, const void* input, void* output, size_t count,
                                  const size_t* counts, tutti_type type, int root,
                                  tutti_request** request) {
    return start(
        comm,
        BlocksFromC{{Collective::gather, input, output, count, type, TUTTI_SUM, root}, counts},
        request);
}
tutti_result tutti_start_scatter_v(tutti_comm* comm, const void* input, void* output, size_t count,
                                   const size_t* counts, tutti_type type, int root,
                                   tutti_request** request) {
    return start(
        comm,
        BlocksFromC{{Collective::scatter, input, output, count, type, TUTTI_SUM, root}, counts},
        request);
}
tutti_result tutti_start_all_to_all_v(tutti_comm* comm, const void* input, void* output,
                                      const size_t* sent, const size_t* received, tutti_type type,
                                      tutti_request** request) {
    return start(comm,
                 BlocksFromC{{Collective::all_to_all, input, output, 0, type}, sent, received},
                 request);
}

tutti_result tutti_test(tutti_request** request, int* done) {
    return guarded([&] {
        expect_pointer(request, "the request");
        expect_pointer(done, "the pointer to the flag");
        *done = 1;
        if (*request == nullptr) return;
        try {
            if (!(*request)->call.test()) *done = 0;
        } catch (...) {
            delete std::exchange(*request, nullptr);
            throw;
        }
        if (*done == 1) delete std::exchange(*request, nullptr);
    });
}

tutti_result tutti_wait(tutti_request** request) {
    return guarded([&] {
        expect_pointer(request, "the request");
        const std::unique_ptr<tutti_request> ended(std::exchange(*request, nullptr));
        if (ended) ended->call.wait();
    });
}

tutti_result tutti_send(tutti_comm* comm, const void* data, size_t bytes, int to, int tag) {
    return guarded([&] {
        if (bytes > 0) expect_pointer(data, "the message");
        ranks_of(comm).send_bytes({static_cast<const std::byte*>(data), bytes}, Rank{to}, tag);
    });
}
tutti_result tutti_receive(tutti_comm* comm, void* data, size_t bytes, int from, int tag) {
    return guarded([&] {
        if (bytes > 0) expect_pointer(data, "the receive buffer");
        ranks_of(comm).receive_bytes({static_cast<std::byte*>(data), bytes}, Rank{from}, tag);
    });
}

tutti_result tutti_allocate(tutti_comm* comm, size_t bytes, void** memory) {
    return guarded([&] {
        expect_pointer(memory, "the pointer to the address");
        const std::span<std::byte> allocated = ranks_of(comm).allocate_bytes(bytes);
        comm->allocated.push_back(allocated);
        *memory = allocated.data();
    });
}
tutti_result tutti_free(tutti_comm* comm, void* memory, size_t bytes) {
    return guarded([&] {
        ranks_of(comm).release_bytes({static_cast<std::byte*>(memory), bytes});
        std::erase_if(comm->allocated, [&](const auto& one) { return one.data() == memory; });
    });
}
