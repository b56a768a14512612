// The page of the inspector. BASE is replaced by its path.

export const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>weir inspector</title>
<link rel="stylesheet" href="BASE/inspector.css">
<script type="module" src="BASE/inspector.js"></script>
</head>
<body data-base="BASE">
<header>
  <h1><svg viewBox="0 0 32 32" aria-hidden="true"><path d="M3 9h9c6 0 4 14 10 14h7M3 16h6M23 16h6" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round"/></svg> Inspector</h1>
  <p id="state" role="status">Loading</p>
  <div class="tools">
    <label class="search"><span class="hidden">Filter</span><input id="filter" type="search" placeholder="Filter: /path, POST, 404, failed" autocomplete="off" spellcheck="false"></label>
    <button id="pause" type="button" aria-pressed="false">Pause</button>
    <button id="clear" type="button">Clear</button>
    <a id="har" class="button" href="BASE/har" download>HAR</a>
  </div>
  <noscript><p><strong>This page needs JavaScript.</strong></p></noscript>
</header>
<main>
  <section id="list" aria-label="Exchanges">
    <ol id="rows" role="listbox" aria-label="Exchanges, the newest first" tabindex="0"></ol>
    <p id="empty">No requests yet. Send one to this server, and it appears here.</p>
  </section>
  <section id="detail" aria-label="Exchange" tabindex="-1" hidden></section>
</main>
</body>
</html>
`
