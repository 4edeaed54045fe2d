// node test.mjs FOLDER   drives FOLDER/index.html in headless Chromium and compares it with the
// program FOLDER/native; writes screenshots there. The last line: "N checks, N failed".
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const folder = resolve(process.argv[2] || "build");
const page = `file://${folder}/index.html`;
let checks = 0,
  failures = 0;
function is(name, got, wanted) {
  checks++;
  if (JSON.stringify(got) === JSON.stringify(wanted)) return;
  failures++;
  console.log(
    `FAILED ${name}\n  wanted: ${JSON.stringify(wanted)}\n  got:    ${JSON.stringify(got)}`,
  );
}
function native(steps, ...settings) {
  return JSON.parse(execFileSync(join(folder, "native"), ["--json", String(steps), ...settings]));
}

// -- a browser: messages of the DevTools protocol through two pipes, each with a 0 behind it --

class Browser {
  constructor() {
    this.home = mkdtempSync(join(tmpdir(), "page-"));
    this.process = spawn(
      "chromium",
      [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--remote-debugging-pipe",
        `--user-data-dir=${this.home}`,
        "about:blank",
      ],
      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
    );
    ((this.waiting = new Map()), (this.count = 0), (this.errors = []), (this.requests = []));
    let text = "";
    this.process.stdio[4].setEncoding("utf8").on("data", (part) => {
      const whole = (text + part).split("\0");
      text = whole.pop();
      whole.forEach((message) => this.heard(JSON.parse(message)));
    });
  }
  heard({ id, result, error, method, params }) {
    if (id) {
      const { done, fail } = this.waiting.get(id);
      this.waiting.delete(id);
      return error ? fail(new Error(error.message)) : done(result);
    }
    if (method === "Runtime.exceptionThrown")
      this.errors.push(
        params.exceptionDetails.exception?.description || params.exceptionDetails.text,
      );
    if (method === "Runtime.consoleAPICalled" && params.type === "error")
      this.errors.push(params.args.map((a) => a.value || a.description).join(" "));
    if (method === "Log.entryAdded" && params.entry.level === "error")
      this.errors.push(params.entry.text);
    if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
  }
  send(method, params = {}) {
    const id = ++this.count;
    this.process.stdio[3].write(
      `${JSON.stringify({ id, method, params, sessionId: this.session })}\0`,
    );
    return new Promise((done, fail) => this.waiting.set(id, { done, fail }));
  }
  async open(url, width = 1280, height = 900) {
    this.session = undefined;
    const before = this.target; // its workers end with it, also one that trains
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    this.target = targetId;
    if (before) await this.send("Target.closeTarget", { targetId: before });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    this.session = sessionId;
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await this.send(`${domain}.enable`);
    await this.size(width, height);
    await this.send("Page.navigate", { url });
    await this.until("document.readyState === 'complete' && typeof networks === 'object'");
  }
  // CPU seconds of each process that runs pages and their workers, less those of an earlier answer
  async cpu(before = {}) {
    const session = this.session;
    this.session = undefined; // a question to the browser
    const asked = this.send("SystemInfo.getProcessInfo");
    this.session = session;
    const pages = (await asked).processInfo.filter((p) => p.type === "renderer");
    return Object.fromEntries(pages.map((p) => [p.id, p.cpuTime - (before[p.id] || 0)]));
  }
  async size(width, height) {
    await this.send("Emulation.setDeviceMetricsOverride", {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: width < 600,
    });
  }
  async run(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", {
      expression,
      returnByValue: true,
      awaitPromise: true,
    });
    if (exceptionDetails)
      throw new Error(`${expression}: ${exceptionDetails.exception.description}`);
    return result.value;
  }
  async until(expression, seconds = 600) {
    const end = Date.now() + 1000 * seconds;
    while (!(await this.run(expression))) {
      if (Date.now() > end) throw new Error(`${seconds} s passed: ${expression}`);
      await new Promise((done) => setTimeout(done, 100));
    }
  }
  async picture(name, whole = true) {
    const { data } = await this.send("Page.captureScreenshot", { captureBeyondViewport: whole });
    writeFileSync(join(folder, name), Buffer.from(data, "base64"));
  }
  async type(text) {
    for (const ch of text) await this.send("Input.insertText", { text: ch });
  }
  async press(key, code = key, modifiers = 0) {
    const keyCode =
      { Tab: 9, Enter: 13, ArrowDown: 40, Escape: 27 }[key] || key.toUpperCase().charCodeAt(0);
    const text = key === "Enter" ? "\r" : key.length === 1 ? key : undefined;
    await this.send("Input.dispatchKeyEvent", {
      type: "keyDown",
      key,
      code,
      text,
      modifiers,
      windowsVirtualKeyCode: keyCode,
    });
    await this.send("Input.dispatchKeyEvent", {
      type: "keyUp",
      key,
      code,
      modifiers,
      windowsVirtualKeyCode: keyCode,
    });
  }
  // Tab, until this is true of the element with the focus.
  async tabTo(what) {
    for (let i = 0; i < 200; i++) {
      await this.press("Tab");
      if (await this.run(`((e) => ${what})(document.activeElement)`)) return;
    }
    throw new Error(`200 times Tab, and never ${what}`);
  }
  close() {
    this.process.kill();
    this.process.on("exit", () =>
      rmSync(this.home, { recursive: true, force: true, maxRetries: 9 }),
    );
  }
}
const browser = new Browser();
// The page draws its curves and lines in the next frame: the one behind that shows what was heard until now.
const drawn = () =>
  browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
