// Free lists for small objects made and dropped at every call. Memory comes from operator new, so an object may die on
// another thread than the one that made it.
#pragma once

#include <cstddef>
#include <new>

namespace dygraph {

template <class T, int kMost = 4096>
class Pool {
 public:
  static void* Get() {
    List& list = list_;
    if (__builtin_expect(list.head == nullptr, 0)) return ::operator new(sizeof(Item));
    Item* item = list.head;
    list.head = item->next;
    --list.size;
    return item;
  }
  static void Put(void* p) {
    List& list = list_;
    if (__builtin_expect(list.size >= kMost, 0)) return Return(p);
    Item* item = new (p) Item;
    item->next = list.head;
    list.head = item;
    ++list.size;
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
  struct Drain {
    bool armed = false;
    ~Drain() {
      list_.size = kMost;  // what dies later on this thread goes straight back
      while (Item* item = list_.head) {
        list_.head = item->next;
        ::operator delete(item);
      }
    }
  };
  static __attribute__((noinline)) void Return(void* p) { ::operator delete(p); }
  static inline thread_local __attribute__((tls_model("initial-exec"))) List list_{nullptr, 0};

 public:
  // Called by threads that end: gives the list back. The main thread's list dies with the process.
  static void DrainAtThreadEnd() {
    static thread_local Drain drain;
    drain.armed = true;
  }
};

}  // namespace dygraph
