// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "workloads/steps/method.hpp"

namespace tutti {

/// A sum of float32 over all ranks, in one message and done by a given way.
class WholeReduction {
public:
    /// Collective. `buffers`: none is as usual. Outlives the reductions that use it.
    struct Site {
        Site(Planner& planner, std::size_t count, std::optional<BufferKind> buffers);
        Planner& planner;
        Call call;
        Environment environment;
        BufferPool stage;
    };

    /// Collective. Nothing if the way cannot do it; `reason` then says why.
    static std::unique_ptr<WholeReduction> make(Site& site, const Method& way, std::string& reason);

    std::span<float> values() const;
    /// The sum in place of the values. Throws Error (time_out).
    void run();

    /// Whether it is the sum of the values as they are; else it is only near.
    bool is_exact() const { return way_->is_exact(site_.call); }
    /// What compressing did; null where nothing is compressed.
    CompressionTally* tally() const { return way_->tally(); }

private:
    explicit WholeReduction(Site& site) : site_(site) {}

    Site& site_;
    std::unique_ptr<GroupMethod> way_;
    PooledBuffers buffers_;
    std::unique_ptr<Operation> operation_;
};

}  // namespace tutti
