// SPDX-License-Identifier: Apache-2.0
#include "cli/tune_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "autotune/model/model_json.hpp"
#include "autotune/table/explain.hpp"
#include "autotune/table/table_json.hpp"
#include "autotune/tuner/predicted_sections.hpp"
#include "autotune/tuner/table_writer.hpp"
#include "base/clock.hpp"
#include "base/output.hpp"
#include "cli/build_info.hpp"
#include "cli/script.hpp"
#include "results/records/identity.hpp"

namespace tutti {
namespace {

Table merged_inputs(const TuneOptions& options) {
    std::vector<Table> tables;
    for (const std::string& file : options.inputs) tables.push_back(read_choices(file));
    return merged(tables);
}

}  // namespace

Exit explain_tables(const TuneOptions& options) {
    const Table table = merged_inputs(options);
    fmt::print("{}", explain(table));
    if (!options.svg_file.empty())
        write_file(options.svg_file, drawn("table", to_picture_json(table), options.svg_file),
                   "--svg");
    return Exit::ok;
}

Exit merge_tables(const TuneOptions& options) {
    const Table table = merged_inputs(options);
    if (std::filesystem::exists(options.table_file) &&
        std::ranges::find(options.inputs, options.table_file) == options.inputs.end())
        throw Error(fmt::format(
            "'{}' exists and is not one of the tables to merge; use another file for --table",
            options.table_file));
    keep_table(table, options.table_file);
    fmt::print("# {} sections in {}\n", table.sections.size(), options.table_file);
    return Exit::ok;
}

Exit predict_table(const TuneOptions& options) {
    const std::int64_t began = now_ns();
    const CostModel model = model_to_predict_by(options.table_file);
    TuneRequest request = options.request;
    request.search_space = search_space_of(model, request.search_space);
    Table predicted{
        .written = utc_now(), .tool = version(), .sections = {}, .model = to_json(model)};
    std::string instead = "use other --for-ranks";
    for (const int ranks : options.rank_counts) {
        const JobShape shape = shape_like_model(model, ranks, options.ranks_per_host);
        auto sections = predicted_sections(model, request, shape);
        if (sections.empty()) {
            const MissingPrediction missing = missing_prediction(model, shape);
            fmt::print("# no predictions for {}: {}\n", to_string(shape), missing.why);
            instead = missing.instead;
        }
        std::ranges::move(sections, std::back_inserter(predicted.sections));
    }
    if (predicted.sections.empty())
        throw Error("the cost model has no parameters for these ranks; " + instead);
    keep_table(with_measured(predicted, options.table_file), options.table_file);
    fmt::print("{}# {} sections by the model in {:.1f} s: {}\n", explain(predicted),
               predicted.sections.size(), seconds_since(began), options.table_file);
    return Exit::ok;
}

}  // namespace tutti
