// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/ucx_resources.hpp"

#include <gtest/gtest.h>

namespace tutti {

using Names = std::vector<std::string>;

TEST(UcxResources, AreTheLastWordsOfTheirLines) {
    EXPECT_EQ(ucx_resources_in("# UCP context\n"
                               "#     component 0  :  self\n"
                               "#            md 0  :  component 0  self \n"
                               "#      resource 0  :  md 0  dev 0  flags -- self/memory0\n"
                               "#      resource 1  :  md 1  dev 1  flags -- tcp/eth0\n"
                               "#      resource 2  :  md 2  dev 1  flags -- tcp/eth0\n"),
              (Names{"self/memory0", "tcp/eth0"}));
    EXPECT_EQ(ucx_resources_in(""), Names{});
}

TEST(UcxResources, AreThereOrSayWhyNot) {
    const UcxResources ucx = ucx_resources();
    EXPECT_NE(ucx.transports.empty(), ucx.why_none.empty());
}

}  // namespace tutti
