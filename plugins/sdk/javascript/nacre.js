// Plugins in JavaScript and TypeScript: typed arrays over tensors, strings, errors. nacre.d.ts says the same with types.
//
// A plugin is the default export of plugin.js (or plugin.ts): a class with `configure` and `process`. The server makes
// one object when it loads the model, calls `configure`, and keeps the engine as that leaves it. Each request begins
// there, in an instance that no other request has seen: what `process` leaves in `this`, nobody sees again.

import files from "nacre:plugin/files@1.0.0";
import host from "nacre:plugin/log@1.0.0";
import measurements from "nacre:plugin/metrics@1.0.0";
import models from "nacre:plugin/models@1.0.0";
import random from "wasi:random/random@0.2.0";

import "./text.js";

// FP16 and BF16 have no typed array in this engine: their bits.
const ARRAYS = {
  BOOL: Uint8Array, UINT8: Uint8Array, UINT16: Uint16Array, UINT32: Uint32Array, UINT64: BigUint64Array,
  INT8: Int8Array, INT16: Int16Array, INT32: Int32Array, INT64: BigInt64Array,
  FP16: Uint16Array, BF16: Uint16Array, FP32: Float32Array, FP64: Float64Array,
};
const toWit = (type) => (type === "BOOL" ? "boolean" : type.toLowerCase());
const fromWit = (type) => (type === "boolean" ? "BOOL" : type.toUpperCase());

// The interface's s64, dimensions above all: this engine passes them as Number, StarlingMonkey would take BigInt.
const s64 = Number;

/** Ends a call with one sentence that reaches the client; `code` says whose fault it is. */
export class PluginError extends Error {
  constructor(message, code = "invalid-argument") {
    super(message);
    this.name = "PluginError";
    this.code = code;
  }
}

/** What a plugin takes or gives; a dimension of -1 varies. */
export const spec = (name, type, dims, { optional = false } = {}) => ({ name, type, dims, optional });

/** A named tensor: its type as in the protocol, its shape, its bytes. */
export class Tensor {
  constructor(name, type, shape, data) {
    Object.assign(this, { name, type, shape, data });
  }

  /** The numbers, last dimension innermost, without a copy: a typed array. */
  values() {
    const Numbers = ARRAYS[this.type];
    if (Numbers === undefined) {
      throw new PluginError(`tensor '${this.name}' is BYTES: it holds strings, not numbers`, "internal");
    }
    const size = Numbers.BYTES_PER_ELEMENT;
    const data = this.data.byteOffset % size === 0 ? this.data : this.data.slice();
    return new Numbers(data.buffer, data.byteOffset, data.byteLength / size);
  }

  /** The elements of a tensor of BYTES. */
  elements() {
    if (this.type !== "BYTES") throw new PluginError(`tensor '${this.name}' is ${this.type}: expected BYTES`);
    const { data } = this;
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const found = [];
    for (let at = 0; at < data.length; ) {
      const start = at + 4;
      at = start + view.getUint32(at, true);
      found.push(data.subarray(start, at));
    }
    return found;
  }

  /** The elements of a tensor of BYTES as text, which must be UTF-8. */
  strings() {
    const decoder = new TextDecoder("utf-8", { fatal: true });
    try {
      return this.elements().map((element) => decoder.decode(element));
    } catch (error) {
      if (error instanceof PluginError) throw error;
      throw new PluginError(`tensor '${this.name}' is not UTF-8 text`);
    }
  }
}

/** A tensor of numbers: a typed array, which is taken as it is, or anything that can be iterated over. */
export function tensor(name, type, shape, values) {
  const Numbers = ARRAYS[type];
  const array = values instanceof Numbers ? values : Numbers.from(values);
  return new Tensor(name, type, shape, new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
}

/** A tensor of BYTES: texts, or Uint8Arrays as they are. */
export function strings(name, shape, texts) {
  const encoder = new TextEncoder();
  const elements = Array.from(texts, (text) => (typeof text === "string" ? encoder.encode(text) : text));
  const data = new Uint8Array(elements.reduce((sum, element) => sum + 4 + element.length, 0));
  const view = new DataView(data.buffer);
  let at = 0;
  for (const element of elements) {
    view.setUint32(at, element.length, true);
    data.set(element, at + 4);
    at += 4 + element.length;
  }
  return new Tensor(name, "BYTES", shape, data);
}

/** What config.pbtxt says. */
export class Settings {
  constructor({ model, version, maxBatchSize, parameters }) {
    Object.assign(this, { model, version, maxBatchSize, parameters: new Map(parameters) });
  }

  /** A parameter; without `otherwise`, it must be set. */
  text(name, otherwise) {
    const text = this.parameters.get(name) ?? otherwise;
    if (text === undefined) {
      throw new PluginError(
        `parameter '${name}' is missing: add parameters { key: "${name}" value { string_value: "…" } } to config.pbtxt`,
      );
    }
    return text;
  }

  #parsed(name, otherwise, parse, expected) {
    if (!this.parameters.has(name) && otherwise !== undefined) return otherwise;
    const text = this.text(name);
    const value = parse(text.trim());
    if (value === undefined) throw new PluginError(`parameter '${name}' is '${text}': expected ${expected}`);
    return value;
  }

  /** A parameter that is a number. */
  number(name, otherwise) {
    const parse = (text) => (text === "" || Number.isNaN(Number(text)) ? undefined : Number(text));
    return this.#parsed(name, otherwise, parse, "a number");
  }

  /** A parameter that is a whole number. */
  integer(name, otherwise) {
    const parse = (text) => (/^[+-]?\d+$/.test(text) ? Number(text) : undefined);
    return this.#parsed(name, otherwise, parse, "a whole number");
  }

  /** A parameter that is true or false. */
  truth(name, otherwise) {
    return this.#parsed(name, otherwise, (text) => ({ true: true, false: false })[text], "true or false");
  }
}

