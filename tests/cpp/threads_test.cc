// Parallel loops of several user threads at once, loops that wait for each other, and how many
// threads there should be.
#include "platform/threads.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "check.h"
#include "platform/interrupt.h"
#include "platform/loop_queue.h"
#include "platform/thread_count.h"

namespace dygraph {
namespace {

// Bodies that run at the same time, counted by the bodies themselves.
struct Meter {
  std::atomic<int> now{0}, most{0};
  void Enter() {
    int n = ++now, seen = most.load();
    while (n > seen && !most.compare_exchange_weak(seen, n)) {
    }
  }
  void Leave() { --now; }
};

// Four user threads on two compute threads: a loop that starts while two are busy runs on its own
// thread, so there are never more bodies than compute threads plus the other users.
void TestLoopsOfSeveralThreadsShare() {
  constexpr int kUsers = 4, kThreads = 2;
  SetNumThreads(kThreads);
  Meter meter;
  std::atomic<int64_t> blocks{0};
  std::vector<std::thread> users;
  for (int u = 0; u < kUsers; ++u) {
    users.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        ParallelBlocks(8, [&](int64_t) {
          meter.Enter();
          auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
          while (std::chrono::steady_clock::now() < until) {
          }
          ++blocks;
          meter.Leave();
        });
      }
    });
  }
  for (std::thread& user : users) user.join();
  CHECK_EQ(blocks.load(), int64_t{kUsers * 200 * 8});
  CHECK(meter.most.load() <= kThreads + kUsers - 1);
  // Afterwards all threads are there again.
  std::atomic<int> arrived{0};
  ParallelBlocks(kThreads, [&](int64_t) {  // ends only if both run
    ++arrived;
    while (arrived < kThreads) std::this_thread::yield();
  });
  CHECK_EQ(arrived.load(), kThreads);
  SetNumThreads(1);
}

void TestServiceThreadsComputeAlone() {
  SetNumThreads(2);
  std::atomic<int> foreign{0};
  std::thread([&] {
    SetServiceThread();
    CHECK_EQ(NumThreads(), 1);
    std::thread::id own = std::this_thread::get_id();
    ParallelBlocks(16, [&](int64_t) { foreign += std::this_thread::get_id() != own; });
  }).join();
  CHECK_EQ(foreign.load(), 0);
  SetNumThreads(1);
}

