// SPDX-License-Identifier: Apache-2.0
#include "autotune/way_by_table.hpp"

#include <filesystem>

#include "autotune/chooser.hpp"
#include "autotune/table_for_ranks.hpp"

namespace tutti {
namespace {

class ByTable final : public GroupWay {
public:
    explicit ByTable(CommunicatorCandidate communicator) : communicator_(std::move(communicator)) {}

    std::optional<std::string> refuses(const Call&, bool) override { return std::nullopt; }
    std::unique_ptr<Operation> operation(const Call& call, const StageBuffers& buffers) override {
        return communicator_.candidate.chooser(call, buffers);
    }

private:
    CommunicatorCandidate communicator_;
};

}  // namespace

Way way_by_table(const std::string& file, bool anyway) {
    return {.name = "auto", .of_group = [file, anyway](Planner& group, const Ground&) {
                World& world = group.world();
                std::optional<Table> table;
                if (of_first(world, std::filesystem::exists(file)))
                    table = table_for_ranks(world, file, {.anyway = anyway});
                return std::make_unique<ByTable>(candidate_by_table(world, table));
            }};
}

}  // namespace tutti
