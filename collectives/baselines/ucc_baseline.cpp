// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <ucc/api/ucc.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <map>

#include "base/index.hpp"
#include "collectives/baselines/baselines.hpp"
#include "collectives/baselines/foreign_algorithms.hpp"
#include "collectives/baselines/mpi_names.hpp"
#include "collectives/world/backoff.hpp"

namespace tutti {
namespace {

constexpr struct {
    DataType type;
    ucc_datatype_t in_ucc;
} ucc_types[] = {
    {DataType::int8, UCC_DT_INT8},         {DataType::int16, UCC_DT_INT16},
    {DataType::int32, UCC_DT_INT32},       {DataType::int64, UCC_DT_INT64},
    {DataType::uint8, UCC_DT_UINT8},       {DataType::uint16, UCC_DT_UINT16},
    {DataType::uint32, UCC_DT_UINT32},     {DataType::uint64, UCC_DT_UINT64},
    {DataType::bfloat16, UCC_DT_BFLOAT16}, {DataType::float32, UCC_DT_FLOAT32},
    {DataType::float64, UCC_DT_FLOAT64},
};

// Returns nothing for types that UCC cannot reduce on CPUs.
std::optional<ucc_datatype_t> type_in_ucc(DataType type) {
    for (const auto& row : ucc_types)
        if (row.type == type) return row.in_ucc;
    return std::nullopt;
}

bool is_averaged_by_ucc(DataType type) {
    return type == DataType::bfloat16 || type == DataType::float32 || type == DataType::float64;
}

ucc_reduction_op_t op_in_ucc(Op op) {
    constexpr ucc_reduction_op_t ops[] = {UCC_OP_SUM, UCC_OP_PROD, UCC_OP_MIN, UCC_OP_MAX,
                                          UCC_OP_AVG};  // in the order of Op
    return at(ops, op);
}

// Returns nothing for collectives that UCC does not have. TL/UCP scatters only blocks of different
// lengths.
std::optional<ucc_coll_type_t> collective_in_ucc(Collective collective) {
    switch (collective) {
        case Collective::all_reduce:
            return UCC_COLL_TYPE_ALLREDUCE;
        case Collective::reduce_scatter:
            return UCC_COLL_TYPE_REDUCE_SCATTER;
        case Collective::all_gather:
            return UCC_COLL_TYPE_ALLGATHER;
        case Collective::broadcast:
            return UCC_COLL_TYPE_BCAST;
        case Collective::reduce:
            return UCC_COLL_TYPE_REDUCE;
        case Collective::gather:
            return UCC_COLL_TYPE_GATHER;
        case Collective::all_to_all:
            return UCC_COLL_TYPE_ALLTOALL;
        case Collective::barrier:
            return UCC_COLL_TYPE_BARRIER;
        default:
            return std::nullopt;
    }
}

void check_ucc(ucc_status_t status, std::string_view function) {
    if (status < 0) throw Error(fmt::format("{} failed: {}", function, ucc_status_string(status)));
}

// The gathering that UCC asks its caller for. UCC may fail on one rank while it gathers on others,
// so each gathering starts with a check that all ranks take part.
class UccExchange {
public:
    explicit UccExchange(World& world) : world_(world) {}

    ucc_oob_coll_t calls() {
        return {.allgather = gather,
                .req_test = [](void*) { return UCC_OK; },
                .req_free = [](void*) { return UCC_OK; },
                .coll_info = this,
                .n_oob_eps = static_cast<std::uint32_t>(world_.size()),
                .oob_ep = static_cast<std::uint32_t>(world_.rank().index)};
    }

    // An error must not pass through UCC's code.
    void rethrow() {
        if (error_) std::rethrow_exception(error_);
    }

