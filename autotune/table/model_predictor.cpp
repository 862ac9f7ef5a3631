// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/model_predictor.hpp"

#include <algorithm>

namespace tutti {

Predictor predictor_of_job_shapes(const CostModel& model) {
    return [=](const Configuration& configuration, const Subject& subject, const JobShape& job,
               Bytes size) {
        const auto [type, op] = representative_of(subject);
        const Call call{.collective = subject.collective,
                        .type = type,
                        .op = op,
                        .count = count_for(subject.collective, type, job.ranks, size)};
        return model.predict(configuration, {.call = call,
                                             .buffers = subject.buffers,
                                             .hosts = Placement::in_nodes_of(
                                                 job.ranks, std::max(job.ranks_per_host, 1))});
    };
}

}  // namespace tutti
