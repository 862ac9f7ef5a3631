// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "collectives/baselines/baselines.hpp"
#include "collectives/baselines/mpi_algorithm.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "collectives/transport/messages/mpi_library.hpp"
#include "kernels/sets.hpp"

namespace tutti {
namespace {

// Returns MPI_DATATYPE_NULL for types that MPI does not have.
MPI_Datatype type_of(DataType type) {
    static const std::map<DataType, MPI_Datatype> types = {
        {DataType::int8, MPI_INT8_T},     {DataType::int16, MPI_INT16_T},
        {DataType::int32, MPI_INT32_T},   {DataType::int64, MPI_INT64_T},
        {DataType::uint8, MPI_UINT8_T},   {DataType::uint16, MPI_UINT16_T},
        {DataType::uint32, MPI_UINT32_T}, {DataType::uint64, MPI_UINT64_T},
        {DataType::float32, MPI_FLOAT},   {DataType::float64, MPI_DOUBLE}};
    const auto known = types.find(type);
    return known == types.end() ? MPI_DATATYPE_NULL : known->second;
}

// Returns a type for elements that are moved and not combined: only their size matters.
MPI_Datatype type_to_move(DataType type) {
    const MPI_Datatype known = type_of(type);
    if (known != MPI_DATATYPE_NULL) return known;
    return size_of(type) == 1 ? MPI_UINT8_T : MPI_UINT16_T;
}

// MPI has no mean: it is a sum, divided afterwards.
MPI_Op op_of(Op op) {
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_SUM};  // in the order of Op
    return at(ops, op);
}

// The world's ranks; with a forced algorithm, on a copy of the communicator that was made while it
// was set. Its component of Open MPI gets the highest priority there: others would hide it.
class MpiRanks {
public:
    MpiRanks(const World& world, MpiAlgorithm& algorithm)
        : comm_(communicator_of(mpi_handle(world))), is_copy_(algorithm.is_forced()) {
        if (!is_copy_) return;
        const MPI_Comm all = comm_;
        MPI_Info info = MPI_INFO_NULL;
        check(PMPI_Info_create(&info));
        if (const std::string component(algorithm.component()); !component.empty())
            check(PMPI_Info_set(info, "ompi_comm_coll_preference", component.c_str()));
        algorithm.force_while([&] { check(PMPI_Comm_dup_with_info(all, info, &comm_)); });
        check(PMPI_Info_free(&info));
    }
    MpiRanks(const MpiRanks&) = delete;
    MpiRanks& operator=(const MpiRanks&) = delete;
    ~MpiRanks() {
        int is_finalized = 0;
        PMPI_Finalized(&is_finalized);
        if (is_copy_ && is_finalized == 0) PMPI_Comm_free(&comm_);
    }

    MPI_Comm comm() const { return comm_; }

private:
    MPI_Comm comm_;
    bool is_copy_;
};

// Counts and displacements of blocks that lie side by side, as MPI takes them.
struct Blocks {
    std::vector<int> counts, places;

    template <class Length>
    void set(int ranks, const Length& length) {
        std::int64_t place = 0;
        counts.clear();
        places.clear();
        for (int rank = 0; rank < ranks; ++rank) {
            counts.push_back(static_cast<int>(length(rank)));
            places.push_back(static_cast<int>(place));
            place += length(rank);
        }
        if (place > std::numeric_limits<int>::max())
            throw Error(
                fmt::format("all blocks together have {} elements; an MPI count is an int, "
                            "use at most 2^31-1",
                            place));
    }
};

// The common part of blocking and non-blocking calls.
class MpiCall : public Operation {
public:
    MpiCall(World& world, const Call& call, const CallBuffers& buffers) : world_(world) {
        bind(call, buffers);
    }

