// Preloaded into a process: its n-th call that changes a file system kills it, halfway through where
// it writes, or fails. Opening, writing, flushing, renaming and removing count.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

static long left = -1;  // calls until then; negative: never
static int failure;     // an errno, or 0 to be killed

void file_calls_after(long count, int error) {
  left = count;
  failure = error;
}

long file_calls_left(void) { return left; }

static int due(void) { return left > 0 && --left == 0; }

// 1 if the call is to fail; does not come back where the process is to be killed.
static int fails(void) {
  if (!due()) return 0;
  if (!failure) kill(getpid(), SIGKILL);
  errno = failure;
  return 1;
}

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

int openat(int dir, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = va_arg(list, mode_t);
  va_end(list);
  if ((flags & O_CREAT) && fails()) return -1;
  return REAL(int, "openat", int, const char*, int, ...)(dir, path, flags, mode);
}

ssize_t write(int fd, const void* from, size_t size) {
  if (fd > 2 && due()) {
    if (failure) {
      errno = failure;
      return -1;
    }
    REAL(ssize_t, "write", int, const void*, size_t)(fd, from, size / 2);
    kill(getpid(), SIGKILL);
  }
  return REAL(ssize_t, "write", int, const void*, size_t)(fd, from, size);
}

int fsync(int fd) { return fails() ? -1 : REAL(int, "fsync", int)(fd); }

int renameat(int from_dir, const char* from, int to_dir, const char* to) {
  if (fails()) return -1;
  return REAL(int, "renameat", int, const char*, int, const char*)(from_dir, from, to_dir, to);
}

int unlinkat(int dir, const char* path, int flags) {
  if (fails()) return -1;
  return REAL(int, "unlinkat", int, const char*, int)(dir, path, flags);
}
