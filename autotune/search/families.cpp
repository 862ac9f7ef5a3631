// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/families.hpp"

#include <algorithm>
#include <map>

namespace tutti {

Families::Families(std::span<const Arm> arms) : arms_(arms.begin(), arms.end()) {
    std::map<int, std::size_t> known;
    for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
        const auto [place, is_new] = known.try_emplace(arms_[arm].family, members_.size());
        if (is_new) members_.emplace_back();
        family_of_.push_back(place->second);
        members_[place->second].push_back(static_cast<int>(arm));
    }
}

int Families::nearest(std::size_t family, const Level& level) const {
    const auto distance = [&](int arm) {
        double sum = 0;
        for (std::size_t p = 0; p < level.size(); ++p) {
            const double apart = at(arms_, arm).level[p] - level[p];
            sum += apart * apart;
        }
        return sum;
    };
    return *std::min_element(members_[family].begin(), members_[family].end(),
                             [&](int a, int b) { return distance(a) < distance(b); });
}

int Families::middle(std::size_t family) const {
    Level centre{};
    for (std::size_t p = 0; p < centre.size(); ++p) {
        std::vector<int> levels;
        for (const int arm : members_[family]) levels.push_back(at(arms_, arm).level[p]);
        const auto [least, most] = std::minmax_element(levels.begin(), levels.end());
        centre[p] = (*least + *most) / 2.0;
    }
    return nearest(family, centre);
}

int Families::between(int one, int other) const {
    const Arm& a = at(arms_, one);
    const Arm& b = at(arms_, other);
    Level halfway{};
    for (std::size_t p = 0; p < halfway.size(); ++p) halfway[p] = (a.level[p] + b.level[p]) / 2.0;
    return nearest(of(one), halfway);
}

std::vector<int> Families::scale_through(int arm, std::size_t parameter) const {
    Arm wanted = at(arms_, arm);
    std::vector<int> scale;
    for (const int member : members_[of(arm)]) {
        const Arm& candidate = at(arms_, member);
        wanted.level[parameter] = candidate.level[parameter];
        if (candidate == wanted) scale.push_back(member);
    }
    std::sort(scale.begin(), scale.end(), [&](int a, int b) {
        return at(arms_, a).level[parameter] < at(arms_, b).level[parameter];
    });
    return scale;
}

}  // namespace tutti