    // Waits until UCC has returned on all ranks. If any of them has a `problem`, all throw the
    // first one. Collective.
    void finish(const std::string& problem) {
        rethrow();
        try {
            while (!are_all(Stage::returned)) {
            }
        } catch (const Error& error) {
            if (problem.empty()) throw;
            throw Error(fmt::format("{}; {}", problem, error.what()), error.code());
        }
        // A rank that was refused has failed because another rank has: the other one tells the
        // cause.
        const char* const mine = problem.empty() ? nullptr : problem.c_str();
        fail_together(world_, "UCC", std::exchange(was_refused_, false) ? nullptr : mine);
        fail_together(world_, "UCC", mine);
    }

private:
    enum class Stage : char { gathers, returned };

    bool are_all(Stage stage) {
        const auto all = gather_all(world_, stage);
        return std::ranges::count(all, stage) == std::ssize(all);
    }

    static ucc_status_t gather(void* mine, void* all, std::size_t bytes, void* self,
                               void** request) {
        auto& exchange = *static_cast<UccExchange*>(self);
        const std::span from(static_cast<const std::byte*>(mine), bytes);
        const std::span into(static_cast<std::byte*>(all), bytes * as_size(exchange.world_.size()));
        *request = self;
        if (exchange.error_) return UCC_ERR_NO_MESSAGE;
        try {
            exchange.was_refused_ = !exchange.are_all(Stage::gathers);
            if (exchange.was_refused_) return UCC_ERR_NO_MESSAGE;
            exchange.world_.all_gather(from, into);
            return UCC_OK;
        } catch (...) {
            exchange.error_ = std::current_exception();
            return UCC_ERR_NO_MESSAGE;
        }
    }

    World& world_;
    std::exception_ptr error_;
    bool was_refused_ = false;  // a rank had returned when this one was to gather
};

// UCC's context and team of these ranks, with a setting of UCC_TL_UCP_TUNE; empty: the user's.
class UccRanks {
public:
    // If UCC fails on any rank, all throw the same Error.
    UccRanks(World& world, const std::string& tune) : world_(world), exchange_(world) {
        try {
            open(tune);
        } catch (const Error& error) {
            exchange_.rethrow();
            if (error.code() == Exit::usage) close();
            throw;
        }
    }
    UccRanks(const UccRanks&) = delete;
    ~UccRanks() {
        if (!world_.has_given_up && std::uncaught_exceptions() == 0) close();
    }

    ucc_team_h team() const { return team_; }
    void progress() const { ucc_context_progress(context_); }

private:
    using ContextConfig =
        std::unique_ptr<ucc_context_config, decltype(&ucc_context_config_release)>;

    void open(const std::string& tune) {
        ContextConfig config(nullptr, ucc_context_config_release);
        on_all_ranks([&] {
            open_library();
            config.reset(read_config(tune));
        });
        on_all_ranks([&] { open_context(config.get()); });
        on_all_ranks([&] { open_team(); });
    }

    template <class Part>
    void on_all_ranks(const Part& part) {
        std::string problem;
        try {
            part();
        } catch (const Error& error) {
            if (error.code() != Exit::usage) throw;
            problem = error.what();
        }
        exchange_.finish(problem);
    }

    void open_library() {
        ucc_lib_config_h config = nullptr;
        check_ucc(ucc_lib_config_read(nullptr, nullptr, &config), "ucc_lib_config_read");
        const ucc_lib_params_t parameters{.mask = UCC_LIB_PARAM_FIELD_THREAD_MODE,
                                          .thread_mode = UCC_THREAD_SINGLE,
                                          .coll_types = {},
                                          .reduction_types = {},
                                          .sync_type = {}};
        const ucc_status_t status = ucc_init(&parameters, config, &library_);
        ucc_lib_config_release(config);
        check_ucc(status, "ucc_init");
    }

