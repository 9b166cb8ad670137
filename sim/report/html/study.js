// A study: claims held against the simulation, and variants side by side.

function bound_text(claim) {
  if ("claimed" in claim) return number(claim.claimed);
  return "at_least" in claim ? `≥ ${number(claim.at_least)}` : `≤ ${number(claim.at_most)}`;
}

/** Why a claim differs: its reason, further figures, and where the latency went. */
function remarks(claim) {
  const evidence = Object.entries(claim.evidence).map(
    ([metric, value]) => `${metric} ${number(value)}`,
  );
  const parts = claim.ledger
    .slice(0, 3)
    .map((p) => `${percent(p.fraction)} ${part_of(p.part).label}`);
  return [
    claim.why,
    evidence.length > 0 ? ` (${evidence.join(", ")})` : "",
    parts.length > 0 ? ` Where it went: ${parts.join(", ")}.` : "",
  ].join("");
}

function claim_rows(claim) {
  const confirmed = claim.verdict === "confirmed";
  const row = [
    claim.what,
    element("strong", {class: confirmed ? "good" : "warn"}, claim.verdict),
    bound_text(claim),
    figure(claim.simulated),
    figure(claim.ratio),
    claim.variant,
    element("code", {}, claim.metric),
  ];
  const why = confirmed ? "" : remarks(claim).trim();
  return why ? [row, {note: why}] : [row];
}

function claims_section(comparison) {
  if (comparison.claims.length === 0) return null;
  const columns = [
    {head: "claim", text: true},
    {head: "verdict", text: true},
    {head: "claimed"},
    {head: "simulated"},
    {head: "ratio"},
    {head: "variant", text: true},
    {head: "metric", text: true},
  ];
  return section(
    "claims",
    "Claimed and simulated",
    table("Claims", columns, comparison.claims.flatMap(claim_rows)),
  );
}

/** A metric on two lines: its scope, and its key. */
function metric_head(path) {
  const at = path.indexOf(".") + 1;
  return [path.slice(0, at), element("br"), path.slice(at)];
}

function ranking_section(comparison) {
  const rows = [...comparison.ranking, ...comparison.unranked];
  const columns = rows.length > 0 ? Object.keys(rows[0].columns) : [];
  const by = comparison.rank_by
    ? `by ${comparison.rank_by}${comparison.then_by ? `, then ${comparison.then_by}` : ""}, ${comparison.descending ? "largest" : "smallest"} first`
    : "in the order of the study";
  return section(
    "ranking",
    "Variants",
    table(
      `Ranked ${by}`,
      [
        {head: "#"},
        {head: "variant", text: true, wide: true},
        ...columns.map((c) => ({head: metric_head(c)})),
        ...(comparison.rank_by ? [{head: "× first"}] : []),
      ],
      rows.map((row, i) => [
        i < comparison.ranking.length ? i + 1 : "",
        element("span", {}, row.variant, row.note ? element("small", {}, row.note) : null),
        ...columns.map((c) => figure(row.columns[c])),
        ...(comparison.rank_by ? [figure(row.factor)] : []),
      ]),
    ),
  );
}

/** Variants with their data, in the order of the ranking, then those without a rank. */
function ordered_variants(data) {
  const {comparison} = data;
  const all = comparison.variants.map((v, i) => ({
    name: v.name,
    summary: v.summary,
    ...data.variants[i],
  }));
  return [...comparison.ranking, ...comparison.unranked].map((row) =>
    all.find((v) => v.name === row.variant),
  );
}

function class_names(variants) {
  return [...new Set(variants.flatMap((v) => v.curves.map((c) => c.class)))];
}

function class_choice(variants, chosen, choose) {
  return pick(
    "class",
    class_names(variants).map((name) => [name, name]),
    chosen,
    choose,
  );
}

