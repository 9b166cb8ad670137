#pragma once

#include "sim/config/reader.hpp"

namespace tokenline::traffic {

/// Tells whether what was just read had a mistake, so that checks which build on it stay silent and
/// one mistake is one message. A document that had mistakes before cannot tell; then the answer is
/// no, and a check may report what follows from a mistake already reported.
class MistakeWatch {
 public:
  explicit MistakeWatch(const config::Document& document)
      : document_(document), ok_before_(document.ok()) {}

  [[nodiscard]] bool saw_one() const { return ok_before_ && !document_.ok(); }

 private:
  const config::Document& document_;
  bool ok_before_;
};

}  // namespace tokenline::traffic
