/* syn   the command-line tool of synthesizer.h: train, run and measure models without writing code

   Build:  cc -O2 tools/syn.c -o syn -lm          (-fopenmp for threads)
   Use:    syn help                               every command, every option, every default
           syn --version

   Results go to stdout, everything else to stderr. Exit status: 0 success; 1 a failed job (a
   missing file, files that do not fit together); 2 wrong use (an unknown command or option, a value
   out of range). An error is one line that says what was given and what is wanted. In messages, and
   in results on a terminal, control characters are visible: \x1b, \u202e. Files and pipes get all
   bytes as they are.

   This file holds the tables of options, the list of commands and main. Everything else is in the
   headers below, which are parts of this one program: a header calls only functions of the headers
   included before it. A new command needs a row in `commands`, a table of options, and a function
   that takes the parsed arguments. */

#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* -std=c99 hides clock_gettime and madvise */
#endif
#define SYNTHESIZER_IMPLEMENTATION
#include "../synthesizer.h"

#define TOOL_NAME "syn"
#define TOOL_ENDS
#include "picture.h"
#include "tool.h"

#include <signal.h>

#include "text.h"
#include "options.h"
#include "overlap.h"
#include "signals.h"
#include "data.h"
#include "metrics.h"
#include "cost.h"
#include "cost_table.h"
#include "board.h"
#include "auto.h"
#include "masked.h"
#include "train.h"
#include "reject.h"
#include "run.h"
#include "info.h"
#include "grad.h"
#include "golden.h"
#include "document.h"
#include "trace.h"
#include "embed.h"
#include "quantize.h"
#include "json.h"
#include "token_files.h"
#include "tokenize.h"
#include "import.h"
#include "import_check.h"

/* Only an option that every run needs is required by its table. What depends on other options
   (--data, or --src and --tgt) has no default, and the command checks it. Where 0 means
   automatic or no limit, the help says so. */

/* Options that several commands share. */
#define MODEL_FILE {"model", 'm', READS, NULL, "FILE", "the model"}
#define ISA_OPTION \
  {"isa", 0, TEXT, "", "ISA", \
   "kernels to use: scalar, avx2 ...; not given: the fastest of this machine"}
#define MACHINE_OPTIONS \
  {"threads", 0, INT, "1", "1..64", "more than 1 needs a build with -fopenmp"}, ISA_OPTION
#define WORK_OPTIONS \
  {"threads", 0, INT, "0", "0..64", \
   "0: the physical cores, of a build with -fopenmp; other builds have one, compare 1 a run"}, \
  ISA_OPTION
#define NETWORK_OPTIONS \
  {"preset", 0, TEXT, "", "NAME", \
   "a published network, syn presets lists them; other options given win over its own"}, \
  {"task", 0, CHOICE, "seq2seq", "seq2seq|lm|classify|tag|mlm|regress|regress_rows", \
   "what the network is for; regress: answers with numbers, regress_rows: with numbers for each row " \
   "of features"}, \
  {"features", 0, INT, "0", "0..65536", \
   "a source is rows of so many numbers, with blanks between all of them; 0: text"}, \
  {"encoder", 0, TEXT, "", "TEXT", "layers that read the source; not given: " PLAIN_CHAIN \
   ", --features: linear before it"}, \
  {"decoder", 0, TEXT, "", "TEXT", "layers that write; not given: " SOURCE_CHAIN \
   ", lm: as the encoder"}, \
  {"var", 0, TEXT, "", "NAME=NUMBER", "value of $NAME in the texts of layers; may be repeated"}, \
  {"tie", 0, CHOICE, "auto", "auto|none|out|all", \
   "one table for out and target embedding (all: and source); auto: out where widths allow"}
#define SIZE_OPTIONS(width, heads, length) \
  {"d-model", 0, INT, width, "1..65536", "width"}, \
  {"heads", 0, INT, heads, "1..1024", "heads of attention"}, \
  {"max-len", 0, INT, length, "2..1000000", "longest text in tokens with its end (or begin)"}
