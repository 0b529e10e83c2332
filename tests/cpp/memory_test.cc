// Flags, places, contexts, threads, and above all the memory room: random work against a plain
// model of it. More than 600 lines because the checks share that model and the re-executed child.
#include "memory/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/flags.h"
#include "base/nearest.h"
#include "check.h"
#include "memory/buddy_allocator.h"
#include "platform/device_context.h"
#include "platform/thread_count.h"
#include "platform/threads.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized =
    true;  // its shadow needs address space, so that limits on it cannot be tested
#else
constexpr bool kSanitized = false;
#endif

namespace dygraph {

FLAG(bool, test_bool, false, "from the environment: on");
FLAG(int64_t, test_int, 7, "from the environment: nonsense");
FLAG(double, test_double, 1.5, "from the environment: 2.5");
FLAG(std::string, test_string, "a", "not in the environment");

namespace {

using memory::Alloc;
using memory::Free;
using memory::GetStats;

// Runs `body` in a forked child; the value it returned, or -signal.
template <class Body>
int InChild(const Body& body) {
  std::cout.flush();
  pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a hang fails
    int result = 100;
    try {
      result = body();
    } catch (const std::exception& e) {
      std::cerr << "child: " << e.what() << "\n";
    }
    _exit(result);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Host memory that counts its calls, ends at `total` and refuses more than `most` at a time.
struct Counters {
  size_t calls = 0, alive = 0, total = size_t{16} << 30, most = ~size_t{0};
};
class CountingAllocator : public memory::SystemAllocator {
 public:
  explicit CountingAllocator(Counters* counters) : counters_(counters) {}
  void* Alloc(size_t bytes) override {
    ++counters_->calls;
    if (bytes > counters_->most) return nullptr;
    ++counters_->alive;
    return std::aligned_alloc(4096, bytes);
  }
  void Free(void* block, size_t) override {
    --counters_->alive;
    std::free(block);
  }
  size_t Total() const override { return counters_->total; }

 private:
  Counters* counters_;
};

struct Block {
  size_t bytes;
  unsigned char mark;
};

size_t RandomSize(std::mt19937_64& random) {
  double log_size =
      std::uniform_real_distribution<double>(0, 23)(random);  // 1 B to 8 MB, every scale alike
  return static_cast<size_t>(std::exp2(log_size)) - (random() % 8 == 0);
}

// Both ends of a block hold its mark.
void Fill(void* p, const Block& block) {
  size_t edge = std::min<size_t>(block.bytes, 256);
  std::memset(p, block.mark, edge);
  std::memset(static_cast<char*>(p) + block.bytes - edge, block.mark, edge);
}
bool Holds(const void* p, const Block& block) {
  const unsigned char* c = static_cast<const unsigned char*>(p);
  size_t edge = std::min<size_t>(block.bytes, 256);
  for (size_t i = 0; i < edge; ++i) {
    if (c[i] != block.mark || c[block.bytes - 1 - i] != block.mark) return false;
  }
  return true;
}

// Random allocations against a map of what is live: no overlap, aligned, contents kept.
template <class Take, class Give>
size_t RandomWork(uint64_t seed, int steps, const Take& take, const Give& give) {
  std::mt19937_64 random(seed);
  std::map<char*, Block> live;
  size_t used = 0, peak = 0;
  int bad = 0;
  for (int step = 0; step < steps; ++step) {
    bool grow = live.size() < 20 || (live.size() < 600 && random() % 100 < 52);
    if (grow) {
      Block block{RandomSize(random), static_cast<unsigned char>(random())};
      char* p = static_cast<char*>(take(block.bytes));
      if (!p || reinterpret_cast<uintptr_t>(p) % 64) ++bad;
      auto next = live.lower_bound(p);
      if (next != live.end() && p + block.bytes > next->first) ++bad;
      if (next != live.begin() && std::prev(next)->first + std::prev(next)->second.bytes > p) ++bad;
      Fill(p, block);
      live[p] = block;
      used += block.bytes;
      peak = std::max(peak, used);
    } else {
      auto it = live.begin();
      std::advance(it, random() % live.size());
      if (!Holds(it->first, it->second)) ++bad;
      used -= it->second.bytes;
      give(it->first, it->second.bytes);
      live.erase(it);
    }
  }
  for (auto& item : live) {
    if (!Holds(item.first, item.second)) ++bad;
    give(item.first, item.second.bytes);
  }
  CHECK_EQ(bad, 0);
  return peak;
}

void TestSizes() {
  size_t last_class = 0;
  for (size_t bytes = 0; bytes <= 300000; ++bytes) {
    size_t rounded = memory::RoundSize(bytes);
    bool good = rounded >= std::max<size_t>(bytes, 64) && rounded % 64 == 0 &&
                (bytes <= 4096 || (rounded - bytes) * 16 <= bytes) &&
                memory::RoundSize(rounded) == rounded &&
                memory::SizeOfClass(memory::SizeClass(bytes)) == rounded;
    size_t number = memory::SizeClass(bytes);
    good = good && (number == last_class || number == last_class + 1);
    last_class = number;
    if (!good) CHECK_EQ(bytes, size_t{0});
  }
  CHECK_EQ(memory::SizeClass(65536), size_t{111});
  CHECK_EQ(memory::RoundSize(0), size_t{64});
  CHECK_EQ(memory::RoundSize(4097), size_t{4352});
  CHECK_EQ(memory::RoundSize(size_t{40} << 20), size_t{40} << 20);
}

void TestFreeSet() {
  std::mt19937_64 random(3);
  for (size_t bits : {1, 63, 64, 65, 4096, 4097, 300000}) {
    std::vector<uint64_t> words(memory::FreeSet::Words(bits));
    memory::FreeSet set;
    set.Init(words.data(), bits);
    std::map<size_t, bool> model;
    int bad = 0;
    for (int step = 0; step < 20000; ++step) {
      size_t i = random() % bits;
      bool in = model.count(i);
      if (set.Has(i) != in) ++bad;
      if (in) {
        set.Remove(i), model.erase(i);
      } else if (random() % 100 < (step / 5000 % 2 ? 20 : 80)) {
        set.Add(i), model[i] = true;
      }
      if (set.empty() != model.empty() || (!model.empty() && set.First() != model.begin()->first))
        ++bad;
    }
    CHECK_EQ(bad, 0);
  }
}

// Without red zones, which a sanitizer wants: the sizes here fill arenas to the byte.
void TestBuddy() {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Counters counters;
    memory::BuddyAllocator buddy(CPUPlace(), std::make_unique<CountingAllocator>(&counters), 0);
    RandomWork(
        seed, 6000, [&](size_t n) { return buddy.Alloc(n); },
        [&](void* p, size_t n) { buddy.Free(p, n); });
    // Everything has merged: 128 MB come in one piece from each arena without asking the system.
    size_t reserved = buddy.reserved(), arenas = buddy.arenas(), calls = counters.calls;
    CHECK(calls <= 12);
    size_t taken = 0;
    std::vector<std::pair<void*, size_t>> whole;
    while (taken < reserved) {
      size_t n = buddy.largest_free();
      whole.emplace_back(buddy.Alloc(n), n);
      taken += n;
      if (whole.size() > arenas) break;
    }
    CHECK_EQ(whole.size(), arenas);
    CHECK_EQ(counters.calls, calls);
    CHECK_EQ(buddy.largest_free(), size_t{0});
    for (auto& item : whole) buddy.Free(item.first, item.second);
    CHECK_EQ(buddy.ReleaseFree(), reserved);
    CHECK_EQ(counters.alive, size_t{0});
  }

  Counters counters;
  {
    memory::BuddyAllocator buddy(CPUPlace(), std::make_unique<CountingAllocator>(&counters), 0);
    std::vector<void*> tensors;
    for (int i = 0; i < 10000; ++i) tensors.push_back(buddy.Alloc(4096));
    CHECK_EQ(counters.calls, size_t{1});
    for (void* p : tensors) buddy.Free(p, 4096);
    // The tail of each block goes back: 5 KB leave 1 KB and 2 KB of their 8 for others, and the
    // arena fills wholly.
    std::vector<std::pair<void*, size_t>> parts;
    for (size_t n : {5120, 2048, 1024}) {
      for (int i = 0; i < 8192; ++i) parts.emplace_back(buddy.Alloc(n), n);
    }
    CHECK_EQ(counters.calls, size_t{1});
    CHECK_EQ(buddy.largest_free(), size_t{0});
    for (auto& part : parts) buddy.Free(part.first, part.second);
    CHECK_EQ(buddy.largest_free(), size_t{64} << 20);
    // Best fit: the hole of 1 MB serves 1 MB though larger blocks are free.
    void* a = buddy.Alloc(1 << 20);
    void* b = buddy.Alloc(1 << 20);
    void* c = buddy.Alloc(size_t{4} << 20);
    buddy.Free(b, 1 << 20);
    CHECK(buddy.Alloc(1 << 20) == b);
    buddy.Free(a, 1 << 20), buddy.Free(b, 1 << 20), buddy.Free(c, size_t{4} << 20);
    int on_the_stack = 0;
    CHECK_THROWS(buddy.Free(&on_the_stack, 4), PreconditionNotMet, "not allocated there");
  }
  CHECK_EQ(counters.alive, size_t{0});

  // An odd request near the limit gets an arena of its own length, and gets it again after freeing
  // it.
  Counters tight;
  tight.total = size_t{100} << 20;
  memory::BuddyAllocator buddy(CPUPlace(), std::make_unique<CountingAllocator>(&tight), 0);
  for (int i = 0; i < 3; ++i) {
    void* p = buddy.Alloc(size_t{90} << 20);
    CHECK(p != nullptr);
    CHECK(buddy.Alloc(size_t{20} << 20) == nullptr);
    if (p) buddy.Free(p, size_t{90} << 20);
  }
  CHECK_EQ(tight.alive, size_t{1});
  CHECK_EQ(tight.calls, size_t{1});
  // A wholly free arena makes room for another length.
  CHECK(buddy.Alloc(size_t{200} << 20) == nullptr);
  for (size_t n : {size_t{1} << 50, size_t{1} << 63, ~size_t{0}}) CHECK(buddy.Alloc(n) == nullptr);

  Counters meagre;
  meagre.most = size_t{3} << 20;  // as under a limit on address space
  memory::BuddyAllocator small(CPUPlace(), std::make_unique<CountingAllocator>(&meagre), 0);
  void* p = small.Alloc(size_t{3} << 20);
  CHECK(p != nullptr);
  CHECK_EQ(small.reserved(), size_t{3} << 20);
  small.Free(p, size_t{3} << 20);
}

// Blocks that come several at a time are freed one by one, whatever their size.
void TestSeveral() {
  Counters counters;
  memory::BuddyAllocator buddy(CPUPlace(), std::make_unique<CountingAllocator>(&counters), 0);
  std::mt19937_64 random(5);
  std::vector<std::pair<char*, Block>> live;
  int bad = 0;
  for (size_t units = 1; units <= 40; ++units) {
    void* blocks[32];
    const Block block{units * 64, static_cast<unsigned char>(units)};
    const uint32_t count = buddy.AllocSeveral(block.bytes, 32, blocks);
    CHECK_EQ(count, uint32_t{32});
    for (void* p : blocks) {
      Fill(p, block);
      live.emplace_back(static_cast<char*>(p), block);
    }
    std::shuffle(live.begin(), live.end(), random);
    for (int i = 0; i < 20; ++i) {
      bad += !Holds(live.back().first, live.back().second);
      buddy.Free(live.back().first, live.back().second.bytes);
      live.pop_back();
    }
    for (int i = 0; i < 20; ++i) {  // what was freed is taken again, one by one
      const Block one{64 * (1 + random() % 4), static_cast<unsigned char>(random())};
      live.emplace_back(static_cast<char*>(buddy.Alloc(one.bytes)), one);
      Fill(live.back().first, one);
    }
  }
  for (auto& [p, block] : live) {
    bad += !Holds(p, block);
    buddy.Free(p, block.bytes);
  }
  CHECK_EQ(bad, 0);
  const size_t reserved = buddy.reserved();
  CHECK_EQ(buddy.ReleaseFree(), reserved);
}

void TestStats() {
  Place cpu = CPUPlace();
  memory::ReleaseFree(cpu);
  memory::ResetPeak(cpu);
  memory::Stats before = GetStats(cpu);
  CHECK_EQ(before.used, size_t{0});
  size_t highest = RandomWork(
      11, 30000, [&](size_t n) { return Alloc(cpu, n); },
      [&](void* p, size_t n) { Free(cpu, p, n); });
  memory::Stats after = GetStats(cpu);
  CHECK_EQ(after.used, size_t{0});
  CHECK_EQ(after.live_blocks, size_t{0});
  CHECK_EQ(after.peak, highest);
  CHECK(after.total_allocs - before.total_allocs >= 15000);
  CHECK(after.arenas <= 12);
  CHECK_EQ(memory::ReleaseFree(cpu), after.reserved);
  CHECK_EQ(GetStats(cpu).reserved, size_t{0});

  // The peak of small blocks alone is exact too.
  memory::ResetPeak(cpu);
  std::vector<void*> blocks;
  for (int i = 0; i < 777; ++i) blocks.push_back(Alloc(cpu, 100));
  CHECK_EQ(memory::Used(cpu), size_t{77700});
  CHECK_EQ(GetStats(cpu).live_blocks, size_t{777});
  for (void* p : blocks) Free(cpu, p, 100);
  CHECK_EQ(memory::Used(cpu), size_t{0});
  CHECK_EQ(GetStats(cpu).peak, size_t{77700});
  memory::ResetPeak(cpu);
  CHECK_EQ(GetStats(cpu).peak, size_t{0});

  void* empty = Alloc(cpu, 0);
  void* other = Alloc(cpu, 0);
  CHECK(empty && other && empty != other);
  CHECK_EQ(GetStats(cpu).live_blocks, size_t{2});
  Free(cpu, empty, 0), Free(cpu, other, 0), Free(cpu, nullptr, 0),
      Free(cpu, nullptr, size_t{1} << 40);
  CHECK_EQ(GetStats(cpu).live_blocks, size_t{0});

  // The next of equal large blocks takes the address of the last: its pages are hot.
  void* first = Alloc(cpu, size_t{3} << 20);
  Free(cpu, first, size_t{3} << 20);
  void* again = Alloc(cpu, size_t{3} << 20);
  CHECK(first == again);
  Free(cpu, again, size_t{3} << 20);
}

void TestThreads() {
  Place cpu = CPUPlace();
  memory::ReleaseFree(cpu);
  memory::ResetPeak(cpu);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, cpu] {
      RandomWork(
          100 + t, 6000, [&](size_t n) { return Alloc(cpu, n); },
          [&](void* p, size_t n) { Free(cpu, p, n); });
    });
  }
  for (int i = 0; i < 200; ++i) {
    memory::Stats stats = GetStats(cpu);
    CHECK(stats.used <= stats.peak && stats.used <= stats.reserved);
    if (i % 50 == 0) memory::ReleaseFree(cpu);
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(memory::Used(cpu), size_t{0});
  CHECK_EQ(GetStats(cpu).live_blocks, size_t{0});

  // Blocks made on one thread and freed on another, and a thread whose static destructors free
  // after its cache ended.
  std::vector<void*> made(20000);
  std::thread([&] {
    for (void*& p : made) p = Alloc(cpu, 192);
  }).join();
  CHECK_EQ(memory::Used(cpu), made.size() * 192);
  CHECK(GetStats(cpu).peak >= made.size() * 192);
  std::thread([&] {
    for (void* p : made) Free(cpu, p, 192);
  }).join();
  CHECK_EQ(memory::Used(cpu), size_t{0});
  struct Late {
    void* block = nullptr;
    ~Late() {
      Free(CPUPlace(), block, 100);
      Free(CPUPlace(), Alloc(CPUPlace(), 100), 100);
    }
  };
  std::thread([&] {
    static thread_local Late late;  // made before the cache, so it ends after it
    late.block = Alloc(cpu, 100);
  }).join();
  CHECK_EQ(memory::Used(cpu), size_t{0});
  // The ended threads gave their cached blocks back: nothing keeps an arena.
  memory::ReleaseFree(cpu);
  CHECK_EQ(GetStats(cpu).reserved, size_t{0});
}