    ucc_context_config_h read_config(const std::string& tune) const {
        ucc_context_config_h config = nullptr;
        check_ucc(ucc_context_config_read(library_, nullptr, &config), "ucc_context_config_read");
        ContextConfig owner(config, ucc_context_config_release);
        if (!tune.empty())
            check_ucc(ucc_context_config_modify(config, "tl/ucp", "TUNE", tune.c_str()),
                      "ucc_context_config_modify");
        return owner.release();
    }

    void open_context(ucc_context_config_h config) {
        ucc_context_params_t parameters{};
        parameters.mask = UCC_CONTEXT_PARAM_FIELD_OOB;
        parameters.oob = exchange_.calls();
        check_ucc(ucc_context_create(library_, &parameters, config, &context_),
                  "ucc_context_create");
    }

    void open_team() {
        ucc_team_params_t parameters{};
        parameters.mask =
            UCC_TEAM_PARAM_FIELD_OOB | UCC_TEAM_PARAM_FIELD_EP | UCC_TEAM_PARAM_FIELD_EP_RANGE;
        parameters.oob = exchange_.calls();
        parameters.ep = static_cast<std::uint64_t>(world_.rank().index);
        parameters.ep_range = UCC_COLLECTIVE_EP_RANGE_CONTIG;
        ucc_team_h team = nullptr;
        check_ucc(ucc_team_create_post(&context_, 1, &parameters, &team), "ucc_team_create_post");
        const ucc_status_t status = wait_for([&] { return ucc_team_create_test(team); });
        if (status == UCC_INPROGRESS)
            throw Error(waited_in(world_, world_.rank(), "ucc_team_create_test"), Exit::time_out);
        check_ucc(status, "ucc_team_create_test");
        team_ = team;  // UCC does not destroy incomplete teams
    }

    // Returns the last status: "in progress" if the time is over.
    template <class Test>
    ucc_status_t wait_for(const Test& test) const {
        Backoff backoff(world_);
        ucc_status_t status = UCC_INPROGRESS;
        while ((status = test()) == UCC_INPROGRESS) {
            progress();
            if (!backoff.pause()) break;
        }
        return status;
    }

    // Destroying a context includes a barrier of UCC's. A rank without a context, or with a team
    // that UCC does not destroy in time, leaves it out, which ends the barrier on all ranks.
    // Collective.
    void close() noexcept {
        try {
            exchange_.rethrow();
            const bool is_stuck = team_ != nullptr && wait_for([&] {
                                                          return ucc_team_destroy(team_);
                                                      }) == UCC_INPROGRESS;
            if (context_ != nullptr && !is_stuck) ucc_context_destroy(context_);
            exchange_.finish("");
            if (library_ != nullptr && !is_stuck) ucc_finalize(library_);
        } catch (const std::exception&) {
            return;  // a rank is lost, so UCC is left as it is
        }
    }

    World& world_;
    UccExchange exchange_;
    ucc_lib_h library_ = nullptr;
    ucc_context_h context_ = nullptr;
    ucc_team_h team_ = nullptr;
};

// Either UCC's team or the reason why there is none.
struct UccTeam {
    std::unique_ptr<UccRanks> ranks;
    std::optional<std::string> refusal;
};

// A forced algorithm is a setting of a context, so there is a team for each. All end with the last
// operation: the world may end before its attributes.
struct UccTeams {
    std::map<std::string, UccTeam> by_tune;
    int operations = 0;

