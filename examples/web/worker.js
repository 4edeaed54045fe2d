// worker.js   one network in a thread of its own: it holds web.c as wasm, trains in short slices
// and answers the messages of the page between them. The page and this file exchange objects with
// a field `what`; each kind of message has a function below.
"use strict";

let wasm = null; // the functions of web.c
let running = false; // trains until paused
let left = Infinity; // steps until it pauses by itself
let pause = 0; // milliseconds between two steps; 0: as fast as it can
let shown = { index: 0, layer: -1, source: null, target: null }; // what the attention is drawn for
let curve = []; // losses that the page has not seen yet
let fastest = Infinity,
  lastLook = 0,
  lastScore = 0;

const SLICE = 60; // milliseconds of training between two looks at the messages
const LOOK_EVERY = 300; // milliseconds between two pictures, when they are cheap
const EXAMPLES = 10,
  SCORED = 100;

// -- texts in and out of the memory of web.c --

function give(text) {
  const bytes = new TextEncoder().encode(text);
  const at = wasm.page_memory(bytes.length + 1);
  if (!at) throw new Error("out of memory");
  new Uint8Array(wasm.memory.buffer).set(bytes, at);
}
function take(at) {
  const bytes = new Uint8Array(wasm.memory.buffer);
  return at ? new TextDecoder().decode(bytes.slice(at, bytes.indexOf(0, at))) : "";
}
function takeBytes() {
  const at = wasm.page_bytes();
  return new Uint8Array(wasm.memory.buffer).slice(at, at + wasm.page_size());
}
const lines = (text) => text.split("\n").slice(0, -1);
function set(settings) {
  for (const [name, value] of Object.entries(settings)) {
    give(`${name}=${value}`);
    if (!wasm.page_set()) throw new Error(take(wasm.page_message()));
  }
}
function failed() {
  running = false;
  postMessage({ what: "error", message: take(wasm.page_message()) });
}

// -- training --

// Trains for one slice, or for one step where a pause is wanted; then gives way to messages.
function turn() {
  if (!running) return;
  const begun = performance.now();
  do {
    const start = performance.now();
    const loss = wasm.page_train();
    if (loss === -2) return failed();
    if (loss === -1) left = 0;
    else {
      curve.push(loss);
      fastest = Math.min(fastest, performance.now() - start);
      left--;
    }
  } while (left > 0 && !pause && performance.now() - begun < SLICE);
  if (left <= 0) running = false;
  report(!running);
  if (running) setTimeout(turn, pause);
}

// Sends the losses since the last report; every now and then, or when asked, also what the network
// says and where it looks. A picture may take a fifth of the time at most.
function report(whole) {
  const now = performance.now();
  postMessage({
    what: "progress",
    step: wasm.page_steps(),
    losses: curve,
    running,
    fastest,
    hash: take(wasm.page_hash()),
    exact: wasm.page_exact(),
  });
  curve = [];
  if (!whole && now - lastLook < LOOK_EVERY) return;
  look();
  if (whole || now - lastScore > 4 * LOOK_EVERY) score();
  const spent = performance.now() - now;
  lastLook = performance.now() + Math.max(0, 4 * spent - LOOK_EVERY);
}
function score() {
  const tests = Math.min(SCORED, wasm.page_tests());
  const right = wasm.page_score(0, tests);
  if (right < 0) return failed();
  lastScore = performance.now();
  postMessage({ what: "score", step: wasm.page_steps(), right, tests });
}

// -- what the network says, and where it looks --

