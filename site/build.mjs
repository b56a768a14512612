// Builds the site into site/dist/: a page for each entry of the packages, then all pages by VitePress, then the Markdown of each page and
// compressed forms beside the files. A link that leads nowhere fails the build.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

import { build } from 'vitepress'

import { addressOf, pageOf, ROOT } from './pages.mjs'
import { writeReference } from './reference.mjs'

const DIST = join(import.meta.dirname, 'dist')
const COMPRESSED = /\.(?:css|html|js|json|md|svg|txt|xml)$/
const LEAST_BYTES = 1024

writeReference()
await build(import.meta.dirname)
const pages = filesIn(ROOT, ['docs', 'site/build/reference']).filter((file) => file.endsWith('.md'))
for (const file of [...pages, 'CHANGELOG.md']) writeFileSync(join(DIST, pageOf(file)), markdownOf(file))
checkAnchors()
for (const file of filesIn(DIST, ['.'])) compress(join(DIST, file))

function filesIn(root, folders) {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1)),
  )
}

/** The Markdown of a page with the links of the site. */
function markdownOf(file) {
  return readFileSync(join(ROOT, file), 'utf8')
    .split(/(^```[\s\S]*?^```$)/m)
    .map((part) => (part.startsWith('```') ? part : part.replace(/(?<=\]\()[^)\s]+(?=\))/g, (link) => addressOf(link, file))))
    .join('')
}

/** VitePress checks that pages exist, but not the headings in them. */
function checkAnchors() {
  const texts = new Map(
    filesIn(DIST, ['.'])
      .filter((file) => file.endsWith('.html'))
      .map((file) => [`/${file.replace(/(?:(?<=^|\/)index)?\.html$/, '')}`, readFileSync(join(DIST, file), 'utf8')]),
  )
  const ids = new Map([...texts].map(([page, text]) => [page, new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]))
  const broken = new Set()
  for (const [page, text] of texts) {
    for (const [, link] of text.matchAll(/<a [^>]*?href="((?:\/|#)[^"]*)"/g)) {
      const [path, anchor] = link.split('#')
      const there = ids.get(path === '' ? page : path)
      if (there === undefined ? !/\.\w+$/.test(path) : anchor && !there.has(decodeURIComponent(anchor))) broken.add(`${page}: ${link}`)
    }
  }
  if (broken.size > 0) throw new Error(`links that lead nowhere:\n${[...broken].join('\n')}`)
}

function compress(path) {
  const bytes = readFileSync(path)
  if (!COMPRESSED.test(path) || bytes.length < LEAST_BYTES) return
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
  writeFileSync(
    `${path}.br`,
    brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
  )
}
