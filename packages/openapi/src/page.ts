// The page that shows a document, with the files of swagger-ui-dist.

import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const PACKAGE = 'swagger-ui-dist'

/** The files of the package that the page loads. */
const FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'] as const

/** Nothing is loaded from elsewhere, and nothing is sent elsewhere. The style sheet has images as `data:` URLs. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The name of the script below, next to the files. */
export const START_NAME = 'start.js'

/** The configuration of the page. Swagger UI has colours for dark mode, and leaves it to the page to choose them. Without `validatorUrl: null`, it would send the address of the document to a validator on the Internet. */
export const START_SCRIPT = `const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()
const root = document.getElementById('swagger-ui')
SwaggerUIBundle({
  domNode: root,
  url: root.dataset.url,
  deepLinking: true,
  displayOperationId: true,
  persistAuthorization: false,
  queryConfigEnabled: false,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
})
`

/** The paths of the files, by the names under which the page loads them. */
export function pageFiles(): ReadonlyMap<string, string> {
  const folder = dirname(createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`))
  return new Map(FILES.map((name) => [name, join(folder, name)]))
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** @param url of the document @param base of the files, ending in a slash; both relative to the page */
export function pageOf(title: string, url: string, base: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="icon" href="${escaped(base)}favicon-32x32.png">
<link rel="stylesheet" href="${escaped(base)}swagger-ui.css">
</head>
<body>
<main id="swagger-ui" data-url="${escaped(url)}"></main>
<noscript><p>This page needs JavaScript. The document is at <a href="${escaped(url)}">${escaped(url)}</a>.</p></noscript>
<script src="${escaped(base)}swagger-ui-bundle.js"></script>
<script src="${escaped(base)}${START_NAME}"></script>
</body>
</html>
`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char]!)
}
