// Steps under the roofline of a GPU.

const KINDS = [
  ["decodes only", "#0a9a74", "circle"],
  ["prompts and decodes", "#a55fc4", "diamond"],
  ["prompts only", "#dd7418", "square"],
];

function roofline(instance) {
  const {peak_16bit, peak_8bit, bandwidth, cells} = instance.roofline;
  const title = `Steps of ${instance.name} under the roofline of one ${instance.gpu}`;
  if (cells.length === 0)
    return element(
      "figure",
      {class: "chart"},
      element("figcaption", {}, title),
      element("p", {class: "quiet"}, "No step was priced."),
    );
  const beyond = peak_8bit > peak_16bit && cells.some((c) => c[3] > peak_16bit * 0.9);
  const roof = beyond ? peak_8bit : peak_16bit;
  const xs = cells.map((c) => c[2]),
    ys = cells.map((c) => c[3]);
  const x = {
    kind: "log",
    lo: Math.min(...xs) / 1.5,
    hi: Math.max(Math.max(...xs) * 1.5, (2 * roof) / bandwidth),
    show: short,
    label: "arithmetic intensity, FLOP per byte of HBM",
  };
  const y = {
    kind: "log",
    lo: Math.min(...ys) / 1.6,
    hi: roof * 1.6,
    show: (v) => `${si(v)}FLOP/s`.replace(" ", " "),
  };
  const slope = (peak) =>
    [
      [x.lo, bandwidth * x.lo],
      [peak / bandwidth, peak],
      [x.hi, peak],
    ].filter(([a, b]) => a >= x.lo && b >= y.lo);
  const roofs = [
    {
      kind: "line",
      name: `${si(peak_16bit)}FLOP/s in 16 bit, ${si(bandwidth)}B/s`,
      colour: "#5c6b80",
      points: slope(peak_16bit),
    },
  ];
  if (beyond)
    roofs.push({
      kind: "line",
      name: `${si(peak_8bit)}FLOP/s in 8 bit`,
      colour: "#5c6b80",
      dash: "6 3",
      points: slope(peak_8bit),
    });
  const dots = KINDS.map(([name, colour, shape], kind) => ({
    kind: "dots",
    name,
    colour,
    shape,
    points: cells
      .filter((c) => c[0] === kind)
      .map((c) => [
        c[2],
        c[3],
        2 + 10 * Math.sqrt(c[4]),
        `${number(c[1])} steps, ${name}: ${number(c[2])} FLOP/byte, ${si(c[3])}FLOP/s, ${percent(c[4])} of GPU time`,
      ]),
  })).filter((s) => s.points.length > 0);
  const rows = [...cells]
    .sort((a, b) => b[4] - a[4])
    .slice(0, 30)
    .map((c) => [
      KINDS[c[0]][0],
      number(c[1]),
      number(c[2]),
      `${si(c[3])}FLOP/s`,
      percent(Math.min(1, c[3] / Math.min(roof, bandwidth * c[2]))),
      percent(c[4]),
    ]);
  return element(
    "div",
    {},
    chart({
      title,
      height: 320,
      left: 84,
      x,
      y,
      series: [...roofs, ...dots],
      describe: `${cells.length} groups of like steps; the table below lists the largest.`,
    }),
    lazy("The same as a table: the groups of steps with most GPU time", () =>
      table(
        "Groups of like steps",
        [
          {head: "kind", text: true},
          {head: "steps"},
          {head: "FLOP/byte"},
          {head: "rate"},
          {head: "of the roof"},
          {head: "of GPU time"},
        ],
        rows,
      ),
    ),
  );
}
