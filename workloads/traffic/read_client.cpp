#include "workloads/traffic/read_client.hpp"

namespace tokenline::traffic {
namespace {

constexpr config::Range<double> patience{1e-3, 1e6};

/// Defaults are those of the OpenAI clients (openai-python, _constants.py and _base_client.py): two
/// retries, after 0.5 s · 2^n, at most 8 s, less up to a quarter of it.
void read_retry(config::Reader& section, Client& client) {
  client.attempts = section.integer(
      {"attempts", "How often a request is sent at most, the first time included."}, {1, 1000}, 3);
  client.backoff = to_duration(section.seconds(
      {"backoff", "Pause before the second attempt; it doubles with each further one."}, {0.0, 1e6},
      "0.5 s"));
  client.max_backoff =
      to_duration(section.seconds({"max_backoff", "A pause is no longer."}, {0.0, 1e6}, "8 s"));
  if (client.max_backoff < client.backoff)
    section.error("backoff", "longer than max_backoff, which bounds every pause",
                  "raise max_backoff, 8 s where it is not given");
  client.jitter =
      section.real({"jitter", "The share of a pause that is drawn at random: 0 none, 1 all of it."},
                   {0.0, 1.0}, 0.25);
  auto budget = section.optional_section(
      {"budget", "Stops retries while too many requests fail (gRPC's retry throttling)."});
  if (!budget) return;
  client.budget =
      RetryBudget{.max_tokens = budget->real(
                      {"max_tokens", "Each failed attempt takes one; no retry below half of them."},
                      {1.0, 1e6}),
                  .token_ratio = budget->real(
                      {"token_ratio", "What an answered request gives back."}, {1e-3, 1e3})};
  budget->finish();
}

}  // namespace

Client read_client(config::Reader& entry) {
  Client client;
  const auto limit = [&](config::Key key) -> std::optional<Duration> {
    const auto seconds = entry.optional_seconds(key, patience);
    return seconds ? std::optional(to_duration(*seconds)) : std::nullopt;
  };
  client.timeout =
      limit({"timeout", "Clients give an attempt up when its last token has not come."});
  client.ttft_timeout =
      limit({"ttft_timeout", "Clients give an attempt up when its first token has not come."});
  entry.alternative("with timeout or ttft_timeout", client.timeout || client.ttft_timeout, [&] {
    client.abort_on_timeout = entry.boolean(
        {"abort_on_timeout", "Whether the server stops working on what was given up."}, true);
  });
  if (client.timeout && client.ttft_timeout && *client.ttft_timeout >= *client.timeout)
    entry.error("ttft_timeout", "the whole answer is given up earlier, by timeout",
                "leave it out, or make it shorter");
  auto retry = entry.optional_section(
      {"retry", "Clients send a request again that timed out, was refused or was lost."});
  if (retry) {
    read_retry(*retry, client);
    retry->finish();
  }
  return client;
}

}  // namespace tokenline::traffic
