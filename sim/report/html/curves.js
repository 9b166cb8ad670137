// Distributions of latencies. The percentile axis gives each further nine the same room.

const METRICS = [
  ["ttft", "TTFT"],
  ["tpot", "TPOT"],
  ["itl", "inter-token latency"],
  ["e2el", "end to end"],
];
const COLOURS = [
  "#2f7ec7",
  "#dd7418",
  "#0a9a74",
  "#a55fc4",
  "#c2304f",
  "#8a8f2a",
  "#5c6b80",
  "#d07fb0",
];
const DASHES = [null, "6 3", "2 3", "9 3 2 3"];

function look(index) {
  return {
    colour: COLOURS[index % COLOURS.length],
    dash: DASHES[Math.floor(index / COLOURS.length) % DASHES.length],
  };
}

/** [[ms, fraction], …]: the share of samples up to the middle of each point's rank. */
function curve_points(curve) {
  return curve.ms.map((ms, i) => [ms, 1 - (curve.slower[i] - 0.5) / curve.samples]);
}

function percentile_name(fraction) {
  return `P${Number((fraction * 100).toPrecision(6))}`;
}

/** The smallest point that so many of the samples do not exceed. */
function quantile(curve, fraction) {
  const at = curve.slower.findIndex((slower) => 1 - (slower - 1) / curve.samples >= fraction);
  return at < 0 ? null : curve.ms[at];
}

/** curves: [{name, curve, look}]; targets: [{x, text}] */
function curve_chart(title, curves, targets = [], height = 250) {
  const drawn = curves.filter((c) => c.curve && c.curve.samples > 0);
  const all = drawn.flatMap((c) => c.curve.ms).filter((ms) => ms > 0);
  if (all.length === 0)
    return element(
      "figure",
      {class: "chart"},
      element("figcaption", {}, title),
      element("p", {class: "quiet"}, "Nothing to measure."),
    );
  const least = all.reduce((a, b) => Math.min(a, b)),
    most = all.reduce((a, b) => Math.max(a, b));
  const samples = Math.max(...drawn.map((c) => c.curve.samples));
  const share_below = (c, x) => {
    const at = c.curve.ms.findIndex((ms) => ms > x);
    return at < 0 ? 1 : 1 - c.curve.slower[at] / c.curve.samples;
  };
  return chart({
    title,
    height,
    describe: drawn
      .map(
        (c) =>
          `${c.name}: median ${duration(quantile(c.curve, 0.5))}, P99 ${duration(quantile(c.curve, 0.99))}`,
      )
      .join("; "),
    x: {kind: "log", lo: least * 0.9, hi: Math.max(most * 1.1, least), show: duration},
    y: {kind: "nines", lo: 0, hi: 1 - 0.5 / samples, show: percentile_name},
    series: drawn.map((c) => ({
      kind: "line",
      name: c.name,
      points: curve_points(c.curve),
      width: 1.8,
      ...c.look,
    })),
    legend: curves.length <= 6,
    marks: targets,
    read: (x) =>
      `${duration(x)}: ${drawn.map((c) => `${c.name} ${percent(share_below(c, x))} faster`).join(" · ")}`,
  });
}

function curve_table(curves, caption) {
  const at = [0.5, 0.9, 0.95, 0.99, 0.999, 1];
  return table(
    caption,
    [
      {head: "", text: true},
      {head: "samples"},
      ...at.map((q) => ({head: q === 1 ? "max, ms" : `${percentile_name(q)}, ms`})),
    ],
    curves
      .filter((c) => c.curve && c.curve.samples > 0)
      .map((c) => [
        c.name,
        number(c.curve.samples),
        ...at.map((q) => figure(quantile(c.curve, q))),
      ]),
  );
}

/** A key per series that hides it. */
function series_legend(names, hidden, changed) {
  return element(
    "div",
    {class: "legend"},
    names.map((name, i) =>
      element(
        "button",
        {
          type: "button",
          class: "key",
          "aria-pressed": String(!hidden.has(i)),
          onclick: (event) => {
            if (!hidden.delete(i)) hidden.add(i);
            event.currentTarget.setAttribute("aria-pressed", String(!hidden.has(i)));
            changed();
          },
        },
        swatch({kind: "line", ...look(i)}),
        name,
      ),
    ),
  );
}

function curves_section(data) {
  const hidden = new Set(),
    grid = element("div", {class: "grid"});
  const of = (metric) =>
    data.curves
      .map((c, i) => ({name: c.class, curve: c[metric], look: look(i)}))
      .filter((c, i) => !hidden.has(i));
  const targets = (metric) =>
    Object.entries(data.scenario.targets_ms)
      .filter(([, t]) => metric in t)
      .map(([name, t]) => ({x: t[metric], text: `${name} target`}));
  const draw = () =>
    grid.replaceChildren(
      ...METRICS.map(([metric, title]) => curve_chart(title, of(metric), targets(metric))),
    );
  draw();
  const tables = () =>
    element(
      "div",
      {},
      METRICS.map(([metric, title]) =>
        curve_table(of(metric), `${title} of measured, completed requests`),
      ),
    );
  return section(
    "latencies",
    "Distribution of latencies",
    element(
      "p",
      {class: "quiet"},
      "Share of requests (of token gaps for inter-token latency) that took no longer; every further nine has the same height.",
    ),
    data.curves.length > 1
      ? series_legend(
          data.curves.map((c) => c.class),
          hidden,
          draw,
        )
      : null,
    grid,
    lazy(
      "The same as tables (nearest point of the curve; exact percentiles are in the table above)",
      tables,
    ),
  );
}
