"""{{name}}: multiplies numbers, adds to them, and greets.

- input `x` FP32 [-1] → output `y` FP32 [-1]: x * factor + offset
- input `names` BYTES [-1], optional → output `greetings` BYTES [-1], of the same shape

Parameters of config.pbtxt: `factor` (1), `offset` (0).
"""

from array import array

import nacre
from nacre import Spec


class Plugin(nacre.Plugin):
    summary = "multiplies numbers, adds to them, and greets"
    inputs = [Spec("x", "FP32", [-1]), Spec("names", "BYTES", [-1], optional=True)]
    outputs = [Spec("y", "FP32", [-1]), Spec("greetings", "BYTES", [-1])]

    def configure(self, settings):
        self.factor = nacre.fp32(settings.number("factor", default=1))
        self.offset = nacre.fp32(settings.number("offset", default=0))

    def process(self, request):
        x = request.input("x")
        # Python calculates in FP64; an array of "f" rounds to FP32.
        scaled = array("f", [value * self.factor for value in x.values()])
        outputs = [nacre.tensor("y", "FP32", x.shape, [value + self.offset for value in scaled])]

        names = request.find("names")
        if names is not None:
            greetings = [f"hello, {name}" for name in names.strings()]
            outputs.append(nacre.strings("greetings", names.shape, greetings))
        return outputs