void TestFailures() {
  Place cpu = CPUPlace();
  void* held = Alloc(cpu, size_t{1} << 20);
  for (size_t n :
       {size_t{1} << 47, size_t{1} << 62, (size_t{1} << 62) + 1, ~size_t{0} - 63, ~size_t{0}}) {
    CHECK_THROWS(Alloc(cpu, n), ResourceExhausted, " on CPUPlace: 1.0 MB in use (peak ");
  }
  Free(cpu, held, size_t{1} << 20);
  memory::ReleaseFree(cpu);
  memory::ResetPeak(cpu);
  double share =
      2.5 * (64 << 20) / static_cast<double>(sysconf(_SC_PHYS_PAGES)) / sysconf(_SC_PAGESIZE);
  SetFlag("fraction_of_cpu_memory_to_use", share);
  const size_t arena = (size_t{64} << 20) - memory::kRedZone;  // to be filled wholly
  void* a = Alloc(cpu, arena);
  CHECK_THROWS(Alloc(cpu, size_t{4} << 30), ResourceExhausted,
               "cannot allocate 4.0 GB on CPUPlace: 64.0 MB in use (peak 64.0 MB), largest free "
               "block 0 B, arenas "
               "may take ");
  CHECK_THROWS(Alloc(cpu, size_t{4} << 30), ResourceExhausted,
               "(FLAGS_fraction_of_cpu_memory_to_use=0.");
  void* b = Alloc(cpu, size_t{80} << 20);
  CHECK(GetStats(cpu).reserved <= size_t{160} << 20);
  CHECK_THROWS(Alloc(cpu, size_t{80} << 20), ResourceExhausted, "144.0 MB in use");
  Free(cpu, a, arena);
  Free(cpu, b, size_t{80} << 20);
  void* c = Alloc(cpu, size_t{150} << 20);  // has to give the free arenas back first
  Free(cpu, c, size_t{150} << 20);
  SetFlag("fraction_of_cpu_memory_to_use", 0.0);
  memory::ReleaseFree(cpu);
  CHECK_THROWS(Alloc(cpu, 1), ResourceExhausted, "arenas may take 0 B");
  SetFlag("fraction_of_cpu_memory_to_use", 1.0);

  memory::FailAllocation(3);
  Free(cpu, Alloc(cpu, 10), 10);
  Free(cpu, Alloc(cpu, 1 << 20), 1 << 20);
  CHECK_THROWS(Alloc(cpu, 10), ResourceExhausted, "cannot allocate 10 B on CPUPlace");
  Free(cpu, Alloc(cpu, 10), 10);
  memory::FailAllocation(1);
  memory::FailAllocation(0);
  Free(cpu, Alloc(cpu, 10), 10);
  CHECK_EQ(memory::Used(cpu), size_t{0});

  memory::ReleaseFree(cpu);
  if (!kSanitized) {
    CHECK_EQ(InChild([&] {
               rlimit limit{size_t{1} << 30, size_t{1} << 30};
               setrlimit(RLIMIT_AS, &limit);
               try {
                 Alloc(cpu, size_t{2} << 30);
                 return 1;
               } catch (const Error& e) {
                 if (e.kind() != ErrorKind::ResourceExhausted) return 2;
               }
               std::vector<void*> blocks;
               try {
                 for (;;) blocks.push_back(Alloc(cpu, size_t{1} << 20));
               } catch (const Error& e) {
                 return e.kind() == ErrorKind::ResourceExhausted && blocks.size() > 300 ? 0 : 3;
               }
             }),
             0);
  }
}

