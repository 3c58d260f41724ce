// Types of nacre.js, for TypeScript and for editors.

/** Element types, named as in the protocol and in config.pbtxt. */
export type NumberType =
  | "BOOL" | "UINT8" | "UINT16" | "UINT32" | "UINT64" | "INT8" | "INT16" | "INT32" | "INT64"
  | "FP16" | "BF16" | "FP32" | "FP64";
export type Type = NumberType | "BYTES";

/** The typed array for a type. FP16 and BF16 have none: their bits. */
export interface Arrays {
  BOOL: Uint8Array; UINT8: Uint8Array; UINT16: Uint16Array; UINT32: Uint32Array; UINT64: BigUint64Array;
  INT8: Int8Array; INT16: Int16Array; INT32: Int32Array; INT64: BigInt64Array;
  FP16: Uint16Array; BF16: Uint16Array; FP32: Float32Array; FP64: Float64Array;
}

/** Whose fault an error is; the server makes it a status: 400, 404, 501, 413, 503, 504, 500. */
export type Code =
  | "invalid-argument" | "not-found" | "unsupported" | "resource-exhausted" | "unavailable" | "deadline-exceeded"
  | "internal";

/** Ends a call with one sentence that reaches the client. Without a code it is the client's fault. */
export class PluginError extends Error {
  constructor(message: string, code?: Code);
  readonly code: Code;
}

/** What a plugin takes or gives; a dimension of -1 varies. */
export interface Spec {
  name: string;
  type: Type;
  dims: readonly number[];
  optional: boolean;
}
export function spec(name: string, type: Type, dims: readonly number[], options?: { optional?: boolean }): Spec;

/** A named tensor. */
export class Tensor {
  constructor(name: string, type: Type, shape: readonly number[], data: Uint8Array);
  readonly name: string;
  readonly type: Type;
  readonly shape: number[];
  readonly data: Uint8Array;
  /** The numbers, last dimension innermost, without a copy: `values<"FP32">()`. */
  values<T extends NumberType = "FP32">(): Arrays[T];
  /** The elements of a tensor of BYTES. */
  elements(): Uint8Array[];
  /** The same as text, which must be UTF-8. */
  strings(): string[];
}

/** A tensor of numbers. A typed array of its type is taken as it is. */
export function tensor<T extends NumberType>(
  name: string, type: T, shape: readonly number[], values: Arrays[T] | Iterable<number | bigint>,
): Tensor;
/** A tensor of BYTES. */
export function strings(name: string, shape: readonly number[], texts: Iterable<string | Uint8Array>): Tensor;

/** What config.pbtxt says. A parameter without `otherwise` must be set. */
export class Settings {
  readonly model: string;
  readonly version: string;
  readonly maxBatchSize: number;
  readonly parameters: Map<string, string>;
  text(name: string, otherwise?: string): string;
  number(name: string, otherwise?: number): number;
  integer(name: string, otherwise?: number): number;
  truth(name: string, otherwise?: boolean): boolean;
}

/** One element of a client's batch. */
export class Request {
  readonly id: string;
  readonly parameters: Map<string, boolean | number | string>;
  readonly inputs: Map<string, Tensor>;
  readonly requestedOutputs: string[];
  /** The input of that name, which must be there. */
  input(name: string): Tensor;
  /** The input of that name, or undefined if it was left out. */
  find(name: string): Tensor | undefined;
  /** Whether the client wants that output; if not, it may be left out. */
  wants(output: string): boolean;
}

/** What plugin.ts exports by default. Without `inputs` and `outputs`, config.pbtxt alone says what they are. */
export interface NacrePlugin {
  summary?: string;
  inputs?: Spec[];
  outputs?: Spec[];
  /** Reads parameters and files, builds tables; once, when the model is loaded. */
  configure?(settings: Settings): void;
  /** The outputs for one request. */
  process(request: Request): Tensor[];
}

/** The whole file at a path relative to the model's folder. */
export function readFile(path: string): Uint8Array;
export function readText(path: string): string;

/** Calls another model, which config.pbtxt grants by parameter NACRE_MODELS. Its outputs by name. */
export function infer(model: string, inputs: Tensor[], version?: string): Map<string, Tensor>;
/** The same for several calls, all at once. One that fails is a PluginError in the list. */
export function inferAll(calls: [model: string, inputs: Tensor[]][]): (Map<string, Tensor> | PluginError)[];

/** Writes a line to the server's log, with values beside it. */
export function log(
  message: string, fields?: Record<string, unknown>, level?: "trace" | "debug" | "info" | "warn" | "error",
): void;

/** Measurements of the plugin's own, published as nacre_plugin_custom_<name>: a counter, a gauge, a histogram. */
export const metrics: {
  add(name: string, amount?: number, labels?: Record<string, unknown>): void;
  set(name: string, value: number, labels?: Record<string, unknown>): void;
  observe(name: string, value: number, labels?: Record<string, unknown>): void;
};