#define VOCABULARY_OPTIONS(src, tgt) \
  {"src-vocab", 0, INT, src, "4..16777216", "size of the source vocabulary"}, \
  {"tgt-vocab", 0, INT, tgt, "4..16777216", "size of the target vocabulary"}, \
  {"classes", 0, INT, "3", "2..16777216", "classes or tags"}
#define TOO_LONG "cut|head|tail|middle|empty|stop"
#define TOO_LONG_OPTION \
  {"too-long", 0, CHOICE, "cut", TOO_LONG, \
   "a line that is longer than the model's max-len loses its tail (cut; lm: its head, half of " \
   "max-len stays) or what is named, has an empty output, or ends the run; its number is said"}
#define DECODE_OPTIONS \
  {"beam", 0, INT, "4", "1..1024", "hypotheses kept; 1: greedy"}, \
  {"alpha", 0, NUMBER, "0.6", "0..10", "length penalty of the beam"}, \
  {"max-len", 0, INT, "0", "0..1000000", \
   "longest output in tokens (lm: with the line given); 0: the model's"}, \
  {"batch", 0, INT, "32", "1..65536", "lines decoded together"}, \
  TOO_LONG_OPTION, \
  {"type", 0, CHOICE, "f32", "f32|i8", "of the matrix products while decoding; i8 is faster"}

