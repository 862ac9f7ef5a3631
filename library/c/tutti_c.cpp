// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "library/c/call.hpp"
#include "tutti/communicator.hpp"
#include "tutti/error.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/tutti.h"

struct tutti_request {
    std::vector<std::byte> root_block;  // the call's until it has ended
    tutti::Request call;
};

namespace {

using tutti::Collective;
using tutti::Error;
using tutti::expect_place;
using tutti::Given;
using tutti::Prepared;
using tutti::Rank;

thread_local std::string last_error;

// What goes wrong stays on this side.
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
    if (comm == nullptr) throw Error("the communicator is NULL; make one by tutti_comm_create");
    return *comm;
}

tutti::Communicator& ranks_of(tutti_comm* comm) { return given_comm(comm).ranks; }

tutti_result run(tutti_comm* comm, const Given& given) {
    return guarded([&] {
        const Prepared call = prepared(given_comm(comm), given);
        ranks_of(comm).run(call.arguments);
    });
}

tutti_result start(tutti_comm* comm, const Given& given, tutti_request** request) {
    return guarded([&] {
        expect_place(request, "where the request is to go");
        *request = nullptr;
        Prepared call = prepared(given_comm(comm), given);
        *request =
            new tutti_request{std::move(call.root_block), ranks_of(comm).start(call.arguments)};
    });
}

// What a newer program has more than this library knows is not looked at.
tutti_options options_of(const tutti_options* given) {
    const tutti_options defaults = TUTTI_OPTIONS_INIT;
    if (given == nullptr) return defaults;
    if (given->bytes < sizeof(tutti_options))
        throw Error("tutti_options of " + std::to_string(given->bytes) +
                    " bytes; begin with TUTTI_OPTIONS_INIT");
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
        expect_place(comm, "where the communicator is to go");
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
        expect_place(address, "the address");
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

tutti_result tutti_test(tutti_request** request, int* done) {
    return guarded([&] {
        expect_place(request, "the request");
        expect_place(done, "where the answer is to go");
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
        expect_place(request, "the request");
        const std::unique_ptr<tutti_request> ended(std::exchange(*request, nullptr));
        if (ended) ended->call.wait();
    });
}

tutti_result tutti_send(tutti_comm* comm, const void* data, size_t bytes, int to, int tag) {
    return guarded([&] {
        if (bytes > 0) expect_place(data, "what is to be sent");
        ranks_of(comm).send_bytes({static_cast<const std::byte*>(data), bytes}, Rank{to}, tag);
    });
}
tutti_result tutti_receive(tutti_comm* comm, void* data, size_t bytes, int from, int tag) {
    return guarded([&] {
        if (bytes > 0) expect_place(data, "where the message is to go");
        ranks_of(comm).receive_bytes({static_cast<std::byte*>(data), bytes}, Rank{from}, tag);
    });
}

tutti_result tutti_allocate(tutti_comm* comm, size_t bytes, void** memory) {
    return guarded([&] {
        expect_place(memory, "where the address is to go");
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
