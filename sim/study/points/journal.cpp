#include "sim/study/points/journal.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "base/system/inputs/input_record.hpp"
#include "base/system/inputs/protected_inputs.hpp"
#include "base/text/counted.hpp"
#include "sim/study/points/row.hpp"

namespace distsim::study {
namespace {

constexpr std::string_view kMagic = "distsim journal\n";
constexpr std::string_view kMarker = "\xD1\x57\x51\x4A";
constexpr std::size_t kHead = 12, kMostPayload = std::size_t{1} << 26, kWorthWriting = std::size_t{1} << 16;
constexpr std::size_t kBlock = std::size_t{1} << 20;  // of the file, read at once
constexpr auto kSyncEvery = std::chrono::seconds(1);
constexpr const char* kFormat = "1";                     // of the records and rows
constexpr std::uint64_t kMoreFacts = ~std::uint64_t{0};  // in place of the number of a point

void put_word(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

std::uint64_t word_at(std::string_view bytes, std::size_t at, int size) {
  std::uint64_t value = 0;
  for (int i = 0; i < size; ++i)
    value |= std::uint64_t(static_cast<unsigned char>(bytes[at + std::size_t(i)])) << (8 * i);
  return value;
}

std::uint32_t checksum(std::string_view length, std::string_view payload) {
  const auto add = [](uLong sum, std::string_view bytes) {
    return ::crc32(sum, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
  };
  return static_cast<std::uint32_t>(add(add(0, length), payload));
}

std::string record_of(std::string_view payload) {
  std::string length;
  put_word(length, payload.size(), 4);
  std::string out(kMarker);
  out += length;
  put_word(out, checksum(length, payload), 4);
  return out.append(payload);
}

/// The file from some place on, read in blocks.
class Window {
 public:
  explicit Window(const AppendFile& file) : file_(file) {}
  std::uint64_t size() const { return file_.size(); }

  /// Bytes that looked like records and were none. A file full of the beginnings of long ones would otherwise be summed up
  /// again from each of them: beyond a few times its size, nothing that is left counts as a record.
  void waste(std::uint64_t bytes) { wasted_ += bytes; }
  bool is_hopeless() const { return wasted_ > kMostWaste * (size() + kMostPayload); }

  /// At least `wanted` bytes from `at` on, where there are as many.
  Result<std::string_view> from(std::uint64_t at, std::size_t wanted) {
    if (at < begin_ || at + wanted > begin_ + bytes_.size()) {
      TRY_ASSIGN(bytes_, file_.read(at, std::max(wanted, kBlock)));
      begin_ = at;
    }
    return std::string_view(bytes_).substr(at - begin_);
  }

 private:
  const AppendFile& file_;
  static constexpr std::uint64_t kMostWaste = 8;
  std::uint64_t begin_ = 0;
  std::uint64_t wasted_ = 0;
  std::string bytes_;
};

struct Found {
  std::uint64_t at = 0;
  std::string_view payload;  ///< valid until the window moves
  std::uint64_t end() const { return at + kHead + payload.size(); }
};

/// The record that begins at `at`; nothing where none does, or it is cut or damaged.
Result<std::optional<Found>> record_at(Window& window, std::uint64_t at) {
  TRY_ASSIGN(const std::string_view head, window.from(at, kHead));
  if (head.size() < kHead || !head.starts_with(kMarker)) return std::optional<Found>();
  const std::uint64_t length = word_at(head, 4, 4), sum = word_at(head, 8, 4);
  if (length == 0 || length > kMostPayload || at + kHead + length > window.size() || window.is_hopeless())
    return std::optional<Found>();
  TRY_ASSIGN(const std::string_view whole, window.from(at, kHead + length));
  if (whole.size() < kHead + length) return std::optional<Found>();
  const std::string_view payload = whole.substr(kHead, length);
  if (checksum(whole.substr(4, 4), payload) == sum) return std::optional(Found{at, payload});
  window.waste(length);
  return std::optional<Found>();
}

/// The first whole record from `at` on.
Result<std::optional<Found>> next_record(Window& window, std::uint64_t at) {
  while (at + kHead <= window.size()) {
    TRY_ASSIGN(const std::optional<Found> here, record_at(window, at));
    if (here) return here;
    TRY_ASSIGN(const std::string_view rest, window.from(at + 1, kHead));
    const std::size_t marker = rest.find(kMarker);
    at += marker != std::string_view::npos
              ? 1 + marker
              : std::max<std::uint64_t>(1, rest.size() - std::min(rest.size(), kMarker.size()));
  }
  return std::optional<Found>();
}

std::string row_of_facts(const Identity& identity) {
  Row facts;
  for (const Fact& fact : identity) facts.texts.insert(facts.texts.end(), {fact.name, fact.value});
  return encode(facts);
}

std::string beginning_of(const Identity& of_journal) {
  return std::string(kMagic) + record_of(row_of_facts(of_journal));
}

std::optional<Identity> facts_in(std::string_view payload) {
  const std::optional<Row> facts = decode_row(payload);
  if (!facts || facts->texts.size() % 2 != 0) return std::nullopt;
  Identity out;
  for (std::size_t i = 0; i < facts->texts.size(); i += 2) out.push_back({facts->texts[i], facts->texts[i + 1]});
  return out;
}

Error no_journal(const std::string& path) {
  return {"found no journal of distsim, or its beginning is damaged", path, "give another file with --journal"};
}

/// What a journal says of its study, and where the records of points begin.
struct Header {
  Identity facts;
  std::uint64_t end = 0;
};

Result<Header> read_header(Window& window, const std::string& path) {
  TRY_ASSIGN(const std::string_view magic, window.from(0, kMagic.size()));
  if (!magic.starts_with(kMagic)) return no_journal(path);
  TRY_ASSIGN(const std::optional<Found> first, record_at(window, kMagic.size()));
  std::optional<Identity> facts = first ? facts_in(first->payload) : std::nullopt;
  if (!facts || facts->empty() || facts->front().name != "journal") return no_journal(path);
  return Header{std::move(*facts), first->end()};
}

/// The files that are new to the journal. Error: rows that have a prediction depend on something else than `expected`.
Result<Identity> check_identity(Identity found, const Identity& expected, const std::string& path) {
  Identity since = files_since(found, expected, stamp_of(path).changed_ns);
  found.insert(found.end(), since.begin(), since.end());
  if (const std::string what = difference(found, expected); !what.empty())
    return Error{"a journal of another study: " + what, path, "give another file with --journal"};
  return since;
}

/// What the records say, and where the last whole one ends.
struct Contents {
  std::uint64_t end = 0, points = 0, damaged = 0;
  Identity more;  ///< facts of files that came later
};

Result<Contents> read_points(Window& window, std::uint64_t begin, const Journal::OnRow& on_row) {
  Contents out{begin};
  for (;;) {
    TRY_ASSIGN(const std::optional<Found> record, next_record(window, out.end));
    if (!record) return out;
    out.damaged += record->at - out.end;
    out.end = record->end();
    if (record->payload.size() <= 8) continue;
    const std::uint64_t index = word_at(record->payload, 0, 8);
    const std::string_view row = record->payload.substr(8);
    if (index != kMoreFacts) {
      if (on_row(index, std::string(row))) ++out.points;
    } else if (auto more = facts_in(row)) {
      std::ranges::move(*more, std::back_inserter(out.more));
    }
  }
}

void say_contents(const std::string& path, const Contents& contents, std::uint64_t size) {
  log_info([&] { return path + ": " + counted(contents.points, "point") + " kept from before"; });
  if (contents.damaged > 0)
    log_warn([&] {
      return fmt::format("{}: {} damaged between whole records; what they held is evaluated again", path,
                         counted(contents.damaged, "byte"));
    });
  if (size > contents.end)
    log_warn([&] {
      return fmt::format("{}: the last {} of a write that was cut short dropped", path,
                         counted(size - contents.end, "byte"));
    });
}

Result<void> begin_file(AppendFile& file, const std::string& header) {
  TRY(file.truncate(0));
  TRY(file.append(header));
  return file.sync();
}

}  // namespace

Journal::Journal(AppendFile file) : file_(std::move(file)), synced_at_(std::chrono::steady_clock::now()) {}

Result<Journal> Journal::open(const std::string& path, const Identity& identity, bool resume, const OnRow& on_row) {
  TRY(check_not_input(path));
  TRY_ASSIGN(AppendFile file, AppendFile::open(path));
  Identity expected{{"journal", kFormat}};
  expected.insert(expected.end(), identity.begin(), identity.end());
  const std::string header = beginning_of(expected);
  if (file.size() > 0 && !resume)
    return Error{"--journal: found a file that exists, expected --resume, which goes on with it, or another name", path,
                 ""};
  TRY_ASSIGN(const std::string begun, file.read(0, header.size()));
  if (begun.size() < header.size() && header.starts_with(begun)) {  // empty, or stopped while it was made
    if (const Result<void> made = begin_file(file, header); !made) {
      file.remove_if_new();
      return made.error();
    }
    return Journal(std::move(file));
  }
  Window window(file);
  TRY_ASSIGN(Header found, read_header(window, path));
  TRY_ASSIGN(const Contents contents, read_points(window, found.end, on_row));
  std::ranges::copy(contents.more, std::back_inserter(found.facts));
  TRY_ASSIGN(const Identity since, check_identity(std::move(found.facts), expected, path));
  say_contents(path, contents, file.size());
  if (file.size() > contents.end) TRY(file.truncate(contents.end));
  Journal journal(std::move(file));
  if (!since.empty()) TRY(journal.add(kMoreFacts, row_of_facts(since)));
  return journal;
}

Result<void> Journal::add(std::uint64_t index, std::string_view row) {
  std::string payload;
  put_word(payload, index, 8);
  unwritten_ += record_of(payload.append(row));
  return unwritten_.size() < kWorthWriting ? Result<void>() : write();
}

Result<void> Journal::write() {
  if (unwritten_.empty()) return {};
  TRY(file_.append(unwritten_));
  unwritten_.clear();
  unsynced_ = true;
  return {};
}

Result<void> Journal::keep() {
  TRY(write());
  const auto now = std::chrono::steady_clock::now();
  if (!unsynced_ || now - synced_at_ < kSyncEvery) return {};
  TRY(file_.sync());
  unsynced_ = false;
  synced_at_ = std::chrono::steady_clock::now();
  return {};
}

Result<void> Journal::finish() {
  TRY(write());
  if (unsynced_) TRY(file_.sync());
  unsynced_ = false;
  return {};
}

}  // namespace distsim::study
