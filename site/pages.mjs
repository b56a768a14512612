// Which Markdown files of the repository are pages of the site, at which address, and in which order.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

import { entries } from '../scripts/declared.mjs'

export const ROOT = join(import.meta.dirname, '..')
const { homepage } = JSON.parse(readFileSync(join(ROOT, 'packages/weirjs/package.json'), 'utf8'))
export const REPOSITORY = homepage.replace(/#.*/, '')

/** What a file of the repository is called in the site, without its leading slash; null if it is no page. */
export function pageOf(file) {
  if (file === 'site/index.md') return 'index.md'
  if (file === 'CHANGELOG.md') return 'changelog.md'
  const path = /^(?:docs|site\/build)\/(.+\.md)$/.exec(file)?.[1]
  return path === undefined ? null : path.replace(/README\.md$/, 'index.md')
}

/** Where a link in a file of the repository leads: to a page of the site, otherwise to the repository. */
export function addressOf(link, file) {
  if (/^(?:[a-z]+:|#|\/)/.test(link)) return link
  const [path, anchor] = link.split('#')
  const target = posix.join(posix.dirname(file), path)
  const hash = anchor === undefined ? '' : `#${anchor}`
  const page = pageOf(target)
  if (page !== null) return `/${page.replace(/(?:(?<=^|\/)index)?\.md$/, '')}${hash}`
  if (!existsSync(join(ROOT, target))) throw new Error(`${file} links to ${link}, which does not exist`)
  return `${REPOSITORY}/${/\.\w+$/.test(target) ? 'blob' : 'tree'}/main/${target}${hash}`
}

/** As GitHub names headings, so that a link leads to the same place in both. */
export function slugOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

const SECTIONS = {
  'Start here': {
    'docs/guide/getting-started.md': 'Getting started',
    'docs/guide/first-programs.md': 'The first program in TypeScript',
    'docs/guide/request-flow.md': 'How a request flows',
    'docs/guide/routing.md': 'Routes',
    'docs/guide/request.md': 'Requests',
    'docs/guide/schemas.md': 'Schemas',
    'docs/guide/typed-bodies.md': 'Bodies',
    'docs/guide/body.md': 'Reading a body yourself',
    'docs/guide/response.md': 'Responses',
    'docs/guide/answers.md': 'Declared responses',
    'docs/guide/cookies.md': 'Cookies',
    'docs/guide/files-and-streams.md': 'Files, streams and conditions',
    'docs/guide/errors.md': 'Errors',
    'docs/guide/lifecycle.md': 'Server and options',
    'docs/guide/groups.md': 'Groups and policies',
    'docs/guide/middleware.md': 'Middleware',
  },
  'While you develop': {
    'docs/guide/command-line.md': 'weir dev and the command',
    'docs/guide/explaining.md': 'Explain and the debug page',
    'docs/guide/inspector.md': 'The inspector',
    'docs/guide/testing.md': 'Testing',
    'docs/guide/replay.md': 'Record and replay',
  },
  Security: {
    'docs/guide/authentication.md': 'Authentication',
    'docs/guide/sessions.md': 'Sessions',
    'docs/guide/oidc.md': 'Login with OpenID Connect',
    'docs/guide/jwt.md': 'Tokens (JWT)',
    'docs/guide/sign-in.md': 'Sign in with Google, Entra, …',
    'docs/guide/csrf.md': 'CSRF',
    'docs/guide/cors.md': 'CORS',
    'docs/guide/headers.md': 'Security headers',
    'docs/guide/signing.md': 'Links that expire',
    'docs/guide/webhooks.md': 'Webhooks',
    'docs/guide/limits.md': 'Limiting clients and load',
    'docs/guide/hosts.md': 'Hosts',
    'docs/guide/local.md': 'A server on one computer',
    'docs/local-threats.md': 'Threats to a local server',
  },
  Data: {
    'docs/guide/uploads.md': 'Uploads',
    'docs/guide/resumable-uploads.md': 'Resumable uploads',
    'docs/guide/static.md': 'Static files',
    'docs/guide/caching.md': 'Caching',
    'docs/guide/idempotency.md': 'Idempotency',
    'docs/guide/sqlite.md': 'State in one file (SQLite)',
    'docs/guide/compression.md': 'Compression',
    'docs/guide/decompression.md': 'Compressed request bodies',
  },
  Realtime: {
    'docs/guide/events.md': 'Server-sent events',
    'docs/guide/websocket.md': 'WebSockets',
    'docs/guide/relay.md': 'Across machines',
    'docs/guide/relay-servers.md': 'Redis and NATS as relays',
  },
  Clients: {
    'docs/guide/contracts.md': 'Contracts and the typed client',
    'docs/guide/react.md': 'React, TanStack Query and Vite',
    'docs/guide/openapi.md': 'OpenAPI',
    'docs/guide/rpc.md': 'gRPC and Connect',
    'docs/guide/mcp.md': 'Tools for models (MCP)',
    'docs/guide/web-apis.md': 'Web Request and Response',
  },
  Production: {
    'docs/guide/deploy.md': 'Deploying',
    'docs/guide/platforms.md': 'Docker compose, Fly, Cloud Run, …',
    'docs/guide/proxies.md': 'Behind a proxy',
    'docs/guide/tls.md': 'TLS and HTTP/2',
    'docs/guide/health.md': 'Health checks',
    'docs/guide/logging.md': 'Access logs',
    'docs/guide/metrics.md': 'Metrics',
    'docs/guide/dashboard.md': 'A dashboard in ten minutes',
    'docs/guide/tracing.md': 'Traces',
    'docs/guide/observing.md': 'Observers',
    'docs/guide/serverless.md': 'Serverless',
    'docs/guide/embedding.md': 'Where a server can run',
  },
  'Moving here': {
    'docs/guide/from-express.md': 'From Express',
    'docs/guide/from-fastify.md': 'From Fastify',
    'docs/guide/from-hono.md': 'From Hono',
    'docs/guide/from-nest.md': 'From Nest',
    'docs/guide/from-aspnet.md': 'From ASP.NET (SimpleW)',
    'docs/guide/node.md': 'Express inside weir',
    'docs/guide/fetch-guests.md': 'Hono inside weir',
    'docs/guide/inside-node.md': 'weir inside a Node server',
    'docs/guests.md': 'Guests',
    'docs/guests-express.md': "Express's own tests",
  },
  'Writing a module': { 'docs/guide/modules.md': 'Modules, policies and stores' },
  'The original API': {
    'docs/guide/models.md': 'Models',
    'docs/guide/body-map.md': 'bodyMap',
  },
  'To look up': {
    'docs/guide/traps.md': 'Traps',
    'docs/guide/why.md': 'Why weir, and when not',
    'docs/guide/tasks.md': 'I want to …',
    'docs/guide/README.md': 'All pages of the guide',
  },
  Facts: {
    'docs/packages.md': 'Packages and entries',
    'docs/errors.md': 'Every error code',
    'docs/limits.md': 'Limits and timeouts',
    'docs/http.md': 'HTTP as weir speaks it',
    'docs/performance.md': 'Performance',
    'docs/performance-http2.md': 'Performance of HTTP/2',
    'docs/reliability.md': 'Reliability',
    'docs/architecture.md': 'Architecture',
    'docs/dependencies.md': 'Dependencies',
    'CHANGELOG.md': 'Changelog',
  },
}

/** The first sections are open when a page loads. */
const OPEN = 2

/** The sidebar of VitePress. Every page of docs/ must be in it. */
export function sidebar() {
  const listed = Object.values(SECTIONS).flatMap((pages) => Object.keys(pages))
  const present = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .map((path) => `docs/${path.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith('.md'))
  const missing = present.filter((path) => !listed.includes(path))
  if (missing.length > 0) throw new Error(`not in the sidebar of site/pages.mjs: ${missing.join(', ')}`)
  const sections = Object.entries(SECTIONS).map(([text, pages], i) => ({
    text,
    collapsed: i >= OPEN,
    items: Object.entries(pages).map(([file, title]) => ({ text: title, link: addressOf(file, '') })),
  }))
  const reference = entries('declarations').map(({ name }) => ({ text: name, link: `/reference/${fileOf(name)}` }))
  return [...sections, { text: 'Reference', collapsed: true, items: [{ text: 'All entries', link: '/reference/' }, ...reference] }]
}

/** The name of an entry in addresses. */
export function fileOf(entry) {
  return entry.replace('@', '').replaceAll('/', '-')
}
