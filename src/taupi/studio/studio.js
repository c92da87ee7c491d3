"use strict";
// Every change of a form asks the server what it means; every button sends the form and shows the part of the page that it gets.
(() => {
    const root = document.body.dataset.root;
    const form = document.getElementById("form");
    const at = (id) => document.getElementById(id);
    let asked = 0, tables = 0, waiting = 0, polling = 0, sending = 0;
    let last = Promise.resolve(), pressed = null, release = null;

    async function post(path) {
        const body = form ? new URLSearchParams(new FormData(form)) : new URLSearchParams();
        const answer = await fetch(root + path, { method: "POST", body });
        if (!answer.ok) throw new Error(answer.statusText);
        return new DOMParser().parseFromString(await answer.text(), "text/html");
    }

    // One request after the other: the server, and then the page, sees the state of the form that was sent last as the last one.
    function send(path, wanted = () => true) {
        sending += 1;
        const answer = last.then(() => wanted() ? post(path) : null);
        last = answer.catch(() => null).then(() => { sending -= 1; });
        return answer;
    }

    // Parts of the page stay while a button is pressed: else it could be another one when it is let go, and the click would be lost.
    document.addEventListener("pointerdown", (event) => {
        if (event.target.closest("button")) pressed ??= new Promise((resolve) => { release = resolve; });
    });
    for (const end of ["pointerup", "pointercancel", "blur"]) window.addEventListener(end, () => setTimeout(() => {
        release?.();
        pressed = release = null;
    }));

    const twin = (page, element) => {
        const mark = ["name", "data-post", "data-copy", "data-unit", "aria-label"].find((key) => element.getAttribute(key));
        return mark ? page.querySelector(`[${mark}="${CSS.escape(element.getAttribute(mark))}"]`) : null;
    };

    // What was typed or ticked since the server was asked is kept.
    function keep(old, fresh) {
        for (const control of old.querySelectorAll("[name]")) {
            const other = twin(fresh, control);
            if (other?.type === "checkbox") other.checked = control.checked;
            else if (other) other.value = control.value;
        }
    }

    async function put(page, ids) {
        await pressed;
        for (const id of ids) {
            const fresh = page.getElementById(id), old = at(id);
            if (!fresh || !old) continue;
            const focused = old.contains(document.activeElement) ? document.activeElement : null;
            const place = focused?.type === "text" ? [focused.selectionStart, focused.selectionEnd] : null;
            if (id === "live") keep(old, fresh);
            old.replaceWith(fresh);
            const next = focused && twin(fresh, focused);
            next?.focus();
            if (next && place) next.setSelectionRange(...place);
        }
    }

    function lost(error) {
        const gone = document.createElement("p");
        gone.className = "problem";
        gone.textContent = `The studio does not answer (${error.message}): what it printed may say why. Else start it again with ` +
            "taupi studio, and open the address that it prints.";
        at("job").replaceChildren(gone);
        at("job").dataset.state = "idle";
    }

    async function live() {
        const mine = ++asked;
        clearTimeout(waiting);
        waiting = 0;
        at("live").setAttribute("aria-busy", "true");
        try {
            const page = await send(`${form.dataset.form}/live`, () => mine === asked);
            if (page && mine === asked) await put(page, ["live"]);
        } catch (error) { lost(error); }
    }

    async function table() {
        const mine = ++tables;
        asked += 1;
        try {
            const page = await send("columns/table", () => mine === tables);
            if (page && mine === tables) await put(page, ["table", "live"]);
        } catch (error) { lost(error); }
    }

    function soon() {
        clearTimeout(waiting);
        waiting = setTimeout(live, 250);
    }

    async function poll() {
        clearTimeout(polling);
        if (at("job").dataset.state !== "running") return;
        try {
            const answer = await fetch(`${root}job`);
            if (!answer.ok) throw new Error(answer.statusText);
            await put(new DOMParser().parseFromString(await answer.text(), "text/html"), ["job"]);
            polling = setTimeout(poll, 500);
        } catch (error) { lost(error); }
    }

    // The table of columns: others of a kind follow the one that was changed.
    const cell = (row, name) => row.querySelector(`[name="${name}-${row.dataset.row}"]`);
    const rows = () => [...document.querySelectorAll("tr[data-row]")];

    function follow(row, signal, unit) {
        cell(row, "signal").value = row.dataset.before = signal;
        row.querySelectorAll(".of").forEach((part) => { part.hidden = signal === "" || signal === "time" || signal === "segment"; });
        row.querySelectorAll(".could").forEach((part) => { part.hidden = signal !== ""; });
        const list = cell(row, "unit");
        const known = document.querySelector(`template[data-units="${signal}"]`);
        list.replaceChildren(known.content.cloneNode(true));
        list.value = [...list.options].some((o) => o.value === unit) ? unit : "";
    }

    function assign(row) {
        const signal = cell(row, "signal").value, before = row.dataset.before;
        const kin = rows().filter((r) => r.dataset.family === row.dataset.family && (r === row || r.dataset.before === before));
        const taken = signal === "time" || signal === "segment" ? [row] : kin;
        taken.forEach((r, k) => {
            const joint = cell(r, "joint");
            if (joint && taken.length > 1 && taken.length <= joint.options.length) joint.value = String(k);
            follow(r, signal, cell(r, "unit").value);
        });
    }

    document.addEventListener("input", (event) => {
        if (form && form.contains(event.target) && !("table" in event.target.dataset) && event.target.tagName !== "SELECT") soon();
    });
    document.addEventListener("change", async (event) => {
        const control = event.target;
        if (!form || !form.contains(control)) return;
        if ("table" in control.dataset) {
            table();
            return;
        }
        const row = control.closest("tr[data-row]");
        if (row && control.name.startsWith("signal-")) assign(row);
        if (row && control.name.startsWith("unit-")) {
            const signal = cell(row, "signal").value;
            rows().filter((r) => r.dataset.family === row.dataset.family && cell(r, "signal").value === signal)
                .forEach((r) => { cell(r, "unit").value = control.value; });
        }
        soon();
    });
    document.addEventListener("submit", (event) => event.preventDefault());
    document.addEventListener("click", async (event) => {
        const button = event.target.closest("button");
        if (!button) return;
        if (button.dataset.copy) {
            const text = at(button.dataset.copy);
            try { await navigator.clipboard.writeText(text.textContent); } catch { getSelection().selectAllChildren(text); }
            button.textContent = "Copied";
            setTimeout(() => { button.textContent = "Copy"; }, 1500);
        } else if (button.dataset.take) {
            const row = button.closest("tr[data-row]"), list = cell(row, "signal");
            list.value = button.dataset.take;
            assign(row);
            list.focus();
            soon();
        } else if (button.dataset.unit) {
            const signal = button.dataset.signal;
            const taken = rows().filter((r) => cell(r, "signal").value === signal);
            taken.forEach((r) => { cell(r, "unit").value = button.dataset.unit; });
            if (taken.length) cell(taken[0], "unit").focus();
            live();
        } else if (button.dataset.post) {
            button.disabled = true;
            try {
                const ask = button.dataset.post === "cancel" ? post : send;  // what is to be ended is not waited for
                await put(await ask(button.dataset.post), [button.dataset.into]);
                if (button.dataset.into === "job") { at("job").scrollIntoView({ block: "nearest" }); poll(); }
            } catch (error) { lost(error); }
            button.disabled = false;
        }
    });
    // What was typed last reaches the server before another page of the studio is asked for.
    document.addEventListener("click", async (event) => {
        const link = event.target.closest("nav a");
        if (!link || !(waiting || sending) || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        if (waiting) live();
        await last;
        location.assign(link.href);
    });
    // What was typed or ticked before this ran.
    const changed = (c) => c.type === "checkbox" ? c.checked !== c.defaultChecked
        : c.tagName === "SELECT" ? c.selectedIndex !== Math.max(0, [...c.options].findIndex((o) => o.defaultSelected))
            : c.value !== c.defaultValue;
    const early = form ? [...form.querySelectorAll("input:not([type=hidden]), select, textarea")].filter(changed) : [];
    if (early.some((c) => "table" in c.dataset)) table();
    else if (early.length) live();
    poll();
})();
