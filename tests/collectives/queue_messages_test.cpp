// SPDX-License-Identifier: Apache-2.0
// Plans whose messages run in the order of a device's queue, like NCCL's on a stream: the host
// queues
// all of it at once.
#include <gtest/gtest.h>

#include <mutex>

#include "collectives/execute/plans.hpp"
#include "collectives/planner/planner.hpp"
#include "far_device.hpp"
#include "workloads/check/check_data.hpp"

namespace tutti {
namespace {

using test::FarDevice;

// Messages between two ranks match in the order in which each rank has posted them.
class Mail {
public:
    void give(std::pair<int, int> ranks, std::vector<std::byte> message, std::size_t number) {
        const std::lock_guard lock(mutex_);
        of_pair_[ranks][number] = std::move(message);
    }
    bool take(std::pair<int, int> ranks, std::size_t number, std::byte* into) {
        const std::lock_guard lock(mutex_);
        auto& waiting = of_pair_[ranks];
        const auto found = waiting.find(number);
        if (found == waiting.end()) return false;
        std::ranges::copy(found->second, into);
        waiting.erase(found);
        return true;
    }

private:
    std::mutex mutex_;
    std::map<std::pair<int, int>, std::map<std::size_t, std::vector<std::byte>>> of_pair_;
};

class QueueMessages final : public MessageTransport {
public:
    QueueMessages(Rank me, FarDevice& device, Mail& mail) : me_(me), device_(device), mail_(mail) {}

    std::string_view name() const override { return "queue"; }
    bool follows_queue() const override { return true; }
    std::unique_ptr<Endpoint> connect(const EndpointNeeds& needs) override {
        return std::make_unique<QueueEndpoint>(*this, static_cast<FarDevice::Queue&>(*needs.queue));
    }

private:
    class QueueEndpoint final : public Endpoint {
    public:
        QueueEndpoint(QueueMessages& all, FarDevice::Queue& queue) : all_(all), queue_(queue) {}

        void post_receive(int, Rank from, std::span<std::byte> into) override {
            const std::pair ranks{from.index, all_.me_.index};
            receives_.push_back([=, this, number = all_.received_[from.index]++] {
                return all_.mail_.take(ranks, number, all_.device_.seen(into.data()));
            });
        }
        void post_send(int, Rank to, std::span<const std::byte> from) override {
            const std::pair ranks{all_.me_.index, to.index};
            sends_.push_back([=, this, number = all_.sent_[to.index]++] {
                const std::byte* here = all_.device_.seen(from.data());
                all_.mail_.give(ranks, {here, here + from.size()}, number);
                return true;
            });
        }
        // Messages of one group: no send waits for a receive of the same step.
        bool all_done() override {
            for (auto* posts : {&sends_, &receives_}) {
                for (auto& post : *posts) queue_.ask_when(std::move(post));
                posts->clear();
            }
            return true;
        }
        std::optional<Rank> waits_for() const override { return std::nullopt; }

    private:
        QueueMessages& all_;
        FarDevice::Queue& queue_;
        std::vector<std::function<bool()>> sends_, receives_;
    };

    Rank me_;
    FarDevice& device_;
    Mail& mail_;
    std::map<int, std::size_t> received_, sent_;
};

// A plan, its memory, and its expected result.
class Attempt {
public:
    Attempt(Progress& progress, FarDevice& device, MessageTransport& messages,
            const Algorithm& algorithm, Op op, int number)
        : device_(device),
          me_(progress.world().rank()),
          call_{algorithm.collective, DataType::int32, op, Rank{0}, 500 + number},
          ranks_(progress.world().size()),
          input_(input_bytes(call_, ranks_, me_)),
          output_(output_bytes(call_, ranks_, me_)),
          memory_(device.allocate(input_ + output_)),
          check_(check_of(call_, ranks_, 0)) {
        const Job job = job_of({.algorithm = &algorithm}, call_, ranks_, progress.world().hosts());
        const CallBuffers buffers{.input = {memory_.get(), input_},
                                  .output = {memory_.get() + input_, output_},
                                  .device = &device};
        plan_ = host_plan(progress, &messages,
                          {.schedule = build_in_order(algorithm, job),
                           .call = call_,
                           .buffers = buffers,
                           .what = "trial",
                           .number = number,
                           .method = TransferMethod::messages});
        plan_->bind(call_, buffers);
    }