static const option train_options[] = {
    NETWORK_OPTIONS,
    SIZE_OPTIONS("128", "4", "128"),
    {"data", 0, READS, "", "FILE",
     "TSV: source TAB target [TAB another accepted one ...], of which training uses the first; "
     "classify: label TAB text [TAB text]; tag: text TAB a tag for each token; lm: plain text; mlm: a text a line. "
     "With --features the text is numbers; regress, regress_rows: numbers TAB targets. It may be safetensors: "
     "x [rows, N], lengths [sources], y (a class of each source, tag: of each row, regress: numbers)"},
    {"src", 0, READS, "", "FILE", "source lines, instead of --data"},
    {"tgt", 0, READS, "", "FILE",
     "target lines; a TAB is followed by another accepted target, but labels and tags have one"},
    {"valid", 0, READS, "", "FILE", "as --data, for validation"},
    {"valid-src", 0, READS, "", "FILE", "as --src"},
    {"valid-tgt", 0, READS, "", "FILE", "as --tgt"},
    {"hold-back", 0, NUMBER, "0", "0..0.5",
     "without --valid: validates on this share of --data, which is not trained on"},
    ALTERNATIVES_OPTION,
    {"too-long", 0, CHOICE, "cut", TOO_LONG,
     "a pair longer than max-len loses what is named (tag: tail alone); cut: of classify its tail, "
     "of other tasks, and empty: it is left out; stop: ends there. How many is said"},
    {"span-corruption", 0, FLAG, "off", "",
     "seq2seq: --data is plain text; the model learns to fill in hidden spans of its lines (T5), "
     "other spans in every epoch"},
    {"init", 0, READS, "", "MODEL",
     "starts from its weights, where they fit; its network and tokenizers are the defaults"},
    {"init-other-task", 0, FLAG, "off", "", "--init may be a model of another task"},
    {"output", 'o', WRITES, NULL, "FILE",
     "the model to write. Where the loss rose it is written, too, and the exit status is 1"},
    {"dropout", 0, NUMBER, "0.1", "0..1", "rate, below 1"},
    {"label-smoothing", 0, NUMBER, "0.1", "0..1",
     "share of the target spread over all others, below 1"},
    {"tokenizer", 0, TEXT, "", "char|byte|space|line|bpe:SIZE|unigram:SIZE",
     "of both sides; not given: bpe:4000, tag: space. space: words, between runs of white space; "
     "line: each line is one token"},
    {"src-tokenizer", 0, TEXT, "", "TOKENIZER", "of the source; not given: --tokenizer"},
    {"tgt-tokenizer", 0, TEXT, "", "TOKENIZER",
     "of the target; not given: --tokenizer; classify: a label is one class"},
    {"lowercase", 0, FLAG, "off", "",
     "sources in lower case; lm, --span-corruption: the text. The metrics have a --lowercase of "
     "their own, see eval"},
    {"lowercase-targets", 0, FLAG, "off", "", "seq2seq: targets in lower case"},
    {"nfc", 0, FLAG, "off", "",
     "composes letters and their marks on both sides (Unicode's NFC): a letter has one spelling"},
    {"batch", 0, INT, "2048", "2..16777216", "tokens: sentences times the longest padded side"},
    {"accumulate", 0, INT, "1", "1..10000", "batches per step"},
    {"steps", 0, INT, "0", "0..", "ends after this many steps; 0: no limit"},
    {"epochs", 0, NUMBER, "0", "0..",
     "ends after this many passes over the data; 10 without steps, epochs and minutes"},
    {"minutes", 0, NUMBER, "0", "0..",
     "ends after this time since the program began (compare: since each run began). Without "
     "--steps and --epochs, train chooses all that is not given"},
    {"board", 0, TEXT, "", "NAME",
     "the model must fit this board, as info --board counts; --minutes chooses one that does. Another "
     "network is refused"},
    {"latency-ms", 0, NUMBER, "0", "0..",
     "with --board: at most so long for an output of half of --max-len from a source of half of it, at "
     "one instruction a cycle; 0: any time"},
    {"optimizer", 0, CHOICE, "muon", "adam|adamw|adafactor|sgd|muon", "rule of an update"},
    {"weight-decay", 0, NUMBER, "0", "0..",
     "times the learning rate; not given: adamw 0.01, muon 0.1, adafactor and sgd 0"},
    {"freeze", 0, TEXT, "", "NAMES",
     "tensors that are not trained; * matches any part of a name, | separates names"},
    {"lora", 0, INT, "0", "0..",
     "rank of LoRA: matrices W of layers stay, B A of this rank is trained and added to them (with "
     "--init); the saved model has the sum. 0: all is trained"},
    {"lr", 0, NUMBER, "0", "0..", "learning rate; 0: 0.002, muon 0.01, sgd 0.1, the factor 1 of noam, "
     "adafactor: automatic, relative to each tensor"},
    {"schedule", 0, CHOICE, "linear", "noam|rsqrt|linear|cosine|constant|plateau",
     "of the learning rate"},
    {"patience", 0, INT, "3", "1..",
     "plateau: validations without progress before the learning rate is lowered"},
    {"factor", 0, NUMBER, "0.5", "0.001..0.999", "plateau: what the learning rate is lowered to, times "
     "itself; Domhan 2018: --patience 8 --factor 0.7"},
    {"warmup", 0, INT, "-1", "-1..",
     "steps in which the learning rate rises; -1: a tenth of the run, at most 500"},
    {"clip", 0, NUMBER, "0", "0..", "gradient clipping: its largest norm; 0: off"},
    {"many-classes", 0, FLAG, "off", "",
     "classify: as many labels as the data have, even where nearly every line has its own"},
    {"average", 0, INT, "1", "1..1000",
     "the model is the mean of this many best checkpoints (without validation: of the newest)"},
    {"ema", 0, NUMBER, "0", "0..1",
     "validates and writes the moving average of the weights, over about this share of the steps "
     "so far; 0.1 suits --schedule rsqrt; 0: off"},
    {"stop-after", 0, INT, "0", "0..",
     "ends after this many validations without progress; 0: never"},
    {"checkpoint", 0, WRITES, "", "FILE",
     "--resume continues from it; Ctrl-C writes it, then the model"},
    {"every", 0, INT, "500", "1..", "steps between checkpoints, with a validation each"},
    {"ignore-save-errors", 0, FLAG, "off", "",
     "continues when a checkpoint cannot be written; off: ends at once, with status 1"},
    {"resume", 0, FLAG, "off", "", "continues from --checkpoint, or starts if there is none yet"},
    {"seed", 0, BIG, "1", "", "of initial weights, order of the data and dropout"},
    WORK_OPTIONS,
    {"json", 0, FLAG, "off", "", "progress as one JSON object a line, on stdout"},
    END_OF_OPTIONS};

