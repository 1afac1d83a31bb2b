// The demo page: one note, what was found and why, and the de-identified text beside it.
import { NoteView, ask } from "./note_view.js";

const byId = (id) => document.getElementById(id);
const note = new NoteView(byId("note"));
const released = new NoteView(byId("released"));

const HEADS = {
  name: ["PATIENT", "DOCTOR", "USERNAME"],
  location: ["STREET", "CITY", "STATE", "COUNTRY", "ZIP", "LOCATION-OTHER"],
  organization: ["HOSPITAL", "ORGANIZATION"],
  age: ["AGE"],
};
// What a source is, in words of someone who sees the program for the first time.
const SOURCES = [
  [/^template/, "a template of a whole sentence"],
  [/^pattern:weak/, "the form of the text, with the help of others"],
  [/^pattern/, "the form of the text"],
  [/^record/, "the patient's record"],
  [/^model:(.*)/, "the model for this kind ($1)"],
  [/^rule:people/, "lists of names and words beside them"],
  [/^propagation/, "the same name elsewhere in the note"],
];
const EXAMPLE = `Discharge summary
Patient: Rosalind Achterberg   MRN: 4471902   DOB: 03/14/1951
Mrs. Achterberg is a 73-year-old woman who was admitted on 11/02/2024 with chest pain.
Her daughter Imke was reached at (617) 555-0142. Creatinine 2.1, SpO2 94% on 2 L.
She will see Dr. Okonkwo-Reyes at Larkfield Family Clinic in two weeks.
`;

function headOf(label) {
  return Object.keys(HEADS).find((head) => HEADS[head].includes(label)) ?? "identifier";
}

function inWords(source) {
  for (const [form, words] of SOURCES) if (form.test(source)) return source.replace(form, words).replace(/:[^)]*$/, "");
  return source;
}

async function go() {
  const text = byId("text").value;
  byId("message").textContent = "Working…";
  try {
    const told = await ask("/api/deidentify", "POST", { text });
    if (told.held_back) {
      byId("message").textContent = `This note would be held back, not released. ${told.held_back}`;
      byId("results").hidden = byId("reasons").hidden = true;
      return;
    }
    show(text, told);
    byId("message").textContent = `${told.spans.length} identifiers found and replaced.`;
  } catch (error) {
    byId("message").textContent = error.message;
  }
}

function show(text, told) {
  note.setText(text);
  released.setText(told.released);
  const describe = (span) => ({
    classes: `head-${headOf(span.label)}`, label: span.label, title: span.sources.map(inWords).join(", "),
  });
  note.draw(told.spans, describe);
  const places = told.spans.map((span) => ({ ...span, start: span.released[0], end: span.released[1] }));
  released.draw(places.filter((place) => place.start < place.end), describe);
  byId("rows").replaceChildren(
    ...told.spans.map((span, index) => {
      const row = document.createElement("tr");
      const cells = [
        note.slice(span.start, span.end), span.label, String(span.score),
        [...new Set(span.sources.map(inWords))].join(", "), released.slice(places[index].start, places[index].end),
      ];
      for (const cell of cells) row.insertCell().textContent = cell;
      return row;
    }),
  );
  byId("results").hidden = byId("reasons").hidden = false;
}

byId("go").addEventListener("click", go);
byId("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.ctrlKey) go();
});
byId("example").addEventListener("click", () => {
  byId("text").value = EXAMPLE;
  go();
});
byId("dark").addEventListener("click", () => {
  const isDark = document.documentElement.classList.toggle("dark");
  byId("dark").setAttribute("aria-pressed", String(isDark));
});
if (matchMedia("(prefers-color-scheme: dark)").matches) byId("dark").click();
byId("text").focus();