/** One element of a client's batch. */
export class Request {
  constructor(raw) {
    this.id = raw.id;
    this.parameters = new Map(raw.parameters.map(([name, { val }]) => [name, val]));
    this.inputs = new Map(raw.inputs.map((each) => [each.name, received(each)]));
    this.requestedOutputs = raw.requestedOutputs;
  }

  /** The input of that name, which must be there. */
  input(name) {
    const found = this.inputs.get(name);
    if (found === undefined) {
      throw new PluginError(`input '${name}' is missing: the request has ${[...this.inputs.keys()].join(", ") || "none"}`);
    }
    return found;
  }

  /** The input of that name, or undefined if it was left out. */
  find(name) {
    return this.inputs.get(name);
  }

  /** Whether the client wants that output; if not, it may be left out. */
  wants(output) {
    return this.requestedOutputs.length === 0 || this.requestedOutputs.includes(output);
  }
}

/** The whole file at a path relative to the model's folder: a Uint8Array. */
export const readFile = (path) => translated(() => files.read(path));

/** The same as text. */
export const readText = (path) => new TextDecoder().decode(readFile(path));

/** Calls another model, which config.pbtxt grants by parameter NACRE_MODELS. Its outputs by name: a Map. */
export function infer(model, inputs, version = null) {
  return outputsOf(translated(() => models.infer(callOf(model, inputs, version))));
}

/** The same for several calls, [model, inputs] each, all at once. One that fails is a PluginError in the list. */
export function inferAll(calls) {
  return models
    .inferAll(calls.map(([model, inputs]) => callOf(model, inputs, null)))
    .map(({ tag, val }) => (tag === "ok" ? outputsOf(val) : new PluginError(val.message, val.code)));
}

/** Writes a line to the server's log, with values beside it: `log("label is missing", { index: 7 }, "warn")`. */
export const log = (message, fields = {}, level = "info") => host.write(level, String(message), pairs(fields));

/** Measurements of the plugin's own, published as nacre_plugin_custom_<name>. */
export const metrics = {
  /** Adds to a counter. */
  add: (name, amount = 1, labels = {}) => measurements.add(name, amount, pairs(labels)),
  /** Sets a gauge. */
  set: (name, value, labels = {}) => measurements.set(name, value, pairs(labels)),
  /** Adds a value to a histogram. */
  observe: (name, value, labels = {}) => measurements.observe(name, value, pairs(labels)),
};

const pairs = (fields) => Object.entries(fields).map(([name, value]) => [name, String(value)]);
const received = ({ name, dataType, shape, data }) => new Tensor(name, fromWit(dataType), shape.map(Number), data);
const sent = ({ name, type, shape, data }) => ({ name, dataType: toWit(type), shape: Array.from(shape, s64), data });
const outputsOf = ({ outputs }) => new Map(outputs.map((each) => [each.name, received(each)]));
const callOf = (model, inputs, version) => ({
  model,
  version,
  request: { id: "", parameters: [], inputs: inputs.map(sent), requestedOutputs: [] },
});

// A call into the host, its errors as exceptions of this module.
function translated(call) {
  try {
    return call();
  } catch (error) {
    const { code, message } = error.payload ?? error;
    throw new PluginError(message, code);
  }
}

// A call of the plugin's, its exceptions as errors of the interface.
function guarded(call) {
  try {
    return call();
  } catch (error) {
    if (error instanceof PluginError) throw { code: error.code, message: error.message };
    host.write("error", `${error}\n${error?.stack ?? ""}`, []);
    throw { code: "internal", message: String(error) };
  }
}

// What is written to the console goes to the server's log.
globalThis.console ??= Object.fromEntries(
  [["debug", "debug"], ["log", "info"], ["info", "info"], ["warn", "warn"], ["error", "error"]].map(([name, level]) => [
    name,
    (...values) => host.write(level, values.map((value) => (typeof value === "object" ? JSON.stringify(value) : String(value))).join(" "), []),
  ]),
);

// Random numbers are the host's, drawn anew by each request: those of the engine would be the same in all of them.
let pool = new DataView(new ArrayBuffer(0));
let drawn = 0;

function installRandom() {
  Math.random = () => {
    if (drawn === pool.byteLength) {
      const bytes = random.getRandomBytes(512);
      pool = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      drawn = 0;
    }
    const high = pool.getUint32(drawn) >>> 5;
    const low = pool.getUint32(drawn + 4) >>> 6;
    drawn += 8;
    return (high * 2 ** 26 + low) / 2 ** 53;
  };
  globalThis.crypto ??= {};
  globalThis.crypto.getRandomValues = (array) => {
    new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(random.getRandomBytes(array.byteLength));
    return array;
  };
}

/** The component's exports. main.js does this for the plugin. */
export function exportPlugin(Plugin) {
  installRandom();
  const plugin = new Plugin();
  const specs = (listed = []) =>
    listed.map(({ name, type, dims, optional }) => ({ name, dataType: toWit(type), dims: Array.from(dims, s64), optional }));
  return {
    describe: () => ({ summary: plugin.summary ?? "", inputs: specs(plugin.inputs), outputs: specs(plugin.outputs) }),
    configure: (settings) => guarded(() => void plugin.configure?.(new Settings(settings))),
    process: (request) => {
      drawn = pool.byteLength;
      return guarded(() => ({ outputs: plugin.process(new Request(request)).map(sent), parameters: [] }));
    },
  };
}