function study_ledger(variants, first) {
  const bands = ["all requests", "below P50", "P50 to P90", "P90 to P99", "P99 and slower"];
  const state = {
    class: first,
    latency: "ttft",
    band: "P99 and slower",
    scale: "share",
    hidden: new Set(),
  };
  const bars = element("div", {class: "bars"}),
    legend = element("div"),
    numbers = element("div");
  const shown = () =>
    variants.flatMap((v) => {
      const band = v.ledger.classes
        .find((c) => c.class === state.class)
        ?.[state.latency].find((b) => b.name === state.band);
      return band ? [{name: v.name, amounts: amounts_of(band, v.ledger.parts)}] : [];
    });
  const draw_bars = () => {
    const rows = shown();
    const longest =
      state.scale === "ms" ? Math.max(...rows.map((r) => sum(Object.values(r.amounts)))) : null;
    bars.replaceChildren(
      ...rows.map((row) =>
        bar_row(
          row.name,
          stacked_bar(row.name, row.amounts, {hidden: state.hidden, longest, small: true}),
          row.amounts,
        ),
      ),
    );
  };
  const draw = () => {
    const rows = shown(),
      parts = variants[0].ledger.parts;
    legend.replaceChildren(
      part_legend(
        parts.filter((p) => rows.some((r) => r.amounts[p] > 0)),
        state.hidden,
        draw_bars,
      ),
    );
    const names = in_order(parts).filter((p) => rows.some((r) => r.amounts[p] > 0));
    numbers.replaceChildren(
      lazy("The same as a table", () =>
        table(
          "Mean milliseconds by part",
          [{head: "variant", text: true}, ...names.map((head) => ({head})), {head: "sum"}],
          rows.map((r) => [
            r.name,
            ...names.map((p) => figure(r.amounts[p] ?? 0)),
            figure(sum(Object.values(r.amounts))),
          ]),
        ),
      ),
    );
    draw_bars();
  };
  draw();
  const set = (key) => (value) => {
    state[key] = value;
    draw();
  };
  return section(
    "ledger",
    "Where the time went",
    element(
      "div",
      {class: "choices"},
      class_choice(variants, first, set("class")),
      choice("latency", LATENCIES, state.latency, set("latency")),
      choice(
        "requests",
        bands.map((b) => [b, b]),
        state.band,
        set("band"),
      ),
      choice(
        "scale",
        [
          ["share", "shares"],
          ["ms", "milliseconds"],
        ],
        state.scale,
        set("scale"),
      ),
    ),
    bars,
    legend,
    numbers,
  );
}

/** `reference`: the first variant of the study, drawn from the start like the first six. */
function study_curves(variants, first, reference) {
  const state = {class: first, metric: "ttft"};
  const hidden = new Set(
    variants.map((_, i) => i).filter((i) => i >= 6 && variants[i].name !== reference),
  );
  const place = element("div");
  const shown = () =>
    variants
      .map((v, i) => ({
        name: v.name,
        curve: v.curves.find((c) => c.class === state.class)?.[state.metric],
        look: look(i),
      }))
      .filter((_, i) => !hidden.has(i));
  const draw = () =>
    place.replaceChildren(
      curve_chart(
        `${METRICS.find(([m]) => m === state.metric)[1]} of ${state.class}`,
        shown(),
        [],
        360,
      ),
    );
  draw();
  const set = (key) => (value) => {
    state[key] = value;
    draw();
  };
  return section(
    "latencies",
    "Distribution of latencies",
    element(
      "div",
      {class: "choices"},
      class_choice(variants, first, set("class")),
      choice("latency", METRICS, state.metric, set("metric")),
    ),
    series_legend(
      variants.map((v) => v.name),
      hidden,
      draw,
    ),
    place,
    lazy(
      "The same as a table (nearest point of the curve), of the latency chosen when it is opened",
      () => curve_table(shown(), `${state.metric}, ${state.class}`),
    ),
  );
}

function study_cards(comparison) {
  const confirmed = comparison.claims.filter((c) => c.verdict === "confirmed").length;
  const failed = comparison.variants.flatMap((v) =>
    v.summary.asserts.filter((a) => !a.passed).map((a) => `${v.name}: ${a.condition}`),
  );
  const asserts = sum(comparison.variants.map((v) => v.summary.asserts.length));
  const best = comparison.ranking[0];
  return element(
    "div",
    {class: "cards"},
    comparison.claims.length
      ? card(
          "Claims",
          `${confirmed} of ${comparison.claims.length} confirmed`,
          confirmed === comparison.claims.length ? "good" : "warn",
        )
      : null,
    best && comparison.rank_by
      ? card(
          `Best by ${comparison.rank_by}`,
          best.variant,
          "good",
          best.factor === null ? null : `${number(best.factor)} × the first variant`,
        )
      : null,
    asserts
      ? card(
          "Asserts",
          failed.length === 0 ? `all ${asserts} hold` : `${failed.length} of ${asserts} failed`,
          failed.length === 0 ? "good" : "bad",
          element(
            "ul",
            {},
            failed.slice(0, 6).map((text) => element("li", {}, text)),
          ),
        )
      : null,
    card(
      "Audit",
      comparison.audits_passed
        ? `all ${comparison.variants.length} runs passed`
        : "failed: our bug",
      comparison.audits_passed ? "good" : "bad",
    ),
  );
}

function study_sections(data) {
  const variants = ordered_variants(data);
  const preferred = (data.comparison.rank_by ?? "").split(".")[0],
    names = class_names(variants);
  const first = names.includes(preferred) ? preferred : names[0];
  return [
    section("verdict", "Verdict", study_cards(data.comparison)),
    claims_section(data.comparison),
    ranking_section(data.comparison),
    replications_section(data.comparison),
    study_ledger(variants, first),
    study_curves(variants, first, data.comparison.variants[0].name),
  ].filter(Boolean);
}
