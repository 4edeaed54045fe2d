/* 03   The tape itself, in a hundred lines

   You will be able to write an automatic differentiation in a hundred lines, and to say why it
   walks backwards and adds up.

   Idea: each operation writes itself down: its kind, the numbers of its operands, its result. Every
   operand stands before the operation. So the list can be walked backwards: when an entry's turn
   comes, all that read it have been seen, and its gradient dy is complete. Each operation then adds
   its part to the gradients of its operands (the chain rule):

     y = a + b    da += dy           db += dy
     y = a b      da += dy b         db += dy a           number by number
     y = relu(a)  da += dy where a > 0
     y = a b      dA += dY B^T       dB += A^T dY         matrices: a_ik meets b_kj in y_ij

   `+=`, because an operand may be read twice: then both parts count. One walk gives all gradients;
   trying each weight, as in lesson 2, takes two forward passes for each of them.
   The second part learns XOR on this tape and on the library's. Both add up products in the same
   order, each rounded once (fmaf, see lesson 15), so the loss and all gradients have the same bits.

   Compile, run:  make -C examples/course lesson N=3   (a second; the first time half a minute)
   Alone:         cc -O2 examples/course/03_tape.c -o tape -lm && ./tape
   Expected:      examples/course/expected/03.txt */
#include "course.h"
enum { LEAF, ADD, MUL, RELU, MATMUL }; /* LEAF: numbers that are given, no operation */
enum { ENTRIES = 40, NUMBERS = 1000, EXAMPLES = 4, INPUTS = 2, HIDDEN = 8, STEPS = 300 };

typedef struct entry {
  int op, a, b;      /* the kind; the numbers of its operands on the tape, -1: none */
  int rows, columns; /* of its result */
  float *x, *dx;     /* the result, and the gradient of the loss with respect to it */
} entry;
static entry tape[ENTRIES];
static float memory[NUMBERS]; /* of all results and gradients */
static int count, used;       /* entries and numbers so far */
/* A new entry; returns its number. */
static int record(int op, int a, int b, int rows, int columns) {
  float *x = memory + used;
  tape[count] = (entry){op, a, b, rows, columns, x, x + rows * columns};
  used += 2 * rows * columns;
  return count++;
}
static void compute(const entry *y) {
  const entry *a = &tape[y->a], *b = y->b < 0 ? a : &tape[y->b];
  for (int i = 0; i < y->rows * y->columns; i++) {
    const float *row = a->x + i / y->columns * a->columns, *column = b->x + i % y->columns;
    if (y->op == ADD) y->x[i] = a->x[i] + b->x[i];
    if (y->op == MUL) y->x[i] = a->x[i] * b->x[i];
    if (y->op == RELU) y->x[i] = a->x[i] > 0 ? a->x[i] : 0;
    if (y->op == MATMUL) y->x[i] = 0;
    for (int k = 0; y->op == MATMUL && k < a->columns; k++)
      y->x[i] = fmaf(row[k], column[k * b->columns], y->x[i]);
  }
}
static int leaf(int rows, int columns, const float *x) {
  int i = record(LEAF, -1, -1, rows, columns);
  memcpy(tape[i].x, x, (size_t)(rows * columns) * sizeof *x);
  return i;
}
static int operation(int op, int a, int b) {
  int i = record(op, a, b, tape[a].rows, op == MATMUL ? tape[b].columns : tape[a].columns);
  compute(&tape[i]);
  return i;
}

/* dA += dY B^T, dB += A^T dY */
static void add_products(const entry *a, const entry *b, const entry *y) {
  for (int i = 0; i < a->rows * a->columns; i++)
    for (int r = i / a->columns, k = i % a->columns, j = 0; j < y->columns; j++)
      a->dx[i] = fmaf(y->dx[r * y->columns + j], b->x[k * b->columns + j], a->dx[i]);
  for (int i = 0; i < b->rows * b->columns; i++)
    for (int k = i / b->columns, j = i % b->columns, r = 0; r < a->rows; r++)
      b->dx[i] = fmaf(a->x[r * a->columns + k], y->dx[r * y->columns + j], b->dx[i]);
}
/* Adds to the gradients of the operands what follows from that of the result. */
static void add_gradients(const entry *y) {
  const entry *a = &tape[y->a], *b = y->b < 0 ? a : &tape[y->b];
  if (y->op == MATMUL) add_products(a, b, y);
  for (int i = 0; y->op != MATMUL && i < y->rows * y->columns; i++) {
    if (y->op == RELU) a->dx[i] += a->x[i] > 0 ? y->dx[i] : 0;
    if (y->op == ADD) a->dx[i] += y->dx[i];
    if (y->op == ADD) b->dx[i] += y->dx[i];
    if (y->op == MUL) a->dx[i] += y->dx[i] * b->x[i];
    if (y->op == MUL) b->dx[i] += y->dx[i] * a->x[i];
  }
}
static void backward(int loss) {
  for (int i = 0; i < count; i++)
    for (int k = 0; k < tape[i].rows * tape[i].columns; k++) tape[i].dx[k] = 0;
  tape[loss].dx[0] = 1; /* d loss / d loss */
  for (int i = loss; i >= 0; i--)
    if (tape[i].op != LEAF) add_gradients(&tape[i]);
}

