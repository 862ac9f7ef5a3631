# SPDX-License-Identifier: Apache-2.0
"""One rank of the training of 'tutti workload train' by PyTorch's DistributedDataParallel over gloo, for scripts/compare_ddp.

Layers, rows, shares of a batch, optimizer, learning rate and number of steps are the same; each rank uses one thread. Only the
order of the rows and the initial weights come from another random generator. torch_train.py NETWORK BATCH EPOCHS RATE FILE
"""

import contextlib
import datetime
import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

DIGITS = Path(__file__).resolve().parents[2] / "workloads/learn/training/data/digits.libsvm"
NETWORKS = {
    "logistic": lambda: nn.Sequential(nn.Linear(64, 10)),
    "mlp": lambda: nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)),
    "cnn": lambda: nn.Sequential(nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                 nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10)),
}
STEPS_WITHOUT_SYNC = 100
MOMENTUM = 0.9


def digits():
    """Returns (training rows, their labels, test rows, their labels): every fifth row is for testing."""
    rows, labels = [], []
    for line in DIGITS.read_text(encoding="utf-8").splitlines():
        words = line.split()
        row = [0.0] * 64
        for pixel, value in (word.split(":") for word in words[1:]):
            row[int(pixel) - 1] = float(value) / 16
        rows.append(row)
        labels.append(int(words[0]))
    rows, labels = torch.tensor(rows), torch.tensor(labels)
    tests = torch.arange(len(rows)) % 5 == 4
    return rows[~tests], labels[~tests], rows[tests], labels[tests]


def train(network, batch, epochs, rate, file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    rank, ranks = dist.get_rank(), dist.get_world_size()
    rows, labels, test_rows, test_labels = digits()
    torch.manual_seed(1)  # on all ranks: the same order of rows
    model = DistributedDataParallel(NETWORKS[network]())
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=MOMENTUM)
    loss_of = nn.CrossEntropyLoss()

    def step(mine):
        begin = time.perf_counter_ns()
        optimizer.zero_grad()
        loss_of(model(rows[mine]), labels[mine]).backward()
        optimizer.step()
        return time.perf_counter_ns() - begin

    steps_of_epoch = len(rows) // batch
    steps, times = epochs * steps_of_epoch, []
    dist.barrier()
    began = time.perf_counter_ns()
    for number in range(steps):
        if number % steps_of_epoch == 0:
            order = torch.randperm(len(rows))
        optimizer.param_groups[0]["lr"] = rate * min(1, 2 * (steps - number) / steps)
        whole = order[number % steps_of_epoch * batch:][:batch]
        times.append(step(whole[batch * rank // ranks:batch * (rank + 1) // ranks]))
    seconds = (time.perf_counter_ns() - began) * 1e-9
    with torch.no_grad():
        accuracy = (model.module(test_rows).argmax(1) == test_labels).float().mean().item()
    optimizer.param_groups[0]["lr"] = 0
    dist.barrier()
    with model.no_sync():
        without_sync = [step(order[:batch // ranks]) for _ in range(STEPS_WITHOUT_SYNC)]
    record = {"kind": "pytorch", "network": network, "ranks": ranks, "batch": batch, "epochs": epochs, "learning_rate": rate,
              "framework": f"torch {torch.__version__}, gloo, {blas()}", "parameters": sum(each.numel() for each in model.parameters()),
              "step_ns": of_slowest(times), "alone_ns": of_slowest(without_sync), "seconds": seconds, "accuracy": accuracy}
    if rank == 0:
        Path(file).write_text(json.dumps(record) + "\n", encoding="utf-8")
    with contextlib.suppress(RuntimeError):  # the peer may have ended; all is written
        dist.barrier()
    os._exit(0)  # gloo's shutdown sometimes waits forever for connections that the peer has closed


def blas():
    """Returns the library for matrices: Debian's reference library is some ten times slower than OpenBLAS."""
    loaded = Path("/proc/self/maps").read_text(encoding="utf-8")
    return next((name for name in ("libmkl_", "openblas", "libblas") if name in loaded), "a BLAS of its own")


def of_slowest(times):
    """Returns the time of the slowest rank for each step."""
    slowest = torch.tensor(times)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return slowest.tolist()


if __name__ == "__main__":
    if len(sys.argv) != 6 or "RANK" not in os.environ:
        sys.exit("torch_train.py is started by scripts/compare_ddp")
    train(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5])
