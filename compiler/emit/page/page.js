"use strict";
{
  const AXIS = 30, TITLE = 34, ROUNDS = 22, ROW = 26, BAR = 20, THIN = 6, GAP = 8, LEAST = 20, MOST_TOLD = 6;
  const ON_PATH = 1, CHANGED = 2;
  const FONT = '12px ui-sans-serif, system-ui, "Segoe UI", sans-serif', BOLD = FONT.replace("12px", "600 12px");
  const COLOURS = ["band", "line", "ink", "soft", "on-accent", "accent", "changed", "phase", "collective", "link", "replay", "load", "record", "wait", "host", "idle"];
  const UNITS = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];

  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("picture").textContent);
  const stage = byId("stage"), canvas = byId("canvas"), tip = byId("tip"), context = canvas.getContext("2d");
  const end = Math.max(data.end, 1);

  // What the data says, as rows from top to bottom.

  function barOf([start, end, name, kind, flags, number, ...pairs], row, group, lane) {
    const facts = [];
    for (let at = 0; at < pairs.length; at += 2) facts.push([data.texts[pairs[at]], data.texts[pairs[at + 1]]]);
    return { start, end, name: data.texts[name], kind: data.texts[kind], flags, number, facts, row, group, lane };
  }

  const rows = [];
  let height = 0;
  function row(height_, what) {
    const made = { top: height, height: height_, bars: [], ...what };
    height += height_;
    rows.push(made);
    return made;
  }
  function fill(row, bars, group, lane) {
    row.bars = bars.map((bar) => barOf(bar, row, group, lane));
  }
  const groups = data.groups.map((told) => {
    const group = { name: data.texts[told.name], byNumber: new Map(), into: new Map(), outOf: new Map(), path: [] };
    group.rounds = told.rounds.map(([name, start, end]) => ({ name: data.texts[name], start, end }));
    group.first = row(TITLE, { title: group.name });
    if (group.rounds.length) row(ROUNDS, { rounds: group.rounds });
    if (told.path.length) {
      const path = row(ROW + 4, { label: "critical path" });
      fill(path, told.path, group, "critical path");
      group.path = path.bars;
    }
    for (const [name, stacked] of told.lanes)
      stacked.forEach((bars, depth) => fill(row(ROW, { label: depth ? "" : data.texts[name] }), bars, group, data.texts[name]));
    group.last = row(GAP, {});
    for (const row of rows)
      for (const bar of row.bars)
        if (bar.group === group && bar.number >= 0 && row.bars !== group.path) group.byNumber.set(bar.number, bar);
    for (const [source, target, held] of told.arrows) {
      const arrow = { source: group.byNumber.get(source), target: group.byNumber.get(target), held };
      if (!arrow.source || !arrow.target) continue;
      for (const [ends, number] of [[group.outOf, source], [group.into, target]])
        ends.has(number) ? ends.get(number).push(arrow) : ends.set(number, [arrow]);
    }
    return group;
  });
  const path = groups.flatMap((group) => group.path);

  // What is seen: from when to when, how far down, and what is chosen.

  let from = 0, to = end, top = 0, width = 0, seen = 0, gutter = 0, colours = {};
  let over = null, kept = null, wanted = "", asked = false;

  const x = (time) => gutter + ((time - from) / (to - from)) * (width - gutter);
  const time = (x) => from + ((x - gutter) / Math.max(width - gutter, 1)) * (to - from);

  function look(first, span) {
    span = Math.min(Math.max(span, LEAST), end * 1.02);
    from = Math.min(Math.max(first, -0.01 * end), 1.01 * end - span);
    to = from + span;
    draw();
  }
  const zoom = (by, at = (from + to) / 2) => look(at - (at - from) * by, (to - from) * by);
  const move = (by) => look(from + by * (to - from), to - from);
  const all = () => look(-0.01 * end, 1.02 * end);
  function down(by) {
    top = Math.max(0, Math.min(top + by, height - seen + AXIS));
    draw();
  }
  function lastRound() {
    const round = groups.flatMap((group) => group.rounds.slice(-1))[0];
    if (round) look(round.start - 0.03 * (round.end - round.start), 1.06 * (round.end - round.start));
  }
  function walk(by) {
    if (!path.length) return;
    const here = kept ? path.findIndex((bar) => same(bar, kept)) : -1;
    const first = Math.max(0, path.findIndex((bar) => bar.start >= from));
    keep(path[Math.max(0, Math.min(path.length - 1, here < 0 ? first : here + by))]);
  }
  function nextFound() {
    const own = (bar) => (bar.group.byNumber.get(bar.number) ?? bar) === bar;
    const found = rows.flatMap((row) => row.bars).filter((bar) => wanted && isWanted(bar) && own(bar)).sort((one, other) => one.start - other.start);
    if (found.length) keep(found[(found.indexOf(kept) + 1) % found.length]);
  }
  function keep(bar) {
    kept = bar;
    if (bar.start < from || bar.end > to) look((bar.start + bar.end) / 2 - (to - from) / 2, to - from);
    if (!isSeen(bar)) down(bar.row.top - top - ROW);
    byId("said").textContent = [bar.name, exact(bar.start), "for " + exact(bar.end - bar.start)].join(", ");
    draw();
  }
  const isWanted = (bar) => bar.name.toLowerCase().includes(wanted);
  const isSeen = ({ row, start, end }) => end >= from && start <= to && row.top >= top && row.top + row.height <= top + seen - AXIS;
  const same = (one, other) =>
    one === other || (one.number >= 0 && one.number === other.number && one.group === other.group && overlap(one, other));
  const overlap = (one, other) => one.start < other.end && other.start < one.end;

  // Times in words: `exact` to the nanosecond.

  const exact = (ns) => (ns / 1000).toLocaleString("en", { maximumFractionDigits: 3 }) + " us";
  function step(least) {
    const ten = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
    return [1, 2, 5, 10].map((by) => by * ten).find((each) => each >= least);
  }

  // Drawing: only what is seen, and of bars narrower than a pixel one a pixel.

  function draw() {
    if (!asked) requestAnimationFrame(paint);
    asked = true;
  }
  function resize() {
    width = stage.clientWidth;
    seen = Math.max(120, Math.min(AXIS + height, Math.round(innerHeight * 0.72)));
    const scale = devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(seen * scale);
    canvas.style.height = seen + "px";
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.font = FONT;
    const widest = Math.max(0, ...rows.map((row) => (row.label ? context.measureText(row.label).width : 0)));
    gutter = Math.min(widest + 28, width * 0.3);
    down(0);
  }
  function recolour() {
    const style = getComputedStyle(document.documentElement);
    colours = Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
    draw();
  }

  function paint() {
    asked = false;
    context.clearRect(0, 0, width, seen);
    context.textBaseline = "middle";
    const ticks = axis();
    context.save();
    context.beginPath();
    context.rect(0, AXIS, width, seen - AXIS);
    context.clip();
    context.translate(0, AXIS - top);
    for (const group of groups) bands(group);
    context.fillStyle = colours.line;
    for (const tick of ticks) context.fillRect(Math.round(x(tick)), 0, 0.5, height);
    for (const row of rows) if (row.top + row.height > top && row.top < top + seen) paintRow(row);
    paintArrows();
    context.restore();
    if (height + AXIS > seen) {
      const share = (seen - AXIS) / height;
      context.fillStyle = colours.line;
      context.fillRect(width - 5, AXIS + top * share, 3, (seen - AXIS) * share);
    }
    tell();
  }

  function axis() {
    const each = step(((to - from) * 100) / Math.max(width - gutter, 1));
    const [unit, size] = UNITS.find(([, size]) => to >= size) ?? UNITS[3];
    const digits = Math.max(0, Math.ceil(Math.log10(size / each) - 1e-9));
    const found = [];
    context.font = FONT;
    context.fillStyle = colours.soft;
    context.textAlign = "left";
    for (let at = Math.max(0, Math.ceil(from / each) * each); at <= Math.min(to, end * 1.02); at += each) {
      found.push(at);
      if (x(at) >= gutter - 1) {
        const told = (at / size).toFixed(digits) + " " + unit;
        if (x(at) + 4 + context.measureText(told).width < width) context.fillText(told, x(at) + 4, AXIS / 2);
        context.fillRect(Math.round(x(at)), AXIS / 2 - 6, 0.5, AXIS / 2 + 6);
      }
    }
    context.fillRect(0, AXIS - 0.5, width, 0.5);
    context.fillStyle = colours.accent;
    const whole = width - gutter;
    if (to - from < end) context.fillRect(gutter + (from / end) * whole, AXIS - 2, Math.max(3, ((to - from) / end) * whole), 2);
    return found;
  }

  function bands(group) {
    const first = group.first.top + TITLE, last = group.last.top;
    group.rounds.forEach((round, number) => {
      const left = Math.max(x(round.start), gutter), right = Math.min(x(round.end), width);
      if (right <= left) return;
      context.fillStyle = colours.band;
      if (number % 2 === 0) context.fillRect(left, first, right - left, last - first);
    });
  }

  function paintRow(row) {
    const middle = row.top + row.height / 2;
    context.textAlign = "left";
    if (row.title !== undefined) {
      context.font = BOLD;
      context.fillStyle = colours.ink;
      context.fillText(fitted(row.title, width - 24), 12, middle + 3);
      return;
    }
    for (const round of row.rounds ?? []) {
      const left = Math.max(x(round.start), gutter), right = Math.min(x(round.end), width);
      if (right - left < 30) continue;
      context.font = FONT;
      context.fillStyle = colours.soft;
      context.textAlign = "center";
      const told = `${round.name} · ${exact(round.end - round.start)}`;
      context.fillText(fitted(context.measureText(told).width < right - left - 8 ? told : round.name, right - left - 8), (left + right) / 2, middle);
      context.fillRect(Math.round(right), row.top + 4, 0.5, row.height - 8);
    }
    context.save();
    context.beginPath();
    context.rect(gutter, row.top, width - gutter, row.height);
    context.clip();
    let drawn = -1, fill = "";
    for (let at = firstSeen(row.bars); at < row.bars.length && row.bars[at].start <= to; at++) {
      const bar = row.bars[at], left = x(bar.start), right = Math.max(x(bar.end), left + 1);
      const colour = bar.flags & ON_PATH ? colours.accent : colours[bar.kind];
      const found = wanted && isWanted(bar);
      if (right - left <= 1 && Math.floor(left) === drawn && colour === fill && !found) continue;
      drawn = Math.floor(right);
      fill = colour;
      paintBar(bar, Math.max(left, -10), Math.min(right, width + 10), middle, colour, found);
    }
    context.restore();
    if (row.label) {
      context.font = FONT;
      context.fillStyle = colours.ink;
      context.textAlign = "right";
      context.fillText(fitted(row.label, gutter - 20), gutter - 12, middle);
    }
  }

  function paintBar(bar, left, right, middle, colour, found) {
    const room = right - left, inset = room > 3 ? 0.5 : 0;
    const high = bar.kind === "wait" && !(bar.flags & ON_PATH) ? THIN : BAR;
    context.globalAlpha = wanted && !found ? 0.25 : 1;
    const chosen = (over && same(bar, over)) || (kept && same(bar, kept)), outlined = chosen || bar.flags & CHANGED;
    context.fillStyle = colour;
    if (room > 3 || outlined) {
      context.beginPath();
      context.roundRect(left + inset, middle - high / 2, room - 2 * inset, high, Math.min(4, room / 3));
      context.fill();
    } else context.fillRect(left, middle - high / 2, room, high);
    if (outlined) {
      context.strokeStyle = chosen ? colours.ink : colours.changed;
      context.lineWidth = chosen ? 2 : 1.5;
      context.setLineDash(chosen ? [] : [4, 3]);
      context.stroke();
      context.setLineDash([]);
    }
    const shown = Math.max(left, gutter), space = Math.min(right, width) - shown - 10;
    if (space > 14 && high === BAR) {
      context.font = FONT;
      context.textAlign = "left";
      context.fillStyle = bar.flags & ON_PATH ? colours["on-accent"] : colours.ink;
      context.fillText(fitted(bar.name, space), shown + 5, middle + 0.5);
    }
    context.globalAlpha = 1;
  }

  function fitted(text, room) {
    if (context.measureText(text).width <= room) return text;
    const letters = [...text.slice(0, 400)];
    let least = 0, most = letters.length;
    while (least < most) {
      const half = (least + most + 1) >> 1;
      if (context.measureText(letters.slice(0, half).join("") + "…").width <= room) least = half;
      else most = half - 1;
    }
    return least ? letters.slice(0, least).join("") + "…" : "";
  }

  function firstSeen(bars) {
    let least = 0, most = bars.length;
    while (least < most) {
      const half = (least + most) >> 1;
      if (bars[half].end < from) least = half + 1;
      else most = half;
    }
    return least;
  }

  function paintArrows() {
    context.save();
    context.beginPath();
    context.rect(gutter, top, width - gutter, seen);
    context.clip();
    if (byId("arrows").checked)
      for (const group of groups) for (const arrows of group.into.values()) for (const arrow of arrows) paintArrow(arrow, 0.5);
    for (const one of new Set([over, kept]))
      if (one) for (const ends of [one.group.into, one.group.outOf]) for (const arrow of ends.get(one.number) ?? []) paintArrow(arrow, 1);
    context.restore();
  }
  function paintArrow({ source, target, held }, alpha) {
    const left = x(source.end), right = x(target.start);
    const [first, last] = [source.row.top, target.row.top].sort((one, other) => one - other);
    if (right < gutter || left > width || last + ROW < top || first > top + seen) return;
    const turn = target.row.top > source.row.top ? 1 : -1, bend = Math.max(0, Math.min(60, (right - left) / 2));
    const edge = (row, side) => row.top + row.height / 2 + (side * BAR) / 2;
    const high = edge(source.row, turn), low = edge(target.row, -turn);
    context.globalAlpha = alpha;
    context.strokeStyle = context.fillStyle = colours.ink;
    context.lineWidth = held ? 1.75 : 1;
    context.setLineDash(held ? [] : [3, 3]);
    context.beginPath();
    context.moveTo(left, high);
    context.bezierCurveTo(left + bend, high, right - bend, low, right, low);
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    context.moveTo(right, low);
    context.lineTo(right - 4, low - 6 * turn);
    context.lineTo(right + 4, low - 6 * turn);
    context.fill();
    context.globalAlpha = 1;
  }

  // What is under the pointer, told.

  let pointer = null;
  function found(px, py) {
    if (px < gutter || py < AXIS) return null;
    const y = py - AXIS + top, row = rows.find((row) => y >= row.top && y < row.top + row.height);
    const near = (2 * (to - from)) / Math.max(width - gutter, 1), at = time(px);
    return row?.bars.find((bar) => bar.start <= at && at < bar.end) ?? row?.bars.find((bar) => bar.start - near <= at && at <= bar.end + near) ?? null;
  }
  function tell() {
    const bar = over ?? kept;
    tip.hidden = !bar || !(over || isSeen(bar));
    if (tip.hidden) return;
    const list = document.createElement("dl");
    const say = (term, text) => {
      for (const [tag, said] of [["dt", term], ["dd", text]]) {
        const made = document.createElement(tag);
        made.textContent = said;
        list.append(made);
      }
    };
    say("on", bar.group.byNumber.get(bar.number)?.lane ?? bar.lane);
    say("is", bar.kind);
    say("start", exact(bar.start));
    say("takes", exact(bar.end - bar.start));
    for (const [term, text] of bar.facts) say(term, text);
    const into = [...(bar.group.into.get(bar.number) ?? [])].sort((one, other) => other.held - one.held);
    for (const { source, held } of into.slice(0, MOST_TOLD)) say(held ? "held up by" : "waits for", `${source.name} on ${source.lane}`);
    if (into.length > MOST_TOLD) say("", `and for ${into.length - MOST_TOLD} more`);
    if (bar.flags & CHANGED) say("changed", "yes");
    const name = document.createElement("b");
    name.textContent = bar.name || "idle";
    tip.replaceChildren(name, list);
    const box = canvas.getBoundingClientRect();
    const at = over && pointer ? pointer : [x(Math.max(bar.start, from)) + 8, bar.row.top + AXIS - top + bar.row.height];
    const place = (at, size, room) => Math.max(8, Math.min(at + 14, room - size - 8)) + "px";
    tip.style.left = place(box.left + at[0], tip.offsetWidth, innerWidth);
    tip.style.top = place(box.top + at[1], tip.offsetHeight, innerHeight);
  }

  // The hand on the mouse, the keys and the buttons.

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    canvas.setPointerCapture(event.pointerId);
    drag = { x: event.offsetX, y: event.offsetY, from, top, moved: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    pointer = [event.offsetX, event.offsetY];
    if (drag) {
      const [dx, dy] = [event.offsetX - drag.x, event.offsetY - drag.y];
      drag.moved ||= Math.abs(dx) + Math.abs(dy) > 4;
      if (!drag.moved) return;
      canvas.classList.add("dragged");
      over = null;
      down(drag.top - dy - top);
      look(drag.from - (dx * (to - from)) / Math.max(width - gutter, 1), to - from);
    } else {
      over = found(...pointer);
      draw();
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) kept = found(event.offsetX, event.offsetY);
    drag = null;
    canvas.classList.remove("dragged");
    draw();
  });
  for (const gone of ["pointerleave", "pointercancel"])
    canvas.addEventListener(gone, () => {
      over = drag = null;
      draw();
    });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1, [dx, dy] = [event.deltaX * lines, event.deltaY * lines];
    if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) move((dx || dy) / Math.max(width - gutter, 1));
    else zoom(Math.exp(dy * 0.0015), time(Math.max(event.offsetX, gutter)));
  }, { passive: false });

  const keys = {
    ArrowLeft: () => move(-0.1), ArrowRight: () => move(0.1), ArrowUp: () => down(-ROW), ArrowDown: () => down(ROW),
    "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1 / 0.7), 0: all, Home: all,
    r: lastRound, n: () => walk(1), p: () => walk(-1),
    Escape: () => { kept = null; draw(); },
  };
  canvas.addEventListener("keydown", (event) => {
    const key = keys[event.key];
    if (!key || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    key();
  });
  for (const [id, does] of [["in", keys["+"]], ["out", keys["-"]], ["fit", all], ["round", lastRound], ["after", keys.n], ["before", keys.p]])
    byId(id).addEventListener("click", does);
  byId("arrows").addEventListener("change", draw);
  byId("find").addEventListener("input", (event) => {
    wanted = event.target.value.trim().toLowerCase();
    draw();
  });
  byId("find").addEventListener("keydown", (event) => {
    if (event.key === "Enter") nextFound();
  });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  byId("scheme").addEventListener("click", () => {
    const root = document.documentElement, now = root.dataset.scheme ?? (dark.matches ? "dark" : "light");
    root.dataset.scheme = now === "dark" ? "light" : "dark";
    recolour();
  });
  dark.addEventListener("change", recolour);
  addEventListener("scroll", draw, { passive: true });
  new ResizeObserver(resize).observe(stage);
  addEventListener("resize", resize);
  recolour();
  resize();
  all();
}
