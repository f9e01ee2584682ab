// A file that only grows, of one process at a time: what a journal is written to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/system/descriptor.hpp"

namespace distsim {

class AppendFile {
 public:
  /// Opens for reading and appending, and makes the file where there is none. Errors: cannot be opened; no regular file;
  /// another process has it open, which is named. Where the file system has no locks, that is not noticed.
  static Result<AppendFile> open(const std::string& path);

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }

  /// Bytes from `offset` on, as many as there are up to `most`.
  Result<std::string> read(std::uint64_t offset, std::size_t most) const;

  /// Appends all of it, or nothing: what a full disk took is cut off again.
  Result<void> append(std::string_view bytes);

  /// Cuts off what is beyond `size`.
  Result<void> truncate(std::uint64_t size);

  /// Returns when the bytes are on the disk.
  Result<void> sync();

  /// Takes the file away where open() made it; one that was there before stays.
  void remove_if_new();

 private:
  AppendFile(std::string path, Descriptor file, std::uint64_t size, bool is_new)
      : path_(std::move(path)), file_(std::move(file)), size_(size), is_new_(is_new) {}
  std::string path_;
  Descriptor file_;
  std::uint64_t size_;
  bool is_new_;
};

}  // namespace distsim
