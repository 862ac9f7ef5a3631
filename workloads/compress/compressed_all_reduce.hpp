// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/planner/planner.hpp"
#include "workloads/compress/top_k.hpp"
#include "workloads/steps/method.hpp"

namespace tutti {

/// How gradients are made smaller before they are sent.
struct Compression {
    enum class Kind : std::uint8_t { none, bf16, fp16, int8, topk };

    Kind kind = Kind::none;
    double share = 0.01;  ///< topk: of the elements
    ThresholdSearch search = ThresholdSearch::exact;
    bool operator==(const Compression&) const = default;
};

/// "none", "bf16", "fp16", "int8", "topk:1%", "topk:0.1%:sampled". Throws Error that says so.
Compression parse_compression(std::string_view text);
/// Returns the text that parse_compression reads.
std::string name_of(const Compression& compression);

/// A list with commas, "none" left out.
std::vector<Compression> parse_compressions(std::string_view text);

class CompressedAllReduce;

/// The compressed calls of a group that are under way, in the order of their start. Their second
/// collectives begin in that order, too, as libraries need the same order on all ranks.
class CompressedUnderWay {
public:
    void make_progress();

private:
    friend class CompressedAllReduce;
    std::vector<CompressedAllReduce*> all_;
    std::size_t exist_ = 0;
};

/// State shared by the compressed operations of a group.
struct CompressedEnvironment {
    /// The first and the second collective of a call, each with its own communicator. The second is
    /// null if there is none.
    struct Part {
        World* world = nullptr;
        GroupMethod* method = nullptr;
    };
    Part first, second;
    CompressedUnderWay under_way;
    CompressionTally tally;
};

/// A float32 all-reduce that sends compressed data by one or two collectives in turn. Testing one
/// progresses all that are under way.
class CompressedAllReduce : public Operation {
public:
    CompressedAllReduce(CompressedEnvironment& environment, const Call& call,
                        const PooledBuffers& buffers);
    ~CompressedAllReduce() override;
    CompressedAllReduce(const CompressedAllReduce&) = delete;
    CompressedAllReduce& operator=(const CompressedAllReduce&) = delete;

    void start() override;
    bool test() override;
    void wait() override;
    std::string hang_report() const override;

protected:
    /// Memory for an inner collective, and the collective itself. Collective.
    struct Inner {
        std::unique_ptr<BufferPool> pool;
        PooledBuffers buffers;
        std::unique_ptr<Operation> operation;
    };
    Inner inner(const CompressedEnvironment::Part& part, const Call& call, bool in_place);
    /// The inner collectives in order; set by the constructor. `sent_bytes`: see CompressionTally.
    void set_collectives(std::vector<Operation*> inner, double sent_bytes);

    virtual void encode() = 0;                                  ///< before the first
    virtual void after_collective(std::size_t collective) = 0;  ///< after each

    std::span<const float> input() const;
    std::span<float> output() const;
    int ranks() const { return environment_.first.world->size(); }
    Rank rank() const { return environment_.first.world->rank(); }
    CompressionTally& tally() { return environment_.tally; }

    const Call call_;

private:
    friend class CompressedUnderWay;
    void begin();
    void advance(std::size_t most_begun);

    CompressedEnvironment& environment_;
    PooledBuffers buffers_;
    std::vector<Operation*> inner_;
    double sent_bytes_ = 0;
    std::size_t begun_ = 0, done_ = 0;  // inner collectives
};

/// The collectives that a call is made of. `share` as Compression has it.
std::vector<Call> inner_calls(const Compression& compression, const Call& call, int ranks);

/// Collective. The call has elements.
std::unique_ptr<Operation> cast_all_reduce(CompressedEnvironment& environment, const Call& call,
                                           const PooledBuffers& buffers, DataType type);
std::unique_ptr<Operation> int8_all_reduce(CompressedEnvironment& environment, const Call& call,
                                           const PooledBuffers& buffers);
std::unique_ptr<Operation> sparse_all_reduce(CompressedEnvironment& environment, const Call& call,
                                             const PooledBuffers& buffers,
                                             const Compression& compression);

}  // namespace tutti