    ~UccTeams() {
        for (auto& [tune, team] : by_tune) static_cast<void>(team.ranks.release());
    }
};

UccTeams& ucc_teams(World& world) {
    return world.attribute<UccTeams>([] { return std::make_shared<UccTeams>(); });
}

UccTeam& ucc_team(World& world, const std::string& tune) {
    auto& all = ucc_teams(world).by_tune;
    const auto known = all.find(tune);
    if (known != all.end()) return known->second;
    UccTeam team;
    try {
        team.ranks = std::make_unique<UccRanks>(world, tune);
    } catch (const Error& error) {
        if (error.code() != Exit::usage) throw;
        team.refusal = error.what();
    }
    return all.emplace(tune, std::move(team)).first->second;
}

// Returns the minor version of UCC 1; 1000 for UCC 2.0.
int minor_version_of_ucc() {
    unsigned major = 0, minor = 0, release = 0;
    ucc_get_version(&major, &minor, &release);
    return static_cast<int>(1000 * (major - 1) + minor);
}

const ForeignAlgorithm* find_ucc_algorithm(const LibraryCall& what) {
    return foreign_algorithm(ForeignLibrary::ucc, what.call.collective,
                             {.impl = "ucc", .algorithm = what.algorithm}, minor_version_of_ucc());
}

// Returns the setting that forces the algorithm; empty: UCC's own choice.
std::string tune_for(const LibraryCall& what) {
    if (what.algorithm.empty()) return "";
    return fmt::format("{}:@{}:inf", name_without_blocks(what.call.collective),
                       find_ucc_algorithm(what)->id);
}

class UccCollective final : public Operation {
public:
    UccCollective(World& world, const UccRanks& ranks, const LibraryCall& what,
                  const CallBuffers& buffers)
        : world_(world), ranks_(ranks) {
        bind(what.call, buffers);
        ++ucc_teams(world).operations;
    }

    ~UccCollective() override {
        UccTeams& teams = ucc_teams(world_);
        if (--teams.operations == 0) teams.by_tune.clear();
    }

    void bind(const Call& call, const CallBuffers& buffers) override {
        buffers_ = buffers;
        is_root_ = world_.rank() == call.root;
        const bool moves = !reduces(call.collective);
        const ucc_datatype_t type = moves ? UCC_DT_UINT8 : *type_in_ucc(call.type);
        const std::size_t unit = moves ? 1 : size_of(call.type);
        const auto memory = [&](const std::byte* begin, std::size_t bytes) {
            return ucc_coll_buffer_info_t{.buffer = const_cast<std::byte*>(begin),
                                          .count = bytes / unit,
                                          .datatype = type,
                                          .mem_type = UCC_MEMORY_TYPE_HOST};
        };
        arguments_ = {};
        arguments_.coll_type = *collective_in_ucc(call.collective);
        arguments_.op = op_in_ucc(call.op);
        arguments_.root = static_cast<std::uint64_t>(call.root.index);
        arguments_.src.info = memory(buffers.input.data(), buffers.input.size());
        arguments_.dst.info = memory(buffers.output.data(), buffers.output.size());
        copies_first_ = false;
        if (call.collective == Collective::broadcast) {  // UCC has one buffer
            copies_first_ = is_root_ && !buffers.in_place;
            arguments_.src.info = arguments_.dst.info;
        } else if (buffers.in_place && (call.collective != Collective::reduce || is_root_)) {
            arguments_.mask = UCC_COLL_ARGS_FIELD_FLAGS;
            arguments_.flags = UCC_COLL_ARGS_FLAG_IN_PLACE;
        }
        what_ = name_of(call.collective);
    }

    void start() override {
        if (copies_first_)
            std::memmove(buffers_.output.data(), buffers_.input.data(), buffers_.input.size());
        check_ucc(ucc_collective_init(&arguments_, &request_, ranks_.team()),
                  "ucc_collective_init");
        const ucc_status_t status = ucc_collective_post(request_);
        if (status < 0) ucc_collective_finalize(std::exchange(request_, nullptr));
        check_ucc(status, "ucc_collective_post");
    }

    bool test() override {
        if (request_ == nullptr) return true;
        ranks_.progress();
        const ucc_status_t status = ucc_collective_test(request_);
        if (status > 0) return false;  // not posted yet, or in progress
        ucc_collective_finalize(std::exchange(request_, nullptr));
        check_ucc(status, "ucc_collective_test");
        return true;
    }

    void wait() override {
        if (!ends_in_time(world_, *this)) throw Error(hang_report(), Exit::time_out);
    }

