// Says what a detector or classifier found, as JSON text that a client shows or logs.
//
// - inputs: `index` INT64 [n], `score` FP32 [n], `box` FP32 [n, 4], optional
// - output `json` BYTES [1]: {"found": [{"label": …, "score": …, "box": […]}, …], "summary": "2 cats, 1 dog"}
//
// Parameters: `labels` (labels.txt), a file in the model's folder with one label a line, the first for index 0; `digits`
// (3), how many of a score's digits are kept.

import { PluginError, readText, spec, strings } from "nacre";

export default class Plugin {
  summary = "says as JSON what was found";
  inputs = [spec("index", "INT64", [-1]), spec("score", "FP32", [-1]), spec("box", "FP32", [-1, 4], { optional: true })];
  outputs = [spec("json", "BYTES", [1])];

  configure(settings) {
    this.file = settings.text("labels", "labels.txt");
    this.labels = readText(this.file).trimEnd().split(/\r?\n/);
    this.digits = settings.integer("digits", 3);
  }

  process(request) {
    const score = request.input("score").values();
    const box = request.find("box")?.values();
    const found = Array.from(request.input("index").values(), (index, i) => {
      const label = this.labels[Number(index)];
      if (label === undefined) {
        throw new PluginError(`input 'index' has ${index}, and '${this.file}' labels 0 to ${this.labels.length - 1}`);
      }
      const round = (value) => Number(value.toFixed(this.digits));
      const entry = { label, score: round(score[i]) };
      if (box !== undefined) entry.box = Array.from(box.subarray(4 * i, 4 * i + 4), round);
      return entry;
    });

    const counts = Map.groupBy(found, ({ label }) => label);
    const words = [...counts].map(([label, { length }]) => `${length} ${label}${length === 1 ? "" : "s"}`);
    return [strings("json", [1], [JSON.stringify({ found, summary: words.join(", ") || "nothing" })])];
  }
}
