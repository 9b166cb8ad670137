#include "sim/report/version.hpp"

namespace tokenline::report {

std::string_view version() { return TOKENLINE_VERSION; }

}  // namespace tokenline::report