static const option run_options[] = {
    MODEL_FILE,
    DECODE_OPTIONS,
    {"nbest", 0, INT, "1", "1..1024",
     "hypotheses printed; above 1 as: line TAB score TAB text, one at least of each line read. "
     "Outputs without an end come last, whatever their score"},
    {"temperature", 0, NUMBER, "0", "0..", "of sampling; 0: beam search"},
    {"top-k", 0, INT, "0", "0..", "samples from the k most probable tokens; 0: from all"},
    {"top-p", 0, NUMBER, "1", "0..1",
     "samples from the most probable tokens that first reach this sum; 0: the first alone; 1: from all"},
    {"unknown", 0, FLAG, "off", "", "outputs may hold the unknown token, as U+FFFD"},
    {"seed", 0, BIG, "1", "", "of sampling"},
    {"vectors", 0, CHOICE, "no", "no|mean|first|last",
     "instead of an output the vector of each line: the mean, the first or the last row of the "
     "encoder's output, numbers of nine digits with a blank between them (--json: a list, \"vector\"). "
     "Rows are those of the line's tokens with the end; of bert and its kin with begin and end, in "
     "front of the head, a last ff -> norm. A line without tokens has an empty one"},
    WORK_OPTIONS,
    {"json", 0, FLAG, "off", "", "one JSON object a line"},
    END_OF_OPTIONS};

static const option eval_options[] = {
    MODEL_FILE,
    {"data", 0, READS, "", "FILE", "TSV as for train; lm: plain text"},
    {"src", 0, READS, "", "FILE", "source lines, instead of --data"},
    {"tgt", 0, READS, "", "FILE", "target lines"},
    {"metric", 0, TEXT, "", "LIST",
     "separated by commas: " LOSS_NAMES " " METRIC_NAMES "; regress: " NUMBER_NAMES METRIC_NOTE
     "; not given: ppl,bleu, lm: nats,ppl, mlm: nats,accuracy, classify and tag: accuracy, "
     "regress: mse,mae,r2"},
    {"reject", 0, FLAG, "off", "",
     "instead of metrics: the model in int8, as on a board, refuses outputs with a token below a "
     "threshold (syn_small_reject); how many are accepted, and how many of these are right"},
    {"other", 0, READS, "", "FILE", "lines that should be refused, for --reject"},
    {"units", 0, TEXT, "", "NUMBERS",
     "of a model of features, for --reject: its numbers become integers of these units, see embed"},
    {"span-corruption", 0, FLAG, "off", "",
     "seq2seq: --data is plain text; nats and ppl of the spans that are hidden of its lines (T5), "
     "always the same: those of train --span-corruption --valid"},
    METRIC_OPTIONS,
    DECODE_OPTIONS,
    WORK_OPTIONS,
    END_OF_OPTIONS};

