"""How far a download is, on one line of a terminal, or in a few lines of a log."""

import sys


class Progress:
    """Shows the advance of one file after another. Small files are not worth a line."""

    SMALLEST = 5_000_000

    def __init__(self):
        self.name = ""
        self.terminal = sys.stdout.isatty()
        self.shown = None
        self.is_line_open = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end_line()

    def end_line(self) -> None:
        if self.is_line_open:
            print(flush=True)
            self.is_line_open = False

    def show(self, done: int, total: int) -> None:
        """Called with bytes, often."""
        if total < self.SMALLEST:
            return
        # A terminal sees each percent, a log each quarter.
        step = (self.name, done * (100 if self.terminal else 4) // total)
        if step == self.shown:
            return
        self.shown = step
        text = f"      {self.name}: {done // 1_000_000} of {total // 1_000_000} MB"
        if self.terminal:
            bar = "#" * (30 * done // total)
            print(f"\r{text:<44} [{bar:<30}]", end="", flush=True)
            self.is_line_open = True
            if done >= total:
                self.end_line()
        elif done:
            print(text, flush=True)
