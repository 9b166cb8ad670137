// Where latencies went: stacked bars of the ledger's parts, and the requests behind a slice.

function bands_table(bands, parts, caption) {
  const names = in_order(parts).filter((name) => bands.some((b) => (b.amounts[name] ?? 0) > 0));
  return table(
    caption,
    [{head: "part", text: true}, ...bands.map((b) => ({head: `${b.name}, ms`}))],
    [
      ...names.map((name) => [
        part_of(name).name,
        ...bands.map((b) => figure(b.amounts[name] ?? 0)),
      ]),
      ["sum", ...bands.map((b) => figure(sum(Object.values(b.amounts))))],
    ],
  );
}

/** The requests of a band that lost most to a part. */
function requests_table(data, band, latency, name) {
  const index = data.ledger.parts.indexOf(name);
  const rows = band.behind[index].map((id) => [id, data.ledger.requests[id]]);
  const part = part_of(name);
  const of = latency === "ttft" ? "TTFT" : "end-to-end latency";
  return [
    element("h3", {}, `${band.name}: ${part.group.toLowerCase()}, ${part.label}`),
    element(
      "p",
      {},
      part.meaning,
      ` ${duration(band.mean_ms[index])} of ${duration(sum(band.mean_ms))} on average.`,
    ),
    table(
      `The ${rows.length} of ${number(band.requests)} requests that lost most of their ${of} to ${part.name}`,
      [
        {head: "request"},
        {head: "class", text: true},
        {head: "instance", text: true},
        {head: "arrival, s"},
        {head: "prompt"},
        {head: "output"},
        {head: `${part.name}, ms`},
        {head: "share"},
        {head: "TTFT, ms"},
        {head: "E2E, ms"},
        {head: "preempted"},
        {head: "retries"},
      ],
      rows.map(([id, r]) => [
        id,
        r.class,
        r.instance,
        figure(r.arrival_s, (s) => s.toFixed(3)),
        number(r.prompt_tokens),
        number(r.output_tokens),
        figure(r[latency][index]),
        percent(r[latency][index] / r[`${latency}_ms`]),
        figure(r.ttft_ms),
        figure(r.e2el_ms),
        number(r.preemptions),
        number(r.retries),
      ]),
    ),
    element(
      "p",
      {class: "quiet"},
      "Every request with its ledger is in requests.csv (run --out DIR).",
    ),
  ];
}

/** The bands of a class, with the one request at P99 that summary.json splits. */
function bands_of(data, ledger, latency) {
  const bands = ledger[latency].map((band) => ({
    ...band,
    amounts: amounts_of(band, data.ledger.parts),
  }));
  const p99 = data.summary.ledger[ledger.class][latency].p99_ms;
  const amounts = Object.fromEntries(Object.entries(p99).filter(([, ms]) => ms > 0));
  if (bands.length > 0)
    bands.push({name: "The request at P99", requests: 1, amounts, behind: null});
  return bands;
}

function ledger_section(data) {
  const classes = data.ledger.classes.filter((c) => c.ttft.length > 0);
  if (classes.length === 0)
    return section(
      "ledger",
      "Where the time went",
      element("p", {}, "No measured request completed."),
    );
  const state = {ledger: classes[0], latency: "ttft", scale: "share", hidden: new Set(), bands: []};
  const bars = element("div", {class: "bars"}),
    legend = element("div"),
    numbers = element("div");
  const behind = element("div", {id: "behind", "aria-live": "polite"});
  const show_requests = (band, name, button) => {
    bars
      .querySelectorAll("[aria-pressed='true']")
      .forEach((b) => b.setAttribute("aria-pressed", "false"));
    button.setAttribute("aria-pressed", "true");
    behind.replaceChildren(...requests_table(data, band, state.latency, name));
  };
  const draw_bars = () => {
    const longest =
      state.scale === "ms"
        ? Math.max(...state.bands.map((b) => sum(Object.values(b.amounts))))
        : null;
    bars.replaceChildren(
      ...state.bands.map((band) =>
        bar_row(
          [
            band.name,
            element(
              "small",
              {},
              band.behind
                ? `${number(band.requests)} requests, ${duration(band.least_ms)} to ${duration(band.most_ms)}`
                : "as in summary.json",
            ),
          ],
          stacked_bar(band.name, band.amounts, {
            hidden: state.hidden,
            longest,
            choose: band.behind ? (name, button) => show_requests(band, name, button) : null,
          }),
          band.amounts,
        ),
      ),
    );
  };
  const draw = () => {
    state.bands = bands_of(data, state.ledger, state.latency);
    const names = data.ledger.parts.filter((name) => state.bands.some((b) => b.amounts[name] > 0));
    legend.replaceChildren(part_legend(names, state.hidden, draw_bars));
    numbers.replaceChildren(
      lazy("The same as a table", () =>
        bands_table(state.bands, data.ledger.parts, "Mean milliseconds by part"),
      ),
    );
    behind.replaceChildren(
      element("p", {class: "quiet"}, "Choose a slice to see the requests behind it."),
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
      "p",
      {class: "quiet"},
      "Mean latency of requests by how slow they were, each nanosecond in exactly one part.",
    ),
    element(
      "div",
      {class: "choices"},
      pick(
        "class",
        classes.map((c) => [c, c.class]),
        state.ledger,
        set("ledger"),
      ),
      choice("latency", LATENCIES, state.latency, set("latency")),
      choice(
        "scale",
        [
          ["share", "shares"],
          ["ms", "milliseconds"],
        ],
        state.scale,
        (value) => {
          state.scale = value;
          draw_bars();
        },
      ),
    ),
    bars,
    legend,
    behind,
    numbers,
  );
}
