// page.js   the page: what it shows of all networks, what happens on a click
"use strict";

const $ = (id) => document.getElementById(id);

// -- drawing --

let drawing = false;
function showState() {
  if (drawing || !networks.length) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    const names = ["a", "b"];
    const race = networks.length > 1;
    const common = Math.min(...networks.map((n) => n.step));
    const now = (list) =>
      networks
        .map((n, i) => `<span class="now ${names[i]}">${race ? `${"AB"[i]} ` : ""}${list(n)}</span>`)
        .join("");
    const loss = (n) => (common ? n.losses[common - 1]?.[1].toFixed(4) : "") || "";
    const right = (n) => {
      const score = valueAt(n.scores, common);
      return score ? `${Math.round(100 * score[1])} %` : "";
    };
    const color = (i) => `--${names[i]}`;
    drawChart(
      $("losschart"),
      networks.map((n, i) => ({ color: color(i), points: n.losses })),
      true,
    );
    drawChart(
      $("rightchart"),
      networks.map((n, i) => ({ color: color(i), points: n.scores })),
      false,
    );
    $("lossnow").innerHTML = now(loss);
    $("rightname").textContent = testedName(networks[0]);
    $("rightnow").innerHTML = now(right);
    const said = (list) => networks.map((n, i) => (race ? `${"AB"[i]}: ` : "") + list(n)).join(", ");
    $("losschart").setAttribute("aria-label", `loss curve up to step ${common}; now ${said(loss)}`);
    $("rightchart").setAttribute(
      "aria-label",
      `share of these examples that are right up to step ${common}; now ${said(right)}`,
    );
    $("raceline").hidden = !race || !common;
    $("raceline").textContent = race
      ? `Compared at step ${common}, on the same batches: loss ${said(loss)}; right ${said(right)}.`
      : "";
    if ($("numbers").open)
      chartTable($("numbertable"), networks, race ? ["A: ", "B: "] : [""]);
    $("play").textContent = networks.some((n) => n.running) ? "Pause" : "Train";
    $("machine").textContent = machineText();
    networks.forEach((n) => n.showFacts());
    const build = "cc -O2 examples/web/native.c -o native -lm";
    $("hashes").innerHTML = networks
      .map(
        (n) =>
          `<pre>${build}\n${escaped(commandOf(n.number, n.step))}</pre>
       <p class="now ${names[n.number]}">${n.step} steps, hash <code>${n.hash}</code></p>`,
      )
      .join("");
  });
}
function machineText() {
  const network = networks[0];
  if (!network.ready) return "";
  if (network.exact) return network.fused ? "same bits as C" : "same bits as C, emulated: slow";
  return "not exact: this browser has no fused multiply-add";
}
function showTrace(network, data) {
  $("closelook").hidden = false;
  traceView($("trace"), data);
  $("inside").scrollIntoView({ behavior: still() ? "auto" : "smooth", block: "start" });
}
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// An error stands behind the element where the click was; "" takes it away.
function complain(element, message) {
  if (element.complaint) element.complaint.remove();
  element.complaint = null;
  if (!message) return;
  const p = document.createElement("p");
  p.className = "error";
  p.setAttribute("role", "alert");
  p.textContent = message;
  element.complaint = p;
  element.after(p);
}

// -- what happens on a click --

let networks = [];

function train(steps) {
  complain($("bar"), "");
  if (wrong.size) {
    const list = [...wrong].map(([name, message]) => `${name}: ${message}`);
    return complain($("bar"), `Set this right first, or press Reset. ${list.join("; ")}`);
  }
  networks.forEach((network) => network.run(steps));
  showState();
}
function toggle() {
  if (networks.some((network) => network.running)) networks.forEach((network) => network.pause());
  else train();
}
function reset() {
  CONTROLS.forEach(showSetting);
  complain($("bar"), "");
  networks.forEach((network) => network.create());
  showState();
}

// -- settings: a change becomes a new network, or is refused where it was made --

const CONTROLS = ["seed", "width", "heads", "rate", "batch", "steps", "dropout"];
const wrong = new Map(); // settings that were refused: the control shows them, nothing uses them

// Changes settings. at: the name of the control, or "lines0", "lines1".
function change(values, at) {
  const origin = { at, before: { ...settings } };
  Object.assign(settings, values);
  writeAddress();
  const training = networks.some((network) => network.running);
  networks.forEach((network) => network.create(origin));
  if (training) networks.forEach((network) => network.run());
}
function markSetting(name, message) {
  complain($(name).closest(".row"), message);
  $(name).setAttribute("aria-invalid", String(Boolean(message)));
  if (message) wrong.set(name, message);
  else wrong.delete(name);
}
function showSetting(name) {
  $(name).value = settings[name];
  markSetting(name, "");
}
function accepted({ at }) {
  if (CONTROLS.includes(at)) markSetting(at, "");
}
// The network keeps its old settings; a network that has taken the new ones goes back.
function refuse(network, message) {
  const { at = "", before } = network.origin;
  if (before) {
    Object.assign(settings, before);
    writeAddress();
    network.origin.refused = true;
    networks
      .filter((n) => n !== network && n.origin === network.origin && n.ready)
      .forEach((n) => n.create());
  }
  const named = /^(\w+) is /.exec(message);
  const name = CONTROLS.includes(at) ? at : named && CONTROLS.includes(named[1]) ? named[1] : "";
  if (name) markSetting(name, advice(message));
  else network.showError(advice(message));
}
// Adds to an error what would be right.
function advice(message) {
  if (/^rate is '0(\.0*)?'/.test(message)) return `${message}. At rate 0 nothing is learned.`;
  const found = /(\d+) heads do not divide width (\d+)/.exec(message);
  if (!found) return message;
  const [heads, width] = found.slice(1).map(Number);
  const divisors = Array.from({ length: width }, (none, i) => i + 1).filter((n) => width % n === 0);
  const near = [divisors.filter((n) => n < heads).at(-1), divisors.find((n) => n > heads)];
  const widths = [heads * Math.floor(width / heads), heads * Math.ceil(width / heads)];
  return `${message}. Wanted: heads ${near.filter(Boolean).join(" or ")} for width ${width}, or \
width ${widths.filter(Boolean).join(" or ")} for ${heads} heads`;
}

