#include "files/model_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/enforce.h"
#include "files/crc32.h"
#include "files/file_set.h"

namespace dygraph::program {

namespace {

constexpr size_t kBufferBytes = size_t{1} << 18;

[[noreturn]] void FailIO(const std::string& path, const char* doing) {
  int error = errno;
  const char* reason = std::strerror(error);
  if (error == ENOENT)
    THROW(FileNotFound, "a file operation failed: cannot ", doing, " '", path, "': ", reason);
  if (error == ENOSPC || error == EDQUOT)
    THROW(ResourceExhausted, "a file operation failed: cannot ", doing, " '", path, "': ", reason);
  THROW(PreconditionNotMet, "a file operation failed: cannot ", doing, " '", path, "': ", reason);
}

}  // namespace

void CheckFileName(const std::string& name) {
  ENFORCE(!name.empty() && name != "." && name != ".." && name.size() <= 240 &&
              name.find('/') == std::string::npos && name.find('\0') == std::string::npos,
          InvalidArgument, "the name of a file must be 1 to 240 bytes without '/', got '", name,
          "'");
}

Directory::Directory(const std::string& path, Use use) : path_(path.empty() ? "." : path) {
  if (use == kWrite) {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
  }
  fd_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ < 0) FailIO(path_, "open the model directory");
  Lock(use);
}

Directory::Directory(const std::string& path, const std::vector<std::string>& folders, Use use)
    : path_(path.empty() ? "." : path) {
  for (const std::string& folder : folders) CheckFileName(folder);
  fd_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ < 0) FailIO(path_, "open the directory");
  for (const std::string& folder : folders) {
    path_ += "/" + folder;
    if (use == kWrite) mkdirat(fd_, folder.c_str(), 0777);  // what fails shows when it is opened
    const int next = openat(fd_, folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const int error = errno;
    close(fd_);
    fd_ = next;
    errno = error;
    if (fd_ < 0) FailIO(path_, "open, following no symbolic link, the directory");
  }
  Lock(use);
}

void Directory::Lock(Use use) {
  flock(fd_, use == kWrite ? LOCK_EX : LOCK_SH);  // where a file system has no locks we go without
  pending_ = Has(kSetMark);
  if (pending_ && use == kWrite) {
    FinishSet(*this);
    pending_ = false;
  }
}

Directory::~Directory() { close(fd_); }

void Directory::Rename(const char* from, const char* to) const {
  if (renameat(fd_, from, fd_, to) != 0) FailIO(PathOf(to), "replace");
}

void Directory::Remove(const char* name) const {
  if (unlinkat(fd_, name, 0) != 0 && errno != ENOENT) FailIO(PathOf(name), "remove");
}

void Directory::Sync() const {
  if (fsync(fd_) != 0 && errno != EINVAL) FailIO(path_, "write to the disk the directory");
}

bool Directory::Has(const char* name) const {
  struct stat status;
  return fstatat(fd_, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

std::string NextName(const std::string& name) { return "." + name + kNextEnding; }

std::string Directory::Current(const char* name) const {
  if (!pending_) return name;
  std::string next = NextName(name);
  return Has(next.c_str()) ? next : name;
}

bool FileReader::Open(const Directory& directory, const char* name) {
  path_ = directory.PathOf(name);
  fd_ = openat(directory.fd(), directory.Current(name).c_str(),
               O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) {
    if (errno == ENOENT) return false;
    ENFORCE(errno != ELOOP, Format, "a file of a model must not be a symbolic link, got '", path_,
            "'");
    FailIO(path_, "open");
  }
  struct stat status;
  if (fstat(fd_, &status) != 0) FailIO(path_, "look at");
  ENFORCE(S_ISREG(status.st_mode), Format, "a file of a model must be a regular file, got '", path_,
          "'");
  size_ = static_cast<uint64_t>(status.st_size);
  return true;
}

void FileReader::OpenMemory(const void* bytes, uint64_t size, const std::string& name) {
  path_ = name;
  memory_ = static_cast<const char*>(bytes);
  size_ = size;
}

FileReader::~FileReader() {
  if (fd_ >= 0) close(fd_);
}

void FileReader::Read(void* to, uint64_t size, const char* what) {
  ENFORCE(size <= left(), Format, "the file '", path_, "' must hold ", what, " of ", size,
          " bytes at byte ", read_, ", got its end after ", left());
  char* at = static_cast<char*>(to);
  read_ += size;
  while (size > 0) {
    size_t n;
    if (at_ == filled_ && size >= kBufferBytes) {
      n = ReadSome(at, size);
    } else {
      if (at_ == filled_) {
        buffer_.resize(kBufferBytes);
        filled_ = ReadSome(buffer_.data(), buffer_.size());
        at_ = 0;
      }
      n = static_cast<size_t>(std::min<uint64_t>(size, filled_ - at_));
      std::memcpy(at, buffer_.data() + at_, n);
      at_ += n;
    }
    crc_ = Crc32(crc_, at, n);
    at += n;
    size -= n;
  }
}

size_t FileReader::ReadSome(char* to, size_t most) {
  if (memory_) {
    const size_t here = std::min<size_t>(most, size_ - fetched_);
    std::memcpy(to, memory_ + fetched_, here);
    fetched_ += here;
    return here;
  }
  ssize_t n;
  do {
    n = read(fd_, to, most);
  } while (n < 0 && errno == EINTR);
  if (n < 0) FailIO(path_, "read");
  ENFORCE(n > 0, Format, "the file '", path_, "' became shorter while it was read");
  return static_cast<size_t>(n);
}

FileWriter::FileWriter(const Directory& directory, const char* name)
    : path_(directory.PathOf(name)) {
  directory.Remove(name);
  fd_ = openat(directory.fd(), name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd_ < 0) FailIO(path_, "make");
  buffer_.reserve(kBufferBytes);
}

FileWriter::~FileWriter() {
  if (fd_ >= 0) close(fd_);
}

void FileWriter::Write(const void* from, uint64_t size) {
  const char* bytes = static_cast<const char*>(from);
  crc_ = Crc32(crc_, bytes, size);
  size_ += size;
  if (buffer_.size() + size > kBufferBytes) Flush();
  if (size >= kBufferBytes) {
    WriteOut(bytes, size);
  } else {
    buffer_.insert(buffer_.end(), bytes, bytes + size);
  }
}

void FileWriter::Flush() {
  WriteOut(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void FileWriter::WriteOut(const char* from, uint64_t size) {
  while (size > 0) {
    ssize_t n = write(fd_, from, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) FailIO(path_, "write");
    from += n;
    size -= static_cast<uint64_t>(n);
  }
}

void FileWriter::Finish() {
  Flush();
  if (fsync(fd_) != 0) FailIO(path_, "write to the disk");
  int fd = fd_;
  fd_ = -1;
  if (close(fd) != 0) FailIO(path_, "close");
}

}  // namespace dygraph::program