function pair(i) {
  return { source: take(wasm.page_pair(i, 0)), target: take(wasm.page_pair(i, 1)) };
}
function tokens(side, text) {
  give(text);
  return lines(take(wasm.page_tokens(side)));
}
function layers() {
  const found = [];
  for (let i = 0, path; (path = take(wasm.page_layer(i))); i++)
    found.push({ path, heads: wasm.page_heads(i), kind: take(wasm.page_kind(i)) });
  return found;
}
// The weights of all heads of a layer, each [queries][keys].
function heads(layer, count) {
  const found = [];
  for (let h = 0; h < count; h++) {
    const at = wasm.page_attention(layer, h),
      rows = [];
    const queries = wasm.page_queries(),
      keys = wasm.page_keys();
    for (let q = 0; at && q < queries; q++)
      rows.push(Array.from(new Float32Array(wasm.memory.buffer, at + 4 * q * keys, keys)));
    found.push(rows);
  }
  return found;
}
function look() {
  const count = Math.min(EXAMPLES, wasm.page_tests());
  if (wasm.page_score(0, count) < 0) return failed();
  const answers = lines(take(wasm.page_bytes()));
  const examples = answers.map((answer, i) => ({ ...pair(i), answer }));
  const subject = shown.source === null ? pair(shown.index) : shown;
  give(`${subject.source}\t${subject.target}`);
  if (!wasm.page_look()) {
    shown = { ...shown, index: 0, source: null }; // a text that is too long is not shown again
    return failed();
  }
  const all = layers();
  const layer = shown.layer >= 0 && shown.layer < all.length ? shown.layer : all.length - 1;
  postMessage({
    what: "look",
    step: wasm.page_steps(),
    examples,
    layers: all,
    layer,
    heads: layer < 0 ? [] : heads(layer, all[layer].heads),
    source: tokens(0, subject.source),
    target: tokens(1, subject.target),
  });
}

// -- messages --

const messages = {
  // The first module that this browser can compile, with relaxed SIMD or without.
  async start({ modules }) {
    const bytes = modules.find((m) => WebAssembly.validate(m));
    if (!bytes) throw new Error("this browser has no WebAssembly with SIMD");
    const no = () => 0; // nothing is printed, no file is opened
    const { instance } = await WebAssembly.instantiate(bytes, {
      wasi_snapshot_preview1: { fd_close: no, fd_seek: no, fd_write: no },
    });
    wasm = instance.exports;
    wasm._initialize();
    give("wasm");
    postMessage({
      what: "started",
      fused: wasm.page_isa() === 1,
      kinds: lines(take(wasm.page_kinds())),
    });
  },
  create({ settings }) {
    running = false;
    curve = [];
    ((fastest = Infinity), (lastLook = 0), (lastScore = 0));
    shown = { index: 0, layer: -1, source: null, target: null };
    set(settings);
    if (!wasm.page_create()) return failed();
    postMessage({
      what: "created",
      parameters: wasm.page_parameters(),
      tests: wasm.page_tests(),
      unseen: !!wasm.page_unseen(),
    });
    report(true);
  },
  run({ steps, speed }) {
    left = steps || Infinity;
    pause = speed ? 1000 / speed : 0;
    if (running) return;
    running = true;
    turn();
  },
  pause() {
    if (!running) return;
    running = false;
    report(true);
  },
  check({ settings }) {
    set(settings);
    postMessage({ what: "checked", settings, message: take(wasm.page_check()) });
  },
  show(subject) {
    shown = { ...shown, ...subject };
    look();
  },
  answer({ text, settings }) {
    set(settings);
    give(text);
    const at = wasm.page_answer();
    if (!at) return postMessage({ what: "answers", message: take(wasm.page_message()) });
    const answers = lines(take(at)).map((line) => {
      const [points, ...rest] = line.split("\t");
      return { points: Number(points), text: rest.join("\t") };
    });
    postMessage({ what: "answers", answers });
    if (answers.length) messages.show({ source: text, target: answers[0].text });
  },
  // Values and gradients of a pair of the test, for the trace view.
  trace({ index }) {
    const { source, target } = pair(index);
    give(`${source}\t${target}`);
    if (!wasm.page_trace()) return failed();
    postMessage({ what: "trace", data: JSON.parse(new TextDecoder().decode(takeBytes())) });
  },
  // The graph of two lines that may have an error.
  graph({ settings }) {
    set(settings);
    if (!wasm.page_graph()) return failed();
    postMessage({ what: "trace", data: JSON.parse(new TextDecoder().decode(takeBytes())) });
  },
  file({ kind }) {
    const done = kind === "safetensors" ? wasm.page_safetensors() : wasm.page_array();
    if (!done) return postMessage({ what: "file", kind, message: take(wasm.page_message()) });
    postMessage({ what: "file", kind, bytes: takeBytes() });
  },
};
onmessage = async (event) => {
  try {
    await messages[event.data.what](event.data);
  } catch (error) {
    running = false;
    postMessage({ what: "error", message: error.message });
  }
};
