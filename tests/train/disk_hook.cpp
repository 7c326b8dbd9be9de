// Preloaded into a program that writes: from train_disk_hook_arm() on it counts what that does to files, and
// at the n-th such call the process dies as if the machine had, halfway through where something is written.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>

namespace {

int left = -1;  ///< calls until the end; negative: none is counted

/// Whether this call is the last.
bool is_last() {
  return left >= 0 && left-- == 0;
}

void end_here() {
  _exit(99);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

void train_disk_hook_arm(int calls) {
  left = calls;
}

ssize_t write(int file, const void* bytes, size_t count) {
  const bool last = file > 2 && is_last();
  const ssize_t written =
      next<ssize_t(int, const void*, size_t)>("write")(file, bytes, last ? count / 2 : count);
  if (last) end_here();
  return written;
}

ssize_t writev(int file, const iovec* parts, int count) {
  if (file > 2 && is_last()) end_here();
  return next<ssize_t(int, const iovec*, int)>("writev")(file, parts, count);
}

size_t fwrite(const void* bytes, size_t size, size_t count, FILE* file) {
  const bool last = fileno(file) > 2 && is_last();
  const size_t written =
      next<size_t(const void*, size_t, size_t, FILE*)>("fwrite")(bytes, size, last ? count / 2 : count, file);
  if (!last) return written;
  fflush(file);
  end_here();
  return 0;
}

int fclose(FILE* file) {
  if (is_last()) end_here();
  return next<int(FILE*)>("fclose")(file);
}

int fsync(int file) {
  if (is_last()) end_here();
  return next<int(int)>("fsync")(file);
}

int rename(const char* from, const char* to) {
  if (is_last()) end_here();
  return next<int(const char*, const char*)>("rename")(from, to);
}

int mkdir(const char* path, mode_t mode) {
  if (is_last()) end_here();
  return next<int(const char*, mode_t)>("mkdir")(path, mode);
}

int unlink(const char* path) {
  if (is_last()) end_here();
  return next<int(const char*)>("unlink")(path);
}

int unlinkat(int folder, const char* path, int flags) {
  if (is_last()) end_here();
  return next<int(int, const char*, int)>("unlinkat")(folder, path, flags);
}

int remove(const char* path) {
  if (is_last()) end_here();
  return next<int(const char*)>("remove")(path);
}

}  // extern "C"
