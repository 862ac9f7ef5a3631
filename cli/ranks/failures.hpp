// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "collectives/world/world.hpp"
#include "results/store.hpp"

namespace tutti {

/// Runs `work` and lets its errors go on, after it has recorded why the run ended, with the rank
/// that gave up where that is this one. `store` may be null; errors of usage are no failures.
Exit recording_failures(World& world, const std::unique_ptr<Store>& store,
                        const std::string& session, const std::function<Exit()>& work);

}  // namespace tutti
