// The ledger's parts: names, colours by meaning, bars and legend.

const PARTS = {
  wait_step: [
    "Waits",
    "step under way",
    "#b7d3ec",
    "Arrived while a step was under way: until that step ended.",
  ],
  wait_sequence_slot: [
    "Waits",
    "sequence slot",
    "#1f66a8",
    "The head of the queue waited for one of max_num_seqs slots.",
  ],
  wait_kv_blocks: ["Waits", "KV blocks", "#4a95d6", "The head of the queue waited for KV blocks."],
  wait_token_budget: [
    "Waits",
    "token budget",
    "#83bbea",
    "Others used up the max_num_batched_tokens of the steps.",
  ],
  own_prefill: [
    "Own work",
    "own prefill",
    "#0a8f6c",
    "The GPU time that its own prompt takes alone.",
  ],
  decode_floor: [
    "Own work",
    "decode floor",
    "#6ccbad",
    "Decode steps as if alone: weights, launches, context.",
  ],
  prefill_stretched: [
    "Others' work",
    "prefill stretched",
    "#f2b04a",
    "What the work batched with its prompt added.",
  ],
  decode_stretched: [
    "Others' work",
    "decode stretched",
    "#f8d698",
    "What the other decodes of the batch added.",
  ],
  decode_stalled: [
    "Others' work",
    "decode stalled",
    "#dd7418",
    "Prompts of others in its decode steps, or whole steps of theirs.",
  ],
  host_gap: ["Engine", "host gap", "#8b919c", "Host time between GPU steps."],
  pipeline_wait: [
    "Engine",
    "pipeline wait",
    "#bfc4cc",
    "Waited for a pipeline stage or the host, busy with another micro-batch.",
  ],
  transfer_queue: [
    "KV transfer",
    "transfer queue",
    "#8e5bb5",
    "Computed; its KV waited for blocks in a decode replica.",
  ],
  transfer_wire: [
    "KV transfer",
    "transfer wire",
    "#c9a5e0",
    "Its KV was on the way to the decode replica.",
  ],
  preempted: [
    "Losses",
    "preempted",
    "#c2304f",
    "Between losing its blocks and being admitted again.",
  ],
  recomputed: [
    "Losses",
    "recomputed",
    "#ea8ba0",
    "Prefilling again what a preemption had thrown away.",
  ],
  restart: [
    "Losses",
    "restart",
    "#7d1730",
    "Attempts that failed, pauses behind them, waiting for a restart.",
  ],
};
const GROUPS = [...new Set(Object.values(PARTS).map(([group]) => group))];
const LATENCIES = [
  ["ttft", "TTFT"],
  ["e2el", "end to end"],
];

function part_of(name) {
  const [group, label, colour, meaning] = PARTS[name] ?? [
    "Other",
    name.replaceAll("_", " "),
    "#777",
    name,
  ];
  return {name, group, label, colour, meaning};
}

/** Whether white reads better than black on a colour. */
function is_dark(colour) {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b < 128;
}

/** Parts in the order of the groups, so that neighbours belong together. */
function in_order(names) {
  return Object.keys(PARTS)
    .concat(names.filter((n) => !(n in PARTS)))
    .filter((n) => names.includes(n));
}

const sum = (values) => values.reduce((a, b) => a + b, 0);

/** One stacked bar. amounts: {part: ms}; longest: the total that fills the width, or null for shares. */
function stacked_bar(
  label,
  amounts,
  {hidden = new Set(), longest = null, small = false, choose = null} = {},
) {
  const total = sum(Object.values(amounts));
  const whole = longest ?? total;
  const slices = in_order(Object.keys(amounts))
    .filter((n) => amounts[n] / whole > 0.0005 && !hidden.has(n))
    .map((name) => {
      const part = part_of(name);
      const text = `${part.group}: ${part.label}, ${duration(amounts[name])}, ${percent(amounts[name] / total)}`;
      const share = amounts[name] / whole;
      return element(
        choose ? "button" : "span",
        {
          type: choose ? "button" : null,
          class: `slice${is_dark(part.colour) ? " on-dark" : ""}`,
          style: `width:${(share * 100).toFixed(3)}%;background:${part.colour}`,
          title: text,
          "data-part": name,
          "aria-label": choose ? `${label}: ${text}. Show the requests behind it.` : null,
          "aria-pressed": choose ? "false" : null,
          onclick: choose ? (event) => choose(name, event.currentTarget) : null,
        },
        share > 0.13
          ? `${part.label} ${percent(amounts[name] / total)}`
          : share > 0.055
            ? percent(amounts[name] / total)
            : "",
      );
    });
  const role = choose
    ? {role: "group", "aria-label": label}
    : {role: "img", "aria-label": `${label}: ${largest_text(amounts, 4)}`};
  return element("div", {class: small ? "bar small" : "bar", ...role}, slices);
}

/** A bar between what it is of and its total. */
function bar_row(label, bar, amounts) {
  return element(
    "div",
    {class: "row"},
    element("div", {class: "label"}, label),
    bar,
    element("div", {class: "total"}, duration(sum(Object.values(amounts)))),
  );
}

/** "82.1 % sequence slot, 9.3 % own prefill" */
function largest_text(amounts, count) {
  const total = sum(Object.values(amounts));
  return Object.entries(amounts)
    .filter(([, ms]) => ms / total >= 0.005)
    .sort((a, b) => b[1] - a[1])
    .slice(0, count)
    .map(([name, ms]) => `${percent(ms / total)} ${part_of(name).label}`)
    .join(", ");
}

/** A key per part that occurs, by meaning; pressing one hides it. */
function part_legend(names, hidden, changed) {
  return element(
    "div",
    {class: "legend"},
    GROUPS.map((group) => {
      const members = in_order(names)
        .map(part_of)
        .filter((part) => part.group === group);
      if (members.length === 0) return null;
      return element(
        "div",
        {class: "group"},
        element("span", {}, group),
        members.map((part) =>
          element(
            "button",
            {
              type: "button",
              class: "key",
              title: `${part.name}: ${part.meaning}`,
              "aria-pressed": String(!hidden.has(part.name)),
              onclick: (event) => {
                if (!hidden.delete(part.name)) hidden.add(part.name);
                event.currentTarget.setAttribute("aria-pressed", String(!hidden.has(part.name)));
                changed();
              },
            },
            swatch({kind: "bars", colour: part.colour}),
            part.label,
          ),
        ),
      );
    }),
  );
}

function amounts_of(band, parts) {
  return Object.fromEntries(band.mean_ms.map((ms, i) => [parts[i], ms]).filter(([, ms]) => ms > 0));
}
