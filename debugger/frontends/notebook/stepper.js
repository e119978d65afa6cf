// The page of loopdbg's widget: draws `view`, and requests console commands. No library, no network.

const STYLE = `
.loopdbg-stepper { --accent: #2f81c9;
  --warm: color-mix(in srgb, #d9652a 80%, currentColor); --bad: color-mix(in srgb, #e04a45 85%, currentColor); --faint: color-mix(in srgb, currentColor 16%, transparent);
  --soft: color-mix(in srgb, currentColor 7%, transparent); color: inherit; font: 13px/1.5 system-ui, sans-serif;
  border: 1px solid var(--faint); border-radius: 6px; padding: 8px 10px; position: relative; outline-offset: 2px;
  max-width: 100%; box-sizing: border-box; }
.loopdbg-stepper:focus-visible, .loopdbg-stepper :focus-visible { outline: 2px solid var(--accent); }
.loopdbg-stepper * { box-sizing: border-box; }
.loopdbg-stepper .head { display: flex; gap: 4px 14px; flex-wrap: wrap; align-items: baseline; }
.loopdbg-stepper .stop { font-weight: 600; }
.loopdbg-stepper .dim, .loopdbg-stepper .comment { opacity: .68; }
.loopdbg-stepper .bar { display: flex; gap: 4px; flex-wrap: wrap; margin: 6px 0; }
.loopdbg-stepper button { font: inherit; color: inherit; background: var(--soft); border: 1px solid var(--faint);
  border-radius: 4px; padding: 1px 9px; cursor: pointer; }
.loopdbg-stepper button:hover:enabled { border-color: var(--accent); }
.loopdbg-stepper button:disabled { opacity: .4; cursor: default; }
.loopdbg-stepper button.main { border-color: var(--accent); }
.loopdbg-stepper .time { display: grid; grid-template-columns: 1fr auto; gap: 0 10px; align-items: center; }
.loopdbg-stepper .time input { width: 100%; margin: 0; accent-color: var(--accent); }
.loopdbg-stepper .time svg { width: 100%; height: 30px; display: block; }
.loopdbg-stepper .cols { display: flex; gap: 16px; flex-wrap: wrap; margin-top: 6px; }
.loopdbg-stepper .code { flex: 3 1 380px; min-width: 0; overflow: auto; max-height: 430px; position: relative;
  padding-left: 16px; }
.loopdbg-stepper .side { flex: 2 1 280px; min-width: 0; overflow-x: auto; }
.loopdbg-stepper .code, .loopdbg-stepper td, .loopdbg-stepper .output, .loopdbg-stepper .tip, .loopdbg-stepper .ask {
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 12px; }
.loopdbg-stepper .line { display: flex; white-space: pre; border-radius: 3px; min-width: max-content; }
.loopdbg-stepper .line:hover { background: var(--soft); }
.loopdbg-stepper .line.next { background: color-mix(in srgb, var(--accent) 24%, transparent); }
.loopdbg-stepper .line .sign { width: 1.4em; color: var(--accent); }
.loopdbg-stepper .line .sign.break { color: var(--bad); }
.loopdbg-stepper .line .number { width: 2.6em; text-align: right; opacity: .55; padding-right: .8em; cursor: pointer; }
.loopdbg-stepper .line .text { flex: 0 0 auto; min-width: 36ch; padding-right: 1.5em; }
.loopdbg-stepper .line.edge .text { color: var(--warm); }
.loopdbg-stepper .line.edge .comment { opacity: .9; }
.loopdbg-stepper .line .value { padding-right: .4em; }
.loopdbg-stepper .arc { position: absolute; left: 2px; top: 0; width: 16px; pointer-events: none; overflow: visible; }
.loopdbg-stepper .arc path { fill: none; stroke: var(--warm); stroke-width: 1.5; }
.loopdbg-stepper table { border-collapse: collapse; width: 100%; margin: 0 0 8px; color: inherit; background: none; }
.loopdbg-stepper tr, .loopdbg-stepper th, .loopdbg-stepper td { background: none; color: inherit; }
.loopdbg-stepper th { text-align: left; font-weight: 600; font-size: 12px; opacity: .75; padding: 1px 8px 1px 0; }
.loopdbg-stepper td { text-align: left; border: 0; border-top: 1px solid var(--faint); padding: 2px 8px 2px 0;
  vertical-align: top; }
.loopdbg-stepper td svg { width: 90px; height: 18px; display: block; }
.loopdbg-stepper .new { color: var(--warm); }
.loopdbg-stepper .cond { border-left: 3px solid var(--faint); padding-left: 8px; margin-bottom: 8px; }
.loopdbg-stepper .cond.yes { border-color: #2a9d5c; } .loopdbg-stepper .cond.no { border-color: var(--bad); }
.loopdbg-stepper .curve { fill: none; stroke: var(--accent); stroke-width: 1.4; vector-effect: non-scaling-stroke; }
.loopdbg-stepper .now { stroke: var(--warm); stroke-width: 1.4; vector-effect: non-scaling-stroke; }
.loopdbg-stepper .error { color: var(--bad); min-height: 0; white-space: pre-wrap; }
.loopdbg-stepper .output { white-space: pre-wrap; max-height: 150px; overflow: auto; margin: 4px 0; }
.loopdbg-stepper .ask { width: 100%; color: inherit; background: var(--soft); border: 1px solid var(--faint);
  border-radius: 4px; padding: 2px 6px; }
.loopdbg-stepper .tip { position: absolute; z-index: 5; max-width: 90%; max-height: 200px; overflow: hidden;
  white-space: pre-wrap; overflow-wrap: anywhere; padding: 4px 8px; border: 1px solid var(--accent); border-radius: 4px;
  background: Canvas; color: CanvasText; pointer-events: none; }
`;

