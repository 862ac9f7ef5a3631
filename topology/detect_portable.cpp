// SPDX-License-Identifier: Apache-2.0
#include "topology/detect.hpp"
#include "topology/sysfs_host.hpp"

namespace tutti {

Host detect_structure() { return read_sysfs_host("/"); }

}  // namespace tutti
