// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "topology/import/xml.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// A <gpu> element of NCCL's file and the device that it describes.
struct NcclGpu {
    int device = 0;
    const XmlElement* element = nullptr;
};

/// The nvlink, xgmi and c2c rows of the GPUs, as links; both directions are one. NVSwitches that
/// only the rows name become devices of `host`.
void read_nccl_links(const std::vector<NcclGpu>& gpus, std::map<std::string, int>& by_address,
                     Host& host, const Source& source);

}  // namespace tutti
