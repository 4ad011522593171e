"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const ink = "currentColor";
  // Lines and letters take the colour of the text around them, so light, dark and print need no second drawing.
  const config = {
    background: null,
    font: "system-ui, 'Liberation Sans', 'DejaVu Sans', sans-serif",
    view: { stroke: ink, strokeOpacity: 0.25 },
    axis: {
      labelColor: ink, titleColor: ink, domainColor: ink, tickColor: ink, gridColor: ink,
      domainOpacity: 0.6, tickOpacity: 0.6, gridOpacity: 0.12, labelFontSize: 11, titleFontSize: 12,
      titleFontWeight: 500, labelOverlap: true,
    },
    legend: { labelColor: ink, titleColor: ink, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500, labelLimit: 220, orient: "top", columns: 5, symbolStrokeWidth: 2, symbolSize: 80 },
    header: { labelColor: ink, titleColor: ink, labelFontSize: 12, labelFontWeight: 600 },
    title: { color: ink },
    rule: { color: ink },
    text: { color: ink },
  };

  const values = (figure) =>
    figure.rows.map((row) => Object.fromEntries(row.map((cell, place) => [figure.columns[place], cell])));

  async function draw(figure) {
    const plot = document.querySelector(`#${figure.id} .plot`);
    try {
      const spec = { ...figure.spec, data: { values: values(figure) } };
      const result = await vegaEmbed(plot, spec, {
        mode: "vega-lite", renderer: "svg", ast: true, config, downloadFileName: figure.id,
        actions: { export: true, source: false, compiled: false, editor: false },
      });
      (window.views ??= {})[figure.id] = result.view;
      return true;
    } catch (error) {
      plot.textContent = `This figure could not be drawn: ${error?.message ?? error}. Its data can still be downloaded.`;
      plot.classList.add("failed");
      console.error(figure.id, error);
      return false;
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

  function save(name, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  for (const figure of figures) {
    document.querySelector(`#${figure.id} button.csv`).addEventListener("click", () => save(`${figure.id}.csv`, csv(figure)));
  }
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  (async () => {
    let drawn = 0;
    for (const figure of figures) {
      drawn += await draw(figure);
      // The page answers between figures.
      await new Promise((next) => setTimeout(next));
    }
    root.dataset.drawn = `${drawn}/${figures.length}`;
    root.dataset.ms = Math.round(performance.now());
  })();
})();
