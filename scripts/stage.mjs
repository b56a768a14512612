// Copies into a package what its tarball holds beside dist/: the licence, and into weirjs the guide. Runs before npm packs it, from the
// package's folder; with --undo it removes the copies again.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const { name, homepage } = JSON.parse(readFileSync('package.json', 'utf8'))
/** Pages about the inside, measurements and other people’s test suites: of no use to a program. */
const NOT_CARRIED = /^docs\/(?:architecture|http|performance|reliability|guests)[\w-]*\.md$/
const copies = ['LICENSE', ...(name === 'weirjs' ? ['docs', 'SECURITY.md'] : [])]

for (const copy of copies) {
  rmSync(copy, { recursive: true, force: true })
  if (process.argv.includes('--undo')) continue
  if (!existsSync(`${ROOT}/${copy}`)) throw new Error(`${copy} is missing`)
  cpSync(`${ROOT}/${copy}`, copy, { recursive: true, filter: (path) => !NOT_CARRIED.test(path.slice(ROOT.length + 1)) })
}
if (!process.argv.includes('--undo')) for (const page of pages()) finish(page)

function pages() {
  const inDocs = existsSync('docs') ? readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((path) => `docs/${path}`) : []
  return [...copies, ...inDocs].filter((path) => path.endsWith('.md'))
}

/** Links to what the package does not hold go to the repository. What lines up the columns of tables would be 50 kB. */
function finish(page) {
  const text = readFileSync(page, 'utf8')
  const linked = text.replace(/\]\((?![a-z]+:|#)([^)\s#]+)/g, (link, to) => {
    const path = posix.join(posix.dirname(page), to)
    return existsSync(path) ? link : `](${homepage.replace(/#.*/, '')}/blob/main/${path}`
  })
  const finished = linked.replace(/^\|.*\|$/gm, (row) => row.replace(/ {2,}(?=\|)/g, ' ').replace(/-{4,}/g, '---'))
  if (finished !== text) writeFileSync(page, finished)
}
