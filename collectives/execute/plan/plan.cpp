// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/plan/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <cassert>

#include "collectives/execute/plan/plan_request.hpp"
#include "collectives/world/backoff.hpp"

namespace tutti {

namespace {

constexpr std::size_t most_named = 3;
// Number of polls between two checks for lost ranks in a long wait: some milliseconds.
constexpr long looks_between_watches = 64;

// Returns e.g. "add from rank 1, 64K"; empty if there are no transfers.
std::string describe(const char* what, const std::vector<RankTransfer>& transfers,
                     const Layout& layout) {
    if (transfers.empty()) return {};
    std::vector<int> peers;
    Bytes bytes;
    for (const RankTransfer& transfer : transfers) {
        peers.push_back(transfer.peer.index);
        bytes.count += static_cast<std::int64_t>(layout.bytes_of(transfer.chunk));
    }
    std::ranges::sort(peers);
    peers.erase(std::ranges::unique(peers).begin(), peers.end());
    const std::string named =
        peers.size() > most_named
            ? fmt::format("{} ranks", peers.size())
            : fmt::format("rank{} {}", peers.size() > 1 ? "s" : "", fmt::join(peers, ", "));
    return fmt::format("{} {}, {}", what, named, to_string(bytes));
}

// Describes the receives of a step, or its sends if there are none.
std::string describe(const RankStep& step, const Layout& layout) {
    const auto received = [&](const char* what, Action action) {
        std::vector<RankTransfer> transfers = step.receives;
        std::erase_if(transfers, [&](const RankTransfer& one) { return one.action != action; });
        return describe(what, transfers, layout);
    };
    const std::string added = received("add from", Action::reduce);
    const std::string copied = received("copy from", Action::copy);
    if (step.receives.empty()) return describe("send to", step.sends, layout);
    return added + (added.empty() || copied.empty() ? "" : "; ") + copied;
}

}  // namespace

void Operation::bind(const Call&, const CallBuffers&) {
    throw Error("this operation serves one call only; make another one");
}

bool ends_in_time(World& world, Operation& operation) {
    Backoff backoff(world);
    long looks = 0;
    while (!operation.test()) {
        if (!backoff.pause()) return false;
        if (backoff.wants_sleep() && ++looks % looks_between_watches == 0) world.throw_if_lost();
    }
    return true;
}

std::string waited_in(const World& world, Rank rank, const std::string& what) {
    return fmt::format("rank {} waited {:g} s in {}", rank.index, world.hang_timeout, what);
}

bool Progress::poll() {
    bool any_progress = false;
    for (std::size_t i = 0; i < active_.size();) {
        Plan* plan = active_[i];
        const std::size_t was_at = plan->at_;
        const bool ended = plan->advance();
        any_progress = any_progress || ended || plan->at_ != was_at;
        if (!ended) {
            ++i;
            continue;
        }
        plan->done_ = true;
        active_[i] = active_.back();
        active_.pop_back();
    }
    return any_progress;
}

void Progress::finish_all() {
    while (!active_.empty()) active_.front()->wait();
}

void Progress::give_up_all() {
    for (Plan* plan : active_) plan->give_up();
}

void Progress::throw_if_lost() {
    try {
        world_.throw_if_lost();
    } catch (const Error&) {
        give_up_all();
        throw;
    }
}

Plan::Plan(Progress& progress, const PlanRequest& request)
    : Plan(progress, request,
           {request.call.collective, progress.world().size(), request.call.root}) {}

Plan::Plan(Progress& progress, const PlanRequest& request, const CollectiveSpec& spec)
    : progress_(progress),
      what_(request.what),
      schedule_(request.schedule),
      most_bytes_of_block_(bytes_of_block(request.call)),
      blocks_(spec.blocks()),
      input_blocks_(as_size(spec.input_blocks(world().rank()))),
      output_blocks_(as_size(spec.output_blocks(world().rank()))),
      in_place_(request.buffers.in_place),
      call_(request.call) {
    call_.lengths = nullptr;
    progress_.active_.reserve(++progress_.plans_);
}

Plan::~Plan() {
    --progress_.plans_;
    std::erase(progress_.active_, this);
}

void Plan::bind(const Call& call, const CallBuffers& buffers) {
    const bool is_repeated = is_bound_ && call == call_;
    if (is_repeated && caller_.is(buffers)) return;
    const std::size_t block = bytes_of_block(call);
    if (!is_repeated) expect_to_serve(call, block);
    const CallerMemory caller(buffers);
    const bool has_both = !buffers.input.empty() && !buffers.output.empty();
    const bool is_alike =
        buffers.in_place == in_place_ && (!has_both || caller.is_together() == in_place_);
    if (!is_alike ||
        !((is_repeated && caller_.has_sizes_of(buffers)) || have_sizes(buffers, call, block)))
        throw Error(
            fmt::format("the buffers do not fit {} of {} elements{}; pass buffers of the "
                        "sizes of the call",
                        what_, call.count, in_place_ ? ", in place" : ", not in place"));
    take(call, caller);
}

void Plan::take(const Call& call, const CallerMemory& caller) {
    call_ = call;
    if (call.lengths != nullptr) {  // the caller may change them
        lengths_ = *call.lengths;
        call_.lengths = &lengths_;
    }
    caller_ = caller;
    is_bound_ = true;
    adapt();
}

bool Plan::have_sizes(const CallBuffers& buffers, const Call& call, std::size_t block) const {
    if (call.lengths == nullptr)
        return buffers.input.size() == input_blocks_ * block &&
               buffers.output.size() == output_blocks_ * block;
    const int ranks = world().size();
    return buffers.input.size() == input_bytes(call, ranks, world().rank()) &&
           buffers.output.size() == output_bytes(call, ranks, world().rank());
}

void Plan::expect_to_serve(const Call& call, std::size_t block) const {
    if (call.collective != call_.collective || call.root != call_.root ||
        block > most_bytes_of_block_)
        throw Error(
            fmt::format("{} serves calls of its collective and root with blocks of up to {} bytes; "
                        "make a new plan for this call",
                        what_, most_bytes_of_block_));
    if (call.lengths == nullptr) return;
    if (blocks_ == 1 || call.lengths->blocks() != blocks_ || call.lengths->longest() != call.count)
        throw Error(fmt::format(
            "{} has {} blocks, but {} lengths of at most {} elements are given; give the length of "
            "each block, and the longest as count",
            what_, blocks_ == 1 ? 0 : blocks_, call.lengths->blocks(), call.count));
}

void Plan::begin_run() {
    assert(done_ && "a plan cannot run twice at the same time");
    done_ = false;
    at_ = 0;
    begin();
}

void Plan::run() {
    begin_run();
    if (progress_.is_idle() && advance()) {
        done_ = true;
        return;
    }
    progress_.active_.push_back(this);
    wait();
}

void Plan::start() {
    begin_run();
    progress_.active_.push_back(this);
}

bool Plan::test() {
    if (!done_) progress_.poll();
    return done_;
}

void Plan::wait() {
    auto backoff = Backoff::of_sleeper(progress_.world());
    long sleeps = 0;
    while (!done_) {
        if (progress_.poll())
            backoff.renew();
        else if (!backoff.pause()) {
            const std::string report = hang_report();
            progress_.give_up_all();
            throw Error(report, Exit::time_out);
        } else {
            if (backoff.helps()) progress_.world().make_progress();
            if (!backoff.wants_sleep()) continue;
            if (++sleeps % looks_between_watches == 0) progress_.throw_if_lost();
            sleep();
        }
    }
}

void Plan::sleep() { sched_yield(); }

std::vector<std::string> Plan::describe_steps() const {
    const CollectiveSpec spec{call_.collective, schedule_.ranks(), call_.root};
    const Layout layout(call_, spec, world().rank(), schedule_.chunks());
    std::vector<std::string> words(as_size(schedule_.steps()));
    const auto is_empty = [&](const RankTransfer& one) { return layout.bytes_of(one.chunk) == 0; };
    for (RankStep& step : rank_steps({.schedule = schedule_, .call = call_}, world().rank())) {
        std::erase_if(step.sends, is_empty);
        std::erase_if(step.receives, is_empty);
        at(words, step.number) = describe(step, layout);
    }
    return words;
}

std::string Plan::hang_report() const { return hang_report_of(world().rank(), progress_state()); }

std::string Plan::hang_report_of(Rank rank, const ProgressState& state) const {
    std::string peer = "for no rank";
    if (state.waits_for)
        peer = fmt::format("for rank {}{}{}{}", state.waits_for->index,
                           state.way.empty() ? "" : " by ", state.way,
                           state.is_behind ? ", which has not begun this call" : "");
    if (!state.one_of.empty()) peer = "for " + one_of(state.one_of);
    return waited_in(world(), rank, what_) +
           fmt::format(", step {} of {}, {}", state.step, schedule_.steps(), peer);
}

}  // namespace tutti
