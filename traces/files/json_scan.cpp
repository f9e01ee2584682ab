#include "traces/files/json_scan.hpp"

#include <bit>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace distsim::traces {
namespace {

/// First byte of [p, end) that is a quote or a backslash.
const char* find_quote(const char* p, const char* end) {
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
  for (; end - p >= 16; p += 16) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const int hits = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(text, quote), _mm_cmpeq_epi8(text, backslash)));
    if (hits != 0) return p + std::countr_zero(static_cast<unsigned>(hits));
  }
#endif
  while (p < end && *p != '"' && *p != '\\') ++p;
  return p;
}

/// First byte of [p, end) that is a quote or a bracket. '[' and ']' differ from '{' and '}' in one bit, which is set
/// first.
const char* find_structure(const char* p, const char* end) {
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"'), open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}'),
                bit = _mm_set1_epi8(0x20);
  for (; end - p >= 16; p += 16) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i folded = _mm_or_si128(text, bit);
    const __m128i any = _mm_or_si128(_mm_cmpeq_epi8(text, quote),
                                     _mm_or_si128(_mm_cmpeq_epi8(folded, open), _mm_cmpeq_epi8(folded, close)));
    const int hits = _mm_movemask_epi8(any);
    if (hits != 0) return p + std::countr_zero(static_cast<unsigned>(hits));
  }
#endif
  while (p < end && *p != '"' && (*p | 0x20) != '{' && (*p | 0x20) != '}') ++p;
  return p;
}

bool ends_scalar(char c) {
  return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == ':';
}

}  // namespace

/// `p` is inside a string: the position after its closing quote, or nullptr.
const char* JsonScan::string_end(const char* p, const char* end) {
  for (;;) {
    if (escaped_) {
      if (p == end) return nullptr;
      escaped_ = false;
      ++p;
    }
    p = find_quote(p, end);
    if (p == end) return nullptr;
    if (*p == '"') return p + 1;
    escaped_ = true;
    ++p;
  }
}

const char* JsonScan::advance(const char* p, const char* end) {
  if (state_ == State::start) {
    if (p == end) return nullptr;
    const char c = *p;
    const bool opens = c == '{' || c == '[';
    state_ = c == '"' ? State::top_string : opens ? State::inside : State::scalar;
    depth_ = opens ? 1 : 0;
    if (state_ != State::scalar) ++p;
  }
  if (state_ == State::scalar) {
    while (p < end && !ends_scalar(*p)) ++p;
    return p < end ? p : nullptr;
  }
  if (state_ == State::top_string) return string_end(p, end);
  for (;;) {
    if (state_ == State::string) {
      p = string_end(p, end);
      if (p == nullptr) return nullptr;
      state_ = State::inside;
    }
    p = find_structure(p, end);
    if (p == end) return nullptr;
    const char c = *p++;
    if (c == '"') {
      state_ = State::string;
    } else if ((c | 0x20) == '{') {
      ++depth_;
    } else if (--depth_ == 0) {
      return p;
    }
  }
}

}  // namespace distsim::traces
