// The review page. The server holds all decisions; the page holds one note and the steps to undo.
import { NoteView, ask } from "./note_view.js";

const byId = (id) => document.getElementById(id);
const note = new NoteView(byId("note"));
const released = new NoteView(byId("released"));

let project = null;
let loaded = null; // the note as the server gave it
let spans = []; // {start, end, label}, sorted and disjoint
let current = -1; // index of the chosen span
let undo = []; // {spans, current} or {added}
let accepted = new Set(); // starts of accepted spans: keeps the place, is not saved
let rows = [];
let saving = Promise.resolve();
let choosing = null; // what a chosen label is for
let acting = Promise.resolve(); // the keys that are being carried out

// --- drawing ---------------------------------------------------------------------------------------------------------

function foundLike(span) {
  return loaded.found.find((each) => each.start === span.start && each.end === span.end);
}

function explain(span) {
  const found = foundLike(span);
  if (!found) return `${span.label}, marked by a person`;
  return `${span.label}, score ${found.score}, found by ${found.sources.join(", ") || "an unnamed source"}`;
}

function headOf(label) {
  return project.labels.find((each) => each.name === label)?.head ?? "identifier";
}

function draw() {
  note.draw(spans, (span, index) => ({
    classes: `head-${headOf(span.label)}${index === current ? " current" : ""}${accepted.has(span.start) ? " accepted" : ""}`,
    label: span.label,
    title: explain(span),
  }));
  if (!byId("released").hidden) drawReleased();
  tell();
  drawDifferences();
}

function drawReleased() {
  const places = loaded.found.filter((each) => each.released).map((each) => ({
    start: each.released[0], end: each.released[1], label: each.label, of: each,
  })).filter((each) => each.start < each.end);
  released.draw(places, (place) => ({
    classes: `head-${headOf(place.label)}${isCurrent(place.of) ? " current" : ""}`,
    label: place.label,
    title: `replaces ${place.label}`,
  }));
  released.places = places;
}

function isCurrent(found) {
  const span = spans[current];
  return Boolean(span) && span.start < found.end && found.start < span.end;
}

function tell() {
  const span = spans[current];
  byId("detail").textContent = span
    ? `Span ${current + 1} of ${spans.length}: ${explain(span)}.`
    : `${spans.length} spans; none chosen.`;
  byId("read").checked = loaded?.read_whole ?? false;
}

function tellProgress(counts) {
  byId("progress").textContent =
    `${counts.read.toLocaleString("en")} of ${counts.all.toLocaleString("en")} notes read` +
    (counts.empty ? `, ${counts.empty.toLocaleString("en")} of them with nothing marked` : "") +
    (counts.second ? `; ${counts.second.toLocaleString("en")} wait for a second reviewer` : "") +
    (counts.differ ? `; reviewers differ on ${counts.differ.toLocaleString("en")}` : "") +
    `. You are ${project.reviewer}.`;
}

function fail(error) {
  byId("message").textContent =
    error.status === 409 ? "Another window saved this note. Reload the page to see it; your last step is not saved."
      : `Not saved: ${error.message}`;
  byId("saved").textContent = "";
}

// --- the list --------------------------------------------------------------------------------------------------------

function filterQuery() {
  return new URLSearchParams({
    state: byId("state").value, label: byId("label").value, type: byId("type").value, order: byId("order").value,
  }).toString();
}

async function loadList(isMore = false) {
  const first = isMore ? rows.length : 0;
  const told = await ask(`/api/notes?first=${first}&${filterQuery()}`);
  rows = isMore ? rows.concat(told.rows) : told.rows;
  byId("more").hidden = !told.has_more;
  drawList();
}

const STATE_WORDS = { open: "not looked at", started: "started", read: "read", empty: "read, nothing marked" };

function drawList() {
  byId("list").replaceChildren(
    ...rows.map((row) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = `state-${row.state}`;
      button.append(row.id);
      const small = document.createElement("small");
      small.textContent = `${row.type ? `${row.type} · ` : ""}${STATE_WORDS[row.state]}${row.second ? " · two reviewers" : ""}`;
      button.append(small);
      if (loaded && row.number === loaded.number) button.setAttribute("aria-current", "true");
      button.addEventListener("click", () => {
        acting = acting.then(() => open(row.number)).catch(fail);
      });
      const item = document.createElement("li");
      item.append(button);
      return item;
    }),
  );
  byId("list").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}

// --- one note --------------------------------------------------------------------------------------------------------

