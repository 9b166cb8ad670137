#include "sim/base/random.hpp"

// Random123 is a C header library that our warning set was not written for.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <Random123/philox.h>
#pragma GCC diagnostic pop

namespace tokenline {
namespace {

std::uint32_t low(std::uint64_t word) { return static_cast<std::uint32_t>(word & 0xffffffffU); }
std::uint32_t high(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32U); }

/// SplitMix64's finaliser (Steele et al., OOPSLA'14): seed and purpose share one 64-bit key.
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31U);
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view purpose, std::uint64_t id)
    : RandomStream(seed, hash(purpose), id) {}

RandomStream::RandomStream(std::uint64_t seed, std::uint64_t purpose_hash, std::uint64_t id)
    : key_(mix(seed) ^ purpose_hash), id_(id) {}

std::uint64_t RandomStream::hash(std::string_view purpose) {
  std::uint64_t digest = 0xcbf29ce484222325ULL;
  for (const char c : purpose) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return digest;
}

RandomStream::result_type RandomStream::operator()() {
  if (used_ == buffer_.size()) refill();
  return buffer_[used_++];
}

void RandomStream::refill() {
  const r123::Philox4x32::ctr_type counter{{low(block_), high(block_), low(id_), high(id_)}};
  const r123::Philox4x32::key_type key{{low(key_), high(key_)}};
  const auto words = r123::Philox4x32{}(counter, key);
  for (std::size_t i = 0; i < buffer_.size(); ++i) buffer_[i] = words[i];
  ++block_;
  used_ = 0;
}

}  // namespace tokenline
