// One server of http2.mjs in a process of its own: `node http2-servers.mjs <server> <tls | cleartext> <app>`. Sends its port, or why it cannot run,
// and then answers `cpu` and `memory`.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer as createNetServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { document, ECHO_PATH, LARGE_PATH, LARGE_UNIT, MEBIBYTE, UPLOAD_PATH } from './http2-workloads.mjs'
import { FILES, keepSite } from './site.mjs'

const { key, cert } = certificate()
/** Clock ticks per second in /proc, which is 100 on every Linux. */
const TICKS = 100
const LARGE_FILE_MIB = 64
/** More of these make a body of the size that `/large?mib=` asks for. */
async function* pieces(mib) {
  for (let i = 0; i < mib; i++) yield LARGE_UNIT
}

const SERVERS = {
  weir: (isSecure) => startWeir('../packages/weirjs/dist', isSecure),
  'weir-before': (isSecure) => startWeir(process.env.WEIR_DIST, isSecure),
  'weir-http1': (isSecure) => startWeir('../packages/weirjs/dist', isSecure, false),
  node: startNode,
  bun: startNode,
  nginx: startNginx,
  nghttpd: startNghttpd,
}

const [name, transport, app] = process.argv.slice(2)
const { port, pid, skipped } = await SERVERS[name](transport === 'tls').catch((error) => ({ skipped: error.message }))
setFlagsFromString('--expose-gc')
const collect = runInNewContext("typeof gc === 'function' ? gc : undefined")
const answers = {
  cpu: () => (pid === undefined ? process.cpuUsage() : cpuOf(pid)),
  async memory() {
    for (let i = 0; i < 3; i++) {
      collect?.()
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    return process.memoryUsage()
  },
}
process.on('message', async (question) => process.send(await answers[question]()))
process.on('disconnect', () => process.exit())
process.send(skipped === undefined ? { port } : { skipped })

/** The test certificate of this repository. Its key is not a secret. */
function certificate() {
  const text = readFileSync(new URL('../packages/weirjs/test/support/certificate.ts', import.meta.url), 'utf8')
  const [key, cert] = text.match(/-----BEGIN [^`]+/g)
  return { key, cert }
}

async function startWeir(dist, isSecure, http2 = true) {
  const load = (file) => import(dist.startsWith('.') ? `${dist}/${file}` : pathToFileURL(`${dist}/${file}`))
  const { HttpServer } = await load('index.js')
  const { staticFiles } = await load('modules/static/index.js')
  const protocol = http2 && !isSecure ? { http2: 'cleartext' } : { http2 }
  const server = new HttpServer({ address: '127.0.0.1', port: 0, ...protocol, ...(isSecure && { tls: { key, cert } }) })
  server.mapGet('/hello', () => 'OK')
  server.mapGet('/json', () => document())
  server.mapGet('/mib', () => MEBIBYTE)
  server.mapPost(ECHO_PATH, (_args, { request }) => request.bodyBytes)
  server.mapGet(`${LARGE_PATH}/:mib`, (_args, { request, response }) => response.stream(pieces(Number(request.path.split('/')[2]))))
  server.mapPost(UPLOAD_PATH, { body: 'stream', maxRequestBodySize: 2 ** 40 }, async (_args, { request }) => {
    let bytes = 0
    for await (const piece of request.bodyStream()) bytes += piece.length
    return String(bytes)
  })
  if (app === 'files') server.use(staticFiles({ root: siteWithLargeFile(), precompressed: true }))
  await server.start()
  return { port: server.port }
}

function siteWithLargeFile() {
  const folder = keepSite()
  writeFileSync(join(folder, 'large.bin'), Buffer.alloc(LARGE_FILE_MIB * 2 ** 20, 1))
  return folder
}

/** The stream API, by someone who counts microseconds and still wants correct responses. Bun runs it too. */
async function startNode(isSecure) {
  const { createSecureServer, createServer } = await import('node:http2')
  const folder = app === 'files' ? keepSite() : ''
  const types = new Map(FILES.map(({ name, type, isText }) => [`/${name}`, { type, isText }]))
  const server = isSecure ? createSecureServer({ key, cert }) : createServer()
  const send = (stream, type, body) => {
    stream.respond({ ':status': 200, 'content-type': type, 'content-length': Buffer.byteLength(body) })
    stream.end(body)
  }
  const sendFile = (stream, path, accepted = '') => {
    const { type, isText } = types.get(path)
    const head = { 'content-type': type, vary: 'accept-encoding' }
    if (isText && accepted.includes('br')) stream.respondWithFile(`${folder}${path}.br`, { ...head, 'content-encoding': 'br' })
    else stream.respondWithFile(folder + path, head)
  }
  server.on('stream', (stream, headers) => {
    const path = headers[':path']
    if (path === '/hello') send(stream, 'text/plain', 'OK')
    else if (path === '/json') send(stream, 'application/json', JSON.stringify(document()))
    else if (path === '/mib') send(stream, 'application/octet-stream', MEBIBYTE)
    else if (path === ECHO_PATH) {
      const chunks = []
      stream.on('data', (chunk) => chunks.push(chunk))
      stream.on('end', () => send(stream, 'application/octet-stream', chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
    } else if (types.has(path)) sendFile(stream, path, headers['accept-encoding'])
    else stream.respond({ ':status': 404 }, { endStream: true })
    stream.on('error', () => {})
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: server.address().port }
}

/** Everything from files, `OK` too: its Content-Length, type and date are those of other servers. */
async function startNginx(isSecure) {
  const { folder, keyFile, certFile } = folderOfFiles()
  const port = await freePort()
  const types = new Map(FILES.map(({ name, type }) => [name.slice(name.lastIndexOf('.') + 1), type]))
  const secured = isSecure ? `ssl_certificate ${certFile}; ssl_certificate_key ${keyFile};` : ''
  writeFileSync(
    `${folder}/nginx.conf`,
    `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr crit;
events { worker_connections 2048; }
http {
  types { ${[...types].map(([extension, type]) => `${type} ${extension};`).join(' ')} }
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; open_file_cache max=1000; gzip_static on; gzip_vary on;
  http2_max_concurrent_streams 256;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  server { listen 127.0.0.1:${port} ${isSecure ? 'ssl ' : ''}http2; ${secured} root ${folder}; location = /hello { default_type text/plain; return 200 OK; } }
}
`,
  )
  return started('nginx', ['-p', folder, '-c', `${folder}/nginx.conf`, '-e', 'stderr'], port)
}

async function startNghttpd(isSecure) {
  const { folder, keyFile, certFile } = folderOfFiles()
  const port = await freePort()
  const last = isSecure ? [String(port), keyFile, certFile] : ['--no-tls', String(port)]
  return started('nghttpd', ['-a', '127.0.0.1', '-d', folder, '-m', '256', '--echo-upload', ...last], port)
}

function folderOfFiles() {
  const folder = keepSite()
  writeFileSync(join(folder, 'hello'), 'OK')
  writeFileSync(join(folder, 'json'), JSON.stringify(document()))
  writeFileSync(join(folder, 'mib'), MEBIBYTE)
  const keys = mkdtempSync(join(tmpdir(), 'weir-bench-keys-'))
  process.on('exit', () => rmSync(keys, { recursive: true, force: true }))
  mkdirSync(keys, { recursive: true })
  writeFileSync(join(keys, 'key'), key, { mode: 0o600 })
  writeFileSync(join(keys, 'cert'), cert)
  return { folder, keyFile: join(keys, 'key'), certFile: join(keys, 'cert') }
}

/** A program that ends with this process, however that ends: then its standard input does, and the shell kills it. */
async function started(command, args, port) {
  const shell = spawn('sh', ['-c', '"$@" & echo $!; cat > /dev/null; kill -9 $!', 'sh', command, ...args], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const pid = Number(await new Promise((resolve) => shell.stdout.once('data', resolve)))
  for (let i = 0; i < 100; i++) {
    if (await isOpen(port)) return { port, pid }
    if (i > 2 && !existsSync(`/proc/${pid}`)) throw new Error(`${command} has ended, or is not installed`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${command} is not listening`)
}

function isOpen(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    }).on('error', () => resolve(false))
  })
}

function freePort() {
  return new Promise((resolve) => {
    const server = createNetServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

/** Of all threads. utime and stime are fields 14 and 15. The second field, the name, may contain blanks. */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ')
  return { user: (Number(fields[11]) * 1e6) / TICKS, system: (Number(fields[12]) * 1e6) / TICKS }
}
