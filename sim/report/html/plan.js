// A capacity plan: the cheapest fleet, every other design with why it is out, fronts, and what one
// knob changes.

function dollars(value) {
  return value === null || value === undefined ? "-" : `$${value.toFixed(2)}`;
}

function passing_fleet(design) {
  return design.fleets.find((fleet) => fleet.passed) ?? null;
}

/** Under the planned load with the first seed. */
function planned_simulation(fleet) {
  return fleet?.simulations.find((s) => s.case === "planned" && s.seed === 0) ?? null;
}

function plan_cards(plan) {
  const {winner, closest} = plan;
  if (!winner)
    return element(
      "div",
      {class: "cards"},
      card(
        "Cheapest fleet",
        "none meets every SLO",
        "bad",
        closest
          ? `Closest: ${closest.design}, ${closest.gpus} GPUs, ${dollars(closest.usd_per_hour)}/h`
          : null,
      ),
    );
  const design = plan.designs.find((d) => d.name === winner.design);
  const fleet = passing_fleet(design);
  const holds = winner.holds_at === null ? "-" : `${number(winner.holds_at)} × the planned load`;
  const breaks = winner.breaks_at === null ? null : `not ${number(winner.breaks_at)} ×`;
  return element(
    "div",
    {class: "cards"},
    card(
      "Cheapest fleet",
      `${number(fleet.gpus)} GPUs, ${dollars(fleet.usd_per_hour)}/h`,
      "good",
      design.name,
    ),
    card(
      "Seeds",
      `${fleet.seeds_passed} of ${plan.settings.seeds} meet every SLO`,
      "good",
      `with ${percent(plan.settings.confidence)} confidence at least ${percent(winner.passing_share_at_least)} of such stretches of traffic do`,
    ),
    card("All replicas hold", holds, "good", breaks),
    card(
      "Planned load",
      `${dollars(fleet.usd_per_million_output_tokens)} per million output tokens`,
      "",
      `${number(fleet.joules_per_output_token)} J per output token, ${number(fleet.kwh_per_day)} kWh a day`,
    ),
  );
}

/** Of each SLO and case the simulation nearest to missing it. */
function slo_rows(fleet) {
  const worst = new Map();
  for (const simulation of fleet.simulations)
    for (const check of simulation.checks) {
      const key = `${simulation.case} ${check.slo}`;
      const known = worst.get(key);
      if (!known || (check.stress ?? 0) > (known[1].stress ?? 0))
        worst.set(key, [simulation.case, check]);
    }
  return [...worst.values()].map(([name, check]) => [
    check.slo,
    name,
    figure(check.value),
    percent(check.stress),
    element(
      "strong",
      {class: check.passed ? "good" : "bad"},
      check.passed ? "met" : "missed",
    ),
  ]);
}

function slo_table(plan) {
  const name = (plan.winner ?? plan.closest)?.design;
  const design = plan.designs.find((d) => d.name === name);
  if (!design) return null;
  const fleet = plan.winner
    ? passing_fleet(design)
    : design.fleets.find((f) => f.units === plan.closest.units);
  return table(
    `SLOs of ${name}, worst seed`,
    [
      {head: "SLO", text: true, wide: true},
      {head: "case", text: true},
      {head: "value"},
      {head: "of the bound"},
      {head: "verdict", text: true},
    ],
    slo_rows(fleet),
  );
}

function designs_table(plan) {
  const cost = (design) => passing_fleet(design)?.usd_per_hour ?? Infinity;
  const rows = [...plan.designs]
    .sort((a, b) => cost(a) - cost(b) || 0)
    .flatMap((design) => {
      const fleet = passing_fleet(design),
        simulation = planned_simulation(fleet);
      return [
        [
          design.name,
          element(
            "span",
            {class: design.verdict === "winner" ? "good" : "quiet"},
            design.verdict.replaceAll("_", " "),
          ),
          figure(fleet?.gpus),
          figure(fleet?.usd_per_hour, dollars),
          figure(fleet?.usd_per_million_output_tokens, dollars),
          figure(fleet?.joules_per_output_token),
          figure(simulation?.p99_ttft_ms),
          figure(fleet?.output_tokens_per_s_per_gpu),
          figure(simulation?.output_tokens_per_s_per_user),
        ],
        {note: design.reason},
      ];
    });
  return table(
    `${plan.designs.length} designs, cheapest first: the smallest fleet simulated that met the SLOs`,
    [
      {head: "design", text: true, wide: true},
      {head: "verdict", text: true},
      {head: "GPUs"},
      {head: "$/h"},
      {head: "$/M out"},
      {head: "J/token"},
      {head: "P99 TTFT ms"},
      {head: "tok/s/GPU"},
      {head: "tok/s/user"},
    ],
    rows,
  );
}

