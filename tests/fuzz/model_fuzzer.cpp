// SPDX-License-Identifier: Apache-2.0
// Reading any bytes gives a cost model or a one-line error with file and line. A model can be
// written, read again, merged and evaluated.
#include <cmath>

#include "autotune/model/model_json.hpp"
#include "tests/fuzz/demand.hpp"

namespace {

using namespace tutti;

void predict(const CostModel& model) {
    for (const char* transport : {"shm", "mpi"})
        for (const char* algorithm : {"ring", "binomial-tree", "two-level-ring", "none of these"})
            for (const int per_host : {2, 6})
                for (const BufferKind kind : {BufferKind::registered, BufferKind::unregistered}) {
                    const RoutedCall call{.call = {.count = 10'000},
                                          .buffers = kind,
                                          .hosts = Placement::in_nodes_of(6, per_host)};
                    const auto ns =
                        model.predict({.algorithm = algorithm, .transport = transport}, call);
                    demand(!ns || !std::isnan(*ns), "a time is a number");
                }
}

void use(const CostModel& model) {
    const CostModel again = model_from_json(to_json(model), "json");
    demand(again.parameters() == model.parameters(), "JSON brings back the model");
    demand(merged(model, again).parameters().within == model.parameters().within,
           "a model with itself is itself");
    predict(model);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    CostModel model;
    try {
        model = model_from_json(text_of(data, size), "FILE");
    } catch (const Error& error) {
        demand_place(error, "FILE");
        return 0;
    }
    use(model);
    return 0;
}
