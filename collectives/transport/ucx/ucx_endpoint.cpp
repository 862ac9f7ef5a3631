// SPDX-License-Identifier: Apache-2.0

#include <sched.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/transport/ucx/rails_endpoint.hpp"
#include "collectives/transport/ucx/ucx.hpp"
#include "collectives/transport/ucx/ucx_worker.hpp"

namespace tutti {
namespace {

// A tag consists of plan, step and sender, so that messages match only within these. Step numbers
// may wrap around, because the messages between two ranks are matched in the order sent.
constexpr int plan_bits = 28, step_bits = 16, sender_bits = 20;

constexpr ucp_tag_t low_bits(ucp_tag_t value, int bits) {
    return value & ((ucp_tag_t{1} << bits) - 1);
}

constexpr ucp_tag_t tag_of(int plan, int step, Rank sender) {
    return low_bits(static_cast<ucp_tag_t>(plan), plan_bits) << (step_bits + sender_bits) |
           low_bits(static_cast<ucp_tag_t>(step), step_bits) << sender_bits |
           low_bits(static_cast<ucp_tag_t>(sender.index), sender_bits);
}

constexpr ucp_tag_t whole_tag = ~ucp_tag_t{0};
constexpr ucp_tag_t plan_of_tag = ~low_bits(whole_tag, step_bits + sender_bits);

// Within a host a message is copied either twice, through shared memory, or once, by the kernel and
// after a handshake. UCX switches between 8 and 16 KiB; measurements show that two copies are
// faster up to this size. A send that is to complete soon is copied up to UCX_RNDV_SEND_NBR_THRESH
// (256 KiB), or the user's setting.
constexpr std::size_t copied_up_to = 64 * 1024;

constexpr int most_polls = 1000;  // in a row

// The messages of one step. UCX uses memory before the address of each request, so a plan allocates
// nothing while it runs.
class Requests {
public:
    Requests(std::size_t most, std::size_t request_bytes)
        : stride_(round_up(request_bytes, line)),
          memory_(static_cast<std::byte*>(::operator new(most* stride_ + line, line_aligned))),
          entries_(most) {}
    ~Requests() { ::operator delete(memory_, line_aligned); }
    Requests(const Requests&) = delete;
    Requests& operator=(const Requests&) = delete;

    enum class Kind : std::uint8_t { send, receive };
    struct Entry {
        UcxWorker* worker;
        std::size_t* open;  // number of requests that are not done
        Rank peer;
        Kind kind;
        bool is_done;

        void end(ucs_status_t status) {
            is_done = true;
            --*open;
            if (status != UCS_OK && status != UCS_ERR_CANCELED)
                worker->lose(peer, ucs_status_string(status));
        }
    };

    Entry& add(UcxWorker& worker, Rank peer, Kind kind) {
        ++open_;
        return entries_[used_++] = {&worker, &open_, peer, kind, false};
    }
    void* address_of(const Entry& entry) const {
        return memory_ + as_size(&entry - entries_.data() + 1) * stride_;
    }
    void forget() { used_ = 0; }
    std::size_t open() const { return open_; }
    std::span<Entry> used() { return {entries_.data(), used_}; }
    std::span<const Entry> used() const { return {entries_.data(), used_}; }

private:
    static constexpr std::size_t line = 64;
    static constexpr std::align_val_t line_aligned{line};

    std::size_t stride_;
    std::byte* memory_;
    std::vector<Entry> entries_;
    std::size_t used_ = 0, open_ = 0;
};

void ended_send(void*, ucs_status_t status, void* entry) {
    static_cast<Requests::Entry*>(entry)->end(status);
}

void ended_receive(void*, ucs_status_t status, const ucp_tag_recv_info_t*, void* entry) {
    static_cast<Requests::Entry*>(entry)->end(status);
}

class UcxEndpoint final : public Endpoint {
public:
    UcxEndpoint(UcxWorker& worker, const EndpointNeeds& needs)
        : worker_(worker),
          plan_(needs.plan),
          requests_(std::make_shared<Requests>(needs.most_posts, worker.request_bytes())) {
        for (const Rank peer : needs.peers) worker_.connect(peer);
    }

