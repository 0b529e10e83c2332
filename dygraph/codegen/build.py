"""Files from a CFile: the text, its weights, and what a C compiler makes of them."""

import os
import shlex
import shutil
import subprocess
import tempfile

from dygraph.core import files
from dygraph.errors import InvalidArgumentError, NotFoundError, PreconditionNotMetError

# Beside these a build may have flags of its own.
FLAGS = ["-std=c99", "-O3", "-march=native"]


def write(made, output):
    """Writes the text and, where it is large, the file of weights beside it; both or neither."""
    folder, name = os.path.split(os.fspath(output))
    folder = folder or "."
    if not name.endswith((".c", ".cu")):
        raise InvalidArgumentError(f"compile: the output must be a .c or .cu file, got {name!r}")
    contents = {name: [made.text.encode()]}
    if made.weights:
        contents[weights_name(name)] = [made.weights]
    files.write_together(folder, contents)
    return [os.path.join(folder, n) for n in contents]


def weights_name(name):
    return os.path.splitext(name)[0] + ".weights"


def compiled(made, output, shared, flags=()):
    """A shared object (`shared`) or an executable, by the compiler in $CC or cc."""
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    if shutil.which(compiler[0]) is None:
        raise NotFoundError(f"compile: there must be a C compiler, got none called {compiler[0]!r}")
    contract = ["-ffp-contract=off"] if made.exact else ["-ffp-contract=fast"]
    kind = ["-shared", "-fPIC"] if shared else []
    text = (
        made.text if shared else made.text + program(made, weights_name(os.path.basename(output)))
    )
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "net.c")
        with open(source, "w", encoding="utf-8") as f:
            f.write(text)
        command = [
            *compiler,
            *FLAGS,
            *contract,
            *kind,
            *flags,
            source,
            "-o",
            os.fspath(output),
            "-lm",
        ]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise PreconditionNotMetError(
            f"compile: {compiler[0]} must take the text, but it failed: {done.stderr[:2000]}"
        )
    return output


def program(made, weights):
    """main(): reads inputs from files, writes outputs to standard output."""
    from dygraph.codegen.emitter import literal

    return (
        _MAIN.replace("PREFIX", made.name)
        .replace("WEIGHTS_FILE", literal(weights))
        .replace("COUNT_OF_INPUTS", str(max(len(made.model.feeds), 1)))
        .replace("COUNT_OF_OUTPUTS", str(max(len(made.model.fetches), 1)))
    )