void TestFork() {
  Place cpu = CPUPlace();
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    std::mt19937_64 random(5);
    while (!stop) {
      size_t n = RandomSize(random);
      Free(cpu, Alloc(cpu, n), n);
    }
  });
  void* kept = Alloc(cpu, 1000);
  std::memset(kept, 7, 1000);
  ParallelBlocks(8, [](int64_t) {});  // starts the pool
  for (int i = 0; i < 20; ++i) {
    CHECK_EQ(
        InChild([&] {
          std::atomic<int> sum{0};
          ParallelFor(1000, 10,
                      [&](int64_t begin, int64_t end) { sum += static_cast<int>(end - begin); });
          SetNumThreads(2);
          for (size_t n : {size_t{100}, size_t{5000}, size_t{1} << 22}) Free(cpu, Alloc(cpu, n), n);
          return sum == 1000 && NumThreads() == 1 && static_cast<char*>(kept)[999] == 7 ? 0 : 1;
        }),
        0);
  }
  stop = true;
  busy.join();
  Free(cpu, kept, 1000);
  CHECK_EQ(memory::Used(cpu), size_t{0});
}

void TestComputeThreads() {
  CHECK(AvailableCores() >= 1);
  CHECK(NumThreads() >= 1 && NumThreads() <= AvailableCores());
  SetNumThreads(3);
  CHECK_EQ(NumThreads(), 3);
  CHECK_THROWS(SetNumThreads(0), OutOfRange, "must be in [1, 1024], got 0");
  CHECK_THROWS(SetNumThreads(1025), OutOfRange, "got 1025");
  std::vector<std::atomic<int>> seen(1000);
  ParallelBlocks(1000, [&](int64_t i) {
    ++seen[i];
    if (NumThreads() != 1) seen[i] += 100;  // nested loops run where they are
    ParallelBlocks(4, [&](int64_t) { seen[i] += 10; });
  });
  CHECK(std::all_of(seen.begin(), seen.end(), [](const std::atomic<int>& n) { return n == 41; }));
  CHECK_EQ(NumThreads(), 3);
  CHECK_THROWS(
      ParallelBlocks(100, [](int64_t i) { ENFORCE(i != 57, InvalidArgument, "block 57"); }),
      InvalidArgument, "block 57");
  CHECK_EQ(NumThreads(), 3);
  int service = 0, other = 0;
  std::thread([&] { SetServiceThread(), service = NumThreads(); }).join();
  std::thread([&] { other = NumThreads(); }).join();
  CHECK_EQ(service, 1);
  CHECK_EQ(other, 3);
}

