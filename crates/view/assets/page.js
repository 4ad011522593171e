"use strict";
(() => {
  const root = document.documentElement;
  const ink = "currentColor";
  let figures = [];
  // Pixels between panels side by side.
  const GAP = 26;
  const plotOf = (figure) => document.querySelector(`#${figure.id} .plot`);

  // Lines and letters take the colour of the text around them, so light, dark and print need no second drawing.
  const config = (room, width) => ({
    background: null,
    aria: false,
    font: "system-ui, 'Liberation Sans', 'DejaVu Sans', sans-serif",
    view: { stroke: ink, strokeOpacity: 0.25 },
    axis: {
      labelColor: ink, titleColor: ink, domainColor: ink, tickColor: ink, gridColor: ink,
      domainOpacity: 0.6, tickOpacity: 0.6, gridOpacity: 0.12, labelFontSize: 12, titleFontSize: 12,
      titleFontWeight: 500, labelOverlap: "greedy", labelSeparation: 8,
    },
    axisX: { labelFlush: false, tickCount: Math.max(2, Math.round(width / 80)) },
    axisY: { labelLimit: Math.max(90, Math.round(room * 0.38)) },
    legend: {
      labelColor: ink, titleColor: ink, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500,
      orient: "top", symbolStrokeWidth: 2, symbolSize: 80,
    },
    header: { labelColor: ink, titleColor: ink, labelFontSize: 12, labelFontWeight: 600 },
    facet: { spacing: 26 },
    title: { color: ink },
    rule: { color: ink },
    text: { color: ink },
  });

  const values = (figure) =>
    figure.rows.map((row) => Object.fromEntries(row.map((cell, place) => [figure.columns[place], cell])));

  // Every object in a spec, the spec itself among them.
  function* objects(value) {
    if (value === null || typeof value !== "object") return;
    yield value;
    for (const inner of Object.values(value)) yield* objects(inner);
  }

  // The width of a text in the font of figures, about.
  const textWidth = (text) => 7 * String(text).length;

  // The spec for a box that is so many pixels wide: panels in as many columns as have room, names in legends in as many
  // as their lengths allow, no dragging where a finger scrolls the page.
  function fitted(figure, room) {
    const spec = structuredClone(figure.spec);
    const touch = matchMedia("(pointer: coarse)").matches;
    const legends = new Map();
    for (const part of objects(spec)) {
      if (touch && Array.isArray(part.params)) part.params = part.params.filter((param) => param.name !== "zoom");
      if (part.axis?.labelLimit) part.axis.labelLimit = Math.min(part.axis.labelLimit, Math.round(room * 0.45));
      if (!part.legend || !part.scale?.domain) continue;
      const entry = (42 + (part.legend.labelOffset ?? 0)) + Math.min(220, Math.max(...part.scale.domain.map(textWidth)));
      part.legend.columns = Math.max(1, Math.floor((room - 30) / entry));
      legends.set(part.field, entry * Math.min(part.legend.columns, part.scale.domain.length));
      part.legend.labelLimit = Math.min(220, room - 60);
    }
    // Legends that have no room beside each other stand one above the other.
    const stacked = [...legends.values()].reduce((sum, width) => sum + width, 0) > room - 30;
    const layout = { top: { direction: stacked ? "vertical" : "horizontal", anchor: "start", margin: 24 } };
    spec.config = { legend: { layout } };
    if (spec.hconcat) return beside(spec, room);
    if (!spec.facet) return { ...spec, width: room - 60 };
    spec.columns = Math.max(1, Math.min(spec.columns, spec.facet.sort.length, Math.floor(room / 270)));
    const width = Math.floor((room - GAP * (spec.columns - 1)) / spec.columns) - 60;
    spec.facet.header.labelLimit = width + 40;
    return { ...spec, spec: { ...spec.spec, width }, spacing: { row: 22, column: GAP } };
  }

  // Parts beside each other where there is room, and below each other, each with its labels, where there is not.
  function beside({ hconcat: parts, ...spec }, room) {
    const columns = room < 600 ? 1 : parts.length;
    const limit = Math.round(room * 0.3);
    const labels = Math.min(limit, Math.max(...parts[0].encoding.y.sort.map(textWidth))) + 20;
    const width = Math.floor((room - labels) / columns) - 50;
    const sized = parts.map((part, place) => {
      const axis = columns === 1 || place === 0 ? { labelLimit: limit } : part.encoding.y.axis;
      return { ...part, width, encoding: { ...part.encoding, y: { ...part.encoding.y, axis } } };
    });
    return { ...spec, columns, concat: sized, spacing: { row: 22, column: 12 } };
  }

  async function embed(figure, plot) {
    const room = plot.clientWidth;
    const spec = { ...fitted(figure, room), data: { values: values(figure) } };
    let [width, signal] = spec.facet ? [spec.spec.width, "child_width"] : [spec.width, "width"];
    figure.view?.finalize();
    const { view } = await vegaEmbed(plot, spec, {
      mode: "vega-lite", renderer: "svg", ast: true, actions: false,
      config: config(room, width ?? spec.concat[0].width),
    });
    // How wide the labels beside the panels are is known once they are drawn, and may change with the width.
    for (let tries = 0; !spec.concat && tries < 3; tries++) {
      const over = plot.querySelector("svg").getBoundingClientRect().width - room;
      if (over <= 0 && over > -4) break;
      width = Math.floor(width - over / (spec.columns ?? 1));
      await view.signal(signal, width).resize().runAsync();
    }
    figure.view = view;
    figure.room = room;
  }

  async function draw(figure) {
    const plot = plotOf(figure);
    try {
      await embed(figure, plot);
      reachable(plot);
      (window.views ??= {})[figure.id] = figure.view;
      return true;
    } catch (error) {
      plot.textContent = `This figure could not be drawn: ${error?.message ?? error}. Its data can still be downloaded.`;
      plot.classList.add("failed");
      console.error(figure.id, error);
      return false;
    }
  }

  // The box around a drawing says what is in it, so its marks are silent. Names in a legend that can be picked out are
  // buttons for the keyboard and for screen readers.
  function reachable(plot) {
    plot.setAttribute("role", "group");
    for (const mark of plot.querySelectorAll("svg [role]")) {
      for (const key of ["role", "aria-roledescription", "aria-label"]) mark.removeAttribute(key);
    }
    for (const name of plot.querySelectorAll(".role-legend-label[class*=_legend_labels] text")) {
      for (let at = name; at !== plot; at = at.parentElement) at.removeAttribute("aria-hidden");
      for (const [key, value] of [["role", "button"], ["tabindex", "0"], ["aria-label", `Pick out ${name.textContent}`]]) {
        name.setAttribute(key, value);
      }
      name.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        const box = name.getBoundingClientRect();
        const where = { bubbles: true, view: window, clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 };
        for (const kind of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"]) {
          name.dispatchEvent(new (kind.startsWith("p") ? PointerEvent : MouseEvent)(kind, where));
        }
      });
    }
  }

  const cell = (value) => {
    const text = value === null ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };

  function csv(figure) {
    const lines = [figure.columns, ...figure.rows].map((row) => row.map(cell).join(","));
    return `${lines.join("\r\n")}\r\n`;
  }

  function save(name, address) {
    const link = document.createElement("a");
    link.href = address;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  const file = (text, type) => URL.createObjectURL(new Blob([text], { type }));
  // XML has no place for most control characters, which names may contain.
  const xml = (text) => text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "\ufffd");
  const savers = {
    csv: (figure) => file(csv(figure), "text/csv;charset=utf-8"),
    svg: async (figure) => file(xml(await figure.view.toSVG()), "image/svg+xml;charset=utf-8"),
    png: (figure) => figure.view.toImageURL("png", 2),
  };
  function offer(figure) {
    for (const [kind, address] of Object.entries(savers)) {
      document.querySelector(`#${figure.id} button.${kind}`).addEventListener("click", async () =>
        save(`${figure.id}.${kind}`, await address(figure)));
    }
  }
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  // A table that is wider than its box says so.
  const watch = new ResizeObserver((boxes) => {
    for (const { target } of boxes) {
      target.classList.toggle("wider", target.scrollWidth > target.clientWidth + 1);
      const edge = target.getBoundingClientRect().right;
      const more = [...target.querySelectorAll("th")].filter((it) => it.getBoundingClientRect().right > edge + 1).length;
      target.dataset.more = `${more} more column${more === 1 ? "" : "s"}: scroll sideways \u2192`;
    }
  });
  document.querySelectorAll(".scroll").forEach((box) => watch.observe(box));

  // On paper everything is unfolded but licences.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details.setup:not([open])")];
    folded.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((part) => { part.open = false; }));

  // Data and libraries stand in the page as gzip in base 64.
  async function unpack(element) {
    const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  // The policy of the page knows the digests of the libraries, so they run as inline scripts.
  async function install(library) {
    const text = await unpack(library);
    const map = text.lastIndexOf("//# sourceMappingURL=");
    const script = document.createElement("script");
    script.textContent = (map < 0 ? text : text.slice(0, map)).trimEnd();
    document.head.append(script);
  }

  async function drawAll() {
    let drawn = 0;
    for (const figure of figures) {
      drawn += await draw(figure);
      // The page answers between figures.
      await new Promise((next) => setTimeout(next));
    }
    root.dataset.drawn = `${drawn}/${figures.length}`;
    root.dataset.ms = Math.round(performance.now());
  }

  async function start() {
    try {
      for (const library of document.querySelectorAll(".library")) await install(library);
      figures = JSON.parse(await unpack(document.getElementById("data")));
    } catch (error) {
      const text = "This browser cannot unpack the data and the scripts of the figures.";
      document.querySelectorAll(".plot").forEach((plot) => { plot.textContent = text; });
      throw error;
    }
    figures.forEach(offer);
    await drawAll();
    // A page that becomes wider or narrower is drawn anew, but not for print, where drawings are scaled.
    let waiting;
    addEventListener("resize", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        const moved = (figure) => Math.abs(plotOf(figure).clientWidth - figure.room) > 2;
        if (!matchMedia("print").matches && figures.some(moved)) drawAll();
      }, 200);
    });
  }
  if (document.getElementById("data")) start();
})();
