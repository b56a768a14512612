// What compression dictionaries save, and what they cost: node bench/dictionaries.mjs [commit | --pages] (after npm run
// build, with Node 22.15 or later; the first takes minutes). Sizes are
// those of responses of weir. CPU is that of the process, in rounds that take turns, less what the same pages cost uncompressed.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'

import { HttpServer } from '../packages/weirjs/dist/index.js'
import { compression } from '../packages/weirjs/dist/modules/compression/index.js'
import { staticFiles } from '../packages/weirjs/dist/modules/static/index.js'

const ROUNDS = 21
const PER_ROUND = 100
const PAGES = 50

const hashOf = (bytes) => `:${createHash('sha256').update(bytes).digest('base64')}:`
const brotli = (bytes, quality) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } })
const percent = (part, whole) => `${((part / whole) * 100).toFixed(1)} %`
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
const git = (...args) => execFileSync('git', args, { maxBuffer: 2 ** 28 })

/** The sources of weir at a commit, as one file: what a bundle of an application is like. */
function bundleAt(commit) {
  const files = git('ls-tree', '-r', '--name-only', commit, 'packages/weirjs/src').toString().split('\n')
  const sources = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  return Buffer.concat(sources.map((file) => git('show', `${commit}:${file}`)))
}

async function updates() {
  const now = git('rev-parse', '--short', process.argv[2] ?? 'HEAD')
    .toString()
    .trim()
  const bundle = bundleAt(now)
  const whole = brotli(bundle, 11).length
  console.log(`The sources at ${now}: ${bundle.length} bytes, with Brotli at 11 ${whole}`)
  for (const commits of [1, 10, 60]) {
    const root = mkdtempSync(join(tmpdir(), 'dictionaries-'))
    const old = bundleAt(`${now}~${commits}`)
    writeFileSync(join(root, 'app-1a2b3c4d.js'), old)
    writeFileSync(join(root, 'app-5E6F7A8B.js'), bundle)
    const server = new HttpServer({ logger: null }).use(staticFiles({ root, dictionaries: true }))
    const headers = { 'accept-encoding': 'dcz', 'available-dictionary': hashOf(old) }
    const { body } = await server.inject({ url: '/app-5E6F7A8B.js', headers })
    console.log(`  dcz from ${commits} commits before: ${body.length} bytes, ${percent(body.length, whole)}`)
    rmSync(root, { recursive: true })
  }
}

/** Texts of a shop that do not repeat, made of words that do. */
function shop() {
  let state = 1
  const next = (count) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return Math.floor((state / 2 ** 31) * count)
  }
  const vocabulary = Array.from({ length: 1_500 }, () =>
    Array.from({ length: 3 + next(7) }, () => String.fromCharCode(97 + next(26))).join(''),
  )
  const words = (count) => Array.from({ length: count }, () => vocabulary[next(vocabulary.length)]).join(' ')
  const menu = Array.from({ length: 60 }, (_, i) => `<li class="menu-${i}"><a href="/${words(1)}/${next(1e6)}">${words(3)}</a></li>`).join(
    '\n',
  )
  const footer = Array.from({ length: 40 }, () => `<p><a href="/${words(1)}">${words(4)}</a> ${words(12)}</p>`).join('\n')
  const scripts = `<script>${Array.from({ length: 60 }, () => `const ${words(1)} = '${words(5)}'`).join('\n')}</script>`
  return () =>
    `<!doctype html><html><head><title>${words(4)}</title>${scripts}</head><body><nav><ul>${menu}</ul></nav><main><h1>${words(5)}</h1>` +
    `<p class="price">${next(1e5) / 100}</p><p>${words(25)}</p></main><footer>${footer}</footer></body></html>`
}

async function pages() {
  const make = shop()
  const samples = [make(), make(), make()]
  const all = Array.from({ length: PAGES }, make)
  const serve = (options) => {
    const server = new HttpServer({ logger: null })
    if (options !== null) server.use(compression(options))
    return server.mapGet('/pages/:n', ({ n }, { response }) => response.html(all[n]))
  }
  const withDictionary = serve({ dictionaries: { '/pages/*': samples } })
  const link = (await withDictionary.inject('/pages/0')).headers.get('link')
  const dictionary = (await withDictionary.inject(/<([^>]+)>/.exec(link)[1])).body
  const headers = (coding, more = {}) => ({ host: 'localhost', 'accept-encoding': coding, ...more })
  const cases = [
    ['uncompressed', serve(null), headers('br')],
    ['br, quality 5', serve({ levels: { br: 5 } }), headers('br')],
    ['zstd, level 3', serve(), headers('zstd')],
    ['dcz, level 3', withDictionary, headers('dcz', { 'available-dictionary': hashOf(dictionary) })],
  ]
  const sizes = await Promise.all(
    cases.map(async ([, server, fields]) => {
      const answers = await Promise.all(all.map((_, n) => server.inject({ url: `/pages/${n}`, headers: fields })))
      return answers.reduce((sum, { body }) => sum + body.length, 0) / PAGES
    }),
  )
  const costs = cases.map(() => [])
  for (let round = 0; round < ROUNDS + 2; round++)
    for (const [i, [, server, fields]] of cases.entries()) {
      const before = process.cpuUsage()
      for (let n = 0; n < PER_ROUND; n++) await server.inject({ url: `/pages/${n % PAGES}`, headers: fields })
      const { user, system } = process.cpuUsage(before)
      if (round >= 2) costs[i].push((user + system) / PER_ROUND)
    }
  const [base] = costs.map(median)
  console.log(`Pages of one template: a dictionary of ${dictionary.length} bytes, made of ${samples.length} samples`)
  for (const [i, [name]] of cases.entries())
    console.log(
      `  ${name}: ${sizes[i].toFixed(0)} bytes, ${percent(sizes[i], sizes[1])} of Brotli; ${i === 0 ? '' : `${(median(costs[i]) - base).toFixed(0)} µs of CPU`}`,
    )
}

console.log(`Node.js ${process.versions.node}`)
await pages()
if (process.argv[2] !== '--pages') await updates()
