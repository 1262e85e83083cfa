"""Which field needs which: the order of evaluation, and the cycles that forbid one."""

import heapq
from collections.abc import Mapping


def evaluation_order(uses: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Every field after all it uses, ties by name. Fields on or behind a cycle are left out."""
    waiting = {path: len(needed) for path, needed in uses.items()}
    users: dict[str, list[str]] = {path: [] for path in uses}
    for path, needed in uses.items():
        for each in needed:
            users[each].append(path)
    ready = [path for path, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        path = heapq.heappop(ready)
        order.append(path)
        for user in users[path]:
            waiting[user] -= 1
            if waiting[user] == 0:
                heapq.heappush(ready, user)
    return order


def find_cycle(uses: Mapping[str, tuple[str, ...]], stuck: set[str]) -> list[str]:
    """One cycle among the stuck fields, beginning and ending with its first name."""
    path = min(stuck)
    seen: dict[str, int] = {}
    walk: list[str] = []
    while path not in seen:
        seen[path] = len(walk)
        walk.append(path)
        path = min(each for each in uses[path] if each in stuck)
    cycle = walk[seen[path] :]
    first = cycle.index(min(cycle))
    return [*cycle[first:], *cycle[:first], cycle[first]]