/* compare also has the options of train behind these, but for those it sets itself. */
static const option compare_own[] = {
    {"kinds", 0, TEXT, "", "A,B,...",
     "a row for each attention: a mixture of syn_att (R+V) or a layer (light_conv(k=3)) in place of "
     "every syn_att and mh_dot_self_att, or of every $KIND in the texts of --encoder and --decoder. "
     "NAME: KIND names the row"},
    {"where", 0, CHOICE, "both", "encoder|decoder|both", "side that --kinds changes"},
    {"vary", 0, TEXT, "", "OPTION=A,B,...",
     "a row for each value of any option of train; ; separates where there is one, and a comma in "
     "parentheses never does. encoder=@NAME: the text of that preset; @presets: of all; "
     "encoder=NAME: TEXT names the row, decoder as well. May be "
     "repeated, also beside --kinds: a row for each combination"},
    {"seeds", 0, INT, "3", "1..10000",
     "runs of a row: with --seed and the numbers that follow it. A row is better or worse than the "
     "first at p < 0.05, else undecided at this size; the column seeds wanted says which would decide"},
    {"seed", 0, BIG, "1", "", "of the first run of a row"},
    {"test", 0, READS, "", "FILE", "as --data, to measure the models"},
    {"test-src", 0, READS, "", "FILE", "as --src"},
    {"test-tgt", 0, READS, "", "FILE", "as --tgt"},
    {"metric", 0, TEXT, "", "LIST",
     "as for eval; not given: bleu, lm: nats, classify and tag: accuracy"},
    {"samples", 0, INT, "1000", "0..1000000",
     "of the paired bootstrap over test sentences (Koehn 2004; two-sided) and of the mixed interval, "
     "over seeds and sentences, beside the t test over seeds; 0: neither"},
    {"jobs", 0, INT, "0", "0..1024",
     "runs at a time; 0: as many as the cores hold with --threads each"},
    {"folder", 'o', WRITES, "compare", "DIR",
     "for models, logs and results; the same command goes on there. More --seeds, other metrics and "
     "formats are the same command"},
    {"format", 0, CHOICE, "text", "text|markdown|tsv|json", "of the table"},
    {"json", 0, FLAG, "off", "", "as --format json: one JSON object a line"},
    {"tsv", 0, FLAG, "off", "", "as --format tsv"},
    {"page", 0, WRITES, "", "FILE", "a page with the table and the loss curves, HTML"},
    {"init", 0, READS, "", "MODEL",
     "as for train, or the folder of a comparison of the same rows: each run starts from the model of "
     "its row and seed there"},
    {"beam", 0, INT, "4", "1..1024", "as for eval"},
    {"alpha", 0, NUMBER, "0.6", "0..10", "as for eval"},
    {"type", 0, CHOICE, "f32", "f32|i8", "as for eval"},
    {"too-long", 0, CHOICE, "cut", TOO_LONG, "as for eval, and for train"},
    {"tokenize", 0, CHOICE, "13a", TOKENIZE_NAMES, "as for eval"},
    {"rouge-tokenize", 0, CHOICE, "ascii", "ascii|unicode", "as for eval"},
    {"sentences", 0, ANY, "<q>", "MARK", "as for eval"},
    {"positive", 0, TEXT, "", "CLASS", "as for eval"},
    {"synonyms", 0, READS, "", "FILE", "as for eval"},
    {"vectors", 0, READS, "", "FILE", "as for eval"},
    END_OF_OPTIONS};
static option compare_options[COUNT(compare_own) + COUNT(train_options)];

#include "statistics.h"

#include "compare.h"
#include "export_tokens.h"
#include "export.h"

/* Fills compare_options: a constant table cannot be made of two. */
static void fill_compare_options(void) {
  option *to = compare_options;
  const option *o;
  size_t i;
  for (i = 0; compare_own[i].name; i++) *to++ = compare_own[i];
  for (o = train_options; o->name; o++)
    if (passed_option(o->name) && strcmp(o->name, "init") != 0 && strcmp(o->name, "too-long") != 0)
      *to++ = *o;
  *to = *o; /* the end */
}

static const option info_options[] = {
    {"model", 'm', READS, "", "FILE", "the model; without it, options describe the network"},
    NETWORK_OPTIONS,
    SIZE_OPTIONS("128", "4", "128"),
    VOCABULARY_OPTIONS("4000", "4000"),
    {"length", 0, INT, "0", "0..1000000", "costs are for a sentence of so many tokens; 0: max-len"},
    {"batch", 0, INT, "2048", "2..16777216", "tokens of a training step"},
    {"beam", 0, INT, "4", "1..1024", "hypotheses while decoding"},
    {"board", 0, TEXT, "", "NAME", "flash, RAM, stack, tokens a second of the small model there"},
    {"best", 0, INT, "0", "0..65535", "with --board: scores of so many candidates of a token"},
    {"type", 0, CHOICE, "auto", "auto|i8|i4", "of its weights; auto: i4 where the file has 4 bits"},
    MACHINE_OPTIONS,
    {"json", 0, FLAG, "off", "", "one JSON object a line"},
    END_OF_OPTIONS};

static const option presets_options[] = {
    {"json", 0, FLAG, "off", "", "one JSON object a line, texts included"}, END_OF_OPTIONS};

static const option golden_options[] = {MACHINE_OPTIONS, END_OF_OPTIONS};

