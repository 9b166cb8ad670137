// Figures as in summary.json: verdicts, classes, replicas, prices, audit and configuration.

function card(what, verdict, tone, ...more) {
  return element(
    "div",
    {class: "card"},
    element("div", {class: "what"}, what),
    element("div", {class: `verdict ${tone}`}, verdict),
    ...more,
  );
}

function asserts_card(asserts) {
  if (asserts.length === 0) return null;
  const failed = asserts.filter((a) => !a.passed);
  const items = (failed.length > 0 ? failed : asserts)
    .slice(0, 6)
    .map((a) => element("li", {}, element("code", {}, a.condition), ` (it is ${number(a.value)})`));
  return card(
    "Asserts",
    failed.length === 0
      ? `all ${asserts.length} hold`
      : `${failed.length} of ${asserts.length} failed`,
    failed.length === 0 ? "good" : "bad",
    element("ul", {}, items),
  );
}

function target_text(targets) {
  return Object.entries(targets)
    .map(([metric, ms]) => `${metric.toUpperCase()} ≤ ${duration(ms)}`)
    .join(", ");
}

function target_cards(data) {
  return Object.entries(data.scenario.targets_ms)
    .filter(([, targets]) => Object.keys(targets).length > 0)
    .slice(0, 4)
    .map(([name, targets]) => {
      const met = data.summary.classes[name].goodput_fraction;
      const tone = met === null ? "quiet" : met >= 0.99 ? "good" : "bad";
      return card(
        `${name}: ${target_text(targets)}`,
        met === null ? "nothing measured" : `${percent(met)} met it`,
        tone,
      );
    });
}

function failures_card(all) {
  if (all.failed === 0) return null;
  const causes = ["lost_oom", "lost_crash", "rejected", "timed_out"]
    .filter((key) => all[key] > 0)
    .map((key) => `${number(all[key])} ${key}`);
  return card(
    "Failed requests",
    `${number(all.failed)} of ${number(all.offered)}`,
    "bad",
    causes.join(", "),
  );
}

function trust_cards(summary) {
  const {audit, pricing} = summary;
  const off = pricing.off_grid_fraction;
  return [
    card(
      "Audit",
      audit.passed ? `all ${audit.checks.length} checks passed` : "failed: our bug",
      audit.passed ? "good" : "bad",
    ),
    off === null
      ? null
      : card(
          "GPU time priced outside the measured grid",
          percent(off),
          off > 0.5 ? "warn" : "quiet",
          pricing.median_error_fraction === null
            ? null
            : element(
                "span",
                {class: "quiet"},
                `median error of the calibration ${percent(pricing.median_error_fraction)}`,
              ),
        ),
  ];
}

/** What the slowest of each class waited for: the answer of the first screen. */
function tail_bars(data) {
  const rows = data.ledger.classes
    .filter((c, i) => c.ttft.length > 0 && (i > 0 || data.ledger.classes.length === 1))
    .slice(0, 4)
    .map((ledger) => {
      const band = ledger.ttft.at(-1),
        amounts = amounts_of(band, data.ledger.parts);
      return bar_row(
        [
          ledger.class,
          element("small", {}, `P99 ${duration(data.summary.classes[ledger.class].p99_ttft_ms)}`),
        ],
        element(
          "div",
          {class: "with-text"},
          stacked_bar(`Slowest 1 % of ${ledger.class}`, amounts, {small: true}),
          element("small", {class: "quiet"}, largest_text(amounts, 3)),
        ),
        amounts,
      );
    });
  if (rows.length === 0) return null;
  return [
    element("h3", {}, "What the tail of TTFT is made of: the slowest 1 % on average"),
    element("div", {class: "bars"}, rows),
  ];
}

const LATENCY_NAMES = {ttft: "TTFT", tpot: "TPOT", itl: "ITL", e2el: "E2E"};

function class_tables(summary, targets) {
  const all = Object.entries(summary.classes);
  const classes = all.length === 2 ? all.slice(1) : all;
  const cell = (name, figures, key, show = number) =>
    figure(figures[key], show, `classes.${name}.${key}`);
  const counts = ["offered", "completed", "failed", "preemptions", "retries"];
  const rates = [
    "request_throughput",
    "output_throughput",
    "total_token_throughput",
    "request_goodput",
  ];
  const statistics = ["mean", "median", "p90", "p95", "p99"];
  return [
    table(
      "Requests that arrived in the measured window, per second where it is a rate",
      [
        {head: "class", text: true},
        ...counts.map((head) => ({head})),
        {head: "met targets"},
        {head: "requests/s"},
        {head: "output tok/s"},
        {head: "all tok/s"},
        {head: "goodput/s"},
      ],
      classes.map(([name, f]) => [
        name,
        ...counts.map((key) => cell(name, f, key)),
        cell(name, f, "goodput_fraction", percent),
        ...rates.map((key) => cell(name, f, key)),
      ]),
    ),
    table(
      "Latencies, ms",
      [
        {head: "class", text: true},
        {head: "latency", text: true},
        ...statistics.map((head) => ({head: head === "median" ? "P50" : head.replace("p", "P")})),
        {head: "std"},
        {head: "max"},
        {head: "target"},
      ],
      classes.flatMap(([name, f]) =>
        Object.entries(LATENCY_NAMES).map(([metric, label], i) => [
          i === 0 ? name : "",
          label,
          ...[...statistics, "std"].map((s) => cell(name, f, `${s}_${metric}_ms`)),
          metric === "itl" ? cell(name, f, "max_itl_ms") : "",
          targets[name]?.[metric] ? number(targets[name][metric]) : "",
        ]),
      ),
    ),
  ];
}