const ready = async () => {
  await browser.until(
    "networks.length > 0 && networks.every((n) => n.ready && n.look && n.scores.length)",
  );
  await drawn();
};
// The score is the last word of a worker that stops.
const trained = async (steps) => {
  await browser.until(
    `networks.every((n) => n.step === ${steps} && !n.running && n.scores.at(-1)?.[0] === ${steps})`,
  );
  await drawn();
};
// Asks, and waits for the answer and for its attention, which comes behind it.
const ask = async (how = "") => {
  await browser.run(`${how}; window.looks = networks.map((n) => n.look);
    networks.forEach((n) => (n.answered = null)); $("askform").requestSubmit()`);
  await browser.until("networks.every((n, i) => n.answered && n.look !== looks[i])");
};

// -- the checks --

const LEARNED = 400; // steps, behind which the dates are learned

async function bits() {
  await browser.open(page);
  await ready();
  is("exact", await browser.run("networks[0].exact"), 1);
  is("a new network knows nothing", await browser.run("networks[0].scores.at(-1)[1]"), 0);
  await browser.run("train(50)");
  await trained(50);
  is("hash of 50 steps", await browser.run("networks[0].hash"), native(50).hash);
  await browser.run("train(150)");
  await trained(200);
  const wanted = native(200);
  is("hash of 200 steps", await browser.run("networks[0].hash"), wanted.hash);
  is(
    "loss",
    await browser.run("Math.fround(networks[0].losses.at(-1)[1])"),
    Math.fround(wanted.loss),
  );
  is("losses", await browser.run("networks[0].losses.length"), 200);
  // The fastest step of each, by the same clock: other programs slow both. They change while the one runs and then the
  // other, so the best of some rounds counts.
  let speed = 0;
  for (let round = 0; round < 9 && speed < 0.25; round++) {
    const ms = native(30, "isa=avx2").ms;
    await browser.run("reset()"); // `fastest`, too
    await ready();
    await browser.run("train(30)");
    await trained(30);
    speed = Math.max(speed, ms / (await browser.run("networks[0].fastest")));
  }
  console.log(`the fastest step: ${speed.toFixed(2)} of the speed of the native one with AVX2`);
  is("at least a quarter of the native speed", speed >= 0.25, true);
}

async function emulated() {
  const settings = "{ ...settingsOf(0), isa: 'wasm_exact' }";
  await browser.run(
    `networks[0].create(); networks[0].send({ what: "create", settings: ${settings} })`,
  );
  await browser.until("networks[0].step === 0");
  await browser.run("networks[0].run(5)");
  await browser.until("networks[0].step === 5 && !networks[0].running");
  is("hash of emulated lanes", await browser.run("networks[0].hash"), native(5).hash);
  await browser.run(
    `networks[0].send({ what: "create", settings: ${settings.replace("exact", "plain")} })`,
  );
  await browser.until("networks[0].step === 0 && networks[0].exact === 0");
  await browser.until("$('machine').textContent.includes('not exact')");
}

