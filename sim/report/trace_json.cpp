#include "sim/report/trace_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/version.hpp"

namespace tokenline::report {
namespace {

/// A text as a JSON string.
std::string json_text(std::string_view text) { return nlohmann::json(text).dump(); }

/// Microseconds with three decimals: exact nanoseconds.
std::string us(Duration time) {
  return fmt::format("{}.{:03}", time.count() / 1000, time.count() % 1000);
}
std::string us(TimePoint when) { return us(when.time_since_epoch()); }

/// Something that happens, to be written in the order of time.
struct Happening {
  enum class Kind : std::uint8_t { event, crash, step, fault_begin, fault_end };

  TimePoint when{};
  Kind kind = Kind::event;
  std::uint32_t instance = 0;
  std::size_t index = 0;  ///< Of the log's events, the instance's crashes or steps, or the faults.
};

std::vector<Happening> in_order(const RunLog& log, const RunResult& run) {
  std::vector<Happening> all;
  for (std::size_t i = 0; i < run.faults.size(); ++i) {
    const auto& [fault, happened] = run.faults[i];
    if (!happened || fault.kind == FaultKind::instance_crash) continue;
    all.push_back({fault.at, Happening::Kind::fault_begin, 0, i});
    all.push_back({std::min(fault.to, run.end), Happening::Kind::fault_end, 0, i});
  }
  for (std::size_t i = 0; i < log.events().size(); ++i)
    all.push_back({log.events()[i].when, Happening::Kind::event, log.events()[i].instance, i});
  for (std::uint32_t n = 0; n < log.instances().size(); ++n) {
    const InstanceLog& instance = log.instances()[n];
    for (std::size_t i = 0; i < instance.crashes.size(); ++i)
      all.push_back({instance.crashes[i].from, Happening::Kind::crash, n, i});
    for (std::size_t i = 0; i < instance.steps.size(); ++i)
      all.push_back({instance.steps[i].begin, Happening::Kind::step, n, i});
  }
  std::ranges::stable_sort(all, {}, &Happening::when);
  return all;
}

/// Colours that the format reserves.
std::string_view colour(const LoggedStep& step) {
  if (step.pieces == 0) return "thread_state_running";
  return step.decode_sequences == 0 ? "thread_state_iowait" : "thread_state_runnable";
}
std::string_view phase(const LoggedStep& step) {
  if (step.pieces == 0) return "decode";
  return step.decode_sequences == 0 ? "prefill" : "mixed";
}

class TraceWriter {
 public:
  TraceWriter(std::ostream& out, const RunLog& log, const RunResult& run, std::int64_t limit)
      : out_(out),
        log_(log),
        run_(run),
        limit_(limit),
        requests_(run.log.records.size()),
        faults_(run.faults.size()) {}

  TraceExtent write() {
    TraceExtent extent{.until = run_.end};
    put("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    name_tracks();
    for (const Happening& happening : in_order(log_, run_)) {
      if (written_ >= limit_) {
        extent = {.until = happening.when, .complete = false};
        break;
      }
      tell(happening);
    }
    close_requests(extent.until);
    for (std::size_t i = 0; i < faults_.size(); ++i)
      if (faults_[i]) end_fault(i, extent.until);
    if (!extent.complete)
      entry(
          fmt::format(R"("ph":"i","s":"g","pid":0,"tid":0,"ts":{},"name":"trace ends here","args":)"
                      R"({{"left_out_from_us":{},"run_ends_at_us":{}}})",
                      us(extent.until), us(extent.until), us(run_.end)));
    put(
        fmt::format("\n],\"otherData\":{{\"tokenline\":{},\"complete\":{},\"until_us\":{},"
                    "\"run_ends_at_us\":{}}}}}\n",
                    json_text(version()), extent.complete, us(extent.until), us(run_.end)));
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    return extent;
  }

 private:
  /// A step of an instance.
  struct Stop {
    std::uint32_t instance = 0;
    std::size_t step = 0;
    friend bool operator==(const Stop&, const Stop&) = default;
  };
  /// What of a request is open, and the way of its attempt so far.
  struct Request {
    bool open = false;
    std::string_view state;       ///< The inner slice; empty without.
    std::optional<Stop> prefill;  ///< The first step of its prompt,
    std::optional<Stop> landed;   ///< and the first in the instance that its KV has come to.
  };
  /// What the last counters said.
  struct Counters {
    std::int64_t kv = -1;
    std::int64_t running = -1;
    std::int64_t waiting = -1;
  };

  void put(std::string_view text) {
    constexpr std::size_t enough = 1U << 20U;
    buffer_.append(text);
    written_ += static_cast<std::int64_t>(text.size());
    if (buffer_.size() < enough) return;
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

  /// An event, given by its members.
  void entry(const std::string& members) {
    put(first_ ? "{" : ",\n{");
    first_ = false;
    put(members);
    put("}");
  }

  // Process 0 is of the run, then those of the classes, then those of the instances.
  [[nodiscard]] std::size_t class_process(std::uint32_t request) const {
    return 1 + run_.log.records[request].class_index;
  }
  [[nodiscard]] std::size_t process(std::uint32_t instance) const {
    return 1 + run_.classes.size() + instance;
  }

  void name_process(std::size_t pid, std::string_view name) {
    entry(fmt::format(R"("ph":"M","pid":{},"tid":0,"name":"process_name","args":{{"name":{}}})",
                      pid, json_text(name)));
    entry(fmt::format(
        R"("ph":"M","pid":{},"tid":0,"name":"process_sort_index","args":{{"sort_index":{}}})", pid,
        pid));
  }

  void name_tracks() {
    name_process(0, "run");
    for (std::size_t c = 0; c < run_.classes.size(); ++c)
      name_process(1 + c, "requests of " + run_.classes[c].name);
    for (std::uint32_t i = 0; i < log_.instances().size(); ++i) {
      name_process(process(i), run_.instances[i].name);
      const std::size_t batches = log_.instances()[i].micro_batches.size();
      for (std::size_t b = 0; b < batches; ++b)
        entry(fmt::format(R"("ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}})",
                          process(i), b,
                          json_text(batches == 1 ? "steps" : fmt::format("micro-batch {}", b))));
    }
    counters_.resize(log_.instances().size());
  }

