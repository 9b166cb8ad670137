#include "sim/engine/read_admission.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tokenline {
namespace {

constexpr config::Range<std::int64_t> counts{1, 1'000'000'000};

void read_bounds(config::Reader& cluster, AdmissionSetup& setup) {
  setup.max_waiting = cluster.optional_integer(
      {"max_waiting", "Requests that wait on all replicas together at most."}, counts);
  setup.max_waiting_per_replica = cluster.optional_integer(
      {"max_waiting_per_replica", "Requests that wait on one replica at most."}, counts);
  if (!cluster.has("max_waiting") && !cluster.has("max_waiting_per_replica"))
    cluster.error("admission", "bounded_queue needs a bound",
                  "give max_waiting, max_waiting_per_replica or both");
}

void read_bucket(config::Reader& cluster, AdmissionSetup& setup) {
  const std::vector<std::string> units{"requests", "prompt_tokens"};
  setup.bucket_counts_tokens =
      cluster.word({"bucket_counts", "What bucket_rate and bucket_burst count."}, units) ==
      "prompt_tokens";
  setup.bucket_rate = cluster.rate(
      {"bucket_rate", "Requests or prompt tokens that enter per time, in the long run."},
      {1e-6, 1e9});
  setup.bucket_burst = cluster.integer(
      {"bucket_burst", "Requests or prompt tokens that enter at once after a lull."}, counts);
}

}  // namespace

void read_admission(config::Reader& cluster, const Policies& policies, ClusterConfig& config) {
  AdmissionSetup& setup = config.admission_setup;
  config.admission = cluster.word(
      {"admission", "Which requests enter the cluster: see `tokenline list policies`."},
      policies.admission.names(), "unlimited");
  cluster.alternative("with admission: bounded_queue", config.admission == "bounded_queue",
                      [&] { read_bounds(cluster, setup); });
  cluster.alternative("with admission: token_bucket", config.admission == "token_bucket",
                      [&] { read_bucket(cluster, setup); });
  cluster.alternative("with admission: shed_by_class", config.admission == "shed_by_class", [&] {
    setup.shed_above = cluster.integer(
        {"shed_above",
         "Requests that wait on all replicas together from which on the least urgent priority is "
         "refused; the next one from twice as many on."},
        counts);
  });
}

void complete_admission(const config::Reader& cluster, const traffic::Traffic& traffic,
                        ClusterConfig& config) {
  AdmissionSetup& setup = config.admission_setup;
  for (const traffic::RequestClass& c : traffic.classes) setup.priorities.push_back(c.priority);
  if (config.admission == "unlimited") return;
  const bool floods = std::ranges::any_of(
      traffic.sources, [](const auto& source) { return source->floods_when_refused(); });
  if (floods)
    cluster.error(
        "admission",
        "a closed loop without num_prompts whose clients hardly think would be refused and "
        "ask again more often than a run can keep",
        "give it a longer think_time or num_prompts");
  const auto [least, most] = std::ranges::minmax(setup.priorities);
  if (config.admission == "shed_by_class" && least == most)
    cluster.error("admission", "shed_by_class never refuses anything: all classes are as urgent",
                  "give the urgent classes a smaller priority");
  if (config.admission != "token_bucket" || !setup.bucket_counts_tokens) return;
  for (const auto& longest : traffic.longest)
    if (longest.prompt_tokens > setup.bucket_burst) {
      cluster.error("bucket_burst",
                    fmt::format("a prompt of {} tokens could never enter", longest.prompt_tokens));
      return;
    }
}

}  // namespace tokenline
