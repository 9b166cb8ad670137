// Replicas over time.

/** [[time, value], …] at the middle of each bin, as steps of a bin's width. */
function over_time(t, values) {
  return values.map((value, i) => [Math.min((i + 0.5) * t.width_s, t.end_s), value]);
}

function gauge_series(t, gauge, name, colour) {
  return [
    {
      kind: "band",
      name: `${name}, min to max`,
      colour,
      points: over_time(t, gauge.mean).map(([x], i) => [x, gauge.min[i], gauge.max[i]]),
    },
    {kind: "line", name: "mean", colour, points: over_time(t, gauge.mean)},
  ];
}

function greatest(lists) {
  return lists.flat().reduce((a, b) => (b !== null && b > a ? b : a), 0);
}

function time_text(s) {
  return s >= 600 ? `${Number((s / 60).toPrecision(4))} min` : `${Number(s.toPrecision(4))} s`;
}

function time_shades(t, instance, index) {
  const shades = [],
    end = t.end_s;
  if (t.measure) {
    shades.push({from: 0, to: t.measure.from_s, colour: "var(--outside)"});
    if (t.measure.to_s !== null && t.measure.to_s < end)
      shades.push({from: t.measure.to_s, to: end, colour: "var(--outside)"});
  }
  if (t.tail) shades.push({from: t.tail.from_s, to: t.tail.to_s, colour: "var(--tail)"});
  for (const [from, to] of instance.down_s)
    shades.push({from, to: Math.min(to, end), colour: "var(--down)"});
  for (const fault of t.faults)
    if (fault.links || (fault.kind === "straggler" && fault.replica === index))
      shades.push({from: fault.from_s, to: Math.min(fault.to_s, end), colour: "var(--down)"});
  return shades.filter((s) => s.to > s.from || s.colour === "var(--tail)");
}

function time_marks(t, down) {
  const mark = (colour, text) =>
    element("span", {class: "mark"}, element("i", {style: `background:var(${colour})`}), text);
  return element(
    "div",
    {class: "legend"},
    t.tail
      ? mark(
          "--tail",
          `nine of ten of the slowest 1 % (${number(t.tail.requests)} requests by TTFT) arrived in ${time_text(t.tail.from_s)} to ${time_text(t.tail.to_s)}`,
        )
      : null,
    t.measure ? mark("--outside", "outside the measured window") : null,
    down ? mark("--down", "down, or slowed down by a fault") : null,
    ...t.faults
      .filter((f) => f.links)
      .map((f) => mark("--down", `${f.links}: brown-out, ${time_text(f.from_s)} to ${time_text(f.to_s)}`)),
  );
}

function panel(
  t,
  shared,
  title,
  series,
  {kind = "linear", show = short, hi = null, bottom = false, read},
) {
  const values = series.flatMap((s) =>
    s.kind === "bars" ? s.points.map((p) => p[2]) : s.points.flatMap((p) => p.slice(1)),
  );
  const positive = values.filter((v) => v > 0),
    most = Math.max(hi ?? 0, greatest([values]));
  const lo = kind === "log" ? positive.reduce((a, b) => Math.min(a, b), most) : 0;
  return chart({
    title,
    height: bottom ? 132 : 104,
    bottom,
    group: shared.group,
    shades: shared.shades,
    describe: `Largest value ${show(greatest([values]))}.`,
    series,
    x: {
      kind: "linear",
      lo: 0,
      hi: t.end_s,
      show: time_text,
      label: bottom ? "simulated time" : null,
    },
    y: {kind, lo: kind === "log" ? lo * 0.9 : 0, hi: most > lo ? most : lo + 1, show},
    read: (x) => {
      const i = Math.min(t.bins - 1, Math.floor(x / t.width_s));
      return `${time_text(i * t.width_s)} to ${time_text(Math.min(t.end_s, (i + 1) * t.width_s))}: ${read(i)}`;
    },
  });
}

function gauge_text(gauge, i, show = number) {
  return gauge.mean[i] === null
    ? "no step"
    : `mean ${show(gauge.mean[i])}, ${show(gauge.min[i])} to ${show(gauge.max[i])}`;
}

