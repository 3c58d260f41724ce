// {{name}}: multiplies numbers, adds to them, and greets.
//
// - input `x` FP32 [-1] → output `y` FP32 [-1]: x * factor + offset
// - input `names` BYTES [-1], optional → output `greetings` BYTES [-1], of the same shape
//
// Parameters of config.pbtxt: `factor` (1), `offset` (0).

import { spec, strings, tensor } from "nacre";

export default class Plugin {
  summary = "multiplies numbers, adds to them, and greets";
  inputs = [spec("x", "FP32", [-1]), spec("names", "BYTES", [-1], { optional: true })];
  outputs = [spec("y", "FP32", [-1]), spec("greetings", "BYTES", [-1])];

  configure(settings) {
    this.factor = Math.fround(settings.number("factor", 1));
    this.offset = Math.fround(settings.number("offset", 0));
  }

  process(request) {
    const x = request.input("x");
    // Numbers are FP64 here: `fround` makes the product FP32, and the Float32Array the sum.
    const y = x.values().map((value) => Math.fround(value * this.factor) + this.offset);
    const outputs = [tensor("y", "FP32", x.shape, y)];

    const names = request.find("names");
    if (names !== undefined) {
      const greetings = names.strings().map((name) => `hello, ${name}`);
      outputs.push(strings("greetings", names.shape, greetings));
    }
    return outputs;
  }
}
