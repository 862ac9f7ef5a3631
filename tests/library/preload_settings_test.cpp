// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "library/mpi/settings.hpp"

namespace tutti {
namespace {

PreloadSettings settings_of(const std::map<std::string, std::string>& environment) {
    return preload_settings([&](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
    });
}

TEST(PreloadSettings, LearnByDefault) {
    const PreloadSettings settings = settings_of({{"TUTTI", ""}});
    EXPECT_EQ(settings.chooser, PreloadChoice::learn);
    for (int kind = 0; kind < call_kinds; ++kind)
        EXPECT_TRUE(settings.takes(static_cast<CallKind>(kind)));
    EXPECT_FALSE(settings.table_anyway);
    EXPECT_FALSE(settings.always);
    EXPECT_FALSE(settings.on_all_hosts);
    EXPECT_FALSE(settings.reports);
    EXPECT_EQ(settings.turn_calls, 0);
}

TEST(PreloadSettings, ReadAllVariables) {
    const PreloadSettings settings = settings_of({{"TUTTI", "my/table.json"},
                                                  {"TUTTI_COLLECTIVES", "broadcast,barrier"},
                                                  {"TUTTI_AFTER", "0"},
                                                  {"TUTTI_TABLE_ANYWAY", "1"},
                                                  {"TUTTI_ALWAYS", "1"},
                                                  {"TUTTI_ON_ALL_HOSTS", "1"},
                                                  {"TUTTI_REPORT", "1"},
                                                  {"TUTTI_AB", "20"}});
    EXPECT_EQ(settings.chooser, PreloadChoice::table);
    EXPECT_EQ(settings.table_file, "my/table.json");
    EXPECT_TRUE(settings.table_anyway);
    for (int kind = 0; kind < call_kinds; ++kind)
        EXPECT_EQ(settings.takes(static_cast<CallKind>(kind)),
                  static_cast<CallKind>(kind) == CallKind::broadcast ||
                      static_cast<CallKind>(kind) == CallKind::barrier);
    EXPECT_EQ(settings.after, 0);
    EXPECT_TRUE(settings.always);
    EXPECT_TRUE(settings.on_all_hosts);
    EXPECT_TRUE(settings.reports);
    EXPECT_EQ(settings.turn_calls, 20);
    EXPECT_EQ(settings_of({{"TUTTI", "rules"}}).chooser, PreloadChoice::rules);
    EXPECT_EQ(settings_of({{"TUTTI", "off"}}).chooser, PreloadChoice::off);
}

TEST(PreloadSettings, RejectInvalidValues) {
    for (const auto& [name, value] :
         std::map<std::string, std::string>{{"TUTTI", "fast"},
                                            {"TUTTI_COLLECTIVES", "all_reduce,scans"},
                                            {"TUTTI_AFTER", "-1"},
                                            {"TUTTI_TABLE_ANYWAY", "true"},
                                            {"TUTTI_ALWAYS", "yes"},
                                            {"TUTTI_ON_ALL_HOSTS", "yes"},
                                            {"TUTTI_REPORT", "yes"},
                                            {"TUTTI_AB", "20x"}})
        EXPECT_THROW(settings_of({{name, value}}), Error) << name;
    EXPECT_THROW(settings_of({{"TUTTI_COLLECTIVES", ","}}), Error);
}

}  // namespace
}  // namespace tutti
