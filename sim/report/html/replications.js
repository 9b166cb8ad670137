// A study over several seeds: differences from the first variant, with their intervals.

const EVIDENCE_LOOK = {better: "good", worse: "bad", differs: "warn"};

/** "−12.3 [−14.1, −10.5]"; a bound that is none is "-". */
function interval_text(interval) {
  const {low, estimate, high} = interval;
  return `${number(estimate)} [${number(low)}, ${number(high)}]`;
}

/** Variants but the first, with the rows that `rows_of` makes of each. */
function rows_of_others(replications, rows_of) {
  return replications.variants.slice(1).flatMap((v) => rows_of(v).map((row) => [v.name, ...row]));
}

function evidence_table(replications) {
  const rows = rows_of_others(replications, (v) =>
    v.figures.map((f) => [
      element("code", {}, f.metric),
      figure(f.first_mean),
      figure(f.mean),
      {value: f.difference.estimate, show: interval_text(f.difference)},
      element("strong", {class: EVIDENCE_LOOK[f.evidence]}, f.evidence),
    ]),
  );
  const columns = [
    {head: "variant", text: true},
    {head: "metric", text: true},
    {head: "first variant"},
    {head: "this one"},
    {head: "difference [interval]"},
    {head: "evidence", text: true},
  ];
  return table("Means over the seeds, and differences seed by seed", columns, rows);
}

function lengths_table(replications) {
  const rows = rows_of_others(replications, (v) =>
    v.by_prompt_length.map((s) => [
      s.class,
      s.to_prompt_tokens === null
        ? `${number(s.from_prompt_tokens)} and more`
        : `${number(s.from_prompt_tokens)} to below ${number(s.to_prompt_tokens)}`,
      figure(s.pairs),
      figure(s.faster),
      figure(s.slower),
      figure(s.mean_ttft_change_ms),
      figure(s.mean_e2el_change_ms),
    ]),
  );
  const columns = [
    {head: "variant", text: true},
    {head: "class", text: true},
    {head: "prompt tokens"},
    {head: "requests"},
    {head: "faster"},
    {head: "slower"},
    {head: "TTFT change, ms"},
    {head: "E2E change, ms"},
  ];
  return table("The same requests in both, end to end", columns, rows);
}

function saturation_notes(replications) {
  return replications.variants.flatMap((v) =>
    v.steadiness.growth
      .filter((g) => g.saturated)
      .map((g) =>
        element(
          "li",
          {},
          element("strong", {class: "bad"}, "saturated"),
          ` ${v.name}: requests of ${g.class} in the system grow by ${interval_text(g.requests)} while it arrives; its percentiles depend on how long is simulated`,
        ),
      ),
  );
}

function seeds_text(replications) {
  const {count, confidence, precision, precision_reached: reached} = replications;
  const asked =
    precision === null
      ? ""
      : ` A precision of ${percent(precision)} was ${reached ? "reached" : "not reached"}.`;
  return `${count} seeds, the same for every variant; each interval holds at ${percent(confidence)} by itself, not all together.${asked}`;
}

function replications_section(comparison) {
  const {replications} = comparison;
  if (!replications) return null;
  const saturated = saturation_notes(replications);
  return section(
    "replications",
    "Over several seeds",
    element("p", {}, seeds_text(replications)),
    saturated.length > 0 ? element("ul", {}, saturated) : null,
    evidence_table(replications),
    lazy("Who won and who lost, by prompt length", () => lengths_table(replications)),
  );
}
