// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/model_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>

#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "base/json_writer.hpp"
#include "base/output.hpp"
#include "results/records/limits.hpp"

namespace tutti {
namespace {

// Names of the single terms of the parameters, and of their curves.
constexpr std::pair<const char*, std::size_t> single_terms[] = {
    {"call", LogGpParameters::call},
    {"step", LogGpParameters::step},
    {"turn", LogGpParameters::context_switch},
    {"link", LogGpParameters::link}};

struct CurveTerms {
    const char* name;
    std::size_t begin, size;
};
constexpr CurveTerms curve_of(const char* name, PerByte kind) {
    return {name, LogGpParameters::begin_of(kind), footprint_points.size()};
}
constexpr CurveTerms curve_terms[] = {{"message", LogGpParameters::message, message_points.size()},
                                      curve_of("send", PerByte::send),
                                      curve_of("copy", PerByte::copy),
                                      curve_of("reduce", PerByte::reduce),
                                      curve_of("add", PerByte::add),
                                      curve_of("write", PerByte::write),
                                      curve_of("own", PerByte::own),
                                      curve_of("pack", PerByte::pack)};

constexpr std::pair<const char*, Bytes HostTuning::*> tuned_sizes[] = {
    {"stream_from", &HostTuning::stream_from},
    {"lines_up_to", &HostTuning::ll_up_to},
    {"lines_up_to_ordinary", &HostTuning::ll_up_to_unregistered},
    {"fetch_from", &HostTuning::fetch_from},
    {"fetch_all_reduce_from", &HostTuning::fetch_all_reduce_from},
    {"stage_piece", &HostTuning::stage_piece}};

// Files of version 0.1 call unregistered memory "ordinary", and oversubscribed hosts "crowded".
std::string present_name(std::string name) {
    const auto replace = [&](std::string_view old, std::string_view now) {
        if (const auto at = name.find(old); at != name.npos) name.replace(at, old.size(), now);
    };
    replace("/ordinary", "/unregistered");
    replace(" crowded", " oversubscribed");
    return name;
}

constexpr int most_ranks = 1 << 24;
constexpr JsonRules rules{
    .whole = "the model", .remedy = "; calibrate again", .numbers = JsonRules::Numbers::from_0};

// The sizes at which the curves of a file have points.
struct CurvePoints {
    std::vector<double> message{message_points.begin(), message_points.end()};
    std::vector<double> footprint{footprint_points.begin(), footprint_points.end()};
    bool operator==(const CurvePoints&) const = default;
};

}  // namespace

void walk(auto& f, Is<HostTuning> auto& tuning) {
    for (const auto& [field, size] : tuned_sizes) f.must(field, tuning.*size);
    f.must("adapts_stores", tuning.adapts_stores);
}

void walk(auto& f, Is<CurvePoints> auto& points) {
    f.must("message", points.message);
    f.must("footprint", points.footprint);
}

void walk(auto& f, Is<LogGpParameters> auto& costs) {
    for (const auto& [field, term] : single_terms) f.must(field, costs.ns[term]);
    for (const auto& [field, begin, size] : curve_terms)
        f.must(field, std::span(costs.ns).subspan(begin, size));
}

void walk(auto& f, Is<ModelParameters> auto& known) {
    CurvePoints points;
    f.must("date", known.date);
    f.must("fingerprint", known.machine.fingerprint);
    f.may("host", known.machine.host);
    f.must("cores", known.machine.cores);
    f.may("links", known.machine.links, 1);
    f.must("ranks", known.ranks);
    f.must("tuning", known.machine.tuning);
    f.must("points", points);
    f.must("within", known.within);
    f.must("across", known.across);
}

void check(const CurvePoints& points, const JsonPlace& place) {
    if (points != CurvePoints{}) place.fail("has cost curves of another version of tutti");
}

void check(const ModelParameters& known, const JsonPlace& place) {
    place.needed("cores").whole_number(1, most_ranks);
    if (const auto links = place.field("links")) links->whole_number(1);
    for (std::size_t i = 0; i < known.ranks.size(); ++i)
        place.needed("ranks").item(i).whole_number(1, most_ranks);
    if (known.machine.tuning.stage_piece.count == 0)
        place.needed("tuning").fail("has pieces of 0 bytes");
}

std::string to_json(const CostModel& model) {
    JsonWriter writer{.object = {{"v", model_version}, {"kind", "cost_model"}}};
    walk(writer, model.parameters());
    return writer.object.dump(1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

CostModel model_from_json(std::string_view text, std::string_view name) {
    const Source source(text, name);
    const JsonValue json = parse_json(source);
    const JsonPlace file(json, source, rules);
    if (file.needed("kind").text() != "cost_model") source.fail(json.line, "not a cost model");
    const JsonPlace version = file.needed("v");
    if (version.whole_number<int>() != model_version)
        source.fail(version.value().line, "a cost model of another version; calibrate again");
    ModelParameters known;
    decode(file, known);
    for (auto* costs : {&known.within, &known.across}) {
        std::map<std::string, LogGpParameters> present;
        for (auto& [key, of] : *costs) present[present_name(key)] = of;
        *costs = std::move(present);
    }
    return CostModel(std::move(known));
}

std::optional<std::filesystem::path> model_path(const std::string& fingerprint) {
    const auto limits = limits_path(fingerprint);
    if (!limits) return std::nullopt;
    return limits->parent_path() / fmt::format("model-{}.json", fingerprint);
}

CostModel read_model(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    if (!stream.good() || text.str().empty())
        throw Error(fmt::format("cannot read the cost model '{}'; calibrate again", path.string()));
    return model_from_json(text.str(), path.string());
}

std::optional<CostModel> stored_model(const std::string& fingerprint) {
    const auto path = model_path(fingerprint);
    if (!path || !std::filesystem::exists(*path)) return std::nullopt;
    CostModel model = read_model(*path);
    if (model.parameters().machine.fingerprint != fingerprint)
        throw Error(fmt::format("'{}' holds the cost model of another machine; remove the file",
                                path->string()));
    return model;
}

void keep_model(const CostModel& model, const std::filesystem::path& path) {
    replace_file(path, to_json(model) + '\n', "the cost model");
}

CostModel merged(const CostModel& older, const CostModel& newer) {
    ModelParameters all = newer.parameters();
    const ModelParameters& before = older.parameters();
    if (!(before.machine == all.machine)) return newer;
    all.within.insert(before.within.begin(), before.within.end());
    all.across.insert(before.across.begin(), before.across.end());
    std::vector<int> ranks;
    std::ranges::set_union(before.ranks, all.ranks, std::back_inserter(ranks));
    all.ranks = std::move(ranks);
    return CostModel(std::move(all));
}

}  // namespace tutti
