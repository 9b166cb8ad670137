#include "sim/engine/recorded.hpp"

#include "sim/engine/shared_prefixes.hpp"

namespace tokenline {

traffic::RecordedRequests record_requests(const traffic::Traffic& traffic, const RequestLog& log) {
  const bool contents = begin_alike(traffic);
  traffic::RecordedRequests requests;
  for (const RequestRecord& record : log.records) {
    requests.arrivals.push_back(
        {record.arrival, record.prompt_tokens, record.output_tokens, record.class_index});
    if (contents)
      requests.contents.push_back(traffic.sources[record.source]->content(record.session));
  }
  return requests;
}

void replay_requests(Scenario& scenario, const traffic::RecordedRequests& requests,
                     std::span<const std::uint32_t> places) {
  traffic::Traffic& traffic = scenario.traffic;
  traffic.sources = recorded_sources(requests, places, traffic.classes.size());
  traffic.left_out.clear();
}

}  // namespace tokenline
