#include "sim/report/digest.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "sim/base/check.hpp"

namespace tokenline::report {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  const int done =
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  TOKENLINE_CHECK(done == 1, "OpenSSL gives no SHA-256");
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest.at(i));
  return text;
}

}  // namespace tokenline::report
