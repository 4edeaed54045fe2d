/* pool.h   a thread pool of one thread for syn_options.parallel. It gives the chunks of a loop to all
   of its slices in turn, so that most of them run in another slice than the one whose share they are
   of. Include it after synthesizer.h. */
#ifndef POOL_H
#define POOL_H

/* user: null, or a long that counts the slices. */
static void pool_in_turn(void *user, void (*task)(void *arg, int i), void *arg, int n) {
  const syn__slices *s = (const syn__slices *)arg;
  int share, found, slice = 0;
  if (user) *(long *)user += n;
  do {
    for (found = 0, share = n - 1; share >= 0; share--) {
      size_t begin, end;
      if (!syn__chunk_of(s, share, s->shares[share].taken, &begin, &end)) continue;
      s->shares[share].taken++;
      s->task(s->t, s->job, slice, begin, end);
      slice = (slice + 1) % n;
      found = 1;
    }
  } while (found);
  for (slice = n - 1; slice >= 0; slice--) task(arg, slice); /* nothing is left for them */
}

#endif