    // Cancels requests that never completed; those that cannot be cancelled keep their memory.
    ~UcxEndpoint() override {
        for (const auto& entry : requests_->used())
            if (!entry.is_done && entry.kind == Kind::receive)
                ucp_request_cancel(worker_.handle(), requests_->address_of(entry));
        for (int look = 0; look < 100 && requests_->open() > 0; ++look) worker_.progress();
        if (requests_->open() > 0) worker_.keep(requests_);
    }

    void post_receive(int step, Rank from, std::span<std::byte> into) override {
        auto& entry = requests_->add(worker_, from, Kind::receive);
        ucp_request_param_t how = completing(entry);
        how.cb.recv = ended_receive;
        settle(entry, ucp_tag_recv_nbx(worker_.handle(), into.data(), into.size(),
                                       tag_of(plan_, step, from), whole_tag, &how));
    }

    void post_send(int step, Rank to, std::span<const std::byte> message) override {
        auto& entry = requests_->add(worker_, to, Kind::send);
        ucp_request_param_t how = completing(entry);
        how.cb.send = ended_send;
        if (message.size() <= copied_up_to && worker_.is_on_this_host(to))
            how.op_attr_mask |= UCP_OP_ATTR_FLAG_FAST_CMPL;
        settle(entry, ucp_tag_send_nbx(worker_.endpoint(to), message.data(), message.size(),
                                       tag_of(plan_, step, worker_.world().rank()), &how));
    }

    bool all_done() override {
        // This also moves other plans' messages; bounded, so that they cannot keep this plan's
        // deadline from being checked.
        for (int poll = 0; poll < most_polls && requests_->open() > 0; ++poll)
            if (!worker_.progress()) break;
        worker_.throw_if_lost();
        if (requests_->open() > 0) {
            if (worker_.should_yield()) sched_yield();
            return false;
        }
        requests_->forget();
        return true;
    }

    std::optional<Rank> waits_for() const override {
        for (const auto& entry : requests_->used())
            if (!entry.is_done) return entry.peer;
        return std::nullopt;
    }

    std::optional<std::string> left_over() const override {
        ucp_tag_recv_info_t info;
        worker_.progress();
        if (ucp_tag_probe_nb(worker_.handle(), tag_of(plan_, 0, {0}), plan_of_tag, 0, &info) ==
            nullptr)
            return std::nullopt;
        return "a message from rank " + std::to_string(low_bits(info.sender_tag, sender_bits)) +
               " to rank " + std::to_string(worker_.world().rank().index) + " was never received";
    }

private:
    using Kind = Requests::Kind;

    ucp_request_param_t completing(Requests::Entry& entry) const {
        ucp_request_param_t how;
        how.op_attr_mask = UCP_OP_ATTR_FIELD_REQUEST | UCP_OP_ATTR_FIELD_CALLBACK |
                           UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
        how.request = requests_->address_of(entry);
        how.user_data = &entry;
        how.memory_type = UCS_MEMORY_TYPE_HOST;
        return how;
    }

    // The request is already done, in progress, or refused.
    static void settle(Requests::Entry& entry, ucs_status_ptr_t result) {
        if (!UCS_PTR_IS_PTR(result)) entry.end(UCS_PTR_STATUS(result));
    }

