/* 10   A language model of real text: tokens, validation, overfitting

   You will be able to train a small language model on a text of your own, and to judge it.

   Idea: letters make long sequences; words make large tables, and a new name is unknown. Byte pair
   encoding (BPE) lies between. Begin with the characters; again and again the pair of neighbours
   that is most frequent in the words becomes a new token. Frequent words become one token, rare
   ones stay in pieces, nothing is unknown. A word holds the space before it.
   The text is the beginning of "Pride and Prejudice" (Jane Austen, 1813). The network learns from
   nine tenths of it. The last tenth only measures it now and then (validation). After some time the
   first loss still falls and the second rises: the network learns the book by heart instead of
   English. This is overfitting. Early stopping keeps the weights of the best validation.

     perplexity = e^loss                  as uncertain as a choice among so many equal tokens
     loss a letter = loss / letters of a token          compares models with different tokens

   Compile, run:  make -C examples/course lesson N=10   (ten seconds; the first time half a minute)
   Alone:         cc -O2 examples/course/10_language_model.c -o novel -lm
                  ./novel examples/course/austen.txt   (or a text of your own)
   Expected:      examples/course/expected/10.txt */
#include "course.h"
enum { TOKENS = 400, PIECE = 40, BYTES = 100000, WORDS = 20000, WINDOW = 64, EVERY = 100 };

typedef struct word {
  int times, size, id[PIECE]; /* how often it occurs; its tokens */
} word;
static char piece[TOKENS][PIECE]; /* the text of each token; those of the library begin at 4 */
static word distinct[WORDS];      /* the different words */
static int pairs[TOKENS][TOKENS], tokens, words; /* pairs: how often token i stands before j */

