// Where the component starts: the default export of the project's plugin.js or plugin.ts.
import { exportPlugin } from "nacre";
import Plugin from "nacre:project";

export const step = exportPlugin(Plugin);
