// The page for a browser without the cookie: it exchanges the token in the fragment of its address for one, or says where the link is. One file
// that loads nothing.

import { createHash } from 'node:crypto'

const STYLE = `:root{color-scheme:light dark}body{margin:0;display:grid;min-height:100vh;place-content:center;padding:1rem;box-sizing:border-box;
font:1rem/1.5 system-ui,"Segoe UI","Liberation Sans",sans-serif;background:light-dark(#f3f6f5,#0e1413);color:light-dark(#16211f,#e2eae8)}
main{max-width:32rem}h1{font-size:1.3rem;margin:0 0 .5rem}p{margin:.5rem 0}code{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace}`

// The address is changed first: the token stays neither in the bar nor in what is copied from it.
const SCRIPT = `const said = document.querySelector('[role=status]')
function enter() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token === null) return
  history.replaceState(null, '', location.pathname)
  const init = { method: 'POST', headers: { authorization: 'Bearer ' + token } }
  fetch(document.body.dataset.enter, init).then(
    (response) => {
      if (response.ok) location.reload()
      else said.textContent = 'This link is not valid, or no longer: the server was started again. Use the newest one.'
    },
    () => { said.textContent = 'The server does not answer.' },
  )
}
addEventListener('hashchange', enter)
enter()
`

/** What the page may do: run its own script, which sends one request. */
export const LAUNCH_POLICY = [
  "default-src 'none'",
  `script-src '${hashOf(SCRIPT)}'`,
  `style-src '${hashOf(STYLE)}'`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

/**
 * @param what opens, such as `The inspector`: no text of a client
 * @param enterPath where the token is sent by POST, with 204 for an answer
 */
export function launchPage(what: string, enterPath: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${what} is closed</title>
<style>${STYLE}</style>
</head>
<body data-enter="${enterPath}">
<main>
<h1>${what} is closed</h1>
<p role="status">Open it with the link that was printed where the server was started. It ends with <code>#token=</code> and a secret.</p>
<p>Afterwards, this browser stays signed in until it ends.</p>
<noscript><p><strong>The link needs JavaScript.</strong></p></noscript>
</main>
<script>${SCRIPT}</script>
</body>
</html>
`
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}
