/* Which digit does a scan show? In C, by the model that train.py wrote.
 *
 *   cc -std=c99 $(pkg-config --cflags dygraph) digits.c $(pkg-config --libs dygraph) -o digits
 *   ./digits digits.dygraph 7.pgm
 */
#include <stdio.h>
#include <stdlib.h>

#include "inference/c_api.h"

enum { SIDE = 8, GREYS = 16 };

static void check(int status) {
  if (status == DYGRAPH_OK) return;
  fprintf(stderr, "%s\n", dygraph_last_error());
  exit(1);
}

/* An image of 8 x 8 grey values, as numbers from 0 to 1. */
static void read_scan(const char *path, float *pixels) {
  unsigned char grey[SIDE * SIDE];
  int width = 0, height = 0, most = 0;
  FILE *file = fopen(path, "rb");
  if (!file || fscanf(file, "P5 %d %d %d", &width, &height, &most) != 3 || width != SIDE ||
      height != SIDE || most != GREYS || fgetc(file) == EOF ||
      fread(grey, 1, sizeof grey, file) != sizeof grey) {
    fprintf(stderr, "%s must be a PGM image of 8 x 8 pixels with 16 greys\n", path);
    exit(1);
  }
  fclose(file);
  for (int i = 0; i < SIDE * SIDE; ++i) pixels[i] = (float)grey[i] / GREYS;
}

int main(int count, char **arguments) {
  float pixels[SIDE * SIDE];
  const int64_t dims[] = {1, 1, SIDE, SIDE};
  dygraph_predictor *predictor;
  dygraph_context *context;
  dygraph_tensor image = {0}, answer = {0};

  if (count != 3) {
    fprintf(stderr, "usage: digits MODEL IMAGE\n");
    return 1;
  }
  read_scan(arguments[2], pixels);
  check(dygraph_load(arguments[1], NULL, &predictor));
  check(dygraph_context_create(predictor, &context));

  image.struct_size = answer.struct_size = sizeof image;
  image.type = DYGRAPH_FLOAT32;
  image.rank = 4;
  image.dims = dims;
  image.data = pixels;
  image.bytes = sizeof pixels;
  check(dygraph_context_set_input(context, 0, &image));
  check(dygraph_context_run(context));
  check(dygraph_context_output(context, 0, &answer));

  const float *probability = answer.data;
  int best = 0;
  for (int digit = 1; digit < 10; ++digit) {
    if (probability[digit] > probability[best]) best = digit;
  }
  printf("%d (%.0f %%)\n", best, 100 * probability[best]);

  check(dygraph_context_close(context));
  check(dygraph_predictor_close(predictor));
  return 0;
}
