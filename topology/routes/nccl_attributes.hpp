// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "topology/machine/machine.hpp"

/// The attributes of NCCL's file, each with a blank before it.
namespace tutti::nccl {

std::string attribute(std::string_view name, std::string_view value);

/// "10de:2330" as two attributes; nothing where it is unknown.
std::string ids(std::string_view prefix, const std::string& id);

std::string link_attributes(PcieLink link);

/// The CPUs of the node: "000000ff,ffff0000", 32 a word, the highest first.
std::string affinity(const Host& host, const NumaNode& node);

/// NCCL knows three processors, two of them by other words than the kernel's.
std::string nccl_word(const std::string& architecture);

bool is_amd(const Device& gpu);

/// What a <gpu> says of itself.
std::string gpu_attributes(const Device& gpu);

/// An attribute that NCCL does not know; nothing where the value is longer than it reads.
std::string own_attribute(std::string_view name, const std::string& value);

/// Names and model, where a reader would not find them in the rest of the file.
std::string own_attributes(const Device& device);

}  // namespace tutti::nccl
