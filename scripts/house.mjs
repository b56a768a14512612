// Prints the figures by which the shape of the source is judged. Run `npm run build && npm run compile` first: the road of a request is measured in
// build/, and the bytes of an import in dist/.
//
//   node scripts/house.mjs           the figures
//   node scripts/house.mjs --names   and the functions that one GET calls, with their counts
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { Session } from 'node:inspector/promises'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'

const ROOT = new URL('../', import.meta.url)
const GETS = 1000
/** Files with the classes that hold the state of one exchange, or of the only exchange of a connection. */
const EXCHANGE_FILES = [
  /^net\/(cycle|fetch|hosted)\//,
  /^net\/http[12]\/(exchange|carrier|writer)/,
  /^http\/(session|exchange)\.ts$/,
  /^http\/body\/body\.ts$/,
  /^http\/request\/request\.ts$/,
]

const sources = readdirSync(new URL('packages/weirjs/src', ROOT), { recursive: true })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => ({ file, text: readFileSync(new URL(`packages/weirjs/src/${file}`, ROOT), 'utf8') }))

const lines = (text) => text.split('\n').length - 1

/** Fields of a class that are true or false, and change or differ between objects. */
function booleansOf(text) {
  const field = /^ {2}(?!static)(?:(?:protected|private|override) )*(readonly )?(#?\w+)(?:: boolean)?(?: = (?:true|false))?$/gm
  const classes = [...text.matchAll(/^(?:export )?(?:abstract )?class [\s\S]*?^\}/gm)].map(([one]) => one).join('\n')
  return [...classes.matchAll(field)]
    .filter(([all, isReadonly]) => (/ = (?:true|false)$/.test(all) ? isReadonly === undefined : all.includes(': boolean')))
    .map(([, , name]) => name)
}

/** Names that modules import from other rooms than their own. */
function importedNames() {
  const names = new Set()
  let count = 0
  for (const { file, text } of sources.filter((one) => one.file.startsWith('modules/'))) {
    const depth = file.split('/').length - 1
    for (const [, list, from] of text.matchAll(/^(?:import|export) (?:type )?\{([^}]*)\} from '(\.[^']*)'/gm)) {
      if (from.split('../').length - 1 < depth) continue
      for (const name of list.split(',')) {
        const plain = name
          .trim()
          .replace(/^type /, '')
          .split(' as ')[0]
        if (plain === '') continue
        names.add(`${from.replace(/^(\.\.\/)+/, '')} ${plain}`)
        count++
      }
    }
  }
  return { names: names.size, count }
}

/** How many names each entry exports, by api/. */
function publicNames() {
  const heads = readdirSync(new URL('api', ROOT)).map((file) => readFileSync(new URL(`api/${file}`, ROOT), 'utf8').split('\n')[0])
  return heads.map((head) => /^(\S+): (\d+) names$/.exec(head)).map(([, entry, count]) => ({ entry, count: Number(count) }))
}

/** The files of dist/ that `import 'weirjs'` loads, with their bytes. */
function loadedFiles() {
  const files = new Map()
  const waiting = [new URL('packages/weirjs/dist/index.js', ROOT)]
  for (const url of waiting) {
    if (files.has(url.href)) continue
    const code = readFileSync(url, 'utf8')
    files.set(url.href, Buffer.byteLength(code))
    for (const [, to] of code.matchAll(/^(?:(?:import|export)\b[^;'"]*\bfrom\s*|import\s*)["'](\.[^"']+)["']/gm))
      waiting.push(new URL(to, url))
  }
  return [...files.values()]
}

async function openHttp1(port) {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const get = async () => {
    socket.write('GET /hello HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    await once(socket, 'data')
  }
  return { get, close: () => socket.destroy() }
}

async function openHttp2(port) {
  const session = connectHttp2(`http://127.0.0.1:${port}`)
  const get = async () => {
    const stream = session.request({ ':path': '/hello' })
    stream.resume()
    await once(stream, 'end')
  }
  return { get, close: () => session.destroy() }
}

/** What one warm GET calls: the difference between the calls of N and of 2 N of them. */
async function callsOfGet(open, options) {
  const { HttpServer } = await import(new URL('build/packages/weirjs/src/index.js', ROOT))
  const server = new HttpServer('127.0.0.1', 0, options)
  server.mapGet('/hello', () => ({ message: 'hello' }))
  await server.start()
  const client = await open(server.port)
  const getAll = async (count) => {
    for (let i = 0; i < count; i++) await client.get()
  }
  await getAll(GETS / 4)
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const take = async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const counts = new Map()
    for (const { url, functions } of result) {
      const [, file] = url.split('/build/packages/weirjs/src/')
      for (const { functionName, ranges } of file === undefined ? [] : functions)
        if (ranges[0].count > 0) counts.set(`${file}\t${functionName}\t${ranges[0].startOffset}`, ranges[0].count)
    }
    return counts
  }
  await getAll(GETS / 4)
  await take()
  await getAll(GETS)
  const once = await take()
  await getAll(2 * GETS)
  const twice = await take()
  session.disconnect()
  client.close()
  await server.stop()
  const calls = [...twice]
    .map(([name, count]) => ({ name, count: (count - (once.get(name) ?? 0)) / GETS }))
    .filter(({ count }) => count >= 0.5)
  return calls.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The booleans that hold the state of one exchange, by file. */
export function exchangeBooleans() {
  return sources
    .filter(({ file }) => EXCHANGE_FILES.some((pattern) => pattern.test(file)))
    .map(({ file, text }) => ({ file, names: booleansOf(text) }))
    .filter(({ names }) => names.length > 0)
}

async function print() {
  const linesIn = (...rooms) =>
    sources.filter(({ file }) => rooms.some((room) => file.startsWith(room))).reduce((sum, { text }) => sum + lines(text), 0)
  const [all, modules, clients] = [linesIn(''), linesIn('modules/'), linesIn('testing/')]
  console.log(
    `source: ${all} lines in ${sources.length} files; ${modules} are modules and ${clients} clients for tests, the rest ${all - modules - clients}`,
  )
  for (const [name, open, options] of [
    ['HTTP/1.1', openHttp1, {}],
    ['HTTP/2', openHttp2, { http2: 'cleartext' }],
  ]) {
    const calls = await callsOfGet(open, options)
    const files = new Set(calls.map((one) => one.name.split('\t')[0]))
    const total = calls.reduce((sum, { count }) => sum + count, 0)
    console.log(`one warm GET over ${name}: ${calls.length} functions of ${files.size} files, ${Math.round(total)} calls`)
    if (process.argv.includes('--names'))
      for (const { name, count } of calls) console.log(`  ${count.toFixed(1)} ${name.split('\t').slice(0, 2).join(' ')}`)
  }
  const states = exchangeBooleans()
  console.log(`booleans of one exchange: ${states.reduce((sum, { names }) => sum + names.length, 0)}`)
  for (const { file, names } of states) console.log(`  ${file}: ${names.join(', ')}`)
  const { names, count } = importedNames()
  console.log(`names that modules import from other rooms, most of them public: ${names}, ${count} times`)
  const entries = publicNames()
  const ofMain = entries.find(({ entry }) => entry === 'weirjs').count
  console.log(`public names: ${ofMain} of weirjs, ${entries.reduce((sum, one) => sum + one.count, 0)} of all ${entries.length} entries`)
  const loaded = loadedFiles()
  console.log(`import 'weirjs' loads ${loaded.reduce((sum, bytes) => sum + bytes, 0)} bytes in ${loaded.length} files`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await print()
