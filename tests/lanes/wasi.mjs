// node [--experimental-wasm-relaxed-simd] wasi.mjs PROGRAM.wasm ARGUMENT...   runs a program for
// wasm32-wasi; it sees all files by their full names.
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";

const wasi = new WASI({
  version: "preview1",
  args: process.argv.slice(2),
  env: process.env,
  preopens: { "/": "/" },
  returnOnExit: true,
});
const module = await WebAssembly.compile(readFileSync(process.argv[2]));
const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
process.exitCode = wasi.start(instance);
