// Loops of several calls that wait for each other and then run in one go: many small arrays are
// split over the threads like one large array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "platform/place.h"

namespace dygraph {

class LoopQueue {
 public:
  // body(begin, end) is to compute elements [0, n), which are independent and each worth `cost`
  // additions. What its pointers point to must stay where it is until Run().
  template <class Body>
  void Add(int64_t n, int64_t cost, const Body& body) {
    static_assert(std::is_trivially_copyable_v<Body> && sizeof(Body) <= sizeof(Loop::body),
                  "a loop that waits captures a few numbers and pointers by value");
    if (n <= 0) return;
    loops_.emplace_back();
    Loop& loop = loops_.back();
    loop.n = n;
    loop.cost = cost;
    loop.run = [](const void* self, int64_t begin, int64_t end) {
      (*static_cast<const Body*>(self))(begin, end);
    };
    new (loop.body) Body(body);
  }

  // Loops of one kind that wait for a device.
  class Batch {
   public:
    virtual ~Batch() = default;
    virtual void Run() = 0;
  };
  // The batch of a kind, which has an address of its own, on a device; `make` gives it where there
  // is none yet. Run() runs those with `last` behind the others.
  Batch& BatchOf(const void* kind, Place place, bool last, std::unique_ptr<Batch> (*make)(Place));
  // Stays alive until the loops have run.
  void Keep(std::shared_ptr<void> memory) { kept_.push_back(std::move(memory)); }

  int64_t work() const;  // in additions of the host
  // Runs what was added; the queue is empty then.
  void Run();

 private:
  struct Loop {
    int64_t n, cost;
    void (*run)(const void* self, int64_t begin, int64_t end);
    alignas(std::max_align_t) unsigned char body[192];
  };
  struct Kind {
    const void* kind;
    Place place;
    bool last;
    std::unique_ptr<Batch> batch;
  };
  std::vector<Loop> loops_;
  std::vector<Kind> batches_;
  std::vector<std::shared_ptr<void>> kept_;
};

}  // namespace dygraph