void TestExceptionsGiveThreadsBack() {
  SetNumThreads(2);
  for (int i = 0; i < 10; ++i) {
    try {
      ParallelBlocks(4, [](int64_t b) {
        if (b == 3) throw std::runtime_error("three");
      });
      CHECK(false);
    } catch (const std::runtime_error&) {
    }
  }
  std::atomic<int> arrived{0};
  ParallelBlocks(2, [&](int64_t) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  CHECK_EQ(arrived.load(), 2);
  SetNumThreads(1);
}

// A helper that is busy elsewhere is not waited for: the caller computes all blocks.
void TestTheCallerTakesWhatIsNotBegun() {
  SetNumThreads(2);
  std::atomic<int> inside{0};
  std::atomic<bool> go_on{false};
  std::thread other([&] {  // holds the only helper
    ParallelBlocks(2, [&](int64_t) {
      ++inside;
      while (!go_on) std::this_thread::yield();
    });
  });
  while (inside < 2) std::this_thread::yield();
  std::vector<int> counts(300, 0);
  std::atomic<int> foreign{0};
  const std::thread::id own = std::this_thread::get_id();
  ParallelBlocks(static_cast<int64_t>(counts.size()), [&](int64_t i) {
    ++counts[i];
    foreign += std::this_thread::get_id() != own;
  });
  CHECK_EQ(foreign.load(), 0);
  for (int count : counts) CHECK_EQ(count, 1);
  go_on = true;
  other.join();
  SetNumThreads(1);
}

// Every block once, whatever the number of blocks and threads and of loops at a time; also by
// helpers that have been asleep.
void TestEveryBlockOnce() {
  for (int threads : {1, 2, 3, 8}) {
    SetNumThreads(threads);
    for (int64_t blocks : {0, 1, 2, 3, 63, 64, 65, 127, 1000}) {
      std::vector<std::atomic<int>> counts(blocks);
      ParallelBlocks(blocks, [&](int64_t i) { ++counts[i]; });
      for (const std::atomic<int>& count : counts) CHECK_EQ(count.load(), 1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic<int64_t> sum{0};
    std::vector<std::thread> users;
    for (int u = 0; u < 20; ++u) {
      users.emplace_back([&] {
        for (int round = 0; round < 100; ++round)
          ParallelBlocks(50, [&](int64_t i) { sum += i; });
      });
    }
    for (std::thread& user : users) user.join();
    CHECK_EQ(sum.load(), int64_t{20 * 100 * 49 * 50 / 2});
  }
  SetNumThreads(1);
}

void TestNestedLoopsAreSerial() {
  SetNumThreads(2);
  std::atomic<int> foreign{0}, more{0};
  ParallelBlocks(4, [&](int64_t) {
    more += NumThreads() != 1;
    const std::thread::id own = std::this_thread::get_id();
    ParallelBlocks(10, [&](int64_t) { foreign += std::this_thread::get_id() != own; });
  });
  CHECK_EQ(foreign.load(), 0);
  CHECK_EQ(more.load(), 0);
  CHECK_EQ(NumThreads(), 2);
  SetNumThreads(1);
}

std::atomic<bool> stop_asked{false};
std::thread::id asked_thread;

void Look() {
  if (stop_asked && std::this_thread::get_id() == asked_thread)
    throw Error(ErrorKind::Interrupted, "asked");
}

// Blocks on all threads stop soon after the calling thread was asked to; also where it only waits
// for the others. What is written in place goes on to its end.
void TestLoopsStop() {
  asked_thread = std::this_thread::get_id();
  interrupt::SetLook(&Look);
  constexpr int64_t kBlocks = 1 << 20;
  for (int threads : {1, 2, 3}) {
    SetNumThreads(threads);
    std::atomic<int64_t> blocks{0};
    stop_asked = true;
    interrupt::Postpone();
    CHECK_THROWS(ParallelBlocks(kBlocks, [&](int64_t) {
      ++blocks;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }), Interrupted, "asked");
    CHECK(blocks > 0 && blocks < kBlocks / 10);
    if (threads > 1) {
      std::atomic<bool> stopped{false};
      CHECK_THROWS(ParallelBlocks(2, [&](int64_t block) {
        while (block == 1) {
          try {
            CheckInterrupt();
          } catch (...) {
            stopped = true;
            throw;
          }
        }
      }), Interrupted, "asked");
      CHECK(stopped.load());
    }
    stop_asked = false;
  }
  stop_asked = true;
  {
    interrupt::Off off;
    ParallelBlocks(3000, [](int64_t) {
      std::this_thread::sleep_for(std::chrono::microseconds(60));
    });
  }
  stop_asked = false;
  interrupt::SetLook(nullptr);
  SetNumThreads(1);
}

// Every element of every loop once, for lengths around the steps at which pieces may end.
void TestWaitingLoops() {
  for (int threads : {1, 2, 3, 4}) {
    SetNumThreads(threads);
    std::vector<std::vector<int>> counts;
    for (int64_t n : {0, 1, 15, 16, 17, 100000, 3, 70001, 32, 250000, 5}) {
      counts.emplace_back(n, 0);
    }
    LoopQueue queue;
    int64_t cost = 1, work = 0;
    for (std::vector<int>& c : counts) {
      int* to = c.data();
      queue.Add(static_cast<int64_t>(c.size()), cost, [to](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++to[i];
      });
      work += static_cast<int64_t>(c.size()) * cost;
      cost = cost % 4 + 1;
    }
    CHECK_EQ(queue.work(), work);
    for (const std::vector<int>& c : counts) {  // nothing has run yet
      for (int v : c) CHECK(v == 0);
    }
    queue.Run();
    CHECK_EQ(queue.work(), int64_t{0});
    queue.Run();  // empty
    bool each_once = true;
    for (const std::vector<int>& c : counts) {
      for (int v : c) each_once &= v == 1;
    }
    CHECK(each_once);
  }
  SetNumThreads(1);
}

}  // namespace
}  // namespace dygraph

int main() {
  dygraph::TestLoopsOfSeveralThreadsShare();
  dygraph::TestServiceThreadsComputeAlone();
  dygraph::TestExceptionsGiveThreadsBack();
  dygraph::TestTheCallerTakesWhatIsNotBegun();
  dygraph::TestEveryBlockOnce();
  dygraph::TestNestedLoopsAreSerial();
  dygraph::TestLoopsStop();
  dygraph::TestWaitingLoops();
  return dygraph::testing::Finish();
}
