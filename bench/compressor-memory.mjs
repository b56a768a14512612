// The memory of a compressed stream: how much RSS grows with each open one, with the settings that weirjs/compression uses.
//
//   npm run compile && node bench/compressor-memory.mjs [--streams 64] [--kib 4096]
//
// Each coding has its own process. Every stream gets hexadecimal digits of random bytes (text that compresses to half), is flushed every 64
// KiB, read up to the flush, and kept open. One stream is created before the count begins.

import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'

import { CODING_NAMES, createCoding, isAvailable } from '../build/packages/weirjs/src/modules/compression/codings.js'

const { values } = parseArgs({
  options: { streams: { type: 'string', default: '64' }, kib: { type: 'string', default: '4096' }, coding: { type: 'string' } },
})
const PIECE = 16 * 1024
const FLUSHED_EVERY = 64 * 1024
const wait = promisify(setTimeout)

if (values.coding === undefined) {
  for (const name of CODING_NAMES.filter(isAvailable)) {
    const args = ['--expose-gc', fileURLToPath(import.meta.url), ...process.argv.slice(2), '--coding', name]
    spawnSync(process.execPath, args, { stdio: 'inherit' })
  }
} else await measure(createCoding(values.coding, undefined), Number(values.streams), randomText(Number(values.kib) * 1024))

async function measure(coding, count, bytes) {
  const kept = [await fill(coding, bytes)]
  const before = await settledRss()
  for (let i = 0; i < count; i++) kept.push(await fill(coding, bytes))
  const grown = (await settledRss()) - before
  console.log(`${coding.name}: ${Math.round(grown / count / 1024)} KiB each, ${kept.length - 1} streams of ${bytes.length / 1024} KiB`)
}

async function fill(coding, bytes) {
  const stream = coding.createStream().resume()
  for (let at = 0; at < bytes.length; at += PIECE) {
    await new Promise((resolve) => stream.write(bytes.subarray(at, at + PIECE), resolve))
    if ((at + PIECE) % FLUSHED_EVERY === 0) await new Promise((resolve) => stream.flush(coding.flushKind, resolve))
  }
  return stream
}

async function settledRss() {
  for (let i = 0; i < 3; i++) {
    global.gc()
    await wait(50)
  }
  return process.memoryUsage().rss
}

function randomText(length) {
  return Buffer.from(randomBytes(length / 2).toString('hex'))
}
