// Serves the built site with weir: `npm run site`, then `node site/serve.js`. HOST and PORT say where; without them 127.0.0.1:2016.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { HttpServer } from 'weirjs'
import { securityHeaders } from 'weirjs/headers'
import { staticFiles } from 'weirjs/static'

const ROOT = join(import.meta.dirname, 'dist')
if (!existsSync(ROOT)) throw new Error('the site is not built: run npm run site')
const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).map((file) => file.replaceAll('\\', '/'))
const markdown = new Set(files.filter((file) => file.endsWith('.md')))

/** The scripts inside pages, which a policy allows by what they hash to. */
const scripts = new Set(
  files
    .filter((file) => file.endsWith('.html'))
    .flatMap((file) => [...readFileSync(join(ROOT, file), 'utf8').matchAll(/<script(?: [^>]*)?>([\s\S]+?)<\/script>/g)])
    .map(([, script]) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`),
)

const server = new HttpServer(process.env.HOST || '127.0.0.1', Number(process.env.PORT || 2016))
server.use(
  securityHeaders('page', {
    contentSecurityPolicy: {
      'script-src': ["'self'", ...scripts],
      'style-src': ["'self'", "'unsafe-inline'"],
      'upgrade-insecure-requests': false,
    },
  }),
)

/** A page is Markdown for a program that prefers it, such as an agent. */
server.use(({ request, response }, next) => {
  const name = `${request.path.slice(1).replace(/(^|\/)$/, '$1index')}.md`
  if (!markdown.has(name)) return next()
  response.vary('Accept')
  return prefersMarkdown(request.header('accept') ?? '') ? response.file(join(ROOT, name)) : next()
})

/** A person who asks for a page that does not exist gets one with the search. */
const missing = readFileSync(join(ROOT, '404.html'), 'utf8')
server.use(async ({ request, response }, next) => {
  const { statusCode } = await next()
  if (statusCode === 404 && request.header('accept')?.includes('text/html')) return response.status(404).html(missing)
})

function prefersMarkdown(accept) {
  const types = accept.split(',').map((one) => one.trim())
  const qualityOf = (type) => Number(/;\s*q=([\d.]+)/.exec(types.find((one) => one.startsWith(type)) ?? `${type};q=0`)?.[1] ?? 1)
  return qualityOf('text/markdown') > qualityOf('text/html')
}

server.use(
  staticFiles({
    root: ROOT,
    extensions: ['html'],
    precompressed: true,
    // Names of files in assets/ change with their content.
    cacheControl: (path) => (path.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'),
  }),
)

await server.start()
console.log(`The documentation is at http://127.0.0.1:${server.port}/ until Ctrl+C.`)
await server.run({ signals: ['SIGINT', 'SIGTERM'] })
