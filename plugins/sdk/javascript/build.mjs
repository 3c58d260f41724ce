// Builds a plugin: node build.mjs NODE_MODULES NACRE_FOLDER SOURCE OUTPUT. `nacre plugin build` calls it.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const [modules, nacre, source, output] = process.argv.slice(2);
const installed = createRequire(join(modules, "package.json"));
const sdk = join(nacre, "plugins", "sdk", "javascript");

function fail(words) {
  console.error(words);
  process.exit(1);
}

if (source.endsWith(".ts")) {
  const config = join(process.cwd(), "tsconfig.json");
  const what = existsSync(config) ? ["--project", config] : [source];
  const checked = spawnSync(process.execPath, [installed.resolve("typescript/bin/tsc"), "--noEmit", ...what], {
    stdio: ["ignore", 2, 2],
  });
  if (checked.status !== 0) process.exit(1);
}

// One module of the plugin, the SDK and what they import; the interface's own modules come from the engine.
const { build } = installed("esbuild");
const bundle = `${output}.js`;
await build({
  entryPoints: [join(sdk, "main.js")],
  outfile: bundle,
  bundle: true,
  format: "esm",
  target: "es2023",
  logLevel: "warning",
  alias: { nacre: join(sdk, "nacre.js"), "nacre:project": source },
  external: ["nacre:plugin/*", "wasi:*"],
}).catch(() => process.exit(1));

const wit = `${output}.wit`;
await rm(wit, { recursive: true, force: true });
await mkdir(join(wit, "deps", "random"), { recursive: true });
await cp(join(nacre, "wit"), join(wit, "deps", "plugin"), { recursive: true });
await cp(join(sdk, "wit", "world.wit"), join(wit, "world.wit"));
await cp(join(sdk, "wit", "random.wit"), join(wit, "deps", "random", "random.wit"));

const { componentize } = installed("componentize-qjs");
try {
  const { component } = await componentize({
    witPath: wit,
    world: "plugin",
    jsSource: await readFile(bundle, "utf8"),
    jsPath: bundle,
    moduleRoot: dirname(bundle),
    // Calls are answered one at a time: no asynchronous ones, which the server does not link.
    sync: true,
  });
  await writeFile(output, component);
} catch (error) {
  fail(`componentize-qjs: ${error.message ?? error}`);
}
