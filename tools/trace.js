/* trace.js   shows what syn_trace writes: the network, its values and gradients, its attention.

   traceView(element, data) fills the element. data: one document of syn_trace, or
   {documents: [{title, data}, ...], loss: [[step, training, validation or null], ...]}. It returns
   {select(path), step(number), documents, explain(document, node, part, indices, 'x' or 'dx'),
   pick(node id, part, indices, 'x' or 'dx'), places(document, node), value(document, node,
   part), numbers(value, 'x' or 'dx')}: explain gives the sum behind a number or its gradient,
   pick shows it; places names the arrays of a layer, value gives one, numbers its floats. A
   further call with the same element replaces the view and keeps what was chosen there, so that
   it can show a network that learns.
   No library, no request: the page works offline. */
function traceView(element, data) {
  'use strict';
  const input = data.documents ? data : {documents: [{title: '', data: data}]};
  const FORMULAS = {
    embedding: 'y = w[token]',
    pos: 'y = √d x + p,  p(t,2j) = sin(t / 10000^(2j/d)),  p(t,2j+1) = cos(same)',
    learn_pos: 'y_t = x_t + w_t', types: 'y_t = x_t + w[end tokens before t]',
    ngram: 'y_t = x_t + Σ_k w[hash(the k tokens up to t)]',
    id: 'y = x', dropout: 'y = x (while training: x / (1 − rate), or 0)',
    add: 'y = a + b', sub: 'y = a − b', mul: 'y = a b', scale: 'y = s x', sum: 'y = s Σ x',
    matmul: 'y = a b', softmax: 'y_i = exp(x_i) / Σ_j exp(x_j)', act: 'y = f(x)',
    linear: 'y = x Wᵀ + b', ff: 'y = act(x Wᵀ + b)',
    cnn: 'y_t = act(b + Σ_i W_i x_(t+i)),  i: the places of the kernel',
    norm: 'y = (x − mean) / √(var + 10⁻⁶) · g + b',
    rms_norm: 'y = x / √(mean(x²) + 10⁻⁶) · g',
    rnn: 'h_t = cell(x_t, h_(t−1))',
    ssru: 'c_t = f_t c_(t−1) + (1 − f_t) u_t,  y_t = relu(c_t)',
    birnn: 'h = [cell from the left; cell from the right]',
    highway: 'y = g x + (1 − g) c,  g = σ(x Wᵀ + b)',
    concat: 'y = [a; b; …] along the width', parallel_add: 'y = a + b + …',
    universal: 'x_t + p_t + p_s before step s', share: 'n steps with the same weights',
    input_feed: 'y_t = [z_(t−1); x_t]',
    pool: 'y = mean of the rows of a sentence, or the first row', output: 'logits = x wᵀ + b',
    softcap: 'y = x;  the logits z become s tanh(z / s)',
    rel_pos: 'y = x;  adds a learned bias of i − j to the scores of later attention',
    syn_att: 'S = mixture of scores;  P = softmax(S, causal in a decoder);  y = (P v) W_oᵀ',
    mh_dot_src_att: 'S = q kᵀ · scale,  q: target, k, v: source;  P = softmax(S);  y = (P v) W_oᵀ',
    mlp_src_att: 's_ij = w_s · tanh(W_q q_i + W_k u_j);  y_i = Σ_j softmax(s_i)_j u_j',
    light_conv: 'y = conv(glu(x W_inᵀ)) W_outᵀ + b,  taps = softmax(w), one row for each head',
    dyn_conv: 'y = conv(glu(x W_inᵀ)) W_outᵀ + b,  taps = softmax of a product with the token',
    lin_att: 'M_t = γ M_(t−1) + φ(k_t)ᵀ [v_t, 1];  [a, z] = φ(q_t) M_t;  y = (a / z) W_oᵀ,' +
      '  φ = elu + 1',
    sgu: 'y_i = u_i (Σ_j W_ij norm(v)_j + b_i),  x = [u; v]',
    aft: 'y_i = (σ(q_i) Σ_j e^(w_ij + k_j) v_j / Σ_j e^(w_ij + k_j)) W_oᵀ, by channels',
    aop: 'per head softmax(q (√d K)ᵀ / √c) (√d V):  attention to learned keys and values',
    linformer: 'attention to k learned sums of the sentence',
    fixed_att: 'heads with fixed weights (one place each), further heads learn theirs',
    features: 'y = (x − mean) · scale',
    rope: 'y = x;  rotates q and k of later attention by the place',
    res: 'y = x + chain(x)', repeat: 'n copies of a chain'
  };
  /* Where each layer was published: by kind, names of WORKS. */
  const PAPERS = {
    embedding: 'Bengio 2003', features: 'Ioffe 2015', output: 'Press 2017', pos: 'Vaswani 2017',
    learn_pos: 'Gehring 2017', types: 'Devlin 2019', ngram: 'Bojanowski 2017',
    dropout: 'Srivastava 2014', add: 'He 2016', res: 'He 2016', ff: 'Vaswani 2017, Shazeer 2020',
    cnn: 'Gehring 2017', act: 'Hendrycks 2016', norm: 'Ba 2016', rms_norm: 'Zhang 2019',
    rnn: 'Hochreiter 1997, Cho 2014', birnn: 'Bahdanau 2015', ssru: 'Kim 2019',
    highway: 'Srivastava 2015', concat: 'Domhan 2018', parallel_add: 'Domhan 2018',
    repeat: 'Domhan 2018', universal: 'Dehghani 2019', share: 'Lan 2020', input_feed: 'Luong 2015',
    pool: 'Devlin 2019', rel_pos: 'Raffel 2020', rope: 'Su 2021', softcap: 'Gemma 2024',
    syn_att: 'Tay 2021, Vaswani 2017',
    mh_dot_src_att: 'Vaswani 2017', mlp_src_att: 'Bahdanau 2015', light_conv: 'Wu 2019',
    dyn_conv: 'Wu 2019', aop: 'Vaswani 2017', linformer: 'Wang 2020', fixed_att: 'Raganato 2020',
    softmax: 'Bridle 1990', lin_att: 'Katharopoulos 2020, Sun 2023', sgu: 'Liu 2021',
    aft: 'Zhai 2021'
  };
  const WORKS = {
    'Ba 2016': 'arxiv.org/abs/1607.06450', 'Bahdanau 2015': 'arxiv.org/abs/1409.0473',
    'Bengio 2003': 'www.jmlr.org/papers/v3/bengio03a.html',
    'Bojanowski 2017': 'arxiv.org/abs/1607.04606', 'Cho 2014': 'arxiv.org/abs/1406.1078',
    'Bridle 1990': 'doi.org/10.1007/978-3-642-76153-9_28',
    'Dehghani 2019': 'arxiv.org/abs/1807.03819', 'Devlin 2019': 'arxiv.org/abs/1810.04805',
    'Domhan 2018': 'aclanthology.org/P18-1167', 'Gehring 2017': 'arxiv.org/abs/1705.03122',
    'He 2016': 'arxiv.org/abs/1512.03385', 'Hendrycks 2016': 'arxiv.org/abs/1606.08415',
    'Hochreiter 1997': 'doi.org/10.1162/neco.1997.9.8.1735',
    'Ioffe 2015': 'arxiv.org/abs/1502.03167',
    'Katharopoulos 2020': 'arxiv.org/abs/2006.16236', 'Kim 2019': 'aclanthology.org/D19-5632',
    'Lan 2020': 'arxiv.org/abs/1909.11942',
    'Liu 2021': 'arxiv.org/abs/2105.08050', 'Luong 2015': 'arxiv.org/abs/1508.04025',
    'Press 2017': 'arxiv.org/abs/1608.05859',
    'Raffel 2020': 'arxiv.org/abs/1910.10683', 'Raganato 2020': 'arxiv.org/abs/2002.10260',
    'Shazeer 2020': 'arxiv.org/abs/2002.05202',
    'Srivastava 2014': 'jmlr.org/papers/v15/srivastava14a.html',
    'Srivastava 2015': 'arxiv.org/abs/1505.00387', 'Su 2021': 'arxiv.org/abs/2104.09864',
    'Sun 2023': 'arxiv.org/abs/2307.08621',
    'Tay 2021': 'arxiv.org/abs/2005.00743', 'Vaswani 2017': 'arxiv.org/abs/1706.03762',
    'Wang 2020': 'arxiv.org/abs/2006.04768', 'Wu 2019': 'arxiv.org/abs/1901.10430',
    'Zhai 2021': 'arxiv.org/abs/2105.14103', 'Zhang 2019': 'arxiv.org/abs/1910.07467'
  };
  const SPECIAL = ['<padding>', '<unknown>', '<begin>', '<end>'];
  const SIDES = ['encoder', 'decoder'];
  const CSS = `
.tv{--back:#f7f7f5;--card:#fff;--ink:#1b2430;--dim:#576273;--line:#d9dee5;--soft:#eef1f5;
--source:#1f62b5;--target:#b2500a;--sentence:#6a47a6;--low:29,78,216;--high:194,65,12;
--zero:255,255,255;
--mark:#ffe9a8;--bad:#c01c28;color-scheme:light;color:var(--ink);background:var(--back);
font:15px/1.45 system-ui,-apple-system,"Segoe UI",sans-serif;padding:12px;box-sizing:border-box;
-webkit-text-size-adjust:100%}
.tv:focus{outline:none}.tv *{box-sizing:border-box}.tv [hidden]{display:none}
@media(prefers-color-scheme:dark){.tv{--back:#101419;--card:#181d24;--ink:#e7ebf0;--dim:#98a3b3;
--line:#343d49;--soft:#232a34;--source:#74b3ff;--target:#ffab66;--sentence:#c0a8ff;--low:96,150,255;
--high:255,138,76;--zero:24,29,36;--mark:#5a4a12;--bad:#ff7b84;color-scheme:dark}}
.tv h2{font-size:16px;margin:0 0 8px}.tv h3{font-size:14px;margin:14px 0 4px}
.tv .card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px;
margin:0 0 12px;min-width:0}
.tv .dim{color:var(--dim)}.tv .small{font-size:13px}.tv .row{display:flex;flex-wrap:wrap;gap:6px;
align-items:center}.tv code,.tv .mono{font-family:ui-monospace,"DejaVu Sans Mono",Menlo,monospace;
font-size:13px}
.tv .text{overflow-wrap:anywhere;line-height:1.9}.tv .text span{border-radius:4px;padding:2px 1px}
.tv .text .layer{cursor:pointer;border-bottom:2px solid var(--line)}
.tv .text .layer:hover{background:var(--soft)}.tv .text .on{background:var(--mark)}
.tv .text .wrong{border-bottom:3px wavy var(--bad);color:var(--bad);text-decoration:underline wavy}
.tv .error{border-left:4px solid var(--bad);padding:6px 10px;background:var(--soft);margin:8px 0}
.tv button,.tv select{font:inherit;font-size:14px;color:inherit;background:var(--soft);
border:1px solid var(--line);border-radius:7px;padding:4px 10px;min-height:32px;cursor:pointer;
max-width:100%}
.tv button[aria-pressed=true]{background:var(--source);border-color:var(--source);color:var(--card)}
.tv button:focus-visible,.tv select:focus-visible,.tv canvas:focus-visible,
.tv [role=button]:focus-visible{
outline:3px solid var(--source);outline-offset:2px}
.tv input[type=range]{flex:1;min-width:90px;accent-color:var(--source)}
.tv .bar{position:sticky;top:0;z-index:3;padding:8px 12px}
.tv .main{display:grid;grid-template-columns:minmax(0,470px) minmax(0,1fr);gap:12px;
align-items:start}
.tv .graph{overflow:auto;max-height:82vh}.tv .graph svg{display:block;margin:auto;max-width:100%;
height:auto}
.tv .two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,300px),1fr));gap:12px}
.tv .scroll{overflow:auto;max-width:100%;max-height:460px}
.tv canvas{display:block;touch-action:pan-x pan-y;border-radius:3px}
.tv .node rect{fill:var(--card);stroke:var(--line);stroke-width:1.3}.tv .node{cursor:pointer}
.tv .node text{fill:var(--ink);font-size:12.5px}.tv .node .w{fill:var(--dim);font-size:11px}
.tv .node.wait{opacity:.35}.tv .node.att rect{fill:var(--soft)}
.tv .node.grad rect{stroke:var(--dim)}.tv .node.on rect{stroke:var(--ink);stroke-width:2.6}
.tv .node.bad rect{stroke:var(--bad);stroke-dasharray:5 3;stroke-width:2}
.tv .node.bad text{fill:var(--bad)}
.tv .edge{fill:none;stroke-width:1.6;opacity:.75}.tv .edge.hot{opacity:1;stroke-width:3}
.tv .group rect{fill:none;stroke:var(--dim);stroke-dasharray:4 4;opacity:.6}
.tv .group text{fill:var(--dim);font-size:12px;cursor:pointer}
.tv .group text:hover{fill:var(--ink)}
.tv .tip{position:fixed;z-index:9;pointer-events:none;background:var(--ink);color:var(--card);
padding:4px 8px;border-radius:6px;font-size:13px;max-width:min(320px,90vw);white-space:pre-line}
.tv .tokens{display:flex;flex-wrap:wrap;gap:4px}.tv .token{background:var(--soft);border-radius:5px;
padding:1px 7px;border:1px solid var(--line)}
.tv .thumbs{display:flex;flex-wrap:wrap;gap:10px}.tv .thumb{padding:4px;line-height:1.2;
min-height:0;text-align:left;font-size:12px}
.tv table{border-collapse:collapse;font-size:13px}.tv td,.tv th{padding:2px 8px;text-align:left;
border-bottom:1px solid var(--line);white-space:nowrap}
.tv a{color:var(--source)}.tv .sum{border-top:1px solid var(--line);margin-top:10px}
.tv .sum:focus{outline:none}
.tv .operand{font:inherit;font-size:13px;padding:0 6px;min-height:24px}
.tv .mark{position:sticky;right:0;background:var(--card);font-weight:700}
.tv .mark.right{color:var(--source)}.tv .mark.wrong{color:var(--bad)}
.tv .key{display:inline-block;width:18px;height:0;border-top:3px solid;vertical-align:middle;
margin-right:4px}
.tv .bars{display:grid;grid-template-columns:max-content minmax(60px,200px) max-content;gap:2px 8px;
align-items:center;justify-content:start;font-size:13px}
.tv .bars i{display:block;height:10px;background:var(--source);border-radius:2px;min-width:1px}
.tv .grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(190px,1fr));gap:12px}
.tv .axis{stroke:var(--line)}.tv .plot text{fill:var(--dim);font-size:11px}
@media(max-width:820px){.tv{padding:6px}.tv .main{grid-template-columns:minmax(0,1fr)}
.tv .graph{max-height:64vh}.tv .card{padding:9px}}
`;

  /* -- small helpers -- */

  function add(parent, children) {
    for (const child of children.flat(9))
      if (child !== null && child !== undefined && child !== false) parent.append(child);
    return parent;
  }
  function assign(node, attributes) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
      else if (value !== false && value !== null && value !== undefined)
        node.setAttribute(name, value === true ? '' : value);
    }
    return node;
  }
  function html(tag, attributes, ...children) {
    return add(assign(document.createElement(tag), attributes), children);
  }
  function svg(tag, attributes, ...children) {
    return add(assign(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes),
      children);
  }
  function button(text, pressed, onclick) {
    return html('button', {type: 'button', 'aria-pressed': pressed === null ? null :
      String(pressed),
      onclick: onclick}, text);
  }
  function number(x) { return Number.isFinite(x) ? String(Number(x.toPrecision(9))) : String(x); }
  function short(x) {
    if (!Number.isFinite(x)) return String(x);
    return x && Math.abs(x) < 1e-3 ? x.toExponential(1) : String(Number(x.toPrecision(3)));
  }

  /* Float32Array of base64; a summary stays an object; null: not computed. Kept, since it is read
     often. */
  const decoded = new WeakMap();
  function numbers(value, name) {
    const code = value && value[name];
    if (typeof code !== 'string') return code || null;
    let both = decoded.get(value);
    if (!both) decoded.set(value, both = {});
    if (!both[name]) {
      const bytes = atob(code), view = new DataView(new ArrayBuffer(bytes.length));
      for (let i = 0; i < bytes.length; i++) view.setUint8(i, bytes.charCodeAt(i));
      both[name] = new Float32Array(bytes.length / 4);
      for (let i = 0; i < both[name].length; i++) both[name][i] = view.getFloat32(4 * i, true);
    }
    return both[name];
  }

  /* Count, range, mean, deviation, bins of an array, as syn_trace writes them for large ones. */
  function summary(x) {
    if (!(x instanceof Float32Array)) return x;
    let low = Infinity, high = -Infinity, sum = 0, squares = 0, finite = 0;
    for (const v of x) {
      if (!Number.isFinite(v)) continue;
      low = Math.min(low, v), high = Math.max(high, v), sum += v, squares += v * v, finite++;
    }
    if (!finite) low = high = 0;
    const bins = new Array(20).fill(0), mean = finite ? sum / finite : 0;
    for (const v of x)
      if (Number.isFinite(v))
        bins[high > low ? Math.min(19, Math.floor((v - low) * 20 / (high - low))) : 0]++;
    return {count: x.length, finite: finite, low: low, high: high, mean: mean, bins: bins,
      deviation: Math.sqrt(Math.max(0, finite ? squares / finite - mean * mean : 0))};
  }

  /* -- a document: names of tokens, copies of a repeat, steps -- */

  function tokenText(pair) {
    if (!pair) return '';
    if (pair[0] === 1 && pair[1] && pair[1] !== '\uFFFD') return pair[1] + ' (unknown)';
    if (pair[0] < 4) return SPECIAL[pair[0]];
    return pair[1] === null ? '#' + pair[0] : pair[1].replace(/^ +/, s => '␣'.repeat(s.length)) ||
      '␣';
  }
  function side(node) { return node.path.startsWith('encoder') ? 'encoder' : 'decoder'; }

  /* Adds to each node: id, key (path, with @k where the path comes again), groups (the repeats
     around it: name, copy, copies) and first, the node of the first copies. Copies of a repeat are
     the children 0 .. n-1 of a path with the same layers of the text in the same order. */
  /* The gradients of attention weights are not kept: they are those of the context times the
     values, dP_ij = dY_i · v_j. v and context: [token, head, width], or [token, width] of one head
     or of values that all heads share. */
  function weightGradients(node) {
    const p = node.parts.weights, v = node.parts.v, y = node.parts.context;
    if (!p || !v || !y || p.dx) return;
    const [heads, rows, columns] = p.shape, of = numbers(v, 'x'), dy = numbers(y, 'dx');
    if (!(of instanceof Float32Array) || !(dy instanceof Float32Array)) return;
    const c = v.shape[v.shape.length - 1], own = v.shape.length > 2 ? v.shape[1] : 1;
    if (of.length !== columns * own * c || dy.length !== rows * heads * c) return; /* linformer */
    p.dx = new Float32Array(heads * rows * columns);
    for (let k = 0; k < p.dx.length; k++) {
      const h = Math.floor(k / (rows * columns)), i = Math.floor(k / columns) % rows;
      const value = (k % columns * own + Math.floor(h * own / heads)) * c;
      for (let n = 0; n < c; n++) p.dx[k] += dy[(i * heads + h) * c + n] * of[value + n];
    }
  }
  function prepare(doc) {
    if (doc.ready) return doc;
    const nodes = doc.nodes, seen = new Map(), copies = new Map();
    nodes.forEach(weightGradients);
    nodes.forEach((n, i) => {
      const k = seen.get(n.path) || 0;
      seen.set(n.path, k + 1);
      n.id = i, n.key = k ? n.path + '@' + k : n.path, n.groups = [];
      const parts = n.path.split('.');
      for (let depth = 1; depth < parts.length; depth++) {
        const at = parts.slice(0, depth).join('.'), copy = Number(parts[depth]);
        if (!copies.has(at)) copies.set(at, []);
        (copies.get(at)[copy] = copies.get(at)[copy] || []).push(n);
      }
    });
    const signature = (list, at) => list.map(n => n.path.slice(at.length + 1).replace(/^\d+/, '') +
      '|' + n.kind + '|' + n.place).join(' ');
    for (const [at, list] of copies) {
      if (list.length < 2 || !Array.from(list).every(c => c && c[0].place >= 0 &&
        signature(c, at) === signature(list[0], at))) continue;
      list.forEach((c, copy) => c.forEach((n, k) => n.groups.push(
        {name: at, copy: copy, copies: list.length, first: list[0][k],
          depth: at.split('.').length})));
    }
    stepsOfUniversal(nodes);
    for (const n of nodes) n.groups.sort((a, b) => a.depth - b.depth);
    doc.ready = true;
    return doc;
  }

  /* The steps of a universal have the same paths. */
  function stepsOfUniversal(nodes) {
    const same = new Map();
    for (const n of nodes) {
      const key = n.path + '|' + n.kind + '|' + n.place;
      if (!same.has(key)) same.set(key, []);
      same.get(key).push(n);
    }
    for (const list of same.values())
      if (list.length > 1)
        list.forEach((n, copy) => n.groups.push({name: side(n) + ' ' + list.length + ' steps',
          copy: copy, copies: list.length, first: list[0], depth: 0, steps: true}));
  }

  function tokensOf(doc, stream) {
    const list = (doc.tokens || {})[stream];
    return list ? list.map(tokenText) : null;
  }

  /* Labels of one axis of a value of a node; null: numbers. */
  function labels(doc, node, axis, size) {
    let list = null;
    if (axis === 'token' && node) list = tokensOf(doc, node.stream);
    if (axis === 'query') list = tokensOf(doc, node.stream);
    if (axis === 'key') list = tokensOf(doc, keyStream(doc, node));
    if (axis === 'vocabulary' && doc.vocabulary)
      list = doc.vocabulary.map((t, i) => tokenText([i, t]));
    if (axis === 'class' && doc.vocabulary) list = doc.vocabulary;
    return list && list.length === size ? list : null;
  }
  function keyStream(doc, node) {
    const from = node.in.length ? doc.nodes[node.in[node.in.length - 1]] : null;
    return from ? from.stream : node.stream;
  }
  /* Scores and weights of later tokens do not exist in a decoder, nor those outside of a window. */
  function isMasked(doc, node, axes, i, j) {
    if (axes[axes.length - 2] !== 'query' || keyStream(doc, node) !== node.stream) return false;
    return (side(node) === 'decoder' && j > i) || Math.abs(i - j) >= windowOf(doc, node);
  }
  function windowOf(doc, node) {
    if (node.window === undefined) node.window = Number(argumentsOf(doc, node).window) || Infinity;
    return node.window;
  }

  /* -- state -- */

  const documents = input.documents.map(d => ({title: d.title, data: prepare(d.data)}));
  const before = element.traceView; /* what was chosen in the view that this one replaces */
  const view = element.traceView = Object.assign({a: 0, b: -1, node: -1, part: 'value', heads: {},
    open: new Set(), zoom: 1, pos: 0, layer: 0, head: 0, lines: false, query: -1, pick: null,
    trail: []}, before);
  const doc = () => documents[view.a].data;
  const root = html('div', {class: 'tv', tabindex: '-1'});
  const tip = html('div', {class: 'tip', hidden: true, role: 'status'});
  const colors = {};

  function readColors() {
    const style = getComputedStyle(root);
    for (const name of ['--low', '--high', '--zero'])
      colors[name] = style.getPropertyValue(name).split(',').map(Number);
    for (const name of ['--ink', '--dim', '--line', '--source', '--target', '--card'])
      colors[name] = style.getPropertyValue(name).trim();
  }
  /* share in -1 .. 1: from the colour of low over that of the page to that of high. */
  function shade(share) {
    const to = colors[share < 0 ? '--low' : '--high'], s = Math.sqrt(Math.min(1, Math.abs(share)));
    return 'rgb(' + colors['--zero'].map((z, i) => Math.round(z + (to[i] - z) * s)).join(',') + ')';
  }
  function showTip(event, text) {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + 'px';
    tip.style.top = Math.max(4, event.clientY - box.height - 12) + 'px';
  }

  /* Steps: every node forward, then, where there are gradients, backward. pos counts those done. */
  function steps() {
    const order = doc().nodes.map((n, i) => ({node: i, back: false}));
    const computed = order.some(s => doc().nodes[s.node].value.x);
    if (!computed) return [];
    const back = order.some(s => doc().nodes[s.node].value.dx);
    return back ? order.concat(order.slice().reverse().map(s => ({node: s.node, back: true}))) :
      order;
  }
  function reached(i, back) {
    const count = doc().nodes.length;
    return back ? view.pos >= 2 * count - i : view.pos > i;
  }

  /* -- heat map of a matrix: canvas with tip, keyboard and numbers where cells are large -- */

  const FONT = '12px system-ui,sans-serif';
  /* Sizes of a map: cells of `cell` by `high` pixels, names in `left` and `top` pixels. options:
     cell, high, axes [2], label, rowNames, columnNames, largest, hidden(i, j), onhover(i),
     onpick(i, j): a click or Enter; picked [i, j]: has a frame. */
  function mapOf(x, rows, columns, options) {
    const m = Object.assign({hidden: () => false}, options, {x: x, rows: rows, columns: columns,
      cursor: null});
    m.cell = Math.max(2, Math.min(options.cell, Math.floor(12000 / columns)));
    m.high = options.high || Math.max(m.cell, options.rowNames ? 16 : 4);
    m.high = Math.max(2, Math.min(m.high, Math.floor(12000 / rows)));
    m.canvas = html('canvas', {tabindex: '0', role: 'img', 'aria-label': options.label + ', ' +
      rows + ' by ' + columns + '; arrow keys read numbers' +
        (options.onpick ? ', Enter shows how one is made' : '')});
    m.g = m.canvas.getContext('2d');
    m.g.font = FONT;
    const wide = list => 6 + Math.min(110, Math.max(...list.map(t => m.g.measureText(t).width)));
    m.left = m.rowNames ? wide(m.rowNames) : 0;
    m.top = m.columnNames && m.cell > 8 ? wide(m.columnNames) : 0;
    if (!m.largest)
      m.largest = x.reduce((most, v) => Number.isFinite(v) ? Math.max(most, Math.abs(v)) : most, 0);
    return m;
  }
  function paintCell(m, i, j) {
    const v = m.x[i * m.columns + j], left = m.left + j * m.cell, top = m.top + i * m.high, g = m.g;
    g.fillStyle = m.hidden(i, j) ? colors['--card']
      : Number.isFinite(v) ? shade(m.largest ? v / m.largest : 0) : colors['--ink'];
    g.fillRect(left, top, m.cell, m.high);
    if (m.hidden(i, j)) {
      g.strokeStyle = colors['--line'];
      g.beginPath(), g.moveTo(left, top + m.high), g.lineTo(left + m.cell, top), g.stroke();
    } else if (m.cell >= 40) {
      g.fillStyle = colors['--ink'], g.font = '11px system-ui,sans-serif', g.textAlign = 'center';
      g.fillText(short(v), left + m.cell / 2, top + m.high / 2, m.cell - 3);
      g.textAlign = 'start', g.font = FONT;
    }
  }
  function paintMap(m) {
    const z = window.devicePixelRatio || 1, g = m.g, canvas = m.canvas;
    const width = m.left + m.columns * m.cell, height = m.top + m.rows * m.high;
    canvas.width = width * z, canvas.height = height * z;
    canvas.style.width = width + 'px', canvas.style.height = height + 'px';
    g.setTransform(z, 0, 0, z, 0, 0);
    g.font = FONT, g.textBaseline = 'middle', g.fillStyle = colors['--ink'];
    for (let i = 0; m.left && i < m.rows; i += Math.ceil(13 / m.high))
      g.fillText(m.rowNames[i], 0, m.top + (i + .5) * m.high, m.left - 4);
    for (let j = 0; m.top && j < m.columns; j += Math.ceil(13 / m.cell)) {
      g.save(), g.translate(m.left + (j + .5) * m.cell, m.top - 4), g.rotate(-Math.PI / 2);
      g.fillText(m.columnNames[j], 0, 0, m.top - 4), g.restore();
    }
    for (let i = 0; i < m.rows; i++) for (let j = 0; j < m.columns; j++) paintCell(m, i, j);
    g.strokeStyle = colors['--line'], g.lineWidth = 1;
    g.strokeRect(m.left + .5, m.top + .5, m.columns * m.cell - 1, m.rows * m.high - 1);
    g.strokeStyle = colors['--ink'], g.lineWidth = 2;
    for (const at of [m.cursor, m.picked])
      if (at) g.strokeRect(m.left + at[1] * m.cell, m.top + at[0] * m.high, m.cell, m.high);
  }
  function sayCell(m, cell) {
    const name = (list, k, axis) => axis + ' ' + k + (list ? ' ' + list[k] : '');
    return name(m.rowNames, cell[0], m.axes[0]) + '\n' +
      name(m.columnNames, cell[1], m.axes[1]) + '\n' + (m.hidden(cell[0], cell[1])
        ? 'hidden by the causal mask or the window' : number(m.x[cell[0] * m.columns + cell[1]]));
  }
  function pickCell(m, cell) {
    if (!m.onpick || m.hidden(...cell)) return;
    m.picked = cell;
    paintMap(m), m.onpick(...cell);
  }
  function moveCursor(m, event) {
    if (m.cursor && (event.key === 'Enter' || event.key === ' ')) {
      event.preventDefault();
      return pickCell(m, m.cursor);
    }
    const move = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1],
      ArrowRight: [0, 1]}[event.key];
    if (!move) return;
    event.preventDefault(), event.stopPropagation();
    const from = m.cursor || [0, 0], within = (k, size) => Math.max(0, Math.min(size - 1, k));
    m.cursor = [within(from[0] + move[0], m.rows), within(from[1] + move[1], m.columns)];
    paintMap(m);
    const box = m.canvas.getBoundingClientRect();
    showTip({clientX: box.left + m.left + m.cursor[1] * m.cell,
      clientY: box.top + m.top + m.cursor[0] * m.high}, sayCell(m, m.cursor));
    if (m.onhover) m.onhover(m.cursor[0]);
  }
  function heatMap(x, rows, columns, options) {
    const m = mapOf(x, rows, columns, options);
    function cellAt(event) {
      const box = m.canvas.getBoundingClientRect();
      const i = Math.floor((event.clientY - box.top - m.top) / m.high);
      const j = Math.floor((event.clientX - box.left - m.left) / m.cell);
      return i >= 0 && j >= 0 && i < rows && j < columns ? [i, j] : null;
    }
    function show(event) {
      const cell = cellAt(event);
      showTip(event, cell ? sayCell(m, cell) : '');
      if (m.onhover) m.onhover(cell ? cell[0] : -1);
    }
    m.canvas.addEventListener('pointermove', show);
    m.canvas.addEventListener('pointerdown', show); /* a finger does not hover */
    m.canvas.addEventListener('click', event => {
      const cell = cellAt(event);
      if (cell) pickCell(m, cell);
    });
    m.canvas.addEventListener('pointerleave', () => { tip.hidden = true; });
    m.canvas.addEventListener('keydown', event => moveCursor(m, event));
    m.canvas.addEventListener('blur', () => {
      m.cursor = null, tip.hidden = true;
      paintMap(m);
    });
    paintMap(m);
    return m.canvas;
  }

  function histogram(s, name) {
    const most = Math.max(1, ...s.bins), width = 200, bars = s.bins.length;
    return html('figure', {style: 'margin:6px 0'},
      svg('svg', {viewBox: '0 0 200 62', width: '100%', style: 'max-width:260px;display:block',
        class: 'plot', role: 'img', 'aria-label': 'histogram of ' + name},
        s.bins.map((n, i) => svg('rect', {x: width * i / bars + .5, y: 46 - 44 * n / most,
          width: width / bars - 1, height: 44 * n / most, fill: 'var(--source)'},
          svg('title', null, n + ' numbers'))),
        svg('path', {class: 'axis', d: 'M0 46H200'}), svg('text', {x: 0, y: 59}, short(s.low)),
        svg('text', {x: 200, y: 59, 'text-anchor': 'end'}, short(s.high))),
      html('figcaption', {class: 'dim small'}, 'mean ' + short(s.mean) + ', deviation ' +
        short(s.deviation) + ', ' + s.count + ' numbers',
        s.finite < s.count ? html('b', null, ', ' + (s.count - s.finite) + ' not finite') : null));
  }

  /* One array of a value, "x" or "dx", as heat map with histogram. */
  function arrayView(of, node, value, name, title, limit) {
    const x = numbers(value, name), box = html('div', null, html('h3', null, title));
    if (!x) {
      return add(box, [html('p', {class: 'dim'}, name === 'dx' && numbers(value, 'x')
        ? 'No gradient was computed, or none is kept of it.' : 'Not computed.')]);
    }
    if (!(x instanceof Float32Array))
      return add(box, [html('p', {class: 'dim small'}, x.count + ' numbers, more than ' + limit +
        ': a summary stands for them (syn trace --weights and --values set the limit).'),
      histogram(x, title)]);
    const rank = value.shape.length, columns = value.shape[rank - 1];
    const rows = rank > 1 ? value.shape[rank - 2] : 1;
    let offset = 0;
    const choices = html('div', {class: 'row'}), leading = [];
    for (let axis = 0; axis < rank - 2; axis++) {
      const key = value.axes[axis], size = value.shape[axis];
      const chosen = Math.min(view.heads[key] || 0, size - 1);
      offset = offset * size + chosen, leading.push(chosen);
      const names = labels(of, node, key, size);
      choices.append(html('label', {class: 'small'}, key + ' ', html('select', {onchange: event => {
        view.heads[key] = event.target.selectedIndex;
        drawDetail();
      }}, Array.from({length: size}, (_, i) => html('option', {selected: i === chosen},
        names ? i + ' ' + names[i] : i)))));
    }
    const part = x.subarray(offset * rows * columns, (offset + 1) * rows * columns);
    const axes = rank > 1 ? value.axes.slice(-2) : ['', value.axes[0]];
    const room = (parts.detail.clientWidth || 600) / (view.b >= 0 && innerWidth > 900 ? 2 :
      1) - 140;
    const fit = Math.max(3, Math.min(22, Math.floor(room / columns)));
    add(box, [choices, html('div', {class: 'scroll'}, heatMap(part, rows, columns, {
      cell: view.zoom ? fit * view.zoom : 52, high: view.zoom ? 0 : 22, axes: axes, label: title,
        rowNames: labels(of, node, axes[0], rows),
      columnNames: labels(of, node, axes[1], columns), hidden: (i, j) => node &&
        isMasked(of, node, value.axes, i, j),
      picked: isPicked(node, leading, name) ? view.pick.at.slice(-2) : null,
      onpick: rank > 1 && (name === 'x' || hasGradientSum(of, node, view.part)) ? (i, j) =>
        pick(node.id, view.part, leading.concat(i, j), name) : null})), histogram(summary(x),
      title)]);
    return box;
  }

  /* -- the text of the network -- */

  function textView(of) {
    const box = html('div');
    for (const name of SIDES) {
      const text = of[name];
      if (!text) continue;
      const line = html('div', {class: 'text mono'}, html('b', null, name + '  '));
      const bytes = new TextEncoder().encode(text), decoder = new TextDecoder();
      const marks = new Map();
      for (const n of of.nodes)
        if (side(n) === name && n.place >= 0 && !marks.has(n.place)) marks.set(n.place, n);
      const error = of.error && of.error.path && of.error.path.startsWith(name) ? of.error.place :
        -1;
      const places = Array.from(marks.keys()).concat(error >= 0 ? [error] : []).sort((a, b) =>
        a - b);
      let at = 0;
      for (const place of new Set(places)) {
        let end = place;
        while (end < bytes.length && /\w/.test(String.fromCharCode(bytes[end]))) end++;
        line.append(decoder.decode(bytes.slice(at, place)));
        line.append(place === error
          ? html('span', {class: 'wrong', title: of.error.message},
            decoder.decode(bytes.slice(place, Math.max(end, place + 1))) || '?')
          : html('span', {class: 'layer' +
            (marks.get(place).place === doc().nodes[view.node].place &&
            side(doc().nodes[view.node]) === name ? ' on' : ''), tabindex: '0', role: 'button',
            onclick: () => select(marks.get(place).id), onkeydown: event => {
              if (event.key === 'Enter') select(marks.get(place).id);
            }}, decoder.decode(bytes.slice(place, end))));
        at = place === error ? Math.max(end, place + 1) : end;
      }
      line.append(decoder.decode(bytes.slice(at)));
      box.append(line);
    }
    if (of.error) box.append(html('div', {class: 'error', role: 'alert'},
      html('b', null, 'This text does not build. '), of.error.message, html('div',
        {class: 'dim small'},
        of.nodes.length + ' operations stand before the error.')));
    return box;
  }

  /* -- the graph -- */

  const WIDE = 168, HIGH = 30, GAP = 20;
  /* The node that stands for n while repeats around it are folded. */
  function shown(n) {
    for (let again = true; again;) {
      again = false;
      for (const g of n.groups)
        if (g.copy && !view.open.has(g.name)) {
          n = g.first, again = true;
          break;
        }
    }
    return n;
  }
  function layOut(of) {
    const at = new Map(), column = {encoder: 0, decoder: 0}, x = {encoder: 34, decoder: 300};
    const groups = [];
    if (!of.nodes.some(n => side(n) === 'encoder')) x.decoder = 34;
    if (of.nodes.some(n => n.path === 'out') && !of.nodes.some(n => n.path.startsWith('decoder')))
      x.decoder = 34, column.decoder = null;
    const current = {encoder: [], decoder: []};
    for (const n of of.nodes) {
      if (shown(n) !== n) continue;
      const s = column[side(n)] === null ? 'encoder' : side(n);
      const wanted = n.groups.map(g => g.name + (view.open.has(g.name) ? '#' + g.copy : ''));
      const now = current[s];
      while (now.length && (now.length > wanted.length ||
        now.some((g, k) => g.id !== wanted[k]))) groups.push(closeGroup(now.pop(), column, s));
      for (let k = now.length; k < wanted.length; k++) {
        column[s] += k === 0 && column[s] ? 6 : 0;
        now.push({id: wanted[k], group: n.groups[k], x: x[s] - 16 + 6 * k, y: column[s], side: s,
          depth: k});
        column[s] += 22;
      }
      at.set(n.id, {x: x[s], y: column[s] + 4});
      column[s] += HIGH + GAP;
    }
    for (const s of SIDES) while (current[s].length) groups.push(closeGroup(current[s].pop(),
      column, s));
    return {at: at, groups: groups, height: Math.max(column.encoder || 0, column.decoder || 0) + 24,
      width: x.decoder + WIDE + 44, below: column, x: x};
  }
  function closeGroup(group, column, s) {
    group.height = column[s] - GAP + 10 - group.y;
    column[s] += 8;
    return group;
  }

  function edgePath(from, to, spans, side2) {
    const y1 = from.y + HIGH, y2 = to.y;
    if (from.x !== to.x) {
      const x1 = from.x + WIDE, x2 = to.x, m = (x1 + x2) / 2;
      return 'M' + x1 + ' ' + (from.y + HIGH / 2) + 'C' + m + ' ' + (from.y + HIGH / 2) + ' ' + m +
        ' ' + (to.y + HIGH / 2) + ' ' + x2 + ' ' + (to.y + HIGH / 2);
    }
    if (spans < 2) return 'M' + (from.x + WIDE / 2) + ' ' + y1 + 'V' + y2;
    const x = side2 ? from.x : from.x + WIDE, out = (side2 ? -1 : 1) * Math.min(30, 12 + 4 * spans);
    return 'M' + x + ' ' + (from.y + HIGH / 2) + 'c' + out + ' 0 ' + out + ' 0 ' + out + ' 12V' +
      (to.y + HIGH / 2 - 12) + 'c0 12 ' + -out / 2 + ' 12 ' + -out + ' 12';
  }

  function graphView(of) {
    const plan = layOut(of), edges = [], boxes = [], now = steps()[view.pos - 1];
    const order = Array.from(plan.at.keys()), rows = new Map();
    const count = {};
    for (const id of order) {
      const x = plan.at.get(id).x;
      rows.set(id, count[x] = (count[x] || 0) + 1);
    }
    for (const id of order) {
      const n = of.nodes[id], to = plan.at.get(id);
      const list = n.in.map(i => ({n: shown(of.nodes[i])}));
      if (n.feedback >= 0) list.push({n: shown(of.nodes[n.feedback]), back: true});
      for (const item of list) {
        const from = plan.at.get(item.n.id), spans = Math.abs(rows.get(id) - rows.get(item.n.id));
        const hot = now && now.node === id;
        edges.push(svg('path', {class: 'edge' + (hot ? ' hot' : ''), stroke: 'var(--' +
          item.n.stream + ')',
          'stroke-dasharray': item.back ? '5 4' : null,
          'marker-end': item.back ? null : 'url(#tv-' + item.n.stream + ')',
          d: edgePath(from, to, item.back ? 2 : spans, item.back)},
          svg('title', null, item.n.key + ' → ' + n.key + ': ' + item.n.stream + ' rows, width ' +
            item.n.width + (item.back ? ', of the token before' : ''))));
        if (from.x === to.x && spans < 2)
          edges.push(svg('text', {x: to.x + WIDE / 2 + 6, y: to.y - 5, fill: 'var(--dim)',
            'font-size': 10.5}, item.n.width));
        else if (from.x !== to.x)
          edges.push(svg('text', {x: to.x - 6, y: to.y + HIGH / 2 - 5, fill: 'var(--dim)',
            'font-size': 10.5, 'text-anchor': 'end'}, item.n.width));
      }
      boxes.push(nodeBox(of, n, to));
    }
    if (of.error && of.error.path) badNode(of, plan, edges, boxes);
    const picture = svg('svg', {viewBox: '0 0 ' + plan.width + ' ' + (plan.height + 10),
      width: plan.width, role: 'group', 'aria-label': 'graph of the network'},
      svg('defs', null, ['source', 'target', 'sentence'].map(s => svg('marker', {id: 'tv-' + s,
        viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 5.5, markerHeight: 5.5, orient: 'auto'},
        svg('path', {d: 'M0 0L8 4L0 8z', fill: 'var(--' + s + ')'})))),
      svg('g', {transform: 'translate(0 26)'}, plan.groups.map(g => groupBox(g)), edges, boxes),
      SIDES.map(s => of[s] && plan.x[s] !== undefined && of.nodes.some(n => n.path.startsWith(s))
        ? svg('text', {x: plan.x[s] + WIDE / 2, y: 14, 'text-anchor': 'middle', 'font-size': 13,
          'font-weight': 600, fill: 'var(--' + (s === 'encoder' ? 'source' : 'target') + ')'}, s) :
            null));
    return picture;
  }
  function groupBox(g) {
    const open = view.open.has(g.group.name), what = g.group.steps ? ' steps' : ' copies';
    const text = open ? '▾ ' + (g.group.steps ? 'step ' : 'copy ') + (g.group.copy + 1) + ' of ' +
      g.group.copies : '▸ ' + g.group.copies + what;
    const toggle = () => {
      if (open) view.open.delete(g.group.name);
      else view.open.add(g.group.name);
      drawGraph();
    };
    return svg('g', {class: 'group'},
      svg('rect', {x: g.x, y: g.y, width: WIDE + 40 - 10 * g.depth, height: g.height, rx: 9}),
      svg('text', {x: g.x + 9, y: g.y + 16, tabindex: '0', role: 'button',
        'aria-expanded': String(open),
        onclick: toggle, onkeydown: event => { if (event.key === 'Enter') toggle(); }}, text,
        svg('title', null, (open ? 'fold' : 'one is shown: unfold all') + (g.group.steps
          ? '; the steps share their weights' : ''))));
  }
  function nodeBox(of, n, at) {
    const current = shown(of.nodes[view.node]) === n;
    const copy = of.nodes[view.node], all = steps().length === 0;
    const state = copy && current ? copy : n;
    const wait = !all && !reached(state.id, false), grad = reached(state.id, true);
    const heads = n.heads ? (n.heads > 1 ? n.heads + ' heads' : '1 head') : '';
    return svg('g', {class: 'node' + (current ? ' on' : '') + (wait ? ' wait' : '') +
      (grad ? ' grad' : '') + (n.heads ? ' att' : ''), transform: 'translate(' + at.x + ' ' + at.y +
        ')',
      tabindex: '0', role: 'button', 'data-node': n.id, onclick: () => select(n.id),
      onkeydown: event => {
        if (event.key === 'Enter' || event.key === ' ') event.preventDefault(), select(n.id);
      }},
      svg('rect', {width: WIDE, height: HIGH, rx: 7}),
      svg('rect', {width: 5, height: HIGH - 8, x: 4, y: 4, rx: 2, style: 'stroke:none;fill:var(--' +
        n.stream + ')'}),
      svg('text', {x: 15, y: HIGH / 2 + 4}, n.kind),
      svg('text', {class: 'w', x: WIDE - 8, y: HIGH / 2 + 4, 'text-anchor': 'end'}, heads ||
        n.width));
  }
  function badNode(of, plan, edges, boxes) {
    const s = of.error.path.startsWith('encoder') ? 'encoder' : 'decoder';
    const from = of.error.in >= 0 ? plan.at.get(shown(of.nodes[of.error.in]).id) : null;
    const at = {x: plan.x[s], y: plan.below[s] + 4};
    plan.height = Math.max(plan.height, at.y + HIGH + 24);
    if (from) edges.push(svg('path', {class: 'edge', stroke: 'var(--bad)',
      'stroke-dasharray': '5 3',
      d: edgePath(from, at, at.y - from.y > HIGH + GAP + 30 ? 3 : 1)}));
    boxes.push(svg('g', {class: 'node bad', transform: 'translate(' + at.x + ' ' + at.y + ')'},
      svg('rect', {width: WIDE, height: HIGH, rx: 7}), svg('title', null, of.error.message),
      svg('text', {x: 12, y: HIGH / 2 + 4}, '✗ ' + (of.error.name || 'not built'))));
  }

  /* -- the sum behind a number -- */

  /* Every layer has a function that computes one number of it again, from numbers of the page. It
     returns {text, terms: [[name, [operand, ...], product]], lines, result}; result must be the
     number of the page. An operand is a number with its place: [node, part, indices]. Where the
     page does not hold an operand in full, `read` throws its name. */
  const EPSILON = 1e-6; /* of norm and rms_norm */
  const FIXED = 7; /* heads of fixed_att that learn nothing */
  const PRODUCT = '#r1 r2ᵀ'; /* a map that no parameter has: the scores of FR */
  const sigmoid = x => 1 / (1 + Math.exp(-x));
  const gelu = x => .5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + .044715 * x * x * x)));
  const CURVES = {relu: x => Math.max(0, x), gelu: gelu, tanh: Math.tanh, sigmoid: sigmoid,
    swish: x => x * sigmoid(x), quick_gelu: x => x * sigmoid(1.702 * x)};
  const GATES = {glu: 'sigmoid', swiglu: 'swish', geglu: 'gelu', reglu: 'relu'};

  /* name: 'x', or 'dx' of a gradient. */
  function operand(x, node, part, at, name) {
    return {x: x, node: node, part: part, at: at, name: name};
  }
  /* An array that the page holds in full. */
  function whole(of, node, part, name) {
    const value = part.startsWith('#') && part !== PRODUCT ? parameter(of, node, part.slice(1))
      : valueOf(of, node, part);
    const x = value && numbers(value, name || 'x');
    if (name === 'dx' && !x) throw null; /* no gradient is kept */
    if (!(x instanceof Float32Array))
      throw (part === 'value' ? node.key : part.replace('#', '')) + (x ? ' (' + x.count +
        ' numbers)' : '');
    return {x: x, shape: value.shape};
  }
  function read(of, node, part, ...at) { return readOf('x', of, node, part, ...at); }
  function readOf(name, of, node, part, ...at) {
    const all = whole(of, node, part, name);
    return operand(all.x[at.reduce((s, k, axis) => s * all.shape[axis] + k, 0)], node, part, at,
      name);
  }
  /* Of further sentences the page has summaries of the parameters: those with the same numbers
     stand in another document in full. */
  function parameter(of, node, name) {
    const p = node.params.map(i => of.params[i]).find(q => partName(node, q) === '#' + name);
    const x = p && numbers(p.value, 'x');
    if (!x || x instanceof Float32Array) return p ? p.value : null;
    const same = documents.map(d => d.data.params.find(q => q.name === p.name)).find(q => q &&
      numbers(q.value, 'x') instanceof Float32Array &&
      String(summary(numbers(q.value, 'x')).bins) === String(x.bins));
    return (same || p).value;
  }
  function has(of, node, name) { return !!parameter(of, node, name); }
  function reader(of, node, k) { return of.nodes[node.in[k === undefined ? 0 : k]]; }

  /* A number of x W^T + b, where only the result is shown; names: of W and of b, if it has one. */
  function affine(of, node, names, row, unit) {
    const x = whole(of, reader(of, node), 'value'), w = whole(of, node, '#' + names[0]);
    const width = x.shape[1];
    let sum = names[1] && has(of, node, names[1]) ? whole(of, node, '#' + names[1]).x[unit] : 0;
    for (let k = 0; k < width; k++) sum += x.x[row * width + k] * w.x[unit * width + k];
    return sum;
  }
  /* Sum of the products of operands: f(k) returns the list of them for k = 0 .. count - 1. */
  function dot(name, count, f) {
    const terms = [];
    for (let k = 0; k < count; k++) {
      const list = f(k);
      terms.push([name(k), list, list.reduce((s, o) => s * o.x, 1)]);
    }
    return {terms: terms, result: terms.reduce((s, t) => s + t[2], 0)};
  }
  /* x W^T + b: the number at `row` of the input and `unit` of the weights. */
  function product(of, node, from, part, names, row, unit) {
    const w = parameter(of, node, names[0]), width = w.shape[w.shape.length - 1];
    const shape = part === 'value' ? [from.width] : from.parts[part].shape.slice(1);
    const at = k => shape.length < 2 ? [row, k] : [row, Math.floor(k / shape[1]), k % shape[1]];
    const sum = dot(k => 'k = ' + k, width, k => [read(of, from, part, ...at(k)),
      read(of, node, '#' + names[0], unit, k)]);
    sum.text = (part === 'value' ? 'Σ_k x_k ' : 'Σ_k ' + part + '_k ') + names[0] + '_k';
    if (has(of, node, names[1])) {
      plus(sum, names[1], read(of, node, '#' + names[1], unit));
      sum.text += ' + ' + names[1];
    }
    return sum;
  }
  /* One operand more. */
  function plus(sum, name, x) {
    sum.terms.push([name, [x], x.x]);
    sum.result += x.x;
    return sum;
  }
  /* The words and numbers between the brackets of a layer's text. */
  function argumentsOf(of, node) {
    const text = node.place < 0 || !of[side(node)] ? '' :
      new TextDecoder().decode(new TextEncoder().encode(of[side(node)]).slice(node.place));
    const inside = (/^\w+\s*\(([^()]*)\)/.exec(text) || ['', ''])[1], all = {list: [], layer:
      (/^\w+/.exec(text) || [''])[0]};
    for (const one of inside.split(/[,|]/).map(s => s.trim()).filter(s => s)) {
      const [name, value] = one.split('=').map(s => s.trim());
      if (value === undefined) all.list.push(name);
      else all[name] = value;
    }
    all.words = all.list.concat(Object.values(all)).filter(s => /^[a-zA-Z_+]/.test(s));
    return all;
  }
  function curveOf(of, node) {
    const words = argumentsOf(of, node).words;
    return words.find(w => CURVES[w] || GATES[w]) || (node.kind === 'cnn' ? 'glu' : 'relu');
  }
  /* A logit behind softcap(s), the last layer of the text. */
  function capped(of, sum) {
    const at = /\bsoftcap\s*\(\s*(?:s\s*=\s*)?([-+.\w]+)/.exec((of.decoder || of.encoder || '')
      .replace(/#.*/g, ''));
    if (!at) return sum;
    const s = +at[1];
    return Object.assign(sum, {lines: ['z = ' + short(sum.result) + ',  ' + s + ' tanh(z / ' + s + ')'],
      text: 's tanh(z / s),  z = ' + sum.text, result: s * Math.tanh(sum.result / s)});
  }
  /* act(z), or a f(b) of the two halves of a gated layer; z(unit) computes a sum. */
  function curved(of, node, unit, z) {
    const word = curveOf(of, node), gate = GATES[word], a = z(unit);
    if (!gate) {
      a.lines = [word + '(' + short(a.result) + ')'], a.text = word + '(' + a.text + ')';
      a.result = CURVES[word](a.result);
      return a;
    }
    const b = z(unit + node.width), f = CURVES[gate](b.result);
    a.lines = ['the sum above is a = ' + short(a.result), 'the gate is the same sum with row ' +
      (unit + node.width) + ' of w: b = ' + short(b.result), 'a ' + gate + '(b) = ' +
      short(a.result) + ' · ' + short(f)];
    a.text = 'a ' + gate + '(b),  a = ' + a.text, a.result *= f;
    return a;
  }
  function rowOf(of, node, row) {
    return Array.from({length: node.width}, (_, k) => read(of, node, 'value', row, k));
  }
  function normed(of, node, [row, k], mean) {
    const x = rowOf(of, reader(of, node), row), n = x.length;
    const m = mean ? x.reduce((s, o) => s + o.x, 0) / n : 0;
    const v = x.reduce((s, o) => s + (o.x - m) * (o.x - m), 0) / n;
    const a = argumentsOf(of, node), eps = Number(a.layer === node.kind && (a.eps || a.list[0]) ||
      EPSILON);
    const g = read(of, node, '#g', k), y = (x[k].x - m) / Math.sqrt(v + eps) * g.x;
    const b = has(of, node, 'b') ? read(of, node, '#b', k) : null;
    return {text: mean ? '(x − mean) / √(var + ' + eps + ') · g + b' : 'x / √(mean of x² + ' + eps +
      ') · g', terms: [['x', [x[k]], x[k].x], ['g', [g], g.x]].concat(b ? [['b', [b], b.x]] : []),
    lines: (mean ? ['mean of the row of ' + n + ' numbers: ' + short(m)] : []).concat(
      (mean ? 'variance of the row: ' : 'mean of the squares of the row: ') + short(v),
      (mean ? '(' + short(x[k].x) + ' − ' + short(m) + ')' : short(x[k].x)) + ' / ' +
      short(Math.sqrt(v + eps)) + ' · ' + short(g.x) + (b ? ' + ' + short(b.x) : '')),
    result: y + (b ? b.x : 0)};
  }
  /* The sinusoid of column j at a place. */
  function sinusoid(layout, d, place, j) {
    const half = d / 2, pair = layout === 'pair', i = pair ? j >> 1 : j % half;
    const power = layout === 'tensor2tensor' ? i / Math.max(1, half - 1) : 2 * i / d;
    const angle = place / Math.pow(10000, power);
    return (pair ? j % 2 : j >= half) ? Math.cos(angle) : Math.sin(angle);
  }
  function placed(of, node, [row, j]) {
    const a = argumentsOf(of, node), x = read(of, reader(of, node), 'value', row, j);
    const scale = (a.scale || a.list[0]) === '0' ? 1 : Math.sqrt(node.width);
    const layout = ['half', 'tensor2tensor'].find(w => a.words.includes(w)) || 'pair';
    const p = sinusoid(layout, node.width, row + Number(a.first || 0), j);
    return {text: (scale === 1 ? 'x' : '√d x') + ' + p', terms: [['x', [x], x.x]],
      lines: [short(scale) + ' · ' + short(x.x) + ' + ' + short(p) + ',  p: the sinusoid of' +
        ' place ' + row + ', column ' + j], result: scale * x.x + p};
  }
  function lookedUp(of, node, [row, j]) {
    const token = of.tokens[node.stream][row], name = partName(node, of.params[node.params[0]]);
    const w = read(of, node, name, token[0], j);
    return {text: 'row of the table', terms: [['token ' + tokenText(token) + ', row ' + token[0],
      [w], w.x]], lines: [], result: w.x};
  }
  function convolved(of, node, [row, unit]) {
    const w = parameter(of, node, 'w'), [, taps, width] = w.shape, a = argumentsOf(of, node);
    const dilate = Number(a.dilate || 1), from = reader(of, node), rows = from.value.shape[0];
    const first = firstTap(node, taps) * dilate;
    return curved(of, node, unit, u => {
      const all = dot(k => 'token ' + (row + first + Math.floor(k / width) * dilate) + ', k = ' +
        k % width, taps * width, k => {
        const t = row + first + Math.floor(k / width) * dilate, i = Math.floor(k / width);
        return t < 0 || t >= rows ? [operand(0, null)] : [read(of, from, 'value', t, k % width),
          read(of, node, '#w', u, i, k % width)];
      });
      const b = read(of, node, '#b', u);
      all.terms = all.terms.filter(t => t[1].length > 1).concat([['b', [b], b.x]]);
      return Object.assign(all, {text: 'Σ_i Σ_k x_(t+i),k w_i,k + b', result: all.result + b.x});
    });
  }

  /* -- of attention: S, its softmax, the weighted sum of values -- */

  /* The scale of q . k, which q already holds. */
  function scaleOf(of, node) {
    const a = argumentsOf(of, node), shape = node.parts.q.shape, dot = /^(mh_)?dot_/.test(a.layer);
    const s = a.s || (dot && a.list[a.layer.startsWith('mh_') ? 1 : 0]);
    return a.scale ? Number(a.scale) : 1 / Math.sqrt(Number(s || shape[shape.length - 1]));
  }
  /* Row `i` of a part [token, head, width], or [token, width] of one head. */
  function partAt(of, node, part, i, head, k, name) {
    const shape = node.parts[part].shape, learned = node.kind === 'fixed_att' && part !== 'v';
    const row = learned ? head - FIXED : Math.floor(head * shape[1] / node.heads);
    return readOf(name || 'x', of, node, part, ...(shape.length > 2 ? [i, row, k] : [i, k]));
  }
  const SCORES = {
    V: (of, node, [h, i, j]) => {
      const width = node.parts.q.shape[node.parts.q.shape.length - 1];
      const s = dot(k => 'k = ' + k, width, k => [partAt(of, node, 'q', i, h, k),
        partAt(of, node, 'k', j, h, k)]);
      return Object.assign(s, {text: 'Σ_k q_k k_k'});
    },
    R: (of, node, at) => table(of, node, 'r', at),
    Fix: (of, node, at) => table(of, node, 'fix', at),
    FR: (of, node, [h, i, j]) => {
      const [, rows, rank] = parameter(of, node, 'r1').shape; /* a tile repeats itself */
      const s = dot(k => 'k = ' + k, rank, k => [read(of, node, '#r1', h, i % rows, k),
        read(of, node, '#r2', h, j % rows, k)]);
      return Object.assign(s, {text: 'Σ_k r1_ik r2_jk'});
    },
    T: (of, node, [h, i, j]) => {
      const width = parameter(of, node, 't').shape[1]; /* i-j from the largest on, or a tile */
      const rows = argumentsOf(of, node).tile || side(node) === 'decoder' ? width : (width + 1) / 2;
      const t = read(of, node, '#t', h, (rows - 1 - i % rows + j) % width);
      return {text: 't_(i−j)', terms: [['t', [t], t.x]], result: t.x};
    },
    FD: (of, node, [h, i, j]) => {
      const [, b, width] = parameter(of, node, 'fd_wb').shape;
      const u = k => operand(Math.max(0, affine(of, node, ['fd_w1', 'fd_b1'], i, h * width + k)));
      const number = (name, row) => plus(dot(k => name + ': k = ' + k, width, k => [u(k),
        read(of, node, '#fd_w' + name, h, row, k)]), name + ': bias', read(of, node, '#fd_b' + name,
        h, row));
      const first = number('a', Math.floor(j / b)), second = number('b', j % b);
      return {text: 'A_i[j div b] B_i[j mod b] = ' + short(first.result) + ' · ' +
        short(second.result) + ',  A = fd_wa u + fd_ba,  B = fd_wb u + fd_bb,' +
        '  u = relu(fd_w1 x + fd_b1)', terms: first.terms.concat(second.terms),
      result: first.result * second.result};
    }
  };
  /* Kinds of a score from one token, or from those around it: W1, b1, W2, b2, then the gate's. */
  const DENSE = {D: 'd_w1 d_b1 d_w2 d_b2', BD: 'bd_w1 bd_b1 bd_w2 bd_b2', Conv: '- - c_w c_b',
    CRC: 'crc_w1 crc_b1 crc_w2 crc_b2', BCRC: 'bcrc_w1 bcrc_b1 bcrc_w2 bcrc_b2',
    GLU: '- - g_wa g_ba g_wb g_bb'};
  for (const kind of Object.keys(DENSE))
    SCORES[kind] = (of, node, at) => denseScore(of, node, at, DENSE[kind].split(' '));
  function denseScore(of, node, [h, i, j], [w1, b1, w2, b2, gate, gateBias]) {
    const shared = !has(of, node, b2); /* one matrix for all heads; beside V, relu(q) for u */
    const u = (t, unit) => w1 === '-' ? read(of, reader(of, node), 'value', t, unit)
      : operand(Math.max(0, has(of, node, w1) ? aroundRow(of, node, [w1, b1], t, unit)
        : affine(of, node, ['w_q', 'b_q'], t, unit)));
    const number = (w, b) => {
      const shape = parameter(of, node, w).shape, width = shape[shape.length - 1];
      const taps = shape.length > 3 ? shape[2] : 1, first = firstTap(node, taps);
      const sum = dot(k => (taps > 1 ? 'token ' + (i + first + Math.floor(k / width)) + ', ' : '') +
        'k = ' + k % width, taps * width, k => {
        const tap = Math.floor(k / width), t = i + first + tap;
        return t < 0 || t >= node.value.shape[0] ? [operand(0)] : [u(t, h * width + k % width),
          read(of, node, '#' + w, ...(shared ? [] : [h]), j, ...(shape.length > 3 ? [tap] : []),
            k % width)];
      });
      sum.terms = sum.terms.filter(t => t[1].length > 1);
      return shared ? sum : plus(sum, b, read(of, node, '#' + b, h, j));
    };
    const sum = number(w2, b2), text = 'Σ_k ' + (w1 === '-' ? 'x_k ' : !shared ? 'relu(' + w1 +
      ' x + ' + b1 + ')_k ' : has(of, node, w1) ? 'relu(' + w1 + ' x)_k ' : 'relu(w_q x)_k ') + w2 +
      '_jk' + (shared ? '' : ' + ' + b2 + '_j');
    if (!gate) return Object.assign(sum, {text: text});
    const open = sigmoid(number(gate, gateBias).result);
    return {text: '(' + text + ') σ(the same with ' + gate + ') = ' + short(sum.result) + ' · ' +
      short(open), terms: sum.terms, result: sum.result * open};
  }
  /* The place of the first tap of a convolution of a sentence, from its row. */
  function firstTap(node, taps) {
    return side(node) === 'decoder' ? 1 - taps : -Math.floor((taps - 1) / 2);
  }
  /* A number of x W^T + b, or of a convolution W [units,taps,d]. */
  function aroundRow(of, node, names, row, unit) {
    const shape = parameter(of, node, names[0]).shape, taps = shape[1], width = shape[2];
    if (shape.length < 3) return affine(of, node, names, row, unit);
    const x = whole(of, reader(of, node), 'value'), w = whole(of, node, '#' + names[0]);
    let sum = whole(of, node, '#' + names[1]).x[unit];
    for (let k = 0; k < taps * width; k++) {
      const t = row + firstTap(node, taps) + Math.floor(k / width);
      if (t >= 0 && t < x.shape[0])
        sum += x.x[t * width + k % width] * w.x[unit * taps * width + k];
    }
    return sum;
  }
  function table(of, node, name, at) {
    const rows = parameter(of, node, name).shape[1]; /* a tile repeats itself */
    const r = read(of, node, '#' + name, at[0], at[1] % rows, at[2] % rows);
    return {text: name + '_ij', terms: [[name, [r], r.x]], result: r.x};
  }
  function kindsOf(of, node) {
    return node.kind === 'syn_att' ? (argumentsOf(of, node).words.find(w =>
      /^(V|R|Fix|FR|T|D|BD|FD|Conv|CRC|BCRC|GLU)(\+|$)/.test(w)) || 'V').split('+') : ['V'];
  }
  /* mix=free: the trained numbers are the shares. */
  function isFree(of, node) { return argumentsOf(of, node).words.includes('free'); }
  function sharesFor(of, node, head, kinds) {
    if (!has(of, node, 'alpha')) return kinds.map(() => 1);
    const learned = kinds.map((_, k) => read(of, node, '#alpha', head, k).x);
    if (isFree(of, node)) return learned;
    const a = learned.map(Math.exp);
    return a.map(x => x / a.reduce((s, y) => s + y, 0));
  }
  /* What each rel_pos before a layer, in its chain or around it, adds to the score of i and j. */
  function biasOf(of, node, [h, i, j]) {
    return of.nodes.filter(r => r.kind === 'rel_pos' && node.kind === 'syn_att' && r.id < node.id &&
      node.path.startsWith(r.path.replace(/[^.]*$/, ''))).map(r => {
      const a = argumentsOf(of, r), max = Number(a.max || a.list[1] || 128);
      const buckets = parameter(of, r, own(of, r)).shape[1];
      const half = side(r) === 'decoder' ? buckets : buckets / 2, e = Math.floor(half / 2);
      const from = k => k <= e ? k : Math.ceil(e * Math.pow(max / e, (k - e) / (half - e)) - 1e-9);
      let k = half - 1;
      while (k > 0 && from(k) > Math.abs(i - j)) k--;
      return read(of, r, '#' + own(of, r), h, j > i ? half + k : k);
    });
  }
  /* The score of query i and key j of a head: a sum over the kinds of the layer. */
  function scored(of, node, at) {
    const kinds = kindsOf(of, node), share = sharesFor(of, node, at[0], kinds);
    const all = kinds.map((kind, k) => {
      if (!SCORES[kind]) throw null;
      const s = SCORES[kind](of, node, at);
      return {kind: kind, share: share[k], s: s};
    });
    const bias = biasOf(of, node, at);
    return {text: all.map(o => (kinds.length > 1 ? short(o.share) + ' · ' : '') + o.kind)
      .join(' + ') + (bias.length ? ' + the bias of the distance' : ''),
      terms: bias.map(b => ['bias', [b], b.x]).concat(all.flatMap(o => o.s.terms.map(t =>
        [(kinds.length > 1 ? o.kind + ': ' : '') + t[0], t[1], t[2]]))),
      lines: all.map(o => o.kind + ': ' + o.s.text + ' = ' + short(o.s.result)),
      result: all.reduce((s, o) => s + o.share * o.s.result, bias.reduce((s, b) => s + b.x, 0))};
  }

  /* The weights of the first heads of fixed_att: the share of key j among those of query i. */
  function fixedWeight(node, [h, i, j]) {
    const n = node.parts.weights.shape[2], up = k => (k + 1) ** 3, down = k => (n - k) ** 3;
    const one = k => k === i + [0, -1, 1][h] ? 1 : 0;
    const all = Array.from({length: n}, (_, k) => h < 3 ? one(k) : h === 3 ? k <= i - 2 ? up(k) : 0
      : h === 4 ? k >= i + 2 ? down(k) : 0 : h === 5 ? up(k) : down(k));
    if (all.every(x => x === 0)) all[i] = 1;
    const sum = all.reduce((a, b) => a + b, 0);
    return {text: 'the share of key j by its place', terms: all.map((x, k) => ['key ' + k,
      [operand(x)], x]), lines: [all[j] + ' / ' + sum], result: all[j] / sum};
  }
  /* A key or value of linformer: a learned sum of those of all tokens. */
  function summarized(of, node, name, part, [n, h, c]) {
    return Object.assign(dot(t => 'token ' + t, node.value.shape[0], t => [read(of, node,
      '#' + name, n, t), partAt(of, node, part, t, h, c)]), {text: 'Σ_t ' + name + '_nt ' +
      part + '_t'});
  }
  function ofSums(of, node, part, at) {
    const shape = node.parts.weights.shape, width = node.parts.q.shape.slice(-1)[0];
    const [i, h, c] = part === 'context' ? headed(node, part, at) : [at[1], at[0], 0];
    if (part === 'context') return Object.assign(dot(n => 'sum ' + n, shape[2], n => [read(of, node,
      'weights', h, i, n), operand(summarized(of, node, 'f', 'v', [n, h, c]).result)]),
    {text: 'Σ_n P_in Σ_t f_nt v_t'});
    const score = n => dot(k => 'k = ' + k, width, k => [partAt(of, node, 'q', i, h, k), operand(
      summarized(of, node, 'e', 'k', [n, h, k]).result)]);
    const all = Array.from({length: shape[2]}, (_, n) => score(n).result), p = softmaxOf(all);
    return {text: 'exp(S_in) / Σ_m exp(S_im),  S_in = q_i · Σ_t e_nt k_t', heads: ['sum', 'S_in',
      'P_in'], terms: all.map((x, n) => [String(n), [operand(x)], p[n]]), result: p[at[2]],
    also: [{title: 'The score of sum ' + at[2], sum: Object.assign(score(at[2]), {text:
      'Σ_k q_k Σ_t e_nt k_tk'})}]};
  }

  function weighed(of, node, [h, i, j]) {
    if (node.kind === 'fixed_att' && h < FIXED) return fixedWeight(node, [h, i, j]);
    const columns = node.parts.weights.shape[2], seen = [];
    for (let k = 0; k < columns; k++)
      if (!isMasked(of, node, ['query', 'key'], i, k))
        seen.push({k: k, s: scored(of, node, [h, i, k])});
    const most = Math.max(...seen.map(o => o.s.result)), names = labels(of, node, 'key', columns);
    seen.forEach(o => { o.e = Math.exp(o.s.result - most); });
    const sum = seen.reduce((s, o) => s + o.e, 0), own = seen.find(o => o.k === j);
    if (!own) return null;
    return {text: 'exp(S_ij − max) / Σ_k exp(S_ik − max),  S = ' + own.s.text, heads: ['key',
      'S_ik', 'exp(S_ik − max)'], terms: seen.map(o => [(o.k === j ? '▸ ' : '') + o.k + (names ?
      ' ' + names[o.k] : ''), [operand(o.s.result)], o.e]), also: [{title: 'The score of key ' + j,
      sum: own.s}], lines: ['max = ' + short(most) + ',  Σ = ' + short(sum), 'exp(' +
      short(own.s.result) + ' − ' + short(most) + ') / ' + short(sum)], result: own.e / sum};
  }
  function gathered(of, node, [i, h, k]) {
    const names = labels(of, node, 'key', node.parts.weights.shape[2]);
    return Object.assign(dot(j => 'key ' + j + (names ? ' ' + names[j] : ''),
      node.parts.weights.shape[2], j => [read(of, node, 'weights', h, i, j),
        partAt(of, node, 'v', j, h, k)]), {text: 'Σ_j P_ij v_j'});
  }
  /* The head of a row of a part, which a layer of one head leaves out of the shape. */
  function headed(node, part, at) {
    return node.parts[part].shape.length > 2 ? at : [at[0], 0, at[1]];
  }
  function ofAttention(of, node, part, at) {
    const from = reader(of, node, part === 'q' ? 0 : node.in.length - 1);
    if (node.kind === 'linformer' && /^(weights|context)$/.test(part))
      return ofSums(of, node, part, at);
    if (part === 'weights') return weighed(of, node, at);
    if (part === 'context') return gathered(of, node, headed(node, part, at));
    if (part === 'value') return product(of, node, node, 'context', ['w_o', 'b_o'], ...at);
    if (part === 'scores') { /* tables are not kept: they are parameters */
      const kinds = kindsOf(of, node), sides = kinds.includes('GLU') ? ['GLU', 'gate'] : [];
      const kept = sides.concat(kinds.length > 1 ? kinds.filter(kind =>
        !/^(R|Fix|FR|T)$/.test(kind)) : []);
      const k = at.length > 3 ? at[1] : 0, place = [at[0], ...at.slice(-2)];
      if (k < sides.length) /* before σ */
        return denseScore(of, node, place, ['-', '-'].concat(k ? ['g_wb', 'g_bb'] :
          ['g_wa', 'g_ba']));
      return SCORES[kept[k]] ? SCORES[kept[k]](of, node, place) : null;
    }
    const [row, h, k] = headed(node, part, at), width = node.parts[part].shape.slice(-1)[0];
    const scale = part === 'q' ? scaleOf(of, node) : 1;
    const column = c => {
      const sum = product(of, node, from, 'value', ['w_' + part, 'b_' + part], row, h * width + c);
      if (scale !== 1) sum.lines = ['times the scale of the scores, ' + short(scale)];
      return Object.assign(sum, {result: sum.result * scale});
    };
    const rope = part === 'v' ? null : ropeOf(of, node, width);
    return rope && k < rope.n ? rotated(rope, column, part + ' before', row, k) : column(k);
  }
  /* The last rope of the text before a layer. n: the columns that it rotates. */
  function ropeOf(of, node, width) {
    if (node.kind !== 'syn_att' || !kindsOf(of, node).includes('V')) return null;
    const before = new TextDecoder().decode(new TextEncoder().encode(of[side(node)])
      .slice(0, node.place)).replace(/#.*/g, '');
    const last = Array.from(before.matchAll(/\brope\b\s*(?:\(([^()]*)\))?/g)).pop();
    if (!last) return null;
    const words = (last[1] || '').split(',').map(s => s.trim().replace(/^(base|part|layout)\s*=\s*/,
      (_, name) => name === 'part' ? 'part ' : ''));
    const plain = words.filter(s => /^[0-9.]/.test(s)), part = words.find(s => /^part /.test(s));
    return {base: Number(plain[0] || 10000), pair: words.includes('pair'),
      n: Number(part ? part.slice(5) : plain[1] || width)};
  }
  /* Column k of the token at a place, one of the pair (a, b); column: the sum of one before. */
  function rotated(rope, column, name, place, k) {
    const half = rope.n / 2, j = rope.pair ? k >> 1 : k % half;
    const [first, second] = rope.pair ? [2 * j, 2 * j + 1] : [j, j + half];
    const a = column(first), b = column(second), w = place * Math.pow(rope.base, -j / half);
    const factors = k === first ? [Math.cos(w), -Math.sin(w)] : [Math.sin(w), Math.cos(w)];
    const terms = [a, b].map((x, i) => [name + ', column ' + [first, second][i],
      [operand(x.result), operand(factors[i])], x.result * factors[i]]);
    return {text: (k === first ? 'a cos w − b sin w' : 'a sin w + b cos w') + ',  w = ' + short(w) +
      ', by rope', terms: terms, result: terms[0][2] + terms[1][2], also: [{title: 'a', sum: a},
      {title: 'b', sum: b}]};
  }

  /* -- gradients of an attention, by the chain rule from those behind them -- */

  /* Not q and k of other scores than V; not q, where D reads relu(q), too. */
  function hasGradientSum(of, node, part) {
    if (!/^(syn_att|mh_dot_src_att)$/.test(node.kind) || !node.parts[part]) return false;
    if (/^[qk]$/.test(part) && !kindsOf(of, node).includes('V')) return false;
    const shared = has(of, node, 'd_w2') && !has(of, node, 'd_b2');
    return part !== 'scores' && !(part === 'q' && shared);
  }
  /* dS_ij of q . k, from the gradients of the weights of its row. */
  function scoreGradient(of, node, h, i, j) {
    const columns = node.parts.weights.shape[2], kinds = kindsOf(of, node);
    const at = (name, k) => readOf(name, of, node, 'weights', h, i, k).x;
    let mean = 0;
    for (let k = 0; k < columns; k++) mean += at('x', k) * at('dx', k);
    return operand(at('x', j) * (at('dx', j) - mean) *
      sharesFor(of, node, h, kinds)[kinds.indexOf('V')]);
  }
  function gradientOf(of, node, part, at) {
    if (!hasGradientSum(of, node, part)) return null;
    const shape = node.parts[part].shape, width = shape[shape.length - 1];
    const [, queries, keys] = node.parts.weights.shape;
    if (part === 'weights') {
      const [h, i, j] = at, columns = node.parts.v.shape.slice(-1)[0];
      return Object.assign(dot(c => 'c = ' + c, columns, c => [partAt(of, node, 'context', i, h, c,
        'dx'), partAt(of, node, 'v', j, h, c)]), {text: 'Σ_c dcontext_ic v_jc'});
    }
    const [row, head, c] = headed(node, part, at);
    if (part === 'context') return Object.assign(dot(n => 'n = ' + n, node.width, n => [readOf('dx',
      of, node, 'value', row, n), read(of, node, '#w_o', n, head * width + c)]), {text:
      'Σ_n dy_n w_o_n'});
    /* one head, or all those that share a row of k and v */
    const heads = Array.from({length: node.heads}, (_, h) => h).filter(h => shape.length < 3 ||
      Math.floor(h * shape[1] / node.heads) === head);
    const others = part === 'q' ? keys : queries, terms = {
      q: (h, j, c) => [scoreGradient(of, node, h, row, j), partAt(of, node, 'k', j, h, c)],
      k: (h, i, c) => [scoreGradient(of, node, h, i, row), partAt(of, node, 'q', i, h, c)],
      v: (h, i, c) => [read(of, node, 'weights', h, i, row), partAt(of, node, 'context', i, h, c,
        'dx')]};
    const softmax = ',  dS_ij = P_ij (dP_ij − Σ_k P_ik dP_ik)' + (kindsOf(of, node).length > 1 ?
      ' · the share of V' : '');
    const text = {q: 'Σ_j dS_ij k_j' + softmax, k: 'Σ_i dS_ij q_i' + softmax,
      v: 'Σ_i P_ij dcontext_i'}[part];
    const column = c => Object.assign(dot(n => (part === 'q' ? 'key ' : 'query ') + n % others +
      (heads.length > 1 ? ', head ' + heads[Math.floor(n / others)] : ''), others * heads.length,
    n => terms[part](heads[Math.floor(n / others)], n % others, c)), {text: text});
    const rope = part === 'v' ? null : ropeOf(of, node, width); /* its gradient rotates back */
    return rope && c < rope.n ? rotated(rope, column, 'the sum', -row, c) : column(c);
  }

  /* -- layers of several steps: a table of the last one, `also` has the sums before it -- */

  /* h_t of lstm or gru, of one direction: its gates read x_t and the h of the token before. */
  function recurrent(of, node, [row, column]) {
    const n = node.kind === 'birnn' ? node.width / 2 : node.width, unit = column % n;
    const back = column >= n, prefix = n === node.width ? '' : back ? 'bwd.' : 'fwd.';
    const from = reader(of, node), rows = from.value.shape[0], source = reader(of, node, 1);
    const h = (t, k) => t >= 0 && t < rows ? read(of, node, 'value', t, k + (back ? n : 0))
      : source ? read(of, source, 'value', source.value.shape[0] - 1, k) : operand(0);
    const before = t => back ? t + 1 : t - 1;
    const of_x = (gate, t) => product(of, node, from, 'value', [prefix + 'w_i', prefix + 'b_i'], t,
      gate * n + unit);
    const of_h = (gate, t) => Object.assign(plus(dot(k => 'h, k = ' + k, n, k => [h(before(t), k),
      read(of, node, '#' + prefix + 'w_h', gate * n + unit, k)]), 'b_h',
    read(of, node, '#' + prefix + 'b_h', gate * n + unit)), {text: 'Σ_k h_k w_h_k + b_h'});
    const gate = (k, t, curve) => {
      const a = of_x(k, t), p = of_h(k, t), name = curve === sigmoid ? 'σ' : 'tanh';
      return {text: name + '(' + a.text + ' + ' + p.text + ')', terms: a.terms.concat(p.terms),
        lines: [name + '(' + short(a.result + p.result) + ')'], result: curve(a.result + p.result)};
    };
    if (parameter(of, node, prefix + 'w_h').shape[0] === 3 * n)
      return gru(row, gate, of_x, of_h, h(before(row), unit));
    return lstm(row, gate, back ? rows - 1 : 0, back ? -1 : 1);
  }
  function gru(row, gate, of_x, of_h, last) {
    const r = gate(0, row, sigmoid), z = gate(1, row, sigmoid), a = of_x(2, row), m = of_h(2, row);
    const n = Math.tanh(a.result + r.result * m.result);
    return {text: '(1 − z) n + z h_(t−1)', terms: [['(1 − z) n', [operand(1 - z.result),
      operand(n)], (1 - z.result) * n], ['z h_(t−1)', [operand(z.result), last],
      z.result * last.x]],
    lines: ['n = tanh(a + r m) = tanh(' + short(a.result) + ' + ' + short(r.result) + ' · ' +
      short(m.result) + ') = ' + short(n)], also: [{title: 'r', sum: r}, {title: 'z', sum: z},
      {title: 'a', sum: a}, {title: 'm', sum: m}], result: (1 - z.result) * n + z.result * last.x};
  }
  /* c comes from all tokens before, each of which has gates of its own. */
  function lstm(row, gate, first, step) {
    let i, f, g, c = 0, last = 0;
    for (let t = first; t !== row + step; t += step) {
      i = gate(0, t, sigmoid), f = gate(1, t, sigmoid), g = gate(2, t, Math.tanh);
      last = c;
      c = f.result * last + i.result * g.result;
    }
    const o = gate(3, row, sigmoid);
    return {text: 'o tanh(c_t),  c_t = f c_(t−1) + i g', terms: [['f c_(t−1)', [operand(f.result),
      operand(last)], f.result * last], ['i g', [operand(i.result), operand(g.result)],
      i.result * g.result]], lines: [short(o.result) + ' · tanh(' + short(c) + ')'],
    also: [{title: 'i', sum: i}, {title: 'f', sum: f}, {title: 'g', sum: g}, {title: 'o', sum: o}],
    result: o.result * Math.tanh(c)};
  }
  function simpleRecurrent(of, node, [row, unit]) {
    const at = t => [affine(of, node, ['w'], t, unit), sigmoid(affine(of, node, ['w_f', 'b_f'], t,
      unit))];
    let c = 0, last, u, f;
    for (let t = 0; t <= row; t++) [u, f] = at(t), last = c, c = f * last + (1 - f) * u;
    const sums = [['w'], ['w_f', 'b_f']].map(names => product(of, node, reader(of, node), 'value',
      names, row, unit));
    return {text: 'relu(f c_(t−1) + (1 − f) u)', terms: [['f c_(t−1)', [operand(f), operand(last)],
      f * last], ['(1 − f) u', [operand(1 - f), operand(u)], (1 - f) * u]], lines: ['f = σ(' +
      short(sums[1].result) + '),  relu(' + short(c) + ')'], also: [{title: 'u', sum: sums[0]},
      {title: 'f before σ', sum: sums[1]}], result: Math.max(0, c)};
  }
  function highway(of, node, [row, k]) {
    const [x, c] = [0, 1].map(i => read(of, reader(of, node, i), 'value', row, k));
    const z = product(of, node, reader(of, node), 'value', ['w', 'b'], row, k);
    const g = sigmoid(z.result);
    return {text: 'g x + (1 − g) c', terms: [['g x', [operand(g), x], g * x.x], ['(1 − g) c',
      [operand(1 - g), c], (1 - g) * c.x]], lines: ['g = σ(' + short(z.result) + ') = ' + short(g)],
    also: [{title: 'g before σ', sum: z}], result: g * x.x + (1 - g) * c.x};
  }
  /* Σ_k z_k w_k + b of a layer behind z, where inner(k) is the sum that makes z_k: that of the
     largest term is shown, too. */
  function behind(of, node, name, inner, w, b, unit) {
    const made = [], width = parameter(of, node, w).shape[1];
    const sum = dot(k => name + ', k = ' + k, width, k => [operand((made[k] = inner(k)).result),
      read(of, node, '#' + w, unit, k)]);
    const k = sum.terms.reduce((most, t, i) => Math.abs(t[2]) > Math.abs(sum.terms[most][2]) ? i
      : most, 0);
    if (has(of, node, b)) plus(sum, b, read(of, node, '#' + b, unit));
    return Object.assign(sum, {text: 'Σ_k ' + name + '_k ' + w + '_k' + (has(of, node, b) ?
      ' + ' + b : ''), also: [{title: name + '_' + k + ', of the largest term', sum: made[k]}]});
  }
  function softmaxOf(list) {
    const most = Math.max(...list), e = list.map(x => Math.exp(x - most));
    return e.map(x => x / e.reduce((a, b) => a + b, 0));
  }
  /* light_conv, dyn_conv: taps p of each head, u = glu of a linear layer. */
  function lightConv(of, node, [row, unit]) {
    const dynamic = node.kind === 'dyn_conv', a = argumentsOf(of, node), d = node.width;
    const shape = parameter(of, node, dynamic ? 'w_k' : 'w').shape;
    const taps = dynamic ? Number(a.k || a.list[0] || 7) : shape[1];
    const heads = dynamic ? shape[0] / taps : shape[0], rows = node.value.shape[0];
    const first = side(node) === 'decoder' ? 1 - taps : -Math.floor(taps / 2), known = new Map();
    const u = (t, k) => {
      const z = i => affine(of, node, ['w_in', 'b_in'], t, i), place = t * d + k;
      if (!known.has(place)) known.set(place, z(k) * sigmoid(z(k + d)));
      return known.get(place);
    };
    /* the logits of dyn_conv are products of u of this row */
    const logit = (head, tap) => {
      if (!dynamic) return read(of, node, '#w', head, tap).x;
      const w = whole(of, node, '#w_k').x.subarray((head * taps + tap) * d);
      return Array.from({length: d}, (_, k) => u(row, k) * w[k]).reduce((x, y) => x + y, 0);
    };
    const shares = Array.from({length: heads}, (_, head) => softmaxOf(Array.from({length: taps},
      (_, tap) => logit(head, tap))));
    const conv = k => Object.assign(dot(tap => 'token ' + (row + first + tap), taps, tap => {
      const t = row + first + tap, p = shares[Math.floor(k / (d / heads))][tap];
      return [operand(p), operand(t < 0 || t >= rows ? 0 : u(t, k))];
    }), {text: 'Σ_tap p_tap u_(t+tap),  u = glu(w_in x + b_in)'});
    return behind(of, node, 'conv', conv, 'w_out', 'b_out', unit);
  }
  /* aop: attention to learned keys and values. */
  function toParameters(of, node, [row, unit]) {
    const keys = whole(of, node, '#keys'), values = parameter(of, node, 'values'), d =
      reader(of, node).width, [heads, count, wide] = keys.shape, value = values.shape[2];
    const shares = Array.from({length: heads}, (_, h) => {
      const q = Array.from({length: wide}, (_, k) => affine(of, node, ['w_q'], row, h * wide + k));
      return softmaxOf(Array.from({length: count}, (_, n) => Math.sqrt(d / wide) * q.reduce((s, x,
        k) => s + x * keys.x[(h * count + n) * wide + k], 0)));
    });
    const context = k => {
      const h = Math.floor(k / value), scale = Math.sqrt(d);
      const sum = dot(n => 'key ' + n, count, n => [operand(shares[h][n]), read(of, node, '#values',
        h, n, k % value)]);
      return Object.assign(sum, {text: '√d Σ_n P_n V_n', lines: ['times √d = ' + short(scale)],
        result: sum.result * scale});
    };
    return behind(of, node, 'context', context, 'w_o', 'b_o', unit);
  }

  /* The last row that a row of places may read. */
  function lastRow(node, row) { return side(node) === 'decoder' ? row : node.value.shape[0] - 1; }
  function spatialGate(of, node, [row, k]) {
    const e = node.width, x = whole(of, reader(of, node), 'value').x, g = whole(of, node, '#g').x;
    const b = whole(of, node, '#b').x, normed = j => {
      const v = x.subarray((2 * j + 1) * e, (2 * j + 2) * e);
      const mean = v.reduce((a, y) => a + y, 0) / e;
      const variance = v.reduce((a, y) => a + (y - mean) * (y - mean), 0) / e;
      return (v[k] - mean) / Math.sqrt(variance + EPSILON) * g[k] + b[k];
    };
    const sum = plus(dot(j => 'token ' + j, lastRow(node, row) + 1, j => [read(of, node, '#w_s',
      row, j), operand(normed(j))]), 'b_s', read(of, node, '#b_s', row));
    const u = read(of, reader(of, node), 'value', row, k);
    return Object.assign(sum, {text: 'u_i (Σ_j w_s_ij norm(v)_j + b_s_i),  x = [u; v]', lines: [
      'times u = ' + short(u.x)], result: sum.result * u.x});
  }
  /* aft: each column has weights of its own. */
  function attentionFree(of, node, [row, unit]) {
    const limited = x => Math.exp(Math.max(-30, Math.min(30, x))), last = lastRow(node, row);
    const w = whole(of, node, '#w'), context = k => {
      const e = Array.from({length: last + 1}, (_, j) => limited(w.x[row * w.shape[1] + j]) *
        limited(affine(of, node, ['w_k'], j, k))), all = e.reduce((a, b) => a + b, 0);
      const open = sigmoid(affine(of, node, ['w_q'], row, k));
      const sum = dot(j => 'token ' + j, last + 1, j => [operand(e[j] / all), operand(affine(of,
        node, ['w_v'], j, k))]);
      return Object.assign(sum, {text: 'σ(q) Σ_j P_j v_j,  P_j: e^(w_ij + k_j) over their sum',
        lines: ['times σ(q) = ' + short(open)], result: sum.result * open});
    };
    return behind(of, node, 'context', context, 'w_o', 'b_o', unit);
  }
  /* lin_att: the share of a token is q' · k' times a power of gamma, over the sum of all. */
  function linearAttention(of, node, [row, unit]) {
    const a = argumentsOf(of, node), heads = Number(a.heads || a.list[0] || of.config.heads);
    const decay = Number(a.decay || a.list[1] || 5), width = node.width / heads;
    const last = lastRow(node, row), phi = x => x > 0 ? x + 1 : Math.exp(x);
    const made = (name, t, h) => Array.from({length: width}, (_, k) => phi(affine(of, node, [name],
      t, h * width + k)));
    const shares = Array.from({length: heads}, (_, h) => {
      const q = made('w_q', row, h), gamma = decay ? 1 - Math.pow(2, -decay - h) : 1;
      const list = Array.from({length: last + 1}, (_, j) => made('w_k', j, h).reduce((s, x, k) =>
        s + x * q[k], 0) * Math.pow(gamma, Math.abs(row - j)));
      return list.map(x => x / (list.reduce((s, y) => s + y, 0) + EPSILON));
    });
    const context = k => Object.assign(dot(j => 'token ' + j, last + 1, j => [operand(
      shares[Math.floor(k / width)][j]), operand(affine(of, node, ['w_v'], j, k))]), {text:
      'Σ_j P_j v_j,  P_j: γ^|i−j| φ(q_i) · φ(k_j) over their sum'});
    return behind(of, node, 'context', context, 'w_o', 'b_o', unit);
  }
  /* Before each step of a universal: the sinusoids of the place and of the step. */
  function stepped(of, node, [row, j]) {
    const step = of.nodes.filter(n => n.kind === node.kind && n.path === node.path &&
      n.id < node.id).length;
    const x = read(of, reader(of, node), 'value', row, j), [p, s] = [row, step].map(place =>
      sinusoid('pair', node.width, place, j));
    return {text: 'x + p_t + p_s', terms: [['x', [x], x.x], ['p of place ' + row, [operand(p)], p],
      ['p of step ' + step, [operand(s)], s]], result: x.x + p + s};
  }
  /* x and a row of w for each n-gram that ends here: the hash of its tokens, the last one first. */
  function ngrams(of, node, [row, j]) {
    const a = argumentsOf(of, node), name = '#' + own(of, node), tokens = of.tokens[node.stream];
    const buckets = BigInt(parameter(of, node, own(of, node)).shape[0]);
    const longest = Number(a.longest || a.list[0] || 3);
    const shortest = Number(a.shortest || a.list[2] || 2);
    const list = [read(of, reader(of, node), 'value', row, j)];
    const cut = z => BigInt.asUintN(64, z);
    for (let k = 1, z = 0n; k <= Math.min(longest, row + 1); k++) {
      z = cut(z + BigInt(tokens[row - k + 1][0]) + 1n);
      z = cut((z ^ z >> 30n) * 0xBF58476D1CE4E5B9n);
      z = cut((z ^ z >> 27n) * 0x94D049BB133111EBn);
      z ^= z >> 31n;
      if (k >= shortest) list.push(read(of, node, name, Number(z % buckets), j));
    }
    return summed(list);
  }
  /* What the output read of the token before, then x. */
  function fedBack(of, node, [row, j]) {
    const z = reader(of, of.nodes.find(n => n.kind === 'output')), w = node.width - reader(of,
      node).width;
    return summed([j >= w ? read(of, reader(of, node), 'value', row, j - w) : row ? read(of, z,
      'value', row - 1, j) : operand(0, z, 'value', [])]);
  }
  /* mlp_src_att: a score is a layer with tanh of query and key. */
  function additive(of, node, part, at) {
    const keys = reader(of, node, 1), w = whole(of, node, '#w_s').x;
    if (part === 'q') return product(of, node, reader(of, node), 'value', ['w_q'], ...at);
    if (part === 'k') return product(of, node, keys, 'value', ['w_k'], ...at);
    const count = node.parts.weights.shape[2];
    if (part === 'value') return Object.assign(dot(j => 'key ' + j, count, j => [read(of, node,
      'weights', 0, at[0], j), read(of, keys, 'value', j, at[1])]), {text: 'Σ_j P_ij u_j'});
    if (part !== 'weights') return null;
    const q = whole(of, node, 'q').x, k = whole(of, node, 'k').x, n = w.length;
    const score = j => dot(i => 'k = ' + i, n, i => [operand(w[i]), operand(Math.tanh(q[at[1] * n +
      i] + k[j * n + i]))]);
    const all = Array.from({length: count}, (_, j) => score(j).result), p = softmaxOf(all);
    const own = Object.assign(score(at[2]), {text: 'Σ_k w_s_k tanh(q_k + k_k)'});
    return {text: 'exp(s_ij) / Σ_k exp(s_ik)', heads: ['key', 's_ik', 'P_ik'], terms: all.map((s,
      j) => [(j === at[2] ? '▸ ' : '') + j, [operand(s)], p[j]]), lines: [], also: [{title:
      'The score of key ' + at[2], sum: own}], result: p[at[2]]};
  }

  /* By kind: a number of the output of a layer. */
  const SUMS = {
    embedding: lookedUp, pos: placed, cnn: convolved, rnn: recurrent, birnn: recurrent,
    ssru: simpleRecurrent, highway: highway, light_conv: lightConv, dyn_conv: lightConv,
    aop: toParameters, sgu: spatialGate, aft: attentionFree,
    lin_att: linearAttention, universal: stepped, input_feed: fedBack, ngram: ngrams,
    id: unchanged, dropout: unchanged, rel_pos: unchanged,
    learn_pos: (of, node, [row, j]) => summed([read(of, reader(of, node), 'value', row, j),
      read(of, node, '#' + own(of, node), row, j)]),
    types: (of, node, [row, j]) => {
      const name = own(of, node), last = parameter(of, node, name).shape[0] - 1;
      const ends = of.tokens[node.stream].slice(0, row).filter(t => t[0] === 3).length;
      return summed([read(of, reader(of, node), 'value', row, j),
        read(of, node, '#' + name, Math.min(ends, last), j)]);
    },
    features: (of, node, [row, j]) => {
      const y = read(of, node, 'value', row, j), mean = read(of, node, '#' + own(of, node), j);
      const scale = read(of, node, '#' + own(of, node, 1), j), x = y.x / scale.x + mean.x;
      return {text: '(x − mean) · scale', terms: [['mean', [mean], mean.x], ['scale', [scale],
        scale.x]], lines: ['(' + short(x) + ' − ' + short(mean.x) + ') · ' + short(scale.x)],
      result: (x - mean.x) * scale.x};
    },
    add: (of, node, at) => summed(node.in.map(i => read(of, of.nodes[i], 'value', ...at))),
    parallel_add: (of, node, at) => summed(node.in.map(i => read(of, of.nodes[i], 'value', ...at))),
    concat: (of, node, [row, k]) => {
      const from = node.in.map(i => of.nodes[i]).find(n => k < n.width || (k -= n.width, false));
      return summed([read(of, from, 'value', row, k)]);
    },
    act: (of, node, at) => curved(of, node, at[1], () =>
      summed([read(of, reader(of, node), 'value', ...at)])),
    linear: (of, node, at) => product(of, node, reader(of, node), 'value', ['w', 'b'], ...at),
    output: (of, node, at) => capped(of, product(of, node, reader(of, node), 'value',
      [own(of, node), 'b'], ...at)),
    ff: (of, node, [row, unit]) => curved(of, node, unit, u => product(of, node, reader(of, node),
      'value', ['w', 'b'], row, u)),
    norm: (of, node, at) => normed(of, node, at, true),
    rms_norm: (of, node, at) => normed(of, node, at, false),
    pool: (of, node, [, k]) => {
      const from = reader(of, node), rows = from.value.shape[0];
      if (argumentsOf(of, node).words.includes('first'))
        return summed([read(of, from, 'value', 0, k)]);
      const sum = summed(Array.from({length: rows}, (_, i) => read(of, from, 'value', i, k)));
      return Object.assign(sum, {lines: ['divided by ' + rows + ' rows'],
        result: sum.result / rows});
    }
  };
  function unchanged(of, node, at) {
    return summed([read(of, reader(of, node), 'value', ...at)]);
  }
  function own(of, node, k) { return partName(node, of.params[node.params[k || 0]]).slice(1); }
  function summed(list) {
    return {text: list.length > 1 ? 'a sum' : 'the number itself', terms: list.map(o => [o.node.key,
      [o], o.x]), result: list.reduce((s, o) => s + o.x, 0)};
  }

  /* The sum behind a number of a node. {lacks}: the page does not hold this operand in full. null:
     the layer computes it in more steps than are written here; a sum that does not give the number
     is never shown. */
  function explain(of, node, part, at, name) {
    const given = readOf(name || 'x', of, node, part, ...at).x;
    let sum, small = 1;
    try {
      if (name === 'dx') { /* gradients may all be small */
        small = whole(of, node, part, 'dx').x.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
        sum = gradientOf(of, node, part, at);
      } else sum = part === PRODUCT ? SCORES.FR(of, node, at)
        : /^(syn_att|mh_dot_src_att|fixed_att|linformer)$/.test(node.kind) ?
          ofAttention(of, node, part, at)
        : node.kind === 'mlp_src_att' ? additive(of, node, part, at)
        : part === 'value' && SUMS[node.kind] ? SUMS[node.kind](of, node, at) : null;
    } catch (lacks) {
      if (lacks !== null && typeof lacks !== 'string') throw lacks;
      return lacks && {lacks: lacks};
    }
    return sum && Math.abs(sum.result - given) <= 1e-5 * small + 1e-4 * Math.abs(given)
      ? Object.assign(sum, {given: given}) : null;
  }

  /* A number was chosen: the place moves there, and the sum behind it appears below the maps. */
  function pick(id, part, at, name, back) {
    if (view.pick && !back) view.trail.push(view.pick);
    const moves = id !== view.node || part !== view.part;
    view.pick = {id: id, part: part, at: at, name: name || 'x'};
    const value = valueOf(doc(), doc().nodes[id], part);
    at.slice(0, -2).forEach((k, axis) => { view.heads[value.axes[axis]] = k; });
    if (moves) view.part = part, select(id);
    else drawSum();
    if (moves) parts.sum.focus({preventScroll: true});
  }
  function isPicked(node, leading, name) {
    const p = view.pick;
    return p && node && p.id === node.id && p.part === view.part && p.name === name &&
      String(p.at.slice(0, -2)) === String(leading);
  }
  /* The sum of a number of document k, as a table of its operands; `below`: lines behind it. */
  function sumView(of, node, part, at, name) {
    const gradient = name === 'dx', place = (gradient ? 'the gradient of ' : '') +
      (part === 'value' ? 'output' : part.replace('#', '')) + '[' + at.join(', ') + ']';
    const box = html('div', {'data-sum': ''}, html('h3', null, 'How ' + place + ' of ' + node.key +
      ' is made'));
    const note = text => add(box, [html('p', {class: 'dim small'}, text)]);
    if (part.startsWith('#') && part !== PRODUCT) return note('A number of the network itself: ' +
      'training made it. Beside it stands its gradient, where one was computed.');
    const sum = explain(of, node, part, at, name);
    if (!sum && gradient) return note('The sum of the gradients from all layers that read this' +
      ' number. The page writes out the gradients inside of an attention alone.');
    if (!sum) return note('The page does not write this sum out: see the formula of the layer.');
    if (sum.lacks) return note('The page does not hold ' + sum.lacks + ' in full: syn trace with ' +
      'a larger --weights or --values writes it, so that the operands can be shown.');
    add(box, [html('p', {class: 'mono'}, sum.text), termTable(of, sum),
      (sum.lines || []).map(line => html('div', {class: 'mono'}, line)),
      html('p', null, '= ', html('b', {'data-result': ''}, number(sum.result)),
        html('span', {class: 'dim small'}, '  computed here; the network has ' +
          number(sum.given)))]);
    for (const {title, sum: part} of sum.also || [])
      add(box, [html('h3', null, title + ': ' + part.text), termTable(of, part),
        (part.lines || []).map(line => html('div', {class: 'mono'}, line)),
        html('p', null, '= ', html('b', null, number(part.result)))]);
    return box;
  }
  /* At first the largest terms: they decide what comes out. */
  function termTable(of, sum) {
    const few = 12, terms = sum.terms.slice(), most = Math.max(...terms.map(t => t[1].length));
    if (terms.length > few) terms.sort((a, b) => Math.abs(b[2]) - Math.abs(a[2]));
    const row = t => html('tr', null, html('td', null, t[0]), Array.from({length: most}, (_, k) =>
      html('td', {class: 'mono'}, t[1][k] ? operandView(of, t[1][k]) : '')),
    most > 1 || sum.heads ? html('td', {class: 'mono'}, number(t[2])) : null);
    const heads = sum.heads || (most > 1 ? ['', 'operand', '× operand', '= product'] : []);
    const rest = terms.slice(few), table = html('table', null, heads.length ? html('tr', null,
      heads.map(h => html(h ? 'th' : 'td', null, h))) : null, terms.slice(0, few).map(row));
    const others = rest.length ? html('p', {class: 'small'}, 'and ' + rest.length +
      ' smaller ones, together ' + number(rest.reduce((s, t) => s + t[2], 0)) + ' ',
    button('show them', null, () => {
      add(table, rest.map(row)), others.remove();
      table.parentNode.focus();
    })) : null;
    return html('div', null, html('div', {class: 'scroll', tabindex: '0', role: 'group',
      'aria-label': 'terms'}, table), others);
  }
  /* A click goes on to the operand: so a reader can walk back to the tokens. */
  function operandView(of, o) {
    if (!o.node || o.at.length < 2 || of !== doc()) return number(o.x);
    return assign(button(number(o.x), null, () => pick(o.node.id, o.part, o.at, o.name)), {class:
      'operand', title: (o.name === 'dx' ? 'gradient of ' : '') + (o.part === 'value' ? 'output' :
      o.part.replace('#', '')) + '[' + o.at.join(', ') + '] of ' + o.node.key});
  }
  function drawSum() {
    const p = view.pick, base = doc().nodes[view.node];
    const shown = p && base && p.id === base.id && p.part === view.part;
    parts.sum.hidden = !shown;
    if (!shown) return parts.sum.replaceChildren();
    parts.sum.replaceChildren();
    add(parts.sum, [view.trail.length ? button('◀ the number before', null, () => {
      const last = view.trail.pop();
      pick(last.id, last.part, last.at, last.name, true);
      parts.sum.focus({preventScroll: true});
    }) : null, html('div', {class: view.b >= 0 ? 'two' : ''}, [view.a, view.b].filter(k => k >= 0)
      .map(k => {
        const of = documents[k].data;
        const node = of.nodes.find(n => n.key === base.key && n.kind === base.kind);
        const value = node && valueOf(of, node, p.part);
        if (!value || !p.at.every((i, axis) => i < value.shape[axis]) ||
          !(numbers(value, 'x') instanceof Float32Array))
          return html('p', {class: 'dim'}, 'This network has no such number.');
        return sumView(of, node, p.part, p.at, p.name);
      }))]);
  }

  /* -- details of a node -- */

  function shapeText(value, node) {
    if (!value.shape.length) return node ? '[' + node.stream + ' rows, ' + node.width + ']' : '';
    return '[' + value.shape.map((n, i) => n + ' ' + value.axes[i]).join(', ') + ']';
  }
  function valueOf(of, node, part) {
    if (part === 'value') return node.value;
    if (part === PRODUCT) return productOf(of, node);
    if (part.startsWith('#')) {
      const param = of.params.find(p => partName(node, p) === part);
      const shares = param && part === '#alpha' && !isFree(of, node);
      return shares ? sharesOf(param) : param ? param.value : null;
    }
    return node.parts[part] || null;
  }
  /* The scores of FR: r1 r2^T of each head. Null: the page does not hold both. */
  const products = new WeakMap();
  function productOf(of, node) {
    const [a, b] = ['r1', 'r2'].map(name => parameter(of, node, name));
    const x = a && numbers(a, 'x'), y = b && numbers(b, 'x');
    if (!(x instanceof Float32Array) || !(y instanceof Float32Array)) return null;
    if (products.has(a)) return products.get(a);
    const [heads, n, rank] = a.shape, all = new Float32Array(heads * n * n);
    for (let i = 0; i < all.length; i++) {
      const left = Math.floor(i / n) * rank, right = (Math.floor(i / (n * n)) * n + i % n) * rank;
      for (let k = 0; k < rank; k++) all[i] += x[left + k] * y[right + k];
    }
    products.set(a, {shape: [heads, n, n], axes: ['head', 'query', 'key'], x: all});
    return products.get(a);
  }
  /* A mixture of scores: the trained numbers of a head become shares by a softmax. */
  function sharesOf(param) {
    const x = numbers(param.value, 'x'), width = param.value.shape[param.value.shape.length - 1];
    if (!(x instanceof Float32Array)) return param.value;
    const shares = x.map(Math.exp);
    for (let i = 0; i < shares.length; i += width) {
      const row = shares.subarray(i, i + width), sum = row.reduce((a, b) => a + b, 0);
      row.forEach((p, j) => row[j] = p / sum);
    }
    return Object.assign({}, param.value, {x: shares});
  }
  function partName(node, param) {
    return '#' + (param.name.startsWith(node.path + '.') ? param.name.slice(node.path.length + 1)
      : param.name);
  }

  /* The arrays of a layer: its output, the parts of an attention, its parameters. */
  function placesOf(of, node) {
    return ['value'].concat(Object.keys(node.parts), node.params.map(i => partName(node,
      of.params[i])), has(of, node, 'r1') ? PRODUCT : []);
  }

  function detailView(k) {
    const of = documents[k].data, base = doc().nodes[view.node];
    const node = of.nodes.find(n => n.key === base.key && n.kind === base.kind);
    const title = documents.length > 1 && view.b >= 0 ? html('h2', null, documents[k].title) : null;
    if (!node) return html('div', null, title, html('p', {class: 'dim'}, 'This network has no ' +
      base.kind + ' at ' + base.key + '.'));
    const value = valueOf(of, node, view.part), name = view.part === 'value' ? 'output'
      : view.part.replace('#', '');
    const box = html('div', null, title);
    if (!value) return add(box, [html('p', {class: 'dim'}, 'It has no ' + name + '.')]);
    box.append(html('div', {class: 'small'}, html('b', null, name), ' ', html('code', null,
      shapeText(value, view.part === 'value' ? node : null))));
    const limit = of.limits[view.part.startsWith('#') ? 'weights' : 'values'];
    const live = k === view.a && steps().length > 0;
    const wait = html('p', {class: 'dim'}, 'Not computed yet at this step.');
    const param = view.part.startsWith('#');
    add(box, [live && !param && !reached(node.id, false) ? wait
      : arrayView(of, node, value, 'x', view.part === '#alpha' && !isFree(of, node) ? 'shares: softmax of the weights'
        : param ? 'weights' : 'values', limit),
    live && !reached(node.id, true) && numbers(value, 'dx')
      ? html('div', null, html('h3', null, 'gradients'), html('p', {class: 'dim'},
        'Not computed yet at this step.'))
      : arrayView(of, node, value, 'dx', view.part === '#alpha' ? 'gradients of the weights'
        : 'gradients', limit)]);
    return box;
  }

  function papersView(kind) {
    if (!PAPERS[kind]) return null;
    return html('div', {class: 'small'}, 'paper: ', PAPERS[kind].split(', ').map((name, i) => [
      i ? ', ' : '', html('a', {href: 'https://' + WORKS[name], rel: 'noopener', target: '_blank'},
        name)]));
  }
  function difference() {
    if (view.b < 0) return null;
    const base = doc().nodes[view.node], other = documents[view.b].data;
    const node = other.nodes.find(n => n.key === base.key && n.kind === base.kind);
    const a = valueOf(doc(), base, view.part), b = node && valueOf(other, node, view.part);
    const x = a && numbers(a, 'x'), y = b && numbers(b, 'x');
    if (!(x instanceof Float32Array) || !(y instanceof Float32Array) ||
      x.length !== y.length) return null;
    let most = 0;
    for (let i = 0; i < x.length; i++) most = Math.max(most, Math.abs(x[i] - y[i]));
    return html('p', {class: 'small'}, 'Largest difference of the values: ', html('b', null,
      number(most)));
  }

  function drawDetail() {
    const of = doc(), node = of.nodes[view.node];
    if (!node) return parts.detail.replaceChildren();
    const names = placesOf(of, node);
    if (!names.includes(view.part)) view.part = 'value';
    const reads = node.in.map(i => of.nodes[i]);
    const gradient = node.groups.filter(g => g.copies > 1);
    const copyRow = gradient.map(g => html('div', {class: 'row small'}, html('span', {class: 'dim'},
      g.steps ? 'step' : 'copy'), Array.from({length: g.copies}, (_, c) => button(String(c + 1),
      c === g.copy, () => select(copyOf(node, g, c))))));
    redraw(parts.detail,
      html('h2', null, node.kind, ' ', html('span', {class: 'dim mono'}, node.key)),
      html('p', {class: 'mono', style: 'margin:4px 0'}, FORMULAS[node.kind] ||
        'A kind of this program\'s own.'),
      papersView(node.kind),
      html('div', {class: 'small dim'}, reads.length ? 'reads ' : 'reads tokens', reads.map((n,
        i) => [
        i ? ', ' : '', html('span', {style: 'color:var(--' + n.stream + ')'}, n.key + ' [' +
          n.stream +
          ', ' + n.width + ']')]), ';  writes ', html('span', {style: 'color:var(--' + node.stream +
            ')'},
        '[' + node.stream + ', ' + node.width + ']')),
      copyRow,
      html('div', {class: 'row', style: 'margin:8px 0', role: 'group', 'aria-label': 'places'},
        names.map(n => button(n === 'value' ? 'output' : n.replace('#', ''), n === view.part, () =>
          {
          view.part = n;
          drawDetail();
        }))),
      html('div', {class: 'row small'}, html('span', {class: 'dim'}, 'zoom'),
        [1, 2, 4, 0].map(z => button(z ? '×' + z : 'numbers', view.zoom === z, () => {
          view.zoom = z;
          drawDetail();
        }))),
      difference(),
      html('div', {class: 'two'}, detailView(view.a), view.b >= 0 ? detailView(view.b) : null),
      parts.sum);
    drawSum();
  }
  function copyOf(node, group, copy) {
    const rest = n => n.groups.map(g => g.name === group.name ? '' : g.name + g.copy).join();
    const found = doc().nodes.find(n => n.groups.some(g => g.name === group.name &&
      g.copy === copy &&
      g.first === group.first) && rest(n) === rest(node));
    return found ? found.id : node.id;
  }

  /* -- attention -- */

  function attentions(of) { return of.nodes.filter(n => n.heads); }
  function attentionName(of, n) {
    return (keyStream(of, n) !== n.stream ? 'decoder to source' : side(n)) + ' ' +
      n.key.replace(/^\w+\./, '');
  }
  function headOf(of, n, head) {
    const value = n.parts.weights, x = numbers(value, 'x');
    if (!(x instanceof Float32Array)) return null;
    const rows = value.shape[1], columns = value.shape[2];
    return {x: x.subarray(head * rows * columns, (head + 1) * rows * columns), rows: rows,
      columns: columns, rowNames: labels(of, n, 'query', rows) || numbersTo(rows),
      columnNames: labels(of, n, 'key', columns) || numbersTo(columns)};
  }
  function numbersTo(n) { return Array.from({length: n}, (_, i) => String(i)); }

  function linesView(of, n, m, hover) {
    const high = 24, w = 330, height = Math.max(m.rows, m.columns) * high + 26;
    const y = i => 34 + i * high, list = [];
    for (let i = 0; i < m.rows; i++)
      for (let j = 0; j < m.columns; j++) {
        const p = m.x[i * m.columns + j], on = view.query < 0 || view.query === i;
        if (!(p > .02) || isMasked(of, n, ['query', 'key'], i, j)) continue;
        list.push(svg('path', {d: 'M112 ' + (y(i) - 4) + 'C165 ' + (y(i) - 4) + ' 165 ' +
          (y(j) - 4) +
          ' 218 ' + (y(j) - 4), fill: 'none', stroke: 'var(--' + n.stream + ')', 'stroke-width': 1 +
            4 * p,
          opacity: on ? Math.min(1, .1 + p) : .05}, svg('title', null, m.rowNames[i] + ' → ' +
            m.columnNames[j] + ' ' + number(p))));
      }
    const label = (text, x, i, anchor, strong) => svg('text', {x: x, y: y(i), 'text-anchor': anchor,
      fill: 'var(--ink)', 'font-size': 13, 'font-weight': strong ? 700 : 400,
      style: 'cursor:pointer'}, text);
    return svg('svg', {viewBox: '0 0 ' + w + ' ' + height, width: w, style: 'max-width:100%',
      role: 'img', 'aria-label': 'attention as lines'},
      svg('text', {x: 106, y: 12, 'text-anchor': 'end', fill: 'var(--dim)', 'font-size': 12},
        'query'),
      svg('text', {x: 224, y: 12, fill: 'var(--dim)', 'font-size': 12}, 'key'), list,
      m.rowNames.map((t, i) => assign(label(t, 106, i, 'end', view.query === i),
        {onpointerenter: () => hover(i), onclick: () => hover(i)})),
      m.columnNames.map((t, j) => label(t, 224, j, 'start')));
  }

  function attentionPane(k) {
    const of = documents[k].data, base = attentions(doc())[view.layer];
    const n = attentions(of).find(o => o.key === base.key) || null, box = html('div');
    if (view.b >= 0) box.append(html('h3', null, documents[k].title));
    const m = n && view.head < n.heads ? headOf(of, n, view.head) : null;
    if (!m) return add(box, [html('p', {class: 'dim'}, n ?
      'The weights were not computed, or are more ' +
      'than ' + of.limits.values + ' numbers (syn trace --values).' :
        'This network has no such attention.')]);
    const rowBox = html('div'), made = html('div', {'aria-live': 'polite'});
    const picture = html('div', {class: 'scroll'});
    const hover = i => {
      if (i < 0) return;
      view.query = i;
      rowBox.replaceChildren(rowView(of, n, m, i));
      if (view.lines) picture.replaceChildren(linesView(of, n, m, hover));
    };
    const cell = Math.max(10, Math.min(28, Math.floor(330 / m.columns)));
    picture.append(view.lines ? linesView(of, n, m, hover) : heatMap(m.x, m.rows, m.columns, {
      cell: cell, high: cell, axes: ['query', 'key'], label: 'attention weights',
      rowNames: m.rowNames, columnNames: m.columnNames, largest: 1, onhover: hover,
      onpick: (i, j) => made.replaceChildren(sumView(of, n, 'weights', [view.head, i, j])),
      hidden: (i, j) => isMasked(of, n, ['query', 'key'], i, j)}));
    const start = view.query >= 0 && view.query < m.rows ? view.query : Math.min(1, m.rows - 1);
    rowBox.append(rowView(of, n, m, start));
    return add(box, [html('div', {class: 'two'}, picture, rowBox), made]);
  }
  function rowView(of, n, m, i) {
    const row = Array.from(m.x.subarray(i * m.columns, (i + 1) * m.columns), (p, j) => ({p: p,
      j: j}));
    const seen = row.filter(c => !isMasked(of, n, ['query', 'key'], i, c.j));
    seen.sort((a, b) => b.p - a.p);
    return html('div', {style: 'margin-top:8px'}, html('div', {class: 'small'}, 'row of query ',
      html('b', null, m.rowNames[i])), html('div', {class: 'bars'}, seen.slice(0, 8).map(c => [
      html('span', null, m.columnNames[c.j]), html('i', {style: 'width:' + 100 *
        Math.max(0, Math.min(1, c.p)) + '%'}), html('span', {class: 'mono'}, number(c.p))])),
    seen.length > 8 ? html('div', {class: 'dim small'}, 'and ' + (seen.length - 8) +
      ' smaller ones')
      : null);
  }

  function thumb(of, n, layer, head) {
    const m = headOf(of, n, head);
    const canvas = html('canvas', {width: m ? m.columns : 1, height: m ? m.rows : 1});
    if (m) {
      const g = canvas.getContext('2d');
      for (let i = 0; i < m.rows; i++)
        for (let j = 0; j < m.columns; j++)
          g.fillStyle = shade(m.x[i * m.columns + j]), g.fillRect(j, i, 1, 1);
    }
    canvas.style.cssText = 'width:64px;height:64px;image-rendering:pixelated';
    return assign(button('', layer === view.layer && head === view.head, () => {
      view.layer = layer, view.head = head, view.query = -1;
      drawAttention();
    }), {class: 'thumb', 'aria-label': attentionName(of, n) + ' head ' + (head +
      1)}).appendChild(canvas)
      .parentNode;
  }

  /* The page begins at the head whose rows have the least entropy: it looks at few tokens, so that
     a reader sees at once where. Rows that see one key alone do not count. */
  function beginAtTheSharpest() {
    let least = Infinity;
    attentions(doc()).forEach((n, layer) => {
      for (let head = 0; head < n.heads; head++) {
        const m = headOf(doc(), n, head);
        let sum = 0, rows = 0;
        for (let i = 0; m && i < m.rows; i++) {
          const row = m.x.subarray(i * m.columns, (i + 1) * m.columns);
          if (isMasked(doc(), n, ['query', 'key'], i, 1) || row.length < 2) continue;
          sum -= row.reduce((a, p) => a + (p > 0 ? p * Math.log(p) : 0), 0), rows++;
        }
        if (rows && sum / rows < least)
          least = sum / rows, view.layer = layer, view.head = head, view.node = n.id;
      }
    });
  }

  function drawAttention() {
    const of = doc(), list = attentions(of);
    parts.attention.hidden = !list.length || !list.some(n => n.parts.weights.x);
    if (parts.attention.hidden) return;
    view.layer = Math.min(view.layer, list.length - 1);
    const n = list[view.layer];
    view.head = Math.min(view.head, n.heads - 1);
    redraw(parts.attention, html('h2', null, 'Attention'),
      html('div', {class: 'row'}, html('label', {class: 'small'}, 'layer ', html('select', {
        onchange: event => {
          view.layer = event.target.selectedIndex, view.query = -1;
          drawAttention();
        }}, list.map((o, i) => html('option', {selected: i === view.layer}, attentionName(of, o) +
          ' ' +
        o.kind)))),
      Array.from({length: n.heads}, (_, h) => button('head ' + (h + 1), h === view.head, () => {
        view.head = h;
        drawAttention();
      })),
      button('lines', view.lines, () => {
        view.lines = !view.lines;
        drawAttention();
      }), button('open in the graph', null, () => {
        view.part = 'weights';
        select(n.id);
      })),
      html('p', {class: 'dim small'}, 'Rows are queries (' + n.stream +
        ' tokens), columns are keys (' +
        keyStream(of, n) + ' tokens).' + (isMasked(of, n, ['query', 'key'], 0, 1)
          ? ' Hatched: hidden by the causal mask.' : '') + (windowOf(of, n) < Infinity
          ? ' Hatched: outside of the window of ' + windowOf(of, n) + '.' : '')),
      html('div', {class: 'two'}, attentionPane(view.a), view.b >= 0 ? attentionPane(view.b) :
        null),
      html('h3', null, 'All layers and heads'),
      html('div', {class: 'thumbs', style: 'gap:14px 26px'}, list.map((o, i) => html('div', null,
        html('div', {class: 'dim small'}, attentionName(of, o)), html('div', {class: 'thumbs'},
          Array.from({length: o.heads}, (_, h) => thumb(of, o, i, h)))))),
      html('h3', null, 'How the weights of each layer are distributed'),
      html('div', {class: 'grid'}, list.map(o => weightHistogram(of, o))));
  }
  /* Without what the causal mask hides; heights are logarithms: most weights are small. */
  function weightHistogram(of, n) {
    const value = n.parts.weights, x = numbers(value, 'x');
    if (!(x instanceof Float32Array)) return null;
    const bins = new Array(20).fill(0), rows = value.shape[1], columns = value.shape[2];
    let count = 0, sum = 0, squares = 0, outside = 0;
    x.forEach((p, k) => {
      if (isMasked(of, n, ['query', 'key'], Math.floor(k / columns) % rows, k % columns)) return;
      count++, sum += p, squares += p * p;
      if (p >= 0 && p <= 1) bins[Math.min(19, Math.floor(p * 20))]++;
      else outside++;
    });
    const mean = sum / count;
    return html('div', null, html('div', {class: 'small'}, attentionName(of, n), outside ? ', ' +
      outside +
      ' outside 0 to 1' : ''), histogram({bins: bins.map(b => Math.log1p(b)), low: 0, high: 1,
      mean: mean, deviation: Math.sqrt(Math.max(0, squares / count - mean * mean)), count: count,
      finite: count}, 'log of 1 + count'));
  }

  /* -- tokens, answers, loss, parameters -- */

  function tokenRow(name, list) {
    return list ? html('div', {class: 'row',
      style: 'margin-bottom:4px;flex-wrap:nowrap;align-items:baseline'},
      html('span', {class: 'dim small', style: 'min-width:46px'}, name), html('div',
        {class: 'tokens'}, list.map(t => html('span',
      {class: 'token'}, t)))) : null;
  }
  function answersView(of) {
    if (!of.top || !of.top.some(row => row.length)) return null;
    const given = (of.tokens.labels || []).map(tokenLabel), own = of.passes.own;
    const target = tokensOf(of, of.top.length === (of.tokens.target || []).length ? 'target' :
      'source');
    return html('div', {class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'answers'},
      html('table', null, html('tr', null, [target && of.top.length > 1 ? 'at' : '',
        !given.length ? '' : own ? 'its own answer' : 'label', 'most probable',
        ''].map(t =>
        html(t ? 'th' : 'td', null, t))), of.top.map((row, i) => html('tr', null,
      html('td', null, of.top.length > 1 && target ? target[i] : ''),
      html('td', null, given[i] || ''),
      html('td', null, row.filter((c, k) => !k || c[2] >= .0005).map((c, k) => html('span',
        {class: k ? 'dim' : '', style: 'margin-right:12px'},
        tokenLabel(c) + ' ' + (100 * c[2]).toFixed(1) + ' %'))),
      given[i] === undefined || own ? html('td') : tokenLabel(row[0]) === given[i]
        ? html('td', {class: 'mark right', title: 'right'}, '✓')
        : html('td', {class: 'mark wrong', title: 'wrong'}, '✗')))));
    function tokenLabel(pair) {
      return of.task === 'classify' || of.task === 'tag'
        ? (pair[1] === null ? 'class ' + pair[0] : pair[1]) : tokenText(pair);
    }
  }
  /* Numbers in place of source tokens: the first layer has them normalized. */
  function featuresView(of) {
    const node = of.nodes.find(n => n.kind === 'features'), x = node && numbers(node.value, 'x');
    if (!(x instanceof Float32Array)) return null;
    const [rows, columns] = node.value.shape;
    return html('div', null, html('div', {class: 'dim small'}, 'source: ' + rows + ' rows of ' +
      columns + ' numbers, normalized; a click shows what was measured'), html('div',
      {class: 'scroll'}, heatMap(x, rows, columns, {cell: Math.max(4, Math.min(22, Math.floor(300 /
        columns))), axes: ['row', 'feature'], label: 'source', onpick: (i, j) => pick(node.id,
        'value', [i, j])})));
  }
  /* What a network for numbers answers. */
  function numbersView(of) {
    const last = of.nodes[of.nodes.length - 1], x = numbers(last.value, 'x');
    if (!/^regress/.test(of.task) || !(x instanceof Float32Array)) return null;
    return html('p', null, 'answer: ', html('span', {class: 'mono'}, Array.from(x.slice(0, 24),
      number).join(', ') + (x.length > 24 ? ' …' : '')));
  }
  function lossView() {
    const points = (input.loss || []).filter(p => Number.isFinite(p[1]));
    if (!points.length) return null;
    const all = points.flatMap(p => [p[1], p[2]]).filter(v => Number.isFinite(v) && v !== null);
    const low = Math.min(...all), high = Math.max(...all, low + 1e-6), first = points[0][0];
    const last = Math.max(points[points.length - 1][0], first + 1e-6);
    const x = s => 44 + 640 * (s - first) / (last - first), y = v => 10 +
      190 * (high - v) / (high - low);
    const line = k => 'M' + points.filter(p => Number.isFinite(p[k]) && p[k] !== null)
      .map(p => x(p[0]).toFixed(1) + ' ' + y(p[k]).toFixed(1)).join('L');
    const valid = points.some(p => p[2] !== null && Number.isFinite(p[2]));
    return html('div', {class: 'card', 'data-part': 'loss'}, html('h2', null, 'Loss'),
      svg('svg', {viewBox: '0 0 700 226', width: '100%', style: 'max-width:760px', class: 'plot',
        role: 'img',
        'aria-label': 'loss by step'},
        [0, .25, .5, .75, 1].map(s => [svg('path', {class: 'axis', d: 'M44 ' + (10 + 190 * s) +
          'H684'}),
          svg('text', {x: 38, y: 14 + 190 * s, 'text-anchor': 'end'},
            short(high - s * (high - low))),
          svg('text', {x: 44 + 640 * s, y: 218, 'text-anchor': 'middle'},
            Math.round(first + s * (last - first)))]),
        svg('path', {d: line(1), fill: 'none', stroke: 'var(--source)', 'stroke-width': 1.8}),
        valid ? svg('path', {d: line(2), fill: 'none', stroke: 'var(--target)',
          'stroke-width': 1.8}) : null),
      html('div', {class: 'row small'}, html('span', null, html('span', {class: 'key',
        style: 'color:var(--source)'}), 'training'), valid ? html('span', null, html('span',
          {class: 'key',
        style: 'color:var(--target)'}), 'validation') : null));
  }
  function parametersView(of) {
    const list = of.params.filter(p => p.value.x);
    if (!list.length) return null;
    const box = html('div', {class: 'grid', style: 'margin-top:10px'}), details = html('details',
      {class: 'card', 'data-part': 'parameters', ontoggle: () => {
        if (!details.open || box.childNodes.length) return;
        add(box, list.map(p => html('div', null, html('div', {class: 'small',
          style: 'overflow-wrap:anywhere'},
          html('b', null, p.name), ' ', html('span', {class: 'dim'}, '[' +
            p.value.shape.join(', ') + ']' +
            (p.trained ? '' : ', never trained'))), histogram(summary(numbers(p.value, 'x')),
              p.name))));
      }}, html('summary', null, html('b', null, 'Parameters: '), list.length +
        ' tensors, histograms'), box);
    return details;
  }

  /* -- the page -- */

  const parts = {};
  /* Fills a part of the page again; the focus stays on the control at the same place. */
  function redraw(box, ...children) {
    const controls = () => Array.from(box.querySelectorAll('button,select,canvas,[tabindex]'));
    const at = box.contains(document.activeElement) ? controls().indexOf(document.activeElement) :
      -1;
    box.replaceChildren();
    add(box, children);
    if (at < 0) return;
    const chosen = box.querySelector('.node.on') || controls()[at];
    (chosen || root).focus({preventScroll: true});
  }
  function select(id, keepPos) {
    view.node = id;
    if (!keepPos && steps().length && !reached(id, false)) view.pos = id + 1;
    drawText(), drawGraph(), drawDetail(), drawBar();
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    if (innerWidth < 820 && !keepPos) parts.detail.scrollIntoView({block: 'nearest',
      behavior: still ? 'auto' : 'smooth'});
  }
  function goTo(pos) {
    const list = steps();
    view.pos = Math.max(0, Math.min(list.length, pos));
    const now = list[view.pos - 1];
    select(now ? now.node : 0, true);
  }
  function drawText() { redraw(parts.text, textView(doc())); }
  function drawGraph() {
    const at = [parts.graph.scrollLeft, parts.graph.scrollTop];
    redraw(parts.graph, graphView(doc()));
    parts.graph.scrollLeft = at[0], parts.graph.scrollTop = at[1];
  }
  function drawBar() {
    const list = steps(), now = list[view.pos - 1];
    parts.bar.hidden = !list.length;
    parts.range.max = list.length, parts.range.value = view.pos;
    parts.now.textContent = !now ? 'before the first step' : now.node !== view.node
      ? view.pos + ' of ' + list.length + ' steps done' : (now.back ? 'backward ' : 'forward ') +
      view.pos + ' of ' + list.length + ': ' + doc().nodes[now.node].kind + ' ' +
        doc().nodes[now.node].key;
  }
  function lossText(passes) {
    if (passes.loss === null) return '';
    const of = passes.own ? ' of its own answer ' : ' ';
    if (!passes.smoothing) return ', loss' + of + number(passes.loss);
    return ', loss' + of + number(passes.loss) + ' with label smoothing ' +
      short(passes.smoothing) + ', cross-entropy without it ' +
      (passes.cross_entropy === null ? '?' : number(passes.cross_entropy));
  }
  function drawHead() {
    const of = doc(), k = of.config, many = documents.length > 1;
    const options = chosen => documents.map((d, i) => html('option', {value: i,
      selected: i === chosen},
      d.title || 'run ' + (i + 1)));
    redraw(parts.head, many ? html('div', {class: 'row', style: 'margin-bottom:8px'},
      html('label', {class: 'small'}, 'run ', html('select', {onchange: event => {
        view.a = event.target.selectedIndex;
        if (view.b === view.a) view.b = -1;
        drawAll();
      }}, options(view.a))), html('label', {class: 'small'}, 'beside it ', html('select',
        {onchange: event => {
          view.b = Number(event.target.value);
          drawAll();
        }}, html('option', {value: -1, selected: view.b < 0}, 'nothing'), options(view.b)))) : null,
      html('div', {class: 'two'}, html('div', null, parts.text, html('div', {class: 'dim small',
        style: 'margin:6px 0'}, 'task ' + of.task + ', width ' +
        k.d_model + ', ' + k.heads + ' heads, at most ' + k.max_len + ' tokens, ' +
          of.params.reduce((s, p) =>
        s + p.value.shape.reduce((a, b) => a * b, 1), 0).toLocaleString('en') + ' parameters' +
        lossText(of.passes)), view.b < 0
        ? [featuresView(of), tokenRow('source', tokensOf(of, 'source')),
          tokenRow('target', tokensOf(of, 'target'))] :
          null),
      view.b < 0 ? html('div', null, answersView(of), numbersView(of)) : null),
      view.b < 0 ? null : html('div', {class: 'two'}, [view.a, view.b].map(i => html('div', null,
        html('h3', null, documents[i].title),
        featuresView(documents[i].data), tokenRow('source', tokensOf(documents[i].data, 'source')),
        tokenRow('target', tokensOf(documents[i].data, 'target')),
          answersView(documents[i].data)))));
  }
  function drawAll() {
    view.node = Math.min(view.node, Math.max(0, doc().nodes.length - 1));
    view.pos = Math.min(view.pos, steps().length);
    readColors(), drawText(), drawHead(), drawBar(), drawGraph(), drawDetail(), drawAttention();
    const side2 = parametersView(doc());
    parts.parameters.replaceChildren(...(side2 ? [side2] : []));
  }
  function build() {
    parts.text = html('div');
    parts.head = html('div', {class: 'card'});
    parts.range = html('input', {type: 'range', min: 0, 'aria-label': 'step', oninput: event =>
      goTo(Number(event.target.value))});
    parts.now = html('div', {class: 'small mono', style: 'min-width:min(100%,330px)'});
    parts.bar = html('div', {class: 'card bar row'}, button('|◀', null, () => goTo(0)),
      button('◀', null, () => goTo(view.pos - 1)), button('▶', null, () => goTo(view.pos + 1)),
      button('▶|', null, () => goTo(steps().length)), parts.range, parts.now);
    ['to the start', 'one step back', 'one step on', 'to the end'].forEach((name, i) =>
      assign(parts.bar.children[i], {'aria-label': name, title: name}));
    parts.graph = html('div', {class: 'graph'});
    parts.detail = html('div', {class: 'card'});
    parts.sum = html('div', {class: 'sum', tabindex: '-1', role: 'region', 'aria-live': 'polite',
      'aria-label': 'how a number is made'});
    parts.attention = html('div', {class: 'card', 'data-part': 'attention'});
    parts.parameters = html('div');
    const legend = html('div', {class: 'row small dim', style: 'margin-top:6px'}, [['source',
      'source rows'],
      ['target', 'target rows'], ['sentence', 'sentence rows']].map(s => html('span', null,
      html('span', {class: 'key', style: 'color:var(--' + s[0] + ')'}), s[1])), 'numbers: width');
    parts.main = html('div', {class: 'main'}, html('div', {class: 'card'}, parts.graph, legend),
      parts.detail);
    const guide = html('div', {class: 'card small'}, html('div', null, 'Below: the network as ' +
      'text, the input and the answer. Click a layer in the text or in the graph: its values and ' +
      'gradients appear beside it. Begin with the marked attention, whose weights show which ' +
      'token looks where. Click a number of a map, or move to it with the arrow keys and press ' +
      'Enter: the sum that made it appears, with its real operands, and each operand leads to ' +
      'its own sum. ',
    html('span', {class: 'key', style: 'color:rgb(var(--low))'}), 'below 0 ',
    html('span', {class: 'key', style: 'color:rgb(var(--high))'}), 'above 0, the paler the ' +
      'nearer to 0. The arrow keys go through the steps of the computation.'));
    add(root, [html('style', null, CSS), guide, parts.head, parts.bar, parts.main, parts.attention,
      lossView(),
      parts.parameters, tip]);
    root.addEventListener('keydown', event => {
      if (/SELECT|INPUT/.test(event.target.tagName) || event.ctrlKey || event.metaKey ||
        event.altKey) return;
      if (event.key === 'ArrowRight') event.preventDefault(), goTo(view.pos + 1);
      if (event.key === 'ArrowLeft') event.preventDefault(), goTo(view.pos - 1);
    });
    element.replaceChildren(root);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', function change() {
      if (root.isConnected && doc().nodes.length) drawAll();
      else scheme.removeEventListener('change', change);
    });
  }
  build();
  if (view.a >= documents.length) view.a = 0;
  if (view.b >= documents.length) view.b = -1;
  if (!before && documents.length > 1 && input.beside) view.b = 1;
  view.pos = before ? Math.min(view.pos, steps().length) : steps().length;
  if (view.node < 0 || view.node >= doc().nodes.length)
    view.node = Math.max(0, doc().nodes.findIndex(n => n.heads));
  if (!before) beginAtTheSharpest();
  if (doc().nodes.length) drawAll();
  else for (const part of Object.values(parts)) part.hidden = part !== parts.head;
  if (!doc().nodes.length) parts.head.append(textView(doc()));
  return {
    documents: documents,
    select: key => {
      const found = doc().nodes.find(n => n.key === key);
      if (found) select(found.id);
      return !!found;
    },
    step: goTo,
    explain: explain, pick: pick, places: placesOf, value: valueOf, numbers: numbers
  };
}