async function learning() {
  await browser.open(page);
  await ready();
  await browser.press(" ", "Space");
  await browser.until("networks[0].step > 0");
  await browser.press(" ", "Space");
  await browser.until("!networks[0].running");
  // from the start to one step, the same on every machine: what is seen below is always of this network
  await browser.run("reset()");
  await ready();
  const before = await browser.cpu();
  await browser.run(`train(${LEARNED})`);
  await trained(LEARNED);
  const seconds = Math.max(...Object.values(await browser.cpu(before)));
  is("hash of the trained network", await browser.run("networks[0].hash"), native(LEARNED).hash);
  const right = await browser.run("networks[0].scores.at(-1)[1]");
  console.log(`${100 * right} % of the unseen dates are exact after ${LEARNED} steps, ${seconds.toFixed(1)} s of CPU`);
  is("at least 95 % of the unseen dates", right >= 0.95, true);
  is("in 60 seconds of CPU", seconds > 0 && seconds <= 60, true);
  const sums = await browser.run(
    "networks[0].look.heads.flatMap((h) => h.map((row) => row.reduce((a, b) => a + b)))",
  );
  is(
    "rows of attention add up to 1",
    sums.length > 40 && sums.every((s) => Math.abs(s - 1) < 1e-4),
    true,
  );
  const cells = await browser.run(
    `[...document.querySelectorAll(".weights tbody td")]
      .map((cell) => Number(cell.style.getPropertyValue("--w")))`,
  );
  is(
    "attention is drawn",
    cells.length ===
      (await browser.run(
        "(networks[0].look.target.length + 1) * (networks[0].look.source.length + 1)",
      )),
    true,
  );
  is("some weight is large", Math.max(...cells) > 0.3, true);
  // one of the shown dates that are exact: at 95 % another one may have a wrong answer
  const exact = await browser.run("networks[0].look.examples.find((e) => e.answer === e.target)");
  await ask(`$("question").value = "${exact.source}"`);
  is(
    "the answer",
    await browser.run('document.querySelector("#answers td").textContent'),
    exact.target,
  );
  await nextTokens();
  await ask("settings.beam = '3'");
  is("three outputs", await browser.run("document.querySelectorAll('#answers .answers tr').length"), 3);
  await beamAsTree();
  is(
    "scores of a beam fall",
    await browser.run(`(() => {
    const points = [...document.querySelectorAll("#answers .answers tr")]
      .map((row) => Number(row.lastElementChild.textContent.split(" ")[1]));
    return points.every((p, i) => p <= 0 && (i === 0 || p <= points[i - 1]));
  })()`),
    true,
  );
  await ask("settings.beam = '1', settings.temperature = '3', settings.top_k = '5'");
  is("one output", await browser.run("document.querySelectorAll('#answers .answers tr').length"), 1);
  await heatMap();
  await browser.run("$('look').click()");
  await browser.until("$('trace').textContent.includes('syn_att')");
  await browser.picture("inside-1280.png");
  await browser.run("$('closelook').click()");
}

// Of a trained network: at every place the written token is the most probable one.
async function nextTokens() {
  const places = await browser.run(`[...document.querySelectorAll(".places button")].map((b) => {
    b.click();
    const rows = [...document.querySelectorAll(".bars tbody tr")];
    return [b.textContent.trim(), rows[0].querySelector("th").textContent, rows.length,
      parseFloat(rows[0].querySelector("td").textContent)];
  })`);
  is("a place for each character and the end", places.length, 11);
  is(
    "bars of the next token",
    places.filter(([token, best, rows, p]) => token !== best || rows !== 5 || !(p > 20)),
    [],
  );
}
// The kept branches of the tree, read from its root, are the outputs.
async function beamAsTree() {
  const found = await browser.run(`(() => {
    const tree = beamTree(networks[0].answered.beams);
    const texts = [];
    const walk = (node, text) => {
      if (node.points !== undefined) texts.push(text.replace("<end>", ""));
      node.children.forEach((c) => walk(c, text + c.token));
    };
    walk(tree, "");
    const outputs = [...document.querySelectorAll("#answers .answers td:first-child")];
    return { texts: texts.sort(), outputs: outputs.map((o) => o.textContent).sort(),
      drawn: document.querySelectorAll(".tree li").length,
      dropped: document.querySelectorAll(".tree s").length };
  })()`);
  is("the kept branches are the outputs", found.texts, found.outputs);
  is("the tree is drawn, with dropped branches", found.drawn > 3 && found.dropped > 0, true);
}
async function heatMap() {
  const layers = "networks[0].look.layers";
  await browser.run("document.querySelector('.layer').value = '0'");
  await browser.run("document.querySelector('.layer').onchange({ target: { value: '0' } })");
  await browser.until("networks[0].look.layer === 0");
  is("a layer with R", await browser.run(`${layers}[0].kind`), "syn_att");
  await browser.run("document.querySelector('[data-table=\"1\"]').click()");
  const cells = await browser.run(`[...document.querySelectorAll(".weights tbody td")]
    .map((c) => [c.className, Number(c.style.getPropertyValue("--w"))])`);
  is("R as a heat map: a cell for each pair of places", cells.length, 13 * 13);
  is("its largest number is the strongest", Math.max(...cells.map(([, w]) => w)), 1);
  is("both signs", new Set(cells.map(([sign]) => sign)).size, 2);
  await browser.run("document.querySelector('[data-table=\"0\"]').click()");
}

async function files() {
  await browser.run(`window.saved = {}; const heard = Network.prototype.heard.file;
    HTMLAnchorElement.prototype.click = function () { saved.last = this.download; };
    Network.prototype.heard.file = function (m) {
      saved[m.kind] = m.message || Array.from(m.bytes);
      heard.call(this, m);
    }; 1`);
  await browser.run(
    "document.querySelector('.safetensors').click(); document.querySelector('.array').click()",
  );
  await browser.until("saved.safetensors && saved.h");
  const tensors = Buffer.from(await browser.run("saved.safetensors"));
  const array = Buffer.from(await browser.run("saved.h")).toString();
  writeFileSync(join(folder, "dates.safetensors"), tensors);
  writeFileSync(join(folder, "dates.h"), array);
  const header = JSON.parse(tensors.subarray(8, 8 + Number(tensors.readBigUInt64LE(0))));
  is("safetensors: the text", header.__metadata__ !== undefined && "src.embed" in header, true);
  is("C array", array.includes("dates_model") && array.includes("dates_RAM"), true);
  // the lane asks the tool the same of the file
  await ask(`settings.temperature = settings.top_k = "0", $("question").value = "the first of may nineteen ninety"`);
  writeFileSync(join(folder, "asked.txt"), `${await browser.run("networks[0].answered.answers[0].text")}\n`);
}

