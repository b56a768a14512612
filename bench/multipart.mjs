// The speed of reading multipart bodies, compared with busboy. With `--search`, the speed of searching for their delimiter, compared with
// other methods. With `--growth`, whether the worst bodies cost the same for each byte at any size.
//
//   npm run compile && node bench/multipart.mjs [--search | --growth] [directory of the compiled formats room]
//
// One process, no sockets: 64 KiB chunks from memory, and every byte is passed on as a Buffer. Times are the CPU time of the process.
// Rounds alternate; a number is the median of all rounds, and a ratio is the median of the ratios of neighbouring rounds.

import { randomFillSync } from 'node:crypto'
import os from 'node:os'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

import busboy from 'busboy'

import { median } from './statistics.mjs'

const arguments_ = process.argv.slice(2)
const folder = arguments_.find((argument) => !argument.startsWith('--'))
const formats = pathToFileURL(`${resolve(folder ?? new URL('../build/packages/weirjs/src/formats', import.meta.url).pathname)}/`)
const { MultipartParser } = await import(new URL('multipart.js', formats))
const { DelimiterSearch } = await import(new URL('delimiter-search.js', formats))

const CHUNK = 64 * 1024
const ROUNDS = 11
const CHROME = '----WebKitFormBoundary7MA4YWxkTrZu0gWq'
const FIREFOX = '-----------------------------38291947205938271950382719'
const CURL = '------------------------d74496d66958873e'
const MiB = 1024 * 1024

/** Each fills a buffer with one kind of content. */
const CONTENTS = {
  random: (bytes) => randomFillSync(bytes),
  lines(bytes) {
    for (let at = 0, left = 0; at < bytes.length; at++, left--) {
      if (left === 0) left = 22 + Math.floor(Math.random() * 60)
      bytes[at] = left === 2 ? 13 : left === 1 ? 10 : 32 + Math.floor(Math.random() * 95)
    }
  },
  'CR LF': (bytes) => bytes.fill('\r\n'),
  'CR LF -': (bytes) => bytes.fill('\r\n-'),
  CR: (bytes) => bytes.fill('\r'),
  dashes: (bytes) => bytes.fill('-'),
  'all but the last byte': (bytes, boundary) => bytes.fill(`\r\n--${boundary.slice(0, -1)}!`),
  'all but one in the middle': (bytes, boundary) => bytes.fill(`\r\n--${boundary.slice(0, 12)}!${boundary.slice(13)}`),
}

const head = (boundary, type) => Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"${type}\r\n\r\n`)
const FILE = '; filename="a.bin"\r\nContent-Type: application/octet-stream'

function fileOf(content, boundary, size) {
  const chunks = Array.from({ length: 16 }, () => Buffer.alloc(CHUNK))
  for (const chunk of chunks) CONTENTS[content](chunk, boundary)
  const body = [head(boundary, FILE)]
  for (let i = 0; i < size / CHUNK; i++) body.push(chunks[i % 16])
  body.push(Buffer.from(`\r\n--${boundary}--\r\n`))
  return { boundary, body, size }
}

function partsOf(count, type, chunkSize) {
  const part = Buffer.concat([head(CHROME, type), Buffer.from('value\r\n')])
  const whole = Buffer.concat([...Array.from({ length: count }, () => part), Buffer.from(`--${CHROME}--\r\n`)])
  const body = []
  for (let at = 0; at < whole.length; at += chunkSize) body.push(whole.subarray(at, at + chunkSize))
  return { boundary: CHROME, body, size: 5 * count }
}

function readByWeir({ boundary, body }) {
  let size = 0
  const handler = {
    partBegin: () => true,
    partData(bytes, start, end) {
      size += bytes.subarray(start, end).length
      return true
    },
    partEnd: () => true,
  }
  const parser = new MultipartParser(boundary, handler, { maxParts: 1e6, maxPartHeaders: 32, maxPartHeaderSize: 16_384 })
  for (const chunk of body) parser.push(chunk)
  parser.finish()
  return size
}

