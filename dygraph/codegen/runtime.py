"""The part of a C file that every model has: values, the workspace, checks.

The workspace holds the state of a run, then blocks from its start and their descriptions from its
end. A block goes to the first gap that holds it. `SIZE_workspace` makes the same calls without the
memory: sizes and small integers are worked out, everything else has a null pointer.
"""

HEAD = """
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
"""

# The public part; NAME and PREFIX are replaced.
INTERFACE = """
#define PREFIX_RANK 8
#define PREFIX_LEVELS 4

/* What functions return. */
enum {
  PREFIX_OK = 0,
  PREFIX_BAD_CALL,   /* a null pointer, or a workspace that is not aligned to 8 bytes */
  PREFIX_BAD_SHAPE,  /* sizes that an operator or an input does not take */
  PREFIX_BAD_TYPE,   /* another element type than the input's */
  PREFIX_BAD_INDEX,  /* an index outside of what it indexes, or a number out of range */
  PREFIX_BAD_LOD,    /* offsets that do not divide the rows into sequences */
  PREFIX_NO_SPACE,   /* the workspace is too small */
  PREFIX_UNSET,      /* a value is read that no operator has written */
  PREFIX_DEPENDS     /* of PREFIX_workspace: the sizes depend on data */
};
enum { PREFIX_FLOAT32, PREFIX_FLOAT64, PREFIX_INT32, PREFIX_INT64, PREFIX_BOOL, PREFIX_UINT8 };

/* Dense rows in C's order. Level i of detail has offsets[i][0 .. offset_counts[i]). */
typedef struct {
  const void *data;
  int type, rank, levels;
  int64_t dims[PREFIX_RANK];
  int64_t offset_counts[PREFIX_LEVELS];
  const int64_t *offsets[PREFIX_LEVELS];
} PREFIX_tensor;
"""