async function texts() {
  await browser.open(page);
  await ready();
  await browser.run(`{ const line = networks[0].editors[0];
    line.area.focus(), line.text = "pos -> res(syn_a", line.area.setSelectionRange(99, 99); }`);
  await browser.type("t");
  is("completion", await browser.run("networks[0].editors[0].choices"), ["syn_att"]);
  await browser.press("Enter");
  await browser.type("(V+");
  await browser.type("b");
  is("completion of scores", await browser.run("networks[0].editors[0].choices"), ["BD", "BCRC"]);
  await browser.press("Escape");
  await browser.run("networks[0].editors[0].text = 'pos -> res(syn_attt(V))'; 1");
  await browser.type(" ");
  // not the error of the text that was half typed before
  await browser.until("document.querySelector('.network .wrong')?.textContent === 'syn_attt'");
  is(
    "error",
    await browser.run(
      "document.querySelector('.network .error').textContent.includes('line 1 column 12: ')",
    ),
    true,
  );
  is(
    "error at its place",
    await browser.run("document.querySelector('.network .wrong').textContent"),
    "syn_attt",
  );
  await browser.picture("error-1280.png", false);
  await browser.run("document.querySelector('.partial').click()");
  await browser.until("$('trace').textContent.includes('pos')");
  await browser.run("$('closelook').click(); networks[0].showTexts(); networks[0].edited()");
  await browser.until("document.querySelector('.network .error').hidden");
  await browser.run("networks[0].editors[0].text = 'pos -> syn_att(heads=7)'; networks[0].use()");
  await browser.until("!document.querySelector('.network .error').hidden");
  is(
    "a network that does not build",
    await browser.run("document.querySelector('.network .wrong').textContent"),
    "syn_att",
  );
}

// The picture has a block for each layer; block and text mark each other.
async function picture() {
  await browser.open(page);
  await ready();
  const words = `[...document.querySelectorAll(".block")].map((b) =>
    b.querySelector(".call").textContent + " " + (b.querySelector(".width")?.textContent || ""))`;
  const blocks = await browser.run(words);
  is("blocks of the encoder", blocks.slice(0, 7), [
    "pos 64",
    "repeat: 2 times ",
    "res_nd ",
    "syn_att(R+V) 64",
    "res_nd ",
    "ffl 256→64",
    "norm 64",
  ]);
  is("blocks of the decoder", blocks.length, 16);
  const pointed = `[...document.querySelectorAll(".pointed")].map((e) => e.textContent).join("")`;
  const block = (name) => `[...document.querySelectorAll(".block")].find((b) =>
    b.dataset.side === "decoder" && b.getAttribute("aria-label").startsWith("${name}"))`;
  await browser.run(`${block("mh_dot_att 64, decoder; ")}.focus()`);
  is("a block in focus marks its text", await browser.run(pointed), "mh_dot_att");
  is(
    "and says what it is",
    await browser.run("document.querySelector('.says').textContent"),
    "mh_dot_att: attention to the source; writes rows of 64 numbers; 4 heads; 32,768 parameters; used 2 times",
  );
  await browser.press("ArrowDown");
  is("arrow keys go on", await browser.run(pointed), "res_nd(ffl)");
  await browser.press("Enter");
  is(
    "Enter explains",
    await browser.run("document.querySelector('.panel b').textContent"),
    "res_nd",
  );
  await browser.press("Escape");
  is("Escape closes", await browser.run("!document.querySelector('.panel')"), true);
  await browser.run(`{ const { area } = networks[0].editors[0];
    area.focus(); area.setSelectionRange(26, 26); area.click(); }`);
  is(
    "the cursor in the text marks a block",
    await browser.run("document.querySelector('.block.on .call').textContent"),
    "syn_att(R+V)",
  );
  await browser.run(
    "networks[0].editors[0].text = 'pos -> concat(cnn(32) | ff(16)) -> lineare'; networks[0].edited()",
  );
  await browser.until("document.querySelector('.unknown')");
  const now = await browser.run(words);
  is("chains side by side, and the layer with an error", now.slice(0, 5), [
    "pos 64",
    "concat ",
    "cnn(32) 32",
    "ff(16) 16",
    "lineare ",
  ]);
  const sides = await browser.run(`PRESETS.flatMap((p) => [p.encoder, p.decoder]).map((text) => {
    const names = (chain) => chain.flatMap((l) => [text.slice(l.from, l.from + l.name.length),
      ...l.chains.flatMap(names)]);
    return names(readChain(text)).length === text.match(/[a-z_]+(?=[( )]|$)/g).filter((w) =>
      w in WORDS).length;
  })`);
  is("every layer of every preset has a block", sides.filter((whole) => !whole), []);
  is(
    "texts with errors are read to their end",
    await browser.run(`["", "(", "a(", "a(b(", "repeat(2,", "a -> -> b", ")", "res(res(res("].map((t) =>
      readChain(t).length)`),
    [0, 0, 1, 1, 1, 1, 0, 1],
  );
}