static const option grad_options[] = {
    NETWORK_OPTIONS,
    SIZE_OPTIONS("16", "4", "12"),
    VOCABULARY_OPTIONS("11", "11"),
    {"seed", 0, BIG, "1", "", "of weights and inputs"},
    MACHINE_OPTIONS,
    END_OF_OPTIONS};

static const option trace_options[] = {
    {"model", 'm', READS, "", "FILE", "the model; without it, options describe the network"},
    {"output", 'o', WRITES, NULL, "FILE", "the page to write, HTML"},
    {"input", 0, ANY, "", "TEXT", "the text that the model reads"},
    {"target", 0, ANY, "", "TEXT",
     "what it is to answer, for loss and gradients; not given: what it answers (seq2seq)"},
    {"input2", 0, ANY, "", "TEXT", "a second text beside the first"},
    {"target2", 0, ANY, "", "TEXT", "what it is to answer to that"},
    {"compare", 0, READS, "", "FILE", "a second model beside the first"},
    {"document", 0, READS, "", "FILE",
     "what a program of yours wrote with syn_trace; may be repeated"},
    {"data", 0, READS, "", "FILE", "as for train: its first lines, beside --input or without it"},
    {"src", 0, READS, "", "FILE", "source lines, instead of --data"},
    {"tgt", 0, READS, "", "FILE", "target lines"},
    ALTERNATIVES_OPTION,
    {"count", 0, INT, "1", "1..1000", "lines of --data"},
    {"log", 0, READS, "", "FILE", "what train printed, with or without --json: the loss curve"},
    {"values", 0, INT, "32768", "1..", "larger values are written as a histogram"},
    {"weights", 0, INT, "2048", "1..", "likewise larger parameters; not given: more in 1 MB"},
    {"pgm", 0, TEXT, "", "DIR", "also writes each map as DIR/SENTENCE.LAYER.HEAD.pgm"},
    {"svg", 0, TEXT, "", "DIR", "likewise as .svg, in 17 levels of gray"},
    {"cell", 0, INT, "8", "1..64", "pixels of a weight in these"},
    NETWORK_OPTIONS,
    SIZE_OPTIONS("128", "4", "128"),
    VOCABULARY_OPTIONS("4000", "4000"),
    MACHINE_OPTIONS,
    END_OF_OPTIONS};

static const option quantize_options[] = {
    MODEL_FILE,
    {"output", 'o', TEXT, NULL, "FILE", "the model to write; it may be the same file"},
    {"type", 0, CHOICE, "i8", "f32|f16|bf16|i8|i4",
     "of matrices, embeddings and tables; i8 has a scale for each row, i4 one for each 32 columns, "
     "too. Biases and gains stay f32"},
    MACHINE_OPTIONS,
    END_OF_OPTIONS};

static const option export_options[] = {
    MODEL_FILE,
    {"output", 'o', TEXT, NULL, "PATH", "the folder of hf, the file of gguf"},
    {"format", 0, CHOICE, "hf", "hf|gguf",
     "hf: a folder of Hugging Face; gguf: a file of llama.cpp. A model trained here wants --freeze out.b"},
    MACHINE_OPTIONS,
    END_OF_OPTIONS};

static const option import_options[] = {
    {"output", 'o', WRITES, NULL, "FILE", "the model to write"},
    {"tokenizer", 0, READS, "", "PATH", "a file or folder; not given: what lies beside the checkpoint"},
    {"max-len", 0, INT, "0", "0..1000000",
     "longest text in tokens; 0: that of the checkpoint, at most 4096 where no table limits it"},
    {"map", 0, READS, "", "FILE",
     "of named arrays (.npz, .safetensors), with the network of the options below: a line for each "
     "parameter, OURS THEIRS, and of the tokens: = source padding=0 unknown=1 begin=2 end=3"},
    {"task", 0, CHOICE, "seq2seq", "seq2seq|lm|classify|tag", "with --map"},
    {"encoder", 0, TEXT, "", "TEXT", "with --map"},
    {"decoder", 0, TEXT, "", "TEXT", "with --map"},
    {"d-model", 0, INT, "64", "1..65536", "with --map"},
    {"heads", 0, INT, "4", "1..1024", "with --map"},
    {"tie", 0, CHOICE, "auto", "auto|none|out|all", "with --map"},
    {"check", 0, READS, "", "FILE", "answers of the other program, JSON, to compare with"},
    MACHINE_OPTIONS,
    END_OF_OPTIONS};