CORE = """
#if defined(__GNUC__) /* compute() calls each function once, which is no reason to optimise less */
#define LOCAL static __attribute__((unused, noinline, hot))
#define DATA static __attribute__((unused))
#define INLINED DATA inline
#define FAILS(x) __builtin_expect((x) != 0, 0)
#else
#define LOCAL static
#define DATA static
#define INLINED static inline
#define FAILS(x) (x)
#endif
#ifdef __cplusplus
#define RESTRICT
#else
#define RESTRICT restrict
#endif
#ifdef __CUDACC__
#define INLINE INLINED __host__ __device__
#else
#define INLINE INLINED
#endif
#define RANK PREFIX_RANK
#define LEVELS PREFIX_LEVELS
#define MOST ((int64_t)1 << 46)
enum { F32, F64, I32, I64, B8, U8 };
enum { TENSOR, ARRAY, TABLE };

typedef struct {
  double a[6];
} Par;
typedef struct { /* of a block: its place and size, its users, the next one in order of places */
  int64_t at, bytes;
  int32_t users, next;
} Node;
typedef struct {
  int32_t levels, node;
  int64_t counts[LEVELS];
  int64_t *offsets[LEVELS];
} Lod;
typedef struct {
  unsigned char set, kind, type, rank;
  int32_t node; /* 0: the memory is the caller's or a constant */
  int64_t dims[RANK], count;
  void *data; /* null: not known while sizes are worked out */
  Lod *lod;
} Value;
typedef struct {
  char *base;
  int64_t room, peak;
  Node *nodes; /* number i is nodes[-i] */
  int32_t made, most, first, spare;
  char *small; /* while sizes are worked out: memory for what is small */
  int64_t small_room;
  int dry, where;
  const unsigned char *weights;
  Value v[SLOTS];
} Ctx;

#define NODE(i) (c->nodes[-(i)])
#define TRY(call)                  \\
  do {                             \\
    int status_ = (call);          \\
    if (FAILS(status_)) return status_; \\
  } while (0)
#define CHECK(rule, code) \\
  do {                    \\
    if (FAILS(!(rule))) return PREFIX_##code; \\
  } while (0)

DATA const int64_t kSizes[] = {4, 8, 4, 8, 1, 1};

LOCAL int take(Ctx *c, int64_t bytes, int known, int32_t *node, void **data) {
  int64_t place = 0;
  int32_t *link = &c->first, i = c->spare;
  int64_t used;
  bytes = bytes < 1 ? 64 : (bytes + 63) / 64 * 64;
  while (*link) {
    Node *n = &NODE(*link);
    if (n->at - place >= bytes) break;
    place = n->at + n->bytes;
    link = &n->next;
  }
  used = place + bytes > c->peak ? place + bytes : c->peak;
  if (i == 0) {
    i = c->made + 1;
    if (c->dry) CHECK(i < c->most, DEPENDS);
  }
  if (!c->dry) {
    int64_t nodes = (i > c->made ? i : c->made) * (int64_t)sizeof(Node);
    CHECK(used + nodes <= c->room, NO_SPACE);
  }
  if (i > c->made) {
    c->made = i;
  } else {
    c->spare = NODE(i).next;
  }
  c->peak = used;
  NODE(i).at = place;
  NODE(i).bytes = bytes;
  NODE(i).users = 1;
  NODE(i).next = *link;
  *link = i;
  *node = i;
  *data = NULL;
  if (!c->dry) {
    *data = c->base + place;
  } else if (known && bytes <= 4096 && bytes <= c->small_room) {
    *data = c->small;
    c->small += bytes;
    c->small_room -= bytes;
  }
  return PREFIX_OK;
}

LOCAL void give(Ctx *c, int32_t node) {
  int32_t *link = &c->first;
  if (node == 0 || --NODE(node).users > 0) return;
  while (*link && *link != node) link = &NODE(*link).next;
  if (*link == 0) return;
  *link = NODE(node).next;
  NODE(node).next = c->spare;
  c->spare = node;
}

LOCAL void drop_lod(Ctx *c, Value *v) {
  if (v->lod) give(c, v->lod->node);
  v->lod = NULL;
}

LOCAL void drop(Ctx *c, Value *v) {
  if (!v->set) return;
  if (v->kind == ARRAY && v->data && NODE(v->node).users == 1) {
    Value *e = (Value *)v->data;
    for (int64_t i = 0; i < v->count; ++i) {
      if (!e[i].set) continue;
      give(c, e[i].node);
      drop_lod(c, e + i);
    }
  }
  give(c, v->node);
  drop_lod(c, v);
  memset(v, 0, sizeof *v);
}

/* `t` gets memory for the sizes; its data are null while sizes are worked out, unless known. */
LOCAL int make(Ctx *c, Value *t, int type, int rank, const int64_t *dims, int known) {
  memset(t, 0, sizeof *t);
  CHECK(rank >= 0 && rank <= RANK, BAD_SHAPE);
  t->count = 1;
  for (int i = 0; i < rank; ++i) {
    CHECK(dims[i] >= 0, BAD_SHAPE);
    t->dims[i] = dims[i];
    CHECK(dims[i] == 0 || t->count <= MOST / dims[i], BAD_SHAPE);
    t->count *= dims[i];
  }
  t->set = 1;
  t->type = (unsigned char)type;
  t->rank = (unsigned char)rank;
  return take(c, t->count * kSizes[type], known, &t->node, &t->data);
}

LOCAL int put(Ctx *c, Value *v, const Value *t) {
  drop(c, v);
  *v = *t;
  return PREFIX_OK;
}

LOCAL int need(const Value *x, int type) {
  CHECK(x->set, UNSET);
  CHECK(x->kind == TENSOR && x->type == type, BAD_TYPE);
  return PREFIX_OK;
}

LOCAL int need_any(const Value *x) {
  CHECK(x->set, UNSET);
  CHECK(x->kind == TENSOR, BAD_TYPE);
  return PREFIX_OK;
}

/* `y` is another name of x, without its level of detail. */
LOCAL int alias(Ctx *c, const Value *x, Value *y, int rank, const int64_t *dims) {
  Value t = *x;
  int64_t count = 1;
  CHECK(rank >= 0 && rank <= RANK, BAD_SHAPE);
  for (int i = 0; i < rank; ++i) {
    CHECK(dims[i] >= 0 && (dims[i] == 0 || count <= MOST / dims[i]), BAD_SHAPE);
    count *= dims[i];
  }
  CHECK(count == x->count, BAD_SHAPE);
  for (int i = 0; i < rank; ++i) t.dims[i] = dims[i];
  t.rank = (unsigned char)rank;
  t.lod = NULL;
  if (t.node) ++NODE(t.node).users;
  return put(c, y, &t);
}

LOCAL int64_t product(const int64_t *dims, int begin, int end) {
  int64_t n = 1;
  for (int i = begin; i < end; ++i) n *= dims[i];
  return n;
}

LOCAL int constant(Ctx *c, Value *v, int type, int rank, const int64_t *dims, const void *data) {
  memset(v, 0, sizeof *v);
  (void)c;
  v->set = 1;
  v->type = (unsigned char)type;
  v->rank = (unsigned char)rank;
  v->count = product(dims, 0, rank);
  for (int i = 0; i < rank; ++i) v->dims[i] = dims[i];
  v->data = (void *)(uintptr_t)data;
  return PREFIX_OK;
}

LOCAL int new_lod(Ctx *c, int levels, const int64_t *counts, Lod **made) {
  int64_t bytes = (int64_t)sizeof(Lod), at = (int64_t)sizeof(Lod);
  int32_t node;
  void *data;
  CHECK(levels > 0 && levels <= LEVELS, BAD_LOD);
  for (int i = 0; i < levels; ++i) {
    CHECK(counts[i] >= 1 && counts[i] <= MOST, BAD_LOD);
    bytes += counts[i] * 8;
  }
  TRY(take(c, bytes, 1, &node, &data));
  CHECK(data, DEPENDS);
  *made = (Lod *)data;
  (*made)->levels = levels;
  (*made)->node = node;
  for (int i = 0; i < levels; ++i) {
    (*made)->counts[i] = counts[i];
    (*made)->offsets[i] = (int64_t *)(void *)((char *)data + at);
    at += counts[i] * 8;
  }
  return PREFIX_OK;
}

LOCAL int input(Ctx *c, Value *v, const PREFIX_tensor *in, int type, int rank,
                 const int64_t *dims) {
  memset(v, 0, sizeof *v);
  CHECK(in->type == type, BAD_TYPE);
  CHECK(in->rank == rank, BAD_SHAPE);
  v->count = 1;
  for (int i = 0; i < rank; ++i) {
    int64_t n = in->dims[i];
    CHECK(n >= 0 && (dims[i] < 0 || dims[i] == n), BAD_SHAPE);
    CHECK(n == 0 || v->count <= MOST / n, BAD_SHAPE);
    v->count *= n;
    v->dims[i] = n;
  }
  v->set = 1;
  v->type = (unsigned char)type;
  v->rank = (unsigned char)rank;
  v->data = (void *)(uintptr_t)in->data;
  if (c->dry && (type == F32 || type == F64)) v->data = NULL;
  if (!c->dry && v->count > 0) CHECK(v->data, BAD_CALL);
  if (v->count == 0) v->data = &c->first; /* is not read */
  CHECK(in->levels >= 0 && in->levels <= LEVELS, BAD_LOD);
  if (in->levels == 0) return PREFIX_OK;
  CHECK(rank > 0, BAD_LOD);
  for (int i = 0; i < in->levels; ++i) {
    const int64_t *at = in->offsets[i], n = in->offset_counts[i];
    CHECK(at && n >= 1 && n <= MOST && at[0] == 0, BAD_LOD);
    for (int64_t j = 1; j < n; ++j) CHECK(at[j] >= at[j - 1], BAD_LOD);
    CHECK(at[n - 1] == (i + 1 < in->levels ? in->offset_counts[i + 1] - 1 : v->dims[0]), BAD_LOD);
  }
  TRY(new_lod(c, in->levels, in->offset_counts, &v->lod));
  for (int i = 0; i < in->levels; ++i) {
    memcpy(v->lod->offsets[i], in->offsets[i], (size_t)in->offset_counts[i] * 8);
  }
  return PREFIX_OK;
}

LOCAL int output(const Value *v, PREFIX_tensor *out) {
  memset(out, 0, sizeof *out);
  TRY(need_any(v));
  out->data = v->data;
  out->type = v->type;
  out->rank = v->rank;
  for (int i = 0; i < v->rank; ++i) out->dims[i] = v->dims[i];
  if (!v->lod) return PREFIX_OK;
  out->levels = v->lod->levels;
  for (int i = 0; i < v->lod->levels; ++i) {
    out->offset_counts[i] = v->lod->counts[i];
    out->offsets[i] = v->lod->offsets[i];
  }
  return PREFIX_OK;
}
"""
