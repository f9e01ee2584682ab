#include "traces/files/zip_member.hpp"

#include <minizip/unzip.h>

#include <algorithm>
#include <array>

#include "base/system/inputs/open_input.hpp"
#include "base/text/printable.hpp"

namespace distsim::traces {
namespace {

constexpr std::size_t kMostMembers = 1 << 16;

struct CloseZip {
  void operator()(void* zip) const { unzClose(zip); }
};
using Zip = std::unique_ptr<void, CloseZip>;

Error damaged(const std::string& name) { return Error{"found a damaged zip archive", name, ""}; }
Error no_file(const std::string& name) { return Error{"found no file in the zip archive, expected a trace", name, ""}; }

/// No more than the record at the end of an archive, at the file's beginning, where minizip does not look for it.
bool is_empty_archive(const std::string& path) {
  constexpr std::size_t kEndRecord = 22;
  std::string head(kEndRecord, '\0');
  const auto file = open_input_stream(path);
  if (!file.ok()) return false;
  (*file)->read(head.data(), static_cast<std::streamsize>(head.size()));
  return (*file)->gcount() == static_cast<std::streamsize>(kEndRecord) && head.starts_with("PK\x05\x06");
}

class ZipSource : public ByteSource {
 public:
  ZipSource(Zip zip, std::string name, ExpansionLimit limit, std::uint64_t packed, std::shared_ptr<PackedEnd> end)
      : zip_(std::move(zip)), name_(std::move(name)), limit_(limit), packed_(packed), end_(std::move(end)) {}

  Result<std::size_t> read(char* to, std::size_t n) override {
    if (done_) return std::size_t{0};
    const int got =
        unzReadCurrentFile(zip_.get(), to, static_cast<unsigned>(std::min<std::size_t>(n, std::size_t{1} << 30)));
    if (got < 0) {
      if (out_ == 0) return damaged(name_);
      end_->cut = end_->damaged = done_ = true;
      return std::size_t{0};
    }
    if (got == 0 && n > 0) {
      done_ = true;
      end_->altered = unzCloseCurrentFile(zip_.get()) == UNZ_CRCERROR;
    }
    out_ += static_cast<std::uint64_t>(got);
    TRY(check_expansion(limit_, packed_, out_, name_));
    return static_cast<std::size_t>(got);
  }
  bool cut_short() const override { return end_->cut; }

 private:
  Zip zip_;
  std::string name_;
  ExpansionLimit limit_;
  std::uint64_t packed_, out_ = 0;
  std::shared_ptr<PackedEnd> end_;
  bool done_ = false;
};

Result<std::unique_ptr<ByteSource>> open_member(const std::string& path, const std::string& shown,
                                                const unz64_file_pos& position, ExpansionLimit limit,
                                                std::uint64_t packed, std::shared_ptr<PackedEnd> end) {
  Zip zip(unzOpen64(path.c_str()));
  if (zip == nullptr || unzGoToFilePos64(zip.get(), &position) != UNZ_OK || unzOpenCurrentFile(zip.get()) != UNZ_OK)
    return damaged(shown);
  return std::unique_ptr<ByteSource>(std::make_unique<ZipSource>(std::move(zip), shown, limit, packed, std::move(end)));
}

bool wanted(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  const std::string file = slash == std::string::npos ? name : name.substr(slash + 1);
  return !file.empty() && !file.starts_with(".") && !name.starts_with("__MACOSX/");
}

}  // namespace

Result<std::vector<TraceFile>> open_zip(const std::string& path, ExpansionLimit limit) {
  Zip zip(unzOpen64(path.c_str()));
  if (zip == nullptr) return is_empty_archive(path) ? no_file(path) : damaged(path);
  std::vector<TraceFile> members;
  for (int code = unzGoToFirstFile(zip.get()); code == UNZ_OK; code = unzGoToNextFile(zip.get())) {
    unz_file_info64 info{};
    std::array<char, 4096> name{};
    unz64_file_pos position{};
    if (unzGetCurrentFileInfo64(zip.get(), &info, name.data(), name.size() - 1, nullptr, 0, nullptr, 0) != UNZ_OK ||
        unzGetFilePos64(zip.get(), &position) != UNZ_OK)
      return damaged(path);
    if ((info.flag & 1) != 0) return Error{"found an encrypted zip archive, expected a trace", path, "unpack it first"};
    if (!wanted(name.data())) continue;
    if (members.size() == kMostMembers)
      return Error{"found more than 65536 members, expected the ranks of one job", path, ""};
    const std::string shown = path + ":" + printable(name.data(), 200);
    const std::uint64_t packed = info.compressed_size;
    const auto end = std::make_shared<PackedEnd>();
    members.push_back(
        {shown,
         [path, shown, position, limit, packed, end] { return open_member(path, shown, position, limit, packed, end); },
         "", end});
  }
  if (members.empty()) return no_file(path);
  return members;
}

}  // namespace distsim::traces
