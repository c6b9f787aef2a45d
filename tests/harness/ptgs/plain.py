"""PTGS once more, in scalars and dicts, to hold the real one to."""

from __future__ import annotations

import math
from hashlib import blake2b
from statistics import NormalDist
from typing import Any

import numpy as np

LOW = 0xFFFFFFFF


def single(x: float) -> float:
    return float(np.float32(x))


def philox(task: int, visit: int, number: int, seed: int) -> list[int]:
    a, b, c, d = task & LOW, task >> 32, visit, number
    one, two = seed & LOW, seed >> 32
    for _ in range(10):
        left, right = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = right >> 32 ^ b ^ one, right & LOW, left >> 32 ^ d ^ two, left & LOW
        one, two = one + 0x9E3779B9 & LOW, two + 0xBB67AE85 & LOW
    return [a, b, c, d]


def fine(high: int, low: int) -> float:
    return ((high << 20 | low >> 12) + 0.5) / 2**52


def log_gamma(shape: float, second: bool, task: int, visit: int, seed: int) -> float:
    small = shape < 1
    d, number = shape + small - 1 / 3, 0
    while True:
        words = [(word + 0.5) / 2**32 for word in philox(task, visit, number, seed)]
        turn = 2 * math.pi * words[1]
        x = math.sqrt(-2 * math.log(words[0])) * (math.sin(turn) if second else math.cos(turn))
        v = (1 + x / math.sqrt(9 * d)) ** 3
        if v > 0 and math.log(words[2 + second]) < x * x / 2 + d * (1 - v + math.log(v)):
            break
        number += 1
    boost = philox(task, visit, 1 << 31, seed)[2 * second :]
    return math.log(d) + math.log(v) + (math.log(fine(*boost[:2])) / shape if small else 0)


class Plain:
    """One task after the other; `target` is a number or (start, end, total, by)."""

    def __init__(self, **settings: Any) -> None:
        self.set = settings
        self.tasks: dict[str | int, dict[str, Any]] = {}
        self.step = 0
        # Sums of each bin as the step began, that step, and what has come in it.
        self.bins, self.began, self.news = [[0.0] * 4 for _ in range(6)], 0, []

    def of(self, task: str | int) -> dict[str, Any]:
        return self.tasks.setdefault(task, {"s": 0.0, "f": 0.0, "visits": 0, "held": None})

    def shapes(self, task: str | int, step: int) -> tuple[float, float, float]:
        aim, one = self.set["target"], self.of(task)
        if not isinstance(aim, float):
            start, end, total, by = aim
            k = one["visits"] + 1 if by == "visits" else step
            aim = end if k >= total else start * (end / start) ** (k / total)
        return 2 * aim + one["s"], 2 - 2 * aim + one["f"], aim

    def temperature(self, task: str | int, step: int) -> float:
        one, now = self.of(task), self.set
        if one["held"] is None:
            a, b, aim = self.shapes(task, step)
            number = task
            if isinstance(number, str):
                digest = blake2b(number.encode(), digest_size=8).digest()
                number = int.from_bytes(digest, "big")
            where = number, one["visits"], now["seed"]
            odds = log_gamma(b, True, *where) - log_gamma(a, False, *where)
            p = 1 / (1 + math.exp(min(odds, 709)))
            heat = 1 - p / aim if p <= aim else -(p - aim) / (1 - aim)
            held = single(now["t_ref"] * now["tau"] ** heat)
            if one["visits"] < now["pilot"]:
                held = single(now["t_ref"])
            elif held > single(now["t_ref"]) and self.shut(a / (a + b), step):
                words = philox(*where[:2], 1 << 30, now["seed"])
                if fine(*words[:2]) >= now["gate"]["probe"]:
                    held = single(now["t_ref"])
            one["held"] = held
        return float(one["held"])

    def shut(self, estimate: float, step: int) -> bool:
        gate = self.set["gate"]
        n, squared, total, total_2 = self.sums(step)[self.bin(estimate)] if gate else [0.0] * 4
        if not n:
            return False
        size, mean = n * n / squared, total / n
        error = math.sqrt(max((total_2 + 1) / (n + 1) - mean * mean, 0) / size)
        high = mean + NormalDist().inv_cdf(gate["confidence"]) * error
        return bool(size >= gate["groups"] and high < gate["margin"])

    def bin(self, estimate: float) -> int:
        return sum(estimate >= edge for edge in (0.05, 0.15, 0.3, 0.5, 0.75))

    def sums(self, step: int) -> list[list[float]]:
        if step <= self.began:
            return self.bins
        sums = [list(row) for row in self.bins]
        for at, gap in self.news:
            sums[at] = [x + y for x, y in zip(sums[at], (1, 1, gap, gap * gap), strict=True)]
        keep = self.set["gate"]["keep"] ** (step - self.began)
        return [[x * k for x, k in zip(r, (keep, keep**2, keep, keep), strict=True)] for r in sums]

    def tell(self, task: str | int, step: int, s: int, n: int, ref_s: int, ref_n: int) -> None:
        one, gamma = self.of(task), self.set["gamma"]
        if self.set["gate"]:
            if step > self.began:
                self.bins, self.began, self.news = self.sums(step), step, []
            a, b, _ = self.shapes(task, step)
            if one["held"] is not None and one["held"] > single(self.set["t_ref"]) and n > ref_n:
                gap = (s - ref_s) / (n - ref_n) - ref_s / ref_n
                self.news.append((self.bin(a / (a + b)), gap))
        if ref_n:
            s, n = ref_s, ref_n
        one["s"], one["f"] = single(gamma * one["s"] + s), single(gamma * one["f"] + n - s)
        one["visits"], one["held"], self.step = one["visits"] + 1, None, step