void TestFlags() {
  CHECK_EQ(FLAGS_test_bool, true);
  CHECK_EQ(FLAGS_test_int, 7);
  CHECK_EQ(FLAGS_test_double, 2.5);
  std::vector<std::string> problems = FlagProblems();
  CHECK_EQ(problems.size(), size_t{1});
  if (!problems.empty())
    CHECK_EQ(problems[0], "FLAGS_test_int must be an integer, got '12x'. The default is kept.");
  auto unknown = UnknownEnvironmentFlags();
  CHECK_EQ(unknown.size(), size_t{1});
  if (!unknown.empty()) {
    CHECK_EQ(unknown[0].first, "test_duoble");
    CHECK_EQ(unknown[0].second, "test_double");
  }
  SetFlag("test_int", int64_t{-3});
  CHECK_EQ(FLAGS_test_int, -3);
  CHECK_EQ(std::get<int64_t>(GetFlag("test_int")), -3);
  SetFlag("test_double", int64_t{4});
  CHECK_EQ(FLAGS_test_double, 4.0);
  SetFlag("test_bool", int64_t{0});
  CHECK_EQ(FLAGS_test_bool, false);
  SetFlag("test_string", std::string("b"));
  CHECK_EQ(FLAGS_test_string, "b");
  CHECK_THROWS(SetFlag("test_int", 1.5), Type, "FLAGS_test_int must be an integer, got 1.5");
  CHECK_THROWS(SetFlag("test_bool", int64_t{2}), Type, "must be true or false, got 2");
  CHECK_THROWS(SetFlag("test_int", true), Type, "got true");
  CHECK_THROWS(GetFlag("test_itn"), NotFound,
               "there is no flag 'test_itn'. Did you mean 'test_int'?");
  bool found = false;
  for (const FlagInfo& flag : AllFlags()) {
    found = found || (flag.name == "test_double" && std::get<double>(flag.default_value) == 1.5);
  }
  CHECK(found);
  CHECK_EQ(DidYouMean("recieve", {"receive", "relieve", "x"}),
           " Did you mean 'receive' or 'relieve'?");
  CHECK_EQ(DidYouMean("abc", {"xyz"}), "");
  CHECK(NearestNames("", {"a"}).empty());
}