function time_panels(data, index) {
  const t = data.timeline,
    instance = t.instances[index],
    g = instance.gauges,
    arrivals = t.arrivals;
  const shared = {group: [], shades: time_shades(t, instance, index)};
  const make = (...rest) => panel(t, shared, ...rest);
  const line = (name, colour, values) => ({
    kind: "line",
    name,
    colour,
    points: over_time(t, values),
  });
  const shares = [
    ["busy", "#5c6b80", instance.busy_fraction],
    ["FLOPs", "#dd7418", instance.flops_utilization],
    ["HBM bandwidth", "#2f7ec7", instance.bandwidth_utilization],
  ];
  const bar = (values) =>
    values.map((n, i) => [i * t.width_s, Math.min((i + 1) * t.width_s, t.end_s), n]);
  return [
    make(
      "TTFT of requests by their arrival (all replicas)",
      [
        line("largest", "#c2304f", arrivals.max_ttft_ms),
        line("mean", "#2f7ec7", arrivals.mean_ttft_ms),
      ],
      {
        show: duration,
        read: (i) =>
          `mean ${duration(arrivals.mean_ttft_ms[i])}, largest ${duration(arrivals.max_ttft_ms[i])}; ${number(arrivals.offered[i])} arrived, ${number(arrivals.failed[i])} of them failed`,
      },
    ),
    t.tail
      ? make(
          "Arrivals of the slowest 1 % (all replicas)",
          [{kind: "bars", name: "requests", colour: "#b87a00", points: bar(t.tail.arrivals)}],
          {read: (i) => `${number(t.tail.arrivals[i])} of the slowest arrived`},
        )
      : null,
    make("Queue", gauge_series(t, g.waiting, "waiting requests", "#1f66a8"), {
      read: (i) => gauge_text(g.waiting, i),
    }),
    make("Running sequences", gauge_series(t, g.running, "in the batch", "#0a9a74"), {
      read: (i) => gauge_text(g.running, i),
    }),
    make("KV cache in use", gauge_series(t, g.kv_fraction, "share of blocks", "#8e5bb5"), {
      show: percent,
      hi: 1,
      read: (i) => gauge_text(g.kv_fraction, i, percent),
    }),
    make(
      "Batch: tokens of a step",
      [
        line("prompt tokens, mean", "#dd7418", g.prompt_tokens.mean),
        line("decode sequences, mean", "#0a9a74", g.decode_sequences.mean),
      ],
      {
        read: (i) =>
          `prompt tokens ${gauge_text(g.prompt_tokens, i)}; decodes ${gauge_text(g.decode_sequences, i)}`,
      },
    ),
    make(
      "Utilisation",
      shares.map(([name, colour, values]) => line(name, colour, values)),
      {
        show: percent,
        hi: 1,
        read: (i) => shares.map(([name, , values]) => `${name} ${percent(values[i])}`).join(", "),
      },
    ),
    make("Time of a step", gauge_series(t, g.step_ms, "step", "#b87a00"), {
      kind: "log",
      show: duration,
      bottom: true,
      read: (i) => gauge_text(g.step_ms, i, duration),
    }),
  ];
}

/** At most 48 rows: neighbouring bins together, with the extremes of both. */
function time_table(t, instance) {
  const every = Math.ceil(t.bins / 48),
    rows = [];
  const names = [
    "waiting",
    "running",
    "kv_fraction",
    "prompt_tokens",
    "decode_sequences",
    "step_ms",
  ];
  const mean = (values) => {
    const known = values.filter((v) => v !== null);
    return known.length ? sum(known) / known.length : null;
  };
  for (let i = 0; i < t.bins; i += every) {
    const of = (values) => values.slice(i, i + every);
    rows.push([
      time_text(i * t.width_s),
      ...names.flatMap((name) => {
        const g = instance.gauges[name],
          show = name === "kv_fraction" ? percent : number;
        return [show(mean(of(g.mean))), show(greatest([of(g.max)]))];
      }),
      percent(mean(of(instance.busy_fraction))),
      percent(mean(of(instance.flops_utilization))),
      percent(mean(of(instance.bandwidth_utilization))),
    ]);
  }
  return table(
    `${instance.name} over time, mean and largest`,
    [
      {head: "from"},
      ...names.flatMap((n) => [{head: n.replaceAll("_", " ")}, {head: "max"}]),
      {head: "busy"},
      {head: "FLOPs"},
      {head: "bandwidth"},
    ],
    rows,
  );
}

function timeline_section(data) {
  const t = data.timeline;
  t.bins = t.arrivals.offered.length;
  const panels = element("div"),
    steps = element("div"),
    numbers = element("div"),
    marks = element("div");
  const draw = (index) => {
    const instance = t.instances[index];
    marks.replaceChildren(
      time_marks(t, instance.down_s.length > 0 || t.faults.some((f) => f.replica === index)),
    );
    panels.replaceChildren(...time_panels(data, index).filter(Boolean));
    steps.replaceChildren(roofline(instance));
    numbers.replaceChildren(lazy("The same as a table", () => time_table(t, instance)));
  };
  draw(0);
  return section(
    "timeline",
    "Over time",
    element(
      "p",
      {class: "quiet"},
      `Bins of ${time_text(t.width_s)}: the mean over time and, as a band, the smallest and largest value. Between steps a replica counts as empty.`,
    ),
    element(
      "div",
      {class: "choices"},
      pick(
        "replica",
        t.instances.map((instance, i) => [i, instance.name]),
        0,
        draw,
      ),
    ),
    marks,
    panels,
    numbers,
    element("h3", {}, "Roofline"),
    element(
      "p",
      {class: "quiet"},
      "Each mark is a group of like steps; its area is their share of GPU time. On the slope steps are bound by memory bandwidth, under the flat roof by arithmetic; far below both, by launches, small tiles or communication.",
    ),
    steps,
  );
}