    void start() {
        ++check_.seed;
        fill_input(check_, me_, {device_.seen(memory_.get()), input_});
        poison({device_.seen(memory_.get()) + input_, output_});
        plan_->start();
    }
    Plan& plan() { return *plan_; }
    std::int64_t wrong() const {
        return count_wrong(check_, me_, {device_.seen(memory_.get()) + input_, output_});
    }

private:
    FarDevice& device_;
    Rank me_;
    Call call_;
    int ranks_;
    std::size_t input_, output_;
    std::shared_ptr<std::byte> memory_;
    CheckCase check_;
    std::unique_ptr<Plan> plan_;
};

void on_ranks(int ranks, const std::function<void(World&, FarDevice&, MessageTransport&)>& body) {
    Mail mail;
    run_as_threads(ranks, 20, [&](World& world) {
        FarDevice device(static_cast<unsigned>(world.rank().index));
        QueueMessages messages(world.rank(), device, mail);
        body(world, device, messages);
        world.barrier();
    });
}

TEST(QueueMessages, EveryAlgorithmIsRight) {
    for (const int ranks : {1, 2, 3, 4})
        on_ranks(ranks, [&](World& world, FarDevice& device, MessageTransport& messages) {
            Progress progress(world);
            int number = 0;
            for (const Algorithm& algorithm : catalog()) {
                if (algorithm.refuses({.collective = algorithm.collective, .ranks = ranks}))
                    continue;
                const Op op = reduces(algorithm.collective) ? Op::avg : Op::sum;
                Attempt trial(progress, device, messages, algorithm, op, ++number);
                for (int run = 0; run < 2; ++run) {
                    trial.start();
                    trial.plan().wait();
                    EXPECT_EQ(trial.wrong(), 0) << name_of(algorithm.collective) << " "
                                                << algorithm.name << " on " << ranks;
                }
            }
        });
}

// So messages have the order of the starts, whatever else is running.
TEST(QueueMessages, AllIsAskedForWhenAPlanIsStarted) {
    on_ranks(3, [&](World& world, FarDevice& device, MessageTransport& messages) {
        Progress progress(world);
        const Algorithm& ring = find_algorithm(Collective::all_reduce, "ring");
        Attempt trial(progress, device, messages, ring, Op::avg, 1);
        trial.start();
        const long asked = device.asked;
        EXPECT_GT(asked, 10);
        trial.plan().wait();
        EXPECT_EQ(device.asked, asked);
        EXPECT_EQ(trial.wrong(), 0);
    });
}

// However unevenly the ranks poll, messages are posted in the order of the starts.
TEST(QueueMessages, PlansUnderWayTogetherKeepTheOrderOfTheirStarts) {
    on_ranks(3, [&](World& world, FarDevice& device, MessageTransport& messages) {
        Progress progress(world);
        std::vector<std::unique_ptr<Attempt>> trials;
        for (const char* name : {"ring", "tree", "butterfly", "ring", "one-shot"})
            for (const Algorithm* algorithm : algorithms_of(Collective::all_reduce))
                if (algorithm->name == name &&
                    !algorithm->refuses({.collective = Collective::all_reduce, .ranks = 3}))
                    trials.push_back(std::make_unique<Attempt>(progress, device, messages,
                                                               *algorithm, Op::sum,
                                                               static_cast<int>(trials.size())));
        ASSERT_GE(trials.size(), 2U);
        std::mt19937 dice(static_cast<unsigned>(world.rank().index));
        for (int round = 0; round < 100; ++round) {
            for (auto& trial : trials) {
                trial->start();
                const unsigned looks = dice() % 3 == 0 ? dice() % 200 : 0;
                for (unsigned look = 0; look < looks; ++look) progress.poll();
            }
            progress.finish_all();
            for (auto& trial : trials) EXPECT_EQ(trial->wrong(), 0);
        }
    });
}

}  // namespace
}  // namespace tutti
