# SPDX-License-Identifier: Apache-2.0
"""The program of the traces beside it: a small network on random images, data parallel over gloo.

small_network.py mlp|cnn [STEPS]
"""
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

NETWORKS = {
    "mlp": lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(),
                                 nn.Linear(512, 10)),
    "cnn": lambda: nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                                 nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                                 nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 10)),
}


def main(name, steps=40):
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = DistributedDataParallel(NETWORKS[name]())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    torch.manual_seed(dist.get_rank())
    for _ in range(int(steps)):
        images, labels = torch.randn(32, 1, 8, 8), torch.randint(10, (32,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
    weights = torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])
    of_ranks = [torch.empty_like(weights) for _ in range(dist.get_world_size())]
    dist.all_gather(of_ranks, weights)
    if any(not torch.equal(weights, other) for other in of_ranks):
        sys.exit("small_network.py: the ranks' weights are not the same")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
