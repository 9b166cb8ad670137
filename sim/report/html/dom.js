// Building the page. Text only ever becomes text nodes and attribute values, never markup.

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** Four significant digits without an exponent, whole numbers in full; "-" for nothing. */
function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "-";
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  const size = Math.abs(value);
  const digits = size >= 1000 ? 0 : Math.min(8, Math.max(0, 3 - Math.floor(Math.log10(size))));
  return value.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

/** What an axis needs of a number. */
function short(value) {
  return Number(value.toPrecision(3)).toLocaleString("en-US", {maximumSignificantDigits: 3});
}

/** Milliseconds in the unit that reads best: "37 ms", "28.1 s". */
function duration(ms) {
  if (ms === null || ms === undefined) return "-";
  const size = Math.abs(ms);
  const [per, unit] =
    size >= 120000
      ? [60000, "min"]
      : size >= 1000
        ? [1000, "s"]
        : size >= 1 || size === 0
          ? [1, "ms"]
          : [0.001, "µs"];
  return `${Number((ms / per).toPrecision(3))} ${unit}`;
}

function percent(fraction) {
  if (fraction === null || fraction === undefined) return "-";
  const value = fraction * 100;
  return `${Number(value.toFixed(Math.abs(value) < 10 ? 2 : 1))} %`;
}

/** A large amount with an SI prefix: "989 T". */
function si(value) {
  const [size, prefix] = [
    [1e15, "P"],
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ].find(([least]) => Math.abs(value) >= least) ?? [1, ""];
  return `${Number((value / size).toPrecision(3))} ${prefix}`;
}

/** One cell: text, a node, or {value, show}: the exact figure stays at hand as its title. */
function table_cell(cell, column) {
  const name = [column.text && "text", column.wide && "wide"].filter(Boolean).join(" ") || null;
  if (cell === null || typeof cell !== "object" || !("show" in cell))
    return element("td", {class: name}, cell ?? "-");
  return element(
    "td",
    {class: name, title: cell.value, "data-value": cell.value, "data-key": cell.key},
    cell.show,
  );
}

/** A table that scrolls by itself where it is wider than the page. Columns: {head, text, wide}. A
 *  row that is {note} goes over all columns. */
function table(caption, columns, rows) {
  const head = columns.map((c) => element("th", {scope: "col", class: c.text && "text"}, c.head));
  const body = rows.map((row) =>
    row.note
      ? element(
          "tr",
          {class: "note"},
          element("td", {colspan: columns.length}, element("div", {}, row.note)),
        )
      : element(
          "tr",
          {},
          row.map((cell, i) => table_cell(cell, columns[i])),
        ),
  );
  return element(
    "div",
    {class: "scroll", tabindex: 0, role: "region", "aria-label": caption},
    element(
      "table",
      {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, head)),
      element("tbody", {}, body),
    ),
  );
}

function figure(value, show = number, key = null) {
  return {value: value ?? null, show: show(value), key};
}

/** Buttons of which one is pressed. */
function choice(name, options, chosen, choose) {
  const buttons = options.map(([value, label]) =>
    element(
      "button",
      {
        type: "button",
        class: "option",
        "aria-pressed": String(value === chosen),
        onclick: () => {
          buttons.forEach((b, i) =>
            b.setAttribute("aria-pressed", String(options[i][0] === value)),
          );
          choose(value);
        },
      },
      label,
    ),
  );
  return element(
    "fieldset",
    {class: "choice", "aria-label": name},
    element("span", {class: "name"}, name),
    buttons,
  );
}

/** The same as a list to choose from, for many options. */
function selection(name, options, chosen, choose) {
  const select = element(
    "select",
    {onchange: () => choose(options[select.selectedIndex][0])},
    options.map(([value, label]) => element("option", {selected: value === chosen}, label)),
  );
  return element("label", {class: "choice"}, element("span", {class: "name"}, name), select);
}

function pick(name, options, chosen, choose) {
  if (options.length < 2) return null;
  return (options.length > 5 ? selection : choice)(name, options, chosen, choose);
}

function details(summary, ...content) {
  return element("details", {}, element("summary", {}, summary), ...content);
}

/** A details element whose content is made when it is opened. */
function lazy(summary, make) {
  const node = details(summary);
  node.addEventListener("toggle", () => {
    if (node.open && node.childElementCount === 1) node.append(make());
  });
  return node;
}

function section(id, title, ...content) {
  return element(
    "section",
    {id, "aria-labelledby": `${id}-title`},
    element("h2", {id: `${id}-title`}, title),
    ...content,
  );
}