// Command, label, keys as on loopdbg's screen, and summary.
const BUTTONS = [
  ["reverse-continue", "⇤ reverse", ["C"], "back to the last stop of a breakpoint"],
  ["back", "◀ back", ["S", "ArrowLeft", "Backspace"], "back by an iteration"],
  ["back-node", "‹ node", ["N"], "back by a node"],
  ["next", "node ›", ["n"], "one node of the body"],
  ["step", "step ▶", ["s", "ArrowRight"], "one iteration"],
  ["into", "into", ["i"], "one node, but into it where it is a loop"],
  ["finish", "finish", ["f", "o"], "to the end of this loop"],
  ["continue", "continue ⇥", ["c"], "on to the next breakpoint, or the end"],
  ["restart", "restart", ["r"], "back to before iteration 0 of the first loop"],
];
const BACK = new Set(["reverse-continue", "back", "back-node", "restart"]);
const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; strings become text, never markup. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function svgElement(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A curve over `end` iterations, with gaps for non-finite numbers; `now`: position of the marker. */
function curve(numbers, end, now) {
  const finite = numbers.filter((entry) => entry !== null);
  const svg = svgElement("svg", { viewBox: "0 0 100 30", preserveAspectRatio: "none", role: "img" });
  if (finite.length > 1) {
    const low = Math.min(...finite), high = Math.max(...finite);
    const place = (k, entry) =>
      `${((100 * k) / Math.max(1, end)).toFixed(2)} ${(27 - (high > low ? (24 * (entry - low)) / (high - low) : 12)).toFixed(2)}`;
    let path = "", pen = "M";
    numbers.forEach((entry, k) => {
      if (entry === null) pen = "M";
      else { path += `${pen}${place(k, entry)}`; pen = "L"; }
    });
    svg.append(svgElement("path", { class: "curve", d: path }));
  }
  if (now !== null) {
    const x = (100 * now) / Math.max(1, end);
    svg.append(svgElement("line", { class: "now", x1: x, x2: x, y1: 0, y2: 30 }));
  }
  return svg;
}

function table(head, rows) {
  if (!rows.length) return "";
  const cells = (kind, row) => make("tr", {}, ...row.map((entry) => make(kind, {}, entry)));
  return make("table", {}, make("thead", {}, cells("th", head)), make("tbody", {}, ...rows.map((row) => cells("td", row))));
}

class Page {
  constructor(model, el) {
    this.model = model;
    this.number = 0;
    this.root = make("div", {
      class: "loopdbg-stepper", tabindex: "0", role: "group", "aria-label": "loop debugger",
      // Disable JupyterLab's shortcuts while the widget has the focus.
      "data-lm-suppress-shortcuts": "true", onkeydown: (event) => this.key(event),
    });
    this.parts = {};
    for (const [name, tag] of [["head", "div"], ["bar", "div"], ["time", "div"], ["error", "div"], ["cols", "div"], ["output", "div"]]) {
      this.parts[name] = make(tag, { class: name });
    }
    this.parts.error.setAttribute("role", "alert");
    this.tip = make("div", { class: "tip", hidden: true, role: "tooltip" });
    this.ask = make("input", {
      class: "ask", placeholder: "a command: print x, break if err < 1e-3, set x = 3, help", "aria-label": "command",
      onkeydown: (event) => this.typed(event),
    });
    const all = Object.values(this.parts);
    this.root.append(make("style", {}, STYLE), ...all, this.ask, this.tip);
    el.append(this.root);
    this.draw();
    this.drawState();
  }

  // -- requests

  send(request) {
    this.number += 1;
    this.model.set("request", { ...request, number: this.number });
    this.model.save_changes();
  }

  command(line, typed = false) {
    this.hideTip();
    this.send({ line, typed });
  }

  key(event) {
    if (event.target === this.ask || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.type === "range" && event.key.startsWith("Arrow")) return;
    const stop = event.key === " " && event.target.tagName !== "BUTTON";
    const button = BUTTONS.find(([, , keys]) => keys.includes(event.key));
    if (!stop && !button) return;
    event.preventDefault();
    event.stopPropagation();
    if (stop) this.send({ stop: true });
    else if (this.able(button[0])) this.command(button[0]);
  }

  typed(event) {
    event.stopPropagation();
    const line = this.ask.value.trim();
    if (event.key !== "Enter" || !line) return;
    this.ask.value = "";
    this.command(line, true);
  }

  able(command) {
    const running = this.model.get("state").running;
    return !running && (BACK.has(command) || !this.model.get("view").done);
  }

  // -- drawing

  draw() {
    const view = this.model.get("view");
    this.parts.head.replaceChildren(
      make("span", { class: "dim" }, view.model),
      make("span", { class: "stop", "aria-live": "polite" }, view.stop),
    );
    this.drawTime(view);
    const code = this.drawCode(view);
    this.parts.cols.replaceChildren(code, this.drawSide(view));
    this.drawArc(code);
    const next = code.querySelector(".next");
    if (next) code.scrollTop = Math.max(0, next.offsetTop - code.clientHeight / 2);
    this.drawBar();
  }

  drawBar() {
    const focused = this.parts.bar.contains(document.activeElement) || this.parts.bar.contains(this.root.getRootNode().activeElement)
      ? this.root.getRootNode().activeElement?.dataset?.command : null;
    const buttons = BUTTONS.map(([command, sign, keys, summary]) =>
      make("button", {
        "data-command": command, "aria-label": `${command}: ${summary}`, title: `${command}: ${summary} (${keys.join(", ")})`,
        type: "button", class: command === "step" ? "main" : "", disabled: !this.able(command),
        onclick: () => this.command(command),
      }, sign));
    buttons.push(make("button", {
      "data-command": "stop", "aria-label": "stop: interrupt what runs", title: "stop: interrupt what runs (space)", type: "button",
      disabled: !this.model.get("state").running, onclick: () => this.send({ stop: true }),
    }, "stop"));
    this.parts.bar.replaceChildren(...buttons);
    if (focused) buttons.find((entry) => entry.dataset.command === focused && !entry.disabled)?.focus();
  }

  drawState() {
    const state = this.model.get("state");
    this.parts.error.replaceChildren(state.error || (state.running ? `running … ${state.progress}` : ""));
    this.parts.error.classList.toggle("error", Boolean(state.error));
    this.parts.output.replaceChildren(state.output.join("\n"));
    this.parts.output.hidden = !state.output.length;
    this.parts.output.scrollTop = this.parts.output.scrollHeight;
    this.root.toggleAttribute("aria-busy", state.running);
    this.drawBar();
  }

  drawTime(view) {
    const time = view.timeline;
    if (time.now === null) {
      this.parts.time.replaceChildren();
      return;
    }
    const shown = view.carried.find((entry) => entry.history.length > 1);
    const slider = make("input", {
      type: "range", min: "0", max: String(time.end), value: String(time.now), "aria-label": "iteration",
      title: "go to an iteration", onchange: (event) => this.command(`goto ${event.target.value}`),
    });
    const label = make("span", { class: "dim" }, `iteration ${time.now}${time.limit === null ? "" : ` of ${time.limit}`}`);
    const parts = [slider, label];
    if (shown) {
      const reached = Math.max(1, shown.history.length - 1);
      const svg = curve(shown.history, (reached * time.end) / Math.max(1, time.last), time.now * (reached / Math.max(1, time.last)));
      parts.unshift(svg, make("span", { class: "dim" }, shown.param));
    }
    if (time.branches.length > 1) {
      parts.push(make("div", { class: "branches" }, ...time.branches.map((entry) =>
        make("button", {
          type: "button", class: entry.current ? "main" : "", disabled: entry.current, title: `branch ${entry.number}, to iteration ${entry.last}`,
          onclick: () => this.command(`branch ${entry.number}`),
        }, `${entry.number}${entry.edits.length ? `: ${entry.edits.join(", ")}` : ""}`))));
    }
    this.parts.time.replaceChildren(...parts);
  }

  drawCode(view) {
    const code = make("div", { class: "code", role: "list", "aria-label": "pseudo-code", onmouseleave: () => this.hideTip() });
    for (const line of view.lines) {
      const kinds = ["line", line.sign === "▶" || line.sign === "✗" ? "next" : "", line.kind === "back edge" && line.own ? "edge" : ""];
      const row = make("div", {
        class: kinds.filter(Boolean).join(" "), role: "listitem", "data-line": String(line.number),
        ...(line.loop ? { "data-head": "" } : {}), onmouseenter: (event) => this.hover(event, line),
      },
        make("span", { class: line.sign === "●" ? "sign break" : "sign" }, line.sign),
        make("span", { class: "number", title: "set or clear a breakpoint", onclick: () => this.toggle(line, view) }, String(line.number)),
        make("span", { class: "text" }, "    ".repeat(line.indent) + line.text,
          make("span", { class: "comment" }, line.comment ? `  # ${line.comment}` : "")),
        make("span", { class: "value" }, line.value));
      code.append(row);
    }
    return code;
  }

  /** An arrow from the last back edge of this loop to its head. */
  drawArc(code) {
    const head = code.querySelector("[data-head]"), edges = code.querySelectorAll(".edge");
    if (!head || !edges.length) return;
    const middle = (row) => row.offsetTop + row.offsetHeight / 2;
    const top = middle(head), bottom = middle(edges[edges.length - 1]);
    code.append(svgElement("svg", { class: "arc", height: bottom + 10 },
      svgElement("path", { d: `M14 ${bottom}H6Q2 ${bottom} 2 ${bottom - 4}V${top + 4}Q2 ${top} 6 ${top}H14M10 ${top - 4}L14 ${top}L10 ${top + 4}` })));
  }

  drawSide(view) {
    const [previous, next] = view.whose;
    const carried = table([`back edge`, previous, next, ""], view.carried.map((entry) => [
      make("span", { title: `${entry.param} ← ${entry.result}: ${entry.type}` }, `${entry.param} ← ${entry.result}`),
      entry.previous, make("span", { class: entry.ready ? "new" : "dim" }, entry.value),
      entry.history.length > 1 ? curve(entry.history, entry.history.length - 1, null) : "",
    ]));
    const condition = view.condition;
    const kind = condition.value === null ? "" : condition.value ? " yes" : " no";
    const reason = condition.why ? make("div", { class: `cond${kind}`, title: condition.whole },
      make("div", {}, condition.why), make("div", { class: "dim" }, condition.limit)) : "";
    const scans = table(["scan output", "so far", "last", ""], view.scans.map((entry) => [
      make("span", { title: entry.type }, entry.name), entry.type, entry.last,
      entry.history.length > 1 ? curve(entry.history, entry.history.length - 1, null) : "",
    ]));
    const outputs = table(["output", "type", "value"], view.outputs.map((entry) => [entry.name, entry.type, entry.value]));
    const points = table(["breakpoint", "hits"], view.breakpoints.map((entry) => [
      make("span", { class: entry.enabled ? "" : "dim" }, `${entry.word} ${entry.number}: ${entry.title}`), String(entry.hits),
    ]));
    return make("div", { class: "side" }, make("div", { class: "dim" }, view.where), reason, carried, scans, outputs, points);
  }

  toggle(line, view) {
    const existing = view.breakpoints.find((entry) => entry.title === `line ${line.number}`);
    this.command(existing ? `delete ${existing.number}` : `break line ${line.number}`);
  }

  // -- hover

  hover(event, line) {
    clearTimeout(this.waiting);
    this.hideTip();
    if (!line.value) return;
    this.row = event.currentTarget;
    this.waiting = setTimeout(() => this.send({ hover: line.number }), 150);
  }

  drawTip() {
    const answer = this.model.get("answer");
    if (!answer.text || !this.row || this.row.dataset.line !== String(answer.line)) return;
    this.tip.replaceChildren(answer.text);
    const row = this.row.getBoundingClientRect(), root = this.root.getBoundingClientRect();
    this.tip.style.left = "40px";
    this.tip.style.top = `${row.bottom - root.top + 3}px`;
    this.tip.hidden = false;
  }

  hideTip() {
    clearTimeout(this.waiting);
    this.tip.hidden = true;
    this.row = null;
  }
}

export default {
  render({ model, el }) {
    const page = new Page(model, el);
    const listeners = [["change:view", () => page.draw()], ["change:state", () => page.drawState()], ["change:answer", () => page.drawTip()]];
    for (const [name, listen] of listeners) model.on(name, listen);
    return () => listeners.forEach(([name, listen]) => model.off(name, listen));
  },
};
