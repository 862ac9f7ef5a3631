# SPDX-License-Identifier: Apache-2.0
"""One rank of a training with torch's powerSGD hook; prints the weights. Usage: powersgd.py gloo|tutti."""
import datetime
import json
import os
import sys

import torch
import torch.distributed as dist
import tutti_torch  # noqa: F401  # pylint: disable=unused-import  # registers the backend
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

torch.set_num_threads(1)
dist.init_process_group(sys.argv[1], timeout=datetime.timedelta(seconds=30))
torch.manual_seed(1)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(20, 50), nn.ReLU(), nn.Linear(50, 3)))
model.register_comm_hook(powerSGD_hook.PowerSGDState(None, 1, start_powerSGD_iter=2), powerSGD_hook.powerSGD_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
torch.manual_seed(dist.get_rank())
for _ in range(8):
    optimizer.zero_grad()
    model(torch.randn(16, 20)).square().mean().backward()
    optimizer.step()
print(json.dumps(torch.cat([each.detach().reshape(-1) for each in model.parameters()]).tolist()))
if sys.argv[1] == "gloo":  # its threads still run Python code at the exit, which aborts the process now and then
    sys.stdout.flush()
    os._exit(0)
