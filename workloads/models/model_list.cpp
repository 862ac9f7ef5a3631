// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/model_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "base/json_reader.hpp"
#include "base/name_table.hpp"

namespace tutti {
namespace {

struct LayerKind {
    enum class Bias { none, ready_first, ready_last };
    std::string_view name;
    double flops;  // for each element and position; a multiply-add is 2
    Bias bias = Bias::none;
    bool has_statistics = false;  // running mean, variance and their count, which are broadcast
};

// The bias of a linear layer is ready first, because its weight waits for a transposition.
constexpr LayerKind layer_kinds[] = {{"embedding", 0},
                                     {"weight", 2},
                                     {"linear", 2, LayerKind::Bias::ready_first},
                                     {"convolution", 2, LayerKind::Bias::ready_last},
                                     {"scale", 1},
                                     {"norm", 1, LayerKind::Bias::ready_last},
                                     {"batch-norm", 1, LayerKind::Bias::ready_last, true}};

void decode(const JsonPlace& place, const LayerKind*& kind) {
    try {
        kind = &find_row(layer_kinds, "kind of layer", place.name());
    } catch (const Error& error) {
        place.fail_as(error.what());
    }
}

struct LayerRow {
    const LayerKind* kind = nullptr;
    std::string name;                 // "{}" is the number of the block
    std::vector<std::int64_t> shape;  // weight; the bias has the first dimension
    double positions = 0;             // pixels or tokens of a sample; 0: as the model says
    double flops_after = 0;           // without parameters, between this layer and the next
};

void walk(auto& f, Is<LayerRow> auto& layer) {
    f.must("kind", layer.kind);
    f.must("name", layer.name);
    f.must("shape", layer.shape);
    f.may("positions", layer.positions);
    f.may("flops_after", layer.flops_after);
}

void check(const LayerRow& layer, const JsonPlace& place) {
    if (layer.shape.empty()) place.needed("shape").fail("has no dimensions");
    for (std::size_t i = 0; i < layer.shape.size(); ++i)
        place.needed("shape").item(i).whole_number(1, 1 << 30);
}

struct UnitRow {
    std::vector<std::int64_t> blocks;    // first and last number of equal blocks, each a unit
    std::vector<LayerRow> layers;        // in the order of registration
    std::vector<std::string> run_order;  // names of layers in the forward pass, if that differs
};

void walk(auto& f, Is<UnitRow> auto& unit) {
    f.may("blocks", unit.blocks);
    f.must("layers", unit.layers);
    f.may("run_order", unit.run_order);
}

void check(const UnitRow& unit, const JsonPlace& place) {
    if (unit.layers.empty()) place.needed("layers").fail("is empty");
    if (!unit.blocks.empty() && (unit.blocks.size() != 2 || unit.blocks[0] > unit.blocks[1]))
        place.needed("blocks").fail("is not [first, last]");
    std::vector<std::string> names, run = unit.run_order;
    for (const LayerRow& layer : unit.layers) names.push_back(layer.name);
    std::ranges::sort(names);
    std::ranges::sort(run);
    if (!run.empty() && run != names)
        place.needed("run_order").fail("does not name each layer of the unit once");
}

struct ModelRows {
    ModelEntry entry;
    double positions = 1;
    std::vector<UnitRow> units;
};

}  // namespace

void walk(auto& f, Is<Transformer> auto& transformer) {
    f.must("layers", transformer.layers);
    f.must("hidden", transformer.hidden);
    f.must("heads", transformer.heads);
    f.must("kv_heads", transformer.kv_heads);
    f.must("feed_forward", transformer.feed_forward);
    f.must("vocabulary", transformer.vocabulary);
    f.must("sequence", transformer.sequence);
    f.may("experts", transformer.experts, 1);
    f.may("experts_per_token", transformer.experts_per_token, 1);
}

void walk(auto& f, Is<EmbeddingTables> auto& tables) {
    f.must("tables", tables.tables);
    f.must("dimension", tables.dimension);
}

namespace {

void walk(auto& f, Is<ModelRows> auto& rows) {
    f.must("name", rows.entry.name);
    f.must("description", rows.entry.description);
    f.must("parameters", rows.entry.total);
    f.must("source", rows.entry.source);
    f.must("paper", rows.entry.paper);
    f.may("transformer", rows.entry.model.transformer);
    f.may("tables", rows.entry.model.tables);
    f.may("positions", rows.positions, 1);
    f.must("units", rows.units);
}

/// Parameters of one layer, in the order in which their gradients become ready.
using ReadyOrder = std::vector<int>;

ReadyOrder add_layer(Model& model, const LayerRow& layer, const std::string& name, int unit,
                     double positions) {
    const auto add = [&](const char* part, std::vector<std::int64_t> shape, double flops) {
        Parameter& parameter = model.parameters.emplace_back(
            Parameter{.name = name + part, .shape = std::move(shape), .unit = unit});
        parameter.forward_flops = flops * static_cast<double>(parameter.count()) * positions;
        return static_cast<int>(model.parameters.size()) - 1;
    };
    const LayerKind& kind = *layer.kind;
    ReadyOrder ready{add(".weight", layer.shape, kind.flops)};
    if (kind.bias != LayerKind::Bias::none)
        ready.insert(kind.bias == LayerKind::Bias::ready_first ? ready.begin() : ready.end(),
                     add(".bias", {layer.shape.front()}, 1));
    if (kind.has_statistics) {
        if (model.buffers.empty()) model.buffers = {{Bytes{4}, 0}, {Bytes{8}, 0}};
        model.buffers[0].count += 2 * layer.shape.front();
        model.buffers[1].count += 1;
    }
    // In the backward pass this layer waits for the work without parameters.
    at(model.parameters, ready.front()).forward_flops += layer.flops_after;
    return ready;
}

std::string with_number(std::string name, std::int64_t number) {
    if (const auto place = name.find("{}"); place != name.npos)
        name.replace(place, 2, std::to_string(number));
    return name;
}

/// Adds one unit, and returns its layers in the order of the forward pass.
std::vector<ReadyOrder> add_unit(Model& model, const UnitRow& unit, std::int64_t number,
                                 double positions) {
    const int index = model.units();
    std::vector<ReadyOrder> layers;
    for (const LayerRow& layer : unit.layers)
        layers.push_back(add_layer(model, layer, with_number(layer.name, number), index,
                                   layer.positions > 0 ? layer.positions : positions));
    if (unit.run_order.empty()) return layers;
    std::vector<ReadyOrder> as_run;
    for (const std::string& name : unit.run_order) {
        const auto layer = std::ranges::find(unit.layers, name, &LayerRow::name);
        as_run.push_back(layers[as_size(layer - unit.layers.begin())]);
    }
    return as_run;
}

}  // namespace

ModelEntry parse_model(const ModelFile& file) {
    constexpr JsonRules rules{.whole = "the model",
                              .numbers = JsonRules::Numbers::from_0,
                              .unknown_fields = JsonRules::UnknownFields::refused,
                              .texts = JsonRules::Texts::names};
    const Source source(file.text, std::string(file.name));
    const JsonValue json = parse_json(source);
    const JsonPlace place(json, source, rules);
    ModelRows rows;
    decode(place, rows);
    Model& model = rows.entry.model;
    model.name = rows.entry.name;
    std::vector<ReadyOrder> forward;
    for (const UnitRow& unit : rows.units) {
        const auto blocks = unit.blocks.empty() ? std::vector<std::int64_t>{0, 0} : unit.blocks;
        for (std::int64_t number = blocks[0]; number <= blocks[1]; ++number)
            std::ranges::move(add_unit(model, unit, number, rows.positions),
                              std::back_inserter(forward));
    }
    for (auto layer = forward.rbegin(); layer != forward.rend(); ++layer)
        model.ready_order.insert(model.ready_order.end(), layer->begin(), layer->end());
    if (model.count() != rows.entry.total)
        place.needed("parameters")
            .fail(fmt::format("is not {}, the sum of the layers", model.count()));
    return std::move(rows.entry);
}

std::span<const ModelEntry> model_list() {
    static const std::vector<ModelEntry> entries = [] {
        std::vector<ModelEntry> all;
        for (const ModelFile& file : model_files()) all.push_back(parse_model(file));
        return all;
    }();
    return entries;
}

const ModelEntry& find_model(std::string_view name) {
    return find_row(model_list(), "model", name);
}

}  // namespace tutti
