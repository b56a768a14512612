// Copies into a package what its tarball holds beside dist/: the licence, and the pages of the guide that are about it. Runs before npm packs
// it, from the package's folder; with --undo it removes the copies again.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const { name, homepage } = JSON.parse(readFileSync('package.json', 'utf8'))
/** The pages about other packages than weirjs, which carry them themselves. */
const PAGES = {
  '@weirjs/dev': ['command-line', 'explaining', 'inspector', 'replay'],
  '@weirjs/jwt': ['jwt'],
  '@weirjs/mcp': ['mcp'],
  '@weirjs/nats': ['relay', 'relay-servers'],
  '@weirjs/oidc': ['oidc'],
  '@weirjs/openapi': ['openapi'],
  '@weirjs/opentelemetry': ['tracing'],
  '@weirjs/redis': ['relay', 'relay-servers'],
  '@weirjs/rpc': ['rpc'],
  '@weirjs/uploads': ['resumable-uploads'],
}
const others = [...new Set(Object.values(PAGES).flat())].join('|')
/** Beside those: how modules are written, pages about the inside, measurements, first steps, other people’s test suites, other servers and machines, pictures, and dashboards. */
const NOT_CARRIED = new RegExp(
  `^docs/(?:(?:architecture|dependencies|packages|http|performance|reliability|guests|local-threats)[\\w-]*\\.md|images|grafana|guide/(?:body-map|models|from-[\\w-]+|first-programs|getting-started|modules|serverless|tasks|dashboard|deploy|platforms|proxies|sign-in|react|node|embedding|inside-node|fetch-guests|request-flow|web-apis|why|${others})\\.md)$`,
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