    void bind(const Call& call, const CallBuffers& buffers) final {
        call_ = call;
        buffers_ = buffers;
        is_root_ = world_.rank() == call.root;
        count_ = static_cast<int>(call.count);
        type_ = reduces(call.collective) ? type_of(call.type) : type_to_move(call.type);
        op_ = op_of(call.op);
        const bool divides = call.op == Op::avg && reduces(call.collective);
        divide_ = divides ? find_divide(call.type) : nullptr;
        if (call.lengths != nullptr) set_blocks(*call.lengths);
    }

protected:
    // Without a request, runs the blocking call to its end; else starts the non-blocking one.
    void begin(MPI_Comm all, MPI_Request* request) {
        const int root = call_.root.index;
        const void* const mine = buffers_.input.data();
        const void* const input = buffers_.in_place ? MPI_IN_PLACE : mine;
        void* const output = buffers_.output.data();
        const auto call = [&](auto blocking, auto nonblocking, auto... arguments) {
            check(request == nullptr ? blocking(arguments...) : nonblocking(arguments..., request));
        };
        if (call_.lengths != nullptr)
            return begin_with_blocks(call, mine, input, output, root, all);
        switch (call_.collective) {
            case Collective::all_reduce:
                return call(mpi_collectives.all_reduce, PMPI_Iallreduce, input, output, count_,
                            type_, op_, all);
            case Collective::reduce_scatter:
                return call(mpi_collectives.reduce_scatter, PMPI_Ireduce_scatter_block, input,
                            buffers_.in_place ? const_cast<void*>(mine) : output, count_, type_,
                            op_, all);
            case Collective::all_gather:
                return call(mpi_collectives.all_gather, PMPI_Iallgather, input, count_, type_,
                            output, count_, type_, all);
            case Collective::broadcast:
                // MPI broadcasts in one buffer: out of place the root copies its message first, as
                // NCCL does.
                if (is_root_ && !buffers_.in_place) copy_to_output(mine);
                return call(mpi_collectives.broadcast, PMPI_Ibcast, output, count_, type_, root,
                            all);
            case Collective::reduce:
                return call(mpi_collectives.reduce, PMPI_Ireduce, is_root_ ? input : mine, output,
                            count_, type_, op_, root, all);
            case Collective::scatter:
                return call(mpi_collectives.scatter, PMPI_Iscatter, mine, count_, type_,
                            is_root_ && buffers_.in_place ? MPI_IN_PLACE : output, count_, type_,
                            root, all);
            case Collective::gather:
                return call(mpi_collectives.gather, PMPI_Igather, is_root_ ? input : mine, count_,
                            type_, output, count_, type_, root, all);
            case Collective::all_to_all:
                return call(mpi_collectives.all_to_all, PMPI_Ialltoall, input, count_, type_,
                            output, count_, type_, all);
            case Collective::barrier:
                return call(mpi_collectives.barrier, PMPI_Ibarrier, all);
            case Collective::scan:
                return call(mpi_collectives.scan, PMPI_Iscan, input, output, count_, type_, op_,
                            all);
            case Collective::exscan:
                return call(mpi_collectives.exscan, PMPI_Iexscan, input, exscan_output(), count_,
                            type_, op_, all);
            default:
                throw Error(*mpi_lacks(call_.collective));
        }
    }

    // In place, MPI leaves the result of a reduce_scatter at the start of the whole vector; tutti's
    // contract puts it at the rank's own block. Copying it there is timed, as it would be in a
    // program.
    void finish() {
        if (call_.collective == Collective::reduce_scatter && buffers_.in_place)
            copy_to_output(buffers_.input.data());
        if (divide_ != nullptr && !buffers_.output.empty())
            divide_(buffers_.output.data(), elements_in(buffers_.output.size(), call_.type),
                    world_.size());
    }

    World& world_;
    Call call_;

private:
    void set_blocks(const BlockLengths& lengths) {
        const int ranks = world_.size(), me = world_.rank().index;
        const bool is_matrix = call_.collective == Collective::all_to_all;
        if (is_matrix)
            sent_.set(ranks, [&](std::int64_t to) { return lengths.of(me * ranks + to); });
        blocks_.set(ranks, [&](std::int64_t from) {
            return lengths.of(is_matrix ? from * ranks + me : from);
        });
        count_ = at(blocks_.counts, me);
    }

    // The same for blocks of different lengths.
    template <class Start>
    void begin_with_blocks(const Start& call, const void* mine, const void* input, void* output,
                           int root, MPI_Comm all) {
        const int* const counts = blocks_.counts.data();
        const int* const places = blocks_.places.data();
        switch (call_.collective) {
            case Collective::reduce_scatter:
                return call(mpi_collectives.reduce_scatter_v, PMPI_Ireduce_scatter, input,
                            buffers_.in_place ? const_cast<void*>(mine) : output, counts, type_,
                            op_, all);
            case Collective::all_gather:
                return call(mpi_collectives.all_gather_v, PMPI_Iallgatherv, input, count_, type_,
                            output, counts, places, type_, all);
            case Collective::scatter:
                return call(mpi_collectives.scatter_v, PMPI_Iscatterv, mine, counts, places, type_,
                            is_root_ && buffers_.in_place ? MPI_IN_PLACE : output, count_, type_,
                            root, all);
            case Collective::gather:
                return call(mpi_collectives.gather_v, PMPI_Igatherv, is_root_ ? input : mine,
                            count_, type_, output, counts, places, type_, root, all);
            case Collective::all_to_all:
                return call(mpi_collectives.all_to_all_v, PMPI_Ialltoallv, input,
                            sent_.counts.data(), sent_.places.data(), type_, output, counts, places,
                            type_, all);
            default:
                throw Error(fmt::format("{} has no blocks of different lengths",
                                        name_of(call_.collective)));
        }
    }