    std::string hang_report() const override {
        return waited_in(world_, world_.rank(), fmt::format("UCC's own {}", what_));
    }

private:
    World& world_;
    const UccRanks& ranks_;
    CallBuffers buffers_;
    ucc_coll_args_t arguments_{};
    ucc_coll_req_h request_ = nullptr;
    std::string_view what_;
    bool is_root_ = false, copies_first_ = false;
};

// Explains why UCC does not force the algorithm, or runs another one without saying so.
std::optional<std::string> ucc_algorithm_refuses(const World& world, const LibraryCall& what) {
    const Collective collective = what.call.collective;
    const std::string& name = what.algorithm;
    if (find_ucc_algorithm(what) == nullptr)
        return fmt::format("{} names no algorithm '{}' for {}", ucc_library(), name,
                           name_of(collective));
    if (what.segment.count > 0 || what.fan_out > 0)
        return "tutti leaves UCC's segments and radixes as they are set";
    if (world.size() == 1) return "a single rank runs no algorithm";
    if (name == "neighbor" && world.size() % 2 != 0)
        return "UCC runs ring for odd numbers of ranks";
    if (collective == Collective::all_reduce && name == "dbt" && what.in_place)
        return "in place UCC runs another algorithm";
    if (collective == Collective::all_reduce && name == "ring" &&
        what.call.count % world.size() != 0)
        return "UCC runs another algorithm if the elements do not divide evenly by the ranks";
    return std::nullopt;
}

}  // namespace

std::optional<std::string> ucc_missing() { return std::nullopt; }

std::string ucc_library() {
    unsigned major = 0, minor = 0, release = 0;
    ucc_get_version(&major, &minor, &release);
    return fmt::format("UCC {}.{}.{}", major, minor, release);
}

std::vector<std::string> ucc_algorithms(Collective collective) {
    std::vector<std::string> names;
    for (const ForeignAlgorithm& row : foreign_algorithms())
        if (row.library == ForeignLibrary::ucc && row.collective == collective &&
            row.since <= minor_version_of_ucc())
            names.emplace_back(row.baseline);
    return names;
}

std::optional<std::string> ucc_baseline_refuses(World& world, const LibraryCall& what) {
    const Call& call = what.call;
    if (world.one_process() && world.size() > 1)
        return "ranks are threads, and UCC takes one rank per process; start with mpirun";
    if (!collective_in_ucc(call.collective))
        return fmt::format("UCC has no {} in host memory", name_of(call.collective));
    if (what.buffers == BufferKind::device)
        return "tutti uses UCC with host memory only; use --buffers host";
    if (call.lengths != nullptr) return "tutti calls UCC only with blocks of equal lengths";
    if (reduces(call.collective) && !type_in_ucc(call.type))
        return fmt::format("UCC cannot reduce type {} on CPUs", name_of(call.type));
    if (reduces(call.collective) && call.op == Op::avg && !is_averaged_by_ucc(call.type))
        return "UCC averages bfloat16, float and double only";
    const bool has_block_in_place = call.collective == Collective::reduce_scatter ||
                                    call.collective == Collective::gather ||
                                    call.collective == Collective::all_to_all;
    if (what.in_place && has_block_in_place)
        return fmt::format("tutti does not call UCC's {} in place", name_of(call.collective));
    if (!what.algorithm.empty())
        if (auto refusal = ucc_algorithm_refuses(world, what)) return refusal;
    return ucc_team(world, tune_for(what)).refusal;
}

std::unique_ptr<Operation> ucc_baseline(World& world, const LibraryCall& what,
                                        const CallBuffers& buffers) {
    const UccTeam& team = ucc_team(world, tune_for(what));
    if (team.refusal) throw Error(*team.refusal);
    return std::make_unique<UccCollective>(world, *team.ranks, what, buffers);
}

}  // namespace tutti
