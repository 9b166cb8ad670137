#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tokenline {

/// A counter-based random stream (Philox4x32-10, Salmon et al., SC'11, through Random123) keyed by
/// (seed, purpose, id). Two streams with different keys are independent, and a stream never depends
/// on how often another was used: the 7th request of class "chat" draws the same lengths whatever
/// the scheduler does. Satisfies UniformRandomBitGenerator, so Boost.Random distributions use it;
/// std:: distributions differ between standard libraries and are not used.
class RandomStream {
 public:
  using result_type = std::uint32_t;

  /// `purpose` names what is drawn, e.g. "chat/lengths"; `id` counts within it.
  RandomStream(std::uint64_t seed, std::string_view purpose, std::uint64_t id);
  /// The same with the purpose hashed beforehand, for one stream per request.
  RandomStream(std::uint64_t seed, std::uint64_t purpose_hash, std::uint64_t id);

  /// The hash of a purpose: FNV-1a, 64 bits.
  [[nodiscard]] static std::uint64_t hash(std::string_view purpose);

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return 0xffffffffU; }
  result_type operator()();

 private:
  void refill();

  std::uint64_t key_;
  std::uint64_t id_;
  std::uint64_t block_ = 0;
  std::array<std::uint32_t, 4> buffer_{};
  unsigned used_ = 4;
};

}  // namespace tokenline
