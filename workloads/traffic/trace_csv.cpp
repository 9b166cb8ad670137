#include "workloads/traffic/trace_csv.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "workloads/traffic/trace.hpp"

namespace tokenline::traffic {

std::string trace_csv(const RecordedRequests& requests, std::span<const std::uint32_t> places,
                      std::span<const RequestClass> classes) {
  constexpr std::int64_t second = 1'000'000'000;
  const bool contents = !requests.contents.empty();
  std::string out = "arrival_s,prompt_tokens,output_tokens,class";
  out += contents ? ",begins_with\n" : "\n";
  for (const std::uint32_t place : places) {
    const Arrival& arrival = requests.arrivals[place];
    const auto ns = arrival.when.time_since_epoch().count();
    fmt::format_to(std::back_inserter(out), "{}.{:09},{},{},{}", ns / second, ns % second,
                   arrival.prompt_tokens, arrival.output_tokens, classes[arrival.class_index].name);
    if (contents) out += ',' + content_text(requests.contents[place]);
    out += '\n';
  }
  return out;
}

std::vector<std::unique_ptr<Source>> recorded_sources(const RecordedRequests& requests,
                                                      std::span<const std::uint32_t> places,
                                                      std::size_t classes) {
  std::vector<std::vector<Arrival>> arrivals(classes);
  std::vector<std::vector<Content>> contents(classes);
  for (const std::uint32_t place : places) {
    Arrival arrival = requests.arrivals[place];
    const std::size_t index = arrival.class_index;
    arrival.session = 0;
    if (!requests.contents.empty()) {
      arrival.session = static_cast<std::uint32_t>(contents[index].size());
      contents[index].push_back(requests.contents[place]);
    }
    arrivals[index].push_back(arrival);
  }
  std::vector<std::unique_ptr<Source>> sources;
  for (std::size_t i = 0; i < classes; ++i)
    sources.push_back(
        std::make_unique<TraceSource>(std::move(arrivals[i]), std::move(contents[i])));
  return sources;
}

}  // namespace tokenline::traffic