_MAIN = r"""
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The whole file, or standard input for "-"; NULL if it cannot be read. */
static void *read_all(const char *path, int64_t *bytes) {
  FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
  size_t room = 1 << 16, used = 0, got;
  char *data = (char *)malloc(room), *more;
  while (f && data && (got = fread(data + used, 1, room - used, f)) > 0) {
    used += got;
    if (used < room) continue;
    more = (char *)realloc(data, room *= 2);
    if (!more) {
      free(data);
      data = NULL;
      break;
    }
    data = more;
  }
  if (f && f != stdin) fclose(f);
  if (!f) {
    free(data);
    return NULL;
  }
  *bytes = (int64_t)used;
  return data;
}

/* "2x3:0,1,2:..." behind the path: sizes, then offsets of levels of detail. */
static int read_sizes(const char *text, PREFIX_tensor *t, int64_t *room, int64_t most) {
  char *end = NULL;
  int axis = 0;
  while (*text && *text != ':') {
    long long n = strtoll(text, &end, 10);
    if (end == text || axis == PREFIX_RANK || n < 0) return 0;
    t->dims[axis++] = n;
    text = *end == 'x' ? end + 1 : end;
    if (*end && *end != 'x' && *end != ':') return 0;
  }
  t->rank = axis;
  while (*text == ':') {
    int64_t *at = room, count = 0;
    ++text;
    while (*text && *text != ':') {
      long long n = strtoll(text, &end, 10);
      if (end == text || count == most) return 0;
      at[count++] = n;
      text = *end == ',' ? end + 1 : end;
      if (*end && *end != ',' && *end != ':') return 0;
    }
    if (t->levels == PREFIX_LEVELS) return 0;
    t->offsets[t->levels] = at;
    t->offset_counts[t->levels++] = count;
    room += count;
    most -= count;
  }
  return 1;
}

int main(int argc, char **argv) {
  static const int64_t sizes[] = {4, 8, 4, 8, 1, 1};
  PREFIX_tensor in[COUNT_OF_INPUTS], out[COUNT_OF_OUTPUTS];
  const char *weights_path = WEIGHTS_FILE;
  void *weights = NULL, *workspace;
  int64_t bytes = 0, need = 0;
  int status, where = 0, first = 1, inputs = PREFIX_input_count();
  if (argc > 2 && strcmp(argv[1], "-w") == 0) {
    weights_path = argv[2];
    first = 3;
  }
  memset(in, 0, sizeof in);
  if (argc - first != inputs) {
    fprintf(stderr, "usage: %s [-w WEIGHTS] INPUT...\nan INPUT is FILE, FILE@2x3 where sizes are "
                    "open, FILE@7x3:0,2,7 with offsets; - is standard input\n", argv[0]);
    for (int i = 0; i < inputs; ++i) {
      fprintf(stderr, "input %d, %s, type %d:", i, PREFIX_input_name(i), PREFIX_input_type(i));
      for (int a = 0; a < PREFIX_input_rank(i); ++a) {
        fprintf(stderr, " %lld", (long long)PREFIX_input_dim(i, a));
      }
      fprintf(stderr, "\n");
    }
    return 2;
  }
  for (int i = 0; i < inputs; ++i) {
    char *text = argv[first + i], *mark = strrchr(text, '@');
    int64_t count = 1, got = 0, most = (int64_t)strlen(text) + 1;
    int64_t *room = (int64_t *)malloc((size_t)most * sizeof(int64_t));
    if (!room) return 3;
    in[i].type = PREFIX_input_type(i);
    in[i].rank = PREFIX_input_rank(i);
    for (int a = 0; a < in[i].rank; ++a) in[i].dims[a] = PREFIX_input_dim(i, a);
    if (mark) {
      *mark = 0;
      if (!read_sizes(mark + 1, &in[i], room, most)) {
        fprintf(stderr, "input %d: sizes must be like 2x3 or 7x3:0,2,7\n", i);
        return 2;
      }
    }
    in[i].data = read_all(text, &got);
    if (!in[i].data) {
      fprintf(stderr, "input %d: %s: %s\n", i, text, strerror(errno));
      return 1;
    }
    for (int a = 0; a < in[i].rank; ++a) {
      if (in[i].dims[a] > 0 && count > ((int64_t)1 << 46) / in[i].dims[a]) count = -1;
      if (count < 0 || in[i].dims[a] < 0) {
        fprintf(stderr, "input %d: open sizes must be given as FILE@2x3\n", i);
        return 2;
      }
      count *= in[i].dims[a];
    }
    if (got != count * sizes[in[i].type]) {
      fprintf(stderr, "input %d: the file must have %lld bytes, got %lld\n", i,
              (long long)(count * sizes[in[i].type]), (long long)got);
      return 1;
    }
  }
  if (PREFIX_weight_bytes() > 0) {
    weights = read_all(weights_path, &bytes);
    if (!weights || bytes != PREFIX_weight_bytes()) {
      fprintf(stderr, "the weights must be %lld bytes in %s\n", (long long)PREFIX_weight_bytes(),
              weights_path);
      return 1;
    }
  }
  status = PREFIX_workspace(in, &need, &where);
  while (status == PREFIX_OK || status == PREFIX_DEPENDS) {
    workspace = malloc((size_t)need);
    if (!workspace) return 3;
    status = PREFIX_run(in, out, weights, workspace, need, &where);
    if (status != PREFIX_NO_SPACE) break;
    free(workspace);
    need = 2 * need + 65536;
    status = PREFIX_OK;
  }
  if (status != PREFIX_OK) {
    fprintf(stderr, "operator %d: %s\n", where, PREFIX_status_text(status));
    return 1;
  }
  for (int i = 0; i < PREFIX_output_count(); ++i) {
    size_t count = 1;
    fprintf(stderr, "output %d, %s, type %d:", i, PREFIX_output_name(i), out[i].type);
    for (int a = 0; a < out[i].rank; ++a) {
      fprintf(stderr, " %lld", (long long)out[i].dims[a]);
      count *= (size_t)out[i].dims[a];
    }
    fprintf(stderr, "\n");
    count *= (size_t)sizes[out[i].type];
    if (count && fwrite(out[i].data, 1, count, stdout) != count) return 1;
  }
  return 0;
}
"""