// Every "?" opens an explanation by click and by key, and gives the focus back.
async function panels() {
  await browser.open(page, 320, 700);
  await ready();
  const count = await browser.run("document.querySelectorAll('button.what').length");
  is("explanations", count >= 19, true);
  const open = await browser.run(`[...document.querySelectorAll("button.what")]
    .filter((b) => b.offsetParent).map((b) => {
      b.click();
      const text = document.querySelector(".panel p")?.textContent || "";
      const wide = document.documentElement.scrollWidth > innerWidth;
      const expanded = b.getAttribute("aria-expanded");
      b.click();
      return text.length > 60 && !wide && expanded === "true" && !document.querySelector(".panel");
    })`);
  is("each opens and closes", open.filter((right) => !right), []);
  await browser.run("document.querySelector('#losschart').parentNode.querySelector('.what').focus()");
  await browser.press("Enter");
  await browser.until("document.querySelector('.panel b')?.textContent === 'Loss'");
  await browser.press("Escape");
  is(
    "the focus is back",
    await browser.run("document.activeElement.getAttribute('aria-label')"),
    "What is this: Loss",
  );
}

// Tab reaches every control, each shows that it has the focus, and none keeps it. Then a network is trained,
// asked and looked into without a mouse.
async function keyboard() {
  for (const width of [1280, 320]) {
    await browser.open(`${page}#race=1`, width, 700);
    await ready();
    await browser.run("train(20)");
    await trained(20);
    await browser.run(`window.walk = { seen: new Set(), bad: [] };
      walk.wanted = () => [...document.querySelectorAll(
        "a[href], button, input, select, textarea, summary, [tabindex]")]
        .filter((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility({ visibilityProperty: true }));
      walk.step = () => {
        const e = document.activeElement;
        if (e === document.body) return true;
        const style = getComputedStyle(e), box = e.getBoundingClientRect();
        const says = e.outerHTML.slice(0, 80), rect = e.querySelector(":scope > rect"); // of a block
        const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
        if (!ring && !(rect && parseFloat(getComputedStyle(rect).strokeWidth) >= 3))
          walk.bad.push("no ring: " + says);
        if (box.bottom < 1 || box.top > innerHeight - 1 || box.right < 1 || box.left > innerWidth - 1)
          walk.bad.push("out of sight: " + says);
        const again = walk.seen.has(e);
        walk.seen.add(e);
        return again;
      }; document.activeElement.blur()`);
    let steps = 0;
    await browser.press("Tab");
    while (steps < 300 && !(await browser.run("walk.step()"))) ((await browser.press("Tab")), steps++);
    is(`${width}: Tab comes to an end`, steps > 30 && steps < 300, true);
    is(`${width}: the focus is seen`, await browser.run("walk.bad"), []);
    is(
      `${width}: Tab reaches everything`,
      await browser.run("walk.wanted().filter((e) => !walk.seen.has(e)).map((e) => e.outerHTML.slice(0, 80))"),
      [],
    );
  }
  await browser.open(page);
  await ready();
  await browser.tabTo("e.id === 'play'");
  await browser.press("Enter");
  await browser.until("networks[0].step >= 20");
  await browser.press("Enter");
  await browser.until("!networks[0].running");
  await browser.tabTo("e.id === 'question'");
  await browser.press("a", "KeyA", 2); // Ctrl
  await browser.type("the first of may nineteen ninety");
  await browser.press("Enter");
  await browser.until("document.querySelectorAll('#answers td').length > 0");
  await browser.tabTo("e.id === 'look'");
  await browser.press("Enter");
  await browser.until("$('trace').textContent.includes('syn_att')");
  // in the view: a layer, then a number of its map, then the sum that made it
  await browser.tabTo("e.matches('#trace canvas[aria-label*=Enter]')");
  await browser.press("ArrowDown");
  await browser.press("Enter");
  await browser.until("document.querySelector('#trace .sum h3')");
  await browser.tabTo("e.matches('#trace .sum .operand')");
  await browser.press("Enter");
  await browser.until("document.querySelectorAll('#trace .sum button')[0].textContent.includes('before')");
  await browser.run("$('look').focus()");
  await browser.press("Tab");
  is("behind the view", await browser.run("document.activeElement.id"), "closelook");
  await browser.press("Enter");
  is("closed", await browser.run("$('trace').textContent"), "");
  // the text of a network: an open list of layers takes Tab, and Escape gives it back
  await browser.run("networks[0].showTexts(); $('closelook').previousElementSibling.focus()");
  await browser.tabTo("e === networks[0].editors[0].area");
  await browser.run("document.activeElement.setSelectionRange(0, 0)");
  await browser.type("n");
  is("a list is open", await browser.run("networks[0].editors[0].list.hidden"), false);
  await browser.press("Escape");
  await browser.press("Tab");
  is("out of the text", await browser.run("document.activeElement !== networks[0].editors[0].area"), true);
}

