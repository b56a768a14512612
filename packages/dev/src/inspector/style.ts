// The style of the inspector's page, with the colours of weir's other pages.

export const STYLE = `:root {
  color-scheme: light dark;
  --ground: light-dark(#f3f6f5, #0e1413);
  --paper: light-dark(#fff, #161e1c);
  --well: light-dark(#f6f9f8, #101716);
  --ink: light-dark(#16211f, #e2eae8);
  --soft: light-dark(#53625e, #9dada8);
  --line: light-dark(#d6dfdc, #2b3835);
  --edge: light-dark(#7d8d88, #6d7f7a);
  --accent: light-dark(#0f6b63, #63cdbf);
  --on-accent: light-dark(#fff, #06231f);
  --good: light-dark(#17693a, #7dd39b);
  --warn: light-dark(#8a5300, #e9b25c);
  --bad: light-dark(#b3261e, #ff9a90);
  --get: light-dark(#0b5f8a, #7cc4ee);
  --post: light-dark(#7a3e9d, #d3a6ef);
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
* { box-sizing: border-box; }
[hidden], .hidden { display: none !important; }
label .hidden { display: block !important; position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
html, body { height: 100%; }
body { margin: 0; display: flex; flex-direction: column; background: var(--ground); color: var(--ink); font: 0.9375rem / 1.5 system-ui, "Segoe UI", "Liberation Sans", sans-serif; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 1rem; padding: 0.75rem clamp(0.75rem, 2vw, 1.25rem); background: var(--paper); border-bottom: 1px solid var(--line); }
h1 { margin: 0; display: flex; align-items: center; gap: 0.5rem; font-size: 1.125rem; letter-spacing: -0.01em; }
h1 svg { width: 1.5rem; height: 1.5rem; color: var(--accent); }
#state { margin: 0; color: var(--soft); font-size: 0.8125rem; }
#state::before { content: ""; display: inline-block; width: 0.5rem; height: 0.5rem; margin-right: 0.4rem; border-radius: 50%; background: var(--edge); }
#state.live::before { background: var(--good); }
#state.lost::before { background: var(--bad); }
.tools { display: flex; flex-wrap: wrap; gap: 0.5rem; margin-left: auto; flex: 1 1 20rem; justify-content: flex-end; }
.search { flex: 1 1 12rem; max-width: 26rem; }
input { width: 100%; font: inherit; color: inherit; background: var(--well); border: 1px solid var(--edge); border-radius: 6px; padding: 0.3rem 0.6rem; }
input::placeholder { color: var(--soft); opacity: 1; }
button, .button { font: inherit; font-weight: 600; font-size: 0.8125rem; color: var(--accent); background: var(--paper); border: 1px solid var(--edge); border-radius: 6px; padding: 0.3rem 0.7rem; cursor: pointer; text-decoration: none; line-height: 1.5; display: inline-flex; align-items: center; }
button:hover, .button:hover { background: var(--well); }
button[aria-pressed="true"] { background: var(--accent); color: var(--on-accent); border-color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
main { flex: 1; min-height: 0; display: grid; grid-template-columns: minmax(18rem, 26rem) minmax(0, 1fr); }
#list { min-height: 0; overflow: auto; border-right: 1px solid var(--line); }
#rows { list-style: none; margin: 0; padding: 0; }
#rows:focus-visible { outline-offset: -2px; }
#rows[aria-activedescendant]:focus-visible { outline: 0; }
#rows:focus-visible .row[aria-selected="true"] { outline: 2px solid var(--accent); outline-offset: -2px; }
#empty { padding: 2rem 1.25rem; color: var(--soft); }
.row { display: grid; grid-template-columns: 3.1rem minmax(0, 1fr) auto; gap: 0 0.6rem; padding: 0.45rem clamp(0.75rem, 2vw, 1.25rem); border-bottom: 1px solid var(--line); cursor: pointer; }
.row:hover { background: var(--well); }
.row[aria-selected="true"] { background: var(--paper); box-shadow: inset 3px 0 0 var(--accent); }
.status { font-family: var(--mono); font-weight: 700; }
.what { font-family: var(--mono); font-size: 0.8125rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.when { grid-column: 2 / 4; display: flex; justify-content: space-between; gap: 0.5rem; color: var(--soft); font-size: 0.75rem; }
.time { font-family: var(--mono); font-size: 0.8125rem; color: var(--soft); }
.method { font-weight: 700; color: var(--get); }
.method.changes { color: var(--post); }
.good { color: var(--good); }
.warn { color: var(--warn); }
.bad { color: var(--bad); }
#detail { min-height: 0; overflow: auto; padding: 1rem clamp(0.75rem, 2vw, 1.5rem) 3rem; }
#detail h2 { margin: 0 0 0.25rem; font-family: var(--mono); font-size: 1rem; overflow-wrap: anywhere; }
#detail h3 { margin: 1.5rem 0 0.4rem; font-size: 0.8125rem; letter-spacing: 0.04em; text-transform: uppercase; color: var(--soft); }
.facts { margin: 0 0 0.75rem; color: var(--soft); font-size: 0.8125rem; overflow-wrap: anywhere; }
.actions { display: flex; flex-wrap: wrap; gap: 0.5rem; }
pre { margin: 0; padding: 0.7rem 0.9rem; background: var(--paper); border: 1px solid var(--line); border-radius: 8px; font: 0.8125rem / 1.5 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; max-height: 28rem; overflow: auto; }
.messages { list-style: none; margin: 0; padding: 0; }
.messages li { margin-top: 0.5rem; padding-left: 0.75rem; border-left: 3px solid var(--post); }
.messages .received { border-color: var(--get); }
.messages .note { margin: 0 0 0.2rem; }
pre + pre { margin-top: 0.5rem; }
.note { margin: 0.4rem 0 0; color: var(--soft); font-size: 0.8125rem; }
.stages { display: grid; grid-template-columns: max-content minmax(3rem, 1fr) max-content; gap: 0.25rem 0.75rem; align-items: center; font-size: 0.8125rem; }
meter { width: 100%; height: 0.6rem; border: 0; border-radius: 3px; background: var(--line); }
meter::-webkit-meter-bar { background: var(--line); border: 0; border-radius: 3px; height: 0.6rem; }
meter::-webkit-meter-optimum-value { background: var(--accent); border-radius: 3px; }
meter::-moz-meter-bar { background: var(--accent); border-radius: 3px; }
.frame { margin-top: 0.75rem; }
.frame .note { margin: 0 0 0.3rem; overflow-wrap: anywhere; }
.frame pre { white-space: pre; overflow-wrap: normal; }
.frame .line { display: block; min-width: max-content; padding-inline: 0.4rem; }
.frame .here { background: color-mix(in srgb, var(--bad) 16%, transparent); }
#back { display: none; margin-bottom: 0.75rem; }
@media (max-width: 52rem) {
  main { grid-template-columns: minmax(0, 1fr); }
  #list { border-right: 0; }
  .open #list { display: none; }
  #back { display: inline-flex; }
  .search { flex-basis: 100%; max-width: none; }
  .tools { justify-content: flex-start; }
}
`
