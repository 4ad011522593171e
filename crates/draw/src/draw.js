"use strict";
// Gives the SVG of a spec, as text, and what Vega-Lite and Vega had to say about it.
async (text) => {
  // Who drags and clicks is listened to elsewhere.
  globalThis.window ??= { addEventListener() {}, removeEventListener() {} };
  // Room for labels is measured with the font that PNG files are drawn with.
  vega.textMetrics.width = (item, words) => advance(String(words ?? "")) * (item.fontSize ?? 11);
  const config = {
    background: "white",
    font: "Roboto, 'Liberation Sans', 'DejaVu Sans', Helvetica, Arial, sans-serif",
    axis: { labelFontSize: 11, titleFontSize: 12, titleFontWeight: 500, labelOverlap: true },
    legend: { labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500, labelLimit: 220, orient: "top", columns: 5, symbolStrokeWidth: 2, symbolSize: 80 },
    header: { labelFontSize: 12, labelFontWeight: 600 },
  };
  const note = (...words) => { warnings.push(words.map(String).join(" ")); return logger; };
  const logger = { level: () => logger, error: note, warn: note, info: () => logger, debug: () => logger };
  warnings.length = 0;
  const spec = vegaLite.compile(JSON.parse(text), { config, logger }).spec;
  const view = new vega.View(vega.parse(spec), { renderer: "none", logger });
  const svg = await view.toSVG();
  view.finalize();
  return JSON.stringify({ svg, warnings });
}