// Whoever wants less motion sees none: nothing slides, fades or scrolls by itself.
async function motion() {
  for (const reduce of [false, true]) {
    await browser.open(page, 390, 844);
    await browser.send("Emulation.setEmulatedMedia", {
      features: [{ name: "prefers-reduced-motion", value: reduce ? "reduce" : "no-preference" }],
    });
    await ready();
    await browser.run(`window.moves = [];
      for (const [owner, name] of [[Element.prototype, "scrollIntoView"], [Element.prototype, "scrollTo"],
        [Element.prototype, "scrollBy"], [window, "scrollTo"], [window, "scrollBy"]]) {
        const plain = owner[name];
        owner[name] = function (...list) {
          if (list.some((how) => how?.behavior === "smooth")) moves.push(name);
          return plain.apply(this, list);
        };
      }
      window.watch = setInterval(() => document.getAnimations().length && moves.push("animation"), 5)`);
    await browser.run("train(20)");
    await trained(20);
    await browser.run("$('look').click()");
    await browser.until("$('trace').textContent.includes('syn_att')");
    await browser.run(`document.querySelectorAll("#trace [data-node]")[3]
      .dispatchEvent(new MouseEvent("click", { bubbles: true }))`);
    await browser.run("$('tour').click()");
    await new Promise((done) => setTimeout(done, 300));
    const moves = await browser.run("clearInterval(watch), [...new Set(moves)]");
    if (reduce) is("motion where less is wanted", moves, []);
    else is("motion else", moves.includes("scrollIntoView"), true);
    const slow = await browser.run(`[...document.querySelectorAll("*")].filter((e) => {
      const style = getComputedStyle(e);
      return parseFloat(style.transitionDuration) > 0 || parseFloat(style.animationDuration) > 0 ||
        style.scrollBehavior === "smooth"; }).length`);
    if (reduce) is("transitions where less motion is wanted", slow, 0);
  }
  await browser.send("Emulation.setEmulatedMedia", { features: [] });
}

// An error stands where the click was; the network and the settings before it stay.
async function errors() {
  await browser.open(page);
  await ready();
  const behind = (id) => `$("${id}").closest(".row").complaint?.textContent || ""`;
  const give = (id, value) =>
    browser.run(`$("${id}").value = "${value}"; $("${id}").dispatchEvent(new Event("change"))`);
  for (const [id, value, words] of [
    ["heads", "5", "Wanted: heads 4 or 8 for width 64, or width 60 or 65 for 5 heads"],
    ["rate", "0", "At rate 0 nothing is learned"],
    ["width", "66", "Wanted: heads 3 or 6"],
    ["seed", "1.5", "wanted a whole number from 0 to 4294967295"],
    ["batch", "", "batch is '', wanted a whole number from 32 to 65536"],
  ]) {
    const step = await browser.run("networks[0].step");
    await give(id, value);
    await browser.until(`(${behind(id)}) !== ""`);
    const said = await browser.run(behind(id));
    is(`${id} ${value}: ${words}: ${said}`, said.includes(words), true);
    is(`${id} marked`, await browser.run(`$("${id}").getAttribute("aria-invalid")`), "true");
    is("the network stays", await browser.run("networks[0].step"), step);
    is("so do the settings", await browser.run(`settings.${id} === DEFAULTS.${id}`), true);
    await browser.run("train(1)");
    is("no training", await browser.run("networks[0].running || !$('bar').complaint"), false);
    await browser.run("reset()");
    is("Reset takes it away", await browser.run(`${behind(id)}`), "");
    await ready();
  }
  await give("width", "512");
  await browser.until("networks[0].ready && settings.width === '512'");
  await ready();
  await give("batch", "65536");
  await browser.until(`(${behind("batch")}) !== ""`);
  const largest = /the largest batch for this network is (\d+)/.exec(
    await browser.run(behind("batch")),
  );
  is("a batch beyond memory: the largest", largest && Number(largest[1]) > 5000, true);
  await give("width", "64");
  await browser.until("settings.width === '64' && networks[0].ready");
  await ready();
  await browser.run("reset()");
  await ready();
  is("no boxes at step 0", await browser.run("document.body.innerText.includes('\ufffd')"), false);
  is(
    "step 0 shows what is wanted",
    await browser.run("document.querySelector('.examples .answer').textContent.trim()"),
    "2087-12-14",
  );
  await browser.run("$('question').value = 'floreal the first'; $('question').oninput()");
  await browser.until("$('questionmirror').querySelector('mark')");
  is(
    "an unknown word is marked in the field",
    await browser.run("$('questionmirror').innerHTML"),
    '<mark class="unknown">floreal</mark> the first',
  );
  await ask();
  is(
    "and keeps its text in the table of attention",
    await browser.run(
      "[...document.querySelectorAll('.weights thead th')].map((e) => e.textContent)",
    ),
    ["floreal", "the", "first", "‹end›"],
  );
  await browser.run("$('question').value = 'the '.repeat(60); $('askform').requestSubmit()");
  await browser.until("$('askform').complaint");
  is("no old answer beside an error", await browser.run("$('answers').textContent"), "");
  is(
    "the error is at the question",
    await browser.run("$('askform').complaint.textContent.includes('max_len')"),
    true,
  );
  await browser.run("$('pairs').value = 'nothing'; settings.task = 'own'; $('usepairs').onclick()");
  await browser.until("!document.querySelector('.network .error').hidden");
  is(
    "nothing old beside the error of a new network",
    await browser.run("getComputedStyle(document.querySelector('.views')).display"),
    "none",
  );
}

