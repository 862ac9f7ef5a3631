// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>

#include "topology/detect/ucx_resources.hpp"

namespace tutti {

// Lines look like "#      resource 2  :  md 1  dev 2  flags -- tcp/eth0".
std::vector<std::string> ucx_resources_in(const std::string& text) {
    std::vector<std::string> transports;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string hash, kind, last;
        words >> hash >> kind;
        if (hash != "#" || kind != "resource") continue;
        for (std::string word; words >> word;) last = word;
        if (last.find('/') == std::string::npos) continue;
        if (std::ranges::find(transports, last) == transports.end()) transports.push_back(last);
    }
    return transports;
}

}  // namespace tutti