static int by_text(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}
/* The different words, each with a space before it, and their characters as tokens. */
static void read_words(char *text) {
  static char *all[WORDS];
  int count = 0, token_of[256] = {0};
  for (char *w = strtok(text, " \n"); w && count < WORDS; w = strtok(NULL, " \n")) all[count++] = w;
  for (int i = 0; i < count; i++)
    for (char *ch = all[i]; *ch; ch++) token_of[(unsigned char)*ch] = 1;
  token_of[' '] = 1;
  for (int ch = 0; ch < 256; ch++)
    if (token_of[ch]) piece[tokens][0] = (char)ch, token_of[ch] = tokens++;
  qsort(all, (size_t)count, sizeof *all, by_text); /* equal words become neighbours */
  for (int i = 0; i < count; i++) {
    word *w = &distinct[words];
    w->times++;
    if (i + 1 < count && !strcmp(all[i], all[i + 1])) continue;
    words++, w->id[w->size++] = token_of[' '];
    for (char *ch = all[i]; *ch && w->size + 1 < PIECE; ch++)
      w->id[w->size++] = token_of[(unsigned char)*ch];
  }
}
/* Is the pair a b more frequent than the other, or as frequent and before it in the alphabet? */
static int is_better(int a, int b, int than_a, int than_b) {
  int order = strcmp(piece[a], piece[than_a]);
  if (pairs[a][b] != pairs[than_a][than_b]) return pairs[a][b] > pairs[than_a][than_b];
  return order ? order < 0 : strcmp(piece[b], piece[than_b]) < 0;
}
/* The most frequent pair becomes a token, in all words. */
static void merge(void) {
  int left = 0, right = 0;
  memset(pairs, 0, sizeof pairs);
  for (word *w = distinct; w < distinct + words; w++)
    for (int i = 0; i + 1 < w->size; i++) pairs[w->id[i]][w->id[i + 1]] += w->times;
  for (int a = 0; a < tokens; a++)
    for (int b = 0; b < tokens; b++)
      if (is_better(a, b, left, right)) left = a, right = b;
  strcat(strcpy(piece[tokens], piece[left]), piece[right]);
  for (word *w = distinct; w < distinct + words; w++) {
    int size = 0;
    for (int i = 0; i < w->size; i++)
      if (i + 1 < w->size && w->id[i] == left && w->id[i + 1] == right) w->id[size++] = tokens, i++;
      else w->id[size++] = w->id[i];
    w->size = size;
  }
  tokens++;
}
static double letters, sum; /* letters of a token; summed losses since the last line */
static int report(void *user, const syn_trainer *t, float loss, int validated) {
  const syn_train_state *state = syn_trainer_state(t);
  double valid = (double)state->valid;
  (void)user, sum += (double)loss;
  if (!validated) return 0;
  printf("%6d%10.2f%12.2f%12.1f%15.3f%s\n", (int)state->step, sum / EVERY, valid, exp(valid),
         valid / letters, state->valid > state->best ? "" : "   the best so far");
  return sum = 0, 0;
}
static int show_piece(void *user, syn_text text) {
  return (void)user, printf("%.*s", (int)text.size, text.at) < 0;
}
/* Encodes the lines, trains on nine tenths of the tokens, writes a text. */
static int train(syn_context *c, syn_tokenizer *bpe, const syn_text *lines, int count) {
  static int ids[BYTES];
  int used = 0;
  syn_data *data = syn_data_new(c), *valid = syn_data_new(c);
  syn_config config = {.task = "lm", .d_model = 64, .heads = 4, .max_len = WINDOW,
                       .decoder = "pos -> repeat(2, res_nd(syn_att(V)) -> res_nd(ffl)) -> norm",
                       .tgt_vocab = syn_tokenizer_size(bpe)};
  syn_train_config how = {.schedule = "constant", .lr = 0.003f, .warmup = 50, .steps = 2000,
                          .batch_tokens = 1024, .every = EVERY, .average = 1, .stop_after = 3};
  syn_decode_config draw = {.temperature = 0.7f, .seed = 1};
  syn_model *m = syn_model_new(c, &config);
  for (int i = 0; i < count; i++) {
    used += syn_tokenizer_encode(bpe, lines[i], ids + used, BYTES - used);
    ids[used++] = SYN_END; /* behind each paragraph */
  }
  syn_data_add_windows(data, ids, (size_t)(used - used / 10), WINDOW - 1, WINDOW - 1);
  syn_data_add_windows(valid, ids + used - used / 10, (size_t)(used / 10), WINDOW - 1, WINDOW - 1);
  letters /= used;
  printf("\n%d tokens of %.2f letters; %d of them only for validation\n"
         "update  training  validation  perplexity  loss a letter\n", used, letters, used / 10);
  syn_trainer *t = syn_trainer_new(c, m, &how);
  syn_model_set_tokenizers(m, NULL, bpe);
  if (syn_trainer_run(t, data, valid, report, NULL) || !syn_trainer_average(t)) return 1;
  printf("\nthe best weights write: Mr. Darcy");
  syn_decoder_run_text(syn_decoder_new(c, m, &draw), syn_text_of(""), syn_text_of("Mr. Darcy"),
                       show_piece, NULL);
  return printf("\n") < 0;
}
int main(int argc, char **argv) {
  static char text[BYTES + 1], copy[BYTES + 1];
  static syn_text lines[WORDS];
  FILE *f = fopen(argc > 1 ? argv[1] : "austen.txt", "rb");
  size_t size = f ? fread(text, 1, BYTES, f) : 0, begin = 0;
  int count = 0, equal = 0;
  syn_context c;
  if (!f || syn_context_init(&c, NULL)) return puts("the text cannot be read"), 1;
  memcpy(copy, text, size), letters = (double)size;
  for (size_t i = 0; i < size && count < WORDS; i++) {
    if (text[i] != '\n') continue;
    lines[count].at = text + begin, lines[count++].size = i - begin;
    begin = i + 1;
  }
  syn_tokenizer *bpe = syn_tokenizer_learn(&c, "bpe:404", 0, lines, (size_t)count);
  read_words(copy);
  printf("%d different words, %d characters; the first merges:", words, tokens);
  for (int first = tokens; tokens < TOKENS;) {
    merge();
    if (tokens <= first + 12) printf(" \"%s\"", piece[tokens - 1]);
  }
  for (int i = 0; i < TOKENS; i++) { /* the ids of the library begin at SYN_FIRST_TOKEN */
    syn_text theirs = syn_tokenizer_piece(bpe, i + SYN_FIRST_TOKEN, 0);
    equal += theirs.size == strlen(piece[i]) && !memcmp(theirs.at, piece[i], theirs.size);
  }
  printf("\n%d tokens, %d of them equal to those of the library\n", TOKENS, equal);
  return equal < TOKENS || train(&c, bpe, lines, count) ? puts(c.message), 1 : 0;
}

/* To try: TOKENS = 100 ("bpe:104") and 1000: which has the lower perplexity, which the lower loss a
   letter? Why are these two questions? .dropout = 0.1f and 0.5f behind .heads: when does the
   validation loss begin to rise? A temperature of 0.1 and of 2. Half of the text. */