// All eight steps with wrong answers; the page does what each one says.
async function guided() {
  await browser.open(page, 320, 700);
  await ready();
  await browser.run("$('tour').click()");
  const seen = [];
  for (let step = 0; step < 8; step++) {
    is(
      `step ${step + 1}: asks before it reveals`,
      await browser.run("document.querySelector('#tourcard .seen').textContent"),
      "",
    );
    const right = await browser.run("TOUR[tour.at].right");
    const option = step % 2 ? right : (right + 1) % 3;
    await browser.run(`document.querySelectorAll("#tourcard [data-option]")[${option}].click()`);
    await browser.until("!document.querySelector('#tourcard .next').hidden");
    const text = await browser.run("document.querySelector('#tourcard .seen').textContent");
    seen.push(text);
    is(`step ${step + 1}: verdict`, /^Right\./.test(text), Boolean(step % 2));
    is("nothing wider", await browser.run("document.documentElement.scrollWidth <= innerWidth"), true);
    await browser.run("document.querySelector('#tourcard .next').click()");
  }
  const says = [/ 0 %/, /4\.42/, /10 begin with the right two|9 begin/, /“fourteenth”/, /answers \S/];
  [...says, /exactly the same/].forEach((words, i) =>
    is(`step ${i + 1}: ${words}: ${seen[i]}`, words.test(seen[i]), true),
  );
  const [, a, b] = /loss of A is ([\d.]+), that of B ([\d.]+)\./.exec(seen[6]);
  is("no residual connections: a higher loss", Number(b) > 1.5 * Number(a), true);
  const [, before, again] = /was (\w+) and is (\w+)\./.exec(seen[7]);
  is("the same bits", before, again);
  is("the tour is over", await browser.run("$('tourcard').hidden"), true);
}

async function presets() {
  await browser.open(page);
  await ready();
  const count = await browser.run("PRESETS.length");
  for (let i = 0; i < count; i++) {
    await browser.run(
      `{ const s = document.querySelector('.preset'); s.value = '${i}'; s.onchange(); }`,
    );
    await browser.until("networks[0].ready || !document.querySelector('.network .error').hidden");
    is(
      `preset ${i} builds`,
      await browser.run("document.querySelector('.network .error').textContent"),
      "",
    );
    await browser.run("train(2)");
    await trained(2);
  }
  const kinds = await browser.run("Object.keys(LineEditor.words).filter((word) => !WORDS[word])");
  is("every layer that can be completed is explained", kinds, []);
}

async function race() {
  const own = "one => eins\ntwo => zwei\none two => eins zwei\ntwo one => zwei eins";
  await browser.open(
    `${page}#${new URLSearchParams({ race: 1, seed: 5, width: 32, task: "own", pairs: own })}`,
  );
  await ready();
  is("two networks", await browser.run("networks.length"), 2);
  await browser.run("train(30)");
  await trained(30);
  const names = `[$("rightname"), ...document.querySelectorAll(".tested")].map((e) => e.textContent)`;
  const learned = "examples that it learns (none is kept)";
  is("few own pairs are all learned", await browser.run(names), [learned, learned, learned]);
  is("the race is compared at one step", await browser.run("$('raceline').textContent"), await browser.run(
    `"Compared at step 30, on the same batches: loss " + networks.map((n, i) =>
      "AB"[i] + ": " + n.losses[29][1].toFixed(4)).join(", ") + "; right " + networks.map((n, i) =>
      "AB"[i] + ": " + Math.round(100 * n.scores.at(-1)[1]) + " %").join(", ") + "."`));
  await browser.run("$('numbers').open = true");
  await browser.until("document.querySelectorAll('#numbertable tbody tr').length === 12");
  is(
    "the curves as a table",
    await browser.run("document.querySelector('#numbertable tbody tr:last-child').textContent"),
    await browser.run(`"30" + networks.map((n) => n.losses[29][1].toFixed(4) +
      Math.round(100 * n.scores.at(-1)[1]) + " %").join("")`),
  );
  const lines = await browser.run("[0, 1].map((i) => settingsOf(i))");
  for (const [i, { encoder, decoder }] of lines.entries())
    is(
      `network ${i}: hash`,
      await browser.run(`networks[${i}].hash`),
      native(
        30,
        "task=own",
        "seed=5",
        "width=32",
        "source=space",
        "target=space",
        `pairs=${own}`,
        `encoder=${encoder}`,
        `decoder=${decoder}`,
      ).hash,
    );
  const command = (await browser.run("commandOf(0, 30)")).replace(
    "./native",
    `${folder}/native --json`,
  );
  is(
    "the command that the page shows",
    JSON.parse(execFileSync("sh", ["-c", command])).hash,
    await browser.run("networks[0].hash"),
  );
  await browser.run(`window.apart = 0; window.progress = Network.prototype.heard.progress;
    Network.prototype.heard.progress = function (m) {
      progress.call(this, m);
      apart = Math.max(apart, Math.abs(networks[0].step - networks[1].step));
    }; train()`);
  await browser.until("networks.every((n) => n.step >= 90)");
  is("neither runs away", (await browser.run("apart")) <= 20, true);
  await browser.run("toggle()");
  await browser.until("networks.every((n) => !n.running) && networks[0].step === networks[1].step");
  is("both stop at one step", await browser.run("networks[0].step === networks[1].step"), true);
  await browser.run("$('seed').value = '6'; $('seed').onchange()");
  is(
    "settings in the address",
    await browser.run("new URLSearchParams(location.hash.slice(1)).get('seed')"),
    "6",
  );
}

