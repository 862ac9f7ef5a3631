// SPDX-License-Identifier: Apache-2.0
#include "collectives/baselines/mpi_probe.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "collectives/transport/messages/mpi_library.hpp"

namespace tutti {
namespace {

// The first ranks of the job, made without a collective of all ranks.
class FirstRanks {
public:
    explicit FirstRanks(int ranks) {
        MPI_Group all = MPI_GROUP_NULL, first = MPI_GROUP_NULL;
        int range[1][3] = {{0, ranks - 1, 1}};
        check(PMPI_Comm_group(MPI_COMM_WORLD, &all));
        check(PMPI_Group_range_incl(all, 1, range, &first));
        check(PMPI_Comm_create_group(MPI_COMM_WORLD, first, ranks, &comm_));
        check(PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
        check(PMPI_Group_free(&first));
        check(PMPI_Group_free(&all));
    }
    ~FirstRanks() { PMPI_Comm_free(&comm_); }
    FirstRanks(const FirstRanks&) = delete;
    FirstRanks& operator=(const FirstRanks&) = delete;

    // Returns the call's error code. A byte is an element, so that every size is possible.
    int error_of(const ProbedCall& call) {
        const auto bytes = static_cast<std::size_t>(call.size.count);
        input_.resize(bytes + 1);
        output_.resize(bytes + 1);
        void* const in = input_.data();
        void* const out = output_.data();
        const int all = static_cast<int>(bytes), block = all / call.ranks;
        const MPI_Datatype type = MPI_BYTE;
        switch (call.collective) {
            case Collective::all_reduce:
                return PMPI_Allreduce(in, out, all, type, MPI_BOR, comm_);
            case Collective::reduce_scatter:
                return PMPI_Reduce_scatter_block(in, out, block, type, MPI_BOR, comm_);
            case Collective::all_gather:
                return PMPI_Allgather(in, block, type, out, block, type, comm_);
            case Collective::broadcast:
                return PMPI_Bcast(in, all, type, 0, comm_);
            case Collective::reduce:
                return PMPI_Reduce(in, out, all, type, MPI_BOR, 0, comm_);
            case Collective::scatter:
                return PMPI_Scatter(in, block, type, out, block, type, 0, comm_);
            case Collective::gather:
                return PMPI_Gather(in, block, type, out, block, type, 0, comm_);
            case Collective::all_to_all:
                return PMPI_Alltoall(in, block, type, out, block, type, comm_);
            case Collective::barrier:
                return PMPI_Barrier(comm_);
            case Collective::scan:
                return PMPI_Scan(in, out, all, type, MPI_BOR, comm_);
            case Collective::exscan:
                return PMPI_Exscan(in, out, all, type, MPI_BOR, comm_);
            default:  // no library has rules for it
                return MPI_ERR_ARG;
        }
    }

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
    std::vector<char> input_, output_;
};

// Collects what this process writes to stderr while it exists.
class CapturedErrors {
public:
    CapturedErrors() {
        std::fflush(stderr);
        dup2(memory_, STDERR_FILENO);
    }
    ~CapturedErrors() {
        end();
        close(memory_);
        close(stderr_);
    }
    CapturedErrors(const CapturedErrors&) = delete;
    CapturedErrors& operator=(const CapturedErrors&) = delete;

    // Lets later output go where it went before.
    std::string end() {
        std::fflush(stderr);
        dup2(stderr_, STDERR_FILENO);
        std::string text(static_cast<std::size_t>(lseek(memory_, 0, SEEK_END)), '\0');
        const ssize_t length = pread(memory_, text.data(), text.size(), 0);
        text.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
        return text;
    }

private:
    int stderr_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    int memory_ = memfd_create("tutti-stderr", MFD_CLOEXEC);
};

}  // namespace

void probe_mpi(std::span<const ProbedCall> calls, const std::function<void(MpiProbe)>& report) {
    int provided = 0, rank = 0, size = 0;
    check(PMPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &provided));
    check(PMPI_Comm_rank(MPI_COMM_WORLD, &rank));
    check(PMPI_Comm_size(MPI_COMM_WORLD, &size));
    MpiProbe probe{.library = mpi_library()};
    for (const ProbedCall& call : calls) {
        ProbeAnswer answer = ProbeAnswer::too_few_ranks;
        CapturedErrors errors;
        if (call.ranks <= size && rank < call.ranks) {
            FirstRanks ranks(call.ranks);
            answer =
                ranks.error_of(call) == MPI_SUCCESS ? ProbeAnswer::accepted : ProbeAnswer::refused;
        }
        std::string written = errors.end();
        if (rank != 0) continue;
        probe.answers += static_cast<char>(answer);
        probe.reports.push_back(std::move(written));
    }
    report(std::move(probe));
    check(PMPI_Finalize());
}

}  // namespace tutti
