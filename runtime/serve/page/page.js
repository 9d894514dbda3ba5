"use strict";
{
  const ROW = 30, BAR = 20, THIN = 6, AXIS = 26, GAP = 8, KEPT = 240, AGAIN = 2000, LONGEST = 1 << 22;
  const FONT = '12px ui-sans-serif, system-ui, "Segoe UI", sans-serif';
  const COLOURS = ["band", "line", "ink", "soft", "accent", "phase", "replay", "load", "wait", "host"];
  const KINDS = { capture: "replay", load: "load", wait: "wait" };
  const TOLD = { capture: "a graph's launch", load: "a load or a copy", wait: "a wait", phase: "a phase" };

  const byId = (id) => document.getElementById(id);
  const stage = byId("stage"), canvas = byId("timeline"), tip = byId("tip");
  const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");

  let colours = {}, seen = null, held = false, pointer = null, drawn = [], asked = false;
  const past = [];

  // What the server tells, as it tells it: an event is all there is to show.

  async function watch() {
    const token = sessionStorage.getItem("token");
    const answer = await fetch("/rounds", { headers: token ? { Authorization: `Bearer ${token}` } : {} });
    byId("asks").hidden = answer.status !== 401;
    if (answer.status === 401) {
      sessionStorage.removeItem("token");
      status("bad", token ? "that is not the server's token" : "it has a token: give it to watch");
      byId("token").focus();
      return false;
    }
    if (!answer.ok) throw new Error((await answer.json()).error.message);
    let text = "";
    for (const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) throw new Error("the server has ended");
      text += value;
      if (text.length > LONGEST) throw new Error("the server sends what is no event");
      const events = text.split("\n\n");
      text = events.pop();
      const newest = events.filter((event) => event.startsWith("data: ")).at(-1);
      if (newest) take(JSON.parse(newest.slice(6)));
    }
  }

  async function watchOn() {
    for (;;) {
      try {
        if (!(await watch())) return;
      } catch (error) {
        status("bad", `${error.message}; trying again`);
      }
      await new Promise((done) => setTimeout(done, AGAIN));
    }
  }

  function status(kind, words) {
    byId("status").className = kind;
    byId("status").textContent = words;
  }

  function take(told) {
    byId("model").textContent = told.model;
    byId("schedule").textContent = [told.schedule, told.settings, told.route].filter(Boolean).join(" · ");
    if (told.failure) status("bad", `the engine has failed: ${told.failure}`);
    else if (!told.ready) status("bad", "it takes no requests: it starts, or ends");
    else status("good", told.live ? "rounds are running" : "ready, no requests");
    for (const name of ["tokens_a_second", "rounds_a_second", "waiting", "faults"]) say(name, told[name].toLocaleString("en"));
    say("mean_accepted", told.mean_accepted?.toFixed(2));
    say("exposed", share(told.exposed));
    say("live", `${told.live} of ${told.rows}`);
    let rows = 0, live = 0;
    for (const [bucket, rounds, taken] of told.buckets) (rows += bucket * rounds), (live += taken);
    say("padding", share(rows ? 1 - live / rows : null));
    past.push([told.tokens_a_second, told.mean_accepted]);
    past.splice(0, past.length - KEPT);
    const all = told.accepted.reduce((one, other) => one + other, 0);
    fill("accepted", told.accepted.map((times, length) => [length, all && times / all, times.toLocaleString("en"), share(times / all)]));
    fill("buckets", told.buckets.map(([bucket, rounds, taken]) => [bucket, taken / (bucket * rounds), rounds.toLocaleString("en"), share(taken / (bucket * rounds))]));
    if (!held) show(told);
    draw();
  }

  const share = (part) => (part === null || Number.isNaN(part) ? undefined : `${(100 * part).toFixed(0)} %`);
  const say = (id, words) => (byId(id).textContent = words ?? "–");

  function show({ timeline, buckets }) {
    seen = timeline;
    if (!seen) return say("shown", buckets.length ? "the server keeps no times of phases: it runs with --no-trace" : "no round yet: send a request");
    const { rounds, left_out } = seen;
    const numbers = rounds.length > 1 ? `rounds ${rounds[0][0]} to ${rounds.at(-1)[0]}` : `round ${rounds[0][0]}`;
    const [, bucket, live, tokens] = rounds.at(-1);
    say("shown", `${numbers}; the newest has ${live} of ${bucket} rows, and gave ${tokens} tokens` + (left_out ? `; ${left_out} bars left out` : ""));
  }

  function fill(id, rows) {
    const body = byId(id).tBodies[0];
    while (body.rows.length > rows.length) body.deleteRow(-1);
    rows.forEach(([name, part, count, told], number) => {
      const row = body.rows[number] ?? body.insertRow();
      while (row.cells.length < 3) row.insertCell();
      const [first, second, third] = row.cells;
      first.textContent = name;
      third.textContent = count;
      third.className = "number";
      if (!second.firstChild) {
        second.append(document.createElement("div"));
        second.firstChild.className = "bar";
        second.firstChild.append(document.createElement("i"));
      }
      second.firstChild.firstChild.style.width = `${100 * part}%`;
      second.title = told ?? "";
    });
  }

  // Drawing, once a frame at most.

  function draw() {
    if (!asked) requestAnimationFrame(paint);
    asked = true;
  }

  function sized(canvas, height) {
    const width = canvas.parentElement.clientWidth, scale = devicePixelRatio || 1;
    const pixels = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== pixels[0]) canvas.width = pixels[0];
    if (canvas.height !== pixels[1]) canvas.height = pixels[1];
    canvas.style.height = height + "px";
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = FONT;
    context.textBaseline = "middle";
    return [context, width];
  }

  function paint() {
    asked = false;
    paintTimeline();
    paintTrend("speed", past.map(([speed]) => speed), 0);
    paintTrend("mean", past.map(([, mean]) => mean), 2);
    tell();
  }

  function paintTimeline() {
    const lanes = seen?.lanes ?? [], height = AXIS + Math.max(3, lanes.length) * ROW + GAP;
    const [context, width] = sized(canvas, height);
    drawn = [];
    if (!seen) return;
    const widest = Math.max(...lanes.map(([name]) => context.measureText(name).width));
    const gutter = Math.min(widest + 24, width * 0.28), room = width - gutter - 8, end = Math.max(seen.end, 1);
    const x = (time) => gutter + (time / end) * room;
    bands(context, lanes, x, height);
    axis(context, x, end, room);
    lanes.forEach(([name, bars], number) => {
      const middle = AXIS + number * ROW + ROW / 2;
      context.textAlign = "right";
      context.fillStyle = colours.ink;
      context.fillText(fitted(context, name, gutter - 16), gutter - 10, middle);
      for (const bar of bars) paintBar(context, bar, name, x(bar[0]), Math.max(x(bar[1]), x(bar[0]) + 1), middle);
    });
  }

  function paintBar(context, [start, end, name, kind, round], lane, left, right, middle) {
    const high = kind === "wait" ? THIN : BAR, space = right - left;
    context.fillStyle = colours[KINDS[kind] ?? (lane === "host" ? "host" : "phase")];
    context.beginPath();
    context.roundRect(left, middle - high / 2, space, high, Math.min(4, space / 3));
    context.fill();
    if (space > 24 && high === BAR && kind !== "capture") {
      context.textAlign = "left";
      context.fillStyle = colours.ink;
      context.fillText(fitted(context, name, space - 10), left + 5, middle + 0.5);
    }
    drawn.push({ left, right, top: middle - ROW / 2, bottom: middle + ROW / 2, name, kind, round, lane, takes: end - start });
  }

  function bands(context, lanes, x, height) {
    const spans = new Map();
    for (const [name, bars] of lanes)
      for (const [start, end, , kind, round] of bars) {
        if (kind === "wait" || name === "host") continue;
        const [first, last] = spans.get(round) ?? [start, end];
        spans.set(round, [Math.min(first, start), Math.max(last, end)]);
      }
    for (const [round, [start, end]] of spans) {
      if (round % 2) continue;
      context.fillStyle = colours.band;
      context.fillRect(x(start), AXIS, x(end) - x(start), height - AXIS);
    }
  }

  function axis(context, x, end, room) {
    const least = (end * 90) / Math.max(room, 1), ten = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
    const each = [1, 2, 5, 10].map((by) => by * ten).find((each) => each >= least);
    context.textAlign = "left";
    for (let at = 0; at <= end; at += each) {
      const told = exact(at), left = Math.round(x(at));
      context.fillStyle = colours.soft;
      if (left + 4 + context.measureText(told).width < x(end) + 8) context.fillText(told, left + 4, AXIS / 2);
      context.fillStyle = colours.line;
      context.fillRect(left, AXIS / 2 - 6, 0.5, canvas.clientHeight);
    }
  }

  function paintTrend(id, values, digits) {
    const canvas = byId(id), [context, width] = sized(canvas, 112);
    const known = values.filter((value) => value !== null), most = Math.max(...known, digits ? 1 : 0) * 1.15 || 1;
    const x = (number) => 4 + ((KEPT - values.length + number) / (KEPT - 1)) * (width - 8), y = (value) => 106 - (value / most) * 96;
    context.fillStyle = colours.line;
    context.fillRect(0, 106, width, 0.5);
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.lineJoin = "round";
    context.beginPath();
    values.forEach((value, number) => {
      if (value === null) return;
      const before = number && values[number - 1] !== null;
      before ? context.lineTo(x(number), y(value)) : context.moveTo(x(number), y(value));
    });
    context.stroke();
    if (!known.length) return;
    context.fillStyle = colours.soft;
    context.textAlign = "left";
    context.fillText(`max ${Math.max(...known).toLocaleString("en", { maximumFractionDigits: digits })}`, 4, 10);
  }

  function fitted(context, text, room) {
    if (context.measureText(text).width <= room) return text;
    const letters = [...text];
    let least = 0, most = letters.length;
    while (least < most) {
      const half = (least + most + 1) >> 1;
      if (context.measureText(letters.slice(0, half).join("") + "…").width <= room) least = half;
      else most = half - 1;
    }
    return least ? letters.slice(0, least).join("") + "…" : "";
  }

  const exact = (ns) => (ns >= 1e6 || ns === 0 ? `${+(ns / 1e6).toFixed(3)} ms` : `${+(ns / 1e3).toFixed(1)} us`);

  function tell() {
    const [px, py] = pointer ?? [-1, -1];
    // What lies above is drawn later, as a phase in its graph is.
    const bar = drawn.findLast(({ left, right, top, bottom }) => left - 1 <= px && px <= right + 1 && top <= py && py < bottom);
    tip.hidden = !bar;
    if (!bar) return;
    const list = document.createElement("dl");
    for (const [term, words] of [["on", bar.lane], ["is", TOLD[bar.kind] ?? bar.kind], ["round", bar.round], ["takes", exact(bar.takes)]])
      for (const [tag, said] of [["dt", term], ["dd", words]]) {
        const made = document.createElement(tag);
        made.textContent = said;
        list.append(made);
      }
    tip.querySelector("b").textContent = bar.name;
    tip.querySelector("dl").replaceWith(list);
    const box = canvas.getBoundingClientRect();
    const place = (at, size, room) => Math.max(8, Math.min(at + 14, room - size - 8)) + "px";
    tip.style.left = place(box.left + px, tip.offsetWidth, innerWidth);
    tip.style.top = place(box.top + py, tip.offsetHeight, innerHeight);
  }

  // The hand on the mouse and the buttons.

  canvas.addEventListener("pointermove", (event) => {
    pointer = [event.offsetX, event.offsetY];
    draw();
  });
  for (const gone of ["pointerleave", "pointercancel"])
    canvas.addEventListener(gone, () => {
      pointer = null;
      draw();
    });
  byId("hold").addEventListener("click", (event) => {
    held = !held;
    event.currentTarget.setAttribute("aria-pressed", held);
  });
  function enter() {
    const given = byId("token").value;
    byId("token").value = "";
    if (!/^[\x20-\x7e]+$/.test(given)) return status("bad", "a token is of letters, digits and signs of ASCII");
    sessionStorage.setItem("token", given);
    watchOn();
  }
  byId("asks").addEventListener("submit", (event) => {
    event.preventDefault();
    enter();
  });
  byId("scheme").addEventListener("click", () => {
    const now = root.dataset.scheme ?? (dark.matches ? "dark" : "light");
    root.dataset.scheme = now === "dark" ? "light" : "dark";
    recolour();
  });
  function recolour() {
    const style = getComputedStyle(root);
    colours = Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
    draw();
  }
  dark.addEventListener("change", recolour);
  new ResizeObserver(draw).observe(stage);
  recolour();
  watchOn();
}
