// Free lists for small objects made and dropped at every call, one for each thread. Memory comes
// from operator new, so an object may die on another thread than the one that made it. Under a
// sanitizer there are no lists, so that it sees every allocation.
#pragma once

#include <cstddef>
#include <new>

namespace dygraph {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
template <class T, int kMost = 0>
class Pool {
 public:
  static void* Get() { return ::operator new(sizeof(T)); }
  static void Put(void* p) { ::operator delete(p); }
};
#else
template <class T, int kMost = 4096>
class Pool {
 public:
  static void* Get() {
    List& list = list_;
    if (__builtin_expect(list.head == nullptr, 0)) return ::operator new(sizeof(Item));
    Item* item = list.head;
    list.head = item->next;
    __builtin_prefetch(list.head);  // of thousands that were freed at once few are in the cache
    --list.size;
    return item;
  }
  static void Put(void* p) {
    List& list = list_;
    if (__builtin_expect(list.size >= kMost, 0)) return PutSlow(p);
    Push(list, p);
  }

 private:
  union Item {
    Item() {}
    Item* next;
    alignas(T) unsigned char space[sizeof(T)];
  };
  struct List {
    Item* head;
    int size;
  };
  // Gives the list back when its thread ends.
  struct Drain {
    bool armed = false;
    ~Drain() {
      list_.size = kMost;  // objects freed later on this thread are deleted at once
      while (Item* item = list_.head) {
        list_.head = item->next;
        ::operator delete(item);
      }
    }
  };

  static void Push(List& list, void* p) {
    Item* item = new (p) Item;
    item->next = list.head;
    list.head = item;
    ++list.size;
  }
  // A list begins as if full, so that the first object put on it arms its drain.
  static __attribute__((noinline)) void PutSlow(void* p) {
    static thread_local Drain drain;
    if (drain.armed) {
      ::operator delete(p);
      return;
    }
    drain.armed = true;
    list_.size = 0;
    Push(list_, p);
  }

  static inline thread_local __attribute__((tls_model("initial-exec"))) List list_{nullptr, kMost};
};
#endif

}  // namespace dygraph
