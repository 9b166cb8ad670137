// Puts the page together from its data.

function theme_button() {
  const root = document.documentElement;
  const set = (dark) => {
    root.dataset.theme = dark ? "dark" : "light";
    button.textContent = dark ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${dark ? "light" : "dark"} colours`);
  };
  const button = element("button", {
    type: "button",
    class: "theme",
    onclick: () => set(root.dataset.theme !== "dark"),
  });
  set(matchMedia("(prefers-color-scheme: dark)").matches);
  return button;
}

function heading(title, description, facts) {
  return element(
    "header",
    {class: "top"},
    element(
      "div",
      {},
      element("h1", {}, title),
      description ? element("p", {class: "quiet"}, description) : null,
      element(
        "dl",
        {class: "facts"},
        facts.map(([name, value]) =>
          element("div", {}, element("dt", {}, name), element("dd", {}, value)),
        ),
      ),
    ),
    theme_button(),
  );
}

function run_facts(data) {
  const {summary} = data;
  const config = Object.fromEntries(data.scenario.config.map(([path, value]) => [path, value]));
  return [
    ["model", config.model],
    ["GPU", summary.pricing.gpu],
    ["replicas", number(summary.instances.length)],
    ["GPUs each", number(summary.instances[0]?.gpus)],
    ["engine", `${summary.engine.preset}, ${summary.engine.scheduler}`],
    ["simulated", time_text(summary.simulated_s)],
    ["seed", String(summary.seed)],
    ["tokenline", summary.tokenline],
  ].filter(([, value]) => value !== undefined);
}

function run_page(data) {
  return {
    title: data.summary.scenario,
    head: heading(data.summary.scenario, data.scenario.description, run_facts(data)),
    sections: [
      verdict_section(data),
      ledger_section(data),
      curves_section(data),
      timeline_section(data),
      config_section(data),
      audit_section(data.summary),
    ],
  };
}

function study_page(data) {
  const {comparison} = data;
  return {
    title: comparison.study,
    head: heading(comparison.study, comparison.description, [
      ["variants", number(comparison.variants.length)],
      ["tokenline", comparison.tokenline],
    ]),
    sections: study_sections(data),
  };
}

function start() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const pages = {run: run_page, study: study_page, plan: plan_page};
  const page = pages[data.kind](data);
  document.title = `${page.title}: Tokenline report`;
  const links = page.sections.map((s) =>
    element("a", {href: `#${s.id}`}, s.querySelector("h2").textContent),
  );
  document
    .getElementById("page")
    .replaceChildren(
      page.head,
      element("nav", {"aria-label": "Sections"}, links),
      element("main", {id: "report", tabindex: -1}, page.sections),
    );
  document.documentElement.dataset.ready = "true";
}

start();
