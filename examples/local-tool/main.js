// Shows what fills a folder: node main.js ~/folder [--no-open]

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { extname, join, relative, resolve, sep } from 'node:path'
import { setInterval } from 'node:timers/promises'

import { HttpError, HttpServer } from 'weirjs'
import { local } from 'weirjs/local'
import { sse } from 'weirjs/sse'

import { Scan, toolName } from './scan.js'

const given = process.argv.slice(2)
const root = await realpath(resolve(given.find((one) => !one.startsWith('--')) ?? '.'))
const page = readFileSync(new URL('./page.html', import.meta.url), 'utf8')
const scan = new Scan(root)
const server = new HttpServer()

/** The page runs its own script and style, and nothing that a file name or a file could bring in. */
const hashOf = (tag) =>
  `'sha256-${createHash('sha256')
    .update(new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(page)[1])
    .digest('base64')}'`
const PAGE_POLICY = [
  `default-src 'none'; script-src ${hashOf('script')}; style-src ${hashOf('style')}`,
  "connect-src 'self'; img-src 'self' data:; media-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
].join('; ')
/** What can run no script of its own. Every other file is sent as plain text. */
const MEDIA = new Set(['.png', '.jpg', '.jpeg', '.gif', '.webp', '.avif', '.svg', '.mp4', '.webm', '.mp3', '.ogg', '.wav', '.flac'])

server.mapGet('/', (_, { response }) => response.header('Content-Security-Policy', PAGE_POLICY).html(page))

server.mapGet('/api/folder', (_, { request }) => viewed(request))

server.mapGet('/api/events', (_, session) => {
  viewed(session.request)
  return sse(session, async function* (signal) {
    let seen = -1
    for await (const _ of setInterval(150, null, { signal })) {
      if (scan.version === seen) continue
      seen = scan.version
      yield { data: scan.view(pathIn(session.request)) ?? scan.view('') }
    }
  })
})

server.mapPost('/api/scan', () => {
  scan.start().catch(console.error)
  return { state: scan.state }
})

server.mapPost('/api/cancel', () => {
  scan.cancel()
  return { state: scan.state }
})

server.mapGet('/api/file', async (_, { request, response }) => {
  const path = await ownFile(pathIn(request))
  return response.header('Content-Security-Policy', "default-src 'none'; sandbox").file(path, {
    cacheControl: 'no-store',
    ...(MEDIA.has(extname(path).toLowerCase()) ? {} : { contentType: 'text/plain; charset=utf-8' }),
  })
})

const running = await local(server, { name: toolName(root), title: 'Disk usage', port: 4870 })
if (!running.reused) scan.start().catch(console.error)
const url = running.newLaunchUrl()
console.log(`${running.reused ? 'It runs already' : root}: ${url}`)
if (!given.includes('--no-open') && !process.env.NO_OPEN) open(url)

function pathIn({ query }) {
  return query.get('path') ?? ''
}

function viewed(request) {
  return scan.view(pathIn(request)) ?? notFound()
}

/** A file below the root, wherever links on the way lead. */
async function ownFile(path) {
  if (path.includes('\0')) notFound()
  const found = await realpath(join(root, path)).catch(() => notFound())
  const way = relative(root, found)
  if (way === '' || way === '..' || way.startsWith(`..${sep}`) || resolve(root, way) !== found) notFound()
  return (await stat(found)).isFile() ? found : notFound()
}

function notFound() {
  throw new HttpError(404, 'there is no such file or folder')
}

function open(url) {
  const [command, ...args] = { darwin: ['open'], win32: ['cmd', '/c', 'start', ''] }[process.platform] ?? ['xdg-open']
  spawn(command, [...args, url], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref()
}
