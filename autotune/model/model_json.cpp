// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/model_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_value.hpp"

namespace tutti {
namespace {

using Json = nlohmann::ordered_json;

// The single terms of a tariff and its curves, as the text calls them.
constexpr std::pair<const char*, std::size_t> single_terms[] = {{"call", LogGpParameters::call},
                                                                {"step", LogGpParameters::step},
                                                                {"turn", LogGpParameters::turn},
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

Json json_of(const std::map<std::string, LogGpParameters>& tariffs) {
    Json all = Json::object();
    for (const auto& [name, tariff] : tariffs) {
        Json one;
        for (const auto& [field, term] : single_terms) one[field] = tariff.ns[term];
        for (const auto& [field, begin, size] : curve_terms)
            for (std::size_t i = 0; i < size; ++i) one[field].push_back(tariff.ns[begin + i]);
        all[name] = std::move(one);
    }
    return all;
}

// Files of version 0.1 call unregistered memory "ordinary", and oversubscribed hosts "crowded".
std::string present_name(std::string name) {
    const auto replace = [&](std::string_view old, std::string_view now) {
        if (const auto at = name.find(old); at != name.npos) name.replace(at, old.size(), now);
    };
    replace("/ordinary", "/unregistered");
    replace(" crowded", " oversubscribed");
    return name;
}

// Takes the fields of the object apart; whatever is not as it must be is told with its line.
class Decoder {
public:
    explicit Decoder(const Source& source) : source_(source) {}

    const JsonValue& field(const JsonValue& object, const char* name) const {
        const JsonValue* value = object.find(name);
        if (value == nullptr) source_.fail(object.line, fmt::format("no field \"{}\"", name));
        return *value;
    }

    template <class Wanted>
    const Wanted& as(const JsonValue& value, const char* what) const {
        const auto* wanted = std::get_if<Wanted>(&value.value);
        if (wanted == nullptr) source_.fail(value.line, fmt::format("{} expected", what));
        return *wanted;
    }

    std::string text(const JsonValue& object, const char* name) const {
        return as<std::string>(field(object, name), "text");
    }

    std::int64_t number(const JsonValue& value, std::int64_t least, std::int64_t most) const {
        const auto number = as<std::int64_t>(value, "whole number");
        if (number < least || number > most)
            source_.fail(value.line, fmt::format("{} is not within {}..{}", number, least, most));
        return number;
    }

    double cost(const JsonValue& value) const {
        const auto* whole = std::get_if<std::int64_t>(&value.value);
        const double cost =
            whole != nullptr ? static_cast<double>(*whole) : as<double>(value, "number");
        if (!std::isfinite(cost) || cost < 0)
            source_.fail(value.line, fmt::format("{} is no cost", cost));
        return cost;
    }

    const JsonValue::List& list(const JsonValue& value, std::size_t size) const {
        const auto& list = as<JsonValue::List>(value, "list");
        if (list.size() != size)
            source_.fail(value.line,
                         fmt::format("{} numbers where {} are expected", list.size(), size));
        return list;
    }

    template <std::size_t size>
    void expect_points(const JsonValue& points, const char* name,
                       const std::array<double, size>& known) const {
        const JsonValue& value = field(points, name);
        const auto& list = this->list(value, size);
        for (std::size_t i = 0; i < size; ++i)
            if (cost(list[i]) != known[i])
                source_.fail(value.line, "curves of another tutti; calibrate again");
    }

    std::map<std::string, LogGpParameters> tariffs(const JsonValue& value) const {
        std::map<std::string, LogGpParameters> tariffs;
        for (const JsonField& one : as<JsonValue::Object>(value, "object")) {
            LogGpParameters& tariff = tariffs[present_name(one.name)];
            for (const auto& [name, term] : single_terms)
                tariff.ns[term] = cost(field(one.value, name));
            for (const auto& [name, begin, size] : curve_terms) {
                const auto& curve = list(field(one.value, name), size);
                for (std::size_t i = 0; i < size; ++i) tariff.ns[begin + i] = cost(curve[i]);
            }
        }
        return tariffs;
    }

private:
    const Source& source_;
};

}  // namespace

std::string to_json(const CostModel& model) {
    const ModelParameters& known = model.parameters();
    Json json;
    json["v"] = model_version;
    json["kind"] = "cost_model";
    json["date"] = known.date;
    json["fingerprint"] = known.machine.fingerprint;
    if (!known.machine.host.empty()) json["host"] = known.machine.host;
    json["cores"] = known.machine.cores;
    json["ranks"] = known.ranks;
    for (const auto& [name, size] : tuned_sizes)
        json["tuning"][name] = (known.machine.tuning.*size).count;
    json["tuning"]["adapts_stores"] = known.machine.tuning.adapts_stores;
    json["points"]["message"] = message_points;
    json["points"]["footprint"] = footprint_points;
    json["within"] = json_of(known.within);
    json["across"] = json_of(known.across);
    return json.dump(1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

CostModel model_from_json(std::string_view text, std::string_view name) {
    constexpr std::int64_t most_ranks = 1 << 24;
    const Source source(text, name);
    const JsonValue json = parse_json(source);
    const Decoder decoder(source);
    decoder.as<JsonValue::Object>(json, "object");
    if (decoder.text(json, "kind") != "cost_model") source.fail(json.line, "this is no cost model");
    const JsonValue& version = decoder.field(json, "v");
    if (decoder.as<std::int64_t>(version, "whole number") != model_version)
        source.fail(version.line, "a cost model of another version; calibrate again");
    ModelParameters known;
    known.date = decoder.text(json, "date");
    known.machine.fingerprint = decoder.text(json, "fingerprint");
    if (json.find("host") != nullptr) known.machine.host = decoder.text(json, "host");
    known.machine.cores =
        static_cast<int>(decoder.number(decoder.field(json, "cores"), 1, most_ranks));
    for (const JsonValue& one : decoder.as<JsonValue::List>(decoder.field(json, "ranks"), "list"))
        known.ranks.push_back(static_cast<int>(decoder.number(one, 1, most_ranks)));
    const JsonValue& tuning = decoder.field(json, "tuning");
    for (const auto& [field, size] : tuned_sizes)
        (known.machine.tuning.*size).count =
            decoder.number(decoder.field(tuning, field), 0, INT64_MAX);
    if (known.machine.tuning.stage_piece.count == 0)
        source.fail(tuning.line, "pieces of 0 bytes cannot be");
    known.machine.tuning.adapts_stores =
        decoder.as<bool>(decoder.field(tuning, "adapts_stores"), "true or false");
    const JsonValue& points = decoder.field(json, "points");
    decoder.expect_points(points, "message", message_points);
    decoder.expect_points(points, "footprint", footprint_points);
    known.within = decoder.tariffs(decoder.field(json, "within"));
    known.across = decoder.tariffs(decoder.field(json, "across"));
    return CostModel(std::move(known));
}

}  // namespace tutti
