// SPDX-License-Identifier: Apache-2.0
// A recommender: two small MLPs, trained data-parallel, around 26 embedding tables that no rank can
// hold, so that their rows travel by all-to-all. Naumov et al. 2019, arXiv:1906.00091; sizes of the
// MLPerf benchmark.
#include <fmt/format.h>

#include <vector>

#include "workloads/models/model_writer.hpp"

namespace tutti {
namespace {

void add_mlp(ModelWriter& writer, const std::string& name,
             const std::vector<std::int64_t>& widths) {
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
        if (!writer.model().parameters.empty()) writer.next_unit();
        writer.run({writer.linear(fmt::format("{}.{}", name, 2 * i), widths[i], widths[i + 1], 1)});
    }
}

}  // namespace

Model dlrm() {
    ModelWriter writer("dlrm");
    constexpr std::int64_t dimension = 128, tables = 26, vectors = tables + 1;
    writer.model().tables = EmbeddingTables{tables, dimension};
    add_mlp(writer, "bot_l", {13, 512, 256, dimension});
    writer.compute(2 * vectors * vectors * dimension);  // each vector times each other
    add_mlp(writer, "top_l", {vectors * (vectors - 1) / 2 + dimension, 1024, 1024, 512, 256, 1});
    return std::move(writer).done();
}

}  // namespace tutti
