// The page for a browser without the cookie: it exchanges the token in the fragment of its address for one, or says how to get a link. One file
// that loads nothing.

import { createHash } from 'node:crypto'

const STYLE = `:root{color-scheme:light dark}body{margin:0;display:grid;min-height:100vh;place-content:center;padding:1rem;box-sizing:border-box;
font:1rem/1.5 system-ui,"Segoe UI","Liberation Sans",sans-serif;background:light-dark(#f3f6f5,#0e1413);color:light-dark(#16211f,#e2eae8)}
a{color:inherit}main{max-width:32rem}h1{font-size:1.3rem;margin:0 0 .5rem}p{margin:.5rem 0}code{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace}`

// The address is changed first: the token stays neither in the bar nor in what is copied from it.
const SCRIPT = `const said = document.querySelector('[role=status]')
function enter() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token === null) return
  history.replaceState(null, '', location.pathname)
  const init = { method: 'POST', headers: { authorization: 'Bearer ' + token } }
  fetch(document.body.dataset.enter, init).then(
    (response) => {
      if (!response.ok) said.textContent = document.body.dataset.refused
      else if (document.body.dataset.next === undefined) location.reload()
      else location.replace(document.body.dataset.next)
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

/** The texts of the page. They are not escaped, so they must not contain text of a client. */
export interface LaunchWords {
  /** What opens, such as `The inspector`. */
  readonly what: string
  /** How to open it, as paragraphs of HTML. */
  readonly how: readonly string[]
  /** What a link means that is not accepted. */
  readonly refused: string
}

/** The words for a link that is printed once and stays valid. */
export function printedLink(what: string): LaunchWords {
  return {
    what,
    how: [
      'Open it with the link that was printed where the server was started. It ends with <code>#token=</code> and a secret.',
      'Afterwards, this browser stays signed in until it ends.',
    ],
    refused: 'This link is not valid, or no longer: the server was started again. Use the newest one.',
  }
}

/**
 * @param enterPath where the token is sent by POST, with 204 for a response
 * @param nextPath what is opened then; default: the same page again
 */
export function launchPage({ what, how, refused }: LaunchWords, enterPath: string, nextPath?: string): string {
  const next = nextPath === undefined ? '' : ` data-next="${nextPath}"`
  const [first, ...more] = how
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${what} is private</title>
<style>${STYLE}</style>
</head>
<body data-enter="${enterPath}"${next} data-refused="${refused}">
<main>
<h1>${what} is private</h1>
<p role="status">${first}</p>
${more.map((paragraph) => `<p>${paragraph}</p>\n`).join('')}<noscript><p><strong>The link needs JavaScript.</strong></p></noscript>
</main>
<script>${SCRIPT}</script>
</body>
</html>
`
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}
