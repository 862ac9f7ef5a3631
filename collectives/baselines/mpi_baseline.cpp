// SPDX-License-Identifier: Apache-2.0
#include "collectives/baselines/mpi_baseline.hpp"

#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <limits>

#include "collectives/baselines/mpi_algorithm.hpp"
#include "collectives/baselines/mpi_types.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "collectives/transport/messages/mpi_check.hpp"
#include "kernels/sets.hpp"

namespace tutti {
namespace {

// The world's ranks; with a forced algorithm, a copy that was made while it was told.
class MpiRanks {
public:
    MpiRanks(const World& world, MpiAlgorithm& algorithm)
        : comm_(MPI_Comm_f2c(mpi_handle(world))), is_copy_(algorithm.is_forced()) {
        if (!is_copy_) return;
        const MPI_Comm all = comm_;
        algorithm.tell_while([&] { check(MPI_Comm_dup(all, &comm_)); });
    }
    MpiRanks(const MpiRanks&) = delete;
    MpiRanks& operator=(const MpiRanks&) = delete;
    ~MpiRanks() {
        int is_over = 0;
        MPI_Finalized(&is_over);
        if (is_copy_ && is_over == 0) MPI_Comm_free(&comm_);
    }

    MPI_Comm comm() const { return comm_; }

private:
    MPI_Comm comm_;
    bool is_copy_;
};

class MpiCollective final : public Operation {
public:
    MpiCollective(World& world, const LibraryCall& what, const CallBuffers& buffers)
        : algorithm_(what.call.collective, what.algorithm),
          all_(world, algorithm_),
          call_(what.call),
          is_root_(world.rank() == call_.root),
          ranks_(world.size()),
          input_(buffers.input.data()),
          output_(buffers.output),
          in_place_(buffers.in_place),
          count_(static_cast<int>(call_.count)),
          type_(MPI_Type_f2c(reduces(call_.collective) ? mpi_type(call_.type)
                                                       : mpi_type_to_move(call_.type))),
          op_(MPI_Op_f2c(mpi_op(call_.op))) {
        if (call_.op == Op::avg && reduces(call_.collective)) divide_ = find_divide(call_.type);
    }

    void run() override {
        algorithm_.tell();
        call_library();
        if (divide_ != nullptr && !output_.empty())
            divide_(output_.data(), output_.size() / size_of(call_.type), ranks_);
    }

    bool rebinds() const override { return true; }

    void rebind(const CallBuffers& buffers) override {
        input_ = buffers.input.data();
        output_ = buffers.output;
    }

private:
    const void* input() const { return in_place_ ? MPI_IN_PLACE : input_; }
    int root() const { return call_.root.index; }

    void call_library() {
        const MPI_Comm all = all_.comm();
        switch (call_.collective) {
            case Collective::all_reduce:
                return check(MPI_Allreduce(input(), output_.data(), count_, type_, op_, all));
            case Collective::reduce_scatter:
                return reduce_scatter(all);
            case Collective::all_gather:
                return check(
                    MPI_Allgather(input(), count_, type_, output_.data(), count_, type_, all));
            case Collective::broadcast:
                return broadcast(all);
            case Collective::reduce:
                return check(MPI_Reduce(is_root_ ? input() : input_, output_.data(), count_, type_,
                                        op_, root(), all));
            case Collective::scatter:
                return check(MPI_Scatter(input_, count_, type_,
                                         is_root_ && in_place_ ? MPI_IN_PLACE : output_.data(),
                                         count_, type_, root(), all));
            case Collective::gather:
                return check(MPI_Gather(is_root_ ? input() : input_, count_, type_, output_.data(),
                                        count_, type_, root(), all));
            case Collective::all_to_all:
                return check(
                    MPI_Alltoall(input(), count_, type_, output_.data(), count_, type_, all));
        }
    }

    // In place, MPI leaves the result at the begin of the whole vector; ours belongs at the rank's
    // own block. Copying it there is part of the job, as it would be in a program.
    void reduce_scatter(MPI_Comm all) {
        if (!in_place_)
            return check(MPI_Reduce_scatter_block(input_, output_.data(), count_, type_, op_, all));
        auto* vector = const_cast<void*>(static_cast<const void*>(input_));
        check(MPI_Reduce_scatter_block(MPI_IN_PLACE, vector, count_, type_, op_, all));
        if (vector != output_.data()) std::memcpy(output_.data(), vector, output_.size());
    }

    // MPI broadcasts in one buffer; out of place the root copies its message first, as NCCL does.
    void broadcast(MPI_Comm all) {
        if (is_root_ && !in_place_ && !output_.empty())
            std::memcpy(output_.data(), input_, output_.size());
        check(MPI_Bcast(output_.data(), count_, type_, root(), all));
    }

    MpiAlgorithm algorithm_;
    MpiRanks all_;
    Call call_;
    bool is_root_;
    int ranks_;
    const std::byte* input_;
    std::span<std::byte> output_;
    bool in_place_;
    int count_;
    MPI_Datatype type_;
    MPI_Op op_;
    DivideKernel divide_ = nullptr;
};

// Open MPI's AVX kernels add 8- and 16-bit integers with saturation (its issue 8045), so 200 + 200
// is 255 where everyone else's arithmetic wraps round. Such sums are only compared without these
// kernels.
bool saturates(const Call& call) {
    if (call.op != Op::sum && call.op != Op::avg) return false;
    const bool narrow_integer =
        size_of(call.type) <= 2 && MPI_Type_f2c(mpi_type(call.type)) != MPI_DATATYPE_NULL;
    if (!narrow_integer || !mpi_library().starts_with("Open MPI")) return false;
    const char* kernels = std::getenv("OMPI_MCA_op");
    return kernels == nullptr || std::string_view(kernels).find("^avx") == std::string_view::npos;
}

// By its own choice MPICH 4.0 takes MPI_IN_PLACE for memory when a root other than 0 reduces over
// 2 KiB, and crashes. The device makes that choice.
bool crashes(const LibraryCall& what) {
    return what.call.collective == Collective::reduce && what.in_place &&
           what.call.root != Rank{0} && what.algorithm.empty() &&
           mpi_library().starts_with("MPICH 4.0") &&
           std::getenv("MPIR_CVAR_REDUCE_DEVICE_COLLECTIVE") == nullptr;
}

}  // namespace

std::optional<std::string> mpi_baseline_refuses(World& world, const LibraryCall& what) {
    const Call& call = what.call;
    if (world.kind() != "mpi") return "ranks are threads; start with mpirun";
    if (what.memory == MemoryOf::device)
        return "this MPI library is given no addresses of GPUs; type --buffers host";
    if (call.count > std::numeric_limits<int>::max())
        return "MPI counts are int: over 2^31-1 elements";
    if (reduces(call.collective) && MPI_Type_f2c(mpi_type(call.type)) == MPI_DATATYPE_NULL)
        return "MPI has no type " + std::string(name_of(call.type));
    if (reduces(call.collective) && saturates(call))
        return "Open MPI saturates sums of 8- and 16-bit integers; set OMPI_MCA_op=^avx to compare";
    if (crashes(what))
        return "MPICH 4.0 crashes in place with a root other than 0; set "
               "MPIR_CVAR_REDUCE_DEVICE_COLLECTIVE=0 to compare";
    return mpi_algorithm_refuses(what, world);
}

std::unique_ptr<Operation> mpi_baseline(World& world, const LibraryCall& what,
                                        const CallBuffers& buffers) {
    return std::make_unique<MpiCollective>(world, what, buffers);
}

}  // namespace tutti