    UcxWorker& worker_;
    int plan_;
    std::shared_ptr<Requests> requests_;
};

constexpr int plan_of_proof = -1;
constexpr std::int64_t proof_timeout_ns = 2'000'000'000;
constexpr std::size_t bytes_of_proof = 16 * 1024;  // more than a jumbo frame

// Whether messages between this host's first rank and those of the next and the previous host
// arrive in time. Other ranks do nothing.
bool reaches_other_hosts(const World& world, UcxWorker& worker) {
    if (!world.is_leader()) return true;
    std::vector<Rank> leaders;
    for (const auto& host : world.hosts().nodes()) leaders.push_back(host.front());
    const auto here = std::ranges::find(leaders, world.rank());
    const Rank next = here + 1 == leaders.end() ? leaders.front() : *(here + 1);
    const Rank previous = here == leaders.begin() ? leaders.back() : *(here - 1);
    const std::vector<std::byte> sent(bytes_of_proof);
    std::vector<std::byte> from_next(bytes_of_proof), from_previous(bytes_of_proof);
    try {
        UcxEndpoint endpoint(worker,
                             {.plan = plan_of_proof, .most_posts = 4, .peers = {next, previous}});
        endpoint.post_receive(0, previous, from_previous);
        endpoint.post_receive(1, next, from_next);
        endpoint.post_send(0, next, sent);
        endpoint.post_send(1, previous, sent);
        const std::int64_t end = now_ns() + proof_timeout_ns;
        while (!endpoint.all_done())
            if (now_ns() > end) return false;
        return true;
    } catch (const Error&) {
        return false;
    }
}

// Returns a worker for this device if it reaches all hosts, else null; the same on all ranks.
std::unique_ptr<UcxWorker> worker_that_reaches_hosts(World& world, UcxReach reach,
                                                     const std::string& device) {
    try {
        auto worker = std::make_unique<UcxWorker>(world, reach, device);
        if (!true_on_all_ranks(world, reaches_other_hosts(world, *worker))) return nullptr;
        worker->trust();
        return worker;
    } catch (const Error& error) {
        if (error.code() != Exit::usage) throw;  // a rank is lost or late
        return nullptr;
    }
}

// Names of devices. Those that do not reach all hosts are removed, so that they are tried once.
struct Rails {
    std::vector<std::string> devices;
};

class UcxMessages final : public MessageTransport {
public:
    UcxMessages(World& world, UcxReach reach) : world_(world) {
        auto& rails = world.attribute<Rails>([&] { return new Rails{devices_of_rails(world)}; });
        for (const std::string& device : rails.devices)
            if (auto worker = worker_that_reaches_hosts(world, reach, device)) {
                devices_.push_back(device);
                workers_.push_back(std::move(worker));
            }
        rails.devices = devices_;
        if (workers_.empty()) workers_.push_back(std::make_unique<UcxWorker>(world, reach));
    }
    std::string_view name() const override { return "ucx"; }
    std::string details() const override {
        std::string text = "UCX " + ucx_version() + workers_.front()->connections();
        for (std::size_t i = 1; i < devices_.size(); ++i)
            text += (i == 1 ? "; large messages also by " : " ") + devices_[i];
        return text;
    }
    std::unique_ptr<Endpoint> connect(const EndpointNeeds& needs) override {
        std::vector<Rail> rails;
        for (const auto& worker : workers_)
            rails.push_back({std::make_unique<UcxEndpoint>(*worker, needs), *worker});
        if (rails.size() == 1) return std::move(rails.front().endpoint);
        return std::make_unique<RailsEndpoint>(std::move(rails), needs, world_.rank(),
                                               world_.ranks_of_host());
    }

private:
    World& world_;
    std::vector<std::string> devices_;  // for each worker; empty if one worker may use all
    std::vector<std::unique_ptr<UcxWorker>> workers_;
};

}  // namespace

std::optional<std::string> ucx_missing() { return std::nullopt; }

std::optional<std::string> ucx_refuses(World& world, UcxReach reach) {
    try {
        UcxMessages trial(world, reach);
        return std::nullopt;
    } catch (const Error& error) {
        if (error.code() != Exit::usage) throw;  // a rank is lost or late
        return error.what();
    }
}

std::unique_ptr<MessageTransport> ucx_transport(World& world, UcxReach reach) {
    return std::make_unique<UcxMessages>(world, reach);
}

}  // namespace tutti