static const option embed_options[] = {
    {"model", 'm', READS, NULL, "FILE", "the model"},
    {"output", 'o', WRITES, NULL, "FILE", "the C header that is written"},
    {"format", 0, CHOICE, "c", "c|bin",
     "bin: the bytes of the array, for an update over the air or a flash of its own"},
    {"name", 0, TEXT, "", "NAME",
     "of the array: NAME_model; not given: from the name of the file, without _model"},
    {"type", 0, CHOICE, "auto", "auto|i8|i4",
     "of weights; i4: half the bytes, a scale for each 32; auto: i4 where the file has 4 bits"},
    {"layout", 0, CHOICE, "smlad", "smlad|mve|rows|file",
     "order of i8 weights for Cortex-M4, M7, M33, PCs; M55, M85; row-major: all run everywhere. "
     "file: the bytes of the model file, for syn_model_view; then the options below are not used"},
    {"tokenizers", 0, CHOICE, "no", "no|yes", "with the tokenizers, to read and write text"},
    {"units", 0, TEXT, "", "NUMBERS",
     "of a model of features: what 1 of the integers of syn_small_feed means in the numbers of the "
     "training; one number, or one for each feature with commas between; not given: 1"},
    {"source-len", 0, INT, "0", "0..65535",
     "tokens or rows of the longest source; 0: the model's max-len"},
    {"max-len", 0, INT, "0", "0..65535", "tokens of the longest output; 0: the model's max-len"},
    {"beam", 0, INT, "1", "1..16", "hypotheses that NAME_RAM has room for"},
    {"sampling", 0, CHOICE, "no", "no|yes", "NAME_RAM has room for sampling"},
    {"top-k", 0, INT, "0", "0..65535", "candidates of sampling; 0: the vocabulary"},
    {"best", 0, INT, "0", "0..65535",
     "NAME_RAM has room for that many candidates of syn_small_score, and for syn_small_reject"},
    MACHINE_OPTIONS,
    END_OF_OPTIONS};

static const option tokenize_options[] = {
    {"tokenizer", 0, READS, "", "PATH",
     "tokenizer.json, a model of SentencePiece, vocab.json with merges.txt, encoder.json with vocab.bpe, "
     "vocab.txt, tokenizer.bin of llama2.c, or the folder that holds one"},
    {"vocab", 0, READS, "", "FILE",
     "the numbers of the tokens of a model of SentencePiece: a vocab.json of Marian"},
    {"model", 'm', READS, "", "FILE", "instead: a model that has a tokenizer"},
    {"side", 0, CHOICE, "target", "source|target",
     "whose tokenizer of the model it is; target: the source's where the model has no other"},
    {"ids", 0, FLAG, "off", "", "prints numbers, those of the tokenizer's own file, instead of names"},
    {"back", 0, FLAG, "off", "", "reads such numbers and prints the text"},
    {"check", 0, READS, "", "FILE",
     "compares with answers, a JSON object a line with \"text\" and any of \"ids\", \"pieces\", "
     "\"decoded\"; a line each that fails, then N passed, N failed"},
    END_OF_OPTIONS};