async function open(number) {
  await saving;
  loaded = await ask(`/api/notes/${number}`);
  note.setText(loaded.text);
  released.setText(loaded.released);
  spans = loaded.spans;
  undo = [];
  accepted = new Set();
  current = spans.length ? 0 : -1;
  byId("title").textContent = loaded.type ? `${loaded.id} (${loaded.type})` : loaded.id;
  byId("message").textContent = "";
  byId("saved").textContent = "";
  history.replaceState(null, "", `#${number}`);
  draw();
  byId("note").scrollTop = 0;
  byId("note").focus({ preventScroll: true });
  showCurrent();
  drawList();
}

async function step(by) {
  if (!loaded) return;
  await saving;
  const told = await ask(`/api/notes/${loaded.number}/next?step=${by}&${filterQuery()}`);
  if (told.number !== null) await open(told.number);
  else byId("message").textContent = by > 0 ? "That was the last note of this list." : "This is the first note.";
}

function showCurrent() {
  note.mark(current)?.scrollIntoView({ block: "nearest" });
  if (!byId("released").hidden && released.places) {
    const index = released.places.findIndex((place) => isCurrent(place.of));
    if (index >= 0) released.mark(index)?.scrollIntoView({ block: "nearest" });
  }
}

function choose(index) {
  current = index;
  document.getSelection().removeAllRanges();
  draw();
  showCurrent();
}

// --- changes ---------------------------------------------------------------------------------------------------------

function change(newSpans, span) {
  undo.push({ spans, current });
  spans = newSpans.sort((left, right) => left.start - right.start);
  current = span ? spans.indexOf(span) : Math.min(current, spans.length - 1);
  draw();
  showCurrent();
  save();
}

function save() {
  const number = loaded.number;
  const body = { spans, read_whole: loaded.read_whole };
  byId("saved").textContent = "Saving…";
  saving = saving.then(async () => {
    try {
      const told = await ask(`/api/notes/${number}`, "PUT", { ...body, version: loaded.version });
      loaded.version = told.version;
      const row = rows.find((each) => each.number === number);
      if (row) row.state = body.read_whole ? (body.spans.length ? "read" : "empty") : "started";
      tellProgress(told.counts);
      byId("saved").textContent = "Saved.";
      drawList();
    } catch (error) {
      fail(error);
    }
  });
  return saving;
}

function resize(newStart, newEnd) {
  const span = spans[current];
  if (!span || newStart >= newEnd) return;
  const wider = { start: newStart, end: newEnd, label: span.label };
  const kept = spans.filter((each) => each === span || each.end <= newStart || newEnd <= each.start);
  change(kept.map((each) => (each === span ? wider : each)), wider);
}

function widen(side) {
  const span = spans[current];
  if (!span) return;
  if (side > 0) {
    const next = note.words.find((word) => word[0] >= span.end);
    if (next) resize(span.start, next[1]);
  } else {
    const before = note.words.findLast((word) => word[1] <= span.start);
    if (before) resize(before[0], span.end);
  }
}

function narrow(side) {
  const span = spans[current];
  if (!span) return;
  const inside = note.words.filter((word) => word[0] >= span.start && word[1] <= span.end);
  if (inside.length < 2) return;
  if (side > 0) resize(span.start, inside[inside.length - 2][1]);
  else resize(inside[1][0], span.end);
}

function remove() {
  const span = spans[current];
  if (span) change(spans.filter((each) => each !== span), null);
}

function put(start, end, label) {
  const added = { start, end, label };
  change([...spans.filter((each) => each.end <= start || end <= each.start), added], added);
}

async function takeBack() {
  const last = undo.pop();
  if (!last) return;
  if (last.added) {
    await saving;
    await ask("/api/unspread", "POST", { added: last.added });
    await reload(last.current);
    return;
  }
  spans = last.spans;
  current = last.current;
  draw();
  showCurrent();
  save();
}

async function reload(index) {
  const told = await ask(`/api/notes/${loaded.number}`);
  loaded = told;
  spans = told.spans;
  current = Math.min(index, spans.length - 1);
  draw();
}

async function spread() {
  const chosen = note.selection() ?? spans[current];
  if (!chosen) return;
  const label = chosen.label ?? spans[current]?.label;
  if (!label || note.selection()) {
    pickLabel({ ...chosen, everywhere: true });
    return;
  }
  await spreadAs(chosen, label);
}

