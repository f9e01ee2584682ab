#include "sim/study/points/talk.hpp"

#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "base/system/signals.hpp"

namespace distsim::study {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(5000);  // with processes that were told to stop
constexpr auto kHaste = std::chrono::milliseconds(300);      // where mpirun ends them all, for one is gone
constexpr auto kPause = std::chrono::milliseconds(2);

void put_number(std::string& out, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(value >> shift);
}

/// The number at the front, which is taken off; nothing where there is none.
std::optional<std::uint64_t> take_number(std::string_view& bytes) {
  if (bytes.size() < 8) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value |= std::uint64_t(static_cast<unsigned char>(bytes[i])) << (8 * i);
  bytes.remove_prefix(8);
  return value;
}

/// Tells all others to stop, and waits until they have left.
bool dismiss(Team& team) {
  std::set<int> here;
  for (int rank = 1; rank < team.size(); ++rank) {
    if (say(team, rank, Word::stop)) here.insert(rank);
  }
  const std::size_t reached = here.size();
  for (const auto end = std::chrono::steady_clock::now() + (end_asked() ? kHaste : kPatience); !here.empty();) {
    if (const std::optional<Message> message = team.receive()) {
      if (message->kind == static_cast<int>(Word::left)) here.erase(message->from);
    } else if (std::chrono::steady_clock::now() > end) {
      return false;
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
  return reached + 1 == static_cast<std::size_t>(team.size());
}

/// Until the first one says that nothing more will come, or an early end was asked for. A process that leaves before makes
/// the launcher end them all.
void await_stop(Team& team) {
  while (!team.stopped && !end_asked()) {
    const std::optional<Message> message = team.receive();
    if (message && Word{message->kind} == Word::stop) team.stopped = true;
    if (!message) std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

std::string encode(const Greeting& greeting) {
  Row row{{static_cast<double>(greeting.threads)}, {greeting.host}, ""};
  for (const Fact& fact : greeting.identity) row.texts.insert(row.texts.end(), {fact.name, fact.value});
  return encode(row);
}

std::optional<Greeting> decode_greeting(std::string_view bytes) {
  const std::optional<Row> row = decode_row(bytes);
  if (!row || row->figures.size() != 1 || row->texts.size() % 2 != 1 ||
      !(row->figures[0] >= 1 && row->figures[0] < 1e6))
    return std::nullopt;
  Greeting out{row->texts[0], static_cast<unsigned>(row->figures[0]), {}};
  for (std::size_t i = 1; i < row->texts.size(); i += 2) out.identity.push_back({row->texts[i], row->texts[i + 1]});
  return out;
}

std::string encode(std::span<const std::size_t> indices) {
  std::string out;
  for (const std::size_t index : indices) put_number(out, index);
  return out;
}

std::vector<std::size_t> decode_indices(std::string_view bytes) {
  std::vector<std::size_t> out;
  while (const auto index = take_number(bytes)) out.push_back(*index);
  return out;
}

std::string encode(const std::vector<Done>& done) {
  std::string out;
  for (const Done& one : done) {
    put_number(out, one.index);
    put_number(out, one.row.size());
    out += one.row;
  }
  return out;
}

std::vector<Done> decode_done(std::string_view bytes) {
  std::vector<Done> out;
  for (;;) {
    const auto index = take_number(bytes), size = take_number(bytes);
    if (!index || !size || *size > bytes.size()) return out;
    out.push_back({*index, std::string(bytes.substr(0, *size))});
    bytes.remove_prefix(*size);
  }
}

Result<void> told(Team* team, Result<void> result) {
  if (team == nullptr) return result;
  if (team->leads()) {
    if (dismiss(*team)) team->finish();
    return result;
  }
  const bool stopped = !result && result.error().text().empty();  // by the first one, which tells why
  if (stopped) result = Result<void>();
  if (!result) (void)say(*team, 0, Word::failed, result.error().text());
  await_stop(*team);
  (void)say(*team, 0, Word::left);
  team->finish();
  return result;
}

}  // namespace distsim::study