void TestPlaces() {
  CHECK_EQ(ToString(CPUPlace()), "CPUPlace");
  CHECK_EQ(ToString(CUDAPlace(3)), "CUDAPlace(3)");
  CHECK_EQ(ToString(CUDAPinnedPlace()), "CUDAPinnedPlace");
  CHECK(CUDAPlace(127) != CUDAPlace(0));
  CHECK_THROWS(CUDAPlace(-1), OutOfRange, "must be in [0, 128), got -1");
  CHECK_THROWS(CUDAPlace(128), OutOfRange, "got 128");
  CHECK(&GetDeviceContext(CPUPlace()) == &GetDeviceContext(CPUPlace()));
  CHECK(IsAvailable(CPUPlace()) && !IsAvailable(CUDAPlace(0)) && !IsAvailable(CUDAPinnedPlace()));
  const char* no_cuda =
      "this build has no CUDA backend. Install one with DYGRAPH_WITH_CUDA=1, or use "
      "dygraph.CPUPlace().";
  CHECK_THROWS(GetDeviceContext(CUDAPlace(1)), Unimplemented,
               std::string("CUDAPlace(1): ") + no_cuda);
  CHECK_THROWS(GetDeviceContext(CUDAPinnedPlace()), Unimplemented,
               std::string("CUDAPinnedPlace: ") + no_cuda);
  CHECK_THROWS(Alloc(CUDAPlace(0), 10), Unimplemented, no_cuda);
  CHECK_THROWS(Alloc(CUDAPlace(0), ~size_t{0}), Unimplemented, no_cuda);

  DeviceKind kind = RegisterDeviceKind("SamplePlace");
  Place sample{kind, 2}, found;
  CHECK_EQ(ToString(sample), "SamplePlace(2)");
  CHECK(FindDeviceKind("SamplePlace", &found.kind) && found.kind == kind);
  CHECK(!FindDeviceKind("Sample", &found.kind));
  CHECK_THROWS(RegisterDeviceKind("SamplePlace"), AlreadyExists,
               "'SamplePlace' is registered already");
  CHECK_THROWS(Alloc(sample, 10), Unimplemented, "SamplePlace(2): no backend is registered");
  static Counters counters;
  auto factory = [](Place) { return std::make_unique<CountingAllocator>(&counters); };
  memory::RegisterSystemAllocator(kind, factory);
  CHECK_THROWS(memory::RegisterSystemAllocator(kind, factory), AlreadyExists, "SamplePlace has");
  CHECK_THROWS(memory::RegisterSystemAllocator(DeviceKind::kCPU, factory), AlreadyExists,
               "CPUPlace has");
  RandomWork(
      5, 3000, [&](size_t n) { return Alloc(sample, n); },
      [&](void* p, size_t n) { Free(sample, p, n); });
  CHECK_EQ(memory::Used(sample), size_t{0});
  CHECK(counters.alive >= 1);
  CHECK_EQ(memory::ReleaseFree(sample) > 0, true);
  CHECK_EQ(counters.alive, size_t{0});
  CHECK_THROWS(RegisterDeviceContext(DeviceKind::kCPU, nullptr), AlreadyExists, "CPUPlace has");
  for (int i = 4; i < kMaxDeviceKinds; ++i) RegisterDeviceKind("Place" + std::to_string(i));
  CHECK_THROWS(RegisterDeviceKind("OneMore"), PreconditionNotMet, "at most 8 kinds");
  CHECK_THROWS(Alloc(Place{static_cast<DeviceKind>(200), 0}, 1), OutOfRange, "got 200");
  float from[2] = {1, 2}, to[2] = {};
  GetDeviceContext(CPUPlace()).CopyFromHost(to, from, sizeof(from));
  GetDeviceContext(CPUPlace()).CopyWithin(nullptr, nullptr, 0);
  CHECK_EQ(to[1], 2.0f);
}

