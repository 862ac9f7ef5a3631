// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

// Attributes that tutti adds to NCCL's file, so that the same machine is read back from it. NCCL
// and RCCL keep attributes they do not know, and do not look at them.
namespace tutti::nccl_own {

inline constexpr std::string_view host = "tutti_host";  ///< Host::name, in the first <cpu>

/// Of a device or switch, where the tree has them in another order than Host.
inline constexpr std::string_view position = "tutti_position";

/// Device::names between blanks, and Device::model, where the rest of the file does not say them.
inline constexpr std::string_view names = "tutti_names";
inline constexpr std::string_view model = "tutti_model";

/// NCCL refuses a file with a longer value.
inline constexpr std::size_t longest = 250;

}  // namespace tutti::nccl_own
