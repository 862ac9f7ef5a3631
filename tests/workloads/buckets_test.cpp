// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/buckets.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/error.hpp"
#include "tests/workloads/traces.hpp"
#include "workloads/models/model_list.hpp"

namespace tutti {
namespace {

std::vector<std::int64_t> counts_in(const std::vector<Bucket>& buckets) {
    std::vector<std::int64_t> counts;
    for (const auto& bucket : buckets) counts.push_back(bucket.count);
    return counts;
}

std::vector<std::int64_t> bytes_of(const char* model, Bytes element) {
    auto sizes = counts_in(buckets_of(find_model(model).model, element));
    for (auto& size : sizes) size *= element.count;
    return sizes;
}

using Sizes = std::vector<std::int64_t>;

TEST(Buckets, AreThoseOfPytorchToTheByte) {
    EXPECT_EQ(bytes_of("resnet18", Bytes{4}), (Sizes{2052000, 28852224, 15853824}));
    EXPECT_EQ(bytes_of("resnet50", Bytes{4}),
              (Sizes{8196000, 31502336, 26255360, 26550272, 9724160}));
    EXPECT_EQ(bytes_of("vgg16", Bytes{4}),
              (Sizes{16388000, 67125248, 411058176, 28315648, 28320768, 2222336}));
    Sizes gpt2(13, 28351488);
    gpt2.front() = 9446400;
    gpt2.back() = 176446464;
    EXPECT_EQ(bytes_of("gpt2", Bytes{4}), gpt2);
    const auto bert = bytes_of("bert-base", Bytes{4});
    ASSERT_EQ(bert.size(), 14u);
    EXPECT_EQ(bert[0], 2362368);
    EXPECT_EQ(bert[1], 28351488);
}

TEST(Buckets, AreTheAllReducesOfTheRecordedGpuRuns) {
    struct Run {
        const char* file;
        const char* model;
        Bytes element;
    };
    for (const auto& [file, name, element] : {Run{"resnet50_ddp_2xA100.json", "resnet50", {4}},
                                              Run{"resnet18_ddp_8xMI300X.json", "resnet18", {2}}}) {
        TRACE_OR_SKIP(trace, file);
        const auto expected = counts_in(buckets_of(find_model(name).model, element));
        ASSERT_FALSE(trace["iterations"].empty());
        for (const auto& iteration : trace["iterations"]) {
            Sizes recorded;
            for (const auto& call : iteration["allreduce"]) recorded.push_back(call["numel"]);
            EXPECT_EQ(recorded, expected) << file;
        }
    }
}

TEST(Buckets, OfEveryCapturedRunHaveItsParametersInItsOrder) {
    for (const char* run : {"mlp", "cnn", "chargpt", "chargpt10m", "resnet18_64", "resnet50_64",
                            "resnet50_224", "vgg16_64", "gpt2s"})
        for (const char* rank : {".rank0.json", ".rank1.json"}) {
            const auto file = std::string("captured/").append(run).append(rank);
            TRACE_OR_SKIP(trace, file);
            Sizes counts;
            for (const auto& parameter : trace["params"]) counts.push_back(parameter["numel"]);
            const auto order = trace["ready_order"].get<std::vector<int>>();
            const auto buckets = buckets_of(counts, order, Bytes{4});
            ASSERT_EQ(buckets.size(), trace["buckets"].size()) << file;
            for (std::size_t i = 0; i < buckets.size(); ++i) {
                EXPECT_EQ(trace["buckets"][i]["params"], buckets[i].parameters) << file << " " << i;
                EXPECT_EQ(trace["buckets"][i]["numel"], buckets[i].count) << file << " " << i;
            }
        }
}

TEST(Buckets, HoldTheWholeModelWhateverTheCap) {
    for (const auto& entry : model_list()) {
        const auto model = entry.model;
        for (const std::int64_t cap :
             {std::int64_t{1}, std::int64_t{5} << 20, std::int64_t{1} << 50}) {
            std::vector<int> order;
            std::int64_t sum = 0;
            for (const auto& bucket : buckets_of(model, Bytes{4}, {Bytes{cap}, Bytes{cap}})) {
                order.insert(order.end(), bucket.parameters.begin(), bucket.parameters.end());
                sum += bucket.count;
            }
            EXPECT_EQ(order, model.ready_order) << entry.name;
            EXPECT_EQ(sum, model.count()) << entry.name;
        }
    }
}

TEST(Buckets, AreClosedByTheTensorThatReachesTheCap) {
    const Sizes counts{10, 10, 10, 10, 10};
    const std::vector<int> order{4, 3, 2, 1, 0};
    const auto sizes = [&](std::int64_t first, std::int64_t others) {
        return counts_in(buckets_of(counts, order, Bytes{1}, {Bytes{first}, Bytes{others}}));
    };
    EXPECT_EQ(sizes(10, 20), (Sizes{10, 20, 20}));  // reached exactly
    EXPECT_EQ(sizes(11, 21), (Sizes{20, 30}));      // exceeded by a tensor
    EXPECT_EQ(sizes(1, 1), (Sizes{10, 10, 10, 10, 10}));
    EXPECT_EQ(sizes(100, 1), (Sizes{50}));
}

TEST(Buckets, OfTheTiedEmbeddingIsTheLast) {
    for (const char* name : {"gpt2", "gpt2-xl"}) {
        const auto model = find_model(name).model;
        EXPECT_EQ(buckets_of(model, Bytes{4}).back().parameters.back(), 0) << name;
        EXPECT_EQ(model.parameters[0].name, "wte.weight");
    }
}

TEST(Buckets, AreRefusedWithoutACapOrAnElement) {
    const auto model = find_model("dlrm").model;
    EXPECT_THROW(buckets_of(model, Bytes{0}), Error);
    EXPECT_THROW(buckets_of(model, Bytes{4}, {Bytes{0}, Bytes{1}}), Error);
    EXPECT_THROW(buckets_of(model, Bytes{4}, {Bytes{1}, Bytes{-1}}), Error);
}

}  // namespace
}  // namespace tutti
