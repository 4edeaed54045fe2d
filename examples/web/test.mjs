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
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    this.session = undefined;
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    this.session = sessionId;
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await this.send(`${domain}.enable`);
    await this.size(width, height);
    await this.send("Page.navigate", { url });
    await this.until("document.readyState === 'complete' && typeof networks === 'object'");
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
  async until(expression, seconds = 240) {
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
  async press(key, code = key) {
    const keyCode =
      { Enter: 13, ArrowDown: 40, Escape: 27 }[key] || key.toUpperCase().charCodeAt(0);
    const text = key === "Enter" ? "\r" : key.length === 1 ? key : undefined;
    await this.send("Input.dispatchKeyEvent", {
      type: "keyDown",
      key,
      code,
      text,
      windowsVirtualKeyCode: keyCode,
    });
    await this.send("Input.dispatchKeyEvent", {
      type: "keyUp",
      key,
      code,
      windowsVirtualKeyCode: keyCode,
    });
  }
  close() {
    this.process.kill();
    this.process.on("exit", () =>
      rmSync(this.home, { recursive: true, force: true, maxRetries: 9 }),
    );
  }
}
const browser = new Browser();
const ready = () =>
  browser.until(
    "networks.length > 0 && networks.every((n) => n.ready && n.look && n.scores.length)",
  );
const trained = (steps) =>
  browser.until(
    `networks.every((n) => n.step === ${steps} && !n.running && n.scores.at(-1)?.[0] === ${steps})`,
  );

// -- the checks --

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
  const speed = native(60, "isa=avx2").ms / (await browser.run("networks[0].fastest"));
  console.log(`the fastest step: ${speed.toFixed(2)} of the native one with AVX2`);
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
  const start = Date.now();
  await browser.press(" ", "Space");
  await browser.until("networks[0].scores.at(-1)[1] >= 0.95", 120);
  const seconds = (Date.now() - start) / 1000;
  console.log(`95 % of the unseen dates are exact after ${seconds.toFixed(1)} s`);
  is("95 % in 60 seconds", seconds <= 60, true);
  await browser.press(" ", "Space");
  await browser.until("!networks[0].running");
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
  await browser.run("$('askform').requestSubmit()");
  await browser.until("document.querySelectorAll('#answers td').length > 0");
  is(
    "the answer",
    await browser.run(
      `/^\\d{4}-\\d\\d-\\d\\d$/.test(
        document.querySelector("#answers td:nth-child(2)").textContent)`,
    ),
    true,
  );
  await browser.run("settings.beam = '3', $('askform').requestSubmit()");
  await browser.until("document.querySelectorAll('#answers tr').length === 3");
  is(
    "scores of a beam fall",
    await browser.run(`(() => {
    const points = [...document.querySelectorAll("#answers tr")]
      .map((row) => Number(row.lastElementChild.textContent.split(" ")[1]));
    return points.every((p, i) => p <= 0 && (i === 0 || p <= points[i - 1]));
  })()`),
    true,
  );
  await browser.run("settings.beam = '1', settings.temperature = '3', settings.top_k = '5'");
  await browser.run("document.querySelector('#answers').replaceChildren()");
  await browser.run("$('askform').requestSubmit()");
  await browser.until("document.querySelectorAll('#answers tr').length === 1");
  await browser.run("$('look').click()");
  await browser.until("$('trace').textContent.includes('syn_att')");
  await browser.picture("inside-1280.png");
  await browser.run("$('closelook').click()");
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
      await browser.run("$('askform').requestSubmit()");
      await browser.until("document.querySelectorAll('#answers td').length > 0");
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
  presets,
  race,
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