  void tell(const Happening& happening) {
    switch (happening.kind) {
      case Happening::Kind::event:
        return tell_event(log_.events()[happening.index]);
      case Happening::Kind::crash:
        return tell_crash(happening.instance,
                          log_.instances()[happening.instance].crashes[happening.index]);
      case Happening::Kind::step:
        return tell_step({happening.instance, happening.index});
      case Happening::Kind::fault_begin:
        return begin_fault(happening.index);
      case Happening::Kind::fault_end:
        return end_fault(happening.index, happening.when);
    }
  }

  void tell_crash(std::uint32_t instance, const LoggedCrash& crash) {
    entry(fmt::format(R"("ph":"X","pid":{},"tid":0,"ts":{},"dur":{},"name":"down","cat":"crash",)"
                      R"("cname":"terrible")",
                      process(instance), us(crash.from),
                      us(std::min(crash.until, run_.end) - crash.from)));
  }

  /// A straggler is its replica's, a brown-out the run's.
  void fault_slice(char ph, std::size_t index, TimePoint when, const std::string& args = {}) {
    const Fault& fault = run_.faults[index].fault;
    const bool straggler = fault.kind == FaultKind::straggler;
    entry(fmt::format(
        R"("ph":"{}","cat":"fault","id":"{:#x}","pid":{},"tid":0,"ts":{},"name":"{}"{})", ph, index,
        straggler ? process(fault.replica) : 0, us(when), name(fault.kind), args));
  }

  void begin_fault(std::size_t index) {
    const Fault& fault = run_.faults[index].fault;
    fault_slice(
        'b', index, fault.at,
        fault.kind == FaultKind::straggler
            ? fmt::format(R"(,"args":{{"slowdown":{}}})", fault.slowdown)
            : fmt::format(R"(,"args":{{"links":{},"bandwidth_factor":{}}})",
                          json_text(hw::name(fault.brownout)), fault.brownout.bandwidth_factor));
    faults_[index] = true;
  }

  void end_fault(std::size_t index, TimePoint when) {
    fault_slice('e', index, when);
    faults_[index] = false;
  }

  [[nodiscard]] const LoggedStep& step_at(const Stop& stop) const {
    return log_.instances()[stop.instance].steps[stop.step];
  }

  void tell_step(const Stop& stop) {
    const LoggedStep& step = step_at(stop);
    const TimePoint end = log_.instances()[stop.instance].ended(stop.step);
    entry(fmt::format(
        R"("ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":"{}","cat":"step","cname":"{}",)"
        R"("args":{{"host_us":{},"gpu_us":{},"decode_sequences":{},"decode_context":{},)"
        R"("prefill_tokens":{},"prompts":{}}})",
        process(stop.instance), step.micro_batch, us(step.begin), us(end - step.begin), phase(step),
        colour(step), us(step.host), us(step.gpu), step.decode_sequences, step.decode_context,
        step.prefill_tokens, step.pieces));
    tell_counters(stop.instance, step);
    for (const LoggedPiece& piece : log_.pieces_of(step))
      if (Request& request = requests_[piece.request]; !request.prefill) request.prefill = stop;
  }

  void tell_counters(std::uint32_t instance, const LoggedStep& step) {
    Counters& last = counters_[instance];
    const auto count = [&](std::string_view name, const std::string& values) {
      entry(fmt::format(R"("ph":"C","pid":{},"tid":0,"ts":{},"name":"{}","args":{{{}}})",
                        process(instance), us(step.begin), name, values));
    };
    if (step.kv_used_blocks != last.kv)
      count("KV blocks", fmt::format(R"("used":{})", step.kv_used_blocks));
    if (step.running != last.running)
      count("running", fmt::format(R"("requests":{})", step.running));
    if (step.waiting_requests != last.waiting)
      count("waiting", fmt::format(R"("requests":{})", step.waiting_requests));
    last = {step.kv_used_blocks, step.running, step.waiting_requests};
  }

  void slice(char ph, std::uint32_t request, TimePoint when, std::string_view name,
             const std::string& args = {}) {
    entry(fmt::format(
        R"("ph":"{}","cat":"request","id":"{:#x}","pid":{},"tid":0,"ts":{},"name":"{}"{})", ph,
        request, class_process(request), us(when), name, args));
  }

  void enter(std::uint32_t id, TimePoint when, std::string_view state) {
    Request& request = requests_[id];
    if (!request.open) {
      const RequestRecord& record = run_.log.records[id];
      slice('b', id, when, "request",
            fmt::format(R"(,"args":{{"request":{},"prompt_tokens":{},"output_tokens":{}}})", id,
                        record.prompt_tokens, record.output_tokens));
      request.open = true;
    }
    leave(id, when);
    slice('b', id, when, state);
    request.state = state;
  }

  void leave(std::uint32_t id, TimePoint when) {
    Request& request = requests_[id];
    if (request.state.empty()) return;
    slice('e', id, when, request.state);
    request.state = {};
  }

  void close(std::uint32_t id, TimePoint when) {
    leave(id, when);
    if (!requests_[id].open) return;
    slice('e', id, when, "request");
    requests_[id].open = false;
  }

  void close_requests(TimePoint when) {
    for (std::uint32_t id = 0; id < requests_.size(); ++id) close(id, when);
  }

  void tell_event(const LoggedEvent& e) {
    Request& request = requests_[e.request];
    switch (e.event) {
      case SequenceEvent::queued:
        request.prefill.reset();
        request.landed.reset();
        return enter(e.request, e.when, "waiting");
      case SequenceEvent::admitted:
        if (request.state == "landed") request.landed = {e.instance, e.steps};
        return enter(e.request, e.when, "running");
      case SequenceEvent::preempted:
        return enter(e.request, e.when, "preempted");
      case SequenceEvent::swapped_out:
        return enter(e.request, e.when, "swapped");
      case SequenceEvent::swapped_in:
        return enter(e.request, e.when, "running");
      case SequenceEvent::loading:
        return enter(e.request, e.when, "loading");
      case SequenceEvent::loaded:
        return enter(e.request, e.when, "waiting");
      case SequenceEvent::first_token:
        return slice('n', e.request, e.when, "first token");
      case SequenceEvent::handed_over:
        return enter(e.request, e.when, "transfer");
      case SequenceEvent::landed:
        return enter(e.request, e.when, "landed");
      case SequenceEvent::finished:
        tell_way(e);
        return close(e.request, e.when);
      case SequenceEvent::given_up:
      case SequenceEvent::lost:
        return close(e.request, e.when);
    }
  }

  /// Arrows from the first step of its prompt to the last of its decodes.
  void tell_way(const LoggedEvent& e) {
    const Request& request = requests_[e.request];
    Stop last{e.instance, e.steps - std::size_t{1}};
    while (step_at(last).end != e.when) --last.step;
    if (!request.prefill || *request.prefill == last) return;
    arrow('s', e.request, *request.prefill);
    if (request.landed && *request.landed != last) arrow('t', e.request, *request.landed);
    arrow('f', e.request, last);
  }

  void arrow(char ph, std::uint32_t request, const Stop& stop) {
    const LoggedStep& step = step_at(stop);
    entry(fmt::format(
        R"("ph":"{}","bp":"e","cat":"way","id":{},"pid":{},"tid":{},"ts":{},"name":"way")", ph,
        request, process(stop.instance), step.micro_batch, us(step.begin)));
  }

  std::ostream& out_;
  const RunLog& log_;
  const RunResult& run_;
  std::int64_t limit_;
  std::int64_t written_ = 0;
  bool first_ = true;
  std::string buffer_;
  std::vector<Request> requests_;
  std::vector<bool> faults_;  ///< Which are open.
  std::vector<Counters> counters_;
};

}  // namespace

TraceExtent write_trace_json(std::ostream& out, const RunLog& log, const RunResult& run,
                             std::int64_t limit) {
  return TraceWriter(out, log, run, limit).write();
}

}  // namespace tokenline::report
