// Charts as SVG: they take the page's colours, print well and need no library.

const NINES = (fraction) => -Math.log10(1 - fraction);

function linear_ticks(lo, hi, count) {
  const raw = (hi - lo) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const ticks = [];
  for (let i = Math.ceil(lo / step - 1e-9); i * step <= hi + step * 1e-9; ++i)
    ticks.push((i || 0) * step);
  return ticks;
}

function log_ticks(lo, hi, count) {
  const first = Math.floor(Math.log10(lo)),
    last = Math.ceil(Math.log10(hi));
  const ticks = [],
    between = hi / lo < 300 ? [1, 2, 5] : [1];
  const skip = Math.max(1, Math.ceil((last - first) / Math.max(2, count)));
  for (let e = first; e <= last; e += skip)
    for (const m of between)
      if (m * 10 ** e >= lo * 0.999 && m * 10 ** e <= hi * 1.001) ticks.push(m * 10 ** e);
  return ticks;
}

/** {kind: "linear" | "log" | "nines", lo, hi} over [from, to] pixels. */
function scale({kind, lo, hi}, from, to) {
  const f = kind === "log" ? Math.log10 : kind === "nines" ? NINES : (v) => v;
  const a = f(lo),
    b = f(hi);
  const inverse = kind === "log" ? (y) => 10 ** y : (y) => y;
  return {
    at: (v) =>
      from + (to - from) * (b === a ? 0.5 : (f(Math.min(Math.max(v, lo), hi)) - a) / (b - a)),
    invert: (pixel) => inverse(a + ((b - a) * (pixel - from)) / (to - from)),
    ticks: (count) =>
      kind === "nines"
        ? [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999].filter((p) => p >= lo && p <= hi)
        : (kind === "log" ? log_ticks : linear_ticks)(lo, hi, count),
  };
}

