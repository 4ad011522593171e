"use strict";
// What the charting scripts expect of a browser and the engine lacks.
globalThis.structuredClone ??= (value) => (value === undefined ? value : JSON.parse(JSON.stringify(value)));
globalThis.setTimeout ??= (then) => { Promise.resolve().then(then); return 0; };
globalThis.clearTimeout ??= () => {};
globalThis.warnings = [];
{
  const note = (...words) => { warnings.push(words.map(String).join(" ")); };
  globalThis.console = { log() {}, info() {}, debug() {}, warn: note, error: note };
}