// -- a race: both networks run to the same step, the faster one waits there --

const LAP = 20; // steps
const nextLimit = () => LAP * (1 + Math.floor(Math.min(...networks.map((n) => n.step)) / LAP));
function keepTogether() {
  if (networks.length < 2) return;
  const [a, b] = networks;
  if (a.running && b.running && a.step === b.step)
    networks.forEach((n) => n.send({ what: "limit", limit: nextLimit() }));
  const [behind, ahead] = a.step < b.step ? [a, b] : [b, a];
  if (!a.running && !b.running && behind.ready && ahead.ready && behind.step < ahead.step)
    behind.catchUp(ahead.step);
}
function setRace() {
  $("networks").classList.toggle("two", Boolean(settings.race));
  if (settings.race && networks.length < 2) networks.push(new Network(1, modules));
  if (!settings.race && networks.length > 1) networks.pop().close();
  $("answers").replaceChildren();
  complain($("askform"), "");
}
// Asks which words of the question the network knows.
function readQuestion() {
  if (networks[0].ready) networks[0].send({ what: "read", text: $("question").value });
}
function showTask() {
  const words = {
    dates: ["dates in words", "digits"],
    copy: ["letters", "the same letters"],
    reverse: ["letters", "them backwards"],
    sort: ["letters", "them in order"],
    own: ["your texts", "your answers"],
  }[settings.task] || ["", ""];
  (($("reads").textContent = words[0]), ($("writes").textContent = words[1]));
  $("own").hidden = settings.task !== "own";
}
// A control with the name of a setting; changed: what to do then.
function wire(name, changed) {
  const control = $(name);
  control.onchange = () => {
    settings[name] = control.type === "checkbox" ? (control.checked ? "1" : "") : control.value;
    writeAddress();
    changed();
  };
}
const OTHERS = ["speed", "race", "task", "source", "target", "pairs", ...ANSWERING];
function showControls() {
  CONTROLS.forEach(showSetting);
  for (const name of OTHERS) {
    const control = $(name);
    if (control.type === "checkbox") control.checked = Boolean(settings[name]);
    else control.value = settings[name];
  }
  showTask();
}

async function unpack(id) {
  const packed = Uint8Array.from(atob($(id).textContent.trim()), (ch) => ch.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}
let modules = [];

async function begin() {
  readAddress();
  addQuestions(document);
  CONTROLS.forEach((name) => {
    $(name).onchange = () => change({ [name]: $(name).value }, name);
  });
  ANSWERING.forEach((name) => wire(name, () => {}));
  wire("speed", () => networks.filter((n) => n.running).forEach((n) => n.run()));
  wire("race", () => {
    setRace();
    reset();
  });
  wire("task", () => {
    if (settings.task === "own" && !settings.pairs) $("pairs").value = settings.pairs = OWN;
    $("question").value = "";
    $("answers").replaceChildren();
    showTask();
    writeAddress();
    reset();
  });
  (wire("source", reset), wire("target", reset));
  $("usepairs").onclick = () => {
    settings.pairs = $("pairs").value;
    $("question").value = "";
    writeAddress();
    reset();
  };
  $("exact").onchange = reset;
  $("play").onclick = toggle;
  $("one").onclick = () => train(1);
  $("reset").onclick = reset;
  $("askform").onsubmit = (event) => {
    event.preventDefault();
    closePanel();
    $("answers").replaceChildren();
    complain($("askform"), "");
    const draw = String(1 + Math.floor(Math.random() * 4294967295));
    networks.forEach(answersOf);
    const how = { draw, ...Object.fromEntries(ANSWERING.map((name) => [name, settings[name]])) };
    networks.forEach((n) => n.send({ what: "answer", text: $("question").value, settings: how }));
  };
  $("question").oninput = readQuestion;
  $("question").onscroll = () => ($("questionmirror").scrollLeft = $("question").scrollLeft);
  $("look").onclick = () => networks[0].demand({ what: "trace", index: networks[0].subject });
  $("numbers").ontoggle = showState;
  $("tour").onclick = () => tour.begin();
  $("closelook").onclick = () => {
    ($("trace").replaceChildren(), ($("trace").className = ""), ($("closelook").hidden = true));
  };
  document.addEventListener("keydown", (event) => {
    if (
      event.target.closest("input, textarea, select, button, a, summary, [role=button], #trace") ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey
    )
      return;
    const act = { " ": toggle, s: () => train(1), r: reset }[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  });
  addEventListener("resize", () => {
    networks.forEach((n) => n.editors.forEach((editor) => editor.draw()));
    networks.forEach((n) => n.drawPicture());
    showState();
  });
  showControls();
  modules = await Promise.all([unpack("relaxed"), unpack("plain")]);
  networks = [new Network(0, modules)];
  setRace();
  showState();
}
begin().catch((error) => ($("machine").textContent = error.message));