/** Path through [x, y] points in pixels; a null y is a gap. */
function path_of(points) {
  let text = "",
    gap = true;
  for (const [x, y] of points) {
    if (y === null) {
      gap = true;
      continue;
    }
    text += `${gap ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
    gap = false;
  }
  return text;
}

const RUNS = {
  line: (s, x, y) =>
    svg("path", {
      d: path_of(s.points.map(([a, b]) => [x.at(a), b === null ? null : y.at(b)])),
      fill: "none",
      stroke: s.colour,
      "stroke-width": s.width ?? 1.5,
      "stroke-dasharray": s.dash,
      "stroke-linejoin": "round",
    }),
  /** points: [x, low, high] */
  band: (s, x, y) =>
    svg(
      "g",
      {fill: s.colour, "fill-opacity": 0.28},
      pieces(s.points).map((piece) =>
        svg("path", {
          d: `${path_of(piece.map(([a, , high]) => [x.at(a), y.at(high)]))}${path_of(piece.map(([a, low]) => [x.at(a), y.at(low)]).reverse()).replace("M", "L")}Z`,
        }),
      ),
    ),
  /** points: [from, to, height] */
  bars: (s, x, y) =>
    svg(
      "g",
      {fill: s.colour},
      s.points
        .filter(([, , h]) => h > 0)
        .map(([from, to, h]) =>
          svg("rect", {
            x: x.at(from).toFixed(1),
            width: Math.max(1, x.at(to) - x.at(from)).toFixed(1),
            y: y.at(h).toFixed(1),
            height: (y.at(0) - y.at(h)).toFixed(1),
          }),
        ),
    ),
  /** points: [x, y, radius, text]; shape: circle, square or diamond. */
  dots: (s, x, y) =>
    svg(
      "g",
      {fill: s.colour, "fill-opacity": 0.6, stroke: s.colour},
      s.points.map(([a, b, r, text]) => dot(s.shape, x.at(a), y.at(b), r, text)),
    ),
};

function dot(shape, x, y, r, text) {
  const title = text ? svg("title", {}, text) : null;
  if (shape === "circle")
    return svg("circle", {cx: x.toFixed(1), cy: y.toFixed(1), r: r.toFixed(1)}, title);
  const turn = shape === "diamond" ? `rotate(45 ${x.toFixed(1)} ${y.toFixed(1)})` : null;
  const side = (r * 1.8).toFixed(1);
  return svg(
    "rect",
    {
      x: (x - r * 0.9).toFixed(1),
      y: (y - r * 0.9).toFixed(1),
      width: side,
      height: side,
      transform: turn,
    },
    title,
  );
}

/** Runs of points without a gap between them. */
function pieces(points) {
  const all = [[]];
  for (const point of points) {
    if (point[1] === null || point[2] === null) all.push([]);
    else all.at(-1).push(point);
  }
  return all.filter((piece) => piece.length > 0);
}

function swatch(series) {
  if (series.kind === "dots")
    return svg(
      "svg",
      {width: 14, height: 12, "aria-hidden": "true"},
      svg("g", {fill: series.colour}, dot(series.shape, 7, 6, 4)),
    );
  return svg(
    "svg",
    {width: 18, height: 10, "aria-hidden": "true"},
    series.kind === "line"
      ? svg("line", {
          x1: 0,
          x2: 18,
          y1: 5,
          y2: 5,
          stroke: series.colour,
          "stroke-width": 2.5,
          "stroke-dasharray": series.dash,
        })
      : svg("rect", {
          width: 18,
          height: 10,
          fill: series.colour,
          "fill-opacity": series.kind === "band" ? 0.4 : 1,
        }),
  );
}

/** A chart that fits the width of its place and is drawn again when that changes.
 *  spec: {title, height, x: {kind, lo, hi, label, show}, y: {…}, series, shades: [{from, to, colour}],
 *         marks: [{x, text}], describe, read: (x) => text, bottom: false without labels on the x axis,
 *         group: charts that share a crosshair}. */
function chart(spec) {
  const place = element("div", {
    class: "plot",
    tabindex: spec.read ? 0 : null,
    role: "group",
    "aria-label": `${spec.title}. ${spec.describe}${spec.read ? " Arrow keys read values." : ""}`,
  });
  const readout = element("div", {class: "readout", "aria-live": "polite"});
  const keys = spec.series
    .filter((s) => s.name)
    .map((s) => element("span", {class: "mark"}, swatch(s), s.name));
  const node = element(
    "figure",
    {class: "chart"},
    element(
      "figcaption",
      {},
      element("span", {}, spec.title),
      element("span", {class: "keys"}, spec.legend === false ? [] : keys),
    ),
    place,
    spec.read ? readout : null,
  );
  const state = {x: null, cross: null};
  const draw = () => {
    const width = Math.max(200, place.clientWidth || 600);
    place.replaceChildren(drawing(spec, width, state));
    show(state.value ?? null);
  };
  const show = (value) => {
    state.value = value;
    if (!state.cross) return;
    state.cross.setAttribute("visibility", value === null ? "hidden" : "visible");
    if (value !== null)
      for (const end of ["x1", "x2"]) state.cross.setAttribute(end, state.x.at(value));
    readout.textContent = value === null ? "" : spec.read(value);
  };
  const show_all = (value) => (spec.group ?? [{show}]).forEach((member) => member.show(value));
  spec.group?.push({show});
  if (spec.read) listen(place, state, spec, show_all);
  new ResizeObserver(() => {
    if (place.clientWidth !== state.width) {
      state.width = place.clientWidth;
      draw();
    }
  }).observe(place);
  return node;
}

function listen(place, state, spec, show) {
  place.addEventListener("pointermove", (event) => {
    const pixel = event.clientX - place.getBoundingClientRect().left;
    show(Math.min(spec.x.hi, Math.max(spec.x.lo, state.x.invert(pixel))));
  });
  place.addEventListener("pointerleave", () => show(null));
  place.addEventListener("blur", () => show(null));
  place.addEventListener("keydown", (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10}[event.key];
    if (!step) return;
    event.preventDefault();
    const [from, to] = [state.x.at(spec.x.lo), state.x.at(spec.x.hi)];
    const now = state.value === null || state.value === undefined ? from : state.x.at(state.value);
    show(state.x.invert(Math.min(to, Math.max(from, now + (step * (to - from)) / 100))));
  });
}

function drawing(spec, width, state) {
  const left = spec.left ?? 52,
    right = 10,
    top = 8,
    bottom = spec.bottom === false ? 6 : spec.x.label ? 34 : 20;
  const height = spec.height ?? 200;
  const x = scale(spec.x, left, width - right),
    y = scale(spec.y, height - bottom, top);
  state.x = x;
  const rows = y.ticks(Math.max(2, Math.floor((height - bottom) / 32))).map((tick) => [
    svg("line", {
      class: "grid-line",
      x1: left,
      x2: width - right,
      y1: y.at(tick),
      y2: y.at(tick),
    }),
    svg("text", {x: left - 6, y: y.at(tick) + 4, "text-anchor": "end"}, spec.y.show(tick)),
  ]);
  const columns =
    spec.bottom === false
      ? []
      : x
          .ticks(Math.max(2, Math.floor(width / 110)))
          .map((tick) =>
            svg(
              "text",
              {x: x.at(tick), y: height - bottom + 15, "text-anchor": "middle"},
              spec.x.show(tick),
            ),
          );
  const shades = (spec.shades ?? []).map((s) =>
    svg("rect", {
      x: x.at(s.from),
      y: top,
      width: Math.max(1, x.at(s.to) - x.at(s.from)),
      height: height - bottom - top,
      fill: s.colour,
    }),
  );
  const marks = (spec.marks ?? [])
    .filter((m) => m.x > spec.x.lo && m.x < spec.x.hi)
    .map((m) => [
      svg("line", {class: "target", x1: x.at(m.x), x2: x.at(m.x), y1: top, y2: height - bottom}),
      svg("text", {x: x.at(m.x) + 4, y: top + 10}, m.text),
    ]);
  state.cross = svg("line", {class: "cross", y1: top, y2: height - bottom, visibility: "hidden"});
  const label =
    spec.x.label && spec.bottom !== false
      ? svg(
          "text",
          {x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle"},
          spec.x.label,
        )
      : null;
  return svg(
    "svg",
    {viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true"},
    shades,
    rows,
    columns,
    label,
    spec.series.map((s) => RUNS[s.kind](s, x, y)),
    marks,
    state.cross,
  );
}
