#include <catch2/catch.hpp>

#include "tests/support/tool.hpp"

using namespace tokenline;
using Catch::Contains;

TEST_CASE("networks are listed and described with their sources and the paths they make", "[cli]") {
  const Scratch folder;
  const std::string listed = execute(folder, "list networks").out;
  CHECK_THAT(listed, Contains("node    hgx_h100") && Contains("fabric  roce_400g"));
  const std::string node = execute(folder, "describe hgx_h100").out;
  CHECK_THAT(node, Contains("node hgx_h100") && Contains("NVIDIA/nccl issue 1264") &&
                       Contains("host memory to GPU"));
  const std::string fabric = execute(folder, "describe infiniband_ndr").out;
  CHECK_THAT(fabric, Contains("fabric infiniband_ndr") && Contains("49.5"));
  const Ran unknown = execute(folder, "describe roce_40g");
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.err, Contains("did you mean 'roce_400g'?"));
}
