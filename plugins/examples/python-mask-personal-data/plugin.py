"""Masks personal data in texts before a model sees them.

- input `text` BYTES [n]: texts
- outputs: `masked` BYTES [n], with a word such as [email] in place of what was found; `count` INT32 [n], how often

Parameter `kinds`: which to look for, by default all: "email, phone, card, ipv4".
"""

import re

import nacre
from nacre import Spec

PATTERNS = {
    "email": r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    # Thirteen to nineteen digits in groups; the check digit decides.
    "card": r"\b\d(?:[ -]?\d){12,18}\b",
    "ipv4": r"\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b",
    "phone": r"(?<![\w.])(?:\+\d{1,3}[ .-]?)?(?:\(\d{1,4}\)[ .-]?)?\d{2,4}(?:[ .-]\d{2,4}){1,4}\b(?!\.\d)",
}


def is_card(text: str) -> bool:
    """Whether the last digit is the one that the others call for (Luhn)."""
    digits = [int(digit) for digit in re.sub(r"\D", "", text)]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return (sum(digits[::-2]) + sum(doubled)) % 10 == 0


class Plugin(nacre.Plugin):
    summary = "masks personal data in texts"
    inputs = [Spec("text", "BYTES", [-1])]
    outputs = [Spec("masked", "BYTES", [-1]), Spec("count", "INT32", [-1])]

    def configure(self, settings):
        names = [name.strip() for name in settings.text("kinds", ", ".join(PATTERNS)).split(",")]
        unknown = [name for name in names if name not in PATTERNS]
        if unknown:
            raise nacre.Error(f"parameter 'kinds' has '{unknown[0]}': expected some of {', '.join(PATTERNS)}")
        # Compiled once, when the model is loaded: each request starts with the result.
        self.rules = [(name, re.compile(pattern)) for name, pattern in PATTERNS.items() if name in names]

    def masked(self, text: str) -> tuple[str, int]:
        count = 0
        for name, rule in self.rules:

            def replace(match: re.Match, name=name) -> str:
                nonlocal count
                if name == "card" and not is_card(match[0]):
                    return match[0]
                count += 1
                return f"[{name}]"

            text = rule.sub(replace, text)
        return text, count

    def process(self, request):
        text = request.input("text")
        results = [self.masked(each) for each in text.strings()]
        found = sum(count for _, count in results)
        nacre.metrics.add("masked", found)
        return [
            nacre.strings("masked", text.shape, [masked for masked, _ in results]),
            nacre.tensor("count", "INT32", text.shape, [count for _, count in results]),
        ]