async function spreadAs(chosen, label) {
  await saving;
  try {
    const told = await ask(`/api/notes/${loaded.number}/spread`, "POST", { start: chosen.start, end: chosen.end, label });
    undo.push({ added: told.added, current });
    await reload(current);
    const notes = new Set(told.added.map((place) => place[0])).size;
    byId("saved").textContent = `Marked ${told.added.length} more in ${notes} notes of this patient.`;
    loadList();
  } catch (error) {
    fail(error);
  }
}

async function tick() {
  loaded.read_whole = !loaded.read_whole;
  const isRead = loaded.read_whole;
  tell();
  await save();
  if (isRead && !byId("message").textContent) await step(1);
}

// --- differences between reviewers -----------------------------------------------------------------------------------

function differences() {
  const all = [];
  for (const [name, theirs] of Object.entries(loaded?.others ?? {})) {
    for (const span of theirs) {
      const same = all.find((each) => each.start === span.start && each.end === span.end && each.label === span.label);
      if (same) same.names.push(name);
      else all.push({ ...span, names: [name] });
    }
  }
  const readers = Object.keys(loaded?.others ?? {}).length;
  return all.filter((each) => each.names.length < readers).sort((left, right) => left.start - right.start);
}

function drawDifferences() {
  const list = byId("differences");
  const disputed = differences();
  list.hidden = !disputed.length;
  list.replaceChildren(
    ...disputed.map((each) => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      const isTaken = spans.some((span) => span.start === each.start && span.end === each.end && span.label === each.label);
      button.textContent = `${isTaken ? "taken" : "take"}: ${note.slice(each.start, each.end)} as ${each.label} (${each.names.join(", ")})`;
      button.addEventListener("click", () => put(each.start, each.end, each.label));
      item.append(button);
      return item;
    }),
  );
}

function takeDifference() {
  const open = differences().find(
    (each) => !spans.some((span) => span.start < each.end && each.start < span.end),
  );
  if (open) put(open.start, open.end, open.label);
}

// --- choosing a label ------------------------------------------------------------------------------------------------

function pickLabel(target) {
  choosing = target;
  byId("search").value = "";
  drawChoices();
  byId("choose").showModal();
  byId("search").focus();
}

function drawChoices() {
  const begin = byId("search").value.toUpperCase();
  const names = project.labels.map((each) => each.name).filter((name) => name.startsWith(begin));
  byId("choices").replaceChildren(
    ...names.map((name, index) => {
      const item = document.createElement("li");
      item.id = `choice-${name}`;
      item.role = "option";
      item.textContent = name;
      item.setAttribute("aria-selected", String(index === 0));
      item.addEventListener("click", () => taken(name));
      return item;
    }),
  );
  markChoice();
}

function markChoice() {
  const chosen = byId("choices").querySelector('[aria-selected="true"]');
  if (chosen) {
    byId("search").setAttribute("aria-activedescendant", chosen.id);
    chosen.scrollIntoView({ block: "nearest" });
  } else byId("search").removeAttribute("aria-activedescendant");
}

function moveChoice(by) {
  const items = [...byId("choices").children];
  const at = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
  const next = items[Math.max(0, Math.min(items.length - 1, at + by))];
  for (const item of items) item.setAttribute("aria-selected", String(item === next));
  markChoice();
}

function taken(label) {
  byId("choose").close();
  byId("note").focus({ preventScroll: true });
  const target = choosing;
  choosing = null;
  if (!label || !target) return;
  if (target.everywhere) spreadAs(target, label);
  else put(target.start, target.end, label);
}

byId("search").addEventListener("input", drawChoices);
byId("search").addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") moveChoice(1);
  else if (event.key === "ArrowUp") moveChoice(-1);
  else if (event.key === "Enter") taken(byId("choices").querySelector('[aria-selected="true"]')?.textContent);
  else return;
  event.preventDefault();
});

// --- words -----------------------------------------------------------------------------------------------------------

function moveWord(by, isLonger) {
  if (!note.words.length) return;
  const chosen = note.selection();
  const from = chosen ?? spans[current] ?? { start: 0, end: 0 };
  if (isLonger && chosen) {
    const first = note.wordAt(chosen.start);
    const last = Math.max(first, Math.min(note.words.length - 1, note.wordAt(chosen.end - 1) + by));
    note.select(note.words[first][0], note.words[last][1]);
    return;
  }
  const at = chosen || spans[current] ? note.wordAt(by > 0 ? from.end - 1 : from.start) + by : 0;
  const word = note.words[Math.max(0, Math.min(note.words.length - 1, at))];
  note.select(word[0], word[1]);
}

