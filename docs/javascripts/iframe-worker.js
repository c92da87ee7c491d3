// Browsers start no worker from file://, and the site's search is one. There, run its script in a hidden frame of this page.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.window = frame.contentWindow;
      // What a worker's script calls: an answer goes to the listeners of this object, further scripts are loaded in turn.
      this.window.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const load = (source) => new Promise((done, failed) => {
        const script = this.window.document.createElement("script");
        Object.assign(script, { src: source, onload: done, onerror: failed });
        this.window.document.body.appendChild(script);
      });
      this.window.importScripts = (...sources) => sources.reduce((before, s) => before.then(() => load(s)), Promise.resolve());
      this.ready = load(new URL(url, location.href).href);
    }
    postMessage(data) {
      this.ready.then(() => this.window.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
}
