// Several files of one directory that are replaced together: a process killed anywhere leaves all
// old ones or all new ones, to every reader of ours.
//
// Each file is written beside its name first. Then one rename makes the mark, and the set is the
// directory's: readers take a file's new version while the mark is there and it has not got its
// name. Names follow, and the mark goes last. The next writer finishes what a killed one left.
#pragma once

#include <string>
#include <vector>

#include "files/model_files.h"

namespace dygraph::program {

class FileSet {
 public:
  explicit FileSet(const Directory& directory);
  ~FileSet();  // what was not committed leaves nothing behind
  FileSet(const FileSet&) = delete;
  FileSet& operator=(const FileSet&) = delete;

  // `fill(FileWriter*)` gives the contents. A name may be added once.
  template <class Fill>
  void Add(const std::string& name, Fill&& fill) {
    names_.push_back(name);
    FileWriter file(directory_, NextName(name).c_str());
    fill(&file);
    file.Finish();
  }
  void Commit();

 private:
  const Directory& directory_;
  std::vector<std::string> names_;
  bool committed_ = false;
};

// Gives the files of a committed set their names.
void FinishSet(const Directory& directory);

}  // namespace dygraph::program
