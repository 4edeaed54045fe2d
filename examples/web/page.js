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
    const now = (list) =>
      networks
        .map((network, i) => `<span class="now ${names[i]}">${list(network)}</span>`)
        .join("");
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
    $("lossnow").innerHTML = now((n) => (n.losses.length ? n.losses.at(-1)[1].toFixed(4) : ""));
    $("rightname").textContent = testedName(networks[0]);
    $("rightnow").innerHTML = now((n) =>
      n.scores.length ? `${Math.round(100 * n.scores.at(-1)[1])} %` : "",
    );
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
function drawAnswers(network, answers, message) {
  const id = `answers${network.number}`;
  let table = $(id);
  if (!table) {
    table = document.createElement("table");
    ((table.id = id), (table.className = "answers"));
    $("answers").append(table);
  }
  const name =
    networks.length > 1 ? `<b class="now ${"ab"[network.number]}">${"AB"[network.number]}</b>` : "";
  table.innerHTML = message
    ? `<tr><td class="false">${escaped(message)}</td></tr>`
    : answers
        .map(
          ({ points, text }) => `<tr><td>${name}</td><td>${escaped(text) || "(nothing)"}</td>
        <td class="dim">${points ? `score ${points.toFixed(3)}` : ""}</td></tr>`,
        )
        .join("");
}
function showTrace(network, data) {
  $("closelook").hidden = false;
  traceView($("trace"), data);
  $("inside").scrollIntoView({ behavior: "smooth", block: "start" });
}

// -- what happens on a click --

let networks = [];

function train(steps) {
  networks.forEach((network) => network.run(steps));
  showState();
}
function toggle() {
  if (networks.some((network) => network.running)) networks.forEach((network) => network.pause());
  else train();
}
function reset() {
  networks.forEach((network) => network.create());
  showState();
}
function setRace() {
  $("networks").classList.toggle("two", Boolean(settings.race));
  if (settings.race && networks.length < 2) networks.push(new Network(1, modules));
  if (!settings.race && networks.length > 1) networks.pop().close();
  $("answers").replaceChildren();
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
  if (control.type === "checkbox") control.checked = Boolean(settings[name]);
  else control.value = settings[name];
  control.onchange = () => {
    settings[name] = control.type === "checkbox" ? (control.checked ? "1" : "") : control.value;
    writeAddress();
    changed();
  };
}

async function unpack(id) {
  const packed = Uint8Array.from(atob($(id).textContent.trim()), (ch) => ch.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}
let modules = [];

async function begin() {
  readAddress();
  ["seed", "width", "heads", "rate", "batch", "steps", "dropout"].forEach((name) =>
    wire(name, reset),
  );
  ANSWERING.forEach((name) => wire(name, () => {}));
  wire("speed", () => networks.filter((n) => n.running).forEach((n) => n.run()));
  wire("race", () => {
    setRace();
    reset();
  });
  wire("task", () => {
    if (settings.task === "own" && !settings.pairs) $("pairs").value = settings.pairs = OWN;
    $("question").value = "";
    showTask();
    writeAddress();
    reset();
  });
  (wire("source", reset), wire("target", reset));
  $("pairs").value = settings.pairs;
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
    const draw = String(1 + Math.floor(Math.random() * 4294967295));
    const how = { draw, ...Object.fromEntries(ANSWERING.map((name) => [name, settings[name]])) };
    networks.forEach((n) => n.send({ what: "answer", text: $("question").value, settings: how }));
  };
  $("look").onclick = () => networks[0].send({ what: "trace", index: networks[0].subject });
  $("closelook").onclick = () => {
    ($("trace").replaceChildren(), ($("trace").className = ""), ($("closelook").hidden = true));
  };
  document.addEventListener("keydown", (event) => {
    if (
      event.target.closest("input, textarea, select, button, a, #trace") ||
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
    showState();
  });
  showTask();
  modules = await Promise.all([unpack("relaxed"), unpack("plain")]);
  networks = [new Network(0, modules)];
  setRace();
  showState();
}
begin().catch((error) => ($("machine").textContent = error.message));
