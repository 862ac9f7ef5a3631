// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace tutti {

/// A UUID of version 7: unique without asking anyone, and sorted by time.
std::string new_session_id();

/// Now, as RFC 3339 in UTC with milliseconds: "2026-01-31T12:00:00.000Z".
std::string utc_now();

}  // namespace tutti
