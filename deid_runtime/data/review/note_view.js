// Shows a note with its spans and translates between the browser's positions and code points.
// Text reaches the page only as text nodes, so nothing in a note is ever run or loaded.

export class NoteView {
  constructor(element) {
    this.element = element;
    this.pieces = []; // {node, start, end} in code points, in order
    this.units = null; // code point -> UTF-16 unit, null when they are the same
    this.text = "";
    this.length = 0;
  }

  setText(text) {
    this.text = text;
    this.units = null;
    this.length = text.length;
    if (/[\ud800-\udbff][\udc00-\udfff]/.test(text)) {
      const units = [];
      for (let at = 0; at < text.length; at += text.codePointAt(at) > 0xffff ? 2 : 1) units.push(at);
      units.push(text.length);
      this.units = Uint32Array.from(units);
      this.length = units.length - 1;
    }
    this.words = [];
    for (const match of text.matchAll(/[\p{L}\p{N}\p{M}]+|[^\s\p{L}\p{N}\p{M}]/gu)) {
      this.words.push([this.codePoint(match.index), this.codePoint(match.index + match[0].length)]);
    }
  }

  unit(codePoint) {
    return this.units ? this.units[codePoint] : codePoint;
  }

  codePoint(unit) {
    if (!this.units) return unit;
    let low = 0;
    let high = this.units.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.units[middle] <= unit) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  slice(start, end) {
    return this.text.slice(this.unit(start), this.unit(end));
  }

  // spans: sorted, disjoint; describe(span, index) returns {classes, label, title}.
  draw(spans, describe) {
    this.pieces = [];
    const content = document.createDocumentFragment();
    let read = 0;
    spans.forEach((span, index) => {
      if (span.start > read) content.append(this.piece(read, span.start));
      const mark = document.createElement("mark");
      const said = describe(span, index);
      mark.className = said.classes;
      mark.dataset.label = said.label;
      mark.dataset.index = String(index);
      mark.title = said.title;
      mark.append(this.piece(span.start, span.end));
      content.append(mark);
      read = span.end;
    });
    if (read < this.length) content.append(this.piece(read, this.length));
    this.element.replaceChildren(content);
  }

  piece(start, end) {
    const node = document.createTextNode(this.slice(start, end));
    this.pieces.push({ node, start, end });
    return node;
  }

  mark(index) {
    return this.element.querySelector(`mark[data-index="${index}"]`);
  }

  // The selected code points, without white space at the ends, or null.
  selection() {
    const chosen = document.getSelection();
    if (!chosen.rangeCount) return null;
    const range = chosen.getRangeAt(0);
    let start = this.position(range.startContainer, range.startOffset);
    let end = this.position(range.endContainer, range.endOffset);
    if (start === null || end === null) return null;
    while (start < end && /\s/u.test(this.slice(start, start + 1))) start += 1;
    while (end > start && /\s/u.test(this.slice(end - 1, end))) end -= 1;
    return start < end ? { start, end } : null;
  }

  position(container, offset) {
    if (container.nodeType === Node.TEXT_NODE) {
      const found = this.pieces.find((piece) => piece.node === container);
      if (!found) return null;
      return this.codePoint(this.unit(found.start) + offset);
    }
    if (!this.element.contains(container)) return null;
    const child = container.childNodes[offset];
    if (!child) return container === this.element ? this.length : null;
    const inside = this.pieces.find((piece) => child === piece.node || child.contains(piece.node));
    return inside ? inside.start : null;
  }

  select(start, end) {
    const from = this.place(start, false);
    const to = this.place(end, true);
    if (!from || !to) return;
    document.getSelection().setBaseAndExtent(from.node, from.offset, to.node, to.offset);
    from.node.parentElement.scrollIntoView({ block: "nearest" });
    const box = document.getSelection().getRangeAt(0).getBoundingClientRect();
    const frame = this.element.getBoundingClientRect();
    if (box.top < frame.top || box.bottom > frame.bottom) {
      this.element.scrollTop += box.top - frame.top - frame.height / 3;
    }
  }

  place(codePoint, isEnd) {
    const found = this.pieces.find((piece) =>
      isEnd ? piece.start < codePoint && codePoint <= piece.end : piece.start <= codePoint && codePoint < piece.end,
    );
    return found && { node: found.node, offset: this.unit(codePoint) - this.unit(found.start) };
  }

  // The index of the first word that ends behind a code point.
  wordAt(codePoint) {
    let low = 0;
    let high = this.words.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.words[middle][1] > codePoint) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

export async function ask(path, method = "GET", body = undefined) {
  const answer = await fetch(path, {
    method,
    headers: body === undefined ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const told = await answer.json().catch(() => ({ error: `status ${answer.status}` }));
  if (!answer.ok) throw Object.assign(new Error(told.error || `status ${answer.status}`), { status: answer.status });
  return told;
}
