"""How pages look: one column that fits a phone, dark text on white, little ink."""

from __future__ import annotations

PAGE_CSS = """\
:root { color-scheme: light; }
* { box-sizing: border-box; }
body {
  margin: 0; background: #fff; color: #1f2933; line-height: 1.55;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem clamp(0.9rem, 4vw, 2rem) 4rem; }
header { border-bottom: 1px solid #e5e7eb; margin-bottom: 1.5rem; }
.lab { margin: 0; color: #4b5563; font-size: 0.9rem; }
h1 { font-size: clamp(1.5rem, 5vw, 2.1rem); line-height: 1.2; margin: 0.2rem 0 0.6rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 0.5rem; }
p, dd, figcaption { max-width: 44rem; }
.question { font-size: 1.08rem; margin-top: 0; }
figure { margin: 0 0 2rem; }
figcaption { color: #4b5563; font-size: 0.92rem; }
.plot { width: 100%; }
.verdict { border-left: 4px solid #009e73; padding: 0.4rem 0.9rem; background: #f3f6f4; }
.verdict.broken { border-color: #b00020; background: #fdf1f1; }
dt { font-weight: 600; margin-top: 0.9rem; }
dd { margin: 0.2rem 0 0; }
.scroll { overflow-x: auto; margin: 0.8rem 0 1.2rem; }
.table { overflow-x: auto; }
h1, li { overflow-wrap: anywhere; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.92rem; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.4rem; white-space: nowrap; }
th, td { text-align: right; padding: 0.3rem 0.8rem; border-bottom: 1px solid #e5e7eb; white-space: nowrap; }
th { color: #4b5563; font-weight: 600; border-bottom-color: #9ca3af; white-space: normal; vertical-align: bottom; }
pre { overflow-x: auto; background: #f6f7f8; padding: 0.7rem 0.9rem; font-size: 0.88rem; }
a { color: #0060a0; }
code, pre { overflow-wrap: anywhere; }
summary { cursor: pointer; padding: 0.3rem 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: 0.8rem; margin: 0 0 1.2rem; }
.tiles > div { border: 1px solid #d1d5db; border-radius: 6px; padding: 0.6rem 0.9rem; }
.tiles dt { margin: 0; font-weight: 400; font-size: 0.9rem; color: #374151; }
.tiles b { display: block; font-size: 1.6rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.tiles span { font-size: 0.85rem; color: #4b5563; }
.cards td, .cards th, .facts td, td.name { text-align: left; vertical-align: top; white-space: normal; }
.cards { width: 100%; margin: 0.8rem 0; }
.cards td:nth-child(n + 6) { font-size: 0.85rem; }
.cards td:last-child { min-width: 12rem; }
.cards td:first-child { min-width: 11rem; }
.cards td:nth-child(5), .cards td:nth-child(6) { min-width: 8.5rem; }
.cards td:nth-child(3), .cards td:nth-child(4) { white-space: nowrap; }
.facts th, tbody th { text-align: left; vertical-align: top; border-bottom-color: #e5e7eb; }
.facts td, td.name { overflow-wrap: anywhere; }
@media (max-width: 62rem) {
  .cards thead { display: none; }
  .cards, .cards tbody, .cards tr, .cards td { display: block; }
  .cards tr { border: 1px solid #d1d5db; border-radius: 6px; margin-bottom: 0.8rem; padding: 0.4rem 0.2rem; }
  .cards td { display: grid; grid-template-columns: 6rem 1fr; gap: 0.6rem; border: 0; white-space: normal; }
  .cards td::before { content: attr(data-head); color: #4b5563; font-size: 0.85rem; }
}
@media print { .scroll { overflow: visible; } }
"""
