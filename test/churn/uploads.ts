// `node build/test/churn/uploads.js [MiB] [breaks]`: uploads a file that breaks again and again, with tus and with the IETF's protocol, and looks
// at what arrives, how much memory the server takes, and what is left when the uploads have expired. By default 1,024 MiB and 50 breaks.
//
// Of five breaks, one is a server that is killed and started again, one a client that falls silent, and three are connections that are reset.
// Not part of `npm test`: it takes minutes.

import { createCipheriv, createHash, randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { type ClientRequest, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startUploadProcess, type UploadProcess } from '../../packages/weirjs/test/support/upload-processes.ts'

const MIB = 1024 * 1024
const size = Number(process.argv[2] ?? 1024) * MIB
const breaks = Number(process.argv[3] ?? 50)
/** Long enough for a busy machine: an upload that takes longer expires before it is complete. */
const EXPIRES_MS = 60_000 + breaks * 2_000 + Math.round(size / 5_000)
const PIECE = 256 * 1024

type Protocol = 'tus' | 'draft'
interface ResponseHead {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
}

const key = randomBytes(32)

/** The bytes of the file from `offset` on, without keeping the file. */
function* bytesFrom(offset: number): Generator<Buffer> {
  const counter = Buffer.alloc(16)
  counter.writeUIntBE(Math.floor(offset / 16), 10, 6)
  const cipher = createCipheriv('aes-256-ctr', key, counter)
  cipher.update(Buffer.alloc(offset % 16))
  for (let at = offset; at < size; at += PIECE) yield cipher.update(Buffer.alloc(Math.min(PIECE, size - at)))
}

function hashOfFile(): string {
  const hash = createHash('sha256')
  for (const piece of bytesFrom(0)) hash.update(piece)
  return hash.digest('hex')
}

const ends: (() => unknown)[] = []
const directory = mkdtempSync(join(tmpdir(), 'weir-uploads-'))
process.on('exit', () => {
  for (const end of ends) end() // kills a server before it returns
  rmSync(directory, { recursive: true, force: true })
})
const start = (port = 0): Promise<UploadProcess> =>
  startUploadProcess((end) => void ends.push(end), directory, { expiresAfterMs: EXPIRES_MS, port })
let server = await start()
let mostMemory = 0

/** The most memory that a process has had, in MiB; 0 where Linux does not say. */
function noteMemory(): void {
  try {
    const [, kib] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8')) ?? []
    mostMemory = Math.max(mostMemory, Number(kib ?? 0) / 1024)
  } catch {} // not Linux
}

function begin(
  method: string,
  path: string,
  headers: Record<string, string | number>,
): { sent: ClientRequest; response: Promise<ResponseHead> } {
  const sent = request({ host: '127.0.0.1', port: server.port, method, path, headers, agent: false })
  const reply = new Promise<ResponseHead>((resolve, reject) => {
    sent.on('response', (response) => {
      response.resume()
      resolve({ status: response.statusCode!, headers: response.headers })
    })
    sent.on('error', reject)
  })
  return { sent, response: reply }
}

async function ask(method: string, path: string, headers: Record<string, string | number>): Promise<ResponseHead> {
  for (let attempt = 0; ; attempt++) {
    const { sent, response } = begin(method, path, headers)
    sent.end()
    try {
      const got = await response
      if (got.status >= 300) throw new Error(`${method} got ${got.status}`)
      return got
    } catch (error) {
      if (attempt === 100) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

/** Sends the bytes from `offset` to `until`. */
async function send(sent: ClientRequest, offset: number, until: number): Promise<void> {
  const gone = new AbortController()
  const left = gone.signal
  sent.once('close', () => gone.abort())
  let at = offset
  for (const piece of bytesFrom(offset)) {
    const part = piece.subarray(0, until - at)
    at += part.length
    if (!sent.write(part)) await once(sent, 'drain', { signal: left }).catch(() => {}) // or it has been closed
    if (at >= until || sent.destroyed) return
  }
}

const silent: ClientRequest[] = []

async function interrupt(sent: ClientRequest, number: number): Promise<void> {
  noteMemory()
  if (number % 5 === 0) {
    const { port } = server
    await server.kill()
    server = await start(port)
  } else if (number % 5 === 1) silent.push(sent)
  else sent.destroy()
}

/** @returns how often it was interrupted, and how many bytes had to be sent again */
async function upload(protocol: Protocol): Promise<{ sentAgain: number; seconds: number }> {
  const tus = protocol === 'tus'
  const common: Record<string, string> = tus ? { 'Tus-Resumable': '1.0.0' } : {}
  const creation = { ...common, ...(tus ? {} : { 'Upload-Complete': '?0' }), 'Upload-Length': size, 'Content-Length': 0 }
  const url = (await ask('POST', '/files', creation)).headers.location as string
  const places = Array.from({ length: breaks }, () => randomInt(1, size)).sort((a, b) => a - b)
  const began = performance.now()
  let sentAgain = 0
  let last = 0
  for (let number = 0; ; number++) {
    const offset = Number((await ask('HEAD', url, common)).headers['upload-offset'])
    sentAgain += Math.max(0, last - offset)
    const { sent, response } = begin('PATCH', url, {
      ...common,
      'Content-Type': tus ? 'application/offset+octet-stream' : 'application/partial-upload',
      'Upload-Offset': offset,
      'Content-Length': size - offset,
      ...(tus ? {} : { 'Upload-Complete': '?1' }),
    })
    const isLast = number === places.length
    const until = isLast ? size : Math.max(offset + 1, places[number]!)
    if (!isLast) response.catch(() => {})
    await send(sent, offset, until)
    if (isLast) {
      sent.end()
      const { status } = await response
      if (status !== 204) throw new Error(`${protocol}: the last request got ${status}`)
      return { sentAgain, seconds: (performance.now() - began) / 1000 }
    }
    last = until
    await interrupt(sent, number)
  }
}

const expected = hashOfFile()
let failures = 0
for (const protocol of ['tus', 'draft'] as const) {
  const { sentAgain, seconds } = await upload(protocol)
  noteMemory()
  for (let i = 0; i < 200 && server.received.length === 0; i++) await new Promise((resolve) => setTimeout(resolve, 50))
  const { hash, size: length } = server.received.at(-1) ?? { hash: 'none', size: 0 }
  const isRight = hash === expected && length === size
  if (!isRight) failures++
  const again = (sentAgain / MIB).toFixed(1)
  console.log(
    `${protocol}: ${length / MIB} MiB in ${seconds.toFixed(1)} s with ${breaks} breaks, ${again} MiB sent twice, the hash ${isRight ? 'fits' : 'DIFFERS'}`,
  )
  ;(server.received as unknown[]).length = 0
}
for (const one of silent) one.destroy()
const deadline = performance.now() + 2 * EXPIRES_MS
while (readdirSync(directory).length > 0 && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 500))
const left = readdirSync(directory)
if (left.length > 0) failures++
console.log(`most memory of the server: ${mostMemory.toFixed(0)} MiB; left after the expiry: ${left.length} files`)
process.exit(failures === 0 ? 0 : 1)
