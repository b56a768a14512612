// Copies into a package what its tarball holds beside dist/: the licence, and the pages of the guide that are about it. Runs before npm packs
// it, from the package's folder; with --undo it removes the copies again.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const { name, homepage } = JSON.parse(readFileSync('package.json', 'utf8'))
/** First steps, other servers and machines, running a service, and how modules are written: whoever develops reads them, and a program does not need them. */
const FOR_DEVELOPMENT = [
  ...['getting-started', 'first-programs', 'request-flow', 'tasks', 'why', 'modules', 'models', 'body-map', 'react', 'sign-in', 'web-apis'],
  ...['from-aspnet', 'from-express', 'from-fastify', 'from-hono', 'from-nest', 'node', 'fetch-guests', 'inside-node', 'embedding'],
  ...['deploy', 'tls', 'platforms', 'proxies', 'hosts', 'serverless', 'relay', 'testing', 'traps'],
  ...['lifecycle', 'health', 'logging', 'metrics', 'observing', 'dashboard'],
]
/** The pages of the guide that other packages carry. All others are in weirjs, and those of `IN_BOTH` as well. */
const PAGES = {
  '@weirjs/acme': ['tls'],
  '@weirjs/dev': ['command-line', 'explaining', 'inspector', 'replay', ...FOR_DEVELOPMENT],
  '@weirjs/jwt': ['jwt'],
  '@weirjs/mcp': ['mcp'],
  '@weirjs/nats': ['relay', 'relay-servers'],
  '@weirjs/oidc': ['oidc'],
  '@weirjs/openapi': ['openapi'],
  '@weirjs/opentelemetry': ['tracing'],
  '@weirjs/redis': ['relay', 'relay-servers'],
  '@weirjs/rpc': ['rpc'],
  '@weirjs/s3': ['resumable-uploads', 'uploads'],
  '@weirjs/uploads': ['resumable-uploads'],
}
const IN_BOTH = ['uploads']
const others = [...new Set(Object.values(PAGES).flat())].filter((page) => !IN_BOTH.includes(page)).join('|')
/** Besides, no package has pages about the inside, measurements, other people’s test suites, pictures, and dashboards. */
const NOT_CARRIED = new RegExp(
  `^docs/(?:(?:architecture|dependencies|packages|http|performance|reliability|guests|local-threats)[\\w-]*\\.md|images|grafana|guide/(?:${others})\\.md)$`,
)
const own = (PAGES[name] ?? []).map((page) => `docs/guide/${page}.md`).filter((page) => existsSync(`${ROOT}/${page}`))
const copies = ['LICENSE', ...(name === 'weirjs' ? ['docs'] : own)]

rmSync('docs', { recursive: true, force: true })
for (const copy of copies) {
  rmSync(copy, { recursive: true, force: true })
  if (process.argv.includes('--undo')) continue
  if (!existsSync(`${ROOT}/${copy}`)) throw new Error(`${copy} is missing`)
  const isCarried = (path) => name !== 'weirjs' || !NOT_CARRIED.test(path.slice(ROOT.length + 1))
  cpSync(`${ROOT}/${copy}`, copy, { recursive: true, filter: isCarried })
}
if (!process.argv.includes('--undo')) for (const page of pages()) finish(page)

function filesIn(folder) {
  return existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`) : []
}

function pages() {
  return [...copies, ...filesIn('docs')].filter((path) => path.endsWith('.md'))
}

/** Links to what the package does not hold go to the repository, and pictures are left out. What lines up the columns of tables would be 50 kB. */
function finish(page) {
  const text = readFileSync(page, 'utf8')
  const linked = text.replace(/\]\((?![a-z]+:|#)([^)\s#]+)/g, (link, to) => {
    const path = posix.join(posix.dirname(page), to)
    return existsSync(path) ? link : `](${homepage.replace(/#.*/, '')}/blob/main/${path}`
  })
  const finished = linked
    .replace(/^<picture>[\s\S]*?<\/picture>\n\n/gm, '')
    .replace(/^\|.*\|$/gm, (row) => row.replace(/ {2,}(?=\|)/g, ' ').replace(/-{4,}/g, '---'))
  if (finished !== text) writeFileSync(page, finished)
}
