#include "sim/engine/faults.hpp"

#include <fmt/format.h>

namespace tokenline {
namespace {

constexpr config::Range<double> times{0.0, 1e9};

TimePoint time_point(Seconds seconds) { return TimePoint{} + to_duration(seconds); }

void read_crash(config::Reader& item, Duration restart_delay, Fault& fault) {
  fault.at = time_point(item.seconds({"at", "When the replica crashes."}, times));
  const auto restart = item.optional_seconds(
      {"restart", "Until it serves again; cluster.restart_delay unless given."}, {1e-3, 1e9});
  fault.restart = restart ? to_duration(*restart) : restart_delay;
}

void read_straggler(config::Reader& item, Fault& fault) {
  const std::size_t before = item.document().mistakes();
  fault.at = time_point(item.seconds({"from", "When the replica begins to be slow."}, times));
  fault.to = time_point(item.seconds({"to", "When it is as fast as before."}, times));
  // One slow GPU slows the others of a replica too: they wait for it in every collective.
  fault.slowdown = item.real(
      {"slowdown", "Its GPU times are multiplied by it, in steps that start in that time."},
      {1.0, 1e3});
  if (fault.to <= fault.at && item.document().mistakes() == before)
    item.error("to", "it ends before it begins");
}

}  // namespace

double slowdown(const std::vector<Fault>& faults, std::uint32_t replica, TimePoint now) {
  double factor = 1.0;
  for (const Fault& fault : faults)
    if (fault.kind == FaultKind::straggler && fault.replica == replica && fault.at <= now &&
        now < fault.to)
      factor *= fault.slowdown;
  return factor;
}

std::vector<Fault> read_faults(config::Reader& root, std::int64_t replicas,
                               Duration restart_delay) {
  static const std::vector<std::string> kinds{"instance_crash", "straggler"};
  std::vector<Fault> faults;
  root.alternative("", root.has("faults"), [&] {
    for (config::Reader& item :
         root.items({"faults", "What goes wrong with replicas, and when."}, true)) {
      Fault fault;
      const std::string kind = item.word({"kind", "What goes wrong."}, kinds);
      const std::int64_t replica =
          item.integer({"replica", "Which one, counted from 0."}, {0, 4095});
      if (replica >= replicas)
        item.error("replica", fmt::format("there are {} replicas, counted from 0", replicas));
      fault.replica = static_cast<std::uint32_t>(replica);
      if (kind == "straggler") fault.kind = FaultKind::straggler;
      item.alternative("with kind: instance_crash", kind == "instance_crash",
                       [&] { read_crash(item, restart_delay, fault); });
      item.alternative("with kind: straggler", kind == "straggler",
                       [&] { read_straggler(item, fault); });
      if (kind.empty()) item.allow_unknown();
      item.finish();
      faults.push_back(fault);
    }
  });
  return faults;
}

}  // namespace tokenline
