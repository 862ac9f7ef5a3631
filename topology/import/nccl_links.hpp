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

/// The devices at a PCI address: several where a GPU is divided.
using NcclAddresses = std::map<std::string, std::vector<int>>;

/// The nvlink, xgmi and c2c rows of the GPUs, as links; both directions are one. NVSwitches that
/// only the rows name become devices of `host`, at the end. The parts of a divided GPU share what
/// its links carry.
void read_nccl_links(const std::vector<NcclGpu>& gpus, NcclAddresses& by_address, Host& host,
                     const Source& source);

}  // namespace tutti