// Memory without any access right: whoever touches a block ends the test.
class UntouchableAllocator : public memory::SystemAllocator {
 public:
  void* Alloc(size_t bytes) override {
    void* p = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? nullptr : p;
  }
  void Free(void* block, size_t bytes) override { munmap(block, bytes); }
  size_t Total() const override { return size_t{4} << 30; }
};

// Random blocks of a place whose memory cannot be touched: none overlaps another.
void RandomDeviceWork(Place place, uint64_t seed, int steps) {
  std::mt19937_64 random(seed);
  std::map<uintptr_t, size_t> live;
  for (int i = 0; i < steps; ++i) {
    if (live.size() < 200 && random() % 2) {
      const size_t bytes = RandomSize(random) >> (random() % 4 ? 8 : 0);
      const auto at = reinterpret_cast<uintptr_t>(Alloc(place, bytes));
      auto next = live.lower_bound(at);
      CHECK(at % 64 == 0 && (next == live.end() || at + bytes <= next->first));
      CHECK(next == live.begin() || std::prev(next)->first + std::prev(next)->second <= at);
      live[at] = bytes;
    } else if (!live.empty()) {
      auto one = std::next(live.begin(), static_cast<int64_t>(random() % live.size()));
      Free(place, reinterpret_cast<void*>(one->first), one->second);
      live.erase(one);
    }
  }
  for (auto [at, bytes] : live) Free(place, reinterpret_cast<void*>(at), bytes);
}

