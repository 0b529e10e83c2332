// Files of a model directory: opened by fixed names, never through a symbolic link, written to
// last.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dygraph::program {

// InvalidArgument for what cannot be the name of a file and of its temporaries.
void CheckFileName(const std::string& name);

// An open directory, locked against other savers (or, for reading, against any).
class Directory {
 public:
  enum Use { kRead, kWrite };  // kWrite makes the directory and its parents
  Directory(const std::string& path, Use use);
  // A folder in the one at `path`, which is there; no step to it is a symbolic link.
  Directory(const std::string& path, const std::vector<std::string>& folders, Use use);
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  const std::string& path() const { return path_; }
  std::string PathOf(const char* name) const { return path_ + "/" + name; }
  int fd() const { return fd_; }
  void Rename(const char* from, const char* to) const;
  void Remove(const char* name) const;  // nothing happens if it is not there
  void Sync() const;
  // The name a reader opens for `name`: the one it was written under while a set (file_set.h)
  // that a killed process committed has not all its names yet.
  std::string Current(const char* name) const;
  bool Has(const char* name) const;

 private:
  void Lock(Use use);
  std::string path_;
  int fd_ = -1;
  bool pending_ = false;
};

// Of a set that is being written: its mark of being complete, and the name beside `name`.
constexpr const char* kSetMark = ".dygraph.set";
constexpr const char* kNextEnding = ".dygraph.next";
std::string NextName(const std::string& name);

// Reads from the start, adding to a CRC as it goes.
class FileReader {
 public:
  // False if there is no such file; Format for anything that is not a regular file.
  bool Open(const Directory& directory, const char* name);
  // Bytes of the caller, who keeps them, instead of a file; messages call them `name`.
  void OpenMemory(const void* bytes, uint64_t size, const std::string& name);
  ~FileReader();
  uint64_t size() const { return size_; }
  uint64_t left() const { return size_ - read_; }
  uint32_t crc() const { return crc_; }
  const std::string& path() const { return path_; }
  // Format if the file ends sooner; `what` is being read.
  void Read(void* to, uint64_t size, const char* what);

 private:
  size_t ReadSome(char* to, size_t most);  // at least a byte
  std::string path_;
  int fd_ = -1;
  const char* memory_ = nullptr;
  uint64_t fetched_ = 0;  // of memory_
  uint64_t size_ = 0, read_ = 0;
  uint32_t crc_ = 0;
  std::vector<char> buffer_;
  size_t at_ = 0, filled_ = 0;
};

class FileWriter {
 public:
  FileWriter(const Directory& directory, const char* name);  // replaces what is there
  ~FileWriter();
  void Write(const void* from, uint64_t size);
  void Finish();  // everything is on the disk after it
  uint64_t size() const { return size_; }
  uint32_t crc() const { return crc_; }

 private:
  void Flush();
  void WriteOut(const char* from, uint64_t size);
  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
  uint32_t crc_ = 0;
  std::vector<char> buffer_;
};

}  // namespace dygraph::program
