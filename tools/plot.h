/* plot.h   the command plot: one HTML page of the loss curve, attention maps and histograms.
   A part of syn.c, which includes it behind the parts whose functions it calls. */

/* The page works offline. Curves and histograms are SVG; an attention map is a canvas, which a
   script in the page fills from hexadecimal digits, two per weight. put_html escapes every text
   that comes from a file. The script reads the tokens from the list above the maps and draws them
   as text. */

typedef struct plot {
  const arguments *a;
  syn_context c;
  syn_model *m;
  task of;
  buffer page;
  int bins, shown, cut;    /* sentences so far; lines that did not fit */
  int tokens;              /* lists of tokens so far: the next one has the id t<tokens> */
  size_t **seen;           /* [attention layers][bins] histograms of attention weights */
  size_t *outside;         /* [attention layers] weights outside 0..1 (without softmax) */
} plot;

static void put_format(buffer *b, const char *format, ...) PRINTF_LIKE(2, 3);
static void put_format(buffer *b, const char *format, ...) {
  char text[1000]; /* enough for numbers, fixed words and paths of layers */
  va_list args;
  int n;
  va_start(args, format);
  n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  put(b, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

/* Appends text of any origin, escaped for content and for quoted attributes. Control characters and
   bytes that are not UTF-8 become U+FFFD. */
static void put_html(buffer *b, syn_text t) {
  uint32_t code;
  size_t i, size;
  for (i = 0; i < t.size; i += size) {
    size = decode(t, i, &code);
    if (code == '&') put(b, "&amp;", 5);
    else if (code == '<') put(b, "&lt;", 4);
    else if (code == '>') put(b, "&gt;", 4);
    else if (code == '"') put(b, "&quot;", 6);
    else if (code == '\'') put(b, "&#39;", 5);
    else if (code == '\n' || code == '\r' || code == '\t') put_byte(b, ' ');
    else if (code < 0x20 || code == 0x7F || (code >= 0x80 && code < 0xA0) || code > 0x10FFFF)
      put(b, "\xEF\xBF\xBD", 3);
    else put(b, t.at + i, size);
  }
}

/* -- styles for light and dark, the script of the maps -- */

static const char plot_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n"
    ":root{color-scheme:light dark;--back:#fff;--text:#222;--dim:#767676;--line:#ccc;--a:#1553a8;"
    "--b:#b3480c}\n"
    "@media(prefers-color-scheme:dark){:root{--back:#14171c;--text:#e4e4e4;--dim:#9a9a9a;"
    "--line:#444;--a:#7db4ff;--b:#ffa25e}}\n"
    "body{font:14px/1.4 system-ui,sans-serif;background:var(--back);color:var(--text);"
    "margin:1.5em auto;max-width:75em;padding:0 1em}\n"
    "h1{font-size:1.4em}h2{font-size:1.15em;border-bottom:1px solid var(--line);margin-top:2em}"
    "h3{font-size:1em;margin-bottom:.3em}\n"
    "pre{white-space:pre-wrap;color:var(--dim)}\n"
    "ol{list-style:none;margin:0;padding:0}"
    "ol li{display:inline-block;border:1px solid var(--line);border-radius:3px;padding:0 .3em;"
    "margin:0 .2em .2em 0}\n"
    ".grid{display:flex;flex-wrap:wrap;gap:1em}figure{margin:0}figcaption{color:var(--dim);"
    "font-size:12px;overflow-wrap:anywhere}\n"
    ".small figure{width:14em}svg{display:block;max-width:100%}svg text{fill:var(--dim);"
    "font-size:11px}\n"
    ".a{fill:none;stroke:var(--a);stroke-width:1.5}.b{fill:none;stroke:var(--b);stroke-width:1.5}"
    ".d{fill:var(--b)}.h{fill:var(--a)}.g{stroke:var(--line);fill:none}\n"
    "svg text.ta{fill:var(--a)}svg text.tb{fill:var(--b)}#tip{position:fixed;left:0;bottom:0;"
    "background:var(--text);color:var(--back);padding:.1em .5em}\n"
    "</style>\n";

/* A map has keys from left to right and queries from top to bottom. Colours run from that of the
   page for the weight 0 to the accent for the largest weight of the map. */
static const char plot_script[] =
    "<p id=\"tip\"></p><noscript>Attention maps are drawn by a script in this page.</noscript>\n"
    "<script>\n"
    "const css=n=>getComputedStyle(document.documentElement).getPropertyValue(n).trim();\n"
    "const rgb=h=>{h=h.length<5?h.replace(/[^#]/g,'$&$&'):h;"
    "return[1,3,5].map(i=>parseInt(h.substr(i,2),16))};\n"
    "const words=(id,n)=>{const o=id&&document.getElementById(id);return Array.from({length:n},"
    "(_,i)=>o?o.children[i].textContent:String(i+1))};\n"
    "function draw(c){const d=c.dataset,n=+d.n,m=+d.m,s=Math.max(1,Math.min(16,"
    "Math.floor(480/Math.max(n,m)))),q=words(d.q,n),k=words(d.k,m),g=c.getContext('2d');\n"
    "const font='10px system-ui,sans-serif';g.font=font;"
    "const wide=w=>s<8?2:4+Math.min(90,Math.max(...w.map(x=>g.measureText(x).width)));\n"
    "const x0=wide(q),y0=wide(k),z=window.devicePixelRatio||1,W=x0+m*s,H=y0+n*s;\n"
    "c.width=W*z;c.height=H*z;c.style.width=W+'px';c.style.height=H+'px';g.scale(z,z);"
    "g.font=font;\n"
    "const lo=rgb(css('--back')),hi=rgb(css('--a'));\n"
    "for(let i=0;i<n;i++)for(let j=0;j<m;j++){const v=parseInt(d.p.substr(2*(i*m+j),2),16)/255;\n"
    "g.fillStyle='rgb('+lo.map((l,x)=>Math.round(l+(hi[x]-l)*v))+')';"
    "g.fillRect(x0+j*s,y0+i*s,s,s)}\n"
    "g.strokeStyle=css('--line');g.strokeRect(x0+.5,y0+.5,m*s-1,n*s-1);g.fillStyle=css('--text');\n"
    "if(s>7){g.textBaseline='middle';for(let i=0;i<n;i++)g.fillText(q[i],1,y0+(i+.5)*s,x0-3);\n"
    "for(let j=0;j<m;j++){g.save();g.translate(x0+(j+.5)*s,y0-2);g.rotate(-Math.PI/2);"
    "g.fillText(k[j],0,0,y0-3);g.restore()}}\n"
    "c.onmousemove=e=>{const j=Math.floor((e.offsetX-x0)/s),i=Math.floor((e.offsetY-y0)/s);"
    "tip.textContent=i<0||j<0||i>=n||j>=m?'':q[i]+' \\u2192 '+k[j]+'  '+"
    "(parseInt(d.p.substr(2*(i*m+j),2),16)/255*d.most).toFixed(3)};"
    "c.onmouseleave=()=>tip.textContent=''}\n"
    "const tip=document.getElementById('tip'),all=()=>document.querySelectorAll('canvas')"
    ".forEach(draw);\n"
    "all();matchMedia('(prefers-color-scheme:dark)').addEventListener('change',all);\n"
    "</script>\n</body></html>\n";

/* The title, and the configuration of the model. */
static void plot_title(plot *p) {
  const syn_config *k = syn_model_config(p->m);
  buffer *b = &p->page;
  put(b, plot_head, sizeof plot_head - 1);
  put_format(b, "<title>");
  put_html(b, text_of(opt_text(p->a, "model")));
  put_format(b, "</title></head><body>\n<h1>");
  put_html(b, text_of(opt_text(p->a, "model")));
  put_format(b, "</h1>\n<p>task %s, d_model %d, heads %d, max_len %d, %lu parameters</p>\n<pre>",
             k->task, k->d_model, k->heads, k->max_len, (unsigned long)parameters_of(p->m));
  if (k->encoder) put_format(b, "encoder "), put_html(b, text_of(k->encoder)), put_byte(b, '\n');
  if (k->decoder) put_format(b, "decoder "), put_html(b, text_of(k->decoder));
  put_format(b, "</pre>\n");
}

/* -- the loss curve, from what `syn train` printed -- */

typedef struct curve_point {
  double step, loss, valid; /* valid: NaN where there was no validation */
} curve_point;

typedef struct curve {
  curve_point *at; /* [count] */
  size_t count;
} curve;

/* Reads the number after a key, "\"loss\":" or "loss "; 0 when there is none. */
static int log_number(const char *line, const char *key, double *value) {
  char *end;
  const char *at = strstr(line, key);
  *value = (double)NAN;
  if (!at) return 0;
  at += strlen(key);
  *value = strtod(at, &end);
  return end > at && fabs(*value) < 1e30;
}

/* Parses a line of --json, or a plain one: "step 10  loss 2.1  valid 2.2  lr ...". */
static int log_line(const char *line, curve_point *p) {
  int json = line[0] == '{';
  if (!json && strncmp(line, "step ", 5) != 0) return 0;
  if (!log_number(line, json ? "\"step\":" : "step ", &p->step)) return 0;
  if (!log_number(line, json ? "\"loss\":" : "  loss ", &p->loss)) return 0;
  if (!log_number(line, json ? "\"valid\":" : "  valid ", &p->valid)) p->valid = (double)NAN;
  return 1;
}

/* Reads the log of a training. A carriage return, as on a terminal, ends a line, too. Other lines
   are skipped. Plain lines repeat the last validation, which counts once. */
static curve curve_read(const char *path) {
  buffer file = read_file(path);
  curve k;
  size_t i, most = 1;
  double last = (double)NAN;
  char *line;
  put_byte(&file, 0);
  for (i = 0; i < file.size; i++) {
    if (file.at[i] == '\n' || file.at[i] == '\r') file.at[i] = 0;
    most += !file.at[i];
  }
  k.at = (curve_point *)take(most, sizeof *k.at);
  k.count = 0;
  for (line = file.at; line < file.at + file.size; line += strlen(line) + 1) {
    curve_point *p = &k.at[k.count];
    if (!log_line(line, p)) continue;
    if (line[0] != '{' && p->valid == last) p->valid = (double)NAN;
    else last = p->valid;
    k.count++;
  }
  free(file.at);
  if (!k.count) fail(FAILED_JOB, "%s has no line that syn train prints", path);
  return k;
}

/* The distance between axis marks, 1, 2 or 5 times a power of ten: about `parts` marks in the
   span. */
static double mark_step(double span, int parts) {
  double least = span / parts, power = pow(10.0, floor(log10(least)));
  double times = least / power;
  return power * (times > 5.0 ? 10.0 : times > 2.0 ? 5.0 : times > 1.0 ? 2.0 : 1.0);
}

/* The ranges of both axes. */
typedef struct axes {
  double low[2], high[2]; /* [0] step, [1] loss */
} axes;
#define PLOT_WIDTH 720
#define PLOT_HEIGHT 260
#define PLOT_LEFT 56
#define PLOT_BOTTOM 24
#define PLOT_TOP 8

static double axes_x(const axes *a, double step) {
  return PLOT_LEFT + (PLOT_WIDTH - PLOT_LEFT - 8) * (step - a->low[0]) / (a->high[0] - a->low[0]);
}
static double axes_y(const axes *a, double loss) {
  double share = (loss - a->low[1]) / (a->high[1] - a->low[1]);
  return PLOT_TOP + (PLOT_HEIGHT - PLOT_TOP - PLOT_BOTTOM) * (1.0 - share);
}

static axes axes_of(const curve *k) {
  axes a;
  size_t i;
  int d;
  a.low[0] = a.low[1] = (double)INFINITY;
  a.high[0] = a.high[1] = (double)-INFINITY;
  for (i = 0; i < k->count; i++) {
    const curve_point *p = &k->at[i];
    a.low[0] = fmin(a.low[0], p->step);
    a.high[0] = fmax(a.high[0], p->step);
    a.low[1] = fmin(a.low[1], fmin(p->loss, p->valid)); /* fmin ignores a NaN */
    a.high[1] = fmax(a.high[1], fmax(p->loss, p->valid));
  }
  for (d = 0; d < 2; d++) { /* never an empty range */
    double least = 1e-6 * (1.0 + fabs(a.high[d]));
    if (a.high[d] - a.low[d] < least) a.low[d] -= least, a.high[d] += least;
  }
  return a;
}

static void put_marks(buffer *b, const axes *a) {
  double step = mark_step(a->high[0] - a->low[0], 8), at;
  for (at = ceil(a->low[0] / step) * step; at <= a->high[0]; at += step)
    put_format(b, "<path class=\"g\" d=\"M%.1f %dv%d\"/><text x=\"%.1f\" y=\"%d\" "
               "text-anchor=\"middle\">%g</text>\n", axes_x(a, at), PLOT_TOP,
               PLOT_HEIGHT - PLOT_TOP - PLOT_BOTTOM, axes_x(a, at), PLOT_HEIGHT - 8, at);
  step = mark_step(a->high[1] - a->low[1], 5);
  for (at = ceil(a->low[1] / step) * step; at <= a->high[1]; at += step)
    put_format(b, "<path class=\"g\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
               "text-anchor=\"end\">%g</text>\n", PLOT_LEFT, axes_y(a, at), PLOT_WIDTH - 8,
               PLOT_LEFT - 4, axes_y(a, at) + 4.0, fabs(at) < 1e-9 * step ? 0.0 : at);
}

/* Draws at most about 1000 points: no display shows more. */
static void put_line(buffer *b, const curve *k, const axes *a, int valid) {
  size_t i, every = valid ? 1 : k->count / 1000 + 1;
  char command = 'M';
  put_format(b, "<path class=\"%c\" d=\"", valid ? 'b' : 'a');
  for (i = 0; i < k->count; i++) {
    double y = valid ? k->at[i].valid : k->at[i].loss;
    if (y != y || (i % every && i + 1 < k->count)) continue;
    put_format(b, "%c%.1f %.1f", command, axes_x(a, k->at[i].step), axes_y(a, y));
    command = 'L';
  }
  put_format(b, "\"/>\n");
}

static void plot_curve(plot *p) {
  const char *path = opt_text(p->a, "log");
  curve k;
  axes a;
  size_t i = 0;
  if (!*path) return;
  k = curve_read(path);
  a = axes_of(&k);
  put_format(&p->page, "<h2>Loss</h2>\n<svg width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
             "role=\"img\" aria-label=\"loss by step\">\n", PLOT_WIDTH, PLOT_HEIGHT, PLOT_WIDTH,
             PLOT_HEIGHT);
  put_marks(&p->page, &a);
  put_line(&p->page, &k, &a, 0);
  put_format(&p->page, "<text class=\"ta\" x=\"%d\" y=\"20\" text-anchor=\"end\">training</text>\n",
             PLOT_WIDTH - 14);
  while (i < k.count && k.at[i].valid != k.at[i].valid) i++;
  if (i < k.count) { /* there was a validation */
    put_line(&p->page, &k, &a, 1);
    put_format(&p->page, "<text class=\"tb\" x=\"%d\" y=\"34\" text-anchor=\"end\">validation"
               "</text>\n", PLOT_WIDTH - 14);
  }
  put_format(&p->page, "</svg>\n");
  free(k.at);
}

/* -- histograms -- */

/* Draws a histogram, counts [bins] over range [2]; `logs`: heights are log(1 + count). */
static void put_bars(buffer *b, const size_t *counts, int bins, const float range[2], int logs) {
  double most = 1.0, height;
  int i;
  for (i = 0; i < bins; i++) most = fmax(most, (double)counts[i]);
  put_format(b, "<svg viewBox=\"0 0 200 84\" width=\"200\" height=\"84\">"
             "<path class=\"h\" d=\"M0 70");
  for (i = 0; i < bins; i++) {
    height = logs ? log(1.0 + (double)counts[i]) / log(1.0 + most) : (double)counts[i] / most;
    put_format(b, "V%.1fH%.1f", 70.0 - 66.0 * height, 200.0 * (i + 1) / bins);
  }
  put_format(b, "V70Z\"/><path class=\"g\" d=\"M0 70H200\"/><text y=\"82\">%.3g</text>"
             "<text x=\"200\" y=\"82\" text-anchor=\"end\">%.3g</text></svg>", (double)range[0],
             (double)range[1]);
}

/* Smallest and largest finite number, their mean and standard deviation. */
typedef struct moments {
  float range[2];
  double mean, deviation;
} moments;
static moments moments_of(const float *x, size_t n) {
  moments m;
  double mean = 0.0, squares = 0.0, count = 0.0;
  size_t i;
  m.range[0] = INFINITY;
  m.range[1] = -INFINITY;
  for (i = 0; i < n; i++) {
    double from_mean = (double)x[i] - mean;
    if (!(x[i] - x[i] == 0.0f)) continue;
    mean += from_mean / (count += 1.0); /* Welford 1962 */
    squares += from_mean * ((double)x[i] - mean);
    if (x[i] < m.range[0]) m.range[0] = x[i];
    if (x[i] > m.range[1]) m.range[1] = x[i];
  }
  m.mean = mean;
  m.deviation = count > 0.0 ? sqrt(squares / count) : 0.0;
  if (count <= 0.0) m.range[0] = m.range[1] = 0.0f;
  if (!(m.range[0] < m.range[1])) { /* all equal: a range around them */
    float reach = fabsf(m.range[0]) > 1.0f ? fabsf(m.range[0]) / 2.0f : 0.5f;
    m.range[0] -= reach;
    m.range[1] += reach;
  }
  return m;
}

static void plot_parameter(plot *p, const syn_param *w, size_t *counts) {
  moments m = moments_of(w->x, w->size);
  size_t outside;
  int i;
  memset(counts, 0, (size_t)p->bins * sizeof *counts);
  outside = histogram(w->x, w->size, m.range[0], m.range[1], counts, p->bins);
  put_format(&p->page, "<figure>");
  put_bars(&p->page, counts, p->bins, m.range, 0);
  put_format(&p->page, "<figcaption>");
  put_html(&p->page, text_of(w->name));
  put_format(&p->page, " [");
  for (i = 0; i < w->rank; i++) put_format(&p->page, "%s%d", i ? "," : "", w->shape[i]);
  put_format(&p->page, "]<br>mean %.3g, deviation %.3g", m.mean, m.deviation);
  if (outside) put_format(&p->page, ", <b>%lu are no numbers</b>", (unsigned long)outside);
  put_format(&p->page, "</figcaption></figure>\n");
}

static void plot_parameters(plot *p) {
  size_t *counts = (size_t *)take((size_t)p->bins, sizeof *counts), i;
  put_format(&p->page, "<h2>Parameters</h2>\n<div class=\"grid small\">\n");
  for (i = 0; i < syn_model_param_count(p->m); i++)
    plot_parameter(p, syn_model_param(p->m, i), counts);
  put_format(&p->page, "</div>\n");
  free(counts);
}

/* -- attention -- */

/* Writes tokens as a list with an id, "t0", "t1", ..., and returns its number. Shows leading
   spaces. */
static int plot_tokens(plot *p, const syn_tokenizer *t, const int *ids, int count) {
  static const char *const special[] = {"<padding>", "<unknown>", "<begin>", "<end>"};
  int words = strcmp(syn_tokenizer_type(t), "space") == 0, i;
  put_format(&p->page, "<ol id=\"t%d\">", p->tokens);
  for (i = 0; i < count; i++) {
    syn_text s = ids[i] < SYN_FIRST_TOKEN ? text_of(special[ids[i]])
                                          : syn_tokenizer_piece(t, ids[i], words);
    put_format(&p->page, "<li>");
    for (; s.size && s.at[0] == ' '; s.at++, s.size--) put(&p->page, "\xE2\x90\xA3", 3);
    put_html(&p->page, s);
    put_format(&p->page, "</li>");
  }
  put_format(&p->page, "</ol>\n");
  return p->tokens++;
}

/* Writes weights [size[0], size[1]] as two hexadecimal digits each: 255 weight / most, negative
   0. */
static void put_map(buffer *b, const float *w, const int size[2], float most) {
  static const char digits[] = "0123456789abcdef";
  size_t i, n = (size_t)size[0] * (size_t)size[1];
  buffer_reserve(b, 2 * n);
  for (i = 0; i < n; i++) {
    float share = w[i] > 0.0f && most > 0.0f ? w[i] / most : 0.0f;
    int ink = share < 1.0f ? (int)(share * 255.0f + 0.5f) : 255;
    put_byte(b, digits[ink >> 4]);
    put_byte(b, digits[ink & 15]);
  }
}

/* Writes a map as DIR/SENTENCE.LAYER.HEAD.pgm, for example DIR/1.encoder.1.0.0.1.2.pgm. */
static void plot_picture(const plot *p, const char *path, int head, const float *w,
                         const int size[2]) {
  const char *folder = opt_text(p->a, "pgm");
  int cell = opt_int(p->a, "cell");
  size_t bytes = attention_picture(w, size, cell, 0.0f, NULL, 0);
  buffer name = {NULL, 0, 0};
  void *out;
  FILE *f;
  if (!*folder || !bytes) return;
  put(&name, folder, strlen(folder));
  put_format(&name, "/%d.%s.%d.pgm", p->shown + 1, path, head + 1);
  put_byte(&name, 0);
  out = take(bytes, 1);
  attention_picture(w, size, cell, 0.0f, out, bytes);
  f = fopen(name.at, "wb");
  if (f) bytes -= fwrite(out, 1, bytes, f);
  free(out);
  if (!f || fclose(f) || bytes)
    fail(FAILED_JOB, "cannot write %s: %s", name.at, strerror(errno));
  free(name.at);
}

/* Writes the map of one head, and counts its weights in the histogram of the layer, without those
   that the causal mask hides. */
static void plot_head_map(plot *p, const float *w, const int size[2], int layer, int causal) {
  float most = 0.0f;
  int i;
  for (i = 0; i < size[0]; i++) {
    const float *row = w + (size_t)i * (size_t)size[1];
    size_t seen = (size_t)(causal && i + 1 < size[1] ? i + 1 : size[1]);
    size_t k;
    for (k = 0; k < seen; k++)
      if (row[k] > most) most = row[k];
    p->outside[layer] += histogram(row, seen, 0.0f, 1.0f, p->seen[layer], p->bins);
  }
  put_format(&p->page, " data-n=\"%d\" data-m=\"%d\" data-most=\"%.4g\" data-p=\"", size[0],
             size[1], (double)most);
  put_map(&p->page, w, size, most);
  put_byte(&p->page, '"');
}

/* The node of an attention layer; syn_model_attention counts them in the same order. */
static const syn_node *plot_node(const syn_model *m, int layer) {
  size_t i = 0;
  while (!syn_model_node(m, i)->seen_heads || layer-- > 0) i++;
  return syn_model_node(m, i);
}

/* Writes the maps of all heads of a layer for the one sentence of the run. lists: the numbers of
   its lists of source and target tokens. */
static void plot_layer(plot *p, const syn_run *r, int layer, const int lists[2]) {
  const syn_node *n = plot_node(p->m, layer);
  int to = p->m->g.values[n->out].stream, from = p->m->g.values[n->in[n->n_in - 1]].stream;
  int causal = to == SYN_TGT && from == to && !n->seen_keys, h, heads, size[2];
  const char *path = syn_model_attention(p->m, layer, &heads);
  put_format(&p->page, "<h3>%s</h3>\n<div class=\"grid\">\n", path);
  for (h = 0; h < heads; h++) {
    const float *w = syn_run_attention(r, layer, h, 0, size);
    if (!w) continue;
    put_format(&p->page, "<figure><canvas role=\"img\" aria-label=\"%s head %d\" data-q=\"t%d\"",
               path, h + 1, lists[to == SYN_TGT]);
    if (!n->seen_keys) put_format(&p->page, " data-k=\"t%d\"", lists[from == SYN_TGT]);
    plot_head_map(p, w, size, layer, causal);
    put_format(&p->page, "></canvas><figcaption>%s, head %d</figcaption></figure>\n",
               n->kind->name, h + 1);
    plot_picture(p, path, h, w, size);
  }
  put_format(&p->page, "</div>\n");
}

/* Runs the model on one sentence and writes its maps. Token ids [side] and their counts [side]; the
   count of a side that the model does not have is 0. */
static void plot_sentence(plot *p, int *const ids[2], const int counts[2]) {
  syn_limits limits;
  syn_batch b;
  syn_run *r;
  int layer, side, heads, lists[2] = {0, 0};
  memset(&limits, 0, sizeof limits);
  memset(&b, 0, sizeof b);
  limits.sentences = b.count = 1;
  limits.src_rows = limits.tgt_rows = limits.length = larger(counts[0], counts[1]);
  if (counts[0]) b.src = ids[0], b.src_width = counts[0];
  if (counts[1]) b.tgt = ids[1], b.tgt_width = counts[1];
  r = syn_run_new(&p->c, p->m, &limits);
  check(&p->c);
  syn_run_forward(r, &b);
  check(&p->c);
  put_format(&p->page, "<h2>Sentence %d</h2>\n", p->shown + 1);
  for (side = 0; side < 2; side++)
    if (counts[side])
      lists[side] = plot_tokens(p, syn_model_tokenizer(p->m, side ? SYN_TGT : SYN_SRC), ids[side],
                                counts[side]);
  for (layer = 0; syn_model_attention(p->m, layer, &heads); layer++)
    plot_layer(p, r, layer, lists);
  syn_run_free(r);
  p->shown++;
}

/* -- which sentences -- */

/* A growing array of token ids. */
typedef struct token_row {
  encoder e;
  int *ids;
  int count;
} token_row;
static void token_put(token_row *t, const int *ids, int count) {
  t->ids = (int *)realloc(t->ids, ((size_t)t->count + (size_t)count + 1) * sizeof *t->ids);
  if (!t->ids) fail(FAILED_JOB, "out of memory: %d tokens", count);
  if (count) memcpy(t->ids + t->count, ids, (size_t)count * sizeof *ids);
  t->count += count;
}
static void token_text(token_row *t, task of, const syn_tokenizer *by, syn_text text) {
  int count = encode_task(&t->e, of, by, text);
  token_put(t, t->e.ids, count);
}

/* Makes the input of the network from one line: source tokens in rows[0], decoder tokens (for lm
   the text) in rows[1]. */
static void plot_rows(const plot *p, syn_text source, syn_text target, token_row rows[2]) {
  static const int begin = SYN_BEGIN, end = SYN_END;
  rows[0].count = rows[1].count = 0;
  if (p->of != LM) token_text(&rows[0], p->of, syn_model_tokenizer(p->m, SYN_SRC), source);
  if (p->of == SEQ2SEQ || p->of == CLASSIFY) token_put(&rows[0], &end, 1);
  if (p->of >= CLASSIFY) return;
  token_put(&rows[1], &begin, 1);
  token_text(&rows[1], p->of, syn_model_tokenizer(p->m, SYN_TGT), target);
}

/* Shows one line. A line that is too long is counted and left out; of lm its beginning is shown. */
static void plot_line(plot *p, syn_text source, syn_text target, token_row rows[2]) {
  int most = syn_model_config(p->m)->max_len, longest, k, *ids[2], counts[2];
  plot_rows(p, source, target, rows);
  longest = larger(rows[0].count, rows[1].count);
  if (longest > most) p->cut++;
  if (longest > most && rows[0].count) return;
  for (k = 0; k < 2; k++) {
    ids[k] = rows[k].ids;
    counts[k] = rows[k].count < most ? rows[k].count : most;
  }
  if (longest) plot_sentence(p, ids, counts);
}

/* Reads the sentences; none without --data. lm: each line of the text is a target. */
static pairs plot_pairs(const plot *p) {
  static const char *const names[] = {"data", "src", "tgt"};
  pairs pair;
  if (p->of != LM) {
    pairs_read(&pair, p->of, p->a, names);
    return pair;
  }
  check_one_file(p->a, "lm");
  memset(&pair, 0, sizeof pair);
  pair.of = LM;
  pair.literal = 1;
  pair.names[0] = opt_text(p->a, "data");
  if (!*pair.names[0]) return pair;
  pair.files[0] = read_lines(pair.names[0]);
  pair.count = pair.files[0].count;
  pair.side[1] = (syn_text *)take(pair.count, sizeof(syn_text));
  memcpy(pair.side[1], pair.files[0].at, pair.count * sizeof(syn_text));
  return pair;
}

static void plot_sentences(plot *p) {
  static const syn_text none = {NULL, 0};
  int wanted = opt_int(p->a, "count"), k;
  pairs pair = plot_pairs(p);
  token_row rows[2];
  size_t i;
  memset(rows, 0, sizeof rows);
  if (!pair.count) return;
  for (k = p->of == LM; k < (p->of < CLASSIFY ? 2 : 1); k++)
    if (!syn_model_tokenizer(p->m, k ? SYN_TGT : SYN_SRC))
      fail(FAILED_JOB, "%s has no tokenizer, so it cannot read text", opt_text(p->a, "model"));
  for (i = 0; i < pair.count && p->shown < wanted; i++)
    if (p->of != LM || pair.side[1][i].size)
      plot_line(p, p->of == LM ? none : pair.side[0][i], first_alternative(&pair, i), rows);
  if (!p->shown)
    fail(FAILED_JOB, "no line of %s fits the model's max_len %d", pair.names[0],
         syn_model_config(p->m)->max_len);
  if (p->cut)
    fprintf(stderr, "syn: %d of %lu lines do not fit the model's max_len %d: %s\n", p->cut,
            (unsigned long)i, syn_model_config(p->m)->max_len,
            p->of == LM ? "only their beginning is shown" : "they are left out");
  pairs_free(&pair);
  for (k = 0; k < 2; k++) free(rows[k].ids), free(rows[k].e.ids);
}

/* Draws a histogram of attention weights for each layer, over all heads and sentences shown, as in
   Figures 2 and 3 of Tay et al. 2021. Heights are logarithms: small weights are by far the most. */
static void plot_seen(plot *p, int layers) {
  static const float range[2] = {0.0f, 1.0f};
  int layer, heads;
  if (!p->shown || !layers) return;
  put_format(&p->page, "<h2>Attention weights</h2>\n<p>All heads and sentences shown above; the "
             "height is log(1 + count).</p>\n<div class=\"grid small\">\n");
  for (layer = 0; layer < layers; layer++) {
    put_format(&p->page, "<figure>");
    put_bars(&p->page, p->seen[layer], p->bins, range, 1);
    put_format(&p->page, "<figcaption>%s", syn_model_attention(p->m, layer, &heads));
    if (p->outside[layer])
      put_format(&p->page, ", %lu outside", (unsigned long)p->outside[layer]);
    put_format(&p->page, "</figcaption></figure>\n");
  }
  put_format(&p->page, "</div>\n");
}

static void plot_write(const plot *p) {
  const char *path = opt_text(p->a, "output");
  FILE *f = fopen(path, "wb");
  size_t put_in;
  if (!f) fail(FAILED_JOB, "cannot write %s: %s", path, strerror(errno));
  put_in = fwrite(p->page.at, 1, p->page.size, f);
  if (fclose(f) || put_in != p->page.size)
    fail(FAILED_JOB, "cannot write %s: %s", path, strerror(errno));
}

static int run_plot(const arguments *a) {
  plot p;
  int layers = 0, heads, i;
  memset(&p, 0, sizeof p);
  p.a = a;
  p.bins = opt_int(a, "bins");
  check_output(a, "output");
  context_open(&p.c, a);
  p.m = syn_model_load(&p.c, opt_text(a, "model"));
  check_file(&p.c, opt_text(a, "model"));
  p.of = task_of(syn_model_config(p.m)->task);
  while (syn_model_attention(p.m, layers, &heads)) layers++;
  p.seen = (size_t **)take((size_t)layers, sizeof *p.seen);
  p.outside = (size_t *)take((size_t)layers, sizeof *p.outside);
  for (i = 0; i < layers; i++) p.seen[i] = (size_t *)take((size_t)p.bins, sizeof **p.seen);
  plot_title(&p);
  plot_curve(&p);
  plot_sentences(&p);
  plot_seen(&p, layers);
  plot_parameters(&p);
  put(&p.page, plot_script, sizeof plot_script - 1);
  plot_write(&p);
  for (i = 0; i < layers; i++) free(p.seen[i]);
  free(p.seen);
  free(p.outside);
  free(p.page.at);
  syn_model_free(p.m);
  return 0;
}
