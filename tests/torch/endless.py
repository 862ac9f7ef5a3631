# SPDX-License-Identifier: Apache-2.0
"""One rank that communicates in an endless loop. Usage: endless.py all_reduce|train|message|error|exit"""
import sys

import torch
import torch.distributed as dist
import tutti_torch  # noqa: F401  # pylint: disable=unused-import  # registers the backend
from torch import nn

way = sys.argv[1]
torch.set_num_threads(1)
dist.init_process_group("tutti")  # with torch's default timeout of half an hour
data = torch.ones(50_000)
model = nn.parallel.DistributedDataParallel(nn.Linear(100, 100)) if way == "train" else None
dist.barrier()
print("ready", flush=True)
if way == "error" and dist.get_rank() == 1:
    1 / 0  # pylint: disable=pointless-statement
if way == "exit" and dist.get_rank() == 1:
    dist.all_reduce(data)  # its plan is made now, so rank 0 waits in the next call, not in planning
    sys.exit(3)
while True:
    if way == "train":
        model(torch.ones(1, 100)).sum().backward()
    elif way == "message":
        dist.recv(data, 0) if dist.get_rank() == 1 else dist.send(data, 1)
    else:
        dist.all_reduce(data)
        data.fill_(1)
