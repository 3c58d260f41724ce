"""A step of the set-up: what it is called, what it depends on, and how it is done.

A step that is done leaves a stamp, the digest of everything it depends on. The next run skips a step whose stamp still
holds, so that a run which was stopped goes on where it was, and a change of a pinned version redoes just what needs it.
"""

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import paths


class SetupError(Exception):
    """Ends the set-up; the text is for the person in front of it."""


@dataclass
class Step:
    """One step. `run` must be safe to call again after it was stopped anywhere in its middle."""

    name: str
    title: str
    run: Callable[[], None]
    # Texts and files whose change makes the step stale.
    inputs: list = field(default_factory=list)
    after: list["Step"] = field(default_factory=list)
    # What it leaves behind; if one of these is gone the step is done again.
    outputs: list = field(default_factory=list)
    download_mb: int = 0
    disk_mb: int = 0

    @property
    def stamp(self):
        return paths.STAMPS / self.name

    def digest(self) -> str:
        """Of everything that the step depends on, the steps before it included."""
        sha = hashlib.sha256()
        for part in self.inputs:
            sha.update(part.read_bytes() if hasattr(part, "is_file") and part.is_file() else str(part).encode())
            sha.update(b"\0")
        for step in self.after:
            sha.update(step.digest().encode())
        return sha.hexdigest()

    def is_done(self) -> bool:
        try:
            stamp = self.stamp.read_text()
        except FileNotFoundError:
            return False
        complete = stamp == self.digest() and all(path.exists() for path in self.outputs)
        return complete and all(step.is_done() for step in self.after)

    def finish(self) -> None:
        """Leaves the stamp, all of it or none."""
        paths.STAMPS.mkdir(parents=True, exist_ok=True)
        new = self.stamp.with_suffix(".new")
        new.write_text(self.digest())
        os.replace(new, self.stamp)


def carry_out(steps: list[Step]) -> None:
    """Does the steps in order, telling which one is at work and how long each took."""
    # All of them first: a step that is done again takes away what those after it stood on.
    for step in steps:
        step.stamp.unlink(missing_ok=True)
    for number, step in enumerate(steps, 1):
        size = f", {step.download_mb} MB to download" if step.download_mb else ""
        print(f"[{number}/{len(steps)}] {step.title}{size}", flush=True)
        started = time.monotonic()
        step.run()
        step.finish()
        print(f"      done in {time.monotonic() - started:.0f} s", flush=True)