function readByBusboy({ boundary, body }) {
  return new Promise((resolve, reject) => {
    let size = 0
    const parser = busboy({ headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` } })
    parser.on('file', (_, file) => file.on('data', (bytes) => (size += bytes.length)))
    parser.on('field', (_, value) => (size += value.length))
    parser.on('error', reject)
    parser.on('close', () => resolve(size))
    let next = 0
    const write = () => {
      while (next < body.length) if (!parser.write(body[next++])) return parser.once('drain', write)
      parser.end()
    }
    write()
  })
}

function processorTime() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

async function timed(run) {
  const start = processorTime()
  const result = await run()
  return { seconds: processorTime() - start, result }
}

async function compare(title, makeForm) {
  const form = makeForm()
  const bytes = form.body.reduce((sum, chunk) => sum + chunk.length, 0)
  const weir = []
  const other = []
  for (let round = -1; round < ROUNDS; round++) {
    const ours = await timed(() => readByWeir(form))
    const theirs = await timed(() => readByBusboy(form))
    if (ours.result !== form.size || theirs.result !== form.size)
      throw new Error(`${title}: ${ours.result}, ${theirs.result}, not ${form.size}`)
    if (round < 0) continue // the first round warms up
    weir.push(ours.seconds)
    other.push(theirs.seconds)
  }
  const speed = (seconds) => `${(bytes / MiB / median(seconds)).toFixed(0).padStart(6)} MiB/s`
  const ratio = median(weir.map((seconds, i) => other[i] / seconds)).toFixed(2)
  console.log(`${title.padEnd(52)} weir ${speed(weir)}   busboy ${speed(other)}   ${ratio.padStart(6)} times`)
}

/** Horspool's algorithm in its usual form. */
function horspool(needle) {
  const last = needle.length - 1
  const skip = new Uint8Array(256).fill(needle.length)
  for (let k = 0; k < last; k++) skip[needle[k]] = last - k
  const isAt = (bytes, start) => {
    for (let k = 0; k < last; k++) if (bytes[start + k] !== needle[k]) return false
    return true
  }
  return (bytes) => {
    for (let at = last; at < bytes.length; at += skip[bytes[at]]) if (bytes[at] === needle[last] && isAt(bytes, at - last)) return at - last
    return -1
  }
}

async function compareSearches(content, boundary) {
  const needle = Buffer.from(`\r\n--${boundary}`)
  const chunks = Array.from({ length: 16 }, () => Buffer.alloc(CHUNK))
  for (const chunk of chunks) CONTENTS[content](chunk, boundary)
  const search = new DelimiterSearch(needle)
  const ways = { weir: (bytes) => search.find(bytes, 0, CHUNK), horspool: horspool(needle), indexOf: (bytes) => bytes.indexOf(needle) }
  const line = []
  for (const [name, find] of Object.entries(ways)) {
    const speeds = []
    for (let round = -1; round < ROUNDS; round++) {
      const { seconds, result } = await timed(() => chunks.concat(chunks, chunks, chunks).reduce((sum, chunk) => sum + find(chunk), 0))
      if (result !== -64) throw new Error(`${name} found something`)
      if (round >= 0) speeds.push(4 / seconds / 1000)
    }
    line.push(`${name} ${median(speeds).toFixed(2).padStart(7)}`)
  }
  console.log(`${content.padEnd(28)}${String(boundary.length).padStart(3)} characters   ${line.join('   ')} thousand MiB/s`)
}

/** Nanoseconds per byte for longer and longer bodies. If a row rises, the time is not linear. */
async function showGrowth(title, sizes, unit, makeForm) {
  const line = []
  for (const size of sizes) {
    const form = makeForm(size)
    const bytes = form.body.reduce((sum, chunk) => sum + chunk.length, 0)
    const costs = []
    for (let round = -1; round < ROUNDS; round++) {
      const { seconds, result } = await timed(() => readByWeir(form))
      if (result !== form.size) throw new Error(`${title}: ${result}, not ${form.size}`)
      if (round >= 0) costs.push((1e9 * seconds) / bytes)
    }
    line.push(`${size.toLocaleString('en').padStart(8)} ${unit} ${median(costs).toFixed(3).padStart(8)}`)
  }
  console.log(`${title.padEnd(44)}${line.join('   ')} ns/B`)
}

console.log(`${os.cpus()[0]?.model}, ${os.cpus().length} cores, Node ${process.versions.node}, load ${os.loadavg()[0].toFixed(1)}`)
if (arguments_.includes('--search')) {
  for (const boundary of [CHROME, FIREFOX, 'x'])
    for (const content of Object.keys(CONTENTS))
      if (boundary !== 'x' || !content.startsWith('all')) await compareSearches(content, boundary)
} else if (arguments_.includes('--growth')) {
  const counts = [2500, 10_000, 40_000, 160_000]
  await showGrowth('fields of 5 bytes', counts, 'parts', (count) => partsOf(count, '', CHUNK))
  await showGrowth('files of 5 bytes', counts, 'parts', (count) => partsOf(count, FILE, CHUNK))
  await showGrowth('fields of 5 bytes in chunks of 7 bytes', counts.slice(0, 3), 'parts', (count) => partsOf(count, '', 7))
  for (const content of Object.keys(CONTENTS).slice(2))
    await showGrowth(content, [4, 16, 64, 256], 'MiB', (size) => fileOf(content, CHROME, size * MiB))
} else {
  for (const [browser, boundary] of Object.entries({ Chrome: CHROME, Firefox: FIREFOX, curl: CURL, 'one letter': 'x' })) {
    const size = (boundary === 'x' ? 64 : 256) * MiB
    await compare(`${size / MiB} MiB of random bytes, ${browser}`, () => fileOf('random', boundary, size))
    await compare(`${size / MiB} MiB of lines of text, ${browser}`, () => fileOf('lines', boundary, size))
  }
  for (const content of Object.keys(CONTENTS).slice(2)) await compare(`64 MiB of ${content}`, () => fileOf(content, CHROME, 64 * MiB))
  await compare('10,000 fields of 5 bytes', () => partsOf(10_000, '', CHUNK))
  await compare('10,000 files of 5 bytes', () => partsOf(10_000, FILE, CHUNK))
  await compare('1,000 fields of 5 bytes in chunks of 1 byte', () => partsOf(1_000, '', 1))
}
