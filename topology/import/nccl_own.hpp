// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

// Attributes that tutti adds to NCCL's file so that the same machine is read back. NCCL and RCCL
// ignore unknown attributes.
namespace tutti::nccl_own {

inline constexpr std::string_view host = "tutti_host";  ///< Host::name, in the first <cpu>

/// Position of a device or switch, if the order of the tree differs from Host's.
inline constexpr std::string_view position = "tutti_position";

/// Device::names separated by blanks, and Device::model, if the file does not contain them
/// otherwise.
inline constexpr std::string_view names = "tutti_names";
inline constexpr std::string_view model = "tutti_model";

/// Longest value that NCCL accepts.
inline constexpr std::size_t longest = 250;

}  // namespace tutti::nccl_own