async function pictures() {
  for (const [name, width, dark, race] of [
    ["page-1280", 1280, 0, 0],
    ["page-390", 390, 0, 0],
    ["dark-1280", 1280, 1, 1],
    ["dark-390", 390, 1, 1],
  ]) {
    await browser.open(`${page}${race ? "#race=1" : ""}`, width, width > 600 ? 900 : 844);
    await browser.send("Emulation.setEmulatedMedia", {
      features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }],
    });
    await ready();
    await browser.run("train(120)");
    await trained(120);
    await new Promise((done) => setTimeout(done, 300));
    is(
      `${name}: nothing wider than the page`,
      await browser.run("document.documentElement.scrollWidth <= innerWidth"),
      true,
    );
    await browser.picture(`${name}.png`);
  }
}

// axe-core finds what a reader with a screen reader, a keyboard or weak eyes would miss. It is a file of npm:
// `npm pack axe-core`; AXE names its axe.min.js.
async function accessible() {
  if (!process.env.AXE) return console.log("skipped: axe-core, AXE is not set");
  const source = readFileSync(process.env.AXE, "utf8");
  for (const width of [320, 390, 768, 1280])
    for (const scheme of ["light", "dark"]) {
      await browser.open(`${page}#race=1`, width, 844);
      await browser.send("Emulation.setEmulatedMedia", {
        features: [{ name: "prefers-color-scheme", value: scheme }],
      });
      await ready();
      await browser.run("train(20)");
      await trained(20);
      await ask();
      // what opens: the table of R, the curves as a table, an error, the tour, an explanation
      await browser.run(`networks[0].send({ what: "show", layer: 0 });
        document.querySelector('[data-table="1"]').click();
        $("numbers").open = true;
        $("heads").value = "5";
        $("heads").onchange();
        tour.show();
        document.querySelector(".bar ~ .options .what").click()`);
      await browser.until("wrong.size && networks[0].look.layer === 0");
      is(
        `${width} ${scheme}: nothing wider than the page`,
        await browser.run("document.documentElement.scrollWidth <= innerWidth"),
        true,
      );
      await browser.run(`${source}; 1`);
      const found = await browser.run(`axe.run().then(({ violations }) => violations
        .filter((v) => ["serious", "critical"].includes(v.impact))
        .map((v) => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 120),
          v.nodes[0].failureSummary.slice(0, 200)]))`);
      is(`${width} ${scheme}: findings of axe-core`, found, []);
    }
}

async function served() {
  const server = createServer((request, answer) =>
    answer.end(readFileSync(join(folder, "index.html"))),
  );
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  await browser.open(`http://127.0.0.1:${server.address().port}/`);
  await ready();
  is("from a server", await browser.run("networks[0].exact"), 1);
  server.close();
}

const all = {
  bits,
  emulated,
  learning,
  files,
  texts,
  picture,
  panels,
  keyboard,
  motion,
  errors,
  presets,
  race,
  guided,
  pictures,
  accessible,
  served,
};
try {
  for (const name of process.argv.slice(3).length ? process.argv.slice(3) : Object.keys(all)) {
    const start = Date.now();
    await all[name]();
    console.log(`${name}: ${((Date.now() - start) / 1000).toFixed(0)} s`);
  }
} catch (error) {
  is("no check ended early", error.message, "");
}
is("console errors", browser.errors, []);
is(
  "requests to elsewhere",
  browser.requests.filter((url) => !/^(file|data|blob|about|http:\/\/127\.0\.0\.1)/.test(url)),
  [],
);
is("size", readFileSync(join(folder, "index.html")).length <= 1e6, true);
console.log(`${checks} checks, ${failures} failed`);
browser.close();
process.exitCode = failures ? 1 : 0;
