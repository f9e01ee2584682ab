// A library for LD_PRELOAD that makes the n-th call of one kind fail, as a machine under pressure would:
//   FAULT_KIND=memory|open|read|write|fsync|rename|thread   which calls are counted, from the start of main
//   FAULT_AT=n                                              which of them fails, from 1; 0: none
//   FAULT_STICKY=1                                          all later ones fail too
//   FAULT_STEP=k                                            and every k-th after it
//   FAULT_COUNT=FILE                                        write there how many there were of each kind, in this order
// tests/pressure/faults_test.py drives it.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);
}

namespace {

enum class Kind { none, memory, open, read, write, fsync, rename, thread };

std::atomic<bool> counting{false};
constexpr int kKinds = 8;
std::atomic<long> calls[kKinds];
Kind kind = Kind::none;
long fails_at = 0;
long step = 0;
bool sticky = false;
const char* count_file = nullptr;

bool fails(Kind which) {
  if (!counting) return false;
  const long n = ++calls[static_cast<int>(which)];
  if (which != kind) return false;
  if (fails_at == 0 || n < fails_at) return false;
  return n == fails_at || sticky || (step > 0 && (n - fails_at) % step == 0);
}

template <class Function>
Function real(Function, const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

Kind kind_of(const char* word) {
  constexpr const char* kWords[] = {"none", "memory", "open", "read", "write", "fsync", "rename", "thread"};
  for (int i = 0; word != nullptr && i < kKinds; ++i) {
    if (std::strcmp(word, kWords[i]) == 0) return static_cast<Kind>(i);
  }
  return Kind::none;
}

using Main = int (*)(int, char**, char**);
Main real_main = nullptr;

int counted_main(int argc, char** argv, char** environment) {
  kind = kind_of(std::getenv("FAULT_KIND"));
  const char* at = std::getenv("FAULT_AT");
  fails_at = at ? std::atol(at) : 0;
  const char* every = std::getenv("FAULT_STEP");
  step = every ? std::atol(every) : 0;
  sticky = std::getenv("FAULT_STICKY") != nullptr;
  count_file = std::getenv("FAULT_COUNT");
  ::unsetenv("LD_PRELOAD");
  counting = true;
  const int code = real_main(argc, argv, environment);
  counting = false;
  if (count_file != nullptr) {
    char text[32 * kKinds];
    int length = 0;
    for (int i = 1; i < kKinds; ++i)
      length += std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), "%ld ", calls[i].load());
    const int fd = ::creat(count_file, 0666);
    if (fd < 0 || ::write(fd, text, static_cast<std::size_t>(length)) != length) return 99;
    ::close(fd);
  }
  return code;
}

}  // namespace

// All of these together, so that no allocator that the program was linked with frees what this one gave.
extern "C" {

int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(), void (*unload)(), void* stack) {
  real_main = main;
  return real(&__libc_start_main, "__libc_start_main")(counted_main, argc, argv, init, fini, unload, stack);
}

void* malloc(std::size_t size) {
  if (!fails(Kind::memory)) return __libc_malloc(size);
  errno = ENOMEM;
  return nullptr;
}
void* calloc(std::size_t count, std::size_t size) {
  if (!fails(Kind::memory)) return __libc_calloc(count, size);
  errno = ENOMEM;
  return nullptr;
}
void* realloc(void* old, std::size_t size) {
  if (!fails(Kind::memory)) return __libc_realloc(old, size);
  errno = ENOMEM;
  return nullptr;
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  if (!fails(Kind::memory)) return __libc_memalign(alignment, size);
  errno = ENOMEM;
  return nullptr;
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  *out = fails(Kind::memory) ? nullptr : __libc_memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}

void* memalign(std::size_t alignment, std::size_t size) { return aligned_alloc(alignment, size); }
void free(void* memory) { __libc_free(memory); }

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (!fails(Kind::open)) return real(&open, "open")(path, flags, mode);
  errno = EMFILE;
  return -1;
}
ssize_t read(int fd, void* to, std::size_t size) {
  if (!fails(Kind::read)) return real(&read, "read")(fd, to, size);
  errno = EIO;
  return -1;
}
ssize_t write(int fd, const void* from, std::size_t size) {
  if (fd == STDERR_FILENO || !fails(Kind::write)) return real(&write, "write")(fd, from, size);
  errno = ENOSPC;
  return -1;
}
int fsync(int fd) {
  if (!fails(Kind::fsync)) return real(&fsync, "fsync")(fd);
  errno = EIO;
  return -1;
}
int rename(const char* from, const char* to) noexcept {
  if (!fails(Kind::rename))
    return reinterpret_cast<int (*)(const char*, const char*)>(dlsym(RTLD_NEXT, "rename"))(from, to);
  errno = EIO;
  return -1;
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* with) noexcept {
  if (fails(Kind::thread)) return EAGAIN;
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  return reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, run, with);
}

}  // extern "C"

// Other allocators define these too, and would not ask malloc.
void* operator new(std::size_t size) {
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  if (void* memory = std::aligned_alloc(static_cast<std::size_t>(alignment), size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size > 0 ? size : 1); }
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return operator new(size, alignment); }
void* operator new[](std::size_t size, const std::nothrow_t& none) noexcept { return operator new(size, none); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
