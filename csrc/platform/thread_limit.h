// How many threads the loops of one thread may use, beside what the process allows.
#pragma once

namespace dygraph {

// While it lives, loops that the calling thread starts run on `most` threads at most; 0: as before.
class ThreadLimit {
 public:
  explicit ThreadLimit(int most);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int outer_;
  bool alone_;
};

}  // namespace dygraph
