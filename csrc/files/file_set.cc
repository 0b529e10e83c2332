#include "files/file_set.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "base/enforce.h"

namespace dygraph::program {

namespace {

constexpr const char* kNewMark = ".dygraph.set.tmp";

// Names whose new version stands beside them.
std::vector<std::string> Waiting(const Directory& directory) {
  std::vector<std::string> names;
  int fd = openat(directory.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = fd < 0 ? nullptr : fdopendir(fd);
  if (!entries) {
    if (fd >= 0) close(fd);
    THROW(PreconditionNotMet, "a file operation failed: cannot list '", directory.path(), "'");
  }
  std::string_view ending = kNextEnding;
  while (dirent* entry = readdir(entries)) {
    std::string_view name = entry->d_name;
    if (name.size() <= ending.size() + 1 || name[0] != '.') continue;
    if (name.substr(name.size() - ending.size()) != ending) continue;
    names.emplace_back(name.substr(1, name.size() - ending.size() - 1));
  }
  closedir(entries);
  return names;
}

}  // namespace

void FinishSet(const Directory& directory) {
  for (const std::string& name : Waiting(directory)) {
    directory.Rename(NextName(name).c_str(), name.c_str());
  }
  directory.Sync();
  directory.Remove(kSetMark);
  directory.Sync();
}

// A directory opened to write has no mark: what waits there was never committed.
FileSet::FileSet(const Directory& directory) : directory_(directory) {
  for (const std::string& name : Waiting(directory_)) directory_.Remove(NextName(name).c_str());
}

FileSet::~FileSet() {
  if (committed_) return;
  for (const std::string& name : names_) unlinkat(directory_.fd(), NextName(name).c_str(), 0);
}

void FileSet::Commit() {
  if (names_.size() == 1) {  // one rename is enough
    directory_.Rename(NextName(names_[0]).c_str(), names_[0].c_str());
    committed_ = true;
    directory_.Sync();
    return;
  }
  FileWriter mark(directory_, kNewMark);
  mark.Finish();
  directory_.Sync();  // the new versions are to be found before the mark is
  directory_.Rename(kNewMark, kSetMark);
  committed_ = true;
  directory_.Sync();
  FinishSet(directory_);
}

}  // namespace dygraph::program