    // Rank 0 has no result, but MPI libraries want memory for one there. In place it holds the
    // input.
    void* exscan_output() {
        if (!buffers_.output.empty()) return buffers_.output.data();
        if (buffers_.in_place) return const_cast<std::byte*>(buffers_.input.data());
        unused_.resize(buffers_.input.size());
        return unused_.data();
    }

    void copy_to_output(const void* from) const {
        if (from != buffers_.output.data() && !buffers_.output.empty())
            std::memmove(buffers_.output.data(), from, buffers_.output.size());  // may overlap
    }

    CallBuffers buffers_;
    Blocks blocks_, sent_;  // if they differ; `sent_` in all_to_all
    std::vector<std::byte> unused_;
    bool is_root_ = false;
    int count_ = 0;
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    MPI_Op op_ = MPI_OP_NULL;
    DivideKernel divide_ = nullptr;
};

class MpiCollective final : public MpiCall {
public:
    MpiCollective(World& world, const LibraryCall& what, const CallBuffers& buffers)
        : MpiCall(world, what.call, buffers), algorithm_(what), ranks_(world, algorithm_) {}

    void run() override {
        algorithm_.force();
        begin(ranks_.comm(), nullptr);
        finish();
    }

private:
    MpiAlgorithm algorithm_;
    MpiRanks ranks_;
};

// Most libraries make no progress between calls of MPI_Test.
class MpiNonblocking final : public MpiCall {
public:
    MpiNonblocking(World& world, const Call& call, const CallBuffers& buffers)
        : MpiCall(world, call, buffers), all_(communicator_of(mpi_handle(world))) {}

    void start() override {
        is_under_way_ = true;
        begin(all_, &request_);
    }

    bool test() override {
        if (!is_under_way_) return true;
        int done = 0;
        check(PMPI_Test(&request_, &done, MPI_STATUS_IGNORE));
        if (done == 0) return false;
        is_under_way_ = false;
        finish();
        return true;
    }

    void wait() override {
        if (!ends_in_time(world_, *this)) throw Error(hang_report(), Exit::time_out);
    }

    std::string hang_report() const override {
        return waited_in(
            world_, world_.rank(),
            fmt::format("non-blocking {} of the MPI library", name_of(call_.collective)));
    }

private:
    MPI_Comm all_;
    MPI_Request request_ = MPI_REQUEST_NULL;
    bool is_under_way_ = false;
};

// Open MPI's AVX kernels add 8- and 16-bit integers with saturation (its issue 8045), so 200 + 200
// is 255 instead of wrapping round. Such sums are only compared without these kernels.
bool saturates(const Call& call) {
    if (call.op != Op::sum && call.op != Op::avg) return false;
    const bool narrow_integer = size_of(call.type) <= 2 && type_of(call.type) != MPI_DATATYPE_NULL;
    if (!narrow_integer || !mpi_library().starts_with("Open MPI")) return false;
    const char* kernels = std::getenv("OMPI_MCA_op");
    return kernels == nullptr || std::string_view(kernels).find("^avx") == std::string_view::npos;
}

// By default MPICH 4.0 treats MPI_IN_PLACE as memory when a root other than 0 reduces over 2 KiB,
// and crashes. The device makes that choice.
bool crashes(const LibraryCall& what) {
    return what.call.collective == Collective::reduce && what.in_place &&
           what.call.root != Rank{0} && what.algorithm.empty() &&
           mpi_library().starts_with("MPICH 4.0") &&
           std::getenv("MPIR_CVAR_REDUCE_DEVICE_COLLECTIVE") == nullptr;
}

}  // namespace

std::optional<std::string> mpi_baseline_refuses(World& world, const LibraryCall& what) {
    const Call& call = what.call;
    if (auto refusal = ranks_are_not_of_mpi(world)) return refusal;
    if (auto refusal = mpi_lacks(call.collective)) return refusal;
    if (what.buffers == BufferKind::device)
        return "tutti uses this MPI library with host memory only; use --buffers host";
    if (call.count > std::numeric_limits<int>::max())
        return "an MPI count is an int: at most 2^31-1 elements";
    if (reduces(call.collective) && type_of(call.type) == MPI_DATATYPE_NULL)
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

std::unique_ptr<Operation> mpi_nonblocking(World& world, const LibraryCall& what,
                                           const CallBuffers& buffers) {
    return std::make_unique<MpiNonblocking>(world, what.call, buffers);
}

}  // namespace tutti