void TestDevices() {
  memory::RegisterSystemAllocator(DeviceKind::kCUDA, [](Place) {
    return std::unique_ptr<memory::SystemAllocator>(std::make_unique<UntouchableAllocator>());
  });
  const Place first = CUDAPlace(0), second = CUDAPlace(1), far = CUDAPlace(100);  // not cached
  for (Place place : {first, second, far}) RandomDeviceWork(place, 21, 20000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([=] { RandomDeviceWork(first, 30 + static_cast<uint64_t>(t), 5000); });
  for (std::thread& thread : threads) thread.join();
  for (Place place : {first, second, far}) {
    CHECK_EQ(memory::Used(place), size_t{0});
    CHECK_EQ(GetStats(place).live_blocks, size_t{0});
  }

  // Counts are exact while blocks lie in the cache, and apart for each device.
  memory::ResetPeak(first);
  const size_t allocs = GetStats(first).total_allocs;
  std::vector<void*> blocks;
  for (int i = 0; i < 777; ++i) blocks.push_back(Alloc(first, 100));
  CHECK_EQ(memory::Used(first), size_t{77700});
  CHECK_EQ(memory::Used(second), size_t{0});
  for (void* p : blocks) Free(first, p, 100);
  CHECK_EQ(GetStats(first).peak, size_t{77700});
  CHECK_EQ(GetStats(first).total_allocs - allocs, size_t{777});
  void* again = Alloc(first, 100);
  CHECK(again == blocks.back());  // the one freed last
  Free(first, again, 100);

  // Blocks that change the thread, and caches of ended threads, keep no arena.
  for (void*& p : blocks) p = Alloc(first, 3000);
  std::thread([&] {
    for (void* p : blocks) Free(first, p, 3000);
  }).join();
  CHECK_EQ(memory::Used(first), size_t{0});
  for (Place place : {first, second, far}) {
    memory::ReleaseFree(place);
    CHECK_EQ(GetStats(place).reserved, size_t{0});
  }
}

}  // namespace
}  // namespace dygraph

int main(int, char** arguments) {
  // Flags read the environment while the program loads, so the test starts itself again with one.
  if (!std::getenv("FLAGS_test_bool")) {
    setenv("FLAGS_test_bool", "on", 1);
    setenv("FLAGS_test_int", "12x", 1);
    setenv("FLAGS_test_double", "2.5", 1);
    setenv("FLAGS_test_duoble", "2.5", 1);
    execv("/proc/self/exe", arguments);
    return 1;
  }
  using namespace dygraph;
  TestFlags();
  TestSizes();
  TestFreeSet();
  TestBuddy();
  TestSeveral();
  TestStats();
  TestThreads();
  TestFailures();
  TestComputeThreads();
  TestFork();
  TestPlaces();
  TestDevices();
  return testing::Finish();
}
