// How the page that shows an error looks, in light and dark and at any width.

export const STYLE = `
:root{color-scheme:light dark;--ground:light-dark(#f3f6f5,#0e1413);--paper:light-dark(#fff,#161e1c);--well:light-dark(#f6f9f8,#101716);
--ink:light-dark(#16211f,#e2eae8);--soft:light-dark(#53625e,#9dada8);--line:light-dark(#d6dfdc,#2b3835);--accent:light-dark(#0f6b63,#63cdbf);
--bad:light-dark(#b3261e,#ff9a90);--mark:light-dark(#fde7e4,#3d1f1c);
--mono:ui-monospace,"SF Mono","Cascadia Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,"Segoe UI","Liberation Sans",sans-serif}
header,main,footer{max-width:64rem;margin-inline:auto;padding-inline:clamp(1rem,4vw,2rem)}
header{padding-block:clamp(1.25rem,4vw,2.5rem) 1rem}
h1{margin:0;font-size:clamp(1.2rem,4.5vw,1.6rem);line-height:1.3;overflow-wrap:anywhere;white-space:pre-wrap}
.status{display:flex;flex-wrap:wrap;gap:.25rem .75rem;margin:0 0 .5rem;align-items:baseline;color:var(--soft)}
.status b{color:var(--bad);font-size:1.1rem}
section{margin-block:0 1rem;padding:1rem clamp(.75rem,3vw,1.25rem);background:var(--paper);border:1px solid var(--line);border-radius:.5rem}
h2{margin:0 0 .5rem;font-size:1rem}
h3{margin:1rem 0 .25rem;font-size:.9rem}
p{margin:.25rem 0}
code,pre,td,dd{font-family:var(--mono);font-size:.85rem}
code,dd,td{overflow-wrap:anywhere;white-space:pre-wrap}
pre{margin:.35rem 0 0;padding:.5rem 0;background:var(--well);border:1px solid var(--line);border-radius:.35rem;overflow-x:auto;line-height:1.55}
pre span{display:block;padding-inline:.75rem;width:max-content;min-width:100%}
pre i{display:inline-block;width:3.5ch;margin-right:1.5ch;color:var(--soft);font-style:normal;text-align:right;user-select:none}
pre .at{background:var(--mark);box-shadow:inset .2rem 0 var(--bad)}
ol{margin:0;padding:0;list-style:none}
ol>li{padding-block:.35rem}
ol>li+li{border-top:1px solid var(--line)}
.soft{color:var(--soft)}
dl{display:grid;grid-template-columns:minmax(7rem,auto) 1fr;gap:.2rem 1rem;margin:0}
dt{color:var(--soft)}
dd{margin:0;min-width:0}
dd p{margin:0}
dd p+p{margin-top:.2rem}
summary{cursor:pointer;color:var(--accent);font-weight:600}
details{margin-top:.5rem}
details>dl{margin-top:.5rem}
footer{padding-block:.25rem 2.5rem;color:var(--soft);font-size:.875rem}
@media (max-width:36rem){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}}
`
