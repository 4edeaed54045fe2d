// worker.js   one network in a thread of its own: it holds web.c as wasm, trains in short slices
// and answers the messages of the page between them. The page and this file exchange objects with
// a field `what`; each kind of message has a function below.
"use strict";

let wasm = null; // the functions of web.c
let running = false; // trains until paused
let left = Infinity; // steps until it pauses by itself
let until = Infinity; // the step at which it waits for the other network of a race
let pause = 0; // milliseconds between two steps; 0: as fast as it can
let shown = { index: 0, layer: -1, source: null, target: null }; // what the attention is drawn for
let made = ""; // the texts that the last network was made for
let asked = ""; // the message in hand: an error names it, and the page knows where to show it
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
  if (asked === "run") running = false;
  postMessage({ what: "error", asked, message: take(wasm.page_message()) });
}

// -- training --

// Trains for one slice, or for one step where a pause is wanted; then gives way to messages.
function turn() {
  if (!running) return;
  asked = "run";
  if (wasm.page_steps() >= until) return setTimeout(turn, 5); // the other one comes
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
  } while (
    left > 0 &&
    !pause &&
    wasm.page_steps() < until &&
    performance.now() - begun < SLICE
  );
  if (left <= 0) running = false;
  report(!running);
  if (running && wasm.page_steps() >= until) score();
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
  if (whole || (until === Infinity && now - lastScore > 4 * LOOK_EVERY)) score();
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
// The tokens of a text; one that is not in the vocabulary keeps its own text, where the tokens are
// the words of the text, or its characters.
function tokens(side, text) {
  give(text);
  const found = lines(take(wasm.page_tokens(side)));
  const own = [text.split(/\s+/).filter(Boolean), [...text]].find(
    (parts) => parts.length === found.length,
  );
  return found.map((token, i) =>
    token === "<unknown>" && own ? { text: own[i], unknown: true } : { text: token },
  );
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
    table: layer < 0 ? [] : table(layer, all[layer].heads),
    source: tokens(0, subject.source),
    target: tokens(1, subject.target),
  });
}

// The table of a layer that no input changes, R or Fix, of all heads; []: it has none.
function table(layer, count) {
  const at = wasm.page_table(layer),
    size = wasm.page_keys();
  const row = (i) => Array.from(new Float32Array(wasm.memory.buffer, at + 4 * i * size, size));
  const rows = at ? Array.from({ length: count * size }, (none, i) => row(i)) : [];
  return Array.from({ length: at ? count : 0 }, (none, h) => rows.slice(h * size, (h + 1) * size));
}

// -- answers --

// The outputs for a source, the best first.
function outputs(source, limit) {
  give(source);
  const at = wasm.page_answer(limit);
  if (!at) throw new Error(take(wasm.page_message()));
  return lines(take(at)).map((line) => {
    const [points, ended, ...rest] = line.split("\t");
    return { points: Number(points), ended: ended === "1", text: rest.join("\t") };
  });
}
// The hypotheses of the beam after each step, as tokens: what a search that is cut there returns.
function beams(source, longest) {
  const steps = [];
  for (let limit = 1; limit <= longest; limit++)
    steps.push(
      outputs(source, limit).map(({ text, ended, points }) => {
        const written = tokens(1, text).map((token) => token.text);
        return { points, tokens: ended ? [...written, "<end>"] : written };
      }),
    );
  return steps;
}
const longest = (found) => Math.max(...found.map(({ text }) => tokens(1, text).length + 1));
// The most probable tokens at each place of an output.
function next(source, target) {
  give(`${source}\t${target}`);
  if (!wasm.page_look()) throw new Error(take(wasm.page_message()));
  const rows = [];
  for (const line of lines(take(wasm.page_next()))) {
    const [row, p, ...rest] = line.split("\t");
    (rows[row] ||= []).push({ p: Number(p), text: rest.join("\t") });
  }
  return rows;
}

// -- the network as a picture --

// What the picture shows of each layer of the settings: widths, heads, parameters. Of lines with an
// error: the layers before it.
function structure() {
  if (!wasm.page_graph()) return { nodes: [], sizes: [] };
  const { nodes, params, config } = JSON.parse(new TextDecoder().decode(takeBytes()));
  return {
    config,
    nodes: nodes.map(({ path, kind, place, width, heads, params }) => ({
      side: path.split(".")[0],
      ...{ path, kind, place, width, heads, params },
    })),
    sizes: params.map(({ value }) => value.shape.reduce((product, n) => product * n, 1)),
  };
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
  // A network that the settings do not allow is refused, and the one before stays.
  create({ settings }) {
    const { task, source, target, pairs, isa } = settings;
    const texts = JSON.stringify([task, source, target, pairs, isa]);
    let wrong = "";
    try {
      set(settings);
      if (texts === made) wrong = take(wasm.page_check());
    } catch (error) {
      wrong = error.message;
    }
    if (wrong) return postMessage({ what: "refused", message: wrong });
    running = false;
    curve = [];
    ((fastest = Infinity), (lastLook = 0), (lastScore = 0));
    shown = { index: 0, layer: -1, source: null, target: null };
    const done = wasm.page_create();
    made = done ? texts : "";
    postMessage({ what: "emptied" });
    if (!done) return failed();
    postMessage({
      what: "created",
      parameters: wasm.page_parameters(),
      tests: wasm.page_tests(),
      unseen: !!wasm.page_unseen(),
      structure: structure(),
    });
    report(true);
  },
  run({ steps, speed, limit }) {
    left = steps || Infinity;
    until = limit || Infinity;
    pause = speed ? 1000 / speed : 0;
    if (running) return;
    running = true;
    turn();
  },
  limit({ limit }) {
    until = limit || Infinity;
  },
  pause() {
    if (!running) return;
    running = false;
    report(true);
  },
  check({ settings }) {
    set(settings);
    const message = take(wasm.page_check());
    postMessage({ what: "checked", settings, message, structure: structure() });
  },
  show(subject) {
    shown = { ...shown, ...subject };
    look();
  },
  // Which tokens of a source are in the vocabulary.
  read({ text }) {
    postMessage({ what: "read", text, tokens: tokens(0, text) });
  },
  answer({ text, settings }) {
    set(settings);
    const found = outputs(text, 0);
    const best = found.length ? found[0].text : "";
    const greedy = settings.temperature === "0";
    postMessage({
      what: "answers",
      answers: found,
      next: next(text, best),
      written: tokens(1, best),
      beams: greedy && found.length > 1 ? beams(text, longest(found)) : [],
    });
    if (found.length) messages.show({ source: text, target: best });
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
    if (!done) return failed();
    postMessage({ what: "file", kind, bytes: takeBytes() });
  },
};
onmessage = async (event) => {
  try {
    asked = event.data.what;
    await messages[event.data.what](event.data);
  } catch (error) {
    postMessage({ what: "error", asked: event.data.what, message: error.message });
  }
};