static const command_row commands[] = {
    {"train", "", 0, 0, train_options, run_train, "trains from text files and writes a model"},
    {"run", "[FILE]", 0, 1, run_options, run_run,
     "one output line per input line; a line end within an output is written as a blank, with "
     "--json as \\n"},
    {"eval", "", 0, 0, eval_options, run_eval, "metrics of a model on a file"},
    {"score", "HYP REF", 2, 2, score_options, run_score, "metrics of two text files, no model"},
    {"compare", "", 0, 0, compare_options, run_compare,
     "trains variants of a network with several seeds, tests which is better; goes on when started "
     "again"},
    {"info", "", 0, 0, info_options, run_info, "parameters, multiply-adds and memory of a model"},
    {"presets", "[NAME...]", 0, -1, presets_options, run_presets,
     "the networks of the papers: sizes and sources; with names: their texts too"},
    {"golden", "FILE...", 1, -1, golden_options, run_golden, "checks golden files"},
    {"grad", "", 0, 0, grad_options, run_grad, "gradient check of a network, per parameter"},
    {"quantize", "", 0, 0, quantize_options, run_quantize,
     "a model file with smaller weights, read like any other"},
    {"import", "PATH", 1, 1, import_options, run_import,
     "a checkpoint of another program as a model file: a folder of Hugging Face (gpt2, llama, "
     "mistral, qwen2, gemma, t5, marian, bert, distilbert, roberta, albert), GGUF, llama2.c, "
     "CTranslate2, arrays of NumPy"},
    {"export", "", 0, 0, export_options, run_export,
     "a model for other programs, where its network is that of gpt2, llama, mistral, qwen2, bert, "
     "albert, t5 or marian: a folder of Hugging Face, or GGUF, with its tokenizer"},
    {"embed", "", 0, 0, embed_options, run_embed, "a model as a constant C array"},
    {"tokenize", "[FILE]", 0, 1, tokenize_options, run_tokenize,
     "lines of text to the tokens of a published model, or of a model file, and back"},
    {"trace", "", 0, 0, trace_options, run_trace,
     "one page of a run: network, values, gradients, attention, loss; also of a text alone"},
};

/* Exits, with the nearest name, when there is no such command. */
static const command_row *find_command(const char *name) {
  nearest near = {NULL, 0};
  size_t i;
  nearest_try(&near, syn_text_of(name), "help");
  for (i = 0; i < COUNT(commands); i++) {
    if (strcmp(name, commands[i].name) == 0) return &commands[i];
    nearest_try(&near, syn_text_of(name), commands[i].name);
  }
  fail(WRONG_USE, "no command %.*s; the nearest is %s (syn help lists all)",
       short_size(syn_text_of(name)), name, near.name);
  return NULL;
}

/* `name` null: all commands with all their options. */
static int print_help(const char *name) {
  size_t i;
  if (name) return print_command(find_command(name)), 0;
  printf("syn %s, the command-line tool of synthesizer.h\n\n", SYN_VERSION);
  for (i = 0; i < COUNT(commands); i++)
    printf("  syn %-9s %s\n", commands[i].name, commands[i].help);
  printf("\nA value follows its option, --name value or --name=value; the last one given "
         "holds:\nof --data a --data b only b is read.\n"
         "Exit status: 0 success, 1 a failed job, 2 wrong use.\n"
         "Messages, and results on a terminal, show control characters as \\x1b or \\u202e.\n");
  for (i = 0; i < COUNT(commands); i++) {
    printf("\n");
    print_command(&commands[i]);
  }
  return 0;
}

static int is_help(const char *s) {
  return strcmp(s, "help") == 0 || strcmp(s, "--help") == 0 || strcmp(s, "-h") == 0;
}

static int run_command(const command_row *c, int argc, char **argv) {
  arguments a;
  int status = 0;
  a = parse(c, argc, argv);
  if (!a.help) preset_apply(&a);
  if (a.help) print_command(c);
  else status = c->run(&a);
  arguments_free(&a);
  return status;
}

/* Results that cannot be written are a failed job: a full disk must not look like success. */
int main(int argc, char **argv) {
  int status;
#ifdef SIGXFSZ
  signal(SIGXFSZ, SIG_IGN); /* so a limit on file sizes is an error like a full disk */
#endif
  argv = utf8_arguments(&argc, argv);
  fill_compare_options();
  if (argc < 2) fail(WRONG_USE, "no command given, one is wanted: syn help lists them");
  if (!strcmp(argv[1], "--version")) status = printf("syn %s\n", SYN_VERSION) < 0;
  else if (is_help(argv[1])) status = print_help(argc > 2 ? argv[2] : NULL);
  else status = run_command(find_command(argv[1]), argc - 2, argv + 2);
  if (fflush(stdout) || ferror(stdout))
    fail(FAILED_JOB, "cannot write the results: %s", strerror(errno));
  return status;
}