/** One dot per sized design, by GPU; those of the front are large. */
function front_chart(plan, spec) {
  const points = plan.designs
    .map((design) => {
      const fleet = passing_fleet(design),
        simulation = planned_simulation(fleet);
      return simulation
        ? {design, x: spec.x(fleet, simulation), y: spec.y(fleet, simulation)}
        : null;
    })
    .filter((p) => p && p.x > 0 && p.y > 0);
  if (points.length < 2) return null;
  const shapes = ["circle", "square", "diamond"];
  const gpus = [...new Set(points.map((p) => p.design.gpu))];
  const series = gpus.map((gpu, i) => ({
    kind: "dots",
    name: gpu,
    colour: look(i).colour,
    shape: shapes[i % shapes.length],
    points: points
      .filter((p) => p.design.gpu === gpu)
      .map((p) => [
        p.x,
        p.y,
        spec.front.includes(p.design.name) ? 7 : 3,
        `${p.design.name}: ${number(p.x)} ${spec.x_unit}, ${number(p.y)} ${spec.y_unit}`,
      ]),
  }));
  const axis = (values) => ({
    kind: "log",
    lo: Math.min(...values) / 1.3,
    hi: Math.max(...values) * 1.3,
    show: short,
  });
  return chart({
    title: spec.title,
    height: 300,
    left: 64,
    x: {...axis(points.map((p) => p.x)), label: spec.x_unit},
    y: axis(points.map((p) => p.y)),
    series,
    describe: `${points.length} designs; on the front: ${spec.front.join("; ")}.`,
  });
}

function fronts_section(plan) {
  const charts = [
    front_chart(plan, {
      title: "Cost and P99 of the first token, ms (lower left is better)",
      front: plan.cost_latency_front,
      x: (fleet) => fleet.usd_per_hour,
      x_unit: "$/h",
      y: (_, simulation) => simulation.p99_ttft_ms,
      y_unit: "ms",
    }),
    front_chart(plan, {
      title: "Tokens/s per user over tokens/s per GPU (upper right is better)",
      front: plan.throughput_speed_front,
      x: (fleet) => fleet.output_tokens_per_s_per_gpu,
      x_unit: "tokens/s per GPU",
      y: (_, simulation) => simulation.output_tokens_per_s_per_user,
      y_unit: "tokens/s per user",
    }),
  ].filter(Boolean);
  return charts.length > 0 ? section("fronts", "Fronts", ...charts) : null;
}

function tightest(simulation) {
  if (!simulation) return "cannot be built";
  const rank = (c) => c.stress ?? (c.passed ? 0 : Infinity);
  const check = [...simulation.checks].sort((a, b) => rank(b) - rank(a))[0];
  return check ? `${check.slo} is ${number(check.value)}` : "-";
}

function changes_section(plan) {
  if (plan.changes.length === 0) return null;
  const paid = plan.winner.usd_per_hour;
  const cost = (change) => change.usd_per_hour ?? Infinity;
  const rows = [...plan.changes]
    .sort((a, b) => cost(b) - cost(a) || 0)
    .map((change) => [
      change.axis,
      `${change.from} → ${change.to}`,
      change.usd_per_hour === null
        ? plan.designs.find((d) => d.name === change.design).verdict.replaceAll("_", " ")
        : figure(change.usd_per_hour, dollars),
      change.usd_per_hour === null ? "-" : figure(change.usd_per_hour / paid - 1, percent),
      tightest(change.same_size),
    ]);
  return section(
    "knobs",
    "One knob changed",
    table(
      "The others as in the winner, most expensive first",
      [
        {head: "knob", text: true},
        {head: "change", text: true, wide: true},
        {head: "$/h"},
        {head: "more than the winner"},
        {head: "tightest SLO in a fleet of the same size", text: true},
      ],
      rows,
    ),
  );
}

function plan_sections(data) {
  const {plan} = data;
  return [
    section("verdict", "Verdict", plan_cards(plan), slo_table(plan)),
    fronts_section(plan),
    changes_section(plan),
    section("designs", "Designs", designs_table(plan)),
  ].filter(Boolean);
}

function plan_page(data) {
  const {plan} = data,
    {settings} = plan;
  return {
    title: plan.plan,
    head: heading(plan.plan, plan.description, [
      ["load", `${settings.base} × ${number(settings.growth)}`],
      ["bursts", `× ${number(settings.burst)}`],
      ["replicas that may fail", number(settings.survive)],
      ["prices", `${settings.prices.source}, ${settings.prices.date}`],
      ["simulations", number(plan.simulations)],
      ["tokenline", plan.tokenline],
    ]),
    sections: plan_sections(data),
  };
}