// --- keys ------------------------------------------------------------------------------------------------------------

const KEYS = {
  n: () => spans.length && choose(Math.min(spans.length - 1, current + 1)),
  p: () => spans.length && choose(Math.max(0, current - 1)),
  Enter: () => {
    if (!spans[current]) return;
    accepted.add(spans[current].start);
    choose(Math.min(spans.length - 1, current + 1));
  },
  l: () => spans[current] && pickLabel(spans[current]),
  w: () => widen(1),
  W: () => widen(-1),
  s: () => narrow(1),
  S: () => narrow(-1),
  x: remove,
  Delete: remove,
  a: () => {
    const chosen = note.selection();
    if (chosen) pickLabel(chosen);
    else byId("message").textContent = "Select the text first: arrow keys select words, Shift selects more.";
  },
  A: spread,
  d: takeDifference,
  u: takeBack,
  r: tick,
  j: () => step(1),
  k: () => step(-1),
  b: sideBySide,
  "?": () => byId("keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
  const target = event.target;
  if (target.closest("select, input[type=text], textarea")) return;
  const inNote = target === byId("note") || target === document.body;
  if (event.key === "Enter" && !inNote) return; // a button
  if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && inNote) {
    acting = acting.then(() => moveWord(event.key === "ArrowRight" ? 1 : -1, event.shiftKey));
    event.preventDefault();
    return;
  }
  const action = KEYS[event.key];
  if (!action || !loaded) return;
  event.preventDefault();
  // One after another: a key pressed while the next note is loaded must not change this one.
  acting = acting.then(() => {
    if (event.key !== "a") byId("message").textContent = "";
    return action();
  }).catch(fail);
});

byId("note").addEventListener("click", (event) => {
  const mark = event.target.closest("mark");
  if (mark && !note.selection()) choose(Number(mark.dataset.index));
});
for (const view of [note, released]) {
  view.element.addEventListener("mouseover", (event) => {
    const mark = event.target.closest("mark");
    if (!mark || byId("released").hidden) return;
    const found = view === note ? foundLike(spans[Number(mark.dataset.index)]) : view.places[Number(mark.dataset.index)]?.of;
    for (const other of document.querySelectorAll("mark.mapped")) other.classList.remove("mapped");
    if (!found) return;
    mark.classList.add("mapped");
    const index = view === note ? released.places.findIndex((place) => place.of === found)
      : spans.findIndex((span) => foundLike(span) === found);
    (view === note ? released : note).mark(index)?.classList.add("mapped");
  });
}

function sideBySide() {
  if (!project.has_released) return;
  const isShown = byId("released").hidden;
  byId("released").hidden = !isShown;
  byId("side").setAttribute("aria-pressed", String(isShown));
  if (loaded) draw();
}

byId("side").addEventListener("click", sideBySide);
byId("help").addEventListener("click", KEYS["?"]);
byId("read").addEventListener("change", () => loaded && tick().catch(fail));
byId("more").addEventListener("click", () => loadList(true).catch(fail));
byId("dark").addEventListener("click", () => {
  const isDark = document.documentElement.classList.toggle("dark");
  byId("dark").setAttribute("aria-pressed", String(isDark));
});
for (const id of ["state", "label", "type", "order"]) {
  byId(id).addEventListener("change", async () => {
    await loadList();
    if (rows.length && !rows.some((row) => row.number === loaded?.number)) await open(rows[0].number);
  });
}

// --- start -----------------------------------------------------------------------------------------------------------

async function start() {
  project = await ask("/api/project");
  for (const each of project.labels) byId("label").append(new Option(each.name, each.name));
  for (const each of project.types) byId("type").append(new Option(each, each));
  byId("side").hidden = !project.has_released;
  if (project.mode === "blind") {
    document.querySelector("h1").textContent = "Blind review: mark whatever identifies somebody";
    byId("state").querySelector('[value="second"]').remove();
  }
  if (matchMedia("(prefers-color-scheme: dark)").matches) byId("dark").click();
  if (project.adjudicates) byId("state").value = "differ";
  tellProgress(project.counts);
  await loadList();
  const asked = Number(location.hash.slice(1));
  if (asked > 0) await open(asked);
  else if (rows.length) await open(rows[0].number);
}

start().catch((error) => {
  byId("message").textContent = `The page cannot be loaded: ${error.message}`;
});