static void scalars(void) {
  static const char *const names[] = {"leaf", "add", "mul", "relu", "matmul"};
  static const float W[] = {3}, B[] = {5};
  int w = leaf(1, 1, W), b = leaf(1, 1, B), ww = operation(MUL, w, w), wb = operation(MUL, w, b);
  backward(operation(ADD, ww, wb));
  printf("y = w w + w b, w = 3, b = 5: d y / d w = 2 w + b = 11, d y / d b = w = 3\n");
  for (int i = 0; i < count; i++)
    printf("%d = %-4s %2d %2d   value %2g   gradient %2g\n", i, names[tape[i].op], tape[i].a,
           tape[i].b, (double)tape[i].x[0], (double)tape[i].dx[0]);
}

/* XOR: error = relu(x W1 + ones b1) W2 + minus, loss = quarter error^2. `ones` gives every row the
   biases, `minus` is minus the right answer, `quarter` takes the mean. */
enum { X, ONES, W1, B1, W2, MINUS, QUARTER, LEAVES };
static int network(syn_tape *t) {
  static const int shape[LEAVES][2] = {{EXAMPLES, INPUTS}, {EXAMPLES, 1}, {INPUTS, HIDDEN},
    {1, HIDDEN}, {HIDDEN, 1}, {EXAMPLES, 1}, {1, EXAMPLES}};
  static float x[LEAVES][INPUTS * HIDDEN] = {{0, 0, 0, 1, 1, 0, 1, 1}, {1, 1, 1, 1}, {0}, {0}, {0},
    {0, -1, -1, 0}, {0.25f, 0.25f, 0.25f, 0.25f}};
  syn_random r = {3};
  syn_tensor *of[LEAVES], *sum, *error, *loss;
  int ours, same = 1;
  for (int i = W1; i <= W2; i++)
    for (int k = 0; k < INPUTS * HIDDEN; k++) x[i][k] = 0.5f * syn_random_normal(&r);
  for (int i = count = used = 0; i < LEAVES; i++) {
    leaf(shape[i][0], shape[i][1], x[i]);
    of[i] = tensor(t, shape[i][0], shape[i][1], x[i]);
  }
  ours = operation(MATMUL, X, W1);
  ours = operation(ADD, ours, operation(MATMUL, ONES, B1));
  ours = operation(ADD, operation(MATMUL, operation(RELU, ours, -1), W2), MINUS);
  ours = operation(MATMUL, QUARTER, operation(MUL, ours, ours));
  sum = syn_add(syn_matmul(of[X], of[W1]), syn_matmul(of[ONES], of[B1]));
  error = syn_add(syn_matmul(syn_act(sum, "relu"), of[W2]), of[MINUS]);
  loss = syn_matmul(of[QUARTER], syn_mul(error, error));
  printf("\nXOR, on two tapes\n");
  for (int step = 0; step <= STEPS && !syn_backward(loss); step++, syn_tape_forward(t)) {
    backward(ours);
    same &= same_bits(tape[ours].x, loss->x, 1);
    for (int i = W1; i <= W2; i++) {
      same &= same_bits(tape[i].dx, of[i]->dx, syn_count(of[i]));
      take_step(of[i], 0.1f);
      for (size_t k = 0; k < syn_count(of[i]); k++) tape[i].x[k] -= 0.1f * tape[i].dx[k];
    }
    if (step % 100 == 0) printf("step %3d   loss %.6f   same bits as the library: %s\n", step,
                                (double)tape[ours].x[0], same ? "yes" : "NO");
    for (int i = LEAVES; i < count; i++) compute(&tape[i]); /* forward, again */
  }
  return !loss || !same;
}

int main(void) {
  syn_context c;
  syn_tape *t = syn_context_init(&c, NULL) ? NULL : syn_tape_new(&c, 65536);
  scalars();
  return !t || network(t) ? puts(c.message), 1 : 0;
}

/* To try: write = instead of += in the rule of MUL: which gradient of the first part is wrong? Let
   `backward` walk forwards: what is left of the gradients? Add an operation, for example x^2. */
