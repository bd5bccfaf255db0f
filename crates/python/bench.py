"""Figures of the package: `python bench.py [--folder FOLDER] [--wheel FILE] [--json]`, with the wheel as it is given away.

Prints how long a decision takes from Python and from Rust in one run, durable and in memory, with sixteen threads, awaited
and guarded; how long an import takes; how large the wheel is. `cargo xtask bench-python` builds the wheel and runs it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import writkeeper
from writkeeper import _json, _native

CONTRACT = """
agent: bench-bot
actions:
  pay: { once: "pay:{order}", params: { order: text, amount: money EUR }, allow: amount <= 25 }
"""
ROUNDS, BATCH, THREADS, IMPORTS = 9, 200, 16, 5
MICROS = 1e6 / BATCH


def proposals(prefix: str) -> list[str]:
    """A batch as the native half takes it."""

    def one(number: int) -> str:
        return _json.encode({"agent": "bench-bot", "action": "pay", "params": {"order": f"{prefix}-{number}", "amount": 5}})

    return [one(number) for number in range(BATCH)]


def from_python(keeper: writkeeper.Keeper, prefix: str) -> float:
    """One decision after the other, as a program makes them."""
    begin = time.perf_counter()
    for number in range(BATCH):
        keeper.decide(agent="bench-bot", action="pay", params={"order": f"{prefix}-{number}", "amount": 5})
    return time.perf_counter() - begin


def threaded(keeper: writkeeper.Keeper) -> float:
    """The same from sixteen threads; the time of one batch."""
    threads = [threading.Thread(target=from_python, args=(keeper, f"t{number}")) for number in range(THREADS)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.perf_counter() - begin) / THREADS


def awaited(keeper: writkeeper.Keeper) -> float:
    """A batch at once in one event loop."""

    async def run() -> None:
        orders = [{"order": f"a-{number}", "amount": 5} for number in range(BATCH)]
        await asyncio.gather(*(keeper.decide_async(agent="bench-bot", action="pay", params=one) for one in orders))

    begin = time.perf_counter()
    asyncio.run(run())
    return time.perf_counter() - begin


def guarded(keeper: writkeeper.Keeper) -> float:
    """A tool that does nothing, behind the guard: judged, taken up, reported."""
    pay = keeper.guard("bench-bot").tool(lambda order, amount: None, name="pay")
    begin = time.perf_counter()
    for number in range(BATCH):
        pay(order=f"g-{number}", amount=5)
    return time.perf_counter() - begin


def importing(module: str) -> float:
    """The middle of a few fresh imports, in seconds."""
    code = f"import time; begin = time.perf_counter(); import {module}; print(time.perf_counter() - begin)"
    words = [sys.executable, "-P", "-c", code]
    runs = [subprocess.run(words, capture_output=True, text=True, check=True) for _ in range(IMPORTS)]
    return statistics.median(float(run.stdout) for run in runs)


def of_store(keeper: writkeeper.Keeper, name: str) -> dict[str, float]:
    """The figures of one kind of store."""
    from_python(keeper, "warm")
    pairs = [(from_python(keeper, f"p{at}"), keeper._native.measure(proposals(f"r{at}"))) for at in range(ROUNDS)]
    python, rust = (statistics.median(column) * MICROS for column in zip(*pairs))
    return {
        f"{name}_decide_python_us": round(python, 1),
        f"{name}_decide_rust_us": round(rust, 1),
        f"{name}_ratio": round(statistics.median(one / other for one, other in pairs), 3),
        f"{name}_decide_{THREADS}_threads_us": round(threaded(keeper) * MICROS, 1),
        f"{name}_decide_async_us": round(awaited(keeper) * MICROS, 1),
        f"{name}_guarded_call_us": round(guarded(keeper) * MICROS, 1),
    }


def figures(folder: str | None, wheel: Path | None) -> dict[str, float]:
    """Everything."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        with writkeeper.open(Path(scratch) / "kept.db", contract=CONTRACT) as keeper:
            measured = of_store(keeper, "file")
        with writkeeper.open("memory:", contract=CONTRACT) as keeper:
            measured |= of_store(keeper, "memory")
    measured["import_ms"] = round(importing("writkeeper") * 1e3, 1)
    measured["native_library_mib"] = round(Path(_native.__file__).stat().st_size / 2**20, 1)
    if wheel is not None:
        measured["wheel_mib"] = round(wheel.stat().st_size / 2**20, 1)
    return measured


def main() -> None:
    """Reads the command line and prints."""
    parser = argparse.ArgumentParser(description="Figures of the package.")
    parser.add_argument("--folder", help="where the store lies while it is measured")
    parser.add_argument("--wheel", type=Path, help="the wheel, for its size")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    measured = figures(given.folder, given.wheel)
    if given.json:
        print(json.dumps(measured))
        return
    for name, value in measured.items():
        print(f"{name:30} {value:>10}")


if __name__ == "__main__":
    main()
