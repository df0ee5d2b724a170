"""Run the mutants, and print those that survive: ``python -m tests.mutants.run``.

Every mutant is tried in a copy of library and tests, with the tests of its room that the list
names, up to the first failure. Before that the same tests must pass on the library as it is. A
mutant whose tests do not end counts as killed: its limit is a minute and six times what they
take without it, so that they are far below it by themselves; such kills are counted apart.

Exits with 1 if fewer than 95% are killed, if a survivor has no explanation in the list, if
tests fail without a mutant, or if a snippet is stale.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import NamedTuple, TypeVar

from tests.mutants.lists import ALL
from tests.mutants.mutant import Mutant, Stale, missing_tests
from tests.mutants.sandbox import Outcome, Sandbox

Item = TypeVar("Item")
Done = TypeVar("Done")
LEAST_SHARE = 0.95
_SPARE, _TIMES = 60.0, 6.0
_LONGEST = 900.0


class Result(NamedTuple):
    """A mutant and how its tests ended."""

    mutant: Mutant
    outcome: Outcome

    @property
    def is_killed(self) -> bool:
        """Whether the tests noticed."""
        return self.outcome.verdict in ("failed", "time")


def stale(mutants: Sequence[Mutant]) -> list[str]:
    """Return what is out of date in a list of mutants."""
    found = []
    for mutant in mutants:
        try:
            mutant.applied()
        except Stale as error:
            found.append(str(error))
        found += [f"{mutant.file}: no such test: {test}" for test in missing_tests(mutant)]
    return found


def in_copies(
    items: Sequence[Item], boxes: Sequence[Sandbox], act: Callable[[Item, Sandbox], Done]
) -> list[Done]:
    """Return what an act gives for each item, one in each copy at a time."""
    free: SimpleQueue[Sandbox] = SimpleQueue()
    for box in boxes:
        free.put(box)

    def with_a_copy(item: Item) -> Done:
        box = free.get()
        try:
            return act(item, box)
        finally:
            free.put(box)

    with ThreadPoolExecutor(len(boxes)) as pool:
        return list(pool.map(with_a_copy, items))


def baseline(
    mutants: Sequence[Mutant], boxes: Sequence[Sandbox]
) -> tuple[dict[str, float], list[str]]:
    """Return how long each test target takes without a mutant, and what fails already."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})

    def tried(test: str, box: Sandbox) -> Outcome:
        outcome = box.run([test], limit=_LONGEST)
        print(f"  {outcome.seconds:6.1f} s  {test}", flush=True)
        return outcome

    outcomes = dict(zip(tests, in_copies(tests, boxes, tried), strict=True))
    broken = [
        f"{test}: {outcome.verdict}, {outcome.detail}"
        for test, outcome in outcomes.items()
        if outcome.verdict != "passed"
    ]
    return {test: outcome.seconds for test, outcome in outcomes.items()}, broken


def run(
    mutants: Sequence[Mutant], seconds: dict[str, float], boxes: Sequence[Sandbox]
) -> list[Result]:
    """Try every mutant."""

    def tried(mutant: Mutant, box: Sandbox) -> Result:
        limit = _SPARE + _TIMES * sum(seconds[test] for test in mutant.tests)
        outcome = box.with_mutant(mutant, lambda: box.run(mutant.tests, limit=limit))
        result = Result(mutant, outcome)
        print(line(result), flush=True)
        return result

    return in_copies(mutants, boxes, tried)


def line(result: Result) -> str:
    """Return a row of the table."""
    mutant, outcome = result
    verdict = {"failed": "killed", "time": "killed (time)", "passed": "SURVIVED"}
    place = f"{mutant.file}:{mutant.line()}"
    text = verdict.get(outcome.verdict, outcome.verdict.upper())
    return f"  {text:13} {outcome.seconds:6.1f} s  {place:48} {mutant.why}"


def report(results: Sequence[Result]) -> tuple[str, bool]:
    """Return the table of survivors with the counts by room, and whether all is well."""
    rooms: dict[str, list[Result]] = {}
    for result in results:
        rooms.setdefault(result.mutant.room, []).append(result)
    lines = ["", "room                               killed  of"]
    for room, group in sorted(rooms.items()):
        lines.append(f"{room:35} {sum(r.is_killed for r in group):5} {len(group):3}")
    survivors = [result for result in results if not result.is_killed]
    killed = len(results) - len(survivors)
    slow = sum(result.outcome.verdict == "time" for result in results)
    share = killed / len(results) if results else 0.0
    lines.append(f"{killed} of {len(results)} killed ({share:.1%}), {slow} of them by time")
    unexplained = [r for r in survivors if not r.mutant.equivalent or r.outcome.verdict == "broken"]
    if survivors:
        lines += ["", "Survivors:"]
    for result in survivors:
        lines += [line(result), f"      - {result.mutant.code.strip()}"]
        lines += [f"      + {result.mutant.becomes.strip()}"]
        why = result.mutant.equivalent or f"NOT EXPLAINED. {result.outcome.detail}"
        lines += [f"      {why}"]
    superfluous = [r for r in results if r.is_killed and r.mutant.equivalent]
    lines += [f"Explained, but killed: {line(result).strip()}" for result in superfluous]
    return "\n".join(lines), share >= LEAST_SHARE and not unexplained


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.run", description=__doc__)
    parser.add_argument("--workers", type=int, default=1, help="copies that run at a time")
    parser.add_argument("--only", default="", help="mutants whose file or reason has this in it")
    parser.add_argument("--stale", action="store_true", help="run nothing: what is out of date")
    given = parser.parse_args(arguments)
    mutants = [m for m in ALL if given.only in m.file or given.only in m.why]
    old = stale(mutants)
    print("\n".join(old) if old else f"{len(mutants)} mutants, none out of date", flush=True)
    if old or given.stale or not mutants:
        return int(bool(old) or not mutants)
    boxes = [Sandbox() for _ in range(max(1, given.workers))]
    try:
        print("Without a mutant:", flush=True)
        seconds, broken = baseline(mutants, boxes)
        if broken:
            print("These fail without a mutant:", *broken, sep="\n  ")
            return 1
        print("With each mutant:", flush=True)
        text, is_well = report(run(mutants, seconds, boxes))
    finally:
        for box in boxes:
            box.__exit__(None, None, None)
    print(text)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
