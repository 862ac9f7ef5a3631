// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/table_for_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "autotune/choice/subject.hpp"
#include "autotune/model/model_json.hpp"
#include "autotune/table/estimate.hpp"
#include "autotune/table/table_json.hpp"
#include "autotune/table/usable.hpp"

namespace tutti {
namespace {

// Adapts the table to these ranks. Errors name the file.
Table fitting(const Table& table, const std::string& file, const JobShape& job_shape,
              const Predictor& predict, AdaptOptions options) {
    try {
        Table found = usable(adapted(table, job_shape, predict, options));
        if (found.sections.empty())
            throw Error(
                fmt::format("no entry of the tuning table fits {} and this build; run 'tutti tune'",
                            to_string(job_shape)));
        return found;
    } catch (const Error& error) {
        throw Error(fmt::format("'{}': {}", file, error.what()), error.code());
    }
}

}  // namespace

// All ranks use the first one's result: other hosts may lack the file or a library, or round the
// model's times differently, and all ranks must decide alike.
Table table_for_ranks(World& world, const std::string& file, AdaptOptions options) {
    const JobShape job_shape = job_shape_of(world);
    std::string text, refusal;
    if (world.is_first()) try {
            const Table table = read_choices(file);
            Predictor predict;
            if (!table.model.empty())
                predict = predictor_of_job_shapes(model_from_json(table.model, file));
            text = to_json(fitting(table, file, job_shape, predict, options));
        } catch (const Error& error) {
            refusal = error.what();
        }
    refusal = gather_all_texts(world, refusal)[0];
    if (!refusal.empty()) throw Error(refusal);
    return parse_table(gather_all_texts(world, text)[0], file);
}

std::string describe_source(const Table& table, const std::string& file,
                            std::span<const BufferKind> buffers) {
    const auto is_of_host = [](BufferKind kind) { return kind != BufferKind::device; };
    const bool asks = buffers.empty() || std::ranges::any_of(buffers, is_of_host);
    const bool knows = std::ranges::any_of(table.sections, [&](const Section& section) {
        return is_of_host(section.subject.buffers);
    });
    if (asks && !knows)
        return fmt::format("by built-in rules, because {} has no entries for host buffers", file);
    return "by " + file;
}

}  // namespace tutti
