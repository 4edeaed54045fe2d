// settings.js   the settings: the same names as in native.c; the address of the page holds those
// that differ from their defaults
"use strict";

const DEFAULTS = {
  task: "dates",
  seed: "1",
  width: "64",
  heads: "4",
  rate: "0.004",
  batch: "512",
  steps: "1000",
  dropout: "0",
  beam: "1",
  temperature: "0",
  top_k: "0",
  source: "space",
  target: "space",
  pairs: "",
  race: "",
  speed: "0",
  encoder: PRESETS[0].encoder,
  decoder: PRESETS[0].decoder,
  encoder2: PRESETS[1].encoder,
  decoder2: PRESETS[1].decoder,
};
const TRAINING = ["task", "seed", "width", "heads", "rate", "batch", "steps", "dropout"];
const ANSWERING = ["beam", "temperature", "top_k"];
const OWN =
  "good morning => guten morgen\ngood night => gute nacht\ngood day => guten tag\n" +
  "the night => die nacht\nthe day => der tag\na good day => ein guter tag";
const settings = { ...DEFAULTS };

function readAddress() {
  for (const [name, value] of new URLSearchParams(location.hash.slice(1)))
    if (name in DEFAULTS) settings[name] = value;
}
function writeAddress() {
  const changed = Object.entries(settings).filter(([name, value]) => value !== DEFAULTS[name]);
  history.replaceState(null, "", `#${new URLSearchParams(changed)}`);
}
// What web.c is told of network 0 or 1.
function settingsOf(number) {
  const own = number
    ? { encoder: settings.encoder2, decoder: settings.decoder2 }
    : { encoder: settings.encoder, decoder: settings.decoder };
  const list = Object.fromEntries(TRAINING.map((name) => [name, settings[name]]));
  const tokens =
    settings.task === "own"
      ? { source: settings.source, target: settings.target, pairs: settings.pairs }
      : { source: "", target: "", pairs: "" };
  return { ...list, ...tokens, ...own, isa: $("exact").checked ? "wasm_exact" : "" };
}
// The C program that computes the same: what differs from its defaults.
function commandOf(number, step) {
  const words = Object.entries(settingsOf(number)).filter(
    ([name, value]) => name !== "isa" && value !== "" && value !== DEFAULTS[name],
  );
  const quoted = words.map(([name, value]) =>
    /^[\w.]*$/.test(value) ? `${name}=${value}` : `'${name}=${value.replaceAll("'", "'\\''")}'`,
  );
  return ["./native", Math.max(step, 1), ...quoted].join(" ");
}
