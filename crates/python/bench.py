"""Figures of the package: `python bench.py [FOLDER]`, with the wheel as it is given away.

Prints how long a durable decision takes from Python and from Rust in one run, with sixteen threads, and an import.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import writkeeper
from writkeeper import _json

CONTRACT = """
agent: bench-bot
actions:
  pay: { once: "pay:{order}", params: { order: text, amount: money EUR }, allow: amount <= 25 }
"""
ROUNDS, BATCH, THREADS = 9, 200, 16


def proposals(prefix: str) -> list[str]:
    def one(number: int) -> str:
        return _json.encode({"agent": "bench-bot", "action": "pay", "params": {"order": f"{prefix}-{number}", "amount": 5}})

    return [one(number) for number in range(BATCH)]


def from_python(keeper: writkeeper.Keeper, prefix: str) -> float:
    begin = time.perf_counter()
    for number in range(BATCH):
        keeper.decide(agent="bench-bot", action="pay", params={"order": f"{prefix}-{number}", "amount": 5})
    return time.perf_counter() - begin


def threaded(keeper: writkeeper.Keeper) -> float:
    threads = [threading.Thread(target=from_python, args=(keeper, f"t{number}")) for number in range(THREADS)]
    begin = time.perf_counter()
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    return (time.perf_counter() - begin) / THREADS


def importing() -> float:
    code = "import time; begin = time.perf_counter(); import writkeeper; print(time.perf_counter() - begin)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    return statistics.median(float(run.stdout) for run in runs)


def main() -> None:
    folder = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=folder) as scratch, writkeeper.open(Path(scratch) / "kept.db", contract=CONTRACT) as keeper:
        from_python(keeper, "warm")
        pairs = [(from_python(keeper, f"p{at}"), keeper._native.measure(proposals(f"r{at}"))) for at in range(ROUNDS)]
        micros = 1e6 / BATCH
        python, rust = (statistics.median(column) * micros for column in zip(*pairs))
        figures = {
            "decide_python_us": round(python, 1),
            "decide_rust_us": round(rust, 1),
            "ratio": round(statistics.median(one / other for one, other in pairs), 3),
            "decide_16_threads_us": round(threaded(keeper) * micros, 1),
            "import_ms": round(importing() * 1e3, 1),
        }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
