// Browsers do not start workers for pages that are opened from a folder. The search of this site is a worker, so there
// it runs in a hidden frame instead, which takes and sends the same messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      this.inside = frame.contentWindow
      this.inside.document.open()
      this.inside.document.write("<!doctype html><html><head></head><body></body></html>")
      this.inside.document.close()
      this.inside.iframeWorker = this.inside
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      const run = source =>
        new Promise((resolve, reject) => {
          const script = this.inside.document.createElement("script")
          script.src = source
          script.onload = resolve
          script.onerror = reject
          this.inside.document.body.appendChild(script)
        })
      this.inside.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => run(source)), Promise.resolve())
      this.ready = run(url)
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
}