function replica_table(summary) {
  const keys = [
    "gpus",
    "steps",
    "busy_fraction",
    "flops_utilization",
    "bandwidth_utilization",
    "kv_peak_fraction",
    "hbm_peak_fraction",
    "mean_running",
    "peak_running",
    "mean_waiting",
    "peak_waiting",
    "preemptions",
    "restarts",
    "down_s",
  ];
  const show = (key) =>
    key.endsWith("_fraction") || key.endsWith("_utilization") ? percent : number;
  return table(
    "Replicas over the measured part; peaks over the whole run",
    [
      {head: "replica", text: true},
      {head: "GPU", text: true},
      ...keys.map((key) => ({head: key.replaceAll("_", " ")})),
    ],
    summary.instances.map((r) => [r.name, r.gpu, ...keys.map((key) => figure(r[key], show(key)))]),
  );
}

function verdict_section(data) {
  const {summary} = data;
  return section(
    "verdict",
    "Verdict",
    element(
      "div",
      {class: "cards"},
      asserts_card(summary.asserts),
      target_cards(data),
      failures_card(summary.classes.all),
      trust_cards(summary),
    ),
    tail_bars(data),
    class_tables(summary, data.scenario.targets_ms),
    details("Replicas", replica_table(summary)),
  );
}

function asserts_table(asserts) {
  if (asserts.length === 0) return null;
  return table(
    "Asserts",
    [{head: "condition", text: true}, {head: "value"}, {head: "verdict", text: true}],
    asserts.map((a) => [
      element("code", {}, a.condition),
      figure(a.value),
      a.passed ? "holds" : element("strong", {class: "bad"}, "failed"),
    ]),
  );
}

function audit_section(summary) {
  const operators = Object.entries(summary.pricing.off_grid_by_operator);
  return section(
    "audit",
    "Audit and prices",
    asserts_table(summary.asserts),
    table(
      "Invariants that every run is held against",
      [
        {head: "id", text: true},
        {head: "invariant", text: true},
        {head: "verdict", text: true},
        {head: "figures", text: true, wide: true},
      ],
      summary.audit.checks.map((c) => [
        c.id,
        c.name,
        c.passed ? "holds" : element("strong", {class: "bad"}, "broken"),
        c.details,
      ]),
    ),
    operators.length === 0
      ? null
      : table(
          "Share of GPU time priced outside the measured grid",
          [{head: "operator", text: true}, {head: "share"}],
          operators.map(([name, share]) => [name, figure(share, percent)]),
        ),
  );
}

function config_section(data) {
  const origins = ["override", "scenario", "preset", "default"],
    shown = new Set(["override", "scenario"]),
    place = element("div");
  const of = (origin) => data.scenario.config.filter(([, , from]) => from === origin).length;
  const draw = () =>
    place.replaceChildren(
      table(
        "Every value in force, and where it comes from",
        [
          {head: "key", text: true},
          {head: "value", text: true, wide: true},
          {head: "from", text: true},
          {head: "place", text: true},
        ],
        data.scenario.config
          .filter(([, , from]) => shown.has(from))
          .map(([path, value, from, where]) => [
            element("span", {class: "path"}, path),
            element("code", {}, value),
            from === "override" ? element("strong", {}, from) : from,
            where,
          ]),
      ),
    );
  draw();
  const keys = origins.map((origin) =>
    element(
      "button",
      {
        type: "button",
        class: "key",
        "aria-pressed": String(shown.has(origin)),
        onclick: (event) => {
          if (!shown.delete(origin)) shown.add(origin);
          event.currentTarget.setAttribute("aria-pressed", String(shown.has(origin)));
          draw();
        },
      },
      `${origin} (${of(origin)})`,
    ),
  );
  return section(
    "config",
    "Configuration",
    element(
      "p",
      {class: "quiet"},
      "SHA-256 of the resolved scenario: ",
      element("code", {}, data.summary.config_sha256),
    ),
    element("div", {class: "legend"}, keys),
    place,
  );
}
