# SPDX-License-Identifier: Apache-2.0
"""One rank that trains a small network and prints its losses and weights. Usage: train.py gloo|tutti|hook STEPS"""
import datetime
import json
import sys

import torch
import torch.distributed as dist
import tutti_torch
from torch import nn

way, steps = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(1)
dist.init_process_group("tutti" if way == "tutti" else "gloo", timeout=datetime.timedelta(seconds=60))
rank, ranks = dist.get_rank(), dist.get_world_size()

torch.manual_seed(1)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(20, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, 3)),
                                            bucket_cap_mb=0.05)
if way == "hook":
    model.register_comm_hook(dist.new_group(backend="tutti"), tutti_torch.all_reduce_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
rows, target = torch.randn(64 * ranks, 20), torch.randn(20, 3)
labels = (rows @ target).argmax(1)
mine = slice(64 * rank, 64 * (rank + 1))
losses = []
for _ in range(steps):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(rows[mine]), labels[mine])
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
weights = torch.cat([each.detach().reshape(-1) for each in model.parameters()])
print(json.dumps({"losses": losses, "weights": weights[::97].tolist()}))
