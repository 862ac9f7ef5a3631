// SPDX-License-Identifier: Apache-2.0
#include "cli/auto/method_by_table.hpp"

#include <filesystem>
#include <limits>

#include "autotune/table/table_for_ranks.hpp"
#include "cli/auto/chooser.hpp"

namespace tutti {
namespace {

class ByTable final : public GroupMethod {
public:
    ByTable(Planner& group, CommunicatorCandidate communicator)
        : group_(group), communicator_(std::move(communicator)) {}

    // Now and then a start has the ranks meet, to agree on one more plan under way.
    bool blocks() const override { return true; }
    std::optional<std::string> refuses(const Call& call, const PooledBuffers& buffers) override {
        return refusal(group_, communicator_.candidate, call, buffers, {});
    }
    std::unique_ptr<Operation> operation(const Call& call, const PooledBuffers& buffers) override {
        return operation_of(group_, communicator_.candidate, call, buffers, {}).operation;
    }

private:
    Planner& group_;
    CommunicatorCandidate communicator_;
};

std::optional<Table> table_for_group(World& group, const std::string& file, bool anyway) {
    if (!from_rank0(group, std::filesystem::exists(file))) return std::nullopt;
    try {
        return table_for_ranks(group, file, {.anyway = anyway});
    } catch (const Error& error) {
        if (group.parent == nullptr || error.code() != Exit::usage) throw;
        return std::nullopt;
    }
}

}  // namespace

Method method_by_table(const std::string& file, bool anyway) {
    return {.name = "auto", .of_group = [file, anyway](Planner& group, const Environment&) {
                World& world = group.world();
                // A plan for each call of the program, as the other methods have: forgetting some
                // would have the ranks meet in the middle of a step to make them again.
                constexpr auto no_limit = std::numeric_limits<std::size_t>::max();
                return std::make_unique<ByTable>(
                    group,
                    candidate_by_table(world, table_for_group(world, file, anyway), no_limit));
            }};
}

}  // namespace tutti
