/* Exercise 03   The rules of a tape

   A tape of matrices of your own. Write what each operation computes, what it adds to the gradients
   of its operands, and the walk. The last gradients come from the library's tape: they must be the
   same. See lesson 3. Check it: make check N=3 */

#include "../check.h"
enum { LEAF, ADD, SUB, MUL, RELU, MATMUL, ENTRIES = 20, NUMBERS = 400 };

typedef struct entry {
  int op, a, b, rows, columns; /* a, b: the numbers of the operands on the tape */
  float x[NUMBERS / ENTRIES], dx[NUMBERS / ENTRIES];
} entry;
static entry tape[ENTRIES];
static int count;

static void compute(entry *y) {
  const entry *a = &tape[y->a], *b = &tape[y->b];
  int m = y->columns, n = a->columns; /* a [rows,n], b [n,m], y [rows,m] of a product */
  for (int i = 0; i < y->rows * m; i++) {
    /* 1. Number i of the result, number by number */
    if (y->op == ADD) y->x[i] = a->x[i] + b->x[i];
    if (y->op == SUB) y->x[i] = a->x[i] - b->x[i];
    if (y->op == MUL) y->x[i] = a->x[i] * b->x[i];
    /* 2. relu: a where it is above 0, else 0 */
    if (y->op == RELU) y->x[i] = a->x[i] > 0 ? a->x[i] : 0;
    /* 3. A product of matrices: number i stands in row r, column j; the sum runs over k. */
    for (int k = 0, r = i / m, j = i % m; y->op == MATMUL && k < n; k++)
      y->x[i] += a->x[r * n + k] * b->x[k * m + j];
  }
}

/* Adds to the gradients of the operands of y what follows from that of y. The holes 4 to 8 are
   checked after the walk back, which begins at the end of the tape: so the checker needs 7 and 8
   first, then 6, 5 and 4. */
static void add_gradients(const entry *y) {
  entry *a = &tape[y->a], *b = &tape[y->b];
  int m = y->columns, n = a->columns;
  for (int i = 0; i < y->rows * m; i++) {
    if (y->op == ADD) a->dx[i] += y->dx[i];
    if (y->op == ADD) b->dx[i] += y->dx[i];
    /* 4. y = a - b: what comes to b? */
    if (y->op == SUB) a->dx[i] += y->dx[i];
    if (y->op == SUB) b->dx[i] += -y->dx[i];
    /* 5. y = a b, number by number */
    if (y->op == MUL) a->dx[i] += y->dx[i] * b->x[i];
    if (y->op == MUL) b->dx[i] += y->dx[i] * a->x[i];
    /* 6. relu */
    if (y->op == RELU) a->dx[i] += a->x[i] > 0 ? y->dx[i] : 0;
    /* 7. A product of matrices: y_rj has a_rk b_kj as one of its terms. */
    for (int k = 0, r = i / m, j = i % m; y->op == MATMUL && k < n; k++) {
      a->dx[r * n + k] += y->dx[i] * b->x[k * m + j];
      b->dx[k * m + j] += y->dx[i] * a->x[r * n + k];
    }
  }
}

/* 8. All gradients are 0 before, but for that of the loss. In which order must the entries be
   visited? `at` is the number of the entry that comes as number i, i = 0, 1, ... loss. */
static void backward(int loss) {
  for (int i = 0; i < count; i++) memset(tape[i].dx, 0, sizeof tape[i].dx);
  tape[loss].dx[0] = 1;
  for (int i = 0; i <= loss; i++) {
    int at = loss - i;
    if (at >= 0 && at < count && tape[at].op != LEAF) add_gradients(&tape[at]);
  }
}

static int operation(int op, int a, int b) {
  entry *y = &tape[count];
  memset(y, 0, sizeof *y);
  y->op = op, y->a = a, y->b = b;
  y->rows = tape[a].rows;
  y->columns = op == MATMUL ? tape[b].columns : tape[a].columns;
  compute(y);
  return count++;
}
static int leaf(int rows, int columns, const float *x) {
  entry *y = &tape[count];
  memset(y, 0, sizeof *y);
  y->rows = rows, y->columns = columns;
  memcpy(y->x, x, (size_t)(rows * columns) * sizeof *x);
  return count++;
}
static void show_values(const char *name, int i) {
  check_array(name, tape[i].x, tape[i].rows, tape[i].columns);
}
static void show_gradient(const char *name, int i) {
  check_array(name, tape[i].dx, tape[i].rows, tape[i].columns);
}

static void exercise(syn_context *c, syn_tape *t) {
  enum { ROWS = 2, N = 4, M = 3 };
  float numbers[60], *A = numbers, *B = A + ROWS * N, *W = B + ROWS * N, *V = W + N * M, *U = V + M;
  int a, b, w, sum, difference, product, loss;
  syn_random r = {check_seed(6)};
  (void)c;
  for (int i = 0; i < 60; i++) numbers[i] = syn_random_normal(&r);

  a = leaf(ROWS, N, A), b = leaf(ROWS, N, B);
  show_values("a + b", sum = operation(ADD, a, b));
  show_values("a - b", difference = operation(SUB, a, b));
  show_values("(a + b) (a - b), number by number", product = operation(MUL, sum, difference));
  show_values("relu of it", a = operation(RELU, product, product));
  w = leaf(N, M, W);
  show_values("times a matrix", loss = operation(MATMUL, a, w));
  b = leaf(M, 1, V);
  loss = operation(MATMUL, loss, b);
  a = leaf(1, ROWS, U);
  show_values("loss", loss = operation(MATMUL, a, loss));

  backward(loss);
  show_gradient("gradient of the last vector", b);
  show_gradient("gradient of the matrix", w);
  show_gradient("gradient of the product", product);
  show_gradient("gradient of the sum", sum);
  show_gradient("gradient of the difference", difference);
  show_gradient("gradient of a", 0);
  show_gradient("gradient of b", 1);

  /* The same on the library's tape. */
  syn_tensor *x = tensor(t, ROWS, N, A), *y = tensor(t, ROWS, N, B), *z;
  z = syn_act(syn_mul(syn_add(x, y), syn_sub(x, y)), "relu");
  z = syn_matmul(syn_matmul(z, tensor(t, N, M, W)), tensor(t, M, 1, V));
  syn_backward(syn_matmul(tensor(t, 1, ROWS, U), z));
  check_gradient("gradient of a by the library", x);
  check_gradient("gradient of b by the library", y);
}
