// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <mpi.h>

#include <cstring>

#include "collectives/baselines/mpi_baseline.hpp"
#include "collectives/baselines/mpi_types.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "collectives/transport/messages/mpi_check.hpp"
#include "collectives/world/backoff.hpp"
#include "kernels/sets.hpp"

namespace tutti {
namespace {

// Whether the library goes on by itself between calls of MPI_Test is its own affair; most do not.
class MpiNonblocking final : public Operation {
public:
    MpiNonblocking(World& world, const Call& call, const CallBuffers& buffers)
        : world_(world),
          all_(MPI_Comm_f2c(mpi_handle(world))),
          call_(call),
          count_(static_cast<int>(call.count)),
          type_(MPI_Type_f2c(reduces(call.collective) ? mpi_type(call.type)
                                                      : mpi_type_to_move(call.type))),
          op_(MPI_Op_f2c(mpi_op(call.op))),
          buffers_(buffers) {
        if (call_.op == Op::avg && reduces(call_.collective)) divide_ = find_divide(call_.type);
    }

    void run() override {
        start();
        wait();
    }

    void start() override {
        is_under_way_ = true;
        begin();
    }

    bool test() override {
        if (!is_under_way_) return true;
        int done = 0;
        check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE));
        if (done == 0) return false;
        is_under_way_ = false;
        finish();
        return true;
    }

    void wait() override {
        Backoff backoff(world_);
        while (!test())
            if (!backoff.pause()) throw Error(report_of_hang(), Exit::time_out);
    }

    std::string report_of_hang() const override {
        return fmt::format("rank {} waited {:g} s in the MPI library's own non-blocking {}",
                           world_.rank().index, world_.hang_timeout, name_of(call_.collective));
    }

    bool rebinds() const override { return true; }
    void rebind(const CallBuffers& buffers) override { buffers_ = buffers; }

private:
    bool is_root() const { return world_.rank() == call_.root; }
    const void* input() const {
        return buffers_.in_place ? MPI_IN_PLACE : static_cast<const void*>(buffers_.input.data());
    }
    std::byte* output() const { return buffers_.output.data(); }

    void begin() {
        const int root = call_.root.index;
        const void* mine = buffers_.input.data();
        switch (call_.collective) {
            case Collective::all_reduce:
                return check(
                    MPI_Iallreduce(input(), output(), count_, type_, op_, all_, &request_));
            case Collective::reduce_scatter:
                return begin_reduce_scatter();
            case Collective::all_gather:
                return check(MPI_Iallgather(input(), count_, type_, output(), count_, type_, all_,
                                            &request_));
            case Collective::broadcast:
                if (is_root() && !buffers_.in_place) copy_to_output(mine);
                return check(MPI_Ibcast(output(), count_, type_, root, all_, &request_));
            case Collective::reduce:
                return check(MPI_Ireduce(is_root() ? input() : mine, output(), count_, type_, op_,
                                         root, all_, &request_));
            case Collective::scatter:
                return check(MPI_Iscatter(mine, count_, type_,
                                          is_root() && buffers_.in_place ? MPI_IN_PLACE : output(),
                                          count_, type_, root, all_, &request_));
            case Collective::gather:
                return check(MPI_Igather(is_root() ? input() : mine, count_, type_, output(),
                                         count_, type_, root, all_, &request_));
            case Collective::all_to_all:
                return check(MPI_Ialltoall(input(), count_, type_, output(), count_, type_, all_,
                                           &request_));
        }
    }

    // In place, MPI's result is at the begin of the vector; ours belongs at the rank's own block.
    void begin_reduce_scatter() {
        auto* vector = const_cast<std::byte*>(buffers_.input.data());
        check(MPI_Ireduce_scatter_block(input(), buffers_.in_place ? vector : output(), count_,
                                        type_, op_, all_, &request_));
    }

    void finish() {
        if (call_.collective == Collective::reduce_scatter && buffers_.in_place)
            copy_to_output(buffers_.input.data());
        if (divide_ != nullptr && !buffers_.output.empty())
            divide_(output(), buffers_.output.size() / size_of(call_.type), world_.size());
    }

    void copy_to_output(const void* from) const {
        if (from != output() && !buffers_.output.empty())
            std::memcpy(output(), from, buffers_.output.size());
    }

    World& world_;
    MPI_Comm all_;
    Call call_;
    int count_;
    MPI_Datatype type_;
    MPI_Op op_;
    CallBuffers buffers_;
    DivideKernel divide_ = nullptr;
    MPI_Request request_ = MPI_REQUEST_NULL;
    bool is_under_way_ = false;
};

}  // namespace

std::unique_ptr<Operation> mpi_nonblocking(World& world, const LibraryCall& what,
                                           const CallBuffers& buffers) {
    return std::make_unique<MpiNonblocking>(world, what.call, buffers);
}

}  // namespace tutti
